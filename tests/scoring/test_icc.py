"""ICC(2,1): published values, an oracle in dense matrices, REML, missing scores, and what is undefined."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from statsmodels.regression.mixed_linear_model import MixedLM  # type: ignore[import-untyped]

from lacre.scoring.estimates import Estimate, Interval, Undefined
from lacre.scoring.icc import Icc, icc_2_1

Scores = NDArray[np.float64]

# Shrout and Fleiss 1979, table 2: four judges, six targets.
# R: library(psych); ICC(sf, lmer = FALSE)
#   # ICC2  0.289764  lower 0.018787  upper 0.761084
# Python: pingouin.intraclass_corr gives the same to six places.
SHROUT_FLEISS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float
)


def estimate(found: Icc) -> Estimate:
    assert isinstance(found.estimate, Estimate)
    return found.estimate


def test_it_is_the_published_one_with_its_interval() -> None:
    found = icc_2_1(SHROUT_FLEISS)
    assert estimate(found).value == pytest.approx(0.289764, abs=1e-6)
    interval = estimate(found).interval
    assert isinstance(interval, Interval)
    assert (interval.lo, interval.hi) == pytest.approx((0.018787, 0.761084), abs=1e-6)
    # The mean squares of their table 3.
    squares = (found.between_items, found.between_raters, found.residual)
    assert squares == pytest.approx((11.24, 32.49, 1.02), abs=5e-3)
    assert (found.per_item, found.per_rater) == (4.0, 6.0)
    assert "ANOVA" in estimate(found).method


def dense(scores: Scores) -> tuple[float, float, float, float, float]:
    """Mean squares and effective sizes by plain least squares and traces, as Henderson's method 3 defines them."""
    items, raters = np.nonzero(~np.isnan(scores))
    y = scores[items, raters]
    one = np.eye(scores.shape[0])[items]
    other = np.eye(scores.shape[1])[raters]

    def hat(design: Scores) -> Scores:
        return np.asarray(design @ np.linalg.pinv(design))

    n, i, k = len(y), *scores.shape
    both, by_item, by_rater = hat(np.hstack([one, other])), hat(one), hat(other)
    msr = y @ (both - by_rater) @ y / (i - 1)
    msc = y @ (both - by_item) @ y / (k - 1)
    mse = y @ (np.eye(n) - both) @ y / (n - i - k + 1)
    k0 = np.trace(one.T @ (both - by_rater) @ one) / (i - 1)
    n0 = np.trace(other.T @ (both - by_item) @ other) / (k - 1)
    return float(msr), float(msc), float(mse), float(k0), float(n0)


def simulated(rng: np.random.Generator, items: int, raters: int, gone: float) -> Scores:
    """Scores of variance 2 between items, 0.5 between raters, 1 left: ICC 4/7, a share of them missing."""
    scores = (
        rng.normal(0, 2**0.5, (items, 1))
        + rng.normal(0, 0.5**0.5, (1, raters))
        + rng.normal(0, 1, (items, raters))
    )
    lost = rng.random((items, raters)) < gone
    # Two of each item stay.
    lost[np.arange(items), rng.integers(0, raters - 1, items)] = False
    lost[:, -1] = False
    return np.where(lost, np.nan, scores)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(4, 12), st.integers(2, 5), st.sampled_from([0.0, 0.2, 0.4]))
def test_mean_squares_are_those_of_dense_least_squares(
    seed: int, items: int, raters: int, gone: float
) -> None:
    scores = simulated(np.random.default_rng(seed), items, raters, gone)
    # Who scored nothing is no rater.
    scores = scores[:, ~np.isnan(scores).all(axis=0)]
    found = icc_2_1(scores)
    if isinstance(found.estimate, Undefined):
        return
    mine = (found.between_items, found.between_raters, found.residual, found.per_item, found.per_rater)
    assert mine == pytest.approx(dense(scores), abs=1e-8)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_shifting_and_stretching_all_scores_changes_nothing(seed: int) -> None:
    scores = simulated(np.random.default_rng(seed), 12, 3, 0.2)
    one, other = icc_2_1(scores), icc_2_1(1000 + 3 * scores)
    assert estimate(other).value == pytest.approx(estimate(one).value, abs=1e-9)


def test_the_order_of_items_and_raters_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    scores = simulated(rng, 15, 4, 0.3)
    mixed = scores[rng.permutation(15)][:, rng.permutation(4)]
    assert estimate(icc_2_1(mixed)).value == pytest.approx(estimate(icc_2_1(scores)).value, abs=1e-12)


