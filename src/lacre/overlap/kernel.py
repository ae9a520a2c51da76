"""The compiled inner loops, on Arrow buffers: bytes to words, words to seeds, seeds to runs.

Nothing here makes a Python object per document. The definition these loops must agree with is
:func:`lacre.text.words`; the tests compare both on every code point and on random text.

Text is *folded* first: the UTF-8 bytes of its folded letters and digits, with a zero for every separator. ASCII and
the accented letters of Portuguese are folded 64 bytes at a time; the others one by one through tables. Words are then
what stands between zeros, and are hashed by loads of eight bytes.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic

from lacre.lanes import (
    LANES,
    bits,
    copy_lanes,
    each,
    equal,
    filled_lanes,
    loaded,
    ones,
    stored,
    within,
    zeros_below,
)
from lacre.overlap.table import HYPHEN, LATIN_OTHER, LETTER, OPENS, SOFT, SPECIAL, VANISH

SEED = 5  # words in a seed
PAD = 4  # zero words in front of a document's words, so that the first seed has a past
NEED_RARE = 0xFFFF  # the ``need`` of a rarest sentence: it is aligned, not counted
NEED_USUAL = 8  # that of all other sequences but those of shorter items
CHUNK = 1 << 14  # bytes folded before their words are hashed, so that both stay in the nearest cache
STRIDE = 1 << 11  # bytes between two places of a document that a scan notes, so that words are found again
GROWTH = 16  # folded bytes that one byte may make, at most
# Bytes that a folded chunk may take: it ends a little late, and 64 are written at once.
FOLDED = GROWTH * (CHUNK + 80) + 80

U = np.uint64
# A posting: the place of a seed in the items' sequences; whether it is the last of its key; whether the words beside it
# say nothing, for the seed alone may be enough; then 16 bits of the word before it, and of the one behind.
POSTING_PLACE, POSTING_FINAL, POSTING_LOOK = U((1 << 30) - 1), U(1 << 30), U(1 << 31)
_NOTHING = np.uint32(1 << 16)  # no word has this for its 16 bits
_SPECIAL = np.uint32(SPECIAL)
_VANISH = np.uint32(VANISH)
_SOFT = np.uint32(SOFT)
_HYPHEN = np.uint32(HYPHEN)
_OPENS = np.uint32(OPENS)
_LETTER = np.uint32(LETTER)
_POINT = np.uint32(LETTER - 1)
_LATIN_OTHER = U(LATIN_OTHER)
# Odd constants with well spread bits.
C1, C2, C3 = U(0xD6E8FEB86659FD93), U(0x9E3779B97F4A7C15), U(0xA0761D6478BD642F)
_ZERO, _ONE, _EIGHT, _BYTE = U(0), U(1), U(8), U(255)
_LANES = U(LANES)
_HALF = 0x01  # in lanes, stands for the first of the two bytes of a simple accented letter
_MASKS = np.array([(1 << 8 * k) - 1 for k in range(9)], np.uint64)
_CACHE = 4096  # diagonals remembered while confirming; a power of two


@njit(cache=True, nogil=True, inline="always")
def mix(h):
    """Spread every bit of ``h`` over all of it."""
    h ^= h >> U(32)
    h *= C1
    h ^= h >> U(29)
    return h


@njit(cache=True, nogil=True, inline="always")
def turned(h, by):
    """``h`` rotated left."""
    return h << U(by) | h >> U(64 - by)


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
    # Looked at last: rows of invisible characters would make it slow before every hyphen.
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
    return at


@njit(cache=True, nogil=True, boundscheck=False)
def put(code, out, q):
    """Write one folded character as UTF-8 (a zero for a separator) at ``out[q]``; returns where the next goes."""
    point = code & _POINT
    if point < 0x80:
        out[q] = point
        return q + _ONE
    if point < 0x800:
        out[q] = 0xC0 | point >> np.uint32(6)
        out[q + _ONE] = 0x80 | point & 0x3F
        return q + U(2)
    if point < 0x10000:
        out[q] = 0xE0 | point >> np.uint32(12)
        out[q + _ONE] = 0x80 | point >> np.uint32(6) & 0x3F
        out[q + U(2)] = 0x80 | point & 0x3F
        return q + U(3)
    out[q] = 0xF0 | point >> np.uint32(18)
    out[q + _ONE] = 0x80 | point >> np.uint32(12) & 0x3F
    out[q + U(2)] = 0x80 | point >> np.uint32(6) & 0x3F
    out[q + U(3)] = 0x80 | point & 0x3F
    return q + U(4)


@njit(cache=True, nogil=True, boundscheck=False)
def fold_one(buf, low, at, end, entries, parts, out, q):
    """Fold the character at ``at`` of a document that begins at ``low``; returns the next ``at`` and ``q``."""
    point, after = decode(buf, np.int64(at), np.int64(end))
    entry = entries[point]
    if entry < _SPECIAL:
        return U(after), put(entry, out, q)
    if entry == _VANISH:
        return U(after), q
    if entry >= _OPENS:
        p = np.int64(entry - _OPENS)
        for k in range(p + 1, p + 1 + np.int64(parts[p])):
            q = put(parts[k], out, q)
        return U(after), q
    on = after_line_break(buf, np.int64(low), np.int64(at), after, np.int64(end), entries, parts)
    if on >= 0:
        return U(on), q
    if entry == _HYPHEN:
        out[q] = 0
        q += _ONE
    return U(after), q


# The second bytes of U+00C0 to U+00FF, with the bit that parts capitals from small letters set, from which on the
# letter below the accent is this one; and those that are no such letters: æ ð ÷ ø, and behind the last þ, ß and ÿ.
_BELOW = ((0xA7, "c"), (0xA8, "e"), (0xAC, "i"), (0xB1, "n"), (0xB2, "o"), (0xB9, "u"), (0xBD, "y"))
_NOT_BELOW = (0xA6, 0xB0, 0xB7, 0xB8)
_LAST_BELOW = 0xBD


@intrinsic
def fold_lanes(typing_context, source, at, target, q):  # noqa: ARG001 - numba gives it
    """Fold the 64 bytes ``source[at:]`` into ``target[q:]``, as far as each can be without its neighbours.

    ASCII is folded as it should be, a simple accented letter of two bytes to ``_HALF`` and its letter. Returns three
    masks: the bytes beyond ASCII; the first bytes of simple accented letters; the hyphens with no ASCII sign behind
    them, which may stand at a line break. Reads 65 bytes.
    """

    def code(context, builder, signature, arguments):
        here, at_here, there, to = arguments
        lanes = loaded(context, builder, source, here, at_here)
        following = loaded(
            context, builder, source, here, builder.add(at_here, ir.Constant(ir.IntType(64), 1))
        )
        small = builder.or_(lanes, each(0x20))
        kept = builder.or_(within(builder, small, 0x61, 0x7A), within(builder, lanes, 0x30, 0x39))
        below = each(ord("a"))
        for first, letter in _BELOW:
            below = builder.select(builder.icmp_signed(">=", small, each(first)), each(ord(letter)), below)
        beyond = builder.icmp_signed("<", lanes, each(0))
        folded = builder.select(beyond, below, builder.select(kept, small, each(0)))
        second = builder.or_(following, each(0x20))
        simple = within(builder, second, 0xA0, _LAST_BELOW)
        for other in _NOT_BELOW:
            simple = builder.and_(simple, builder.not_(equal(builder, second, other)))
        half = builder.and_(simple, equal(builder, lanes, 0xC3))
        folded = builder.select(half, each(_HALF), folded)
        stored(context, builder, folded, target, there, to)
        hyphens = builder.and_(
            equal(builder, lanes, 0x2D), builder.not_(within(builder, following, 0x21, 0x7E))
        )
        masks = [bits(builder, mask) for mask in (beyond, half, hyphens)]
        return context.make_tuple(builder, signature.return_type, masks)

    return types.UniTuple(types.uint64, 3)(source, at, target, q), code  # type: ignore[no-untyped-call]


@njit(cache=True, nogil=True, inline="always")
def note_ones(bits, first, out, made):
    """Write the places of the set bits of a mask, counted from ``first``, to ``out[made:]``; returns the new ``made``.

    Four are written whether there are or not, which spares a guess at each: ``out`` needs room for three more.
    """
    after = made + ones(bits)  # type: ignore[call-arg]  # an intrinsic: numba gives the typing context
    while made < after:
        for k in range(4):
            out[made + U(k)] = first + zeros_below(bits)
            bits &= bits - _ONE
        made += U(4)
    return after


@njit(cache=True, nogil=True, boundscheck=False)
def fold(buf, wide, low, at, stop, end, latin, entries, parts, fold_room, q):
    """Fold ``buf[at:stop]``, or a little more, into the room from ``q``; returns where it stopped and the new ``q``.

    ``wide[k]`` are the eight bytes from ``k``. The document is ``buf[low:end]``. First every byte is folded for itself,
    64 at a time; then what lies between the odd places is copied, and what stands at those is folded one by one.
    """
    out, _, odd, _, lanes = fold_room
    base = at
    blocks = (stop - at + _LANES - _ONE) // _LANES
    room = U(buf.size) - at
    if blocks * _LANES + _ONE > room:  # a block looks one byte further
        blocks = (room - _ONE) // _LANES
    made = _ZERO
    halved = _ZERO
    for k in range(blocks):
        first = U(k) * _LANES
        beyond, half, hyphens = fold_lanes(buf, base + first, lanes, first)  # type: ignore[call-arg, var-annotated]
        made = note_ones(beyond & ~(half << _ONE | halved) | hyphens, first, odd, made)
        halved = half >> U(63)
    stop_here = min(base + blocks * _LANES, end)
    for k in range(made):
        place = base + odd[k]
        if place >= stop_here:
            break
        is_half = lanes[odd[k]] == _HALF and place + _ONE < stop_here
        if place < at:
            if is_half and place + _ONE == at:  # the first byte was taken by a broken sequence before it
                out[q] = 0
                q += _ONE
                at += _ONE
            continue
        q = copied(lanes, at - base, place - at, out, q)
        at = place
        if is_half:
            at += _ONE
            continue
        v = wide[at]
        lead = v & _BYTE
        if lead >= U(0xC2) and lead < U(0xE0) and at + _ONE < end:
            folded = U(latin[(lead & U(31)) << U(6) | v >> U(8) & U(63)])
            if folded != _LATIN_OTHER:
                out[q] = folded
                q += _ONE
                at += U(2)
                continue
        at, q = fold_one(buf, low, at, end, entries, parts, out, q)
    if at < stop_here:
        q = copied(lanes, at - base, stop_here - at, out, q)
        at = stop_here
    while at < stop:
        at, q = fold_one(buf, low, at, end, entries, parts, out, q)
    return at, q


@njit(cache=True, nogil=True, inline="always")
def copied(source, at, size, target, q):
    """Copy ``size`` bytes, and up to 64 more that count for nothing; returns where the next go."""
    done = _ZERO
    while True:
        copy_lanes(source, at + done, target, q + done)  # type: ignore[call-arg]  # as above
        done += _LANES
        if done >= size:
            return q + size


@njit(cache=True, nogil=True, boundscheck=False)
def edges_of(out, size, edges):
    """Where words begin and end in turn, in folded text of ``size`` bytes; returns how many places that are."""
    made = _ZERO
    inside = _ZERO
    p = _ZERO
    while p <= size:
        bits = filled_lanes(out, p)  # type: ignore[call-arg, var-annotated]  # as above
        if size - p < _LANES:
            bits &= (_ONE << size - p) - _ONE
        made = note_ones(bits ^ (bits << _ONE | inside), p, edges, made)
        inside = bits >> U(63)
        p += _LANES
    return made


@intrinsic
def stirred(typing_context, one, other):  # noqa: ARG001 - numba gives it
    """Two uint64 multiplied, the upper half of the product folded onto the lower (wyhash, Wang Yi 2019)."""

    def code(context, builder, signature, arguments):  # noqa: ARG001 - as above
        whole = ir.IntType(128)
        product = builder.mul(builder.zext(arguments[0], whole), builder.zext(arguments[1], whole))
        upper = builder.lshr(product, ir.Constant(whole, 64))
        return builder.trunc(builder.xor(product, upper), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), code


@njit(cache=True, nogil=True, boundscheck=False)
def hash_word(out_wide, first, last):
    """The hash of the word ``out[first:last]``; :func:`lacre.overlap.sheets.word_hash` says it in plain Python.

    Words of up to eight bytes and of equal length never have the same one. C1 and C2 hold bytes that no folded word
    has, so that neither factor is ever zero.
    """
    size = last - first
    v = out_wide[first]
    if size <= _EIGHT:
        h = (v & _MASKS[size]) * C1 ^ size * C3
        return h ^ h >> U(32)
    h = stirred(v ^ C1, out_wide[last - _EIGHT] ^ C2) ^ size * C3  # type: ignore[call-arg]  # numba gives the context
    k = first + _EIGHT
    while k + _EIGHT < last:
        h = stirred(h ^ out_wide[k], C1)
        k += _EIGHT
    return h


@njit(cache=True, nogil=True, boundscheck=False)
def read_words(buf, wide, low, at, end, latin, entries, parts, fold_room, words, count, chunk):
    """Hash the words of about ``chunk`` bytes of ``buf[at:end]`` into ``words[count:]``.

    ``fold_room`` is (out, out_wide, edges, carried, lanes): ``carried`` holds how many folded bytes of a word cut by
    the chunk before stand at the head of ``out``, ``lanes`` the bytes of the chunk, each folded for itself. Returns
    where it stopped and the new count; the count is -1 when a single word is longer than the room.
    """
    out, out_wide, edges, carried, _ = fold_room
    q = U(carried[0])
    stop = min(at + U(chunk), end)
    if q + U(FOLDED) > U(out.size):
        return at, -1
    at, q = fold(buf, wide, low, at, stop, end, latin, entries, parts, fold_room, q)
    whole = q
    if at < end:
        while whole > _ZERO and out[whole - _ONE] != 0:
            whole -= _ONE
    rest = np.int64(q - whole)
    made = edges_of(out, whole, edges)
    found = made >> _ONE
    for k in range(found):
        words[U(count) + k] = hash_word(out_wide, edges[k << _ONE], edges[k << _ONE | _ONE])
    count += np.int64(found)
    for k in range(rest):
        out[k] = out[np.int64(whole) + k]
    carried[0] = rest
    return at, count


@njit(cache=True, nogil=True, boundscheck=False)
def spans_between(buf, low, at, stop, end, entries, parts, letters, letters_wide, out, starts, ends, count):
    """Hash and byte span, relative to ``low``, of every word of ``buf[at:stop]`` in the document ``buf[low:end]``.

    Slower than ``read_words``, which gives no spans. ``out``, ``starts`` and ``ends`` need room for twice the bytes
    and 64 more, ``letters`` for GROWTH times the bytes. Returns ``count`` plus the number of words.
    """
    q, last = _ZERO, at
    while at < stop:
        k = q
        here = at
        at, q = fold_one(buf, low, at, end, entries, parts, letters, q)
        while k < q:
            if letters[k] == 0:
                if k > _ZERO:
                    out[count] = hash_word(letters_wide, _ZERO, k)
                    ends[count] = np.int64(last - low)
                    count += 1
                # What the same character gave behind the separator begins the next word.
                for m in range(np.int64(q - k) - 1):
                    letters[m] = letters[np.int64(k) + 1 + m]
                q = q - k - _ONE
                k = _ZERO
                continue
            if k == _ZERO:
                starts[count] = np.int64(here - low)
            last = at
            k += _ONE
    if q > _ZERO:
        out[count] = hash_word(letters_wide, _ZERO, q)
        ends[count] = np.int64(last - low)
        count += 1
    return count


@njit(cache=True, nogil=True, boundscheck=False)
def word_spans(buf, offsets, entries, parts, letters, letters_wide, out, starts, ends, firsts):
    """The same for every word of every document; ``firsts[d]`` becomes the first word of document ``d``."""
    count = 0
    for d in range(offsets.size - 1):
        low, end = U(offsets[d]), U(offsets[d + 1])
        firsts[d] = count
        count = spans_between(
            buf, low, low, end, end, entries, parts, letters, letters_wide, out, starts, ends, count
        )
    firsts[offsets.size - 1] = count
    return count


@njit(cache=True, nogil=True, boundscheck=False)
def count_words(buf, wide, offsets, latin, entries, parts, fold_room, words):
    """Hash the words of every document and return how many there are; for measuring this step alone."""
    total = 0
    for d in range(offsets.size - 1):
        low, end = U(offsets[d]), U(offsets[d + 1])
        at = low
        fold_room[3][0] = 0
        while at < end:
            at, count = read_words(buf, wide, low, at, end, latin, entries, parts, fold_room, words, 0, CHUNK)
            if count < 0:
                return -1
            total += count
    return total


@njit(cache=True, nogil=True, inline="always")
def bits_of(key):
    """The two bits of a key in its 64-bit cell of the bitmap (a Bloom filter of two hashes, Bloom 1970)."""
    return _ONE << (key & U(63)) | _ONE << (key >> U(6) & U(63))


@njit(cache=True, nogil=True, boundscheck=False)
def find(key, marks, firsts):
    """Index of a seed's first posting in the table, or -1."""
    mask = U(marks.size - 1)
    mark = np.uint32(key >> U(32)) | np.uint32(1)
    slot = key & mask
    while marks[slot] != 0:
        if marks[slot] == mark:
            return np.int64(firsts[slot])
        slot = (slot + U(1)) & mask
    return np.int64(-1)


