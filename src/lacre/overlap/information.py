"""How much a word tells: minus log2 of its frequency in Portuguese, in bits."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import lru_cache
from unicodedata import category, normalize

from lacre.text import exact

# A word that no list knows is taken to be this frequent; wordfreq's large Portuguese list ends near 1e-8.
UNSEEN_FREQUENCY = 1e-9
# Any number fits a template: it counts like a word that is one in a thousand, however rare its digits.
NUMBER_FREQUENCY = 1e-3
# Letters and roman numerals number the parts of any text: "I, II, III, IV, V" is no item, however rare its parts.
MARK_FREQUENCY = 1 / 8
_MARK = re.compile(r"[a-z]|x{0,3}(?:ix|iv|v?i{0,3})")


def bits(words: Iterable[str]) -> list[float]:
    """The information of each word as written, in bits (Shannon 1948), from wordfreq's Portuguese list.

    >>> de, casa, lacre, unseen = bits(["de", "Casa", "lacre", "xyzzyqua"])
    >>> de < casa < lacre < unseen
    True
    """
    from wordfreq import get_frequency_dict  # noqa: PLC0415  (heavy, and only vetting needs it)

    # wordfreq keeps its own cache; this is a look-up once per vetting, of each distinct word.
    frequencies = get_frequency_dict("pt", wordlist="large")

    def of(word: str) -> float:
        form = exact(word)
        if any(character.isdigit() for character in form):
            return -math.log2(NUMBER_FREQUENCY)
        if _MARK.fullmatch(form):
            return -math.log2(max(MARK_FREQUENCY, frequencies.get(form, 0.0)))
        return -math.log2(max(frequencies.get(form, 0.0), UNSEEN_FREQUENCY))

    return [of(word) for word in words]


def is_number_or_mark(folded: str) -> bool:
    """Whether a folded word is a number, a letter or a roman numeral, which say little however rare they are.

    >>> [is_number_or_mark(word) for word in ("1988", "xiv", "c", "casa")]
    [True, True, True, False]
    """
    return any(map(str.isdigit, folded)) or _MARK.fullmatch(folded) is not None


def is_known(folded: str) -> bool:
    """Whether a folded word is one of wordfreq's Portuguese list, whatever its accents.

    >>> is_known("republica"), is_known("repubilca")
    (True, False)
    """
    return folded in _known()


@lru_cache(maxsize=1)
def _known() -> frozenset[str]:
    from wordfreq import get_frequency_dict  # noqa: PLC0415 - as above

    return frozenset(_without_marks(word) for word in get_frequency_dict("pt", wordlist="large"))


def _without_marks(word: str) -> str:
    return "".join(letter for letter in normalize("NFKD", word) if category(letter)[0] != "M")
