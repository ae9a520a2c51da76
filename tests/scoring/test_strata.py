"""Strata: no answer is lost, small cells are flagged, imprecise dates are a group of their own (SPEC L5)."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from lacre.errors import InputError
from lacre.scoring.estimates import Estimate, Interval, Undefined
from lacre.scoring.outcomes import Answer, Outcome
from lacre.scoring.strata import (
    NOT_SAID,
    Strata,
    by_fields,
    gap,
    mean_value,
    side_of_cutoff,
    span,
    with_cutoff,
)


def answer(item: str, outcome: Outcome = Outcome.CORRECT, run: int = 1, **fields: str) -> Answer:
    return Answer(column="m", item=item, outcome=outcome, repetition=run, fields=fields)


def named(found: Strata) -> dict[str, tuple[int, float, bool]]:
    return {
        stratum.name: (stratum.items, stratum.measured.value, stratum.small)
        for stratum in found.strata
        if isinstance(stratum.measured, Estimate)
    }


def test_every_stratum_has_its_items_its_value_and_its_flag() -> None:
    answers = [
        answer("a", area="law"),
        answer("b", Outcome.WRONG, area="law"),
        answer("c", Outcome.FAILURE, area="law"),
        answer("d", area="health"),
        answer("e"),
    ]
    found = by_fields(answers, ["area"], smallest=3)
    assert named(found) == {
        NOT_SAID: (1, 1.0, True),
        "health": (1, 1.0, True),
        # F stays in the denominator.
        "law": (3, pytest.approx(1 / 3), False),
    }
    assert found.not_said == 1


def test_runs_of_an_item_are_one_item() -> None:
    answers = [answer("a", run=run, area="law") for run in (1, 2, 3)]
    found = by_fields(answers, ["area"], smallest=2)
    assert found.strata[0].items == 1
    assert found.strata[0].small
    measured = found.strata[0].measured
    assert isinstance(measured, Estimate)
    assert isinstance(measured.interval, Undefined)


def test_two_fields_cross_and_capabilities_overlap() -> None:
    answers = [
        answer("a", area="law", capability="PRK; TU"),
        answer("b", Outcome.WRONG, area="law", capability="TU"),
    ]
    crossed = by_fields(answers, ["area", "capability"], smallest=1)
    assert named(crossed) == {"law / PRK": (1, 1.0, False), "law / TU": (2, 0.5, False)}


def test_the_metric_is_the_caller_s() -> None:
    def failures(answers: object) -> Undefined:
        return Undefined(reason="counted elsewhere", n=7)

    found = by_fields([answer("a", area="law")], ["area"], failures, smallest=1)
    assert found.strata[0].measured == Undefined(reason="counted elsewhere", n=7)


def test_a_field_that_nobody_has_is_an_error_that_lists_those_there_are() -> None:
    with pytest.raises(InputError, match=r"field 'subject': no answer has it\. There are: area"):
        by_fields([answer("a", area="law")], ["subject"], smallest=1)
    with pytest.raises(InputError, match="no field is named"):
        by_fields([answer("a")], [], smallest=1)
    assert by_fields([], ["subject"], smallest=1).strata == ()


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), min_size=1, max_size=40))
def test_strata_of_one_value_each_hold_every_answer_once(rows: list[tuple[str, bool]]) -> None:
    answers = [
        answer(f"q{i}", Outcome.CORRECT if right else Outcome.WRONG, area=area)
        for i, (area, right) in enumerate(rows)
    ]
    found = by_fields(answers, ["area"], smallest=1)
    assert sum(stratum.items for stratum in found.strata) == len(rows)
    whole = sum(
        stratum.items * stratum.measured.value
        for stratum in found.strata
        if isinstance(stratum.measured, Estimate)
    )
    everything = mean_value(answers)
    assert isinstance(everything, Estimate)
    assert whole / len(rows) == pytest.approx(everything.value)


@pytest.mark.parametrize(
    ("published", "cutoff", "side"),
    [
        ("2024-11-03", "2024-06-30", "after"),
        ("2023-11-05", "2024-06-30", "before"),
        ("2024-06-30", "2024-06-30", "before"),
        ("2024-07-01", "2024-06-30", "after"),
        # A cutoff known to the month only.
        ("2024-05-31", "2024-06", "before"),
        ("2024-06-01", "2024-06", "before"),
        ("2024-06-02", "2024-06", "unknown"),
        ("2024-06-30", "2024-06", "unknown"),
        ("2024-07-01", "2024-06", "after"),
        # An exam known to the month only.
        ("2024-06", "2024-06-15", "unknown"),
        ("2024-06", "2024-06-30", "before"),
        ("2024-07", "2024-06-30", "after"),
        ("2024-06", "2024-06", "unknown"),
        ("2024-06", "2024-07", "before"),
        # Years.
        ("2024", "2024-06-30", "unknown"),
        ("2023", "2024", "before"),
        ("2025", "2024", "after"),
        ("2024", "2024", "unknown"),
        # Nobody knows.
        (None, "2024-06-30", "unknown"),
        ("2024-11-03", None, "unknown"),
        ("2024-11-03", "", "unknown"),
    ],
)
def test_the_side_of_a_cutoff(published: str | None, cutoff: str | None, side: str) -> None:
    assert side_of_cutoff(published, cutoff) == side


dates = st.dates(date(2020, 1, 1), date(2026, 12, 31))
cut = st.sampled_from([4, 7, 10])


@given(dates, dates, cut, cut)
def test_a_vaguer_date_never_turns_a_side_into_the_other(
    published: date, cutoff: date, one: int, other: int
) -> None:
    exact = side_of_cutoff(published.isoformat(), cutoff.isoformat())
    vague = side_of_cutoff(published.isoformat()[:one], cutoff.isoformat()[:other])
    assert vague in (exact, "unknown")


@pytest.mark.parametrize(
    "text", ["2024-13", "2024-02-30", "2024-00", "06/2024", "soon", "24-06-01", "2024-6"]
)
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is no date"):
        span(text)
    with pytest.raises(InputError, match="is no date"):
        side_of_cutoff("2024-11-03", text)


def test_a_span_is_every_day_that_a_date_may_mean() -> None:
    assert span("2023-02") == (date(2023, 2, 1), date(2023, 2, 28))
    assert span(" 2024 ") == (date(2024, 1, 1), date(2024, 12, 31))
    assert span("2024-02-29") == (date(2024, 2, 29), date(2024, 2, 29))


def test_the_side_of_the_cutoff_becomes_a_field_and_changes_nothing_else() -> None:
    answers = [answer("a", area="law"), answer("b"), answer("c")]
    dated = with_cutoff(answers, {"a": "2023-11-05", "b": "2024-11-03"}, {"m": "2024-06"})
    assert [one.fields["cutoff"] for one in dated] == ["before", "after", "unknown"]
    assert dated[0].fields["area"] == "law"
    assert answers[0].fields == {"area": "law"}


@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=2, max_size=30),
    st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=2, max_size=30),
)
def test_a_gap_is_welch_s(first: list[float], second: list[float]) -> None:
    found = gap(first, second)
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(np.mean(first) - np.mean(second))
    if len(set(first)) == 1 and len(set(second)) == 1:
        assert isinstance(found.interval, Undefined)
        return
    assert isinstance(found.interval, Interval)
    # They warn of a group without spread, which is no trouble here.
    assume(len(set(first)) > 1 and len(set(second)) > 1)
    theirs = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    assert (found.interval.lo, found.interval.hi) == pytest.approx((theirs.low, theirs.high))


def test_a_gap_without_items_or_spread_says_so() -> None:
    assert str(gap([], [1.0])) == "undefined: the first group has no items"
    assert str(gap([1.0], [])) == "undefined: the second group has no items"
    lone = gap([1.0], [0.0, 1.0])
    assert isinstance(lone, Estimate)
    assert isinstance(lone.interval, Undefined)
    with pytest.raises(InputError, match="no finite number"):
        gap([float("nan")], [1.0])