@njit(cache=True, nogil=True, boundscheck=False)
def seed_hits(words, first, last, keys, places, shift, bitmap, marks, firsts, hits, count):
    """Note where a seed of the items ends among ``words[first:last]``.

    A seed is hashed from its five words, each turned by its place. A hit is (index of the seed's first word,
    first posting). ``keys`` and ``places`` need room for a number each word. Returns the count, which may exceed the
    room in ``hits``: then give more and begin again.
    """
    for j in range(U(first), U(last)):
        seed = (
            words[j]
            ^ turned(words[j - U(1)], 13)
            ^ turned(words[j - U(2)], 26)
            ^ turned(words[j - U(3)], 39)
            ^ turned(words[j - U(4)], 52)
        )
        keys[j - U(first)] = seed * C1
    # Noted without a branch, which would be guessed wrong whenever a key only seems to be there.
    seeming = _ZERO
    for k in range(U(last - first)):
        key = keys[k]
        keys[seeming] = key
        places[seeming] = first + np.int64(k) - SEED + 1
        seeming += U(~bitmap[key >> shift] & bits_of(key) == _ZERO)
    for k in range(seeming):
        posting = find(mix(keys[k]), marks, firsts)
        if posting >= 0:
            if count < hits.shape[0]:
                hits[count, 0] = places[k]
                hits[count, 1] = posting
            count += 1
    return count


