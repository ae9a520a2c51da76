"""What is written comes back; what is damaged is said."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.corpora.writing import COMPRESSIONS, Reading, as_csv, as_json, jsonl, parquet, reading

from lacre.corpora.batches import OVERLAP
from lacre.corpora.pieces import content, offsets
from lacre.corpora.readers import check, read
from lacre.corpora.sources import shards
from lacre.errors import InputError

TABLES = {".jsonl": jsonl, ".json": as_json, ".csv": as_csv, ".parquet": parquet}

# No lone surrogates, which are not text; no NUL and CR, which csv does not keep inside a row as they are.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), min_size=1)
LONG = st.builds(lambda text, times: (text + " ") * times, TEXT, st.integers(1, 9000))
BATCH = st.integers(4 * OVERLAP, 64 << 10)
LAWS = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("ending", TABLES)
@LAWS
@given(
    documents=st.lists(st.one_of(TEXT, LONG), min_size=1, max_size=5),
    batch_bytes=BATCH,
    packed=st.sampled_from(sorted(COMPRESSIONS)),
)
def test_documents_of_a_table_come_back_equal(
    tmp_path: Path, ending: str, documents: list[str], batch_bytes: int, packed: str
) -> None:
    packed = "" if ending == ".parquet" else packed
    path = tmp_path / f"corpus{ending}{packed}"
    path.write_bytes(COMPRESSIONS[packed](TABLES[ending](documents)))
    back = reading(path, batch_bytes=batch_bytes)
    assert back.documents() == documents
    assert back.longest <= batch_bytes
    assert back.unread == []


@LAWS
@given(document=st.one_of(TEXT, LONG), batch_bytes=BATCH, packed=st.sampled_from(sorted(COMPRESSIONS)))
def test_a_text_comes_back_equal(tmp_path: Path, document: str, batch_bytes: int, packed: str) -> None:
    path = tmp_path / f"livro.txt{packed}"
    path.write_bytes(COMPRESSIONS[packed](document.encode()))
    back = reading(path, batch_bytes=batch_bytes)
    assert "".join(back.documents()) == document.removeprefix("\ufeff")
    assert back.longest <= batch_bytes
    assert back.unread == []


def test_pieces_of_a_long_document_overlap_and_are_cut_at_spaces(tmp_path: Path) -> None:
    path = tmp_path / "livro.txt"
    path.write_text("capitulação " * 20_000)
    (shard,) = shards(str(path)).shards
    pieces = [(int(batch.starts[0]), batch.text[0].as_py()) for batch in read(shard, batch_bytes=32 << 10)]
    assert len(pieces) > 5
    for (start, text), (after, _) in pairwise(pieces):
        assert text.endswith(" ")
        assert start + len(text.encode()) - after >= OVERLAP


def test_many_small_documents_make_one_batch(tmp_path: Path) -> None:
    path = tmp_path / "tweets.jsonl"
    path.write_bytes(jsonl(["bom dia"] * 5000))
    (shard,) = shards(str(path)).shards
    assert [len(batch.text) for batch in read(shard)] == [5000]


DAMAGED = b"".join(
    b'{"text": "%06d uma frase que se comprime pouco %s"}\n' % (n, str(hash((n, 7))).encode())
    for n in range(40_000)
)


@pytest.mark.parametrize("packed", [".gz", ".zst", ".bz2", ".xz"])
def test_of_an_archive_cut_short_what_was_whole_is_kept(tmp_path: Path, packed: str) -> None:
    whole = COMPRESSIONS[packed](DAMAGED)
    path = tmp_path / f"corpus.jsonl{packed}"
    path.write_bytes(whole[: len(whole) * 2 // 3])
    back = reading(path)
    assert len(back.documents()) > 5_000
    assert back.documents()[0].startswith("000000 uma")
    assert back.documents()[-1].startswith(f"{len(back.documents()) - 1:06d} uma")
    (fault,) = back.unread
    assert (fault.reason, fault.incomplete, fault.where[:11]) == (
        "the archive is cut short",
        True,
        "after byte ",
    )
    assert fault.bytes >= 1


@pytest.mark.parametrize("packed", [".gz", ".zst", ".bz2", ".xz"])
def test_an_archive_with_broken_bytes_is_incomplete(tmp_path: Path, packed: str) -> None:
    whole = bytearray(COMPRESSIONS[packed](DAMAGED))
    whole[len(whole) // 2 : len(whole) // 2 + 4000] = b"\x5a" * 4000
    path = tmp_path / f"corpus.jsonl{packed}"
    path.write_bytes(whole)
    back = reading(path)
    assert any(fault.incomplete for fault in back.unread)


@pytest.mark.parametrize("packed", [".gz", ".zst", ".bz2", ".xz"])
def test_what_only_claims_to_be_an_archive_is_incomplete(tmp_path: Path, packed: str) -> None:
    path = tmp_path / f"corpus.jsonl{packed}"
    path.write_bytes(b"<html>404 Not Found</html>")
    back = reading(path)
    assert [fault.incomplete for fault in back.unread] == [True]


@pytest.mark.parametrize("packed", [".gz", ".zst", ".bz2", ".xz"])
def test_an_archive_of_no_bytes_at_all_holds_nothing(tmp_path: Path, packed: str) -> None:
    path = tmp_path / f"corpus.txt{packed}"
    path.write_bytes(b"")
    assert reading(path) == Reading({}, [], 0, 0)


@pytest.mark.parametrize("packed", [".gz", ".zst", ".bz2", ".xz"])
def test_joined_archives_are_read_to_the_last(tmp_path: Path, packed: str) -> None:
    path = tmp_path / f"corpus.txt{packed}"
    path.write_bytes(COMPRESSIONS[packed](b"um ") + COMPRESSIONS[packed](b"") + COMPRESSIONS[packed](b"dois"))
    assert reading(path).documents() == ["um dois"]


def test_a_gzip_file_padded_with_zeros_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt.gz"
    path.write_bytes(gzip.compress(b"um") + bytes(512))
    assert reading(path) == Reading({("corpus.txt.gz", "corpus.txt.gz"): "um"}, [], 0, 2)


def test_a_frame_with_a_window_of_two_gigabytes_is_read(tmp_path: Path) -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=30, enable_ldm=True)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    path = tmp_path / "corpus.txt.zst"
    path.write_bytes(packer.compress(b"longe ") + packer.flush())
    assert reading(path).documents() == ["longe "]


def test_one_bad_line_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(b'{"text": "um"}\n{"text": "do\n\n{"text": "quatro"}\n')
    back = reading(path)
    assert back.documents() == ["um", "quatro"]
    (fault,) = back.unread
    assert fault.where == "line 2"
    assert fault.reason.startswith("not JSON: ")
    assert fault.bytes == len(b'{"text": "do')
    assert not fault.incomplete


@pytest.mark.parametrize(
    ("line", "text", "reason"),
    [
        (b'{"text": "a\xe7\xe3o"}', "ação", "not UTF-8: read as Windows-1252"),
        (b'{"text": "\x81\x8d"}', "\ufffd\ufffd", "not UTF-8"),
        (b'{"text": 12}', None, "the text is a number, not a string"),
        (b'["solto"]', None, "not a JSON object"),
        (b'{"text": null}', "", None),
        (b'{"other": "x"}', "", None),
        (b'{"text": "\\u00e7\\n"}', "ç\n", None),
        (b'{"text": "dois"}  ', "dois", None),
        (b'{"text": "a\\u0000b"}', "a\0b", None),
        (b'{"text": "\\ud83d\\ude00"}', "\U0001f600", None),
        (b'{"text": "x", "text": "y"}', "y", None),
        (b'{"text": "a\tb"}', "a\tb", None),
        (b'{"text": "meia \\ud800"}', "meia \ufffd", "half a surrogate pair"),
    ],
)
def test_odd_lines(tmp_path: Path, line: bytes, text: str | None, reason: str | None) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(b'{"text": "um"}\n' + line + b'\r\n{"text": "fim"}')
    back = reading(path)
    assert back.documents() == ["um", *([] if text is None else [text]), "fim"]
    assert [said[: len(reason or "")] for said in back.reasons()] == ([] if reason is None else [reason])
    assert back.nulls == (text == "")


def test_documents_are_named_by_their_id_or_their_line(tmp_path: Path) -> None:
    named = tmp_path / "named.jsonl"
    named.write_bytes(b'{"id": "a", "text": "um"}\n{"id": null, "text": "dois"}\n{"text": "x", "id": "c"}\n')
    numbered = tmp_path / "numbered.jsonl"
    numbered.write_bytes(b'{"text": "um"}\n\n\n{"text": "quatro"}\n')
    assert [document for _, document in reading(named).texts] == ["a", "2", "c"]
    assert [document for _, document in reading(numbered).texts] == ["1", "4"]


def test_ids_of_several_kinds_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(b'{"id": 7, "text": "um"}\n{"id": "b", "text": "dois"}\n')
    assert [document for _, document in reading(path).texts] == ["7", "b"]


@pytest.mark.parametrize(
    ("column", "records", "texts"),
    [
        (None, [{"texto": "a", "n": 1}], ["a"]),
        (None, [{"title": "x", "content": "a"}], ["a"]),
        (None, [{"só": "a", "n": 1}], ["a"]),
        ("title", [{"title": "x", "text": "a"}], ["x"]),
        ("m[].content", [{"m": [{"content": "a"}, {"content": None}, {"content": "b"}]}], ["a\n\nb"]),
        ("a.b", [{"a": {"b": "x"}}, {"a": {"b": "y"}}], ["x", "y"]),
        ("a.b", [{"a.b": "x"}], ["x"]),
        ("turns[]", [{"turns": ["a", "b"]}, {"turns": []}], ["a\n\nb", ""]),
        ("turns", [{"turns": ["a", "b"]}], ["a\n\nb"]),
        ("t[].p[].x", [{"t": [{"p": [{"x": "a"}, {"x": "b"}]}, {"p": [{"x": "c"}]}]}], ["a\n\nb\n\nc"]),
    ],
)
@pytest.mark.parametrize("ending", [".jsonl", ".json", ".parquet"])
def test_the_text_column_is_found(
    tmp_path: Path, ending: str, column: str | None, records: list[dict[str, Any]], texts: list[str]
) -> None:
    path = tmp_path / f"corpus{ending}"
    if ending == ".parquet":
        pq.write_table(pa.Table.from_pylist(records), path)
    elif ending == ".json":
        if column is None and texts == ["a"] and "só" in records[0]:
            pytest.skip("a JSON value without a text column is read whole")
        path.write_text(json.dumps(records))
    else:
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    for shard in shards(str(path), column=column).shards:
        check(shard)
    assert reading(path, column=column).documents() == texts


@pytest.mark.parametrize("ending", [".jsonl", ".json", ".csv", ".parquet"])
def test_a_column_that_is_not_there_is_refused_before_the_scan(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"corpus{ending}"
    path.write_bytes(TABLES[ending](["um", "dois"]))
    (shard,) = shards(str(path), column="txt").shards
    with pytest.raises(InputError, match=rf"^corpus{ending}: no column 'txt'\. Name one of: (n, )?text\.$"):
        check(shard)


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_columns_that_could_all_be_the_text_are_listed(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"corpus{ending}"
    record = {"title": "a", "author": "b"}
    if ending == ".parquet":
        pq.write_table(pa.Table.from_pylist([record]), path)
    else:
        path.write_text(json.dumps(record) + "\n")
    (shard,) = shards(str(path)).shards
    with pytest.raises(
        InputError, match=r"no text column was found\. Name it; the columns are: title, author\."
    ):
        check(shard)


def test_a_column_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "corpus.parquet"
    pq.write_table(pa.table({"n": [1, 2], "text": ["a", "b"]}), path)
    (shard,) = shards(str(path), column="n").shards
    with pytest.raises(InputError, match="the column is int64, not text"):
        check(shard)


def test_parquet_rows_keep_ids_nulls_and_dictionaries(tmp_path: Path) -> None:
    path = tmp_path / "corpus.parquet"
    text = pa.array(["um", None, "três"]).dictionary_encode()
    pq.write_table(pa.table({"id": [10, 11, 12], "text": text}), path)
    back = reading(path)
    assert back.texts == {
        ("corpus.parquet", "10"): "um",
        ("corpus.parquet", "11"): "",
        ("corpus.parquet", "12"): "três",
    }
    assert back.nulls == 1


def test_parquet_strings_that_are_not_utf8_are_mended_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "corpus.parquet"
    bad = pa.array([b"bom", b"a\xe7\xe3o", b"\x81\x8d", b"fim"], pa.binary())
    pq.write_table(pa.table({"text": pa.Array.from_buffers(pa.string(), 4, bad.buffers())}), path)
    back = reading(path)
    assert back.documents() == ["bom", "ação", "\ufffd\ufffd", "fim"]
    assert [(fault.where, fault.bytes) for fault in back.unread] == [("row 2", 0), ("row 3", 2)]


def test_a_parquet_file_cut_short_is_incomplete(tmp_path: Path) -> None:
    path = tmp_path / "corpus.parquet"
    path.write_bytes(parquet(["um", "dois"])[:-10])
    (fault,) = reading(path).unread
    assert fault.incomplete
    assert fault.reason.startswith("not a whole Parquet file: ")


def test_a_parquet_page_that_is_broken_leaves_the_rows_before_it(tmp_path: Path) -> None:
    path = tmp_path / "corpus.parquet"
    table = pa.table({"text": [f"linha {n}" for n in range(40_000)]})
    pq.write_table(table, path, row_group_size=10_000, use_dictionary=False, compression="zstd")
    whole = bytearray(path.read_bytes())
    start = pq.ParquetFile(path).metadata.row_group(2).column(0).data_page_offset
    whole[start : start + 400] = b"\xff" * 400
    path.write_bytes(whole)
    back = reading(path)
    assert len(back.documents()) >= 20_000
    assert any(fault.incomplete for fault in back.unread)


@pytest.mark.parametrize(
    ("content", "text", "reasons"),
    [
        (b"", [], []),
        (b"\xef\xbb\xbf", [], []),
        (b"\xef\xbb\xbfa\xc3\xa7\xc3\xa3o", ["ação"], []),
        ("ação\r\nfim\f".encode("utf-16"), ["ação\r\nfim\f"], []),
        ("ação".encode("utf-16-be").join([b"\xfe\xff", b""]), ["ação"], []),
        ("uma ação só".encode("utf-16-le"), ["uma ação só"], []),
        ("uma ação só".encode("utf-16-be"), ["uma ação só"], []),
        (
            "É proibida a reprodução.\nNão há exceção.".encode("cp1252"),
            ["É proibida a reprodução.\nNão há exceção."],
            ["not UTF-8: read as Windows-1252"],
        ),
        (
            "linha boa: ação\n".encode() + b"linha m\xe1\n",
            ["linha boa: ação\nlinha má\n"],
            ["not UTF-8: read as Windows-1252"],
        ),
        (b"ruim: \x81\x8d\x8f\x90 fim", ["ruim: \ufffd\ufffd\ufffd\ufffd fim"], ["not UTF-8"]),
        (b"cortado \xc3", ["cortado \u00c3"], ["not UTF-8: read as Windows-1252"]),
    ],
    ids=[
        "empty",
        "only a mark",
        "mark",
        "utf-16",
        "utf-16-be",
        "utf-16-le without mark",
        "utf-16-be without mark",
        "cp1252",
        "one cp1252 line",
        "not text",
        "cut",
    ],
)
def test_encodings_of_a_text(tmp_path: Path, content: bytes, text: list[str], reasons: list[str]) -> None:
    path = tmp_path / "lei.txt"
    path.write_bytes(content)
    back = reading(path)
    assert back.documents() == text
    assert back.reasons() == reasons


def test_a_latin1_file_larger_than_a_block_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "lei.txt"
    text = "A lei não prejudicará o direito adquirido.\n" * 60_000
    path.write_bytes(text.encode("latin-1"))
    back = reading(path)
    assert back.documents() == [text]
    assert [fault.bytes for fault in back.unread] == [0]


@pytest.mark.parametrize(
    ("sheet", "texts"),
    [
        ("text,n\num,1\n", ["um"]),
        ('\ufeffid;texto\r\na;"linha\r\noutra"\r\nb;"x; y"\r\n', ["linha\r\noutra", "x; y"]),
        ("sep=;\nn;texto\n1;um\n", ["um"]),
        ("n\ttexto\n1\tum, dois\n", ["um, dois"]),
        ("pergunta,resposta\nQual?,Esta.\n", ["Qual?"]),
        ("a,b\num,dois\n", ["um\n\ndois"]),
        ("id,a,b\n7,um,dois\n", ["7\n\num\n\ndois"]),
        ('texto,n\n"diz ""sim""",1\ncurta\n,3\n', ['diz "sim"', "curta", ""]),
    ],
    ids=["comma", "excel", "sep", "tab", "question", "all columns", "all with id", "quotes and short rows"],
)
def test_sheets(tmp_path: Path, sheet: str, texts: list[str]) -> None:
    path = tmp_path / "planilha.csv"
    path.write_bytes(sheet.encode())
    assert reading(path).documents() == texts


