"""The example benchmark uses every rule of the layers, and fills its matrix."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from lacre.digest import sha256_file
from lacre.registry.items import CAPABILITIES, Item
from lacre.registry.matrix import cell_name
from lacre.registry.workspace import Workspace

ROOT = Path(__file__).parents[2]
EXAM = ROOT / "docs" / "example-exam"


@pytest.fixture(scope="module")
def items() -> list[Item]:
    return Workspace(ROOT).items("exemplo")


def test_every_cell_holds_its_share(items: list[Item]) -> None:
    cells = Workspace(ROOT).matrix("exemplo").cells
    assert Counter(cell_name(item.cell) for item in items) == {cell.name: cell.share * 60 for cell in cells}


def test_every_kind_of_item_is_there(items: list[Item]) -> None:
    payloads = [item.payload for item in items]
    assert {item.layer for item in items} == {"official", "open"}
    assert {payload.kind for payload in payloads} == {"choice", "open"}
    assert {payload.expects for payload in payloads} == {"answer", "abstention", "corrected_premise"}
    assert {tag for payload in payloads for tag in payload.capabilities} == set(CAPABILITIES)
    assert any(payload.looks_sensitive for payload in payloads)
    assert any(payload.critical for payload in payloads)
    assert any(payload.images for payload in payloads)
    assert any(item.source.annulled for item in items)
    assert {payload.passage.source is None for payload in payloads if payload.passage} == {True, False}
    assert any(payload.kind == "open" and payload.key for payload in payloads)
    assert any("." in part.points for payload in payloads for part in payload.parts)


def test_stems_are_no_longer_than_a_person_reads_at_once(items: list[Item]) -> None:
    long = {item.id: len(item.payload.stem.split()) for item in items}
    assert max(long.values()) <= 80


def test_official_items_stand_in_a_booklet_with_the_sha256_that_its_exam_names(items: list[Item]) -> None:
    exams = Workspace(ROOT).exams()
    assert {exam.exam_precision for exam in exams.values()} == {"day", "month"}
    official = [item for item in items if item.layer == "official"]
    assert len(official) == 8
    for item in official:
        assert item.source.exam is not None
        exam = exams[item.source.exam]
        assert exam.notes.startswith("Fictional")
        path = EXAM / f"caderno-{exam.edition}.txt"
        assert sha256_file(path) == exam.booklet_sha256
        text = path.read_text(encoding="utf-8")
        for said in (item.payload.stem, *item.payload.options.values()):
            assert said in text
        for image in item.payload.images:
            assert sha256_file(EXAM / image.file) == image.sha256
        key = (EXAM / f"gabarito-{exam.edition}.txt").read_text(encoding="utf-8")
        answer = "anulada" if item.source.annulled else item.payload.key or item.payload.parts[0].expected
        assert f"\n{item.source.number}: {answer}\n" in key