@njit(cache=True, nogil=True, boundscheck=False)
def short(word):
    """The 32 bits of a word hash that the items' sequences keep; 0 is theirs to mark an end."""
    return max(np.uint32(word >> U(32)), np.uint32(1))


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
def confirm(
    words, low, high, document, hits, count, postings, sequence, base, likely, ends, diagonals, runs, made
):
    """Grow each hit to the longest run of equal words; keep those that are long enough.

    ``low`` and ``high`` bound the document in ``words``. A run is (document, first word, one past the last,
    place of its first word in ``sequence``); a rarest sentence that looks ``likely`` (0 to 1) is noted as
    (document, where it would start, -1, place of its first word). Returns how many there are; see ``seed_hits``.
    """
    for k in range(count):
        j = hits[k, 0]
        posting = hits[k, 1]
        before = short(words[j - 1]) >> np.uint32(16) if j > low else _NOTHING
        behind = short(words[j + SEED]) >> np.uint32(16) if j + SEED < high else _NOTHING
        while True:
            entry = postings[posting]
            posting += 1
            final = entry & POSTING_FINAL
            # Most hits are of phrases that many items share, and neither word beside them is the item's.
            if (
                entry & POSTING_LOOK == _ZERO
                and entry >> U(32) & U(0xFFFF) != before
                and entry >> U(48) != behind
            ):
                if final:
                    break
                continue
            place = np.int64(entry & POSTING_PLACE)
            # With the number of the document: a diagonal of one before must not be taken for this one's.
            diagonal = (document << 33) + (1 << 32) + place - j
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
                    need = np.int64(NEED_USUAL)
                    if entry & POSTING_LOOK:
                        while sequence[head - 1] != 0:
                            head -= 1
                        need = np.int64(base[head - 1])
                    covered = (
                        np.int64(base[q - 1] >> 1) - np.int64(base[p] >> 1) + 1 - np.int64(base[q - 1] & 1)
                    )
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
    return made


