"""Replies: what became of one question put to one column (SPEC L10, DESIGN's table of server answers)."""

from __future__ import annotations

from typing import Literal, TypeAlias

from lacre.registry.records import Record

Finish = Literal["stop", "length", "refusal", "content_filter", "tool", "none", "other"]
"""Why a column stopped, in one vocabulary for all dialects; the vendor's own word stands beside it."""

Cause = Literal[
    "empty",  # an answer without text
    "no_choices",  # an answer without any candidate
    "not_json",  # HTML or anything else with status 200
    "not_text",  # bytes that are not UTF-8
    "unreadable",  # JSON of no known shape
    "too_large",  # a body beyond the limit
    "connection",  # refused, reset, or a body shorter than promised
    "timeout",  # no whole answer in time
    "server",  # 5xx and the like, to the end of the tries
    "rejected",  # 4xx for this one question: too long, malformed
]
"""Why a reply failed."""

TRANSIENT: frozenset[Cause] = frozenset(
    {"not_json", "not_text", "unreadable", "too_large", "connection", "timeout", "server"}
)
"""Causes that another try may heal. An empty answer is an answer: it is asked for again in the sweep only."""


class Usage(Record):
    """Tokens as the column counted them, none where it said nothing.

    Attributes:
        input: all tokens read, cached ones among them.
        output: all tokens written, reasoning among them.
        cached: those of ``input`` read from the vendor's cache.
        cache_written: those of ``input`` written to it.
        reasoning: those of ``output`` that were reasoning.
        dropped: counts that were no counts of tokens (negative, broken, texts), and were left out.
    """

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    cache_written: int | None = None
    reasoning: int | None = None
    dropped: int = 0


class Delivery(Record, omit_defaults=False):
    """How a reply came.

    Attributes:
        status: the last HTTP status, none when there was no response.
        attempts: requests that were sent.
        lost: attempts that may have been billed though no usage was told: timeouts, resets, unreadable bodies.
        latency: seconds of the last attempt.
        waited: seconds spent waiting for rate limits and between tries.
        model: the model that the answer names, none when it names none.
    """

    status: int | None
    attempts: int
    lost: int = 0
    latency: float
    waited: float = 0.0
    model: str | None = None


class Answered(Record, tag="answered", tag_field="kind"):
    """Text came, and its end is the column's own."""

    text: str
    finish: Finish
    raw_finish: str | None
    delivery: Delivery
    usage: Usage = Usage()


class Refused(Record, tag="refused", tag_field="kind"):
    """The vendor or the column refused by policy: class R. ``text`` is what it said, if anything."""

    finish: Finish
    raw_finish: str | None
    delivery: Delivery
    text: str = ""
    usage: Usage = Usage()


class Truncated(Record, tag="truncated", tag_field="kind"):
    """The text has no end of the column's own: class F, counted apart, unless the text already answers.

    Most often the output cap was reached (``finish`` is ``length``); else the turn was paused or went over to a tool.
    """

    finish: Finish
    raw_finish: str | None
    delivery: Delivery
    text: str = ""
    usage: Usage = Usage()


class Failed(Record, tag="failed", tag_field="kind"):
    """No answer came, after all tries: class F. ``detail`` is in our words; it quotes no item and no key."""

    cause: Cause
    detail: str
    delivery: Delivery
    finish: Finish = "none"
    raw_finish: str | None = None
    usage: Usage = Usage()


Reply: TypeAlias = Answered | Refused | Truncated | Failed
