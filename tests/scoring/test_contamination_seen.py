"""With and without items seen: what the paired interval covers, and what is undefined (SPEC L8)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacre.scoring.contamination import Verdict, before_and_after, with_and_without, with_marks
from lacre.scoring.estimates import Estimate, Interval, Undefined
from lacre.scoring.outcomes import Answer, Outcome

Marks = dict[tuple[str, str], Verdict]


def answers(right: list[bool], column: str = "m") -> list[Answer]:
    return [
        Answer(column=column, item=f"q{n:04}", outcome=Outcome.CORRECT if yes else Outcome.WRONG)
        for n, yes in enumerate(right)
    ]


def seen(count: int) -> Marks:
    return {("m", f"q{n:04}"): "seen" for n in range(count)}


@given(st.lists(st.booleans(), min_size=4, max_size=60), st.integers(1, 3))
def test_the_difference_is_the_mean_of_all_less_that_of_the_rest(right: list[bool], count: int) -> None:
    [found] = with_and_without(answers(right), seen(count), rng=np.random.default_rng(0), draws=100)
    assert isinstance(found.difference, Estimate)
    assert found.difference.value == pytest.approx(np.mean(right) - np.mean(right[count:]))
    assert found.seen + found.not_reproduced + found.not_probed == found.items == len(right)
    assert isinstance(found.everything.accuracy, Estimate)
    assert found.everything.accuracy.value == pytest.approx(np.mean(right))


def test_the_paired_interval_covers_what_it_promises() -> None:
    rng = np.random.default_rng(5)
    covered = 0
    for seed in range(120):
        # 100 items of 400 seen: 0.9 right where seen, 0.5 elsewhere; the true difference is 0.1.
        right = [*(rng.random(100) < 0.9).tolist(), *(rng.random(300) < 0.5).tolist()]
        [found] = with_and_without(answers(right), seen(100), rng=np.random.default_rng(seed), draws=400)
        assert isinstance(found.difference, Estimate)
        assert isinstance(found.difference.interval, Interval)
        covered += found.difference.interval.contains(0.1)
    assert covered >= 106


def test_nothing_seen_and_all_seen_are_undefined_with_their_reason() -> None:
    rng = np.random.default_rng(0)
    [none] = with_and_without(answers([True, False, True]), {}, rng=rng, draws=100)
    assert none.difference == Undefined(reason="no item was seen", n=3)
    assert none.not_probed == 3
    [every] = with_and_without(answers([True, False, True]), seen(3), rng=rng, draws=100)
    assert every.difference == Undefined(reason="every item was seen", n=3)
    assert isinstance(every.without.accuracy, Undefined)
    assert isinstance(every.without.abstention, Undefined)


def test_runs_and_parts_of_an_item_go_with_its_mark() -> None:
    marks: Marks = {("m", "redacao"): "seen", ("m", "c#1"): "not_reproduced"}
    given_answers = [
        Answer(column="m", item=item, repetition=run, score=score)
        for item, run, score in (
            ("redacao#a", 1, 1.0), ("redacao#a", 2, 0.0), ("redacao#b", 1, 1.0), ("redacao#b", 2, 1.0),
            ("c#1", 1, 0.0), ("c#1", 2, 0.0), ("#x", 1, 0.0),
        )
    ]  # fmt: skip
    told = {answer.item: answer.fields["seen"] for answer in with_marks(given_answers, marks)}
    assert told == {"redacao#a": "seen", "redacao#b": "seen", "c#1": "not reproduced", "#x": "not probed"}
    [found] = with_and_without(given_answers, marks, rng=np.random.default_rng(0), draws=100)
    assert (found.seen, found.not_reproduced, found.not_probed) == (2, 1, 1)
    assert isinstance(found.difference, Estimate)
    assert found.difference.value == pytest.approx((0.5 + 1 + 0 + 0) / 4)


def test_one_more_column_changes_no_other() -> None:
    own = answers([True, False, True, True, False])
    both = [*own, *answers([True] * 5, column="n")]
    alone = with_and_without(own, seen(2), rng=np.random.default_rng(3), draws=100)
    beside = with_and_without(both, seen(2), rng=np.random.default_rng(3), draws=100)
    assert alone[0] == beside[0]


def test_dates_of_parts_are_those_of_their_item_and_missing_ones_are_unknown() -> None:
    given_answers = [Answer(column="m", item=item, score=1.0) for item in ("a#1", "a#2", "b", "c")]
    [found] = before_and_after(given_answers, {"a": "2023-11-05", "b": "2025-11-09"}, {"m": "2024-06"})
    assert (found.before, found.after, found.unknown) == (2, 1, 1)
    [none] = before_and_after(given_answers, {}, {})
    assert (none.cutoff, none.unknown) == (None, 4)
    assert str(none.gain) == "undefined: no cutoff is declared"
    reasons = {
        cutoff: str(before_and_after(given_answers, {"b": "2024-06-10"}, {"m": cutoff})[0].gain)
        for cutoff in ("2023-01", "2024-06", "2025-01")
    }
    assert reasons == {
        "2023-01": "undefined: no item is of before the cutoff",
        "2024-06": "undefined: no item's date tells its side of the cutoff",
        "2025-01": "undefined: no item is of after the cutoff",
    }
