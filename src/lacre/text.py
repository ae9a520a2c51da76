"""Words and sentences: the one normalisation of lacre, named ``lacre-words-1`` .

This module is the definition, in plain Python. The compiled kernel of :mod:`lacre.overlap` is built from the
same table and must agree with :func:`words` on every input; tests hold it to that.

A *word* is a maximal run of letters and digits after compatibility decomposition and case folding, so that
``ﬁ`` opens to ``fi`` and ``m²`` reads ``m2``. Combining marks and invisible format characters (soft hyphen,
zero-width space, byte-order mark) vanish. A hyphen or soft hyphen at a line break between two letters joins
them, as in text that came out of a PDF; every other character separates. Look-alikes of Latin letters
(Cyrillic, and the degree sign for the ordinal ``º``) read as the letter they look like.

Two channels: the *folded* form drops accents and finds; the *exact* form keeps them and confirms.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

VERSION = "lacre-words-1"

# Letters that readers, typists and OCR take for a Latin letter. Applied after case folding.
LOOKALIKES = dict(zip("авекмнорстухіѕјҫԁԛԝһ°", "abekmhopctyxisjcdqwho", strict=True))

HYPHENS = "-\u2010"
SOFT_HYPHEN = "\u00ad"
LINE_BREAKS = "\n\r\v\f\u2028\u2029"
BLANKS = " \t\u00a0"

SEPARATOR = "\0"


class Word(NamedTuple):
    """A folded word and the [start, end) of the characters it was read from."""

    folded: str
    start: int
    end: int


@lru_cache(maxsize=4096)
def fold(character: str) -> str:
    r"""What one character folds to: letters and digits, ``\0`` for a separator, "" when it vanishes.

    >>> fold("Ç"), fold("ﬁ"), fold("½"), fold("\u00ad"), fold("—"), fold("º"), fold("С")
    ('c', 'fi', '1\x002', '', '\x00', 'o', 'c')
    """
    kind = unicodedata.category(character)
    if kind[0] == "M" or kind == "Cf":
        return ""
    if character in LOOKALIKES:
        return LOOKALIKES[character]
    # Case folding can bring back composed letters ("ŉ", "ǰ"), hence the second decomposition.
    opened = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    folded = []
    for part in opened:
        kind = unicodedata.category(part)
        if kind[0] == "M" or kind == "Cf":
            continue
        folded.append(LOOKALIKES.get(part, part) if kind[0] in "LN" else SEPARATOR)
    return "".join(folded)


def is_letter(folded: str) -> bool:
    """Whether a folded character is a letter, not a digit or a separator."""
    return unicodedata.category(folded)[0] == "L"


def words(text: str) -> list[Word]:
    r"""The words of ``text`` in the folded channel, each with the characters it was read from.

    >>> [w.folded for w in words("A CONTAMI-\nNAÇÃO pré-requisito: 1ª vara, R$ 1.000,00")]
    ['a', 'contaminacao', 'pre', 'requisito', '1a', 'vara', 'r', '1', '000', '00']
    >>> words("É só.")
    [Word(folded='e', start=0, end=1), Word(folded='so', start=2, end=4)]
    """
    found: list[Word] = []
    letters: list[str] = []
    start = end = 0
    position = 0
    while position < len(text):
        character = text[position]
        if character in HYPHENS or character == SOFT_HYPHEN:
            after = _after_line_break(text, position)
            if after is not None:
                position = after
                continue
        for part in fold(character):
            if part != SEPARATOR:
                if not letters:
                    start = position
                letters.append(part)
                end = position + 1
            elif letters:
                found.append(Word("".join(letters), start, end))
                letters.clear()
        position += 1
    if letters:
        found.append(Word("".join(letters), start, end))
    return found


def _after_line_break(text: str, hyphen: int) -> int | None:
    """Where the word goes on after a hyphen at a line break, or None when the hyphen is a plain one."""
    after = hyphen + 1
    while after < len(text) and text[after] in BLANKS:
        after += 1
    if after >= len(text) or text[after] not in LINE_BREAKS:
        return None
    after += 2 if text[after : after + 2] == "\r\n" else 1
    while after < len(text) and (text[after] in BLANKS or text[after] == "\f"):
        after += 1
    if after >= len(text) or not is_letter((fold(text[after]) or SEPARATOR)[0]):
        return None
    # Looked at last: in a row of soft hyphens, each would walk back over all those before it.
    before = hyphen - 1
    while before >= 0 and fold(text[before]) == "":
        before -= 1
    if before < 0 or not is_letter((fold(text[before]) or SEPARATOR)[-1]):
        return None
    return after


_NOT_A_WORD = re.compile(r"[\W_]+")


def exact(source: str) -> str:
    r"""The exact form of a text: case folded, accents kept, separators and invisible characters gone.

    Two stretches with equal folded words agree in the exact channel when their exact forms are equal.

    >>> exact("Avô, AVO\u0302") == exact("avôavô"), exact("avó") == exact("avô")
    (True, False)
    """
    opened = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", source).casefold())
    return _NOT_A_WORD.sub("", unicodedata.normalize("NFC", opened))


# Abbreviations, in the folded channel: a full stop after them does not end a sentence ...
_TITLES = """
dr dra drs dras sr sra srs sras srta prof profa profs profas exmo exma ilmo ilma des min rel av jr cf v vs
org orgs cia ltda ibid op mr mrs ms
"""
TITLES = frozenset(_TITLES.split())
# ... and these only before a digit or an ordinal: "lei." and "mar." also end sentences.
_BEFORE_NUMBER = """
art arts inc incs par al n nr num no p pp pag pags cap caps fig figs tab ed eds vol vols lei dec res proc rec
ac c s d jan fev mar abr mai jun jul ago set out nov dez
"""
BEFORE_NUMBER = frozenset(_BEFORE_NUMBER.split())

# Possessive, and never from the middle of a row of stops: dot leaders would cost the square of their length.
_END = re.compile(
    r"""(?<![.!?…])(?P<stop>[.!?…]++)(?P<close>["”’»)\]]*+)(?=\s|$)  # a stop, closing marks, then white space
      | (?:\n|\r\n?+)[^\S\r\n]*[\r\n]                                # or an empty line""",
    re.VERBOSE,
)
_NEXT = re.compile(r"\s*(\S)")
_LAST_WORD = re.compile(r"([^\W_]+)$")


def sentences(text: str) -> list[tuple[int, int]]:
    """The [start, end) of each sentence of ``text``, white space trimmed.

    A stop after an abbreviation ("Art. 5.º", "Dr. João", "n.º 2"), after an initial, before a lower-case
    letter or inside a number does not end a sentence. An empty line always does.

    >>> text = "O Dr. Lima citou o Art. 5.º, n.º 2, da lei. Quanto pagou? R$ 1.000,00."
    >>> [text[a:b] for a, b in sentences(text)]
    ['O Dr. Lima citou o Art. 5.º, n.º 2, da lei.', 'Quanto pagou?', 'R$ 1.000,00.']
    """
    ends = [match.end() for match in _END.finditer(text) if _ends_sentence(text, match)]
    spans = []
    for start, end in pairwise([0, *ends, len(text)]):
        inner = text[start:end]
        trimmed = inner.strip()
        if trimmed:
            offset = start + len(inner) - len(inner.lstrip())
            spans.append((offset, offset + len(trimmed)))
    return spans


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    if match["stop"] is None:
        return True
    following = _NEXT.match(text, match.end())
    if following is None:
        return True
    if following[1].islower():
        return False
    before = _LAST_WORD.search(text, max(0, match.start() - 40), match.start())
    if match["stop"] != "." or before is None:
        return True
    word = "".join(fold(c) for c in before[1])
    if word in TITLES or (following[1].isdigit() and word in BEFORE_NUMBER):
        return False
    initial = len(before[1]) == 1 and before[1].isupper()
    return not initial
