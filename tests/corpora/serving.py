"""Servers on loopback: files over HTTP with the faults one asks for, and a small stand-in for the Hub's file API."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, unquote, urlparse

import datasets.config  # type: ignore[import-untyped]
import fsspec  # type: ignore[import-untyped]
import huggingface_hub.constants
import pytest

RANGE = re.compile(r"bytes=(\d+)-(\d*)")


@dataclass
class Faults:
    """What a server does wrong.

    Attributes:
        ignores_range: gives the whole file whatever is asked; ``says_so``: and tells that it does.
        busy: answers 503 to this many requests for parts.
        cuts: ends the line in the middle of this many answers.
        lies: promises so many bytes more than there are.
        short: ends an answer early, and says so in its length, this many times.
        status: answers every request so.
        unsized: does not tell the size.
        last: answers 500 to every request for a part after this many.
    """

    ignores_range: bool = False
    says_so: bool = False
    busy: int = 0
    cuts: int = 0
    lies: int = 0
    short: int = 0
    status: int = 0
    unsized: bool = False
    last: int = 1_000_000


@dataclass
class Site:
    """Files by path, the faults of the server, and what was asked of it."""

    files: dict[str, bytes] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)
    asked: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, name: str) -> bool:
        """Whether a fault that happens so many times happens now."""
        with self.lock:
            left: int = getattr(self.faults, name)
            setattr(self.faults, name, max(0, left - 1))
            return left > 0


class Server:
    """A server on loopback, as a context; ``url`` is its address."""

    def __init__(self, handler: type[Files]) -> None:
        self.site = Site()
        site = self.site

        class Bound(handler):  # type: ignore[misc, valid-type]
            pass

        Bound.site = site
        self._server = _Listening(("127.0.0.1", 0), Bound)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Server:
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()
        return self

    def down(self) -> None:
        """End as a machine does that is switched off: whoever holds a connection loses it, and there is no other."""
        self._server.shutdown()
        self._server.server_close()
        for connection in self._server.connections:
            with suppress(OSError):  # closed by the other side already
                connection.shutdown(socket.SHUT_RDWR)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Listening(ThreadingHTTPServer):
    """Remembers its connections."""

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.connections: list[socket.socket] = []
        super().__init__(address, handler)

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self.connections.append(connection)
        return connection, address


class Files(BaseHTTPRequestHandler):
    """Files, whole or in parts."""

    site: Site
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Nothing: what was asked is in ``site.asked``."""

    def do_HEAD(self) -> None:
        """Size and mark of a file."""
        self.answer(body=False)

    def do_GET(self) -> None:
        """A file, or a part of it."""
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        """What is asked for."""
        path = unquote(urlparse(self.path).path)
        with self.site.lock:
            self.site.asked.append(f"{self.command} {path} {self.headers.get('Range', '')}".strip())
        content = self.site.files.get(path)
        if self.site.faults.status:
            self.say(self.site.faults.status)
        elif content is None:
            self.say(404)
        else:
            self.file(content, body=body)

    def say(self, status: int, content: bytes = b"", **headers: str) -> None:
        """A whole answer."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def file(self, content: bytes, *, body: bool) -> None:
        """A file, or a part of it, with the faults of the site."""
        faults = self.site.faults
        asked = RANGE.fullmatch(self.headers.get("Range", ""))
        size = len(content) + faults.lies
        if body and asked and self.site.take("busy"):
            self.say(503, Retry_After="0")
            return
        if body and asked and not self.site.take("last"):
            self.say(500)
            return
        start, end = 0, size
        if asked and not faults.ignores_range:
            start, end = int(asked[1]), min(size, int(asked[2] or size) + 1)
            if start >= size:
                self.say(416)
                return
        if body and asked and end - start > 1 and self.site.take("short"):
            end = (start + end) // 2
        self.send_response(206 if asked and not faults.ignores_range else 200)
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()[:16]}"')
        if faults.says_so:
            self.send_header("Accept-Ranges", "none")
        if asked and not faults.ignores_range:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
        if faults.unsized:
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(end - start))
        self.end_headers()
        if not body:
            return
        part = content[start:end]
        if len(part) > 1 and self.site.take("cuts"):
            part = part[: len(part) // 2]
            self.close_connection = True
        if len(part) < end - start:
            self.close_connection = True
        self.wfile.write(part)


SHA = "5eed" * 10
"""The newest revision of every repository of the stand-in."""


class Hub(Files):
    """The part of the Hub's API that listing and reading a dataset need. Files are at ``/OWNER/NAME/PATH``."""

    gated = "someone/gated"

    def do_POST(self) -> None:
        """What is known of some paths."""
        length = int(self.headers.get("Content-Length", 0))
        content = self.rfile.read(length)
        if "json" in self.headers.get("Content-Type", ""):
            paths = json.loads(content)["paths"]
        else:
            paths = parse_qs(content.decode()).get("paths", [])
        self.answer_api(paths)

    def answer(self, *, body: bool) -> None:
        """A file, or what is known of a repository."""
        path = unquote(urlparse(self.path).path)
        found = re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        if found is None:
            self.answer_api(())
            return
        with self.site.lock:
            self.site.asked.append(f"{self.command} {path} {self.headers.get('Range', '')}".strip())
        content = self.site.files.get(f"/{found[1]}/{found[3]}")
        if content is None:
            self.say(404, X_Error_Code="EntryNotFound")
        else:
            self.file(content, body=body)

    def end_headers(self) -> None:
        """As the Hub says which revision it gives."""
        self.send_header("X-Repo-Commit", SHA)
        super().end_headers()

    def answer_api(self, paths: Iterable[str]) -> None:
        """What is known of a repository, or of the files in it."""
        with self.site.lock:
            self.site.asked.append(f"{self.command} {self.path}")
        path = unquote(urlparse(self.path).path)
        found = re.fullmatch(
            r"/api/datasets/([^/]+/[^/]+)(?:/(revision|tree|paths-info)/([^/]+))?(?:/(.*))?", path
        )
        repository = found[1] if found else ""
        files = {
            name.removeprefix(f"/{repository}/"): content
            for name, content in self.site.files.items()
            if repository and name.startswith(f"/{repository}/")
        }
        if repository == self.gated:
            self.say(401, X_Error_Code="GatedRepo", X_Error_Message="Access is restricted")
        elif not found or not files:
            self.say(404, X_Error_Code="RepoNotFound")
        elif found[3] not in (None, "main", SHA):
            self.say(404, X_Error_Code="RevisionNotFound")
        elif found[2] in (None, "revision"):
            self.json(self.about(repository, files))
        elif found[2] == "tree":
            query = parse_qs(urlparse(self.path).query)
            deep = query.get("recursive", ["false"])[0].lower() == "true"
            if entries := self.tree(files, found[4] or "", deep=deep):
                self.json(entries)
            else:
                self.say(404, X_Error_Code="EntryNotFound")
        else:
            known = {entry["path"]: entry for entry in self.tree(files, "", deep=True)}
            self.json([known[path] for path in paths if path in known])

    def json(self, value: object) -> None:
        """An answer in JSON."""
        self.say(200, json.dumps(value).encode(), Content_Type="application/json")

    def about(self, repository: str, files: dict[str, bytes]) -> dict[str, Any]:
        """What the Hub says of a repository."""
        return {
            "_id": "0" * 24,
            "id": repository,
            "author": repository.split("/", maxsplit=1)[0],
            "sha": SHA,
            "private": False,
            "gated": False,
            "disabled": False,
            "tags": ["license:cc-by-4.0"],
            "cardData": {"license": "cc-by-4.0"},
            "downloads": 0,
            "likes": 0,
            "lastModified": "2025-01-02T03:04:05.000Z",
            "createdAt": "2025-01-02T03:04:05.000Z",
            "siblings": [{"rfilename": name} for name in sorted(files)],
        }

    def tree(self, files: dict[str, bytes], below: str, *, deep: bool) -> list[dict[str, Any]]:
        """The files and folders below a path."""
        prefix = f"{below}/" if below else ""
        entries: dict[str, dict[str, Any]] = {}
        for name, content in sorted(files.items()):
            if not name.startswith(prefix):
                continue
            parts = name[len(prefix) :].split("/")
            for depth in range(1, len(parts)) if deep else range(1, min(len(parts), 2)):
                folder = prefix + "/".join(parts[:depth])
                entries[folder] = {"type": "directory", "oid": "0" * 40, "size": 0, "path": folder}
            if deep or len(parts) == 1:
                oid = hashlib.sha1(content, usedforsecurity=False).hexdigest()
                entries[name] = {"type": "file", "oid": oid, "size": len(content), "path": name}
        return list(entries.values())


def counted(site: Site, method: str = "GET") -> Counter[str]:
    """How often each part was asked for."""
    return Counter(asked for asked in site.asked if asked.startswith(method))


@contextmanager
def in_place_of_the_hub(patch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A stand-in that everything here takes for the Hub, as HF_ENDPOINT would do where it is set from the start."""
    system: Any = fsspec.get_filesystem_class("hf")
    with Server(Hub) as server:
        for module in (huggingface_hub.constants, datasets.config):
            for name, value in list(vars(module).items()):
                if isinstance(value, str) and value.startswith("https://huggingface.co"):
                    patch.setattr(module, name, value.replace("https://huggingface.co", server.url))
        system.clear_instance_cache()
        yield server
    system.clear_instance_cache()
