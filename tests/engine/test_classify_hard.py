"""Hard answers: nothing that the rule decides of them is wrong, and it still decides the plain ones among them."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.engine.hard_answers import HARD, Hard
from tests.engine.hard_forms import HARD_FORMS
from tests.engine.hard_later import HARD_LATER
from tests.engine.hard_turns import HARD_TURNS

from lacre.engine.classify import classify

ALL = HARD + HARD_FORMS + HARD_TURNS + HARD_LATER


def said(hard: Hard) -> str | None:
    """What the rule says of an answer, in the words of labels; none where it leaves it to the judges."""
    found = classify(hard.reply, hard.options)
    return found.letter or (found.outcome.value if found.outcome else None)


@pytest.mark.parametrize("kind", sorted({hard.kind for hard in ALL}))
def test_nothing_decided_of_a_hard_answer_is_wrong(kind: str) -> None:
    wrong = [
        (hard.reply, read, hard.label)
        for hard in ALL
        if hard.kind == kind and (read := said(hard)) is not None and read != hard.label
    ]
    assert wrong == []


def test_each_hard_answer_is_there_once() -> None:
    seen = Counter((hard.reply, tuple(hard.options.values())) for hard in ALL)
    assert [reply for (reply, _), count in seen.items() if count > 1] == []
    assert {hard.label for hard in ALL} <= {*"ABCDE", "abstention", "refusal", "none"}


def test_of_hard_answers_that_a_reader_can_tell_most_are_decided() -> None:
    told = [hard for hard in ALL if hard.label != "none"]
    assert sum(said(hard) is not None for hard in told) / len(told) > 0.55
