"""``lacre score --by seen`` and ``--by cutoff``: what the items' marks and dates say of a column's scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lacre.cli.answers import percent
from lacre.cli.column import read_workspace_columns
from lacre.cli.output import print_table, say
from lacre.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lacre.registry.seen import HeldMarks
    from lacre.scoring.contamination import Before, SeenSplit, Verdict
    from lacre.scoring.estimates import Measured
    from lacre.scoring.outcomes import Answer


def marks_of(files: Sequence[Path], answers: Sequence[Answer], benchmark: str | None = None) -> HeldMarks:
    """The marks of files, held against the items of the workspace where we are in one; with remarks on stderr.

    A mark of another text than the item has now is none. Said are columns without marks, items whose mark is of
    another text, and marks that could not be compared.
    """
    from lacre.registry.seen import held, read_marks  # noqa: PLC0415 - keeps --help fast

    marks = read_marks(files)
    found = held(marks, _payloads(benchmark))
    if found.other_texts:
        ids = sorted({item for _, item in found.other_texts})
        shown = ", ".join(ids[:5]) + (" ..." if len(ids) > 5 else "")
        say(
            f"{len(found.other_texts):,} of {len(marks):,} marks are of another text than the item has now, and are "
            f"left out: {shown}. Probe these items again."
        )
    if found.unchecked:
        say(
            f"{found.unchecked:,} of {len(marks):,} marks could not be held against the text of their item, and stand: "
            "score in the workspace that has the items, with marks of this version."
        )
    columns = {column for column, _ in marks}
    bare = sorted({answer.column for answer in answers} - columns)
    if bare:
        known = ", ".join(sorted(columns)) or "none"
        say(
            f"No mark for column {', '.join(bare)}: all of its items are not probed. There are marks for: {known}."
        )
    return found


def _payloads(benchmark: str | None) -> dict[str, set[str]]:
    """For each item of the workspace that we are in, the SHA-256 of its payload; none outside of one."""
    from lacre.engine.messages import stripped  # noqa: PLC0415 - keeps --help fast
    from lacre.registry.waivers import payload_sha256  # noqa: PLC0415
    from lacre.registry.workspace import Workspace  # noqa: PLC0415

    place = Workspace.search(Path.cwd())
    if place is None:
        return {}
    found: dict[str, set[str]] = {}
    for name in (benchmark,) if benchmark is not None else place.benchmarks():
        for item in place.items(name):
            found.setdefault(item.id, set()).add(payload_sha256(stripped(item.payload, item.canary)))
    return found


def dates_of(
    benchmark: str, answers: Sequence[Answer]
) -> tuple[dict[str, str | None], dict[str, str | None]]:
    """The exam date of each item answered, and the declared cutoff of each column; none where it is not known.

    Raises:
        InputError: we are in no workspace, or there is no such benchmark.
    """
    from lacre.registry.workspace import Workspace  # noqa: PLC0415 - keeps --help fast

    place = Workspace.find(Path.cwd())
    place.benchmark(benchmark)
    exams = place.exams()
    days = {
        item.id: exams[item.source.exam].exam_date
        for item in place.items(benchmark)
        if item.source.exam in exams and item.source.exam is not None
    }
    cards = read_workspace_columns().columns
    published = {
        answer.item: days.get(answer.item) or days.get(answer.item.rpartition("#")[0]) for answer in answers
    }
    cutoffs = {
        column: card.cutoff.value if (card := cards.get(column)) and card.cutoff else None
        for column in sorted({answer.column for answer in answers})
    }
    unknown = [column for column, cutoff in cutoffs.items() if cutoff is None]
    if unknown:
        say(f"No declared cutoff for column {', '.join(unknown)}: all of its items are unknown.")
    if dateless := sum(day is None for day in published.values()):
        say(f"{dateless:,} of {len(published):,} items are of no exam with a date: they are unknown.")
    return published, cutoffs


def check_wishes(by: Sequence[str], seen: Sequence[Path], benchmark: str | None) -> tuple[str, ...]:
    """The fields of ``by`` that the file of answers must have, after what does not fit together is refused."""
    from lacre.scoring.strata import CUTOFF, SEEN  # noqa: PLC0415 - keeps --help fast

    if seen and SEEN not in by:
        raise InputError("--seen", "gives marks, and nothing is split by them", "Add --by seen")
    if benchmark is not None and CUTOFF not in by:
        raise InputError("--benchmark", "gives exam dates, and nothing is split by them", "Add --by cutoff")
    given = {SEEN: bool(seen), CUTOFF: benchmark is not None}
    return tuple(field for field in by if not given.get(field))


def print_seen(rows: Sequence[SeenSplit]) -> None:
    """Print each column's headline with and without the items seen, and how many could not be probed."""
    click.echo("\nWith and without the items seen")
    names = ("column", "items", "over", "accuracy", "error when attempted", "abstention", "difference")
    table = []
    for row in rows:
        lines = (
            ("all items", row.items, row.everything, ""),
            ("without those seen", row.items - row.seen, row.without, points(row.difference)),
        )
        for name, items, head, difference in lines:
            rates = (percent(head.accuracy), percent(head.error_when_attempted), percent(head.abstention))
            table.append((row.column, f"{items:,}", name, *rates, difference))
    print_table(names, table, right=("items", *names[3:]), whole=("column", "over"))
    click.echo("\nItems by what the probe made of them")
    kinds = (
        "column",
        "seen",
        "not reproduced",
        "could not be probed",
        "seen less the others",
        "never asked for",
    )
    print_table(
        kinds,
        [
            (
                row.column, f"{row.seen:,}", f"{row.not_reproduced:,}", f"{row.not_probed:,}",
                points(row.ahead), f"{row.without_mark:,}",
            )
            for row in rows
        ],
        right=kinds[1:],
        whole=("column",),
    )  # fmt: skip


