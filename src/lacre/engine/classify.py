"""Classification by rule: what a reply answers, or why the rule cannot tell (SPEC L10, L15).

The order: how the reply ended; the letter it asserts; an option named by its text; words of refusal or
abstention. The rule abstains rather than guesses: what is left goes to the judges, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, assert_never

from lacre.engine.confidence import Confidence, confidence, without_confidence
from lacre.engine.denials import taken_back
from lacre.engine.forms import is_letter
from lacre.engine.joins import joined, rival
from lacre.engine.letters import (
    CHANGE,
    Assertion,
    Strength,
    assertions,
    letters_of,
    listing,
    option_lines,
    wrong_one,
)
from lacre.engine.phrases import PREMISE, phrase
from lacre.engine.questions import Stretch, stretches
from lacre.engine.readable import BOXED, Readable, readable, sentences, structured
from lacre.engine.replies import Answered, Failed, Refused, Reply, Truncated
from lacre.engine.texts import after_own, beside, is_own, mismatch, named_alone, supports
from lacre.engine.texts import key as key_of
from lacre.registry.records import Record
from lacre.scoring.outcomes import Expects, Outcome

State = Literal["answered", "refused", "truncated", "failed"]
"""How a reply ended, as :mod:`lacre.engine.replies` names it."""

NOTHING = "no letter, no option's text, no refusal and no abstention was found"
SEVERAL = "several letters are asserted"
LISTED = "options are listed and none is chosen"
QUESTIONS = "several questions are answered, and which one is the item's cannot be told"
WRONG_ONE = "the option that is wrong is singled out"
TAKEN_BACK = "a letter is asserted and taken back"
INITIAL = "a letter may be an initial"
BESIDE = "words of refusal or abstention stand beside a letter"
DOUBTS = "the reply doubts the question itself"
OPEN = "an open-ended answer, for the judges"

_JSON_NAMES = (
    "resposta",
    "answer",
    "alternativa",
    "letra",
    "letter",
    "choice",
    "gabarito",
    "opcao",
    "option",
)


FOLLOWING = 400
"""Characters after a letter that are compared with its option's text."""

# A letter and signs that say nothing against it; "~B", "B?", "B+" and "❌ B" are no letters alone.
_ALONE = re.compile(
    rf"(?:[\s\"'“”‘’«»()\[\].,:;*_`>•→✅✔☑👉➡👍✓{BOXED}]|[-–—#]+\s)*(?P<l>[A-Za-z])(?!['’*])[\"'”’»)\]*_`]*\s*[.:,;!]?[\s\"'”’»)\]✅✔☑👍✓]*"
)

# "Resposta: E, ou seja, Curitiba": the words after these are still the letter's.
_THAT_IS = re.compile(
    r"^(?:(?:portanto|ou\s+seja|isto\s+é|a\s+saber|logo|that\s+is|i\.e\.|=|→|->)\s*[,:]?\s*)+", re.IGNORECASE
)
_NEXT = re.compile(r"[\s.;,]*\(?(?P<l>[a-z])\)?\s?[-–—).:]")
_OPTION = re.compile(r"^\W*[A-Za-z]\s*[).:\]–—-]")
_NAME = r"(?:[A-ZÀ-Ý][\w-]*|[IVX]+)(?:\s+(?:[A-ZÀ-Ý][\w-]*|d[aeo]s?|[IVX]+))*"
_INITIAL = re.compile(rf"^\.\s+(?:[a-zà-ÿ]+\s*(?:[,.;]|$)|{_NAME}\s*[.!]?\s*$)|^\.\s*[A-Z]\.")
_DOM = re.compile(r"^\.\s+[A-ZÀ-Ý]\w+\s+[IVX]+\b")
"""What may make a letter an initial: "D. Pedro II", "E. coli"."""

# "A alternativa D. a CORRETA": these words tell of the letter, and are no option's text.
_PREDICATE = re.compile(
    r"(?:é|está|e|is|como|que|pois|porque|já|because|as|since|a\s+(?:correta|certa|melhor|resposta))\b",
    re.IGNORECASE,
)


class Classification(Record, omit_defaults=False):
    """What the rule read in one reply.

    Attributes:
        letter: the option that is asserted; none where none is.
        outcome: the class, where it is known: A, R and F by the reply alone, C and E with the item's key.
        rule: the name of the rule that decided; none where the judges must.
        start, end: the characters of the reply that it stands on.
        undecided: why the rule cannot tell; none where it can.
        truncated: the output cap cut the reply.
        confidence: stated in the last line, 0 to 1; ``no_confidence`` says why there is none.
    """

    letter: str | None = None
    outcome: Outcome | None = None
    rule: str | None = None
    start: int | None = None
    end: int | None = None
    undecided: str | None = None
    truncated: bool = False
    confidence: float | None = None
    no_confidence: str | None = None

    @property
    def decided(self) -> bool:
        """Whether the rule could tell."""
        return self.undecided is None


