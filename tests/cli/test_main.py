"""The error boundary: one clear line, the right exit code, and a fast help."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from lacre import __version__
from lacre.cli import NOUNS, LazyGroup, command, run
from lacre.cli.output import print_table
from lacre.errors import (
    ColumnError,
    Exit,
    Fault,
    IncompleteError,
    InputError,
    IntegrityError,
    LacreError,
    RecordError,
)


def test_the_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == Exit.CLEAN
    assert capsys.readouterr().out == f"lacre, version {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing"], "No such command 'nothing'"),
        (["items", "nothing"], "No such command 'nothing'"),
        (["items", "check", "--nothing"], "No such option"),
        (["items", "import", "a.csv"], "Missing option"),
        (["items", "list", "--layer", "seled"], "'seled' is not one of 'official', 'open', 'private'"),
    ],
)
def test_a_wrong_call_exits_2_and_says_why(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == Exit.BAD_INPUT
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.out == ""


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (
            InputError("a.csv", "is empty", "Give items"),
            Exit.BAD_INPUT,
            "lacre: a.csv: is empty. Give items.\n",
        ),
        (IntegrityError("bytes differ"), Exit.INTEGRITY, "lacre: bytes differ\n"),
        (ColumnError("no answer"), Exit.COLUMN, "lacre: no answer\n"),
        (IncompleteError("cut short"), Exit.INCOMPLETE, "lacre: cut short\n"),
        (LacreError("one\ntwo"), Exit.BAD_INPUT, "lacre: one\nlacre: two\n"),
        (KeyboardInterrupt(), Exit.INTERRUPTED, "\nlacre: interrupted.\n"),
        (click.Abort(), Exit.INTERRUPTED, "lacre: interrupted.\n"),
    ],
)
def test_an_error_becomes_a_line_and_a_code(
    raised: BaseException,
    code: Exit,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    @click.command()
    def failing() -> None:
        raise raised

    monkeypatch.setattr(command, "get_command", lambda *_: failing)
    assert run(["failing"]) == code
    assert capsys.readouterr().err.lstrip("\n") == said.lstrip("\n")


@pytest.mark.parametrize(
    "raised",
    [
        ColumnError("the server said \x1b[2J\x9b31m\u202e"),
        RecordError("a\x1b[2J\x9b31m\u202e.jsonl", [Fault(3, "is no item", "Correct it")]),
        click.UsageError("no such thing: \x1b[2J\x9b31m\u202e"),
        click.BadParameter("\x1b[2J\x9b31m\u202e"),
        OSError(errno.ENOTDIR, "Not a directory", "\x1b[2J\x9b31m\u202e"),
    ],
    ids=["lacre", "record", "usage", "parameter", "system"],
)
def test_no_error_steers_a_terminal(
    raised: Exception, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    @click.command()
    def failing() -> None:
        raise raised

    monkeypatch.setattr(command, "get_command", lambda *_: failing)
    stdout = os.dup(1)
    try:
        assert run(["failing"]) != Exit.CLEAN
    finally:
        # After a fault of the system the command lets go of its standard output.
        os.dup2(stdout, 1)
        os.close(stdout)
    err = capfd.readouterr().err
    # What a terminal knows by an escape, click takes out of its own errors; the rest is seen.
    assert "\\x9b31m\\u202e" in err
    assert not {"\x1b", "\x9b", "\u202e"} & set(err)


def test_what_a_command_returns_is_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def finding() -> int:
        return int(Exit.FINDING)

    monkeypatch.setattr(command, "get_command", lambda *_: finding)
    assert run(["finding"]) == Exit.FINDING


def test_an_unknown_noun_is_no_command() -> None:
    assert LazyGroup().get_command(click.Context(command), "nothing") is None
    assert LazyGroup().list_commands(click.Context(command)) == sorted(NOUNS)


def test_help_loads_no_library_but_click_and_nothing_of_lacre_but_its_commands() -> None:
    """It is fast because it loads next to nothing: what is loaded can be counted on any machine, seconds cannot."""
    code = "import json, sys\nfrom lacre.cli import run\nrun(['--help'])\njson.dump(sorted(sys.modules), sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stderr)
    mine = {name for name in loaded if name.startswith("lacre") and not name.startswith("lacre.cli")}
    assert mine == {"lacre", "lacre.errors"}
    # Without the standard library, and what an environment's own start brings in (`.pth` files, coverage).
    bare = subprocess.run(
        [sys.executable, "-c", "import json, sys; json.dump(sorted(sys.modules), sys.stderr)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    brought = {name.partition(".")[0] for name in set(loaded) - set(json.loads(bare.stderr))}
    assert brought - set(sys.stdlib_module_names) == {"click", "lacre"}
    assert len(loaded) < 400, "about 175 are needed"


@pytest.mark.parametrize("arguments", [["items", "list"], ["items", "list", "--json"], ["--version"]])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_closed_pipe_is_no_traceback(arguments: list[str], unbuffered: str, workspace: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "lacre", *arguments],
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=workspace,
    )
    assert child.stdout is not None
    child.stdout.close()
    assert child.stderr is not None
    assert child.stderr.read() == b""
    child.stderr.close()
    assert child.wait() == 128 + signal.SIGPIPE


def test_the_shell_can_complete_nouns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_LACRE_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "lacre items ")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert run([]) == 0
    assert capsys.readouterr().out.split() == ["plain,check", "plain,import", "plain,list"]


def test_a_table_off_a_terminal_is_parted_by_tabs(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("id", "words"), [("a[b]", 3), ("two\nlines", 4)])
    assert capsys.readouterr().out == "id\twords\na[b]\t3\ntwo lines\t4\n"


def test_a_table_on_a_terminal_keeps_brackets_and_honours_no_color(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    print_table(("id", "words"), [("[red]a", 3)], right=("words",))
    printed = capsys.readouterr().out
    assert "[red]a" in printed
    assert "\x1b[3" not in printed
