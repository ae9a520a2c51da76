"""What one try came to: an answer, none, a rate limit, or a column that is to be stopped."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from lacre.engine.replies import Cause, Finish, Usage

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
