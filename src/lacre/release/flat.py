"""Public items as flat rows: every field in every row, so that any reader of tables loads them (SPEC L22)."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterable, Iterator, Mapping
from datetime import date

from lacre.jsonl import encode
from lacre.registry.exams import Exam
from lacre.registry.items import Item, Layer
from lacre.registry.records import Record

PUBLIC: tuple[Layer, ...] = ("official", "open")


class FlatOption(Record, omit_defaults=False):
    """One option of a choice item: its letter and its text."""

    letter: str
    text: str


class FlatPlace(Record, omit_defaults=False):
    """The item's place on one axis of the matrix."""

    axis: str
    value: str


class FlatPart(Record, omit_defaults=False):
    """One sub-question of an open item.

    Attributes:
        expected: the expected answer. ``points``: a decimal, as text. ``criteria``: what a good answer must hold.
    """

    id: str
    prompt: str
    expected: str
    points: str
    criteria: tuple[str, ...]


class FlatImage(Record, omit_defaults=False):
    """One image of the item: its file in the release, the SHA-256 of its bytes, its caption."""

    file: str
    sha256: str
    caption: str


class FlatItem(Record, omit_defaults=False):
    """One public item as a row of ``data/<benchmark>/<layer>.jsonl``. What is not known is null, never "".

    Attributes:
        cell: the place in the matrix, axis by axis.
        kind: ``choice`` or ``open``. ``passage``: a text it quotes; ``passage_source``: where that is public.
        key: the letter of a choice item; the expected answer of an open item without parts.
        expects: ``answer``, ``abstention`` or ``corrected_premise``.
        looks_sensitive, critical: what the authors say of it. ``capabilities``: tags PRK, TU, IU, MR, BK, ML.
        exam, edition, number: where an official item comes from; ``annulled``: its board took it out.
        exam_from, exam_until: the first and the last day on which the questions can have come out: the same
            day where it is known, else the ends of the month or the year. ``key_from``, ``key_until``: likewise
            for the final key. ``booklet``: address of the official booklet.
        licence: under which it may be used. ``written``: by whom, where it is new.
        opened: the closing at which a private item opened.
        canary: asks not to train on it.
    """

    id: str
    benchmark: str
    layer: str
    cell: tuple[FlatPlace, ...]
    kind: str
    passage: str | None
    passage_source: str | None
    stem: str
    options: tuple[FlatOption, ...]
    key: str | None
    parts: tuple[FlatPart, ...]
    images: tuple[FlatImage, ...]
    expects: str
    looks_sensitive: bool
    critical: bool
    capabilities: tuple[str, ...]
    exam: str | None
    edition: str | None
    number: str | None
    annulled: bool
    exam_from: date | None
    exam_until: date | None
    key_from: date | None
    key_until: date | None
    booklet: str | None
    licence: str | None
    written: str | None
    opened: str | None
    canary: str


def flat(item: Item, exams: Mapping[str, Exam], canary: str) -> FlatItem:
    """An item as a row."""
    payload, source = item.payload, item.source
    exam = exams.get(source.exam or "")
    opened = next((change.who for change in item.history if change.what == "opened"), None)
    return FlatItem(
        id=item.id,
        benchmark=item.benchmark,
        layer=item.layer,
        cell=tuple(FlatPlace(axis=axis, value=item.cell[axis]) for axis in sorted(item.cell)),
        kind=payload.kind,
        passage=payload.passage.text if payload.passage else None,
        passage_source=payload.passage.source if payload.passage else None,
        stem=payload.stem,
        options=tuple(FlatOption(letter=letter, text=text) for letter, text in payload.options.items()),
        key=payload.key,
        parts=tuple(
            FlatPart(
                id=part.id,
                prompt=part.prompt,
                expected=part.expected,
                points=part.points,
                criteria=part.criteria,
            )
            for part in payload.parts
        ),
        images=tuple(
            FlatImage(
                file=f"registry/{item.benchmark}/{item.layer}/{image.file}",
                sha256=image.sha256,
                caption=image.caption,
            )
            for image in payload.images
        ),
        expects=payload.expects,
        looks_sensitive=payload.looks_sensitive,
        critical=payload.critical,
        capabilities=payload.capabilities,
        exam=exam.name if exam else None,
        edition=exam.edition if exam else None,
        number=source.number,
        annulled=source.annulled,
        exam_from=days(exam.exam_date)[0] if exam else None,
        exam_until=days(exam.exam_date)[1] if exam else None,
        key_from=days(exam.key_date)[0] if exam and exam.key_date else None,
        key_until=days(exam.key_date)[1] if exam and exam.key_date else None,
        booklet=source.url or (exam.booklet_url if exam else None),
        licence=source.licence,
        written=source.written,
        opened=opened,
        canary=canary,
    )


def days(text: str) -> tuple[date, date]:
    """The first and the last day of a date written as a day, a month or a year.

    Not left as text: readers of tables take some dates for points in time, and say midnight.

    >>> [day.isoformat() for day in days("2024-02")]
    ['2024-02-01', '2024-02-29']
    """
    year, month, day = ([int(part) for part in text.split("-")] + [0, 0])[:3]
    last = monthrange(year, month or 12)[1]
    return date(year, month or 1, day or 1), date(year, month or 12, day or last)


def flat_file(benchmark: str, layer: str) -> str:
    """The name of a file of flat rows.

    >>> flat_file("exemplo", "open")
    'data/exemplo/open.jsonl'
    """
    return f"data/{benchmark}/{layer}.jsonl"


def flat_files(items: Iterable[Item], exams: Mapping[str, Exam], canary: str) -> Iterator[tuple[str, bytes]]:
    """The files of flat rows, one for each layer that has items; ``items`` are of one benchmark, sorted by id."""
    known = list(items)
    for layer in PUBLIC:
        rows = [encode(flat(item, exams, canary)) for item in known if item.layer == layer]
        if rows:
            yield flat_file(known[0].benchmark, layer), b"".join(rows)
