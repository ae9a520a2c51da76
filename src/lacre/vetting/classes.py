"""What kind of text a match is, and which of its words are the item's own.

A class explains a match to the person who decides. It has no say in the verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lacre.overlap.sheets import Sheets, words_of_texts
from lacre.registry.verdicts import Class
from lacre.vetting.evidence import Place
from lacre.vetting.outline import Outline, outline
from lacre.vetting.setting import asks, is_article, past, setting, wordings
from lacre.vetting.shared import LONGEST_PHRASE, Shared, shared

ASKED = 4  # own words of the question or the options from which a text holds what is asked
MOSTLY = 0.8  # share of a match that makes it quoted, shared ...
PASTED = 0.5  # share of an item in one run that no statute has
LEAST_PASTED = 13  # words of such a run; shorter items are whole by chance
HEADING = 5  # words before an item's text in its booklet, such as its number ...
SURE = 30  # ... which a run of so many words may leave out
ALIKE = 0.9  # similarity from which an aligned sentence counts as one that stands there
LONGEST_NAME = 20  # words
LEAST_CAPITALS = 3
CAPITALS = 0.75  # share of the words that count
PAST_PER_WORD = 0.06  # verbs in the preterite among the words of a story


@dataclass(frozen=True, slots=True)
class Ground:
    """What every word of the sheets stands on.

    Attributes:
        declared: in a declared passage; ``approved``: in an approved set phrase; shape (words,).
        shared: what many items of the set have in common.
        outlines: the outline of each item, drawn when it is first asked for.
    """

    sheets: Sheets
    declared: npt.NDArray[np.bool_]
    approved: npt.NDArray[np.bool_]
    shared: Shared
    outlines: dict[int, Outline] = field(default_factory=dict)

    def outline(self, item: int) -> Outline:
        """The outline of an item."""
        if item not in self.outlines:
            self.outlines[item] = outline(self.sheets, item)
        return self.outlines[item]


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
    return Ground(sheets, declared, _approved(sheets, phrases), shared(sheets))


def _approved(sheets: Sheets, phrases: Sequence[str]) -> npt.NDArray[np.bool_]:
    approved = np.zeros(sheets.hashes.size, np.bool_)
    field = np.repeat(np.arange(len(sheets.fields)), np.diff(sheets.word_of_field))
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
    return approved


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


def class_of(ground: Ground, place: Place) -> Class:
    """The class of a match, by the first of these that holds.

    Nothing but approved phrases is boilerplate, nothing but a declared passage a quotation. In the text of a
    statute, or worded like one, it is a statute, unless the document goes on to ask, holds half the item in
    one run, begins as the
    item does, or tells a story. A run of capitals is a name, and so is the
    title of a work in a source line. What many items share is boilerplate, or a source
    that they quote when it is long. Where the document holds what the item asks, the match is a copy; where it
    holds only what the item quotes, a quotation. All else is a copy.
    """
    low = ground.sheets.words_of(place.item)[0]
    first, last = low + place.first, low + place.last
    found = stretches(ground, first, last)
    if found.fresh == 0:
        return "boilerplate"
    if found.own == 0:
        return "quotation"
    view = _View(ground, place)
    if view.statute():
        return "copy" if view.pasted() else "statute"
    if view.name():
        return "name"
    common = ground.shared.flags[first:last]
    if view.outline.formula[view.seen].mean() >= MOSTLY:
        return "boilerplate"
    if common.mean() >= MOSTLY:
        if int(ground.shared.stretch[first:last].max()) <= LONGEST_PHRASE:
            return "boilerplate"
        if view.asked() < ASKED:
            return "quotation"
    if view.asked() >= ASKED:
        return "copy"
    if view.outline.source[view.seen].mean() >= MOSTLY:
        return "name"
    return "quotation" if view.quoted() else "copy"


class _View:
    """One match seen from the item and from the document."""

    def __init__(self, ground: Ground, place: Place) -> None:
        self.place = place
        self.sheets = ground.sheets
        self.matched = place.excerpt.matched
        self.setting = setting(place.around)
        self.outline = ground.outline(place.item)
        low, high = ground.sheets.words_of(place.item)
        self.seen = slice(place.first, place.last)
        begin, end = ground.sheets.presented(place.item)
        self.undeclared = ~ground.declared[low:high]
        self.size = max(1, int(self.undeclared[: end - begin].sum()))
        own = ~(ground.shared.flags[low:high] | ground.approved[low:high] | ground.declared[low:high])
        self.question = self.outline.asked & own

    def asked(self) -> int:
        """Own words of the question and the options that stand in this part of the document."""
        return sum(int(self.question[first:last].sum()) for first, last in self.place.near)

    def statute(self) -> bool:
        """Whether the document is a statute here, or names laws about words that are all it has of the item."""
        place = self.place
        if self.setting.statute:
            return True
        if not self.setting.readable:
            return False
        alone = self.asked() < ASKED or (len(place.near) == 1 and place.words < PASTED * self.size)
        return alone and not asks(self.matched) and (wordings(self.matched) > 0 or self.setting.legal)

    def pasted(self) -> bool:
        """Whether what stands in a statute is not of it: it asks, it is half of the item, or it tells a story."""
        place = self.place
        if asks(self.matched):
            return True
        own = int(self.undeclared[self.seen].sum())
        if own >= max(LEAST_PASTED, PASTED * self.size) and place.score >= ALIKE:
            return True
        if self._opening():
            return True
        first, last = next(piece for piece in place.near if piece[0] <= place.first < piece[1])
        if self.setting.of_exam and last - first >= PASTED * self.size:
            return True
        told = past(self.matched)
        return told >= 2 and told >= PAST_PER_WORD * place.words

    def _opening(self) -> bool:
        """Whether the match begins where the item does, in words that no statute begins with.

        Items quote statutes in the middle; whoever pastes an item begins at its beginning.
        """
        place, sheets = self.place, self.sheets
        low = sheets.words_of(place.item)[0]
        field = sheets.field_at(low + place.first)
        begin = int(sheets.word_of_field[field]) - low
        return (
            sheets.fields[field].name == "stem"
            and place.words >= LEAST_PASTED
            and not place.sentence
            and place.first - begin <= (HEADING if place.words >= SURE else 0)
            and not is_article(self.matched)
            and not is_article(sheets.fields[field].text[:200])
        )

    def name(self) -> bool:
        """Whether the match is the name of a body, a person or a work, with little around it."""
        counts = int(self.outline.content[self.seen].sum())
        capitals = int(self.outline.capital[self.seen].sum())
        short = self.place.words <= LONGEST_NAME
        return short and capitals >= LEAST_CAPITALS and capitals >= CAPITALS * counts

    def quoted(self) -> bool:
        """Whether the match lies in text that the item takes from elsewhere."""
        if not self.setting.readable:
            return False
        if self.outline.quoted[self.seen].mean() >= MOSTLY:
            return True
        leaned = (self.outline.leaned | self.outline.quoted)[self.seen].mean() >= MOSTLY
        return bool(leaned) and not self.setting.of_exam
