"""What kind of text a match is, and which of its words are the item's own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lacre.overlap.sheets import Sheets, words_of_texts
from lacre.registry.verdicts import Class

# The language of Brazilian statutes: "Art. 5º", "§ 2º", "inciso IV", "caput", "Lei nº 8.906".
_STATUTE = re.compile(
    r"(?i)\b(?:art(?:igo)?s?\b\.?\s*\d+|inciso\s+[ivxlc]+\b|caput\b|par[áa]grafo\s+[úu]nico"
    r"|(?:lei|decreto(?:-lei)?|emenda constitucional|medida provis[óo]ria)\s+"
    r"(?:complementar\s+)?n[.º°o]*\s*\d)"
    r"|§+\s*\d"
)


class Ground(NamedTuple):
    """For every word of the sheets: whether it stands in a declared passage, or in an approved set phrase."""

    declared: npt.NDArray[np.bool_]
    approved: npt.NDArray[np.bool_]


class Stretches(NamedTuple):
    """Of a match: the most words in a row outside approved phrases; the most that are the item's own as well.

    ``approved`` tells whether any of its words is in an approved phrase.
    """

    fresh: int
    own: int
    approved: bool


def ground(sheets: Sheets, phrases: Sequence[str]) -> Ground:
    """What each word of the sheets stands on; ``phrases`` are the approved ones, as text."""
    counts = np.diff(sheets.word_of_field)
    declared = np.repeat(np.array([not field.own for field in sheets.fields], np.bool_), counts)
    approved = np.zeros(sheets.hashes.size, np.bool_)
    field = np.repeat(np.arange(len(sheets.fields)), counts)
    read = words_of_texts([phrase.encode() for phrase in phrases])
    for low, high in zip(read.firsts[:-1].tolist(), read.firsts[1:].tolist(), strict=True):
        size = high - low
        if size == 0:
            continue
        starts = np.flatnonzero(sheets.hashes[: sheets.hashes.size - size + 1] == read.hashes[low])
        for k in range(1, size):
            starts = starts[sheets.hashes[starts + k] == read.hashes[low + k]]
        # A phrase ends with its field: no text has it across two.
        for start in starts[field[starts] == field[starts + size - 1]].tolist():
            approved[start : start + size] = True
    return Ground(declared, approved)


def stretches(ground: Ground, first: int, last: int) -> Stretches:
    """The stretches of words [first, last) of the sheets."""
    declared, approved = ground.declared[first:last], ground.approved[first:last]
    return Stretches(
        fresh=_longest(~approved),
        own=_longest(~approved & ~declared),
        approved=bool(approved.any()),
    )


def _longest(kept: npt.NDArray[np.bool_]) -> int:
    """The most neighbours that are true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], kept, [False]]).astype(np.int8)))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def class_of(matched: str, found: Stretches) -> Class:
    """The class of a match: boilerplate or quotation if nothing else, a statute by its wording, or a copy.

    >>> own = Stretches(fresh=9, own=9, approved=False)
    >>> class_of("Art. 5º Todos são iguais perante a lei, sem distinção", own)
    'statute'
    """
    if found.fresh == 0:
        return "boilerplate"
    if found.own == 0:
        return "quotation"
    if _STATUTE.search(matched):
        return "statute"
    return "copy"
