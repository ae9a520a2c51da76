"""Items come in from records and plain files; every bad line is named, nothing is dropped in silence."""

from __future__ import annotations

import gzip
import json
import os
import time
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacre import jsonl
from lacre.errors import InputError, RecordError
from lacre.registry.intake import Imported, Origin, candidates, import_items, parse_mapping, read_records
from lacre.registry.items import Candidate, Item, Passage, Payload, Source
from lacre.registry.layers import Surroundings

CHOICE = Payload(kind="choice", stem="Onde fica o farol?", options={"A": "Na ilha", "B": "No morro"}, key="A")
ROW = {"id": "q1", "stem": CHOICE.stem, "options": ["Na ilha", "No morro"], "key": "a"}


def read(tmp_path: Path, rows: list[Any], **settings: Any) -> Imported:
    path = tmp_path / "items.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return candidates(path, **settings)


@pytest.mark.parametrize("layer", [None, "open"], ids=["candidates", "records"])
def test_a_field_that_is_unknown_or_missing_is_told_once_with_its_lines(
    layer: str | None, tmp_path: Path
) -> None:
    part = {"id": "a", "prompt": "Quem?", "expected": "Ela"}
    payload = {"kind": "open", "stem": "Onde?", "parts": [part]}
    odd = {**payload, "parts": [part, {**part, "id": "b", "hint": "x"}]}
    payloads: list[Any] = [*[{**payload, "colour": "red"}] * 5, payload, odd]
    payloads += [{**payload, "stem": 7}, {**payload, "size": 1}, {"kind": "open"}, {"kind": "open"}]
    record = {"layer": layer, "benchmark": "b", "cell": {}, "source": {"licence": "CC0-1.0"}}
    more = record if layer else {}
    rows = [{"id": f"q{number}", **more, "payload": one} for number, one in enumerate(payloads)]
    with pytest.raises(RecordError) as refused:
        read(tmp_path, rows)
    told = {fault.line: fault.what for fault in refused.value.faults if " field " in fault.what}
    assert told == {
        1: "unknown field 'colour' in payload, on 5 lines: 1, 2, 3 and others",
        7: "unknown field 'hint' in payload.parts",
        9: "unknown field 'size' in payload",
        10: "missing field 'stem' in payload, on 2 lines: 10, 11",
    }
    assert any(fault.line == 8 and "payload.stem" in fault.what for fault in refused.value.faults)


def test_a_plain_row_becomes_a_candidate(tmp_path: Path) -> None:
    assert read(tmp_path, [ROW]) == Imported(items=(Candidate(id="q1", payload=CHOICE),), lines=(1,))


def test_records_and_candidates_are_told_by_their_fields(tmp_path: Path) -> None:
    item = Item(
        id="q1", benchmark="b", layer="private", cell={"a": "b"}, payload=CHOICE, source=Source(annulled=True)
    )
    found = read(tmp_path, [item])
    assert found.items == (Candidate(id="q1", payload=CHOICE),)
    assert found.annulled == 1
    assert read(tmp_path, [Candidate(id="q1", payload=CHOICE)]).items == found.items


def test_records_keep_their_parts_and_passage(tmp_path: Path) -> None:
    payload = msgspec.structs.replace(
        CHOICE, passage=Passage(text="Era uma vez.", source="https://example.org")
    )
    assert read(tmp_path, [Candidate(id="q1", payload=payload)]).items[0].payload == payload


def test_every_bad_record_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordError) as caught:
        read(tmp_path, [{"id": "a", "payload": {"kind": "other", "stem": "x"}}, {"id": "b"}, {"payload": {}}])
    assert [fault.line for fault in caught.value.faults] == [1, 2, 3]
    assert "payload.kind 'other' is not choice or open" in str(caught.value)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        pytest.param({"id": 7, "stem": "x"}, {"kind": "open", "stem": "x"}, id="no options: open"),
        pytest.param(
            {"id": 1, "stem": "x", "options": None, "key": "a luz"},
            {"kind": "open", "key": "a luz"},
            id="open with its expected answer",
        ),
        pytest.param(
            {"id": 1, "stem": "x", "options": [], "key": "A"},
            {"kind": "choice", "options": {}, "key": None},
            id="empty list: a choice without options",
        ),
        pytest.param(
            {"id": 1, "stem": "", "options": None}, {"kind": "open", "stem": ""}, id="no text at all"
        ),
        pytest.param({"id": 1, "stem": None}, {"stem": ""}, id="stem is null"),
        pytest.param({"id": 1, "stem": "x", "passage": "P"}, {"passage": Passage(text="P")}, id="passage"),
        pytest.param(
            {"id": 1, "stem": "x", "passage": "P", "passage_source": "S"},
            {"passage": Passage(text="P", source="S")},
            id="declared passage",
        ),
        pytest.param({"id": 1, "stem": ["Um.", "Dois."]}, {"stem": "Um.\n\nDois."}, id="stem in turns"),
        pytest.param({"id": 1, "stem": 12}, {"stem": "12"}, id="stem is a number"),
        pytest.param({"id": 1, "stem": "Ac\u0327a\u0303o\r\nfim"}, {"stem": "Ação\nfim"}, id="NFC and LF"),
        pytest.param({**ROW, "key": "Anulada"}, {"kind": "choice", "key": None}, id="annulled"),
    ],
)
def test_rows_as_they_come(row: dict[str, Any], expected: dict[str, Any], tmp_path: Path) -> None:
    (item,) = read(tmp_path, [row]).items
    assert {name: getattr(item.payload, name) for name in expected} == expected


