"""Resampling by item: the draws that several statistics share, and intervals from them.

The unit is the item, whole, with all its runs: runs of one item are alike, and resampling them one by one
would promise more than the data hold (Davison & Hinkley 1997, section 3.8).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lacre.errors import InputError
from lacre.scoring.estimates import LEVEL, Interval, Undefined

Floats: TypeAlias = NDArray[np.float64]

DRAWS = 10_000
"""Resamples of a published interval."""

MAX_UNDEFINED = 0.05
"""Share of draws that may lack a value, such as 0/0, before the interval does too."""

NO_SPREAD = "all resamples give the same value, so they show no spread"
"""Why a bootstrap has no interval where its bounds would be one number."""

_CELLS = 1 << 15  # draws times units held at once: more would leave the cache, and cost twice the time
_FEWEST = 16  # draws at once however many the units: one at a time would pay for every call anew
_NOISE = 1e-12  # bounds this near each other differ by rounding alone
_PLACES = 12  # rounding noise of sums must not move a bound off zero, where a tie is decided


def resamples(rng: np.random.Generator, units: int, draws: int = DRAWS) -> Iterator[Floats]:
    """How often each unit is drawn, in blocks of shape (draws of the block, units); each row sums to ``units``.

    Memory is bounded by the block. The draws depend on the generator, ``units`` and ``draws`` alone.
    Source: Efron & Tibshirani 1993, An Introduction to the Bootstrap, chapter 6.

    >>> [block.sum(axis=1).tolist() for block in resamples(np.random.default_rng(1), 3, 2)]
    [[3.0, 3.0]]

    Raises:
        InputError: nothing to draw, or no draws.
    """
    if units < 1 or draws < 1:
        raise InputError("bootstrap", f"{units} units and {draws} draws", "Both must be at least 1")
    rows = min(draws, max(_FEWEST, _CELLS // units))
    for start in range(0, draws, rows):
        here = min(rows, draws - start)
        picks = rng.integers(0, units, size=(here, units), dtype=np.int32)
        picks += np.arange(here, dtype=np.int32)[:, None] * np.int32(units)
        counts = np.bincount(picks.ravel(), minlength=here * units)
        yield counts.reshape(here, units).astype(np.float64)


def resampled_sums(values: Floats, rng: np.random.Generator, draws: int = DRAWS) -> Floats:
    """Sums over resampled units, of shape (draws, columns), for ``values`` of shape (units, columns).

    All columns see the same resamples, so that differences between them are paired.
    ``sums[d, j] = Σ_i w[d, i] · values[i, j]`` with w multinomial(units; 1/units each).
    Source: Efron & Tibshirani 1993, chapter 6.

    >>> resampled_sums(np.ones((4, 1)), np.random.default_rng(1), 2).tolist()
    [[4.0], [4.0]]
    """
    # Exact, and cheaper, for what does not vary: most denominators are all ones.
    varies = np.ptp(values, axis=0) > 0
    sums = np.broadcast_to(values[0] * len(values), (draws, values.shape[1])).copy()
    varying = np.ascontiguousarray(values[:, varies])
    sums[:, varies] = np.vstack([block @ varying for block in resamples(rng, len(values), draws)])
    return sums


def ratios(numerators: Floats, denominators: Floats) -> Floats:
    """Quotients, NaN where the denominator is 0: a draw without a value, to be counted and left out.

    ``r = num/den``, rounded to 12 places. Source: Cochran 1977, Sampling Techniques, chapter 6.

    >>> ratios(np.array([1.0, 2.0]), np.array([2.0, 0.0])).tolist()
    [0.5, nan]
    """
    found = np.full(np.broadcast(numerators, denominators).shape, np.nan)
    np.divide(numerators, denominators, out=found, where=np.asarray(denominators) > 0)
    return np.round(found, _PLACES)


def percentile_interval(
    draws: Floats, *, level: float = LEVEL, of: str = "bootstrap by item"
) -> Interval | Undefined:
    """The middle ``level`` of ``draws``, of shape (draws,): see :func:`percentile_intervals`.

    Bounds are the quantiles (1 ∓ level)/2. Source: Efron & Tibshirani 1993, section 13.3.

    >>> percentile_interval(np.arange(101.0), of="draws").hi
    97.5
    """
    return percentile_intervals(draws[:, None], level=level, of=of)[0]


def percentile_intervals(
    draws: Floats, *, level: float = LEVEL, of: str = "bootstrap by item"
) -> list[Interval | Undefined]:
    """The middle ``level`` of each column of ``draws``, of shape (draws, columns).

    Bounds are the quantiles (1 ∓ level)/2, interpolated linearly as scipy.stats.bootstrap does with
    ``method="percentile"``. NaN draws are left out and counted in the method; above 5 % of them the interval is
    undefined. So it is where both bounds are one number: resamples that do not differ show no spread, and
    [x, x] would promise certainty. Source: Efron & Tibshirani 1993, section 13.3.

    >>> [interval.lo for interval in percentile_intervals(np.eye(2).repeat(9, 0))]
    [0.0, 0.0]
    >>> percentile_intervals(np.zeros((9, 1)))[0].reason
    'all resamples give the same value, so they show no spread'

    Raises:
        InputError: the level is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise InputError("level", f"{level} is not between 0 and 1", "0.95 is usual")
    rows = np.ascontiguousarray(draws.T)
    size = rows.shape[1]
    tails = ((1 - level) / 2, (1 + level) / 2)
    missing = np.isnan(rows).sum(axis=1)
    bounds = np.full((2, len(rows)), np.nan)
    bounds[:, missing == 0] = np.quantile(rows[missing == 0], tails, axis=1)
    found: list[Interval | Undefined] = []
    for place, row in enumerate(rows):
        lacking = int(missing[place])
        if lacking > MAX_UNDEFINED * size:
            reason = f"{lacking:,} of {size:,} resamples have no value"
            found.append(Undefined(reason=reason, n=size - lacking))
            continue
        method = f"percentile {of}, {size:,} draws"
        lo, hi = bounds[:, place]
        if lacking:
            lo, hi = np.quantile(row[~np.isnan(row)], tails)
            method += f", {lacking:,} of them without a value"
        if hi - lo <= _NOISE:
            found.append(Undefined(reason=NO_SPREAD, n=size - lacking))
            continue
        found.append(Interval(lo=float(lo), hi=float(hi), level=level, method=method))
    return found
