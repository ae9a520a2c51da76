"""The compiled inner loops, on Arrow buffers: bytes to word hashes, words to seeds, seeds to runs.

Nothing here makes a Python object per document. The definition these loops must agree with is
:func:`lacre.text.words`; the tests compare both on every code point and on random text.

Word hash: h <- 257 h + code over the folded characters, then a mixing step, modulo 2^64.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lacre.overlap.table import HYPHEN, LETTER, OPENS, SOFT, SPECIAL, VANISH

SEED = 5  # words in a seed
NEED_RARE = 0xFFFF  # the ``need`` of a rarest sentence: it is aligned, not counted

_SPECIAL = np.uint32(SPECIAL)
_VANISH = np.uint32(VANISH)
_HYPHEN = np.uint32(HYPHEN)
_SOFT = np.uint32(SOFT)
_OPENS = np.uint32(OPENS)
_LETTER = np.uint32(LETTER)
_BASE = np.uint64(0xD6E8FEB86659FD93)  # an odd constant with well spread bits; also the rolling hash's base
_ZERO = np.uint64(0)
_CACHE = 4096  # diagonals remembered while confirming; a power of two


@njit(cache=True, nogil=True, inline="always")
def mix(h):
    """Spread every bit of ``h`` over the upper half, where table and bitmap look."""
    h ^= h >> np.uint64(32)
    h *= _BASE
    h ^= h >> np.uint64(29)
    return h


@njit(cache=True, nogil=True, boundscheck=False)
def decode(buf, at, end):
    """The code point at ``at`` and where the next one starts; a broken sequence counts as one separator (0)."""
    b = np.uint32(buf[at])
    if b < 0x80:
        return b, at + 1
    if b < 0xC0:
        return np.uint32(0), at + 1
    if b < 0xE0:
        if at + 1 < end:
            return (b & np.uint32(31)) << np.uint32(6) | (np.uint32(buf[at + 1]) & np.uint32(63)), at + 2
        return np.uint32(0), at + 1
    if b < 0xF0:
        if at + 2 < end:
            return (
                (b & np.uint32(15)) << np.uint32(12)
                | (np.uint32(buf[at + 1]) & np.uint32(63)) << np.uint32(6)
                | (np.uint32(buf[at + 2]) & np.uint32(63))
            ), at + 3
        return np.uint32(0), at + 1
    if at + 3 < end:
        point = (
            (b & np.uint32(7)) << np.uint32(18)
            | (np.uint32(buf[at + 1]) & np.uint32(63)) << np.uint32(12)
            | (np.uint32(buf[at + 2]) & np.uint32(63)) << np.uint32(6)
            | (np.uint32(buf[at + 3]) & np.uint32(63))
        )
        if point < 0x110000:
            return point, at + 4
        return np.uint32(0), at + 4
    return np.uint32(0), at + 1


@njit(cache=True, nogil=True, boundscheck=False)
def entry_is_letter(entry, parts, last):
    """Whether the first (or last) folded character of a table entry is a letter."""
    if entry >= _SPECIAL:
        if entry < _OPENS:
            return False
        p = np.int64(entry - _OPENS)
        return (parts[p + np.int64(parts[p])] if last else parts[p + 1]) & _LETTER != 0
    return entry & _LETTER != 0


@njit(cache=True, nogil=True, boundscheck=False)
def after_line_break(buf, low, hyphen, at, end, entries, parts):
    """Where a word goes on after the hyphen at ``hyphen`` (next character at ``at``); -1 for a plain hyphen."""
    before = hyphen
    while True:
        before -= 1
        if before < low:
            return -1
        while before > low and buf[before] & 0xC0 == 0x80:
            before -= 1
        point, _ = decode(buf, before, end)
        entry = entries[point]
        if entry != _VANISH and entry != _SOFT:
            break
    if not entry_is_letter(entry, parts, True):
        return -1
    point = np.uint32(0)
    nxt = at
    while at < end:
        point, nxt = decode(buf, at, end)
        if point != 0x20 and point != 0x09 and point != 0xA0:
            break
        at = nxt
    if at >= end or not (0x0A <= point <= 0x0D or point == 0x2028 or point == 0x2029):
        return -1
    at = nxt
    if point == 0x0D and at < end and buf[at] == 0x0A:
        at += 1
    while at < end:
        point, nxt = decode(buf, at, end)
        if point != 0x20 and point != 0x09 and point != 0xA0 and point != 0x0C:
            break
        at = nxt
    if at >= end or not entry_is_letter(entries[point], parts, False):
        return -1
    return at


@njit(cache=True, nogil=True, boundscheck=False)
def read_words(buf, low, at, end, entries, parts, out, starts, ends, count, limit, h):
    """Hash the words of ``buf[at:end]`` into ``out[count:]``; stop after ``limit`` words.

    ``low`` is where the document starts; ``h`` is the hash of a word left open by the call before.
    ``starts`` and ``ends`` take the byte span of every word, or are None (a second, faster compiled form).
    Returns where it stopped, the new count, and the open word's hash. ``out`` needs room for ``limit`` + 64.
    """
    last = at
    while at < end and count < limit:
        here = at
        b = buf[at]
        if b < 128:
            c = entries[b]
            at += 1
        elif b < 0xE0 and b >= 0xC0 and at + 1 < end:
            c = entries[(np.uint32(b) & np.uint32(31)) << np.uint32(6) | (np.uint32(buf[at + 1]) & np.uint32(63))]
            at += 2
        else:
            point, at = decode(buf, at, end)
            c = entries[point]
        if c >= _SPECIAL:
            if c == _VANISH:
                continue
            if c < _OPENS:
                on = after_line_break(buf, low, here, at, end, entries, parts)
                if on >= 0:
                    at = on
                    continue
                if c == _SOFT:
                    continue
                c = np.uint32(0)
            else:
                p = np.int64(c - _OPENS)
                for k in range(p + 1, p + 1 + np.int64(parts[p])):
                    c = parts[k]
                    if c == 0:
                        if h != _ZERO:
                            out[count] = h
                            if ends is not None:
                                ends[count] = last
                            count += 1
                            h = _ZERO
                    else:
                        if starts is not None:
                            if h == _ZERO:
                                starts[count] = here
                            last = at
                        h = (h << np.uint64(8)) + h + np.uint64(c)
                continue
        out[count] = h
        if starts is not None:
            if c != 0:
                if h == _ZERO:
                    starts[count] = here
                last = at
            else:
                ends[count] = last
        separates = c == 0
        count += np.int64(separates & (h != _ZERO))
        h = (h << np.uint64(8)) + h + np.uint64(c)
        h = _ZERO if separates else h
    if at >= end:
        out[count] = h
        if ends is not None:
            ends[count] = last
        count += np.int64(h != _ZERO)
        h = _ZERO
    return at, count, h


@njit(cache=True, nogil=True, boundscheck=False)
def word_spans(buf, offsets, entries, parts, out, starts, ends, firsts):
    """Mixed hash and byte span, relative to its document, of every word of every document.

    ``firsts[d]`` becomes the first word of document ``d``; the arrays need room for twice the bytes plus 64.
    Returns the number of words.
    """
    count = 0
    for d in range(offsets.size - 1):
        low, end = np.int64(offsets[d]), np.int64(offsets[d + 1])
        firsts[d] = count
        begin = count
        _, count, _ = read_words(
            buf, low, low, end, entries, parts, out, starts, ends, count, np.int64(1) << 60, _ZERO
        )
        for j in range(begin, count):
            out[j] = mix(out[j])
            starts[j] -= low
            ends[j] -= low
    firsts[offsets.size - 1] = count
    return count


@njit(cache=True, nogil=True, boundscheck=False)
def count_words(buf, offsets, entries, parts, out):
    """Hash the words of every document and return how many there are; for measuring step 1 alone."""
    total = 0
    for d in range(offsets.size - 1):
        at, end, h, count = offsets[d], offsets[d + 1], _ZERO, 0
        low = at
        while at < end:
            at, count, h = read_words(buf, low, at, end, entries, parts, out, None, None, 0, out.size - 64, h)
            total += count
    return total


@njit(cache=True, nogil=True, boundscheck=False)
def find(key, marks, firsts):
    """Index of a seed's first posting in the table, or -1."""
    mask = np.uint64(marks.size - 1)
    mark = np.uint32(key >> np.uint64(32)) | np.uint32(1)
    slot = key & mask
    while marks[slot] != 0:
        if marks[slot] == mark:
            return np.int64(firsts[slot])
        slot = (slot + np.uint64(1)) & mask
    return np.int64(-1)


