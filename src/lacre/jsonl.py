"""Safe files: JSONL read line by line with every fault reported, and writes that are whole or absent."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeVar

import msgspec

from lacre.errors import Fault, InputError, RecordError

T = TypeVar("T")


@contextmanager
def replacing(path: Path, mode: str = "wb") -> Iterator[IO[bytes]]:
    """A file that takes the place of ``path`` only when the block ends well.

    The bytes go to a temporary name in the same folder, are synced, then renamed: a reader sees the old
    file or the new one, never half of either. On any exception, an interrupt included, the temporary file goes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open(mode) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename in ``folder`` survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_bytes(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path``, whole or not at all."""
    with replacing(path) as file:
        file.write(content)


def encode(record: object) -> bytes:
    """One record as a JSON line in UTF-8 NFC, keys in the record's own order, with its line feed.

    >>> encode({"stem": "Ac\u0327a\u0303o"})
    b'{"stem":"A\\xc3\\xa7\\xc3\\xa3o"}\\n'
    """
    line = msgspec.json.encode(record).decode()
    return unicodedata.normalize("NFC", line).encode() + b"\n"


def write(path: Path, records: Iterable[object]) -> None:
    """Write records to ``path`` as JSON lines, whole or not at all. The caller sorts them."""
    with replacing(path) as file:
        for record in records:
            file.write(encode(record))


def read(path: Path, kind: type[T]) -> list[T]:
    """All records of a JSONL file; blank lines are passed over.

    Raises:
        InputError: the file is missing or is not UTF-8.
        RecordError: lists every bad line, not just the first.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        raise InputError(path, "no such file", "Check the path") from None
    except IsADirectoryError:
        raise InputError(path, "is a folder", "Give a file") from None
    decoder = msgspec.json.Decoder(kind)
    records: list[T] = []
    faults: list[Fault] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            records.append(decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            faults.append(Fault(number, str(error), "Correct this line"))
    if faults:
        raise RecordError(path, faults)
    return records
