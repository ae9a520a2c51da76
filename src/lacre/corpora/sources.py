"""From what a person names, a file, a folder, a glob or an address, to shards (SPEC L7)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from glob import glob, has_magic
from itertools import pairwise, takewhile
from pathlib import Path

import msgspec

from lacre.corpora.addresses import files_at
from lacre.corpora.batches import Shard, Unread
from lacre.corpora.compression import opened, unpacked
from lacre.corpora.formats import Kind, kind
from lacre.corpora.hub import is_repository, streamed_shards
from lacre.corpora.parquet import parquet_file
from lacre.corpora.remote import NoParts, is_address, shown
from lacre.errors import InputError

SHARD_BYTES = 256 << 20
"""Unpacked bytes of Parquet row groups, or bytes of plain JSONL, that make one shard: a minute's work or less."""

AT_ONCE = 8
"""Files at addresses that are looked at together when a corpus is listed."""

SNIFFED = 64 << 10
"""Bytes looked at to tell whether a file without a known ending is text."""


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a corpus.

    Attributes:
        shards: what will be read, sorted by path, then by row group.
        left_out: what will not, each with its reason and its bytes, sorted by path.
        revision: the revision that is read, where the corpus is kept under one; "" elsewhere.
    """

    shards: tuple[Shard, ...]
    left_out: tuple[Unread, ...]
    revision: str = ""


class _Found(msgspec.Struct, frozen=True):
    """A file; what a server said of its size and mark."""

    path: str
    location: str
    size: int = 0
    mark: str = ""


def shards(source: str, *, column: str | None = None, shard_bytes: int = SHARD_BYTES) -> Listing:
    """The shards of a file, a folder (with the folders in it), a glob (``**`` reaches into folders), or an address.

    ``shard_bytes``: see :data:`SHARD_BYTES`.

    Formats are told by the ending of the name, below that of the compression: prose and source code, HTML,
    XML, JSONL, JSON, CSV, TSV, Parquet. A file of unknown ending is text if it decodes and holds no NUL.
    Hidden files, links to a folder that was already walked, files without permission, other formats and media
    are left out, by name.

    Raises:
        InputError: nothing is there, the folder holds no file, or the file named is of a format without text.
        Unreachable: an address, or its server, cannot be reached.
    """
    left_out: list[Unread] = []
    revision = ""
    if is_address(source):
        listed = files_at(source)
        revision = listed.revision
        found = _visible([_Found(_shown(f.path), f.location, f.size, f.mark) for f in listed.files], left_out)
    else:
        found = _found(source, left_out)
    if not found and not left_out:
        raise InputError(
            shown(source), "there is no file here", "Give a file, or a folder or glob that holds some"
        )
    ordered = sorted(found, key=lambda file: file.path)
    parts = _cut(source, ordered, column, left_out, shard_bytes)
    if is_repository(source) and all(part.path.lower() == "readme.md" for part in parts):
        # Nothing but its card can be read as a file: the Hub's own library may read the rest.
        parts += streamed_shards(source, revision, column, left_out)
    if not parts:
        first = left_out[0]
        raise InputError(
            shown(source), f"nothing here can be read: {first.where}: {first.reason}", "Give files with text"
        )
    return Listing(
        shards=tuple(parts), left_out=tuple(sorted(left_out, key=lambda item: item.where)), revision=revision
    )


TABLE_FORMATS = ("jsonl", "json", "csv", "tsv", "parquet", "streamed")
"""Formats in which the text is a column."""


def _visible(files: list[_Found], left_out: list[Unread]) -> list[_Found]:
    """The files at an address that are not hidden."""
    seen = []
    for file in files:
        if any(part.startswith(".") for part in file.path.split("/")):
            left_out.append(Unread(where=file.path, reason="hidden", bytes=0))
        else:
            seen.append(file)
    return seen


def _cut(
    source: str, files: list[_Found], column: str | None, left_out: list[Unread], shard_bytes: int
) -> list[Shard]:
    """The shards of all files, in their order."""

    def cut(file: _Found) -> tuple[list[Shard], list[Unread]]:
        out: list[Unread] = []
        return list(_parts(shown(source), file, column, out, shard_bytes)), out

    if is_address(source):
        # A look at each takes a tenth of a second or more, most of it waiting.
        with ThreadPoolExecutor(AT_ONCE) as pool:
            done = list(pool.map(cut, files))
    else:
        done = [cut(file) for file in files]
    left_out.extend(gap for _, out in done for gap in out)
    return [part for parts, _ in done for part in parts]


def _found(source: str, left_out: list[Unread]) -> list[_Found]:
    """The files that a source names."""
    root = Path(source)
    if root.is_file():
        return [_Found(_shown(root.name), source)]
    if root.is_dir():
        return list(_walk(root, root, left_out))
    if not has_magic(source):
        raise InputError(source, "no such file or folder", "Check the path")
    fixed = Path(*takewhile(lambda part: not has_magic(part), root.parts))
    files: dict[str, _Found] = {}
    for match in glob(source, recursive=True):  # noqa: PTH207  # a whole pattern, which may be absolute
        path = Path(match)
        within = _walk(path, fixed, left_out) if path.is_dir() else [_Found(_relative(path, fixed), match)]
        files.update((file.location, file) for file in within)
    return list(files.values())


def _relative(path: Path, root: Path) -> str:
    return _shown(path.relative_to(root).as_posix())


def _shown(name: str) -> str:
    """A name that can be written in UTF-8; names of files are bytes, and may be anything."""
    return os.fsencode(name).decode(errors="replace")


def _walk(folder: Path, root: Path, left_out: list[Unread]) -> Iterator[_Found]:
    """Every file below a folder, by its path from the root; a folder reached twice is walked once."""
    waiting = [folder]
    seen: set[tuple[int, int]] = set()
    while waiting:
        folder = waiting.pop()
        relative = _relative(folder, root)
        try:
            here = folder.stat()
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            left_out.append(
                Unread(
                    where=f"{relative}/", reason=error.strerror or "cannot be read", bytes=1, incomplete=True
                )
            )
            continue
        if (here.st_dev, here.st_ino) in seen:
            left_out.append(
                Unread(where=f"{relative}/", reason="a link to a folder that is read already", bytes=0)
            )
            continue
        seen.add((here.st_dev, here.st_ino))
        if _is_index(folder, {entry.name for entry in entries}):
            left_out.append(Unread(where=f"{relative}/", reason="an index that lacre made", bytes=0))
            continue
        for entry in entries:
            path = _relative(Path(entry.path), root)
            if entry.name.startswith("."):
                left_out.append(Unread(where=path, reason="hidden", bytes=0))
            elif _is_folder(entry):
                waiting.append(Path(entry.path))
            else:
                yield _Found(path, entry.path)


def _is_index(folder: Path, names: set[str]) -> bool:
    """Whether a folder, which holds these names, is an index, or one that is being built."""
    if "segments" not in names:
        return False
    from lacre.corpora.indexing import BUILDING, FORMAT_BEGINS, LOCK, MANIFEST  # noqa: PLC0415 - heavy

    if MANIFEST not in names:
        return {BUILDING, LOCK} <= names
    try:
        with (folder / MANIFEST).open("rb") as file:
            return FORMAT_BEGINS in file.read(200)
    except OSError:
        return False  # for the reading of its files to report


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder; a link that leads nowhere or in a circle is for its reading to report."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _parts(
    corpus: str, file: _Found, column: str | None, left_out: list[Unread], shard_bytes: int
) -> Iterator[Shard]:
    """The shards of one file, or its place among what is left out."""
    try:
        if not is_address(file.location):
            status = Path(file.location).stat()
            if not stat.S_ISREG(status.st_mode):
                left_out.append(Unread(where=file.path, reason="not a regular file", bytes=0))
                return
            file = _Found(file.path, file.location, status.st_size, str(status.st_mtime_ns))
        shape = _shape(file, file.size, left_out)
        if shape is None:
            return
        if not is_address(file.location):
            with opened(file.location):
                pass
    except OSError as error:
        left_out.append(
            Unread(where=file.path, reason=error.strerror or "cannot be read", bytes=1, incomplete=True)
        )
        return
    whole = Shard(
        corpus=corpus,
        path=file.path,
        location=file.location,
        format=shape.format,
        compression=shape.compression,
        column=column,
        row_groups=None,
        size=file.size,
        mark=file.mark,
    )
    if shape.format == "parquet":
        yield from _ranges(whole, shard_bytes, left_out)
    elif shape.format == "jsonl" and shape.compression is None and file.size > shard_bytes:
        yield from _spans(whole, shard_bytes)
    else:
        yield whole


def _spans(whole: Shard, shard_bytes: int) -> Iterator[Shard]:
    """A file of lines cut into ranges of bytes, all about as long."""
    number = -(-whole.size // shard_bytes)
    bounds = [whole.size * at // number for at in range(number + 1)]
    for start, end in pairwise(bounds):
        yield msgspec.structs.replace(whole, span=(start, end))


def _shape(file: _Found, size: int, left_out: list[Unread]) -> Kind | None:
    """How to read a file, or None when it is left out."""
    shape = kind(Path(file.path).name)
    if shape.format == "unknown":
        shape = Kind(_sniffed(file, shape, size), shape.compression)
    if shape.format == "textless":
        left_out.append(Unread(where=file.path, reason="no text in this format", bytes=0))
        return None
    if shape.format == "foreign":
        reason = "not a format lacre reads; extract its text first"
        left_out.append(Unread(where=file.path, reason=reason, bytes=size))
        return None
    return shape


def _sniffed(file: _Found, shape: Kind, size: int) -> str:
    """``txt`` if the head of a file reads as text, else ``foreign``."""
    probe = Shard(
        corpus="", path="", location=file.location, format="txt", compression=shape.compression, column=None,
        row_groups=None, size=size,
    )  # fmt: skip
    with closing(unpacked(probe)) as stream:
        head = stream.read(SNIFFED)
    return "txt" if is_text(head) else "foreign"


def is_text(head: bytes) -> bool:
    """Whether the first bytes of a file are text: UTF-8 or UTF-16 by its mark, or mostly letters in one byte
    each.

    >>> is_text("ação".encode()), is_text("ação".encode("cp1252")), is_text(bytes(range(256)))
    (True, True, False)
    """
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    if b"\0" in head:
        return False
    try:
        head.decode()
    except UnicodeDecodeError as error:
        odd = sum(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in head)
        high = sum(byte >= 128 for byte in head)
        return error.start >= len(head) - 3 or (odd == 0 and high < len(head) * 0.4)
    return True


def _ranges(whole: Shard, shard_bytes: int, left_out: list[Unread]) -> Iterator[Shard]:
    """A Parquet file cut at row groups; a broken one stays whole, for its reader to say what is wrong."""
    import pyarrow as pa  # noqa: PLC0415

    try:
        with parquet_file(whole.location, whole.size) as file:
            sizes = [
                file.metadata.row_group(group).total_byte_size
                for group in range(file.metadata.num_row_groups)
            ]
    except NoParts as error:
        gap = Unread(where=whole.path, reason=str(error), bytes=max(1, whole.size), incomplete=True)
        left_out.append(gap)
        return
    except (pa.ArrowException, OSError):
        yield whole
        return
    first = total = 0
    for group, size in enumerate(sizes):
        if total and total + size > shard_bytes:
            yield msgspec.structs.replace(whole, row_groups=(first, group), unpacked=total)
            first, total = group, 0
        total += size
    yield msgspec.structs.replace(whole, row_groups=(first, len(sizes)), unpacked=total)
