"""Plain files come as rows whatever their format, compression or encoding; damage is told."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from lacre.errors import InputError
from lacre.registry import tables
from lacre.registry.tables import read_table

ROWS = [{"id": "a", "stem": 'ação; "x", y\nz'}, {"id": "b", "stem": "ﬁm"}]


def as_jsonl(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def as_json(rows: list[dict[str, Any]]) -> bytes:
    return json.dumps(rows).encode()


def as_csv(rows: list[dict[str, Any]], delimiter: str = ",") -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def as_tsv(rows: list[dict[str, Any]]) -> bytes:
    return as_csv(rows, "\t")


def as_parquet(rows: list[dict[str, Any]]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue().to_pybytes()


FORMATS: dict[str, Callable[[list[dict[str, Any]]], bytes]] = {
    "jsonl": as_jsonl,
    "ndjson": as_jsonl,
    "json": as_json,
    "csv": as_csv,
    "tsv": as_tsv,
    "parquet": as_parquet,
}
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".zst": lambda content: zstandard.ZstdCompressor().compress(content),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_and_compression_gives_the_same_rows(name: str, packing: str, tmp_path: Path) -> None:
    path = tmp_path / f"items.{name}{packing}"
    path.write_bytes(PACKINGS[packing](FORMATS[name](ROWS)))
    table = read_table(path)
    assert table.columns == ("id", "stem")
    assert [row.values for row in table.rows] == ROWS
    assert table.faults == ()
    assert table.recoded == 0


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(str.strip)


@given(
    st.lists(TEXT, min_size=1, max_size=5),
    st.sampled_from(sorted(FORMATS)),
    st.sampled_from(sorted(PACKINGS)),
)
def test_rows_survive_any_format(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], name: str, packing: str
) -> None:
    rows = [{"id": str(number), "stem": text} for number, text in enumerate(texts)]
    path = tmp_path_factory.mktemp("t") / f"items.{name}{packing}"
    path.write_bytes(PACKINGS[packing](FORMATS[name](rows)))
    assert [row.values for row in read_table(path).rows] == rows


@pytest.mark.parametrize(
    ("name", "content", "stems"),
    [
        ("a.csv", b"id,stem\n1,Um\n", ["Um"]),
        ("a.csv", b"id;stem\n1;Um, dois\n", ["Um, dois"]),
        ("a.csv", b"\xef\xbb\xbfid;stem\r\n1;Um\r\n\r\n2;Dois\r\n", ["Um", "Dois"]),
        ("a.csv", b"sep=;\nid;stem\n1;Um\n", ["Um"]),
        ("a.csv", "id;stem\n1;Ação\n".encode("utf-16"), ["Ação"]),
        ("a.csv", "id;stem\n1;“Ação”\n".encode("cp1252"), ["“Ação”"]),
        ("a.csv", b"id;stem\n1;\x81A\xe7\xe3o\n", ["\x81Ação"]),
        ("a.csv", b'id,"stem"\n1,"a ""b""\nc"\n', ['a "b"\nc']),
        ("a.txt", b"id,stem\n1,Um\n", ["Um"]),
        ("a", b'[{"id":1,"stem":"Um"}]', ["Um"]),
        ("a", b'{"id":1,"stem":"Um"}\n{"id":2,"stem":"Dois"}\n', ["Um", "Dois"]),
        ("a.json", b'{"id":1,"stem":"Um"}', ["Um"]),
        ("a.json", b'{"id":1,"stem":"Um"}\n{"id":2,"stem":"Dois"}\n', ["Um", "Dois"]),
        ("a.json", b'{"version":1,"questions":[{"id":1,"stem":"Um"}]}', ["Um"]),
        ("a.JSONL", b'\xef\xbb\xbf{"id":1,"stem":"Um"}\r\n\r\n', ["Um"]),
        (
            "a.jsonl.gz",
            gzip.compress(b'{"id":1,"stem":"Um"}\n') + gzip.compress(b'{"id":2,"stem":"Dois"}\n'),
            ["Um", "Dois"],
        ),
        ("a.jsonl", gzip.compress(b'{"id":1,"stem":"Um"}\n'), ["Um"]),
    ],
    ids=[
        "comma",
        "semicolon",
        "byte order mark, CRLF, blank line",
        "sep line",
        "UTF-16",
        "Windows-1252",
        "a byte that Windows-1252 leaves open",
        "quotes and line in quotes",
        "csv by content",
        "json by content",
        "jsonl by content",
        "one object",
        "json lines called .json",
        "list inside an object",
        "capitals, CRLF",
        "two gzip members",
        "gzip without its ending",
    ],
)
def test_files_as_people_have_them(name: str, content: bytes, stems: list[str], tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    table = read_table(tmp_path / name)
    assert table.faults == ()
    assert [row.values["stem"] for row in table.rows] == stems


def test_only_the_lines_that_are_not_utf_8_are_recoded(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("id;stem\n1;ação\n".encode() + "2;função\n".encode("cp1252"))
    table = read_table(tmp_path / "a.csv")
    assert [row.values["stem"] for row in table.rows] == ["ação", "função"]
    assert table.recoded == 1


ZST = zstandard.ZstdCompressor(write_checksum=True).compress(as_jsonl(ROWS) * 50)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", b"", "no items: the file is empty. Give a file with at least one item"),
        ("a.jsonl", b" \n\n", "no items: the file is empty"),
        ("a.jsonl.gz", gzip.compress(as_jsonl(ROWS), mtime=0)[:-9], "the archive is cut short"),
        ("a.jsonl.zst", ZST[:-5], "the archive is cut short"),
        ("a.jsonl.bz2", bz2.compress(as_jsonl(ROWS))[:-5], "the archive is cut short"),
        ("a.jsonl.xz", lzma.compress(as_jsonl(ROWS))[:-5], "the archive is cut short"),
        ("a.jsonl.gz", gzip.compress(as_jsonl(ROWS), mtime=0) + b"rest", "is damaged"),
        ("a.jsonl.zst", ZST[:20] + b"xx" + ZST[22:], "is damaged|cut short"),
        ("a.json", b'[{"id":1},', "is not JSON"),
        ("a.json", b"7", "is not a list of items"),
        ("a.parquet", as_parquet(ROWS)[:-20], "is not a whole Parquet file"),
        ("a.csv", b"id,id\n1,2\n", "two columns are called 'id'"),
        ("a.csv", b"id,stem\n1,a\0b\n", "is not text"),
        ("a.pdf", b"%PDF-1.4\n\0\0", "is in no format that lacre reads"),
        ("a.csv", b"\xff\xfea", "is not UTF-16"),
    ],
)
def test_damage_is_one_clear_line(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=said) as caught:
        read_table(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_BYTES", 1 << 20)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(bytes(1 << 22)))
    with pytest.raises(InputError, match="unpacks to more than 1 MB"):
        read_table(tmp_path / "a.jsonl.gz")


@pytest.mark.parametrize(
    ("name", "content", "lines", "said"),
    [
        ("a.jsonl", b'{"id":1}\n{"id":\n[1]\n{"id":2}\n', [2, 3], "is not JSON"),
        ("a.json", b'[{"id":1}, 7, "x"]', [2, 3], "element 2 of the list is not an object"),
        ("a.csv", b'id,stem\n1,"a\nb"\n2\n3,c,d\n', [4, 5], "1 values for 2 columns"),
        ("a.csv", b'id,stem\n1,a\n2,"b\n', [3], "is not CSV"),
    ],
)
def test_bad_rows_have_their_line(
    name: str, content: bytes, lines: list[int], said: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    table = read_table(tmp_path / name)
    assert [fault.line for fault in table.faults] == lines
    assert said in table.faults[0].what
