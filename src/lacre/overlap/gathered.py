"""What a match is put together from, in compiled loops that let go of the interpreter's lock: thousands at a time.

This file calls nothing compiled elsewhere, for numba keeps what it compiled by the file that it is in, and would not
see a change in another.
"""

# numba infers types; what it compiles a tracer cannot see: the tests hold it to plain Python instead.
# mypy: disable-error-code="untyped-decorator"
# ruff: noqa: PLR0917

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

LOOK_BACK = 8  # pieces before, of which one may go on in the next


@njit(cache=True, nogil=True, boundscheck=False)
def joined(
    pieces: Any, needs: Any, heads: Any, lettered: Any, out: Any
) -> int:  # pragma: no cover - compiled
    """Make pieces that go on from one another, in the document and in the item, one; keep those that count.

    A piece is (document, item, word of the document, one past its last, word of the item, one past its last); they
    come sorted. One counts that has ``needs`` words of its item, whose words begin at ``heads`` of the sheets, and a
    letter in it. Returns how many were put in ``out``.
    """
    made = kept = begun = 0
    for k in range(pieces.shape[0]):
        if k > 0 and (pieces[k, 0] != pieces[k - 1, 0] or pieces[k, 1] != pieces[k - 1, 1]):
            kept = _counting(out, begun, made, kept, needs[k - 1], heads[k - 1], lettered)
            # What counts is moved to the front; the next group begins behind it.
            begun = made = kept
        _, _, at, until, first, last = pieces[k]
        other = made - 1
        least = max(begun, made - LOOK_BACK)
        while other >= least and not (
            at <= out[other, 3] and out[other, 4] <= first <= out[other, 5] and last > out[other, 5]
        ):
            other -= 1
        if other >= least:
            out[other, 3] = max(out[other, 3], until)
            out[other, 5] = last
        else:
            out[made] = pieces[k]
            made += 1
    if pieces.shape[0]:
        k = pieces.shape[0]
        kept = _counting(out, begun, made, kept, needs[k - 1], heads[k - 1], lettered)
    return kept


@njit(cache=True, nogil=True, boundscheck=False)
def _counting(  # pragma: no cover - compiled
    out: Any, begun: Any, made: Any, kept: Any, need: Any, head: Any, lettered: Any
) -> Any:
    """Move those of ``out[begun:made]`` that count to ``out[kept:]``; returns one past the last of them."""
    for k in range(begun, made):
        first, last = out[k, 4], out[k, 5]
        if last - first < need:
            continue
        for word in range(head + first, head + last):
            if lettered[word]:
                out[kept] = out[k]
                kept += 1
                break
    return kept


@njit(cache=True, nogil=True, boundscheck=False)
def short(word: Any) -> Any:  # pragma: no cover - compiled
    """The 32 bits of a word's hash that the items' sequences keep, as in the kernel."""
    return max(np.uint32(word >> np.uint64(32)), np.uint32(1))


ABSENT, UNSURE = -1, -2


@njit(cache=True, nogil=True, boundscheck=False)
def whole_sentences(  # pragma: no cover - compiled
    wanted: Any, found: Any, rows: Any, places: Any, sequence: Any, hashes: Any, at_words: Any
) -> None:
    """Where sentences stand that runs cover word by word.

    ``wanted``: for each sentence (its first word in the item, its first word in the sheets, its words, the words of
    the document, first and one past the last of the ``found`` runs of that item in that document, the same of the
    ``rows`` that the runs were made of). ``places`` are the rows' places in ``sequence``.
    Each of ``at_words`` becomes a word of the document, ABSENT where no run covers the sentence, or UNSURE where one
    does but its words must be looked at: option letters and joined compounds shift the words behind them.
    """
    for k in range(wanted.shape[0]):
        first, word, size, length, begin, end, head, tail = wanted[k]
        at_words[k] = ABSENT
        for run in range(begin, end):
            at = found[run, 2] + first - found[run, 4]
            if found[run, 4] > first or first + size > found[run, 5] or at + size > length:
                continue
            at_words[k] = UNSURE
            for row in range(head, tail):
                if rows[row, 2] <= at and at + size <= rows[row, 3]:
                    place = places[row] + at - rows[row, 2]
                    equal = 0
                    while equal < size and sequence[place + equal] == short(hashes[word + equal]):
                        equal += 1
                    if equal == size:
                        at_words[k] = at
                        break
            break
