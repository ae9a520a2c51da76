"""From a vetting to its page: the words to mark, on either side."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from lacre.overlap.sheets import Sheets
from lacre.report.page import CorpusRow, Evidence, Field, Gap, ItemRow, Thresholds, VettingPage
from lacre.vetting.evidence import Place
from lacre.vetting.readings import Reading
from lacre.vetting.verdicts import ItemVerdict, Judged, doubts_of
from lacre.vetting.vet import Vetting

# Findings drawn per item; the page says how many there are, and findings.jsonl has them all.
DRAWN = 3


def page_of(vetting: Vetting, title: str, *, created: str | None = None) -> VettingPage:
    """The page of a vetting. ``created`` is an ISO date, given by the caller, for the page has no clock."""
    rules = vetting.rules
    return VettingPage(
        title=title,
        rules=Thresholds(
            n=rules.n,
            review_from=rules.review_from,
            rare_min_words=rules.rare_min_words,
            rare_drop=rules.rare_drop,
            rare_review=rules.rare_review,
            max_unread=rules.max_unread,
        ),
        corpora=tuple(_corpus(reading, bool(doubts_of(reading, rules))) for reading in vetting.corpora),
        items=tuple(_item(vetting.sheets, item, place) for place, item in enumerate(vetting.items)),
        created=created,
    )


def _corpus(reading: Reading, doubtful: bool) -> CorpusRow:
    gaps = [Gap(where=gap.where, reason=gap.reason, bytes=gap.bytes) for gap in reading.unread]
    more = reading.unread_places - len(gaps)
    if more:
        rest = reading.unread_bytes - sum(gap.bytes for gap in gaps)
        gaps.append(Gap(where="…", reason="not listed one by one", bytes=max(rest, 0), places=more))
    return CorpusRow(
        name=reading.corpus,
        shards=reading.shards,
        documents=reading.documents,
        bytes=reading.bytes,
        unread=tuple(gaps),
        incomplete=doubtful,
    )


def _item(sheets: Sheets, item: ItemVerdict, number: int) -> ItemRow:
    fields: Sequence[Field] = ()
    if item.judged or item.verdict.verdict == "untestable":
        fields = [Field(name=field.name, text=field.text) for field in sheets.items[number].fields]
    # The findings below say it better, in both languages and with the words; what else there is to say stays.
    told = {judged.reason for judged in item.judged}
    first, rest = item.verdict.reasons[:1], item.verdict.reasons[1:]
    reasons = (*first, *(reason for reason in rest if reason not in told))
    return ItemRow(
        verdict=msgspec.structs.replace(item.verdict, reasons=reasons),
        fields=tuple(fields),
        evidence=tuple(_evidence(sheets, judged) for judged in item.judged[:DRAWN]),
    )


# Pages and PDFs leave rows of empty lines, which would push the words to compare out of sight.
_BLANK_LINES = re.compile(r"\s*\n\s*")


def _evidence(sheets: Sheets, judged: Judged) -> Evidence:
    before, matched, after = (_BLANK_LINES.sub("\n", text) for text in judged.place.excerpt)
    return Evidence(
        finding=judged.finding,
        excerpt=before + matched + after,
        item_marks=tuple(item_marks(sheets, judged.place)),
        document_marks=((len(before), len(before) + len(matched)),) if matched else (),
        weight=judged.weight,
        waived=judged.waived,
    )


def item_marks(sheets: Sheets, place: Place) -> list[tuple[str, int, int]]:
    """The matched words as (field name, start, end) in characters, one mark for each field covered."""
    low = sheets.words_of(place.item)[0]
    word, last = low + place.first, low + place.last
    marks = []
    while word < last:
        number = sheets.field_at(word)
        until = min(last, int(sheets.word_of_field[number + 1]))
        text = sheets.fields[number].text.encode()
        start = len(text[: int(sheets.starts[word])].decode())
        end = start + len(text[int(sheets.starts[word]) : int(sheets.ends[until - 1])].decode())
        marks.append((sheets.fields[number].name, start, end))
        word = until
    return marks
