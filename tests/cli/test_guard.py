"""`lacre guard` as a person meets it, and as git does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.guard_stage import repository
from tests.cli.round_stage import staged

from lacre.cli import run
from lacre.cli.guard import guarded
from lacre.errors import Exit
from lacre.registry.workspace import Workspace
from lacre.release.guard import LeakError
from lacre.release.guard_watch import REVIEWERS
from lacre.sealing.ages import read_identity
from lacre.sealing.vault import open_vault

HELD = ("--vault", "../vault", "--identity", "../operator.txt")
LEAK = "Quantas gaivotas pousam no farol pr-00 ao meio-dia? Nenhuma, ou duas dúzias."


@pytest.fixture
def ground(workspace: Path) -> Path:
    """A workspace with a vault beside it, in a git repository."""
    staged(workspace)
    repository(workspace)
    return workspace


def test_a_leak_is_named_without_its_words(ground: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (ground / "out").mkdir()
    (ground / "out/a.txt").write_text(LEAK)
    assert run(["guard", "check", "page.txt", *HELD]) == Exit.CLEAN
    assert "0 hits in 1 files, 0.0 MB; 8 private items were looked for." in capsys.readouterr().err
    assert run(["guard", "check", "out", *HELD]) == Exit.FINDING
    said = capsys.readouterr()
    assert said.out.splitlines()[0] == "file\tin it\titem\tholds\twhy"
    assert "a.txt\t\tpr-00\ttext\t" in said.out
    assert "gaivotas" not in said.out + said.err
    assert run(["guard", "check", "out", *HELD, "--json"]) == Exit.FINDING
    assert json.loads(capsys.readouterr().out)["hits"][0]["item"] == "pr-00"


def test_without_a_vault_it_says_what_it_did_not_look_for(
    ground: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (ground / "a.txt").write_text(LEAK + " ana@escola.edu.br")
    assert run(["guard", "check", "a.txt"]) == Exit.FINDING
    said = capsys.readouterr()
    assert "e-mail address" in said.out
    assert "without a vault no private text, image or nonce was looked for" in said.err


def test_a_person_answers_for_words_and_the_vault_keeps_it(
    ground: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (ground / "a.txt").write_text("Quantas gaivotas pousam no farol pr-00 ao meio-dia?")
    words = ("--words", "0-20", "--who", "Ana", "--why", "a saying")
    assert run(["guard", "check", "a.txt", *HELD]) == Exit.FINDING
    assert run(["guard", "excuse", "pr-00", *words, *HELD]) == Exit.CLEAN
    assert run(["guard", "excuse", "pr-01", *words, *HELD, "--json"]) == Exit.CLEAN
    capsys.readouterr()
    assert run(["guard", "check", "a.txt", *HELD]) == Exit.CLEAN
    assert run(["guard", "excuse", "gone", *words, *HELD]) == Exit.BAD_INPUT
    assert run(["guard", "excuse", "pr-00", "--words", "9-2", *words[2:], *HELD]) == Exit.BAD_INPUT


def test_a_release_is_guarded_and_what_was_left_out_is_kept(
    ground: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (ground / "out").mkdir()
    (ground / "out/a.txt").write_text("nada")
    assert (
        run(["guard", "excuse", "pr-00", "--words", "0-3", "--who", "Ana", "--why", "x", *HELD]) == Exit.CLEAN
    )
    said: list[str] = []
    look = guarded(Path("../vault"), Path("../operator.txt"), Workspace.find(ground), said.append)
    assert look(ground / "out", None) == 8
    capsys.readouterr()
    assert run(["guard", "excluded", *HELD, "--json"]) == Exit.CLEAN
    kept = json.loads(capsys.readouterr().out)["excluded"]
    assert {"item": "pr-00", "kind": "excused", "source": "Ana", "first": 0, "last": 4} in kept
    assert run(["guard", "excluded", *HELD]) == Exit.CLEAN
    (ground / "out/a.txt").write_text(LEAK)
    with pytest.raises(LeakError, match=r"out|a\.txt: holds text of private item 'pr-0"):
        look(ground / "out", None)


def git(root: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    names = {
        f"GIT_{who}_{what}": "x@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, **names, "PATH": path}
    return subprocess.run(["git", *words], cwd=root, env=env, capture_output=True, check=False)


@pytest.mark.untraced
def test_the_hook_stops_a_commit(ground: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["guard", "install", *HELD]) == Exit.CLEAN
    assert run(["guard", "install", *HELD, "--json"]) == Exit.CLEAN  # again: it is our own
    assert git(ground, "commit", "-qm", "clean").returncode == 0
    (ground / "ação nova.txt").write_text(LEAK)
    git(ground, "add", ".")
    (ground / "ação nova.txt").write_text("nada")  # what is staged counts, not what lies there
    done = git(ground, "commit", "-qm", "leak")
    assert done.returncode != 0
    assert "pr-00" in done.stdout.decode() + done.stderr.decode()
    assert b"gaivotas" not in done.stdout + done.stderr
    git(ground, "add", ".")
    git(ground, "rm", "-q", "--cached", "page.txt")
    (ground.parent / "operator.txt").unlink()
    assert git(ground, "commit", "-qm", "no key").returncode != 0


def test_a_hook_without_a_vault_looks_for_people_and_keys(ground: Path) -> None:
    assert run(["guard", "install"]) == Exit.CLEAN
    (ground / "key.txt").write_text("AGE-SECRET-KEY-1" + "Q" * 58)
    git(ground, "add", "key.txt")
    assert run(["guard", "staged"]) == Exit.FINDING
    assert git(ground, "commit", "-qm", "key").returncode == 1


def test_another_hook_is_not_written_over(ground: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (ground / ".git/hooks").mkdir(exist_ok=True)
    (ground / ".git/hooks/pre-commit").write_text("#!/bin/sh\nexit 0\n")
    assert run(["guard", "install"]) == Exit.BAD_INPUT
    assert "Add the line `lacre guard staged`" in capsys.readouterr().err
    assert run(["guard", "install", "--identity", "x"]) == Exit.BAD_INPUT


def test_outside_git_there_is_nothing_staged(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["guard", "staged"]) == Exit.BAD_INPUT
    assert "Go to a git work tree" in capsys.readouterr().err


def test_names_that_the_vault_keeps_are_looked_for(ground: Path, capsys: pytest.CaptureFixture[str]) -> None:
    identity = read_identity(ground.parent / "operator.txt", lambda _: "")
    with open_vault(ground.parent / "vault", identity) as vault, vault.change() as change:
        change.keep(REVIEWERS, b"Maria das Dores Quadros\nRosa\n")
    (ground / "a.txt").write_text("Revisão: Maria das Dores Quadros.")
    assert run(["guard", "check", "a.txt", *HELD]) == Exit.FINDING
    said = capsys.readouterr()
    assert "reviewer's name" in said.out
    assert "1 reviewers' names of one word are not looked for" in said.err
