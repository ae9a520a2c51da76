"""``lacre compare`` as a person, a pipe and a script meet it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from lacre.cli import run
from lacre.errors import Exit

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    letters = {"alfa": "C" * 40, "beta": "C" * 36 + "E" * 4, "gama": "C" * 8 + "E" * 30 + "F" * 2}
    lines = [f"{name},q{n},{letter}" for name, own in letters.items() for n, letter in enumerate(own)]
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(["column,item,outcome", *lines, "alfa,extra,C", ""]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return path


def compare(*arguments: str) -> int:
    return run(["compare", *arguments, "--draws", "500"])


def test_ranks_and_pairs_are_printed_with_ties_marked(rows: Path, capsys: Capture) -> None:
    assert compare("answers.csv") == Exit.CLEAN
    out, err = capsys.readouterr()
    ranks, pairs = (block.splitlines() for block in out.split("\n\n"))
    assert ranks[0] == "rank\tcolumn\taccuracy\trank, all claims at once"
    assert [line.split("\t")[1] for line in ranks[1:]] == ["alfa", "beta", "gama"]
    names = pairs[0].split("\t")
    first = dict(zip(names, pairs[1].split("\t"), strict=True))
    assert (first["first"], first["second"], first["only first"], first["only second"]) == (
        "alfa",
        "beta",
        "4",
        "0",
    )
    assert first["p"] == "0.125"
    last = dict(zip(names, pairs[3].split("\t"), strict=True))
    assert (last["verdict"], last["p (Holm)"]) == ("differ", "<0.001")
    assert "without failures" in names
    assert "3 columns on 40 shared items" in err
    assert "alfa 1 items" in err


def test_json_and_figure(rows: Path, capsys: Capture) -> None:
    for name in ("a.svg", "b.svg"):
        assert compare("answers.csv", "--json", "--plot", name) == Exit.CLEAN
        found = json.loads(capsys.readouterr().out)
    assert found["left_out"] == {"alfa": 1, "beta": 0, "gama": 0}
    assert len(found["pairs"]) == 3
    assert rows.with_name("a.svg").read_bytes() == rows.with_name("b.svg").read_bytes()


def test_other_metrics(rows: Path, capsys: Capture) -> None:
    assert compare("answers.csv", "--metric", "penalised", "--t", "0.75") == Exit.CLEAN
    assert "penalised 0.75" in capsys.readouterr().out
    assert compare("answers.csv", "--metric", "error_when_attempted") == Exit.CLEAN
    assert "undefined: the denominators differ" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["answers.csv", "--only", "alfa"], "1 columns"),
        (["answers.csv", "--metric", "penalised", "--t", "1"], "t = 1"),
        (["answers.csv", "--level", "0"], "0.0 is not between 0 and 1"),
        (["answers.csv", "--plot", "."], "is no name for an SVG"),
        (["answers.csv", "--plot", "away/x.svg"], "there is no folder away"),
        (["answers.csv", "--t", "0.5"], "says nothing about accuracy"),
    ],
)
def test_bad_input_is_one_clear_line(rows: Path, arguments: list[str], said: str, capsys: Capture) -> None:
    assert compare(*arguments) == Exit.BAD_INPUT
    assert said in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.skipif(
    "LACRE_TEST_DATA" not in os.environ, reason="LACRE_TEST_DATA is not set: no recorded letters"
)
def test_recorded_letters_of_real_columns_are_compared(capsys: Capture) -> None:
    folder = Path(os.environ["LACRE_TEST_DATA"]) / "outputs" / "llm_enem_arruda"
    files = [str(path) for path in sorted(folder.glob("*.json"))]
    assert compare(*files, "--map", "item=id,answer=pred,key=gold", "--json") == Exit.CLEAN
    found = json.loads(capsys.readouterr().out)
    assert (found["items"], len(found["pairs"])) == (118, 105)
    best = found["ranks"][0]
    assert (best["column"], best["best"]) == ("reports__gpt-4-0613_enem_cot_2022_3_shot", 1)
    assert best["value"]["value"] == pytest.approx(102 / 118)
    closest = found["pairs"][0]
    assert closest["tie"] is True
    assert (closest["test"]["only_first"], closest["test"]["only_second"]) == (9, 4)


def test_one_item_is_a_tie_with_the_interval_that_score_prints(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "one.csv"
    path.write_text("column,item,outcome\na,q1,C\nb,q1,E\n", encoding="utf-8")
    assert compare(str(path)) == Exit.CLEAN
    out = capsys.readouterr().out
    assert "1-2\ta\t100.0% [20.7, 100.0]\t1-2" in out
    assert "+100.0 [-12.2, +100.0]\ttie" in out
    assert run(["score", str(path)]) == Exit.CLEAN
    assert "a\t1\t100.0% [20.7, 100.0]" in capsys.readouterr().out


def test_a_pair_without_an_interval_is_undecided_and_says_why(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "alike.csv"
    lines = [f"{name},q{n},{score}" for name, score in (("a", 0.9), ("b", 0.4)) for n in range(20)]
    path.write_text("\n".join(["column,item,score", *lines, ""]), encoding="utf-8")
    assert compare(str(path), "--metric", "mean_score") == Exit.CLEAN
    out = capsys.readouterr().out
    assert "+50.0 [no interval]\tundecided: all resamples give the same value" in out
    assert "differ\t" not in out