@njit(cache=True, nogil=True, boundscheck=False)
def seed_hits(words, first, last, rolling, filled, shift, bitmap, marks, firsts, hits, count):
    """Mix ``words[first:last]`` in place, roll the seed hash over them, and note where a seed of the items stands.

    ``filled`` words are in ``rolling`` already. A hit is (index of the seed's first word, first posting).
    Returns the rolling hash and the count, which may exceed the room in ``hits``: then give more and begin again.
    """
    power = np.uint64(1)
    for _ in range(SEED):
        power *= _BASE
    one = np.uint64(1)
    for j in range(first, last):
        words[j] = mix(words[j])
    for j in range(first, last):
        rolling = rolling * _BASE + words[j]
        if filled >= SEED:
            rolling -= words[j - SEED] * power
        else:
            filled += 1
            if filled < SEED:
                continue
        bit = rolling >> shift
        if bitmap[bit >> np.uint64(6)] >> (bit & np.uint64(63)) & one:
            posting = find(mix(rolling), marks, firsts)
            if posting >= 0:
                if count < hits.shape[0]:
                    hits[count, 0] = j - SEED + 1
                    hits[count, 1] = posting
                count += 1
    return rolling, filled, count


@njit(cache=True, nogil=True, boundscheck=False)
def short(word):
    """The 32 bits of a word hash that the items' sequences keep; 0 is theirs to mark an end."""
    return max(np.uint32(word >> np.uint64(32)), np.uint32(1))


