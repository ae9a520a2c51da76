"""Files at addresses: read as if they were here, in parts, ahead, and again when the network fails."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import stamina
import zstandard
from tests.corpora.serving import Faults, Files, Server, counted
from tests.vetting.making import FILLER, LAW, STEM, choice, verdict, vet

from lacre.corpora import remote
from lacre.corpora.batches import Shard, Unread
from lacre.corpora.readers import read
from lacre.corpora.remote import BLOCK_BYTES, WHOLE_ONLY, Unreachable, open_address
from lacre.corpora.sources import shards
from lacre.errors import InputError

TEXTS = [f"{n} {FILLER}" + (STEM if n % 700 == 3 else LAW) for n in range(4_000)]
ROWS = "".join(json.dumps({"id": f"d{n}", "text": text}) + "\n" for n, text in enumerate(TEXTS)).encode()


def parquet(texts: list[str]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(
        pa.table({"id": [f"d{n}" for n in range(len(texts))], "text": texts}), sink, row_group_size=900
    )
    return sink.getvalue().to_pybytes()


FILES = {
    "/a.jsonl": ROWS,
    "/a.jsonl.zst": zstandard.compress(ROWS),
    "/a.jsonl.gz": gzip.compress(ROWS, 1),
    "/a.parquet": parquet(TEXTS),
    "/a.txt": "\n".join(TEXTS).encode(),
    "/a.csv": ("id,text\n" + "".join(f'd{n},"{text}"\n' for n, text in enumerate(TEXTS))).encode(),
}


@pytest.fixture(autouse=True)
def _no_waits() -> Iterator[None]:
    with stamina.set_testing(True, attempts=6, cap=True):
        yield


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    # Small blocks, so that small files have many.
    monkeypatch.setattr(remote, "BLOCK_BYTES", 1 << 16)
    with Server(Files) as server:
        server.site.files = dict(FILES)
        yield server


def content(shard_list: tuple[Shard, ...]) -> tuple[list[tuple[str, str]], list[Unread]]:
    texts: list[tuple[str, str]] = []
    gaps: list[Unread] = []
    for shard in shard_list:
        for batch in read(shard):
            texts += [
                (name, text or "") for name, text in zip(batch.documents, batch.text.to_pylist(), strict=True)
            ]
            gaps += batch.unread
    return texts, gaps


def here(tmp_path: Path, name: str) -> list[tuple[str, str]]:
    (tmp_path / name).write_bytes(FILES[f"/{name}"])
    texts, gaps = content(shards(str(tmp_path / name)).shards)
    assert gaps == []
    return texts


WRONGS = {
    "nothing": Faults(),
    "busy": Faults(busy=3),
    "cut": Faults(cuts=3),
    "short": Faults(short=3),
    "ignores ranges and says so": Faults(ignores_range=True, says_so=True),
    "ignores ranges": Faults(ignores_range=True),
    "tells no size": Faults(unsized=True, ignores_range=True),
}


@pytest.mark.parametrize("wrong", WRONGS)
@pytest.mark.parametrize("name", [name.lstrip("/") for name in FILES])
def test_a_file_at_an_address_reads_as_it_does_here(
    server: Server, tmp_path: Path, name: str, wrong: str
) -> None:
    server.site.faults = Faults(**vars(WRONGS[wrong]))
    if name == "a.parquet" and server.site.faults.ignores_range:
        # Parquet is read from its end: without parts it cannot be. It is not damaged.
        with pytest.raises(
            InputError, match=r"nothing here can be read: a\.parquet: the server gives whole files only"
        ):
            shards(f"{server.url}/{name}")
        return
    listing = shards(f"{server.url}/{name}")
    texts, gaps = content(listing.shards)
    assert gaps == []
    assert texts == here(tmp_path, name)
    assert listing.shards[0].path == name


def test_a_server_that_gives_no_parts_any_more_says_nothing_of_the_file(server: Server) -> None:
    listing = shards(f"{server.url}/a.parquet")
    server.site.faults = Faults(ignores_range=True)
    _, gaps = content(listing.shards)
    assert [gap.reason.startswith(WHOLE_ONLY) for gap in gaps] == [True]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.zst", "a.jsonl.gz", "a.parquet", "a.txt"])
@pytest.mark.parametrize(
    "wrong", [Faults(lies=3_000_000), Faults(busy=10_000), Faults(cuts=10_000)], ids=["lies", "busy", "cuts"]
)
def test_what_was_promised_and_not_given_is_never_taken_for_the_end(
    server: Server, name: str, wrong: Faults
) -> None:
    address = f"{server.url}/{name}"
    if name == "a.parquet":
        server.site.faults = Faults(**vars(wrong))
        with pytest.raises(Unreachable, match=address):
            shards(address)
        return
    listing = shards(address)
    server.site.faults = Faults(**vars(wrong))
    listing = shards(address) if wrong.lies else listing
    if name.endswith((".zst", ".gz")) and wrong.lies:
        # What is packed ends where its own end mark stands; then comes what the server cannot give.
        pass
    with pytest.raises(Unreachable, match=address):
        content(listing.shards)


def test_what_was_found_before_the_line_broke_is_found_and_another_try_may_reach_the_rest(
    server: Server, tmp_path: Path
) -> None:
    server.site.files["/a.jsonl"] = ROWS * 10
    address = f"{server.url}/a.jsonl?token=secret"
    blocks = len(ROWS) * 10 // (1 << 16)
    server.site.faults.last = blocks - 8
    items = [
        choice(),
        choice("q2", "Quem esqueceu a chave da capela dentro do bolso do casaco verde do sacristão?"),
    ]
    found = vet(items, address)
    assert found.failed == ("a.jsonl",)
    assert [verdict(found, id).verdict for id in ("q1", "q2")] == ["drop", "unknown"]
    assert found.corpora[0].unread[0].reason.startswith("the server answers HTTP 500")
    assert found.corpora[0].incomplete == ("a.jsonl",)
    server.site.faults.last = 1_000_000
    again = vet(items, address)
    assert again.failed == ()
    (tmp_path / "a.jsonl").write_bytes(ROWS * 10)
    local = vet(items, str(tmp_path / "a.jsonl"))
    assert [v.verdict for v in again.verdicts] == [v.verdict for v in local.verdicts] == ["drop", "keep"]
    assert again.corpora[0].documents == local.corpora[0].documents


def test_a_file_is_read_ahead_each_part_asked_for_once(server: Server) -> None:
    with open_address(f"{server.url}/a.jsonl") as file:
        assert file.read(10) == ROWS[:10]
        assert file.read(1 << 16) == ROWS[10 : (1 << 16) + 10]
        # Two blocks are read; those ahead are on their way in threads of their own.
        deadline = time.monotonic() + 30
        while len(counted(server.site)) <= 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(counted(server.site)) > 2
        assert file.read() == ROWS[(1 << 16) + 10 :]
        assert file.read(1) == b""
    assert set(counted(server.site).values()) == {1}
    assert len(counted(server.site)) == -(-len(ROWS) // (1 << 16))


def test_seeking_reads_what_is_there_and_only_that(server: Server) -> None:
    with open_address(f"{server.url}/a.txt") as file:
        size = len(FILES["/a.txt"])
        assert file.seek(-20, 2) == size - 20
        assert file.read() == FILES["/a.txt"][-20:]
        assert file.seek(5) == file.tell() == 5
        assert file.read(7) == FILES["/a.txt"][5:12]
        file.seek(3, 1)
        assert file.read(7) == FILES["/a.txt"][15:22]
        assert file.readable()
        assert file.seekable()
    assert sum(counted(server.site).values()) < 6


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (404, "not found (HTTP 404)"),
        (403, "the server asks for an account, or for its owner's consent (HTTP 403)"),
        (500, "the server answers HTTP 500"),
    ],
)
def test_an_address_that_gives_nothing_is_named_with_its_reason(
    server: Server, status: int, said: str
) -> None:
    server.site.faults.status = status
    with pytest.raises(Unreachable) as raised:
        shards(f"{server.url}/a.jsonl")
    assert str(raised.value).startswith(f"{server.url}/a.jsonl: {said}. Check the address and the ")
    # What will not pass is not tried again.
    assert len(server.site.asked) == (2 if status < 500 else 12)


def test_nobody_there_is_unreachable(server: Server) -> None:
    with Server(Files) as other:
        gone = other.url
    with pytest.raises(Unreachable, match=gone):
        shards(f"{gone}/a.jsonl")


def test_an_address_that_nothing_here_knows_is_bad_input() -> None:
    with pytest.raises(InputError, match="gopher:// cannot be read here"):
        shards("gopher://127.0.0.1/a.txt")


def test_the_words_for_a_fault_hold_no_address(server: Server) -> None:
    assert (
        remote.reason(OSError("could not get https://user:secret@host/x?key=1 today"))
        == "could not get … today"
    )
    assert remote.reason(ValueError()) == "ValueError"
    assert remote.reason(FileNotFoundError("x")) == "not found"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("http://user:secret@host/a.txt", "http://host/a.txt"),
        ("https://secret@host:80/a@b.txt?token=secret&x=1#secret", "https://host:80/a@b.txt"),
        ("https://host?secret", "https://host"),
        ("https://user:secret/secret@host/a@b", "https://b"),
        ("http://user:se/c:ret@host:80/a.txt?secret", "http://host:80/a.txt"),
        ("s3://KEY:sec/ret@bucket/a.txt", "s3://bucket/a.txt"),
        ("http://[::1]:80/a@b.txt", "http://[::1]:80/a@b.txt"),
        ("http://[fe80::1:2]/a@b.txt", "http://[fe80::1:2]/a@b.txt"),
        ("s3://user:secret@bucket/a?b/*.txt", "s3://bucket/a?b/*.txt"),
        ("hf://datasets/o/c@main/x#pt", "hf://datasets/o/c@main/x#pt"),
        ("here/a@b?c.txt", "here/a@b?c.txt"),
    ],
)
def test_what_may_be_secret_in_an_address_is_not_shown(given: str, expected: str) -> None:
    assert remote.shown(given) == expected
    if given == expected:
        remote.refuse_secrets(given)
    else:
        with pytest.raises(InputError, match="may be secret") as raised:
            remote.refuse_secrets(given)
        assert "secret@" not in str(raised.value)
        assert "token" not in str(raised.value)


@pytest.mark.parametrize("scheme", ["ftp", "sftp", "gs", "github", "file", "zip", "xyz"])
def test_addresses_that_are_not_read_are_refused_with_those_that_are(scheme: str) -> None:
    with pytest.raises(InputError, match=f"{scheme}:// cannot be read here. Give https://, s3:// or hf://"):
        shards(f"{scheme}://127.0.0.1/a.txt")


class EndpointConnectionError(Exception):
    """As botocore names it."""


class ClientError(Exception):
    """As botocore's: it carries what the server said."""

    def __init__(self, code: str, status: int) -> None:
        super().__init__(f"An error occurred ({code}) when calling the ListObjectsV2 operation: …")
        self.response = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}