def test_all_that_was_noticed_is_counted(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            {**ROW, "cor": "azul", "ano": 1},
            {**ROW, "id": "q2", "key": "ANULADA"},
            {**ROW, "id": "q3", "key": "Z"},
            {**ROW, "id": "q4", "options": [None, None]},
            {"id": "q5", "stem": ""},
            {**ROW, "id": "q6", "stem": "c\u0327"},
        ],
    )
    assert found.ignored == ("cor", "ano")
    assert (found.annulled, found.unkeyed, found.without_text) == (1, 1, 1)
    assert (found.blank_options, found.recomposed, found.recoded) == (2, 1, 0)
    assert found.encoding == "UTF-8"
    assert len(found.remarks()) == 6
    assert read(tmp_path, [ROW]).remarks() == ()


def test_every_bad_line_of_a_file_is_named_at_once(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text(
        '{"id":"a","stem":"x"}\n'
        "{\n"
        '{"stem":"sem id"}\n'
        '{"id":"b","stem":"x","options":7}\n'
        '{"id":"a","stem":"y"}\n'
        '{"id":"c","stem":{"x":1}}\n'
    )
    with pytest.raises(RecordError) as caught:
        candidates(path)
    assert [fault.line for fault in caught.value.faults] == [2, 3, 4, 5, 6]
    said = str(caught.value)
    assert f"{path}:3: no id. Give the item an id of its own." in said
    assert f"{path}:5: item 'a' is already on line 1. Give each item an id of its own." in said
    assert "options are neither text, a list nor an object" in said
    assert "stem is neither text nor a list of texts" in said


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ({"stem": "pergunta"}, "no column 'pergunta' (for stem). The columns are: id, stem, options, key."),
        ({"stem": "x", "key": "y"}, "no column 'x' (for stem), 'y' (for key)."),
        ({"options": "A+B"}, "no column 'A' (for options), 'B' (for options)."),
    ],
)
def test_an_unknown_column_is_one_clear_line(mapping: dict[str, str], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, [ROW], mapping=mapping)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("missing", ["id", "stem"])
def test_a_missing_column_says_how_to_name_it(missing: str, tmp_path: Path) -> None:
    row = {name: value for name, value in ROW.items() if name != missing}
    with pytest.raises(InputError, match=f"no column '{missing}'.*Name it with --map {missing}=COLUMN"):
        read(tmp_path, [row])


def test_a_file_of_which_no_line_can_be_read_is_told_by_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text("nada\n[1]\n", "utf-8")
    with pytest.raises(RecordError) as caught:
        candidates(path)
    assert f"{path}:1: is not JSON" in str(caught.value)
    assert "column" not in str(caught.value)


def test_columns_are_mapped_and_joined(tmp_path: Path) -> None:
    row = {"n": "q1", "texto": "Leia.", "pergunta": "Onde?", "a1": "Aqui", "a2": "Ali", "a3": "", "certa": 2}
    mapping = {"id": "n", "stem": "texto+pergunta", "options": "a1+a2+a3", "key": "certa"}
    found = read(tmp_path, [row], mapping=mapping, key_index=1)
    assert found.items[0].payload == Payload(
        kind="choice", stem="Leia.\n\nOnde?", options={"A": "Aqui", "B": "Ali"}, key="B"
    )
    assert found.ignored == ()


