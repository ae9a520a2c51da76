"""Krippendorff's alpha: agreement of any number of raters, ratings missing, on three scales (SPEC L20)."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from lacre.errors import InputError
from lacre.scoring.estimates import LEVEL, Estimate, Interval, Measured, Undefined
from lacre.scoring.intervals import normal_quantile, wilson

Scale: TypeAlias = Literal["nominal", "ordinal", "interval"]
Floats: TypeAlias = NDArray[np.float64]

DRAWS = 2000
"""Resamples behind the interval when nobody says otherwise."""

_BLOCK = 4_000_000
"""Cells worked on at once, to bound memory."""


class Alpha(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Krippendorff's alpha, 1 - observed / expected, with what it was made of (SPEC L20).

    >>> ratings = np.array([[0, 0], [1, 1], [0, 1], [1, np.nan]])
    >>> found = krippendorff_alpha(ratings, "nominal", rng=np.random.default_rng(0), draws=0)
    >>> found.values, found.left_out, round(found.observed, 4), found.expected
    (6, 1, 0.3333, 0.6)

    Attributes:
        observed, expected: disagreement seen, and that of chance, in squared distances of the scale.
        values: ratings that could be paired.
        left_out: items with fewer than two ratings.
        lost_draws: resamples in which alpha was undefined; they are in no interval.
    """

    estimate: Measured
    scale: Scale
    observed: float | None = None
    expected: float | None = None
    values: int = 0
    left_out: int = 0
    draws: int = 0
    lost_draws: int = 0


class _Patterns(msgspec.Struct, frozen=True, kw_only=True):
    """Items alike in all their ratings, once each: how often, and how often each value was given."""

    times: NDArray[np.int64]
    counts: Floats
    values: Floats


def krippendorff_alpha(
    ratings: Floats,
    scale: Scale,
    *,
    rng: np.random.Generator,
    draws: int = DRAWS,
    level: float = LEVEL,
) -> Alpha:
    """Krippendorff's alpha, 1 - D_o / D_e, with a bootstrap interval over items.

    With m_u ratings of item u, n in all (items with two or more), and d the distance of the scale:
    D_o = (1/n) sum_u sum_{i != j} d(x_ui, x_uj) / (m_u - 1), and D_e = sum over all pairs of d / (n (n - 1)). Nominal
    d is 0 or 1; interval (x - y)^2; ordinal (g(x) - g(y))^2, with g(x) the ratings below x plus half of
    those at x, which is Krippendorff's ordinal metric. The interval holds the middle ``level`` of alphas of
    resampled items (percentile); resamples without any variation have no alpha, and are counted. Where no
    item disagrees resampling shows nothing: nominal alpha then takes Wilson's lower bound of the share of
    items that agree, others have no interval. Undefined when every rating is the same.

    Source: Krippendorff 2011, Computing Krippendorff's alpha-reliability; Krippendorff 2019, Content
    Analysis, chapter 12; Efron and Tibshirani 1993, chapter 13; SPEC L20.

    >>> ratings = np.array([[1, 1], [2, 2], [3, 3], [3, 3], [2, 2], [1, 2], [4, 4], [1, 1], [2, 2.0]])
    >>> found = krippendorff_alpha(ratings, "nominal", rng=np.random.default_rng(0), draws=200)
    >>> round(found.estimate.value, 4)
    0.8522

    Args:
        ratings: shape (items, raters), NaN where missing; for nominal and ordinal scales any numbers that tell
            the categories apart, such as places in the declared order.
        rng: the source of the resamples.
        draws: resamples; 0 leaves the interval out.

    Raises:
        InputError: an infinite rating, a negative number of draws, or a level outside (0, 1).
    """
    normal_quantile(level)  # refuses a level that is none
    grid = np.asarray(ratings, dtype=np.float64)
    if draws < 0:
        raise InputError("draws", f"{draws} is negative", "Give a number of resamples")
    if bool(np.isinf(grid).any()):
        raise InputError("ratings", "one is infinite", "Correct it, or leave it empty")
    grid = grid if grid.ndim == 2 else np.zeros((0, 0))
    given = ~np.isnan(grid)
    rated = given.sum(axis=1) >= 2
    left_out = int((~rated).sum())
    if refused := _refusal(grid, given, rated):
        reason = Undefined(reason=refused, n=int(rated.sum()))
        return Alpha(estimate=reason, scale=scale, left_out=left_out)
    patterns = _patterns(grid[rated])
    observed, expected = _disagreement(patterns, patterns.times[None, :].astype(np.float64), scale)
    n = int(rated.sum())
    found = Alpha(
        estimate=Undefined(reason="not computed"),
        scale=scale,
        observed=observed.item(),
        expected=expected.item(),
        values=int(given[rated].sum()),
        left_out=left_out,
        draws=draws,
    )
    value = 1 - observed.item() / expected.item()
    interval, lost = _interval(found, patterns, rng, level)
    estimate = Estimate(value=value, interval=interval, n=n, method=f"Krippendorff's alpha, {scale}")
    return msgspec.structs.replace(found, estimate=estimate, lost_draws=lost)


