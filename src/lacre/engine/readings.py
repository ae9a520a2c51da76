"""What a server's answer is, in each dialect: one function from status, headers and body to one reading."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias, assert_never

import msgspec

from lacre.engine.replies import Cause, Finish, Usage
from lacre.engine.waits import asked_wait
from lacre.registry.columns import Dialect

StopReason = Literal["key", "quota", "parameter", "model", "endpoint", "requests", "wait"]
"""Why a column is stopped: nothing that would be asked after this could be answered."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """The column said something, or refused to, or ran into its cap."""

    kind: Literal["answered", "refused", "truncated"]
    text: str
    finish: Finish
    raw_finish: str | None
    usage: Usage
    model: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Broken:
    """No answer; ``wait`` is what the server asks for before another try, in seconds."""

    cause: Cause
    detail: str
    raw_finish: str | None = None
    finish: Finish = "none"
    usage: Usage = field(default_factory=Usage)
    wait: float | None = None
    model: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Limited:
    """A rate limit; ``wait`` seconds, none when the server does not say."""

    wait: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Stopped:
    """The column is to be stopped. ``detail`` is in our words, ``parameter`` the setting at fault."""

    reason: StopReason
    detail: str
    parameter: str | None = None


Reading: TypeAlias = Said | Broken | Limited | Stopped

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

_POLICY_CODES = frozenset(
    {
        "content_filter", "content_policy_violation", "responsibleaipolicyviolation", "moderation_blocked",
        "invalid_prompt", "content_policy", "safety",
    }
)  # fmt: skip
_POLICY_WORDS = re.compile(r"content filtering policy|content management policy|usage polic", re.IGNORECASE)
_QUOTA_CODES = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_credits"}
)
_QUOTA_WORDS = re.compile(
    r"credit balance is too low|insufficient (?:quota|credits|balance|funds)", re.IGNORECASE
)
_KEY_CODES = frozenset({"invalid_api_key", "api_key_invalid", "authentication_error", "permission_error"})
_TOO_LONG = re.compile(r"context[ _](?:length|window)|too (?:long|many tokens)|exceeds? the maximum", re.I)
_PARAMETER_CODES = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter"})
_UNSUPPORTED = re.compile(
    r"unsupported|not supported|não (?:é )?suportad|does not support|unrecogni[sz]ed|unknown|not permitted"
    r"|extra inputs|deprecated|only be set|must be|maximum|invalid|cannot|out of range|not allowed",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(?:parameter|argument|argument supplied|name|field|value|keyword)s?:? ?[\"'`]([\w.]{1,60})[\"'`]"
    r"|^([\w.]{1,60}): Extra inputs are not permitted"
    r"|Unrecognized request argument supplied: ([\w.]{1,60})",
    re.IGNORECASE,
)


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

    Nothing in a reading but ``text`` quotes the server: its messages may repeat the item or the key.
    """
    if status != 200:
        return _error(status, headers, _loose(body), now, sent)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return Broken(cause="not_text", detail="the answer is not UTF-8")
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        what = "HTML" if text.lstrip().startswith("<") else "no JSON"
        return Broken(cause="not_json", detail=f"status 200 came with {what}")
    if not isinstance(value, dict):
        return Broken(cause="unreadable", detail="the answer is no JSON object")
    if value.get("error") and not value.get("choices"):
        # Gateways wrap the error of the system behind them in a 200.
        return _error(_wrapped_status(value), headers, value, now, sent)
    try:
        return _READERS[dialect](value)
    except (TypeError, KeyError, AttributeError, ValueError):
        return Broken(cause="unreadable", detail=f"the answer has not the shape of the {dialect} dialect")


def _read_openai(value: dict[str, Any]) -> Reading:
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


def _read_completions(value: dict[str, Any]) -> Reading:
    usage = _openai_usage(value.get("usage") or {})
    model = _word(value.get("model"))
    choices = value["choices"] if value.get("choices") is not None else []
    if not choices:
        return Broken(cause="no_choices", detail="the answer has no choices", usage=usage, model=model)
    raw = _word(choices[0].get("finish_reason"))
    # Without a text it is an answer of another shape, such as a chat's; a null one is an empty one.
    return _said(_content(choices[0]["text"]), _finish(_OPENAI, raw), raw, usage, model)


def _read_anthropic(value: dict[str, Any]) -> Reading:
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


def _read_gemini(value: dict[str, Any]) -> Reading:
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


_READERS: Mapping[Dialect, Callable[[dict[str, Any]], Reading]] = {
    "openai": _read_openai,
    "anthropic": _read_anthropic,
    "gemini": _read_gemini,
    "maritaca": _read_openai,
    "completions": _read_completions,
}


def _said(text: str, finish: Finish, raw: str | None, usage: Usage, model: str | None) -> Reading:
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


