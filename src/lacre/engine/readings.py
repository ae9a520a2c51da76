"""What a server's answer is, in each dialect: one function from status, headers and body to one reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal, assert_never

import msgspec

from lacre.engine.bodies import mended
from lacre.engine.rejections import rejection, wrapped_rejection
from lacre.engine.replies import Finish, Usage
from lacre.engine.tries import Broken, Reading, Said
from lacre.registry.columns import Dialect
from lacre.registry.endings import ENDINGS

_OPENAI: Mapping[str, Finish] = {
    "stop": "stop", "eos": "stop", "length": "length", "content_filter": "content_filter",
    "tool_calls": "tool", "function_call": "tool",
}  # fmt: skip
_ANTHROPIC: Mapping[str, Finish] = {
    "end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length",
    "model_context_window_exceeded": "length", "refusal": "refusal", "tool_use": "tool",
}  # fmt: skip
_GEMINI: Mapping[str, Finish] = {
    "STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "content_filter", "RECITATION": "content_filter",
    "BLOCKLIST": "content_filter", "PROHIBITED_CONTENT": "content_filter", "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter", "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "MALFORMED_FUNCTION_CALL": "tool",
}  # fmt: skip


def reading(
    dialect: Dialect,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    now: datetime,
    sent: Sequence[str] = (),
) -> Reading:
    """What a server's answer is. ``sent`` names the settings of the request, to tell which one is at fault.

    >>> body = b'{"choices":[{"message":{"content":"C"},"finish_reason":"stop"}]}'
    >>> reading("openai", 200, {}, body, now=datetime.min).text
    'C'
    >>> body = b'{"error": {"message": "API key not valid. Please pass a valid API key."}}'
    >>> reading("gemini", 400, {}, body, now=datetime.min).reason
    'key'

    Nothing in a reading but ``text`` quotes the server: its messages may repeat the item or the key. Half characters
    and impossible counts of tokens do not spoil an answer (:mod:`lacre.engine.bodies`), and every known word for an end
    has its row in :data:`~lacre.registry.endings.ENDINGS`.
    """
    if status != 200:
        return rejection(status, headers, body, now=now, sent=sent)
    whole = mended(dialect, body)
    if whole is None:
        return _no_json(body)
    value = whole.value
    if not isinstance(value, dict):
        return Broken(cause="unreadable", detail="the answer is no JSON object")
    if value.get("error") and not value.get("choices"):
        return wrapped_rejection(headers, value, now=now, sent=sent)
    try:
        found = _ended(_READERS[dialect](value))
    except (TypeError, KeyError, AttributeError, ValueError):
        found = Broken(cause="unreadable", detail=f"the answer has not the shape of the {dialect} dialect")
    if whole.dropped:
        found = replace(found, usage=msgspec.structs.replace(found.usage, dropped=whole.dropped))
    return found


def _no_json(body: bytes) -> Broken:
    """The reading of an answer with status 200 that is no JSON."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return Broken(cause="not_text", detail="the answer is not UTF-8")
    what = "HTML" if text.lstrip().startswith("<") else "no JSON"
    return Broken(cause="not_json", detail=f"status 200 came with {what}")


def _read_openai(value: dict[str, Any]) -> Said | Broken:
    usage = _openai_usage(value.get("usage") or {})
    model = _word(value.get("model"))
    choices = value["choices"] if value.get("choices") is not None else []
    if not choices:
        return Broken(cause="no_choices", detail="the answer has no choices", usage=usage, model=model)
    choice = choices[0]
    message = choice.get("message") or {}
    raw = _word(choice.get("finish_reason"))
    text = _content(message.get("content"))
    if refusal := _content(message.get("refusal")):
        return Said(kind="refused", text=refusal, finish="refusal", raw_finish=raw, usage=usage, model=model)
    return _said(text, _finish(_OPENAI, raw), raw, usage, model)


def _read_completions(value: dict[str, Any]) -> Said | Broken:
    usage = _openai_usage(value.get("usage") or {})
    model = _word(value.get("model"))
    choices = value["choices"] if value.get("choices") is not None else []
    if not choices:
        return Broken(cause="no_choices", detail="the answer has no choices", usage=usage, model=model)
    raw = _word(choices[0].get("finish_reason"))
    # Without a text it is an answer of another shape, such as a chat's; a null one is an empty one.
    return _said(_content(choices[0]["text"]), _finish(_OPENAI, raw), raw, usage, model)


def _read_anthropic(value: dict[str, Any]) -> Said | Broken:
    counts = value.get("usage") or {}
    fresh, cached, written = (
        _count(counts.get(name))
        for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    )
    details = counts.get("output_tokens_details") or {}
    usage = Usage(
        input=None if fresh is None else fresh + (cached or 0) + (written or 0),
        output=_count(counts.get("output_tokens")),
        cached=cached,
        cache_written=written,
        reasoning=_count(details.get("thinking_tokens")),
    )
    raw = _word(value.get("stop_reason"))
    blocks = value["content"] or []
    text = "".join(block["text"] for block in blocks if block.get("type") == "text")
    return _said(text, _finish(_ANTHROPIC, raw), raw, usage, _word(value.get("model")))


