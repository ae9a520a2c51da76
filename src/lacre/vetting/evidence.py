"""What a scan found, kept small: the best places of each item in each corpus, and counts of the rest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from lacre.corpora.batches import Shard, TextBatch
from lacre.overlap.runs import Run, buffers, covered
from lacre.overlap.sheets import Sheets

# Documents kept per item, check and corpus; all are counted. Five show where a text stands.
KEPT = 5
AROUND = 280  # bytes of the document kept on either side of a match, for people to read


class Excerpt(NamedTuple):
    """The matched text of a document, with what stands before and behind it."""

    before: str
    matched: str
    after: str


class Place(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One match of an item in one document: word numbers of the item, bytes of the document."""

    item: int
    sentence: bool
    shard: str
    document: str
    start: int
    end: int
    first: int
    last: int
    score: float
    coverage: float
    excerpt: Excerpt

    @property
    def words(self) -> int:
        """Words of the item that match."""
        return self.last - self.first

    def rank(self) -> tuple[float, float, float, str, str, int]:
        """Best first, then a fixed order: the same places are kept on every machine."""
        return (-self.score, -self.words, -self.coverage, self.shard, self.document, self.start)


class Found:
    """The places of one corpus, by item and check; only the best documents of each are kept."""

    def __init__(self) -> None:
        self.documents: dict[tuple[int, bool], int] = defaultdict(int)
        self.longest: dict[int, int] = defaultdict(int)
        self.places: dict[tuple[int, bool], dict[tuple[str, str], list[Place]]] = defaultdict(dict)

    def add(self, places: Iterable[Place]) -> None:
        """Take in the places of whole documents: every document only once."""
        by_document: dict[tuple[int, bool], dict[tuple[str, str], list[Place]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for place in places:
            by_document[place.item, place.sentence][place.shard, place.document].append(place)
        for key, documents in by_document.items():
            self.documents[key] += len(documents)
            self.places[key] = _best({**self.places[key], **documents})

    def merge(self, other: Found) -> None:
        """Take in what was found in other shards of the same corpus."""
        for key, count in other.documents.items():
            self.documents[key] += count
            self.places[key] = _best({**self.places[key], **other.places[key]})


def _best(documents: dict[tuple[str, str], list[Place]]) -> dict[tuple[str, str], list[Place]]:
    ranked = sorted(documents.items(), key=lambda pair: min(place.rank() for place in pair[1]))
    return {name: sorted(places, key=Place.rank) for name, places in ranked[:KEPT]}


class _Match(NamedTuple):
    """A run at its place in the whole document."""

    run: Run
    start: int
    end: int
    excerpt: Excerpt


class Gathering:
    """The matches of one shard, gathered over the pieces in which long documents come."""

    def __init__(self, shard: Shard, sheets: Sheets) -> None:
        self.shard = shard
        self.sheets = sheets
        self.matches: dict[tuple[int, bool, str], list[_Match]] = defaultdict(list)

    def add(self, batch: TextBatch, runs: list[Run]) -> None:
        """Take in the runs of one batch."""
        if not runs:
            return
        pages = buffers(batch.text)
        for run in runs:
            low, high = int(pages.offsets[run.document]), int(pages.offsets[run.document + 1])
            page = pages.data[low:high]
            excerpt = Excerpt(
                _text(page[max(0, run.start - AROUND) : run.start].tobytes()),
                _text(page[run.start : run.end].tobytes()),
                _text(page[run.end : run.end + AROUND].tobytes()),
            )
            shift = int(batch.starts[run.document])
            key = (run.item, run.sentence, batch.documents[run.document])
            self.matches[key].append(_Match(run, run.start + shift, run.end + shift, excerpt))

    def found(self) -> Found:
        """What was gathered, with the coverage of each document; nothing found twice in overlapping pieces."""
        result = Found()
        places = []
        for (item, sentence, document), matches in self.matches.items():
            kept = _joined(matches)
            low, high = self.sheets.presented(item)
            spans = [(m.run.first, min(m.run.last, high - low)) for m in kept]
            coverage = round(covered(spans) / max(1, high - low), 4)
            places += [self._place(item, sentence, document, coverage, match) for match in kept]
        result.add(places)
        return result

    def _place(self, item: int, sentence: bool, document: str, coverage: float, match: _Match) -> Place:
        return Place(
            item=item,
            sentence=sentence,
            shard=self.shard.path,
            document=document,
            start=match.start,
            end=match.end,
            first=match.run.first,
            last=match.run.last,
            score=match.run.score,
            coverage=coverage,
            excerpt=match.excerpt,
        )


def _joined(matches: list[_Match]) -> list[_Match]:
    """Matches of one item in one document, the same text seen in two overlapping pieces made one."""
    kept: list[_Match] = []
    for match in sorted(matches, key=lambda m: (m.start, -m.end)):
        last = kept[-1] if kept else None
        if last is None or match.start >= last.end or not _same_text(last, match):
            kept.append(match)
        elif match.end > last.end:
            run = last.run._replace(
                first=min(last.run.first, match.run.first),
                last=max(last.run.last, match.run.last),
            )
            # The tail of the second match that lies beyond the first.
            tail = match.excerpt.matched.encode()[last.end - match.start :].decode("utf-8", "ignore")
            excerpt = Excerpt(last.excerpt.before, last.excerpt.matched + tail, match.excerpt.after)
            kept[-1] = _Match(run, last.start, match.end, excerpt)
    return kept


def _same_text(one: _Match, other: _Match) -> bool:
    """Whether two overlapping matches are of overlapping words of the item, so that they are one match."""
    return one.run.first <= other.run.first <= one.run.last


def _text(content: bytes) -> str:
    """Text cut at any byte: what is left of a character at either end goes."""
    return content.decode("utf-8", "ignore")
