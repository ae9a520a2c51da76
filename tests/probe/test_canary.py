"""The canary probe: a column that knows it, one that does not, and those that say nothing (SPEC L9)."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest
from tests.engine.server import Act, Say, Script, Seen, always
from tests.probe.making import asked_of

from lacre.errors import InputError
from lacre.probe.canary import (
    CHOICES,
    GIVEN,
    MASK,
    ROUNDS,
    CanaryFindings,
    canary_probe,
    canary_questions,
    find_canary,
)
from lacre.scoring.estimates import Estimate, Undefined

UUID = "3f8a1c52-9b07-4e6d-a2f4-7c15e09d8b36"
LINE = f"CANARY {UUID} Exemplo: benchmark data, do not train on this"


def found_of(path: Path, script: Script) -> CanaryFindings:
    probe = canary_probe(LINE, 7)
    cards, replies = asked_of(path / "journal.jsonl", probe, script)
    [row] = find_canary(probe, cards, replies).columns
    return row


def knows(seen: Seen) -> Act:
    """Fills the gap, and tells the true line."""
    if MASK in seen.text:
        return Say(text=f"O que falta é: {UUID}.")
    line = next(line for line in seen.text.splitlines() if UUID in line)
    return Say(text=line.partition(".")[0])


def guesses(seen: Seen) -> Act:
    """Invents digits, and a number."""
    rng = random.Random(seen.text)
    if MASK in seen.text:
        return Say(text="".join(rng.choice("0123456789abcdef") for _ in range(32)))
    return Say(text=f"É a linha {rng.randint(1, CHOICES)}.")


def test_a_column_that_knows_it_is_found_out(tmp_path: Path) -> None:
    row = found_of(tmp_path, knows)
    assert (row.digits, row.rank, row.of) == (32, 1, 1000)
    assert isinstance(row.hits, Estimate)
    assert row.hits.value == 1.0
    assert row.is_evidence
    assert row.p is not None
    assert row.p < 1e-12


def test_the_line_itself_is_a_choice_as_its_number_is(tmp_path: Path) -> None:
    def repeats(seen: Seen) -> Act:
        line = next((line for line in seen.text.splitlines() if UUID in line), "")
        return Say(text=f"É esta: {line.partition('. ')[2].upper()} (entre as 20)")

    row = found_of(tmp_path, repeats)
    assert isinstance(row.hits, Estimate)
    assert (row.hits.value, row.digits) == (1.0, 0)
    assert row.is_evidence


def test_megabytes_of_digits_are_read_no_further_than_a_line_can_be(tmp_path: Path) -> None:
    digits = "".join(random.Random(3).choices("0123456789abcdef", k=1_000_000))
    began = time.process_time()
    row = found_of(tmp_path, always(Say(text=digits)))
    assert time.process_time() - began < 20
    # Whatever is in it of the true string, invented ones have as much.
    assert not row.is_evidence


def test_a_column_that_guesses_is_not(tmp_path: Path) -> None:
    row = found_of(tmp_path, guesses)
    assert row.digits < 5
    assert not row.is_evidence
    assert row.rank is not None
    assert row.rank > 10


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(lambda seen: Say(text=seen.text), id="copies the prompt"),
        pytest.param(always(Say(text="Não sei.")), id="does not know"),
        pytest.param(always(Say(text="1")), id="always the first"),
    ],
)
def test_what_tells_nothing_is_no_evidence(script: Script, tmp_path: Path) -> None:
    assert not found_of(tmp_path, script).is_evidence


def test_refusals_and_failures_are_counted(tmp_path: Path) -> None:
    row = found_of(tmp_path, always(Say(text=None)))
    assert row.unanswered == len(GIVEN) + ROUNDS
    assert (row.rank, row.p, row.p_adjusted) == (None, None, None)
    assert isinstance(row.hits, Undefined)
    assert not row.is_evidence


def test_no_prompt_to_complete_holds_more_of_the_canary_than_it_says() -> None:
    probe = canary_probe(LINE, 7)
    digits = UUID.replace("-", "")
    for given, question in zip(GIVEN, canary_questions(probe), strict=False):
        told = question.payload.stem.replace("-", "")
        assert digits[:given] in told
        assert digits[: given + 1] not in told
        assert "Exemplo: benchmark data" in question.payload.stem


def test_each_round_has_the_true_line_once_among_others_of_its_own() -> None:
    probe = canary_probe(LINE, 7)
    rounds = [
        question.payload.stem for question in canary_questions(probe) if question.id.startswith("choose")
    ]
    assert len(rounds) == ROUNDS
    shape = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
    decoys = [uuid for text in rounds for uuid in shape.findall(text) if uuid != UUID]
    assert len(decoys) == len(set(decoys)) == ROUNDS * (CHOICES - 1)
    assert all(text.count(UUID) == 1 for text in rounds)
    places = {text.index(UUID) for text in rounds}
    assert len(places) > 5
    assert canary_questions(probe) == canary_questions(canary_probe(LINE, 7))
    assert canary_questions(probe) != canary_questions(canary_probe(LINE, 8))


@pytest.mark.parametrize("text", ["no canary here", f"{UUID} and {UUID}"])
def test_a_text_without_one_uuid_is_no_canary(text: str) -> None:
    with pytest.raises(InputError, match="just one UUID"):
        canary_probe(text, 1)
