"""Plain files as rows: JSONL, JSON, CSV, TSV and Parquet, as they come or compressed."""

from __future__ import annotations

import bz2
import csv
import io
import lzma
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from lacre.errors import Fault, InputError
from lacre.jsonl import read_bytes

MAX_BYTES = 1 << 30
"""Items are few: a file that unpacks to more than this is something else, or a decompression bomb."""

_PIECE = 1 << 20
_MAGIC = ((b"\x1f\x8b", "gz"), (b"\x28\xb5\x2f\xfd", "zst"), (b"BZh", "bz2"), (b"\xfd7zXZ\x00", "xz"))
_FORMATS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
}


class Row(NamedTuple):
    """One row: its line (in a JSON list or a Parquet file, its number from 1), and its values by column."""

    line: int
    values: dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """The rows of a file.

    Attributes:
        columns: names of all columns, in order of appearance.
        faults: lines that could not be read.
        recoded: lines that were not UTF-8 and were read as Windows-1252.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    faults: tuple[Fault, ...] = ()
    recoded: int = 0


def read_table(path: Path) -> Table:
    """The rows of a file, whatever its format; the format is told by the name, or else by the content.

    Raises:
        InputError: the file is missing, damaged, empty, or in no format that lacre reads.
    """
    content = _unpacked(read_bytes(path), path)
    if not content.strip():
        raise InputError(path, "no items: the file is empty", "Give a file with at least one item")
    kind = _format(path, content)
    if kind == "parquet":
        return _parquet(content, path)
    text, recoded = _decoded(content, path)
    if kind == "json":
        return _json(text, path, recoded)
    if kind == "jsonl":
        return _jsonl(text.split("\n"), recoded)
    return _delimited(text, path, "\t" if kind == "tsv" else None, recoded)


def _unpacked(content: bytes, path: Path) -> bytes:
    """The bytes of a file without its compression, which its first bytes tell."""
    packing = next((name for magic, name in _MAGIC if content.startswith(magic)), None)
    if packing is None:
        return content
    whole = io.BytesIO()
    for piece in _pieces(content, packing, path):
        whole.write(piece)
        if whole.tell() > MAX_BYTES:
            raise InputError(path, f"unpacks to more than {MAX_BYTES >> 20} MB", "Give items, not a corpus")
    return whole.getvalue()


def _pieces(content: bytes, packing: str, path: Path) -> Iterator[bytes]:
    """The unpacked bytes piece by piece; every member or frame of the archive must end well."""
    import zstandard  # noqa: PLC0415 - only where a file is compressed with it

    makers: dict[str, Any] = {
        "gz": lambda: zlib.decompressobj(zlib.MAX_WBITS | 16),
        "zst": lambda: zstandard.ZstdDecompressor().decompressobj(),
        "bz2": bz2.BZ2Decompressor,
        "xz": lzma.LZMADecompressor,
    }
    rest = content
    while rest.strip(b"\0"):
        stream = makers[packing]()
        view, rest = memoryview(rest), b""
        try:
            for start in range(0, len(view), _PIECE):
                yield stream.decompress(bytes(view[start : start + _PIECE]))
                if stream.eof:
                    rest = stream.unused_data + bytes(view[start + _PIECE :])
                    break
        except (zlib.error, zstandard.ZstdError, OSError, lzma.LZMAError) as error:
            raise InputError(path, f"is damaged ({error})", "Get the file again") from None
        if not stream.eof:
            raise InputError(path, "the archive is cut short", "Get the file again")


def _format(path: Path, content: bytes) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in (".gz", ".zst", ".bz2", ".xz"):
        suffixes.pop()
    if content.startswith(b"PAR1"):
        return "parquet"
    if suffixes and suffixes[-1] in _FORMATS:
        return _FORMATS[suffixes[-1]]
    start = content.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start in (b"[", b"{"):
        return "json"
    if b"\0" in content[:4096]:
        raise InputError(path, "is in no format that lacre reads", "Give JSONL, JSON, CSV, TSV or Parquet")
    return "csv"


def _decoded(content: bytes, path: Path) -> tuple[str, int]:
    """The text, and how many lines were not UTF-8 and were read as Windows-1252, as Excel writes it."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return content.decode("utf-16"), 0
        except UnicodeDecodeError:
            raise InputError(path, "is not UTF-16, though it begins so", "Save it as UTF-8") from None
    content = content.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in content:
        raise InputError(path, "is not text", "Give JSONL, JSON, CSV, TSV or Parquet")
    try:
        return content.decode(), 0
    except UnicodeDecodeError:
        pass
    lines: list[str] = []
    recoded = 0
    for line in content.split(b"\n"):
        try:
            lines.append(line.decode())
        except UnicodeDecodeError:
            recoded += 1
            lines.append(_windows_1252(line))
    return "\n".join(lines), recoded