def test_libraries_errors_are_told_in_our_words() -> None:
    payload = aiohttp.ClientPayloadError(
        "Response payload is not completed: <ContentLengthError: 400, message='…'>"
    )
    assert remote.reason(payload) == "the answer broke off"
    assert remote.reason(EndpointConnectionError('Could not connect to the endpoint URL: "http://x/"')) == (
        "nobody answers there"
    )
    assert remote.reason(ClientError("NoSuchBucket", 404)) == "there is no such bucket"
    missing = FileNotFoundError("x")
    missing.__cause__ = ClientError("NoSuchBucket", 404)
    assert remote.reason(missing) == "there is no such bucket"
    assert remote.reason(ClientError("SlowDown", 503)) == "the server answers HTTP 503"
    assert remote.may_pass(ClientError("SlowDown", 503))
    assert remote.reason(TimeoutError()) == "no answer in time"
    assert remote.reason(aiohttp.InvalidURL("http://user:secret/x")) == "the address cannot be understood"
    assert not remote.may_pass(aiohttp.InvalidURL("http://user:secret/x"))


def test_the_mark_changes_when_the_file_does(server: Server) -> None:
    (before,) = shards(f"{server.url}/a.txt").shards
    server.site.files["/a.txt"] = b"outro texto"
    (after,) = shards(f"{server.url}/a.txt").shards
    assert before.mark != after.mark
    assert BLOCK_BYTES == 4 << 20
