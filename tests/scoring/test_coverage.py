"""How often intervals hold the truth: summed exactly over every outcome, for the table in the docs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]

from lacre.scoring.estimates import Interval
from lacre.scoring.intervals import (
    JEFFREYS,
    beta_posterior,
    clopper_pearson,
    newcombe_bounds,
    upper_bound_at_zero,
    wilson,
    wilson_bounds,
)

P = (0.05, 0.2, 0.5, 0.8, 0.95)
N = (30, 200, 1068)
_HAIR = 1e-12  # the truth and a bound may be one number, computed in two ways


def coverage(make: Callable[[int, int], Interval], n: int, p: float) -> float:
    """P(lo <= p <= hi): the sum of the binomial probabilities of every x whose interval holds p."""
    chances = stats.binom.pmf(np.arange(n + 1), n, p)
    holds = [make(x, n).lo - _HAIR <= p <= make(x, n).hi + _HAIR for x in range(n + 1)]
    return float(chances[holds].sum())


def newcombe_coverage(n: int, p1: float, p2: float) -> float:
    counts: NDArray[np.float64] = np.arange(n + 1.0)
    first, second = np.meshgrid(counts, counts, indexing="ij")
    size = np.full_like(first, n)
    found = newcombe_bounds(first, size, second, size)
    chances = np.outer(stats.binom.pmf(counts, n, p1), stats.binom.pmf(counts, n, p2))
    holds = (found.lo - _HAIR <= p1 - p2) & (p1 - p2 <= found.hi + _HAIR)
    return float(chances[holds].sum())


@pytest.mark.parametrize("n", N)
@pytest.mark.parametrize("p", P)
def test_wilson_covers_93_to_97_percent(n: int, p: float) -> None:
    counts: NDArray[np.float64] = np.arange(n + 1.0)
    found = wilson_bounds(counts, np.full_like(counts, n))
    holds = (found.lo - _HAIR <= p) & (p <= found.hi + _HAIR)
    assert 0.93 <= stats.binom.pmf(counts, n, p)[holds].sum() <= 0.97


# At n = 30 two pairs at the ends fall outside: both rates at one end 99.3 %, at opposite ends 92.2 %. They stand
# in the docs; the test holds them where they are, so that neither the method nor the table drifts.
OUTSIDE = {
    (30, 0.05, 0.05): 0.9929,
    (30, 0.95, 0.95): 0.9929,
    (30, 0.05, 0.95): 0.9224,
    (30, 0.95, 0.05): 0.9224,
}


@pytest.mark.parametrize("n", [30, 200, pytest.param(1068, marks=pytest.mark.slow)])
def test_newcombe_covers_93_to_97_percent_but_for_two_named_pairs(n: int) -> None:
    for p1 in P:
        for p2 in P:
            found = newcombe_coverage(n, p1, p2)
            if (n, p1, p2) in OUTSIDE:
                assert found == pytest.approx(OUTSIDE[n, p1, p2], abs=5e-5)
            else:
                assert 0.93 <= found <= 0.97, (n, p1, p2)


@pytest.mark.parametrize("n", [30, 200])
@pytest.mark.parametrize("p", P)
def test_clopper_pearson_never_covers_less_than_its_level(n: int, p: float) -> None:
    assert coverage(clopper_pearson, n, p) >= 0.95


# The table of docs/explanation/scoring.md, bad rows included: uniform prior, then Jeffreys' prior.
@pytest.mark.parametrize(
    ("p", "uniform", "jeffreys"),
    [(0.05, 0.9392, 0.9844), (0.2, 0.9639, 0.9302), (0.5, 0.9572, 0.9572)],
)
def test_beta_posteriors_cover_what_the_docs_say_at_30_items(
    p: float, uniform: float, jeffreys: float
) -> None:
    assert coverage(beta_posterior, 30, p) == pytest.approx(uniform, abs=5e-5)
    by_jeffreys = coverage(lambda x, n: beta_posterior(x, n, prior=JEFFREYS), 30, p)
    assert by_jeffreys == pytest.approx(jeffreys, abs=5e-5)


def test_the_bound_after_no_event_fails_in_5_percent_at_the_bound_itself() -> None:
    # Seeing none has chance (1 - p)^n; at p = the bound that is 1 - level, by construction.
    for n in (14, 100, 1068):
        assert (1 - upper_bound_at_zero(n).hi) ** n == pytest.approx(0.05, abs=1e-12)


def test_one_item_still_has_an_interval() -> None:
    assert wilson(1, 1).lo == pytest.approx(0.2065, abs=1e-4)
