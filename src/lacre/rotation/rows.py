"""The rows of all items that ever were private, and whether the ledger's commitments to them hold."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lacre.errors import LacreError, RecordError
from lacre.jsonl import lines_of
from lacre.registry.items import Item
from lacre.registry.matrix import cell_name
from lacre.registry.sealed_runs import strays
from lacre.rotation.closing import counts, open_items_path
from lacre.rotation.public import Public, ledger_path
from lacre.rotation.records import OPENINGS_FILE, Opened, round_name
from lacre.sealing.batches import rows_bytes
from lacre.sealing.commitments import Row, rows_root

Complaint = tuple[str | None, Path, str]
"""The closing it is about (none: all of them), the file, and what does not hold."""


@dataclass(slots=True)
class Rows:
    """Every row that is public, by id, with the file that it stands in.

    Attributes:
        openings: by number of the closing; a closing whose openings cannot be read is missing.
        unread: those closings.
    """

    rows: dict[str, Row] = field(default_factory=dict)
    places: dict[str, Path] = field(default_factory=dict)
    openings: dict[int, list[Opened]] = field(default_factory=dict)
    unread: list[int] = field(default_factory=list)
    complaints: list[Complaint] = field(default_factory=list)

    def learn(self, row: Row, place: Path, round: str | None) -> None:
        """Take in a row; a second one of the same id is a complaint."""
        if row.id in self.rows:
            what = f"item '{row.id}' stands there, and in {self.places[row.id]} too"
            self.complaints.append((round, place, what))
            return
        self.rows[row.id] = row
        self.places[row.id] = place


def all_rows(public: Public) -> Rows:
    """Every row: those that are still sealed, and those in the openings of the closings carried out."""
    known = Rows()
    for row in public.rows:
        known.learn(row, public.commitments, None)
    for number in range(1, public.history.closed + 1):
        path = public.folder(number) / OPENINGS_FILE
        try:
            known.openings[number] = public.openings(number)
        except LacreError:
            known.unread.append(number)  # the closing's own check says what is wrong with it
            continue
        for opened in known.openings[number]:
            known.learn(opened.row, path, round_name(public.benchmark, number))
    return known


def row_complaints(public: Public, known: Rows) -> Iterator[Complaint]:
    """What does not hold about rows: their file, their batches, corrections, voids, and what was opened."""
    yield from known.complaints
    path = public.commitments
    if public.rows and public.content(path) != rows_bytes(public.rows):
        yield None, path, "is not sorted by id, or a line is not in canonical form"
    commitments: dict[str, str] = {}
    for row in known.rows.values():
        if row.commitment in commitments:
            what = f"items '{commitments[row.commitment]}' and '{row.id}' have one commitment"
            yield None, known.places[row.id], what
        commitments[row.commitment] = row.id
    for row in public.rows:
        if row.id in public.history.opened:
            yield None, path, f"item '{row.id}' was opened, and still stands among the sealed ones"
    yield from _batch_complaints(public, known)
    yield from _correction_complaints(public, known)
    yield from _event_complaints(public, known)


def _batch_complaints(public: Public, known: Rows) -> Iterator[Complaint]:
    """Batches whose rows are not those that the ledger committed to."""
    batches: dict[str, list[Row]] = defaultdict(list)
    for row in known.rows.values():
        if row.id not in public.history.corrections:
            batches[row.batch].append(row)
        if row.batch not in public.history.batches:
            what = f"item '{row.id}' is of batch '{row.batch}', which the ledger does not know"
            yield None, known.places[row.id], what
    if known.unread:
        return  # rows are missing, and it is said where
    for name, entry in public.history.batches.items():
        rows = batches.get(name, [])
        if len(rows) != entry.event.items:
            what = f"batch '{name}' has {len(rows)} items; line {entry.line} of the ledger sealed {entry.event.items}"
            yield None, public.commitments, what
        elif rows_root(rows) != entry.event.root:
            what = f"the rows of batch '{name}' are not those that line {entry.line} of the ledger sealed"
            yield None, public.commitments, what


def _correction_complaints(public: Public, known: Rows) -> Iterator[Complaint]:
    """Corrected items that are not what the ledger says, or that moved; corrections of what cannot be corrected."""
    for place, what in _replaced_complaints(public):
        yield None, place, what
    for name, entry in public.history.corrections.items():
        event, row, old = entry.event, known.rows.get(name), known.rows.get(entry.event.item)
        if row is None:
            if not known.unread:
                yield (
                    None,
                    public.commitments,
                    f"item '{name}', of line {entry.line} of the ledger, has no row",
                )
            continue
        if row.commitment != event.by_commitment:
            what = f"item '{name}' has not the commitment of line {entry.line} of the ledger"
            yield None, known.places[name], what
        if old is not None and (row.cell, row.batch, row.group) != (old.cell, old.batch, old.group):
            what = f"item '{name}' corrects '{old.id}', and is of another cell, batch or group"
            yield None, known.places[name], what


def _replaced_complaints(public: Public) -> Iterator[tuple[Path, str]]:
    """Lines that replace an item a second time, one that is void, or one by another that is no new item."""
    ledger, history = ledger_path(public.registry), public.history
    by_item: dict[str, int] = {}
    by_new: dict[str, int] = {}
    for entry in history.replaced:
        event, line = entry.event, entry.line
        if (first := by_item.setdefault(event.item, line)) != line:
            yield (
                ledger,
                f"line {line}: item '{event.item}' is replaced again; line {first} replaced it already",
            )
        if (first := by_new.setdefault(event.by, line)) != line:
            yield (
                ledger,
                f"line {line}: item '{event.by}' corrects another again; line {first} made it already",
            )
        if (void := history.voids.get(event.item)) is not None and void.line < line:
            yield ledger, f"line {line}: item '{event.item}' is replaced, and line {void.line} made it void"
        if event.by in by_item or event.by == event.item:
            yield ledger, f"line {line}: item '{event.by}' is no new one: the corrections go in a circle"
        opened = history.opened.get(event.by)
        if opened is not None and opened.line < line:
            yield ledger, f"line {line}: item '{event.by}' is no new one: line {opened.line} opened it"


def _event_complaints(public: Public, known: Rows) -> Iterator[Complaint]:
    """Lines about items that do not agree with the items' rows."""
    ledger = ledger_path(public.registry)
    for what, entries in (("void", public.history.voids), ("supersede", public.history.supersedes)):
        for item, entry in entries.items():
            row = known.rows.get(item)
            if row is None and not known.unread:
                yield None, ledger, f"line {entry.line}: {what} of item '{item}', which has no row"
            elif row is not None and row.commitment != entry.event.commitment:
                yield (
                    None,
                    known.places[item],
                    f"item '{item}' has not the commitment of line {entry.line} of the ledger",
                )
            opened = public.history.opened.get(item)
            if opened is not None and opened.line < entry.line:
                yield (
                    None,
                    ledger,
                    f"line {entry.line}: {what} of item '{item}', which line {opened.line} opened",
                )


