"""Runs of words that a batch of documents has in common with the items, and their rarest sentences."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from lacre.overlap.gathered import ABSENT, UNSURE, joined, whole_sentences
from lacre.overlap.kernel import CHUNK, FOLDED, PAD, STRIDE, scan
from lacre.overlap.rarest import align
from lacre.overlap.sheets import wide
from lacre.overlap.spans import Rows, Spans
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
    places: npt.NDArray[np.int64]
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
            places=np.empty(1 << 16, np.int64),
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
            self.places = np.empty(room, np.int64)
        documents = pages.offsets.size
        steps = int(pages.offsets[-1] - pages.offsets[0]) // STRIDE + 2 * documents
        if self.chunks.shape[1] < steps:
            self.chunks = np.empty((3, steps), np.int64)
        if self.heads.size < documents:
            self.heads = np.empty(documents, np.int64)


class FoldRoom(NamedTuple):
    """Folded bytes, the same as overlapping eights, edges of words, how many bytes a cut word carried over, and the
    bytes of a chunk, each folded for itself."""

    out: npt.NDArray[np.uint8]
    out_wide: npt.NDArray[np.uint64]
    edges: npt.NDArray[np.uint64]
    carried: npt.NDArray[np.int64]
    lanes: npt.NDArray[np.uint8]


def fold_room(size: int) -> FoldRoom:
    """Room to fold text whose longest word has some ``size`` bytes at most."""
    out = np.empty(size, np.uint8)
    edges, lanes = np.empty(size + 64, np.uint64), np.empty(CHUNK + 256, np.uint8)
    return FoldRoom(out, wide(out), edges, np.zeros(1, np.int64), lanes)


FOLD_ROOM = FOLDED + (1 << 14)  # a chunk at its largest, and the word that the one before cut


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
    if not len(raw):
        return Scanned([], total)
    spans = Spans(pages, scratch)
    pieces = _pieces(index, raw)
    edges = spans.of(pieces.found[:, (0, 2, 3)])
    found = [
        Run(item, document, first, last, start, end, 1.0, False)
        for (document, item, _, _, first, last), (start, end) in zip(
            pieces.found.tolist(), edges.tolist(), strict=True
        )
    ]
    found += _sentences(index, pieces, _likely(index, raw, pieces, spans), spans, align_from)
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
            scratch.places,
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
    found = _pieces(index, raw).found
    return WordRuns([WordRun(*piece) for piece in found[:, [1, 4, 5]].tolist()], total)


class _Pieces(NamedTuple):
    """Words [at, until) of a document that are words [first, last) of an item.

    Attributes:
        rows: (document, item, at, until, first, last), sorted, as the kernel gave them; ``places``: where the first
            of their words stands in the sequences.
        found: the same, those that go on from one another made one, without those that do not count.
    """

    rows: Rows
    places: Rows
    found: Rows


def _pieces(index: ItemIndex, raw: Rows) -> _Pieces:
    """The runs among the kernel's rows, without those that another of the item covers."""
    raw = raw[raw[:, 2] >= 0]
    number = np.searchsorted(index.begins, raw[:, 3], side="right") - 1
    owners = index.owners[number].astype(np.int64)
    first, last = item_words(index, raw[:, 3], raw[:, 2] - raw[:, 1])
    # Of two readings of the same words (is "a" a letter or a word?) the one with more of the item comes first.
    order = np.lexsort((first, first - last, -raw[:, 2], raw[:, 1], owners, raw[:, 0]))
    rows = np.column_stack([raw[:, 0], owners, raw[:, 1], raw[:, 2], first, last])[order]
    if not len(rows):
        return _Pieces(rows, raw[:, 3], rows)
    group = np.cumsum(np.r_[True, (rows[1:, :2] != rows[:-1, :2]).any(axis=1)])
    # Document words are far fewer than 2^40: one running maximum serves all groups.
    until = rows[:, 3] + (group << 40)
    is_kept = until > np.r_[-1, np.maximum.accumulate(until)[:-1]]
    rows, order = rows[is_kept], order[is_kept]
    sheets = index.sheets
    # What each sequence needs stands in front of it: eight words, or a shorter item whole.
    needs = index.table.base[index.begins[number[order]] - 1].astype(np.int64)
    heads = sheets.word_of_field[sheets.field_of_item[rows[:, 1]]]
    found = np.empty_like(rows)
    made = joined(rows, needs, heads, sheets.lettered, found)
    return _Pieces(rows, raw[order, 3], found[:made])


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


