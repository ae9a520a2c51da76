"""Where the words of a text stand, without their hashes: several times as fast as the kernel's own spans.

This file calls nothing compiled elsewhere, for numba keeps what it compiled by the file that it is in, and would not
see a change in another. What is rare, such as a soft hyphen at a line break, is left to the kernel.
"""

# numba infers types; what it compiles a tracer cannot see, and the tests hold it to the kernel instead.
# mypy: disable-error-code="untyped-decorator"
# ruff: noqa: PLR0912, PLR0915, PLR0917

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_LATIN_OTHER = 255
# As in lacre.overlap.table, in signed numbers.
_LETTER = 1 << 21
_SPECIAL = _VANISH = 1 << 31
_HYPHEN = 1 << 31 | 1
_OPENS = 1 << 31 | 1 << 30


@njit(cache=True, nogil=True, boundscheck=False)
def code_point(buf: Any, at: Any, end: Any) -> Any:  # pragma: no cover - compiled
    """The code point at ``at`` and the byte behind it; -1 where it is broken."""
    lead = int(buf[at])
    if lead < 0x80:
        return lead, at + 1
    if 0xC2 <= lead < 0xE0 and at + 1 < end:
        return (lead & 31) << 6 | (int(buf[at + 1]) & 63), at + 2
    if 0xE0 <= lead < 0xF0 and at + 2 < end:
        return (lead & 15) << 12 | (int(buf[at + 1]) & 63) << 6 | (int(buf[at + 2]) & 63), at + 3
    if 0xF0 <= lead < 0xF4 and at + 3 < end:
        point = (lead & 7) << 18 | (int(buf[at + 1]) & 63) << 12
        return point | (int(buf[at + 2]) & 63) << 6 | (int(buf[at + 3]) & 63), at + 4
    return -1, at + 1


@njit(cache=True, nogil=True, boundscheck=False)
def letter(buf: Any, at: Any, end: Any, entries: Any) -> Any:  # pragma: no cover - compiled
    """Whether a letter stands at ``at``: 1, 0, or -1 where that is not easily told."""
    point, _ = code_point(buf, at, end)
    if point < 0:
        return -1
    entry = int(entries[point])
    if entry >= _SPECIAL:
        return 0 if entry == _HYPHEN else -1
    return int(entry & _LETTER != 0)


@njit(cache=True, nogil=True, boundscheck=False)
def after_hyphen(buf: Any, low: Any, at: Any, end: Any, entries: Any) -> Any:  # pragma: no cover - compiled
    """Where a word goes on after the plain hyphen at ``at`` of a document from ``low`` to ``end``.

    -1 where it ends there, -2 where that is not easily told.
    """
    k = at + 1
    while k < end and (buf[k] == 0x20 or buf[k] == 0x09):
        k += 1
    if k >= end:
        return -1
    byte = buf[k]
    if byte == 0xE2 or (byte == 0xC2 and k + 1 < end and buf[k + 1] == 0xA0):
        return -2  # a line separator perhaps, or a no-break space
    if not 0x0A <= byte <= 0x0D:
        return -1
    k += 1
    if byte == 0x0D and k < end and buf[k] == 0x0A:
        k += 1
    while k < end and (buf[k] == 0x20 or buf[k] == 0x09 or buf[k] == 0x0C):
        k += 1
    if k >= end or at == low:
        return -1
    if buf[k] == 0xC2 and k + 1 < end and buf[k + 1] == 0xA0:
        return -2
    before = at - 1
    while before > low and buf[before] & 0xC0 == 0x80:
        before -= 1
    ahead, behind = letter(buf, k, end, entries), letter(buf, before, end, entries)
    if ahead < 0 or behind < 0:
        return -2
    return k if ahead and behind else -1


