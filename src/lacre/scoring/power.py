"""Planning comparisons of two columns on the same items: power, items, smallest detectable difference (SPEC L13, L14).

All functions are of *paired* designs: what matters is on how many items the two differ, and how those split.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped]

from lacre.errors import InputError
from lacre.scoring.estimates import LEVEL, Undefined
from lacre.scoring.intervals import normal_quantile

POWER = 0.8
"""Power that plans aim at when nobody says otherwise (Cohen 1988)."""

MOST_ITEMS = 1_000_000
"""No plan goes beyond this."""

_WALKED = 20_000
"""Up to here every size is tried: the exact test's power goes up and down a little."""
_TAIL = 10.0
"""Standard deviations of the discordant count that are summed: what is beyond is under 1e-20."""

Floats = NDArray[np.float64]


class Paired(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How two columns differ on one item: the chances that only the first, or only the second, is right.

    >>> design = Paired(first_only=0.12, second_only=0.08)
    >>> round(design.difference, 2), round(design.discordance, 2)
    (0.04, 0.2)

    Raises:
        InputError: a chance outside [0, 1], or both together above 1.
    """

    first_only: float
    second_only: float

    def __post_init__(self) -> None:
        """Refuse what are no chances."""
        # Written so that NaN fails it too.
        if not (self.first_only >= 0 and self.second_only >= 0 and self.discordance <= 1 + 1e-12):
            raise InputError(
                "design",
                f"{self.first_only:g} and {self.second_only:g} are no chances of one item",
                "Both are from 0 on, together at most 1",
            )

    @property
    def difference(self) -> float:
        """Accuracy of the first less that of the second, p10 - p01 (SPEC L14).

        >>> round(Paired(first_only=0.3, second_only=0.1).difference, 2)
        0.2
        """
        return self.first_only - self.second_only

    @property
    def discordance(self) -> float:
        """Share of items on which just one of them is right, p10 + p01 (McNemar 1947).

        >>> Paired(first_only=0.3, second_only=0.1).discordance
        0.4
        """
        return self.first_only + self.second_only

    @property
    def variance(self) -> float:
        """Variance of one item's difference (-1, 0 or 1): p10 + p01 - (p10 - p01)^2 (Agresti 2002, section 10.1).

        >>> round(Paired(first_only=0.3, second_only=0.1).variance, 2)
        0.36
        """
        return self.discordance - self.difference**2


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A paired comparison: items, what they can show, and how surely (SPEC L14).

    >>> round(plan(100, Paired(first_only=0.3, second_only=0.1)).power, 2)
    0.88

    Attributes:
        power: chance that the exact McNemar test finds this difference on that many items.
    """

    items: int
    difference: float
    discordance: float
    power: float
    level: float


def design_of_difference(difference: float, discordance: float) -> Paired:
    """The design in which two columns differ on a share of items, by ``difference`` in accuracy.

    p10 = (discordance + difference) / 2, p01 = (discordance - difference) / 2. Source: McNemar 1947.

    >>> round(design_of_difference(0.04, 0.2).first_only, 2)
    0.12

    Raises:
        InputError: the difference is larger than the discordance, or one is no share.
    """
    if not 0 <= discordance <= 1:
        raise InputError(
            "discordance", f"{discordance:g} is not between 0 and 1", "It is a share of the items"
        )
    if not abs(difference) <= discordance + 1e-12:
        raise InputError(
            "difference",
            f"{difference:g} is more than the share of items on which the columns differ ({discordance:g})",
            "Give a larger share, or a smaller difference",
        )
    return Paired(
        first_only=max(discordance + difference, 0.0) / 2, second_only=max(discordance - difference, 0.0) / 2
    )


def design_of_accuracies(first: float, second: float, correlation: float) -> Paired:
    """The design of two columns of known accuracies, whose right answers correlate over items.

    P(both right) = p1 p2 + phi sqrt(p1 (1 - p1) p2 (1 - p2)), with phi the correlation; 0 means unrelated. Models tend
    to find the same items hard, so phi is mostly above 0, and the larger it is the fewer items are needed.

    Source: Connor 1987, Biometrics 43:207-211.

    >>> round(design_of_accuracies(0.8, 0.75, 0.5).discordance, 4)
    0.1768

    Raises:
        InputError: an accuracy outside [0, 1], or a correlation that those accuracies cannot have.
    """
    for name, share in (("first", first), ("second", second)):
        if not 0 <= share <= 1:
            raise InputError(f"{name} accuracy", f"{share:g} is not between 0 and 1", "Write 0.8 for 80 %")
    spread = math.sqrt(first * (1 - first) * second * (1 - second))
    both = first * second + correlation * spread
    low, high = max(0.0, first + second - 1), min(first, second)
    if not low - 1e-12 <= both <= high + 1e-12:
        span = (
            f"from {(low - first * second) / spread:.3f} to {(high - first * second) / spread:.3f}"
            if spread
            else "0"
        )
        raise InputError(
            "correlation", f"{correlation:g} cannot be that of {first:g} and {second:g}", f"It can be {span}"
        )
    return Paired(first_only=max(first - both, 0.0), second_only=max(second - both, 0.0))


def mcnemar_power(items: int, design: Paired, *, level: float = LEVEL) -> float:
    """The chance that the exact two-sided McNemar test finds a difference at 1 - ``level``.

    Of n items D ~ Bin(n, p10 + p01) are discordant, and of these X ~ Bin(D, p10 / (p10 + p01)) in the first's
    favour; the test rejects when 2 P(Bin(D, 1/2) <= min(X, D - X)) <= 1 - level. The power is summed over D and X, not
    approximated. With no true difference it is the test's real size, below 1 - level.

    Source: Duffy 1984, Biometrics 40:1005-1015 (exact unconditional power); McNemar 1947, Psychometrika
    12:153-157.

    >>> round(mcnemar_power(1068, Paired(first_only=0.12, second_only=0.08)), 3)
    0.818

    Raises:
        InputError: items below 1 or beyond what is planned for, or a level outside (0, 1).
    """
    _refuse(items, level)
    if design.discordance == 0:
        return 0.0
    counts, chances = _discordant(items, min(design.discordance, 1.0))
    most = _most(counts, (1 - level) / 2)
    favour = min(design.first_only / design.discordance, 1.0)
    usable = most >= 0
    counts, chances, most = counts[usable], chances[usable], most[usable]
    below = special.bdtr(most, counts.astype(np.int64), favour)
    above = special.bdtr(most, counts.astype(np.int64), 1 - favour)
    return min(float((chances * (below + above)).sum()), 1.0)


def plan(items: int, design: Paired, *, level: float = LEVEL) -> Plan:
    """What so many items show of a design: :func:`mcnemar_power`, as a record (SPEC L14).

    >>> plan(500, Paired(first_only=0.12, second_only=0.08)).items
    500

    Raises:
        InputError: as :func:`mcnemar_power`.
    """
    return Plan(
        items=items,
        difference=design.difference,
        discordance=design.discordance,
        power=mcnemar_power(items, design, level=level),
        level=level,
    )


def mcnemar_items(
    design: Paired, *, power: float = POWER, level: float = LEVEL, most: int = MOST_ITEMS
) -> Plan | Undefined:
    """The items with which the exact McNemar test finds the difference of ``design`` with this power.

    Power goes up and down a little with each item, for counts are whole; the plan is the smallest number from
    which it no longer falls below ``power`` (up to 20,000 items, where every size nearby is tried; beyond, the ups
    and downs no longer matter).

    Source: as :func:`mcnemar_power`.

    >>> plan = mcnemar_items(Paired(first_only=0.12, second_only=0.08))
    >>> plan.items, round(plan.power, 3)
    (1021, 0.8)

    Raises:
        InputError: power or level outside (0, 1).
    """
    _refuse(1, level)
    _refuse_power(power)
    if design.difference == 0:
        return Undefined(reason="there is no difference to find")
    high = 1
    while mcnemar_power(high, design, level=level) < power:
        high *= 2
        if high > most:
            return Undefined(reason=f"more than {most:,} items would be needed", n=most)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if mcnemar_power(middle, design, level=level) < power:
            low = middle
        else:
            high = middle
    items = _settled(high, design, power, level) if high <= _WALKED else high
    return plan(items, design, level=level)


def detectable_difference(
    items: int, discordance: float, *, power: float = POWER, level: float = LEVEL
) -> Plan | Undefined:
    """The smallest difference in accuracy that so many items show with this power (exact McNemar test).

    ``discordance`` is the share of items on which just one of the two columns is right; it bounds the difference.
    Found by bisection, to a millionth.

    Source: as :func:`mcnemar_power`.

    >>> round(detectable_difference(1068, 0.2).difference, 4)
    0.0391

    Raises:
        InputError: a number outside its range.
    """
    _refuse(items, level)
    _refuse_power(power)
    low, high = 0.0, design_of_difference(discordance, discordance).difference
    if mcnemar_power(items, design_of_difference(high, discordance), level=level) < power:
        return Undefined(
            reason="so few items cannot show even the largest difference that this share allows", n=items
        )
    while high - low > 1e-6:
        middle = (low + high) / 2
        if mcnemar_power(items, design_of_difference(middle, discordance), level=level) < power:
            low = middle
        else:
            high = middle
    return plan(items, design_of_difference(high, discordance), level=level)


def normal_items(difference: float, variance: float, *, power: float = POWER, level: float = LEVEL) -> int:
    """Items for a paired difference of means, by the normal approximation: for scores, or several runs.

    n = (z_a + z_b)^2 w^2 / d^2 rounded up, with w^2 the variance over items of the difference of the two columns'
    mean scores, and d the difference to find.

    Source: Miller 2024, arXiv:2411.00640, section 5.

    >>> normal_items(0.03, 1 / 9)
    969

    Raises:
        InputError: difference 0 or variance not above 0, or power or level outside (0, 1).
    """
    _refuse_power(power)
    if not (math.isfinite(difference) and difference != 0):
        raise InputError("difference", f"{difference:g} cannot be planned for", "Give one that is not 0")
    if not (math.isfinite(variance) and variance > 0):
        raise InputError("variance", f"{variance:g} is not above 0", "Give the variance of the differences")
    reach = normal_quantile(level) + float(special.ndtri(power))
    return max(math.ceil(reach**2 * variance / difference**2), 1)


def simulated_power(
    items: int, design: Paired, *, rng: np.random.Generator, draws: int = 10_000, level: float = LEVEL
) -> float:
    """The share of simulated runs in which the exact McNemar test finds a difference: a check of the sum.

    The cells of each run are multinomial; the standard error is sqrt(w (1 - w) / draws) for power w. Source: as
    :func:`mcnemar_power`.

    >>> near = simulated_power(1068, Paired(first_only=0.12, second_only=0.08), rng=np.random.default_rng(1))
    >>> abs(near - 0.818) < 0.02
    True

    Raises:
        InputError: items or draws below 1, or a level outside (0, 1).
    """
    _refuse(items, level)
    if draws < 1:
        raise InputError("draws", f"{draws} is below 1", "Give a number of simulated runs")
    rest = max(1 - design.discordance, 0.0)
    cells = rng.multinomial(items, [design.first_only, design.second_only, rest], size=draws)
    fewer = cells[:, :2].min(axis=1)
    p_value = 2 * special.bdtr(fewer.astype(np.float64), cells[:, :2].sum(axis=1), 0.5)
    return float((p_value <= 1 - level).mean())


def _settled(items: int, design: Paired, power: float, level: float) -> int:
    """The smallest size near ``items`` from which the power stays."""
    near = 60 + 4 * math.isqrt(items)
    sizes = range(max(1, items - near), items + near)
    weak = [size for size in sizes if mcnemar_power(size, design, level=level) < power]
    return weak[-1] + 1 if weak else sizes.start


def _discordant(items: int, share: float) -> tuple[Floats, Floats]:
    """Discordant counts that can occur, and their chances: Bin(items, share)."""
    centre, spread = items * share, math.sqrt(items * share * (1 - share))
    low = max(0, math.floor(centre - _TAIL * spread - 10))
    high = min(items, math.ceil(centre + _TAIL * spread + 10))
    counts = np.arange(low, high + 1, dtype=np.float64)
    if share == 1:
        return counts, np.where(counts == items, 1.0, 0.0)
    log = (
        special.gammaln(items + 1)
        - special.gammaln(counts + 1)
        - special.gammaln(items - counts + 1)
        + special.xlogy(counts, share)
        + special.xlog1py(items - counts, -share)
    )
    return counts, np.exp(log)


def _most(counts: Floats, tail: float) -> Floats:
    """For each discordant count, the most items in the weaker column's favour at which the test rejects, else -1."""
    whole = counts.astype(np.int64)
    # A first guess by the normal, then steps to the exact edge.
    guess = np.floor(counts / 2 + special.ndtri(tail) * np.sqrt(counts) / 2)
    edge = np.clip(guess, -1, np.floor((counts - 1) / 2))
    while True:
        over = (edge >= 0) & (special.bdtr(np.maximum(edge, 0), whole, 0.5) > tail)
        if not over.any():
            break
        edge = np.where(over, edge - 1, edge)
    while True:
        room = (edge + 1 <= (counts - 1) / 2) & (special.bdtr(edge + 1, whole, 0.5) <= tail)
        if not room.any():
            return np.asarray(edge, dtype=np.float64)
        edge = np.where(room, edge + 1, edge)


def _refuse(items: int, level: float) -> None:
    normal_quantile(level)
    if not 1 <= items <= MOST_ITEMS * 2:
        raise InputError("items", f"{items} is not between 1 and {MOST_ITEMS:,}", "Give a number of items")


def _refuse_power(power: float) -> None:
    if not 0 < power < 1:
        raise InputError("power", f"{power} is not between 0 and 1", "0.8 is usual")
