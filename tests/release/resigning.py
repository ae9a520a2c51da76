"""What an insider or an attacker does to a release: change files, then list and sign them anew."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lacre.release import verify as verifier
from lacre.release.verify import ENVELOPE, SUMS, Piece, Tree, sums_bytes
from lacre.sealing.dsse import Statement, sign
from lacre.sealing.keys import SigningKey


@dataclass(frozen=True)
class Held(Piece):
    """A file of a release held in memory."""

    bytes_: bytes = b""

    def blocks(self) -> Iterator[memoryview]:
        yield memoryview(self.bytes_)

    def sha256(self) -> str:
        return _hashed(self.bytes_)


@cache
def _hashed(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Inline:
    """Does at once what threads would do later: bytes in memory are hashed sooner than a thread begins."""

    def __init__(self, max_workers: int) -> None:
        """``max_workers``: as of threads, and of no use here."""

    def submit(self, work: Callable[[str], bool], name: str) -> Future[bool]:
        done: Future[bool] = Future()
        done.set_result(work(name))
        return done

    def shutdown(self) -> None:
        """There is nothing to wait for."""


def held(files: Mapping[str, bytes]) -> Tree:
    """A release in memory."""
    pieces = {name: Held(Path(name), 0, len(content), content) for name, content in files.items()}
    return Tree("memory", pieces, ())


def read(folder: Path) -> dict[str, bytes]:
    """The files of a folder."""
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


def verified(files: Mapping[str, bytes], key: str | None = None) -> verifier.Outcome:
    """What the verification of a release in memory finds."""
    inspection = verifier.Inspection(held(files), key, (), lambda *_: None)
    inspection.run()
    return inspection.outcome()


def faults(outcome: verifier.Outcome) -> list[str]:
    """All that does not hold."""
    return [fault for check in outcome.checks for fault in check.faults]


def failed(outcome: verifier.Outcome) -> list[str]:
    """The names of the checks that failed."""
    return [check.name for check in outcome.checks if check.status == "failed"]


def statement_of(files: Mapping[str, bytes]) -> dict[str, Any]:
    """The predicate of a release."""
    payload = base64.b64decode(json.loads(files[ENVELOPE])["payload"])
    found: dict[str, Any] = json.loads(payload)["predicate"]
    return found


def resigned(
    files: Mapping[str, bytes], key: SigningKey, *, without: Sequence[str] = (), **changes: Any
) -> dict[str, bytes]:
    """A release listed and signed anew by ``key``, without files of these beginnings, its statement changed."""
    kept = {
        name: content
        for name, content in files.items()
        if name not in verifier.UNLISTED and not name.startswith(tuple(without) or ("\0",))
    }
    sums = sums_bytes({name: hashlib.sha256(content).hexdigest() for name, content in kept.items()})
    predicate = statement_of(files)
    predicate["package"] = {"files": len(kept), "bytes": sum(map(len, kept.values()))}
    predicate |= changes
    claim = Statement(
        subject=({"name": SUMS, "digest": {"sha256": hashlib.sha256(sums).hexdigest()}},),  # type: ignore[arg-type]
        predicate_type=verifier.RELEASE,
        predicate=predicate,
    )
    return {**kept, SUMS: sums, ENVELOPE: sign(claim, key)}


def write(files: Mapping[str, bytes], folder: Path) -> Path:
    """A release in memory as a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder
