"""The canary stands in files of every kind, comes out again, and is found however it is spread."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import quopri
import subprocess
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.release.leaking import png

from lacre.errors import InputError
from lacre.release.canary import FILE, mark, mint, missing, read_canary, strip, write_canary
from lacre.release.canary_find import BASE64, SPREAD, WRITTEN, Found, find, sightings

CANARY = mint(UUID("3f2504e0-4f89-41d3-9a0c-0305e82c3301"), "Exemplo", "2026-01-31")
ROOT = Path(__file__).parents[2]
JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xda\x00\x02pixels\xff\xd9"

FILES = [
    ("a.jsonl", b'{"id":"x"}\n{}\n'),
    ("a.jsonl", b'{"id":"x"}'),
    ("a.json", b'{\n  "a": {"b": 1}\n}\n'),
    ("a.json", b"{}"),
    ("a.json", '[{"a":"{ç"}, {},\n{"b":{}}]'.encode()),
    ("a.csv", b'a;b\r\n1;"x\r\ny"\r\n3;4\r\n'),
    ("a.tsv", b"a\tb\n1\t2"),
    ("a.md", b"---\ntitle: x\n---\n"),
    ("a.html", b"<!doctype html><p>x</p>"),
    ("a.svg", b"<svg/>"),
    ("a.py", b"x = 1\n"),
    ("a.toml", b"x = 1"),
    ("a.yaml", b"a: |\n  text\n"),
    ("a.css", b"p {}"),
    ("a.tex", b"\\bye\n"),
    ("LICENSE", b"x\n"),
    ("a.txt", b""),
    ("a.j2", b"{{ x }}\n"),
    ("a.png", png()),
    ("a.jpg", JPEG),
    ("a.pdf", b"%PDF-1.7\n%%EOF\n"),
]


@pytest.mark.parametrize(
    ("name", "content"), FILES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_is_placed_is_there_once_and_comes_out_again(name: str, content: bytes) -> None:
    marked = mark(name, content, CANARY)
    assert CANARY.text.encode() in marked
    assert mark(name, marked, CANARY) == marked
    assert strip(name, marked, CANARY) == content
    assert strip(name, content, CANARY) == content


@given(
    st.lists(
        st.dictionaries(st.text(max_size=6), st.text(max_size=9) | st.integers(), max_size=3), max_size=5
    )
)
def test_records_keep_what_they_say(records: list[dict[str, object]]) -> None:
    records = [{k: v for k, v in record.items() if k != "canary"} for record in records]
    lines = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    marked = mark("a.jsonl", lines, CANARY)
    assert [json.loads(line) for line in marked.splitlines()] == [
        {**r, "canary": CANARY.text} for r in records
    ]
    assert strip("a.jsonl", marked, CANARY) == lines
    listed = json.dumps(records).encode()
    again = mark("a.json", listed, CANARY)
    assert json.loads(again) == [{"canary": CANARY.text, **record} for record in records]
    assert strip("a.json", again, CANARY) == listed


@given(
    st.lists(
        st.lists(
            st.text(st.characters(blacklist_characters="\0\r", codec="utf-8"), min_size=1),
            min_size=2,
            max_size=2,
        ),
        min_size=2,
    )
)
def test_tables_keep_their_cells(rows: list[list[str]]) -> None:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([["a", "b"], *rows])
    content = out.getvalue().encode()
    marked = mark("a.csv", content, CANARY)
    read = list(csv.reader(io.StringIO(marked.decode(), newline="")))
    assert read == [["a", "b", "canary"], *([*row, CANARY.text] for row in rows)]
    assert strip("a.csv", marked, CANARY) == content


def test_marked_formats_still_open() -> None:
    assert tomllib.loads(mark("a.toml", b"x = 1", CANARY).decode()) == {"x": 1}
    out = io.BytesIO()
    pq.write_table(pa.table({"a": [1]}, metadata={"k": "v"}), out)
    marked = mark("a.parquet", out.getvalue(), CANARY)
    table = pq.read_table(io.BytesIO(marked))
    assert table.schema.metadata == {b"k": b"v", b"canary": CANARY.text.encode()}
    assert mark("a.parquet", marked, CANARY) == marked
    bare = pq.read_table(io.BytesIO(strip("a.parquet", marked, CANARY)))
    assert bare.schema.metadata == {b"k": b"v"}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.exe", b"MZ", "no place for a canary"),
        ("a.jsonl", b"[1]\n", "no object"),
        ("a.jsonl", b"{", "is not JSON"),
        ("a.json", b"[1]", "no object"),
        ("a.json", b"{", "is not JSON"),
        ("a.jsonl", b'{"canary":"another"}\n', "that is not the canary"),
        ("a.jsonl", b'{"canary":null}\n', "an empty field"),
        ("a.png", b"no", "is not PNG"),
        ("a.jpg", b"no", "is not JPEG"),
        ("a.parquet", b"no", "is not Parquet"),
    ],
)
def test_what_cannot_hold_it_is_refused_by_name(name: str, content: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        mark(name, content, CANARY)


def test_a_canary_in_a_strange_place_does_not_pass_as_stripped() -> None:
    with pytest.raises(InputError, match="a place that is not its own"):
        strip("a.txt", b"x " + CANARY.text.encode() + b" y", CANARY)
    with pytest.raises(InputError, match="another column"):
        strip("a.csv", b'canary,b\n"' + CANARY.text.encode() + b'",2\n', CANARY)


def test_files_and_records_without_it_are_named(tmp_path: Path) -> None:
    marked = mark("a.jsonl", b'{"id":"x"}\n', CANARY)
    contents = {
        "good.jsonl": marked,
        "half.jsonl": marked + b'{"id":"y"}\n',
        "packed.jsonl.gz": gzip.compress(marked),
        "torn.jsonl.gz": gzip.compress(marked)[:20],
        "in/bare.md": b"x",
        "in/bare.parquet": b"no table",
        "in/bad.json": b"{",
        "strange.bin": b"\0" + CANARY.text.encode(),
        "ledger.jsonl": b"{}\n",
        "images/a.png": png(),
        "packed.txt.zst": b"no zstd",
    }
    for name, content in contents.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    named = [path.as_posix() for path in missing(tmp_path, CANARY, apart=("*.png",))]
    assert named == [
        "half.jsonl", "in/bad.json", "in/bare.md", "in/bare.parquet", "packed.txt.zst", "torn.jsonl.gz",
    ]  # fmt: skip


def test_there_is_one_canary_for_ever(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no canary"):
        read_canary(tmp_path)
    path = write_canary(tmp_path, CANARY)
    assert path == tmp_path / FILE
    assert read_canary(tmp_path) == CANARY
    with pytest.raises(InputError, match="already"):
        write_canary(tmp_path, CANARY)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ('text = "x"', "does not hold its uuid"),
        ('text = "<!-- 3f2504e0-4f89-41d3-9a0c-0305e82c3301"', "some format would change"),
        ("text = 3", "text"),
    ],
)
def test_a_canary_that_was_changed_is_refused(tmp_path: Path, changed: str, said: str) -> None:
    path = write_canary(tmp_path, CANARY)
    lines = [changed if line.startswith("text") else line for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines))
    with pytest.raises(InputError, match=said):
        read_canary(tmp_path)


def test_a_uuid_that_is_none_is_refused(tmp_path: Path) -> None:
    path = write_canary(tmp_path, CANARY)
    path.write_text(path.read_text().replace('uuid = "3f', 'uuid = "zz'))
    with pytest.raises(InputError, match="uuid"):
        read_canary(tmp_path)
    with pytest.raises(InputError, match="name"):
        mint(UUID(int=1), "Ação", "2026-01-31")


def test_no_code_holds_the_literal() -> None:
    uuid = read_canary(ROOT).uuid
    held = subprocess.run(
        ["git", "grep", "-l", uuid, "--", "src", "benchmarks", "scripts", ":(glob)tests/**/*.py"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    assert held.stdout == b""


UUID_TEXT = CANARY.uuid
FORMS: dict[str, tuple[str | bytes, str]] = {
    **{
        f"in base64 from byte {k} of three": (base64.b64encode(b"a" * k + CANARY.text.encode()), BASE64)
        for k in range(3)
    },
    "as it was placed": (f"x {CANARY.text} y", WRITTEN),
    "in capitals": (UUID_TEXT.upper(), SPREAD),
    "without hyphens": (UUID_TEXT.replace("-", ""), SPREAD),
    "with hyphens added": ("-".join(UUID_TEXT), SPREAD),
    "over lines": (UUID_TEXT[:11] + "\n" + UUID_TEXT[11:], SPREAD),
    "over lines of a quoted mail": (UUID_TEXT[:11] + "-\r\n> " + UUID_TEXT[11:], SPREAD),
    "with zero-width characters": ("\u200b".join(UUID_TEXT), SPREAD),
    "with soft hyphens and a byte-order mark": (
        "\u00ad".join(UUID_TEXT[:9]) + "\ufeff" + UUID_TEXT[9:],
        SPREAD,
    ),
    "in full-width digits": ("".join(chr(ord(c) + 0xFEE0) if c != "-" else c for c in UUID_TEXT), SPREAD),
    "with its hyphens as entities": (UUID_TEXT.replace("-", "&shy;&#45;"), SPREAD),
    "with its hyphens escaped": (UUID_TEXT.replace("-", "\\u2010\\n"), SPREAD),
    "with its hyphens in an address": (UUID_TEXT.replace("-", "%2D"), SPREAD),
    "in quoted-printable": (quopri.encodestring(b"a" * 60 + CANARY.text.encode()), SPREAD),
    "in UTF-16": (UUID_TEXT.encode("utf-16-le"), SPREAD),
    "in base64 of base64": (base64.b64encode(base64.b64encode(CANARY.text.encode())), BASE64),
    "in wrapped base64": (base64.encodebytes(b"a" * 50 + CANARY.text.encode()), BASE64),
    "in base64 of capitals over lines": (
        base64.b64encode(UUID_TEXT.upper().replace("-", "\n").encode()),
        BASE64,
    ),
    "in base64 with a word before it": (b"data" + base64.b64encode(CANARY.text.encode()), BASE64),
    "in base64 for addresses": (base64.urlsafe_b64encode("ÿþ".encode() + CANARY.text.encode()), BASE64),
}


@pytest.mark.parametrize("form", FORMS)
def test_it_is_found(form: str) -> None:
    content, how = FORMS[form]
    raw = content.encode() if isinstance(content, str) else content
    found = list(sightings(np.frombuffer(b"Nada. " + raw + b" fim.", np.uint8), CANARY))
    assert [one[1] for one in found] == [how]


@pytest.mark.parametrize(
    "text",
    ["", UUID_TEXT[:-1], UUID_TEXT.replace("e", "d"), UUID_TEXT[:9] + "g" + UUID_TEXT[9:], UUID_TEXT[::-1]],
)
def test_nothing_else_is(text: str) -> None:
    assert list(sightings(np.frombuffer(text.encode(), np.uint8), CANARY)) == []


@given(st.text(st.sampled_from("0123456789abcdef-\n\u200bgé"), max_size=80), st.text(max_size=20))
def test_it_is_found_behind_and_before_any_text(before: str, after: str) -> None:
    content = (before + "\n" + UUID_TEXT + "\n" + after).encode("utf-8", "replace")
    assert any(how == WRITTEN for _, how in sightings(np.frombuffer(content, np.uint8), CANARY))


def look(folder: Path, workers: int = 2) -> Found:
    with ThreadPoolExecutor(workers) as threads:
        return find(CANARY, [str(folder)], executor=threads)


def test_it_is_found_in_files_of_every_kind(tmp_path: Path) -> None:
    text = CANARY.text
    table = pa.table({"text": ["a", "b", "c"], "n": pa.array([{"m": None}, {"m": ["x", text]}, {"m": []}])})
    pq.write_table(table, tmp_path / "a.parquet")
    line = json.dumps({"text": "nada", "canary": text})
    writes = {
        "b.jsonl": line.encode(),
        "c.jsonl.gz": gzip.compress(line.encode()),
        "d.html": f"<p>x</p><!-- {text} -->".encode(),
        "e.png": mark("e.png", png(), CANARY),
        "f.txt": ("x" * 5_000_000 + text).encode(),
        "g.csv": f"a,b\n1,{text}\n".encode(),
        "none.txt": b"nada",
        "shut.7z": b"7z\xbc\xaf\x27\x1c",
        "torn.parquet": b"PAR1",
    }
    for name, content in writes.items():
        (tmp_path / name).write_bytes(content)
    found = look(tmp_path)
    assert {one.shard for one in found.sightings} == {"a.parquet", *writes} - {
        "none.txt",
        "shut.7z",
        "torn.parquet",
    }
    assert {one.place for one in found.sightings if one.shard == "a.parquet"} == {"n, row 1"}
    assert [one.byte for one in found.sightings if one.shard == "f.txt"] == [5_000_000 + len("CANARY ")]
    assert {gap.where for gap in found.unread} == {"shut.7z", "torn.parquet"}
    assert look(tmp_path, 1) == found


def test_a_release_has_its_canary_in_a_file_of_its_own(tmp_path: Path) -> None:
    canary = mint(UUID(int=7), "Exemplo", "2026-01-31")
    (tmp_path / canary.file).write_bytes(canary.line)
    assert read_canary(tmp_path) == msgspec.structs.replace(canary, minted="")
    (tmp_path / canary.file).write_bytes(b"\xff")
    with pytest.raises(InputError, match="some format would change"):
        read_canary(tmp_path)
    (tmp_path / canary.file).write_bytes(b"CANARY of another\n")
    with pytest.raises(InputError, match="does not hold its uuid"):
        read_canary(tmp_path)
    (tmp_path / "CANARY-other.txt").write_bytes(b"")
    with pytest.raises(InputError, match="there is no canary"):
        read_canary(tmp_path)
