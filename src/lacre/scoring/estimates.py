"""What every number of scoring is: an estimate with its interval, or undefined with the reason."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

LEVEL = 0.95
"""Confidence level of published intervals (SPEC L13)."""


class Interval(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="interval"):
    """Two bounds, the level they hold at, and the method that made them.

    ``one_sided`` is true for a bound on one side only, such as the rule of three: ``lo`` is then no bound
    that was computed, but the end of the scale.

    >>> Interval(lo=0.1, hi=0.3, level=0.95, method="Wilson").contains(0.3)
    True
    """

    lo: float
    hi: float
    level: float = LEVEL
    method: str
    one_sided: bool = False

    def contains(self, value: float) -> bool:
        """Whether ``value`` lies in the closed interval: a bound belongs to it (SPEC L14)."""
        return self.lo <= value <= self.hi


class Undefined(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="undefined"):
    """No number, why there is none, and how many units it would have stood on (ground rule 1).

    >>> str(Undefined(reason="no answer was attempted", n=0))
    'undefined: no answer was attempted'
    """

    reason: str
    n: int = 0

    def __str__(self) -> str:
        """The words for a table: ``undefined:`` and the reason."""
        return f"undefined: {self.reason}"


class Estimate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="estimate"):
    """A number, its interval, the units it stands on, and the method that made it.

    Source: SPEC L13.

    >>> lone = Undefined(reason="one item shows no spread between items", n=1)
    >>> found = Estimate(value=0.5, interval=lone, n=1, method="mean, item as cluster")
    >>> found.value, str(found.interval)
    (0.5, 'undefined: one item shows no spread between items')

    Attributes:
        interval: undefined, with the reason, where the method gives none.
        n: units in the denominator: items, unless the method says otherwise.
        method: what was computed, in words a reader can look up.
        standard_error: where the method has one.
    """

    value: float
    interval: Interval | Undefined
    n: int
    method: str
    standard_error: float | None = None


Measured: TypeAlias = Estimate | Undefined
"""Every published number is one of the two."""
