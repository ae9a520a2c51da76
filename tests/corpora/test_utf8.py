"""UTF-8 as Python's own codec sees it, and JSON strings as Python's own decoder reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lacre.corpora.json_strings import strings_of
from lacre.corpora.lines import Names
from lacre.corpora.readers import read
from lacre.corpora.sources import shards
from lacre.corpora.utf8 import all_utf8, is_utf8

EDGES = "aé\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff\0"
PIECES = st.one_of(
    st.sampled_from([character.encode() for character in EDGES]),
    st.just(b"um texto comum, sem nada de mais; "),
    st.sampled_from([bytes([byte]) for byte in range(0x80, 0x100)]),
    st.sampled_from(
        [b"\xe0\x9f\xbf", b"\xed\xa0\x80", b"\xf0\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xc1\xbf"]
    ),
    st.binary(max_size=4),
)


def decodes(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


@given(st.lists(PIECES, max_size=40).map(b"".join))
@settings(max_examples=500, deadline=None)
def test_bytes_are_utf8_where_python_decodes_them(content: bytes) -> None:
    assert is_utf8(np.frombuffer(content, np.uint8)) == decodes(content)


@given(st.text(max_size=300), st.integers(0, 400), st.integers(0x80, 0xFF))
@settings(max_examples=300, deadline=None)
def test_one_byte_too_many_is_seen_wherever_it_stands(text: str, at: int, byte: int) -> None:
    content = text.encode()
    at = min(at, len(content))
    broken = content[:at] + bytes([byte]) + content[at:]
    assert is_utf8(np.frombuffer(content, np.uint8))
    assert is_utf8(np.frombuffer(broken, np.uint8)) == decodes(broken)


@pytest.mark.parametrize("before", [*range(58, 70), *range(122, 134), 186, 190, 191, 192, 193, 256, 1000])
@pytest.mark.parametrize("sign", ["é", "한", "😀"])
def test_a_character_at_the_edge_of_64_bytes_is_whole(before: int, sign: str) -> None:
    for behind in (0, 1, 63, 64, 200):
        content = b"x" * before + sign.encode() + b"y" * behind
        assert is_utf8(np.frombuffer(content, np.uint8))
        cut = b"x" * before + sign.encode()[:-1] + b"y" * behind
        assert not is_utf8(np.frombuffer(cut, np.uint8))


def test_a_character_that_two_strings_share_is_none() -> None:
    halves = cast(
        "pa.LargeStringArray", pa.array([b"a\xc3", b"\xa3o"], pa.large_binary()).view(pa.large_string())
    )
    assert not all_utf8(halves)
    assert all_utf8(pa.array(["ação", "", "é", ""], pa.large_string()).slice(1))
    assert all_utf8(pa.array([], pa.large_string()))


TEXTS = st.one_of(
    st.none(),
    st.text(
        st.one_of(st.sampled_from('"\\/\b\f\n\r\t\x1f\u2028é😀'), st.characters(exclude_categories=["Cs"])),
        max_size=200,
    ),
)


@given(st.lists(TEXTS, max_size=6), st.booleans())
@settings(max_examples=300, deadline=None)
def test_strings_are_read_as_python_reads_them(texts: list[str | None], escaped: bool) -> None:
    written = [json.dumps(text, ensure_ascii=escaped).encode() for text in texts]
    found = strings_of(written)
    assert found is not None
    assert found.to_pylist() == texts


@pytest.mark.parametrize("sign", '"\\/bfnrt')
@pytest.mark.parametrize("before", [0, 1, 62, 63, 64, 65, 127, 128])
def test_every_short_escape_is_read_at_every_place(sign: str, before: int) -> None:
    written = f'"{"x" * before}\\{sign}{"y" * 70}"'
    found = strings_of([written.encode()])
    assert found is not None
    assert found.to_pylist() == [json.loads(written)]


@pytest.mark.parametrize(
    "written", [b"12", b"true", b"{}", b"[]", rb'"\ud800"', rb'"\ud800\u0041"', rb'"\udc00"']
)
def test_what_is_no_text_is_left_to_who_reads_line_by_line(written: bytes) -> None:
    assert strings_of([b'"a"', written]) is None


def test_a_name_is_read_when_asked_for_whatever_it_is() -> None:
    written = (
        b'"a"',
        b"null",
        b"7",
        b"1.5",
        b'"\xff"',
        rb'"\u00e7"',
        b"9" * 5_000,
        b"[" + b"9" * 5_000 + b"]",
        b"[1]",
    )
    names = Names([msgspec.Raw(value) for value in written], 10, "5+")
    assert list(names) == ["a", "5+11", "7", "1.5", "\ufffd", "ç", "5+16", "5+17", "[1]"]
    assert names[1:3] == ["5+11", "7"]


@pytest.mark.parametrize("depth", [500, *range(980, 1001)])
def test_a_name_of_lists_in_lists_stops_nothing(depth: int) -> None:
    value = msgspec.Raw(b"[" * depth + b"]" * depth)
    assert Names([value], 7)[0] in ("7", "[" * depth + "]" * depth)


BROKEN = {
    "Latin-1 throughout": ("Não há questão sem solução".encode("cp1252"), "Não há questão sem solução", 0),
    "a stray byte": ("Não há ".encode() + b"\xff" + " questão".encode(), "Não há \ufffd questão", 1),
    "a character cut": ("Não h".encode() + b"\xc3" + b" quest", "Não h\ufffd quest", 1),
}


@pytest.mark.parametrize("kind", ["txt", "jsonl", "parquet"])
@pytest.mark.parametrize(("content", "text", "bad"), BROKEN.values(), ids=BROKEN)
def test_bytes_that_are_not_utf8_are_read_alike_in_every_format(
    tmp_path: Path, kind: str, content: bytes, text: str, bad: int
) -> None:
    path = tmp_path / f"a.{kind}"
    if kind == "txt":
        path.write_bytes(content)
    elif kind == "jsonl":
        # The first line of all: the head of a file is read no more strictly than the rest.
        path.write_bytes(b'{"id":1,"text":"' + content + b'"}\n')
    else:
        texts = pa.array([content], pa.binary()).view(pa.string())
        pq.write_table(pa.table({"text": texts}), path, use_dictionary=False)
    (shard,) = shards(str(path)).shards
    batches = list(read(shard))
    assert [value for batch in batches for value in batch.text.to_pylist()] == [text]
    assert sum(gap.bytes for batch in batches for gap in batch.unread) == bad
    assert any("not UTF-8" in gap.reason for batch in batches for gap in batch.unread)
