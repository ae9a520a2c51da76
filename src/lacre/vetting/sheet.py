"""The decision sheet: what a committee has to decide, as a table for a spreadsheet program, and back again."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from lacre.errors import Fault, InputError, RecordError
from lacre.registry.tables import read_table
from lacre.registry.verdicts import Finding, Verdict
from lacre.registry.waivers import Waiver, finding_id

COLUMNS = (
    "decision",
    "reason",
    "who",
    "item",
    "verdict",
    "weight",
    "class",
    "fields",
    "words",
    "coverage",
    "corpus",
    "shard",
    "document",
    "documents",
    "snippet",
    "check",
    "bytes",
    "item_words",
    "payload_sha256",
    "finding",
)
"""Columns of the sheet. The first three are for people to fill in; the rest says what they decide on."""

_COUNTS = ("words", "coverage", "documents")
_DECISIONS = {
    "": "",
    "waive": "waive",
    "dispensar": "waive",
    "waive all": "waive all",
    "dispensar tudo": "waive all",
    "revise": "revise",
    "reescrever": "revise",
}


class Undecided(NamedTuple):
    """One finding that weighs against its item: its row of the sheet before anybody decides."""

    verdict: Verdict
    finding: Finding
    weight: str
    payload_sha256: str


class Revision(NamedTuple):
    """An item that is to be written anew, and why."""

    item: str
    reason: str


class Decisions(NamedTuple):
    """What a committee decided: waivers, items to revise, both sorted; and how many rows it left open."""

    waivers: tuple[Waiver, ...]
    revisions: tuple[Revision, ...]
    undecided: int


def sheet(rows: Iterable[Undecided]) -> bytes:
    """The sheet as CSV for spreadsheet programs: semicolons, CRLF, UTF-8 with a byte order mark.

    A cell that a program would take for a formula, a number or a date begins with an apostrophe.
    """
    text = io.StringIO()
    writer = csv.writer(text, delimiter=";", lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row in rows:
        cells = _cells(row)
        writer.writerow([cells[name] if name in _COUNTS else guarded(cells[name]) for name in COLUMNS])
    return b"\xef\xbb\xbf" + text.getvalue().encode()


def _cells(row: Undecided) -> dict[str, str]:
    finding = row.finding
    return {
        "decision": "",
        "reason": "",
        "who": "",
        "item": finding.item,
        "verdict": row.verdict.verdict,
        "weight": row.weight,
        "class": finding.class_,
        "fields": " ".join(finding.fields),
        "words": str(finding.words),
        "coverage": str(int(finding.coverage * 100)),
        "corpus": finding.corpus,
        "shard": finding.shard,
        "document": finding.document,
        "documents": str(finding.documents),
        "snippet": finding.snippet,
        "check": finding.check,
        "bytes": _span(finding.bytes),
        "item_words": _span(finding.item_words),
        "payload_sha256": row.payload_sha256,
        "finding": finding_id(finding),
    }


def _span(span: tuple[int, int]) -> str:
    return f"{span[0]} to {span[1]}"


_RISKY = re.compile(r"[=+\-@'\t\r\n]|\s*[\d.,]")


def guarded(cell: str) -> str:
    """A cell that no spreadsheet program takes for a formula, a number or a date; see :func:`unguarded`.

    >>> guarded("=1+1"), guarded("2010-01-1"), guarded("plain")
    ("'=1+1", "'2010-01-1", 'plain')
    """
    return "'" + cell if _RISKY.match(cell) else cell


def unguarded(cell: str) -> str:
    """What a cell said before it was guarded; anything else is left alone."""
    return cell[1:] if cell.startswith("'") and _RISKY.match(cell[1:]) else cell


class _Decided(NamedTuple):
    """A row as it came back."""

    line: int
    decision: str
    cells: Mapping[str, str]


def read_decisions(path: Path, *, who: str | None, when: str) -> Decisions:
    """What a sheet that came back decides. ``who`` answers where a row names nobody; ``when`` is an ISO date.

    Semicolons, commas or tabs, with or without a byte order mark, UTF-8 or Windows-1252, any line ends.
    ``waive all`` in one row waives all rows of its item.

    Raises:
        InputError: the file is missing, empty or no table.
        RecordError: a row is not what was written, is decided in two ways, or lacks a reason or who answers for
            it; every one is listed.
    """
    rows, faults = _rows(path)
    rows = _spread(rows)
    decided = [row for row in rows if row.decision]
    ways: dict[str, set[str]] = defaultdict(set)
    for row in decided:
        ways[row.cells["item"]].add(row.decision)
    waivers: list[Waiver] = []
    revisions: dict[str, str] = {}
    for row in decided:
        item = row.cells["item"]
        if len(ways[item]) > 1:
            what = f"item '{item}' is to be revised and waived"
            faults.append(Fault(row.line, what, "Decide one for all of its rows"))
        elif row.decision == "revise":
            revisions.setdefault(item, row.cells["reason"])
        else:
            waiver, lacking = _waiver(row, who, when)
            faults += lacking
            waivers.append(waiver)
    if faults:
        raise RecordError(path, sorted(faults, key=lambda fault: fault.line))
    return Decisions(
        tuple(sorted(waivers, key=lambda waiver: (waiver.item, waiver.finding))),
        tuple(Revision(item, reason) for item, reason in sorted(revisions.items())),
        len(rows) - len(decided),
    )


def _rows(path: Path) -> tuple[list[_Decided], list[Fault]]:
    table = read_table(path)
    names = {name.strip().lower(): name for name in table.columns}
    if missing := [name for name in COLUMNS if name not in names]:
        raise InputError(
            path,
            f"has no column '{missing[0]}'",
            "Give the sheet that `lacre vet --out` wrote, all its columns",
        )
    rows, faults = [], list(table.faults)
    for row in table.rows:
        cells = {name: unguarded(str(row.values.get(names[name]) or "").strip()) for name in COLUMNS}
        if not any(cells.values()):
            continue
        decision = _DECISIONS.get(" ".join(cells["decision"].lower().split()))
        if decision is None:
            what = f"decision '{cells['decision']}' is not waive, waive all or revise"
            faults.append(Fault(row.line, what, "Correct it, or leave it empty"))
        elif name := _changed(cells):
            faults.append(Fault(row.line, f"{name} is not what was written", _MEND))
        else:
            rows.append(_Decided(row.line, decision, cells))
    return rows, faults


_MEND = "A spreadsheet program may have taken it for a date or number; take the row from the sheet that was written"


def _changed(cells: Mapping[str, str]) -> str:
    """The column that shows that a row was changed where it may not be, or none."""
    if not re.fullmatch(r"[0-9a-f]{64}", cells["payload_sha256"]):
        return "payload_sha256"
    if not cells["documents"].isdigit():
        return "documents"
    spans = [re.fullmatch(r"(\d+) to (\d+)", cells[name]) for name in ("bytes", "item_words")]
    if spans[0] is None or spans[1] is None or cells["check"] not in ("overlap", "rare_sentence"):
        return "bytes, item_words or check"
    place, span = ((int(found[1]), int(found[2])) for found in spans if found)
    finding = Finding(
        item=cells["item"],
        check="overlap" if cells["check"] == "overlap" else "rare_sentence",
        corpus=cells["corpus"],
        shard=cells["shard"],
        document=cells["document"],
        bytes=place,
        item_words=span,
        fields=(),
        words=0,
        score=0.0,
        coverage=0.0,
        channel="exact",
        class_="copy",
        documents=0,
        snippet="",
    )
    return "" if finding_id(finding) == cells["finding"] else "item, corpus, shard, document or finding"


def _spread(rows: Sequence[_Decided]) -> list[_Decided]:
    """Rows with what one row of their item decides for all of them."""
    whole = {row.cells["item"]: row for row in rows if row.decision == "waive all"}
    spread = []
    for row in rows:
        lead = whole.get(row.cells["item"])
        if lead is None or row.decision not in ("", "waive", "waive all"):
            spread.append(row)
            continue
        filled = {name: row.cells[name] or lead.cells[name] for name in ("reason", "who")}
        spread.append(_Decided(row.line, "waive", {**row.cells, **filled}))
    return spread


def _waiver(row: _Decided, who: str | None, when: str) -> tuple[Waiver, list[Fault]]:
    cells = row.cells
    waiver = Waiver(
        item=cells["item"],
        payload_sha256=cells["payload_sha256"],
        finding=cells["finding"],
        documents=int(cells["documents"]),
        reason=cells["reason"],
        who=cells["who"] or (who or "").strip(),
        when=when,
    )
    lacking = [
        Fault(row.line, f"the waiver of item '{waiver.item}' has no {name}", todo)
        for name, value, todo in (
            ("reason", waiver.reason, "Say why the match does no harm"),
            ("who", waiver.who, "Say who answers for it, in the row or with --who"),
        )
        if not value
    ]
    return waiver, lacking


def open_rows(path: Path) -> dict[str, list[Mapping[str, str]]]:
    """The rows of a sheet by item, whatever was decided in them.

    Raises:
        InputError, RecordError: as :func:`read_decisions`, for rows that are not what was written.
    """
    rows, faults = _rows(path)
    if faults:
        raise RecordError(path, faults)
    by_item: dict[str, list[Mapping[str, str]]] = defaultdict(list)
    for row in rows:
        by_item[row.cells["item"]].append(row.cells)
    return dict(by_item)


def waive(
    rows: Sequence[Mapping[str, str]], findings: Sequence[str], *, reason: str, who: str, when: str
) -> tuple[Waiver, ...]:
    """Waivers for some findings of one item, named by their first characters; all of them when none is named.

    Raises:
        InputError: a name is of no finding of the item, or of several.
    """
    names = [row["finding"] for row in rows]
    chosen: list[str] = []
    for wanted in findings:
        fitting = [name for name in names if name.startswith(wanted)]
        if len(fitting) != 1:
            several = "is the beginning of several findings" if fitting else "is no finding of the item"
            raise InputError(f"finding '{wanted}'", several, f"There are: {', '.join(names)}")
        chosen += fitting
    asked = Counter(chosen or names)
    return tuple(
        Waiver(
            item=row["item"],
            payload_sha256=row["payload_sha256"],
            finding=row["finding"],
            documents=int(row["documents"]),
            reason=reason,
            who=who,
            when=when,
        )
        for row in rows
        if row["finding"] in asked
    )
