"""An item cut in two: the beginning that goes out, and the rest that is asked for (SPEC L8)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lacre.errors import InputError
from lacre.registry.items import Payload
from lacre.text import Word, words

HALF = 50
"""Percent of an item's words that go out (SPEC L8): the cut that decides."""
CUTS = (40, HALF, 60)
"""The cuts at which it is asked again, to see whether a mark is stable."""

LEAST_BEGINNING = 10
"""Words that a column must be given, or it cannot know which item is meant."""
MOST_REST = 120
"""Words of the rest that are judged; more would cost money and tell nothing new."""

# Images and addresses are no words of the item; how options are lettered is the booklet's choice.
_LINK = re.compile(r"!\[[^\]]*\]\([^)]*\)|https?://\S+")
_LETTER = re.compile(
    r"(?m)^[ \t>*_#-]*\(?[A-Za-z][*_]*[).:\]][*_]*(?=\s|$)"  # at the beginning of a line, however it is marked up
    r"|(?<=\s)\(?[A-Ea-e]\)(?=\s)"  # or in the middle of one
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Cut:
    """An item cut between two words.

    Attributes:
        percent: how much of its words went out.
        beginning: the text that goes out.
        given, rest: the folded words of both; ``rest`` at most :data:`MOST_REST` of them.
        spelt: the words of ``rest`` as they are written, accents and all.
    """

    percent: int
    beginning: str
    given: tuple[str, ...]
    rest: tuple[str, ...]
    spelt: tuple[str, ...]


def text_of(payload: Payload) -> str:
    """An item as a booklet prints it: passage, stem, lettered options or parts; no key, no expected answer.

    >>> text_of(Payload(kind="choice", stem="Que cor?", options={"A": "Azul", "B": "Roxo"}, key="B"))
    'Que cor?\\nA) Azul\\nB) Roxo'
    """
    body = [payload.passage.text] if payload.passage else []
    lines = [payload.stem, *(f"{letter}) {text}" for letter, text in payload.options.items())]
    lines += [f"{part.id}) {part.prompt}" for part in payload.parts]
    text = "\n\n".join([*body, "\n".join(lines)])
    return _LINK.sub(" ", text).strip()


def folded(text: str) -> list[Word]:
    """The words of a text without the letters of its options.

    >>> [word.folded for word in folded("Que cor?\\n**A)** Azul (b) A verde")]
    ['que', 'cor', 'azul', 'a', 'verde']
    """
    # Blanks of the same length, so that places in the text stay what they are.
    return words(_LETTER.sub(lambda found: " " * len(found[0]), text))


def cut(text: str, percent: int) -> Cut:
    """``text`` cut after so many percent of its words, between two words with white space between them.

    >>> found = cut("O guarda-chuva roxo ficou no bonde", 40)
    >>> found.beginning, found.rest
    ('O guarda-chuva', ('roxo', 'ficou', 'no', 'bonde'))

    Raises:
        InputError: the percentage is not between 0 and 100.
    """
    if not 0 < percent < 100:
        raise InputError("cut", f"{percent} is not between 0 and 100", "Half of an item is 50")
    found = folded(text)
    place = round(len(found) * percent / 100)
    # A compound with a hyphen is two words, and is not torn.
    while 0 < place < len(found) and not _parted(text, found[place - 1].end, found[place].start):
        place += 1
    after = found[place:]
    where = _line_start(text, after[0].start) if after else len(text)
    return Cut(
        percent=percent,
        beginning=text[:where].rstrip(),
        given=_folded(found[:place]),
        rest=_folded(after[:MOST_REST]),
        spelt=tuple(text[word.start : word.end] for word in after[:MOST_REST]),
    )


def _parted(text: str, end: int, start: int) -> bool:
    return any(character.isspace() for character in text[end:start])


def _line_start(text: str, start: int) -> int:
    """Where the rest begins: the letter of an option goes with its option."""
    line = text.rfind("\n", 0, start) + 1
    return line if _LETTER.fullmatch(text[line:start].rstrip()) else start


def _folded(found: Iterable[Word]) -> tuple[str, ...]:
    return tuple(word.folded for word in found)