@njit(cache=True, nogil=True, boundscheck=False)
def scan(
    buf,
    wide,
    offsets,
    folding,
    index,
    fold_room,
    words,
    keys,
    places,
    hits,
    runs,
    ends,
    diagonals,
    likely,
    chunks,
    heads,
):
    """All runs of a batch. ``words`` and ``keys`` must have room for the words of the longest document, and PAD.

    ``chunks[:, heads[d]:heads[d + 1]]`` become the steps in which document ``d`` was read, its start first: the byte
    reached, the words complete by then, whether a word is cut there. A step is STRIDE bytes or a little more.

    Returns (runs, hits, words read). When ``runs`` or ``hits`` was too small its number exceeds the room, and
    when a word was longer than ``fold_room`` the words are -1: call again with more.
    """
    latin, entries, parts = folding
    shift, bitmap, marks, firsts, postings, sequence, base = index
    made = 0
    most = 0
    total = 0
    steps = 0
    words[:PAD] = 0
    diagonals[:] = -1
    for d in range(offsets.size - 1):
        low, end = U(offsets[d]), U(offsets[d + 1])
        at, read, count = low, PAD, 0
        fold_room[3][0] = 0
        heads[d] = steps
        chunks[0, steps], chunks[1, steps], chunks[2, steps] = np.int64(low), 0, 0
        steps += 1
        while at < end:
            at, now = read_words(
                buf, wide, low, at, end, latin, entries, parts, fold_room, words, read, STRIDE
            )
            if now < 0:
                return made, most, -1
            first = max(read, PAD + SEED - 1)
            if now > first:
                count = seed_hits(words, first, now, keys, places, shift, bitmap, marks, firsts, hits, count)
            read = now
            chunks[0, steps], chunks[1, steps] = np.int64(at), read - PAD
            chunks[2, steps] = fold_room[3][0] > 0
            steps += 1
        total += read - PAD
        most = max(most, count)
        if count and count <= hits.shape[0]:
            made = confirm(
                words,
                PAD,
                read,
                d,
                hits,
                count,
                postings,
                sequence,
                base,
                likely,
                ends,
                diagonals,
                runs,
                made,
            )
    heads[offsets.size - 1] = steps
    return made, most, total


