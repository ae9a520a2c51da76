"""``lacre vet`` with --resume, --executor and --scheduler, as one types them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.untraced import untraced
from tests.vetting.making import FILLER, STEM

from lacre.cli import run
from lacre.cli.vet_work import settle
from lacre.errors import Exit
from lacre.overlap.sheets import read_sheets
from lacre.registry.rules import default_rules
from lacre.vetting.vet import Vetting

Capture = pytest.CaptureFixture[str]
COMMAND = ["items.csv", "--corpus", "corpus", "--out"]
FILES = ["decisions.csv", "findings.jsonl", "verdicts.jsonl", "vetting.html"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, in no workspace, with an item and a corpus of several shards in which it leaks; we are in it."""
    (tmp_path / "items.csv").write_text(f'id,stem\nq1,"{STEM}"\n', encoding="utf-8")
    (tmp_path / "corpus").mkdir()
    for number in range(4):
        rows = [{"id": f"r{k}", "text": FILLER * 30 + (STEM if k == number else "")} for k in range(40)]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / "corpus" / f"f{number}.jsonl").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def vet(*arguments: str) -> int:
    return run(["vet", *arguments])


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.slow
def test_the_command_killed_in_mid_scan_and_resumed_writes_what_an_undisturbed_one_writes(
    here: Path, capsys: Capture
) -> None:
    assert vet(*COMMAND, "whole") == Exit.FINDING
    big = here / "corpus" / "f3.jsonl"
    rest = big.read_bytes()
    big.write_bytes(rest * 600)
    assert vet(*COMMAND, "large") == Exit.FINDING
    with subprocess.Popen(
        [sys.executable, "-m", "lacre", "vet", *COMMAND, "out", "--workers", "2"], stderr=subprocess.DEVNULL
    ) as process:
        deadline = time.monotonic() + 60
        journal = here / "out" / "vetting.journal"
        while not journal.exists() or journal.read_bytes().count(b"\n") < 3:
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.005)
        process.kill()
    assert list(contents(here / "out")) == ["vetting.journal"]
    kept = journal.read_bytes()
    capsys.readouterr()
    assert vet(*COMMAND, "out") == Exit.BAD_INPUT
    assert (
        "out/vetting.journal: an unfinished vetting is here. Go on with it by --resume, or remove the file"
        in capsys.readouterr().err
    )
    assert journal.read_bytes() == kept
    assert vet(*COMMAND, "out", "--resume") == Exit.FINDING
    assert contents(here / "out") == contents(here / "large")


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["processes", "dask"])
def test_whoever_reads_the_files_are_the_same(here: Path, executor: str) -> None:
    assert vet(*COMMAND, "threads", "--executor", "threads") == Exit.FINDING
    assert vet(*COMMAND, "other", "--executor", executor, "--workers", "2") == Exit.FINDING
    assert contents(here / "other") == contents(here / "threads")
    assert list(contents(here / "other")) == FILES


def test_resume_begins_anew_where_nothing_was_begun(here: Path) -> None:
    assert vet(*COMMAND, "out", "--resume") == Exit.FINDING
    assert list(contents(here / "out")) == FILES


def test_other_items_are_not_taken_up(here: Path, capsys: Capture) -> None:
    (here / "out" / "vetting.html").mkdir(parents=True)
    assert vet(*COMMAND, "out") == Exit.BAD_INPUT
    (here / "out" / "vetting.html").rmdir()
    command = f"exec {sys.executable} -m lacre vet {' '.join(COMMAND)} out"
    # Results that cannot be written leave the journal, as a stop in mid-scan does.
    subprocess.run(["sh", "-c", f"ulimit -f 20; {command}"], check=False, capture_output=True, env=untraced())
    assert list(contents(here / "out")) == ["vetting.journal"]
    (here / "items.csv").write_text(
        'id,stem\nq9,"Outra pergunta, que ninguém fez até hoje?"\n', encoding="utf-8"
    )
    capsys.readouterr()
    assert vet(*COMMAND, "out", "--resume") == Exit.BAD_INPUT
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("lacre:")]
    assert line == (
        "lacre: out/vetting.journal: the unfinished vetting was of other items. "
        "Vet what it was begun with, or remove this file and begin anew."
    )