@njit(cache=True, nogil=True, boundscheck=False)
def likeness(words, low, high, at, sequence, first):
    """Share of a sentence's words that stand in the document near where they should, 0 to 1."""
    size = 0
    found = 0
    while sequence[first + size] != 0:
        for shift in range(-3, 4):
            j = at + size + shift
            if low <= j < high and short(words[j]) == sequence[first + size]:
                found += 1
                break
        size += 1
    return found / size


@njit(cache=True, nogil=True, boundscheck=False)
def confirm(words, low, high, document, hits, count, postings, sequence, base, likely, ends, diagonals, runs, made):
    """Grow each hit to the longest run of equal words; keep those that are long enough.

    ``low`` and ``high`` bound the document in ``words``. A run is (document, first word, one past the last,
    place of its first word in ``sequence``); a rarest sentence that looks ``likely`` (0 to 1) is noted as
    (document, where it would start, -1, place of its first word). Returns how many there are; see ``seed_hits``.
    """
    for k in range(count):
        j = hits[k, 0]
        posting = hits[k, 1]
        while True:
            place = postings[posting]
            final = place < 0
            if final:
                place = ~place
            diagonal = place - j
            cell = diagonal & (_CACHE - 1)
            if not (diagonals[cell] == diagonal and j < ends[cell]):
                a = j
                p = place
                while a > low and short(words[a - 1]) == sequence[p - 1]:
                    a -= 1
                    p -= 1
                b = j
                q = place
                while b < high and short(words[b]) == sequence[q]:
                    b += 1
                    q += 1
                diagonals[cell] = diagonal
                ends[cell] = max(b, j + 1)
                if b > j:
                    head = p
                    while sequence[head - 1] != 0:
                        head -= 1
                    need = np.int64(base[head - 1])
                    covered = np.int64(base[q - 1] >> 1) - np.int64(base[p] >> 1) + 1 - np.int64(base[q - 1] & 1)
                    if need == NEED_RARE:
                        start = j - (place - head)
                        if likeness(words, low, high, start, sequence, head) >= likely:
                            if made < runs.shape[0]:
                                runs[made, 0] = document
                                runs[made, 1] = start - low
                                runs[made, 2] = -1
                                runs[made, 3] = head
                            made += 1
                    elif covered >= need:
                        if made < runs.shape[0]:
                            runs[made, 0] = document
                            runs[made, 1] = a - low
                            runs[made, 2] = b - low
                            runs[made, 3] = p
                        made += 1
            if final:
                break
            posting += 1
    return made


