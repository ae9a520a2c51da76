"""`lacre canary` as a person meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.guard_stage import CANARY, minted

from lacre.cli import run
from lacre.errors import Exit


def test_a_canary_is_minted_once(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["canary", "show"]) == Exit.BAD_INPUT
    assert "Make one with `lacre canary new`" in capsys.readouterr().err
    assert run(["canary", "new", "--name", "Exemplo", "--json"]) == Exit.CLEAN
    made = json.loads(capsys.readouterr().out)["canary"]
    assert run(["canary", "show", "--json"]) == Exit.CLEAN
    assert json.loads(capsys.readouterr().out)["uuid"] == made["uuid"]
    assert run(["canary", "show"]) == Exit.CLEAN
    assert capsys.readouterr().out == made["text"] + "\n"
    assert run(["canary", "new", "--name", "Exemplo"]) == Exit.BAD_INPUT
    assert "Keep it" in capsys.readouterr().err


def test_it_is_placed_checked_and_taken_out(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    minted(workspace)
    (workspace / "out").mkdir()
    (workspace / "out/a.jsonl").write_text('{"id":"x"}\n')
    (workspace / "out/ledger.jsonl").write_text("{}\n")
    assert run(["canary", "place", "out", "page.txt", "--check"]) == Exit.FINDING
    assert capsys.readouterr().out == "out/a.jsonl\npage.txt\n"
    assert run(["canary", "place", "out", "page.txt"]) == Exit.CLEAN
    assert "2 files changed" in capsys.readouterr().err
    assert json.loads((workspace / "out/a.jsonl").read_text()) == {"id": "x", "canary": CANARY.text}
    assert run(["canary", "place", "out", "page.txt", "--check", "--json"]) == Exit.CLEAN
    assert json.loads(capsys.readouterr().out) == {"files": []}
    assert run(["canary", "place", "page.txt", "--strip"]) == Exit.CLEAN
    assert (workspace / "page.txt").read_text() == "Nada de novo na feira.\n"
    assert run(["canary", "place", "page.txt", "--strip", "--check"]) == Exit.BAD_INPUT


def test_it_is_found(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    minted(workspace)
    assert run(["canary", "find", "corpus", "--workers", "1"]) == Exit.CLEAN
    (workspace / "corpus/b.txt").write_text("Nada. " + CANARY.uuid.upper())
    assert run(["canary", "find", "corpus"]) == Exit.FINDING
    assert capsys.readouterr().out.splitlines()[-1] == "corpus\tb.txt\t\t6\tspread"
    (workspace / "corpus/b.txt").unlink()
    (workspace / "corpus/c.7z").write_bytes(b"7z\xbc\xaf\x27\x1c")
    assert run(["canary", "find", "corpus", "--json"]) == Exit.INCOMPLETE
    assert json.loads(capsys.readouterr().out)["unread"][0]["where"] == "c.7z"
    assert run(["canary", "find", "corpus"]) == Exit.INCOMPLETE
    assert "not read: c.7z: a format that the guard cannot open (7z)." in capsys.readouterr().err
    assert run(["canary", "find", "nowhere"]) == Exit.BAD_INPUT
