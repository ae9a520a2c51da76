"""Resampling: seeded, exact where nothing varies, the same as scipy's within Monte Carlo error."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from lacre.errors import InputError
from lacre.scoring.bootstrap import (
    NO_SPREAD,
    percentile_interval,
    percentile_intervals,
    ratios,
    resampled_sums,
    resamples,
)
from lacre.scoring.estimates import Interval, Undefined


def test_every_resample_draws_as_many_as_there_are() -> None:
    blocks = list(resamples(np.random.default_rng(1), 700, 500))
    assert sum(len(block) for block in blocks) == 500
    assert len(blocks) > 1  # memory is bounded by the block
    assert all((block.sum(axis=1) == 700).all() for block in blocks)


def test_counts_are_multinomial() -> None:
    counts = np.vstack(list(resamples(np.random.default_rng(1), 20, 20_000)))
    assert counts.mean(axis=0) == pytest.approx(np.ones(20), abs=0.03)
    assert counts.var(axis=0) == pytest.approx(np.full(20, 0.95), abs=0.05)
    assert np.cov(counts[:, 0], counts[:, 1])[0, 1] == pytest.approx(-0.05, abs=0.02)


def test_the_same_seed_gives_the_same_sums_and_another_does_not() -> None:
    values = np.random.default_rng(0).random((50, 3))
    first, again, other = (resampled_sums(values, np.random.default_rng(seed), 40) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_columns_share_their_resamples_and_constants_are_exact() -> None:
    values = np.column_stack([np.arange(9.0), np.arange(9.0), np.ones(9), np.zeros(9)])
    sums = resampled_sums(values, np.random.default_rng(1), 30)
    assert (sums[:, 0] == sums[:, 1]).all()
    assert (sums[:, 2] == 9).all()
    assert (sums[:, 3] == 0).all()


def test_intervals_are_scipys_within_monte_carlo_error() -> None:
    values = np.random.default_rng(3).random(300)
    ours = percentile_interval(resampled_sums(values[:, None], np.random.default_rng(1), 20_000)[:, 0] / 300)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    assert isinstance(ours, Interval)
    # Standard error of a 2.5 % quantile: sqrt(q(1 - q)/B)/density, twice; five of them.
    error = 5 * np.sqrt(2 * 0.025 * 0.975 / 20_000) / 0.0584 * values.std() / np.sqrt(300)
    assert ours.lo == pytest.approx(theirs.low, abs=error)
    assert ours.hi == pytest.approx(theirs.high, abs=error)


def test_quantiles_are_numpys_linear_ones() -> None:
    draws = np.random.default_rng(4).random(1000)
    found = percentile_interval(draws, level=0.9)
    assert isinstance(found, Interval)
    assert [found.lo, found.hi] == pytest.approx(np.quantile(draws, [0.05, 0.95]).tolist(), abs=1e-14)
    assert found.method == "percentile bootstrap by item, 1,000 draws"


def test_draws_without_a_value_are_counted_and_many_of_them_leave_no_interval() -> None:
    draws = np.arange(100.0)
    draws[:3] = np.nan
    found = percentile_interval(draws)
    assert isinstance(found, Interval)
    assert found.method.endswith("100 draws, 3 of them without a value")
    assert found.lo >= 3
    draws[:6] = np.nan
    assert percentile_interval(draws) == Undefined(reason="6 of 100 resamples have no value", n=94)


def test_columns_are_judged_one_by_one() -> None:
    draws = np.column_stack([np.arange(100.0), np.full(100, np.nan), np.ones(100)])
    first, second, third = percentile_intervals(draws)
    assert isinstance(first, Interval)
    assert (first.lo, first.hi) == pytest.approx((2.475, 96.525))
    assert second == Undefined(reason="100 of 100 resamples have no value", n=0)
    assert third == Undefined(reason=NO_SPREAD, n=100)


def test_rounding_noise_is_no_spread() -> None:
    draws = 0.1 + np.arange(100.0) * 1e-17
    assert percentile_interval(draws) == Undefined(reason=NO_SPREAD, n=100)


def test_a_ratio_without_a_denominator_is_no_number() -> None:
    found = ratios(np.array([1.0, 1.0]), np.array([3.0, 0.0]))
    assert found[0] == round(1 / 3, 12)
    assert np.isnan(found[1])


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(InputError, match="0 units"):
        list(resamples(np.random.default_rng(1), 0))
    with pytest.raises(InputError, match="0 draws"):
        list(resamples(np.random.default_rng(1), 5, 0))
    with pytest.raises(InputError, match="level"):
        percentile_interval(np.arange(5.0), level=1.5)
