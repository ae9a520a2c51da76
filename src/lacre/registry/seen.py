"""Marks: what a probe made of each item for each column (SPEC L8, X6). One record a line."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
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
        payload_sha256: of the item's payload as it was probed: an item that was edited since is another text. Empty in
            marks from before this was recorded.
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
    payload_sha256: str = ""


class HeldMarks(Record, omit_defaults=False):
    """Marks after they were held against the items as they are now.

    Attributes:
        verdicts: by column and item; marks of other texts are not among them.
        other_texts: columns and items whose mark is of another text than the item has now, sorted.
        unchecked: marks that say no text, or whose item is not there to be compared; they stand.
    """

    verdicts: dict[tuple[str, str], Verdict]
    other_texts: tuple[tuple[str, str], ...]
    unchecked: int


def held(marks: Mapping[tuple[str, str], Mark], payloads: Mapping[str, Collection[str]]) -> HeldMarks:
    """Marks held against the items as they are now: a mark of a text that was edited since says nothing of the new one.

    >>> mark = Mark(column="m", item="a", verdict="seen", payload_sha256="1f")
    >>> held({("m", "a"): mark}, {"a": ["2e"]}).other_texts
    (('m', 'a'),)

    Args:
        payloads: for each item, the SHA-256 of its payload; several where two benchmarks have items of one id.
    """
    known = {key: payloads.get(mark.item, ()) for key, mark in marks.items() if mark.payload_sha256}
    other = {key for key, digests in known.items() if digests and marks[key].payload_sha256 not in digests}
    return HeldMarks(
        verdicts={key: mark.verdict for key, mark in marks.items() if key not in other},
        other_texts=tuple(sorted(other)),
        unchecked=sum(not known.get(key) for key in marks),
    )


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
