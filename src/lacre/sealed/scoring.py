"""The scores of a sealed run: the class of each answer by rule, and the replies behind it (SPEC L10, X4)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lacre.engine.classify import classify
from lacre.engine.folders import classified
from lacre.engine.journal import Replied, Task
from lacre.engine.plans import Questions
from lacre.registry.items import Payload
from lacre.scoring.outcomes import Outcome
from lacre.sealed.records import Undecided
from lacre.sealed.scores import Said, Score, order, replies_digest, said

AS_SAID: Mapping[Undecided, Outcome] = {"wrong": Outcome.WRONG, "failure": Outcome.FAILURE}
"""What an answer counts as that the rule cannot read, by the word that says so."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of a run.

    Attributes:
        scores: those that have a class. ``replies``: what was said, by column, item and repetition.
        undecided: how many answers the rule could not read.
        failed: answers of class F. ``wholly``: every single one is.
    """

    scores: tuple[Score, ...]
    replies: Mapping[tuple[str, str, int], tuple[Said, ...]]
    undecided: int
    failed: int

    @property
    def wholly_failed(self) -> bool:
        """Whether every reply failed, so that the column was not measured at all."""
        return self.failed == len(self.replies)


def scored(
    run: str, replies: Mapping[Task, Replied], questions: Questions, *, undecided: Undecided | None = None
) -> Scored:
    """The scores of a complete run; ``undecided`` says what the rest is to count as.

    Of an item with parts the class is the one that all its parts share; where they differ, the rule leaves it.
    """
    rows: dict[tuple[str, str, int], dict[str, Outcome | None]] = defaultdict(dict)
    for row in classified(replies, questions):
        rows[row.column, row.item, row.repetition][row.part] = row.classification.outcome
    scores: list[Score] = []
    told: dict[tuple[str, str, int], tuple[Said, ...]] = {}
    left = failed = 0
    for key, parts in sorted(rows.items()):
        column, item, repetition = key
        told[key] = tuple(said(part, replies[Task(*key, part)].reply) for part in parts)
        found = shared(parts.values())
        left += found is None
        failed += found is Outcome.FAILURE
        if found is None and undecided is None:
            continue
        scores.append(
            Score(
                run=run,
                column=column,
                item=item,
                repetition=repetition,
                outcome=found or AS_SAID[undecided],  # type: ignore[index]  # none only where it was found
                score=None,
                reply_sha256=replies_digest(told[key]),
                by="rule" if found else "said",
            )
        )
    return Scored(tuple(sorted(scores, key=order)), told, left, failed)


def shared(outcomes: Iterable[Outcome | None]) -> Outcome | None:
    """The class that all of them are of; none where they differ, or one is not known.

    >>> shared([Outcome.WRONG, Outcome.WRONG]), shared([Outcome.WRONG, Outcome.CORRECT]), shared([None])
    (<Outcome.WRONG: 'wrong'>, None, None)
    """
    found = set(outcomes)
    return found.pop() if len(found) == 1 else None


def by_rule(payload: Payload, replies: Sequence[Said]) -> Outcome | None:
    """The class that the rule gives to what a column said to an item: what anybody finds who repeats it.

    >>> item = Payload(kind="choice", stem="?", options={"A": "Ana", "B": "Bia"}, key="B")
    >>> by_rule(item, [Said(part="", kind="answered", text="Resposta: B")])
    <Outcome.CORRECT: 'correct'>
    """
    choice = payload.kind == "choice"
    return shared(
        classify(
            each.text,
            payload.options if choice else {},
            key=payload.key if choice else None,
            expects=payload.expects,
            state=each.kind,
        ).outcome
        for each in replies
    )


def item_outcomes(scores: Iterable[Score]) -> dict[str, Outcome]:
    """The class of each item: that of most of its runs; where several have as many, that of the first of them.

    >>> item_outcomes([])
    {}
    """
    runs: dict[str, list[Outcome]] = defaultdict(list)
    for score in sorted(scores, key=order):
        runs[score.item].append(score.outcome)
    # `most_common` keeps the order in which classes came.
    return {item: Counter(outcomes).most_common(1)[0][0] for item, outcomes in runs.items()}
