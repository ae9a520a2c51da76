"""``manifests/<release>/`` of a workspace: what it keeps of each release, never edited once written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from lacre.digest import sha256
from lacre.errors import InputError, IntegrityError, sentence
from lacre.jsonl import read_bytes, write_bytes
from lacre.registry.events import Hash
from lacre.registry.events import Release as ReleaseEvent
from lacre.registry.ledger import Ledger
from lacre.registry.records import Record
from lacre.release.packing import draft, put
from lacre.release.statement import Previous
from lacre.release.verify import ENVELOPE, SUMS, commitments

T = TypeVar("T")

FOLDER, GUARD, PUBLISHED = "manifests", "guard.json", "published.json"


class Passed(Record, omit_defaults=False):
    """That the guard found nothing in a package.

    Attributes:
        items: private items that were looked for. ``version``: of the program.
        at: when (UTC).
    """

    package: Hash
    items: int
    at: str
    version: str


class Published(Record, omit_defaults=False):
    """Where a release went: the place, the revision there, the package, when (UTC)."""

    to: str
    revision: str
    package: Hash
    at: str


def kept(root: Path, name: str) -> Path:
    """Where a workspace keeps what it keeps of a release."""
    return root / FOLDER / name


def releases(ledger: Ledger) -> dict[str, str]:
    """The releases that a ledger names, in order: name -> package."""
    found: dict[str, str] = {}
    for line in ledger.lines:
        if isinstance(line.event, ReleaseEvent):
            found.setdefault(line.event.release, line.event.package)
    return found


def last_release(ledger: Ledger) -> Previous | None:
    """The last release that a ledger names."""
    known = releases(ledger)
    return Previous(release=list(known)[-1], package=list(known.values())[-1]) if known else None


def earlier_files(root: Path, ledger: Ledger) -> Iterator[tuple[str, Path]]:
    """What a new release carries of those before it: name there -> file of the workspace.

    Raises:
        IntegrityError: what the workspace keeps of a release is missing, or not what the ledger names.
    """
    for name, package in releases(ledger).items():
        folder = kept(root, name)
        sums = folder / SUMS
        if not sums.is_file() or sha256(read_bytes(sums)) != package:
            what = "is missing, or is not the one that the ledger names"
            raise IntegrityError(sentence(sums, what, "Restore it from git, or from the release itself"))
        for path in sorted((sums, folder / ENVELOPE, *folder.glob("commitments/*.jsonl"))):
            yield f"previous/{name}/{path.relative_to(folder).as_posix()}", path


def keep(root: Path, release: Path, passed: Passed, benchmarks: tuple[str, ...]) -> None:
    """Keep what the workspace keeps of a release; once kept, it is left as it is."""
    place = kept(root, release.name)
    if place.exists():
        return
    with draft(place) as folder:
        for name in (SUMS, ENVELOPE):
            put(folder, name, read_bytes(release / name))
        for name in benchmarks:
            if (release / commitments(name)).is_file():
                put(folder, f"commitments/{name}.jsonl", read_bytes(release / commitments(name)))
        put(folder, GUARD, msgspec.json.format(msgspec.json.encode(passed), indent=1) + b"\n")


def passed(root: Path, name: str) -> Passed:
    """What the guard said of a release when it was built.

    Raises:
        InputError: the workspace keeps nothing of it.
    """
    return _read(kept(root, name) / GUARD, Passed)


def published(root: Path, name: str) -> list[Published]:
    """Where a release went, in order; empty when it went nowhere yet."""
    path = kept(root, name) / PUBLISHED
    return _read(path, list[Published]) if path.exists() else []


def note_published(root: Path, name: str, done: Published) -> None:
    """Note that a release went somewhere; what was noted before stays."""
    all_ = [*published(root, name), done]
    write_bytes(
        kept(root, name) / PUBLISHED, msgspec.json.format(msgspec.json.encode(all_), indent=1) + b"\n"
    )


def _read(path: Path, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(read_bytes(path), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(path, f"is damaged: {error}", "Restore it from git") from None
