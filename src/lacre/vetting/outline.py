"""What the parts of an item are: text that it quotes, what it asks, and the language of exams.

Read from the item's own words and fields, for a class must not depend on what a file is called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lacre.overlap.sheets import Sheets
from lacre.text import sentences

Flags = npt.NDArray[np.bool_]

_CAPITAL = "A-ZÀ-ÖØ-Þ"
_NAME = rf"[{_CAPITAL}][\w.'’-]*"
# Where a quoted text ends: the line that says where it was taken from.
_CITATION = re.compile(
    rf"""
      \bdispon[íi]vel\s+em\b | \bacess(?:o|ado)\s+em\b | \bavailable\s+at\b
    | \([^()\n]{{0,160}}\b(?:adaptad[oa]|fragmento|excerto|adapted|com\s+(?:adaptações|cortes))\b[^()]{{0,200}}\)
    | \badaptad[oa]\s+d[eo]\s
    | (?-i:\b[{_CAPITAL}]{{3,}}(?:[\ -][{_CAPITAL}]+)*,\s+[{_CAPITAL}]\.)          # ASSIS, M.
    | (?-i:\([^()]{{0,120}}{_NAME},\s[^()]{{3,200}}\b(?:1[5-9]|20)\d\d\b[^()]{{0,60}}\))  # (Name, Work, 1881)
    | (?-i:(?:^|\n)[\ \t*_]*{_NAME}(?:\s+(?:d[aeo]s?\s+|e\s+)?{_NAME}){{1,4}},\s+
      [*_“"]{{0,3}}[{_CAPITAL}][^\n]{{2,70}}\.[*_”"]{{0,3}}[\ \t]*(?:\n|$))  # Name Surname, Work.
    | (?-i:\b(?:Folha\sde\sS|Estado\sde\sS|O\sGlobo|Jornal\s|Revista\s|Veja,|Época,|Superinteressante)[^\n]{{0,60}}
      \b(?:19|20)\d\d\b)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LAW = re.compile(r"(?i)\b(?:lei|decreto|art(?:igo)?|constituição|emenda|súmula|resolução)\b")
_MARKED = re.compile(r"“[^“”]+”|«[^«»]+»|\"[^\"]+\"|‘[^‘’]{30,}’")
LEAST_MARKED = 5  # words between quotation marks from which they quote a text, not a term
# Words of a question that speak of a text above it; "the text of the law" is none.
_REFERS = re.compile(
    r"(?i)\b(?:textos?|trechos?|excertos?|fragmentos?|poemas?|contos?|crônicas?|romances?|narrador(?:a)?|versos?"
    r"|estrofes?|personage(?:m|ns)|eu\s+lírico|canç(?:ão|ões)|reportage(?:m|ns)|passage(?:m|ns)|autor(?:a|es)?)\b"
    r"(?!\s+(?:constituciona|lega|da\s+lei|do\s+fato|da\s+ação|do\s+crime))"
)
# What only exams say, and how they say where a text is from.
_EXAM = re.compile(
    r"(?i)\b(?:assinale|marque)\s+(?:a|o|com)\s[^.\n]{0,60}"
    r"|\b(?:in)?corret[oa]s?\s+(?:afirmar|dizer|o\s+que)\b(?:\s+que)?"
    r"|\b(?:alternativa|afirmativa|opção|assertiva|afirmação)s?\s+(?:in)?corret[ao]s?\b"
    r"|\b[^\s?]+(?:\s+[^\s?]+)?\s*\?"
)
_FORMULA = re.compile(
    r"(?i)\bdispon[íi]vel\s+em\b\W{0,4}(?:\S+\s?){1,3}?(?:\([^()\s]*\))?[\s.*,;]*acess(?:o|ado)\s+em\b"
    r"(?:\W{0,4}\d{1,2}[º°]?\s+(?:de\s+)?\w{3,9}\.?\s+(?:de\s+)?\d{4})?\W{0,5}(?:\(?(?:adaptado|fragmento)\)?)?"
)


class Outline(NamedTuple):
    """For every word of an item, shape (words,).

    Attributes:
        quoted: in a text that the item takes from elsewhere, by its source line or its quotation marks.
        leaned: before a question that speaks of "the text", though nothing says where that is from.
        asked: what is asked: the question, the options, the expected answers; what is quoted left out.
        exam: language that only exams speak ("assinale a alternativa correta").
        source: in the line that says where a text is from.
        formula: how exams say where a text is from ("Disponível em: ... Acesso em: ...").
        capital: begins with a capital inside a sentence; ``content``: counts when capitals are counted.
    """

    quoted: Flags
    leaned: Flags
    asked: Flags
    exam: Flags
    source: Flags
    formula: Flags
    capital: Flags
    content: Flags


