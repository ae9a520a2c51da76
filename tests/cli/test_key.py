"""``lacre key``: made, replaced, retired; the ledger always says which may sign."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.untraced import untraced

from lacre.cli import run
from lacre.errors import Exit


def new(out: Path, name: str = "operator", *more: str) -> int:
    return run(["key", "new", "--name", name, "--out", str(out), *more])


def active(capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    assert run(["key", "list", "--json"]) == Exit.CLEAN
    return [key["name"] for key in json.loads(capsys.readouterr().out)["keys"] if key["retired"] is None]


def test_keys_are_made_replaced_and_retired(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = workspace.parent / "keys"
    assert new(keys / "one") == Exit.CLEAN
    assert stat.S_IMODE((keys / "one").stat().st_mode) == 0o600
    assert new(keys / "two", "other") == Exit.BAD_INPUT
    assert "Give it with --by" in capsys.readouterr().err
    assert not (keys / "two").exists()
    assert new(keys / "two", "other", "--by", str(keys / "one")) == Exit.CLEAN
    assert run(["key", "rotate", "--key", str(keys / "one"), "--out", str(keys / "three")]) == Exit.CLEAN
    assert sorted(active(capsys)) == ["operator", "other"]
    assert run(["key", "retire", "other", "--key", str(keys / "one"), "--reason", "x"]) == Exit.BAD_INPUT
    assert "may not sign in this ledger" in capsys.readouterr().err
    assert run(["key", "retire", "nobody", "--key", str(keys / "three"), "--reason", "x"]) == Exit.BAD_INPUT
    assert run(["key", "retire", "other", "--key", str(keys / "three"), "--reason", "left"]) == Exit.CLEAN
    assert active(capsys) == ["operator"]
    assert run(["key", "retire", "operator", "--key", str(keys / "three"), "--reason", "x"]) == Exit.BAD_INPUT
    assert "it is the only active key" in capsys.readouterr().err
    assert run(["ledger", "verify"]) == Exit.CLEAN


def test_a_key_is_never_replaced_and_never_in_git(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = workspace.parent / "key"
    out.write_text("precious")
    assert new(out) == Exit.BAD_INPUT
    assert "a secret is never replaced" in capsys.readouterr().err
    assert out.read_text() == "precious"
    (workspace / ".git").mkdir()
    assert new(workspace / "key") == Exit.BAD_INPUT
    assert "git work tree" in capsys.readouterr().err
    assert run(["key", "list"]) == Exit.CLEAN
    assert "No keys yet" in capsys.readouterr().err


def test_a_key_that_no_ledger_names_is_not_left_behind(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    beside = workspace.parent
    assert new(beside / "one") == Exit.CLEAN
    ledger = workspace / "registry/ledger.jsonl"
    before = ledger.read_bytes()
    blocked = ledger.with_name(f".ledger.jsonl.{os.getpid()}.part")
    blocked.mkdir()  # in the way of the ledger's next edition, for root too
    out = ["--out", str(beside / "two")]
    for command in (
        ["key", "new", "--name", "other", "--by", str(beside / "one"), *out],
        ["key", "rotate", "--key", str(beside / "one"), *out],
    ):
        assert run(command) == Exit.BAD_INPUT
        assert f"{ledger}: cannot be written" in capsys.readouterr().err
        assert not (beside / "two").exists()
        assert not (beside / "two.pub").exists()
    blocked.rmdir()
    assert ledger.read_bytes() == before
    (beside / "two.pub").mkdir()
    assert new(beside / "two", "other", "--by", str(beside / "one")) == Exit.BAD_INPUT
    said = capsys.readouterr().err
    assert f"{beside / 'two.pub'}: cannot be written" in said
    assert "no key was made" in said
    assert not (beside / "two").exists()
    assert ledger.read_bytes() == before


def test_a_file_without_a_byte_is_no_secret(workspace: Path) -> None:
    out = workspace.parent / "key"
    out.touch()
    assert new(out) == Exit.CLEAN
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


def test_a_key_on_a_disk_that_is_full_leaves_nothing(workspace: Path) -> None:
    out = workspace.parent / "key"
    script = (
        "import resource, signal, sys; from lacre.cli import run\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (60, 60))\n"
        "sys.exit(run(['vault', 'identity', sys.argv[1]]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(out)],
        capture_output=True,
        text=True,
        check=False,
        env=untraced(),
    )
    assert done.returncode == Exit.BAD_INPUT
    assert f"{out}: cannot be written" in done.stderr
    assert not out.exists()


def test_a_key_that_others_can_read_or_that_is_none_is_refused(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = workspace.parent / "key"
    assert new(out) == Exit.CLEAN
    out.chmod(0o644)
    assert run(["ledger", "sign", "--key", str(out)]) == Exit.BAD_INPUT
    assert f"Run `chmod 600 {out}`" in capsys.readouterr().err
    out.chmod(0o600)
    out.write_text("nothing")
    assert run(["ledger", "sign", "--key", str(out)]) == Exit.BAD_INPUT
    assert "is not a private key in PEM" in capsys.readouterr().err