@njit(cache=True, nogil=True, boundscheck=False)
def lay_out(
    field_of_item, word_of_field, hashes, base, letters, asides, needs, with_letters, out, places, edges
):
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
def choose_seeds(sequence, weights, edges, window, seam, enough, chosen):
    """Choose seeds such that any ``window`` places in a row hold one, as few and as telling as may be.

    So every run of ``window + SEED - 1`` words holds a chosen seed. From one seed the next is the farthest within
    the window that tells ``enough`` bits, or the most telling one where none does. With ``seam``, only windows
    whose words touch an edge need a seed. Returns how many places ``chosen`` received, in rising order.
    """
    made = 0
    size = sequence.size
    begin = 1
    while begin < size:
        finish = begin
        while finish < size and sequence[finish] != 0:
            finish += 1
        final = finish - SEED  # last place at which a seed fits
        low = begin
        while low <= final:
            high = min(low + window - 1, final)
            if seam and not touches(edges, low, min(high + SEED, finish)):
                low += 1
                continue
            best = -1
            most = np.float32(-1)
            for place in range(high, low - 1, -1):
                weight = np.float32(0)
                for k in range(place, place + SEED):
                    weight += weights[k]
                if weight > most:
                    most = weight
                    best = place
                if weight >= enough:
                    break
            chosen[made] = best
            made += 1
            if high == final:
                break
            low = best + 1
        begin = finish + 1
    return made