def outline(sheets: Sheets, item: int) -> Outline:
    """The outline of one item."""
    low, high = sheets.words_of(item)
    found = Outline(*(np.zeros(high - low, np.bool_) for _ in Outline._fields))
    for number in range(int(sheets.field_of_item[item]), int(sheets.field_of_item[item + 1])):
        field = sheets.fields[number]
        first, last = int(sheets.word_of_field[number]), int(sheets.word_of_field[number + 1])
        if first == last:
            continue
        spans = _Spans(field.text, sheets.starts[first:last], sheets.ends[first:last])
        here = slice(first - low, last - low)
        question = field.name == "stem" or field.name.startswith("part:")
        quoted, asked = _parted(field.text) if question else (list(_quotations(field.text)), 0)
        spans.flag(found.quoted[here], [(0, len(field.text))] if field.name == "passage" else quoted)
        if field.name != "passage":
            spans.flag(found.asked[here], [(asked, len(field.text))])
            found.asked[here] &= ~found.quoted[here]
        if question and _REFERS.search(field.text, asked):
            spans.flag(found.leaned[here], [(0, asked)])
        if question:
            spans.flag(found.exam[here], [match.span() for match in _EXAM.finditer(field.text)])
        spans.flag(found.source[here], list(_citations(field.text)))
        spans.flag(found.formula[here], [match.span() for match in _FORMULA.finditer(field.text)])
        _capitals(field.text, spans, found.capital[here], found.content[here])
    return found


class _Spans:
    """Turns spans of characters into words: starts and ends of the words are in bytes."""

    def __init__(self, text: str, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> None:
        self.starts, self.ends = starts, ends
        self.bytes = np.concatenate([[0], np.cumsum(_widths(text))]).astype(np.int64)

    def flag(self, flags: Flags, spans: list[tuple[int, int]]) -> None:
        """Set the flags of all words that begin inside one of the spans."""
        for start, end in spans:
            a, b = np.searchsorted(self.starts, [self.bytes[start], self.bytes[end]])
            flags[a:b] = True

    def characters(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """The first character of each word, and one past its last."""
        return np.searchsorted(self.bytes, self.starts), np.searchsorted(self.bytes, self.ends)


def _widths(text: str) -> npt.NDArray[np.int64]:
    """Bytes of each character in UTF-8."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    return 1 + (codes > 0x7F).astype(np.int64) + (codes > 0x7FF) + (codes > 0xFFFF)


def _parted(text: str) -> tuple[list[tuple[int, int]], int]:
    """The quoted spans of a stem, and where what is asked begins: behind the last source line, or last sentence."""
    quoted = list(_quotations(text))
    cited = _last_citation(text)
    ends = sentences(text)
    begin = ends[-1][0] if ends else 0
    if cited and text[cited:].strip():
        begin = min(begin, cited) if cited <= begin else cited
    return quoted, begin


def _citations(text: str) -> Iterator[tuple[int, int]]:
    """[start, end) of each source line, to the end of its line or sentence."""
    for match in _CITATION.finditer(text):
        if _LAW.search(match[0]):
            continue
        end = text.find("\n", match.end())
        # Wrapped text: the line goes on while it has no stop.
        yield match.start(), len(text) if end < 0 or end - match.end() > 200 else end


def _last_citation(text: str) -> int:
    """Where the last source line ends that has a question behind it; 0 when there is none."""
    ends = [end for _, end in _citations(text)]
    return max((end for end in ends if text[end:].strip()), default=0)


def _quotations(text: str) -> Iterator[tuple[int, int]]:
    """[start, end) of what a text takes from elsewhere: up to a source line, or between quotation marks."""
    last = max((end for _, end in _citations(text)), default=0)
    if last:
        yield 0, last
    for match in _MARKED.finditer(text):
        if len(match[0].split()) >= LEAST_MARKED:
            yield match.span()


# Words that names hold in small letters, and that say nothing about a run being a name.
_SMALL_WORDS = """
a o as os e ou de da do das dos em na no nas nos ao aos à às para por pelo pela pelos pelas com um uma nº
the of and in d n
"""
_SMALL = frozenset(_SMALL_WORDS.split())


def _capitals(text: str, spans: _Spans, capital: Flags, content: Flags) -> None:
    """Flag the words that count, and those of them that begin with a capital inside a sentence."""
    begins = {start for start, _ in sentences(text)}
    firsts, lasts = spans.characters()
    for k, (start, end) in enumerate(zip(firsts.tolist(), lasts.tolist(), strict=True)):
        word = text[start:end]
        if word.lower() in _SMALL or start in begins or not word[0].isalpha():
            continue
        content[k] = True
        capital[k] = word[0].isupper()
