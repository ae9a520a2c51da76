"""``lacre index`` on a full disk, and private items looked up in an index."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.test_vault import QUESTIONS
from tests.sealing.faults import MARKER
from tests.untraced import untraced

from lacre.cli import run
from lacre.errors import Exit


def test_private_items_are_looked_up_and_their_evidence_stays_in_the_vault(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    beside = workspace.parent / "beside"
    beside.mkdir()
    (beside / "items.csv").write_text(QUESTIONS, encoding="utf-8")
    vault, identity, key = (str(beside / name) for name in ("vault", "me.txt", "team.key"))
    assert run(["key", "new", "--name", "team", "--out", key]) == Exit.CLEAN
    assert run(["vault", "init", vault, "--new-identity", identity]) == Exit.CLEAN
    added = ["--benchmark", "exemplo", "--batch", "1", "--key", key, "--identity", identity]
    assert run(["vault", "add", vault, str(beside / "items.csv"), *added]) == Exit.CLEAN
    assert run(["index", "build", "index", "--corpus", "leaks"]) == Exit.CLEAN
    (beside / "items.csv").unlink()
    before = {path for path in workspace.parent.rglob("*") if path.is_file()}
    capsys.readouterr()
    where = ["--vault", vault, "--identity", identity, "--index", "index", "--out", "vetting"]
    assert run(["vet", *where, "--json"]) == Exit.FINDING
    said = capsys.readouterr()
    verdicts = {one["item"]: one for one in json.loads(said.out)["verdicts"]}
    assert verdicts["n2"]["verdict"] == "drop"
    assert all(set(one) == {"item", "verdict", "classes", "findings"} for one in verdicts.values())
    new = {path for path in workspace.parent.rglob("*") if path.is_file()} - before
    assert {path for path in new if beside not in path.parents} == {workspace / "vetting/verdicts.jsonl"}
    for text in (said.out, said.err, *(path.read_bytes().decode("latin-1") for path in new)):
        assert "aranha" not in text
        assert MARKER not in text


def test_a_disk_that_is_full_is_said_and_no_index_is_left(workspace: Path) -> None:
    script = (
        "import resource, signal, sys; from lacre.cli import run\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))\n"
        "sys.exit(run(['index', 'build', 'index', '--corpus', 'leaks']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, env=untraced()
    )
    assert done.returncode == Exit.BAD_INPUT, done.stderr
    assert re.search(
        r"lacre: index\S*: could not be written: File too large\. Raise the limit on", done.stderr
    )
    assert "then give the same command: what was read is not read again." in done.stderr
    assert "Traceback" not in done.stderr
    assert not (workspace / "index/manifest.json").exists()
    assert run(["index", "build", "index", "--corpus", "leaks"]) == Exit.CLEAN