def test_a_sheet_in_windows_1252_is_read(tmp_path: Path) -> None:
    path = tmp_path / "planilha.csv"
    path.write_bytes("resposta;nota\r\nA avaliação não foi.;1\r\n".encode("cp1252"))
    back = reading(path)
    assert back.documents() == ["A avaliação não foi."]
    assert back.reasons() == ["not UTF-8: read as Windows-1252"]


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ('{"text": "um"}\n{"text": "dois"}\n', ["um", "dois"]),
        ('{"text": "um"} {"text": "dois"}', ["um", "dois"]),
        ('{\n "text": "um"\n}', ["um"]),
        ('["um", "dois", 3]', ["um", "dois", ""]),
        ('["a\tb"]', ["a\tb"]),
        ('{"rows": [{"q": "um"}, {"q": ["dois"]}], "n": 1}', ["um\n\ndois"]),
        ("[]", []),
        ("", []),
    ],
    ids=["lines", "in a row", "one", "strings", "tab", "no text column", "empty list", "empty"],
)
def test_json_in_its_shapes(tmp_path: Path, content: str, texts: list[str]) -> None:
    path = tmp_path / "corpus.json"
    path.write_text(content)
    back = reading(path)
    assert back.documents() == texts
    assert back.unread == []


@pytest.mark.parametrize(
    "content", ['[{"text": "um"}, {"text": "do', '[{"text": "um"}, {"text": }, {"text": "x"}]', "[" * 100_000]
)
def test_broken_json_is_incomplete_and_keeps_what_came_before(tmp_path: Path, content: str) -> None:
    path = tmp_path / "corpus.json"
    path.write_text(content)
    back = reading(path)
    assert back.documents() == (["um"] if "um" in content else [])
    assert [fault.incomplete for fault in back.unread] == [True]


