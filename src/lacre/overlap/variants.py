"""Harmless ways in which the same text comes to look different, made on the side of the items.

Accents, case, spaces, quotation marks and line-break hyphens are the normalisation's business. What remains:
text read in the wrong encoding, text escaped for the web, accented letters lost, compounds whose hyphen was
lost or that a line break joined. Each variant is the items' own text, changed, with every word of the changed
text traced back to the word it came from.
"""

from __future__ import annotations

import html.entities
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lacre.overlap.sheets import Places, Sheets, Words, word_hash, words_of_texts
from lacre.text import HYPHENS, LINE_BREAKS, words


def mojibake(character: str) -> str:
    """UTF-8 bytes read as Windows-1252; the five bytes it leaves undefined read as Latin-1.

    >>> mojibake("ã")
    'Ã£'
    """
    return "".join(
        bytes([byte]).decode("cp1252" if byte not in b"\x81\x8d\x8f\x90\x9d" else "latin-1")
        for byte in character.encode()
    )


def named_entity(character: str) -> str:
    """An HTML entity, by name where HTML has one.

    >>> named_entity("ã"), named_entity("ł")
    ('&atilde;', '&#322;')
    """
    name = html.entities.codepoint2name.get(ord(character))
    return f"&{name};" if name else f"&#{ord(character)};"


def numbered_entity(character: str) -> str:
    """An HTML entity by number.

    >>> numbered_entity("ã")
    '&#227;'
    """
    return f"&#{ord(character)};"


def lost(character: str) -> str:  # noqa: ARG001
    """What is left where a program could not write the character: a question mark, or its like."""
    return "?"


VARIANTS: tuple[Callable[[str], str], ...] = (mojibake, named_entity, numbered_entity, lost)


class Changed(NamedTuple):
    """The words of changed fields: first word of each field, hashes, and the item's word each came from.

    ``base`` is twice the number of the word in its item's sheet; its lowest bit is set for a word that stands
    where the item has none (an entity's name for a quotation mark, say), which then points to the next one.
    """

    word_of_field: Places
    hashes: Words
    base: npt.NDArray[np.uint32]
    touched: npt.NDArray[np.bool_]


def unchanged(sheets: Sheets) -> Changed:
    """The items as they are, in the form of a variant."""
    first = sheets.word_of_field[sheets.field_of_item[:-1]]
    counts = np.diff(sheets.word_of_field[sheets.field_of_item])
    base = (np.arange(sheets.hashes.size) - np.repeat(first, counts)).astype(np.uint32) << 1
    return Changed(sheets.word_of_field, sheets.hashes, base.astype(np.uint32), np.zeros(base.size, np.bool_))


def changed(sheets: Sheets, variant: Callable[[str], str]) -> Changed:
    """The items with every character beyond ASCII changed by ``variant``."""
    texts = [field.text for field in sheets.fields]
    points = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)
    beyond = points >= 0x80
    kinds, which = np.unique(points[beyond], return_inverse=True)
    replacements = {int(point): variant(chr(point)) for point in kinds.tolist()}
    new = words_of_texts([text.translate(replacements).encode() for text in texts])
    new_sizes = np.ones(points.size, np.int64)
    new_sizes[beyond] = np.array([len(r.encode()) for r in replacements.values()], np.int64)[which]
    old_sizes = 1 + (points >= 0x80) + (points >= 0x800).astype(np.int64) + (points >= 0x10000)
    new_at, old_at = _offsets(new_sizes), _offsets(old_sizes)
    field_at = _offsets(np.array([len(text) for text in texts], np.int64))
    # The last character of each new word, then the byte of the item it came from, then the word there.
    last = np.repeat(new_at[field_at[:-1]], np.diff(new.firsts)) + new.ends - 1
    old = old_at[np.searchsorted(new_at, last, side="right") - 1]
    shift = np.repeat(old_at[field_at[:-1]], np.diff(sheets.word_of_field))
    word = np.searchsorted(sheets.starts + shift, old, side="right") - 1
    inside = (word >= 0) & (old < (sheets.ends + shift)[word])
    item_word = np.repeat(
        sheets.word_of_field[sheets.field_of_item[:-1]],
        np.diff(new.firsts[sheets.field_of_item]),
    )
    base = ((np.where(inside, word, word + 1) - item_word) << 1 | ~inside).astype(np.uint32)
    touched = ~inside | (new.hashes != sheets.hashes[np.maximum(word, 0)])
    return Changed(new.firsts, new.hashes, base, touched)


def _offsets(sizes: Places) -> Places:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


class Site(NamedTuple):
    """Words ``first`` to ``last`` (global, inclusive) of a sheet that may also stand as ``others``."""

    first: int
    last: int
    others: tuple[int, ...]


_BREAK = rf"[{HYPHENS}\u00ad][ \t\u00a0]*[{LINE_BREAKS}]"
_JOINED = re.compile(_BREAK)
_SITE = re.compile(
    rf"""(?P<hyphen>(?<=[^\W_])[{HYPHENS}\u2011](?=[^\W_]))  # a compound: "ex-empregada"
      | (?P<join>(?<=[^\W_]){_BREAK})                          # joined by a line break
      | (?P<cut>(?:^|(?<=\s\s))[^\W\d_](?=\s+[^\W\d_]) | (?<=\s)[^\W\d_](?=\s\s+[^\W\d_]))  # a letter cut off
    """,
    re.VERBOSE,
)


def sites(sheets: Sheets) -> Iterator[Site]:
    """Where compounds may be joined or split: "ex-empregada" as one word, a line-break join as two.

    Also a lower-case letter at the head of a field or next to two blanks, cut off the word behind it
    ("e  videnciar").
    """
    for number, field in enumerate(sheets.fields):
        first, last = int(sheets.word_of_field[number]), int(sheets.word_of_field[number + 1])
        starts = sheets.starts[first:last]
        for match in _SITE.finditer(field.text):
            at = len(field.text[: match.start()].encode())
            word = first + int(np.searchsorted(starts, at, side="right")) - 1
            site = _site(sheets, match.lastgroup or "", word, first, last)
            if site is not None:
                yield site


def _site(sheets: Sheets, kind: str, word: int, first: int, last: int) -> Site | None:
    if word < first:
        return None
    if kind == "join":
        halves = [half for piece in _JOINED.split(sheets.source(word)) for half in words(piece)]
        return Site(word, word, tuple(word_hash(h.folded) for h in halves)) if len(halves) == 2 else None
    letter = sheets.source(word)
    if word + 1 >= last or (kind == "cut" and not (len(letter) == 1 and letter.islower())):
        return None
    return Site(word, word + 1, (word_hash(sheets.folded(word) + sheets.folded(word + 1)),))
