"""Intervals of proportions and differences: published values, other programs, laws, and what is refused."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]
from statsmodels.stats.proportion import (  # type: ignore[import-untyped]
    confint_proportions_2indep,
    proportion_confint,
)

from lacre.errors import InputError
from lacre.scoring.estimates import Estimate, Interval, Undefined
from lacre.scoring.intervals import (
    JEFFREYS,
    Method,
    beta_posterior,
    clopper_pearson,
    clustered_mean,
    newcombe,
    newcombe_paired,
    proportion,
    rule_of_three,
    upper_bound_at_zero,
    wilson,
)

counts = st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


# Newcombe 1998, Statistics in Medicine 17:857, table I, methods 3 (Wilson) and 5 (Clopper-Pearson). R:
#   for (x in list(c(81, 263), c(15, 148), c(0, 20), c(1, 29)))
#     print(c(prop.test(x[1], x[2], correct = FALSE)$conf.int, binom.test(x[1], x[2])$conf.int))
@pytest.mark.parametrize(
    ("x", "n", "by_wilson", "exact"),
    [
        (81, 263, (0.2553, 0.3662), (0.2527, 0.3676)),
        (15, 148, (0.0624, 0.1605), (0.0578, 0.1617)),
        (0, 20, (0.0, 0.1611), (0.0, 0.1684)),
        (1, 29, (0.0061, 0.1718), (0.0009, 0.1776)),
    ],
)
def test_wilson_and_clopper_pearson_give_newcombes_table(
    x: int, n: int, by_wilson: tuple[float, float], exact: tuple[float, float]
) -> None:
    assert bounds(wilson(x, n)) == pytest.approx(by_wilson, abs=6e-5)
    assert bounds(clopper_pearson(x, n)) == pytest.approx(exact, abs=6e-5)


def bounds(interval: Interval) -> tuple[float, float]:
    return interval.lo, interval.hi


# Newcombe 1998, Statistics in Medicine 17:873, table II, method 10. R, package PropCIs: scoreci is another method;
#   DescTools::BinomDiffCI(56, 70, 48, 80, method = "score")
@pytest.mark.parametrize(
    ("counts", "lo", "hi"),
    [
        ((56, 70, 48, 80), 0.0524, 0.3339),
        ((9, 10, 3, 10), 0.1705, 0.8090),
        ((6, 7, 2, 7), 0.0582, 0.8062),
        ((5, 56, 0, 29), -0.0381, 0.1926),
        ((0, 10, 0, 20), -0.1611, 0.2775),
        ((10, 10, 0, 20), 0.6791, 1.0),
    ],
)
def test_newcombe_gives_the_published_differences(
    counts: tuple[int, int, int, int], lo: float, hi: float
) -> None:
    found = newcombe(*counts)
    assert isinstance(found, Estimate)
    assert isinstance(found.interval, Interval)
    assert bounds(found.interval) == pytest.approx((lo, hi), abs=6e-5)


@settings(deadline=None)
@given(counts)
def test_wilson_and_clopper_pearson_agree_with_statsmodels(count: tuple[int, int]) -> None:
    x, n = count
    for method, ours in (("wilson", wilson(x, n)), ("beta", clopper_pearson(x, n))):
        theirs = [0.0 if math.isnan(bound) else bound for bound in proportion_confint(x, n, method=method)]
        assert bounds(ours) == pytest.approx((theirs[0], theirs[1]), abs=1e-9)


@settings(deadline=None)
@given(counts, counts)
def test_newcombe_agrees_with_statsmodels(first: tuple[int, int], second: tuple[int, int]) -> None:
    found = newcombe(*first, *second)
    assert isinstance(found, Estimate)
    assert isinstance(found.interval, Interval)
    theirs = confint_proportions_2indep(*first, *second, method="newcomb", compare="diff")
    assert bounds(found.interval) == pytest.approx(tuple(theirs), abs=1e-9)


@settings(deadline=None)
@given(counts, st.sampled_from([0.8, 0.95, 0.99]))
def test_every_interval_holds_its_point_and_stays_within_0_and_1(
    count: tuple[int, int], level: float
) -> None:
    x, n = count
    for found in (wilson(x, n, level), clopper_pearson(x, n, level), beta_posterior(x, n, level, JEFFREYS)):
        assert 0 <= found.lo <= x / n <= found.hi <= 1


@settings(deadline=None)
@given(counts)
def test_bounds_mirror_when_right_and_wrong_change_places(count: tuple[int, int]) -> None:
    x, n = count
    for make in (wilson, clopper_pearson, beta_posterior):
        assert bounds(make(n - x, n)) == pytest.approx((1 - make(x, n).hi, 1 - make(x, n).lo), abs=1e-12)


def test_bounds_at_the_ends_are_exactly_0_and_1() -> None:
    for make in (wilson, clopper_pearson, beta_posterior):
        assert make(0, 38).lo == 0.0
        assert make(38, 38).hi == 1.0
    assert wilson(38, 38).lo == pytest.approx(0.90819, abs=1e-5)


def test_the_beta_posterior_is_that_of_its_prior() -> None:
    for prior in ((1.0, 1.0), JEFFREYS, (2.0, 5.0)):
        a, b = prior
        expected = stats.beta(a + 7, b + 3).ppf([0.025, 0.975])
        assert bounds(beta_posterior(7, 10, prior=prior)) == pytest.approx(tuple(expected), abs=1e-12)
    assert "Beta(0.5, 0.5)" in beta_posterior(7, 10, prior=JEFFREYS).method


# Hanley and Lippman-Hand 1983, JAMA 249:1743. R: binom.test(0, n, alternative = "less")$conf.int
@pytest.mark.parametrize(
    ("n", "rule", "exact"), [(14, 3 / 14, 0.192636), (100, 0.03, 0.029513), (1000, 0.003, 0.002991)]
)
def test_the_rule_of_three_is_one_sided_and_says_so(n: int, rule: float, exact: float) -> None:
    found = rule_of_three(n)
    assert found.one_sided
    assert "one-sided" in found.method
    assert found.hi == pytest.approx(rule)
    assert upper_bound_at_zero(n).hi == pytest.approx(exact, abs=1e-6)
    # The two-sided bound is another number: about 3.69/n.
    assert clopper_pearson(0, n).hi > found.hi or n < 20


def test_the_rule_of_three_never_passes_1() -> None:
    assert rule_of_three(2).hi == 1.0


# Miller 2024, arXiv:2411.00640. Python, statsmodels: sm.OLS(y, ones).fit(cov_type="cluster",
#   cov_kwds={"groups": g, "use_correction": False}).bse -> 0.181621; with the correction G/(G-1): 0.209718
def test_the_clustered_standard_error_is_millers() -> None:
    runs = [[1, 1, 1], [0, 0, 0], [1, 0, 1], [1, 1, 0]]
    plain, corrected = clustered_mean(runs, corrected=False), clustered_mean(runs)
    assert isinstance(plain, Estimate)
    assert isinstance(corrected, Estimate)
    assert plain.value == pytest.approx(0.583333, abs=1e-6)
    assert plain.standard_error == pytest.approx(0.181621, abs=1e-6)
    assert corrected.standard_error == pytest.approx(0.209718, abs=1e-6)
    assert isinstance(corrected.interval, Interval)
    reach = stats.t(3).ppf(0.975) * 0.209718
    assert corrected.interval.hi - corrected.value == pytest.approx(reach, abs=1e-5)


def test_one_run_an_item_is_the_usual_standard_error_of_a_mean() -> None:
    values = [0.0, 0.25, 1.0, 0.5, 0.75]
    found = clustered_mean([[value] for value in values])
    assert isinstance(found, Estimate)
    assert found.standard_error == pytest.approx(stats.sem(values), abs=1e-12)


def test_what_has_no_value_is_undefined_with_its_reason() -> None:
    assert proportion(0, 0, empty="no answer was attempted") == Undefined(
        reason="no answer was attempted", n=0
    )
    assert newcombe(0, 0, 1, 2) == Undefined(reason="the first group has no items", n=2)
    assert newcombe(1, 2, 0, 0) == Undefined(reason="the second group has no items", n=2)
    assert clustered_mean([]) == Undefined(reason="there are no items", n=0)
    single = clustered_mean([[1, 0]])
    assert isinstance(single, Estimate)
    assert isinstance(single.interval, Undefined)


@pytest.mark.parametrize(("x", "n"), [(-1, 5), (6, 5), (1, 0), (0, -1)])
@pytest.mark.parametrize("method", ["wilson", "clopper-pearson", "beta"])
def test_impossible_counts_are_refused(x: int, n: int, method: Method) -> None:
    with pytest.raises(InputError, match="0 <= x <= n"):
        proportion(x, n, method=method)


def test_other_bad_input_is_refused() -> None:
    for level in (0.0, 1.0, 95.0, math.nan):
        with pytest.raises(InputError, match="level"):
            wilson(1, 2, level)
    with pytest.raises(InputError, match="no distribution"):
        beta_posterior(1, 2, prior=(0.0, 1.0))
    with pytest.raises(InputError, match="no run"):
        clustered_mean([[1.0], []])
    with pytest.raises(InputError, match="finite"):
        clustered_mean([[1.0], [math.nan]])
    with pytest.raises(InputError):
        newcombe(3, 2, 1, 2)


# Newcombe 1998, Statistics in Medicine 17:2635, method 10: 36, 12, 2 and 0 pairs.
def test_newcombe_s_paired_interval_is_the_published_one() -> None:
    found = newcombe_paired(36, 12, 2, 0)
    assert (found.lo, found.hi) == pytest.approx((0.0569, 0.3404), abs=6e-5)


@given(*[st.integers(0, 40)] * 4)
def test_newcombe_s_paired_interval_holds_the_difference_and_turns_with_the_pair(
    both: int, first: int, second: int, neither: int
) -> None:
    assume(both + first + second + neither)
    found, turned = (
        newcombe_paired(both, first, second, neither),
        newcombe_paired(both, second, first, neither),
    )
    assert found.lo <= (first - second) / (both + first + second + neither) <= found.hi
    assert found.lo < found.hi
    assert (found.lo, found.hi) == pytest.approx((-turned.hi, -turned.lo))
    with pytest.raises(InputError):
        newcombe_paired(-1, 1, 1, 1)


def test_runs_that_never_vary_have_no_interval() -> None:
    found = clustered_mean([[0.5, 0.5], [0.5, 0.5]])
    assert isinstance(found, Estimate)
    assert isinstance(found.interval, Undefined)
    assert found.standard_error is None
