"""Official exams: what the official layer's dates, keys and booklets rest on (SPEC L1, L5, L6)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Literal

from lacre.errors import Fault
from lacre.registry.records import Record

Precision = Literal["day", "month", "year"]

_SHAPE = {"day": "YYYY-MM-DD", "month": "YYYY-MM", "year": "YYYY"}
_PATTERN = {"day": r"\d{4}-\d\d-\d\d", "month": r"\d{4}-\d\d", "year": r"\d{4}"}
_SHA256 = re.compile(r"[0-9a-f]{64}")
_ADDRESS = re.compile(r"https?://\S+")


class Exam(Record):
    """One edition of an official exam, with the source of its facts.

    Attributes:
        exam_date: when its questions became public, written as precisely as ``exam_precision`` says:
            ``2024-11-03`` (day), ``2024-11`` (month) or ``2024`` (year).
        key_date: when the final key came out, in the same way; none while there is no final key.
        booklet_sha256: 64 hex digits of the booklet's bytes, none when it was not fetched.
        source_url, source_date: where these facts were read, and when (ISO day).
        canary: asks not to train on it, in a release.
    """

    id: str
    name: str
    edition: str
    exam_date: str
    exam_precision: Precision
    booklet_url: str
    source_url: str
    source_date: str
    key_date: str | None = None
    key_precision: Precision | None = None
    booklet_sha256: str | None = None
    notes: str = ""
    canary: str | None = None


def is_dated(text: str, precision: Precision) -> bool:
    """Whether ``text`` is a date that exists, written with that precision.

    >>> is_dated("2024-02-30", "day"), is_dated("2024-02", "month")
    (False, True)
    """
    if not re.fullmatch(_PATTERN[precision], text):
        return False
    try:
        date.fromisoformat(text + {"day": "", "month": "-01", "year": "-01-01"}[precision])
    except ValueError:
        return False
    return True


def is_sha256(text: str) -> bool:
    """Whether ``text`` is a SHA-256 as this project writes it: 64 lower-case hex digits."""
    return _SHA256.fullmatch(text) is not None


def is_address(text: str) -> bool:
    """Whether ``text`` is a web address.

    >>> is_address("https://example.org/a.pdf"), is_address("a.pdf")
    (True, False)
    """
    return _ADDRESS.fullmatch(text) is not None


def exam_faults(exams: Sequence[tuple[int, Exam]]) -> list[Fault]:
    """All that is wrong with the exams of a file, each given with its line."""
    faults: list[Fault] = []
    seen: dict[str, int] = {}
    for line, exam in exams:
        if exam.id in seen:
            faults.append(
                Fault(line, f"exam '{exam.id}' is already on line {seen[exam.id]}", "Keep one of the two")
            )
        seen.setdefault(exam.id, line)
        faults.extend(Fault(line, f"exam '{exam.id}': {what}", todo) for what, todo in _exam_faults(exam))
    return faults


def _exam_faults(exam: Exam) -> Iterator[tuple[str, str]]:
    yield from _date_complaints("exam_date", exam.exam_date, exam.exam_precision)
    if (exam.key_date is None) != (exam.key_precision is None):
        yield "key_date and key_precision go together", "Give both, or neither"
    elif exam.key_date is not None and exam.key_precision is not None:
        yield from _date_complaints("key_date", exam.key_date, exam.key_precision)
    yield from _date_complaints("source_date", exam.source_date, "day")
    if exam.booklet_sha256 is not None and not is_sha256(exam.booklet_sha256):
        yield "booklet_sha256 is not 64 lower-case hex digits", "Write what sha256sum prints"
    for name, address in (("booklet_url", exam.booklet_url), ("source_url", exam.source_url)):
        if not is_address(address):
            yield f"{name} is not a web address", "Write it in full, with https://"


def _date_complaints(name: str, text: str, precision: Precision) -> Iterator[tuple[str, str]]:
    if not is_dated(text, precision):
        yield (
            f"{name} '{text}' is not a date with the precision of a {precision}",
            f"Write it as {_SHAPE[precision]}",
        )
