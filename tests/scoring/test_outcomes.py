"""Answers: classes, scores, thresholds, and what is no answer."""

from __future__ import annotations

import math

import msgspec
import pytest

from lacre.errors import InputError
from lacre.scoring.outcomes import Answer, Outcome, by_column, classed, tally


def answer(item: str = "q1", **changes: object) -> Answer:
    values: dict[str, object] = {"column": "m", "item": item, "outcome": Outcome.CORRECT}
    return Answer(**(values | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("C", Outcome.CORRECT),
        ("e", Outcome.WRONG),
        (" A ", Outcome.ABSTENTION),
        ("refusal", Outcome.REFUSAL),
        ("Failure", Outcome.FAILURE),
        ("B", None),
        ("", None),
        ("CE", None),
    ],
)
def test_a_class_is_told_by_letter_or_name(text: str, outcome: Outcome | None) -> None:
    assert Outcome.of(text) is outcome


def test_the_letters_are_those_of_the_rules() -> None:
    assert [outcome.letter for outcome in Outcome] == ["C", "E", "A", "R", "F"]
    assert [outcome.letter for outcome in Outcome if outcome.attempted] == ["C", "E"]


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ({}, 1.0),
        ({"outcome": Outcome.WRONG}, 0.0),
        ({"outcome": None, "score": 0.4}, 0.4),
        ({"outcome": Outcome.WRONG, "score": 0.4}, 0.4),
        ({"outcome": Outcome.REFUSAL}, 0.0),
        ({"outcome": Outcome.FAILURE, "score": 0.4}, 0.0),
    ],
)
def test_the_value_of_an_answer(changes: dict[str, object], value: float) -> None:
    assert answer(**changes).value == value  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"outcome": None}, "neither an outcome nor a score"),
        ({"score": 1.5}, "score 1.5"),
        ({"score": math.nan}, "score nan"),
        ({"confidence": -0.1}, "confidence -0.1"),
        ({"confidence": math.inf}, "confidence inf"),
        ({"repetition": 0}, "repetition 0"),
    ],
)
def test_what_is_no_answer_is_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        answer(**changes)  # type: ignore[arg-type]


def test_answers_survive_json() -> None:
    whole = answer(confidence=0.8, expects="abstention", fields={"area": "saúde"})
    assert msgspec.json.decode(msgspec.json.encode(whole), type=Answer) == whole


def test_a_threshold_makes_classes_of_scores_and_touches_nothing_else() -> None:
    scores = [answer(outcome=None, score=score) for score in (0.59, 0.6, 0.61)]
    assert [found.outcome for found in classed(scores, 0.6)] == [
        Outcome.WRONG,
        Outcome.CORRECT,
        Outcome.CORRECT,
    ]
    refused = answer(outcome=Outcome.REFUSAL)
    assert classed([refused], 0.0) == (refused,)
    with pytest.raises(InputError, match="threshold"):
        classed(scores, math.nan)


def test_one_run_given_twice_is_refused_and_every_one_is_named() -> None:
    with pytest.raises(InputError, match="item q1, repetition 1; m, item q2, repetition 1"):
        by_column([answer("q1"), answer("q1"), answer("q2"), answer("q2"), answer("q3")])


def test_a_tally_counts_runs_by_item() -> None:
    counted = tally(
        [
            answer("b", outcome=Outcome.ABSTENTION, expects="abstention"),
            answer("a", repetition=1),
            answer("a", repetition=2, outcome=Outcome.WRONG),
            answer("c", outcome=None, score=0.25, looks_sensitive=True),
        ]
    )
    assert counted.items == ("a", "b", "c")
    assert counted.runs.tolist() == [2, 1, 1]
    assert counted.of(Outcome.CORRECT).tolist() == [1, 0, 0]
    assert counted.of(Outcome.WRONG, Outcome.ABSTENTION).tolist() == [1, 1, 0]
    assert counted.unclassed.tolist() == [0, 0, 1]
    assert counted.values.tolist() == [1.0, 0.0, 0.25]
    assert counted.expects.tolist() == ["answer", "abstention", "answer"]
    assert counted.sensitive.tolist() == [False, False, True]


def test_a_tally_is_of_one_column_whose_runs_agree_on_the_item() -> None:
    with pytest.raises(InputError, match="0 columns"):
        tally([])
    with pytest.raises(InputError, match="2 columns"):
        tally([answer(), answer(column="n")])
    with pytest.raises(InputError, match="disagree"):
        tally([answer(), answer(repetition=2, expects="abstention")])
