"""Which round it is, when it ends, what is overdue, and who has stayed private long enough (SPEC L3)."""

from __future__ import annotations

from calendar import monthrange
from datetime import datetime, timedelta
from typing import Literal

from lacre.registry.matrix import Matrix, cell_name
from lacre.registry.records import Record
from lacre.registry.rules import Rules
from lacre.rotation.beacon import instant, moment
from lacre.rotation.exposure import must_open
from lacre.rotation.plan import Plan
from lacre.rotation.public import Public

State = Literal["empty", "open", "frozen", "due"]


class CellSize(Record, omit_defaults=False):
    """Private items of one cell against its target; ``missing`` is how many are to be written."""

    cell: str
    target: int
    private: int
    missing: int


class Calendar(Record, omit_defaults=False):
    """Where a benchmark stands.

    Attributes:
        state: ``empty`` (nothing is sealed), ``open`` (the next closing is not frozen), ``frozen`` (its
            randomness is not out yet), ``due`` (it is out, and the draw waits to be carried out).
        began, ends: of the round, ISO in UTC; none where the first closing has not been yet, for it has no date.
        overdue: days past the end; 0 when it is not past.
        draw_due: when the frozen randomness comes out; ``draw_overdue``: days since.
        at_cap: ids that stayed private as long as they may; ``over_exposed``: shown to columns more often than they
            may. Both open at the next closing whatever the draw says.
        voided, replaced: items since the last closing, of ``rows`` that are not opened.
        cells: sizes, by cell; ``sizes_hold``: whether none is short.
    """

    benchmark: str
    round: str
    state: State
    closings: int
    began: str | None
    ends: str | None
    overdue: int
    frozen_at: str | None
    randomness: str | None
    draw_due: str | None
    draw_overdue: int
    rows: int
    private: int
    at_cap: tuple[str, ...]
    over_exposed: tuple[str, ...]
    voided: tuple[str, ...]
    replaced: tuple[str, ...]
    aim: str
    cells: tuple[CellSize, ...]

    @property
    def sizes_hold(self) -> bool:
        """Whether every cell has the private items it aims at."""
        return not any(cell.missing for cell in self.cells)


def calendar(public: Public, rules: Rules, matrix: Matrix, planned: Plan, now: datetime) -> Calendar:
    """Where a benchmark stands at ``now``; ``planned``: the plan of its next closing, whose targets are used."""
    known = public.history
    frozen = known.pending
    began = known.splits[-1].at if known.splits else None
    ends = None if began is None else months_later(moment(began), rules.rounds.months)
    due = None if frozen is None else moment(frozen.event.due)
    return Calendar(
        benchmark=public.benchmark,
        round=known.next_round,
        state=_state(public, due, now),
        closings=known.closed,
        began=began,
        ends=None if ends is None else instant(ends),
        overdue=0 if ends is None else _days_past(ends, now),
        frozen_at=None if frozen is None else frozen.at,
        randomness=None if frozen is None else frozen.event.beacon,
        draw_due=None if due is None else instant(due),
        draw_overdue=0 if due is None else _days_past(due, now),
        rows=len(public.rows),
        private=len(public.private),
        at_cap=at_cap(public, rules.rounds.age_cap),
        over_exposed=must_open(known, rules.rounds.exposure_cap),
        voided=tuple(row.id for row in public.rows if row.id in known.voids),
        replaced=tuple(row.id for row in public.rows if row.id in known.supersedes),
        aim=planned.aim,
        cells=_sizes(public, matrix, planned),
    )


def at_cap(public: Public, cap: int) -> tuple[str, ...]:
    """Ids of private items that stayed private through ``cap`` closings, sorted."""
    known = public.history
    return tuple(
        row.id for row in public.private if row.batch in known.batches and known.age(row.batch) >= cap
    )


def months_later(when: datetime, months: int) -> datetime:
    """The same day and hour some months later; the last of the month where that day does not exist.

    >>> months_later(datetime(2026, 8, 31), 6)
    datetime.datetime(2027, 2, 28, 0, 0)
    """
    year, month = divmod(when.year * 12 + when.month - 1 + months, 12)
    return when.replace(year=year, month=month + 1, day=min(when.day, monthrange(year, month + 1)[1]))


def _state(public: Public, due: datetime | None, now: datetime) -> State:
    if due is not None:
        return "frozen" if now < due else "due"
    return "open" if public.rows else "empty"


def _days_past(when: datetime, now: datetime) -> int:
    """Whole days since ``when``; 0 before."""
    return max(timedelta(0), now - when).days


def _sizes(public: Public, matrix: Matrix, planned: Plan) -> tuple[CellSize, ...]:
    """Sizes now. Before the first closing the target is what is there: nothing can be missing yet."""
    numbers: dict[str, int] = {cell.name: 0 for cell in matrix.cells}
    for row in public.private:
        numbers[cell_name(row.cell)] = numbers.get(cell_name(row.cell), 0) + 1
    targets = {cell.cell: cell.target for cell in planned.cells}
    return tuple(
        CellSize(
            cell=cell,
            target=targets.get(cell, 0),
            private=number,
            missing=max(0, targets.get(cell, 0) - number),
        )
        for cell, number in sorted(numbers.items())
    )
