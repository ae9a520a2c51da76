"""Runs of words that a batch of documents has in common with the items, and their rarest sentences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from lacre.overlap.kernel import scan
from lacre.overlap.rarest import align
from lacre.overlap.sheets import TextWords, words_of_buffer
from lacre.overlap.table import fold_table
from lacre.text import exact, words

if TYPE_CHECKING:
    import pyarrow as pa

    from lacre.overlap.index import ItemIndex
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
        exact: accents agree too.
        sentence: whether this is the rarest sentence, aligned.
    """

    item: int
    document: int
    first: int
    last: int
    start: int
    end: int
    score: float
    exact: bool
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
    places = np.frombuffer(offsets, np.int64)[text.offset : text.offset + len(text) + 1]
    return Buffers(np.frombuffer(data, np.uint8), places)


@dataclass
class Scratch:
    """Memory that one thread of a scan uses again for every batch."""

    words: npt.NDArray[np.uint64]
    hits: npt.NDArray[np.int64]
    runs: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    diagonals: npt.NDArray[np.int64]

    @classmethod
    def make(cls) -> Scratch:
        """Scratch memory for small batches; it grows with them."""
        return cls(
            words=np.empty(1 << 16, np.uint64),
            hits=np.empty((1 << 12, 2), np.int64),
            runs=np.empty((1 << 10, 4), np.int64),
            ends=np.zeros(4096, np.int64),
            diagonals=np.zeros(4096, np.int64),
        )


class Scanned(NamedTuple):
    """The runs of a batch, sorted, and the number of words read."""

    runs: list[Run]
    words: int


def runs(index: ItemIndex, text: pa.LargeStringArray, scratch: Scratch, *, align_from: float) -> Scanned:
    """All runs of eight words or more (or of a whole shorter item), and sentences aligned from ``align_from`` (0 to 1)."""
    pages = buffers(text)
    if not len(text):
        return Scanned([], 0)
    raw, total = _scan(index, pages, scratch)
    found: list[Run] = []
    for document, rows in _by_document(raw):
        page = Page(pages, document)
        found += _overlaps(index, page, rows)
        found += _sentences(index, page, rows, align_from)
    return Scanned(sorted(found), total)


def _scan(index: ItemIndex, pages: Buffers, scratch: Scratch) -> tuple[npt.NDArray[np.int64], int]:
    entries, parts = fold_table()
    room = 2 * int(np.diff(pages.offsets).max()) + 4096 + 128
    if scratch.words.size < room:
        scratch.words = np.empty(room, np.uint64)
    while True:
        made, hits, total = scan(
            pages.data,
            pages.offsets,
            entries,
            parts,
            tuple(index.table),
            scratch.words,
            scratch.hits,
            scratch.runs,
            scratch.ends,
            scratch.diagonals,
            LIKELY,
        )
        if hits <= scratch.hits.shape[0] and made <= scratch.runs.shape[0]:
            return scratch.runs[:made].copy(), total
        if hits > scratch.hits.shape[0]:
            scratch.hits = np.empty((2 * hits, 2), np.int64)
        if made > scratch.runs.shape[0]:
            scratch.runs = np.empty((2 * made, 4), np.int64)


def _by_document(raw: npt.NDArray[np.int64]) -> Iterable[tuple[int, npt.NDArray[np.int64]]]:
    cuts = np.flatnonzero(np.diff(raw[:, 0])) + 1
    for rows in np.split(raw, cuts):
        if rows.shape[0]:
            yield int(rows[0, 0]), rows


class Page:
    """One document of a batch with the spans of its words."""

    def __init__(self, pages: Buffers, document: int) -> None:
        self.document = document
        low, high = int(pages.offsets[document]), int(pages.offsets[document + 1])
        self.bytes = pages.data[low:high]
        self.words: TextWords = words_of_buffer(self.bytes, np.array([0, high - low], np.int64))

    def text(self, start: int, end: int) -> str:
        """The text between two byte offsets."""
        return self.bytes[start:end].tobytes().decode("utf-8", "replace")

    def span(self, first: int, last: int) -> tuple[int, int]:
        """The byte span of words [first, last)."""
        return int(self.words.starts[first]), int(self.words.ends[last - 1])


class _Piece(NamedTuple):
    """Words [at, until) of a document that are words [first, last) of an item."""

    at: int
    until: int
    first: int
    last: int


