"""What a third party does with a release: the published scores come out of the raw answers in it (SPEC L22)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.round_stage import staged
from tests.cli.test_runs import write_card
from tests.engine.server import Act, Say, Seen, Server
from tests.release.making import ready, release

from lacre.cli import run
from lacre.errors import Exit

RUN, ANSWERS = "runs/primeira", "runs/primeira/answers-choice.jsonl"


def script(seen: Seen) -> Act:
    return Say(text="Letra B\nConfiança: 90" if "gato" in seen.text else "Pode ser a A, ou pode ser a B.")


@pytest.fixture
def published(workspace: Path) -> Path:
    """A workspace with a release of a run on public items; the server that answered is gone by then."""
    play = staged(workspace)
    ready(workspace)
    with Server(script) as server:
        write_card(workspace, server, "cap = 100")
        assert run(["run", "start", "exemplo", "--column", "mine", "--out", RUN]) == Exit.CLEAN
    assert run(["run", "answers", RUN, "--undecided", "wrong"]) == Exit.CLEAN
    release(play, "r1", out=Path("releases"), runs=(Path(RUN),))
    return workspace


def scores(capsys: pytest.CaptureFixture[str]) -> object:
    capsys.readouterr()
    assert run(["score", ANSWERS, "--json"]) == Exit.CLEAN
    return json.loads(capsys.readouterr().out)


def test_the_published_scores_come_out_of_a_release_alone(
    published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it is taken out the scores can be read; after it, they are made anew, byte for byte."""
    said = scores(capsys)
    raw = {path.name: path.read_bytes() for path in (published / RUN).iterdir()}
    copy = tmp_path / "copy"
    shutil.copytree(published / "releases/r1", copy)
    monkeypatch.chdir(copy)
    assert scores(capsys) == said
    assert run(["canary", "place", RUN, "--strip"]) == Exit.CLEAN
    for path in (copy / RUN).iterdir():
        assert path.read_bytes() == raw[path.name], path.name
    (copy / ANSWERS).unlink()
    assert run(["run", "answers", RUN, "--undecided", "wrong"]) == Exit.CLEAN
    assert scores(capsys) == said
    assert "lacre canary place runs/primeira --strip\n" in (copy / "README.md").read_text(encoding="utf-8")
    assert run(["run", "show", RUN, "--item", "ab-1"]) == Exit.CLEAN
    assert "Letra B" in capsys.readouterr().out


def test_a_release_whose_canary_is_taken_out_is_audited_like_the_workspace(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    play = staged(workspace, 1)
    ready(workspace)
    release(play, "r1", out=Path("releases"))
    key = play.key.fingerprint
    audit = ["round", "audit", "--key", key, "--json"]
    copy = tmp_path / "copy"
    shutil.copytree(workspace / "releases/r1", copy)
    code = run(audit)
    said = json.loads(capsys.readouterr().out)
    monkeypatch.chdir(copy)
    assert run(["canary", "place", "registry", "--strip"]) == Exit.CLEAN
    capsys.readouterr()
    assert run(audit) == code
    found = json.loads(capsys.readouterr().out)
    grown = ("lines", "head")  # by the line about the release, which the release cannot hold
    assert {n: v for n, v in found.items() if n not in grown} == {
        n: v for n, v in said.items() if n not in grown
    }
