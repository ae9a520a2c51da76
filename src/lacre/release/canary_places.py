"""Where a line of plain ASCII is placed in each format, how it is taken out again, and whether it is there."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import msgspec

from lacre.errors import InputError

FIELD = "canary"
"""The field of a record, the column of a table, the key of Parquet's metadata."""

_COMMENTS = {
    ending: (before, behind)
    for endings, before, behind in (
        ("md markdown html htm xhtml xml svg rss", b"<!-- ", b" -->"),
        ("py pyi toml yaml yml sh bash ini cfg conf r jl rb pl mk properties cff", b"# ", b""),
        ("css js mjs cjs ts c h cpp hpp java go rs", b"/* ", b" */"),
        ("tex bib sty", b"% ", b""),
        ("sql lua hs", b"-- ", b""),
        ("txt text rst log", b"", b""),
        ("pdf", b"%", b""),
        ("j2", b"{# ", b" #}"),
    )
    for ending in endings.split()
} | {"": (b"", b"")}


class _Place(NamedTuple):
    """How one format holds the line: put in, taken out, looked for."""

    put: Callable[[bytes, bytes], bytes]
    take: Callable[[bytes, bytes], bytes]
    has: Callable[[bytes, bytes], bool]


class _Unfit(Exception):  # noqa: N818 - becomes an InputError where the file's name is known
    """The content is not of its format, or has no place for the line."""


def placed(name: str, content: bytes, text: str) -> bytes:
    """The content with the line in it, as :func:`lacre.release.canary.mark` says."""
    place = _place(name)
    try:
        return content if place.has(content, text.encode()) else place.put(content, text.encode())
    except _Unfit as unfit:
        raise InputError(name, f"{unfit}, so that no canary can be placed", "Correct the file") from None


def taken(name: str, content: bytes, text: str) -> bytes:
    """The content as it was before :func:`placed`."""
    try:
        return _place(name).take(content, text.encode())
    except _Unfit as unfit:
        raise InputError(name, f"{unfit}, so that no canary can be taken out", "Correct the file") from None


def holds(name: str, content: bytes, text: str) -> bool:
    """Whether the line is there: in every record, where the format has records."""
    stem, _, ending = name.lower().rpartition(".")
    if ending in _PACKED:
        try:
            return holds(stem, _PACKED[ending](content), text)
        except (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError):
            return False
    try:
        return _place(name).has(content, text.encode())
    except _Unfit:
        return False
    except InputError:
        return text.encode() in content


def _zst(content: bytes) -> bytes:
    import zstandard  # noqa: PLC0415 - keeps `import lacre` light

    try:
        with zstandard.ZstdDecompressor().stream_reader(
            io.BytesIO(content), read_across_frames=True
        ) as reader:
            return reader.read()
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None


_PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.decompress, "bz2": bz2.decompress, "xz": lzma.decompress, "zst": _zst,
}  # fmt: skip


def _place(name: str) -> _Place:
    """How a file of this name holds the line.

    Raises:
        InputError: in no way.
    """
    stem, dot, ending = name.rpartition("/")[2].lower().rpartition(".")
    ending = ending if dot and stem else ""
    if ending in _COMMENTS:
        return _commented(*_COMMENTS[ending])
    if ending in _PLACES:
        return _PLACES[ending]
    raise InputError(name, "no place for a canary is known in this format", "Use another format")


def _commented(before: bytes, behind: bytes) -> _Place:
    """A comment at the end. A content without a last line feed gets none, so that it comes back as it was."""

    def put(content: bytes, text: bytes) -> bytes:
        line = before + text + behind
        return content + line + b"\n" if not content or content.endswith(b"\n") else content + b"\n" + line

    def take(content: bytes, text: bytes) -> bytes:
        line = before + text + behind
        if content.endswith(line + b"\n"):
            return content[: -len(line) - 1]
        return content[: -len(line) - 1] if content.endswith(b"\n" + line) else content

    return _Place(put, take, lambda content, text: text in content)


def _field(text: bytes) -> bytes:
    return b'"%s":"%s"' % (FIELD.encode(), text)


def _object(content: bytes) -> dict[str, object]:
    try:
        value = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _Unfit("is not JSON") from None
    if not isinstance(value, dict):
        raise _Unfit("holds a record that is no object")
    if value.get(FIELD) not in (None, ""):
        raise _Unfit(f"has a field '{FIELD}' that is not the canary")
    if FIELD in value:
        raise _Unfit(f"has an empty field '{FIELD}'")
    return value


def _put_lines(content: bytes, text: bytes) -> bytes:
    lines = content.split(b"\n")
    for at, line in enumerate(lines):
        if line.strip() and _field(text) not in line:
            comma = b"," if _object(line) else b""
            end = line.rindex(b"}")
            lines[at] = line[:end] + comma + _field(text) + line[end:]
    return b"\n".join(lines)


def _take_lines(content: bytes, text: bytes) -> bytes:
    return content.replace(b"," + _field(text), b"").replace(_field(text), b"")


def _lines_have(content: bytes, text: bytes) -> bool:
    return all(text in line for line in content.split(b"\n") if line.strip())


def _starts(content: bytes) -> list[int]:
    """Where the objects of a JSON file begin that hold the line: the one, or each of the list."""
    try:
        whole = content.decode()
        value = json.loads(whole)
    except (ValueError, RecursionError):
        raise _Unfit("is not JSON") from None
    if isinstance(value, dict):
        return [content.index(b"{")]
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise _Unfit("holds a record that is no object")
    decoder, starts = json.JSONDecoder(), []
    at = whole.index("[") + 1
    for _ in value:
        at = whole.index("{", at)
        starts.append(len(whole[:at].encode()))
        _, at = decoder.raw_decode(whole, at)
    return starts


