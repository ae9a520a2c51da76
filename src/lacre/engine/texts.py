"""Options recognised by their text: alone as an answer, or beside a letter that is not theirs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from itertools import groupby, pairwise
from typing import NamedTuple

from rapidfuzz.distance import Indel

from lacre.engine.denials import denied_before, supposed
from lacre.engine.forms import is_letter
from lacre.engine.readable import BOXED, Readable, readable, sentences

ALIKE = 0.85
"""Similarity, 0 to 1, from which a text counts as an option's own, give or take a slip of the pen."""
NEAR = 0.7
"""Similarity from which a text may be an option's, in other words or another language."""
APART = 0.55
"""Similarity below which it is not."""
SHORT, TELLING, BEGUN = 4, 8, 12
"""Characters of a text too short to be compared by similarity; of one that is no accident; of one broken off."""

COGNATE, WORD = 0.7, 5
"""Similarity of words that are the same in sister languages, and the letters that such a word must have."""
MOST_STOPS = 40

_STOP = re.compile(r"(?=[.;!?)\"”\n])|$")
_NOT_WORD = re.compile(r"[\W_]+")
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")

_CONCLUDING = re.compile(
    r"^[^\w]*(?:portanto|logo|assim|entao|resposta|a\s+resposta|dess[ae]\s+(?:forma|modo|maneira)|therefore|so|the\s+answer|concluo)\b"
)
# What may stand around a text for it to be all that is said, and around a figure, which a sign would change.
_BARE_TEXT = re.compile(rf"[\s\"'“”‘’«»(\[*•>:{BOXED}—–-]*")
_BARE_FIGURE = re.compile(rf"[\s\"'“”‘’«»(\[{BOXED}]*")
_END_TEXT = re.compile(r"[\s.;!\"'”’»)\]…]*")
_END_FIGURE = re.compile(r"[\s.;\"'”’»)\]]*")
# Words that say of a text that it is the answer; "mais de", "perto de", "combate o" before it do not.
_SAYS = re.compile(
    r"(?:(?<![-\w])(?:e|eh|sao|sera|serao|foi|deve\s+ser|is|are|equals|igual\s+a|da|temos|obtemos|obtem-se|tem-se|resulta\s+em|vale|chama-se|denomina-se)"
    r"\s*:?\s+|(?<![!<>=≠≥≤])=\s*|:\s*)(?:(?:igual\s+a|exatamente|justamente|o|a|os|as|the)\s+){0,2}(?P<of>de\s+|of\s+)?[\"“'(\[]*$"
)
_LABEL = re.compile(
    r"\b(?:resposta|answer|gabarito|alternativa|opcao|conclusao|resultado|result|total|valor|solucao|portanto|logo|entao|therefore)\b[^:]{0,30}:\W*$"
)
# "2x = 15" is no solution yet.
_UNSOLVED = re.compile(r"(?:\d\s*[a-z]\w?|\b[a-z]\s*(?:[²³^*/+−-]\s*\d*|\d+))\s*=\s*$")
_EQUATION = re.compile(r"(?<!\w)(?P<l>[A-Za-z])\s*[=→]\s*$")
_DENIED = re.compile(r"\b(?:nao|nem|not|never|exceto|errad\w+|incorret\w+|descart\w+)\b")


class Named(NamedTuple):
    """An option named by its text, and where the text stands."""

    letter: str
    start: int
    end: int


def named_alone(read: Readable, options: Mapping[str, str]) -> Named | None:
    """The one option whose text is the reply, ends its only sentence, or ends a last sentence that concludes.

    None when no option's text is there, when several are, or when the sentence denies.

    >>> options = {"A": "4,2", "B": "42", "C": "Nenhuma das anteriores."}
    >>> named_alone(readable("O resultado é 42."), options).letter
    'B'
    >>> named_alone(readable("O resultado é 420."), options) is None
    True
    """
    spans = sentences(read.text)
    if not spans:
        return None
    start, end = spans[-1]
    sentence = read.part(start, end)
    if len(spans) > 1 and not _CONCLUDING.match(sentence.plain):
        return None
    places = _places(sentence, options)
    ending = [named for named in places if not re.search(r"\w", sentence.text[named.end :])]
    if len({named.letter for named in places}) != 1 or not ending:
        return None
    found = ending[0]
    if not _asserted(sentence, found, options):
        return None
    return Named(found.letter, start + found.start, start + found.end)