@njit(cache=True, nogil=True, boundscheck=False)
def word_places(  # pragma: no cover - compiled
    buf: Any, low: Any, at: Any, stop: Any, end: Any, folding: Any, starts: Any, ends: Any
) -> int:
    """Byte span, relative to ``low``, of every word of ``buf[at:stop]`` in the document ``buf[low:end]``.

    The same spans as :func:`lacre.overlap.kernel.spans_between`. ``starts`` and ``ends`` need room for twice the bytes
    and 64 more. Returns the number of words, or -1 where the kernel must be asked.
    """
    latin, entries, parts = folding
    count = 0
    inside = False
    last = at
    while at < stop:
        here = at
        byte = buf[at]
        if byte < 0x80 and byte != 0x2D:
            at += 1
            if latin[byte] == _LATIN_OTHER:
                return -1
            is_letter = latin[byte] != 0
        elif byte == 0x2D:
            on = after_hyphen(buf, low, at, end, entries)
            if on == -2:
                return -1
            if on >= 0:
                at = on
                continue
            at += 1
            is_letter = False
        else:
            point, at = code_point(buf, at, end)
            if point < 0:
                return -1
            entry = int(entries[point])
            if entry == _VANISH:
                continue
            if entry >= _OPENS:
                first = entry - _OPENS + 1
                for k in range(first, first + int(parts[first - 1]) - 1):
                    if parts[k] != 0:
                        if not inside:
                            starts[count] = here - low
                        inside = True
                        last = at
                    elif inside:
                        ends[count] = last - low
                        count += 1
                        inside = False
                is_letter = parts[first + int(parts[first - 1]) - 1] != 0
            elif entry >= _SPECIAL:
                return -1
            else:
                is_letter = entry != 0
        if is_letter:
            if not inside:
                starts[count] = here - low
            inside = True
            last = at
        elif inside:
            ends[count] = last - low
            count += 1
            inside = False
    if inside:
        ends[count] = last - low
        count += 1
    return count


@njit(cache=True, nogil=True, boundscheck=False)
def _first_not_below(values: Any, low: Any, high: Any, wanted: Any) -> Any:  # pragma: no cover - compiled
    """The first of ``values[low:high]``, which rise, that is ``wanted`` or more; ``high`` where none is."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True, boundscheck=False)
def places_between(  # pragma: no cover - compiled
    buf: Any, offsets: Any, folding: Any, chunks: Any, heads: Any, wanted: Any, starts: Any, ends: Any
) -> None:
    """Byte spans, each in its document, of the words wanted.

    ``wanted``: rows (document, first word, one past the last), sorted; every row's words go behind those of the row
    before in ``starts`` and ``ends``. ``chunks`` and ``heads`` are as :func:`lacre.overlap.kernel.scan` leaves them.
    Where the kernel must be asked the starts are -1.
    """
    room_starts, room_ends = np.empty(1 << 13, np.int64), np.empty(1 << 13, np.int64)
    document = low = high = size = -1  # words [low, high) of the document are at hand
    out = 0
    for k in range(wanted.shape[0]):
        first, last = wanted[k, 1], wanted[k, 2]
        if wanted[k, 0] != document or first < low or last > high:
            document = wanted[k, 0]
            head, tail = heads[document], heads[document + 1]
            # A chunk may end inside a word: begin behind one that ends before the first word wanted.
            begin = max(head, _first_not_below(chunks[1], head, tail, first) - 1)
            finish = min(_first_not_below(chunks[1], head, tail, last), tail - 1)
            at, stop = chunks[0, begin], chunks[0, finish]
            room = 2 * (stop - at) + 128
            if room > room_starts.size:
                room_starts, room_ends = np.empty(room, np.int64), np.empty(room, np.int64)
            size = word_places(
                buf, offsets[document], at, stop, offsets[document + 1], folding, room_starts, room_ends
            )
            # Numbered from the end, where a word may be cut: one cut at the beginning may have nothing left
            # behind the cut.
            high = chunks[1, finish]
            low = high + chunks[2, finish] - size
        if size < 0:
            starts[out : out + last - first] = -1
            document = -1
        else:
            starts[out : out + last - first] = room_starts[first - low : last - low]
            ends[out : out + last - first] = room_ends[first - low : last - low]
        out += last - first