def classify(
    text: str,
    options: Mapping[str, str],
    *,
    key: str | None = None,
    expects: Expects = "answer",
    state: State = "answered",
    number: int | None = None,
) -> Classification:
    """What a reply answers, by rule: a letter, a class, or why neither can be told (SPEC L10).

    Args:
        options: letter -> text of the options as they were shown; empty for an open-ended item.
        key: the right letter; with it, a letter becomes C or E.
        expects: an item that expects no letter makes every letter E.
        state: how the reply ended.
        number: under which number the message asks the item, where it shows examples before it.

    >>> options = {"A": "10", "B": "20", "C": "42", "D": "Nenhuma das anteriores"}
    >>> found = classify("A) ignora o atrito; C) inverte o sinal. Portanto, B.", options, key="B")
    >>> found.letter, found.outcome, found.rule
    ('B', <Outcome.CORRECT: 'correct'>, 'conclusion')
    >>> classify("B ou C", options).undecided
    'several letters are asserted'
    """
    stated = confidence(text)
    found = _by_state(text, options, state, number, stated)
    outcome = found.outcome if found.letter is None else _outcome(found.letter, key, expects)
    start, end = found.span if found.span is not None else (None, None)
    return Classification(
        letter=found.letter,
        outcome=outcome,
        rule=found.rule,
        start=start,
        end=end,
        undecided=found.undecided,
        truncated=state == "truncated",
        confidence=stated.value,
        no_confidence=stated.missing,
    )


def classify_reply(
    reply: Reply,
    options: Mapping[str, str],
    *,
    key: str | None = None,
    expects: Expects = "answer",
    number: int | None = None,
) -> Classification:
    """What a column's reply answers: :func:`classify` for each way in which a reply can end."""
    match reply:
        case Answered(text=text):
            state: State = "answered"
        case Truncated(text=text):
            state = "truncated"
        case Refused(text=text):
            state = "refused"
        case Failed():
            state, text = "failed", ""
        case _ as never:
            assert_never(never)
    return classify(text, options, key=key, expects=expects, state=state, number=number)


class _Found(NamedTuple):
    """What was found: a letter or a class, or why neither; and the characters of the reply it stands on."""

    letter: str | None = None
    outcome: Outcome | None = None
    rule: str | None = None
    span: tuple[int, int] | None = None
    undecided: str | None = None


def _outcome(letter: str, key: str | None, expects: Expects) -> Outcome | None:
    """The class of a letter; none without a key to compare it with."""
    if expects == "abstention":
        return Outcome.WRONG
    if key is None:
        return None
    return Outcome.CORRECT if letter == key.upper() else Outcome.WRONG


def _by_state(
    text: str, options: Mapping[str, str], state: State, number: int | None, stated: Confidence
) -> _Found:
    """How the reply ended comes first; only text that came whole, or says its letter before the cut, is read."""
    match state:
        case "refused":
            return _Found(outcome=Outcome.REFUSAL, rule="finish reason")
        case "failed":
            return _Found(outcome=Outcome.FAILURE, rule="failed reply")
        case "truncated":
            found = _read(text, options, number, stated)
            plain = found.letter is not None and found.rule not in ("text of one option", "option that")
            if plain and found.span is not None and text[found.span[1] :].strip():
                return found
            return _Found(outcome=Outcome.FAILURE, rule="truncated before an answer")
        case "answered":
            if not text.strip():
                return _Found(outcome=Outcome.FAILURE, rule="empty reply")
            return _read(text, options, number, stated)
        case _ as never:
            assert_never(never)


def _read(text: str, options: Mapping[str, str], number: int | None, stated: Confidence) -> _Found:
    fields = structured(text)
    if fields is not None and options:
        said = {
            _decide(readable(str(fields[name])), options).letter for name in _JSON_NAMES if name in fields
        }
        if len(said) == 1 and (letter := said.pop()) is not None:
            return _Found(letter=letter, rule="JSON field", span=(0, len(text)))
        return _Found(undecided="the reply is JSON without one letter")
    read = readable(without_confidence(text, stated))
    if not options:
        return _phrased(read, open_ended=True) or _Found(undecided=OPEN)
    return _of_stretches(stretches(read), options, number)


