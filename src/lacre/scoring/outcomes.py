"""Answers as scoring sees them: five classes, or a score, with what the item expected (SPEC L10, L11)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from lacre.errors import InputError

Counts: TypeAlias = NDArray[np.int64]
Expects = Literal["answer", "abstention", "corrected_premise"]


class Outcome(Enum):
    """The five classes of an answer; the letters stand apart, for C, E and A are also options (SPEC L10).

    >>> Outcome.WRONG.letter, Outcome.of("R")
    ('E', <Outcome.REFUSAL: 'refusal'>)
    """

    CORRECT = "correct"
    WRONG = "wrong"
    ABSTENTION = "abstention"
    REFUSAL = "refusal"
    FAILURE = "failure"

    @property
    def letter(self) -> str:
        """The letter of LUA's tables: C, E, A, R or F."""
        return _LETTERS[self]

    @property
    def attempted(self) -> bool:
        """Whether the column gave an answer that is right or wrong."""
        return self in (Outcome.CORRECT, Outcome.WRONG)

    @classmethod
    def of(cls, text: str) -> Outcome | None:
        """The class of a letter or a name, in any case; none when it is neither.

        >>> Outcome.of(" wrong "), Outcome.of("B")
        (<Outcome.WRONG: 'wrong'>, None)
        """
        return _OF.get(text.strip().casefold())


_LETTERS = {
    Outcome.CORRECT: "C",
    Outcome.WRONG: "E",
    Outcome.ABSTENTION: "A",
    Outcome.REFUSAL: "R",
    Outcome.FAILURE: "F",
}
_PLACE = {outcome: place for place, outcome in enumerate(Outcome)}
_OF = {word: outcome for outcome, letter in _LETTERS.items() for word in (letter.casefold(), outcome.value)}


class Answer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One answer of one column to one item, classed or scored.

    An open-ended answer has a ``score`` in [0, 1] and a class only where a rule found A, R or F, or where the
    benchmark sets a threshold (:func:`classed`). A choice answer has a class and no score.

    >>> Answer(column="m", item="q1", outcome=Outcome.CORRECT).value
    1.0

    Attributes:
        repetition: which run of the item, from 1.
        confidence: what the answer stated, in [0, 1]; none when it stated nothing.
        expects: what the item calls for (SPEC L11).
        looks_sensitive: a legitimate item that looks sensitive, for over-refusal.
        fields: anything to split results by: ``cell``, subject, layer ...

    Raises:
        InputError: neither class nor score, or a number outside its range.
    """

    column: str
    item: str
    repetition: int = 1
    outcome: Outcome | None = None
    score: float | None = None
    confidence: float | None = None
    expects: Expects = "answer"
    looks_sensitive: bool = False
    fields: dict[str, str] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what is no answer."""
        where = f"answer of {self.column} to {self.item}"
        if self.outcome is None and self.score is None:
            raise InputError(where, "has neither an outcome nor a score", "Give it one of the two")
        for name, number in (("score", self.score), ("confidence", self.confidence)):
            # Written so that NaN fails it too.
            if number is not None and not (math.isfinite(number) and 0 <= number <= 1):
                raise InputError(where, f"{name} {number} is not a number from 0 to 1", "Correct it")
        if self.repetition < 1:
            raise InputError(where, f"repetition {self.repetition} is below 1", "Count runs from 1")

    @property
    def value(self) -> float:
        """What the answer adds to a mean score: its score, else 1 when correct; A, R and F add 0."""
        if self.outcome is not None and not self.outcome.attempted:
            return 0.0
        return self.score if self.score is not None else float(self.outcome is Outcome.CORRECT)


def classed(answers: Iterable[Answer], threshold: float) -> tuple[Answer, ...]:
    """The same answers, where scores without a class become C at or above ``threshold``, and E below (L11).

    >>> [a.outcome.letter for a in classed([Answer(column="m", item="q", score=0.6)], 0.6)]
    ['C']

    Raises:
        InputError: the threshold is not in [0, 1].
    """
    if not 0 <= threshold <= 1:
        raise InputError("threshold", f"{threshold} is not a number from 0 to 1", "Give a score")
    return tuple(
        answer
        if answer.outcome is not None or answer.score is None
        else msgspec.structs.replace(
            answer, outcome=Outcome.CORRECT if answer.score >= threshold else Outcome.WRONG
        )
        for answer in answers
    )


