"""``lacre duplicates`` as a person and a script meet it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from lacre.cli import run
from lacre.errors import Exit

Capture = pytest.CaptureFixture[str]
STEM = (
    "Depois da enchente, o padeiro da vila mediu a altura da água no forno com um cabo de vassoura e anotou "
    "trinta e sete centímetros no caderno. Que parte do forno ficou seca?"
)
OPTIONS = "(A) A boca de ferro fundido. (B) A chaminé de tijolos. (C) O cinzeiro de baixo."
TURNED = "(A) O cinzeiro de baixo. (B) A boca de ferro fundido. (C) A chaminé de tijolos."
OTHER = "Que instrumento o maestro da banda esqueceu dentro da jaula do papagaio antes do desfile de domingo?"


def write(path: str, *rows: tuple[str, str, str, str, str]) -> None:
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("id", "stem", "options", "key", "prova"), *rows])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in no workspace, with items of two exams; we are in it."""
    monkeypatch.chdir(tmp_path)
    write(
        "items.csv",
        ("q1", STEM, OPTIONS, "B", "um"),
        ("q2", STEM, TURNED, "A", "um"),
        ("q3", STEM.replace("trinta", "vinte"), OPTIONS, "B", "dois"),
        ("q4", OTHER, "(A) A tuba (B) O flautim", "A", "dois"),
    )
    return tmp_path


def test_a_pipe_gets_the_conflicts_first_and_the_numbers_go_to_stderr(here: Path, capsys: Capture) -> None:
    assert run(["duplicates", "items.csv", "--source", "prova"]) == Exit.FINDING
    out, err = capsys.readouterr()
    rows = [line.split("\t") for line in out.splitlines()]
    assert rows[0] == ["what", "items", "alike", "keys", "why"]
    assert rows[1] == ["copy", "q1 = q2", "100%", "conflict", "the keys name different options"]
    assert [row[:2] for row in rows[2:4]] == [["variant", "q1 = q3"], ["variant", "q2 = q3"]]
    assert rows[4][:2] == ["passage", "q1, q2"] or "q1, q2" in rows[4][1]
    assert "source um: rejected: 1 of 1 pairs of copies among its 2 items name different keys" in err
    assert "source dois" not in err
    assert "4 new items: 1 pairs of copies, 2 of variants, 1 with conflicting keys" in err


def test_no_word_of_an_item_is_printed_or_written(here: Path, capsys: Capture) -> None:
    assert run(["duplicates", "items.csv", "--json", "--out", "found.json"]) == Exit.FINDING
    printed = capsys.readouterr().out
    assert json.loads(printed) == json.loads(Path("found.json").read_text())
    assert "padeiro" not in printed


def test_items_that_are_alike_in_nothing_are_clean(here: Path, capsys: Capture) -> None:
    write("items.csv", ("q1", STEM, OPTIONS, "B", "x"), ("q2", OTHER, "(A) A tuba (B) O flautim", "A", "x"))
    assert run(["duplicates", "items.csv"]) == Exit.CLEAN
    assert capsys.readouterr().out == "what\titems\talike\tkeys\twhy\n"


def test_other_files_are_compared_to_the_new_items_alone(here: Path, capsys: Capture) -> None:
    write("new.csv", ("n1", OTHER, "(A) A tuba (B) O flautim", "A", ""))
    assert run(["duplicates", "new.csv", "--against", "items.csv"]) == Exit.FINDING
    out = capsys.readouterr().out
    assert out.splitlines()[1:] == ["copy\tn1 = q4 (items.csv)\t100%\tagree\t"]


def test_the_layers_of_a_benchmark_are_compared_by_its_rules(workspace: Path, capsys: Capture) -> None:
    stem = "Qual destas xícaras o gato da farmácia derrubou de manhã?"
    write("new.csv", ("n1", stem, "(A) A verde (B) A azul", "A", ""))
    assert run(["duplicates", "new.csv", "--benchmark", "exemplo"]) == Exit.FINDING
    assert "copy\tn1 = ex-01 (open)\t100%\tagree" in capsys.readouterr().out
    with Path("registry/exemplo/benchmark.toml").open("a") as file:
        file.write("\n[duplicates]\nmin_bits = 4000.0\n")
    # The same words are a copy however few they are; nearly the same ones no longer are.
    write("new.csv", ("n1", stem.replace("da farmácia", "da framácia"), "(A) A verde (B) A azul", "A", ""))
    assert run(["duplicates", "new.csv", "--benchmark", "exemplo"]) == Exit.CLEAN
    assert "3 items say too little" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.csv"], "nowhere.csv: no such file"),
        (["items.csv", "--against", "items.csv", "--against", "items.csv"], "named twice"),
        (["items.csv", "--source", "exame"], "no column 'exame'"),
        (["items.csv", "--benchmark", "exemplo"], "there is no workspace here"),
        (["items.csv", "--out", "items.csv/found.json"], "cannot be written"),
    ],
)
def test_bad_input_gets_one_line(here: Path, capsys: Capture, arguments: list[str], said: str) -> None:
    assert run(["duplicates", *arguments]) == Exit.BAD_INPUT
    assert said in capsys.readouterr().err
