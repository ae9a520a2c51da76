"""Kappa, AC1 and Fleiss' kappa: published values, other programs, laws, and what is undefined."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, precision_recall_fscore_support  # type: ignore[import-untyped]
from statsmodels.stats.inter_rater import cohens_kappa  # type: ignore[import-untyped]
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

from lacre.errors import InputError
from lacre.scoring.agreement import Agreement, cohen_kappa, fleiss_kappa, gwet_ac1, weight_matrix
from lacre.scoring.confusion import (
    Confusion,
    classification,
    codes_of,
    confusion,
    confusion_of,
    consensus,
    encoded,
    rarer_category,
    specific_agreement,
)
from lacre.scoring.estimates import Estimate, Interval, Undefined

# R, package vcd:
#   library(vcd)
#   t <- matrix(c(88,10,2, 14,40,6, 18,10,12), 3)   # Cohen 1960, table 1
#   k <- Kappa(t); k$Unweighted; confint(k)
#   # value 0.491525, ASE 0.051002
COHEN_1960 = ((88, 14, 18), (10, 40, 10), (2, 6, 12))

# SAS, PROC FREQ with / agree (the listing that statsmodels keeps in its own tests):
#   kappa 0.4842, ASE 0.1380
SAS = ((0, 4, 1), (0, 8, 0), (0, 1, 5))

# Feinstein and Cicchetti 1990, J Clin Epidemiol 43:543: equal agreement, skewed margins.
SKEWED = ((80, 10), (5, 5))


def table(counts: tuple[tuple[int, ...], ...]) -> Confusion:
    return Confusion(categories=tuple("abcdefgh"[: len(counts)]), counts=counts)


def value(found: Agreement) -> float:
    assert isinstance(found.estimate, Estimate)
    return found.estimate.value


def interval(found: Agreement) -> Interval:
    assert isinstance(found.estimate, Estimate)
    assert isinstance(found.estimate.interval, Interval)
    return found.estimate.interval


def error(found: Agreement) -> float:
    assert isinstance(found.estimate, Estimate)
    assert found.estimate.standard_error is not None
    return found.estimate.standard_error


@pytest.mark.parametrize(
    ("counts", "kappa", "ase", "observed", "expected"),
    [
        pytest.param(COHEN_1960, 0.491525, 0.051002, 0.7, 0.41, id="Cohen 1960"),
        pytest.param(SAS, 0.4842, 0.1380, 13 / 19, None, id="SAS"),
        pytest.param(((118, 5), (2, 0)), -0.02339, None, 0.944, 0.94528, id="below zero at 94.4 %"),
        pytest.param(SKEWED, 0.318, None, 0.85, 0.78, id="Feinstein, skewed"),
        pytest.param(((40, 9), (6, 45)), 0.70, None, 0.85, None, id="Feinstein, even"),
    ],
)
def test_kappa_is_the_published_one(
    counts: tuple[tuple[int, ...], ...],
    kappa: float,
    ase: float | None,
    observed: float,
    expected: float | None,
) -> None:
    found = cohen_kappa(table(counts))
    digits = 5e-4 if kappa in (0.318, 0.70) else 6e-5
    assert value(found) == pytest.approx(kappa, abs=digits)
    assert found.observed == pytest.approx(observed, abs=1e-12)
    if ase is not None:
        assert error(found) == pytest.approx(ase, abs=6e-5)
    if expected is not None:
        assert found.expected == pytest.approx(expected, abs=1e-9)


def test_kappa_s_interval_is_normal_about_it_with_the_standard_error() -> None:
    found = cohen_kappa(table(COHEN_1960))
    assert interval(found).lo == pytest.approx(0.491525 - 1.959964 * 0.051002, abs=2e-6)
    assert interval(found).hi == pytest.approx(0.491525 + 1.959964 * 0.051002, abs=2e-6)
    assert interval(found).level == 0.95
    wide = interval(cohen_kappa(table(COHEN_1960), level=0.99))
    assert wide.lo < interval(found).lo
    assert wide.hi > interval(found).hi


square = st.integers(2, 5).flatmap(
    lambda size: st.lists(
        st.lists(st.integers(0, 30), min_size=size, max_size=size), min_size=size, max_size=size
    )
)


@settings(max_examples=150, deadline=None)
@given(square, st.sampled_from(["none", "linear", "quadratic"]))
def test_kappa_is_that_of_statsmodels_and_scikit_learn(counts: list[list[int]], weights: str) -> None:
    given_ = table(tuple(map(tuple, counts)))
    assume(given_.n > 0)
    found = cohen_kappa(given_, weights=weights)  # type: ignore[arg-type]
    assume(isinstance(found.estimate, Estimate))
    with np.errstate(invalid="ignore"):  # 0/0 in theirs where one rater gave one label
        other = cohens_kappa(np.array(counts), wt=None if weights == "none" else weights)
    assert value(found) == pytest.approx(other.kappa, abs=1e-9)
    # At the ends rounding decides whether a variance is a hair above or below zero.
    assert isinstance(found.estimate, Estimate)
    if isinstance(found.estimate.interval, Undefined):
        assert other.std_kappa == pytest.approx(0, abs=1e-6) or np.isnan(other.std_kappa)
    elif isinstance(found.observed, float) and found.observed < 1:
        assert error(found) == pytest.approx(other.std_kappa, abs=1e-6)
    # Theirs is the root of a hair below zero where one rater gave one label.
    assert found.null_error == pytest.approx(np.nan_to_num(other.std_kappa0), abs=1e-6)
    codes = codes_of(given_)
    learned = cohen_kappa_score(
        codes[:, 0],
        codes[:, 1],
        labels=list(range(len(counts))),
        weights=None if weights == "none" else weights,
    )
    assert value(found) == pytest.approx(learned, abs=1e-9)


def test_own_weights_give_what_statsmodels_gives_with_them() -> None:
    own = [[1, 0.6, 0], [0.6, 1, 0.3], [0, 0.3, 1]]
    found = cohen_kappa(table(COHEN_1960), weights=own)
    # statsmodels takes weights of disagreement.
    other = cohens_kappa(np.array(COHEN_1960), weights=1 - np.array(own))
    assert value(found) == pytest.approx(other.kappa, abs=1e-12)
    assert error(found) == pytest.approx(other.std_kappa, abs=1e-9)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([[1, 0], [0, 1]], "are not 3 x 3"),
        ([[1, 2, 0], [0, 1, 0], [0, 0, 1]], "are not all from 0 to 1"),
        ([[1, float("nan"), 0], [0, 1, 0], [0, 0, 1]], "are not all from 0 to 1"),
        ([[0.5, 0, 0], [0, 1, 0], [0, 0, 1]], "are not 1 on the diagonal"),
    ],
)
def test_weights_that_are_none_are_refused(weights: list[list[float]], said: str) -> None:
    with pytest.raises(InputError, match=said):
        cohen_kappa(table(COHEN_1960), weights=weights)


@given(square, st.randoms(use_true_random=False))
def test_neither_the_order_of_categories_nor_that_of_raters_matters(
    counts: list[list[int]], random: object
) -> None:
    order = list(range(len(counts)))
    random.shuffle(order)  # type: ignore[attr-defined]
    plain = cohen_kappa(table(tuple(map(tuple, counts))))
    mixed = cohen_kappa(table(tuple(tuple(counts[i][j] for j in order) for i in order)))
    turned = cohen_kappa(table(tuple(map(tuple, counts))).transposed)
    assume(isinstance(plain.estimate, Estimate))
    assert isinstance(plain.estimate, Estimate)
    assert value(mixed) == pytest.approx(value(plain), abs=1e-12)
    assert value(turned) == pytest.approx(value(plain), abs=1e-12)
    assert isinstance(turned.estimate, Estimate)
    # One of two may be rounding, and then is none.
    found, same = (measured.standard_error or 0.0 for measured in (turned.estimate, plain.estimate))
    assert found == pytest.approx(same, abs=2e-7)


@given(square)
def test_an_empty_category_changes_no_kappa_but_does_change_ac1(counts: list[list[int]]) -> None:
    size = len(counts)
    wider = (*((*row, 0) for row in counts), (0,) * (size + 1))
    plain, more = table(tuple(map(tuple, counts))), table(wider)
    assume(plain.n > 0)
    one, other = cohen_kappa(plain), cohen_kappa(more)
    if isinstance(one.estimate, Estimate):
        assert value(other) == pytest.approx(value(one), abs=1e-12)
    ac1, ac1_more = (gwet_ac1(codes_of(part), part.categories) for part in (plain, more))
    # Chance is spread over one category more, so that it explains less.
    assert isinstance(ac1.expected, float)
    assert isinstance(ac1_more.expected, float)
    assert ac1_more.expected <= ac1.expected


# R, package irrCAC (its data sets, Gwet 2014):
#   library(irrCAC); gwet.ac1.raw(cac.raw4raters[, -1])$est
#   # coeff 0.77544, pa 0.81818, pe 0.19032, se 0.14295, ci (0.461, 1)
#   gwet.ac1.raw of the 100 pairs of cont3x3abstractors: 0.84933, pe 0.26992, se 0.04344, ci (0.76315, 0.93552)
RAW4 = [
    [1, 1, 0, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4],
    [4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [0, 5, 5, 5], [0, 0, 1, 1], [0, 0, 3, 0],
]  # fmt: skip


def test_ac1_with_missing_ratings_is_that_of_irrcac() -> None:
    found = gwet_ac1(np.array(RAW4) - 1, tuple("12345"))
    assert value(found) == pytest.approx(0.77544, abs=6e-6)
    assert found.observed == pytest.approx(0.81818, abs=6e-6)
    assert found.expected == pytest.approx(0.19032, abs=6e-6)
    assert error(found) == pytest.approx(0.14295, abs=6e-6)
    assert interval(found).lo == pytest.approx(0.461, abs=6e-4)
    assert interval(found).hi == 1.0
    assert found.left_out == 1


def test_ac1_of_two_raters_is_that_of_irrcac() -> None:
    pairs = codes_of(table(((13, 0, 0), (0, 20, 7), (0, 4, 56))))
    found = gwet_ac1(pairs, tuple("abc"))
    assert value(found) == pytest.approx(0.84933, abs=6e-6)
    assert error(found) == pytest.approx(0.04344, abs=6e-6)
    assert (interval(found).lo, interval(found).hi) == pytest.approx((0.76315, 0.93552), abs=6e-6)


def test_ac1_stays_where_kappa_falls() -> None:
    found = gwet_ac1(codes_of(table(SKEWED)), ("a", "b"))
    assert found.expected == pytest.approx(2 * 0.875 * 0.125)
    assert value(found) == pytest.approx(0.808, abs=1e-9)


# The worked example of Wikipedia's article on Fleiss' kappa, ten subjects and fourteen raters: 0.210.
#   Python: statsmodels.stats.inter_rater.fleiss_kappa(FLEISS)  -> 0.20993
FLEISS = np.array(
    [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]
)  # fmt: skip


def rated(counts: np.ndarray) -> np.ndarray:
    return np.array([np.repeat(np.arange(len(row)), row) for row in counts])


def test_fleiss_kappa_is_the_published_one() -> None:
    found = fleiss_kappa(rated(FLEISS), tuple("abcde"))
    assert value(found) == pytest.approx(0.20993, abs=5e-6)
    assert found.observed == pytest.approx(0.37802, abs=5e-6)
    assert found.expected == pytest.approx(0.212755, abs=5e-7)
    assert interval(found).lo < 0.20993 < interval(found).hi


@settings(deadline=None)
@given(
    st.integers(2, 5).flatmap(
        lambda raters: st.lists(
            st.lists(st.integers(0, 3), min_size=raters, max_size=raters), min_size=2, max_size=25
        )
    )
)
def test_fleiss_kappa_is_that_of_statsmodels(rows: list[list[int]]) -> None:
    codes = np.array(rows)
    found = fleiss_kappa(codes, tuple("abcd"))
    assume(isinstance(found.estimate, Estimate))
    counts = np.stack([(codes == code).sum(axis=1) for code in range(4)], axis=1)
    assert value(found) == pytest.approx(statsmodels_fleiss(counts), abs=1e-9)


def test_fleiss_kappa_of_two_raters_is_scott_s_pi() -> None:
    counts = np.array(SKEWED)
    share = (counts.sum(axis=0) + counts.sum(axis=1)) / 200
    expected = (share**2).sum()
    assert value(fleiss_kappa(codes_of(table(SKEWED)), ("a", "b"))) == pytest.approx(
        (0.85 - expected) / (1 - expected)
    )


def test_fleiss_null_error_is_what_chance_gives() -> None:
    rng = np.random.default_rng(5)
    codes = rng.choice(3, p=(0.5, 0.3, 0.2), size=(2000, 60, 3))
    found = [fleiss_kappa(sample, tuple("abc")) for sample in codes]
    spread = np.std([value(one) for one in found])
    assert np.mean([one.null_error for one in found]) == pytest.approx(spread, rel=0.05)
    small = np.mean([one.p_value < 0.05 for one in found if one.p_value is not None])
    assert 0.035 < small < 0.07


def test_linearised_errors_are_near_those_of_a_jackknife() -> None:
    rng = np.random.default_rng(11)
    truth = rng.integers(0, 3, size=150)
    noisy = rng.random((150, 4)) < 0.3
    codes = np.where(noisy, rng.integers(0, 3, size=(150, 4)), truth[:, None])
    codes[rng.random((150, 4)) < 0.1] = -1
    for function in (gwet_ac1, fleiss_kappa):
        whole = codes if function is gwet_ac1 else codes[(codes >= 0).all(axis=1)]
        n = len(whole)
        left = [value(function(np.delete(whole, i, axis=0), tuple("abc"))) for i in range(n)]
        jackknife = np.sqrt((n - 1) / n * ((np.array(left) - np.mean(left)) ** 2).sum())
        assert error(function(whole, tuple("abc"))) == pytest.approx(jackknife, rel=0.03)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (((10, 0), (0, 0)), "both raters gave 'a' to every item, so chance agrees always"),
        (((0, 0), (0, 1)), "both raters gave 'b' to every item, so chance agrees always"),
        (((0, 0), (0, 0)), "no item was rated by two raters"),
    ],
)
def test_kappa_says_why_it_is_undefined(counts: tuple[tuple[int, ...], ...], said: str) -> None:
    found = cohen_kappa(table(counts))
    assert isinstance(found.estimate, Undefined)
    assert found.estimate.reason == said
    if sum(map(sum, counts)):
        assert (found.observed, found.expected) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("codes", "categories", "said"),
    [
        (np.zeros((0, 2), dtype=int), "ab", "there are no ratings"),
        (np.full((3, 2), -1), "ab", "there are no ratings"),
        (np.array([[0], [1]]), "ab", "there is only one rater"),
        (np.array([[0, -1], [1, -1]]), "ab", "there is only one rater"),
        (np.array([[0, -1], [-1, 1]]), "ab", "no item was rated by two raters"),
        (np.array([[0, 0], [0, 0]]), "a", "only one category is declared: all ratings are 'a'"),
    ],
)
def test_ac1_and_fleiss_say_why_they_are_undefined(codes: np.ndarray, categories: str, said: str) -> None:
    for function in (gwet_ac1, fleiss_kappa):
        found = function(codes, tuple(categories))
        assert isinstance(found.estimate, Undefined)
        assert found.estimate.reason == said


def test_fleiss_needs_an_item_that_all_rated() -> None:
    found = fleiss_kappa(np.array([[0, 0, -1], [1, -1, 1]]), ("a", "b"))
    assert str(found.estimate) == "undefined: no item was rated by all raters"
    assert found.left_out == 2


def test_all_of_one_class_leaves_fleiss_undefined_and_ac1_at_one() -> None:
    same = np.ones((40, 3), dtype=int)
    assert str(fleiss_kappa(same, ("a", "b")).estimate) == (
        "undefined: every rating is 'b', so chance agrees always"
    )
    found = gwet_ac1(same, ("a", "b"))
    assert value(found) == 1.0
    # Forty items in agreement do not prove that the next one agrees.
    assert interval(found).lo == pytest.approx(40 / (40 + 1.959964**2), abs=1e-6)


def test_perfect_agreement_does_not_claim_certainty() -> None:
    found = cohen_kappa(table(((5, 0), (0, 5))))
    assert value(found) == 1.0
    assert 0 < interval(found).lo < 0.6
    assert "Wilson" in interval(found).method
    many = cohen_kappa(table(((5000, 0), (0, 5000))))
    assert 0.999 < interval(many).lo < 1


def test_fleiss_counts_the_items_that_some_rater_left_out() -> None:
    found = fleiss_kappa(np.array([[0, 0], [1, 1], [0, 1], [1, -1]]), ("a", "b"))
    assert found.left_out == 1
    assert isinstance(found.estimate, Estimate)
    assert found.estimate.n == 3


def test_labels_that_are_not_declared_are_all_named() -> None:
    with pytest.raises(InputError, match="'maybe', 'so' not among the categories"):
        encoded([("yes", "maybe"), ("so", "no")], ("yes", "no"))


@pytest.mark.parametrize(
    ("categories", "said"), [((), "none are declared"), (("a", "a"), "'a' is declared twice")]
)
def test_categories_must_be_some_and_distinct(categories: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        encoded([("a", "a")], categories)


def test_more_categories_than_declared_are_refused_as_codes_too() -> None:
    for codes in (np.array([[0, 2], [1, 1]]), np.array([[0, -2], [1, 1]])):
        for function in (gwet_ac1, fleiss_kappa):
            with pytest.raises(InputError, match="is no place among 2 categories"):
                function(codes, ("a", "b"))
        with pytest.raises(InputError, match="is no place among 2 categories"):
            confusion_of(codes[:, 0], codes[:, 1], ("a", "b"))


def test_confusion_counts_what_only_one_rater_rated() -> None:
    found = confusion(["a", None, "b", None], ["a", "b", "a", None], ("a", "b", "c"))
    assert found.counts == ((1, 0, 0), (1, 0, 0), (0, 0, 0))
    assert (found.n, found.unpaired) == (2, 2)
    with pytest.raises(InputError, match="2 and 1 of them"):
        confusion(["a", "b"], ["a"], ("a", "b"))


@pytest.mark.parametrize("counts", [((1, 2),), ((1, 2), (3,)), ((1, -2), (3, 4))])
def test_what_is_no_confusion_matrix_is_refused(counts: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(InputError, match="confusion matrix"):
        Confusion(categories=("a", "b"), counts=counts)


def test_specific_agreement_is_f1_and_its_interval_that_of_the_share() -> None:
    # Positive and negative agreement of Cicchetti and Feinstein 1990: 2*80/(90+85) and 2*5/(10+15).
    for name, expected in (("a", 160 / 175), ("b", 10 / 25)):
        found = specific_agreement(table(SKEWED), name)
        assert isinstance(found, Estimate)
        assert found.value == pytest.approx(expected)
        assert isinstance(found.interval, Interval)
        assert found.interval.lo < expected < found.interval.hi
    assert rarer_category(table(SKEWED)) == "b"
    assert str(specific_agreement(table(((3, 0), (0, 0))), "b")) == "undefined: neither rater gave 'b'"
    assert isinstance(rarer_category(table(((3, 0), (0, 0)))), Undefined)
    with pytest.raises(InputError, match="not declared"):
        specific_agreement(table(SKEWED), "z")


@settings(max_examples=100, deadline=None)
@given(square)
def test_precision_recall_and_macro_f1_are_those_of_scikit_learn(counts: list[list[int]]) -> None:
    given_ = table(tuple(map(tuple, counts)))
    assume(given_.n > 0)
    codes = codes_of(given_)
    labels = sorted(set(codes.reshape(-1).tolist()))
    precision, recall, f1, support = precision_recall_fscore_support(
        codes[:, 0], codes[:, 1], labels=labels, zero_division=0
    )
    found = classification(given_)
    for place, code in enumerate(labels):
        scores = found.classes[code]
        assert scores.support == support[place]
        for mine, theirs in ((scores.precision, precision), (scores.recall, recall), (scores.f1, f1)):
            # What is 0/0 they set to 0, and here it is undefined.
            assert (mine.value if isinstance(mine, Estimate) else 0.0) == pytest.approx(theirs[place])
    assert isinstance(found.macro_f1, Estimate)
    assert found.macro_f1.value == pytest.approx(f1.mean())
    assert len(found.absent) == len(counts) - len(labels)


def test_the_error_of_macro_f1_is_near_that_of_a_bootstrap() -> None:
    rng = np.random.default_rng(3)
    shares = np.array(COHEN_1960) / 200
    draws = rng.multinomial(200, shares.reshape(-1), size=4000).reshape(-1, 3, 3)
    values = [
        np.mean([2 * cells[c, c] / (cells[c].sum() + cells[:, c].sum()) for c in range(3)]) for cells in draws
    ]
    found = classification(table(COHEN_1960)).macro_f1
    assert isinstance(found, Estimate)
    assert found.standard_error == pytest.approx(np.std(values), rel=0.05)


def test_consensus_is_a_majority_and_a_tie_is_none() -> None:
    codes = np.array([[0, 0, 1], [0, 1, 2], [1, 1, -1], [0, 1, -1], [-1, -1, -1], [2, -1, -1]])
    assert consensus(codes).tolist() == [0, -1, 1, -1, -1, 2]
    assert consensus(np.zeros((2, 0), dtype=int)).tolist() == [-1, -1]


def test_weights_fall_from_the_diagonal_to_the_ends() -> None:
    assert weight_matrix(4, "linear")[0] == pytest.approx([1, 2 / 3, 1 / 3, 0])
    assert weight_matrix(4, "quadratic")[0] == pytest.approx([1, 8 / 9, 5 / 9, 0])
    assert weight_matrix(1, "linear").tolist() == [[1.0]]


ONE_LABEL = ((0, 0), (4, 6))
OPPOSED = ((0, 5), (5, 0))


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (ONE_LABEL, "the first rater gave '"),
        (((0, 4), (0, 6)), "the second rater gave '"),
        (OPPOSED, "no item agrees"),
    ],
)
def test_a_kappa_without_spread_has_no_interval_and_no_error(
    counts: tuple[tuple[int, ...], ...], said: str
) -> None:
    found = cohen_kappa(table(counts))
    assert isinstance(found.estimate, Estimate)
    assert isinstance(found.estimate.interval, Undefined)
    assert said in found.estimate.interval.reason
    assert found.estimate.standard_error is None


@settings(max_examples=150, deadline=None)
@given(square)
def test_no_coefficient_promises_certainty(counts: list[list[int]]) -> None:
    given_ = table(tuple(map(tuple, counts)))
    assume(given_.n > 0)
    codes, names = codes_of(given_), given_.categories
    every = [cohen_kappa(given_, weights=kind).estimate for kind in ("none", "linear", "quadratic")]
    every += [gwet_ac1(codes, names).estimate, fleiss_kappa(codes, names).estimate]
    every.append(classification(given_).macro_f1)
    for measured in every:
        if isinstance(measured, Estimate) and isinstance(measured.interval, Interval):
            assert measured.interval.lo < measured.interval.hi


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (OPPOSED, "no item agrees, so every F1 is 0"),
        (((5, 0, 0), (0, 0, 4), (0, 4, 0)), "every F1 is 0 or 1"),
        (((5, 0), (0, 5)), "no disagreement"),
    ],
)
def test_macro_f1_without_spread_says_the_true_reason(counts: tuple[tuple[int, ...], ...], said: str) -> None:
    found = classification(table(counts)).macro_f1
    assert isinstance(found, Estimate)
    assert isinstance(found.interval, Undefined)
    assert said in found.interval.reason
    assert found.standard_error is None


def test_raters_who_agree_on_no_item_leave_ac1_and_fleiss_without_interval() -> None:
    codes = codes_of(table(OPPOSED))
    for found in (gwet_ac1(codes, ("a", "b")), fleiss_kappa(codes, ("a", "b"))):
        assert isinstance(found.estimate, Estimate)
        assert isinstance(found.estimate.interval, Undefined)
        assert "no item agrees" in found.estimate.interval.reason
        assert found.estimate.standard_error is None