def _asserted(sentence: Readable, found: Named, options: Mapping[str, str]) -> bool:
    """Whether a sentence consists of an option's text, or says of it that it is the answer, and ends there."""
    before, after = sentence.plain[: found.start], sentence.plain[found.end :]
    figure = sentence.text[found.start].isdecimal() or sentence.text[found.end - 1].isdecimal()
    if not (_END_FIGURE if figure else _END_TEXT).fullmatch(after):
        return False
    if (_BARE_FIGURE if figure else _BARE_TEXT).fullmatch(before):
        return True
    if re.search(rf"(?<!\w)\(?{found.letter.lower()}\s*[).:]\s*[\"“]?$", before):
        return not _DENIED.search(before) and not denied_before(before)
    says = _SAYS.search(before)
    if not says or not _tells(options[found.letter]) or (says["of"] and not figure):
        return False
    if (says[0].startswith(":") and not _LABEL.search(before)) or _UNSOLVED.search(before):
        return False
    if _DENIED.search(before) or denied_before(before) or supposed(before, "", after):
        return False
    letters = [name for name in options if name != found.letter]
    equated = _EQUATION.search(before)
    return not (equated and equated["l"].upper() in letters) and not any(
        sentence.text[at] in letters and is_letter(sentence, at, named=False) for at in range(found.start)
    )


def beside(sentence: Readable, letter: str, options: Mapping[str, str]) -> str | None:
    """The one other option whose text stands in a sentence or a part of it; none when its own is there too.

    >>> options = {"A": "Salvador", "B": "Curitiba"}
    >>> beside(readable("A capital é Curitiba, portanto "), "A", options)
    'B'
    """
    named = {found.letter for found in _places(sentence, options) if _tells(options[found.letter])}
    return next(iter(named)) if len(named) == 1 and letter not in named else None


@lru_cache(maxsize=8192)
def key(text: str) -> str:
    """A text for comparing: its letters and digits, without accents, case or spaces.

    >>> key("R$ 4,50 por m²: não") == key("r$4,50 POR M2 — NAO")
    True
    """
    if "\ufffd" in text:
        return ""  # what is left of a formula compares with nothing
    return _NOT_WORD.sub("", "".join(unicodedata.normalize("NFKC", c) for c in readable(text).plain))


def _tells(text: str) -> bool:
    """Whether a text is more than a letter or a Roman numeral, which stand in sentences for other things."""
    return len(key(text)) > 1 and not re.fullmatch(r"\W*[IVX]+\W*", text)


def _places(sentence: Readable, options: Mapping[str, str]) -> list[Named]:
    """Where options' texts stand in a sentence; one inside the text of another does not count."""
    found: list[Named] = []
    for letter, text in options.items():
        pattern = _pattern(text)
        found += (
            [Named(letter, *match.span()) for match in pattern.finditer(sentence.plain)] if pattern else []
        )
    found.sort(key=lambda named: (named.start, -named.end))
    kept: list[Named] = []
    reach = -1  # how far the texts before this one go; in one pass, for a reply may repeat a text without end
    for _, same in groupby(found, key=lambda named: (named.start, named.end)):
        spans = list(same)
        if spans[0].end > reach:
            kept += spans
        reach = max(reach, spans[0].end)
    return kept


@lru_cache(maxsize=1024)
def _pattern(text: str) -> re.Pattern[str] | None:
    """A pattern that finds an option's words and figures, whatever stands between them; none when it has none."""
    words = re.findall(r"\w+|(?<=\d)[.,](?=\d)|[-−+](?=\d)|%", readable(text).plain)
    if not any(re.search(r"\w", word) for word in words):
        return None
    words = [
        r"[.,]" if word in ".," and len(after) != 3 else re.escape(word)
        for word, after in pairwise([*words, ""])
    ]
    body = words[0]
    for before, word in pairwise(words):
        # Between figures nothing but a thin or full space; between words what a typist may put there.
        gap = r"\s?" if before[-1].isdecimal() and word[0].isdecimal() else r"[^\w\n]{0,3}"
        body += (gap if "[.,]" not in (before, word) else "") + word
    # A figure must not be the end or the beginning of a longer one: "4 800" holds no 800.
    return re.compile(rf"(?<![\w])(?<!\d[.,\s])(?<![-−]){body}(?!\w)(?![.,\s]\d)", re.IGNORECASE)


