"""``lacre ledger``: shown, signed and verified; what was tampered with is named, with exit code 3."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lacre.cli import run
from lacre.errors import Exit


@pytest.fixture
def book(workspace: Path) -> Path:
    """The ledger, with a key, a second one, and a signed head."""
    keys = workspace.parent / "keys"
    run(["key", "new", "--name", "operator", "--out", str(keys / "one")])
    run(["key", "new", "--name", "second", "--by", str(keys / "one"), "--out", str(keys / "two")])
    assert run(["ledger", "sign", "--key", str(keys / "one")]) == Exit.CLEAN
    return workspace / "registry/ledger.jsonl"


def test_a_ledger_is_shown_and_verified(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["ledger", "show"]) == Exit.CLEAN
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[2] for line in lines] == ["event", "genesis", "key_add", "key_add"]
    assert run(["ledger", "show", "--type", "key_add", "--last", "1", "--json"]) == Exit.CLEAN
    (line,) = json.loads(capsys.readouterr().out)["lines"]
    assert (line["seq"], line["event"]["name"]) == (3, "second")
    assert run(["ledger", "show", "--type", "nothing"]) == Exit.BAD_INPUT
    assert "There are: batch_commit" in capsys.readouterr().err
    assert run(["ledger", "verify", "--json"]) == Exit.CLEAN
    assert json.loads(capsys.readouterr().out)["signed_up_to"] == 3


@pytest.mark.parametrize(
    ("tamper", "said"),
    [
        (lambda b: b.replace(b"operator", b"imposter"), "ledger.jsonl:2: was changed"),
        (lambda b: b"".join(b.splitlines(keepends=True)[:2]), "the ledger ends before the signed head"),
        (lambda b: b[:-1], "ledger.jsonl:3: is torn"),
        (lambda b: b[:0], "which is not trusted here"),
    ],
)
def test_tampering_is_named(
    book: Path, tamper: Callable[[bytes], bytes], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    book.write_bytes(tamper(book.read_bytes()))
    assert run(["ledger", "verify"]) == Exit.INTEGRITY
    assert said in capsys.readouterr().err


def test_a_rewritten_history_and_a_foreign_key_are_named(
    book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    older = book.with_name("older.jsonl")
    shutil.copy(book, older)
    assert run(["ledger", "verify", "--older", str(older)]) == Exit.CLEAN
    older.write_bytes(older.read_bytes().replace(b"second", b"secund"))
    assert run(["ledger", "verify", "--older", str(older)]) == Exit.INTEGRITY
    assert "ledger.jsonl:3: is not what it was" in capsys.readouterr().err
    assert run(["ledger", "verify", "--key", "ab" * 32]) == Exit.INTEGRITY
    assert "not the one you trust" in capsys.readouterr().err


def test_a_result_that_cannot_be_written_says_why_and_what_to_do(book: Path) -> None:
    command = [sys.executable, "-m", "lacre", "ledger", "show"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, cwd=book.parent, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == Exit.BAD_INPUT
    assert done.stderr == b"lacre: the result: No space left on device. Make room, or write somewhere else.\n"