def exposure_complaints(public: Public, known: Rows) -> Iterator[Complaint]:
    """Showings of items that nobody sealed, or in runs that never began; runs that take a name again.

    They are kept apart from :func:`row_complaints`, for they may not keep items from being opened.
    """
    ledger = ledger_path(public.registry)
    begun: dict[str, tuple[int, str]] = {}
    for run in public.history.intents:
        begun.setdefault(run.event.run, (run.line, run.event.column))
    for number, what in strays(public.ledger, public.benchmark):
        yield None, ledger, f"line {number}: {what}"
    for shown in public.history.exposures:
        line, column = begun.get(shown.event.run, (shown.line, ""))
        if line >= shown.line or column != shown.event.column:
            which = f"run '{shown.event.run}' of column '{shown.event.column}'"
            yield None, ledger, f"line {shown.line}: shows items in {which}, which no line before it begins"
        if not known.unread:
            for item in sorted(set(shown.event.items) - set(known.rows)):
                yield None, ledger, f"line {shown.line}: item '{item}' was shown to a column, and has no row"


def standing_at(public: Public, known: Rows, line: int) -> dict[str, Row]:
    """Rows that were sealed and not opened when the ledger had fewer than ``line`` lines, by id."""
    history = public.history
    found = {}
    for row in known.rows.values():
        correction, batch = history.corrections.get(row.id), history.batches.get(row.batch)
        made = correction.line if correction is not None else batch.line if batch is not None else line
        opened = history.opened.get(row.id)
        if made < line and (opened is None or opened.line >= line):
            found[row.id] = row
    return found


def open_layer_complaints(public: Public, known: Rows) -> Iterator[Complaint]:
    """Open items that are not what their openings say, or that are missing."""
    for number, openings in known.openings.items():
        path, name = open_items_path(public, number), round_name(public.benchmark, number)
        lines = lines_of(public.content(path), Item) if public.has(path) else None
        if lines is not None and lines.faults:
            yield name, path, str(RecordError(path, lines.faults)).removeprefix(f"{path}:")
            continue
        items = [] if lines is None else [item for _, item in lines.records]
        due = {o.id: o for o in openings if counts(public.history, o.id, o.why)}
        for id in sorted(set(due) - {item.id for item in items}):
            yield name, path, f"item '{id}' was opened, and is not there"
        for item in items:
            opened = due.get(item.id)
            if opened is None:
                yield (
                    name,
                    path,
                    f"item '{item.id}' stands there, and was not opened to go on as an open item",
                )
            elif item.payload != opened.payload:
                yield name, path, f"item '{item.id}' is not the one that was opened"
            elif cell_name(item.cell) != cell_name(opened.cell):
                yield name, path, f"item '{item.id}' is of another cell than when it was opened"
            if (item.layer, item.benchmark) != ("open", public.benchmark):
                what = f"item '{item.id}' is said to be of the {item.layer} layer of '{item.benchmark}'"
                yield name, path, f"{what}, and was opened as one of '{public.benchmark}'"
        for id, times in Counter(item.id for item in items).items():
            if times > 1:
                yield name, path, f"item '{id}' stands there {times} times"
