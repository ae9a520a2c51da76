"""Words planted in private items stand in no message, temporary file or document of the guard outside the vault."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.sealing.faults import MARKER, leaks

from lacre.registry.workspace import create_workspace

MATRIX = '[axes]\narea = ["a"]\n[[cells]]\narea = "a"\nshare = "1"\n'
STEM = f"Quem viu a {MARKER} no quintal da casa amarela?"
ITEMS = f'id,stem,options,key\nn1,"{STEM}","(A) Ana (B) Bia",A\n'
HELD = ("--vault", "../vault", "--identity", "../me.txt")


def lacre(root: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "lacre", *arguments],
        cwd=root,
        env={**os.environ, "TMPDIR": str(root.parent / "tmp")},
        capture_output=True,
        check=False,
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a vault beside it, and public files that leak: as text, in a zip's name, damaged."""
    root = tmp_path / "workspace"
    create_workspace(root, "exemplo")
    (root / "registry/exemplo/matrix.toml").write_text(MATRIX)
    for name in ("tmp", "source", "public"):
        (tmp_path / name).mkdir()
    (tmp_path / "source/items.csv").write_text(ITEMS)
    assert lacre(root, "key", "new", "--name", "team", "--out", "../team.key").returncode == 0
    assert lacre(root, "vault", "init", "../vault", "--new-identity", "../me.txt").returncode == 0
    added = lacre(
        root, "vault", "add", "../vault", "../source/items.csv", "--benchmark", "exemplo", "--batch", "1",
        "--cell", "area=a", "--identity", "../me.txt", "--key", "../team.key",
    )  # fmt: skip
    assert added.returncode == 0, added.stderr
    public = tmp_path / "public"
    (public / "a.txt").write_text(STEM)
    (public / "b.txt.gz").write_bytes(gzip.compress(STEM.encode())[:-4])
    (public / f"{STEM.replace('?', '')}.md").write_text("nada")
    return root


CALLS = [
    (1, ("guard", "check", "../public", *HELD)),
    (1, ("guard", "check", "../public", *HELD, "--json")),
    (1, ("release", "guard", "../public", *HELD)),
    (0, ("guard", "excluded", *HELD)),
    (0, ("guard", "excuse", "n1", "--words", "0-20", "--who", "Ana", "--why", "x", *HELD)),
    (1, ("guard", "check", "../public")),
]


@pytest.mark.slow
def test_the_guard_lets_no_marker_out(root: Path) -> None:
    planted = sorted(path for path in (root.parent / "public").iterdir() if path.name.endswith(".txt"))
    said = b""
    for code, call in CALLS:
        done = lacre(root, *call)
        said += done.stdout + done.stderr
        assert done.returncode == code, (call, done.stderr)
        assert b"Traceback" not in done.stderr
    assert b"n1" in said
    item = root.parent / "vault/items/n1.age"
    content = bytearray(item.read_bytes())
    content[-1] ^= 1
    item.write_bytes(content)
    done = lacre(root, *CALLS[0][1])
    assert (done.returncode, b"Traceback" in done.stderr) == (3, False)
    said += done.stdout + done.stderr
    (root.parent / "said").write_bytes(said)
    assert sorted(leaks(root.parent)) == [*planted, root.parent / "source/items.csv"]
    assert list((root.parent / "tmp").iterdir()) == []
