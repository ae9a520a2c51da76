"""Bodies of answers that are almost right: what is wrong with them is taken out and counted, and the answer kept.

A server that cuts an emoji in half, or tells ``NaN`` tokens, has answered all the same.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from lacre.registry.columns import Dialect

MOST_TOKENS = 10**9
"""No answer is read or written in so many tokens; a larger count is no count."""

_OPENAI: Mapping[str, tuple[str, ...]] = {
    "": ("prompt_tokens", "completion_tokens"),
    "prompt_tokens_details": ("cached_tokens",),
    "completion_tokens_details": ("reasoning_tokens",),
}
_COUNTS: Mapping[Dialect, tuple[str, Mapping[str, tuple[str, ...]]]] = {
    "openai": ("usage", _OPENAI),
    "maritaca": ("usage", _OPENAI),
    "completions": ("usage", _OPENAI),
    "anthropic": (
        "usage",
        {
            "": (
                "input_tokens",
                "output_tokens",
                "cache_read_input_tokens",
                "cache_creation_input_tokens",
            ),
            "output_tokens_details": ("thinking_tokens",),
        },
    ),
    "gemini": (
        "usageMetadata",
        {
            "": (
                "promptTokenCount",
                "candidatesTokenCount",
                "thoughtsTokenCount",
                "cachedContentTokenCount",
            ),
        },
    ),
}
"""Where each dialect tells its tokens: the object, and in it (or in an object of that) the counts."""

_PARTS: Mapping[Dialect, tuple[str, tuple[str, str]]] = {
    "openai": ("prompt_tokens", ("prompt_tokens_details", "cached_tokens")),
    "maritaca": ("prompt_tokens", ("prompt_tokens_details", "cached_tokens")),
    "completions": ("prompt_tokens", ("prompt_tokens_details", "cached_tokens")),
    "gemini": ("promptTokenCount", ("", "cachedContentTokenCount")),
}
"""A count, and one that is a part of it: Anthropic tells them side by side."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Mended:
    """A body that can be read, as far as it can.

    Attributes:
        value: what it holds.
        dropped: counts of tokens that were no counts, and were taken out.
    """

    value: Any
    dropped: int = 0


def mended(dialect: Dialect, body: bytes) -> Mended | None:
    """What a body holds, without what makes a good answer unreadable; none when it is no JSON.

    Half characters (lone surrogates, RFC 8259, 8.2) become U+FFFD; ``NaN`` and ``Infinity``, which JSON does not
    have, become null; counts of tokens that are negative, broken, texts, or larger than what they are a part of go.

    >>> mended("openai", b'{"usage": {"prompt_tokens": NaN}, "choices": ["\\\\ud83d"]}')
    Mended(value={'usage': {}, 'choices': ['\ufffd']}, dropped=1)
    """
    try:
        value = msgspec.json.decode(body)
        return Mended(dropped=_drop(dialect, value), value=value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        # The slower reader takes what the standard does not; what cannot be written as JSON again goes after that.
        value = json.loads(body.decode("utf-8"))
        return Mended(dropped=_drop(dialect, value), value=_clean(value))
    except (ValueError, RecursionError):
        return None


def _drop(dialect: Dialect, value: Any) -> int:
    """Take out of a body what is no count of tokens; how many there were."""
    name, places = _COUNTS[dialect]
    if not isinstance(value, dict) or value.get(name) is None:
        return 0
    usage = value[name]
    if not isinstance(usage, dict):
        del value[name]
        return 1
    dropped = 0
    for place, counts in places.items():
        told = usage.get(place) if place else usage
        if told is None:
            continue
        if not isinstance(told, dict):
            del usage[place]
            dropped += 1
            continue
        for count in counts:
            if told.get(count) is not None and not _is_count(told[count]):
                del told[count]
                dropped += 1
    return dropped + _drop_part(dialect, usage)


def _drop_part(dialect: Dialect, usage: dict[str, Any]) -> int:
    """Take out a part that is larger than its whole: with it the rest would cost less than nothing."""
    if dialect not in _PARTS:
        return 0
    name, (place, part) = _PARTS[dialect]
    told = (usage.get(place) or {}) if place else usage
    if (told.get(part) or 0) <= (MOST_TOKENS if usage.get(name) is None else usage[name]):
        return 0
    del told[part]
    return 1


def _is_count(value: Any) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 <= value <= MOST_TOKENS
        and value == int(value)
    )


def _clean(value: Any) -> Any:
    """A JSON value that can be written as JSON again."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case float():
            return value if math.isfinite(value) else None
        case list():
            return [_clean(one) for one in value]
        case dict():
            return {_clean(name): _clean(one) for name, one in value.items()}
        case _:
            return value
