"""`lacre classify`: what it prints and writes, what it refuses, and the audit from draw to report."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lacre.cli import run
from lacre.engine.folders import Classified
from lacre.errors import Exit

PLAIN = ("--answers", "plain.jsonl", "--letters", "ABC")
REPLIES = ("--answers", "replies.csv", "--items", "items.csv")


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_answers_are_classified_with_the_items_keys(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["classify", "replies.csv", "--items", "items.csv", "--out", "out.jsonl"]) == Exit.FINDING
    said = capsys.readouterr()
    lines = [line.split("\t") for line in said.out.splitlines()]
    assert lines[0] == ["column", "answers", "letters", "C", "E", "A", "R", "F", "left", "left to the judges"]
    assert lines[1][:9] == ["alfa", "2", "1", "1", "0", "1", "0", "0", "0"]
    assert lines[2][:9] == ["beta", "2", "0", "0", "0", "0", "1", "0", "1"]
    assert "1 left: several letters are asserted." in said.err
    found = {(row["column"], row["item"]): row for row in rows(workspace / "out.jsonl")}
    read = {key: row["classification"] for key, row in found.items()}
    assert read["alfa", "q1"]["outcome"] == "correct"
    assert read["alfa", "q1"]["confidence"] == 0.9
    assert read["beta", "q1"]["undecided"] == "several letters are asserted"
    assert read["beta", "q1"]["outcome"] is None
    assert read["gama", "q1"]["letter"] == "B"


def test_the_records_hold_no_text_of_the_answers(workspace: Path) -> None:
    run(["classify", "replies.csv", "--items", "items.csv", "--out", "out.jsonl"])
    assert "correta" not in (workspace / "out.jsonl").read_text(encoding="utf-8")


def test_json_has_columns_and_answers(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["classify", "replies.csv", "--letters", "ABC", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert [each["column"] for each in found["columns"]] == ["alfa", "beta", "gama"]
    assert len(found["answers"]) == 5


def test_all_decided_is_clean_and_scored(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = 'column,item,answer,options,key\nalfa,q1,Letra B.,(A) um (B) dois,B\nalfa,q2,"Não sei.",(A) um (B) dois,A\n'
    (workspace / "own.csv").write_text(table, encoding="utf-8")
    assert run(["classify", "own.csv", "--answers", "own.jsonl"]) == Exit.CLEAN
    assert run(["score", "own.jsonl"]) == Exit.CLEAN
    assert "50.0%" in capsys.readouterr().out


def test_what_is_left_is_scored_only_where_somebody_says_as_what(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["classify", "replies.csv", "--items", "items.csv", "--answers", "out.jsonl"]
    assert run(arguments) == Exit.FINDING
    assert "not written, for 1 answer is left" in capsys.readouterr().err
    assert not (workspace / "out.jsonl").exists()
    run([*arguments, "--undecided", "E", "--json"])
    assert run(["score", "out.jsonl"]) == Exit.CLEAN
    found = {(row["column"], row["item"]): row["outcome"] for row in rows(workspace / "out.jsonl")}
    assert found["beta", "q1"] == "wrong"


def test_a_file_and_a_run_are_written_in_one_shape(workspace: Path) -> None:
    run(["classify", "replies.csv", "--items", "items.csv", "--out", "out.jsonl"])
    run(["run", "start", "items.csv", "--column", "local", "--out", "runs/one"])
    run(["run", "answers", "runs/one"])
    own, of_run = rows(workspace / "out.jsonl"), rows(workspace / "runs" / "one" / "classified.jsonl")
    assert {tuple(row) for row in own} == {tuple(row) for row in of_run}
    assert {tuple(row["classification"]) for row in own} == {tuple(row["classification"]) for row in of_run}
    first = msgspec.json.decode((workspace / "out.jsonl").read_bytes().splitlines()[0], type=Classified)
    assert first.kind == "choice"


def test_the_number_of_the_item_tells_which_answer_is_its_own(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "Questão 1:\nResposta: A\nQuestão 2:\nResposta: C"
    (workspace / "few.jsonl").write_text(json.dumps({"id": "q", "said": text}) + "\n", encoding="utf-8")
    common = ["classify", "few.jsonl", "--map", "item=id,answer=said", "--letters", "ABC", "--json"]
    assert run(common) == Exit.FINDING
    capsys.readouterr()
    assert run([*common, "--number", "2"]) == Exit.CLEAN
    assert json.loads(capsys.readouterr().out)["answers"][0]["letter"] == "C"


REFUSED = {
    "no file": (["nowhere.csv", "--letters", "AB"], "no such file"),
    "no options": (["replies.csv"], "its rows have no options"),
    "no column": (["replies.csv", "--letters", "AB", "--map", "item=id"], "no column 'id'"),
    "no field": (["replies.csv", "--letters", "AB", "--map", "thing=id"], "no field 'thing'"),
    "map is no pair": (["replies.csv", "--letters", "AB", "--map", "item"], "is not FIELD=COLUMN"),
    "letters are none": (["replies.csv", "--letters", "A1"], "are no letters"),
    "an item unknown": (["replies.csv", "--items", "other.csv"], "item 'q1' is none of --items"),
    "out is the file": (
        ["replies.csv", "--letters", "AB", "--out", "replies.csv"],
        "the file of answers itself",
    ),
    "out is a folder": (["replies.csv", "--letters", "AB", "--out", "corpus"], "is a"),
    "one file for two": (
        ["replies.csv", "--letters", "AB", "--out", "o.jsonl", "--answers", "o.jsonl"],
        "by --out and by --answers",
    ),
    "undecided of nothing": (["replies.csv", "--letters", "AB", "--undecided", "F"], "is of --answers"),
    "a folder": (["corpus", "--letters", "AB"], "is a folder"),
    "finish unknown": (["finish.csv", "--letters", "AB"], "finish 'maybe' is not known"),
    "run twice": (["twice.csv", "--letters", "AB"], "on line 2 already"),
    "repetition": (["repetition.csv", "--letters", "AB"], "is no number from 1 on"),
    "expects": (["expects.csv", "--letters", "AB"], "expects 'nothing' is not"),
}


@pytest.mark.parametrize(("arguments", "what"), REFUSED.values(), ids=REFUSED)
def test_bad_input_gets_its_line(
    arguments: list[str], what: str, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in {
        "other.csv": "id,stem,options,key\nz9,Qual?,(A) um (B) dois,A\n",
        "finish.csv": "item,answer,finish\nq1,B,maybe\n",
        "twice.csv": "item,answer\nq1,B\nq1,A\n",
        "repetition.csv": "item,answer,repetition\nq1,B,0\n",
        "expects.csv": "item,answer,expects\nq1,B,nothing\n",
    }.items():
        (workspace / name).write_text(text, encoding="utf-8")
    assert run(["classify", *arguments]) == Exit.BAD_INPUT
    assert what in capsys.readouterr().err


def answers(workspace: Path) -> Path:
    """Thirty answers whose letter is plain."""
    path = workspace / "plain.jsonl"
    lines = [
        json.dumps({"column": "alfa", "item": f"q{n:02}", "answer": f"Letra {'ABC'[n % 3]}."})
        for n in range(30)
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_an_audit_goes_from_draw_to_report(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers(workspace)
    run(["classify", "plain.jsonl", "--letters", "ABC", "--out", "read.jsonl"])
    draw = [
        "classify",
        "audit",
        "draw",
        "read.jsonl",
        "--seed",
        "3",
        "--size",
        "4",
        "--out",
        "a.jsonl",
        *PLAIN,
    ]
    assert run(draw) == Exit.CLEAN
    assert "4 of 30 letters, seed 3" in capsys.readouterr().out
    assert run(draw) == Exit.BAD_INPUT
    assert "is there already" in capsys.readouterr().err
    assert run(["classify", "audit", "report", "a.jsonl"]) == Exit.INCOMPLETE

    wanted = [row for row in rows(workspace / "a.jsonl") if row["record"] == "extraction"]
    # The last answer is read otherwise than by the rule, and one letter is no option at first.
    typed = [*(row["letter"] for row in wanted[:3]), "Q", "none"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(typed) + "\n"))
    record = [
        "classify",
        "audit",
        "record",
        "a.jsonl",
        "--who",
        "Ana",
        "--answers",
        "plain.jsonl",
        "--letters",
        "ABC",
    ]
    assert run(record) == Exit.CLEAN
    said = capsys.readouterr()
    assert "4 recorded, 0 left for Ana" in said.out
    assert "Q is no option of the item" in said.err
    assert run(["classify", "audit", "report", "a.jsonl", "--json"]) == Exit.FINDING
    found = json.loads(capsys.readouterr().out)
    assert found["error"]["value"] == 0.25
    assert found["wrong"][0]["right"] == "none"


def test_a_reader_stops_and_goes_on(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers(workspace)
    run(["classify", "plain.jsonl", "--letters", "ABC", "--out", "read.jsonl"])
    run(["classify", "audit", "draw", "read.jsonl", "--seed", "3", "--size", "4", "--out", "a.jsonl", *PLAIN])
    record = [
        "classify",
        "audit",
        "record",
        "a.jsonl",
        "--who",
        "Ana",
        "--answers",
        "plain.jsonl",
        "--letters",
        "ABC",
    ]
    monkeypatch.setattr("sys.stdin", io.StringIO("A\n\n"))
    capsys.readouterr()
    assert run(record) == Exit.CLEAN
    assert "1 recorded, 3 left for Ana" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.StringIO("A\nA\nA\n"))
    assert run(record) == Exit.CLEAN
    assert "3 recorded, 0 left for Ana" in capsys.readouterr().out


def test_answers_that_changed_since_are_refused(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = answers(workspace)
    run(["classify", "plain.jsonl", "--letters", "ABC", "--out", "read.jsonl"])
    run(
        ["classify", "audit", "draw", "read.jsonl", "--seed", "3", "--size", "30", "--out", "a.jsonl", *PLAIN]
    )
    path.write_text(path.read_text(encoding="utf-8").replace("Letra A", "Letra C"), encoding="utf-8")
    record = [
        "classify",
        "audit",
        "record",
        "a.jsonl",
        "--who",
        "Ana",
        "--answers",
        "plain.jsonl",
        "--letters",
        "ABC",
    ]
    assert run(record) == Exit.BAD_INPUT
    assert "is another text than was classified" in capsys.readouterr().err


AUDIT_REFUSED = {
    "no letter given": (["record", "audit.jsonl", "x1", "--who", "Ana"], "--right: is missing"),
    "nothing named": (["record", "audit.jsonl", "--who", "Ana"], "EXTRACTION: is missing"),
    "not drawn": (["record", "audit.jsonl", "x7", "--right", "B", "--who", "Ana"], "was not drawn"),
    "no letter": (["record", "audit.jsonl", "x1", "--right", "two", "--who", "Ana"], "is no letter"),
    "no audit": (["report", "classified.jsonl"], "record"),
    "no such column": (
        ["draw", "classified.jsonl", "--seed", "1", "--out", "b.jsonl", "--column", "z", *REPLIES],
        "no column z",
    ),
}


@pytest.mark.parametrize(("arguments", "what"), AUDIT_REFUSED.values(), ids=AUDIT_REFUSED)
def test_an_audit_refuses_what_it_cannot_take(
    arguments: list[str], what: str, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["classify", "audit", *arguments]) == Exit.BAD_INPUT
    assert what in capsys.readouterr().err


def test_letters_of_a_run_can_be_audited(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        run(["run", "start", "exemplo", "--column", "local", "--kind", "choice", "--out", "runs/a"])
        == Exit.CLEAN
    )
    assert run(["classify", "audit", "draw", "runs/a", "--seed", "1", "--out", "a.jsonl"]) == Exit.CLEAN
    monkeypatch.setattr("sys.stdin", io.StringIO("b\n"))
    assert (
        run(["classify", "audit", "record", "a.jsonl", "--who", "Ana", "--answers", "runs/a"]) == Exit.CLEAN
    )
    capsys.readouterr()
    assert run(["classify", "audit", "report", "a.jsonl"]) == Exit.CLEAN
    assert "0.0%" in capsys.readouterr().out


def test_the_letters_of_a_run_are_audited_from_its_folder(
    workspace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["run", "start", "items.csv", "--column", "local", "--out", "runs/first"]) == Exit.CLEAN
    run(["classify", "audit", "draw", "runs/first", "--seed", "3", "--out", "own.jsonl"])
    drawn = [row for row in rows(workspace / "own.jsonl") if row["record"] == "extraction"]
    assert {(row["column"], row["letter"]) for row in drawn} == {("local", "B")}
    monkeypatch.setattr("sys.stdin", io.StringIO("B\n" * (len(drawn) - 1) + "none\n"))
    capsys.readouterr()
    run(
        [
            "classify",
            "audit",
            "record",
            "own.jsonl",
            "--who",
            "Ana",
            "--answers",
            "runs/first",
            "--items",
            "items.csv",
        ]
    )
    said = capsys.readouterr().out
    assert said.count("Alternativa B.") == len(drawn)
    assert run(["classify", "audit", "report", "own.jsonl"]) == Exit.FINDING
    assert "is none" in capsys.readouterr().err


def test_a_run_is_classified_where_it_was_run(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (workspace / "runs").mkdir(exist_ok=True)
    assert run(["classify", "runs", "--letters", "ABC"]) == Exit.BAD_INPUT
    assert "lacre run answers" in capsys.readouterr().err