@njit(cache=True, nogil=True, boundscheck=False)
def touches(edges, low, high):
    """Whether any place in [low, high) is an edge."""
    for k in range(low, high):
        if edges[k]:
            return True
    return False


@njit(cache=True, nogil=True, boundscheck=False)
def fill_table(keys, shift, bitmap, marks, firsts):
    """Put sorted seed keys into the bitmap and the open-addressing table, each with its first place."""
    mask = U(marks.size - 1)
    for k in range(keys.size):
        if k > 0 and keys[k] == keys[k - 1]:
            continue
        bitmap[keys[k] >> shift] |= bits_of(keys[k])
        key = mix(keys[k])
        slot = key & mask
        while marks[slot] != 0:
            slot = (slot + _ONE) & mask
        marks[slot] = np.uint32(key >> U(32)) | np.uint32(1)
        firsts[slot] = k


# The index of a corpus: winnowed fingerprints (Schleimer, Wilkerson and Aiken 2003), packed as sorted numbers are
# (Elias 1974, Fano 1971): the low bits as they are, the high bits as gaps in unary.

GRAM = 8  # words in a gram
BLOCK_BITS = 20  # of a fingerprint in memory: 44 bits of hash, then the block it stands in
HASH_BITS = 64 - BLOCK_BITS
STRETCH, EVERY = 256, 8  # words in a row that are counted, one such stretch of so many; powers of two
SAMPLE = 128  # buckets between two places of the unary code that are written down
_BASE = C1
_BASE_GRAM = U(pow(int(C1), GRAM, 1 << 64))
_BLOCK_MASK = U((1 << BLOCK_BITS) - 1)


@njit(cache=True, nogil=True, boundscheck=False)
def grams_of(words, first, last, grams):
    """The hash of the ``GRAM`` words that begin at each of ``words[first:last]``, as far as they fit.

    Made of 32 bits of each word, which is what the items' sequences keep. Returns how many ``grams`` there are.
    """
    if last - first < GRAM:
        return 0
    h = _ZERO
    for j in range(first, first + GRAM):
        h = h * _BASE + U(short(words[j]))
    grams[0] = mix(h)
    for j in range(first + GRAM, last):
        h = h * _BASE + U(short(words[j])) - U(short(words[j - GRAM])) * _BASE_GRAM
        grams[j - first - GRAM + 1] = mix(h)
    return last - first - GRAM + 1


@njit(cache=True, nogil=True, boundscheck=False)
def winnowed(words, first, last, block, out, count, gaps):
    """Keep the least of every three grams in a row of ``words[first:last]``, the last of equals, once.

    A gram is kept when two grams to its left are not less, or two to its right are greater, or one on either side.
    Fewer than three grams keep their least. ``block`` goes into the low bits. ``gaps[g]`` counts how often two kept
    grams stand ``g`` apart. Returns the new count of ``out``.
    """
    size = last - first - GRAM + 1
    if size <= 0:
        return count
    low = U(block)
    h = _ZERO
    for j in range(first, first + GRAM):
        h = h * _BASE + U(short(words[j]))
    # The gram that is decided on is c; a and b stand before it, d and e behind. Zeros stand outside.
    a, b, c, d, e = _ZERO, _ZERO, mix(h), _ZERO, _ZERO
    if size > 1:
        h = h * _BASE + U(short(words[first + GRAM])) - U(short(words[first])) * _BASE_GRAM
        d = mix(h)
    if size < 3:
        out[count] = (d if size == 2 and d <= c else c) & ~_BLOCK_MASK | low
        return count + 1
    begin, neighbours, before, head, tail = count, _ZERO, _ZERO, 0, 0
    for k in range(size):
        e = _ZERO
        if k + 2 < size:
            j = first + GRAM + k + 1
            h = h * _BASE + U(short(words[j])) - U(short(words[j - GRAM])) * _BASE_GRAM
            e = mix(h)
        left, right = b >= c, d > c
        kept = U((left & (a >= c)) | (left & right) | (right & (e > c)))
        # Written without a branch, which would be guessed wrong every other time.
        out[count] = c & ~_BLOCK_MASK | low
        neighbours += kept & before
        head = k if count == begin else head
        count += np.int64(kept)
        tail = k if kept else tail
        before = kept
        a, b, c, d = b, c, d, e
    # Gaps are of one, two or three: what two sums say of them is enough.
    near, every, span = np.int64(neighbours), count - begin - 1, tail - head
    gaps[1] += near
    gaps[2] += 3 * every - span - 2 * near
    gaps[3] += span - 2 * every + near
    return count