class _Likely(NamedTuple):
    """A rarest sentence that seems to stand in a document.

    Attributes:
        first: its first word in the item; ``size``: its words.
        at: the word of the document where it begins, if runs cover it; else ABSENT or UNSURE, see
            :func:`lacre.overlap.gathered.whole_sentences`.
        length: the words of the document.
        begin, end: the runs of the item in the document.
        places: the words of the document where it may begin, rising.
    """

    document: int
    item: int
    first: int
    size: int
    at: int
    length: int
    begin: int
    end: int
    places: list[int]


def _likely(index: ItemIndex, raw: Rows, pieces: _Pieces, spans: Spans) -> list[_Likely]:
    """The sentences among the kernel's rows, by document and item."""
    raw = raw[raw[:, 2] < 0]
    if not len(raw):
        return []
    owners = index.owners[np.searchsorted(index.begins, raw[:, 3], side="right") - 1].astype(np.int64)
    rows = np.column_stack([raw[:, 0], owners, raw[:, 1]])[np.lexsort((raw[:, 1], owners, raw[:, 0]))]
    begins = np.flatnonzero(np.r_[True, (rows[1:, :2] != rows[:-1, :2]).any(axis=1)])
    documents, items = rows[begins, 0], rows[begins, 1]
    sheets = index.sheets
    sentences = [index.sentences[item] for item in items.tolist()]
    edges = np.array([(s.first, s.last) for s in sentences if s is not None], np.int64)
    wanted = np.column_stack(
        [
            edges[:, 0] - sheets.word_of_field[sheets.field_of_item[items]],
            edges[:, 0],
            edges[:, 1] - edges[:, 0],
            spans.sizes(documents),
            *_range(pieces.found, documents, items),
            *_range(pieces.rows, documents, items),
        ]
    )
    at = np.empty(len(wanted), np.int64)
    every, bounds = rows[:, 2].tolist(), [*begins.tolist(), len(rows)]
    places = [every[low:high] for low, high in pairwise(bounds)]
    whole_sentences(wanted, pieces.found, pieces.rows, pieces.places, index.table.sequence, sheets.hashes, at)
    columns = (documents, items, wanted[:, 0], wanted[:, 2], at, wanted[:, 3], wanted[:, 4], wanted[:, 5])
    return [_Likely(*row) for row in zip(*(column.tolist() for column in columns), places, strict=True)]


def _range(rows: Rows, documents: Rows, items: Rows) -> tuple[Rows, Rows]:
    """First and one past the last of the sorted rows of each (document, item)."""
    keys, wanted = rows[:, 0] << 32 | rows[:, 1], documents << 32 | items
    return np.searchsorted(keys, wanted), np.searchsorted(keys, wanted, side="right")


def _sentences(
    index: ItemIndex, pieces: _Pieces, likely: Sequence[_Likely], spans: Spans, align_from: float
) -> list[Run]:
    """The rarest sentences that stand in the documents: word by word, or else aligned."""
    if not likely:
        return []
    likely = [_looked_at(index, pieces, one, spans) if one.at == UNSURE else one for one in likely]
    whole = [one for one in likely if one.at >= 0]
    edges = np.array([(one.document, one.at, one.at + one.size) for one in whole], np.int64)
    found = [
        Run(one.item, one.document, one.first, one.first + one.size, start, end, 1.0, True)
        for one, (start, end) in zip(whole, spans.of(edges.reshape(-1, 3)).tolist(), strict=True)
    ]
    return found + _aligned(index, [one for one in likely if one.at == ABSENT], spans, align_from)


