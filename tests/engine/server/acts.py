"""What the server does with a request, and scripts that choose it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import msgspec

Shape = Literal["openai", "anthropic", "gemini", "completions"]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A request as the server saw it."""

    path: str
    headers: Mapping[str, str]
    body: Any
    raw: bytes

    @property
    def shape(self) -> Shape:
        if self.path.endswith("/messages"):
            return "anthropic"
        if ":generateContent" in self.path:
            return "gemini"
        chat = self.path.endswith("/chat/completions") or not self.path.endswith("/completions")
        return "openai" if chat else "completions"

    @property
    def text(self) -> str:
        """The text of the message, images left out."""
        if self.shape == "completions":
            return str(self.body["prompt"])
        if self.shape == "gemini":
            parts = self.body["contents"][0]["parts"]
        else:
            parts = self.body["messages"][0]["content"]
            if isinstance(parts, str):
                return parts
        return "".join(part.get("text", "") for part in parts)


@dataclass(frozen=True, kw_only=True)
class Say:
    """An answer in the dialect of the request. ``finish`` and ``extra`` are the vendor's own words."""

    text: str | None = "A"
    finish: str | None = ""  # "" for the dialect's usual word
    usage: bool = True
    reasoning: int = 0
    cached: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Send:
    """Bytes as they are; ``length`` when the header is to lie."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None
    kind: str = "application/json"

    @classmethod
    def json(cls, status: int, value: object, **headers: str) -> Send:
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return cls(status=status, body=msgspec.json.encode(value), headers=named)


@dataclass(frozen=True)
class Hang:
    """Nothing, for so many seconds."""

    seconds: float = 30.0


@dataclass(frozen=True)
class Trickle:
    """A byte now and then, so that no read ever times out."""

    pause: float = 0.05
    bytes: int = 1000


@dataclass(frozen=True)
class Reset:
    """A TCP reset instead of an answer."""


@dataclass(frozen=True)
class Drop:
    """A connection that is closed without a word."""


@dataclass(frozen=True)
class Limit:
    """A 429, with these headers."""

    headers: Mapping[str, str] = field(default_factory=dict)


Act: TypeAlias = Say | Send | Hang | Trickle | Reset | Drop | Limit
Script: TypeAlias = Callable[[Seen], Act]


def always(act: Act) -> Script:
    """The same for every request."""
    return lambda _: act


def in_turn(*acts: Act) -> Script:
    """One after the other; the last one for ever."""
    rest: Iterator[Act] = iter(acts)

    def script(_: Seen) -> Act:
        return next(rest, acts[-1])

    return script


def answer(seen: Seen, say: Say) -> bytes:
    """The body of an answer in the dialect of the request."""
    read, wrote = len(seen.text) // 4 + 1, len(say.text or "") // 4 + 1 + say.reasoning
    body: dict[str, Any]
    if seen.shape == "anthropic":
        content = [] if say.text is None else [{"type": "text", "text": say.text}]
        body = {
            "type": "message",
            "role": "assistant",
            "model": seen.body["model"],
            "content": content,
            "stop_reason": "end_turn" if say.finish == "" else say.finish,
        }
        if say.usage:
            body["usage"] = {
                "input_tokens": read - say.cached,
                "cache_read_input_tokens": say.cached,
                "output_tokens": wrote,
            }
    elif seen.shape == "gemini":
        candidate: dict[str, Any] = {"finishReason": "STOP" if say.finish == "" else say.finish}
        if say.text is not None:
            candidate["content"] = {"role": "model", "parts": [{"text": say.text}]}
        body = {"candidates": [candidate], "modelVersion": seen.path.split("/")[-1].partition(":")[0]}
        if say.usage:
            body["usageMetadata"] = {
                "promptTokenCount": read,
                "candidatesTokenCount": wrote - say.reasoning,
                "thoughtsTokenCount": say.reasoning,
                "cachedContentTokenCount": say.cached,
            }
    else:
        finish = "stop" if say.finish == "" else say.finish
        chat = seen.shape == "openai"
        said = {"message": {"role": "assistant", "content": say.text}} if chat else {"text": say.text}
        body = {
            "object": "chat.completion" if chat else "text_completion",
            "model": seen.body["model"],
            "choices": [{"index": 0, **said, "finish_reason": finish}],
        }
        if say.usage:
            body["usage"] = {
                "prompt_tokens": read,
                "completion_tokens": wrote,
                "prompt_tokens_details": {"cached_tokens": say.cached},
                "completion_tokens_details": {"reasoning_tokens": say.reasoning},
            }
    return msgspec.json.encode({**body, **say.extra})