def test_a_list_longer_than_a_block_is_read_element_by_element(tmp_path: Path) -> None:
    path = tmp_path / "corpus.json.gz"
    documents = [f"documento {n} " * 20 for n in range(20_000)]
    path.write_bytes(gzip.compress(as_json(documents)))
    assert reading(path).documents() == documents


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>A&ccedil;&atilde;o &amp; <b>re</b>a&#231;ão</p>", "Ação & reação\n"),
        ("<title>T</title><nav>N</nav><body>B", "T\n\nN\n\nB"),
        ("um<script>var a = '<p>x</p>';</script> dois", "um\n dois"),
        ("um<SCRIPT src=x>y</SCRIPT >dois", "um\ndois"),
        ("um<style>p{}</style><template>t</template>dois", "um\n\ndois"),
        ("um<!-- <p>fora</p> -->dois", "umdois"),
        ("<a title='x > y'>z</a>", "z"),
        ('<a title="torto>z</a>', "z"),
        ("a < b e c > d", "a < b e c > d"),
        ("x<br/>y<br>z", "x\ny\nz"),
        ("<?xml version='1.0'?><d><![CDATA[1 < 2 &amp; 3]]></d>", "1 < 2 &amp; 3\n"),
        ("&#xD800;&nbsp;&semnome;", "\ufffd\u00a0&semnome;"),
    ],
)
def test_the_text_of_a_page(tmp_path: Path, page: str, text: str) -> None:
    path = tmp_path / "pagina.html"
    path.write_text(page)
    assert "".join(reading(path).documents()).lstrip("\n") == text.lstrip("\n")