def _looked_at(index: ItemIndex, pieces: _Pieces, one: _Likely, spans: Spans) -> _Likely:
    """The same with the word where the sentence begins, where the words say so."""
    sentence = index.sentences[one.item]
    for _, _, at, _, first, last in pieces.found[one.begin : one.end].tolist():
        begin = at + one.first - first
        if first > one.first or one.first + one.size > last or begin + one.size > one.length:
            continue
        starts, ends, _ = spans.words(np.array([[one.document, begin, begin + one.size]], np.int64))
        folded = _folded(spans.pages, one.document, starts.tolist(), ends.tolist())
        if sentence is not None and " ".join(folded) == sentence.folded:
            return one._replace(at=begin)
    return one._replace(at=ABSENT)


def _folded(pages: Buffers, document: int, starts: list[int], ends: list[int]) -> list[str]:
    """The folded forms of neighbouring words of a document."""
    low, shift = int(pages.offsets[document]), starts[0]
    content = pages.data[low + shift : low + ends[-1]].tobytes()
    return [fold_word(content[start - shift : end - shift]) for start, end in zip(starts, ends, strict=True)]


def _aligned(index: ItemIndex, likely: Sequence[_Likely], spans: Spans, align_from: float) -> list[Run]:
    """The sentences that align well enough; of those of an item that lie over each other the best."""
    windows = [(one, low, high) for one in likely for low, high in _windows(one)]
    if not windows:
        return []
    wanted = np.array([(one.document, low, high) for one, low, high in windows], np.int64)
    starts, ends, begins = (column.tolist() for column in spans.words(wanted))
    found: dict[tuple[int, int], list[Run]] = defaultdict(list)
    for (one, low, high), begin in zip(windows, begins, strict=True):
        here = slice(begin, begin + high - low)
        folded = _folded(spans.pages, one.document, starts[here], ends[here])
        fit = _fit(index.sentences[one.item], folded)
        if fit is not None and fit.score >= align_from:
            start, end = starts[begin + fit.first], ends[begin + fit.last - 1]
            found[one.document, one.item].append(
                Run(one.item, one.document, one.first, one.first + one.size, start, end, fit.score, True)
            )
    return [run for together in found.values() for run in _apart(together)]


def _windows(one: _Likely) -> Iterator[tuple[int, int]]:
    """Words [low, high) about where a sentence may stand, without those that the alignment before reaches."""
    reached = -1
    for at in one.places:
        if at > reached:
            yield max(0, at - MARGIN), min(one.length, at + one.size + MARGIN)
            reached = at + MARGIN // 2


class _Fit(NamedTuple):
    """How alike a sentence and words [first, last) of some are, 0 to 1."""

    score: float
    first: int
    last: int


def _fit(sentence: Sentence | None, folded: list[str]) -> _Fit | None:
    """Where among the words the sentence fits best."""
    if sentence is None:
        return None
    found = align(sentence.folded, " ".join(folded))
    edges = list(accumulate((len(word) + 1 for word in folded), initial=0))
    first = bisect_right(edges, found.start) - 1
    last = min(bisect_left(edges, found.end), len(folded))
    return _Fit(round(found.score, 4), first, last) if first < last else None


def _apart(found: Iterable[Run]) -> list[Run]:
    """The best of runs that lie over each other."""
    kept: list[Run] = []
    for run in sorted(found, key=lambda run: (-run.score, run.item, run.start)):
        if not any(run.item == k.item and run.start < k.end and k.start < run.end for k in kept):
            kept.append(run)
    return kept


@lru_cache(maxsize=1 << 14)
def fold_word(source: bytes) -> str:
    """The folded form of one word as written, in UTF-8."""
    return "".join(word.folded for word in words(source.decode("utf-8", "replace")))


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
