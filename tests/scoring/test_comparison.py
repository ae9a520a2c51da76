"""Comparison: pairs, ties, tests, ranks, and columns that do not share their items."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar  # type: ignore[import-untyped]
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]

from lacre.errors import InputError
from lacre.scoring.bootstrap import NO_SPREAD
from lacre.scoring.comparison import Comparison, compare, is_tie, paired_difference
from lacre.scoring.estimates import Estimate, Interval, Measured, Undefined
from lacre.scoring.intervals import newcombe_paired
from lacre.scoring.metrics import metrics
from lacre.scoring.outcomes import Answer, Outcome
from lacre.scoring.significance import McNemar, SignFlip, benjamini_hochberg, holm, mcnemar, sign_flips


def column(name: str, letters: str, start: int = 0) -> list[Answer]:
    return [
        Answer(column=name, item=f"i{place:03}", outcome=Outcome.of(letter))
        for place, letter in enumerate(letters, start)
    ]


def compared(answers: list[Answer], draws: int = 2000, **options: Any) -> Comparison:
    return compare(answers, rng=np.random.default_rng(1), draws=draws, **options)


def interval(measured: Measured | None) -> Interval:
    assert isinstance(measured, Estimate)
    assert isinstance(measured.interval, Interval)
    return measured.interval


# Agresti 2002, Categorical Data Analysis, section 10.1: approval ratings, 794, 150 / 86, 570. R:
#   t <- matrix(c(794, 86, 150, 570), 2); mcnemar.test(t, correct = FALSE); mcnemar.test(t); binom.test(86, 236)
def test_mcnemar_is_agrestis() -> None:
    found = mcnemar(86, 150)
    assert found.chi2 == pytest.approx(17.3559, abs=6e-5)
    assert found.chi2_corrected == pytest.approx(16.8178, abs=6e-5)
    assert found.p == pytest.approx(3.7159e-05, abs=1e-8)


@settings(deadline=None)
@given(st.integers(0, 400), st.integers(0, 400))
def test_exact_mcnemar_agrees_with_statsmodels_and_does_not_mind_the_order(first: int, second: int) -> None:
    theirs = statsmodels_mcnemar([[0, first], [second, 0]], exact=True).pvalue
    assert mcnemar(first, second).p == pytest.approx(float(theirs), abs=1e-12)
    assert mcnemar(first, second).p == mcnemar(second, first).p


def test_without_discordance_nothing_speaks_against_equality() -> None:
    assert mcnemar(0, 0) == McNemar(only_first=0, only_second=0, p=1.0, chi2=None, chi2_corrected=None)
    with pytest.raises(InputError, match="no counts"):
        mcnemar(-1, 2)


# Holm 1979; R: p.adjust(c(.01, .04, .03, .005), "holm"); p.adjust(c(.01, .04, .03, .005), "BH")
def test_holm_and_benjamini_hochberg_by_hand() -> None:
    p = [0.01, 0.04, 0.03, 0.005]
    assert holm(p).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert benjamini_hochberg(p).tolist() == pytest.approx([0.02, 0.04, 0.04, 0.02])


@settings(max_examples=12, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_agrees_with_statsmodels(p: list[float]) -> None:
    assert holm(p).tolist() == pytest.approx(multipletests(p, method="holm")[1].tolist(), abs=1e-12)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_benjamini_hochberg_agrees_with_scipy(p: list[float]) -> None:
    theirs = stats.false_discovery_control(p, method="bh")
    assert benjamini_hochberg(p).tolist() == pytest.approx(theirs.tolist(), abs=1e-12)


def test_p_values_that_are_none_are_refused() -> None:
    for p in ([1.1], [-0.1], [math.nan]):
        with pytest.raises(InputError, match="p values"):
            holm(p)
    assert holm([]).size == 0


@pytest.mark.parametrize(
    ("lo", "hi", "tie"), [(-0.1, 0.1, True), (0.0, 0.1, True), (-0.1, 0.0, True), (1e-9, 0.1, False)]
)
def test_a_tie_is_closed(lo: float, hi: float, tie: bool) -> None:
    assert is_tie(Interval(lo=lo, hi=hi, method="any")) is tie


# The same table as above: 150 differences of -1, 86 of +1, 1,364 of 0; normal limit -.04 ± 1.96 * .009549.
def test_the_paired_bootstrap_reaches_the_normal_limit() -> None:
    gaps = [-1.0] * 150 + [1.0] * 86 + [0.0] * 1364
    found = paired_difference(gaps, [0.0] * 1600, rng=np.random.default_rng(0), draws=10_000)
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(-0.04)
    assert (interval(found).lo, interval(found).hi) == pytest.approx((-0.0587, -0.0213), abs=0.0015)
    assert not is_tie(interval(found))


def test_identical_columns_tie_and_do_not_promise_that_they_always_will() -> None:
    found = paired_difference([0.3] * 40, [0.3] * 40, rng=np.random.default_rng(0))
    assert isinstance(found, Estimate)
    assert (found.value, found.interval) == (0.0, Interval(lo=0.0, hi=0.0, method="no item differs"))
    found = paired_difference([0.3] * 40, [0.1] * 40, rng=np.random.default_rng(0))
    assert isinstance(found, Estimate)
    assert found.interval == Undefined(reason=NO_SPREAD, n=10_000)
    [pair] = compared(column("a", "CCEE") + column("b", "CCEE")).pairs
    assert pair.tie is True
    assert interval(pair.difference) == newcombe_paired(2, 0, 0, 2)


# All differences are the same, so that resampling shows no spread: the four counts of pairs do.
@pytest.mark.parametrize(("items", "tie"), [(1, True), (2, None), (5, None), (6, False), (30, False)])
@pytest.mark.parametrize("runs", [1, 3])
def test_a_difference_that_never_varies_is_judged_by_its_counts(
    items: int, tie: bool | None, runs: int
) -> None:
    given = column("a", "C" * items) + column("b", "E" * items)
    given = [msgspec.structs.replace(answer, repetition=n) for answer in given for n in range(1, runs + 1)]
    found = compared(given)
    [pair] = found.pairs
    assert isinstance(pair.difference, Estimate)
    assert pair.difference.interval == (
        newcombe_paired(0, items, 0, 0)
        if tie is not None
        else Undefined(reason=f"{items} items that all differ alike are too few to tell", n=items)
    )
    assert pair.tie is tie
    apart = [(1, 1), (2, 2)] if tie is False else [(1, 2), (1, 2)]
    assert [(rank.best, rank.worst) for rank in found.ranks] == apart


@pytest.mark.parametrize("scores", [(0.9, 0.4), (0.5, 0.5)])
def test_scores_that_differ_alike_on_every_item_never_set_columns_apart(scores: tuple[float, float]) -> None:
    given = [
        Answer(column=name, item=f"i{n}", score=score)
        for name, score in zip("ab", scores, strict=True)
        for n in range(20)
    ]
    found = compared(given, metric="mean_score")
    [pair] = found.pairs
    assert isinstance(pair.difference, Estimate)
    assert pair.difference.interval == Undefined(reason=NO_SPREAD, n=2000)
    assert pair.tie is (True if scores[0] == scores[1] else None)
    for rank in found.ranks:
        assert (rank.best, rank.worst) == (1, 2)
        assert isinstance(rank.value, Estimate)
        assert isinstance(rank.value.interval, Undefined)


@pytest.mark.parametrize("metric", ["accuracy", "error_when_attempted", "mean_score", "penalised"])
@pytest.mark.parametrize("letters", [("CCCC", "EEEE"), ("CCEA", "CEEF"), ("C", "E"), ("AAAC", "RFEC")])
def test_a_column_has_the_same_interval_here_as_alone(metric: Any, letters: tuple[str, str]) -> None:
    given = column("a", letters[0]) + column("b", letters[1])
    for rank in compared(given, metric=metric, t="0").ranks:
        alone = metrics(
            [answer for answer in given if answer.column == rank.column],
            rng=np.random.default_rng(0),
            draws=100,
            thresholds=("0",),
        )
        named = {"mean_score": alone.mean_score, "penalised": alone.penalised[0].score}
        assert rank.value == named.get(metric) or rank.value == getattr(alone.headline, metric)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("CEARF"), st.sampled_from("CEARF")), min_size=1, max_size=6),
    st.sampled_from(["accuracy", "error_when_attempted", "mean_score", "penalised"]),
)
def test_no_interval_is_a_point(letters: list[tuple[str, str]], metric: Any) -> None:
    first, second = ("".join(own) for own in zip(*letters, strict=True))
    found = compared(column("a", first) + column("b", second), 100, metric=metric)
    every = [rank.value for rank in found.ranks]
    every += [d for p in found.pairs for d in (p.difference, p.difference_without_failures) if d is not None]
    for measured in every:
        if isinstance(measured, Estimate) and isinstance(measured.interval, Interval):
            assert measured.interval.lo < measured.interval.hi


def test_unpaired_or_broken_values_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="3 values against 2"):
        paired_difference([1, 0, 1], [1, 0], rng=rng)
    with pytest.raises(InputError, match="finite"):
        paired_difference([math.nan], [1], rng=rng)
    assert paired_difference([], [], rng=rng) == Undefined(reason="there are no items in common", n=0)


def test_a_pair_says_which_is_ahead_and_by_how_much() -> None:
    found = compared(column("bad", "C" * 20 + "E" * 80) + column("good", "C" * 80 + "E" * 20))
    [pair] = found.pairs
    assert (pair.first, pair.second, pair.tie) == ("good", "bad", False)
    assert isinstance(pair.difference, Estimate)
    assert pair.difference.value == 0.6
    assert isinstance(pair.test, McNemar)
    assert (pair.test.only_first, pair.test.only_second) == (60, 0)
    assert [(rank.column, rank.best, rank.worst) for rank in found.ranks] == [("good", 1, 1), ("bad", 2, 2)]


def test_the_interval_is_scipys_within_monte_carlo_error() -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.random(400) < 0.7).astype(float), (rng.random(400) < 0.6).astype(float)
    ours = interval(paired_difference(a, b, rng=np.random.default_rng(1), draws=20_000))
    theirs = stats.bootstrap(
        (a - b,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    error = 5 * np.sqrt(2 * 0.025 * 0.975 / 20_000) / 0.0584 * (a - b).std() / 20 + 1 / 400
    assert (ours.lo, ours.hi) == pytest.approx((theirs.low, theirs.high), abs=error)


def test_rank_ranges_follow_the_tie_rule_and_holm_is_more_careful() -> None:
    right = {"a": 90, "b": 80, "c": 70, "d": 20}
    found = compared([a for name, n in right.items() for a in column(name, "C" * n + "E" * (100 - n))])
    for rank in found.ranks:
        ahead = sum(p.tie is False and p.second == rank.column for p in found.pairs)
        behind = sum(p.tie is False and p.first == rank.column for p in found.pairs)
        assert (rank.best, rank.worst) == (1 + ahead, 4 - behind)
        assert rank.best_holm <= rank.best
        assert rank.worst_holm >= rank.worst
    assert all(p.p_holm is not None and isinstance(p.test, McNemar) for p in found.pairs)
    assert [p.p_holm for p in found.pairs] == pytest.approx(
        holm([p.test.p for p in found.pairs if isinstance(p.test, McNemar)]).tolist()
    )


def test_only_shared_items_count_and_what_is_left_out_is_said() -> None:
    found = compared(column("a", "CCCC") + column("b", "EECC", start=2))
    assert found.items == 2
    assert found.left_out == {"a": 2, "b": 2}
    assert isinstance(found.pairs[0].difference, Estimate)
    assert found.pairs[0].difference.value == 1.0


def test_columns_that_share_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="no item was answered by every column"):
        compared(column("a", "CC") + column("b", "CC", start=2))
    with pytest.raises(InputError, match="1 columns"):
        compared(column("a", "CC"))
    with pytest.raises(InputError, match="given twice"):
        compared(column("a", "CC") + column("a", "CC") + column("b", "CC"))


def test_both_denominators_stand_side_by_side() -> None:
    found = compared(column("a", "C" * 50 + "F" * 50) + column("b", "C" * 60 + "E" * 40))
    pair = found.pairs[0]
    assert (pair.first, pair.second) == ("b", "a")
    assert isinstance(pair.difference, Estimate)
    assert pair.difference.value == pytest.approx(0.1)
    assert isinstance(pair.difference_without_failures, Estimate)
    assert pair.difference_without_failures.value == pytest.approx(0.6 - 1.0)
    assert pair.tie_without_failures is False


def test_a_column_of_failures_alone_is_undefined_without_them() -> None:
    pair = compared(column("a", "FFFF") + column("b", "CCEE")).pairs[0]
    assert isinstance(pair.difference, Estimate)
    assert isinstance(pair.difference_without_failures, Undefined)
    assert pair.tie_without_failures is None


def test_less_is_better_for_error_when_attempted() -> None:
    found = compared(column("a", "CCCE" * 20) + column("b", "CEEE" * 20), metric="error_when_attempted")
    assert [rank.column for rank in found.ranks] == ["a", "b"]
    assert (found.ranks[0].best, found.ranks[0].worst) == (1, 1)
    assert isinstance(found.pairs[0].difference, Estimate)
    assert found.pairs[0].difference.value == -0.5
    assert found.pairs[0].difference_without_failures is None
    # All attempted: the errors pair, item by item. Where one abstains, they do not.
    assert found.pairs[0].test == mcnemar(0, 40)
    found = compared(column("a", "CCCA" * 20) + column("b", "CEEE" * 20), metric="error_when_attempted")
    assert isinstance(found.pairs[0].test, Undefined)
    assert found.pairs[0].p_holm is None


def test_a_column_that_never_attempts_has_no_error_rate_and_comes_last() -> None:
    found = compared(column("a", "AAAA") + column("b", "CEEE"), metric="error_when_attempted")
    assert [rank.column for rank in found.ranks] == ["b", "a"]
    assert isinstance(found.ranks[1].value, Undefined)
    assert found.pairs[0].tie is None
    assert (found.ranks[1].best, found.ranks[1].worst) == (1, 2)


def test_penalised_scores_compare_at_their_threshold() -> None:
    found = compared(column("bold", "CCEE" * 20) + column("shy", "CCAA" * 20), metric="penalised", t="0.75")
    assert found.metric == "penalised 0.75"
    assert [rank.column for rank in found.ranks] == ["shy", "bold"]
    assert isinstance(found.pairs[0].difference, Estimate)
    assert found.pairs[0].difference.value == 1.5
    assert isinstance(found.pairs[0].test, SignFlip)
    with pytest.raises(InputError, match="t = 1"):
        compared(column("a", "C") + column("b", "C"), metric="penalised", t="1")


def test_scores_compare_by_their_mean_and_classes_need_a_threshold() -> None:
    given = [
        Answer(column=name, item=f"i{n}", repetition=run, score=score)
        for name, scores in (("a", (0.9, 0.7, 0.8)), ("b", (0.2, 0.3, 0.1)))
        for n in range(12)
        for run, score in enumerate(scores, 1)
    ]
    found = compared(given, metric="mean_score")
    assert found.items == 12
    assert isinstance(found.pairs[0].difference, Estimate)
    assert found.pairs[0].difference.value == pytest.approx(0.6)
    assert isinstance(found.pairs[0].test, SignFlip)
    assert found.pairs[0].test.p < 0.01
    with pytest.raises(InputError, match="threshold"):
        compared(given)


def test_with_several_runs_the_item_is_the_cluster() -> None:
    once = column("a", "CCCE" * 5) + column("b", "CEEE" * 5)
    thrice = [msgspec.structs.replace(a, repetition=n) for a in once for n in (1, 2, 3)]
    first, second = compared(once).pairs[0], compared(thrice).pairs[0]
    # Runs that repeat themselves tell nothing new.
    assert (interval(first.difference).lo, interval(first.difference).hi) == pytest.approx(
        (interval(second.difference).lo, interval(second.difference).hi)
    )
    assert isinstance(second.test, SignFlip)


def test_sign_flips_come_near_exact_mcnemar_where_both_hold() -> None:
    rng = np.random.default_rng(8)
    values = (rng.random((60, 2)) < [0.75, 0.55]).astype(float)
    [flips] = sign_flips(values, [(0, 1)], rng=np.random.default_rng(1), draws=20_000)
    right = values == 1
    exact = mcnemar(int((right[:, 0] & ~right[:, 1]).sum()), int((right[:, 1] & ~right[:, 0]).sum()))
    assert flips.p == pytest.approx(exact.p, abs=5 * np.sqrt(exact.p / 20_000) + 1e-4)


@settings(max_examples=25, deadline=None)
@given(st.text(alphabet="CEARF", min_size=8, max_size=8), st.text(alphabet="CEARF", min_size=8, max_size=8))
def test_the_order_of_answers_never_matters_and_names_only_break_ties(first: str, second: str) -> None:
    given = column("a", first) + column("b", second)
    assert compared(given, 200) == compared(given[::-1], 200)


def test_a_comparison_survives_json() -> None:
    found = compared(column("a", "CCEF") + column("b", "CEEE"), 100)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Comparison) == found
