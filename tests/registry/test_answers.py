"""Files of answers: every way a row can say its outcome, and every way it can be wrong."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lacre import jsonl
from lacre.errors import InputError, RecordError
from lacre.registry.answers import ReadAnswers, option_label, parse_answer_mapping, read_answers
from lacre.scoring.outcomes import Answer, Outcome


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def classes(found: ReadAnswers) -> str:
    return "".join(answer.outcome.letter if answer.outcome else "-" for answer in found.answers)


def test_a_csv_with_outcomes_confidences_and_decimal_commas(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "a.csv",
        'column;item;outcome;confidence;looks_sensitive;expects\nm;q1;C;"0,85";sim;answer\nm;q2;abstention;;não;abstention\n',
    )
    first, second = read_answers([path]).answers
    assert first == Answer(
        column="m", item="q1", outcome=Outcome.CORRECT, confidence=0.85, looks_sensitive=True
    )
    assert second == Answer(column="m", item="q2", outcome=Outcome.ABSTENTION, expects="abstention")


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("C", "C"),
        ("c.", "C"),
        ("(b)", "B"),
        (" **D** ", "D"),
        ("3", "3"),
        ("03)", "3"),
        ("A e B", None),
        ("Não sei", None),
        ("C. uma frase", None),
        ("800", None),
        ("", None),
        ("?", None),
    ],
)
def test_an_option_is_a_letter_or_a_number_and_nothing_more(text: str, label: str | None) -> None:
    assert option_label(text) == label


def test_letters_beside_a_key_become_classes_and_what_is_no_option_is_counted(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "model-x.json",
        json.dumps(
            [
                {"id": "q1", "pred": "(c)", "gold": "C."},
                {"id": "q2", "pred": "B.", "gold": "C."},
                {"id": "q3", "pred": "Não tenho certeza", "gold": "A."},
                {"id": "q4", "pred": None, "gold": "A."},
                {"id": "q5", "pred": "14", "gold": "A."},
            ]
        ),
    )
    mapping = parse_answer_mapping(["item=id,answer=pred", "key=gold"])
    found = read_answers([path], mapping)
    assert classes(found) == "CEEFE"
    assert {answer.column for answer in found.answers} == {"model-x"}
    assert (found.unlettered, found.empty) == ({"model-x": 2}, {"model-x": 1})
    assert any("2 answers (model-x 2) hold no option and count as E" in said for said in found.remarks())
    assert classes(read_answers([path], mapping, unlettered=Outcome.ABSTENTION)) == "CEAFA"


def test_numbers_are_options_where_the_key_is_a_number(tmp_path: Path) -> None:
    path = write(
        tmp_path, "m.jsonl", lines({"item": 1, "answer": 2, "key": 2}, {"item": 2, "answer": "1", "key": 3})
    )
    assert classes(read_answers([path])) == "CE"


def test_scores_and_classes_may_stand_in_one_file(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "m.jsonl",
        lines({"item": "a", "score": 0.5}, {"item": "b", "outcome": "R"}, {"item": "c", "score": 1}),
    )
    found = read_answers([path]).answers
    assert [(answer.score, answer.outcome) for answer in found] == [
        (0.5, None),
        (None, Outcome.REFUSAL),
        (1.0, None),
    ]


def test_answers_that_lacre_wrote_come_back_and_keep_their_fields(tmp_path: Path) -> None:
    whole = [
        Answer(column="m", item="a", repetition=2, outcome=Outcome.WRONG, fields={"area": "x"}),
        Answer(column="m", item="b", score=0.25, confidence=0.5, fields={"area": "y"}),
    ]
    jsonl.write(tmp_path / "answers.jsonl", whole)
    assert list(read_answers([tmp_path / "answers.jsonl"], keep=["area"]).answers) == whole


def test_formats_agree(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"column": "m", "item": "a", "outcome": "C", "confidence": 0.5, "repetition": 1},
        {"column": "m", "item": "a", "outcome": "E", "confidence": None, "repetition": 2},
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    write(tmp_path, "a.jsonl", lines(*rows))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines(*rows).encode()))
    write(tmp_path, "a.tsv", "column\titem\toutcome\tconfidence\trepetition\nm\ta\tC\t.5\t1\nm\ta\tE\t\t2\n")
    found = [read_answers([path]).answers for path in sorted(tmp_path.iterdir())]
    assert len(found) == 4
    assert all(each == found[0] for each in found)


def test_objects_and_lists_can_be_split_by(tmp_path: Path) -> None:
    row = {
        "item": "a",
        "outcome": "C",
        "cell": {"b": "2", "a": "1"},
        "tags": ["TU", "MR"],
        "images": True,
        "x": None,
    }
    path = write(tmp_path, "m.jsonl", lines(row))
    keep = ["cell", "cell.b", "tags", "images", "x"]
    assert read_answers([path], keep=keep).answers[0].fields == {
        "cell": "a=1/b=2",
        "cell.b": "2",
        "tags": "TU;MR",
        "images": "true",
        "x": "",
    }


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"outcome": "C"}, "no item"),
        ({"item": "a", "outcome": "B"}, "outcome 'B' is none of C (correct), E (wrong)"),
        ({"item": "a"}, "neither outcome nor score nor key"),
        ({"item": "a", "answer": "C"}, "neither outcome nor score nor key"),
        ({"item": "a", "answer": "C", "key": "talvez"}, "key 'talvez' is no option"),
        ({"item": "a"}, 'Write {"item": ..., "outcome": ...}'),
        ({"item": "a", "score": 1.01}, "score '1.01' is no number from 0 to 1"),
        ({"item": "a", "score": True}, "score 'True' is no number"),
        ({"item": "a", "outcome": "C", "confidence": 85}, "confidence '85' is no number from 0 to 1"),
        ({"item": "a", "outcome": "C", "confidence": "0.9"}, "confidence '0.9' is text"),
        ({"item": "a", "outcome": "C", "confidence": "alta"}, "confidence 'alta' is text"),
        ({"item": "a", "outcome": "C", "repetition": 0}, "repetition '0' is no whole number"),
        ({"item": "a", "outcome": "C", "repetition": "two"}, "repetition 'two'"),
        ({"item": "a", "outcome": "C", "expects": "silence"}, "expects 'silence' is not answer, abstention"),
        ({"item": "a", "outcome": "C", "looks_sensitive": "maybe"}, "neither true nor false"),
        ({"item": {"n": 1}, "outcome": "C"}, "no item"),
    ],
)
def test_a_bad_row_is_named_with_its_line(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    good = {"item": "z", "outcome": "C", "answer": None, "key": None, "score": None}
    path = write(tmp_path, "m.jsonl", lines(good, row))
    with pytest.raises(RecordError) as caught:
        read_answers([path])
    assert str(caught.value).startswith(f"{path}:2: ")
    assert said in str(caught.value)


def test_every_bad_line_is_named(tmp_path: Path) -> None:
    path = write(
        tmp_path, "m.csv", "item,outcome,confidence\na,C,1.5\nb,X,\nc,C,nan\nd,C,85%\ne,C,0.5\ne,C,0.5\n"
    )
    with pytest.raises(RecordError) as caught:
        read_answers([path])
    assert [fault.line for fault in caught.value.faults] == [2, 3, 4, 5, 7]
    assert "column 'm' answers item 'e', repetition 1" in caught.value.faults[-1].what


def test_one_run_in_two_files_is_refused(tmp_path: Path) -> None:
    first = write(tmp_path, "a.csv", "column,item,outcome\nm,q,C\n")
    second = write(tmp_path, "b.csv", "column,item,outcome\nm,q,E\n")
    with pytest.raises(RecordError, match=r"b\.csv:2: .*a\.csv:2 already"):
        read_answers([first, second])


def test_not_a_number_in_parquet_is_refused(tmp_path: Path) -> None:
    table = pa.table({"item": ["a"], "outcome": ["C"], "confidence": [float("nan")]})
    pq.write_table(table, tmp_path / "m.parquet")
    with pytest.raises(RecordError, match="confidence 'nan' is no number"):
        read_answers([tmp_path / "m.parquet"])


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("name,outcome", "no column 'item'. The columns are: name, outcome"),
        ("item,answer", "no column 'outcome' or 'score', nor 'answer' with 'key'"),
    ],
)
def test_a_file_without_the_columns_is_refused_and_its_columns_named(
    tmp_path: Path, header: str, said: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_answers([write(tmp_path, "m.csv", f"{header}\na,C\n")])
    assert said in str(caught.value)


def test_columns_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "m.csv", "item,outcome\na,C\n")
    with pytest.raises(InputError, match="no column 'pred'"):
        read_answers([path], {"answer": "pred"})
    with pytest.raises(InputError, match="no column 'area' to split by"):
        read_answers([path], keep=["area"])
    with pytest.raises(InputError, match="empty"):
        read_answers([write(tmp_path, "e.csv", "")])
    with pytest.raises(InputError, match="no answers"):
        read_answers([write(tmp_path, "h.csv", "item,outcome\n")])


@pytest.mark.parametrize("text", ["item", "item=", "colour=x", "item=a,item=b"])
def test_a_mapping_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--map"):
        parse_answer_mapping([text])


def test_a_correct_answer_where_none_is_expected_is_pointed_out(tmp_path: Path) -> None:
    path = write(tmp_path, "m.csv", "item,outcome,expects\na,C,abstention\nb,A,abstention\n")
    found = read_answers([path])
    assert found.correct_abstentions == 1
    assert "1 answers are called correct on items that expect an abstention" in found.remarks()[0]


@pytest.mark.skipif(
    "LACRE_TEST_DATA" not in os.environ, reason="LACRE_TEST_DATA is not set: no recorded letters"
)
def test_recorded_letters_of_real_columns_are_read() -> None:
    paths = sorted((Path(os.environ["LACRE_TEST_DATA"]) / "outputs" / "llm_enem_arruda").glob("*.json"))
    found = read_answers(paths, {"item": "id", "answer": "pred", "key": "gold"}, keep=["area"])
    assert len(found.answers) == 15 * 118
    assert sum(found.unlettered.values()) == 38
    best = [a for a in found.answers if a.column == "reports__gpt-4-0613_enem_cot_2022_3_shot"]
    assert sum(answer.outcome is Outcome.CORRECT for answer in best) == 102
