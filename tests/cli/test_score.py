"""``lacre score`` as a person, a pipe and a script meet it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lacre.cli import run
from lacre.errors import Exit

Capture = pytest.CaptureFixture[str]

ROWS = """\
column,item,outcome,confidence,expects,looks_sensitive,area
alfa,q1,C,0.9,answer,false,saude
alfa,q2,C,0.7,answer,true,saude
alfa,q3,E,0.8,answer,false,direito
alfa,q4,A,,abstention,false,direito
alfa,q5,F,,answer,false,direito
beta,q1,E,,answer,false,saude
beta,q2,R,,answer,true,saude
beta,q3,E,,answer,false,direito
beta,q4,A,,abstention,false,direito
"""


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "answers.csv").write_text(ROWS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "answers.csv"


def score(*arguments: str) -> int:
    return run(["score", *arguments, "--draws", "200"])


def test_the_table_keeps_the_three_together_with_intervals(rows: Path, capsys: Capture) -> None:
    assert score("answers.csv") == Exit.CLEAN
    out, err = capsys.readouterr()
    first = out.splitlines()[0].split("\t")
    assert first == [
        "column",
        "items",
        "accuracy",
        "where one expects an answer",
        "error when attempted",
        "abstention",
        "refusal",
        "failure",
    ]
    alfa = dict(zip(first, out.splitlines()[1].split("\t"), strict=True))
    assert alfa["accuracy"] == "40.0% [11.8, 76.9]"
    assert alfa["where one expects an answer"] == "50.0% [15.0, 85.0]"
    assert alfa["refusal"] == "0.0% [≤ 60.0]"
    assert "Penalised score" in out
    assert "t = 0.75" in out
    assert "3 of 3 (100%)" in out
    assert "undefined: no confidence returned" in out
    assert "10 bins (lo, hi], 0 in the first" in out
    assert "beta 1" in err
    assert "none of beta states one" in err


def test_json_has_every_record(rows: Path, capsys: Capture) -> None:
    assert score("answers.csv", "--json", "--by", "area") == Exit.CLEAN
    board = json.loads(capsys.readouterr().out)
    assert [column["column"] for column in board["columns"]] == ["alfa", "beta"]
    headline = board["columns"][0]["headline"]
    assert set(headline) == {"accuracy", "error_when_attempted", "abstention"}
    assert headline["accuracy"]["interval"]["method"] == "Wilson"
    assert board["columns"][1]["calibration"] == {
        "type": "no_confidence",
        "attempted": 2,
        "reason": "no confidence returned",
    }
    assert board["columns"][1]["over_refusal"]["value"] == 1.0
    assert [row["values"] for row in board["strata"]] == [["direito"], ["saude"], ["direito"], ["saude"]]
    assert all(row["small"] for row in board["strata"])


def test_the_same_command_prints_the_same_bytes(rows: Path, capsys: Capture) -> None:
    outputs = []
    for seed in ("0", "0", "1"):
        assert score("answers.csv", "--json", "--seed", seed) == Exit.CLEAN
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    assert outputs[0] != outputs[2]


def test_strata_are_flagged_when_small(rows: Path, capsys: Capture) -> None:
    assert score("answers.csv", "--by", "area", "--by", "expects") == Exit.CLEAN
    out = capsys.readouterr().out
    assert "By area, expects" in out
    assert "under 20 items" in out
    assert "alfa\tdireito\tabstention\t1\t" in out


def test_one_column_alone(rows: Path, capsys: Capture) -> None:
    assert score("answers.csv", "--only", "alfa") == Exit.CLEAN
    assert "beta" not in capsys.readouterr().out
    assert score("answers.csv", "--only", "gama") == Exit.BAD_INPUT
    assert "There are: alfa, beta" in capsys.readouterr().err


@pytest.mark.parametrize("figure", ["intervals", "reliability", "risk-coverage"])
def test_figures_are_written_and_are_the_same_each_time(rows: Path, figure: str, capsys: Capture) -> None:
    for name in ("a.svg", "b.svg"):
        assert score("answers.csv", "--plot", name, "--figure", figure) == Exit.CLEAN
    first, second = (rows.with_name(name).read_bytes() for name in ("a.svg", "b.svg"))
    assert first.startswith(b"<?xml")
    assert first == second


def test_open_ended_scores_show_their_mean_and_take_a_threshold(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "open.jsonl"
    path.write_text('{"item":"a","score":0.5}\n{"item":"b","score":1}\n{"item":"c","outcome":"R"}\n')
    assert score(str(path)) == Exit.CLEAN
    out = capsys.readouterr().out
    assert "mean score" in out
    assert "50.0%" in out
    assert "undefined: 2 answers have a score and no class; set a threshold" in out
    assert score(str(path), "--threshold", "0.6") == Exit.CLEAN
    assert "33.3% [6.1, 79.2]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.csv"], "no such file"),
        (["answers.csv", "--t", "1"], "t = 1 makes the penalty infinite"),
        (["answers.csv", "--level", "95"], "95.0 is not between 0 and 1"),
        (["answers.csv", "--by", "colour"], "no column 'colour' to split by"),
        (["answers.csv", "--map", "key=gold"], "no column 'gold' (for key)"),
        (["answers.csv", "--plot", "figure.png"], "is no name for an SVG"),
        (["missing.csv", "--plot", "away/figure.svg"], "there is no folder away"),
        (["answers.csv", "--figure", "intervals"], "Add --plot FILE.svg"),
        (["answers.csv", "--threshold", "7"], "7.0 is not a number from 0 to 1"),
        (
            ["answers.csv", "--only", "beta", "--plot", "f.svg", "--figure", "reliability"],
            "needs confidences",
        ),
    ],
)
def test_bad_input_is_one_clear_line(rows: Path, arguments: list[str], said: str, capsys: Capture) -> None:
    assert score(*arguments) == Exit.BAD_INPUT
    err = capsys.readouterr().err.splitlines()
    assert said in err[-1]
    assert err[-1].startswith("lacre: ")
    assert not list(rows.parent.glob("*.svg"))
    assert not rows.with_name("away").exists()


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ("C,0.3,A,A", "score beside answer and key"),
        (",0.3,A,A", "score beside answer and key"),
        ("C,0,,", "outcome C and score 0 contradict"),
        ("E,1,,", "outcome E and score 1 contradict"),
        ("C,,A,B", "outcome C, but answer 'A' and key 'B' say otherwise"),
        ("E,,b,B", "outcome E, but answer 'b' and key 'B' say otherwise"),
        ("C,,A,A", ""),
        ("C,0.6,,", ""),
        ("R,0,,", ""),
        ("A,,A,B", ""),
    ],
)
def test_a_row_that_contradicts_itself_is_named_by_its_line(
    tmp_path: Path, cells: str, said: str, capsys: Capture
) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"item,outcome,score,answer,key\nq0,C,,,\nq1,{cells}\n", encoding="utf-8")
    assert score(str(path)) == (Exit.BAD_INPUT if said else Exit.CLEAN)
    err = capsys.readouterr().err
    assert said in err
    assert ("x.csv:3: " in err) == bool(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("item,score\na,0.5\nb,0.7\n", "undefined: no answer has a class; set a threshold"),
        ("item,outcome,score\na,C,\nb,,0.7\n", "undefined: 1 answers have a score and no class"),
        ("item,outcome\na,A\nb,R\n", "undefined: no answer was attempted"),
    ],
)
def test_error_when_attempted_says_why_there_is_none(
    tmp_path: Path, text: str, said: str, capsys: Capture
) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text, encoding="utf-8")
    assert score(str(path)) == Exit.CLEAN
    names, cells = (line.split("\t") for line in capsys.readouterr().out.splitlines()[:2])
    assert cells[names.index("error when attempted")].startswith(said)


@pytest.mark.parametrize("key", ["anulada", "Anulado", "*", "X"])
def test_annulled_questions_are_counted_and_left_out(tmp_path: Path, key: str, capsys: Capture) -> None:
    path = tmp_path / "m.csv"
    path.write_text(f"item,answer,key\na,A,A\nb,B,{key}\nc,C,A\n", encoding="utf-8")
    assert score(str(path)) == Exit.CLEAN
    out, err = capsys.readouterr()
    assert out.splitlines()[1].startswith("m\t2\t50.0%")
    assert "1 answers are left out: their key says that the question was annulled" in err


def test_ids_that_a_table_program_wrote_as_floats_join_whole_ones(tmp_path: Path, capsys: Capture) -> None:
    files = {
        "a.csv": "item,outcome,repetition\n1.0,C,1.0\n2.0,E,1.0\n",
        "b.jsonl": '{"item":1.0,"outcome":"C"}\n{"item":2,"outcome":"C"}\n',
        "c.csv": "item,outcome\n1,C\n2,C\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert run(["compare", *(str(tmp_path / name) for name in files), "--draws", "100"]) == Exit.CLEAN
    err = capsys.readouterr().err
    assert "3 columns on 2 shared items" in err
    assert "3 items are written like 2.0 and were read as 2" in err


def test_ids_with_a_point_among_others_stay_as_they_are(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "m.csv"
    path.write_text("item,outcome\n2,C\n2.0,C\n2.1,E\n", encoding="utf-8")
    assert score(str(path)) == Exit.CLEAN
    out, err = capsys.readouterr()
    assert out.splitlines()[1].startswith("m\t3\t")
    assert "read as 2" not in err
