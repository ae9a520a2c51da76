"""Intervals of proportions, of their differences, and of means over items with several runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped]

from lacre.errors import InputError
from lacre.scoring.estimates import LEVEL, Estimate, Interval, Measured, Undefined

Floats = NDArray[np.float64]
Method = Literal["wilson", "clopper-pearson", "beta"]

UNIFORM = (1.0, 1.0)
"""Prior of the Beta posterior (Bowyer, Aitchison & Ivanova 2025, arXiv:2503.01747)."""

JEFFREYS = (0.5, 0.5)
"""Jeffreys' prior (Brown, Cai & DasGupta 2001, Statistical Science 16:101)."""


_NOISE = 1e-12  # a standard error below this is rounding


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Lower and upper bounds, arrays of one shape.

    Source: that of the function that makes them, :func:`wilson_bounds` or :func:`newcombe_bounds`; SPEC L13.

    >>> bounds = wilson_bounds(np.array([0.0, 4.0]), np.array([4.0, 4.0]))
    >>> bounds.lo.shape, bounds.lo[0].item(), bounds.hi[1].item()
    ((2,), 0.0, 1.0)
    """

    lo: Floats
    hi: Floats


def normal_quantile(level: float) -> float:
    """z with ``P(-z < Z < z) = level`` for a standard normal Z: z = Φ⁻¹((1 + level)/2).

    Source: any table of the normal distribution; SPEC L13 rounds it to 1.96.

    >>> round(normal_quantile(0.95), 4)
    1.96

    Raises:
        InputError: the level is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise InputError("level", f"{level} is not between 0 and 1", "0.95 is usual")
    return NormalDist().inv_cdf((1 + level) / 2)


def wilson_bounds(x: Floats, n: Floats, level: float = LEVEL) -> Bounds:
    """Wilson's bounds for arrays of successes ``x`` out of ``n``; exactly 0 at x = 0, exactly 1 at x = n.

    ``(x + z²/2 ∓ z·√(x(n − x)/n + z²/4)) / (n + z²)``.
    Source: Wilson 1927, JASA 22:209; method 3 of Newcombe 1998, Statistics in Medicine 17:857.

    >>> bounds = wilson_bounds(np.array([81.0]), np.array([263.0]))
    >>> round(bounds.lo.item(), 4), round(bounds.hi.item(), 4)
    (0.2553, 0.3662)
    """
    z = normal_quantile(level)
    centre = x + z * z / 2
    reach = z * np.sqrt(x * (n - x) / n + z * z / 4)
    total = n + z * z
    return Bounds(
        lo=np.where(x == 0, 0.0, (centre - reach) / total), hi=np.where(x == n, 1.0, (centre + reach) / total)
    )


def wilson(x: int, n: int, level: float = LEVEL) -> Interval:
    """Wilson's interval for ``x`` of ``n``, the default for proportions.

    ``(x + z²/2 ∓ z·√(x(n − x)/n + z²/4)) / (n + z²)``. Source: Wilson 1927, JASA 22:209.

    >>> round(wilson(0, 20).hi, 4)
    0.1611

    Raises:
        InputError: not 0 ≤ x ≤ n with n ≥ 1.
    """
    _check(x, n)
    bounds = wilson_bounds(_array(x), _array(n), level)
    return Interval(lo=bounds.lo.item(), hi=bounds.hi.item(), level=level, method="Wilson")


def clopper_pearson(x: int, n: int, level: float = LEVEL) -> Interval:
    """The exact interval of Clopper and Pearson: never covers less than ``level``, mostly more.

    Quantiles of Beta(x, n − x + 1) at (1 − level)/2 and of Beta(x + 1, n − x) at (1 + level)/2.
    Source: Clopper & Pearson 1934, Biometrika 26:404.

    >>> round(clopper_pearson(0, 20).hi, 4)
    0.1684

    Raises:
        InputError: not 0 ≤ x ≤ n with n ≥ 1.
    """
    _check(x, n)
    tail = (1 - level) / 2
    normal_quantile(level)  # refuses a level that is none
    lo = 0.0 if x == 0 else float(special.betaincinv(x, n - x + 1, tail))
    hi = 1.0 if x == n else float(special.betaincinv(x + 1, n - x, 1 - tail))
    return Interval(lo=lo, hi=hi, level=level, method="Clopper-Pearson")