def _put_json(content: bytes, text: bytes) -> bytes:
    parts, reached = [], 0
    for start in _starts(content):
        begin = start + 1
        parts += [content[reached:begin], _field(text)]
        if not content[begin:].lstrip().startswith(b"}"):
            parts.append(b",")
        reached = begin
    return b"".join([*parts, content[reached:]])


def _take_json(content: bytes, text: bytes) -> bytes:
    return content.replace(_field(text) + b",", b"").replace(_field(text), b"")


def _json_has(content: bytes, text: bytes) -> bool:
    return all(text in content[start:end] for start, end in pairwise([*_starts(content), len(content)]))


def _rows(content: bytes) -> Iterator[tuple[int, int]]:
    """[start, end) of each row of a table, its line end left out; a quoted line feed ends no row."""
    start = 0
    quoted = False
    for part in re.finditer(rb'"|\r?\n|\r?\Z', content):
        if part[0] == b'"':
            quoted = not quoted
        elif not quoted or part.end() == len(content):
            if part.start() > start:
                yield start, part.start()
            start = part.end()


def _cells(separators: bytes) -> _Place:
    """A last column; ``separators``: those that the format may have, the most frequent of the first row holds."""

    def column(content: bytes, text: bytes) -> Iterator[tuple[int, int, bytes]]:
        rows = list(_rows(content))
        head = content[rows[0][0] : rows[0][1]] if rows else b""
        by = max((bytes([one]) for one in separators), key=head.count)
        for number, (start, end) in enumerate(rows):
            yield start, end, by + (b'"%s"' % text if number else FIELD.encode())

    def put(content: bytes, text: bytes) -> bytes:
        parts, reached = [], 0
        for _, end, cell in column(content, text):
            parts += [content[reached:end], cell]
            reached = end
        return b"".join([*parts, content[reached:]])

    def take(content: bytes, text: bytes) -> bytes:
        if not has(content, text):
            return content
        parts, reached = [], 0
        for _, end, cell in column(content, text):
            if not content[reached:end].endswith(cell):
                raise _Unfit("holds the canary in another column")
            parts.append(content[reached : end - len(cell)])
            reached = end
        return b"".join([*parts, content[reached:]])

    def has(content: bytes, text: bytes) -> bool:
        rows = list(_rows(content))
        head = content[: rows[0][1]] if rows else FIELD.encode()
        return FIELD.encode() in head and all(text in content[start:end] for start, end in rows[1:])

    return _Place(put, take, has)


_PNG = b"\x89PNG\r\n\x1a\n"


def _chunk(text: bytes) -> bytes:
    """A tEXt chunk (PNG, third edition, section 11.3.3.2)."""
    body = b"tEXtComment\0" + text
    return struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))


def _put_png(content: bytes, text: bytes) -> bytes:
    end = content.rfind(b"\0\0\0\0IEND")
    if not content.startswith(_PNG) or end < 0:
        raise _Unfit("is not PNG")
    return content[:end] + _chunk(text) + content[end:]


def _comment(text: bytes) -> bytes:
    """A COM segment (ITU-T T.81, section B.2.4.5)."""
    return b"\xff\xfe" + struct.pack(">H", len(text) + 2) + text


def _put_jpeg(content: bytes, text: bytes) -> bytes:
    if not content.startswith(b"\xff\xd8"):
        raise _Unfit("is not JPEG")
    return content[:2] + _comment(text) + content[2:]


def _parquet(content: bytes, change: Callable[[dict[bytes, bytes]], object]) -> bytes:
    """A Parquet file with its metadata changed, which is written anew."""
    import pyarrow as pa  # noqa: PLC0415 - keeps `import lacre` light
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        table = pq.read_table(io.BytesIO(content))
    except (pa.ArrowException, OSError):
        raise _Unfit("is not Parquet") from None
    metadata = dict(table.schema.metadata or {})
    change(metadata)
    out = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(metadata), out, compression="zstd")
    return out.getvalue()


def _parquet_has(content: bytes, text: bytes) -> bool:
    import pyarrow as pa  # noqa: PLC0415 - keeps `import lacre` light
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        metadata = pq.read_metadata(io.BytesIO(content)).metadata or {}
    except (pa.ArrowException, OSError):
        raise _Unfit("is not Parquet") from None
    return any(text in value for value in metadata.values())


def _has(content: bytes, text: bytes) -> bool:
    return text in content


_JSON = _Place(_put_json, _take_json, _json_has)
_LINES = _Place(_put_lines, _take_lines, _lines_have)
_PNG_PLACE = _Place(_put_png, lambda content, text: content.replace(_chunk(text), b""), _has)
_JPEG = _Place(_put_jpeg, lambda content, text: content.replace(_comment(text), b""), _has)
_PARQUET = _Place(
    lambda content, text: _parquet(content, lambda kept: kept.update({FIELD.encode(): text})),
    lambda content, _: _parquet(content, lambda kept: kept.pop(FIELD.encode(), None)),
    _parquet_has,
)
_PLACES = {
    "jsonl": _LINES,
    "ndjson": _LINES,
    "json": _JSON,
    "ipynb": _JSON,
    "csv": _cells(b",;\t|"),
    "tsv": _cells(b"\t"),
    "png": _PNG_PLACE,
    "jpg": _JPEG,
    "jpeg": _JPEG,
    "parquet": _PARQUET,
}