def mismatch(
    letter: str, following: str, options: Mapping[str, str], *, near: bool, whole: bool
) -> str | None:
    """Why the text after a letter speaks against it; none when it does not.

    The text is compared with each option, over that option's length. It speaks against the letter when it is
    another option's and not its own; with ``near``, when it is like another's, in other words or in another
    language; and, where the reply consists of nothing else (``whole``), when it is short and like no option.

    >>> options = {"A": "Salvador", "B": "Rio de Janeiro", "C": "Brasília"}
    >>> mismatch("B", "Brasília", options, near=True, whole=True)
    'letter B stands beside the text of option C'
    >>> mismatch("B", "Rio de janeiro.", options, near=True, whole=True) is None
    True
    """
    said = key(following)
    own = key(options.get(letter, ""))
    if own == letter.lower():
        own = ""  # an option that is an image, or whose text was lost
    if not said or not any(map(key, options.values())):
        return None
    alike = {name: _alike(following, text, whole=True) for name, text in options.items() if key(text)}
    mine = _alike(following, options[letter]) if own else 0.0
    other = max((name for name in alike if name != letter), key=lambda name: alike[name], default=None)
    if other is not None and alike[other] > mine:
        if alike[other] >= ALIKE and (mine < ALIKE or alike[other] == 1.0):
            return f"letter {letter} stands beside the text of option {other}"
        # Glosses in another language: "(D) the rate of oxygen transport".
        gloss = re.split(r"[.;:\n]", following, maxsplit=1)[0]
        if near and own and alike[other] < NEAR and not _cognates(gloss, options[letter]):
            counts = {name: _cognates(gloss, options[name]) for name in alike if name != letter}
            if max(counts.values()) >= 2:
                return f"letter {letter} stands beside words of another option"
        if near and alike[other] >= NEAR and mine < APART:
            return f"letter {letter} stands beside a text like that of option {other}"
    longest = max(len(key(text)) for text in options.values())
    if whole and own and mine < APART and len(said) <= 2 * longest:
        return f"letter {letter} stands beside a text that is none of the options"
    return None


def _alike(following: str, option: str, *, whole: bool = False) -> float:
    """Similarity, 0 to 1, of an option's text with the beginning of what was said, or with what was begun of it.

    With ``whole`` what was said must also stop there: "B. A peneiração não serve" does not say "peneiração". Texts
    of a few characters must agree word for word: "Isso" is not option "I".
    """
    text = key(option)
    if len(text) <= SHORT:
        count = len(_TOKEN.findall(option))
        return float(key(" ".join(_TOKEN.findall(following)[:count])) == text)
    said = key(following)
    if len(said) >= BEGUN and text.startswith(said):
        return 1.0
    if not whole:
        return float(Indel.normalized_similarity(said[: len(text)], text))
    stops = [match.start() for match in _STOP.finditer(following)]
    return max(
        (float(Indel.normalized_similarity(key(following[:stop]), text)) for stop in stops[:MOST_STOPS]),
        default=0.0,
    )


def _cognates(following: str, option: str) -> int:
    """How many of an option's telling words stand in what was said, in this language or a sister's."""
    said = [word for word in map(key, _TOKEN.findall(following)) if len(word) >= WORD]
    words = {word for word in map(key, _TOKEN.findall(option)) if len(word) >= WORD}
    return sum(any(Indel.normalized_similarity(word, other) >= COGNATE for other in said) for word in words)


def after_own(read: Readable, letter: str, at: int, options: Mapping[str, str]) -> int | None:
    """Where the option's own text ends that stands right after its letter; none where it does not stand there."""
    pattern = _pattern(options.get(letter, ""))
    found = pattern.search(read.plain, at, at + 2 * len(options[letter]) + 40) if pattern else None
    return found.end() if found and found.start() <= at + 20 else None


def is_own(letter: str, following: str, options: Mapping[str, str]) -> bool:
    """Whether the text after a letter is that option's own, however short."""
    text = key(options.get(letter, ""))
    return bool(text) and _alike(following, options[letter]) >= ALIKE


def supports(letter: str, following: str, options: Mapping[str, str]) -> bool:
    """Whether the text after a letter is plainly that option's own, and long enough to be no accident."""
    text, said = key(options.get(letter, "")), key(following)
    return len(text) >= TELLING and len(said) >= TELLING and _alike(following, options[letter]) >= ALIKE