def beta_posterior(x: int, n: int, level: float = LEVEL, prior: tuple[float, float] = UNIFORM) -> Interval:
    """The middle ``level`` of the posterior Beta(a + x, b + n − x) under the prior Beta(a, b), for small n.

    Equal tails; the bound is 0 at x = 0 and 1 at x = n, as Brown, Cai & DasGupta 2001 (Statistical Science
    16:101) modify it, or the true value at an edge would never be covered. Source: theirs, and Bowyer,
    Aitchison & Ivanova 2025, arXiv:2503.01747, for evaluations with few items.

    >>> interval = beta_posterior(7, 10)
    >>> round(interval.lo, 4), round(interval.hi, 4)
    (0.3903, 0.8907)

    Raises:
        InputError: not 0 ≤ x ≤ n with n ≥ 1, or a prior that is not positive.
    """
    _check(x, n)
    normal_quantile(level)
    a, b = prior
    if not (a > 0 and b > 0):
        raise InputError("prior", f"Beta({a}, {b}) is no distribution", "Give two positive numbers")
    tail = (1 - level) / 2
    lo = 0.0 if x == 0 else float(special.betaincinv(a + x, b + n - x, tail))
    hi = 1.0 if x == n else float(special.betaincinv(a + x, b + n - x, 1 - tail))
    return Interval(lo=lo, hi=hi, level=level, method=f"Beta posterior, prior Beta({a:g}, {b:g})")


def rule_of_three(n: int) -> Interval:
    """The one-sided 95 % upper bound of a rate after 0 events in ``n``: 3/n (SPEC L13), at most 1.

    It is one-sided: the two-sided bound is about 3.69/n. :func:`upper_bound_at_zero` is exact.
    Source: Hanley & Lippman-Hand 1983, JAMA 249:1743.

    >>> rule_of_three(100).hi
    0.03

    Raises:
        InputError: n is below 1.
    """
    _check(0, n)
    return Interval(lo=0.0, hi=min(1.0, 3 / n), level=0.95, method="rule of three, one-sided", one_sided=True)


def upper_bound_at_zero(n: int, level: float = LEVEL) -> Interval:
    """The exact one-sided upper bound of a rate after 0 events in ``n``: 1 − (1 − level)^(1/n).

    Source: Hanley & Lippman-Hand 1983, JAMA 249:1743; R: binom.test(0, n, alternative = "less").

    >>> round(upper_bound_at_zero(100).hi, 6)
    0.029513

    Raises:
        InputError: n is below 1.
    """
    _check(0, n)
    normal_quantile(level)
    hi = float(-np.expm1(np.log1p(-level) / n))
    return Interval(lo=0.0, hi=hi, level=level, method="exact binomial, one-sided", one_sided=True)


_METHODS: dict[Method, Callable[[int, int, float], Interval]] = {
    "wilson": wilson,
    "clopper-pearson": clopper_pearson,
    "beta": beta_posterior,
}


def proportion(
    x: int, n: int, *, level: float = LEVEL, method: Method = "wilson", empty: str = "there are no items"
) -> Measured:
    """``x/n`` with its interval; undefined with the reason ``empty`` when n is 0.

    Source: SPEC L11, L13.

    >>> proportion(3, 4).value
    0.75
    >>> str(proportion(0, 0, empty="no answer was attempted"))
    'undefined: no answer was attempted'

    Raises:
        InputError: not 0 ≤ x ≤ n.
    """
    if n == 0 and x == 0:
        return Undefined(reason=empty, n=0)
    return Estimate(
        value=x / n if n else 0.0, interval=_METHODS[method](x, n, level), n=n, method="proportion"
    )


def newcombe_bounds(x1: Floats, n1: Floats, x2: Floats, n2: Floats, level: float = LEVEL) -> Bounds:
    """Newcombe's bounds of p1 − p2 for arrays of two independent proportions; see :func:`newcombe`.

    ``d − √((p1 − l1)² + (u2 − p2)²)`` and ``d + √((u1 − p1)² + (p2 − l2)²)`` with Wilson's l and u.
    Source: method 10 of Newcombe 1998, Statistics in Medicine 17:873.

    >>> bounds = newcombe_bounds(*(np.array([float(count)]) for count in (56, 70, 48, 80)))
    >>> round(bounds.lo.item(), 4), round(bounds.hi.item(), 4)
    (0.0524, 0.3339)
    """
    first, second = wilson_bounds(x1, n1, level), wilson_bounds(x2, n2, level)
    p1, p2 = x1 / n1, x2 / n2
    below = np.hypot(p1 - first.lo, second.hi - p2)
    above = np.hypot(first.hi - p1, p2 - second.lo)
    return Bounds(lo=p1 - p2 - below, hi=p1 - p2 + above)


def newcombe(x1: int, n1: int, x2: int, n2: int, level: float = LEVEL) -> Measured:
    """``x1/n1 − x2/n2`` of two *different* groups of items, with Newcombe's interval.

    For two columns on the *same* items use :func:`lacre.scoring.comparison.compare`, which pairs them.
    ``d − √((p1 − l1)² + (u2 − p2)²)`` and ``d + √((u1 − p1)² + (p2 − l2)²)`` with Wilson's l and u.
    Source: method 10 of Newcombe 1998, Statistics in Medicine 17:873.

    >>> round(newcombe(56, 70, 48, 80).value, 4)
    0.2

    Raises:
        InputError: not 0 ≤ x ≤ n.
    """
    for x, n, group in ((x1, n1, "first"), (x2, n2, "second")):
        if n == 0 and x == 0:
            return Undefined(reason=f"the {group} group has no items", n=n1 + n2)
        _check(x, n)
    bounds = newcombe_bounds(_array(x1), _array(n1), _array(x2), _array(n2), level)
    return Estimate(
        value=x1 / n1 - x2 / n2,
        interval=Interval(lo=bounds.lo.item(), hi=bounds.hi.item(), level=level, method="Newcombe"),
        n=n1 + n2,
        method="difference of independent proportions",
    )


