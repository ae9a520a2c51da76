"""What leaves of one column's answers: no count, and no two counts together, tell of one item (SPEC X5)."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lacre.scoring.outcomes import Outcome
from lacre.sealed.cells import ALL, Cell, CellRule, Held, approve
from lacre.sealed.counts import Bounded, Count, Exact, Withheld, counts


def answers(items: tuple[str, ...], correct: int) -> dict[str, Outcome]:
    return {item: Outcome.CORRECT if n < correct else Outcome.WRONG for n, item in enumerate(items)}


def whole(items: int) -> Cell:
    return Cell(name=ALL, items=tuple(f"i{n:03}" for n in range(items)))


def test_a_count_in_the_middle_leaves_class_by_class() -> None:
    [found] = counts([whole(40)], answers(whole(40).items, 17))
    assert isinstance(found, Exact)
    assert found.classes == {"correct": 17, "wrong": 23, "abstention": 0, "refusal": 0, "failure": 0}


@pytest.mark.parametrize("correct", [0, 1, 2])
def test_next_to_none_is_told_as_at_most(correct: int) -> None:
    assert counts([whole(40)], answers(whole(40).items, correct)) == (
        Bounded(cell=ALL, items=40, side="at most", correct=2),
    )


@pytest.mark.parametrize("correct", [38, 39, 40])
def test_next_to_all_is_told_as_at_least(correct: int) -> None:
    assert counts([whole(40)], answers(whole(40).items, correct)) == (
        Bounded(cell=ALL, items=40, side="at least", correct=38),
    )


def test_a_coarsened_cell_does_not_come_back_by_subtraction() -> None:
    cells = [
        whole(80),
        Cell(name="area=a", items=whole(80).items[:40]),
        Cell(name="area=b", items=whole(80).items[40:]),
    ]
    # All of a are correct: the whole's count less b's would say so exactly.
    told = {each.cell: each for each in counts(cells, answers(whole(80).items, 40 + 10))}
    assert isinstance(told["area=a"], Bounded)
    assert isinstance(told["area=b"], Withheld)
    assert isinstance(told[ALL], Exact)


def test_two_bounds_that_meet_do_not_tell_of_the_items_between() -> None:
    ids = whole(76).items
    # At least 38 of the first 40, and at most 2 of the last 40: the four in both would hold exactly two.
    cells = [Cell(name="a=x", items=ids[:40]), Cell(name="b=y", items=ids[36:])]
    outcomes = answers(ids, 38)
    told = counts(cells, outcomes)
    assert sum(isinstance(each, Withheld) for each in told) == 1


def test_what_is_published_never_pins_an_item_to_its_answer() -> None:
    rng = np.random.default_rng(11)
    for _ in range(15):
        items = [
            Held(id=f"i{n:03}", cell={"one": str(rng.integers(3)), "two": str(rng.integers(2))})
            for n in range(300)
        ]
        tables = approve(items, ["one", "two"], CellRule(smallest=20, share=Fraction(1, 2)))
        assert len(tables.cells) > 3
        chance = {value: rng.choice([0.02, 0.5, 0.97]) for value in "012"}
        outcomes = {
            item.id: Outcome.CORRECT if rng.random() < chance[item.cell["one"]] else Outcome.WRONG
            for item in items
        }
        told = counts(tables.cells, outcomes)
        assert not pinned(tables.cells, told)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.booleans()), min_size=1, max_size=9)
)
def test_no_small_table_is_solved_by_trying_all_answers(rows: list[tuple[str, str, bool]]) -> None:
    ids = [f"i{n}" for n in range(len(rows))]
    cells = [Cell(name=ALL, items=tuple(ids))]
    for place, values in ((0, "ab"), (1, "xy")):
        for value in values:
            if inside := tuple(id for id, row in zip(ids, rows, strict=True) if row[place] == value):
                cells.append(Cell(name=f"{place}={value}", items=inside))
    outcomes = {id: Outcome.CORRECT if row[2] else Outcome.WRONG for id, row in zip(ids, rows, strict=True)}
    told = counts(cells, outcomes)
    worlds = [
        world
        for world in product((False, True), repeat=len(ids))
        if all(
            allows(each, [world[ids.index(id)] for id in cell.items])
            for each, cell in zip(told, cells, strict=True)
        )
    ]
    assert len(worlds) > 1
    for place in range(len(ids)):
        assert len({world[place] for world in worlds}) == 2, "an item's answer is the same in every world"


def allows(count: Count, correct: list[bool]) -> bool:
    match count:
        case Exact():
            return sum(correct) == count.classes["correct"]
        case Bounded(side="at least"):
            return sum(correct) >= count.correct
        case Bounded():
            return sum(correct) <= count.correct
        case Withheld():
            return True


def pinned(cells: tuple[Cell, ...], told: tuple[Count, ...]) -> list[str]:
    """Items that an attacker knows: relaxed to fractions, which only makes the attacker weaker by rounding."""
    from scipy.optimize import linprog  # type: ignore[import-untyped]  # noqa: PLC0415

    atoms: dict[tuple[bool, ...], list[str]] = defaultdict(list)
    for item in cells[0].items:
        atoms[tuple(item in cell.items for cell in cells)].append(item)
    patterns = list(atoms)
    sizes = [len(atoms[pattern]) for pattern in patterns]
    upper, limits = [], []
    for place, each in enumerate(told):
        row = np.array([pattern[place] for pattern in patterns], dtype=float)
        match each:
            case Exact():
                low = high = each.classes["correct"]
            case Bounded(side="at least"):
                low, high = each.correct, each.items
            case Bounded():
                low, high = 0, each.correct
            case Withheld():
                low, high = 0, each.items
        upper += [row, -row]
        limits += [high, -low]
    known = []
    for place, pattern in enumerate(patterns):
        for sign in (1, -1):
            cost = np.zeros(len(patterns))
            cost[place] = sign
            found = linprog(cost, A_ub=np.array(upper), b_ub=limits, bounds=[(0, size) for size in sizes])
            assert found.success
            if (sign == 1 and found.fun > sizes[place] - 0.5) or (sign == -1 and -found.fun < 0.5):
                known += atoms[pattern]
    return known
