"""The fold table: :func:`lacre.text.fold` for every code point, in the form the kernel reads."""

from __future__ import annotations

import sys
import unicodedata
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lacre.text import HYPHENS, SEPARATOR, SOFT_HYPHEN, fold, is_letter

# An entry is 0 (separates), a folded code point with LETTER set when it is a letter, or one of these.
LETTER = 1 << 21
SPECIAL = 1 << 31
VANISH = SPECIAL
HYPHEN = SPECIAL | 1
SOFT = SPECIAL | 2
OPENS = SPECIAL | 1 << 30  # low bits: where its parts stand, first their number

# Hangul syllables decompose by rule, not by table: unicodedata.decomposition is silent about them.
_HANGUL = range(0xAC00, 0xD7A4)


LATIN_OTHER = 255  # in the small table: not a separator, nor one ASCII character


class FoldTable(NamedTuple):
    """The table in three forms.

    Attributes:
        latin: for code points of two bytes, the one ASCII character they fold to, 0 for a separator, or LATIN_OTHER.
        entries: one uint32 per code point.
        parts: the expansions of entries marked OPENS.
    """

    latin: npt.NDArray[np.uint8]
    entries: npt.NDArray[np.uint32]
    parts: npt.NDArray[np.uint32]


def code(folded: str) -> int:
    """The number that stands for one folded character: 0 for a separator."""
    if folded == SEPARATOR:
        return 0
    return ord(folded) | (LETTER if is_letter(folded) else 0)


@cache
def fold_table() -> FoldTable:
    """The table of this Python's Unicode version; made once per process, in about a quarter of a second."""
    entries = np.zeros(sys.maxunicode + 1, np.uint32)
    parts: list[int] = []
    for point in range(sys.maxunicode + 1):
        character = chr(point)
        kind = unicodedata.category(character)
        if kind in ("Cn", "Co", "Cs"):
            continue
        if kind == "Lo" and point not in _HANGUL and not unicodedata.decomposition(character):
            entries[point] = point | LETTER
            continue
        codes = [code(part) for part in fold(character)]
        if len(codes) == 1:
            entries[point] = codes[0]
        elif not codes:
            entries[point] = VANISH
        elif any(codes):
            entries[point] = OPENS | len(parts)
            parts += [len(codes), *codes]
    for hyphen in HYPHENS:
        entries[ord(hyphen)] = HYPHEN
    entries[ord(SOFT_HYPHEN)] = SOFT
    latin = np.full(0x800, LATIN_OTHER, np.uint8)
    latin[entries[:0x800] == 0] = 0
    plain = (entries[:0x800] & ~np.uint32(LETTER)) < 0x80
    latin[plain] = (entries[:0x800][plain] & 0x7F).astype(np.uint8)
    return FoldTable(latin, entries, np.array(parts, np.uint32))
