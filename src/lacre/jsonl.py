"""Safe files: JSONL read line by line with every fault reported, and writes that are whole or absent."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Generic, TypeVar

import msgspec

from lacre.errors import Fault, InputError, RecordError

T = TypeVar("T")


@contextmanager
def replacing(path: Path, mode: str = "wb", *, secret: bool = False) -> Iterator[IO[bytes]]:
    """A file that takes the place of ``path`` only when the block ends well.

    The bytes go to a temporary name in the same folder, are synced, then renamed: a reader sees the old
    file or the new one, never half of either. On any exception, an interrupt included, the temporary file
    goes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(temporary, mode, opener=_private if secret else None) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()
    sync_folder(path.parent)


def _private(path: str, flags: int) -> int:
    handle = os.open(path, flags, 0o600)
    # A temporary file that a crash left keeps the mode it had.
    os.fchmod(handle, 0o600)
    return handle


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


def encode(record: object, *, composed: bool = True) -> bytes:
    """One record as a JSON line in UTF-8 NFC, keys in the record's own order, with its line feed.

    With ``composed`` false the text stays as it is: names of files and foreign ids must still be found.

    >>> encode({"stem": "Ac\u0327a\u0303o"})
    b'{"stem":"A\\xc3\\xa7\\xc3\\xa3o"}\\n'
    """
    line = msgspec.json.encode(record)
    if composed and not line.isascii():
        line = unicodedata.normalize("NFC", line.decode()).encode()
    return line + b"\n"


def write(path: Path, records: Iterable[object], *, composed: bool = True, secret: bool = False) -> None:
    """Write records to ``path`` as JSON lines, whole or not at all. The caller sorts them; see :func:`encode`.

    ``secret``: as in :func:`replacing`.
    """
    with replacing(path, secret=secret) as file:
        for record in records:
            file.write(encode(record, composed=composed))


@dataclass(frozen=True, slots=True)
class Lines(Generic[T]):
    """The records of a JSONL file, each with its line number, and what is wrong with the other lines."""

    records: tuple[tuple[int, T], ...]
    faults: tuple[Fault, ...]


def read_bytes(path: Path) -> bytes:
    """All bytes of a file.

    Raises:
        InputError: the file is missing, is a folder, or may not be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(path, "no such file", "Check the path") from None
    except IsADirectoryError:
        raise InputError(path, "is a folder", "Give a file") from None
    except OSError as error:
        raise InputError(
            path, f"cannot be read ({error.strerror})", "Check the path and its permissions"
        ) from None


def read_lines(path: Path, kind: type[T]) -> Lines[T]:
    """The good records of a JSONL file with their line numbers, and a fault for every bad line.

    Blank lines and a byte order mark are passed over.

    Raises:
        InputError: the file is missing, is a folder, or may not be read.
    """
    return lines_of(read_bytes(path), kind)


def lines_of(content: bytes, kind: type[T]) -> Lines[T]:
    """The same of the bytes of a file.

    >>> lines_of(b"1\\n\\n2\\n", int).records
    ((1, 1), (3, 2))
    """
    decoder = msgspec.json.Decoder(kind)
    records: list[tuple[int, T]] = []
    faults: list[Fault] = []
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            records.append((number, decoder.decode(line)))
        except UnicodeDecodeError:
            faults.append(Fault(number, "is not UTF-8", "Save the file as UTF-8"))
        except msgspec.DecodeError as error:
            faults.append(Fault(number, explained(error, kind), "Correct this line"))
        except RecursionError:
            faults.append(Fault(number, "is nested too deep", "Correct this line"))
    return Lines(tuple(records), tuple(faults))


def read(path: Path, kind: type[T]) -> list[T]:
    """All records of a JSONL file; blank lines are passed over.

    Raises:
        InputError: the file is missing, is a folder, or may not be read.
        RecordError: lists every bad line, not just the first.
    """
    lines = read_lines(path, kind)
    if lines.faults:
        raise RecordError(path, lines.faults)
    return [record for _, record in lines.records]


_NOT_ALLOWED = re.compile(r"Invalid enum value '(?P<value>.*)'(?: - at `\$\.?(?P<path>[^`]*)`)?$", re.DOTALL)


def explained(error: msgspec.DecodeError, kind: object) -> str:
    """What is wrong with a record of type ``kind``, in words; a value outside a choice names the choice.

    >>> from typing import Literal
    >>> Row = msgspec.defstruct("Row", [("layer", Literal["open", "private"])])
    >>> try:
    ...     msgspec.json.decode(b'{"layer":"seled"}', type=Row)
    ... except msgspec.ValidationError as error:
    ...     explained(error, Row)
    "layer 'seled' is not open or private"
    """
    found = _NOT_ALLOWED.match(str(error))
    choices = _choices(msgspec.inspect.type_info(kind), (found["path"] or "").split(".")) if found else ()
    if found is None or not choices:
        return str(error)
    *others, last = map(str, choices)
    allowed = f"{', '.join(others)} or {last}" if others else last
    return f"{found['path']} '{found['value']}' is not {allowed}"


def _choices(kind: msgspec.inspect.Type, path: list[str]) -> tuple[object, ...]:
    """The values that a fixed choice at ``path`` allows, empty when they cannot be told."""
    if isinstance(kind, msgspec.inspect.UnionType):
        return next((found for part in kind.types if (found := _choices(part, path))), ())
    if isinstance(kind, msgspec.inspect.LiteralType):
        return kind.values if not path else ()
    if isinstance(kind, msgspec.inspect.StructType) and path:
        name, *rest = path
        fields = (field for field in kind.fields if field.encode_name == name.split("[")[0])
        return next((found for field in fields if (found := _choices(field.type, rest))), ())
    if isinstance(kind, msgspec.inspect.VarTupleType):
        return _choices(kind.item_type, path)
    return ()
