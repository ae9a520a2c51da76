"""`lacre init` makes a workspace that the other commands can use, or nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.engine.server import Say, Server, always

from lacre.cli import run
from lacre.errors import Exit
from lacre.registry.rules import default_rules
from lacre.registry.workspace import Workspace


def test_a_new_workspace_can_be_used_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", str(tmp_path / "new"), "--benchmark", "history"]) == Exit.CLEAN
    made = capsys.readouterr().out.split()
    assert str(tmp_path / "new/registry/history/benchmark.toml") in made
    workspace = Workspace.find(tmp_path / "new" / "registry" / "history")
    assert workspace.benchmarks() == ("history",)
    assert workspace.benchmark("history").rules == workspace.rules() == default_rules()
    assert len(workspace.matrix("history").cells) == 2
    assert (workspace.exams(), workspace.corpora()) == ({}, {})
    assert workspace.boilerplate.is_file()
    monkeypatch.chdir(workspace.root)
    assert run(["items", "check"]) == Exit.CLEAN
    assert run(["items", "list"]) == Exit.CLEAN


def test_without_a_benchmark_there_are_only_the_shared_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", str(tmp_path), "--json"]) == Exit.CLEAN
    result = json.loads(capsys.readouterr().out)
    names = [
        "README.md", "boilerplate.txt", "columns.toml", "corpora.jsonl", "exams.jsonl", "rules.toml",
        "templates/choice.txt", "templates/open.txt", "templates/part.txt",
    ]  # fmt: skip
    assert result == {"workspace": str(tmp_path), "files": [f"registry/{name}" for name in names]}
    assert Workspace.find(tmp_path).benchmarks() == ()


def test_a_run_starts_in_a_new_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", str(tmp_path)]) == Exit.CLEAN
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.csv").write_text("id;stem;options;key\nq1;Que cor?;(A) Azul (B) Verde;B\n", "utf-8")
    with Server(always(Say(text="Letra B"))) as server:
        cards = tmp_path / "registry/columns.toml"
        cards.write_text(cards.read_text("utf-8").replace(":8077", f":{server.port}"), "utf-8")
        assert run(["column", "check", "local"]) == Exit.CLEAN
        assert run(["run", "start", "items.csv", "--column", "local", "--out", "r"]) == Exit.CLEAN, (
            capsys.readouterr()
        )
    assert (tmp_path / "r/answers-choice.jsonl").is_file()
    assert run(["column", "list"]) == Exit.CLEAN


def test_a_new_workspace_gets_the_cards_and_messages_of_this_project(tmp_path: Path) -> None:
    assert run(["init", str(tmp_path)]) == Exit.CLEAN
    project = Path(__file__).parents[2] / "registry"
    for name in ("columns.toml", "templates/choice.txt", "templates/open.txt", "templates/part.txt"):
        assert (tmp_path / "registry" / name).read_bytes() == (project / name).read_bytes(), name


def test_an_empty_registry_is_filled(tmp_path: Path) -> None:
    (tmp_path / "registry").mkdir()
    assert run(["init", str(tmp_path)]) == Exit.CLEAN


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "registry: is there already and is not empty"),
        (["--benchmark", "../x"], "benchmark '../x': is not a plain name"),
        (["--benchmark", "história"], "is not a plain name"),
    ],
)
def test_it_refuses_and_touches_nothing(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "registry").mkdir()
    (tmp_path / "registry" / "mine.txt").write_text("mine")
    assert run(["init", str(tmp_path), *arguments]) == Exit.BAD_INPUT
    assert said in capsys.readouterr().err
    assert [path.name for path in tmp_path.rglob("*")] == ["registry", "mine.txt"]


def test_a_place_that_cannot_hold_it_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert run(["init", str(tmp_path / "file" / "below")]) == Exit.BAD_INPUT
    assert "no registry could be made there" in capsys.readouterr().err
