"""How far a run is: its columns, and what is known of each task (DESIGN section 8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, assert_never

import msgspec

from lacre.engine.journal import Entry, Halted, Replied, Task
from lacre.engine.owned import own_entries
from lacre.engine.plans import Question, RunRecord, expected
from lacre.engine.replies import Answered, Failed, Refused, Reply, Truncated
from lacre.registry.columns import Column
from lacre.registry.records import Record

Kind = Literal["answered", "refused", "truncated", "failed"]


class ColumnState(Record, omit_defaults=False):
    """How far a column is. ``truncated`` and ``failed`` are both of class F, counted apart.

    Attributes:
        unknown_ends: answers whose vendor gave a reason for their end that we do not know, or none, by its word.
        cap, over_cap, longest: the output cap of the card, replies that tell more tokens, and the most that one told.
    """

    column: str
    expected: int
    answered: int
    refused: int
    truncated: int
    failed: int
    incomplete_context: int
    halted: Halted | None
    unknown_ends: dict[str, int] = msgspec.field(default_factory=dict)
    cap: int | None = None
    over_cap: int = 0
    longest: int | None = None

    @property
    def done(self) -> int:
        """Tasks that have a reply."""
        return self.answered + self.refused + self.truncated + self.failed


class RunState(Record, omit_defaults=False):
    """How far a run is; only a complete one may be scored.

    Attributes:
        budget, spent: dollars of a session with a budget; what may have been billed without a reply is among those
            spent.
    """

    columns: tuple[ColumnState, ...]
    complete: bool
    budget_reached: bool = False
    budget: str | None = None
    spent: str | None = None


class Known(NamedTuple):
    """What is known of a task: its kind, whether it is final, its text where a later part needs it, an odd end.

    ``over`` is the number of tokens of a reply that is longer than the cap.
    """

    kind: Kind
    final: bool
    text: str | None = None
    incomplete: bool = False
    odd_end: str | None = None
    over: int | None = None


class KnownTasks:
    """What is known of the tasks of some columns, in little room: there may be very many.

    Most tasks are of an item that is asked once: its id alone stands for such a one, and is not copied.
    """

    def __init__(self, columns: Iterable[str]) -> None:
        self._of: dict[str, dict[str | tuple[str, int, str], Known]] = {column: {} for column in columns}

    def get(self, task: Task) -> Known | None:
        """What is known of a task; none before it has a reply."""
        return self._of[task.column].get(_short(task))

    def put(self, task: Task, known: Known) -> None:
        """Keep what is known of a task, in the place of what was known before."""
        self._of[task.column][_short(task)] = known

    def of(self, column: str) -> Iterable[Known]:
        """What is known of the tasks of a column."""
        return self._of[column].values()


def _short(task: Task) -> str | tuple[str, int, str]:
    """What names a task among those of its column."""
    return task.item if task.repetition == 1 and not task.part else (task.item, task.repetition, task.part)


def kind_of(reply: Reply) -> Kind:
    """The kind of a reply, as its record names it."""
    match reply:
        case Answered():
            return "answered"
        case Refused():
            return "refused"
        case Truncated():
            return "truncated"
        case Failed():
            return "failed"
        case _:
            assert_never(reply)


def odd_end(reply: Reply) -> str | None:
    """The vendor's own word for the end of an answer, when it is none that we know; "(none)" when it gave none."""
    if not isinstance(reply, Answered) or reply.finish not in ("none", "other"):
        return None
    return reply.raw_finish or "(none)"


def over_cap(reply: Reply, cap: int | None) -> int | None:
    """The tokens of a reply that tells more of them than the cap allows; none for all others."""
    told = reply.usage.output
    return told if cap is not None and told is not None and told > cap else None


def state_of(
    record: RunRecord, questions: Iterable[Question], journal: Iterable[Entry], where: str | Path = ""
) -> RunState:
    """How far a run is, from its journal alone.

    Raises:
        RecordError: a line of the journal is about nothing that this run asks.
    """
    where = where or f"journal of run {record.id}"
    known = KnownTasks(card.id for card in record.columns)
    halted: dict[str, Halted] = {}
    caps = {card.id: card.cap for card in record.columns}
    for entry in own_entries(journal, record, questions, where):
        if isinstance(entry, Halted):
            halted[entry.column] = entry
        elif isinstance(entry, Replied):
            kind = kind_of(entry.reply)
            over = over_cap(entry.reply, caps[entry.column])
            final = entry.sweep or kind != "failed"
            known.put(entry.task, Known(kind, final, None, entry.incomplete, odd_end(entry.reply), over))
            # Somebody resumed it since, and it answers again.
            halted.pop(entry.column, None)
    return state(expected(questions, record.repetitions), record.columns, known, halted)


def state(
    owed: int,
    cards: Sequence[Column],
    known: KnownTasks,
    halted: Mapping[str, Halted],
    *,
    budget_reached: bool = False,
) -> RunState:
    """How far a run is whose columns each owe so many replies, of which this is known."""
    counts: dict[str, Counter[str]] = {card.id: Counter() for card in cards}
    odd: dict[str, Counter[str]] = {card.id: Counter() for card in cards}
    over: dict[str, list[int]] = {card.id: [] for card in cards}
    unsettled = 0
    for card in cards:
        for one in known.of(card.id):
            counts[card.id][one.kind] += 1
            counts[card.id]["incomplete"] += one.incomplete
            unsettled += not one.final
            if one.odd_end is not None:
                odd[card.id][one.odd_end] += 1
            if one.over is not None:
                over[card.id].append(one.over)
    states = tuple(
        ColumnState(
            column=card.id,
            expected=owed,
            answered=counts[card.id]["answered"],
            refused=counts[card.id]["refused"],
            truncated=counts[card.id]["truncated"],
            failed=counts[card.id]["failed"],
            incomplete_context=counts[card.id]["incomplete"],
            halted=halted.get(card.id),
            unknown_ends=dict(sorted(odd[card.id].items())),
            cap=card.cap,
            over_cap=len(over[card.id]),
            longest=max(over[card.id], default=None),
        )
        for card in cards
    )
    complete = not unsettled and all(one.done >= one.expected for one in states)
    return RunState(columns=states, complete=complete, budget_reached=budget_reached)