def _windows_1252(line: bytes) -> str:
    """The line in Windows-1252; the five bytes it leaves open are read as Latin-1."""
    try:
        return line.decode("cp1252")
    except UnicodeDecodeError:
        return line.decode("latin-1")


def _columns(rows: Sequence[Row]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for row in rows for name in row.values))


def _jsonl(lines: Sequence[str], recoded: int) -> Table:
    decoder = msgspec.json.Decoder(dict[str, Any])
    rows: list[Row] = []
    faults: list[Fault] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            rows.append(Row(number, decoder.decode(line)))
        except msgspec.ValidationError:
            faults.append(Fault(number, "is not an object", 'Write {"id": ..., "stem": ...} on the line'))
        except (msgspec.DecodeError, RecursionError) as error:
            faults.append(Fault(number, f"is not JSON: {error}", "Correct this line"))
    return Table(columns=_columns(rows), rows=tuple(rows), faults=tuple(faults), recoded=recoded)


def _json(text: str, path: Path, recoded: int) -> Table:
    """A list of objects, or an object that holds one such list; JSON lines by this name are read as such."""
    try:
        whole = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        lines = text.split("\n")
        table = _jsonl(lines, recoded) if text.lstrip().startswith("{") else None
        if table is not None and table.rows:
            return table
        raise InputError(
            path, f"is not JSON: {error}", "Correct it, or write one object a line as .jsonl"
        ) from None
    if isinstance(whole, dict):
        lists = [
            value
            for value in whole.values()
            if isinstance(value, list) and value and isinstance(value[0], dict)
        ]
        whole = lists[0] if len(lists) == 1 and "stem" not in whole and "payload" not in whole else [whole]
    if not isinstance(whole, list):
        raise InputError(path, "is not a list of items", 'Write [{"id": ..., "stem": ...}, ...]')
    rows = [Row(number, row) for number, row in enumerate(whole, 1) if isinstance(row, dict)]
    faults = [
        Fault(number, f"element {number} of the list is not an object", 'Write {"id": ..., "stem": ...}')
        for number, row in enumerate(whole, 1)
        if not isinstance(row, dict)
    ]
    return Table(columns=_columns(rows), rows=tuple(rows), faults=tuple(faults), recoded=recoded)


def _delimited(text: str, path: Path, delimiter: str | None, recoded: int) -> Table:
    """CSV with its first line as names; separated by comma, semicolon (Excel in Portuguese) or tab."""
    skipped = 0
    if text[:4].lower() == "sep=":
        # Excel's own first line, which names the separator.
        delimiter, text, skipped = text[4:5], text.partition("\n")[2], 1
    if delimiter is None:
        head = "".join(text.lstrip("\r\n").split("\n", 1)[0].split('"')[::2])
        delimiter = max(",;\t", key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] = []
    rows: list[Row] = []
    faults: list[Fault] = []
    while True:
        line = reader.line_num + 1 + skipped
        try:
            cells = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            faults.append(
                Fault(line, f"is not CSV: {error}", "Look for a quote that is not closed or not doubled")
            )
            continue
        if not any(cells):
            continue
        if not header:
            header = _header(cells, path)
        elif len(cells) != len(header):
            what = f"{len(cells)} values for {len(header)} columns"
            faults.append(Fault(line, what, f"Put values that contain '{delimiter}' between quotes"))
        else:
            rows.append(Row(line, {name: cell or None for name, cell in zip(header, cells, strict=True)}))
    return Table(columns=tuple(header), rows=tuple(rows), faults=tuple(faults), recoded=recoded)


def _header(cells: Sequence[str], path: Path) -> list[str]:
    names = [cell.strip() for cell in cells]
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise InputError(path, f"two columns are called '{twice[0]}'", "Give each column a name of its own")
    return [name or f"column {number}" for number, name in enumerate(names, 1)]


def _parquet(content: bytes, path: Path) -> Table:
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only for this format
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        table = pq.read_table(pa.BufferReader(content))
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            path, f"is not a whole Parquet file ({str(error).splitlines()[0]})", "Get it again"
        ) from None
    rows = tuple(Row(number, values) for number, values in enumerate(table.to_pylist(), 1))
    return Table(columns=tuple(table.column_names), rows=rows)
