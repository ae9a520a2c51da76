"""Compiled loops over public bytes; what they are for stands in :mod:`lacre.release.survey`."""

# Compiled loops are long because a call inside them would cost more than their work; numba infers the types.
# ruff: noqa: PLR0912, PLR0917, PLR1714
# mypy: disable-error-code="no-any-return,return-value,assignment"

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from lacre.overlap.kernel import decode

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

U = np.uint64
BASIS, PRIME = U(0xCBF29CE484222325), U(0x100000001B3)  # FNV-1a (draft-eastlake-fnv)
NEAR = 512  # bytes on either side of something escaped that are read again: more than eight words
LEAST_BASE64 = (
    28  # characters in a row that may be base64: 21 bytes, fewer than any eight words with one of four
)
DIGITS = 32  # hex digits of a uuid


@njit(cache=True, nogil=True, boundscheck=False, inline="always")
def _hex(byte: np.uint8) -> int:  # pragma: no cover - compiled
    """The value of a hex digit, or -1."""
    if 48 <= byte <= 57:
        return np.int64(byte) - 48
    low = byte | 32
    if 97 <= low <= 102:
        return np.int64(low) - 87
    return -1


@njit(cache=True, nogil=True, boundscheck=False)
def _begins(buf: Bytes, at: int, end: int) -> bool:  # pragma: no cover - compiled
    """Whether something escaped, or a tag, begins at one of the special bytes."""
    b = buf[at]
    if at + 1 >= end:
        return False
    after = buf[at + 1]
    low = after | 32
    if b == 92:  # a backslash
        return low == 117 or low == 120 or (97 <= low <= 122) or 48 <= after <= 57 or after == 92
    if b == 60:  # <
        return 97 <= low <= 122 or after == 47 or after == 33 or after == 63
    if b == 38:  # &
        return 97 <= low <= 122 or after == 35
    if at + 2 >= end:
        return b == 61 and after == 10
    if b == 37:  # %
        return _hex(after) >= 0 and _hex(buf[at + 2]) >= 0
    if b == 61:  # =
        return (
            after == 10
            or (after == 13 and buf[at + 2] == 10)
            or (_hex(after) >= 8 and _hex(buf[at + 2]) >= 0)
        )
    return False


@njit(cache=True, nogil=True, boundscheck=False)
def _is_cpf(buf: Bytes, at: int, end: int) -> bool:  # pragma: no cover - compiled
    """Whether the dash at ``at`` is that of 000.000.000-00."""
    if at < 11 or at + 2 >= end or buf[at - 4] != 46 or buf[at - 8] != 46:
        return False
    for k in (1, 2, 3, 5, 6, 7, 9, 10, 11):
        if not 48 <= buf[at - k] <= 57:
            return False
    return 48 <= buf[at + 1] <= 57 and 48 <= buf[at + 2] <= 57


@njit(cache=True, nogil=True, boundscheck=False)
def encoded_loop(buf: Bytes, table: Bytes, encoded: Places) -> int:  # pragma: no cover - compiled
    """[start, end) of every run of base64, which may go on behind a line break; returns how many there are.

    A run that begins at ``at`` or later covers the byte at the distance of its least length, so that most bytes of
    other text are never looked at.
    """
    made, at, end = 0, U(0), U(buf.size)
    far = U(LEAST_BASE64 - 1)
    one = U(1)
    while at + far < end:
        place = at + far
        low = place + one
        while low > at and (
            table[buf[low - one]] & 2
            or (buf[low - one] <= 32 and _wraps(buf, table, np.int64(low - one), buf.size))
        ):
            low -= one
        if low > at:
            at = low
            continue
        last = place + one
        while last < end and (
            table[buf[last]] & 2 or (buf[last] <= 32 and _wraps(buf, table, np.int64(last), buf.size))
        ):
            last += one
        first = at
        while first < last and buf[first] <= 32:
            first += one
        stop = last
        while stop > first and buf[stop - one] <= 32:
            stop -= one
        if stop - first > far:
            if made < encoded.shape[0]:
                encoded[made, 0] = first
                encoded[made, 1] = stop
            made += 1
        at = last
    return made