def test_values_inside_a_column_have_dotted_names(tmp_path: Path) -> None:
    choices = [{"label": "1", "text": "Aqui"}, {"label": "2", "text": "Ali"}]
    row = {"id": "q1", "question": {"stem": "Onde?", "choices": choices}, "answerKey": "2", "x": 1}
    mapping = parse_mapping(["stem=question.stem,options=question.choices,key=answerKey"])
    found = read(tmp_path, [row, {"id": "q2", "question": "só texto"}], mapping=mapping)
    assert found.items[0].payload == Payload(
        kind="choice", stem="Onde?", options={"A": "Aqui", "B": "Ali"}, key="B"
    )
    assert found.ignored == ("x",)
    assert found.without_text == 1
    with pytest.raises(InputError, match=r"no column 'question\.text'"):
        read(tmp_path, [row], mapping={"stem": "question.text"})


def test_letter_columns_count_from_a_without_a_gap(tmp_path: Path) -> None:
    row = {"id": "q1", "stem": "Onde?", "a": "Aqui", "b": "Ali", "d": "Lá", "key": "b"}
    found = read(tmp_path, [row])
    assert found.items[0].payload.options == {"A": "Aqui", "B": "Ali"}
    assert found.ignored == ("d",)


def test_a_column_with_a_plus_in_its_name_is_itself(tmp_path: Path) -> None:
    assert read(tmp_path, [{"id": 1, "a+b": "x"}], mapping={"stem": "a+b"}).items[0].payload.stem == "x"


