"""What the vetting page is made of: plain records, checked before they are drawn (SPEC X2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from lacre.errors import Fault, RecordError
from lacre.registry.records import Record
from lacre.registry.verdicts import Decision, Finding, Verdict

Span = tuple[int, int]


class Thresholds(Record):
    """The rules the verdicts followed, as they stand in rules.toml (SPEC L7).

    Attributes:
        n: words of a run in common from which an item drops.
        review_from: words of a run from which an item is reviewed.
        rare_min_words: words that the rarest sentence has at least.
        rare_drop: similarity, 0 to 1, from which the rarest sentence drops its item.
        rare_review: similarity, 0 to 1, from which the rarest sentence asks for a review.
        max_unread: share of a corpus, 0 to 1, that may stay unread before a verdict is unknown.
    """

    n: int
    review_from: int
    rare_min_words: int
    rare_drop: float
    rare_review: float
    max_unread: float


class Gap(Record):
    """Something that was not read, or left out: where, why, and how many bytes of text or of the file.

    ``places`` is more than 1 when one line stands for several that are not named one by one.
    """

    where: str
    reason: str
    bytes: int
    places: int = 1


class CorpusRow(Record):
    """One corpus, how much of it was read, and what was not.

    Attributes:
        bytes: bytes of text read, in UTF-8.
        unread: what was not read; ``bytes`` of each may be 0 when nothing readable was lost.
        incomplete: a shard was not read to its end, or too much of it was unreadable for a verdict.
    """

    name: str
    shards: int
    documents: int
    bytes: int
    unread: tuple[Gap, ...] = ()
    incomplete: bool = False


class Field(Record):
    """One field of an item as presented. ``label`` names it where a :class:`Finding` has no such name."""

    name: str
    text: str
    label: str = ""


class Evidence(Record):
    """One finding with the words to mark.

    Attributes:
        item_marks: (field name, start, end) in characters of that field's text, end not included.
        document_marks: (start, end) in characters of ``excerpt``.
        excerpt: text of the document around the match.
        weight: how hard it weighs against the item; ``keep`` when it is excused. None: by its length alone.
        waived: a person answers for it.
    """

    finding: Finding
    excerpt: str
    item_marks: tuple[tuple[str, int, int], ...] = ()
    document_marks: tuple[Span, ...] = ()
    weight: Decision | None = None
    waived: bool = False


class ItemRow(Record):
    """One item: its verdict, its fields in the order a reader meets them, its findings.

    ``reasons_pt`` are the verdict's reasons in Portuguese; without them the page words the first itself.
    Fields and evidence of an item that is kept are not drawn: its text stays out of the page.
    """

    verdict: Verdict
    fields: tuple[Field, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    reasons_pt: tuple[str, ...] = ()


class VettingPage(Record):
    """Everything on the page. ``created`` is an ISO date or nothing: the page itself has no clock."""

    title: str
    rules: Thresholds
    corpora: tuple[CorpusRow, ...]
    items: tuple[ItemRow, ...]
    created: str | None = None


def check(page: VettingPage) -> None:
    """Refuse a page whose marks do not fit their text.

    Raises:
        RecordError: lists every fault, numbered by the place of the item in ``page.items``, from 1.
    """
    seen = Counter(row.verdict.item for row in page.items)
    faults = [
        Fault(0, f"item {name!r} is there {times} times", "Give each item once")
        for name, times in seen.items()
        if times > 1
    ]
    for number, row in enumerate(page.items, 1):
        faults.extend(Fault(number, what, "Mark words of the text that is shown") for what in _misfits(row))
    if faults:
        raise RecordError(page.title, faults)


def _misfits(row: ItemRow) -> Iterator[str]:
    lengths = {field.name: len(field.text) for field in row.fields}
    item = row.verdict.item
    for number, evidence in enumerate(row.evidence, 1):
        where = f"item {item!r}, finding {number}"
        if evidence.finding.item != item:
            yield f"{where}: belongs to item {evidence.finding.item!r}"
        if row.verdict.verdict == "keep":
            continue  # Its text may be left out, for it is not drawn.
        for name, start, end in evidence.item_marks:
            if name not in lengths:
                yield f"{where}: no field {name!r}"
            elif not 0 <= start < end <= lengths[name]:
                yield f"{where}: mark {start}-{end} is outside the {lengths[name]} characters of {name!r}"
        for start, end in evidence.document_marks:
            if not 0 <= start < end <= len(evidence.excerpt):
                size = len(evidence.excerpt)
                yield f"{where}: mark {start}-{end} is outside the {size} characters of the excerpt"
