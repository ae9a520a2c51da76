"""Krippendorff's alpha: his own example, the definition pair by pair, missing values, what is undefined."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lacre.errors import InputError
from lacre.scoring.estimates import Estimate, Interval, Undefined
from lacre.scoring.krippendorff import Alpha, Scale, krippendorff_alpha

Ratings = NDArray[np.float64]

# Krippendorff 2011, Computing Krippendorff's alpha-reliability, section C: four observers, twelve units.
# R: library(irr); kripp.alpha(m, "nominal")   # 0.743
#    kripp.alpha(m, "ordinal")                 # 0.815
#    kripp.alpha(m, "interval")                # 0.849
_ = np.nan
KRIPPENDORFF_2011 = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
        [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
    ]
).T


def alpha(ratings: Ratings, scale: Scale, *, seed: int = 0, draws: int = 0, level: float = 0.95) -> Alpha:
    return krippendorff_alpha(ratings, scale, rng=np.random.default_rng(seed), draws=draws, level=level)


def estimate(found: Alpha) -> Estimate:
    assert isinstance(found.estimate, Estimate)
    return found.estimate


@pytest.mark.parametrize(("scale", "expected"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_it_is_krippendorff_s_own(scale: Scale, expected: float) -> None:
    found = alpha(KRIPPENDORFF_2011, scale)
    assert estimate(found).value == pytest.approx(expected, abs=5e-4)
    # The unit with one value says nothing.
    assert (found.left_out, found.values, estimate(found).n) == (1, 40, 11)


def by_pairs(ratings: Ratings, scale: Scale) -> float | None:
    """Alpha from the coincidence matrix, value by value, as the definition goes."""
    units = [row[~np.isnan(row)] for row in ratings]
    units = [row for row in units if len(row) >= 2]
    values = sorted({value for row in units for value in row})
    o = dict.fromkeys(product(values, values), 0.0)
    for row in units:
        for a, b in permutations(row, 2):
            o[a, b] += 1 / (len(row) - 1)
    count = {c: sum(o[c, k] for k in values) for c in values}
    n = sum(count.values())

    def distance(c: float, k: float) -> float:
        if scale == "nominal":
            return float(c != k)
        if scale == "interval":
            return (c - k) ** 2
        low, high = min(c, k), max(c, k)
        return (sum(count[g] for g in values if low <= g <= high) - (count[c] + count[k]) / 2) ** 2

    expected = sum(count[c] * count[k] * distance(c, k) for c, k in product(values, values))
    if expected == 0:
        return None
    seen = sum(o[c, k] * distance(c, k) for c, k in product(values, values))
    return 1 - (n - 1) * seen / expected


table = st.integers(2, 4).flatmap(
    lambda raters: st.lists(
        st.lists(
            st.one_of(st.just(np.nan), st.sampled_from([-2.0, 0.0, 0.5, 3.0, 10.0])),
            min_size=raters,
            max_size=raters,
        ),
        min_size=2,
        max_size=12,
    )
)


@settings(deadline=None)
@given(table, st.sampled_from(["nominal", "ordinal", "interval"]))
def test_it_is_the_definition_pair_by_pair(rows: list[list[float]], scale: Scale) -> None:
    ratings = np.array(rows)
    found = alpha(ratings, scale)
    assume((~np.isnan(ratings)).sum(axis=1).max() >= 2)
    expected = by_pairs(ratings, scale)
    if expected is None:
        assert isinstance(found.estimate, Undefined)
    else:
        assert estimate(found).value == pytest.approx(expected, abs=1e-9)


def test_large_scores_lose_no_digits() -> None:
    shifted = alpha(KRIPPENDORFF_2011 + 1e7, "interval")
    assert estimate(shifted).value == pytest.approx(
        estimate(alpha(KRIPPENDORFF_2011, "interval")).value, abs=1e-9
    )


@settings(max_examples=40, deadline=None)
@given(table, st.permutations(range(2)))
def test_the_order_of_items_and_raters_does_not_matter(rows: list[list[float]], order: list[int]) -> None:
    ratings = np.array(rows)
    one = alpha(ratings, "ordinal")
    other = alpha(ratings[::-1, ::-1], "ordinal")
    if isinstance(one.estimate, Undefined):
        assert other.estimate == one.estimate
    else:
        assert estimate(other).value == pytest.approx(estimate(one).value, abs=1e-12)


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_the_interval_is_that_of_plain_resampling_of_items(scale: Scale) -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 4, size=80).astype(float)
    ratings = np.where(rng.random((80, 3)) < 0.25, rng.integers(0, 4, size=(80, 3)), truth[:, None])
    ratings[rng.random((80, 3)) < 0.1] = np.nan
    found = estimate(alpha(ratings, scale, draws=4000)).interval
    assert isinstance(found, Interval)
    picks = rng.integers(0, 80, size=(800, 80))
    plain = [by_pairs(ratings[pick], scale) for pick in picks]
    lo, hi = np.quantile([value for value in plain if value is not None], [0.025, 0.975])
    assert (found.lo, found.hi) == pytest.approx((lo, hi), abs=0.03)


def test_the_same_seed_gives_the_same_interval_and_another_one_nearly_so() -> None:
    one, same, other = (
        estimate(alpha(KRIPPENDORFF_2011, "nominal", draws=2000, seed=seed)).interval for seed in (1, 1, 2)
    )
    assert one == same
    assert isinstance(one, Interval)
    assert isinstance(other, Interval)
    assert one != other
    assert (one.lo, one.hi) == pytest.approx((other.lo, other.hi), abs=0.05)


def test_resamples_without_variation_are_counted() -> None:
    # All but one item are alike: a third of the resamples leave that one out.
    ratings = np.array([[0, 0]] * 9 + [[0, 1.0]])
    found = alpha(ratings, "nominal", draws=1000)
    assert 250 < found.lost_draws < 450
    assert isinstance(estimate(found).interval, Interval)


@pytest.mark.parametrize(
    ("ratings", "said"),
    [
        (np.zeros((0, 2)), "there are no ratings"),
        (np.full((3, 2), np.nan), "there are no ratings"),
        (np.array([[1.0], [2.0]]), "there is only one rater"),
        (np.array([[1.0, np.nan], [np.nan, 2.0]]), "no item was rated by two raters"),
        (np.full((5, 3), 2.0), "every rating is the same, so chance agrees always"),
    ],
)
def test_it_says_why_it_is_undefined(ratings: Ratings, said: str) -> None:
    for scale in ("nominal", "ordinal", "interval"):
        found = alpha(ratings, scale)
        assert isinstance(found.estimate, Undefined)
        assert found.estimate.reason == said


def test_full_agreement_does_not_claim_certainty() -> None:
    ratings = np.array([[1, 1], [2, 2], [1, 1], [2, 2.0]])
    nominal = estimate(alpha(ratings, "nominal", draws=100)).interval
    assert isinstance(nominal, Interval)
    assert nominal.lo < 0.5
    other = estimate(alpha(ratings, "interval", draws=100)).interval
    assert isinstance(other, Undefined)
    assert "resampling shows nothing" in other.reason


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="infinite"):
        alpha(np.array([[1, np.inf]]), "interval")
    with pytest.raises(InputError, match="draws"):
        alpha(KRIPPENDORFF_2011, "nominal", draws=-1)
    with pytest.raises(InputError, match="level"):
        alpha(KRIPPENDORFF_2011, "nominal", level=1.0)
    without = estimate(alpha(KRIPPENDORFF_2011, "nominal")).interval
    assert isinstance(without, Undefined)


def test_many_items_and_draws_take_little_time_and_memory() -> None:
    rng = np.random.default_rng(0)
    ratings = rng.normal(size=(3000, 2)).round(1)
    found = estimate(alpha(ratings, "ordinal", draws=500))
    assert isinstance(found.interval, Interval)
