"""Compiled loops over public bytes: what may be encoded or escaped, ids and addresses in it, the canary's digits.

They read bytes as they are, at about the speed at which the words of a text are hashed, and only name places;
what stands there is looked at in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lacre.release.survey_kernel import (
    BASIS,
    PRIME,
    Bytes,
    Places,
    U,
    Words,
    digit_runs_loop,
    encoded_loop,
    lettered_loop,
    short_runs_loop,
    survey_loop,
    unescape_loop,
    unquote_loop,
)

TOKEN, BASE64, SPECIAL, END, DIGIT = 1, 2, 4, 8, 16
"""Classes of bytes: part of an id, of base64, may begin something encoded; an id may end at it; a digit."""

ID, MAIL, ELEVEN, CPF = 0, 1, 2, 3
"""Kinds of marks: a known id, the @ of an address, eleven characters from a digit on, digits written as a CPF."""


@cache
def classes() -> Bytes:
    """The class of each byte."""
    table = np.zeros(256, np.uint8)
    for character in b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789":
        table[character] = TOKEN | BASE64 | END
    for character in b"0123456789":
        table[character] |= DIGIT
    for character in b"._-":
        table[character] |= TOKEN
    for character in b"+/_-":
        table[character] |= BASE64
    for character in b"\\%&=<@-":
        table[character] |= SPECIAL
    return table


SHORTEST_ID = 4  # characters of an id that is looked for in running text; a shorter one would be a word


class IdTable(NamedTuple):
    """Ids by their hash: a bitmap over the first four bytes, and the sorted hashes with the number of the id."""

    bitmap: Words
    hashes: Words
    numbers: Places


class Ids(NamedTuple):
    """Ids that hold a digit, which are found by it, and the others, for which every word is looked at."""

    numbered: IdTable
    lettered: IdTable


def id_table(ids: Sequence[str]) -> Ids:
    """The tables of ids, which are made of letters without accents, digits and ``. _ -``, and end in no sign.

    Those of fewer than :data:`SHORTEST_ID` characters are left out.
    """
    long = [(number, id.encode()) for number, id in enumerate(ids) if len(id) >= SHORTEST_ID]
    numbered = [(number, content) for number, content in long if any(48 <= byte < 58 for byte in content)]
    lettered = [(number, content) for number, content in long if not any(48 <= byte < 58 for byte in content)]
    return Ids(_id_table(numbered), _id_table(lettered))


def _id_table(ids: Sequence[tuple[int, bytes]]) -> IdTable:
    bitmap = np.zeros(1 << 10, np.uint64)
    for _, content in ids:
        key = int.from_bytes(content[:4], "little") * 0x9E3779B1 >> 16 & 0xFFFF
        bitmap[key >> 6] |= U(1 << (key & 63))
    hashes = np.array([id_hash(content) for _, content in ids], np.uint64)
    order = np.argsort(hashes, kind="stable")
    return IdTable(bitmap, hashes[order], np.array([number for number, _ in ids], np.int64)[order])


def id_hash(content: bytes) -> int:
    """The 64-bit FNV-1a hash.

    >>> hex(id_hash(b"a"))
    '0xaf63dc4c8601ec8c'
    """
    h = int(BASIS)
    for byte in content:
        h = (h ^ byte) * int(PRIME) % 2**64
    return h


class Survey(NamedTuple):
    """What stands in a stretch of bytes.

    Attributes:
        escaped: [start, end) of what is to be read again without its escapes, shape (n, 2).
        marks: kind, start, end and number of each mark, shape (n, 4).
    """

    escaped: Places
    marks: Places


def survey(content: Bytes, ids: Ids) -> Survey:
    """What stands in ``content``."""
    escaped, marks = np.empty((256, 2), np.int64), np.empty((256, 4), np.int64)
    while True:
        windows, marked = survey_loop(content, classes(), *ids.numbered, escaped, marks)
        if ids.lettered.hashes.size:
            marked = lettered_loop(content, classes(), *ids.lettered, marks, marked)
        if windows <= escaped.shape[0] and marked <= marks.shape[0]:
            return Survey(escaped[:windows], marks[:marked])
        escaped, marks = np.empty((windows, 2), np.int64), np.empty((marked, 4), np.int64)


def encoded(content: Bytes) -> Places:
    """[start, end) of what may be base64, shape (n, 2): long runs of its characters, line breaks included."""
    found = np.empty((256, 2), np.int64)
    while (made := encoded_loop(content, classes(), found)) > found.shape[0]:
        found = np.empty((made, 2), np.int64)
    return found[:made]


def unescape(content: Bytes) -> Bytes:
    r"""The bytes without escapes: ``\u00e3``, ``\xc3``, ``\303``, ``\n``, ``%C3``, ``=C3`` and ``=`` at the end of
    a line, ``&#227;`` and ``&#xe3;``. What stands for a character of Unicode becomes UTF-8, what stands for a byte
    that byte. Of several backslashes in a row the last counts, so that JSON within JSON is read too.

    >>> unescape(np.frombuffer(rb"a\\u00e7\u00e3o &#233; %C3%A9", np.uint8)).tobytes().decode()
    'ação é é'
    """
    out = np.empty(content.size + 16, np.uint8)
    return out[: unescape_loop(content, out)]


def unquote(content: Bytes) -> Bytes:
    r"""JSON with the escapes of its strings undone once: what a reader of the JSON sees.

    >>> unquote(np.frombuffer(rb'{"a":"x\u00e7\n\\nabla"}', np.uint8)).tobytes().decode()
    '{"a":"xç\n\\nabla"}'
    """
    out = np.empty(content.size + 16, np.uint8)
    return out[: unquote_loop(content, out)]


class WordTable(NamedTuple):
    """Short sequences of words: a bitmap over their first words, and the sequences one behind another.

    Attributes:
        firsts: sorted hashes of first words, shape (n,). ``begins``: where each sequence starts in ``words``,
            shape (n,); ``ends``: one past its last word.
        order: the number that each sequence had when it was given.
    """

    bitmap: Words
    firsts: Words
    begins: Places
    ends: Places
    words: Words
    order: Places


def word_table(sequences: Sequence[Words]) -> WordTable:
    """The table of sequences of word hashes, each of one word or more; see :func:`short_runs`."""
    order = sorted(range(len(sequences)), key=lambda k: int(sequences[k][0]))
    ordered = [sequences[k] for k in order]
    sizes = np.array([0, *(one.size for one in ordered)], np.int64).cumsum()
    bitmap = np.zeros(1 << 10, np.uint64)
    firsts = np.array([int(one[0]) for one in ordered], np.uint64)
    cells = firsts >> U(48)
    np.bitwise_or.at(bitmap, (cells >> U(6)).astype(np.int64), U(1) << (cells & U(63)))
    words = np.concatenate([*ordered, np.zeros(0, np.uint64)])
    return WordTable(bitmap, firsts, sizes[:-1], sizes[1:], words, np.array(order, np.int64))


def short_runs(words: Words, table: WordTable) -> frozenset[int]:
    """The numbers, as given, of the sequences that stand in ``words``."""
    found = np.empty((64, 2), np.int64)
    while (made := short_runs_loop(words, *table[:5], found)) > found.shape[0]:
        found = np.empty((made, 2), np.int64)
    return frozenset(table.order[np.unique(found[:made, 1])].tolist())


def digit_runs(content: Bytes, entries: npt.NDArray[np.uint32], number: int) -> Places:
    """[start, end) of every place where the 32 hex digits of a 128-bit number stand one after another.

    Case does not count, nor does what stands between the digits: hyphens, blanks, line breaks, quotation marks,
    zero-width characters, and these escaped. ``entries``: of :func:`lacre.overlap.table.fold_table`.
    """
    high, low = U(number >> 64), U(number & (2**64 - 1))
    found = np.empty((64, 2), np.int64)
    while True:
        made = digit_runs_loop(content, entries, high, low, found)
        if made <= found.shape[0]:
            return found[:made]
        found = np.empty((made, 2), np.int64)