def reml(scores: Scores) -> float:
    """ICC(2,1) by REML with crossed random effects, of statsmodels."""
    items, raters = np.nonzero(~np.isnan(scores))
    y = scores[items, raters]
    model = MixedLM(
        y,
        np.ones((len(y), 1)),
        groups=np.zeros(len(y)),
        exog_vc={
            "item": {0.0: np.eye(scores.shape[0])[items]},
            "rater": {0.0: np.eye(scores.shape[1])[raters]},
        },
    )
    fitted = model.fit(reml=True, method="bfgs")
    parts = dict(zip(model.exog_vc.names, fitted.vcomp, strict=True))
    return float(parts["item"] / (parts["item"] + parts["rater"] + fitted.scale))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_it_is_reml_for_complete_scores_and_near_it_when_some_are_missing() -> None:
    rng = np.random.default_rng(8)
    complete = simulated(rng, 40, 4, 0.0)
    assert estimate(icc_2_1(complete)).value == pytest.approx(reml(complete), abs=2e-4)
    partial = simulated(rng, 40, 4, 0.3)
    found = icc_2_1(partial)
    assert found.ratings < 160
    assert "Henderson" in estimate(found).method
    assert estimate(found).value == pytest.approx(reml(partial), abs=0.03)


def test_variance_components_are_unbiased_with_missing_scores() -> None:
    rng = np.random.default_rng(4)
    parts = []
    for _ in range(1500):
        found = icc_2_1(simulated(rng, 20, 4, 0.35))
        assert found.between_items is not None
        assert found.between_raters is not None
        assert found.residual is not None
        assert found.per_item is not None
        assert found.per_rater is not None
        parts.append(
            (
                (found.between_items - found.residual) / found.per_item,
                (found.between_raters - found.residual) / found.per_rater,
                found.residual,
            )
        )
    means = np.mean(parts, axis=0)
    errors = np.std(parts, axis=0) / 1500**0.5
    assert np.all(np.abs(means - (2, 0.5, 1)) < 4 * errors)


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (np.zeros((0, 2)), "no item was scored by two raters"),
        (np.array([[1.0], [2.0]]), "no item was scored by two raters"),
        (np.array([[1.0, np.nan], [np.nan, 2.0]]), "no item was scored by two raters"),
        (np.array([[1.0, 2.0]]), "there is only one item, so items do not vary"),
        (np.full((4, 3), 7.0), "every score is the same, so nothing varies"),
        (np.array([[1.0, np.inf], [2.0, 3.0]]), "a score is infinite"),
        (
            np.array([[1, 2, np.nan], [np.nan, 2, 3.0]]),
            "too many scores are missing to tell items, raters and error apart",
        ),
        (
            np.array([[1, 2, np.nan, np.nan]] * 3 + [[np.nan, np.nan, 2, 3.0]] * 3),
            "some raters share no item with the others, not even through a third, so they cannot be compared",
        ),
    ],
)
def test_it_says_why_it_is_undefined(scores: Scores, said: str) -> None:
    found = icc_2_1(scores)
    assert isinstance(found.estimate, Undefined)
    assert found.estimate.reason == said


def test_items_with_one_score_are_left_out_and_counted() -> None:
    more = np.vstack([SHROUT_FLEISS, [[5, np.nan, np.nan, np.nan]], [[np.nan] * 4]])
    found = icc_2_1(more)
    assert found.left_out == 2
    assert found.items == 6
    assert estimate(found).value == pytest.approx(0.289764, abs=1e-6)


def test_full_agreement_is_one_without_a_made_up_interval() -> None:
    found = estimate(icc_2_1(np.array([[1, 1], [2, 2], [3, 3], [5, 5.0]])))
    assert found.value == 1.0
    assert isinstance(found.interval, Undefined)
    assert "agree on every score" in found.interval.reason


def test_disagreement_is_negative_and_not_cut() -> None:
    found = estimate(icc_2_1(np.array([[1, 5], [5, 1], [2, 4], [4, 2], [3, 3.0]])))
    assert found.value < -0.5


def covered(rng: np.random.Generator, items: int, raters: int, gone: float, draws: int) -> float:
    hits = 0
    for _ in range(draws):
        interval = estimate(icc_2_1(simulated(rng, items, raters, gone))).interval
        hits += isinstance(interval, Interval) and interval.contains(4 / 7)
    return hits / draws


@pytest.mark.slow
@pytest.mark.parametrize("gone", [0.0, 0.3])
def test_the_interval_covers_what_it_claims(gone: float) -> None:
    share = covered(np.random.default_rng(6), 40, 4, gone, 2000)
    assert 0.93 < share < 0.97