def _refusal(grid: Floats, given: NDArray[np.bool_], rated: NDArray[np.bool_]) -> str:
    """Why there can be no alpha, empty when there can."""
    if not given.any():
        return "there are no ratings"
    if int(given.any(axis=0).sum()) < 2:
        return "there is only one rater"
    if not rated.any():
        return "no item was rated by two raters"
    paired = grid[rated][given[rated]]
    if bool((paired == paired[0]).all()):
        return "every rating is the same, so chance agrees always"
    return ""


def _patterns(grid: Floats) -> _Patterns:
    """Items reduced to how often each value was given, and like ones to one: resampling gets cheap."""
    values = np.unique(grid[~np.isnan(grid)])
    items, raters = np.nonzero(~np.isnan(grid))
    counts = np.zeros((len(grid), len(values)))
    np.add.at(counts, (items, np.searchsorted(values, grid[items, raters])), 1)
    alike, times = np.unique(counts, axis=0, return_counts=True)
    return _Patterns(times=times, counts=alike, values=values)


def _disagreement(patterns: _Patterns, times: Floats, scale: Scale) -> tuple[Floats, Floats]:
    """Observed and expected disagreement when each pattern occurs ``times``, shape (draws, patterns).

    All three scales are sums of squared distances: an item's sum over ordered pairs of (x - y)^2 is
    2 (m S2 - S1^2), with S1 and S2 its sums of x and x^2.
    """
    counts = patterns.counts
    per_item = counts.sum(axis=1)
    marginals = times @ counts
    total = times @ per_item
    if scale == "nominal":
        inner = (per_item**2 - (counts**2).sum(axis=1)) / (per_item - 1)
        observed = times @ inner / total
        expected = (total**2 - (marginals**2).sum(axis=1)) / (total * (total - 1))
        return observed, expected
    if scale == "ordinal":
        places = np.cumsum(marginals, axis=1) - marginals / 2
    else:
        # About the middle, so that large scores lose no digits.
        places = np.broadcast_to(patterns.values - patterns.values.mean(), marginals.shape)
    first, second = places @ counts.T, places**2 @ counts.T
    inner = 2 * (per_item * second - first**2) / (per_item - 1)
    observed = (times * inner).sum(axis=1) / total
    spread = total * (marginals * places**2).sum(axis=1) - (marginals * places).sum(axis=1) ** 2
    return observed, 2 * spread / (total * (total - 1))


def _interval(
    found: Alpha, patterns: _Patterns, rng: np.random.Generator, level: float
) -> tuple[Interval | Undefined, int]:
    """The interval, and how many resamples had no alpha."""
    n = int(patterns.times.sum())
    if not found.observed:
        if found.scale != "nominal" or not found.expected:
            return Undefined(reason="no item disagrees, so resampling shows nothing", n=n), 0
        lowest = 1 - (1 - wilson(n, n, level=level).lo) / found.expected
        method = "Wilson's bound of the observed agreement, for no item disagrees"
        return Interval(lo=max(lowest, -1.0), hi=1.0, level=level, method=method), 0
    if found.draws == 0:
        return Undefined(reason="no resamples were asked for", n=n), 0
    alphas = _resampled(found, patterns, rng)
    kept = alphas[~np.isnan(alphas)]
    if len(kept) == 0:
        return Undefined(reason="no resample had any variation", n=n), found.draws
    lo, hi = np.quantile(kept, [(1 - level) / 2, (1 + level) / 2])
    if hi - lo <= 1e-12:
        return Undefined(reason="all resamples give the same alpha, so they show no spread", n=n), (
            len(alphas) - len(kept)
        )
    method = f"bootstrap over items, percentile, {found.draws} draws"
    return Interval(lo=float(lo), hi=float(hi), level=level, method=method), len(alphas) - len(kept)


def _resampled(found: Alpha, patterns: _Patterns, rng: np.random.Generator) -> Floats:
    """The alphas of resampled items, NaN where all their ratings were the same."""
    n = int(patterns.times.sum())
    chances = patterns.times / n
    block = max(1, _BLOCK // max(patterns.counts.shape))
    alphas: list[Floats] = []
    for start in range(0, found.draws, block):
        size = min(block, found.draws - start)
        times = rng.multinomial(n, chances, size=size).astype(np.float64)
        observed, expected = _disagreement(patterns, times, found.scale)
        varied = ((times @ patterns.counts) > 0).sum(axis=1) > 1
        alphas.append(np.where(varied, 1 - observed / np.where(varied, expected, 1.0), np.nan))
    return np.concatenate(alphas)
