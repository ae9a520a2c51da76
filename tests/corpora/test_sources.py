"""What of a source is read, and what is left out, by name."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.corpora.writing import COMPRESSIONS, reading

from lacre.corpora.sources import shards
from lacre.errors import InputError


@pytest.mark.parametrize(
    ("name", "format_", "compression"),
    [
        ("a.txt", "txt", None),
        ("a.MD", "txt", None),
        ("a.py", "txt", None),
        ("a.srt.gz", "txt", "gz"),
        ("a.htm.xz", "html", "xz"),
        ("a.xml", "xml", None),
        ("a.jsonl.zst", "jsonl", "zst"),
        ("a.ndjson.bz2", "jsonl", "bz2"),
        ("a.json", "json", None),
        ("a.csv.gz", "csv", "gz"),
        ("a.tsv", "tsv", None),
        ("LEIAME", "txt", None),
        ("a.estranho", "txt", None),
        ("2016.v1", "txt", None),
    ],
)
def test_the_ending_tells_the_format(
    tmp_path: Path, name: str, format_: str, compression: str | None
) -> None:
    path = tmp_path / name
    pack = COMPRESSIONS["." + compression] if compression else COMPRESSIONS[""]
    path.write_bytes(pack(b"texto"))
    (shard,) = shards(str(path)).shards
    assert (shard.format, shard.compression, shard.path) == (format_, compression, name)
    assert shard.size == path.stat().st_size


@pytest.mark.parametrize(
    ("name", "reason", "unread"),
    [
        ("a.pdf", "not a format lacre reads; extract its text first", 4),
        ("a.tar.gz", "not a format lacre reads; extract its text first", 4),
        ("a.estranho", "not a format lacre reads; extract its text first", 4),
        ("a.png", "no text in this format", 0),
        ("a.svg", "no text in this format", 0),
        (".oculto", "hidden", 0),
        (".git/config", "hidden", 0),
    ],
)
def test_what_is_left_out_is_named(tmp_path: Path, name: str, reason: str, unread: int) -> None:
    (tmp_path / "a.txt").write_text("texto")
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"\x00\x01\x02\x03")
    listing = shards(str(tmp_path))
    assert [shard.path for shard in listing.shards] == ["a.txt"]
    (left,) = listing.left_out
    assert (left.where, left.reason, left.bytes) == (name.split("/", maxsplit=1)[0], reason, unread)


def test_a_folder_is_walked_in_the_order_of_its_paths(tmp_path: Path) -> None:
    for name in ("b.txt", "a/z.txt", "a/b/c.txt", "a.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    listing = shards(str(tmp_path))
    assert [shard.path for shard in listing.shards] == ["a.txt", "a/b/c.txt", "a/z.txt", "b.txt"]
    assert {shard.corpus for shard in listing.shards} == {str(tmp_path)}


def test_a_glob_reaches_into_folders(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name in ("a/x.txt", "a/b/y.txt", "a/b/z.md"):
        (tmp_path / name).write_text(name)
    assert [shard.path for shard in shards(str(tmp_path / "**" / "*.txt")).shards] == ["a/b/y.txt", "a/x.txt"]


def test_a_folder_that_a_glob_names_is_walked(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name in ("a/x.txt", "a/b/y.txt"):
        (tmp_path / name).write_text(name)
    assert [shard.path for shard in shards(str(tmp_path / "a" / "*")).shards] == ["b/y.txt", "x.txt"]


def test_a_name_that_is_not_utf8_is_read(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xe7\xe3o.txt")).write_text("texto")
    (shard,) = shards(str(tmp_path)).shards
    assert shard.path == "a\ufffd\ufffdo.txt"
    assert reading(tmp_path).documents() == ["texto"]


def test_a_loop_of_links_is_walked_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "t.txt").write_text("texto")
    (tmp_path / "a" / "volta").symlink_to(tmp_path)
    listing = shards(str(tmp_path))
    assert [shard.path for shard in listing.shards] == ["a/t.txt"]
    assert [left.reason for left in listing.left_out] == ["a link to a folder that is read already"]


def test_a_link_to_nothing_and_a_pipe_are_named(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("texto")
    (tmp_path / "nada.txt").symlink_to(tmp_path / "falta")
    os.mkfifo(tmp_path / "cano.txt")
    listing = shards(str(tmp_path))
    assert [(left.where, left.reason) for left in listing.left_out] == [
        ("cano.txt", "not a regular file"),
        ("nada.txt", "No such file or directory"),
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("texto")
    (tmp_path / "fechado.txt").write_text("texto")
    (tmp_path / "fechado.txt").chmod(0)
    (left,) = shards(str(tmp_path)).left_out
    assert (left.where, left.reason, left.incomplete) == ("fechado.txt", "Permission denied", True)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("falta", "no such file or folder"),
        ("vazia", "there is no file here"),
        ("*.txt", "there is no file here"),
        ("pdfs", "nothing here can be read: a.pdf"),
    ],
)
def test_a_source_with_nothing_to_read_is_refused(tmp_path: Path, source: str, message: str) -> None:
    (tmp_path / "vazia").mkdir()
    (tmp_path / "pdfs").mkdir()
    (tmp_path / "pdfs" / "a.pdf").write_bytes(b"%PDF")
    with pytest.raises(InputError, match=message):
        shards(str(tmp_path / source))


def test_a_parquet_file_is_cut_at_row_groups_and_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "corpus.parquet"
    texts = [f"{n} palavra" * 20 for n in range(5_000)]
    pq.write_table(pa.table({"text": texts}), path, row_group_size=300)
    listing = shards(str(path), shard_bytes=100_000)
    groups = [shard.row_groups for shard in listing.shards]
    assert len(groups) > 3
    assert groups[0] is not None
    assert groups[0][0] == 0
    for before, after in pairwise(groups):
        assert before is not None
        assert after is not None
        assert before[1] == after[0]
    back = reading(path)
    assert back.documents() == texts
    assert list(back.texts)[-1] == ("corpus.parquet", "5000")


def test_a_link_that_leads_in_a_circle_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("texto")
    (tmp_path / "loop").symlink_to("loop")
    listing = shards(str(tmp_path))
    assert [shard.path for shard in listing.shards] == ["a.txt"]
    (gap,) = listing.left_out
    assert gap.where == "loop"
    assert gap.incomplete
    with pytest.raises(InputError, match="no such file"):
        shards(str(tmp_path / "loop"))