@njit(cache=True, nogil=True, boundscheck=False)
def tally(words, first, last, document, table, used):
    """Count ``words[first:last]`` of one document in an open-addressing table.

    A row of ``table`` is (key, times counted, documents, the last of these and one); key 0 is an empty row.
    ``used[0]`` is how many rows are taken. Returns the first word not counted: ``last``, or one before it when
    three rows of four are taken.
    """
    mask = U(table.shape[0] - 1)
    most = 3 * (table.shape[0] >> 2)
    mark = U(document + 1)
    for j in range(first, last):
        key = words[j] | _ONE
        slot = (key * C2) >> U(20) & mask
        while table[slot, 0] != key:
            if table[slot, 0] == _ZERO:
                if used[0] >= most:
                    return j
                table[slot, 0] = key
                used[0] += 1
                break
            slot = (slot + _ONE) & mask
        table[slot, 1] += _ONE
        if table[slot, 3] != mark:
            table[slot, 3] = mark
            table[slot, 2] += _ONE
    return last


@njit(cache=True, nogil=True, boundscheck=False)
def sampled(words, last, document, table, used):
    """Count one stretch of the words of a piece in every ``EVERY``; false when the table is full before that is done.

    ``used[1]`` is how far the piece has come, ``used[2]`` where in the round of stretches it begins.
    """
    at = PAD + used[1]
    while at < last:
        phase = used[2] + at - PAD & EVERY * STRETCH - 1
        if phase >= STRETCH:
            at += EVERY * STRETCH - phase
            continue
        stop = min(last, at + STRETCH - phase)
        at = tally(words, at, stop, document, table, used)
        if at < stop:
            used[1] = at - PAD
            return False
    used[1] = 0
    used[2] += last - PAD
    return True


@njit(cache=True, nogil=True, boundscheck=False)
def moved(table, larger):
    """Bring the rows of a table of words into a larger, empty one."""
    mask = U(larger.shape[0] - 1)
    for k in range(table.shape[0]):
        key = table[k, 0]
        if key == _ZERO:
            continue
        slot = (key * C2) >> U(20) & mask
        while larger[slot, 0] != _ZERO:
            slot = (slot + _ONE) & mask
        larger[slot] = table[k]


@njit(cache=True, nogil=True, boundscheck=False)
def fingerprints(
    buf, wide, offsets, numbers, begin, folding, fold_room, words, block, out, made, gaps, table, used
):
    """Add the fingerprints of pieces ``begin`` and after of a batch to ``out[made:]``, their words to ``table``.

    ``numbers[d]`` is the document that piece ``d`` belongs to. ``words`` needs room for the words of the
    longest piece, and PAD. Returns (fingerprints, words, pieces done): fewer pieces than all when ``table`` is
    full, or else when a single word is longer than ``fold_room``. Give more room and call again with that
    ``begin``; ``used[1]`` holds how many words of that piece were counted.
    """
    latin, entries, parts = folding
    total = 0
    for d in range(begin, offsets.size - 1):
        low, end = U(offsets[d]), U(offsets[d + 1])
        at, read = low, PAD
        fold_room[3][0] = 0
        while at < end:
            at, read = read_words(
                buf, wide, low, at, end, latin, entries, parts, fold_room, words, read, CHUNK
            )
            if read < 0:
                return made, total, d
        if not sampled(words, read, numbers[d], table, used):
            return made, total, d
        made = winnowed(words, PAD, read, block, out, made, gaps)
        total += read - PAD
    return made, total, offsets.size - 1


@njit(cache=True, nogil=True, boundscheck=False)
def parted(values, shift, starts, out):
    """Bring values into the order of their bits above ``shift``; ``starts`` becomes where each part begins.

    ``starts`` must be zeros, of shape (parts + 1,).
    """
    for k in range(values.size):
        starts[np.int64(values[k] >> U(shift)) + 1] += 1
    for k in range(1, starts.size):
        starts[k] += starts[k - 1]
    at = starts[:-1].copy()
    for k in range(values.size):
        part = np.int64(values[k] >> U(shift))
        out[at[part]] = values[k]
        at[part] += 1


