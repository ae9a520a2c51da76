"""One verdict per item, in the order of precedence: drop, unknown, review, untestable, keep (SPEC L7)."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from lacre.overlap.index import ItemIndex
from lacre.overlap.kernel import GRAM
from lacre.overlap.runs import same_accents
from lacre.overlap.sheets import Sheets
from lacre.registry.rules import VettingRules
from lacre.registry.verdicts import Channel, Decision, Finding, Verdict
from lacre.vetting.classes import Ground, Stretches, class_of, ground, stretches
from lacre.vetting.evidence import KEPT, NOT_AT_HAND, PLACES, Place
from lacre.vetting.readings import Reading
from lacre.vetting.scan import Corpus
from lacre.vetting.waived import Waived

SNIPPET_WORDS = 8  # words of the document on either side of a match
LONGEST_SNIPPET = 900  # characters of a match; its middle is left out past that


class Judged(NamedTuple):
    """A finding, the place it was made from, how hard it weighs, and why, in a few words; whether it is waived."""

    finding: Finding
    place: Place
    weight: Decision
    why: str
    waived: bool = False

    @property
    def reason(self) -> str:
        """Why and where, in one sentence."""
        corpus, inside = self.finding.corpus, where(self.finding)
        if Path(corpus).name == self.finding.shard:  # the corpus is this one file
            return f"{self.why} in {corpus}{inside.removeprefix(self.finding.shard)}"
        return f"{self.why} in {corpus}: {inside}"


class ItemVerdict(NamedTuple):
    """The verdict of an item with its findings, the deciding one first.

    ``waived`` counts those that are waived; ``void`` has the date of each waiver of a text that is no more.
    """

    verdict: Verdict
    judged: tuple[Judged, ...]
    waived: int = 0
    void: tuple[str, ...] = ()


def where(finding: Finding) -> str:
    """The document of a finding inside its corpus: the file, and the document where the file holds many."""
    if finding.document == finding.shard:
        return finding.shard
    return f"{finding.shard}, document {finding.document}"


class _Bench(NamedTuple):
    """What findings are judged by: the items' words and what they stand on, the answers, the rules, the waivers."""

    sheets: Sheets
    ground: Ground
    answers: Sequence[frozenset[str]]
    rules: VettingRules
    waived: Sequence[Waived]


def decide(
    index: ItemIndex,
    corpora: Sequence[Corpus],
    rules: VettingRules,
    *,
    answers: Sequence[frozenset[str]],
    waived: Sequence[Waived],
    phrases: Sequence[str] = (),
) -> list[ItemVerdict]:
    """The verdicts of all items of the index, in its order. Every corpus given counts as required.

    ``answers``: for each item, names of the fields that give its answer away; ``waived``: the waivers of each.
    ``phrases``: approved boilerplate.
    """
    doubts = [doubt for corpus in corpora for doubt in doubts_of(corpus.reading, rules)]
    bench = _Bench(index.sheets, ground(index.sheets, phrases), answers, rules, waived)
    by_item: dict[int, list[Judged]] = defaultdict(list)
    for corpus in corpora:
        for (item, _), documents in corpus.found.places.items():
            by_item[item] += _weighty(bench, corpus, list(documents.values()))
    return [
        _verdict(index, item, sorted(by_item.get(item, ()), key=_rank), doubts, waived[item].void)
        for item in range(len(index.sheets.items))
    ]


def _weighty(bench: _Bench, corpus: Corpus, documents: Sequence[Sequence[Place]]) -> list[Judged]:
    """The findings in the best documents and, of what is kept besides, those that weigh more than all of these.

    The longest runs come first; where they are excused, shorter ones that are not decide.
    """
    unseen = [place for places in documents for place in places if not place.at_hand]
    ranked = sorted(
        (sorted(places, key=Place.rank) for places in documents if places[0].at_hand),
        key=lambda places: places[0].rank(),
    )
    best = [place for places in ranked[:KEPT] for place in places[:PLACES]]
    judged = [_judged(bench, corpus, place) for place in best]
    more = [place for places in ranked[:KEPT] for place in places[PLACES:]]
    more += [place for places in ranked[KEPT:] for place in places]
    top = min((_WEIGHTS.index(one.weight) for one in judged), default=0)
    if more and top > 0:
        others = [_judged(bench, corpus, place) for place in more]
        judged += sorted((one for one in others if _WEIGHTS.index(one.weight) < top), key=_rank)[:PLACES]
    return judged + [_judged(bench, corpus, place) for place in unseen]


