"""Where a benchmark stands, and what its next closing asks for (SPEC L3)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import ceil, floor
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rotation.making import CELLS, Stage, items, stage

from lacre.registry.matrix import Cell, Matrix
from lacre.rotation.calendar import Calendar, calendar, months_later
from lacre.rotation.plan import Plan, apportioned, plan

MATRIX = Matrix(
    axes={"area": ("direito", "saude"), "difficulty": ("dificil", "facil")},
    cells=tuple(Cell(place=cell, share=Fraction(1, 4)) for cell in CELLS),
)


def planned(play: Stage) -> Plan:
    return plan(play.public, play.rules, MATRIX, None)


def status(play: Stage) -> Calendar:
    return calendar(play.public, play.rules, MATRIX, planned(play), play.now)


def test_a_benchmark_goes_through_its_states(tmp_path: Path) -> None:
    play = stage(tmp_path)
    assert status(play).state == "empty"
    play.add(items(8), "b1")
    assert (status(play).state, status(play).ends, status(play).round) == ("open", None, "exemplo/1")
    play.freeze(hours=12)
    frozen = status(play)
    assert (frozen.state, frozen.draw_due) == ("frozen", "2026-12-02T00:00:00Z")
    play.now += timedelta(days=3)
    assert (status(play).state, status(play).draw_overdue) == ("due", 2)
    play.now -= timedelta(days=2)
    play.close()
    after = status(play)
    assert (after.state, after.round, after.closings) == ("open", "exemplo/2", 1)
    assert (after.began, after.ends) == ("2026-12-03T12:00:00Z", "2027-06-03T12:00:00Z")
    assert after.overdue == 0
    play.now = datetime(2027, 6, 13, 13, tzinfo=UTC)
    assert status(play).overdue == 10


def test_who_reaches_the_age_cap_is_named(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(40), "b1")
    for _ in range(3):
        assert status(play).at_cap == ()
        play.freeze()
        play.close()
    assert status(play).at_cap == tuple(row.id for row in play.public.rows)
    assert sum(cell.forced for cell in planned(play).cells) == 6


def test_a_plan_restores_what_the_first_closing_kept(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(120), "b1")
    before = planned(play)
    assert [(str(c.opens), str(c.stays), str(c.write)) for c in before.cells] == [("12", "18", "0")] * 4
    play.freeze()
    play.close()
    after = planned(play)
    assert [(c.private, c.target, str(c.opens), str(c.write)) for c in after.cells] == [
        (18, 18, "9", "9")
    ] * 4
    assert after.aim == "as many as the first closing kept"
    assert status(play).sizes_hold
    play.freeze()
    play.close()
    short = status(play)
    assert not short.sizes_hold
    assert [(cell.private, cell.missing) for cell in short.cells] == [(9, 9)] * 4


def test_a_plan_aims_at_the_size_of_the_rules(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.rules = msgspec.structs.replace(
        play.rules, rounds=msgspec.structs.replace(play.rules.rounds, private_size=42)
    )
    play.add(items(20), "b1")
    found = planned(play)
    assert sum(cell.target for cell in found.cells) == 42
    assert [cell.target for cell in found.cells] == [11, 11, 10, 10]
    assert [str(cell.write) for cell in found.cells] == ["8", "8", "7", "7"]


def test_a_plan_says_the_span_where_the_draw_decides(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(7), "b1")
    cells = {c.cell: c for c in planned(play).cells}
    assert str(cells["area=direito/difficulty=dificil"].opens) == "0-1"
    play.void(["p0000"])
    cells = {c.cell: c for c in planned(play).cells}
    assert cells["area=direito/difficulty=dificil"].leaving == 1
    assert status(play).voided == ("p0000",)


def test_a_cell_without_items_is_in_the_plan(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(1), "b1")
    assert [cell.private for cell in planned(play).cells] == [1, 0, 0, 0]


@settings(deadline=None)
@given(st.integers(0, 2000), st.lists(st.integers(1, 50), min_size=1, max_size=12))
def test_apportioned_numbers_sum_up_and_stay_near_their_share(total: int, weights: list[int]) -> None:
    shares = {f"c{n:02d}": Fraction(weight, sum(weights)) for n, weight in enumerate(weights)}
    found = apportioned(total, shares)
    assert sum(found.values()) == total
    assert all(floor(total * s) <= found[c] <= ceil(total * s) for c, s in shares.items())


@pytest.mark.parametrize(
    ("begin", "months", "end"),
    [
        ("2026-08-31", 6, "2027-02-28"),
        ("2027-08-31", 6, "2028-02-29"),
        ("2026-12-15", 12, "2027-12-15"),
        ("2026-01-31", 1, "2026-02-28"),
    ],
)
def test_months_end_on_days_that_exist(begin: str, months: int, end: str) -> None:
    assert months_later(datetime.fromisoformat(begin), months) == datetime.fromisoformat(end)
