"""The guard: refuses public files that hold a private word (SPEC X5), or tell who reviewed (SPEC L22).

It looks through every byte: text as it is, escaped, encoded, in archives, in metadata. A hit names the file and the
item, never the text. What cannot be opened is a hit too.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from lacre.digest import sha256
from lacre.errors import Exit, InputError, LacreError, sentence
from lacre.overlap.runs import Scratch
from lacre.registry.records import Record
from lacre.release.guard_search import (
    CLOSED,
    IMAGE,
    KEY,
    MAILED,
    NAME,
    NAMED_ID,
    NONCE,
    RECORD,
    SHORT,
    SMALL,
    TAXED,
    TEXT,
    Search,
    Seen,
)
from lacre.release.guard_wanted import wanted
from lacre.release.guard_watch import Exclusion, Watch

Progress = Callable[[int, int], None]
"""Told how many bytes are done, and of how many."""

LARGEST = 8 << 30
"""Bytes of a file that is looked through; it is in memory whole."""


class Hit(Record, omit_defaults=False):
    """Something that may not go out.

    Attributes:
        file: where it stands. ``member``: where in it, "" for the file itself.
        item: the private item, "" for none.
        kind: ``text``, ``short item``, ``image``, ``nonce``, ``id beside text``, ``reviewer's name``,
            ``e-mail address``, ``CPF``, ``too few items``, ``secret key``, ``private record`` or ``not opened``.
        why: why it was not opened.
    """

    file: str
    member: str
    item: str
    kind: str
    why: str = ""

    @property
    def said(self) -> str:
        """The hit as a sentence that quotes nothing."""
        where = f"{self.file}, {self.member}" if self.member else self.file
        if self.kind == CLOSED:
            return sentence(where, self.why, "Take it out, or give what is in it in another format")
        holder = f" private item '{self.item}'" if self.item else ""
        return sentence(where, f"holds {_SAID[self.kind]}{holder}", "Take it out")


_SAID = {
    TEXT: "text of",
    SHORT: "the whole of",
    IMAGE: "an image of",
    NONCE: "the nonce of",
    NAMED_ID: "text beside the id of",
    NAME: "a reviewer's name",
    MAILED: "an e-mail address",
    TAXED: "a CPF",
    SMALL: "results of too few private items",
    KEY: "a secret key",
    RECORD: "an item that says it is private",
}


class Report(Record, omit_defaults=False):
    """What the guard found.

    Attributes:
        hits: by file, member, item and kind. ``files``, ``bytes``, ``members``: what was looked through.
        items: private items that were looked for. ``unsearched``: those too short to be.
        unsearched_names: reviewers' names of one word, which are not looked for.
        excluded: kind -> how many exclusions of it were applied.
    """

    hits: tuple[Hit, ...]
    files: int
    bytes: int
    members: int
    items: int
    unsearched: tuple[str, ...]
    unsearched_names: int
    excluded: dict[str, int]

    @property
    def is_clean(self) -> bool:
        """Whether all of it may go out."""
        return not self.hits


class Inspection(Record):
    """A report, and the exclusions that were applied, which are private: they go to the vault, nowhere else."""

    report: Report
    excluded: tuple[Exclusion, ...]


class LeakError(LacreError):
    """Public files hold what may not go out."""

    exit_code = Exit.FINDING


def inspect(folder: Path, watch: Watch, on_progress: Progress = lambda *_: None) -> Inspection:
    """What a folder that is to be public holds of what is watched for, hidden files included.

    Links, sockets and what cannot be read are hits: they would not be looked through.

    Raises:
        InputError: there is no such folder.
    """
    if not folder.is_dir():
        raise InputError(folder, "is no folder", "Check the path")
    return inspect_files(dict(folder_files(folder)), watch, on_progress)


def inspect_files(
    files: Mapping[str, Path | bytes], watch: Watch, on_progress: Progress = lambda *_: None
) -> Inspection:
    """As :func:`inspect`, for files by name: each a path, or its bytes."""
    ready = wanted(watch)
    scratch = Scratch.make()
    sizes = {name: len(file) if isinstance(file, bytes) else _size(file) for name, file in files.items()}
    hits: list[Hit] = []
    done = members = 0
    for name, file in sorted(files.items()):
        search = Search(ready, watch.rules, scratch)
        try:
            search.file(name, _content(file))
        except OSError as error:
            search.seen.add(Seen("", "", CLOSED, f"cannot be read ({error.strerror or 'no reason given'})"))
        hits += _hits(name, search)
        members += search.members
        done += sizes[name]
        on_progress(done, sum(sizes.values()))
    counts: dict[str, int] = {}
    for exclusion in ready.excluded:
        counts[exclusion.kind] = counts.get(exclusion.kind, 0) + 1
    report = Report(
        hits=tuple(sorted(hits, key=lambda hit: (hit.file, hit.member, hit.item, hit.kind, hit.why))),
        files=len(files),
        bytes=sum(sizes.values()),
        members=members,
        items=len(watch.items),
        unsearched=ready.unsearched,
        unsearched_names=ready.unsearched_names,
        excluded=dict(sorted(counts.items())),
    )
    return Inspection(report=report, excluded=ready.excluded)


def _hits(name: str, search: Search) -> Iterator[Hit]:
    """What a search found; a name that is itself a leak is told by its hash."""
    for seen in search.seen:
        file, member = (_quotable(part, search) for part in (name, seen.member))
        yield Hit(file=file, member=member, item=seen.item, kind=seen.kind, why=seen.why)


def _quotable(name: str, search: Search) -> str:
    if not name or not search.is_private(name):
        return "".join(c if c.isprintable() else "\ufffd" for c in name)
    return f"(a private name, SHA-256 {sha256(name.encode('utf-8', 'surrogateescape'))[:12]}...)"


def refuse(report: Report) -> None:
    """Refuse what holds anything.

    Raises:
        LeakError: lists every hit.
    """
    if report.hits:
        raise LeakError("\n".join(hit.said for hit in report.hits))


def folder_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Every file and link below a folder by its name from there, hidden ones too."""
    for root, folders, names in os.walk(folder):
        here = Path(root)
        for name in [*names, *(name for name in folders if (here / name).is_symlink())]:
            yield (here / name).relative_to(folder).as_posix(), here / name


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _content(file: Path | bytes) -> bytes:
    """The bytes of a file.

    Raises:
        OSError: it is none, or cannot be read.
    """
    if isinstance(file, bytes):
        return file
    mode = file.lstat().st_mode
    if not stat.S_ISREG(mode):
        raise OSError(0, "a link" if stat.S_ISLNK(mode) else "no regular file")
    if file.lstat().st_size > LARGEST:
        raise OSError(0, "larger than the guard looks through")
    return file.read_bytes()