def doubts_of(reading: Reading, rules: VettingRules) -> list[str]:
    """Why nothing may be concluded from a corpus in which nothing was found; empty when it was read."""
    doubts = []
    if not reading.is_reached:
        doubts.append(f"{reading.corpus}: not reached: {reading.unread[0].reason}")
    elif len(reading.incomplete) == 1:
        doubts.append(f"{reading.corpus}: {reading.incomplete[0]} was not read to its end")
    elif reading.incomplete:
        doubts.append(
            f"{reading.corpus}: {len(reading.incomplete):,} files were not read to their end, "
            f"the first {reading.incomplete[0]}"
        )
    if reading.unread_share > rules.max_unread:
        doubts.append(
            f"{reading.corpus}: {reading.unread_share:.2%} unreadable, {rules.max_unread:.2%} allowed"
        )
    return doubts


_WEIGHTS: tuple[Decision, ...] = ("drop", "unknown", "review", "untestable", "keep")


def _rank(judged: Judged) -> tuple[int, bool, float, str, tuple[object, ...]]:
    finding = judged.finding
    return (
        _WEIGHTS.index(judged.weight),
        # Of two reasons the one that a reader checks more easily comes first: words in a row.
        judged.place.sentence,
        -finding.words * finding.score,
        finding.corpus,
        judged.place.rank(),
    )


def _judged(bench: _Bench, corpus: Corpus, place: Place) -> Judged:
    sheets = bench.sheets
    low = sheets.words_of(place.item)[0]
    found = stretches(bench.ground, low + place.first, low + place.last)
    weight, why = (_weigh_sentence if place.sentence else _weigh_run)(bench, place, found)
    finding = Finding(
        item=sheets.items[place.item].item,
        check="rare_sentence" if place.sentence else "overlap",
        corpus=corpus.reading.corpus,
        shard=place.shard,
        document=place.document,
        bytes=(place.start, place.end),
        fields=fields_of(sheets, place, bench.answers[place.item]),
        item_words=(place.first, place.last),
        words=place.words,
        score=place.score,
        coverage=place.coverage,
        channel=channel_of(sheets, place),
        class_=class_of(bench.ground, place),
        documents=corpus.found.documents[place.item, place.sentence],
        snippet=snippet(place),
    )
    return _excused(Judged(finding, place, weight, why), bench.waived[place.item])


def _excused(judged: Judged, waived: Waived) -> Judged:
    """A finding without its weight when a person answers for it, in no more documents than that person saw."""
    waiver = waived.waiver(judged.finding)
    if waiver is None or judged.weight not in ("drop", "review"):
        return judged
    now = judged.finding.documents
    if now > waiver.documents:
        why = f"{judged.why.rstrip(',')}, waived when in {waiver.documents} documents and now in {now},"
        return judged._replace(why=why)
    return judged._replace(weight="keep", why=f"waived: {judged.why}", waived=True)


def _weigh_run(bench: _Bench, place: Place, found: Stretches) -> tuple[Decision, str]:
    rules = bench.rules
    low, high = bench.sheets.presented(place.item)
    size = high - low
    whole = place.first == 0 and place.last >= size
    if not place.at_hand:
        return _weigh_unseen(place, found, rules)
    if found.own >= rules.n:
        return "drop", f"{place.words} words in a row"
    if whole and size < rules.n and found.own == size:
        return "drop", f"the whole item, {place.words} words,"
    if place.words < rules.review_from and not whole:
        return "keep", f"{place.words} words in a row, fewer than the rules look at,"
    if found.approved and found.fresh < rules.review_from:
        return "keep", f"{place.words} words in a row, approved boilerplate but for {found.fresh},"
    if found.own == 0:
        return "review", f"{place.words} words in a row of a declared passage"
    if found.own < place.words:
        return "review", f"{place.words} words in a row, {found.own} in a row the item's own,"
    return "review", f"{place.words} words in a row"


