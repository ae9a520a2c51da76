"""Runs of words that a batch of documents has in common with the items, and their rarest sentences."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from lacre.overlap.kernel import CHUNK, GROWTH, PAD, STRIDE, scan, spans_between
from lacre.overlap.places import word_places
from lacre.overlap.rarest import align
from lacre.overlap.sheets import wide
from lacre.overlap.table import fold_table
from lacre.text import exact, words

if TYPE_CHECKING:
    import pyarrow as pa

    from lacre.overlap.index import ItemIndex
    from lacre.overlap.rarest import Sentence
    from lacre.overlap.sheets import Sheets

LIKELY = 0.4  # share of a sentence's words that must stand about where they should before it is aligned
MARGIN = 6  # words around a likely sentence within which the alignment may shift


class Run(NamedTuple):
    """A stretch of one document that matches an item.

    Attributes:
        item: number of the item in the index.
        document: number of the document in the batch.
        first, last: words [first, last) of the item's sheet.
        start, end: bytes [start, end) of the document.
        score: 1 for words in common, the similarity of the alignment for a rarest sentence.
        sentence: whether this is the rarest sentence, aligned.
    """

    item: int
    document: int
    first: int
    last: int
    start: int
    end: int
    score: float
    sentence: bool


class Buffers(NamedTuple):
    """The bytes of an Arrow string array: data, and where each string starts."""

    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]


def buffers(text: pa.LargeStringArray) -> Buffers:
    """The buffers of a large_string array without nulls, not copied; slices keep their offsets."""
    _, offsets, data = text.buffers()
    if data is None or offsets is None:
        return Buffers(np.empty(0, np.uint8), np.zeros(len(text) + 1, np.int64))
    places = np.frombuffer(memoryview(offsets), np.int64)[text.offset : text.offset + len(text) + 1]
    return Buffers(np.frombuffer(memoryview(data), np.uint8), places)


@dataclass
class Scratch:
    """Memory that one thread of a scan uses again for every batch; it grows with them."""

    room: FoldRoom
    words: npt.NDArray[np.uint64]
    hits: npt.NDArray[np.int64]
    runs: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    diagonals: npt.NDArray[np.int64]
    chunks: npt.NDArray[np.int64]
    heads: npt.NDArray[np.int64]

    @classmethod
    def make(cls) -> Scratch:
        """Scratch memory for small batches."""
        return cls(
            room=fold_room(FOLD_ROOM),
            words=np.empty((2, 1 << 16), np.uint64),
            hits=np.empty((1 << 12, 2), np.int64),
            runs=np.empty((1 << 10, 4), np.int64),
            ends=np.zeros(4096, np.int64),
            diagonals=np.zeros(4096, np.int64),
            chunks=np.empty((3, 1 << 10), np.int64),
            heads=np.empty(1 << 10, np.int64),
        )

    def fit(self, pages: Buffers) -> None:
        """Make room for the words of the longest document, and for the steps in which all are read."""
        room = 2 * int(np.diff(pages.offsets).max()) + PAD + 128
        if self.words.shape[1] < room:
            self.words = np.empty((2, room), np.uint64)
        documents = pages.offsets.size
        steps = int(pages.offsets[-1] - pages.offsets[0]) // STRIDE + 2 * documents
        if self.chunks.shape[1] < steps:
            self.chunks = np.empty((3, steps), np.int64)
        if self.heads.size < documents:
            self.heads = np.empty(documents, np.int64)


class FoldRoom(NamedTuple):
    """Folded bytes, the same as overlapping eights, edges of words, and how many bytes a cut word carried over."""

    out: npt.NDArray[np.uint8]
    out_wide: npt.NDArray[np.uint64]
    edges: npt.NDArray[np.uint64]
    carried: npt.NDArray[np.int64]


def fold_room(size: int) -> FoldRoom:
    """Room to fold text whose longest word has some ``size`` bytes at most."""
    out = np.empty(size, np.uint8)
    return FoldRoom(out, wide(out), np.empty(size + 64, np.uint64), np.zeros(1, np.int64))


FOLD_ROOM = GROWTH * (CHUNK + 8) + (1 << 14)  # a chunk at its largest, and the word that the one before cut


class Scanned(NamedTuple):
    """The runs of a batch, sorted, and the number of words read."""

    runs: list[Run]
    words: int


def runs(index: ItemIndex, text: pa.LargeStringArray, scratch: Scratch, *, align_from: float) -> Scanned:
    """All runs of eight words or more, or of a whole shorter item, and the rarest sentences found.

    ``align_from``: similarity, 0 to 1, from which an aligned sentence is found.
    """
    pages = buffers(text)
    if not len(text):
        return Scanned([], 0)
    raw, total = kernel_runs(index, pages, scratch)
    found: list[Run] = []
    for document, pieces, likely in _by_document(index, raw):
        found += _document_runs(index, Page(pages, document, scratch), pieces, likely, align_from)
    return Scanned(sorted(found), total)


def kernel_runs(index: ItemIndex, pages: Buffers, scratch: Scratch) -> tuple[npt.NDArray[np.int64], int]:
    """The kernel's rows for a batch, and the words it read; see :func:`lacre.overlap.kernel.confirm`."""
    scratch.fit(pages)
    while True:
        made, hits, total = scan(
            pages.data,
            wide(pages.data),
            pages.offsets,
            tuple(fold_table()),
            tuple(index.table),
            tuple(scratch.room),
            scratch.words[0],
            scratch.words[1],
            scratch.hits,
            scratch.runs,
            scratch.ends,
            scratch.diagonals,
            LIKELY,
            scratch.chunks,
            scratch.heads,
        )
        if total >= 0 and hits <= scratch.hits.shape[0] and made <= scratch.runs.shape[0]:
            return scratch.runs[:made].copy(), total
        if total < 0:
            scratch.room = fold_room(2 * scratch.room.out.size)
        if hits > scratch.hits.shape[0]:
            scratch.hits = np.empty((2 * hits, 2), np.int64)
        if made > scratch.runs.shape[0]:
            scratch.runs = np.empty((2 * made, 4), np.int64)