@pytest.mark.parametrize(
    "page",
    [
        b'<meta charset="iso-8859-1"><p>a\xe7\xe3o \x96 fim</p>',
        b'<meta http-equiv="Content-Type" content="text/html; charset=cp1252"><p>a\xe7\xe3o \x96 fim</p>',
        '<meta charset="utf-8"><p>ação – fim</p>'.encode(),
        "<p>ação – fim</p>".encode("utf-16"),
        b"<p>a\xe7\xe3o \x96 fim</p>",
    ],
    ids=["latin-1", "http-equiv", "utf-8", "utf-16", "not declared"],
)
def test_the_charset_of_a_page(tmp_path: Path, page: bytes) -> None:
    path = tmp_path / "pagina.htm"
    path.write_bytes(page)
    assert reading(path).documents()[0].strip() == "ação – fim"


def test_a_page_read_in_blocks_is_the_page_read_at_once(tmp_path: Path) -> None:
    part = "<p>Ação &amp; reação<!-- não > --></p><script>if (a < b) {}</script>"
    part += "<a href='x > y'>elo</a> é\n"
    path = tmp_path / "pagina.xml"
    path.write_text(part * 40_000)
    (text,) = reading(path).documents()
    assert text.split() == ["Ação", "&", "reação", "elo", "é"] * 40_000