@njit(cache=True, nogil=True, boundscheck=False)
def scan(buf, offsets, entries, parts, index, words, hits, runs, ends, diagonals, likely):
    """All runs of a batch. ``words`` must have room for the longest document plus 64.

    Returns (runs, hits, words read): when ``runs`` or ``hits`` was too small its number exceeds the room; call again with more.
    """
    shift, bitmap, marks, firsts, postings, sequence, base = index
    made = 0
    most = 0
    total = 0
    chunk = 4096
    for d in range(offsets.size - 1):
        at, end = np.int64(offsets[d]), np.int64(offsets[d + 1])
        low, h, rolling, filled, read, count = at, _ZERO, _ZERO, 0, 0, 0
        while at < end:
            at, now, h = read_words(buf, low, at, end, entries, parts, words, None, None, read, read + chunk, h)
            rolling, filled, count = seed_hits(
                words, read, now, rolling, filled, shift, bitmap, marks, firsts, hits, count
            )
            read = now
        total += read
        most = max(most, count)
        if count and count <= hits.shape[0]:
            # Diagonals of the document before must not be taken for this one's.
            diagonals[:] = np.int64(1) << 62
            made = confirm(
                words, 0, read, d, hits, count, postings, sequence, base, likely, ends, diagonals, runs, made
            )
    return made, most, total


@njit(cache=True, nogil=True, boundscheck=False)
def lay_out(field_of_item, word_of_field, hashes, base, letters, asides, needs, with_letters, out, places, edges):
    """Write the items' sequences one after another, each behind an end mark whose place holds its ``need``.

    ``letters``: hash of each field's option letter, 0 for none; they are laid out when ``with_letters``.
    ``edges`` marks the places that only this layout can reach: option letters, or the seams they left.
    An item whose need is 0 is left out. Returns how many places were written.
    """
    at = 0
    for item in range(field_of_item.size - 1):
        if needs[item] == 0:
            continue
        opened = False
        for field in range(field_of_item[item], field_of_item[item + 1]):
            if not opened or asides[field]:
                out[at] = 0
                places[at] = min(needs[item], 8) if asides[field] else needs[item]
                edges[at] = 0
                at += 1
                opened = True
            first, last = word_of_field[field], word_of_field[field + 1]
            if letters[field] != 0:
                if with_letters:
                    out[at] = letters[field]
                    places[at] = base[first] | 1 if first < last else base[first - 1] + 2 | 1
                    edges[at] = 1
                    at += 1
                elif first < last:
                    edges[at] = 1
            for word in range(first, last):
                if word > first or with_letters or letters[field] == 0:
                    edges[at] = 0
                out[at] = hashes[word]
                places[at] = base[word]
                at += 1
    out[at] = 0
    places[at] = 0
    edges[at] = 0
    return at + 1


@njit(cache=True, nogil=True, boundscheck=False)
def choose_seeds(sequence, weights, edges, window, seam, chosen):
    """Choose seeds such that any ``window`` places in a row hold one: of each window, the most informative.

    So every run of ``window + SEED - 1`` words holds a chosen seed. With ``seam``, only windows whose words touch
    an edge are looked at. Returns how many places ``chosen`` received, in rising order.
    """
    made = 0
    size = sequence.size
    begin = 1
    while begin < size:
        finish = begin
        while finish < size and sequence[finish] != 0:
            finish += 1
        last = -1
        final = finish - SEED  # last place at which a seed fits
        low = begin
        while low <= final:
            high = min(low + window - 1, final)
            look = True
            if seam:
                look = False
                for k in range(low, min(high + SEED, finish)):
                    if edges[k]:
                        look = True
                        break
            if look:
                best = -1
                most = np.float32(-1)
                for place in range(low, high + 1):
                    weight = np.float32(0)
                    for k in range(place, place + SEED):
                        weight += weights[k]
                    if weight > most:
                        most = weight
                        best = place
                if best > last:
                    chosen[made] = best
                    made += 1
                    last = best
            low += 1
            if high == final:
                break
        begin = finish + 1
    return made


@njit(cache=True, nogil=True, boundscheck=False)
def fill_table(keys, shift, bitmap, marks, firsts):
    """Put sorted seed keys into the bitmap and the open-addressing table; ``firsts`` takes each key's first place."""
    mask = np.uint64(marks.size - 1)
    one = np.uint64(1)
    for k in range(keys.size):
        if k > 0 and keys[k] == keys[k - 1]:
            continue
        bit = keys[k] >> shift
        bitmap[bit >> np.uint64(6)] |= one << (bit & np.uint64(63))
        key = mix(keys[k])
        slot = key & mask
        while marks[slot] != 0:
            slot = (slot + one) & mask
        marks[slot] = np.uint32(key >> np.uint64(32)) | np.uint32(1)
        firsts[slot] = k