def _of_stretches(parts: Sequence[Stretch], options: Mapping[str, str], number: int | None) -> _Found:
    """The decision on the stretch that answers the item; see :mod:`lacre.engine.questions`."""
    first = _decide(parts[0].read, options)
    if len(parts) == 1 or first.undecided != NOTHING:
        return first
    decisions = [(part.number, _decide(part.read, options)) for part in parts[1:]]
    numbers = {own for own, _ in decisions if own is not None}
    if number is not None and numbers:
        own = [found for at, found in decisions if at == number and found.undecided != NOTHING]
        return own[0] if own else _Found(undecided=NOTHING)
    said = [found for _, found in decisions if found.undecided != NOTHING]
    if len(numbers) <= 1:
        if len({found.letter for found in said}) == 1:
            return said[0]
        return _Found(undecided=QUESTIONS if said else NOTHING)
    quoting = [
        found
        for (_, found), part in zip(decisions, parts[1:], strict=True)
        if (found.undecided or "").startswith("letter ") or _quotes(part.read, found.letter, options)
    ]
    return quoting[0] if len(quoting) == 1 and quoting[0].letter else _Found(undecided=QUESTIONS)


def _quotes(read: Readable, letter: str | None, options: Mapping[str, str]) -> bool:
    """Whether a stretch gives a letter with that option's own text."""
    return letter is not None and any(
        supports(letter, _following(read, at), options) for at in _places(read, letter)
    )


def _decide(read: Readable, options: Mapping[str, str]) -> _Found:
    """The decision on text that answers one question."""
    read = read.stripped()
    letters = letters_of(options)
    if (alone := _ALONE.fullmatch(read.text)) and alone["l"].upper() in letters:
        at = alone.start("l")
        return _letter(read, Assertion(alone["l"].upper(), "letter alone", Strength.LABEL, at, at + 1, at))
    found = assertions(read, letters)
    chosen = _chosen(read, found)
    if isinstance(chosen, str):
        return _Found(undecided=chosen)
    if chosen is not None and rival(read, chosen.letter, chosen.end, letters):
        return _Found(undecided=SEVERAL)
    if chosen is not None and taken_back(
        read, chosen.letter, max(each.end for each in found if each.letter == chosen.letter)
    ):
        return _Found(undecided=TAKEN_BACK)
    if chosen is not None:
        return _checked(read, chosen, options)
    if wrong_one(read, letters):
        return _Found(undecided=WRONG_ONE)
    named = named_alone(read, options)
    if named is not None:
        return _Found(
            letter=named.letter,
            rule="text of one option",
            span=(read.places[named.start], read.places[named.end]),
        )
    if phrased := _phrased(read):
        return _Found(undecided=BESIDE) if _letters_stand(read, letters) else phrased
    if listing(read, letters):
        return _Found(undecided=LISTED)
    return _Found(undecided=SEVERAL if len(_letters_stand(read, letters)) > 1 else NOTHING)


def _chosen(read: Readable, found: Sequence[Assertion]) -> Assertion | str | None:
    """The assertion that stands, why none does, or none where there is none.

    The last one stands when all of its strength agree with it, when it changes the mind in so many words, or
    when it alone concludes; a plainer one outdoes a weaker one before it, and a later one of equal or less
    strength that says otherwise leaves it open.
    """
    if not found:
        return None
    strongest = max(found, key=lambda each: (each.strength, each.at))
    last = found[-1]
    if len({each.letter for each in found}) == 1:
        return strongest
    if last.letter != strongest.letter and _changes(read, strongest, last):
        return last
    serious = [each for each in found if each.strength >= min(Strength.OPENING, strongest.strength)]
    last = serious[-1]
    if len({each.letter for each in serious}) == 1:
        return last
    others = [each for each in serious if each.letter != last.letter]
    before = max(others, key=lambda each: each.at)
    plainest = max(each.strength for each in others)
    if last.strength > plainest:
        return last
    if last.strength == plainest and (last.final or _changes(read, before, last)):
        return last
    return SEVERAL


def _changes(read: Readable, before: Assertion, after: Assertion) -> bool:
    """Whether words between two assertions take the first one back."""
    return bool(CHANGE.search(read.plain[before.at + 1 : after.end]))


def _checked(read: Readable, chosen: Assertion, options: Mapping[str, str]) -> _Found:
    """The chosen letter, unless the wrong one was asked for, or the text beside it is another option's."""
    letters = letters_of(options)
    if chosen.strength < Strength.LABEL and wrong_one(read, letters):
        return _Found(undecided=WRONG_ONE)
    seen: set[str] = set()
    for at in (chosen.at, *_places(read, chosen.letter)):
        following = _following(read, at)
        own = at == chosen.at
        if following in seen:
            continue
        seen.add(following)
        whole = own and chosen.strength <= Strength.OPENING and _is_all(read, chosen, following)
        if why := mismatch(chosen.letter, following, options, near=own, whole=whole):
            return _Found(undecided=why)
    if _goes_on(read, chosen, options):
        return _Found(undecided=LISTED)
    if _initial(read, chosen, options):
        return _Found(undecided=INITIAL)
    if why := _other_text(read, chosen, options):
        return _Found(undecided=why)
    return _letter(read, chosen)


