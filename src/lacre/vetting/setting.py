"""What kind of text stands around a match: a statute, an exam, or neither; never what its file is called."""

from __future__ import annotations

import re
from typing import NamedTuple

AROUND = 1500  # bytes on either side of a match by which its surroundings are judged

_CAPITAL = "A-ZÀ-ÖØ-Þ"
# How Brazilian statutes are built (Lei Complementar nº 95/1998, art. 10): articles, paragraphs, items, letters.
_BUILT = re.compile(
    rf"\bArt\.?\s*\d[\d.]*[º°ªo]?(?:-[A-Z])?\.?\s*(?:[-–—]\s*)?[“\"(]?[{_CAPITAL}]"
    rf"|§\s*\d+[º°ªo]?\.?\s*(?:[-–—]\s*)?[“\"(]?[{_CAPITAL}]"
    rf"|\b[Pp]ar[áa]grafo\s+[úu]nico\s*[.:–—-]\s*[{_CAPITAL}]"
    rf"|(?:^|[;:.\n)]\s*(?:e\s+|ou\s+)?)[IVXLC]+\s*[-–—]\s*[\w(]"
    r"|(?i:\b(?:título|capítulo|seção|livro)\s+(?-i:[IVXLC]+)\b)"
    r"|\(?(?:Incluíd|Redação\s+dad|Revogad|Acrescid|Renumerad|Vide\s)[oa]?\b"
)
_CITED = re.compile(
    r"(?i)\bart(?:igo)?s?\b\.?\s*\d+|§+\s*\d|\binciso\s+[ivxlc]+\b|\bcaput\b|\bpar[áa]grafo\s+[úu]nico"
    r"|\b(?:lei|decreto(?:-lei)?|emenda constitucional|medida provis[óo]ria)\s+(?:complementar\s+)?n[.º°o]*\s*\d"
)
_EXAM = re.compile(
    r"(?i)\bquest[ãa]o\s+\d+|\bassinale\b|\balternativa\b|\bgabarito\b|\bcorreto\s+afirmar"
    r"|(?-i:(?:^|\s)\(?[A-E]\)\s)|(?-i:(?:^|\n)\s*[A-E](?:\s*[.–-])?\s+\S)|(?-i:\([A-E]\))"
)


class Setting(NamedTuple):
    """Counted around one match, the match included.

    Attributes:
        words: words, blanks between them.
        plain: share of their characters in words of letters only, 0 to 1; punctuation around them is left aside.
        built: marks by which statutes are built: "Art. 5º Todos", "§ 2º O", "IV - ", "(Incluído pela".
        exam: marks of exams: numbered questions, letters before options, "assinale".
        cited: how often laws and articles are named.
    """

    words: int
    plain: float
    built: int
    exam: int
    cited: int

    @property
    def readable(self) -> bool:
        """Whether the text around can be read: neither glyph codes nor a table of figures."""
        return self.plain >= PLAIN

    @property
    def statute(self) -> bool:
        """Whether the match stands in the text of a statute."""
        dense = self.built >= LEAST_BUILT and self.built * 100 >= BUILT_PER_100 * self.words
        return self.readable and dense and self.built > self.exam

    @property
    def legal(self) -> bool:
        """Whether the text about the match quotes or discusses laws, and is no exam."""
        return self.readable and self.cited >= LEAST_CITED and not self.of_exam

    @property
    def of_exam(self) -> bool:
        """Whether the match stands among questions of an exam."""
        return self.exam >= LEAST_EXAM


LEAST_BUILT = 2
BUILT_PER_100 = 0.6  # words
LEAST_EXAM = 3
LEAST_CITED = 3
PLAIN = 0.5  # of the characters; prose has 0.9
_PLAIN = re.compile(
    r"""(?<!\S)[*_"“'‘«(\[]*[A-Za-zÀ-ÖØ-öø-ÿ]+(?:-[A-Za-zÀ-ÖØ-öø-ÿ]+)*[-*_"”'’»)\].,;:!?…]*(?!\S)"""
)


def setting(around: bytes) -> Setting:
    """The setting of a match, from its bytes and :data:`AROUND` more on either side."""
    text = around.decode("utf-8", "ignore")
    # What a broken font leaves between words, often in place of a blank.
    text = text.replace("\ufffd", " ")
    words = text.split()
    return Setting(
        words=len(words),
        plain=round(sum(map(len, _PLAIN.findall(text))) / max(1, sum(map(len, words))), 2),
        built=sum(1 for _ in _BUILT.finditer(text)),
        exam=sum(1 for _ in _EXAM.finditer(text)),
        cited=wordings(text),
    )


_SAID = re.compile(
    r"(?i)\?|\b(?:assinale|marque)\s+(?:a|o|com)\b|\b(?:in)?corret[oa]s?\s+(?:afirmar|dizer)\b"
    r"|\b(?:alternativa|afirmativa|opção|assertiva)s?\s+(?:in)?corret[ao]s?\b"
)


def asks(text: str) -> bool:
    """Whether a text asks as exams do, and laws never.

    >>> asks("Assinale a afirmativa correta."), asks("A pena alternativa será aplicada.")
    (True, False)
    """
    return _SAID.search(text) is not None


def wordings(text: str) -> int:
    """How often a text is worded like a statute, or names one: "art. 5º", "§ 2º", "Lei nº 8.906".

    >>> wordings("Art. 5º Todos são iguais perante a lei, nos termos da Lei nº 8.906.")
    2
    """
    return sum(1 for _ in _CITED.finditer(text))


def is_article(text: str) -> bool:
    """Whether a text begins as an article or a paragraph of a statute does.

    >>> is_article("Art. 231. São reconhecidos aos índios"), is_article("Segundo o art. 231, são")
    (True, False)
    """
    return (
        re.match(r"\W*(?:art(?:igo)?\.?\s*\d|§\s*\d|par[áa]grafo\s+[úu]nico)", text, re.IGNORECASE)
        is not None
    )


# Statutes order in the present or the future; what somebody did stands in the preterite.
_PAST = re.compile(r"(?i)\b\w{2,}(?:ou|eu|iu|aram|eram|iram|ava|avam|iam)\b")
_NOT_PAST_WORDS = "meu seu teu deu céu réu ateu museu eram foram teriam deveriam poderiam"
_NOT_PAST = frozenset(_NOT_PAST_WORDS.split())


def past(text: str) -> int:
    """How many words of a text are verbs in the preterite or imperfect, by their endings.

    >>> past("Júlio constituiu advogado, que ajuizou a ação"), past("Compete à União legislar")
    (2, 0)
    """
    return sum(1 for match in _PAST.finditer(text) if match[0].lower() not in _NOT_PAST)
