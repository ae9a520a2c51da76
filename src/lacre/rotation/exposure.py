"""How often private items were shown to columns, by the ledger alone; shown too often, they must open (L3, X5).

A showing is one run of one column, by the line of its intent: a run that was cut short and resumed logs itself
again, and is still one, and a name that is used again does not make two runs one. A line of a run that never began
counts by itself. A corrected item has been seen as often as the text it corrects, for the one gives the other away.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Literal

import msgspec

from lacre.registry.events import Exposure
from lacre.registry.records import Record
from lacre.rotation.history import Entry, History

Showings = dict[tuple[int, str], list[Entry[Exposure]]]
"""Line of the run's intent (without one: of the showing) and column -> the ledger's lines about them, in order."""


class Seen(Record, omit_defaults=False):
    """One item shown to one column.

    Attributes:
        times: runs of the column that the item was in. ``runs``: their names, sorted.
        first, last: when the ledger logged the first and the last (ISO, UTC).
        terms: the terms of retention that held, sorted.
    """

    item: str
    column: str
    times: int
    first: str
    last: str
    runs: tuple[str, ...]
    terms: tuple[str, ...]


class ItemExposure(Record, omit_defaults=False):
    """One item: how often it was shown in all, and to whom; ``over``: past the cap, so that it must open."""

    item: str
    times: int
    columns: tuple[str, ...]
    last: str
    private: bool
    over: bool


class ColumnExposure(Record, omit_defaults=False):
    """One column: how many items it was shown, and how often in all."""

    column: str
    items: int
    times: int
    last: str


class Exposures(Record, omit_defaults=False):
    """Who was shown what. ``cap``: that of the rules, 0: none; ``over``: ids that the next freeze forces open."""

    benchmark: str
    cap: int
    over: tuple[str, ...]
    items: tuple[ItemExposure, ...]
    columns: tuple[ColumnExposure, ...]
    seen: tuple[Seen, ...]


def showings(known: History, *, before: int | None = None) -> dict[str, Showings]:
    """Item -> every run and column that it was shown in, with the ledger's lines that say so.

    ``before``: count only lines before this one. A correction has those of what it corrects, too.

    >>> showings(History("exemplo"))
    {}
    """
    found: dict[str, Showings] = defaultdict(dict)
    for entry in known.exposures:
        if before is None or entry.line < before:
            run = (_began(known, entry), entry.event.column)
            for item in entry.event.items:
                found[item].setdefault(run, []).append(entry)
    shown = set(found)
    for item in known.corrections:
        for old in _corrected(known, item, before):
            if old in shown:
                for key, entries in found[old].items():
                    found[item].setdefault(key, []).extend(entries)
    return dict(found)


def over_exposed(known: History, cap: int, *, before: int | None = None) -> tuple[str, ...]:
    """Ids shown more often than ``cap`` by a line before ``before``, sorted, opened ones too; a cap of 0 is none.

    >>> over_exposed(History("exemplo"), 60)
    ()
    """
    if cap == 0:
        return ()
    return tuple(sorted(item for item, runs in showings(known, before=before).items() if len(runs) > cap))


def must_open(known: History, cap: int) -> tuple[str, ...]:
    """Ids of private items that the next freeze forces open, for they were shown more often than ``cap``; sorted.

    >>> must_open(History("exemplo"), 60)
    ()
    """
    return tuple(item for item in over_exposed(known, cap) if known.is_private(item))


def exposures(known: History, cap: int) -> Exposures:
    """Who was shown what, how often and when, by item, by column, and by both; all sorted by id.

    >>> exposures(History("exemplo"), 60).over
    ()
    """
    found = showings(known)
    seen = tuple(sorted(_seen(found), key=lambda each: (each.item, each.column)))
    over = frozenset(must_open(known, cap))
    return Exposures(
        benchmark=known.benchmark,
        cap=cap,
        over=tuple(sorted(over)),
        items=tuple(
            _item(mine, private=known.is_private(item), over=item in over)
            for item, mine in _grouped(seen, "item")
        ),
        columns=tuple(_column(mine) for _, mine in _grouped(seen, "column")),
        seen=seen,
    )


def narrowed(found: Exposures, items: Collection[str]) -> Exposures:
    """What of ``found`` is about some items.

    >>> narrowed(exposures(History("exemplo"), 60), {"p1"}).seen
    ()
    """
    seen = tuple(each for each in found.seen if each.item in items)
    return msgspec.structs.replace(
        found,
        over=tuple(item for item in found.over if item in items),
        items=tuple(each for each in found.items if each.item in items),
        columns=tuple(_column(mine) for _, mine in _grouped(seen, "column")),
        seen=seen,
    )


def _began(known: History, shown: Entry[Exposure]) -> int:
    """The line of the intent of a showing's run, the last of its name before it; without one, its own."""
    name = shown.event.run
    lines = [run.line for run in known.intents if run.event.run == name and run.line < shown.line]
    return lines[-1] if lines else shown.line


def _corrected(known: History, item: str, before: int | None) -> Iterator[str]:
    """What an item corrects, and what that corrects, back to the first."""
    past = {item}
    while (entry := known.corrections.get(item)) is not None and (before is None or entry.line < before):
        item = entry.event.item
        if item in past:  # only a forged ledger goes in a circle; the audit names it
            return
        past.add(item)
        yield item


def _seen(found: dict[str, Showings]) -> Iterator[Seen]:
    for item, shown in found.items():
        for column in {column for _, column in shown}:
            entries = [entry for (_, who), lines in shown.items() if who == column for entry in lines]
            yield Seen(
                item=item,
                column=column,
                times=sum(who == column for _, who in shown),
                first=min(entry.at for entry in entries),
                last=max(entry.at for entry in entries),
                runs=tuple(sorted({entry.event.run for entry in entries})),
                terms=tuple(sorted({entry.event.terms for entry in entries})),
            )


def _grouped(seen: Sequence[Seen], name: Literal["item", "column"]) -> list[tuple[str, list[Seen]]]:
    """What was seen, by item or by column, in the order of their ids."""
    groups: dict[str, list[Seen]] = defaultdict(list)
    for each in seen:
        groups[each.item if name == "item" else each.column].append(each)
    return sorted(groups.items())


def _item(mine: Sequence[Seen], *, private: bool, over: bool) -> ItemExposure:
    return ItemExposure(
        item=mine[0].item,
        times=sum(each.times for each in mine),
        columns=tuple(each.column for each in mine),
        last=max(each.last for each in mine),
        private=private,
        over=over,
    )


def _column(mine: Sequence[Seen]) -> ColumnExposure:
    return ColumnExposure(
        column=mine[0].column,
        items=len(mine),
        times=sum(each.times for each in mine),
        last=max(each.last for each in mine),
    )
