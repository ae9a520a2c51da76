"""A release with a real time stamp, from an OpenSSL authority on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.round_stage import staged
from tests.release.making import ready
from tests.sealing.test_timestamps import address, authority

from lacre.cli import run
from lacre.errors import Exit

__all__ = ["address", "authority"]  # fixtures

BUILD = ["--key", "../team.key", "--vault", "../vault", "--identity", "../operator.txt"]


def test_a_stamped_release_says_since_when_it_exists(
    workspace: Path, authority: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    staged(workspace)
    ready(workspace)
    assert run(["release", "build", "r1", *BUILD, "--authority", f"{address}/down"]) == Exit.COLUMN
    assert list((workspace / "releases").iterdir()) == []
    assert run(["release", "build", "r1", *BUILD, "--authority", address]) == Exit.CLEAN, (
        capsys.readouterr().err
    )
    roots = ["--roots", str(authority / "root.pem")]
    for place in ("releases/r1", "releases/r1.tar"):
        assert run(["release", "verify", place, *roots]) == Exit.FINDING
        out = capsys.readouterr().out
        assert "Time stamp: existed at " in out
        assert out.endswith("\nintegrity only\n")
        assert "all but SHA256SUMS, release.dsse.json, release.tsr" in out
    assert run(["release", "build", "r2", *BUILD]) == Exit.CLEAN
    assert run(["release", "verify", "releases/r2", *roots]) == Exit.INTEGRITY
    assert "has no release.tsr" in capsys.readouterr().err
    stamp = workspace / "releases/r1/release.tsr"
    good = stamp.read_bytes()
    stamp.write_bytes(b"x")
    assert run(["release", "verify", "releases/r1", *roots]) == Exit.INTEGRITY
    assert "is no time stamp of release.dsse.json" in capsys.readouterr().out
    # Of the right form, and not what the authority signed: that takes its certificate.
    stamp.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    assert run(["release", "verify", "releases/r1"]) == Exit.FINDING
    assert "who made it was not checked" in capsys.readouterr().out
    assert run(["release", "verify", "releases/r1", *roots]) == Exit.INTEGRITY
    assert "is no good time stamp" in capsys.readouterr().err
