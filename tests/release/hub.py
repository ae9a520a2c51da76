# ruff: noqa: ARG002 - every answer takes what its route gives
"""A server on loopback that speaks what the Hugging Face Hub speaks when a dataset is made, filled and read."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import unquote, urlparse

LARGE = 30_000  # bytes from which the Hub wants a file in its large-file storage


def git_oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


@dataclass
class Commit:
    """One commit of a dataset: its files, by name."""

    oid: str
    files: dict[str, bytes]
    large: set[str]


@dataclass
class Hub:
    """The datasets, and everything that was asked of the server.

    Attributes:
        asked: requests by kind. ``storage``: large files by SHA-256.
        fail: kind -> how many times it is still answered with 403, which nobody tries again.
        swallow_commit: whether the answer to the next commit is lost after it was made.
    """

    commits: dict[str, list[Commit]] = field(default_factory=dict)
    tags: dict[str, dict[str, str]] = field(default_factory=dict)
    storage: dict[str, bytes] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    fail: dict[str, int] = field(default_factory=dict)
    swallow_commit: bool = False
    url: str = ""
    lock: Lock = field(default_factory=Lock)

    def head(self, name: str) -> Commit:
        return self.commits[name][-1]

    def at(self, name: str, revision: str) -> Commit | None:
        if revision == "main":
            return self.head(name)
        revision = self.tags[name].get(revision, revision)
        return next((commit for commit in self.commits[name] if commit.oid == revision), None)

    def create(self, name: str) -> bool:
        if name in self.commits:
            return False
        content = b"*.parquet filter=lfs diff=lfs merge=lfs -text\n"
        self.commits[name] = [Commit("0" * 40, {".gitattributes": content}, set())]
        self.tags[name] = {}
        return True

    def commit(self, name: str, lines: list[dict[str, Any]]) -> Commit | str:
        head = self.head(name)
        files, large = dict(head.files), set(head.large)
        for line in lines:
            value = line["value"]
            if line["key"] == "header" and value.get("parentCommit") not in (None, head.oid):
                return "412"
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
                large.discard(value["path"])
            if line["key"] == "lfsFile":
                if value["oid"] not in self.storage:
                    return "400"
                files[value["path"]] = self.storage[value["oid"]]
                large.add(value["path"])
            if line["key"] == "deletedFile":
                del files[value["path"]]
        oid = hashlib.sha1(json.dumps([head.oid, sorted(files)]).encode(), usedforsecurity=False).hexdigest()
        self.commits[name].append(Commit(oid, files, large))
        return self.head(name)


class Answers(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        self.answer()

    do_POST = do_PUT = do_HEAD = do_GET  # noqa: N815 - the base class asks for these names

    def answer(self) -> None:
        path = unquote(urlparse(self.path).path)
        body = self.body()
        with self.hub.lock:
            for pattern, kind in ROUTES:
                found = re.fullmatch(pattern, path)
                if found and self.command in kind.split()[1:]:
                    name = kind.split()[0]
                    self.hub.asked[name] += 1
                    if self.hub.fail.get(name, 0):
                        self.hub.fail[name] -= 1
                        return self.send(403, {"error": "no"})
                    handle = getattr(self, name)
                    assert handle is not None
                    handle(*found.groups(), body=body)
                    return None
        return self.send(404, {"error": path})

    def body(self) -> bytes:
        """What came with the request, in one piece or in chunks."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def send(self, status: int, value: object, **headers: str) -> None:
        content = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for key, text in headers.items():
            self.send_header(key.replace("_", "-"), text)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def create(self, body: bytes) -> None:
        asked = json.loads(body)
        name = f"{asked['organization']}/{asked['name']}" if asked.get("organization") else asked["name"]
        made = self.hub.create(name)
        url = f"{self.hub.url}/datasets/{name}"
        self.send(200 if made else 409, {"url": url, "name": name, "id": name})

    def card(self, body: bytes) -> None:
        self.send(200, {"errors": [], "warnings": []})

    def info(self, name: str, revision: str | None = None, *, body: bytes) -> None:
        commit = self.hub.at(name, revision or "main") if name in self.hub.commits else None
        if commit is None:
            return self.send(404, {"error": "no"}, X_Error_Code="RepoNotFound")
        siblings = [{"rfilename": file} for file in commit.files]
        return self.send(
            200,
            {
                "id": name,
                "sha": commit.oid,
                "siblings": siblings,
                "private": False,
                "tags": [],
                "downloads": 0,
                "likes": 0,
            },
        )

    def tree(self, name: str, revision: str, body: bytes) -> None:
        commit = self.hub.at(name, revision)
        assert commit is not None
        listed = []
        for file, content in sorted(commit.files.items()):
            each: dict[str, Any] = {
                "type": "file",
                "path": file,
                "size": len(content),
                "oid": git_oid(content),
            }
            if file in commit.large:
                each["lfs"] = {
                    "oid": hashlib.sha256(content).hexdigest(),
                    "size": len(content),
                    "pointerSize": 134,
                }
            listed.append(each)
        self.send(200, listed)

    def preupload(self, name: str, revision: str, body: bytes) -> None:
        files = [
            {
                "path": each["path"],
                "uploadMode": "lfs" if each["size"] >= LARGE else "regular",
                "shouldIgnore": False,
            }
            for each in json.loads(body)["files"]
        ]
        self.send(200, {"files": files})

    def batch(self, name: str, body: bytes) -> None:
        objects = []
        for each in json.loads(body)["objects"]:
            there = each["oid"] in self.hub.storage
            href = f"{self.hub.url}/storage/{each['oid']}"
            objects.append(each if there else {**each, "actions": {"upload": {"href": href}}})
        self.send(200, {"transfer": "basic", "objects": objects})

    def upload(self, oid: str, body: bytes) -> None:
        if hashlib.sha256(body).hexdigest() != oid:
            return self.send(422, {"error": "other bytes"})
        self.hub.storage[oid] = body
        return self.send(200, b"")

    def commit(self, name: str, revision: str, body: bytes) -> None:
        done = self.hub.commit(name, [json.loads(line) for line in body.splitlines()])
        if isinstance(done, str):
            return self.send(int(done), {"error": "the head moved"})
        if self.hub.swallow_commit:
            self.hub.swallow_commit = False
            self.close_connection = True
            return None
        url = f"{self.hub.url}/datasets/{name}/commit/{done.oid}"
        return self.send(200, {"success": True, "commitOid": done.oid, "commitUrl": url})

    def refs(self, name: str, body: bytes) -> None:
        tags = [
            {"name": tag, "ref": f"refs/tags/{tag}", "targetCommit": oid}
            for tag, oid in self.hub.tags[name].items()
        ]
        main = {"name": "main", "ref": "refs/heads/main", "targetCommit": self.hub.head(name).oid}
        self.send(200, {"branches": [main], "converts": [], "tags": tags})

    def tag(self, name: str, revision: str, body: bytes) -> None:
        self.hub.tags[name][json.loads(body)["tag"]] = revision
        self.send(200, {})

    def resolve(self, name: str, revision: str, file: str, body: bytes) -> None:
        commit = self.hub.at(name, revision)
        if commit is None or file not in commit.files:
            return self.send(404, {"error": "no"}, X_Error_Code="EntryNotFound")
        content = commit.files[file]
        etag = hashlib.sha256(content).hexdigest() if file in commit.large else git_oid(content)
        return self.send(
            200, content, ETag=f'"{etag}"', X_Repo_Commit=commit.oid, X_Linked_Size=str(len(content))
        )


_NAME = r"([\w.-]+/[\w.-]+)"
ROUTES = [
    (r"/api/repos/create", "create POST"),
    (r"/api/validate-yaml", "card POST"),
    (rf"/api/datasets/{_NAME}/tree/([\w.-]+)", "tree GET"),
    (rf"/api/datasets/{_NAME}/preupload/(\w+)", "preupload POST"),
    (rf"/api/datasets/{_NAME}/commit/(\w+)", "commit POST"),
    (rf"/api/datasets/{_NAME}/refs", "refs GET"),
    (rf"/api/datasets/{_NAME}/tag/(\w+)", "tag POST"),
    (rf"/api/datasets/{_NAME}/revision/([\w.-]+)", "info GET"),
    (rf"/api/datasets/{_NAME}", "info GET"),
    (rf"/datasets/{_NAME}\.git/info/lfs/objects/batch", "batch POST"),
    (r"/storage/([0-9a-f]{64})", "upload PUT"),
    (rf"/datasets/{_NAME}/resolve/([\w.-]+)/(.+)", "resolve GET HEAD"),
]


@contextmanager
def serving() -> Iterator[Hub]:
    """A Hub without datasets, until the block ends."""
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("These", (Answers,), {"hub": hub}))
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