def _weigh_unseen(place: Place, found: Stretches, rules: VettingRules) -> tuple[Decision, str]:
    """A match that nobody can look at: pieces of eight words, of which no index tells how they belong together."""
    if found.fresh < rules.review_from and found.approved:
        return "keep", f"{place.words} words, approved boilerplate, {NOT_AT_HAND},"
    why = f"{_sure(place)} words in a row or more"
    if place.words > GRAM:
        why += f", of {place.words} met in pieces"
    return "unknown", f"{why}, {NOT_AT_HAND},"


def _sure(place: Place) -> int:
    """Words in a row that are sure to stand there: of a text that nobody could look at, one gram of the index."""
    return place.words if place.at_hand else min(place.words, GRAM)


def _weigh_sentence(bench: _Bench, place: Place, found: Stretches) -> tuple[Decision, str]:
    if found.fresh == 0:
        return "keep", "the rarest sentence, all approved boilerplate,"
    if place.score >= bench.rules.rare_drop:
        return "drop", f"the rarest sentence, {_percent(place.score)} alike,"
    return "review", f"a sentence like the rarest, {_percent(place.score)} alike,"


def _percent(share: float) -> str:
    """Cut, not rounded: 100% is said only of what is the same."""
    return f"{int(share * 100 + 1e-9)}%"


def channel_of(sheets: Sheets, place: Place) -> Channel:
    """``exact`` when accents agree too, ``folded`` when they do not, or when words differ."""
    low = sheets.words_of(place.item)[0]
    same = place.score == 1 and same_accents(
        sheets, low + place.first, low + place.last, place.excerpt.matched
    )
    return "exact" if same else "folded"


def fields_of(sheets: Sheets, place: Place, answers: frozenset[str]) -> tuple[str, ...]:
    """Names of the fields that a match covers, in the item's order.

    ``key`` comes last when the answer stands in it: the right option with all its words, or words of an
    expected answer.
    """
    low = sheets.words_of(place.item)[0]
    begin, end = low + place.first, low + place.last
    names: list[str] = []
    answered = False
    for field in range(sheets.field_at(begin), sheets.field_at(end - 1) + 1):
        first, last = int(sheets.word_of_field[field]), int(sheets.word_of_field[field + 1])
        if first == last:
            continue
        name = sheets.fields[field].name
        names.append(name)
        whole = begin <= first and last <= end
        answered |= name in answers and (whole or sheets.fields[field].aside)
    if answered and "key" not in names:
        names.append("key")
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


def _verdict(
    index: ItemIndex, item: int, judged: list[Judged], doubts: list[str], void: Sequence[str]
) -> ItemVerdict:
    decision, reasons = _decision(judged, doubts, index.untestable[item])
    if decision != "keep":
        reasons += [f"the waiver of {when} is void: the item's text has changed since" for when in void]
    findings = [j.finding for j in judged]
    verdict = Verdict(
        item=index.sheets.items[item].item,
        verdict=decision,
        reasons=tuple(dict.fromkeys(reasons)),
        longest_run=max((_sure(j.place) for j in judged if not j.place.sentence), default=0),
        coverage=max((finding.coverage for finding in findings), default=0.0),
        findings=len(judged),
    )
    return ItemVerdict(verdict, tuple(judged), sum(one.waived for one in judged), tuple(void))


def _decision(judged: list[Judged], doubts: list[str], untestable: str) -> tuple[Decision, list[str]]:
    drops = [j.reason for j in judged if j.weight == "drop"]
    reviews = [j.reason for j in judged if j.weight == "review"]
    doubts = [*(j.reason for j in judged if j.weight == "unknown"), *doubts]
    excused = [j.reason for j in judged if j.weight == "keep"]
    short = [untestable] if untestable else []
    if drops:
        return "drop", [*drops, *doubts, *reviews]
    if doubts:
        return "unknown", [*doubts, *reviews, *short]
    if reviews:
        return "review", [*reviews, *short, *excused]
    if short:
        return "untestable", [*short, *excused]
    return "keep", excused
