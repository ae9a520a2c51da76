"""What changed between two releases, by kind."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.release.conftest import Story
from tests.release.making import played, public_items, release
from tests.rotation.making import items

from lacre import jsonl
from lacre.errors import IntegrityError
from lacre.release.diff import diff


def test_a_closing_opens_items_and_changes_what_is_sealed(story: Story) -> None:
    found = diff(story.folder(1), story.tar(2))
    assert (found.before, found.after) == ("exemplo-1", "exemplo-2")
    assert set(found.of("item", "opened")) == {o.id for o in story.play.public.openings(1)}
    assert found.of("item", "added") == found.of("item", "removed") == ()
    (sealed,) = (each for each in found.differences if each.kind == "sealed")
    assert (sealed.before, sealed.after) == ("20", "20")
    assert "registry/exemplo/rounds/0001/openings.jsonl" in found.of("file", "added")
    assert "registry/ledger.jsonl" in found.of("file", "changed")


def test_a_void_item_opens_too(story: Story) -> None:
    found = diff(story.folder(2), story.folder(3))
    assert set(found.of("item", "opened")) == {o.id for o in story.play.public.openings(2)}


def test_a_release_does_not_differ_from_itself(story: Story) -> None:
    assert diff(story.folder(2), story.tar(2)).differences == ()


def test_items_rules_and_results_are_told_apart(tmp_path: Path) -> None:
    play = played(tmp_path)
    play.add(items(4), "b1")
    first = release(play, "r1")
    _, opened = public_items()
    payload = msgspec.structs.replace(opened[0].payload, key="A")
    new = msgspec.structs.replace(opened[1], id="ab-3")
    jsonl.write(
        play.registry / "exemplo/open/items.jsonl", [msgspec.structs.replace(opened[0], payload=payload), new]
    )
    rules = play.registry / "rules.toml"
    rules.write_text(
        rules.read_text(encoding="utf-8").replace("smallest = 20", "smallest = 30"), encoding="utf-8"
    )
    benchmark = play.registry / "exemplo/benchmark.toml"
    benchmark.write_text(benchmark.read_text(encoding="utf-8") + "[rounds]\nmonths = 3\n", encoding="utf-8")
    table = play.root / "acerto.csv"
    table.write_text("column,accuracy\nalfa,0.5\n", encoding="utf-8")
    second = release(play, "r2", results=(table,))
    found = diff(Path(first.folder), Path(second.folder))
    assert (found.of("item", "added"), found.of("item", "removed"), found.of("item", "changed")) == (
        ("ab-3",),
        ("ab-2",),
        ("ab-1",),
    )
    assert found.of("result", "added") == ("results/acerto.csv",)
    rule = {each.name: (each.before, each.after) for each in found.differences if each.kind == "rule"}
    assert rule == {"rules: strata.smallest": ("20", "30"), "exemplo/benchmark: rounds.months": (None, "3")}
    assert found.of("sealed", "changed") == ()


def test_what_does_not_verify_is_not_compared(story: Story, tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match="does not verify"):
        diff(story.folder(1), tmp_path / "none")
