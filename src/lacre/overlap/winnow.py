"""Winnowed fingerprints of a corpus, and the grams of the items that are looked up among them (SPEC X1).

A *gram* is eight words in a row. Of every few neighbouring grams of a document the one with the least hash is
kept, as its *fingerprint*: a hash of 44 bits, with the number of the block of text it stands in. Any run of ten
words holds at least one, whatever stands around it (Schleimer, Wilkerson and Aiken 2003). What items and documents
are compared by is :func:`lacre.overlap.kernel.grams_of`, on the words of :func:`lacre.text.words`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from lacre.overlap.kernel import BLOCK_BITS, GRAM, PAD, fingerprints, grams_of, moved, parted
from lacre.overlap.runs import FOLD_ROOM, buffers, fold_room
from lacre.overlap.sheets import wide
from lacre.overlap.table import fold_table

if TYPE_CHECKING:
    import pyarrow as pa

    from lacre.overlap.index import Table

WINDOW = 3
"""Neighbouring grams of which one is kept. Thirteen words of an item may be ten of a document that lost its accents:
with this window those leave a fingerprint too, so that whatever drops by 13 words in a row is found."""
REACH = GRAM + WINDOW - 1
"""Words: every run of so many in a row leaves a fingerprint."""
MOST_BLOCKS = 1 << BLOCK_BITS

_MASK = np.uint64((1 << 64) - (1 << BLOCK_BITS))
PART_BITS = 8
PARTS = 1 << PART_BITS
"""Fingerprints are put in order part by part, by their highest bits."""

_FIRST_SLOTS = 1 << 16
_HEAP = 1 << 17  # fingerprints that are parted at a time, so that they stay in the near cache

Values = npt.NDArray[np.uint64]


class Run(NamedTuple):
    """Fingerprints in heaps, each in the order of its parts and unsorted within them.

    Part ``k`` of heap ``h`` is ``values[starts[h, k] : starts[h, k + 1]]``; ``starts`` is of shape (heaps, PARTS + 1).
    """

    values: Values
    starts: npt.NDArray[np.int64]


def run_of(values: Values) -> Run:
    """Fingerprints, brought into the order of their parts, heap by heap.

    >>> run_of(np.array([2**63, 5, 2**54], np.uint64)).values.tolist() == [5, 2**54, 2**63]
    True
    """
    starts = np.zeros((-(-values.size // _HEAP), PARTS + 1), np.int64)
    out = np.empty_like(values)
    for heap in range(starts.shape[0]):
        first = heap * _HEAP
        parted(values[first : first + _HEAP], 64 - PART_BITS, starts[heap], out[first:])
        starts[heap] += first
    return Run(out, starts)


class Vocabulary(NamedTuple):
    """Words by hash, rising: how often each stands in the part of a text that is counted, one word in eight, and in
    how many documents."""

    words: Values
    counts: Values
    documents: Values


class Fingerprints(NamedTuple):
    """What was kept of some text.

    Attributes:
        runs: hashes, the block in the low ``BLOCK_BITS`` of each, as runs that follow one another.
        gaps: how often two kept grams stand so many grams apart, shape (WINDOW + 1,).
        vocabulary: the words.
    """

    runs: tuple[Run, ...]
    gaps: npt.NDArray[np.int64]
    vocabulary: Vocabulary


class Winnow:
    """What one thread keeps of the batches that it is given, with the memory it works in."""

    def __init__(self) -> None:
        self.room = fold_room(FOLD_ROOM)
        self.words: Values = np.empty(1 << 16, np.uint64)
        self.out: Values = np.empty(0, np.uint64)
        self._begin()

    def _begin(self) -> None:
        self.kept: list[Run] = []
        self.size = self.made = 0
        self.gaps = np.zeros(WINDOW + 1, np.int64)
        self.table: Values = np.zeros((_FIRST_SLOTS, 4), np.uint64)
        self.used = np.zeros(3, np.int64)

    def add(self, text: pa.LargeStringArray, numbers: npt.NDArray[np.int64], block: int) -> int:
        """Take in a batch whose pieces belong to the documents ``numbers``; how many words it has."""
        pages = buffers(text)
        if not len(text):
            return 0
        bytes_of = np.diff(pages.offsets)
        room = 2 * int(bytes_of.max()) + PAD + 128
        if self.words.size < room:
            self.words = np.empty(room, np.uint64)
        room = self.made + 2 * int(bytes_of.sum()) + len(text) + 1
        if self.out.size < room:
            self._part()
            # A character may open to several words: the system hands out only what is written to.
            self.out = np.empty(room + 2 * _HEAP, np.uint64)
        before, total, done = self.made, 0, 0
        while done < len(text):
            self.made, words, done = fingerprints(
                pages.data,
                wide(pages.data),
                pages.offsets,
                numbers,
                done,
                tuple(fold_table()),
                tuple(self.room),
                self.words,
                block,
                self.out,
                self.made,
                self.gaps,
                self.table,
                self.used,
            )
            total += words
            if done < len(text):
                self._grow()
        self.size += self.made - before
        if self.made >= _HEAP:
            self._part()
        return total

    def _part(self) -> None:
        """Part what was kept since the last time, while it is near."""
        if self.made:
            self.kept.append(run_of(self.out[: self.made]))
            self.made = 0

    def _grow(self) -> None:
        """More room where it was lacking."""
        if 4 * int(self.used[0]) >= 3 * self.table.shape[0]:
            larger = np.zeros((2 * self.table.shape[0], 4), np.uint64)
            moved(self.table, larger)
            self.table = larger
        else:
            self.room = fold_room(2 * self.room.out.size)

    def taken(self) -> Fingerprints:
        """All that was kept so far; the winnow is empty afterwards."""
        rows = self.table[self.table[:, 0] != 0]
        rows = rows[np.argsort(rows[:, 0])]
        self._part()
        found = Fingerprints(
            tuple(self.kept),
            self.gaps,
            Vocabulary(rows[:, 0].copy(), rows[:, 1].copy(), rows[:, 2].copy()),
        )
        self._begin()
        return found


def added(parts: list[Vocabulary]) -> Vocabulary:
    """Several vocabularies as one; a document counts for each of them that has words of it.

    >>> one = Vocabulary(*(np.array([k], np.uint64) for k in (7, 2, 1)))
    >>> [column.tolist() for column in added([one, one])]
    [[7], [4], [2]]
    """
    if not parts:
        return Vocabulary(*(np.zeros(0, np.uint64) for _ in range(3)))
    words = np.concatenate([part.words for part in parts])
    order = np.argsort(words, kind="stable")
    words = words[order]
    first = np.flatnonzero(np.r_[True, words[1:] != words[:-1]][: words.size])
    sums = (
        np.add.reduceat(np.concatenate(column)[order], first) if first.size else np.zeros(0, np.uint64)
        for column in ([part.counts for part in parts], [part.documents for part in parts])
    )
    return Vocabulary(words[first], *sums)


class ItemGrams(NamedTuple):
    """The grams of items: hashes, rising, each once; and for each place where one begins, which, and where.

    Attributes:
        hashes: with zeros for the block, shape (grams,).
        which: for every place of the items' sequences at which a gram begins, its number in ``hashes``.
        places: those places, rising.
    """

    hashes: Values
    which: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]


def item_grams(table: Table) -> ItemGrams:
    """The grams of all sequences of an items' index: every form of the items, option letters and variants too."""
    sequence = table.sequence
    # The kernel takes 32 bits of each word, which is what a sequence keeps of it.
    words = sequence.astype(np.uint64) << np.uint64(32)
    grams = np.empty(max(0, words.size - GRAM + 1), np.uint64)
    grams_of(words, 0, words.size, grams)
    ends = np.concatenate([[0], np.cumsum(sequence == 0)])
    # No gram reaches over the mark between two sequences.
    places = np.flatnonzero(ends[GRAM:] == ends[: ends.size - GRAM]) if grams.size else np.zeros(0, np.int64)
    hashes, which = np.unique(grams[places] & _MASK, return_inverse=True)
    return ItemGrams(hashes, which.astype(np.int64), places)


