"""Words that many items of one set share: set phrases of exams, and sources that several items quote."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lacre.overlap.sheets import Sheets, read_sheets
from lacre.registry.items import Candidate
from lacre.vetting.presented import presented

GRAM = 6  # words; "considerando o caso narrado, assinale a afirmativa correta" has seven that all share
MANY = (
    6  # items that have a run, from which it is no longer any one's own; copies of one item are rarely more
)
LEAST_WORDS = 8  # the shortest run that vetting looks for
LONGEST_PHRASE = 40  # words; what many share and is longer is a source they quote, not a phrase

Places = npt.NDArray[np.int64]


class Shared(NamedTuple):
    """For every word of the sheets: whether it stands in :data:`GRAM` words in a row that many items share.

    ``stretch`` is the length, in words, of the shared stretch around it; 0 where it is not shared.
    """

    flags: npt.NDArray[np.bool_]
    stretch: npt.NDArray[np.int32]


def shared(sheets: Sheets, many: int = MANY) -> Shared:
    """What ``many`` items or more of the set have in common."""
    grams = _Grams(sheets)
    for _ in range(GRAM - 1):
        grams.keep(many)
        grams.grow()
    size = sheets.hashes.size
    edges = np.zeros(size + 1, np.int64)
    often = grams.places[grams.items_of >= many]
    np.add.at(edges, often, 1)
    np.add.at(edges, often + GRAM, -1)
    flags = np.cumsum(edges[:size]) > 0
    stretch = np.zeros(size, np.int32)
    bounds = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    for low, high in zip(bounds[::2].tolist(), bounds[1::2].tolist(), strict=True):
        stretch[low:high] = high - low
    return Shared(flags, stretch)


class Phrase(NamedTuple):
    """A run that many items share: as one of them writes it, its words, how many items, some of their ids."""

    text: str
    words: int
    items: int
    examples: tuple[str, ...]


class Proposal(NamedTuple):
    """Phrases to look at, the most shared first, and how many longer runs were left out as quoted sources."""

    phrases: tuple[Phrase, ...]
    sources: int


def phrases(sheets: Sheets, *, least_words: int = LEAST_WORDS, least_items: int = MANY) -> Proposal:
    """The runs of ``least_words`` words or more that ``least_items`` items or more share, the longest of their kind.

    A run inside a longer shared one is left out, unless at least twice as many items have it. Runs of more than
    :data:`LONGEST_PHRASE` words are sources that items quote. Declared passages are not looked at.
    """
    grams = _Grams(sheets)
    found: list[Phrase] = []
    sources = 0
    while grams.places.size:
        grams.keep(least_items)
        if grams.size > LONGEST_PHRASE:
            sources = _beginnings(grams)
            break
        here = grams
        grams = here.copy()
        grams.grow()
        grams.keep(least_items)
        if here.size >= least_words:
            found += [_phrase(sheets, here, place) for place in _not_extended(here, grams)]
    found.sort(key=lambda phrase: (-phrase.items, -phrase.words, phrase.text))
    return Proposal(tuple(found), sources)


def propose(
    items: Sequence[Candidate], *, least_words: int = LEAST_WORDS, least_items: int = MANY
) -> Proposal:
    """As :func:`phrases`, of items as they are."""
    return phrases(
        read_sheets([presented(item) for item in items]), least_words=least_words, least_items=least_items
    )


class _Grams:
    """The places of all runs of ``size`` words inside one field, with the kind of each and how many items have it."""

    def __init__(self, sheets: Sheets) -> None:
        self.size = 1
        counts = np.diff(sheets.word_of_field)
        own = np.array([field.own for field in sheets.fields], np.bool_)
        ends = np.repeat(sheets.word_of_field[1:], counts)
        owner = np.repeat(np.arange(len(sheets.items)), np.diff(sheets.field_of_item))
        self.words = sheets.kinds.astype(np.int64)
        self.room = ends - np.arange(sheets.hashes.size)
        self.owner = np.repeat(owner, counts)
        self.places: Places = np.flatnonzero(np.repeat(own, counts))
        self.kinds: Places = self.words[self.places]
        self.items_of: Places = np.zeros(0, np.int64)
        self._count()

    def copy(self) -> _Grams:
        """The same places, to be changed apart."""
        other = object.__new__(_Grams)
        other.__dict__.update(self.__dict__)
        return other

    def grow(self) -> None:
        """The runs that are one word longer."""
        fits = self.room[self.places] > self.size
        places = self.places[fits]
        following = self.words[places + self.size]
        pair = self.kinds[fits] * (int(self.words.max(initial=0)) + 1) + following
        _, kinds = np.unique(pair, return_inverse=True)
        self.size += 1
        self.places, self.kinds = places, kinds.astype(np.int64)
        self._count()

    def keep(self, least_items: int) -> None:
        """Only the runs that so many items have."""
        often = self.items_of >= least_items
        self.places, self.kinds, self.items_of = self.places[often], self.kinds[often], self.items_of[often]

    def _count(self) -> None:
        """Items that have the run at each place."""
        many = int(self.owner.max(initial=0)) + 1
        pairs = np.unique(self.kinds * many + self.owner[self.places])
        items = np.bincount(pairs // many, minlength=int(self.kinds.max(initial=-1)) + 1)
        self.items_of = items[self.kinds]


def _beginnings(grams: _Grams) -> int:
    """How many longer runs these are the beginnings of: kinds of run that no other of them goes on to."""
    goes_on = np.isin(grams.places - 1, grams.places)
    return int(np.unique(grams.kinds[~goes_on]).size)


def _not_extended(here: _Grams, longer: _Grams) -> list[int]:
    """One place of each kind of run that no longer shared run explains, in the order of the sheets."""
    around = np.zeros(here.words.size + 1, np.int64)
    around[longer.places] = longer.items_of
    most: dict[int, int] = defaultdict(int)
    first: dict[int, int] = {}
    items: dict[int, int] = {}
    for place, kind, count in zip(
        here.places.tolist(), here.kinds.tolist(), here.items_of.tolist(), strict=True
    ):
        before = int(around[place - 1]) if place else 0
        most[kind] = max(most[kind], int(around[place]), before)
        first.setdefault(kind, place)
        items[kind] = count
    return sorted(place for kind, place in first.items() if items[kind] >= 2 * most[kind])


def _phrase(sheets: Sheets, grams: _Grams, place: int) -> Phrase:
    at = int(np.searchsorted(grams.places, place))
    same = grams.places[grams.kinds == grams.kinds[at]]
    owners = dict.fromkeys(grams.owner[same].tolist())
    field = sheets.field_at(place)
    text = sheets.fields[field].text.encode()
    written = text[int(sheets.starts[place]) : int(sheets.ends[place + grams.size - 1])].decode()
    return Phrase(
        text=" ".join(written.split()),
        words=grams.size,
        items=len(owners),
        examples=tuple(sheets.items[item].item for item in list(owners)[:3]),
    )
