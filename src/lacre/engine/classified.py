"""What the rule read in files of answers: one record an answer, and the counts of each column (SPEC L10)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from lacre.engine.classify import Classification, classify
from lacre.engine.folders import Classified
from lacre.registry.audits import Extraction
from lacre.registry.raw_answers import RawAnswer
from lacre.registry.records import Record
from lacre.scoring.estimates import Measured
from lacre.scoring.intervals import proportion
from lacre.scoring.outcomes import Answer, Expects, Outcome


class ClassifiedAnswer(Record):
    """One answer as the rule read it; where it could not, ``undecided`` says why and there is no outcome.

    Attributes:
        outcome: C and E where the key is known; A, R and F whatever the key.
        start, end: characters of the text that the rule stands on.
        sha256: of the text, which is not repeated here.
        kind: of the item: choice, or open where it has no options.
    """

    column: str
    item: str
    repetition: int
    sha256: str
    letter: str | None = None
    outcome: Outcome | None = None
    confidence: float | None = None
    rule: str | None = None
    undecided: str | None = None
    start: int | None = None
    end: int | None = None
    truncated: bool = False
    no_confidence: str | None = None
    expects: Expects = "answer"
    kind: str = "choice"


class Tally(Record, omit_defaults=False):
    """What the rule read in the answers of one column.

    Attributes:
        letters: answers with a letter, whether or not a key says that it is right.
        left: share of the answers that the rule leaves to the judges, with Wilson's interval.
        why: how often each reason left one.
    """

    column: str
    answers: int
    letters: int
    outcomes: dict[str, int]
    undecided: int
    left: Measured
    why: dict[str, int]


def classify_answers(
    answers: Iterable[RawAnswer], *, number: int | None = None
) -> tuple[ClassifiedAnswer, ...]:
    """What the rule reads in each answer, in the order of column, item and repetition."""
    found = (_classified(answer, number) for answer in answers)
    return tuple(sorted(found, key=lambda each: (each.column, each.item, each.repetition)))


def _classified(answer: RawAnswer, number: int | None) -> ClassifiedAnswer:
    found = classify(
        answer.text,
        answer.options,
        key=answer.key,
        expects=answer.expects,
        state=answer.ending,
        number=number,
    )
    return classified_answer(answer, found)


def classified_answer(answer: RawAnswer, found: Classification) -> ClassifiedAnswer:
    """The record of one answer and of what the rule read in it."""
    return ClassifiedAnswer(
        column=answer.column,
        item=answer.item,
        repetition=answer.repetition,
        sha256=answer.sha256,
        letter=found.letter,
        outcome=found.outcome,
        confidence=found.confidence,
        rule=found.rule,
        undecided=found.undecided,
        start=found.start,
        end=found.end,
        truncated=found.truncated,
        no_confidence=found.no_confidence,
        expects=answer.expects,
        kind="choice" if answer.options else "open",
    )


def rows(answers: Iterable[ClassifiedAnswer]) -> tuple[Classified, ...]:
    """The records in the shape of a run's ``classified.jsonl``."""
    return tuple(
        Classified(
            column=each.column,
            item=each.item,
            repetition=each.repetition,
            part="",
            kind=each.kind,
            classification=Classification(
                letter=each.letter,
                outcome=each.outcome,
                rule=each.rule,
                start=each.start,
                end=each.end,
                undecided=each.undecided,
                truncated=each.truncated,
                confidence=each.confidence,
                no_confidence=each.no_confidence,
            ),
        )
        for each in answers
    )


def scorable(answers: Iterable[ClassifiedAnswer], *, left: Outcome | None) -> tuple[Answer, ...]:
    """What scoring reads: the answers with a class, and as ``left`` those that the rule leaves; unkeyed letters not."""
    found = ((each, left if each.undecided is not None else each.outcome) for each in answers)
    return tuple(
        Answer(
            column=each.column,
            item=each.item,
            repetition=each.repetition,
            outcome=outcome,
            confidence=each.confidence,
            expects=each.expects,
        )
        for each, outcome in found
        if outcome is not None
    )


def tallies(answers: Sequence[ClassifiedAnswer]) -> tuple[Tally, ...]:
    """The counts of each column, sorted by column."""
    columns: dict[str, list[ClassifiedAnswer]] = {}
    for answer in answers:
        columns.setdefault(answer.column, []).append(answer)
    return tuple(_tally(column, found) for column, found in sorted(columns.items()))


def _tally(column: str, found: Sequence[ClassifiedAnswer]) -> Tally:
    outcomes = Counter(each.outcome.letter for each in found if each.outcome is not None)
    why = Counter(_reason(each.undecided) for each in found if each.undecided is not None)
    return Tally(
        column=column,
        answers=len(found),
        letters=sum(each.letter is not None for each in found),
        outcomes={outcome.letter: outcomes[outcome.letter] for outcome in Outcome},
        undecided=sum(why.values()),
        left=proportion(sum(why.values()), len(found)),
        why=dict(sorted(why.items(), key=lambda pair: (-pair[1], pair[0]))),
    )


def _reason(undecided: str) -> str:
    """A reason without the letters of the one answer it was given for."""
    return (
        "a letter stands beside a text that is not its own" if undecided.startswith("letter ") else undecided
    )


def extractions(answers: Iterable[ClassifiedAnswer]) -> tuple[Extraction, ...]:
    """The letters that the rule read, for an audit (SPEC L15)."""
    return tuple(
        Extraction(
            id="",
            column=each.column,
            item=each.item,
            repetition=each.repetition,
            letter=each.letter,
            rule=each.rule,
            sha256=each.sha256,
        )
        for each in answers
        if each.letter is not None and each.rule is not None
    )