def test_a_script_without_end_is_said(tmp_path: Path) -> None:
    path = tmp_path / "pagina.html"
    path.write_text("<p>um</p><script>x")
    back = reading(path)
    assert back.documents()[0].strip() == "um"
    assert [(fault.reason, fault.bytes) for fault in back.unread] == [("a comment or script without end", 9)]


def test_a_line_over_the_limit_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lacre.corpora.lines.LINE_LIMIT", 3 << 20)
    path = tmp_path / "corpus.jsonl"
    long = json.dumps({"text": "x" * (5 << 20)})
    path.write_text('{"text": "um"}\n' + long + '\n{"text": "três"}\n')
    back = reading(path)
    assert back.texts == {("corpus.jsonl", "1"): "um", ("corpus.jsonl", "3"): "três"}
    (fault,) = back.unread
    assert (fault.where, fault.reason, fault.bytes) == ("line 2", "the line is too long", len(long) + 1)


def test_a_file_that_went_away_is_incomplete(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"text": "um"}\n')
    (shard,) = shards(str(path)).shards
    path.unlink()
    (batch,) = read(shard)
    assert [(fault.reason, fault.incomplete) for fault in batch.unread] == [
        ("No such file or directory", True)
    ]


def test_a_batch_too_small_to_move_on_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a")
    (shard,) = shards(str(path)).shards
    with pytest.raises(InputError, match="batch_bytes: 100 is too small"):
        next(read(shard, batch_bytes=100))