def by_column(answers: Iterable[Answer]) -> dict[str, tuple[Answer, ...]]:
    """The answers of each column, columns and answers sorted, each run of an item once (SPEC L21).

    >>> list(by_column([Answer(column=c, item="q", score=1.0) for c in "ba"]))
    ['a', 'b']

    Raises:
        InputError: a column answers the same run of an item twice; every such pair is named.
    """
    found: dict[str, dict[tuple[str, int], Answer]] = {}
    doubled: list[str] = []
    for answer in answers:
        runs = found.setdefault(answer.column, {})
        run = (answer.item, answer.repetition)
        if run in runs:
            doubled.append(f"{answer.column}, item {answer.item}, repetition {answer.repetition}")
        runs.setdefault(run, answer)
    if doubled:
        raise InputError(
            "answers", f"given twice: {'; '.join(doubled)}", "Keep one, or number the runs as repetitions"
        )
    return {
        column: tuple(answer for _, answer in sorted(runs.items())) for column, runs in sorted(found.items())
    }


def items_of(answers: Sequence[Answer]) -> tuple[str, ...]:
    """The items answered, each once, sorted: N of SPEC L10.

    >>> items_of([Answer(column="m", item=i, score=1.0) for i in "bab"])
    ('a', 'b')
    """
    return tuple(sorted({answer.item for answer in answers}))


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """One column's answers counted item by item; arrays run along ``items``.

    Source: SPEC L10, L21; :func:`tally` makes it.

    >>> counted = tally([Answer(column="m", item="q", repetition=r, score=s) for r, s in ((1, 1.0), (2, 0.5))])
    >>> counted.runs.tolist(), counted.unclassed.tolist(), counted.values.tolist()
    ([2], [2], [1.5])

    Attributes:
        runs: answers of each item.
        classes: answers of each class, of shape (items, 5), in the order of :class:`Outcome`.
        unclassed: answers with a score and no class.
        values: sums of :attr:`Answer.value`.
        expects: what each item calls for; ``sensitive``: whether it looks sensitive.
    """

    column: str
    items: tuple[str, ...]
    runs: Counts
    classes: Counts
    unclassed: Counts
    values: NDArray[np.float64]
    expects: NDArray[np.str_]
    sensitive: NDArray[np.bool_]

    def of(self, *outcomes: Outcome) -> Counts:
        """Answers of each item in any of these classes."""
        counts: Counts = self.classes[:, [_PLACE[outcome] for outcome in outcomes]].sum(axis=1)
        return counts


def tally(answers: Sequence[Answer]) -> Tally:
    """The answers of one column, counted item by item: the counts that SPEC L11 is made of.

    >>> counted = tally([Answer(column="m", item="q", outcome=Outcome.WRONG)])
    >>> counted.of(Outcome.WRONG).tolist()
    [1]

    Raises:
        InputError: no answers, several columns, an item run twice under one number, or runs of one item that
            disagree on what it expects.
    """
    columns = by_column(answers)
    if len(columns) != 1:
        raise InputError("answers", f"{len(columns)} columns where one is meant", "Give the answers of one")
    ((column, own),) = columns.items()
    items = items_of(own)
    place = {item: number for number, item in enumerate(items)}
    asked: dict[str, tuple[Expects, bool]] = {}
    classes = np.zeros((len(items), len(Outcome)), np.int64)
    runs, unclassed = np.zeros((2, len(items)), np.int64)
    values = np.zeros(len(items))
    for answer in own:
        here = place[answer.item]
        wants = (answer.expects, answer.looks_sensitive)
        if asked.setdefault(answer.item, wants) != wants:
            raise InputError(
                f"item {answer.item}",
                "its answers disagree on what it expects",
                "Give the item one `expects`",
            )
        runs[here] += 1
        values[here] += answer.value
        if answer.outcome is None:
            unclassed[here] += 1
        else:
            classes[here, _PLACE[answer.outcome]] += 1
    return Tally(
        column=column,
        items=items,
        runs=runs,
        classes=classes,
        unclassed=unclassed,
        values=values,
        expects=np.array([asked[item][0] for item in items]),
        sensitive=np.array([asked[item][1] for item in items]),
    )
