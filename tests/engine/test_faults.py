"""Crashes, full disks, interrupts, revoked keys: through the command itself, in a process of its own."""

from __future__ import annotations

import logging
import os
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.engine.making import card, finished, journal, questions, replies
from tests.engine.server import Act, Say, Seen, Send, Server, Trickle, always
from tests.engine.server.__main__ import mixed
from tests.engine.test_runs import settled
from tests.untraced import untraced

from lacre import jsonl
from lacre.cli import run as command
from lacre.engine.client import Patience
from lacre.engine.journal import Task
from lacre.engine.replies import Answered, Failed
from lacre.errors import Exit
from lacre.registry.items import Item, Payload, Source
from lacre.registry.workspace import create_workspace

KEY = "sk-planted-4f1c9e7a-do-not-leak"
ITEMS = 40

CARD = """\
[[columns]]
id = "{dialect}"
model = "modelo-1"
vendor = "Vendedor"
family = "familia"
dialect = "{dialect}"
endpoint = "{endpoint}"
key_env = "PLANTED_KEY"
cap = 100
concurrency = 4
timeout = 5
"""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(answers, latency=0.02) as server:
        yield server


def answers(seen: Seen) -> Act:
    """As the server by hand, without what takes several tries."""
    act = mixed(seen)
    return Say(text="Letra A") if isinstance(act, Send) else act


@pytest.fixture
def place(tmp_path: Path, server: Server) -> Path:
    """A workspace with items and a column, whose key is planted in the environment."""
    create_workspace(tmp_path, "prova")
    items = [
        Item(
            id=f"q{number:03}",
            benchmark="prova",
            layer="open",
            cell={"subject": "general", "difficulty": "easy"},
            payload=Payload(
                kind="choice", stem=f"Questão {number}: qual?", options={"A": "Sim", "B": "Não"}, key="A"
            ),
            source=Source(licence="CC BY 4.0"),
        )
        for number in range(ITEMS)
    ]
    jsonl.write(tmp_path / "registry/prova/open/items.jsonl", items)
    text = CARD.format(dialect="openai", endpoint=server.endpoint("openai"))
    (tmp_path / "registry/columns.toml").write_text(text, encoding="utf-8")
    rules = tmp_path / "registry/rules.toml"
    rules.write_text(
        rules.read_text(encoding="utf-8").replace("attempts = 5", "attempts = 1"), encoding="utf-8"
    )
    return tmp_path


def lacre(place: Path, *arguments: str, before: Callable[[], None] | None = None) -> subprocess.Popen[str]:
    # Where files may not grow, coverage could not write its own and would fail in the command's stead.
    kept = untraced() if before else dict(os.environ)
    return subprocess.Popen(
        [sys.executable, "-m", "lacre", *arguments],
        cwd=place,
        env={**kept, "PLANTED_KEY": KEY},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=before,  # noqa: PLW1509 - sets one limit and nothing else
    )