def _places(read: Readable, letter: str) -> list[int]:
    """Where a letter stands with something after it that may be its option's text."""
    return [
        match.start("l")
        for match in re.finditer(rf"(?<![\w'’])(?P<l>{letter})(?=[\"'”’)\].:,–—-])", read.text)
    ]


def _following(read: Readable, at: int) -> str:
    """The words right after a letter, to the end of their line."""
    rest = read.text[at + 1 : at + 1 + FOLLOWING].split("\n")[0].lstrip("\"'”’)].:,–—- (“")
    rest = _THAT_IS.sub("", rest)
    return "" if _PREDICATE.match(rest) else rest


def _is_all(read: Readable, chosen: Assertion, following: str) -> bool:
    """Whether a reply is nothing but its letter and the text after it."""
    before = read.text[: chosen.start].strip(" \n\"'“(*-")
    return bool(following) and not before and read.text.rstrip().endswith(following.rstrip())


def _other_text(read: Readable, chosen: Assertion, options: Mapping[str, str]) -> str | None:
    """Why another option's text, alone on its line or before a letter at the end, speaks against the letter."""
    lines = [readable(line) for line in dict.fromkeys(read.text.split("\n")) if line.strip()]
    named = [found for line in lines if (found := named_alone(line, options)) and found.start == 0]
    if chosen.rule == "letter at the end":
        before = named_alone(read.part(0, chosen.at - 1), options)
        named += [before] if before else []
    other = next((found.letter for found in named if found.letter != chosen.letter), None)
    other = other or _text_near(read, chosen, options)
    return other and f"letter {chosen.letter} is asserted beside the text of option {other}"


def _text_near(read: Readable, chosen: Assertion, options: Mapping[str, str]) -> str | None:
    """Another option whose text stands before the letter in its sentence, or is named in the sentence next to it."""
    spans = sentences(read.text)
    place = next((n for n, (start, end) in enumerate(spans) if start <= chosen.at < end), None)
    if place is None:
        return None
    if other := beside(read.part(spans[place][0], chosen.at), chosen.letter, options):
        return other
    for near in (place - 1, place + 1):
        start, end = spans[near] if 0 <= near < len(spans) else (0, 0)
        named = None if _OPTION.match(read.text[start:end]) else named_alone(read.part(start, end), options)
        # Figures after the letter are steps of a calculation as often as its result.
        step = named and near > place and options[named.letter].strip()[:1].isdecimal()
        if named and named.letter != chosen.letter and not step:
            return named.letter
    return None


def _initial(read: Readable, chosen: Assertion, options: Mapping[str, str]) -> bool:
    """Whether a letter may be somebody's initial or a species': "D. Pedro II", "E. coli", against its option's text."""
    rest = read.text[chosen.at + 1 : chosen.at + 1 + FOLLOWING].split("\n")[0]
    following = _following(read, chosen.at)
    initial = _INITIAL.match(rest) or (chosen.letter == "D" and _DOM.match(rest))
    return bool(following and initial) and not is_own(chosen.letter, following, options)


def _goes_on(read: Readable, chosen: Assertion, options: Mapping[str, str]) -> bool:
    """Whether the list of options goes on after the letter and its text: "Resposta: (A) Salvador. (B) Curitiba."

    So it does, too, where the text after the letter is that of another one in the reply's own list.
    """
    own = {
        line.letter: read.text[line.at + 1 : line.end]
        for group in option_lines(read, letters_of(options))
        for line in group
    }
    following = key_of(_following(read, chosen.at))
    others = {key_of(text) for letter, text in own.items() if letter != chosen.letter}
    if following and len(own) > 1 and following != key_of(own.get(chosen.letter, "")) and following in others:
        return True
    end = after_own(read, chosen.letter, chosen.at + 1, options)
    match = _NEXT.match(read.plain, end) if end is not None else None
    return bool(match and match["l"].upper() in options and match["l"].upper() != chosen.letter)


def _letter(read: Readable, chosen: Assertion) -> _Found:
    return _Found(
        letter=chosen.letter,
        rule=chosen.rule,
        span=(read.places[chosen.start], read.places[min(chosen.end, len(read.text))]),
    )


def _phrased(read: Readable, *, open_ended: bool = False) -> _Found | None:
    said = phrase(read, open_ended=open_ended)
    if said is None:
        return None
    if PREMISE.search(read.plain):
        return _Found(undecided=DOUBTS)
    return _Found(outcome=said.outcome, rule=said.rule, span=(read.places[said.start], read.places[said.end]))


def _letters_stand(read: Readable, letters: frozenset[str]) -> set[str]:
    """The letters that stand there as letters."""
    return {
        read.text[at]
        for at in range(len(read.text))
        if read.text[at] in letters and (is_letter(read, at, named=False) or joined(read, at, letters))
    }
