"""What a scan found, kept small: the best places of each item in each corpus, and counts of the rest."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np

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

    @property
    def span(self) -> tuple[int, int]:
        """Words of the item that match, [first, last)."""
        return self.first, self.last

    def rank(self) -> Rank:
        """Best first, then a fixed order: the same places are kept on every machine."""
        return (-self.score, -self.words, -self.coverage, self.key, self.start, self.first)


class Found:
    """The places of one corpus, by item and check; only the best documents of each are kept.

    Longest is not always weightiest: a passage that is declared, or a set phrase that is approved, may stand in many
    documents, and fewer words of the item's own in another. So beside the best documents one is kept for each run
    that lies in no longer one: whatever words count, the longest run of them is among those.
    """

    def __init__(self) -> None:
        self.documents: dict[tuple[int, bool], int] = defaultdict(int)
        self.places: dict[tuple[int, bool], dict[DocumentKey, list[Place]]] = defaultdict(dict)

    def merge(self, other: Found) -> None:
        """Take in what was found in other shards of the same corpus."""
        for key, count in other.documents.items():
            self.documents[key] += count
            self.places[key] = _best({**self.places[key], **other.places[key]})


def _best(documents: dict[DocumentKey, list[Place]]) -> dict[DocumentKey, list[Place]]:
    ranked = sorted(documents.items(), key=lambda pair: min(place.rank() for place in pair[1]))
    kept = dict(ranked[:KEPT])
    if len(ranked) > KEPT:
        spans = _widest({place.span for _, places in ranked for place in places if not place.sentence})
        for key, places in ranked:
            # The first, which is the best, stands for all that have the run.
            if here := spans.intersection(place.span for place in places):
                spans -= here
                kept[key] = places
    return {key: _with_widest(sorted(places, key=Place.rank), PLACES) for key, places in kept.items()}


def _widest(spans: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    """The [first, last) spans that lie in no other.

    >>> sorted(_widest({(0, 8), (0, 9), (1, 9), (3, 12), (20, 28)}))
    [(0, 9), (3, 12), (20, 28)]
    """
    kept: set[tuple[int, int]] = set()
    furthest = -1
    for first, last in sorted(spans, key=lambda span: (span[0], -span[1])):
        if last > furthest:
            furthest = last
            kept.add((first, last))
    return kept


Spanning = TypeVar("Spanning", "Place", "_Match")


def _with_widest(ranked: Sequence[Spanning], most: int) -> list[Spanning]:
    """The first of these, longest first as they come, and of the others those that lie in none of them."""
    kept = list(ranked[:most])
    for one in ranked[most:]:
        first, last = one.span
        if not any(begin <= first and last <= end for begin, end in (other.span for other in kept)):
            kept.append(one)
    return kept


class _Match(NamedTuple):
    """A run at its place in the whole document.

    What stands around it is cut from ``page``, the text that was read, only when it is asked for: most matches are
    counted and forgotten.
    """

    run: Run
    start: int
    end: int
    page: memoryview | None
    excerpt: Excerpt = Excerpt("", "", "")
    around: bytes = b""

    @property
    def span(self) -> tuple[int, int]:
        """Words of the item that match, [first, last)."""
        return self.run.first, self.run.last

    def told(self) -> _Match:
        """The same match with its excerpt and what is around it, and without the page."""
        if self.page is None:
            return self
        return _Match(
            self.run, self.start, self.end, None, *_cut_out(self.page, self.run.start, self.run.end)
        )


def _cut_out(page: memoryview, start: int, end: int) -> tuple[Excerpt, bytes]:
    """Bytes [start, end) of a text as people read them, and with more around them."""
    excerpt = Excerpt(
        _text(page[max(0, start - AROUND) : start]), _text(page[start:end]), _text(page[end : end + AROUND])
    )
    return excerpt, bytes(page[max(0, start - AROUND_SETTING) : end + AROUND_SETTING])


class _Document(NamedTuple):
    """A document with matches: its id, and what it is told from others by."""

    name: str
    key: DocumentKey


class _Group(NamedTuple):
    """The matches of one item by one check in one document, the best first; only so many as are kept.

    ``places`` are made of them when no better document of the same batch has come before.
    """

    rank: Rank
    document: int
    coverage: float
    matches: tuple[_Match, ...]
    places: tuple[Place, ...] = ()


_Key = tuple[int, bool, int]  # item, whether it is the rarest sentence, number of the document


class Gathering:
    """The matches of one shard, gathered over the pieces in which long documents come."""

    def __init__(self, shard: Shard, sheets: Sheets) -> None:
        self.shard = shard
        self.sheets = sheets
        self.documents = 0
        self._matches: dict[_Key, list[_Match]] = defaultdict(list)
        self._names: dict[int, _Document] = {}
        self._counts: dict[tuple[int, bool], int] = defaultdict(int)
        self._best: dict[tuple[int, bool], list[_Group]] = defaultdict(list)
        self._widest: dict[tuple[int, bool], dict[tuple[int, int], _Group]] = defaultdict(dict)
        self._sizes: dict[int, int] = {}

    def add(self, batch: TextBatch, runs: Sequence[Run]) -> None:
        """Take in the runs of one batch; every batch of the shard must come, in order, to be counted."""
        numbers = self.documents + np.cumsum(batch.starts == 0)
        if len(numbers):
            self.documents = int(numbers[-1])
        if not runs:
            return
        pages = buffers(batch.text)
        data = pages.data.data
        rows = np.unique([run.document for run in runs])
        columns = (rows, numbers[rows], batch.starts[rows], pages.offsets[rows], pages.offsets[rows + 1])
        views: dict[int, tuple[int, int, memoryview]] = {}
        for row, number, shift, low, high in zip(*(column.tolist() for column in columns), strict=True):
            views[row] = number, shift, data[low:high]
            self._names[number] = _Document(batch.documents[row], self._key(number))
        for run in runs:
            number, shift, page = views[run.document]
            match = _Match(run, run.start + shift, run.end + shift, page)
            self._matches[run.item, run.sentence, number].append(match)
        # Only the last document can go on in the next batch: memory holds one batch, however many matches.
        self._settle(self.documents)
        for key, matches in self._matches.items():
            self._matches[key] = [match.told() for match in matches]

    def found(self) -> Found:
        """What was gathered, with the coverage of each document; what two pieces share counts once."""
        self._settle(self.documents + 1)
        found = Found()
        found.documents.update(self._counts)
        for key, groups in self._best.items():
            every = (*groups, *self._widest[key].values())
            found.places[key] = {group.rank[3]: list(group.places) for group in every}
        return found

    def _settle(self, before: int) -> None:
        """Keep the best of the documents numbered below ``before``, which are complete, and forget the rest."""
        complete = [key for key in self._matches if key[2] < before]
        joined: dict[_Key, list[_Match]] = {}
        for key in complete:
            matches = self._matches.pop(key)
            # A sentence is looked for once in each piece of a document: the best stands.
            joined[key] = (
                [min(matches, key=lambda m: (-m.run.score, m.start))] if key[1] else _joined(matches)
            )
        changed: set[tuple[int, bool]] = set()
        for key, matches in joined.items():
            pair = key[:2]
            self._counts[pair] += 1
            best, group = self._best[pair], self._group(key, matches)
            if len(best) < KEPT or group.rank < best[-1].rank:
                insort(best, group, key=_rank)
                del best[KEPT:]
                changed.add(pair)
            if not key[1] and self._widen(pair, group):
                changed.add(pair)
        # Text is cut out only for what is among the best of the whole batch.
        near: dict[tuple[int, int], _Neighbours] = {}
        for item, sentence in changed:
            best, widest = self._best[item, sentence], self._widest[item, sentence]
            told: dict[int, _Group] = {}
            for group in (*best, *widest.values()):
                number = group.document
                if not group.places and number not in told:
                    if (item, number) not in near:
                        both = [*joined.get((item, False, number), ()), *joined.get((item, True, number), ())]
                        near[item, number] = _Neighbours(both)
                    told[number] = self._told(group, near[item, number])
            best[:] = [told.get(group.document, group) for group in best]
            widest.update({span: told.get(group.document, group) for span, group in widest.items()})
        self._names = {number: name for number, name in self._names.items() if number >= before}

    def _widen(self, pair: tuple[int, bool], group: _Group) -> bool:
        """Whether a document has a run that lies in no longer one, or is the best that has it: it is kept for that."""
        widest = self._widest[pair]
        is_kept = False
        for match in group.matches:
            first, last = span = match.span
            if (held := widest.get(span)) is not None:
                if held.rank <= group.rank:
                    continue
            elif any(begin <= first and last <= end for begin, end in widest):
                continue
            else:
                for other in [(begin, end) for begin, end in widest if first <= begin and end <= last]:
                    del widest[other]
            widest[span] = group
            is_kept = True
        return is_kept

    def _group(self, key: _Key, matches: list[_Match]) -> _Group:
        item, _, number = key
        if item not in self._sizes:
            low, high = self.sheets.presented(item)
            self._sizes[item] = high - low
        size = self._sizes[item]
        words = covered([(m.run.first, min(m.run.last, size)) for m in matches])
        coverage = round(words / max(1, size), 4)
        if len(matches) > 1:
            matches = sorted(
                matches, key=lambda m: (-m.run.score, m.run.first - m.run.last, m.start, m.run.first)
            )
        run, start = matches[0].run, matches[0].start
        rank = (-run.score, run.first - run.last, -coverage, self._names[number].key, start, run.first)
        return _Group(rank, number, coverage, tuple(_with_widest(matches, PLACES)))

    def _key(self, number: int) -> DocumentKey:
        first = (self.shard.row_groups or self.shard.span or (0, 0))[0]
        return DocumentKey(self.shard.path, first, number)

    def _told(self, group: _Group, neighbours: _Neighbours) -> _Group:
        """The same group, its places told."""
        name, key = self._names[group.document]
        places = []
        for match in group.matches:
            run, start, end, page, excerpt, around = match
            if page is not None:
                excerpt, around = _cut_out(page, run.start, run.end)
            places.append(
                Place(
                    item=run.item,
                    sentence=run.sentence,
                    shard=self.shard.path,
                    document=name,
                    key=key,
                    start=start,
                    end=end,
                    first=run.first,
                    last=run.last,
                    score=run.score,
                    coverage=group.coverage,
                    excerpt=excerpt,
                    around=around,
                    near=neighbours.of(match),
                )
            )
        return group._replace(matches=(), places=tuple(places))


def _rank(group: _Group) -> Rank:
    return group.rank


class _Neighbours:
    """The matches of one item in one document, by place."""

    def __init__(self, matches: list[_Match]) -> None:
        self.starts = sorted(m.start for m in matches)
        # Where all are near all, which is so of most documents, one answer does for all.
        is_near = len(matches) <= NEIGHBOURS // 2 and self.starts[-1] - self.starts[0] <= REACH
        self.common = _apart([(m.run.first, m.run.last) for m in matches]) if is_near else None
        self.matches = [] if is_near else sorted(matches, key=lambda m: (m.start, m.end, m.run))

    def of(self, match: _Match) -> tuple[tuple[int, int], ...]:
        """Words of the item covered by a match and by those within reach of it, in pieces that do not touch."""
        if self.common is not None:
            return self.common
        low = bisect_left(self.starts, match.start - REACH)
        high = bisect_right(self.starts, match.end + REACH)
        at = bisect_left(self.starts, match.start)
        around = self.matches[max(low, at - NEIGHBOURS // 2) : min(high, at + NEIGHBOURS // 2)]
        return _apart([(m.run.first, m.run.last) for m in [match, *around]])


def _apart(spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """[first, last) spans as pieces that do not touch."""
    if len(spans) == 1:
        return (spans[0],)
    pieces: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if pieces and first <= pieces[-1][1]:
            pieces[-1] = (pieces[-1][0], max(pieces[-1][1], last))
        else:
            pieces.append((first, last))
    return tuple(pieces)


def _joined(matches: list[_Match]) -> list[_Match]:
    """Matches of one item in one document, the same text seen in two overlapping pieces made one."""
    if len(matches) == 1:
        return matches
    kept: list[_Match] = []
    reached = 0
    for match in sorted(matches, key=lambda m: (m.start, -m.end, m.run)):
        least = max(-1, len(kept) - 1 - LOOK_BACK) if match.start < reached else len(kept) - 1
        for at in range(len(kept) - 1, least, -1):
            if match.start < kept[at].end and _same_text(kept[at], match):
                kept[at] = _one(kept[at], match)
                break
        else:
            kept.append(match)
        reached = max(reached, match.end)
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


def _text(content: memoryview) -> str:
    """Text cut at any byte: what is left of a character at either end goes."""
    return str(content, "utf-8", "ignore")