class WordRun(NamedTuple):
    """Words [first, last) of an item's sheet that stand in a text, where does not matter."""

    item: int
    first: int
    last: int


class WordRuns(NamedTuple):
    """The runs of a text, and how many words were read."""

    runs: list[WordRun]
    words: int


def word_runs(index: ItemIndex, pages: Buffers, scratch: Scratch) -> WordRuns:
    """As :func:`runs`, for those who need not know where the words stand: nothing is read a second time.

    Where there is one document, ``scratch.words[0]`` holds the hashes of its words afterwards, from PAD on.
    """
    raw, total = kernel_runs(index, pages, scratch)
    return WordRuns(
        [
            WordRun(piece.item, piece.first, piece.last)
            for _, pieces, _ in _by_document(index, raw)
            for piece in _merged(pieces)
            if _counts(index.sheets, piece)
        ],
        total,
    )


class _Piece(NamedTuple):
    """Words [at, until) of a document that are words [first, last) of an item."""

    item: int
    at: int
    until: int
    first: int
    last: int


class _Likely(NamedTuple):
    """An item whose rarest sentence seems to begin at word ``at`` of a document."""

    item: int
    at: int


def _by_document(
    index: ItemIndex, raw: npt.NDArray[np.int64]
) -> Iterator[tuple[int, list[_Piece], list[_Likely]]]:
    """The kernel's rows as pieces and likely sentences, one document after another."""
    owners = index.owners[np.searchsorted(index.begins, raw[:, 3], side="right") - 1].astype(np.int64)
    is_run = raw[:, 2] >= 0
    pieces: dict[int, list[_Piece]] = defaultdict(list)
    for document, *piece in _pieces(index, raw[is_run], owners[is_run]).tolist():
        pieces[document].append(_Piece(*piece))
    sentences: dict[int, list[_Likely]] = defaultdict(list)
    rows = np.column_stack([raw[~is_run, 0], owners[~is_run], raw[~is_run, 1]])
    for document, *likely in np.unique(rows, axis=0).tolist():
        sentences[document].append(_Likely(*likely))
    for document in sorted({*pieces, *sentences}):
        yield document, pieces[document], sentences[document]


