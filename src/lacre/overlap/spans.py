"""Where the words of a batch stand that a scan found something in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lacre.overlap.kernel import GROWTH, spans_between
from lacre.overlap.places import places_between
from lacre.overlap.sheets import wide
from lacre.overlap.table import fold_table

if TYPE_CHECKING:
    from lacre.overlap.runs import Buffers, Scratch

Rows = npt.NDArray[np.int64]


class Spans:
    """Byte spans of the words of a batch; ``scratch`` must be as the scan of the batch left it.

    Spans cost several times the reading itself, so only the steps around a match are read for them: the scan noted
    which word each ends in.
    """

    def __init__(self, pages: Buffers, scratch: Scratch) -> None:
        self.pages = pages
        self.scratch = scratch

    def sizes(self, documents: Rows) -> Rows:
        """How many words each of the documents has."""
        counts: Rows = self.scratch.chunks[1, self.scratch.heads[documents + 1] - 1]
        return counts

    def of(self, wanted: Rows) -> Rows:
        """(start, end) of the words of each row (document, first, one past the last), in any order."""
        # Only the first word and the last of each are read: what lies between may be long.
        size = len(wanted)
        edges = np.empty((2 * size, 3), np.int64)
        edges[:size, 0] = edges[size:, 0] = wanted[:, 0]
        edges[:size, 1], edges[size:, 1] = wanted[:, 1], wanted[:, 2] - 1
        edges[:, 2] = edges[:, 1] + 1
        starts, ends, places = self.words(edges)
        return np.column_stack([starts[places[:size]], ends[places[size:]]])

    def words(self, wanted: Rows) -> tuple[Rows, Rows, Rows]:
        """Starts and ends of the words of each row (document, first, one past the last), in any order.

        Also where each row's words begin among them.
        """
        order = np.argsort(wanted[:, 0] << 40 | wanted[:, 1], kind="stable")
        wanted = wanted[order]
        sizes = wanted[:, 2] - wanted[:, 1]
        begins = np.cumsum(sizes) - sizes
        starts = np.empty(int(sizes.sum()), np.int64)
        ends = np.empty_like(starts)
        scratch, pages, folding = self.scratch, self.pages, tuple(fold_table())
        places_between(
            pages.data, pages.offsets, folding, scratch.chunks, scratch.heads, wanted, starts, ends
        )
        for row in np.flatnonzero(starts[begins] < 0).tolist():
            here = slice(begins[row], begins[row] + sizes[row])
            starts[here], ends[here] = self._by_kernel(*wanted[row].tolist())
        places = np.empty_like(begins)
        places[order] = begins
        return starts, ends, places

    def _by_kernel(self, document: int, first: int, last: int) -> tuple[Rows, Rows]:
        """Starts and ends of words [first, last), in text that has rare characters."""
        scratch, pages = self.scratch, self.pages
        places, counts, cut = scratch.chunks[:, scratch.heads[document] : scratch.heads[document + 1]]
        # As in places_between.
        begin = max(0, int(counts.searchsorted(first)) - 1)
        finish = min(int(counts.searchsorted(last)), len(counts) - 1)
        at, stop = int(places[begin]), int(places[finish])
        room = 2 * (stop - at) + 128
        starts, ends = np.empty(room, np.int64), np.empty(room, np.int64)
        words, letters = np.empty(room, np.uint64), np.empty(GROWTH * (stop - at) + 128, np.uint8)
        _, entries, parts = fold_table()
        count = spans_between(
            pages.data,
            np.uint64(pages.offsets[document]),
            np.uint64(at),
            np.uint64(stop),
            np.uint64(pages.offsets[document + 1]),
            entries,
            parts,
            letters,
            wide(letters),
            words,
            starts,
            ends,
            0,
        )
        shift = count - int(counts[finish] + cut[finish])
        return starts[first + shift : last + shift], ends[first + shift : last + shift]
