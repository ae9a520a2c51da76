"""``lacre vet --watch`` and ``--stdin``: an answer for each save, whatever an editor does to the file."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from threading import Thread

import pytest

from lacre.cli import run
from lacre.errors import Exit
from lacre.vetting.watch import PATIENCE, State, saves

LEAK = "Quantas patas tem a aranha que mora atrás do espelho do corredor? Seis Oito Dez"
CLEAN = "Que fruta a vizinha do terceiro andar deixou cair na escada ontem de manhã?"


@pytest.fixture
def index(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert run(["index", "build", "index", "--corpus", "leaks"]) == Exit.CLEAN
    capsys.readouterr()
    return workspace


class Watching:
    """A ``lacre vet --watch`` that runs: the lines it prints, as they come."""

    def __init__(self, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lacre", "vet", "--watch", "draft.csv", "--index", "index", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        self.lines: Queue[str] = Queue()
        self.reader = Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))

    def until(self, text: str, seconds: float) -> list[str]:
        """The lines up to one with ``text`` in it."""
        seen: list[str] = []
        deadline = time.monotonic() + seconds
        while True:
            try:
                seen.append(self.lines.get(timeout=max(0.01, deadline - time.monotonic())))
            except Empty:
                pytest.fail(f"no '{text}' within {seconds} s; there was: {seen}")
            if text in seen[-1]:
                return seen


@contextmanager
def watching(*options: str) -> Iterator[Watching]:
    one = Watching(*options)
    try:
        yield one
        one.process.send_signal(signal.SIGINT)
        assert one.process.wait(60) == Exit.INTERRUPTED
    finally:
        one.process.kill()
        one.process.wait()
        one.reader.join(5)
        if one.process.stdout is not None:
            one.process.stdout.close()


def draft(*rows: tuple[str, str]) -> str:
    return "id;stem\n" + "".join(f"{name};{stem}\n" for name, stem in rows)


def write(text: str) -> None:
    Path("draft.csv").write_text(text, encoding="utf-8")


SOON = 30.0  # seconds by the clock of a machine that does much besides; nobody waits for them in vain


@pytest.mark.slow
def test_each_save_is_answered_whatever_the_editor_does(index: Path) -> None:
    write(draft(("q1", CLEAN)))
    with watching() as one:
        assert "q1\tkeep\tnothing found" in one.until("Watching", 60)
        # A save in place.
        write(draft(("q1", CLEAN), ("q2", LEAK)))
        seen = one.until("new or changed", SOON)
        assert next(line for line in seen if line.startswith("q")).startswith("q2\tdrop\t15 words in a row")
        assert "1 of 2 new or changed: 1 drop, 1 keep." in seen
        # A new file renamed over the old one.
        Path("draft.new").write_text(draft(("q2", LEAK), ("q3", CLEAN)), encoding="utf-8")
        Path("draft.new").replace("draft.csv")
        assert "1 of 2 new or changed: 1 drop, 1 keep." in one.until("new or changed", SOON)
        # The old one moved away, then a new one written.
        Path("draft.csv").rename("draft.csv~")
        write(draft(("q2", LEAK + " ou mais?")))
        assert "1 of 1 new or changed: 1 drop." in one.until("new or changed", SOON)
        # Half a file, then nothing, then the whole.
        write("id;st")
        assert one.until("Waiting", SOON)[-1].endswith("Waiting for the next save.")
        write("")
        assert "the file is empty" in one.until("Waiting", SOON)[-1]
        write(draft(("a", CLEAN), ("a", CLEAN), ("a", CLEAN)))
        assert "And 1 more." in one.until("Waiting", SOON)[-1]
        Path("draft.csv").unlink()
        assert one.until("gone", SOON)[-1] == "draft.csv: the file is gone; waiting for it to come back."
        write(draft(("q9", CLEAN)))
        assert "1 of 1 new or changed: 1 keep." in one.until("new or changed", SOON)


@pytest.mark.slow
def test_watching_as_json_gives_a_line_for_each_verdict(index: Path) -> None:
    write(draft(("q1", LEAK)))
    with watching("--json") as one:
        first = json.loads(one.until('"item":"q1"', 60)[-1])
        assert first["verdict"]["verdict"] == "drop"
        assert first["findings"][0]["corpus"] == "leaks"
        # Saved without a change: nothing is said of what is known.
        write(draft(("q1", LEAK), ("q2", CLEAN)))
        assert json.loads(one.until("verdict", SOON)[-1])["verdict"]["item"] == "q2"


# A file as it changes, step by step, without a clock.


def steps(*states: State | None) -> tuple[list[bool], float]:
    """What ``saves`` yields while the file goes through these states, and how long it waited."""
    left = list(states)
    waited = 0.0

    class Over(Exception):  # noqa: N818 - it only ends the test
        pass

    def look(_: Path) -> State | None:
        if not left:
            raise Over
        return left.pop(0)

    def wait(seconds: float) -> None:
        nonlocal waited
        waited += seconds

    found: list[bool] = []
    try:
        for saved in saves(Path("x"), wait=wait, state=look):
            found.append(saved)
    except Over:
        pass
    return found, waited


A, B, C = State(1, 10, 1), State(1, 12, 2), State(2, 12, 3)


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        pytest.param([A, A, A, A], [True], id="nothing happens"),
        pytest.param([A, A, B, C, C, C], [True, True], id="still being written when first seen"),
        pytest.param([A, A, None, None, C, C], [True, True], id="moved away, then written anew"),
        pytest.param([A, A, None, A], [True], id="moved away and back"),
        pytest.param([A, A, *[None] * 30, B, B], [True, False, True], id="gone for long"),
        pytest.param([None] * 30, [False], id="never there"),
        pytest.param([A, None, B, B, B], [True], id="gone while it was looked at"),
    ],
)
def test_saves_are_told_once_each_when_the_file_rests(
    states: list[State | None], expected: list[bool]
) -> None:
    found, waited = steps(*states)
    assert found == expected
    assert waited <= 30 * 0.05 + PATIENCE


# Standard input


def answers(
    lines: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[int, list[dict[str, object]]]:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    code = run(["vet", "--stdin", "--index", "index", *options])
    return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_each_line_in_gives_a_verdict_out(
    index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        {"id": "q1", "stem": LEAK},
        {"stem": CLEAN},
        {"id": "p", "payload": {"kind": "open", "stem": CLEAN}},
    ]
    text = "".join(json.dumps(line) + "\n\n" for line in lines)
    code, found = answers(text, monkeypatch, capsys)
    assert code == Exit.FINDING
    verdicts = [answer["verdict"] for answer in found]
    assert [(v["item"], v["verdict"]) for v in verdicts if isinstance(v, dict)] == [
        ("q1", "drop"), ("3", "keep"), ("p", "keep")
    ]  # fmt: skip


def test_lines_that_are_no_items_are_answered_with_what_is_wrong(
    index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = '{"stem": \n[1]\n{"id": "q1"}\n{"id": "q2", "stem": "x", "options": 3}\n{}\n' + json.dumps(
        {"stem": CLEAN}
    )
    code, found = answers(text, monkeypatch, capsys)
    assert code == Exit.BAD_INPUT
    assert [answer.get("line") for answer in found] == [1, 2, 3, 4, 5, None]
    errors = [str(answer.get("error")) for answer in found]
    assert "standard input:1: is not JSON" in errors[0]
    assert "is not a JSON object" in errors[1]
    assert errors[2] == "standard input:3: has no 'stem'. The line has: id. Name it with --map stem=NAME."
    assert "standard input:4: " in errors[3]
    assert "standard input:5: has no 'stem'. The line has: nothing." in errors[4]


def test_a_form_may_use_names_of_its_own(
    index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = json.dumps({"numero": 7, "pergunta": CLEAN})
    code, found = answers(text, monkeypatch, capsys, "--map", "id=numero,stem=pergunta")
    assert code == Exit.CLEAN
    assert found[0]["verdict"]["item"] == "7"  # type: ignore[index]


def test_an_unverified_match_ends_with_incomplete(
    index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("leaks/page.txt").unlink()
    part = " ".join(LEAK.split()[:10]) + " ainda hoje, depois de tantos anos sem moscas?"
    code, found = answers(json.dumps({"stem": part}), monkeypatch, capsys)
    assert code == Exit.INCOMPLETE
    assert found[0]["verdict"]["verdict"] == "unknown"  # type: ignore[index]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--watch", "items.csv", "--stdin", "--index", "index"], "does not go with --stdin"),
        (["items.csv", "--stdin", "--index", "index"], "looks its items up in indexes"),
        (["--watch", "items.csv", "--index", "index", "--corpus", "leaks"], "looks its items up in indexes"),
        (["--watch", "items.csv"], "needs an index"),
        (["--stdin", "--required"], "looks its items up in indexes"),
    ],
)
def test_what_cannot_be_answered_at_once_is_refused(
    index: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert run(["vet", *arguments]) == Exit.BAD_INPUT
    assert said in capsys.readouterr().err