@njit(cache=True, nogil=True, boundscheck=False)
def _wraps(buf: Bytes, table: Bytes, at: int | np.int64, end: int) -> bool:  # pragma: no cover - compiled
    """Whether a byte is a line break between two lines of base64, or a blank that indents the second."""
    b = buf[at]
    if b == 10:
        before = at - 2 if at > 0 and buf[at - 1] == 13 else at - 1
        return before >= 0 and table[buf[before]] & 2 != 0
    if b == 13:
        return at + 1 < end and buf[at + 1] == 10 and at > 0 and table[buf[at - 1]] & 2 != 0
    if b == 32 or b == 9:
        k = at
        while k > 0 and at - k < 16 and (buf[k] == 32 or buf[k] == 9):
            k -= 1
        return buf[k] == 10
    return False


BLOCK = 64  # bytes looked at together, which the compiler does in a few instructions


@njit(cache=True, nogil=True, boundscheck=False)
def _known(
    buf: Bytes, start: int, end: int, table: Bytes, hashes: Words, numbers: Places, marks: Places, marked: int
) -> int:  # pragma: no cover - compiled
    """Mark the known ids that begin at ``start``; returns how many marks there are then."""
    h, k = BASIS, start
    while k < end and table[buf[k]] & 1:
        h = (h ^ U(buf[k])) * PRIME
        k += 1
        if table[buf[k - 1]] & 8 and not (k < end and table[buf[k]] & 8):
            found = np.searchsorted(hashes, h)
            if found < hashes.size and hashes[found] == h:
                marked = _marked(marks, marked, 0, start, k, numbers[found])
    return marked


@njit(cache=True, nogil=True, boundscheck=False, inline="always")
def _marked(
    marks: Places, marked: int, kind: int, start: int, end: int, number: int
) -> int:  # pragma: no cover - compiled
    """Note a mark where there is room; returns how many there are then."""
    if marked < marks.shape[0]:
        marks[marked, 0] = kind
        marks[marked, 1] = start
        marks[marked, 2] = end
        marks[marked, 3] = number
    return marked + 1


@njit(cache=True, nogil=True, boundscheck=False, inline="always")
def _may_begin(buf: Bytes, at: int, end: int, bitmap: Words) -> bool:  # pragma: no cover - compiled
    """Whether a known id may begin here, by its first four bytes."""
    if at + 3 >= end:
        return False
    four = U(buf[at]) | U(buf[at + 1]) << U(8) | U(buf[at + 2]) << U(16) | U(buf[at + 3]) << U(24)
    key = (four * U(0x9E3779B1)) >> U(16) & U(0xFFFF)
    return bitmap[key >> U(6)] >> (key & U(63)) & U(1) != 0


