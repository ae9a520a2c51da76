"""`lacre agreement`: what it prints, what it refuses, and the real gradings (these need LACRE_TEST_DATA)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from lacre.cli import run
from lacre.errors import Exit


@pytest.fixture
def root() -> Path:
    named = os.environ.get("LACRE_TEST_DATA")
    if not named:
        pytest.skip("LACRE_TEST_DATA is not set: no real gradings here")
    return Path(named)


def rows(text: str) -> dict[tuple[str, str], list[str]]:
    """The first table, by raters and statistic."""
    lines = text.split("\n\n", maxsplit=1)[0].splitlines()[1:]
    cells = [line.split("\t") for line in lines]
    return {(row[0], row[1]): row[2:] for row in cells}


def panel(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_two_humans_of_pt_asag(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = root / "judgements/pt_asag_2018"
    names = [
        "student_answers_and_grades_v2",
        "student_answers_and_grades_v2_other_graders",
    ]
    arguments = ["agreement", *(str(folder / f"{name}.csv") for name in names)]
    arguments += ["--item", "question_id,answer_text", "--label", "grade", "--scale", "ordinal"]
    assert run([*arguments, "--repeats", "order"]) == Exit.CLEAN
    found = rows(capsys.readouterr().out)
    both = ", ".join(names)
    assert found[both, "Cohen's kappa"][0] == "0.832"
    assert found[both, "kappa, quadratic weights"][0] == "0.896"
    assert found[both, "Cohen's kappa"][4] == "9,856"
    assert run([*arguments, "--repeats", "nth"]) == Exit.CLEAN
    again = rows(capsys.readouterr().out)
    assert (again[both, "Cohen's kappa"][0], again[both, "Cohen's kappa"][4]) == ("0.832", "9,857")
    assert run(arguments) == Exit.BAD_INPUT
    # The answers are the students': an error must not quote them.
    assert "has rated this item on an earlier line" in capsys.readouterr().err


def test_four_judges_of_llm_bias_bench(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = root / "judgements/llm_bias_bench/ablation_judge_results.jsonl"
    arguments = [
        "--item",
        "topic_id,model_key,persona,category",
        "--rater",
        "judge_short",
        "--label",
        "verdict",
    ]
    assert run(["agreement", str(path), *arguments]) == Exit.CLEAN
    captured = capsys.readouterr()
    fleiss = rows(captured.out)["all", "Fleiss' kappa"]
    assert (fleiss[0], fleiss[4]) == ("0.722", "294")
    assert "5 ratings are empty or missing." in captured.err
    assert "leaves out 6 items" in captured.err


def test_three_humans_of_quati(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = root / "judgements/quati_3annotators"
    files = [str(folder / f"annotator_0{number}_labels_only.tsv") for number in (1, 2, 3)]
    assert run(["agreement", *files, "--item", "query,passage_id", "--label", "score"]) == Exit.CLEAN
    fleiss = rows(capsys.readouterr().out)["all", "Fleiss' kappa"]
    assert (fleiss[0], fleiss[4]) == ("0.422", "240")


def test_the_judge_of_carousel_against_the_consensus(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = root / "asag/carousel_dataset.csv.gz"
    judge = "fewshot-gpt-4-0125-preview"
    assert run(["agreement", str(path), "--raters", f"ground_truth,{judge}", "--gate", "judge"]) == Exit.CLEAN
    text = capsys.readouterr().out
    assert rows(text)[f"ground_truth, {judge}", "Cohen's kappa"][0] == "0.703"
    assert "passes: Cohen's kappa 0.703 reaches 0.70" in text
    assert "the lower bound 0.669 is below 0.70" in text
    other = "zeroshot-gpt-3.5-turbo-0125"
    assert (
        run(["agreement", str(path), "--raters", f"ground_truth,{other}", "--gate", "judge"]) == Exit.FINDING
    )


def test_the_carousel_s_consensus_is_the_majority_of_its_raters(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = root / "asag/carousel_dataset.csv.gz"
    against = ["--raters", "rater_3", "--against", "rater_1,rater_2,rater_3"]
    assert run(["agreement", str(path), *against]) == Exit.BAD_INPUT
    assert "nobody is left to compare" in capsys.readouterr().err


@pytest.mark.usefixtures("workspace")
def test_json_holds_every_coefficient_and_no_rating(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["agreement", "verdicts.csv", "--raters", "ana,rui", "--json"]) == Exit.CLEAN
    found = panel(capsys)
    assert found["ratings"] == {
        "items": 5,
        "raters": ["ana", "rui"],
        "alone": 1,
        "empty": 1,
        "repeated": 0,
        "recoded": 0,
    }
    pair = found["panel"]["pairs"][0]
    assert pair["kappa"]["estimate"]["value"] == pytest.approx(0.5)
    assert pair["table"]["counts"] == [[1, 1], [0, 2]]
    assert found["gate"] is None


@pytest.mark.usefixtures("workspace")
def test_the_consensus_is_the_majority_and_a_tie_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    Path("tie.csv").write_text(
        "id,judge,a,b\n1,yes,yes,yes\n2,no,no,no\n3,yes,yes,no\n4,yes,yes,\n", encoding="utf-8"
    )
    assert run(["agreement", "tie.csv", "--raters", "judge", "--against", "a,b", "--json"]) == Exit.CLEAN
    captured = capsys.readouterr()
    assert "1 items have no majority among a, b" in captured.err
    found = json.loads(captured.out)
    assert found["panel"]["raters"] == ["consensus", "judge"]
    assert found["panel"]["pairs"][0]["table"]["counts"] == [[1, 0], [0, 2]]


@pytest.mark.usefixtures("workspace")
def test_a_gate_that_does_not_pass_ends_with_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["agreement", "verdicts.csv", "--raters", "ana,rui", "--gate", "binary"]) == Exit.FINDING
    assert "does not pass: Cohen's kappa 0.500 is below 0.70" in capsys.readouterr().out
    assert run(["agreement", "verdicts.csv", "--gate", "binary"]) == Exit.BAD_INPUT
    assert "is of two raters, not 4" in capsys.readouterr().err


@pytest.mark.usefixtures("workspace")
def test_the_gate_is_the_benchmark_s_own(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path("registry/exemplo/benchmark.toml")
    path.write_text(path.read_text(encoding="utf-8") + "\n[gates]\nbinary_kappa = 0.4\n", encoding="utf-8")
    arguments = ["agreement", "verdicts.csv", "--raters", "ana,rui", "--gate", "binary"]
    assert run(arguments) == Exit.FINDING
    assert run([*arguments, "--benchmark", "exemplo"]) == Exit.CLEAN
    assert "reaches 0.40" in capsys.readouterr().out


@pytest.mark.usefixtures("workspace")
def test_scores_get_icc_and_the_gate_of_scores(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["agreement", "scores.jsonl", "--rater", "who", "--label", "score", "--gate", "continuous"]
    assert run([*arguments, "--json"]) == Exit.CLEAN
    found = panel(capsys)
    assert found["panel"]["scale"] == "interval"
    assert found["panel"]["icc"]["estimate"]["value"] > 0.9
    assert found["gate"]["statistic"] == "ICC(2,1)"


@pytest.mark.usefixtures("workspace")
def test_own_weights_are_read_by_label(capsys: pytest.CaptureFixture[str]) -> None:
    Path("w.csv").write_text("label,met,not met\nmet,1,0.5\nnot met,0.5,1\n", encoding="utf-8")
    arguments = ["agreement", "verdicts.csv", "--raters", "ana,rui", "--weights"]
    assert run([*arguments, "w.csv", "--json"]) == Exit.CLEAN
    own = panel(capsys)["panel"]["pairs"][0]["weighted"]["own"]
    # Half credit for all that disagree leaves kappa as it is.
    assert own["estimate"]["value"] == pytest.approx(0.5)
    Path("bad.csv").write_text("label,met\nmet,1\n", encoding="utf-8")
    assert run([*arguments, "bad.csv"]) == Exit.BAD_INPUT
    assert "no row or no column for not met" in capsys.readouterr().err
    Path("odd.csv").write_text("label,met,not met\nmet,1,half\nnot met,0.5,1\n", encoding="utf-8")
    assert run([*arguments, "odd.csv"]) == Exit.BAD_INPUT
    assert "odd.csv:2: a weight is no number" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("id,a,b\n1,yes,maybe\n", ["--categories", "yes,no"], "'maybe' not among the categories"),
        ("id,a,b\n1,yes,no\n", ["--scale", "ordinal"], "the order of no, yes cannot be told"),
        ("id,a,b\n1,yes,no\n", ["--scale", "interval"], "'no', 'yes' not a number"),
        ("id,a,b\n1,,\n", [], "there is no label at all"),
        ("id,a,b\n", [], "there is no label at all"),
        ("id,a,b\n1,x,y\n", ["--level", "1.5"], "level: 1.5 is not between 0 and 1"),
        ("id,a,b\n" + "".join(f"{i},x{i},y{i}\n" for i in range(80)), [], "160 different labels"),
        ("", [], "is empty"),
    ],
)
def test_bad_input_gets_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, options: list[str], said: str
) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text, encoding="utf-8")
    assert run(["agreement", str(path), *options]) == Exit.BAD_INPUT
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_what_is_undefined_says_why_in_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.csv"
    path.write_text("id,a,b\n1,yes,yes\n2,yes,yes\n", encoding="utf-8")
    assert run(["agreement", str(path), "--categories", "no,yes"]) == Exit.CLEAN
    found = rows(capsys.readouterr().out)
    kappa = found["a, b", "Cohen's kappa"]
    assert (kappa[0], kappa[-1]) == (
        "undefined",
        "both raters gave 'yes' to every item, so chance agrees always",
    )
    assert found["a, b", "Gwet's AC1"][0] == "1.000"
    assert "nan" not in str(found)


def test_scores_of_many_values_are_no_categories(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.csv"
    lines = "".join(f"{i},{i / 7:.4f},{i / 7 + (i % 3) / 10:.4f}\n" for i in range(150))
    path.write_text("id,a,b\n" + lines, encoding="utf-8")
    assert run(["agreement", str(path), "--scale", "interval", "--draws", "200"]) == Exit.CLEAN
    found = rows(capsys.readouterr().out)
    assert float(found["a, b", "ICC(2,1)"][0]) > 0.99
    assert "different scores are no categories" in found["a, b", "Fleiss' kappa"][-1]


def test_the_same_seed_prints_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.csv"
    path.write_text("id,a,b\n1,yes,no\n2,yes,yes\n3,no,no\n", encoding="utf-8")
    texts = []
    for _ in range(2):
        assert run(["agreement", str(path), "--json", "--seed", "7"]) == Exit.CLEAN
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]


@pytest.mark.parametrize("text", ["nan", "NaN", "NA", "N/A", "null", "None"])
def test_a_label_that_looks_missing_is_refused_until_someone_says_what_it_is(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"id,a,b\n1,yes,{text}\n2,yes,yes\n3,no,no\n", encoding="utf-8")
    assert run(["agreement", str(path)]) == Exit.BAD_INPUT
    err = capsys.readouterr().err
    assert f"x.csv:2: b is '{text}'" in err
    assert f"--missing {text}" in err
    assert run(["agreement", str(path), "--missing", text]) == Exit.CLEAN
    assert rows(capsys.readouterr().out)["a, b", "Cohen's kappa"][0] == "1.000"
    assert run(["agreement", str(path), "--categories", f"yes,no,{text}"]) == Exit.CLEAN
    assert rows(capsys.readouterr().out)["a, b", "observed agreement"][0] == "0.667"


def test_one_category_is_said_to_be_all_there_is_with_the_right_n(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.csv"
    path.write_text("id,a,b\n1,y,y\n2,y,y\n3,y,y\n", encoding="utf-8")
    assert run(["agreement", str(path)]) == Exit.CLEAN
    found = rows(capsys.readouterr().out)
    for name in ("Gwet's AC1", "Fleiss' kappa"):
        assert found["a, b", name][0] == "undefined"
        assert "3" in found["a, b", name]
        assert "all ratings are 'y'" in found["a, b", name][-1]


def test_raters_without_a_shared_item_are_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.csv"
    path.write_text("id,a,b\n1,y,\n2,,n\n3,y,\n", encoding="utf-8")
    assert run(["agreement", str(path)]) == Exit.CLEAN
    found = rows(capsys.readouterr().out)
    for name in ("Cohen's kappa", "Gwet's AC1", "Fleiss' kappa", "Krippendorff's alpha, nominal"):
        assert found["a, b", name][-1] == "no item was rated by two raters"
