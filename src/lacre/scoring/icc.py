"""ICC(2,1): how far one rater's score stands for any other's, on a continuous scale (SPEC L20)."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped]

from lacre.scoring.estimates import LEVEL, Estimate, Interval, Measured, Undefined

Scores = NDArray[np.float64]

COMPLETE = "ANOVA of complete ratings"
MISSING = "Henderson's method 3, for ratings are missing"
SPREAD = 1e-12
"""Mean squares below this share of the total are rounding."""


class Icc(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """ICC(2,1) with the mean squares it was made of (SPEC L20).

    >>> found = icc_2_1(np.array([[1, 2], [4, 4], [6, np.nan], [9, 7.0]]))
    >>> found.items, found.ratings, found.left_out
    (3, 6, 1)

    Attributes:
        items, raters: how many took part.
        ratings: scores used; ``items * raters`` when none is missing.
        left_out: items with fewer than two scores, which say nothing about agreement.
        between_items, between_raters, residual: mean squares (each adjusted for the other when some are missing).
        per_item, per_rater: effective scores per item and per rater; the plain numbers when none is missing.
    """

    estimate: Measured
    items: int
    raters: int
    ratings: int
    left_out: int
    between_items: float | None = None
    between_raters: float | None = None
    residual: float | None = None
    per_item: float | None = None
    per_rater: float | None = None


class _Squares(msgspec.Struct, frozen=True, kw_only=True):
    """Mean squares, with their degrees of freedom and the sizes in their expectations."""

    items: float
    raters: float
    residual: float
    items_freedom: int
    raters_freedom: int
    residual_freedom: int
    per_item: float
    per_rater: float


def icc_2_1(scores: Scores, *, level: float = LEVEL) -> Icc:
    """ICC(2,1): two-way random effects, absolute agreement, a single rater, with its F-based interval.

    x_ij = mu + item_i + rater_j + e_ij; ICC = s2_item / (s2_item + s2_rater + s2_e). With mean squares MSR (items),
    MSC (raters), MSE, the scores per item k0 and per rater n0:
    s2_item = (MSR - MSE) / k0, s2_rater = (MSC - MSE) / n0, s2_e = MSE. Complete ratings have k0 = k and n0 = n,
    and this is Shrout and Fleiss' ICC(2,1) = (MSR - MSE) / (MSR + (k-1) MSE + k (MSC - MSE) / n).

    Missing scores (NaN) are allowed: the mean squares are then Henderson's method 3 (each effect fitted after
    the other), whose expectations have k0 = (N - k) / (n - 1) and n0 = (N - n) / (k - 1) for N scores; they
    equal the plain ones when nothing is missing. The interval is McGraw and Wong's for ICC(A,1) with k0, n0 and
    the degrees of freedom n - 1, k - 1 and N - n - k + 1: exact as they are for complete ratings, approximate
    otherwise. Items with one score are left out and counted. Estimates may be negative and are not cut.

    Source: Shrout and Fleiss 1979, Psychol Bull 86:420-428; McGraw and Wong 1996, Psychol Methods 1:30-46;
    Henderson 1953, Biometrics 9:226-252; SPEC L20.

    >>> judges = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7.0]])
    >>> found = icc_2_1(judges).estimate
    >>> round(found.value, 2), round(found.interval.lo, 3), round(found.interval.hi, 3)
    (0.29, 0.019, 0.761)

    Args:
        scores: shape (items, raters), NaN where a score is missing.
    """
    grid = np.asarray(scores, dtype=np.float64)
    given = ~np.isnan(grid) if grid.ndim == 2 else np.zeros((0, 0), dtype=bool)
    rated = given.sum(axis=1) >= 2
    left_out = int((~rated).sum())
    present = given[rated].any(axis=0)
    grid, given = (part[rated][:, present] for part in (grid.reshape(given.shape), given))
    items, raters = given.shape
    size = {"items": items, "raters": raters, "ratings": int(given.sum()), "left_out": left_out}
    if refused := _refusal(grid, given):
        return Icc(estimate=Undefined(reason=refused, n=items), **size)
    squares = _mean_squares(grid, given)
    return Icc(
        estimate=_estimate(squares, items, bool(given.all()), level),
        between_items=squares.items,
        between_raters=squares.raters,
        residual=squares.residual,
        per_item=squares.per_item,
        per_rater=squares.per_rater,
        **size,
    )


def _refusal(grid: Scores, given: NDArray[np.bool_]) -> str:
    """Why there can be no ICC, empty when there can."""
    items, raters = given.shape
    if items == 0:
        return "no item was scored by two raters"
    if bool(np.isinf(grid[given]).any()):
        return "a score is infinite"
    if items == 1:
        return "there is only one item, so items do not vary"
    if np.ptp(grid[given]) == 0:
        return "every score is the same, so nothing varies"
    if int(given.sum()) <= items + raters - 1:
        return "too many scores are missing to tell items, raters and error apart"
    if not _connected(given):
        return (
            "some raters share no item with the others, not even through a third, so they cannot be compared"
        )
    return ""


def _connected(given: NDArray[np.bool_]) -> bool:
    """Whether every rater can be reached from the first through items that two raters share."""
    met = given.T.astype(np.int64) @ given.astype(np.int64) > 0
    reached = met[0]
    while True:
        further = met[reached].any(axis=0) | reached
        if bool((further == reached).all()):
            return bool(reached.all())
        reached = further


def _mean_squares(grid: Scores, given: NDArray[np.bool_]) -> _Squares:
    """The mean squares of items after raters, of raters after items, and of what is left."""
    items, raters = given.shape
    ratings = int(given.sum())
    filled = np.where(given, grid - grid[given].mean(), 0.0)
    total = float((filled**2).sum())
    per_item, per_rater = given.sum(axis=1), given.sum(axis=0)
    by_items = float((filled.sum(axis=1) ** 2 / per_item).sum())
    by_raters = float((filled.sum(axis=0) ** 2 / per_rater).sum())
    # Raters after items: items are swept out, which leaves one small system in the raters.
    weight = given / per_item[:, None]
    left = np.diag(per_rater.astype(np.float64)) - given.T @ weight
    right = filled.sum(axis=0) - weight.T @ filled.sum(axis=1)
    after_items = float(right @ np.linalg.lstsq(left, right)[0])
    both = by_items + after_items
    freedom = ratings - items - raters + 1
    # What rounding leaves of nothing must not become a mean square.
    parts = np.array([both - by_raters, after_items, total - both])
    parts[parts < SPREAD * total] = 0.0
    return _Squares(
        items=float(parts[0]) / (items - 1),
        raters=float(parts[1]) / (raters - 1),
        residual=float(parts[2]) / freedom,
        items_freedom=items - 1,
        raters_freedom=raters - 1,
        residual_freedom=freedom,
        per_item=(ratings - raters) / (items - 1),
        per_rater=(ratings - items) / (raters - 1),
    )


def _estimate(squares: _Squares, items: int, complete: bool, level: float) -> Measured:
    between = (squares.items - squares.residual) / squares.per_item
    shift = (squares.raters - squares.residual) / squares.per_rater
    whole = between + shift + squares.residual
    if whole <= 0:
        # Only when raters differ less than chance would have it and items do not differ at all.
        return Undefined(reason="the variance components sum to nothing", n=items)
    value = between / whole
    return Estimate(
        value=value,
        interval=_interval(squares, value, level),
        n=items,
        method=f"ICC(2,1), {COMPLETE if complete else MISSING}",
    )


def _interval(squares: _Squares, value: float, level: float) -> Interval | Undefined:
    """McGraw and Wong's interval of ICC(A,1), table 7, with effective sizes in the place of n and k."""
    n, k = squares.per_rater, squares.per_item
    method = "McGraw-Wong 1996, F"
    if value >= 1:
        return Undefined(reason="raters agree on every score, so no error can be estimated")
    a = k * value / (n * (1 - value))
    b = 1 + k * value * (n - 1) / (n * (1 - value))
    shift, error = a * squares.raters, b * squares.residual
    spread = shift**2 / squares.raters_freedom + error**2 / squares.residual_freedom
    freedom = (shift + error) ** 2 / spread if spread else float(squares.residual_freedom)
    tail = (1 + level) / 2
    above = float(special.fdtri(squares.items_freedom, freedom, tail))
    below = float(special.fdtri(freedom, squares.items_freedom, tail))
    mixed = k * squares.raters + (k * n - k - n) * squares.residual
    low = n * (squares.items - above * squares.residual), above * mixed + n * squares.items
    high = n * (below * squares.items - squares.residual), mixed + n * below * squares.items
    if not (low[1] > 0 and high[1] > 0 and np.isfinite(above) and np.isfinite(below)):
        return Undefined(reason="the F-based formula has no bounds for these mean squares")
    lo, hi = max(low[0] / low[1], -1.0), min(high[0] / high[1], 1.0)
    if hi - lo <= SPREAD:
        return Undefined(reason="both bounds of the F-based formula are one number")
    return Interval(lo=lo, hi=hi, level=level, method=method)