def test_a_vetting_ended_by_ctrl_c_keeps_what_was_read(here: Path) -> None:
    assert vet(*COMMAND, "once") == Exit.FINDING
    big = here / "corpus" / "f3.jsonl"
    big.write_bytes(big.read_bytes() * 600)
    with subprocess.Popen(
        [sys.executable, "-m", "lacre", "vet", *COMMAND, "out", "--workers", "2"],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        deadline = time.monotonic() + 60
        journal = here / "out" / "vetting.journal"
        while not journal.exists() or journal.read_bytes().count(b"\n") < 2:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == Exit.INTERRUPTED
    assert "out/vetting.journal keeps what was read; --resume goes on from there." in err
    assert oct(journal.stat().st_mode & 0o777) == "0o600"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("items.csv", "--corpus", "corpus", "--resume"),
            "--resume: needs the folder of a vetting. Name it with --out",
        ),
        (
            (*COMMAND, "out", "--scheduler", "tcp://h:1", "--workers", "2"),
            "the scheduler has its own workers",
        ),
        (
            (*COMMAND, "out", "--scheduler", "tcp://h:1", "--executor", "threads"),
            "--scheduler: is for Dask, not for threads",
        ),
        (
            ("--vault", "v", "--corpus", "corpus", "--executor", "dask"),
            "private items never leave this machine",
        ),
        (
            ("--vault", "v", "--corpus", "corpus", "--scheduler", "tcp://h:1"),
            "private items never leave this machine",
        ),
        (("--vault", "v", "--corpus", "corpus", "--resume"), "with --vault nothing is kept"),
    ],
)
def test_what_does_not_go_together_is_refused(
    here: Path, capsys: Capture, arguments: tuple[str, ...], said: str
) -> None:
    assert vet(*arguments) == Exit.BAD_INPUT
    assert said in capsys.readouterr().err
    assert not (here / "out").exists()


def test_a_scheduler_that_is_not_there_is_a_fault_of_the_network(here: Path, capsys: Capture) -> None:
    assert vet("items.csv", "--corpus", "nowhere", "--scheduler", "nonsense") == Exit.COLUMN
    assert "nonsense: no scheduler answers there" in capsys.readouterr().err


def test_a_damaged_journal_is_refused_without_a_promise_to_go_on(here: Path, capsys: Capture) -> None:
    Path("out").mkdir()
    Path("out/vetting.journal").write_text("lixo\nmais lixo\n", encoding="utf-8")
    assert run(["vet", "items.csv", "--corpus", "corpus", "--out", "out", "--resume"]) == Exit.BAD_INPUT
    err = capsys.readouterr().err
    assert "is no line of a vetting's journal. Remove the file and begin anew." in err
    assert "goes on from there" not in err


def test_where_no_shard_found_room_nothing_is_promised(here: Path, capsys: Capture) -> None:
    vetting = Vetting(
        items=(), candidates=(), corpora=(), rules=default_rules().vetting, sheets=read_sheets([]), unkept=2
    )
    Path("out").mkdir()
    Path("out/vetting.journal").write_bytes(b"")
    settle(Path("out"), vetting, is_written=False)
    assert "there was no room for a journal. Make room, and vet again." in capsys.readouterr().err
    assert not Path("out/vetting.journal").exists()
    Path("out/vetting.journal").write_bytes(b"{}\n{}\n")
    settle(Path("out"), vetting, is_written=False)
    assert (
        "keeps what was read, but for 2 shards that found no room; --resume tries" in capsys.readouterr().err
    )
