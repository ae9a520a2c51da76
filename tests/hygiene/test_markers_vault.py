"""Words planted in private items stand in no file outside the vault, no message and no system call."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.sealing.faults import MARKER, leaks

from lacre.registry.workspace import create_workspace

MATRIX = '[axes]\narea = ["a"]\n[[cells]]\narea = "a"\nshare = "1"\n'
ITEMS = f'id,stem,options,key\nn1,"Quem viu a {MARKER} no quintal?","(A) Ana (B) Bia",A\n'


def lacre(root: Path, *arguments: str, before: Sequence[str] = ()) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*before, sys.executable, "-m", "lacre", *arguments],
        cwd=root,
        env={**os.environ, "TMPDIR": str(root.parent / "tmp")},
        capture_output=True,
        check=False,
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace; beside it a folder for temporary files, a vault, and items in `source`."""
    root = tmp_path / "workspace"
    create_workspace(root, "exemplo")
    (root / "registry/exemplo/matrix.toml").write_text(MATRIX)
    (root / "page.txt").write_text("Nada de novo no quintal.\n")
    (tmp_path / "tmp").mkdir()
    (tmp_path / "source").mkdir()
    (tmp_path / "source/items.csv").write_text(ITEMS)
    for call in (
        ("key", "new", "--name", "team", "--out", "../team.key"),
        ("vault", "init", "../vault", "--new-identity", "../me.txt"),
    ):
        done = lacre(root, *call)
        assert done.returncode == 0, done.stderr
    return root


ADD = ("vault", "add", "../vault", "../source/items.csv", "--benchmark", "exemplo", "--batch", "1", "--cell", "area=a",
       "--identity", "../me.txt", "--key", "../team.key")  # fmt: skip
CALLS = [
    ADD,
    ("vault", "list", "../vault", "--identity", "../me.txt", "--json"),
    ("vault", "show", "../vault", "n1", "--identity", "../me.txt"),
    ("vault", "check", "../vault", "--identity", "../me.txt"),
    ("vet", "--vault", "../vault", "--identity", "../me.txt", "--corpus", "page.txt", "--out", "out"),
    ("items", "list", "--vault", "../vault", "--identity", "../me.txt"),
    ("ledger", "show"),
]


def damage(root: Path) -> None:
    path = root.parent / "vault/items/n1.age"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.untraced
def test_no_command_lets_a_marker_out(root: Path) -> None:
    said = b""
    for call in CALLS:
        done = lacre(root, *call)
        said += done.stdout + done.stderr
        assert b"Traceback" not in done.stderr
    damage(root)
    for call in CALLS[1:]:
        done = lacre(root, *call)
        said += done.stdout + done.stderr
        assert b"Traceback" not in done.stderr
    (root.parent / "said").write_bytes(said)
    assert leaks(root.parent) == [root.parent / "source/items.csv"]


def test_a_file_that_breaks_the_rules_is_refused_without_its_words(root: Path) -> None:
    (root.parent / "source/items.csv").write_text(ITEMS.replace(",A\n", ",Z\n"))
    done = lacre(root, *ADD)
    assert done.returncode == 2
    assert MARKER.encode() not in done.stdout + done.stderr
    assert leaks(root.parent) == [root.parent / "source/items.csv"]


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs the strace command")
def test_no_system_call_writes_a_marker(root: Path) -> None:
    trace = root.parent / "trace"
    watched = "trace=write,writev,pwrite64,pwritev,sendto,sendmsg,openat,rename,mkdir,symlink,execve"
    before = ("strace", "-f", "-qq", "-s", "1000000", "-e", watched, "-o", str(trace))
    done = lacre(root, *ADD, before=before)
    if not trace.exists() or not trace.stat().st_size:
        pytest.skip("strace may not trace here")
    assert done.returncode == 0, done.stderr
    written = trace.read_text(errors="replace")
    assert "items/n1.age" in written
    assert MARKER not in written
    assert base64.b64encode(MARKER.encode())[4:-4].decode() not in written
    # strace writes UTF-16 with its zero bytes as octal escapes.
    assert "\\0".join(MARKER) not in written
