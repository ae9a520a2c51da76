"""Difference in differences: a planted gain is found, an easier set is not mistaken for one (SPEC L5)."""

from __future__ import annotations

import numpy as np
import pytest

from lacre.errors import InputError
from lacre.scoring.contamination import Gain, difference_in_differences, references
from lacre.scoring.estimates import Estimate, Interval, Undefined
from lacre.scoring.outcomes import Answer

OLD = [f"old{i}" for i in range(300)]
NEW = [f"new{i}" for i in range(300)]


def answers(rng: np.random.Generator, *, gain: float, easier: float) -> list[Answer]:
    """Columns of one ability on items of shared difficulty; old items are easier, and the column read some."""
    found = []
    hard = {item: rng.normal(-easier if item in OLD else 0.0, 1) for item in OLD + NEW}
    for column, skill in (("reader", 0.3), ("ref-1", 0.0), ("ref-2", 0.5)):
        for item, level in hard.items():
            chance = 1 / (1 + np.exp(level - skill))
            read = column == "reader" and item in OLD and rng.random() < gain
            found.append(Answer(column=column, item=item, score=float(read or rng.random() < chance)))
    return found


def value(found: Gain) -> float:
    assert isinstance(found.estimate, Estimate)
    return found.estimate.value


def measured(seed: int, gain: float, easier: float) -> Gain:
    given = answers(np.random.default_rng(seed), gain=gain, easier=easier)
    return difference_in_differences(given, "reader", ["ref-1", "ref-2"], OLD, NEW)


def test_an_easier_set_is_no_gain_and_a_read_one_is() -> None:
    covered = found = 0
    for seed in range(60):
        same = measured(seed, 0.0, 1.0)
        # Both gain on the easier set; beyond the references the column gains nothing.
        assert isinstance(same.own, Estimate)
        assert same.own.value > 0
        assert isinstance(same.estimate, Estimate)
        assert isinstance(same.estimate.interval, Interval)
        covered += same.estimate.interval.contains(0.0)
        read = measured(seed, 0.6, 1.0)
        assert isinstance(read.estimate, Estimate)
        assert isinstance(read.estimate.interval, Interval)
        found += read.estimate.interval.lo > 0
    assert covered >= 50
    assert found >= 50


def test_it_is_own_gain_less_that_of_the_references() -> None:
    found = measured(1, 0.3, 0.5)
    assert isinstance(found.own, Estimate)
    assert isinstance(found.of_references, Estimate)
    assert value(found) == pytest.approx(found.own.value - found.of_references.value)
    assert (found.older, found.newer, found.left_out) == (300, 300, 0)


def test_items_that_a_column_did_not_answer_are_left_out_and_counted() -> None:
    given = [
        one
        for one in answers(np.random.default_rng(0), gain=0, easier=0)
        if not (one.column == "ref-1" and one.item in OLD[:10])
    ]
    found = difference_in_differences(given, "reader", ["ref-1", "ref-2"], OLD, NEW)
    assert (found.older, found.newer, found.left_out) == (290, 300, 10)


def test_without_references_it_is_undefined_and_the_own_gain_stands_alone() -> None:
    found = difference_in_differences(
        answers(np.random.default_rng(0), gain=0, easier=0), "reader", [], OLD, NEW
    )
    assert isinstance(found.estimate, Undefined)
    assert found.estimate.reason == "no column's cutoff precedes both sets"
    assert isinstance(found.own, Estimate)


def test_references_are_the_columns_that_can_have_read_neither_set() -> None:
    cutoffs = {"a": "2021-09", "b": "2022-11-13", "c": "2022-11", "d": "2023", "e": None, "f": ""}
    published = ["2022-11-13", "2023-11-05"]
    assert references(cutoffs, published) == ("a",)
    assert references(cutoffs, published, apart=["a"]) == ()
    assert references(cutoffs, ["2022-12-04"]) == ("a", "b", "c")
    assert references(cutoffs, [*published, None]) == ()
    assert references(cutoffs, []) == ()


@pytest.mark.parametrize(
    ("column", "compared", "older", "newer", "said"),
    [
        ("reader", ["ref-1"], ["old1"], ["old1", "new1"], "item 'old1' is in both"),
        ("reader", ["reader"], OLD, NEW, "is among its own references"),
        ("nobody", ["ref-1"], OLD, NEW, "nobody: has no answers"),
        ("reader", ["ref-9"], OLD, NEW, "ref-9: has no answers"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    column: str, compared: list[str], older: list[str], newer: list[str], said: str
) -> None:
    given = answers(np.random.default_rng(0), gain=0, easier=0)
    with pytest.raises(InputError, match=said):
        difference_in_differences(given, column, compared, older, newer)


def test_empty_sets_are_undefined() -> None:
    given = answers(np.random.default_rng(0), gain=0, easier=0)
    found = difference_in_differences(given, "reader", ["ref-1"], [], NEW)
    assert str(found.estimate) == "undefined: the first group has no items"
