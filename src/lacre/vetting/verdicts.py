"""One verdict per item, in the order of precedence: drop, unknown, review, untestable, keep (SPEC L7)."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from lacre.overlap.index import ItemIndex
from lacre.overlap.runs import same_accents
from lacre.overlap.sheets import Sheets
from lacre.registry.rules import VettingRules
from lacre.registry.verdicts import Channel, Decision, Finding, Verdict
from lacre.vetting.classes import class_of
from lacre.vetting.evidence import Place
from lacre.vetting.scan import Corpus, Reading

SNIPPET_WORDS = 8  # words of the document on either side of a match
LONGEST_SNIPPET = 900  # characters of a match; its middle is left out past that


class Judged(NamedTuple):
    """A finding, the place it was made from, and how hard it weighs."""

    finding: Finding
    place: Place
    weight: Decision
    reason: str


class ItemVerdict(NamedTuple):
    """The verdict of an item with its findings, the deciding one first."""

    verdict: Verdict
    judged: tuple[Judged, ...]


def decide(index: ItemIndex, corpora: Sequence[Corpus], rules: VettingRules) -> list[ItemVerdict]:
    """The verdicts of all items of the index, in its order. Every corpus given counts as required."""
    doubts = [doubt for corpus in corpora for doubt in doubts_of(corpus.reading, rules)]
    by_item: dict[int, list[Judged]] = {}
    for corpus in corpora:
        for (item, _), documents in corpus.found.places.items():
            for places in documents.values():
                by_item.setdefault(item, []).extend(
                    _judged(index.sheets, corpus, place, rules) for place in places
                )
    return [
        _verdict(index, item, sorted(by_item.get(item, ()), key=_rank), doubts)
        for item in range(len(index.sheets.items))
    ]


def doubts_of(reading: Reading, rules: VettingRules) -> list[str]:
    """Why nothing may be concluded from a corpus in which nothing was found; empty when it was read."""
    doubts = [
        f"{reading.corpus}: {len(reading.incomplete)} shards not read to their end, first {reading.incomplete[0]}"
        for _ in reading.incomplete[:1]
    ]
    if reading.unread_share > rules.max_unread:
        doubts.append(
            f"{reading.corpus}: {reading.unread_share:.2%} unreadable, {rules.max_unread:.2%} allowed"
        )
    return doubts


_WEIGHTS: tuple[Decision, ...] = ("drop", "unknown", "review", "untestable", "keep")


def _rank(judged: Judged) -> tuple[int, float, str, tuple[float, ...], str]:
    finding = judged.finding
    return (
        _WEIGHTS.index(judged.weight),
        -finding.words * finding.score,
        finding.corpus,
        judged.place.rank()[:3],
        f"{finding.shard}\0{finding.document}\0{finding.bytes[0]:020d}",
    )


def _judged(sheets: Sheets, corpus: Corpus, place: Place, rules: VettingRules) -> Judged:
    own = own_stretch(sheets, place)
    weight, reason = _weigh_sentence(place, rules) if place.sentence else _weigh_run(sheets, place, own, rules)
    where = f"{corpus.reading.corpus}, {place.shard}, document {place.document}"
    finding = Finding(
        item=sheets.items[place.item].item,
        check="rare_sentence" if place.sentence else "overlap",
        corpus=corpus.reading.corpus,
        shard=place.shard,
        document=place.document,
        bytes=(place.start, place.end),
        fields=fields_of(sheets, place),
        item_words=(place.first, place.last),
        words=place.words,
        score=place.score,
        coverage=place.coverage,
        channel=channel_of(sheets, place),
        class_=class_of(place.excerpt.matched, own_words=own),
        documents=corpus.found.documents[place.item, place.sentence],
        snippet=snippet(place),
    )
    return Judged(finding, place, weight, f"{reason} in {where}")


def _weigh_run(sheets: Sheets, place: Place, own: int, rules: VettingRules) -> tuple[Decision, str]:
    low, high = sheets.presented(place.item)
    whole = place.first == 0 and place.last >= high - low
    if own >= rules.n:
        return "drop", f"{place.words} words in a row"
    if whole and high - low < rules.n and own == high - low:
        return "drop", f"the whole item, {place.words} words"
    if place.words >= rules.n:
        return "review", f"{place.words} words in a row of a declared passage"
    return "review", f"{place.words} words in a row"


def _weigh_sentence(place: Place, rules: VettingRules) -> tuple[Decision, str]:
    if place.score >= rules.rare_drop:
        return "drop", f"the rarest sentence, {place.score:.0%} alike,"
    return "review", f"a sentence like the rarest, {place.score:.0%} alike,"


def channel_of(sheets: Sheets, place: Place) -> Channel:
    """``exact`` when accents agree too, ``folded`` when they do not, or when words differ."""
    low = sheets.words_of(place.item)[0]
    same = place.score == 1 and same_accents(
        sheets, low + place.first, low + place.last, place.excerpt.matched
    )
    return "exact" if same else "folded"


def own_stretch(sheets: Sheets, place: Place) -> int:
    """The most words in a row of a match that are the item's own, declared passages apart."""
    low = sheets.words_of(place.item)[0]
    most = now = 0
    word = low + place.first
    while word < low + place.last:
        field = sheets.field_at(word)
        until = min(low + place.last, int(sheets.word_of_field[field + 1]))
        now = now + until - word if sheets.fields[field].own else 0
        most = max(most, now)
        word = until
    return most


def fields_of(sheets: Sheets, place: Place) -> tuple[str, ...]:
    """Names of the fields that a match covers, in the item's order."""
    low = sheets.words_of(place.item)[0]
    first, last = sheets.field_at(low + place.first), sheets.field_at(low + place.last - 1)
    names = []
    for field in range(first, last + 1):
        if sheets.word_of_field[field] < sheets.word_of_field[field + 1]:
            names.append(sheets.fields[field].name)
    return tuple(names)


def snippet(place: Place) -> str:
    """The matched text between ``⟦`` and ``⟧``, with a few words on either side, on one line."""
    before = place.excerpt.before.split()[-SNIPPET_WORDS:]
    after = place.excerpt.after.split()[:SNIPPET_WORDS]
    matched = " ".join(place.excerpt.matched.split())
    if len(matched) > LONGEST_SNIPPET:
        half = LONGEST_SNIPPET // 2
        matched = f"{matched[:half]} […] {matched[-half:]}"
    return unicodedata.normalize("NFC", " ".join([*before, f"⟦{matched}⟧", *after]))


def _verdict(index: ItemIndex, item: int, judged: list[Judged], doubts: list[str]) -> ItemVerdict:
    overlaps = [j.finding for j in judged if j.finding.check == "overlap"]
    decision, reasons = _decision(judged, doubts, index.untestable[item])
    verdict = Verdict(
        item=index.sheets.items[item].item,
        verdict=decision,
        reasons=tuple(reasons),
        longest_run=max((finding.words for finding in overlaps), default=0),
        coverage=max((finding.coverage for finding in overlaps), default=0.0),
        findings=len(judged),
    )
    return ItemVerdict(verdict, tuple(judged))


def _decision(judged: list[Judged], doubts: list[str], untestable: str) -> tuple[Decision, list[str]]:
    drops = [j.reason for j in judged if j.weight == "drop"]
    reviews = [j.reason for j in judged if j.weight == "review"]
    if drops:
        return "drop", [*drops, *reviews]
    if doubts:
        return "unknown", [*doubts, *reviews, *([untestable] if untestable else [])]
    if reviews:
        return "review", reviews
    if untestable:
        return "untestable", [untestable]
    return "keep", []
