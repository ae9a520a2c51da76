"""What a scan found, kept small: the best places of each item in each corpus, and counts of the rest."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from lacre.corpora.batches import Shard, TextBatch
from lacre.overlap.runs import Run, buffers, covered
from lacre.overlap.sheets import Sheets
from lacre.vetting.setting import AROUND as AROUND_SETTING

# Documents kept per item, check and corpus; all are counted. Five show where a text stands.
KEPT = 5
# Places kept per document: a page that repeats one item a thousand times says it with these.
PLACES = 20
LOOK_BACK = 8  # matches before, among which the other view of a match is looked for
AROUND = 280  # bytes of the document kept on either side of a match, for people to read
NOT_AT_HAND = "indexed, source not at hand"  # in the place of a text that could not be read again
REACH = 6000  # bytes on either side of a match in which other matches of the item belong to the same passage of text
NEIGHBOURS = 200  # of them, at most


class Excerpt(NamedTuple):
    """The matched text of a document, with what stands before and behind it."""

    before: str
    matched: str
    after: str


class DocumentKey(NamedTuple):
    """One document of a corpus, for ids may repeat: path and first row group, or byte, of its shard, number."""

    shard: str
    row_group: int
    number: int


Rank = tuple[float, float, float, DocumentKey, int, int]


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """One match of an item in one document: word numbers of the item, bytes of the document.

    ``near`` are the words of the item that this match and its neighbours cover, as [first, last) pieces;
    ``around`` is the text of the document by which its kind is told, told only for what is kept. ``at_hand`` is false
    where an index alone tells of the match.
    """

    item: int
    sentence: bool
    shard: str
    document: str
    key: DocumentKey
    start: int
    end: int
    first: int
    last: int
    score: float
    coverage: float
    excerpt: Excerpt
    around: bytes
    near: tuple[tuple[int, int], ...]
    at_hand: bool = True

    @property
    def words(self) -> int:
        """Words of the item that match."""
        return self.last - self.first

    def rank(self) -> Rank:
        """Best first, then a fixed order: the same places are kept on every machine."""
        return (-self.score, -self.words, -self.coverage, self.key, self.start, self.first)


class Found:
    """The places of one corpus, by item and check; only the best documents of each are kept."""

    def __init__(self) -> None:
        self.documents: dict[tuple[int, bool], int] = defaultdict(int)
        self.places: dict[tuple[int, bool], dict[DocumentKey, list[Place]]] = defaultdict(dict)

    def add(self, places: Iterable[Place]) -> None:
        """Take in the places of whole documents: every document only once."""
        by_document: dict[tuple[int, bool], dict[DocumentKey, list[Place]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for place in places:
            by_document[place.item, place.sentence][place.key].append(place)
        for key, documents in by_document.items():
            self.documents[key] += len(documents)
            self.places[key] = _best({**self.places[key], **documents})

    def admits(self, item: int, sentence: bool, rank: Rank) -> bool:
        """Whether a document whose best place ranks so would be kept."""
        kept = self.places[item, sentence]
        return len(kept) < KEPT or rank < max(min(p.rank() for p in places) for places in kept.values())

    def merge(self, other: Found) -> None:
        """Take in what was found in other shards of the same corpus."""
        for key, count in other.documents.items():
            self.documents[key] += count
            self.places[key] = _best({**self.places[key], **other.places[key]})


def _best(documents: dict[DocumentKey, list[Place]]) -> dict[DocumentKey, list[Place]]:
    ranked = sorted(documents.items(), key=lambda pair: min(place.rank() for place in pair[1]))
    return {key: sorted(places, key=Place.rank)[:PLACES] for key, places in ranked[:KEPT]}


class _Match(NamedTuple):
    """A run at its place in the whole document.

    What stands around it is cut from ``page``, the text that was read, only when it is asked for: most matches are
    counted and forgotten.
    """

    run: Run
    start: int
    end: int
    page: npt.NDArray[np.uint8] | None
    excerpt: Excerpt = Excerpt("", "", "")
    around: bytes = b""

    def told(self) -> _Match:
        """The same match with its excerpt and what is around it, and without the page."""
        if self.page is None:
            return self
        page, start, end = self.page, self.run.start, self.run.end
        excerpt = Excerpt(
            _text(page[max(0, start - AROUND) : start].tobytes()),
            _text(page[start:end].tobytes()),
            _text(page[end : end + AROUND].tobytes()),
        )
        around = page[max(0, start - AROUND_SETTING) : end + AROUND_SETTING].tobytes()
        return _Match(self.run, self.start, self.end, None, excerpt, around)


class Gathering:
    """The matches of one shard, gathered over the pieces in which long documents come."""

    def __init__(self, shard: Shard, sheets: Sheets) -> None:
        self.shard = shard
        self.sheets = sheets
        self.matches: dict[tuple[int, bool, int], list[_Match]] = defaultdict(list)
        self.documents = 0
        self.names: dict[int, str] = {}
        self.settled = Found()

    def add(self, batch: TextBatch, runs: list[Run]) -> None:
        """Take in the runs of one batch; every batch of the shard must come, in order, to be counted."""
        numbers = self.documents + np.cumsum(batch.starts == 0)
        if len(numbers):
            self.documents = int(numbers[-1])
        if not runs:
            return
        pages = buffers(batch.text)
        for run in runs:
            low, high = int(pages.offsets[run.document]), int(pages.offsets[run.document + 1])
            page = pages.data[low:high]
            shift = int(batch.starts[run.document])
            number = int(numbers[run.document])
            self.names[number] = batch.documents[run.document]
            match = _Match(run, run.start + shift, run.end + shift, page)
            self.matches[run.item, run.sentence, number].append(match)
        # Only the last document can go on in the next batch: memory holds one batch, however many matches.
        self._settle(self.documents)
        for key, matches in self.matches.items():
            self.matches[key] = [match.told() for match in matches]

    def found(self) -> Found:
        """What was gathered, with the coverage of each document; what two pieces share counts once."""
        self._settle(self.documents + 1)
        return self.settled

    def _settle(self, before: int) -> None:
        """Keep the best of the documents numbered below ``before``, which are complete, and forget the rest."""
        complete = {key: self.matches.pop(key) for key in [key for key in self.matches if key[2] < before]}
        places = []
        joined = {
            # A sentence is looked for once in each piece of a document: the best stands.
            key: [min(matches, key=lambda m: (-m.run.score, m.start))] if key[1] else _joined(matches)
            for key, matches in complete.items()
        }
        for key, kept in joined.items():
            item, _, number = key
            low, high = self.sheets.presented(item)
            spans = [(m.run.first, min(m.run.last, high - low)) for m in kept]
            coverage = round(covered(spans) / max(1, high - low), 4)
            if not self._admitted(key, coverage, kept):
                self.settled.documents[key[:2]] += 1
                continue
            neighbours = _Neighbours(
                [*joined.get((item, False, number), ()), *joined.get((item, True, number), ())]
            )
            places += [self._place(key, coverage, match, neighbours) for match in kept]
        self.settled.add(places)
        self.names = {number: name for number, name in self.names.items() if number >= before}

    def _admitted(self, key: tuple[int, bool, int], coverage: float, matches: list[_Match]) -> bool:
        """Whether a document is among the best so far: of the others no more than their number is kept."""
        item, sentence, number = key
        rank = min(
            (-m.run.score, m.run.first - m.run.last, -coverage, self._key(number), m.start, m.run.first)
            for m in matches
        )
        return self.settled.admits(item, sentence, rank)

    def _key(self, number: int) -> DocumentKey:
        first = (self.shard.row_groups or self.shard.span or (0, 0))[0]
        return DocumentKey(self.shard.path, first, number)

    def _place(
        self, key: tuple[int, bool, int], coverage: float, match: _Match, neighbours: _Neighbours
    ) -> Place:
        item, sentence, number = key
        match = match.told()
        return Place(
            item=item,
            sentence=sentence,
            shard=self.shard.path,
            document=self.names[number],
            key=self._key(number),
            start=match.start,
            end=match.end,
            first=match.run.first,
            last=match.run.last,
            score=match.run.score,
            coverage=coverage,
            excerpt=match.excerpt,
            around=match.around,
            near=neighbours.of(match),
        )


class _Neighbours:
    """The matches of one item in one document, by place."""

    def __init__(self, matches: list[_Match]) -> None:
        self.matches = sorted(matches, key=lambda m: (m.start, m.end, m.run))
        self.starts = [m.start for m in self.matches]

    def of(self, match: _Match) -> tuple[tuple[int, int], ...]:
        """Words of the item covered by a match and by those within reach of it, in pieces that do not touch."""
        low = bisect_left(self.starts, match.start - REACH)
        high = bisect_right(self.starts, match.end + REACH)
        at = bisect_left(self.starts, match.start)
        around = self.matches[max(low, at - NEIGHBOURS // 2) : min(high, at + NEIGHBOURS // 2)]
        pieces: list[tuple[int, int]] = []
        for first, last in sorted((m.run.first, m.run.last) for m in [match, *around]):
            if pieces and first <= pieces[-1][1]:
                pieces[-1] = (pieces[-1][0], max(pieces[-1][1], last))
            else:
                pieces.append((first, last))
        return tuple(pieces)


def _joined(matches: list[_Match]) -> list[_Match]:
    """Matches of one item in one document, the same text seen in two overlapping pieces made one."""
    kept: list[_Match] = []
    for match in sorted(matches, key=lambda m: (m.start, -m.end, m.run)):
        for at in range(len(kept) - 1, max(-1, len(kept) - 1 - LOOK_BACK), -1):
            if match.start < kept[at].end and _same_text(kept[at], match):
                kept[at] = _one(kept[at], match)
                break
        else:
            kept.append(match)
    return kept


def _same_text(one: _Match, other: _Match) -> bool:
    """Whether two overlapping matches are of overlapping words of the item, so that they are one match."""
    return one.run.first <= other.run.first <= one.run.last


def _one(last: _Match, match: _Match) -> _Match:
    """Two views of one match as one; ``match`` does not start before ``last``."""
    last, match = last.told(), match.told()
    # Whichever view has more text around it was cut less at the edge of its piece.
    around = max(last.around, match.around, key=len)
    if match.end <= last.end:
        return last._replace(around=around)
    run = last.run._replace(last=max(last.run.last, match.run.last))
    # The tail of the second match that lies beyond the first.
    tail = match.excerpt.matched.encode()[last.end - match.start :].decode("utf-8", "ignore")
    excerpt = Excerpt(last.excerpt.before, last.excerpt.matched + tail, match.excerpt.after)
    return _Match(run, last.start, match.end, None, excerpt, around)


def _text(content: bytes) -> str:
    """Text cut at any byte: what is left of a character at either end goes."""
    return content.decode("utf-8", "ignore")
