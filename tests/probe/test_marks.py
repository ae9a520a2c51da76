"""The threshold, the halves of the controls, and the claims (SPEC X6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from lacre.probe.controls import Subject, matched, shuffled
from lacre.probe.marks import (
    FLOOR,
    RUN,
    Threshold,
    adjusted,
    claim,
    error_rate,
    is_marked,
    sets_threshold,
    threshold,
)
from lacre.probe.measures import Measures
from lacre.scoring.estimates import Estimate, Interval, Undefined


def measured(share: float, run: int = RUN) -> Measures:
    return Measures(
        run=run, telling_run=run, share=share, similarity=share, recall=share, exact=False, judged=40, produced=40
    )  # fmt: skip


shares = st.lists(st.floats(0, 1, allow_nan=False), max_size=400)


@given(shares)
def test_at_most_one_in_a_hundred_of_those_that_set_it_is_marked(values: list[float]) -> None:
    controls = [measured(value) for value in values]
    found = threshold(controls)
    if isinstance(found, Undefined):
        assert not values or sum(value >= 1 for value in values) > 0.01 * len(values)
        return
    marked = sum(is_marked(each, found) for each in controls)
    assert marked == found.marked <= 0.01 * len(values)
    assert found.share >= FLOOR


def test_quiet_controls_leave_the_floor() -> None:
    found = threshold([measured(0.1)] * 300)
    assert found == Threshold(share=FLOOR, controls=300, marked=0, highest=0.1)


def test_loud_controls_raise_it() -> None:
    loud = [measured(share) for share in (0.95, 0.9, 0.8, 0.7)]
    found = threshold([measured(0.1)] * 296 + loud)
    # Three of three hundred may be marked; the fourth may not.
    assert found == Threshold(share=0.7, controls=300, marked=3, highest=0.95)
    assert not is_marked(loud[3], found)
    assert threshold([measured(0.1)] * 90 + loud) == Threshold(
        share=0.95, controls=94, marked=0, highest=0.95
    )


def test_controls_that_come_back_word_for_word_leave_no_threshold() -> None:
    found = threshold([measured(1.0)] * 5 + [measured(0.0)] * 95)
    assert isinstance(found, Undefined)
    assert "word for word" in found.reason
    assert isinstance(error_rate([measured(0)], found), Undefined)


def test_a_mark_needs_a_run_whatever_the_share() -> None:
    low = Threshold(share=FLOOR, controls=9, marked=0, highest=0.0)
    assert is_marked(measured(0.9), low)
    assert not is_marked(measured(0.9, run=RUN - 1), low)
    assert not is_marked(measured(FLOOR), low)


def test_the_error_rate_is_exact() -> None:
    low = Threshold(share=FLOOR, controls=9, marked=0, highest=0.0)
    found = error_rate([measured(0.9)] * 2 + [measured(0.0)] * 998, low)
    assert isinstance(found, Estimate)
    assert isinstance(found.interval, Interval)
    assert found.value == 0.002
    expected = stats.binomtest(2, 1000).proportion_ci(method="exact")
    assert (found.interval.lo, found.interval.hi) == pytest.approx((expected.low, expected.high))
    assert found.interval.method == "Clopper-Pearson"


def test_halves_are_halves_and_nobody_chooses() -> None:
    told = [sets_threshold(f"item-{number}") for number in range(4000)]
    assert 1880 < sum(told) < 2120
    assert told == [sets_threshold(f"item-{number}") for number in range(4000)]


@given(st.integers(0, 30), st.integers(1, 60), st.integers(0, 5), st.integers(1, 60))
def test_a_claim_is_fisher_s_exact_test(seen: int, items: int, false: int, controls: int) -> None:
    seen, false = min(seen, items), min(false, controls)
    table = [[seen, items - seen], [false, controls - false]]
    assert claim(seen, items, false, controls) == pytest.approx(
        stats.fisher_exact(table, alternative="greater").pvalue, abs=1e-9
    )


def test_no_claim_without_items_or_controls() -> None:
    assert claim(0, 0, 0, 9) is None
    assert claim(1, 5, 0, 0) is None
    assert adjusted([None, None]) == [None, None]


def subject(id: str, words: int, group: str = "") -> Subject:
    return Subject(id=id, role="item", text=" ".join(f"{id}{n}" for n in range(words)), group=group)


def test_controls_are_matched_in_subject_then_in_length() -> None:
    items = [subject("a", 50, "direito"), subject("b", 30, "saude")]
    pool = [
        subject("x", 49, "saude"),
        subject("y", 90, "direito"),
        subject("z", 31, "saude"),
        subject("w", 20, "arte"),
    ]
    found = matched(items, pool, 2)
    assert [each.id for each in found.controls] == ["y", "z"]
    assert (found.balance.controls, found.balance.pool, found.balance.same_group) == (2, 4, 2)
    # No more of law: the next in length, of any subject.
    assert [each.id for each in matched(items, pool, 3).controls] == ["x", "y", "z"]
    assert all(each.role == "control" for each in found.controls)


@given(st.integers(0, 8), st.integers(0, 8), st.integers(0, 12))
def test_no_control_is_used_twice_and_order_does_not_matter(items: int, pool: int, most: int) -> None:
    own = [subject(f"i{n}", 5 + n) for n in range(items)]
    others = [subject(f"c{n}", 3 + 2 * n) for n in range(pool)]
    found = matched(own, others, most)
    ids = [each.id for each in found.controls]
    assert len(ids) == len(set(ids)) == (min(pool, most) if items else 0)
    assert matched(own[::-1], others[::-1], most) == found


def test_texts_that_share_a_passage_are_not_held_against_each_other() -> None:
    passage = " ".join(f"p{n}" for n in range(20))
    rows = [Subject(id=id, role="item", text=f"{passage} {id}1 {id}2") for id in "ab"]
    assert shuffled(rows) == ()
    assert {frozenset(pair) for pair in shuffled([*rows, subject("c", 22)])} == {
        frozenset("ac"),
        frozenset("bc"),
    }