def test_each_xz_and_bz2_stream_is_read_in_bounded_steps(tmp_path: Path) -> None:
    for ending, pack in ((".xz", lzma.compress), (".bz2", bz2.compress)):
        path = tmp_path / f"zeros.txt{ending}"
        path.write_bytes(pack(b" a" * (8 << 20)))
        assert reading(path).longest <= 4 << 20


def test_ids_are_not_converted_until_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "corpus.parquet"
    pq.write_table(pa.table({"id": [f"d{n}" for n in range(1000)], "text": ["um texto"] * 1000}), path)
    (shard,) = shards(str(path)).shards
    (batch,) = read(shard)
    assert not isinstance(batch.documents, list | tuple)
    assert (len(batch.documents), batch.documents[999], batch.documents[-1]) == (1000, "d999", "d999")
    assert list(batch.documents[2:4]) == ["d2", "d3"]
    with pytest.raises(IndexError):
        batch.documents[1000]


@pytest.mark.parametrize("name", ["corpus.jsonl", "corpus.parquet"])
def test_offsets_are_right_in_sliced_batches(tmp_path: Path, name: str) -> None:
    documents = [f"{n:05d} " + "ção " * 500 for n in range(300)]
    path = tmp_path / name
    path.write_bytes(jsonl(documents) if name.endswith("jsonl") else parquet(documents))
    (shard,) = shards(str(path)).shards
    back: list[str] = []
    for batch in read(shard, batch_bytes=40_000):
        bounds, text = offsets(batch.text), memoryview(content(batch.text))
        back += [bytes(text[low:high]).decode() for low, high in pairwise(bounds.tolist())]
    assert back == documents