@njit(cache=True, nogil=True, boundscheck=False)
def packed(values, low_bits, block_bits, tails, bit, heads, first, sampled_to, samples):
    """Add sorted fingerprints, each once, to a segment: the low bits to ``tails`` from ``bit``, a one to ``heads``.

    ``first`` is the number of the first of them in the segment. ``tails[0]`` holds what a part before left of its
    last eight bytes. Also notes in ``samples``, from number ``sampled_to``, where every ``SAMPLE``th bucket begins in
    ``heads``. Returns (end of the tails in bits, the next sample, how many were distinct).
    """
    width = low_bits + block_bits
    low_mask = (_ONE << U(low_bits)) - _ONE
    blocks = (_ONE << U(block_bits)) - _ONE
    cell, filled = np.int64(0), U(bit)
    waiting = tails[0]
    mark = sampled_to * SAMPLE
    number = first
    for k in range(values.size):
        if k > 0 and values[k] == values[k - 1]:
            continue
        h = values[k] >> U(BLOCK_BITS)
        bucket = np.int64(h >> U(low_bits))
        place = bucket + number
        while mark <= bucket:
            samples[sampled_to] = mark + number
            sampled_to += 1
            mark += SAMPLE
        heads[place >> 6] |= _ONE << U(place & 63)
        tail = (h & low_mask) << U(block_bits) | values[k] & blocks
        waiting |= tail << filled
        filled += U(width)
        if filled >= U(64):
            tails[cell] = waiting
            cell += 1
            filled -= U(64)
            waiting = tail >> (U(width) - filled)
        number += 1
    tails[cell] = waiting
    return (cell << 6) + np.int64(filled), sampled_to, number - first


@njit(cache=True, nogil=True, boundscheck=False)
def tail_at(tails, index, width):
    """The low bits of fingerprint ``index``."""
    bit = index * width
    cell, shift = bit >> 6, U(bit & 63)
    value = tails[cell] >> shift
    if np.int64(shift) + width > 64:
        value |= tails[cell + 1] << (U(64) - shift)
    return value & (_ONE << U(width)) - _ONE


@njit(cache=True, nogil=True, boundscheck=False)
def bucket_start(heads, samples, bucket):
    """The place in ``heads`` at which a bucket begins: behind the zeros that close those before it."""
    place = np.int64(samples[bucket // SAMPLE])
    # A damaged file may lead anywhere; no further than its end.
    if not 0 <= place < heads.size << 6:
        return heads.size << 6
    left = bucket % SAMPLE
    if left == 0:
        return place
    cell = place >> 6
    word = ~heads[cell] & ~((_ONE << U(place & 63)) - _ONE)
    zeros = np.int64(ones(word))  # type: ignore[call-arg]  # an intrinsic, as above
    while zeros < left:
        left -= zeros
        cell += 1
        if cell >= heads.size:
            return heads.size << 6
        word = ~heads[cell]
        zeros = np.int64(ones(word))
    for _ in range(left - 1):
        word &= word - _ONE
    return (cell << 6) + np.int64(zeros_below(word)) + 1


@njit(cache=True, nogil=True, boundscheck=False)
def looked_up(queries, heads, samples, tails, size, low_bits, block_bits, which, blocks):
    """The blocks in which each gram hash of ``queries`` stands, as pairs in ``which`` and ``blocks``.

    Returns how many there are, which may exceed the room: then give more and call again. Sorted queries walk
    through the segment once, from front to back.
    """
    made = 0
    width = low_bits + block_bits
    low_mask = (_ONE << U(low_bits)) - _ONE
    block_mask = (_ONE << U(block_bits)) - _ONE
    for k in range(queries.size):
        h = queries[k] >> U(BLOCK_BITS)
        bucket = np.int64(h >> U(low_bits))
        want = h & low_mask
        place = bucket_start(heads, samples, bucket)
        index = place - bucket
        while 0 <= index < size and place >> 6 < heads.size and heads[place >> 6] >> U(place & 63) & _ONE:
            tail = tail_at(tails, index, width)
            low = tail >> U(block_bits)
            if low > want:
                break
            if low == want:
                if made < which.size:
                    which[made] = k
                    blocks[made] = np.int64(tail & block_mask)
                made += 1
            place += 1
            index += 1
    return made


@njit(cache=True, nogil=True, boundscheck=False)
def unpacked_part(heads, tails, first, size, place, low_bits, block_bits, out):
    """Fingerprints ``first`` to ``first + size`` of a segment in ``out``; returns the place in ``heads`` behind them.

    ``place`` is where the search for the first of them in ``heads`` begins; -1 when there are fewer.
    """
    width = low_bits + block_bits
    block_mask = (_ONE << U(block_bits)) - _ONE
    for k in range(size):
        while place >> 6 < heads.size and not heads[place >> 6] >> U(place & 63) & _ONE:
            place += 1
        if place >> 6 >= heads.size:
            return -1
        bucket = U(place - first - k)
        tail = tail_at(tails, first + k, width)
        h = bucket << U(low_bits) | tail >> U(block_bits)
        out[k] = h << U(BLOCK_BITS) | tail & block_mask
        place += 1
    return place
