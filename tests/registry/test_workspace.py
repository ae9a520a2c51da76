"""The workspace is found from anywhere inside it, and reads what is on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from lacre import jsonl
from lacre.errors import InputError, RecordError
from lacre.registry.items import Item, Payload, Source
from lacre.registry.workspace import Workspace, create_workspace

ROOT = Path(__file__).parents[2]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    create_workspace(tmp_path, "b")
    return Workspace.find(tmp_path)


def item(id: str) -> Item:
    payload = Payload(kind="choice", stem="Onde?", options={"A": "Aqui", "B": "Ali"}, key="A")
    cell = {"subject": "general", "difficulty": "easy"}
    return Item(
        id=id, benchmark="b", layer="open", cell=cell, payload=payload, source=Source(licence="CC BY 4.0")
    )


def test_the_repository_is_a_workspace_with_an_example() -> None:
    workspace = Workspace.find(Path(__file__).parent)
    assert workspace.root == ROOT
    assert "exemplo" in workspace.benchmarks()
    workspace.exams()
    workspace.corpora()
    items = workspace.items("exemplo")
    assert len(items) == 60
    assert {item.layer for item in items} == {"official", "open"}
    assert {item.payload.kind for item in items} == {"choice", "open"}
    assert {item.payload.expects for item in items} == {"answer", "abstention", "corrected_premise"}


def test_outside_there_is_none(tmp_path: Path) -> None:
    assert Workspace.search(tmp_path) is None
    with pytest.raises(InputError, match="make one with `lacre init`"):
        Workspace.find(tmp_path)


def test_items_come_sorted_from_all_files(workspace: Workspace) -> None:
    jsonl.write(workspace.registry / "b/open/2.jsonl", [item("a"), item("d")])
    jsonl.write(workspace.registry / "b/open/1.jsonl", [item("b"), item("c")])
    (workspace.registry / "b/open/notes.txt").write_text("not items")
    assert [found.id for found in workspace.items("b")] == ["a", "b", "c", "d"]
    assert [check.items for check in workspace.check("b")] == [2, 2]


def test_a_commitments_file_is_not_items(workspace: Workspace) -> None:
    (workspace.registry / "b/private").mkdir()
    (workspace.registry / "b/private/commitments.jsonl").write_text('{"id":"x"}\n')
    assert workspace.item_files("b") == ()


def test_private_items_in_the_workspace_are_told(workspace: Workspace) -> None:
    (workspace.registry / "b/private").mkdir()
    text = jsonl.encode(item("a")).replace(b'"open"', b'"private"')
    (workspace.registry / "b/private/items.jsonl").write_bytes(text)
    with pytest.raises(RecordError, match="private text stands in a file of the workspace"):
        workspace.items("b")


def test_an_id_in_two_files_names_both(workspace: Workspace) -> None:
    jsonl.write(workspace.registry / "b/open/1.jsonl", [item("a"), item("b")])
    jsonl.write(workspace.registry / "b/open/2.jsonl", [item("b")])
    first, second = workspace.check("b")
    assert first.faults == ()
    assert [(fault.line, fault.what) for fault in second.faults] == [
        (1, "item 'b' is already in registry/b/open/1.jsonl:2")
    ]


def test_a_file_out_of_order_is_told_once(workspace: Workspace) -> None:
    jsonl.write(workspace.registry / "b/open/1.jsonl", [item(id) for id in "cab"])
    (check,) = workspace.check("b")
    assert [(fault.line, fault.what) for fault in check.faults] == [(2, "item 'a' comes after 'c'")]


def test_a_benchmark_is_called_as_its_folder(workspace: Workspace) -> None:
    (workspace.registry / "b/benchmark.toml").write_text('name = "c"\ntitle = "C"\n')
    with pytest.raises(InputError, match="name 'c' is not that of the folder"):
        workspace.benchmark("b")
    with pytest.raises(InputError, match=r"no benchmark 'z'\. There are: b"):
        workspace.benchmark("z")


def test_bad_lines_of_exams_and_corpora_are_told_together(workspace: Workspace) -> None:
    (workspace.registry / "exams.jsonl").write_text("{\n")
    (workspace.registry / "corpora.jsonl").write_text('{"id":"c","location":""}\n{"id":1}\n')
    with pytest.raises(RecordError, match=r"exams\.jsonl:1"):
        workspace.exams()
    with pytest.raises(RecordError) as caught:
        workspace.corpora()
    assert [fault.line for fault in caught.value.faults] == [1, 2]
    (workspace.registry / "exams.jsonl").unlink()
    assert workspace.exams() == {}


def test_a_link_out_of_the_workspace_is_outside(
    workspace: Workspace, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (workspace.root / "link").symlink_to(outside)
    assert workspace.holds(workspace.root / "a.jsonl")
    assert not workspace.holds(workspace.root / "link" / "a.jsonl")
    (outside / "back").symlink_to(workspace.root)
    assert workspace.holds(outside / "back" / "a.jsonl")