WHOLE = [
    f"{n:03d} O recurso foi negado por unanimidade; a sentença vale desde então.\n" * 3 for n in range(60)
]
PAGE = "".join(
    f"<p class='x'>{text} &amp; <b>fim</b><!-- c --><script>x</script></p>" for text in WHOLE
).encode()
FILES = {
    "corpus.txt": "".join(WHOLE).encode(),
    "corpus.html": PAGE,
    **{f"corpus{ending}": TABLES[ending](WHOLE) for ending in TABLES},
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("packed", COMPRESSIONS)
@LAWS
@given(drawn=st.data())
def test_no_damage_stops_the_scan_but_a_lost_column(
    tmp_path: Path, name: str, packed: str, drawn: st.DataObject
) -> None:
    if name.endswith(".parquet") and packed:
        return
    whole = bytearray(COMPRESSIONS[packed](FILES[name]))
    for _ in range(drawn.draw(st.integers(0, 4))):
        at = drawn.draw(st.integers(0, len(whole) - 1))
        whole[at : at + drawn.draw(st.integers(0, 40))] = drawn.draw(st.binary(max_size=40))
    del whole[drawn.draw(st.integers(1, len(whole))) :]
    path = tmp_path / f"{name}{packed}"
    path.write_bytes(whole)
    # A column whose name is damaged is refused; nothing else may be raised.
    with suppress(InputError):
        reading(path, batch_bytes=16 << 10)


def test_lines_nested_past_all_reason_are_named(tmp_path: Path) -> None:
    path = tmp_path / "deep.jsonl"
    path.write_bytes(b"[" * 200_000 + b'\n{"text": ' + b"[" * 200_000 + b'\n{"text": "um texto"}\n')
    (shard,) = shards(str(path)).shards
    batches = list(read(shard))
    assert [text for batch in batches for text in batch.text.to_pylist()] == ["um texto"]
    assert len([gap for batch in batches for gap in batch.unread if gap.reason.startswith("not JSON")]) == 2
