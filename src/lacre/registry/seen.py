"""Marks: what a probe made of each item for each column (SPEC L8, X6). One record a line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from lacre import jsonl
from lacre.errors import Fault, InputError, RecordError
from lacre.registry.records import Record
from lacre.scoring.contamination import Verdict


class Mark(Record, omit_defaults=False):
    """What a probe made of one item for one column.

    >>> Mark(column="m", item="q1", verdict="not_probed", reason="refused").cuts
    ()

    Attributes:
        verdict: ``not_reproduced`` says what happened and no more: what it does not write down it may have read.
        reason: why the item could not be probed; empty where it was.
        run: words of the longest run in common with the rest of the item.
        share: share, 0 to 1, of the telling words of the rest that stand in common runs; it decides.
        similarity, recall: normalised edit similarity, and ROUGE-L recall, both 0 to 1.
        exact: the whole rest, as far as the reply goes, word for word.
        judged: words of the rest that the reply is long enough to be held against.
        cuts, cuts_judged: percent of the item that went out, where it was reproduced, and where it could be judged.
        neutral: whether it was reproduced too when nobody asked for an exam; none where that was not asked.
        probe: the id of the run that says so.
    """

    column: str
    item: str
    verdict: Verdict
    reason: str = ""
    run: int = 0
    share: float = 0.0
    similarity: float = 0.0
    recall: float = 0.0
    exact: bool = False
    judged: int = 0
    cuts: tuple[int, ...] = ()
    cuts_judged: tuple[int, ...] = ()
    neutral: bool | None = None
    probe: str = ""


def write_marks(path: Path, marks: Iterable[Mark]) -> None:
    """Write marks, sorted by column and item, whole or not at all.

    Raises:
        InputError: the disk is full, or the like.
    """
    ordered = sorted(marks, key=_place)
    try:
        jsonl.write(path, ordered, composed=False)
    except OSError as error:
        raise InputError(path, f"cannot be written ({error.strerror})", "Make room") from None


def _place(mark: Mark) -> tuple[str, str]:
    return mark.column, mark.item


def read_marks(paths: Sequence[Path]) -> Mapping[tuple[str, str], Mark]:
    """The marks of files, by column and item.

    Raises:
        InputError: a file is missing, or may not be read.
        RecordError: a line is no mark, or a column and an item have two; every such line of a file is named.
    """
    found: dict[tuple[str, str], Mark] = {}
    for path in paths:
        lines = jsonl.read_lines(path, Mark)
        faults = list(lines.faults)
        for number, mark in lines.records:
            if found.setdefault((mark.column, mark.item), mark) is not mark:
                what = f"column '{mark.column}' has a mark for item '{mark.item}' already"
                faults.append(Fault(number, what, "Give the marks of one probe"))
        if faults:
            raise RecordError(path, sorted(faults, key=lambda fault: fault.line))
    return found