def _read_gemini(value: dict[str, Any]) -> Said | Broken:
    counts = value.get("usageMetadata") or {}
    thoughts = _count(counts.get("thoughtsTokenCount"))
    written = _count(counts.get("candidatesTokenCount"))
    usage = Usage(
        input=_count(counts.get("promptTokenCount")),
        output=None if written is None and thoughts is None else (written or 0) + (thoughts or 0),
        cached=_count(counts.get("cachedContentTokenCount")),
        reasoning=thoughts,
    )
    model = _word(value.get("modelVersion"))
    blocked = _word((value.get("promptFeedback") or {}).get("blockReason"))
    if blocked is not None:
        return Said(
            kind="refused", text="", finish="content_filter", raw_finish=blocked, usage=usage, model=model
        )
    candidates = value.get("candidates") or []
    if not candidates:
        if "usageMetadata" not in value and "candidates" not in value and "promptFeedback" not in value:
            raise KeyError("candidates")
        return Broken(cause="no_choices", detail="the answer has no candidates", usage=usage, model=model)
    raw = _word(candidates[0].get("finishReason"))
    parts = (candidates[0].get("content") or {}).get("parts") or []
    text = "".join(part.get("text", "") for part in parts if not part.get("thought"))
    return _said(text, _finish(_GEMINI, raw), raw, usage, model)


_READERS: Mapping[Dialect, Callable[[dict[str, Any]], Said | Broken]] = {
    "openai": _read_openai,
    "anthropic": _read_anthropic,
    "gemini": _read_gemini,
    "maritaca": _read_openai,
    "completions": _read_completions,
}


def _said(text: str, finish: Finish, raw: str | None, usage: Usage, model: str | None) -> Said | Broken:
    """The reading of a text and of the reason why it ended."""
    match finish:
        case "content_filter" | "refusal":
            kind: Literal["answered", "refused", "truncated"] = "refused"
        case "length":
            kind = "truncated"
        case "stop" | "tool" | "none" | "other":
            if not text.strip():
                return Broken(
                    cause="empty", detail="the answer is empty", raw_finish=raw, finish=finish, usage=usage,
                    model=model,
                )  # fmt: skip
            kind = "answered"
        case _:
            assert_never(finish)
    return Said(kind=kind, text=text, finish=finish, raw_finish=raw, usage=usage, model=model)


def _ended(found: Said | Broken) -> Said | Broken:
    """A reading as the word for its end makes it."""
    if isinstance(found, Broken) and found.cause != "empty":
        return found
    if isinstance(found, Said) and (found.kind == "refused" or found.finish == "stop"):
        return found
    ending = ENDINGS.get((found.raw_finish or "").casefold())
    text = found.text if isinstance(found, Said) else ""
    match ending:
        case "refused":
            return _instead("refused", "content_filter", text, found)
        case "cap":
            return _instead("truncated", "length", text, found)
        case "failed":
            return Broken(
                cause="server",
                detail="the server broke the answer off",
                raw_finish=found.raw_finish,
                finish="other",
                usage=found.usage,
                model=found.model,
            )
        case "cut" if text:
            return _instead("truncated", "tool" if found.finish == "tool" else "other", text, found)
        case "whole" if text:
            return _instead("answered", "stop", text, found)
        case _:
            return found


def _instead(
    kind: Literal["answered", "refused", "truncated"],
    finish: Literal["stop", "length", "content_filter", "tool", "other"],
    text: str,
    found: Said | Broken,
) -> Said:
    return Said(
        kind=kind, text=text, finish=finish, raw_finish=found.raw_finish, usage=found.usage, model=found.model
    )


def _openai_usage(counts: dict[str, Any]) -> Usage:
    read = counts.get("prompt_tokens_details") or {}
    wrote = counts.get("completion_tokens_details") or {}
    return Usage(
        input=_count(counts.get("prompt_tokens")),
        output=_count(counts.get("completion_tokens")),
        cached=_count(read.get("cached_tokens")),
        reasoning=_count(wrote.get("reasoning_tokens")),
    )


def _content(content: Any) -> str:
    """The text of a message's content, which is text, a list of parts, or nothing."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part.get("type", "text") in ("text", "output_text"))


def _finish(known: Mapping[str, Finish], raw: str | None) -> Finish:
    return "none" if raw is None else known.get(raw, "other")


def _word(value: Any) -> str | None:
    """A vendor's word, when it is one: it goes into the journal as it is, so it must be short."""
    return value[:80] if isinstance(value, str) and value else None


def _count(value: Any) -> int | None:
    """A number of tokens, when it is one."""
    return (
        int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None
    )
