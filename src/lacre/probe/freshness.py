"""How fresh each exam was when a column was asked: days from the key's publication to the run (SPEC L5, L6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date

from lacre.registry.columns import Column
from lacre.registry.exams import Exam, Precision
from lacre.registry.items import Item
from lacre.registry.records import Record
from lacre.scoring.estimates import Undefined
from lacre.scoring.strata import Side, side_of_cutoff, span


class Days(Record, tag="days", omit_defaults=False):
    """Days from a key's publication to a run: one number where both days are known, else the least and the most.

    >>> str(Days(least=31, most=60))
    '31 to 60'
    """

    least: int
    most: int

    def __str__(self) -> str:
        """As a table shows it."""
        return f"{self.least:,}" if self.least == self.most else f"{self.least:,} to {self.most:,}"


class Asking(Record, omit_defaults=False):
    """When a column was asked: the days of its first and its last reply (ISO), and its declared cutoff."""

    column: str
    first: str
    last: str
    cutoff: str | None = None


class Freshness(Record, omit_defaults=False):
    """One exam and one column.

    Attributes:
        items: items of the exam; official ones that count.
        exam_precision, key_precision: how precise the two dates are: to the day, the month or the year.
        days: undefined, with the reason, while there is no final key; a span where a date is no day.
        cutoff: the column's declared cutoff, none where there is none.
        side: whether the exam is of before or after it; unknown where a date does not tell.
    """

    exam: str
    name: str
    edition: str
    items: int
    exam_date: str
    exam_precision: Precision
    key_date: str | None
    key_precision: Precision | None
    column: str
    days: Days | Undefined
    cutoff: str | None
    side: Side


class ExamsFreshness(Record, omit_defaults=False):
    """All exams, the latest edition first, and the items that are of no exam in the registry.

    Attributes:
        not_asked: columns of the runs that were named, without any reply in them, sorted.
    """

    rows: tuple[Freshness, ...]
    without_exam: int
    not_asked: tuple[str, ...] = ()


def days_between(published: str, first: str, last: str) -> Days:
    """Days from a publication, as precise as it is known, to a run that lasted from one day to another.

    >>> str(days_between("2026-04", "2026-05-01", "2026-05-01"))
    '1 to 30'
    """
    opens, closes = span(published, "key_date")
    return Days(least=(date.fromisoformat(first) - closes).days, most=(date.fromisoformat(last) - opens).days)


def freshness(items: Sequence[Item], exams: Mapping[str, Exam], askings: Sequence[Asking]) -> ExamsFreshness:
    """How fresh each exam was for each column, the latest exam first (L6)."""
    counts = Counter(item.source.exam for item in items if item.source.exam in exams)
    ordered = sorted(counts, key=lambda id: (exams[str(id)].exam_date, str(id)), reverse=True)
    return ExamsFreshness(
        rows=tuple(_row(exams[str(id)], counts[id], asking) for id in ordered for asking in askings),
        without_exam=len(items) - sum(counts.values()),
    )


def _row(exam: Exam, items: int, asking: Asking) -> Freshness:
    missing = Undefined(reason="exams.jsonl has no date of a final key", n=items)
    return Freshness(
        exam=exam.id,
        name=exam.name,
        edition=exam.edition,
        items=items,
        exam_date=exam.exam_date,
        exam_precision=exam.exam_precision,
        key_date=exam.key_date,
        key_precision=exam.key_precision,
        column=asking.column,
        days=missing if exam.key_date is None else days_between(exam.key_date, asking.first, asking.last),
        cutoff=asking.cutoff,
        side=side_of_cutoff(exam.exam_date, asking.cutoff),
    )


def asking(card: Column, whens: Sequence[str]) -> Asking | None:
    """When a column was asked, from the times of its replies; none where it has none."""
    if not whens:
        return None
    return Asking(
        column=card.id,
        first=min(whens)[:10],
        last=max(whens)[:10],
        cutoff=card.cutoff.value if card.cutoff else None,
    )