def test_records_need_no_map(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds records, which need no --map"):
        read(tmp_path, [Candidate(id="a", payload=CHOICE)], mapping={"stem": "x"})


@pytest.mark.parametrize("content", ["", "\n", "[]"])
def test_an_empty_file_has_no_items(content: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(InputError, match="no items"):
        candidates(tmp_path / "a.json")


def test_a_csv_from_excel_in_portuguese_comes_in(tmp_path: Path) -> None:
    text = 'id;stem;A;B;C;key\r\nq1;"Opção; é ou não é?";Sim;Não;;B\r\n'
    (tmp_path / "a.csv").write_bytes(text.encode("cp1252"))
    found = candidates(tmp_path / "a.csv")
    assert found.items[0].payload == Payload(
        kind="choice", stem="Opção; é ou não é?", options={"A": "Sim", "B": "Não"}, key="B"
    )
    assert found.encoding == "UTF-8 and Windows-1252"
    assert found.recoded == 1


def test_a_parquet_in_the_style_of_hugging_face_comes_in(tmp_path: Path) -> None:
    rows = [
        {
            "id": "q1",
            "question": "Onde?",
            "choices": {"text": ["Aqui", "Ali"], "label": ["A", "B"]},
            "answerKey": "B",
        }
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    mapping = parse_mapping(["stem=question,options=choices", "key=answerKey"])
    (item,) = candidates(tmp_path / "a.parquet", mapping).items
    assert item.payload == Payload(kind="choice", stem="Onde?", options={"A": "Aqui", "B": "Ali"}, key="B")


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["stem"], "'stem' is not field=column"),
        (["stem="], "'stem=' is not field=column"),
        (["colour=x"], "'colour' is no field of an item. There are: id, stem"),
        (["stem=a,stem=b"], "stem is given twice"),
        (["stem=a", "stem=b"], "stem is given twice"),
    ],
)
def test_a_wrong_map_is_refused(texts: list[str], said: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_mapping(texts)
    assert said in str(caught.value)


AROUND = Surroundings(open_licence="CC BY 4.0", benchmark="b", layer="open")
ORIGIN = Origin(
    benchmark="b", layer="open", source=Source(licence="CC BY 4.0"), cell={"a": "x"}, axes=("a", "d")
)


def write(tmp_path: Path, rows: list[Any]) -> Path:
    path = tmp_path / "rows.jsonl"
    jsonl.write(path, rows)
    return path


def test_whole_records_take_what_the_columns_say_first(tmp_path: Path) -> None:
    path = write(tmp_path, [{**ROW, "id": "q2", "a": "y", "d": 1, "number": 9}, ROW])
    first, second = import_items(path, ORIGIN, AROUND).items
    assert (first.id, first.cell, first.source.number) == ("q1", {"a": "x"}, None)
    assert (second.id, second.cell, second.source.number) == ("q2", {"a": "y", "d": "1"}, "9")


def test_a_key_that_is_not_understood_is_told_once(tmp_path: Path) -> None:
    path = write(tmp_path, [ROW, {**ROW, "id": "q2", "key": "2"}, {**ROW, "id": "q3", "key": "MARCADOR"}])
    with pytest.raises(RecordError) as caught:
        import_items(path, ORIGIN, AROUND)
    assert [fault.line for fault in caught.value.faults] == [2, 3]
    assert "say --key-index 0 or --key-index 1" in str(caught.value)
    assert "MARCADOR" not in str(caught.value)
    assert (
        import_items(write(tmp_path, [{**ROW, "key": 1}]), ORIGIN, AROUND, key_index=0).items[0].payload.key
        == "B"
    )


def test_bad_lines_and_broken_rules_come_together_in_order(tmp_path: Path) -> None:
    path = write(
        tmp_path, [{**ROW, "stem": ""}, {"stem": "x"}, {**ROW, "id": "q2", "options": ["só"]}, {**ROW}]
    )
    with pytest.raises(RecordError) as caught:
        import_items(path, ORIGIN, AROUND)
    assert [fault.line for fault in caught.value.faults] == [1, 2, 3, 4]


def test_records_of_another_benchmark_or_layer_are_refused(tmp_path: Path) -> None:
    item = Item(id="q", benchmark="c", layer="private", cell={}, payload=CHOICE)
    with pytest.raises(RecordError, match="benchmark 'c' is not b") as caught:
        import_items(write(tmp_path, [item]), ORIGIN, AROUND)
    assert "layer 'private' stands in a file of the open layer" in str(caught.value)


LETTERS = st.characters(categories=["L", "N"], include_characters=" ,?")
STEMS = st.lists(st.text(LETTERS, min_size=1).map(str.strip).filter(bool), min_size=1, max_size=4)


@given(STEMS)
def test_importing_what_was_imported_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, stems: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("intake")
    rows = [{**ROW, "id": f"q{number}", "stem": stem} for number, stem in enumerate(stems)]
    once = import_items(write(folder, rows), ORIGIN, AROUND).items
    path = folder / "once.jsonl"
    jsonl.write(path, once)
    assert import_items(path, ORIGIN, AROUND).items == once
    assert [item.id for item in candidates(path).items] == [item.id for item in once]


DATA = os.environ.get("LACRE_TEST_DATA")
REAL = pytest.mark.skipif(DATA is None, reason="LACRE_TEST_DATA is not set: no real items here")


@REAL
def test_ten_thousand_real_items_come_in_whole_and_fast() -> None:
    start = time.process_time()
    found = candidates(Path(DATA or "") / "items" / "items.jsonl.gz")
    assert time.process_time() - start < 5
    assert len({item.id for item in found.items}) == len(found.items) == 9974
    kinds = [item.payload.kind for item in found.items]
    assert (kinds.count("choice"), kinds.count("open")) == (8969, 1005)
    # The four without options have a letter for a key, which then names nothing.
    assert (found.annulled, found.unkeyed) == (79, 4)
    assert sum(not item.payload.stem for item in found.items) == 7


@REAL
def test_options_of_real_items_lose_the_letter_they_repeat() -> None:
    found = candidates(Path(DATA or "") / "items" / "items.jsonl.gz")
    repeated = [
        item.id
        for item in found.items
        for letter, text in item.payload.options.items()
        if text.startswith((f"{letter}) ", f"({letter})"))
    ]
    assert repeated == []


@REAL
@pytest.mark.parametrize(
    ("path", "mapping"),
    [
        ("items/oab_bench/question.jsonl", {"id": "question_id", "stem": "statement"}),
        ("judgements/pt_asag_2018/questions.csv", {"id": "question_id", "stem": "question_text"}),
    ],
)
def test_other_real_files_come_in_with_a_map(path: str, mapping: dict[str, str]) -> None:
    found = candidates(Path(DATA or "") / path, mapping)
    assert len(found.items) > 10
    assert found.without_text == 0


def test_a_truncated_gzip_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl.gz"
    path.write_bytes(gzip.compress(msgspec.json.encode(ROW) * 100)[:-12])
    with pytest.raises(InputError, match=r"the archive is cut short\. Get the file again\."):
        candidates(path)


def test_an_item_that_expects_abstention_needs_no_key(tmp_path: Path) -> None:
    payload = {
        "kind": "choice",
        "stem": "Quantos grãos há nesta praia?",
        "options": {"A": "Mil", "B": "Dez mil"},
    }
    path = tmp_path / "items.jsonl"
    records = [
        {"id": "a", "payload": {**payload, "expects": "abstention"}},
        {"id": "b", "payload": payload},
        {"id": "c", "payload": {**payload, "expects": "corrected_premise"}},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    assert candidates(path).unkeyed == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,stem\nq1,Onde?\n", "holds plain rows, not records. Bring them in with `lacre items import`"),
        (
            "id,column,outcome\nq1,alfa,C\n",
            "holds no items that we know: its columns are id, column, outcome.",
        ),
    ],
)
def test_only_rows_of_items_are_sent_to_the_import(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_records(path)
    assert said in str(caught.value)