def ended(child: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = child.communicate(timeout=60)
    return child.returncode, out, err


def start(place: Path, out: str, **options: Callable[[], None]) -> subprocess.Popen[str]:
    return lacre(place, "run", "start", "prova", "--column", "openai", "--out", out, **options)


def wait_for(path: Path, lines: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if path.exists() and path.read_bytes().count(b"\n") >= lines:
            return
        time.sleep(0.005)
    pytest.fail(f"{path} never had {lines} lines")


@pytest.mark.parametrize(
    "after", [pytest.param(1, marks=pytest.mark.slow), 12, pytest.param(30, marks=pytest.mark.slow)]
)
def test_kill_9_in_mid_run_loses_nothing_and_doubles_nothing(after: int, place: Path, server: Server) -> None:
    assert ended(start(place, "whole"))[0] == Exit.CLEAN
    server.requests = 0
    server.seen.clear()
    child = start(place, "cut")
    wait_for(place / "cut/journal.jsonl", after)
    child.send_signal(signal.SIGKILL)
    ended(child)
    kept = {entry.task for entry in replies(place / "cut/journal.jsonl")}
    code, _, err = ended(lacre(place, "run", "resume", "cut"))
    assert code == Exit.CLEAN, err
    assert settled(place / "cut/journal.jsonl") == settled(place / "whole/journal.jsonl")
    # Asked twice: only what was under way when the process died.
    asked = Counter(seen.text for seen in server.seen)
    twice = [text for text, times in asked.items() if times > 1]
    # A worker has one question with the server, and perhaps one reply on its way to the disk.
    assert len(twice) <= 8
    assert sum(asked.values()) <= ITEMS + 8
    of_kept = {Task("openai", f"q{int(text.split('Questão ')[1].split(':')[0]):03}", 1) for text in twice}
    assert not of_kept & kept
    last = [entry.task for entry in replies(place / "cut/journal.jsonl")]
    assert len(last) == len(set(last)) == ITEMS


def test_a_line_cut_short_by_a_crash_is_said_and_asked_again(place: Path, server: Server) -> None:
    assert ended(start(place, "run"))[0] == Exit.CLEAN
    path = place / "run/journal.jsonl"
    whole = settled(path)
    path.write_bytes(path.read_bytes()[:-40])
    server.requests = 0
    code, _, err = ended(lacre(place, "run", "resume", "run"))
    assert (code, server.requests) == (Exit.CLEAN, 1)
    assert "cut short by a crash" in err
    assert settled(path) == whole


def test_ctrl_c_keeps_what_came_and_says_how_to_go_on(place: Path, server: Server) -> None:
    child = start(place, "run")
    wait_for(place / "run/journal.jsonl", 5)
    child.send_signal(signal.SIGINT)
    code, _, err = ended(child)
    assert code == Exit.INTERRUPTED
    assert "lacre run resume run" in err
    assert "questions were under way: their replies are lost, and may be billed" in err
    assert "Traceback" not in err
    assert "never awaited" not in err
    kept = len(replies(place / "run/journal.jsonl"))
    assert 5 <= kept < ITEMS
    assert not (place / "run/answers-choice.jsonl").exists()
    assert ended(lacre(place, "run", "status", "run"))[0] == Exit.INCOMPLETE
    assert ended(lacre(place, "run", "answers", "run"))[0] == Exit.INCOMPLETE
    server.requests = 0
    assert ended(lacre(place, "run", "resume", "run"))[0] == Exit.CLEAN
    assert server.requests == ITEMS - kept


def small_files() -> None:
    """A real limit of the kernel: a file that grows past it is refused, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))


def test_a_full_disk_stops_the_run_and_nothing_is_half_written(place: Path, server: Server) -> None:
    # Python keeps SIGXFSZ ignored, so that the write fails with an error, as ENOSPC would.
    code, _, err = ended(start(place, "run", before=small_files))
    if "run.json" in err:
        pytest.skip("the run's record alone is larger than the limit")
    assert code == Exit.INCOMPLETE
    assert "could not be written" in err
    assert "Traceback" not in err
    assert "never awaited" not in err
    assert len(err.strip().splitlines()) == 2
    assert "run/journal.jsonl: a reply could not be written" in err
    assert "Raise the limit on the size of files (`ulimit -f`), then go on with: lacre run resume run" in err
    content = (place / "run/journal.jsonl").read_bytes()
    assert content.endswith(b"\n")
    kept = len(replies(place / "run/journal.jsonl"))
    assert kept > 0
    assert ended(lacre(place, "run", "resume", "run"))[0] == Exit.CLEAN
    assert len({entry.task for entry in replies(place / "run/journal.jsonl")}) == ITEMS


def test_a_key_revoked_in_mid_run_stops_the_column_and_a_new_one_goes_on(place: Path, server: Server) -> None:
    count = 0

    def revoked(seen: Seen) -> Act:
        nonlocal count
        count += 1
        if count <= 10:
            return answers(seen)
        # As vendors do, the message shows a part of the key.
        return Send.json(401, {"error": {"code": "invalid_api_key", "message": f"Incorrect key: {KEY}"}})

    server.script = revoked
    code, out, err = ended(start(place, "run"))
    assert code == Exit.COLUMN
    assert "the key was refused (status 401)" in out + err
    assert "Check the key that its card names" in err
    # Those under way at that moment are refused too, and none after them.
    assert count <= 14
    assert len(replies(place / "run/journal.jsonl")) == 10
    server.script = answers
    server.requests = 0
    assert ended(lacre(place, "run", "resume", "run"))[0] == Exit.CLEAN
    assert server.requests == ITEMS - 10


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "gemini", "maritaca"])
def test_the_key_is_sent_and_stands_nowhere_else(  # noqa: PLR0917 - fixtures
    dialect: str,
    place: Path,
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    text = CARD.format(dialect=dialect, endpoint=server.endpoint(dialect))
    (place / "registry/columns.toml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(place)
    monkeypatch.setenv("PLANTED_KEY", KEY)
    caplog.set_level(logging.DEBUG)

    def echo(seen: Seen) -> Act:
        # Servers that repeat the key in an error, or in what should be JSON.
        if "Questão 3:" in seen.text:
            return Send(status=500, body=KEY.encode())
        if "Questão 5:" in seen.text:
            return Say(text=f"A chave é {KEY}. Letra A")
        return Send(body=KEY.encode()) if "Questão 4:" in seen.text else answers(seen)

    server.script = echo
    said = []
    for arguments in (
        ["column", "check", dialect],
        ["column", "list", "--json"],
        ["run", "start", "prova", "--column", dialect, "--dry-run"],
        ["run", "start", "prova", "--column", dialect, "--out", "run", *chosen("q003", "q004", "q005")],
        ["run", "show", "run", "--json"],
        ["run", "status", "run", "--json"],
    ):
        code = command(arguments)
        printed = capsys.readouterr()
        assert code == Exit.CLEAN, printed.err
        said.append(printed.out + printed.err)
    server.script = always(Send.json(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}))
    assert command(["run", "start", "prova", "--column", dialect, "--out", "refused"]) == Exit.COLUMN
    assert command(["column", "check", dialect]) == Exit.COLUMN
    said.extend(capsys.readouterr())
    assert all(KEY in " ".join(seen.headers.values()) for seen in server.seen)
    assert not any(KEY in seen.path or KEY.encode() in seen.raw for seen in server.seen)
    assert not any(KEY in text for text in (*said, caplog.text))
    assert "$PLANTED_KEY" in said[2]
    for path in place.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


def chosen(*items: str) -> list[str]:
    return [word for item in items for word in ("--item", item)]


def test_two_processes_cannot_work_on_one_run(place: Path, server: Server) -> None:
    server.latency = 0.5
    first = start(place, "run")
    wait_for(place / "run/journal.jsonl", 1)
    code, _, err = ended(lacre(place, "run", "resume", "run"))
    assert code == Exit.BAD_INPUT
    assert "another process works on this run" in err
    server.latency = 0
    assert ended(first)[0] == Exit.CLEAN


def test_a_server_that_trickles_is_given_up_in_time(tmp_path: Path) -> None:
    with Server(always(Trickle(pause=0.1, bytes=900))) as server:
        begun = time.monotonic()
        finished(
            tmp_path / "journal.jsonl",
            questions(1),
            [card(server.endpoint("openai"), timeout=1)],
            patience=Patience(attempts=1),
        )
        # All of an answer would take a minute and a half, twice; a busy machine is given some time.
        assert time.monotonic() - begun < 30
    assert [e.reply.cause for e in replies(tmp_path / "journal.jsonl") if isinstance(e.reply, Failed)] == [
        "timeout",
        "timeout",
    ]


def test_a_run_with_trouble_of_every_kind_still_ends(tmp_path: Path) -> None:
    with Server(mixed) as server:
        state = finished(
            tmp_path / "journal.jsonl", questions(60), [card(server.endpoint("openai"), concurrency=16)]
        )
    assert state.complete
    [column] = state.columns
    assert min(column.answered, column.refused, column.failed) > 0
    assert len(journal(tmp_path / "journal.jsonl")) == 60 + column.failed
    assert any(isinstance(entry.reply, Answered) for entry in replies(tmp_path / "journal.jsonl"))


def test_the_server_by_hand_says_that_its_port_is_taken(server: Server) -> None:
    command = [sys.executable, "-m", "tests.engine.server", "--port", str(server.port)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert f"port {server.port}: " in done.stderr
    assert "leave --port out" in done.stderr
