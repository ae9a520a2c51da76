"""A freeze with a real time stamp, from an OpenSSL authority on this machine: shown to have been in time, or caught."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.cli.round_stage import staged
from tests.rotation.making import lottery
from tests.sealing.test_timestamps import address, authority

from lacre.cli import run
from lacre.errors import Exit
from lacre.sealing.timestamps import post, stamp

__all__ = ["address", "authority"]  # fixtures

OPEN = ["--vault", "../vault", "--identity", "../operator.txt", "--key", "../team.key"]


def frozen_now(workspace: Path, address: str, seconds: int) -> datetime:
    """Freeze by the command, stamped, for randomness that is out in some seconds."""
    play = staged(workspace)
    play.vet(play.public.rows)
    due = (datetime.now(UTC) + timedelta(seconds=seconds)).replace(microsecond=0)
    arguments = ["--randomness", "loteria-federal:5900", "--due", due.isoformat(), "--authority", address]
    assert run(["round", "freeze", *arguments, *OPEN]) == Exit.CLEAN
    return due


def test_a_stamped_freeze_is_shown_to_have_been_in_time(
    workspace: Path, authority: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    due = frozen_now(workspace, address, 6)
    assert f"it is stamped by {address}." in capsys.readouterr().err
    time.sleep(max(0.0, (due - datetime.now(UTC)).total_seconds() + 0.1))
    assert run(["round", "split", "--beacon-file", "../draw-5900.json", *OPEN]) == Exit.CLEAN
    capsys.readouterr()
    assert run(["round", "audit", "--roots", str(authority / "root.pem")]) == Exit.CLEAN
    said = capsys.readouterr().out
    assert "exemplo/1\tstamped" in said
    assert "it may be one of several that were; still to check: that draw 5900 of the Loteria" in said
    assert run(["round", "audit"]) == Exit.CLEAN
    assert "not shown unsteered: its time stamp was not checked" in capsys.readouterr().out
    path = Path("registry/exemplo/rounds/0001/freeze.tsr")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert run(["round", "audit"]) == Exit.INTEGRITY
    assert "freeze.tsr: is missing, or is not the stamp that the draw names" in capsys.readouterr().err


def test_a_freeze_backdated_and_stamped_after_its_draw_fails(
    workspace: Path, authority: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    play = staged(workspace, frozen=True)
    folder = play.public.folder(1)
    (folder / "freeze.tsr").write_bytes(stamp((folder / "freeze.dsse.json").read_bytes(), address, post))
    play.close(lottery(play.draws))
    assert run(["round", "audit", "--roots", str(authority / "root.pem")]) == Exit.INTEGRITY
    printed = capsys.readouterr()
    assert "when its randomness was out since 2020-01-02T12:00:00Z: whoever froze it could" in printed.err
    assert "exemplo/1\tfailed" in printed.out


def test_a_freeze_stands_when_the_authority_is_down(
    workspace: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    play = staged(workspace)
    play.vet(play.public.rows)
    arguments = ["round", "freeze", "--randomness", "drand:quicknet", "--due", "2099-01-16T19:00-03:00"]
    assert run([*arguments, "--authority", f"{address}/down", *OPEN]) == Exit.COLUMN
    said = capsys.readouterr().err
    assert "The freeze stands. Have registry/exemplo/rounds/0001/freeze.dsse.json stamped" in said
    assert run(["round", "audit"]) == Exit.CLEAN