def print_before(rows: Sequence[Before]) -> None:
    """Print each column's items by side of its cutoff, and what the older ones gain it beyond their age."""
    from lacre.scoring.contamination import Gain  # noqa: PLC0415 - keeps --help fast

    click.echo(
        "\nBefore and after the declared cutoff; beyond age: less what columns gain that can have read neither"
    )
    names = (
        "column",
        "cutoff",
        "before",
        "after",
        "unknown",
        "before less after",
        "beyond age",
        "measured against",
    )
    table = []
    for row in rows:
        gain = row.gain
        told = (
            (points(gain.own), points(gain.estimate), ", ".join(gain.references))
            if isinstance(gain, Gain)
            else (str(gain), str(gain), "")
        )
        table.append(
            (
                row.column,
                row.cutoff or "not known",
                f"{row.before:,}",
                f"{row.after:,}",
                f"{row.unknown:,}",
                *told,
            )
        )
    print_table(names, table, right=names[2:7], whole=("column",))


def points(measured: Measured) -> str:
    """A difference in percentage points as a table shows it, with its sign.

    >>> from lacre.scoring.estimates import Undefined
    >>> points(Undefined(reason="no item was seen"))
    'undefined: no item was seen'
    """
    from lacre.scoring.estimates import Undefined  # noqa: PLC0415 - keeps --help fast

    if isinstance(measured, Undefined):
        return str(measured)
    text = f"{100 * measured.value:+.1f}"
    if isinstance(measured.interval, Undefined):
        return f"{text} [no interval: {measured.interval.reason}]"
    return f"{text} [{100 * measured.interval.lo:+.1f}, {100 * measured.interval.hi:+.1f}]"


def strata_given(
    answers: Sequence[Answer],
    marks: Mapping[tuple[str, str], Verdict] | None,
    dates: tuple[dict[str, str | None], dict[str, str | None]] | None,
) -> tuple[Answer, ...]:
    """The answers with the fields ``seen`` and ``cutoff``, where marks and dates are given."""
    from lacre.scoring.contamination import with_marks  # noqa: PLC0415 - keeps --help fast
    from lacre.scoring.strata import with_cutoff  # noqa: PLC0415

    told = tuple(answers)
    if marks is not None:
        told = with_marks(told, marks)
    return told if dates is None else with_cutoff(told, *dates)