def _overlaps(index: ItemIndex, page: Page, rows: npt.NDArray[np.int64]) -> list[Run]:
    sheets = index.sheets
    pieces: dict[int, list[_Piece]] = defaultdict(list)
    for _, at, until, place in rows[rows[:, 2] >= 0].tolist():
        item = int(index.owners[np.searchsorted(index.begins, place, side="right") - 1])
        first, last = _item_words(index, place, until - at)
        pieces[item].append(_Piece(at, until, first, last))
    found = []
    for item, parts in pieces.items():
        low, _ = sheets.words_of(item)
        begin, finish = sheets.presented(item)
        need = min(8, finish - begin)
        for piece in _merged(parts):
            lettered = sheets.lettered[low + piece.first : low + piece.last].any()
            if piece.last - piece.first < need or not lettered:
                continue
            start, end = page.span(piece.at, piece.until)
            same = _same_accents(sheets, low + piece.first, low + piece.last, page.text(start, end))
            found.append(Run(item, page.document, piece.first, piece.last, start, end, 1.0, same, False))
    return found


def _item_words(index: ItemIndex, place: int, size: int) -> tuple[int, int]:
    """The words [first, last) of the item wholly covered by ``size`` places of a sequence."""
    base, sequence = index.table.base, index.table.sequence
    head, tail = int(base[place]), int(base[place + size - 1])
    first, last = head >> 1, (tail >> 1) + 1 - (tail & 1)
    if sequence[place - 1]:
        before = int(base[place - 1])
        if not head & 1 and before == head:
            first += 1
        elif not head & 1 and not before & 1 and first - (before >> 1) == 2:
            first -= 1
    if sequence[place + size] and not tail & 1 and int(base[place + size]) == tail:
        last -= 1
    return first, last


def _merged(pieces: list[_Piece]) -> list[_Piece]:
    """Pieces that go on from one another, in the document and in the item, made one; pieces inside others dropped."""
    merged: list[_Piece] = []
    for piece in sorted(pieces):
        for k in range(len(merged) - 1, max(-1, len(merged) - 9), -1):
            other = merged[k]
            goes_on = piece.at <= other.until and other.first <= piece.first <= other.last
            if goes_on and (piece.last > other.last) == (piece.until > other.until):
                merged[k] = _Piece(
                    other.at, max(other.until, piece.until), other.first, max(other.last, piece.last)
                )
                break
        else:
            merged.append(piece)
    return [
        piece
        for piece in merged
        if not any(
            other != piece
            and other.at <= piece.at
            and piece.until <= other.until
            and other.first <= piece.first
            and piece.last <= other.last
            for other in merged
        )
    ]


def _same_accents(sheets: Sheets, first: int, last: int, text: str) -> bool:
    written = exact(text)
    return written in (_exact_words(sheets, first, last, False), _exact_words(sheets, first, last, True))


def _exact_words(sheets: Sheets, first: int, last: int, letters: bool) -> str:
    """The exact form of words [first, last) of the sheets, with or without option letters between fields."""
    forms = []
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


def _sentences(index: ItemIndex, page: Page, rows: npt.NDArray[np.int64], align_from: float) -> list[Run]:
    best: dict[tuple[int, int], Run] = {}
    for _, at, _, head in rows[rows[:, 2] < 0].tolist():
        item = int(index.owners[np.searchsorted(index.begins, head, side="right") - 1])
        run = _aligned(index, page, item, at)
        if run is None or run.score < align_from:
            continue
        key = (item, run.start // 64)
        if key not in best or run.score > best[key].score:
            best[key] = run
    return _apart(best.values())


def _apart(found: Iterable[Run]) -> list[Run]:
    """The best of runs that lie over each other."""
    kept: list[Run] = []
    for run in sorted(found, key=lambda run: (-run.score, run.item, run.start)):
        if not any(run.item == k.item and run.start < k.end and k.start < run.end for k in kept):
            kept.append(run)
    return kept


def _aligned(index: ItemIndex, page: Page, item: int, at: int) -> Run | None:
    sentence = index.sentences[item]
    if sentence is None:
        return None
    size = sentence.last - sentence.first
    low = max(0, at - MARGIN)
    high = min(page.words.hashes.size, at + size + MARGIN)
    folded = [_fold_words(page.text(*page.span(k, k + 1))) for k in range(low, high)]
    found = align(sentence.folded, " ".join(folded))
    edges = np.cumsum([0, *(len(word) + 1 for word in folded)])
    first = int(np.searchsorted(edges, found.start, side="right")) - 1
    last = min(int(np.searchsorted(edges, found.end, side="left")), len(folded))
    if last <= first:
        return None
    start, end = page.span(low + first, low + last)
    head = index.sheets.words_of(item)[0]
    same = _same_accents(index.sheets, sentence.first, sentence.last, page.text(start, end))
    return Run(
        item,
        page.document,
        sentence.first - head,
        sentence.last - head,
        start,
        end,
        round(found.score, 4),
        same,
        True,
    )


@lru_cache(maxsize=65536)
def _fold_words(source: str) -> str:
    return "".join(word.folded for word in words(source))


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
