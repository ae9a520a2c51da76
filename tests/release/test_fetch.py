"""Releases at addresses: a tar, a folder, a dataset; a server that fails is told apart from a release that does."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from huggingface_hub import constants
from tests.release.conftest import Story
from tests.release.hub import Commit, serving
from tests.release.resigning import read

from lacre.errors import ColumnError, InputError, IntegrityError
from lacre.release.fetch import fetched, is_elsewhere, repository
from lacre.release.verify import verify


class Files(BaseHTTPRequestHandler):
    """Serves files; a name that begins with ``cut-`` ends early, ``lost-`` is nowhere."""

    files: dict[str, bytes]

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        name = self.path.lstrip("/")
        content = self.files.get(name.removeprefix("cut-"))
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content[: len(content) // 2] if name.startswith("cut-") else content)

    do_HEAD = do_GET  # noqa: N815 - the base class asks for this name


@pytest.fixture
def server(story: Story) -> Iterator[tuple[str, dict[str, bytes]]]:
    files = {f"r/{name}": content for name, content in read(story.folder(2)).items()}
    files |= {"r.tar": story.tar(2).read_bytes(), "bad/SHA256SUMS": b"x", "bad/release.dsse.json": b"x"}
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), type("These", (Files,), {"files": files}))
    httpd.daemon_threads = True
    thread = Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_address[1]}", files
    httpd.shutdown()
    httpd.server_close()
    thread.join()


@pytest.mark.parametrize("place", ["r.tar", "r", "r/"])
def test_a_release_at_an_address_verifies(
    story: Story, server: tuple[str, dict[str, bytes]], tmp_path: Path, place: str
) -> None:
    told: list[int] = []
    here = fetched(f"{server[0]}/{place}", tmp_path, told.append)
    assert verify(here, key=story.play.key.fingerprint).verdict == "authentic"
    assert told == sorted(told)
    assert told[-1] > 100_000


def test_a_time_stamp_is_fetched_where_there_is_one(
    server: tuple[str, dict[str, bytes]], tmp_path: Path
) -> None:
    server[1]["r/release.tsr"] = b"stamp"
    here = fetched(f"{server[0]}/r", tmp_path)
    assert (here / "release.tsr").read_bytes() == b"stamp"
    outcome = verify(here)
    assert [fault for check in outcome.checks for fault in check.faults] == [
        "release.tsr: is no time stamp of release.dsse.json"
    ]


def test_a_file_that_was_changed_on_the_server_is_found(
    server: tuple[str, dict[str, bytes]], tmp_path: Path
) -> None:
    server[1]["r/README.md"] += b" "
    assert verify(fetched(f"{server[0]}/r", tmp_path)).verdict == "failed"


@pytest.mark.parametrize("place", ["lost.tar", "lost", "cut-r.tar"])
def test_a_server_that_fails_is_said_to_fail(
    server: tuple[str, dict[str, bytes]], tmp_path: Path, place: str
) -> None:
    with pytest.raises(ColumnError, match="Check the address"):
        fetched(f"{server[0]}/{place}", tmp_path)


def test_a_folder_that_is_no_release_is_not_walked(
    server: tuple[str, dict[str, bytes]], tmp_path: Path
) -> None:
    with pytest.raises(IntegrityError, match="It is no release"):
        fetched(f"{server[0]}/bad", tmp_path)


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/r.tar", "http:///r.tar"])
def test_nobody_answers(tmp_path: Path, address: str) -> None:
    with pytest.raises(ColumnError, match="cannot be fetched"):
        fetched(address, tmp_path)


def test_a_dataset_of_the_hub_verifies_at_its_revision(
    story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
    with serving() as hub:
        hub.commits["equipe/exemplo"] = [Commit("1" * 40, read(story.folder(2)), set())]
        hub.tags["equipe/exemplo"] = {"v2": "1" * 40}
        here = fetched("hf://datasets/equipe/exemplo@v2", tmp_path, endpoint=hub.url)
        assert verify(here, key=story.play.key.fingerprint).verdict == "authentic"
        with pytest.raises(ColumnError, match="cannot be fetched"):
            fetched("hf://datasets/equipe/nada", tmp_path / "other", endpoint=hub.url)


@pytest.mark.parametrize(
    "place",
    [
        "hf://datasets/exemplo",
        "hf://datasets/a/b/c",
        "hf://datasets/a/b@",
        "hf://models/a/b",
        "hf://datasets//b",
    ],
)
def test_an_address_of_a_dataset_has_one_form(place: str) -> None:
    with pytest.raises(InputError, match="is not the address of a dataset"):
        repository(place)


def test_a_path_is_no_address() -> None:
    assert not is_elsewhere("hf/datasets")
