"""How many items a layer needs, and the interval that those it has can give (SPEC L13)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

import msgspec
import numpy as np

from lacre.errors import InputError
from lacre.scoring.estimates import LEVEL, Interval
from lacre.scoring.intervals import normal_quantile, wilson_bounds

Exact: TypeAlias = str | int | Fraction | Decimal | float
"""A number taken as it is written: ``0.8`` is four fifths, never the float nearest to it."""

Z95 = Fraction(196, 100)
"""1.96, as the LUA rules write it: their table needs this one, not the quantile 1.95996 (SPEC L13)."""

ACCURACIES = ("50%", "80%", "90%", "95%")
MARGINS = ("3%", "5%", "7%")
"""Rows and columns of the table in the LUA rules (SPEC L13)."""


class SampleTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Items needed for each accuracy (rows) and half width (columns) (SPEC L13).

    >>> sample_table(["80%"], ["5%", "7%"]).items
    ((246, 126),)
    """

    accuracies: tuple[str, ...]
    margins: tuple[str, ...]
    items: tuple[tuple[int, ...], ...]


class Reach(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``n`` items give where the accuracy is ``accuracy`` (SPEC L13).

    >>> round(reach(100, "50%").half_width, 3)
    0.098

    Attributes:
        half_width: of the normal interval, the one that sample sizes are computed for.
        interval: Wilson's, the one that is published.
    """

    n: int
    accuracy: float
    half_width: float
    interval: Interval


class RareEvents(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Items without a single event that show a rate to be below ``bound`` (SPEC L13).

    >>> rare_events("3%").rule_of_three
    100

    Attributes:
        rule_of_three: items by the rule, 3 / bound rounded up.
        exact: items by the binomial, 1 - bound to the n at most 1 - level.
    """

    bound: float
    level: float
    rule_of_three: int
    exact: int


def exact(number: Exact, name: str = "number") -> Fraction:
    """A number as a fraction, just as it is written; ``%`` and decimal commas are read (SPEC L13: exact fractions).

    >>> exact("2,5%"), exact(0.1), exact("4/5")
    (Fraction(1, 40), Fraction(1, 10), Fraction(4, 5))

    Raises:
        InputError: it is no number.
    """
    text = repr(number) if isinstance(number, float) else str(number)
    plain = text.strip().replace(",", ".")
    try:
        if plain.endswith("%"):
            return Fraction(plain[:-1].strip()) / 100
        return Fraction(plain)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise InputError(name, f"'{text}' is no number", "Write 0.8, 80% or 4/5") from None


def sample_size(accuracy: Exact, margin: Exact, *, z: Exact = Z95) -> int:
    """Items for which the 95 % interval of an accuracy is at most ``margin`` to each side.

    n = z^2 p (1 - p) / E^2, rounded up, in exact fractions. z is 1.96 unless another is given.

    Source: Cochran 1977, Sampling Techniques, section 4.4; SPEC L13.

    >>> sample_size("0.5", "0.03"), sample_size("95%", "7%")
    (1068, 38)

    Raises:
        InputError: accuracy outside (0, 1), margin outside (0, 1), or z not above 0.
    """
    p, half, quantile = exact(accuracy, "accuracy"), exact(margin, "margin"), exact(z, "z")
    if not 0 < p < 1:
        raise InputError(
            "accuracy", f"{accuracy} is not between 0 and 1", "At 0 or 1 the formula asks for no item at all"
        )
    if not 0 < half < 1:
        raise InputError("margin", f"{margin} is not between 0 and 1", "3 points are 0.03 or 3%")
    if quantile <= 0:
        raise InputError("z", f"{z} is not above 0", "1.96 is that of 95 %")
    return math.ceil(quantile**2 * p * (1 - p) / half**2)


def sample_table(accuracies: Sequence[str] = ACCURACIES, margins: Sequence[str] = MARGINS) -> SampleTable:
    """The table of sample sizes of the LUA rules, or one for other accuracies and margins (SPEC L13).

    >>> sample_table().items[0]
    (1068, 385, 196)

    Raises:
        InputError: as :func:`sample_size`.
    """
    return SampleTable(
        accuracies=tuple(accuracies),
        margins=tuple(margins),
        items=tuple(tuple(sample_size(p, half) for half in margins) for p in accuracies),
    )


def reach(n: int, accuracy: Exact, *, level: float = LEVEL) -> Reach:
    """The interval that ``n`` items give at an accuracy: what a stratum has, before any run.

    The half width is z sqrt(p (1 - p) / n), with 1.96 for z at 95 %, as sample sizes are computed; the interval is
    Wilson's around n p successes, which need not be whole.

    Source: SPEC L13; Wilson 1927, JASA 22:209-212.

    >>> found = reach(196, "0.5")
    >>> round(found.half_width, 4), round(found.interval.lo, 3)
    (0.07, 0.431)

    Raises:
        InputError: n below 1, or accuracy outside [0, 1].
    """
    p = exact(accuracy, "accuracy")
    if n < 1:
        raise InputError("items", f"{n} is below 1", "Give a number of items")
    if not 0 <= p <= 1:
        raise InputError("accuracy", f"{accuracy} is not between 0 and 1", "Write 0.8 or 80%")
    z = Z95 if level == LEVEL else Fraction(normal_quantile(level))
    bounds = wilson_bounds(np.array([float(n * p)]), np.array([float(n)]), level)
    return Reach(
        n=n,
        accuracy=float(p),
        half_width=float(z) * math.sqrt(p * (1 - p) / n),
        interval=Interval(lo=bounds.lo.item(), hi=bounds.hi.item(), level=level, method="Wilson"),
    )


def rare_events(bound: Exact, *, level: float = LEVEL) -> RareEvents:
    """Items that must show no event, for the rate to be below ``bound`` (one-sided).

    The rule of three gives ceil(3 / bound); the binomial ceil(ln(1 - level) / ln(1 - bound)). The rule is that of
    level 0.95, whatever ``level`` is.

    Source: Hanley and Lippman-Hand 1983, JAMA 249:1743-1745; SPEC L13.

    >>> found = rare_events("1%")
    >>> found.rule_of_three, found.exact
    (300, 299)

    Raises:
        InputError: the bound or the level is not between 0 and 1.
    """
    rate = exact(bound, "bound")
    if not 0 < rate < 1:
        raise InputError("bound", f"{bound} is not between 0 and 1", "One in a hundred is 0.01 or 1%")
    normal_quantile(level)  # refuses a level that is none
    needed = math.ceil(math.log(1 - level) / math.log1p(-float(rate)))
    return RareEvents(bound=float(rate), level=level, rule_of_three=math.ceil(3 / rate), exact=max(needed, 1))
