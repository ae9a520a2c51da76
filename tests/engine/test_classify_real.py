"""Classification on real answers: 840 labelled by hand, all 34 golden ones, open-ended ones; LACRE_TEST_DATA has them.

``labels.jsonl`` names each answer by file, place and SHA-256, never by its text. Labels are a letter,
``abstention``, ``refusal``, or ``none`` where a reader cannot tell which letter is meant. ``developed`` answers were
read while the rule was written, ``held`` ones only after it was frozen for the first time.
"""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from lacre.digest import sha256
from lacre.engine.classify import Classification, State, classify
from lacre.registry.options import parse_options

LABELS = Path(__file__).parent / "labels.jsonl"
CLASSES = {"abstention", "refusal"}
SHOTS = 3
"""Examples that the few-shot messages show; the item comes after them."""


class Label(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A label of one answer, which stands in ``file`` at ``index``."""

    file: str
    index: int
    item: str
    sha256: str
    half: str
    label: str


class Read(NamedTuple):
    """A label, and what the rule read."""

    label: Label
    found: Classification

    @property
    def said(self) -> str:
        """What the rule said, in the words of labels."""
        return self.found.letter or (self.found.outcome.value if self.found.outcome else "none")


@pytest.fixture(scope="module")
def root() -> Path:
    named = os.environ.get("LACRE_TEST_DATA")
    if not named:
        pytest.skip("LACRE_TEST_DATA is not set: no real answers here")
    return Path(named)


@cache
def labels() -> tuple[Label, ...]:
    return tuple(msgspec.json.decode(line, type=Label) for line in LABELS.read_bytes().splitlines())


@cache
def options(root: Path) -> dict[str, dict[str, str]]:
    """The options of the exam that the answers are to, as far as they came out of its booklet."""
    with gzip.open(root / "items" / "items.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    found = {}
    for row in rows:
        if row["source"] == "gpt4enem_2022":
            parsed = parse_options(row["options"]) if row["options"] else None
            found[row["id"]] = parsed.texts if parsed else dict.fromkeys("ABCDE", "")
    return found


@cache
def answers(root: Path, file: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((root / file).read_text(encoding="utf-8"))
    return rows


def number(file: str) -> int | None:
    """Under which number the item stood in the message."""
    return SHOTS + 1 if "3_shot" in file or "numfewshot=3" in file else None


@cache
def read(root: Path, numbered: bool) -> tuple[Read, ...]:
    found = []
    for label in labels():
        text = answers(root, label.file)[label.index]["response"]
        assert sha256(text.encode()) == label.sha256, f"{label.file} {label.index} is another answer"
        which = number(label.file) if numbered else None
        found.append(Read(label, classify(text, options(root)[label.item], number=which)))
    return tuple(found)


def test_the_labels_are_840_answers_of_24_runs_each_once() -> None:
    assert len(labels()) == len({(label.file, label.index) for label in labels()}) == 840
    assert len({label.file for label in labels()}) == 24
    assert Counter(label.half for label in labels()) == {"developed": 420, "held": 420}


@pytest.mark.untraced
@pytest.mark.parametrize("numbered", [True, False], ids=["number told", "number not told"])
@pytest.mark.parametrize("half", ["developed", "held"])
def test_nothing_that_the_rule_decides_is_wrong(root: Path, half: str, numbered: bool) -> None:
    wrong = [
        f"{each.label.file} {each.label.index}: {each.said} is {each.label.label}, by {each.found.rule}"
        for each in read(root, numbered)
        if each.label.half == half and each.found.decided and each.said != each.label.label
    ]
    assert wrong == []


def test_few_answers_that_a_reader_can_tell_are_left_to_the_judges(root: Path) -> None:
    told = [each for each in read(root, True) if each.label.label != "none"]
    left = [each for each in told if not each.found.decided]
    assert len(left) / len(told) < 0.02


def test_replies_without_any_answer_are_left_to_the_judges(root: Path) -> None:
    untold = [each for each in read(root, True) if each.label.label == "none"]
    assert len(untold) > 100
    assert all(not each.found.decided for each in untold)


# The golden answers name no options; these fit their notes.
GOLDEN_OPTIONS = {"A": "10 m/s", "B": "42 m/s", "C": "42", "D": "Brasília", "E": "Nenhuma das anteriores"}
ENDINGS: dict[str, State] = {"stop": "answered", "length": "truncated", "content_filter": "refused"}
WANTED = {"abst": "A", "refusal": "R", "fail": "F", "judge": None}


def golden(root: Path) -> Iterator[dict[str, Any]]:
    for line in (root / "golden" / "answers_pt.jsonl").read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def test_all_golden_answers_are_right(root: Path) -> None:
    rows = list(golden(root))
    assert len(rows) == 34
    wrong = []
    for row in rows:
        found = classify(row["text"], GOLDEN_OPTIONS, state=ENDINGS[row["finish"]])
        said = f"letter {found.letter}" if found.letter else found.outcome and found.outcome.letter
        want = row["want"] if row["want"].startswith("letter") else WANTED[row["want"]]
        if said != want or found.confidence != row["conf"]:
            wrong.append((row, found))
    assert wrong == []


@pytest.mark.slow
def test_no_open_ended_answer_to_the_bar_exam_is_taken_for_a_refusal_or_an_abstention(root: Path) -> None:
    taken: list[str] = []
    count = 0
    for path in sorted((root / "outputs" / "oab_bench").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            for text in (turn for choice in json.loads(line)["choices"] for turn in choice["turns"]):
                count += 1
                found = classify(text, {})
                if found.decided:
                    taken.append(f"{path.name}: {found.rule}")
    assert count == 1134
    assert taken == []


@pytest.mark.slow
def test_of_all_real_answers_the_share_left_is_stated_per_column(root: Path) -> None:
    left: Counter[str] = Counter()
    files = sorted({label.file for label in labels()})
    for file in files:
        for row in answers(root, file):
            left[file] += not classify(row["response"], options(root)[row["id"]], number=number(file)).decided
    of = 118 * len(files)
    # Replies without any answer among them: loops, unfinished calculations, invented questions.
    assert sum(left.values()) / of < 0.13
    modern = [file for file in files if "gpt-" in file]
    assert sum(left[file] for file in modern) / (118 * len(modern)) < 0.03
