"""Which words of a continuation tell something: a rest that anybody could guess says nothing about memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lacre.overlap.information import bits
from lacre.probe.cuts import LEAST_BEGINNING, Cut

LEAST_TELLING = 10
"""Telling words that a rest must have to be judged."""
LEAST_BITS = 80.0
"""Information that its telling words must carry, in bits: ten words of common prose carry about a hundred."""
REPEATED = 3
"""Words in a row that were given already, or came before in the rest, and so need no memory."""

_ARTICLES = frozenset("aeo")  # words of any sentence, unless they stand among figures and letters
_MARK = re.compile(r"[a-z]|x{0,3}(?:ix|iv|v?i{0,3})")
# What only exams say, in folded words; it fits any item.
_EXAM = (
    "assinale a alternativa correta",
    "assinale a alternativa incorreta",
    "assinale a opcao correta",
    "assinale a afirmativa correta",
    "assinale a alternativa que",
    "marque a alternativa correta",
    "esta correto o que se afirma em",
    "esta correto apenas o que se afirma em",
    "estao corretas as afirmativas",
    "estao corretas apenas as afirmativas",
    "sao verdadeiras as afirmativas",
    "e correto afirmar que",
    "e correto o que se afirma",
    "e incorreto afirmar que",
    "de acordo com o texto",
    "de acordo com as informacoes",
    "com base no texto",
    "considerando o texto",
    "considere as afirmativas a seguir",
    "considere as afirmacoes a seguir",
    "analise as afirmativas a seguir",
    "julgue os itens a seguir",
    "nenhuma das alternativas anteriores",
    "todas as alternativas anteriores",
    "disponivel em",
    "acesso em",
)
EXAM: tuple[tuple[str, ...], ...] = tuple(tuple(phrase.split()) for phrase in _EXAM)


@dataclass(frozen=True, kw_only=True, slots=True)
class Telling:
    """Which words of a rest tell something.

    Attributes:
        flags: for each word of the rest.
        why_not: why the rest cannot be judged; empty where it can.
    """

    flags: tuple[bool, ...]
    why_not: str

    @property
    def count(self) -> int:
        """How many words tell something."""
        return sum(self.flags)


def telling(found: Cut, phrases: Sequence[Sequence[str]] = EXAM) -> Telling:
    """Which words of the rest of a cut tell something, and why the rest cannot be judged if it cannot.

    Words that tell nothing: figures, single letters and numerals (enumerations, formulas); runs that the beginning
    gave, or that came before in the rest (options that repeat the stem, or each other); the language of exams, and
    the ``phrases`` that a benchmark approved as boilerplate.

    >>> from lacre.probe.cuts import cut
    >>> sums = "Quanto dá a soma dos números do quadro que está pendurado ali? 2 4 6 8 10 12 14 16 18 20 22"
    >>> telling(cut(sums, 50)).why_not
    'guessable: enumeration or formula'
    """
    rest = found.rest
    reasons: list[str] = [""] * len(rest)
    for place, word in enumerate(rest):
        if _is_mark(word) or (word in _ARTICLES and any(map(_is_mark, _beside(rest, place)))):
            reasons[place] = "enumeration or formula"
    _mark_phrases(rest, phrases, reasons)
    _mark_repeated(found.given, rest, reasons)
    flags = tuple(not reason for reason in reasons)
    return Telling(flags=flags, why_not=_why_not(found, reasons))


def _is_mark(word: str) -> bool:
    """Whether a word is a figure, a numeral or a letter that is no word."""
    if word in _ARTICLES:
        return False
    return _MARK.fullmatch(word) is not None or any(character.isdigit() for character in word)


def _beside(rest: Sequence[str], place: int) -> Sequence[str]:
    return (*rest[max(0, place - 1) : place], *rest[place + 1 : place + 2])


def _why_not(found: Cut, reasons: Sequence[str]) -> str:
    if len(found.given) < LEAST_BEGINNING or len(found.rest) < LEAST_TELLING:
        return "too short"
    told = [word for word, reason in zip(found.spelt, reasons, strict=True) if not reason]
    lost = [reason for reason in reasons if reason]
    if len(told) < LEAST_TELLING:
        # The commonest reason speaks for all; of two alike, the first in the alphabet.
        return "guessable: " + max(sorted(set(lost)), key=lost.count)
    return "" if sum(bits(told)) >= LEAST_BITS else "guessable: little information"


def _mark_phrases(rest: Sequence[str], phrases: Sequence[Sequence[str]], reasons: list[str]) -> None:
    for phrase in (*EXAM, *phrases):
        size = len(phrase)
        for place in range(len(rest) - size + 1):
            if tuple(rest[place : place + size]) == tuple(phrase):
                reasons[place : place + size] = ["boilerplate"] * size


def _mark_repeated(given: Sequence[str], rest: Sequence[str], reasons: list[str]) -> None:
    known = {tuple(given[place : place + REPEATED]) for place in range(len(given) - REPEATED + 1)}
    for place in range(len(rest) - REPEATED + 1):
        gram = tuple(rest[place : place + REPEATED])
        if gram in known:
            for each in range(place, place + REPEATED):
                reasons[each] = reasons[each] or "repeats what was given"
        known.add(gram)