@njit(cache=True, nogil=True, boundscheck=False)
def survey_loop(
    buf: Bytes, table: Bytes, bitmap: Words, hashes: Words, numbers: Places, escaped: Places, marks: Places
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Windows about what is escaped, and marks; returns how many there are of each. Ids are found by their digits."""
    end = buf.size
    windows, marked, seen = 0, 0, 0
    window, reach = -1, -1
    for block in range(0, end, BLOCK):
        stop = min(end, block + BLOCK)
        flags = np.uint8(0)
        for at in range(U(block), U(stop)):
            flags |= table[buf[at]]
        if not flags & 20:
            continue
        for at in range(block, stop):
            b = buf[at]
            c = table[b]
            if c & 16 and at >= seen:
                start = at
                while start > seen and table[buf[start - 1]] & 1:
                    start -= 1
                seen = at + 1
                while seen < end and table[buf[seen]] & 1:
                    seen += 1
                if start == at and seen - start == 11:
                    marked = _marked(marks, marked, 2, start, seen, -1)
                while start < at and not table[buf[start]] & 8:
                    start += 1
                if _may_begin(buf, start, end, bitmap):
                    marked = _known(buf, start, end, table, hashes, numbers, marks, marked)
            if not c & 4:
                continue
            if b == 64:
                if at > 0 and table[buf[at - 1]] & 1:
                    marked = _marked(marks, marked, 1, at, at + 1, -1)
            elif b == 45:
                if _is_cpf(buf, at, end):
                    marked = _marked(marks, marked, 3, at - 11, at + 3, -1)
            elif _begins(buf, at, end):
                if reach < 0 or at - NEAR > reach:
                    if reach >= 0:
                        if windows < escaped.shape[0]:
                            escaped[windows, 0] = window
                            escaped[windows, 1] = reach
                        windows += 1
                    window = max(0, at - NEAR)
                reach = min(end, at + NEAR)
    if reach >= 0:
        if windows < escaped.shape[0]:
            escaped[windows, 0] = window
            escaped[windows, 1] = reach
        windows += 1
    return windows, marked


@njit(cache=True, nogil=True, boundscheck=False)
def lettered_loop(
    buf: Bytes, table: Bytes, bitmap: Words, hashes: Words, numbers: Places, marks: Places, marked: int
) -> int:  # pragma: no cover - compiled
    """As the marks of ids above, for ids without a digit; returns how many marks there are then."""
    end = buf.size
    for at in range(end):
        if (
            table[buf[at]] & 8
            and (at == 0 or not table[buf[at - 1]] & 1)
            and _may_begin(buf, at, end, bitmap)
        ):
            marked = _known(buf, at, end, table, hashes, numbers, marks, marked)
    return marked


@njit(cache=True, nogil=True, boundscheck=False)
def _put(out: Bytes, q: int, point: int) -> int:  # pragma: no cover - compiled
    """Write a code point as UTF-8; half a surrogate pair becomes a blank."""
    if point < 0x80:
        out[q] = point
        return q + 1
    if point < 0x800:
        out[q] = 0xC0 | point >> 6
        out[q + 1] = 0x80 | point & 63
        return q + 2
    if 0xD800 <= point < 0xE000 or point >= 0x110000:
        out[q] = 32
        return q + 1
    if point < 0x10000:
        out[q] = 0xE0 | point >> 12
        out[q + 1] = 0x80 | point >> 6 & 63
        out[q + 2] = 0x80 | point & 63
        return q + 3
    out[q] = 0xF0 | point >> 18
    out[q + 1] = 0x80 | point >> 12 & 63
    out[q + 2] = 0x80 | point >> 6 & 63
    out[q + 3] = 0x80 | point & 63
    return q + 4


@njit(cache=True, nogil=True, boundscheck=False)
def _digits(buf: Bytes, at: int, end: int, count: int) -> int:  # pragma: no cover - compiled
    """The value of ``count`` hex digits at ``at``, or -1."""
    if at + count > end:
        return -1
    value = 0
    for k in range(count):
        digit = _hex(buf[at + k])
        if digit < 0:
            return -1
        value = value << 4 | digit
    return value


@njit(cache=True, nogil=True, boundscheck=False)
def _braced(buf: Bytes, at: int, end: int, stop: int) -> tuple[int, int]:  # pragma: no cover - compiled
    """The value of hex digits up to the byte ``stop``, and the place behind it; -1 when there are none."""
    value, k = 0, at
    while k < end and k - at < 7 and _hex(buf[k]) >= 0:
        value = value << 4 | _hex(buf[k])
        k += 1
    if k == at or k >= end or buf[k] != stop:
        return -1, at
    return value, k + 1


@njit(cache=True, nogil=True, boundscheck=False)
def _backslash(
    buf: Bytes, at: int, end: int, out: Bytes, q: int
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Read what follows a row of backslashes that ends before ``at``; returns where to go on, here and in ``out``."""
    b = buf[at]
    if b == 117 or b == 85:  # u, U
        if at + 1 < end and buf[at + 1] == 123:
            value, after = _braced(buf, at + 2, end, 125)
            if value >= 0:
                return after, _put(out, q, value)
        if b == 85:
            value = _digits(buf, at + 1, end, 8)
            if value >= 0:
                return at + 9, _put(out, q, value)
        value = _digits(buf, at + 1, end, 4)
        if value >= 0:
            after = at + 5
            if 0xD800 <= value < 0xDC00:
                k = after
                while k < end and buf[k] == 92:
                    k += 1
                low = _digits(buf, k + 1, end, 4) if k > after and k < end and buf[k] | 32 == 117 else -1
                if 0xDC00 <= low < 0xE000:
                    return k + 5, _put(out, q, 0x10000 + ((value - 0xD800) << 10) + low - 0xDC00)
            return after, _put(out, q, value)
    elif b == 120:  # x
        value = _digits(buf, at + 1, end, 2)
        if value >= 0:
            out[q] = value
            return at + 3, q + 1
    elif 48 <= b <= 51 and at + 2 < end and 48 <= buf[at + 1] <= 55 and 48 <= buf[at + 2] <= 55:
        out[q] = (b - 48) << 6 | (buf[at + 1] - 48) << 3 | (buf[at + 2] - 48)
        return at + 3, q + 1
    elif b == 110 or b == 114 or b == 116 or b == 98 or b == 102 or b == 118:  # n r t b f v
        out[q] = 10 if b == 110 or b == 114 else 32
        return at + 1, q + 1
    out[q] = 32
    return at, q + 1


@njit(cache=True, nogil=True, boundscheck=False)
def _entity(
    buf: Bytes, at: int, end: int, out: Bytes, q: int
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Read a numeric entity whose ``&#`` ends before ``at``; where to go on is -1 when there is none."""
    if at < end and buf[at] | 32 == 120:
        value, after = _braced(buf, at + 1, end, 59)
        return (after, _put(out, q, value)) if value >= 0 else (-1, q)
    value, k = 0, at
    while k < end and k - at < 7 and 48 <= buf[k] <= 57:
        value = value * 10 + np.int64(buf[k]) - 48
        k += 1
    if k == at or k >= end or buf[k] != 59:
        return -1, q
    return k + 1, _put(out, q, value)


@njit(cache=True, nogil=True, boundscheck=False)
def unescape_loop(buf: Bytes, out: Bytes) -> int:  # pragma: no cover - compiled
    at, q, end = 0, 0, buf.size
    while at < end:
        b = buf[at]
        if b == 92:
            while at < end and buf[at] == 92:
                at += 1
            if at < end:
                at, q = _backslash(buf, at, end, out, q)
            continue
        if b == 37 or b == 61:  # % =
            value = _digits(buf, at + 1, end, 2)
            if value >= 0:
                out[q] = value
                q += 1
                at += 3
                continue
            if b == 61 and at + 1 < end and buf[at + 1] == 10:
                at += 2
                continue
            if b == 61 and at + 2 < end and buf[at + 1] == 13 and buf[at + 2] == 10:
                at += 3
                continue
        elif b == 38 and at + 1 < end and buf[at + 1] == 35:
            after, q = _entity(buf, at + 2, end, out, q)
            if after >= 0:
                at = after
                continue
        out[q] = b
        q += 1
        at += 1
    return q


@njit(cache=True, nogil=True, boundscheck=False)
def unquote_loop(buf: Bytes, out: Bytes) -> int:  # pragma: no cover - compiled
    """Write JSON with the escapes of its strings undone, once, exactly; returns how many bytes that is."""
    at, q, end = 0, 0, buf.size
    while at < end:
        b = buf[at]
        at += 1
        if b == 92 and at < end:
            b = buf[at]
            at += 1
            if b == 117:
                value = _digits(buf, at, end, 4)
                if value >= 0:
                    at += 4
                    if 0xD800 <= value < 0xDC00 and at + 1 < end and buf[at] == 92 and buf[at + 1] == 117:
                        low = _digits(buf, at + 2, end, 4)
                        if 0xDC00 <= low < 0xE000:
                            value = 0x10000 + ((value - 0xD800) << 10) + low - 0xDC00
                            at += 6
                    q = _put(out, q, value)
                    continue
            elif b == 110 or b == 114:
                b = np.uint8(10)
            elif b == 116 or b == 98 or b == 102:
                b = np.uint8(32)
        out[q] = b
        q += 1
    return q


@njit(cache=True, nogil=True, boundscheck=False)
def short_runs_loop(
    words: Words, bitmap: Words, firsts: Words, begins: Places, ends: Places, kept: Words, found: Places
) -> int:  # pragma: no cover - compiled
    made = 0
    for at in range(words.size):
        h = words[at]
        if not bitmap[h >> U(54)] >> (h >> U(48) & U(63)) & U(1):
            continue
        k = np.searchsorted(firsts, h)
        while k < firsts.size and firsts[k] == h:
            size = ends[k] - begins[k]
            if at + size <= words.size:
                same = 1
                while same < size and words[at + same] == kept[begins[k] + same]:
                    same += 1
                if same == size:
                    if made < found.shape[0]:
                        found[made, 0] = at
                        found[made, 1] = k
                    made += 1
            k += 1
    return made


@njit(cache=True, nogil=True, boundscheck=False)
def _escape_end(buf: Bytes, at: int, end: int) -> int:  # pragma: no cover - compiled
    """The place behind something escaped that stands for no digit; ``at`` when nothing is."""
    b = buf[at]
    if at + 1 >= end:
        return at
    if b == 92:
        after = buf[at + 1]
        if after | 32 == 117 and _digits(buf, at + 2, end, 4) >= 0x80:
            return at + 6
        if after == 120 and (
            _digits(buf, at + 2, end, 2) >= 0x80 or 0 <= _digits(buf, at + 2, end, 2) < 0x30
        ):
            return at + 4
        if after == 110 or after == 114 or after == 116:
            return at + 2
    elif b == 37 or b == 61:
        value = _digits(buf, at + 1, end, 2)
        if value >= 0x80 or 0 <= value < 0x30:
            return at + 3
    elif b == 38:
        for k in range(at + 1, min(end, at + 10)):
            if buf[k] == 59:
                return k + 1
    return at


@njit(cache=True, nogil=True, boundscheck=False)
def digit_runs_loop(
    buf: Bytes, entries: npt.NDArray[np.uint32], high: np.uint64, low: np.uint64, found: Places
) -> int:  # pragma: no cover - compiled
    made, count, at, end = 0, 0, 0, buf.size
    upper, lower = U(0), U(0)
    places = np.zeros(DIGITS, np.int64)
    while at < end:
        begin = at
        b = buf[at]
        at += 1
        digit = -1
        if b < 0x80:
            digit = _hex(b)
            if digit < 0:
                if b | 32 >= 97 and b | 32 <= 122:
                    count = 0
                elif count and (b == 92 or b == 37 or b == 38 or b == 61):
                    at = max(at, _escape_end(buf, begin, end))
                continue
        else:
            point, at = decode(buf, begin, end)
            entry = entries[point]
            if entry == 0 or entry >= U(0x80000000):
                if entry >= U(0xC0000000):
                    count = 0
                continue
            folded = entry & np.uint32(0x1FFFFF)
            if folded < 0x80:
                digit = _hex(np.uint8(folded))
            if digit < 0:
                count = 0
                continue
        places[count & 31] = begin
        count += 1
        upper = upper << U(4) | lower >> U(60)
        lower = lower << U(4) | U(digit)
        if count >= DIGITS and lower == low and upper == high:
            if made < found.shape[0]:
                found[made, 0] = places[count & 31]
                found[made, 1] = at
            made += 1
            count = 0
    return made
