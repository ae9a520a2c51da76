"""Letters that a reply asserts: found by how they are said, never by standing there.

A letter counts when the words around it say that it is the answer. Denied ("não é a B", "a alternativa B está
incorreta"), listed ("A) ... B) ..."), joined ("B ou C") and supposed letters ("se fosse a B") do not, nor do the
articles "a", "o" and the conjunction "e". All patterns run on text without accents, in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from lacre.engine.denials import denied_after, denied_before, exemplary, quoted, subject, supposed
from lacre.engine.forms import ABOUT, CLOSE, IS, LETTER, LINK, NOUN, ONE, OPEN, RIGHT, RIGHTS, STOP, is_letter
from lacre.engine.joins import joined
from lacre.engine.readable import BOXED, Readable


class Strength(IntEnum):
    """How plainly a letter is said to be the answer."""

    MENTION = 1  # "como indicado na alternativa A"
    OPENING = 2  # the reply, or a line of it, is "B. texto da alternativa"
    ASSERTION = 3  # "a alternativa correta é a B"
    LABEL = 4  # "Resposta: B", \boxed{B}, the letter alone on the first or last line


class Assertion(NamedTuple):
    """One asserted letter.

    Attributes:
        rule: the name of the pattern.
        start, end: the words that assert it, in the readable text; the letter stands at ``at``.
        final: whether the words conclude ("portanto", "resposta final").
    """

    letter: str
    rule: str
    strength: Strength
    start: int
    end: int
    at: int
    final: bool = False


_CHANGE = (
    r"\b(?:espere|espera|pensando\s+(?:melhor|bem)|reconsider\w+|refazendo|revendo|corrigindo|corrijo|correcao|na\s+verdade|"
    r"melhor\s+dizendo|ou\s+melhor|qu(?:er|is|ero)\s+dizer|minto|retific\w+|mudo|mudei|enganei|errei|equivoc\w+|desculpe|opa|ops"
    r"|perdao|alias|digo|wait|actually|i\s+mean[t]?|or\s+rather|oops|on\s+second\s+thought|let\s+me\s+re\w+|correction|sorry"
    r"|i\s+made|apos\s+(?:revis|reavali|anali)\w+|analisando\s+melhor)\b"
)
CHANGE = re.compile(_CHANGE)

_ANSWER = r"(?:resposta|gabarito(?:\s+oficial)?|answer|resp\.?|solucao|respuesta|risposta|reponse|antwort)"

_PATTERNS: tuple[tuple[str, Strength, str], ...] = (
    (
        "label",
        Strength.LABEL,
        rf"(?<!conjunto )\b{_ANSWER}{RIGHTS}{{0,2}}{ABOUT}{LINK}{ONE}",
    ),
    ("label", Strength.LABEL, rf"(?:^|\n)[^\w\n]*(?:r|gab|res|resp)\s*[.:]\s*[.:]?\s*{ONE}"),
    (
        "label",
        Strength.LABEL,
        rf"\b(?:resposta|gabarito|answer)\s*,?\s+(?P<noun>{NOUN})\s+{OPEN}{LETTER}{CLOSE}",
    ),
    ("boxed", Strength.LABEL, rf"{BOXED}\s*(?P<noun>)\(?{LETTER}{CLOSE}"),
    (
        "option label",
        Strength.LABEL,
        rf"(?:^|\n)[^\w\n]*(?P<noun>{NOUN}{RIGHTS}?)\s*[:=]\s*{OPEN}{LETTER}{CLOSE}",
    ),
    ("right option", Strength.ASSERTION, rf"\b{NOUN}{RIGHTS}{ABOUT}{LINK}{ONE}"),
    ("right option", Strength.ASSERTION, rf"\b{RIGHT}\s+{NOUN}{ABOUT}{LINK}{ONE}"),
    (
        "right one",
        Strength.ASSERTION,
        rf"\b(?:a|o|the)\s+(?:(?:unic[ao]|mais)\s+)?(?:{RIGHT}|melhor){LINK}{ONE}",
    ),
    (
        "option is right",
        Strength.ASSERTION,
        rf"\b(?P<noun>{NOUN})\s+{OPEN}{LETTER}{CLOSE}[.,:;]?\s*"
        r"(?:,?[\"“(][^\"”)\n]{1,200}[\"”)],?)?\s*(?:,[^,.\n]{1,80},)?"
        r"\s*(?:(?:tambem|also)\s+)?(?:e|esta|seria|is)\s+(?:(?:tambem|also)\s+)?(?:a\s+|o\s+|the\s+)?(?:(?:unic[ao]|mais|melhor|most)\s+)?"
        rf"(?:(?:resposta|{NOUN}|one)\s+)?(?:que\s+melhor|que\s+mais|{RIGHT}|(?:resposta|melhor|answer)(?=\s*(?:[.,;:)\n]|$|(?:pois|porque|para|a|da|mais|que\s+m\w+)\b)))(?!\w)",
    ),
    (
        "change of mind",
        Strength.ASSERTION,
        rf"{_CHANGE}[\s,.:;…!–—-]*(?:{_CHANGE}[\s,:]*)?(?:(?:a\s+)?(?:resposta|corret[ao]|cert[ao]|(?:the\s+)?answer)\s+)?"
        rf"(?:(?:{IS}|it\s+is|it's|it’s|fico\s+com|marco|para)\s+)?{ONE}{STOP}",
    ),
    ("option is", Strength.ASSERTION, rf"\b(?:a|the)\s+{NOUN}\s+{IS}\s*:?\s+{ONE}{STOP}"),
    (
        "it is",
        Strength.ASSERTION,
        r"(?:^|\n|[.,;:!?]\s+|\bmas\s+|\bbut\s+|\b(?:acho|acredito|creio|penso|diria|suponho)\s+que\s+(?:so\s+)?"
        r"|\bi\s+(?:think|believe|guess)\s+(?:that\s+)?)(?:e\s+sim|sim|e|eh|seja|seria|it's|it’s|it\s+is)\s+"
        rf"{ONE}{STOP}",
    ),
    (
        "option that",
        Strength.ASSERTION,
        rf"\b{NOUN}\s+(?:que|that|which)\s+[^.\n;]{{1,160}}?\s(?:e|seria|is)\s+{ONE}",
    ),
    (
        "choice",
        Strength.ASSERTION,
        r"\b(?:marc(?:o|aria|arei|amos)|escolh(?:o|eria|erei|emos|i)|opt(?:o|aria|ei)|assinal(?:o|aria|arei)"
        r"|marque|assinale|escolha|sobra(?:ndo)?|resta(?:ndo)?|fic(?:o|aria|amos)|chut(?:o|aria)|respond(?:o|eria|erei)|apost(?:o|aria)|seleciono|vou"
        r"|choose|pick|select|answer|go\s+with|deve-se\s+(?:marcar|assinalar))\s+"
        rf"(?:(?:por|pela|com|na|em|de|apenas|somente|so|marcar|assinalar|escolher|responder|with)\s+)*{ONE}",
    ),
    (
        "conclusion",
        Strength.ASSERTION,
        r"\b(?:portanto|logo|assim|entao|provavelmente|possivelmente|por\s+isso|dess[ae]\s+(?:forma|modo|maneira)|em\s+suma|so|"
        rf"therefore|thus|hence)\s*[,:]?\s+(?:{IS}\s+)?{ONE}{STOP}",
    ),
    (
        "option made right",
        Strength.ASSERTION,
        r"\b(?:torna(?:ndo)?|justifica(?:ndo)?|makes|making)\s+(?:a\s+|the\s+)?"
        rf"(?P<noun>{NOUN})\s+{OPEN}{LETTER}{CLOSE}\.?\s*,?\s*(?:(?:como|as)\s+)?(?:(?:a|the)\s+)?{RIGHT}\b",
    ),
    ("named", Strength.MENTION, rf"\b(?P<noun>{NOUN})\s*:?\s*{OPEN}{LETTER}{CLOSE}"),
)

# What a mention needs before it to count, where nothing plainer is said.
_POINTING = re.compile(
    r"(?:corresponde(?:nte|ndo)?\s+(?:a|ao)|indicad[ao]\s+n[ao]|mencionad[ao]\s+n[ao]|descrit[ao]\s+n[ao]"
    r"|express[ao]\s+n[ao]|apresentad[ao]\s+n[ao]|alinha\s+com|ou\s+seja,?|isto\s+e,?|caracteriza|associad[ao]s?\s+(?:a|ao)"
    r"|portanto,?|logo,?|assim,?|corresponds\s+to|como\s+(?:na|em)|que\s+e|leva\s+a|remete\s+a|,)\s*(?:a\s+|o\s+|the\s+)?$"
)
# "Letra A: norte. Letra B: sul." says what the letters stand for, and chooses none.
_DEFINED = re.compile(rf"\b{NOUN}\s+{OPEN}{LETTER}{CLOSE}\s*(?::|[-–—])\s*\S")
# "A + B" and "B = 2C" are formulas, and their letters no options.
_FORMULA = re.compile(r"^\s*(?:[+=<>×·∪∩\\^#*]|[-−]\s*(?:\d|$))")
# "Um aluno marcaria B": the first person's verb is the third's too, so its subject must be "eu" or none.
_OWN_CHOICE = re.compile(
    r"(?:(?:^|[,;:.!?)]|\b(?:eu|i|we|to|i'd|i'll|i’d|i’ll|would|will|should|must|e|mas|portanto|logo|entao|assim|que|so|then|therefore|and|but))\s*"
    r"(?:\w+mente\s+)?\w+ia|(?<!ia))$"
)
_FINAL = re.compile(
    r"\b(?:final|finalmente|definitiv\w+|portanto|logo|assim|entao|conclu\w+|em\s+suma|resumo|dess[ae]\s+(?:forma|modo|maneira)|"
    r"therefore|thus|hence|so|in\s+conclusion|final\s+answer)\b"
)
WRONG_ONE = re.compile(
    rf"\b(?:{NOUN}|resposta|unica|a)\s+(?:que\s+(?:esta\s+)?)?(?:incorret[ao]|errad[ao]|fals[ao]|incorrect|wrong|false|inadequad[ao])"
    rf"{LINK}{ONE}"
)


@lru_cache(maxsize=1)
def _compiled() -> tuple[tuple[str, Strength, re.Pattern[str]], ...]:
    return tuple((name, strength, re.compile(pattern)) for name, strength, pattern in _PATTERNS)


def assertions(read: Readable, letters: frozenset[str]) -> list[Assertion]:
    """The letters that a reply asserts, in order of their places; see the module for what does not count."""
    groups = option_lines(read, letters)
    listed = _listed(read, groups)
    found: dict[int, Assertion] = {}
    for name, strength, pattern in _compiled():
        position = 0
        while match := pattern.search(read.plain, position):
            # From the letter on, for two assertions may share words.
            position = max(match.start() + 1, match.start("l"))
            if match.start("l") in listed:
                continue
            assertion = _assertion(read, match, name, strength, letters)
            if assertion and (assertion.at not in found or found[assertion.at].strength < strength):
                found[assertion.at] = assertion
    for assertion in _standing(read, groups, letters):
        if assertion.at not in found or found[assertion.at].strength < assertion.strength:
            found[assertion.at] = assertion
    return sorted(found.values(), key=lambda assertion: assertion.at)


def _assertion(
    read: Readable, match: re.Match[str], name: str, strength: Strength, letters: frozenset[str]
) -> Assertion | None:
    """What a pattern found, if the letter is one, and nothing around it takes it back."""
    at = match.start("l")
    letter = read.text[at].upper()
    named = bool(match["noun"])
    if letter not in letters or not is_letter(read, at, named=named):
        return None
    before = read.plain[_clause(read, match.start()) : match.start()]
    after = read.plain[match.end("l") : match.end("l") + 260]
    if (
        subject(before, after)
        or denied_before(before)
        or supposed(before, match[0], after)
        or joined(read, at, letters)
    ):
        return None
    if denied_after(after if name != "option is right" else read.plain[match.end() : match.end() + 260]):
        return None
    if exemplary(read, match.start()) or quoted(read, match.start(), match.end("l")):
        return None
    if _FORMULA.match(after) or (name == "choice" and not _OWN_CHOICE.search(before + match[0].split()[0])):
        return None
    if name == "it is" and re.search(r"(?:^|\n)\W*\w$", read.plain[: match.start()]):
        return None  # "B. É a letra D" speaks of B
    if name == "named" and not _POINTING.search(before) and not _opens(read, match.start(), match.end()):
        return None
    if name == "named" and _opens(read, match.start(), match.end()):
        strength, name = Strength.OPENING, "option named"
    final = bool(_FINAL.search(before) or _FINAL.search(match[0]))
    return Assertion(letter, name, strength, match.start(), match.end(), at, final)


def _listed(read: Readable, groups: Sequence[Sequence[Line]]) -> frozenset[int]:
    """Places of letters that begin a list of options in order, as a question that is said again has one."""
    listed = {line.at for group in groups for line in group if line.lists}
    for one, next_one in pairwise(_DEFINED.finditer(read.plain)):
        if ord(next_one["l"]) == ord(one["l"]) + 1:
            listed |= {one.start("l"), next_one.start("l")}
    for group in groups:
        for line, after in pairwise(group):
            if ord(after.letter) == ord(line.letter) + 1:
                listed |= {line.at, after.at}
    return frozenset(listed)


def _clause(read: Readable, at: int) -> int:
    """Where the sentence begins that a place is in, at most 160 characters back."""
    first = max(0, at - 160)
    cut = max(read.plain.rfind(mark, first, at) for mark in (". ", "\n", "; ", "? ", "! "))
    return max(first, cut + 1)


def _opens(read: Readable, start: int, end: int) -> bool:
    """Whether words begin a line, and end with it or before a stop: "Alternativa D", "Letra D. Confio"."""
    line = read.plain[read.plain.rfind("\n", 0, start) + 1 : start]
    return not line.strip(" \"'“(-•") and bool(re.match(r"\s*(?:[.,;:\n]|$|[-–—]\s|\()", read.plain[end:]))


_INLINE = re.compile(r"(?<![\w])\(?([A-Za-z])\)\s|(?<![\w])([A-Z])\.\s+(?=\w)")
_LINE_LETTER = re.compile(
    r"^(?:[\s\"'“”‘’(\[•>*]|[-–—]\s)*(?P<l>[a-z])[\"'”’)\]]*\s*(?:[.:][)\]]?|[)\]][.:]?)?[\"'”’]*\s*[.!]?\s*$"
)
_COPYRIGHT = re.compile(r"^\s*\(c\)\s+(?:19|20)\d\d\b")
_LIST_HEAD = re.compile(r"\b(?:alternativas|opcoes|options|alternatives|choices)\s*:$")
# "A - como se sabe - energia": an article and an aside.
_ASIDE = re.compile(r"^\W*[a-z]\s*(?:\.{3}|…)\s*$|^\W*[aeo]\s*[-–—]\s[^-–—\n]{1,60}\s[-–—]\s")
_LINE_OPTION = re.compile(
    r"^[\s\"'“”‘’•>*-]*[(\[\"“]?(?P<l>[a-z])[\"'”’)\]]*"
    r"(?:\s*(?:[.):]+|\](?!\w)[.):]*)|\s+[-–—]|\s*[-–—]\s)\s*(?P<text>\S.*)$"
)
_VERDICT = re.compile(
    r"(?:^|\n)[^\w\n]*(?P<l>[a-z])\s*[)\].:–—-]+\s*[\"“]?(?:(?:e|esta)\s+)?(?:a\s+)?"
    r"(?:(?:alternativa|opcao|resposta|option|answer)\s+)?(?:corret[ao]|cert[ao]|verdadeir[ao]|correct)\b"
)
_LINE_REASON = re.compile(
    r"^[^\w]*(?P<l>[a-z])[\"'”’)\]]*\s*,?\s+(?:(?:pois|porque|ja\s+que|uma\s+vez\s+que|because|since)\b"
    rf"|(?:e|esta|is)\s+(?:a\s+|the\s+)?(?:{NOUN}\s+)?(?:{RIGHT}|(?:resposta|answer)(?=\s*(?:[.,;:\n]|$|(?:pois|porque|para|corret\w+|cert[ao]|que\s+m\w+)\b)))(?!\w))"
)
_TRAILING = re.compile(r"[\s\"”][(\[](?P<l>[A-Z])[)\]][\s.\"”]*$")


class Line(NamedTuple):
    """A line that says an option: its letter and place, where it ends, and what else it holds.

    Attributes:
        bare: nothing but the letter.
        lists: other options too, written out after the first.
    """

    letter: str
    at: int
    end: int
    bare: bool
    lists: bool


def option_lines(read: Readable, letters: frozenset[str]) -> list[list[Line]]:
    """Lines that state an option, "B" or "B) texto"; lines that follow each other stand together."""
    groups: list[list[Line]] = []
    start = 0
    open_group = False
    for raw in read.plain.split("\n"):
        end = start + len(raw)
        line = _line(read, start, end, letters)
        if line:
            if open_group:
                groups[-1].append(line)
            else:
                groups.append([line])
            open_group = True
        elif raw.strip():
            open_group = False
        start = end + 1
    return groups


def _line(read: Readable, start: int, end: int, letters: frozenset[str]) -> Line | None:
    raw = read.plain[start:end]
    match = _LINE_LETTER.match(raw) or _LINE_OPTION.match(raw)
    if match is None:
        return None
    at = start + match.start("l")
    if read.text[at].upper() not in letters or _ASIDE.match(raw):
        return None
    if read.text[at + 1 : at + 2] in ("'", "’") and read.text[max(0, at - 1) : at] not in ("'", "‘"):
        return None
    if _COPYRIGHT.match(raw):
        return None
    bare = "text" not in match.re.groupindex
    letter = read.text[at].upper()
    text = "" if bare else read.text[start + match.start("text") : end]
    others = {(first or second).upper() for first, second in _INLINE.findall(text)} & letters
    return Line(letter, at, end, bare, len(others - {letter}) >= 2)


def _standing(read: Readable, groups: Sequence[Sequence[Line]], letters: frozenset[str]) -> list[Assertion]:
    """Letters said by standing alone: on the first or last line, or as the only option that is written out."""
    found: list[Assertion] = []
    length = len(read.text.rstrip())
    first = len(read.text) - len(read.text.lstrip())
    for group in groups:
        line = group[0]
        if len({each.letter for each in group}) > 1:
            continue
        opens = not read.text[: line.at].strip(" \n\"'“(•*-")
        closes = group[-1].end >= length
        head = read.plain[max(0, line.at - 80) : line.at].rstrip(" \n\"'“(•*-")
        introduced = head.endswith(":")
        if _LIST_HEAD.search(head):
            continue  # the list of options begins there, and no choice
        if line.bare and (opens or closes or introduced):
            found.append(
                Assertion(line.letter, "letter alone", Strength.LABEL, line.at, line.at + 1, line.at)
            )
        elif not line.bare and (opens or introduced or (closes and len(groups) == 1)) and not line.lists:
            found.append(
                Assertion(line.letter, "option written out", Strength.OPENING, line.at, line.end, line.at)
            )
    verdicts = {read.text[m.start("l")].upper(): m for m in _VERDICT.finditer(read.plain)}
    if len(verdicts) == 1:
        # Several would be verdicts on statements, as items that ask for the incorrect one get them.
        letter, match = next(iter(verdicts.items()))
        if letter in letters:
            at = match.start("l")
            found.append(Assertion(letter, "called right", Strength.LABEL, at, match.end(), at))
    reason = _LINE_REASON.match(read.plain)
    if reason and read.text[reason.start("l")].upper() in letters:
        at = reason.start("l")
        found.append(
            Assertion(read.text[at].upper(), "letter and reason", Strength.OPENING, at, reason.end(), at)
        )
    trailing = _TRAILING.search(read.text[:length])
    if trailing and trailing["l"] in letters and trailing.start() > first:
        at = trailing.start("l")
        alone = len(re.findall(r"\([A-Z]\)", read.text)) == 1
        if alone:
            found.append(Assertion(trailing["l"], "letter at the end", Strength.OPENING, at, at + 1, at))
    return found


def listing(read: Readable, letters: frozenset[str]) -> bool:
    """Whether a reply does no more than write out options: two or more, one under the other."""
    return any(len({line.letter for line in group}) > 1 for group in option_lines(read, letters))


def wrong_one(read: Readable, letters: frozenset[str]) -> bool:
    """Whether a reply singles out a wrong option, as items that ask for the incorrect one want it."""
    return any(read.text[m.start("l")].upper() in letters for m in WRONG_ONE.finditer(read.plain))


def letters_of(options: Mapping[str, str]) -> frozenset[str]:
    """The letters that a reply may choose from."""
    return frozenset(letter.upper() for letter in options)