def _error(
    status: int, headers: Mapping[str, str], value: Any, now: datetime, sent: Sequence[str]
) -> Reading:
    """The reading of an answer that is no answer."""
    codes, message, named = _error_parts(value)
    wait = asked_wait(headers, now)
    if wait is None:
        wait = _retry_info(value)
    if codes & _QUOTA_CODES or status == 402 or (status in (400, 403) and _QUOTA_WORDS.search(message)):
        return Stopped(reason="quota", detail=f"no quota or credit is left (status {status})")
    if status in (400, 403) and (codes & _POLICY_CODES or _POLICY_WORDS.search(message)):
        raw = min(codes & _POLICY_CODES, default="content policy")
        return Said(kind="refused", text="", finish="content_filter", raw_finish=raw, usage=Usage())
    if status in (401, 403) or (status == 400 and codes & _KEY_CODES):
        return Stopped(reason="key", detail=f"the key was refused (status {status})")
    if status == 429:
        return Limited(wait=wait)
    if status in (404, 405) or 300 <= status < 400 or "model_not_found" in codes:
        return Stopped(
            reason="endpoint" if status != 404 and "model_not_found" not in codes else "model",
            detail=f"the server knows no such model or address (status {status})",
        )
    if status in (408, 409, 425) or status >= 500:
        return Broken(cause="server", detail=f"the server answered with status {status}", wait=wait)
    parameter = _parameter(codes, message, named, sent)
    if parameter is not None:
        # A name that was not sent is no setting of the card's: it may be a word of the message.
        mine = next((name for name in sent if parameter in (name, name.rpartition(".")[2])), None)
        what = (
            f"'{mine}' as the card gives it"
            if mine
            else "a part of the request that is no setting of the card"
        )
        return Stopped(
            reason="parameter",
            detail=f"the server does not take {what} (status {status})",
            parameter=mine,
        )
    return Broken(cause="rejected", detail=f"the server refused this request (status {status})")


def _error_parts(value: Any) -> tuple[set[str], str, str | None]:
    """The codes of an error, its message, and the parameter that it names, in any dialect's shape."""
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return set(), value if isinstance(value, str) else "", None
    error = value.get("error", value)
    if isinstance(error, str):
        return {error.casefold()}, f"{error} {value.get('message', '')}", None
    if not isinstance(error, dict):
        return set(), "", None
    codes = {
        str(part).casefold()
        for part in (error.get("code"), error.get("type"), error.get("status"))
        if part is not None
    }
    inner = error.get("innererror")
    if isinstance(inner, dict) and inner.get("code"):
        codes.add(str(inner["code"]).casefold())
    message, named = str(error.get("message") or ""), error.get("param")
    details = error.get("details", error.get("detail"))
    if isinstance(details, str):
        message = f"{message} {details}"
    for detail in details if isinstance(details, list) else ():
        if not isinstance(detail, dict):
            continue
        if detail.get("reason"):
            codes.add(str(detail["reason"]).casefold())
        where = detail.get("loc")
        if isinstance(where, list) and where:
            # FastAPI: {"loc": ["body", "temperature"], "msg": ...}
            named, message = str(where[-1]), f"{message} {detail.get('msg', '')} invalid"
    return codes, message, named if isinstance(named, str) else None


def _parameter(codes: set[str], message: str, named: str | None, sent: Sequence[str]) -> str | None:
    """The setting that the server does not take; none when the fault is another."""
    if "context_length_exceeded" in codes or _TOO_LONG.search(message):
        return None
    if codes & _PARAMETER_CODES and named:
        return _plain(named)
    if not _UNSUPPORTED.search(message):
        return None
    for name in sent:
        last = name.rpartition(".")[2]
        if named in (name, last) or re.search(rf"(?<!\w){re.escape(last)}(?!\w)", message):
            return name
    found = _NAMED.search(message)
    if found and (
        "unsupported" in message.casefold() or "unknown" in message.casefold() or found[2] or found[3]
    ):
        return _plain(next(group for group in found.groups() if group))
    return None


def _plain(name: str) -> str:
    """A name out of a server's message, of which nothing but a name may go on."""
    return re.sub(r"[^\w.\[\]-]", "", name)[:60]


def _retry_info(value: Any) -> float | None:
    """The delay in a Google ``RetryInfo``, in seconds."""
    if isinstance(value, list) and value:
        value = value[0]
    error = value.get("error") if isinstance(value, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and isinstance(delay := detail.get("retryDelay"), str):
            number = re.fullmatch(r"(\d+(?:\.\d+)?)s", delay)
            return float(number[1]) if number else None
    return None


def _wrapped_status(value: dict[str, Any]) -> int:
    error = value["error"]
    code = error.get("code") if isinstance(error, dict) else None
    return int(code) if isinstance(code, int) and 300 <= code < 600 else 500


def _loose(body: bytes) -> Any:
    """A body as JSON when it is JSON, else nothing."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


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
