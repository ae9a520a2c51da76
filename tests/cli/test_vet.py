"""``lacre vet`` as a person, a pipe and a script meet it."""

from __future__ import annotations

import json
import os
import pty
import random
import re
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.untraced import untraced

from lacre.cli import run
from lacre.errors import Exit

STEM = (
    "Depois da enchente, o padeiro da vila mediu a altura da água no forno com um cabo de vassoura e anotou "
    "trinta e sete centímetros no caderno. Que parte do forno ficou seca?"
)
OTHER = "Que instrumento o maestro da banda esqueceu dentro da jaula do papagaio antes do desfile de domingo?"
FILLER = "Na quinta-feira o vento virou para o sul e ninguém mais falou do assunto até a festa do padroeiro. "
PROGRAM = [sys.executable, "-m", "lacre", "vet"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, in no workspace, with items and a corpus in which one of the two leaks; we are in it."""
    (tmp_path / "items.csv").write_text(f"id,stem\nq1,{quoted(STEM)}\nq2,{quoted(OTHER)}\n", encoding="utf-8")
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "page.txt").write_text(FILLER + STEM + " " + FILLER, encoding="utf-8")
    (tmp_path / "corpus" / "rows.jsonl").write_text(json.dumps({"id": "r1", "text": FILLER}) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def quoted(text: str) -> str:
    return f'"{text}"'


Capture = pytest.CaptureFixture[str]


def vet(*arguments: str) -> int:
    return run(["vet", *arguments])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


FILES = ["decisions.csv", "findings.jsonl", "verdicts.jsonl", "vetting.html"]


def test_a_pipe_gets_a_table_of_tabs_and_the_remarks_go_to_stderr(here: Path, capsys: Capture) -> None:
    assert vet("items.csv", "--corpus", "corpus", "--out", "out") == Exit.FINDING
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "item\tverdict\twhy\tcoverage\tdocs\twhere",
        "q1\tdrop\t33 words in a row\t100%\t1\tpage.txt",
        "q2\tkeep\t\t\t\t",
    ]
    assert err.splitlines()[0] == "Indexing 2 items ..."
    assert "corpus: 2 documents" in err
    assert "2 items: 1 drop, 1 keep." in err
    assert "out/vetting.html" in err.splitlines()[-2]
    assert "lacre waive --sheet out/decisions.csv" in err.splitlines()[-1]
    assert names(here / "out") == FILES


def test_a_document_is_named_apart_from_its_file_only_where_it_differs(here: Path, capsys: Capture) -> None:
    (here / "corpus" / "rows.jsonl").write_text(
        "".join(json.dumps({"id": f"r{n}", "text": STEM}) + "\n" for n in range(3))
    )
    (here / "corpus" / "page.txt").unlink()
    assert vet("items.csv", "--corpus", "corpus") == Exit.FINDING
    assert "\t100%\t3\trows.jsonl, document r0\n" in capsys.readouterr().out
    assert vet("items.csv", "--corpus", "corpus/rows.jsonl") == Exit.FINDING
    assert "\t3\tdocument r0\n" in capsys.readouterr().out
    assert vet("items.csv", "--corpus", "corpus/rows.jsonl", "--json") == Exit.FINDING
    (reason, *_) = json.loads(capsys.readouterr().out)["verdicts"][0]["reasons"]
    assert reason == "33 words in a row in corpus/rows.jsonl, document r0"


def test_two_corpora_are_named_in_the_table(here: Path, capsys: Capture) -> None:
    (here / "more.txt").write_text(OTHER, encoding="utf-8")
    assert vet("items.csv", "--corpus", "corpus", "--corpus", "more.txt") == Exit.FINDING
    out, err = capsys.readouterr()
    assert "corpus: page.txt" in out
    assert "more.txt: more.txt" in out
    assert "more.txt: 1 document" in err


def test_all_kept_is_zero(here: Path, capsys: Capture) -> None:
    (here / "corpus" / "page.txt").unlink()
    assert vet("items.csv", "--corpus", "corpus") == Exit.CLEAN
    assert "2 items: 2 keep." in capsys.readouterr().err


def test_json_is_the_whole_result_and_nothing_else(here: Path, capsys: Capture) -> None:
    assert vet("items.csv", "--corpus", "corpus", "--json") == Exit.FINDING
    result = json.loads(capsys.readouterr().out)
    assert result["counts"] == {"drop": 1, "unknown": 0, "review": 0, "untestable": 0, "keep": 1}
    assert [verdict["verdict"] for verdict in result["verdicts"]] == ["drop", "keep"]
    assert [(corpus["corpus"], corpus["documents"]) for corpus in result["corpora"]] == [("corpus", 2)]


@pytest.mark.parametrize("colour", [True, False])
def test_a_terminal_gets_a_ruled_table_and_a_line_of_progress(here: Path, colour: bool) -> None:
    shown, code = on_terminal(["items.csv", "--corpus", "corpus"], {} if colour else {"NO_COLOR": "1"})
    assert code == Exit.FINDING
    assert "Indexing 2 items ..." in shown
    assert "\r\x1b[K" in shown
    assert "─" in shown
    assert ("\x1b[1;31mdrop" in shown) == colour
    assert "2 items: 1 drop, 1 keep." in shown


def on_terminal(arguments: list[str], environment: dict[str, str]) -> tuple[str, int]:
    """What a terminal of 100 columns is sent, and the exit code."""
    ours, theirs = pty.openpty()
    settings = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    settings |= {"TERM": "xterm-256color", "COLUMNS": "100", **environment}
    with subprocess.Popen([*PROGRAM, *arguments], stdout=theirs, stderr=theirs, env=settings) as process:
        os.close(theirs)
        received = b""
        while True:
            try:
                block = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not block:
                break
            received += block
    os.close(ours)
    return received.decode(), process.returncode


def test_a_long_table_is_cut_on_a_terminal_only(here: Path, capsys: Capture) -> None:
    rows = "".join(f"q{n},{quoted(OTHER)}\n" for n in range(60))
    (here / "items.csv").write_text("id,stem\n" + rows, encoding="utf-8")
    shown, _ = on_terminal(["items.csv", "--corpus", "corpus", "--out", "out"], {})
    assert "... and 20 more items; all are in out/verdicts.jsonl." in shown
    vet("items.csv", "--corpus", "corpus")
    assert len(capsys.readouterr().out.splitlines()) == 61


def test_a_name_cannot_steer_the_terminal(here: Path, capsys: Capture) -> None:
    (here / "corpus" / "page.txt").rename(here / "corpus" / "a\x1b[31mb.txt")
    vet("items.csv", "--corpus", "corpus")
    assert "\x1b" not in capsys.readouterr().out


def binary(size: int) -> bytes:
    return random.Random(7).randbytes(size)


def bad(name: str, content: str | bytes) -> Callable[[Path], None]:
    """Writes a file before the command runs."""

    def prepare(here: Path) -> None:
        (here / name).write_bytes(content if isinstance(content, bytes) else content.encode())

    return prepare


def nothing(here: Path) -> None:
    """The folder is as it should be already."""


def folders(*names: str) -> Callable[[Path], None]:
    def prepare(here: Path) -> None:
        for name in names:
            (here / name).mkdir(parents=True)

    return prepare


ITEMS, CORPUS = ("items.csv",), ("--corpus", "corpus")


@pytest.mark.parametrize(
    ("prepare", "arguments", "said"),
    [
        pytest.param(
            bad("e.jsonl", ""), ("e.jsonl", *CORPUS), "e.jsonl: no items: the file is empty", id="empty items"
        ),
        pytest.param(
            bad("d.csv", f"id,stem\na,{quoted(STEM)}\nb,x\na,y\n"),
            ("d.csv", *CORPUS),
            "d.csv:4: item 'a' is already on line 2",
            id="duplicate id",
        ),
        pytest.param(
            bad("d.csv", "id,question\na,b\n"),
            ("d.csv", *CORPUS),
            "d.csv: no column 'stem'. The columns are: id, question",
            id="no stem column",
        ),
        pytest.param(
            nothing,
            (*ITEMS, *CORPUS, "--map", "stem=pergunta"),
            "no column 'pergunta' (for stem)",
            id="map of unknown column",
        ),
        pytest.param(
            nothing, (*ITEMS, *CORPUS, "--map", "stam=stem"), "'stam' is no field", id="map of unknown field"
        ),
        pytest.param(
            nothing,
            (*ITEMS, *CORPUS, "--column", "corpo"),
            "rows.jsonl: no column 'corpo'. Name one of: id, text",
            id="unknown column",
        ),
        pytest.param(
            nothing, (*ITEMS, "--corpus", "nowhere"), "nowhere: no such file or folder", id="missing corpus"
        ),
        pytest.param(
            folders("void"),
            (*ITEMS, "--corpus", "void"),
            "void: there is no file here",
            id="empty corpus folder",
        ),
        pytest.param(
            nothing, (*ITEMS, "--corpus", "*.xyz"), "*.xyz: there is no file here", id="glob of nothing"
        ),
        pytest.param(nothing, ("corpus", *CORPUS), "corpus: is a folder", id="items are a folder"),
        pytest.param(nothing, ("nowhere.csv", *CORPUS), "nowhere.csv: no such file", id="missing items"),
        pytest.param(
            nothing, (*ITEMS, *CORPUS, "--corpus", "./corpus/"), "named twice", id="same corpus twice"
        ),
        pytest.param(
            nothing,
            (*ITEMS, "--corpus", "items.csv"),
            "holds nothing but the items",
            id="items as corpus",
        ),
        pytest.param(
            nothing,
            (*ITEMS, *CORPUS, "--workers", "0"),
            "'--workers': 0 is not in the range",
            id="no workers",
        ),
        pytest.param(
            nothing,
            (*ITEMS, *CORPUS, "--benchmark", "b"),
            "--benchmark: there is no workspace here",
            id="benchmark without workspace",
        ),
        pytest.param(nothing, ITEMS, "--corpus: no text to search", id="no corpus"),
    ],
)
def test_bad_input_gets_one_clear_line_and_nothing_is_written(
    here: Path, capsys: Capture, prepare: Callable[[Path], None], arguments: tuple[str, ...], said: str
) -> None:
    prepare(here)
    assert vet(*arguments, "--out", "out") == Exit.BAD_INPUT
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = [line for line in err.splitlines() if line.startswith(("lacre:", "Error:"))]
    assert said in line
    assert not (here / "out").exists()


@pytest.mark.parametrize(
    ("prepare", "out", "said"),
    [
        pytest.param(bad("out", "a file"), "out", "out: is not a folder", id="a file"),
        pytest.param(bad("out", "a file"), "out/below", "out is not a folder", id="below a file"),
        pytest.param(
            folders("out/vetting.html"), "out", "vetting.html: is a folder", id="a folder in the page's place"
        ),
        pytest.param(
            nothing, "/proc/lacre", "/proc/lacre: cannot be written", id="a place that takes no files"
        ),
    ],
)
def test_a_wrong_out_is_noticed_before_anything_is_read(
    here: Path, capsys: Capture, prepare: Callable[[Path], None], out: str, said: str
) -> None:
    prepare(here)
    # The corpus is missing too: the message about it would come later.
    assert vet("items.csv", "--corpus", "nowhere", "--out", out) == Exit.BAD_INPUT
    assert said in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_out_without_permission_is_noticed_before_anything_is_read(here: Path, capsys: Capture) -> None:
    (here / "locked").mkdir(mode=0o500)
    assert vet("items.csv", "--corpus", "nowhere", "--out", "locked/out") == Exit.BAD_INPUT
    assert "cannot be written (Permission denied)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        pytest.param("cut.txt.gz", None, "the archive is cut short", id="truncated gz"),
        pytest.param("cut.txt.zst", None, "the archive is cut short", id="truncated zst"),
        pytest.param("noise.txt", binary(50_000), "garbled", id="binary file named .txt"),
        pytest.param("bad.jsonl", '{"text": "um"}\n' + '{"text": \n' * 9, "not JSON", id="mostly bad lines"),
    ],
)
def test_what_cannot_be_read_makes_unknown_and_is_named(
    here: Path, capsys: Capture, name: str, content: str | bytes | None, said: str
) -> None:
    bad(name, compressed(name) if content is None else content)(here)
    assert vet("items.csv", "--corpus", name, "--out", "out") == Exit.INCOMPLETE
    out, err = capsys.readouterr()
    assert said in err
    assert name in err
    assert {line.split("\t")[1] for line in out.splitlines()[1:]} == {"unknown"}
    assert said in (here / "out" / "vetting.html").read_text(encoding="utf-8")


def compressed(name: str) -> bytes:
    import gzip  # noqa: PLC0415

    import zstandard  # noqa: PLC0415

    text = " ".join(f"palavra{number}" for number in range(200_000)).encode()
    whole = gzip.compress(text) if name.endswith("gz") else zstandard.compress(text)
    return whole[: len(whole) // 2]


def test_one_bad_line_is_named_and_the_verdict_stands_beside_it(here: Path, capsys: Capture) -> None:
    good = json.dumps({"text": FILLER * 200}) + "\n"
    (here / "bad.jsonl").write_text(good + "{bad\n" + good)
    assert vet("items.csv", "--corpus", "bad.jsonl") == Exit.CLEAN
    err = capsys.readouterr().err
    assert "bad.jsonl: 2 documents" in err
    assert "not read: bad.jsonl, line 2: not JSON" in err


def test_leaks_are_found_beside_a_broken_file_and_the_code_says_unknown(here: Path, capsys: Capture) -> None:
    bad("corpus/cut.txt.gz", compressed("cut.txt.gz"))(here)
    assert vet("items.csv", "--corpus", "corpus") == Exit.INCOMPLETE
    rows = [line.split("\t")[:2] for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == [["q1", "drop"], ["q2", "unknown"]]


def test_the_items_may_lie_in_the_corpus_and_so_may_the_results(here: Path, capsys: Capture) -> None:
    (here / "corpus" / "page.txt").unlink()
    for _ in range(2):
        assert vet("items.csv", "--corpus", ".", "--out", "out") == Exit.CLEAN
    assert "noticed: items.csv: the items themselves" in capsys.readouterr().err
    assert names(here / "out") == FILES


def test_rules_and_boilerplate_of_the_workspace_hold(here: Path, capsys: Capture) -> None:
    assert run(["init", ".", "--benchmark", "b"]) == Exit.CLEAN
    (here / "registry" / "boilerplate.txt").write_text(f"{STEM}\tRevisão\t2026-03-31\n", encoding="utf-8")
    assert vet("items.csv", "--corpus", "corpus") == Exit.CLEAN
    (here / "registry" / "boilerplate.txt").write_text("sem dono\n", encoding="utf-8")
    assert vet("items.csv", "--corpus", "corpus") == Exit.BAD_INPUT
    assert "boilerplate.txt:1" in capsys.readouterr().err


def test_a_full_disk_leaves_the_journal_and_the_table_is_printed_all_the_same(here: Path) -> None:
    (here / "out").mkdir()
    (here / "out" / "verdicts.jsonl").write_text("before\n")
    # Once without a limit, so that what is compiled is in its cache.
    assert vet("items.csv", "--corpus", "corpus") == Exit.FINDING
    command = shlex.join([*PROGRAM, "items.csv", "--corpus", "corpus", "--out", "out"])
    ended = subprocess.run(
        ["sh", "-c", f"ulimit -f 20; exec {command}"],
        capture_output=True,
        text=True,
        check=False,
        env=untraced(),
    )
    assert ended.returncode == Exit.INCOMPLETE
    assert "q1\tdrop" in ended.stdout
    assert "could not be written (File too large)" in ended.stderr
    assert names(here / "out") == ["verdicts.jsonl", "vetting.journal"]
    assert (here / "out" / "verdicts.jsonl").read_text() == "before\n"
    # With room again: what was read is not read again, and the results are there.
    (here / "corpus" / "page.txt").write_text("")
    os.utime(here / "corpus" / "rows.jsonl", ns=(1, 1))
    assert vet("items.csv", "--corpus", "corpus", "--out", "out") == Exit.BAD_INPUT
    assert vet("items.csv", "--corpus", "corpus", "--out", "out", "--resume") == Exit.CLEAN
    assert names(here / "out") == FILES


@pytest.mark.untraced
@pytest.mark.parametrize("wait", ["Indexing", "MB of text"])
def test_ctrl_c_ends_soon_and_leaves_nothing_but_the_journal(here: Path, wait: str) -> None:
    text = (FILLER * 10_000 + "\n").encode()
    with (here / "corpus" / "big.txt").open("wb") as file:
        for _ in range(600):
            file.write(text)
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*PROGRAM, "items.csv", "--corpus", "corpus", "--out", "out"], stdout=subprocess.PIPE, stderr=theirs
    ) as process:
        os.close(theirs)
        seen = b""
        while wait.encode() not in seen:
            assert select.select([ours], [], [], 60)[0], seen
            seen += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        # The terminal must be read on, or the command would wait for it.
        while select.select([ours], [], [], 30)[0]:
            try:
                block = os.read(ours, 4096)
            except OSError:
                break
            seen += block
        assert process.wait(30) == Exit.INTERRUPTED
        took = time.monotonic() - sent
        assert process.stdout is not None
        assert process.stdout.read() == b""
    os.close(ours)
    assert took < 5, took  # two seconds where the machine is not shared
    assert b"interrupted" in seen
    assert b"Traceback" not in seen
    assert names(here / "out") in ([], ["vetting.journal"])
    assert (b"--resume goes on" in seen) == (names(here / "out") != [])


def test_the_help_says_what_the_codes_mean(capsys: Capture) -> None:
    assert vet("--help") == Exit.CLEAN
    text = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert (
        "0 when every item is kept, 1 when some are not, 2 for bad input, 5 when something is unknown" in text
    )


ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial/vetting.md"])
def test_the_tables_in_the_docs_are_what_the_command_prints(
    page: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(ROOT)
    assert vet("registry/exemplo/open/items.jsonl", "--corpus", "docs/example-corpus") == Exit.FINDING
    out, err = capsys.readouterr()
    printed = {" ".join(line.split()) for line in (*out.splitlines(), *err.splitlines())}
    text = (ROOT / page).read_text(encoding="utf-8")
    block = next(block for block in text.split("```")[1::2] if "ex-63c1" in block)
    shown = [" ".join(line.split()) for line in block.splitlines() if line.strip() not in ("", "...")]
    assert len(shown) > 11
    assert set(shown) <= printed
