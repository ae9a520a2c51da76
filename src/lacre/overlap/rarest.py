"""The rarest sentence of an item, and how well a stretch of a document aligns with it (SPEC L7)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rapidfuzz import fuzz

from lacre.text import sentences

if TYPE_CHECKING:
    from lacre.overlap.sheets import Sheets

# Longer sentences (lists without stops, mostly) are cut to their most informative stretch of this many words.
LONGEST = 40


class Sentence(NamedTuple):
    """Words [first, last) of the sheets, numbered over all items; their folded text, one blank between words."""

    first: int
    last: int
    folded: str


class Alignment(NamedTuple):
    """Similarity, 0 to 1, and the [start, end) characters of the stretch that aligns best."""

    score: float
    start: int
    end: int


def rarest_sentence(sheets: Sheets, item: int, min_words: int) -> Sentence | None:
    """The sentence of the item's own prompt with the most information, of ``min_words`` words or more.

    Where no single sentence is long enough the whole of what is asked stands for it, options included; where
    that is too short as well there is none.
    """
    spans = [span for span in _sentence_spans(sheets, item) if span[1] - span[0] >= min_words]
    if not spans:
        first, last = _own_words(sheets, item)
        if last - first < min_words:
            return None
        spans = [(first, last)]
    best = max(spans, key=lambda span: (float(sheets.bits[span[0] : span[1]].sum()), -span[0]))
    first, last = _most_informative(sheets, *best)
    return Sentence(first, last, " ".join(_folded(sheets, first, last)))


def _sentence_spans(sheets: Sheets, item: int) -> Iterator[tuple[int, int]]:
    """[first, one past last) word of every sentence of the item's own words."""
    for number in range(int(sheets.field_of_item[item]), int(sheets.field_of_item[item + 1])):
        field = sheets.fields[number]
        if not (field.prompt and field.own):
            continue
        first, last = int(sheets.word_of_field[number]), int(sheets.word_of_field[number + 1])
        starts = sheets.starts[first:last]
        for begin, end in _prose(field.text):
            low, high = len(field.text[:begin].encode()), len(field.text[:end].encode())
            a, b = np.searchsorted(starts, [low, high])
            yield first + int(a), first + int(b)


# Addresses, and images as Markdown writes them: rare, but no sentence; another copy has another address.
_ADDRESS = re.compile(r"!\[[^\]]*\]\([^)\s]*\)|\b(?:https?|ftp)://\S+|\bwww\.\S+")


def _prose(text: str) -> Iterator[tuple[int, int]]:
    """The [start, end) of every sentence; an address cuts it in two."""
    for begin, end in sentences(text):
        at = begin
        for address in _ADDRESS.finditer(text, begin, end):
            yield at, address.start()
            at = address.end()
        yield at, end


def _own_words(sheets: Sheets, item: int) -> tuple[int, int]:
    """[first, one past last) word of the presented fields behind the last declared passage."""
    first_field = int(sheets.field_of_item[item])
    for number in range(first_field, int(sheets.field_of_item[item + 1])):
        if not sheets.fields[number].own:
            first_field = number + 1
    return int(sheets.word_of_field[first_field]), sheets.presented(item)[1]


def _most_informative(sheets: Sheets, first: int, last: int) -> tuple[int, int]:
    if last - first <= LONGEST:
        return first, last
    sums = np.convolve(sheets.bits[first:last], np.ones(LONGEST, np.float32), "valid")
    begin = first + int(np.argmax(sums))
    return begin, begin + LONGEST


def _folded(sheets: Sheets, first: int, last: int) -> list[str]:
    return [sheets.folded(word) for word in range(first, last)]


def align(sentence: str, stretch: str) -> Alignment:
    """How well the best stretch of ``stretch`` matches ``sentence``; both folded.

    The score is rapidfuzz's partial ratio, 2 M / T over the best window (indel similarity), 0 to 1.

    >>> align("o gato pulou o muro", "ontem o gato pulou um muro alto").score > 0.85
    True
    """
    found = fuzz.partial_ratio_alignment(sentence, stretch)
    if found is None:
        return Alignment(0.0, 0, 0)
    if len(sentence) <= len(stretch):
        return Alignment(found.score / 100, found.dest_start, found.dest_end)
    return Alignment(fuzz.ratio(sentence, stretch) / 100, 0, len(stretch))