def _pieces(
    index: ItemIndex, rows: npt.NDArray[np.int64], owners: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """(document, item, at, until, first, last) of each run, without those that another of the item covers."""
    first, last = item_words(index, rows[:, 3], rows[:, 2] - rows[:, 1])
    # Of two readings of the same words (is "a" a letter or a word?) the one with more of the item comes first.
    order = np.lexsort((first, first - last, -rows[:, 2], rows[:, 1], owners, rows[:, 0]))
    table = np.column_stack([rows[:, 0], owners, rows[:, 1], rows[:, 2], first, last])[order]
    if not len(table):
        return table
    group = np.cumsum(np.r_[True, (table[1:, :2] != table[:-1, :2]).any(axis=1)])
    # Document words are far fewer than 2^40: one running maximum serves all groups.
    reach = np.maximum.accumulate(table[:, 3] + (group << 40))
    covered_by = np.r_[-1, reach[:-1]]
    kept: npt.NDArray[np.int64] = table[table[:, 3] + (group << 40) > covered_by]
    return kept


def item_words(
    index: ItemIndex, places: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The words [first, last) of the item wholly covered by ``sizes`` places of the sequences from ``places``.

    A variant may spread one word of the item over several places: a word cut by the run's edge does not count.
    One place may also stand for two words, of which it carries the second.
    """
    base, sequence = index.table.base, index.table.sequence
    ends = places + sizes
    head, tail = base[places].astype(np.int64), base[ends - 1].astype(np.int64)
    before, after = base[places - 1].astype(np.int64), base[ends].astype(np.int64)
    first, last = head >> 1, (tail >> 1) + 1 - (tail & 1)
    inner = (sequence[places - 1] != 0) & (head & 1 == 0)
    first += inner & (before == head)
    first -= inner & (before & 1 == 0) & ((head >> 1) - (before >> 1) == 2)
    last -= (sequence[ends] != 0) & (tail & 1 == 0) & (after == tail)
    return first, last


class Page:
    """One document of a batch, with the byte spans of those of its words that are asked for.

    Spans cost several times the reading itself, so only the chunks around a match are read for them: the scan noted
    which word each chunk ends in. ``scratch`` must be as the scan of the batch left it.
    """

    def __init__(self, pages: Buffers, document: int, scratch: Scratch) -> None:
        self.document = document
        self.data = pages.data
        self.low, self.high = int(pages.offsets[document]), int(pages.offsets[document + 1])
        steps = slice(int(scratch.heads[document]), int(scratch.heads[document + 1]))
        self.places, self.counts, self.cut = scratch.chunks[:, steps]
        self.first = self.last = 0  # the words whose spans are at hand
        self.starts = self.ends = np.empty(0, np.int64)

    @property
    def size(self) -> int:
        """The number of words."""
        return int(self.counts[-1])

    def text(self, start: int, end: int) -> str:
        """The text between two byte offsets."""
        return self.content(start, end).decode("utf-8", "replace")

    def content(self, start: int, end: int) -> bytes:
        """The bytes between two byte offsets."""
        return self.data[self.low + start : self.low + end].tobytes()

    def span(self, first: int, last: int) -> tuple[int, int]:
        """The byte span of words [first, last)."""
        if not self.first <= first < last <= self.last:
            self._read(first, last)
        return int(self.starts[first - self.first]), int(self.ends[last - 1 - self.first])

    def words(self, first: int, last: int) -> list[str]:
        """Words [first, last) as written."""
        begin, finish = self.span(first, last)
        content = self.content(begin, finish)
        here = slice(first - self.first, last - self.first)
        spans = zip((self.starts[here] - begin).tolist(), (self.ends[here] - begin).tolist(), strict=True)
        return [content[start:end].decode("utf-8", "replace") for start, end in spans]

    def _read(self, first: int, last: int) -> None:
        """Read the spans of the chunks that hold words [first, last) and a few around them."""
        first, last = max(0, first - MARGIN), min(self.size, last + MARGIN)
        # A chunk may end inside a word: begin behind one that ends before the first word wanted.
        begin = max(0, int(self.counts.searchsorted(first)) - 1)
        finish = min(int(self.counts.searchsorted(last)), len(self.counts) - 1)
        at, stop = int(self.places[begin]), int(self.places[finish])
        self.starts, self.ends = self._places(at, stop)
        # Numbered from the end: a word cut at the beginning may have nothing left behind the cut.
        self.last = int(self.counts[finish]) + int(self.cut[finish])
        self.first = self.last - self.starts.size

    def _places(self, at: int, stop: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Where the words of bytes [at, stop) of the data start and end, in the document."""
        room = 2 * (stop - at) + 128
        starts, ends = np.empty(room, np.int64), np.empty(room, np.int64)
        table = fold_table()
        count = word_places(self.data, self.low, at, stop, self.high, tuple(table), starts, ends)
        if count < 0:
            words, letters = np.empty(room, np.uint64), np.empty(GROWTH * (stop - at) + 128, np.uint8)
            count = spans_between(
                self.data,
                np.uint64(self.low),
                np.uint64(at),
                np.uint64(stop),
                np.uint64(self.high),
                table.entries,
                table.parts,
                letters,
                wide(letters),
                words,
                starts,
                ends,
                0,
            )
        return starts[:count], ends[:count]


def _document_runs(
    index: ItemIndex, page: Page, pieces: list[_Piece], likely: list[_Likely], align_from: float
) -> Iterator[Run]:
    overlaps: dict[int, list[_Piece]] = defaultdict(list)
    for piece in _merged(pieces):
        if _counts(index.sheets, piece):
            overlaps[piece.item].append(piece)
            start, end = page.span(piece.at, piece.until)
            yield Run(piece.item, page.document, piece.first, piece.last, start, end, 1.0, False)
    best: list[Run] = []
    for item, places in groupby(likely, key=lambda place: place.item):
        whole = _whole_sentence(index, page, overlaps[item])
        found = [whole] if whole else [_aligned(index, page, item, at, align_from) for at in _spaced(places)]
        best += [run for run in found if run is not None and run.score >= align_from]
    yield from _apart(best)


def _spaced(places: Iterable[_Likely]) -> Iterator[int]:
    """Where a sentence may begin, without those that the alignment around the one before reaches."""
    reached = -1
    for place in places:
        if place.at > reached:
            yield place.at
            reached = place.at + MARGIN // 2


def _merged(pieces: list[_Piece]) -> list[_Piece]:
    """Pieces that go on from one another, in the document and in the item, made one."""
    merged: list[_Piece] = []
    for piece in sorted(pieces):
        for k in range(len(merged) - 1, max(-1, len(merged) - 9), -1):
            other = merged[k]
            goes_on = piece.item == other.item and piece.at <= other.until
            if goes_on and other.first <= piece.first <= other.last and piece.last > other.last:
                merged[k] = other._replace(until=max(other.until, piece.until), last=piece.last)
                break
        else:
            merged.append(piece)
    return merged


def _counts(sheets: Sheets, piece: _Piece) -> bool:
    """Whether a run is long enough (eight words, or a shorter item whole) and has a letter in it."""
    low, _ = sheets.words_of(piece.item)
    begin, finish = sheets.presented(piece.item)
    long_enough = piece.last - piece.first >= min(8, finish - begin)
    return long_enough and bool(sheets.lettered[low + piece.first : low + piece.last].any())


def _whole_sentence(index: ItemIndex, page: Page, pieces: list[_Piece]) -> Run | None:
    """The rarest sentence where a run covers it word by word, which spares the alignment."""
    for piece in pieces:
        sentence = index.sentences[piece.item]
        low, _ = index.sheets.words_of(piece.item)
        if sentence is None:
            continue
        first, last = sentence.first - low, sentence.last - low
        at = piece.at + first - piece.first
        if not piece.first <= first < last <= piece.last or at + last - first > page.size:
            continue
        start, end = page.span(at, at + last - first)
        # Option letters and joined compounds shift the words behind them: look before trusting the arithmetic.
        # Most copies are the same to the byte, which tells as much and costs less.
        if (
            page.content(start, end) == _as_written(index.sheets, sentence)
            or " ".join(fold_word(word) for word in page.words(at, at + last - first)) == sentence.folded
        ):
            return Run(piece.item, page.document, first, last, start, end, 1.0, True)
    return None


def _as_written(sheets: Sheets, sentence: Sentence) -> bytes:
    """The bytes of a sentence in its item; none where it goes over several fields."""
    at = sheets.field_at(sentence.first)
    if sentence.last > int(sheets.word_of_field[at + 1]):
        return b""
    start, end = int(sheets.starts[sentence.first]), int(sheets.ends[sentence.last - 1])
    return sheets.fields[at].text.encode()[start:end]


def _apart(found: Iterable[Run]) -> list[Run]:
    """The best of runs that lie over each other."""
    kept: list[Run] = []
    for run in sorted(found, key=lambda run: (-run.score, run.item, run.start)):
        if not any(run.item == k.item and run.start < k.end and k.start < run.end for k in kept):
            kept.append(run)
    return kept


def _aligned(index: ItemIndex, page: Page, item: int, at: int, align_from: float) -> Run | None:
    sentence = index.sentences[item]
    if sentence is None:
        return None
    size = sentence.last - sentence.first
    low = max(0, at - MARGIN)
    high = min(page.size, at + size + MARGIN)
    folded = [fold_word(word) for word in page.words(low, high)]
    found = align(sentence.folded, " ".join(folded))
    score = round(found.score, 4)
    if score < align_from:
        return None
    edges = list(accumulate((len(word) + 1 for word in folded), initial=0))
    first = bisect_right(edges, found.start) - 1
    last = min(bisect_left(edges, found.end), len(folded))
    if last <= first:
        return None
    start, end = page.span(low + first, low + last)
    head = index.sheets.words_of(item)[0]
    return Run(item, page.document, sentence.first - head, sentence.last - head, start, end, score, True)


@lru_cache(maxsize=1 << 14)
def fold_word(source: str) -> str:
    """The folded form of one word as written."""
    return "".join(word.folded for word in words(source))


def same_accents(sheets: Sheets, first: int, last: int, text: str) -> bool:
    """Whether words [first, last) of the sheets and a matched text agree in the exact channel too."""
    written = exact(text)
    return written in (_exact_words(sheets, first, last, False), _exact_words(sheets, first, last, True))


def _exact_words(sheets: Sheets, first: int, last: int, letters: bool) -> str:
    """The exact form of words [first, last) of the sheets, with or without option letters between fields."""
    forms: list[str] = []
    while first < last:
        at = sheets.field_at(first)
        field = sheets.fields[at]
        until = min(last, int(sheets.word_of_field[at + 1]))
        if letters and forms and field.letter:
            forms.append(exact(field.letter))
        text = field.text.encode()[int(sheets.starts[first]) : int(sheets.ends[until - 1])]
        forms.append(exact(text.decode()))
        first = until
    return "".join(forms)


def covered(pieces: Sequence[tuple[int, int]]) -> int:
    """How many numbers lie in at least one of the [first, last) pieces.

    >>> covered([(0, 5), (3, 8), (10, 11)])
    9
    """
    total, reached = 0, 0
    for first, last in sorted(pieces):
        total += max(0, last - max(first, reached))
        reached = max(reached, last)
    return total
