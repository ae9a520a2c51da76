"""Metrics: exact denominators, inseparable headline, exact fractions, several runs, and what is undefined."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lacre.errors import InputError
from lacre.scoring.board import board
from lacre.scoring.calibration import Calibration, NoConfidence
from lacre.scoring.estimates import Estimate, Interval, Measured, Undefined
from lacre.scoring.intervals import wilson
from lacre.scoring.metrics import Metrics, metrics, penalised_score, penalty
from lacre.scoring.outcomes import Answer, Expects, Outcome


def answers(letters: str, **changes: object) -> list[Answer]:
    """One answer an item, of these classes."""
    return [
        Answer(column="m", item=f"i{place}", outcome=Outcome.of(letter), **changes)  # type: ignore[arg-type]
        for place, letter in enumerate(letters)
    ]


def found(given: Sequence[Answer], draws: int = 200, **options: object) -> Metrics:
    return metrics(given, rng=np.random.default_rng(1), draws=draws, **options)  # type: ignore[arg-type]


def value(measured: Measured) -> float:
    assert isinstance(measured, Estimate)
    return measured.value


def interval(measured: Measured) -> Interval:
    assert isinstance(measured, Estimate)
    assert isinstance(measured.interval, Interval)
    return measured.interval


def test_each_metric_has_its_own_denominator() -> None:
    # 4 C, 2 E, 2 A, 1 R, 1 F
    result = found(answers("CCCCEEAARF"))
    head = result.headline
    assert value(head.accuracy) == 0.4
    assert value(head.error_when_attempted) == pytest.approx(2 / 6)
    assert value(head.abstention) == 0.2
    assert value(result.refusal) == 0.1
    assert value(result.failure) == 0.1
    assert value(result.accuracy_without_failures) == pytest.approx(4 / 9)
    assert [m.n for m in (head.accuracy, head.error_when_attempted, result.accuracy_without_failures)] == [
        10,
        6,
        9,
    ]
    assert interval(head.error_when_attempted) == wilson(2, 6)
    assert result.counts.failure == 1


def test_special_items_have_their_own_denominators() -> None:
    rows: list[tuple[str, Expects, bool]] = [
        ("C", "answer", False),
        ("A", "answer", True),  # over-refusal
        ("R", "answer", True),  # over-refusal
        ("C", "answer", True),
        ("A", "abstention", False),
        ("E", "abstention", False),
        ("A", "abstention", False),
        ("C", "corrected_premise", False),
        ("E", "corrected_premise", False),
        ("A", "corrected_premise", False),
    ]
    result = found(
        [
            Answer(column="m", item=f"i{n}", outcome=Outcome.of(o), expects=e, looks_sensitive=s)
            for n, (o, e, s) in enumerate(rows)
        ]
    )
    parts = {
        "accuracy": (result.headline.accuracy, 3 / 10, 10),
        "accuracy_expected": (result.accuracy_expected, 2 / 4, 4),
        "correct_abstention": (result.correct_abstention, 2 / 3, 3),
        "abstention_precision": (result.abstention_precision, 2 / 4, 4),
        "premise_corrected": (result.premise_corrected, 1 / 3, 3),
        "over_refusal": (result.over_refusal, 2 / 3, 3),
    }
    for name, (measured, expected, n) in parts.items():
        assert value(measured) == pytest.approx(expected), name
        assert measured.n == n, name


@pytest.mark.parametrize(
    ("letters", "name", "reason"),
    [
        ("AARF", "error_when_attempted", "no answer was attempted"),
        ("FFF", "accuracy_without_failures", "every answer is a failure"),
        ("CE", "abstention_precision", "no answer is an abstention"),
        ("CE", "correct_abstention", "no item expects an abstention"),
        ("CE", "premise_corrected", "no item has a premise to correct"),
        ("CE", "over_refusal", "no legitimate item looks sensitive"),
    ],
)
def test_nothing_over_nothing_is_undefined_with_its_reason(letters: str, name: str, reason: str) -> None:
    result = found(answers(letters))
    measured = getattr(result, name, None) or getattr(result.headline, name)
    assert measured == Undefined(reason=reason, n=0)


def test_all_failures_count_as_not_correct() -> None:
    result = found(answers("FFFF"))
    assert value(result.headline.accuracy) == 0.0
    assert interval(result.headline.accuracy) == wilson(0, 4)
    assert value(result.failure) == 1.0
    assert isinstance(result.calibration, NoConfidence)
    assert result.calibration.reason == "no answer was attempted"


def test_all_of_one_class_has_an_honest_interval() -> None:
    result = found(answers("C" * 20))
    assert interval(result.headline.accuracy).lo == pytest.approx(0.8389, abs=1e-4)
    assert interval(result.refusal).method == "rule of three, one-sided"
    assert interval(result.refusal).hi == 0.15
    # With nothing taken off, t = 0.9 has the same value in every item: resampling would promise certainty.
    assert value(result.penalised[3].score) == 1.0
    assert isinstance(result.penalised[3].score, Estimate)
    assert isinstance(result.penalised[3].score.interval, Undefined)


# Kalai et al. 2025, arXiv:2509.04664: 60 right, 20 wrong, 20 abstentions.
@pytest.mark.parametrize(
    ("t", "score"),
    [
        ("0", Fraction(6, 10)),
        ("0.5", Fraction(4, 10)),
        ("0.75", Fraction(0)),
        ("0.9", Fraction(-12, 10)),
        ("2/3", Fraction(2, 10)),
    ],
)
def test_penalised_scores_are_exact_fractions(t: str, score: Fraction) -> None:
    assert penalised_score(60, 20, 100, t) == score
    result = found(answers("C" * 60 + "E" * 20 + "A" * 20), thresholds=[t])
    assert result.penalised[0].exact == str(score)
    assert value(result.penalised[0].score) == float(score)


def test_the_penalty_at_nine_tenths_is_nine_not_what_floats_make_of_it() -> None:
    assert 0.9 / (1 - 0.9) != 9
    assert penalty("0.9") == 9


@pytest.mark.parametrize("t", ["1", "1.0", "-0.1", "2", "high", "1/0", ""])
def test_thresholds_without_a_finite_penalty_are_refused(t: str) -> None:
    with pytest.raises(InputError, match="t = "):
        penalised_score(1, 1, 2, t)


def test_at_threshold_0_the_penalised_score_is_accuracy_interval_and_all() -> None:
    result = found(answers("CCEAF"))
    assert interval(result.penalised[0].score) == interval(result.headline.accuracy)


def test_no_answers_are_refused() -> None:
    with pytest.raises(InputError, match="0 columns"):
        found([])
    with pytest.raises(InputError, match="no items"):
        penalised_score(0, 0, 0, "0")


def test_runs_of_an_item_count_as_one_item() -> None:
    runs = [
        Answer(column="m", item=item, repetition=run, outcome=Outcome.of(letter))
        for item, letters in {"a": "CCC", "b": "EEE", "c": "CEC", "d": "CCE"}.items()
        for run, letter in enumerate(letters, 1)
    ]
    result = found(runs, draws=4000)
    assert value(result.headline.accuracy) == pytest.approx(7 / 12)
    assert result.headline.accuracy.n == 4
    assert (result.counts.items, result.counts.answers) == (4, 12)
    # Resampling runs one by one would promise this much:
    assert interval(result.headline.accuracy).lo < wilson(7, 12).lo
    assert "by item" in interval(result.headline.accuracy).method


def test_uneven_runs_weigh_each_item_alike() -> None:
    runs = [
        *answers("C"),
        *(Answer(column="m", item="x", repetition=n, outcome=Outcome.WRONG) for n in range(1, 10)),
    ]
    result = found(runs)
    assert value(result.headline.accuracy) == 0.5
    assert result.penalised[1].exact == "0"
    assert board(runs, rng=np.random.default_rng(1), draws=100).uneven == ("m",)


def test_repeating_every_run_changes_no_value() -> None:
    once = answers("CCEAF")
    twice = [*once, *(msgspec.structs.replace(answer, repetition=2) for answer in once)]
    first, second = found(once), found(twice)
    for name in ("accuracy", "error_when_attempted", "abstention"):
        assert value(getattr(first.headline, name)) == value(getattr(second.headline, name))
    assert [row.exact for row in first.penalised] == [row.exact for row in second.penalised]


def test_open_ended_scores_have_a_mean_and_no_class_without_a_threshold() -> None:
    given = [
        Answer(column="m", item="a", score=0.5),
        Answer(column="m", item="b", score=1.0),
        Answer(column="m", item="c", outcome=Outcome.REFUSAL),
        Answer(column="m", item="d", outcome=Outcome.FAILURE),
    ]
    result = found(given)
    assert value(result.mean_score) == 0.375
    assert result.mean_score.n == 4
    assert value(result.refusal) == 0.25
    assert value(result.headline.abstention) == 0.0
    for measured in (
        result.headline.accuracy,
        result.headline.error_when_attempted,
        *(row.score for row in result.penalised),
    ):
        assert isinstance(measured, Undefined)
    assert "set a threshold" in str(result.headline.accuracy)


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet="CEARF", min_size=1, max_size=60), st.randoms())
def test_the_order_of_answers_never_matters(letters: str, random: object) -> None:
    given = answers(letters)
    shuffled = list(given)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert found(given, 100) == found(shuffled, 100)


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="CEARF", min_size=1, max_size=60))
def test_rates_are_counts_over_denominators(letters: str) -> None:
    result = found(answers(letters), 100)
    c, e, a, r, f = (letters.count(letter) for letter in "CEARF")
    assert value(result.headline.accuracy) == c / len(letters)
    assert value(result.headline.abstention) == a / len(letters)
    assert value(result.refusal) == r / len(letters)
    assert value(result.failure) == f / len(letters)
    if c + e:
        assert value(result.headline.error_when_attempted) == e / (c + e)
    for row in result.penalised:
        t = Fraction(row.t)
        assert row.exact == str((c - e * t / (1 - t)) / len(letters))


def test_the_chosen_interval_is_used() -> None:
    given = answers("CCE")
    assert interval(found(given, method="clopper-pearson").headline.accuracy).method == "Clopper-Pearson"
    assert interval(found(given, method="beta").headline.accuracy).method.startswith("Beta posterior")


def test_at_another_level_the_bound_of_a_rare_event_is_exact() -> None:
    bound = interval(found(answers("C" * 100), level=0.99).failure)
    assert bound.one_sided
    assert bound.hi == pytest.approx(1 - 0.01 ** (1 / 100))


def test_a_board_has_strata_flags_small_ones_and_says_what_is_missing() -> None:
    given = [
        Answer(column=column, item=f"i{n}", outcome=Outcome.CORRECT, fields={"area": area})
        for column, count in (("a", 6), ("b", 4))
        for n, area in zip(range(count), ["x", "x", "x", "x", "y", ""], strict=False)
    ]
    result = board(given, rng=np.random.default_rng(1), by=["area"], smallest=3, draws=100)
    assert result.missing == {"b": 2}
    assert [(row.column, row.name, row.small) for row in result.strata] == [
        ("a", "(not said)", True),
        ("a", "x", False),
        ("a", "y", True),
        ("b", "x", False),
    ]


def test_one_more_column_changes_no_other_columns_interval() -> None:
    given = answers("CCEEA" * 5)
    more = [*given, *(msgspec.structs.replace(answer, column="a") for answer in given)]
    alone, together = (board(each, rng=np.random.default_rng(7), draws=200) for each in (given, more))
    assert alone.columns[0] in together.columns


def test_a_board_survives_json() -> None:
    given = answers("CCEE", confidence=0.7)
    result = board(given, rng=np.random.default_rng(1), draws=100)
    assert isinstance(result.columns[0].calibration, Calibration)
    assert msgspec.json.decode(msgspec.json.encode(result), type=type(result)) == result
