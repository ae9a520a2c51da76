"""Datasets of the Hub, at one revision, and buckets: over real sockets, on servers that stand in for the real ones."""

from __future__ import annotations

import io
import json
import logging
import zipfile
from collections.abc import Iterator
from pathlib import Path

import fsspec  # type: ignore[import-untyped]
import pytest
import stamina
import zstandard
from boto3 import client as boto3_client  # type: ignore[import-untyped]
from moto.server import ThreadedMotoServer
from tests.corpora.serving import SHA, Server, in_place_of_the_hub
from tests.corpora.test_remote import ROWS, TEXTS, content, parquet

from lacre.corpora import addresses
from lacre.corpora.readers import check
from lacre.corpora.remote import Unreachable
from lacre.corpora.sources import shards
from lacre.errors import InputError

FEW = TEXTS[:50]
LINES = "".join(json.dumps({"id": f"d{n}", "text": text}) + "\n" for n, text in enumerate(FEW)).encode()


PAGES = {
    "/someone/pages/README.md": b"Sobre o conjunto.",
    "/someone/pages/.gitattributes": b"*.parquet lfs",
    "/someone/pages/data/por_Latn/train/000.parquet": parquet(FEW),
    "/someone/pages/data/por_Latn/train/001.jsonl.zst": zstandard.compress(LINES),
    "/someone/pages/data/por_Latn_removed/train/000.parquet": parquet(FEW[:7]),
}


@pytest.fixture(autouse=True)
def _no_waits() -> Iterator[None]:
    with stamina.set_testing(True, attempts=3, cap=True):
        yield


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A Hub that everything here takes for the real one."""
    with in_place_of_the_hub(monkeypatch) as server:
        server.site.files = dict(PAGES)
        yield server


def paths(source: str) -> list[str]:
    return [shard.path for shard in shards(source).shards]


def test_a_dataset_is_read_at_the_revision_that_its_newest_is(hub: Server) -> None:
    listing = shards("hf://datasets/someone/pages")
    assert listing.revision == SHA
    assert [shard.path for shard in listing.shards] == [
        "README.md",
        "data/por_Latn/train/000.parquet",
        "data/por_Latn/train/001.jsonl.zst",
        "data/por_Latn_removed/train/000.parquet",
    ]
    assert all(f"datasets/someone/pages@{SHA}/" in shard.location for shard in listing.shards)
    assert [gap.where for gap in listing.left_out] == [".gitattributes"]
    texts, gaps = content(listing.shards)
    assert gaps == []
    assert [text for _, text in texts] == ["Sobre o conjunto.", *FEW, *FEW, *FEW[:7]]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("hf://datasets/someone/pages#por_Latn", ["train/000.parquet", "train/001.jsonl.zst"]),
        ("hf://datasets/someone/pages#por_Latn_removed", ["train/000.parquet"]),
        ("hf://datasets/someone/pages/data/por_Latn", ["train/000.parquet", "train/001.jsonl.zst"]),
        ("hf://datasets/someone/pages/data/por_Latn/train/000.parquet", ["000.parquet"]),
        ("hf://datasets/someone/pages/data/*/train/*.parquet", None),
        (f"hf://datasets/someone/pages@{SHA}/README.md", ["README.md"]),
    ],
)
def test_a_part_of_a_dataset_can_be_named(hub: Server, source: str, found: list[str] | None) -> None:
    expected = found or ["por_Latn/train/000.parquet", "por_Latn_removed/train/000.parquet"]
    assert paths(source) == expected


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("hf://datasets/someone/gated", "consent (HTTP 401)"),
        ("hf://datasets/no/such", "not found"),
        ("hf://datasets/someone/pages@v9", "not found"),
    ],
)
def test_a_dataset_that_cannot_be_read_is_named_with_its_reason(hub: Server, source: str, said: str) -> None:
    with pytest.raises(Unreachable) as raised:
        shards(source)
    assert str(raised.value).startswith(f"{source}: ")
    assert said in str(raised.value)
    assert addresses.out_of_reach(source) == str(raised.value).removeprefix(f"{source}: ").rstrip(".")


def test_an_empty_place_in_a_dataset_is_bad_input(hub: Server) -> None:
    for source in ("hf://datasets/someone/pages/data/eng_Latn", "hf://datasets/someone/pages/*.txt"):
        with pytest.raises(InputError, match="there is no file here"):
            shards(source)


def test_what_is_no_repository_is_bad_input(hub: Server) -> None:
    with pytest.raises(InputError, match="is not the address of a repository"):
        shards("hf://datasets")


def test_a_repository_without_plain_files_is_read_as_a_stream(hub: Server) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("rows.jsonl", LINES)
    hub.site.files["/someone/zipped/data/train.zip"] = packed.getvalue()
    listing = shards("hf://datasets/someone/zipped")
    assert [(shard.path, shard.format) for shard in listing.shards] == [("default/train", "streamed")]
    texts, gaps = content(listing.shards)
    assert gaps == []
    assert texts == [(f"d{n}", text) for n, text in enumerate(FEW)]


def test_a_repository_that_nothing_reads_is_named(hub: Server) -> None:
    hub.site.files["/someone/odd/model.bin"] = b"\0\1\2" * 99
    with pytest.raises(InputError, match="nothing here can be read"):
        shards("hf://datasets/someone/odd")


def test_a_stream_without_the_column_or_without_its_hub_is_said(hub: Server) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("rows.jsonl", LINES)
    hub.site.files["/someone/zipped/data/train.zip"] = packed.getvalue()
    (shard,) = shards("hf://datasets/someone/zipped", column="corpo").shards
    with pytest.raises(InputError, match="no column 'corpo'"):
        check(shard)
    hub.site.files.clear()
    with pytest.raises(Unreachable, match="after row 0"):
        content((shard,))


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """A bucket on a local S3 server, with files; its address."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        client = boto3_client("s3")
        client.create_bucket(Bucket="texts")
        for name, body in {
            "pt/a.parquet": parquet(TEXTS),
            "pt/b.jsonl.zst": zstandard.compress(ROWS),
            "pt/deep/c.txt": b"um texto",
            "pt/image.png": b"\x89PNG",
        }.items():
            client.put_object(Bucket="texts", Key=name, Body=body)
        client.close()
        fsspec.get_filesystem_class("s3").clear_instance_cache()
        yield "s3://texts/pt"
        fsspec.get_filesystem_class("s3").clear_instance_cache()
    server.stop()


def test_a_bucket_reads_as_a_folder_does(bucket: str, tmp_path: Path) -> None:
    listing = shards(bucket)
    assert [shard.path for shard in listing.shards] == ["a.parquet", "b.jsonl.zst", "deep/c.txt"]
    assert [gap.where for gap in listing.left_out] == ["image.png"]
    assert all(shard.mark for shard in listing.shards)
    texts, gaps = content(listing.shards)
    assert gaps == []
    expected = [(f"d{n}", text) for n, text in enumerate(TEXTS)]
    assert texts == [*expected, *expected, ("deep/c.txt", "um texto")]


@pytest.mark.parametrize(
    ("part", "found"),
    [("/*.parquet", ["a.parquet"]), ("/b.jsonl.zst", ["b.jsonl.zst"]), ("/d*", ["deep/c.txt"])],
)
def test_a_part_of_a_bucket_can_be_named(bucket: str, part: str, found: list[str]) -> None:
    assert paths(bucket + part) == found


def test_a_bucket_that_is_not_there_is_named(bucket: str) -> None:
    with pytest.raises((InputError, Unreachable), match="s3://no-such/pt: there is no such bucket"):
        shards("s3://no-such/pt")
