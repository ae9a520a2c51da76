"""Which tables may leave: nothing that follows from them may rest on a few items (SPEC X5)."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lacre.sealed.cells import ALL, Cell, CellRule, Held, Tables, approve

HALF = CellRule(smallest=20, share=Fraction(1, 2))


def held(*groups: tuple[int, dict[str, str]], bound: bool = False) -> list[Held]:
    """Items: so many of each cell."""
    return [
        Held(id=f"{place}-{number:03}", cell=cell, bound=bound)
        for place, (items, cell) in enumerate(groups)
        for number in range(items)
    ]


def names(tables: Tables) -> list[str]:
    return [cell.name for cell in tables.cells]


def test_large_cells_leave_and_the_whole_comes_first() -> None:
    found = approve(held((50, {"area": "a"}), (60, {"area": "b"})), ["area"], HALF)
    assert names(found) == [ALL, "area=a", "area=b"]
    assert found.fewest == 25
    assert not found.left_out


def test_a_cell_that_would_keep_nineteen_is_left_out() -> None:
    assert "area=a" in names(approve(held((40, {"area": "a"}), (99, {"area": "b"})), ["area"], HALF))
    assert "area=a" not in names(approve(held((39, {"area": "a"}), (99, {"area": "b"})), ["area"], HALF))


def test_the_last_cell_that_subtraction_would_give_is_left_out_with_the_small_one() -> None:
    found = approve(held((10, {"area": "a"}), (80, {"area": "b"}), (90, {"area": "c"})), ["area"], HALF)
    assert names(found) == [ALL, "area=c"]
    assert "single out 5 items" in found.left_out["area=b"]


def test_small_cells_that_are_large_together_may_be_the_rest() -> None:
    groups = [(30, {"area": name}) for name in "ab"] + [(90, {"area": "c"})]
    found = approve(held(*groups), ["area"], HALF)
    assert names(found) == [ALL, "area=c"]
    assert found.fewest == 30


def test_a_cell_within_another_axis_s_cell_does_not_single_out_the_difference() -> None:
    # Every item of area=a is easy, and ten more are: easy minus a would be those ten.
    items = held(
        (60, {"area": "a", "level": "easy"}),
        (10, {"area": "b", "level": "easy"}),
        (90, {"area": "b", "level": "hard"}),
    )
    found = approve(items, ["area", "level"], HALF)
    assert not {"area=a", "level=easy"} <= set(names(found))
    assert found.fewest is not None
    assert found.fewest >= 20


def test_the_last_round_s_tables_may_not_be_subtracted_from_this_one_s() -> None:
    old = held((100, {"area": "a"}))
    new = [*old[50:], *[Held(id=f"new-{n}", cell={"area": "a"}) for n in range(10)]]
    before = [Cell(name=ALL, items=tuple(item.id for item in old))]
    assert names(approve(new, [], HALF)) == [ALL]
    found = approve(new, [], HALF, earlier=before)
    assert names(found) == []
    assert "single out" in found.left_out[ALL]


def test_what_old_tables_tell_by_themselves_is_no_reason_to_leave_a_new_one_out() -> None:
    # 120 of each area in the last round, of which 60 stay: their cells alone follow from what left then.
    old = held((120, {"area": "a"}), (120, {"area": "b"}))
    before = [
        Cell(name=name, items=tuple(item.id for item in old if name in (ALL, f"area={item.cell['area']}")))
        for name in (ALL, "area=a", "area=b")
    ]
    left = [*old[60:120], *old[180:]]
    new = [Held(id=f"new-{n:03}", cell={"area": "ab"[n % 2]}) for n in range(120)]
    found = approve([*left, *new], ["area"], HALF, earlier=before)
    assert names(found) == [ALL]
    # The 120 new ones follow: 60 stay in the mean, and luck may take 24 more.
    assert found.fewest == 36
    assert "area=a" in found.left_out


def test_what_luck_may_do_is_reckoned_with_only_in_parts_of_a_cell() -> None:
    # All 40 of a cell keep 20 for certain; 40 of a cell of 80 may keep fewer.
    whole = [Cell(name="old", items=())]
    assert names(approve(held((40, {"area": "a"})), [], HALF, earlier=whole)) == [ALL]
    items = held((80, {"area": "a"}))
    part = [Held(id=item.id, cell={"area": "a", "kind": "xy"[n % 2]}) for n, item in enumerate(items)]
    assert "kind=x" in names(approve(part, ["kind"], HALF))
    before = [Cell(name="old", items=tuple(item.id for item in items[::2]))]
    assert names(approve(items, [], HALF, earlier=before)) == []


def test_a_new_table_may_not_single_out_what_only_old_tables_had() -> None:
    # The new cells by themselves give the ten: that old tables gave them, too, is no excuse, for answers may differ.
    items = held(
        (60, {"area": "a", "level": "easy"}),
        (10, {"area": "b", "level": "easy"}),
        (90, {"area": "b", "level": "hard"}),
    )
    before = [Cell(name="old", items=tuple(item.id for item in items[60:70]))]
    found = approve(items, ["area", "level"], HALF, earlier=before)
    assert not {"area=a", "level=easy"} <= set(names(found))


def test_items_that_may_open_for_other_reasons_count_as_gone() -> None:
    items = held((60, {"area": "a"}))
    bound = [Held(id=item.id, cell=item.cell, bound=number < 45) for number, item in enumerate(items)]
    assert names(approve(items, [], HALF)) == [ALL]
    assert names(approve(bound, [], HALF)) == []


def test_a_margin_for_leaks_makes_the_bar_higher() -> None:
    items = held((40, {"area": "a"}))
    assert names(approve(items, [], HALF)) == [ALL]
    assert (
        names(approve(items, [], CellRule(smallest=20, share=Fraction(1, 2), margin=Fraction(1, 20)))) == []
    )


def test_no_items_give_no_tables() -> None:
    found = approve([], ["area"], HALF)
    assert names(found) == []
    assert found.fewest is None


def test_items_without_an_axis_are_in_no_cell_of_it() -> None:
    found = approve(held((60, {"area": "a"}), (5, {})), ["area"], HALF)
    # all minus area=a would be the five.
    assert len(found.cells) == 1


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 70), st.sampled_from("ab"), st.sampled_from("xyz"), st.sampled_from("pq")),
        min_size=1,
        max_size=5,
    )
)
def test_no_sum_or_difference_of_what_leaves_rests_on_a_few_items(
    groups: list[tuple[int, str, str, str]],
) -> None:
    items = held(*((n, {"one": a, "two": b, "three": c}) for n, a, b, c in groups))
    found = approve(items, ["one", "two", "three"], HALF)
    if found.cells:
        # Told from the item side, and by linear algebra instead of a program.
        assert smallest_by_hand(items, found.cells) >= 20


def smallest_by_hand(items: list[Held], cells: tuple[Cell, ...]) -> int:
    """The fewest items, as they stay, of all sets whose indicator is a combination of the cells' indicators."""
    atoms: dict[tuple[bool, ...], list[Held]] = defaultdict(list)
    for item in items:
        where = tuple(item.id in cell.items for cell in cells)
        if any(where):
            atoms[where].append(item)
    patterns = list(atoms)
    inside = np.array(patterns, dtype=float).T
    rank = np.linalg.matrix_rank(inside)
    fewest = 10**9
    for size in range(1, len(patterns) + 1):
        for chosen in combinations(range(len(patterns)), size):
            indicator = np.isin(np.arange(len(patterns)), chosen).astype(float)
            if np.linalg.matrix_rank(np.vstack([inside, indicator])) == rank:
                fewest = min(fewest, sum(stays(atoms[patterns[place]]) for place in chosen))
    return fewest


def stays(items: list[Held]) -> int:
    by_cell: dict[tuple[tuple[str, str], ...], int] = defaultdict(int)
    for item in items:
        by_cell[tuple(sorted(item.cell.items()))] += 1
    return sum(number // 2 for number in by_cell.values())