def reach(gaps: npt.NDArray[np.int64], words: int) -> float:
    """The share of runs of ``words`` words that leave a fingerprint, 0 to 1, by the gaps that were counted.

    A run of m words begins m - 7 grams; it leaves none when they all lie between two kept ones. Where nothing was
    counted the gaps are those of random text, all three as frequent.

    >>> gaps = np.array([0, 1, 1, 1])
    >>> [round(reach(gaps, words), 2) for words in (7, 8, 9, 10)]
    [0.0, 0.5, 0.83, 1.0]
    """
    grams = words - GRAM + 1
    sizes = np.arange(gaps.size)
    if grams <= 0:
        return 0.0
    if not gaps.any():
        gaps = np.minimum(sizes, 1)
    total = int((gaps * sizes).sum())
    return 1.0 - float((gaps * np.maximum(0, sizes - grams)).sum()) / total


def sentence_reach(gaps: npt.NDArray[np.int64], words: int) -> float:
    """The share of sentences of ``words`` words, one of them changed, that leave a fingerprint, 0 to 1.

    Averaged over which word it is; what is left on either side is a run, found or not whatever the other is.

    >>> gaps = np.array([0, 1, 1, 1])
    >>> round(sentence_reach(gaps, 16), 2), sentence_reach(gaps, 21)
    (0.92, 1.0)
    """
    missed = [(1 - reach(gaps, k)) * (1 - reach(gaps, words - 1 - k)) for k in range(words)]
    return 1.0 - sum(missed) / len(missed)
