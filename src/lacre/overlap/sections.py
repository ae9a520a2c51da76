"""Files of arrays: written once from front to back, then mapped into memory.

A file is a mark, the arrays, each at a multiple of 64 bytes, then a line of JSON that says where they are and
whatever else there is to say, and in the last eight bytes how long that line is. Numbers are little endian.
"""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any, Generic, Literal, NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from lacre.errors import IntegrityError
from lacre.jsonl import replacing

MARK = b"lacre-sections-1"
ALIGNED = 64
_LAST = 8
_TODO = "Build the index again; `lacre index check` tells which files are sound"

Facts = TypeVar("Facts")
Array = npt.NDArray[Any]
Kind = Literal["uint64", "int64"]


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where an array stands: its first byte, its type, how many numbers it has."""

    at: int
    kind: Kind
    size: int


class _Tail(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    sections: dict[str, Section]
    facts: msgspec.Raw


class Written(NamedTuple):
    """A file as it was written: SHA-256 in hexadecimal, bytes."""

    sha256: str
    size: int


class Opened(NamedTuple, Generic[Facts]):
    """A file of arrays: what is said about them, and the arrays, read only, mapped into memory."""

    facts: Facts
    arrays: Mapping[str, Array]


class _Hashed:
    """A file that is hashed as it is written."""

    def __init__(self, file: IO[bytes], *, is_hashed: bool) -> None:
        self.file = file
        self.is_hashed = is_hashed
        self.hash = hashlib.sha256()
        self.size = 0

    def write(self, content: bytes | memoryview) -> None:
        self.file.write(content)
        if self.is_hashed:
            self.hash.update(content)
        self.size += len(content)


def write_sections(
    path: Path,
    sections: Mapping[str, Iterable[Array]],
    facts: Callable[[], object] = lambda: None,
    *,
    is_hashed: bool = True,
) -> Written:
    """Write arrays, each given in pieces, and ``facts`` about them, to ``path``: whole or not at all.

    The pieces are asked for in turn, so that no array need ever be whole in memory; ``facts`` is called
    after the last of them. With ``is_hashed`` false no SHA-256 is taken, for files that soon go again.

    Raises:
        OSError: they cannot be written; what was there before still is.
    """
    with replacing(path) as raw:
        file = _Hashed(raw, is_hashed=is_hashed)
        file.write(MARK)
        places: dict[str, Section] = {}
        for name, pieces in sections.items():
            file.write(bytes(-file.size % ALIGNED))
            at, size = file.size, 0
            kind = "uint64"
            for piece in pieces:
                kind = piece.dtype.name
                size += piece.size
                file.write(np.ascontiguousarray(piece).view(np.uint8).data)
            places[name] = msgspec.convert({"at": at, "kind": kind, "size": size}, Section)
        tail = msgspec.json.encode({"sections": places, "facts": facts()}) + b"\n"
        file.write(tail)
        file.write(len(tail).to_bytes(_LAST, "little"))
    return Written(file.hash.hexdigest() if is_hashed else "", file.size)


def open_sections(path: Path, kind: type[Facts]) -> Opened[Facts]:
    """The arrays of a file and its facts, a ``kind``. Only the end of the file is read; see :func:`sha256_of`.

    Raises:
        IntegrityError: the file is missing, cut short, or not one of these.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            if size < len(MARK) + _LAST:
                raise IntegrityError(f"{path}: is cut short. {_TODO}.")
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise IntegrityError(f"{path}: cannot be read ({error.strerror}). {_TODO}.") from None
    length = int.from_bytes(content[size - _LAST :], "little")
    if content[: len(MARK)] != MARK or length > size - len(MARK) - _LAST:
        raise IntegrityError(f"{path}: is damaged or cut short. {_TODO}.")
    try:
        tail = msgspec.json.decode(content[size - _LAST - length : size - _LAST], type=_Tail)
        facts = msgspec.json.decode(tail.facts, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise IntegrityError(
            f"{path}: does not say what it holds: it is damaged, or of another version. {_TODO}."
        ) from None
    end = size - _LAST - length
    if any(min(s.at, s.size) < 0 or s.at % 8 or s.at + 8 * s.size > end for s in tail.sections.values()):
        raise IntegrityError(f"{path}: is shorter than what it says it holds. {_TODO}.")
    arrays = {
        name: np.frombuffer(content, section.kind, section.size, section.at)
        for name, section in tail.sections.items()
    }
    return Opened(facts, arrays)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