def newcombe_paired(
    both: int, only_first: int, only_second: int, neither: int, level: float = LEVEL
) -> Interval:
    """Newcombe's interval of p1 − p2 for two columns that answer the *same* items, from the four counts.

    ``d − √(δ1² − 2φ·δ1·ε2 + ε2²)`` and ``d + √(ε1² − 2φ·ε1·δ2 + δ2²)``, δ = p − l and ε = u − p with Wilson's l
    and u; φ the correlation of the two, continuity-corrected where it is positive, 0 where a margin is empty.
    Source: method 10 of Newcombe 1998, Statistics in Medicine 17:2635 (paired data).

    >>> found = newcombe_paired(36, 12, 2, 0)
    >>> round(found.lo, 4), round(found.hi, 4)
    (0.0569, 0.3404)

    Raises:
        InputError: a negative count, or no items.
    """
    n = both + only_first + only_second + neither
    if min(both, only_first, only_second, neither) < 0:
        raise InputError("pairs", "a count is negative", "Counts are of items")
    first, second = wilson(both + only_first, n, level), wilson(both + only_second, n, level)
    p1, p2 = (both + only_first) / n, (both + only_second) / n
    margins = (both + only_first) * (only_second + neither) * (both + only_second) * (only_first + neither)
    product = float(both * neither - only_first * only_second)
    if product > 0:
        product = max(product - n / 2, 0.0)
    phi = product / math.sqrt(margins) if margins else 0.0

    def reach(one: float, other: float) -> float:
        return math.sqrt(max(one**2 - 2 * phi * one * other + other**2, 0.0))

    gap = p1 - p2
    return Interval(
        lo=max(gap - reach(p1 - first.lo, second.hi - p2), -1.0),
        hi=min(gap + reach(first.hi - p1, p2 - second.lo), 1.0),
        level=level,
        method="Newcombe, paired",
    )


def clustered_mean(
    runs: Sequence[Sequence[float]], *, level: float = LEVEL, corrected: bool = True
) -> Measured:
    """The mean over all runs of all items, with the standard error that counts the item as the cluster.

    ``SE = √(Σ_i (Σ_j (x_ij − x̄))²) / N``, times √(G/(G − 1)) for G items when ``corrected``, N runs in all;
    the interval is x̄ ∓ t·SE with G − 1 degrees of freedom. ``n`` is G.
    Source: Miller 2024, arXiv:2411.00640, equation for clustered standard errors; Cameron & Miller 2015,
    Journal of Human Resources 50:317, for the correction and the t.

    >>> round(clustered_mean([[1, 1, 1], [0, 0, 0], [1, 0, 1], [1, 1, 0]], corrected=False).standard_error, 6)
    0.181621

    Raises:
        InputError: an item without runs, or a value that is no finite number.
    """
    if not runs:
        return Undefined(reason="there are no items", n=0)
    if any(len(item) == 0 for item in runs):
        raise InputError("runs", "an item has no run", "Leave the item out, or give its runs")
    values = np.array([value for item in runs for value in item], np.float64)
    if not np.isfinite(values).all():
        raise InputError("runs", "a value is no finite number", "Correct it")
    mean = float(values.mean())
    groups = len(runs)
    if groups == 1:
        interval: Interval | Undefined = Undefined(reason="one item shows no spread between items", n=1)
        return Estimate(value=mean, interval=interval, n=1, method="mean, item as cluster")
    sums = np.array([sum(item) - mean * len(item) for item in runs], np.float64)
    error = float(np.sqrt((sums**2).sum()) / values.size)
    if corrected:
        error *= float(np.sqrt(groups / (groups - 1)))
    normal_quantile(level)
    if error <= _NOISE:
        interval = Undefined(reason="every item has the same value, so they show no spread", n=groups)
        return Estimate(value=mean, interval=interval, n=groups, method="mean, item as cluster")
    reach = float(special.stdtrit(groups - 1, (1 + level) / 2)) * error
    interval = Interval(lo=mean - reach, hi=mean + reach, level=level, method="clustered standard error, t")
    return Estimate(
        value=mean, interval=interval, n=groups, method="mean, item as cluster", standard_error=error
    )


def _array(count: int) -> Floats:
    return np.array([count], np.float64)


def _check(x: int, n: int) -> None:
    """Refuse counts that are none."""
    # Written so that NaN fails it too.
    if not (n >= 1 and 0 <= x <= n):
        raise InputError("proportion", f"{x} of {n} is none", "Give 0 <= x <= n with n at least 1")
