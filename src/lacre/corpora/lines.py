"""JSON lines, parsed in blocks; a block with a fault is read line by line, to name it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from lacre.corpora import columns
from lacre.corpora.batches import Shard, TextBatch, Unread
from lacre.corpora.compression import READ_BYTES, Unpacked, unpacked
from lacre.corpora.decoding import GUESSED, NOT_UTF8, mended
from lacre.corpora.json_strings import line_ends, strings_of
from lacre.corpora.pieces import Documents, Numbers, batch, nothing, without_nulls
from lacre.corpora.utf8 import all_utf8
from lacre.errors import InputError

BLOCK_BYTES = 4 << 20
"""JSON parsed at a time."""

LINE_LIMIT = 128 << 20
"""The longest line that is read; a longer one is passed over, and counted."""

SAMPLE = 100
_NAMES = frozenset([str, int, type(None)])
BOM = b"\xef\xbb\xbf"


class Layout(msgspec.Struct, frozen=True):
    """How the lines of a file are read.

    Attributes:
        column: the text column.
        way: the way to the text in it.
        identity: the column that names the documents.
        decoder: of records with ``text`` and ``name`` as they are written; none when only reading line by line will do.
        prefix: what stands before the number of a line: "" when they are counted from the file's first, ``N+`` when
            from the first that begins at byte N or after.
    """

    column: str
    way: tuple[columns.Step, ...]
    identity: str | None
    decoder: msgspec.json.Decoder[Any] | None
    prefix: str = ""


def layout(shard: Shard, head: bytes) -> Layout | None:
    """How to read a file, from its first lines; None if none of them is a record.

    Raises:
        InputError: there is no such column, or none that is the text; the message lists the columns.
    """
    records = list(records_of(head))
    if not records:
        return None
    kinds: dict[str, set[type]] = {}
    for record in records:
        for name, value in record.items():
            kinds.setdefault(name, set()).add(type(value))
    strings = {name: str in found or found == {type(None)} for name, found in kinds.items()}
    column = columns.chosen(strings, shard.column, shard.path)
    way = (columns.Step(column),) if column in kinds else columns.steps(column)
    names = {name: None for name, found in kinds.items() if found - {type(None)} and found <= _NAMES}
    identity = columns.identity(names)
    return Layout(column, way, identity, _decoder(way, identity, kinds))


def records_of(head: bytes) -> Iterator[dict[str, object]]:
    found = 0
    for line in head.removeprefix(BOM).split(b"\n"):
        try:
            record = msgspec.json.decode(mended(line).text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record
            found += 1
            if found == SAMPLE:
                return


def _decoder(
    way: tuple[columns.Step, ...], identity: str | None, kinds: dict[str, set[type]]
) -> msgspec.json.Decoder[Any] | None:
    """What takes the text and the name out of a line without decoding them; none for a nested or an odd text."""
    if len(way) != 1 or way[0].name is None or str not in kinds.get(way[0].name, {str}):
        return None
    fields = [("text", msgspec.Raw, msgspec.field(default=_NULL, name=way[0].name))]
    if identity and identity != way[0].name:
        fields.append(("name", msgspec.Raw, msgspec.field(default=_NULL, name=identity)))
    return msgspec.json.Decoder(msgspec.defstruct("Line", fields, gc=False))


_NULL = msgspec.Raw(b"null")


def read_lines(shard: Shard) -> Iterator[TextBatch]:
    """The documents of a JSONL file, a block at a time; bad lines are unread, each by its number.

    Raises:
        InputError: there is no such column, or none that is the text.
    """
    prefix = f"{shard.span[0]}+" if shard.span and shard.span[0] else ""
    with closing(unpacked(shard)) as stream:
        # Every range of a file is read as its head says, whatever its own first lines look like.
        shape = layout(shard, _head(shard)) if prefix else None
        line = 1
        for block in _blocks(stream):
            if isinstance(block, Unread):
                yield nothing(_at_line(block, line, prefix))
                line += 1
                continue
            ends = line_ends(block)
            shape = shape or layout(shard, block)
            if shape is None:
                yield nothing(*_faults(block, line, prefix))
            else:
                shape = msgspec.structs.replace(shape, prefix=prefix)
                yield _parsed(block, shape, line, ends) or _line_by_line(block, shape, line)
            line += ends
        if stream.damage:
            yield nothing(stream.damage)


def _head(shard: Shard) -> bytes:
    """The first bytes of the file that a shard is a range of."""
    with closing(unpacked(msgspec.structs.replace(shard, span=None))) as stream:
        return next((block for block in _blocks(stream) if isinstance(block, bytes)), b"")


def _at_line(fault: Unread, line: int, prefix: str) -> Unread:
    return msgspec.structs.replace(fault, where=f"line {prefix}{line:,}")


def _blocks(stream: Unpacked) -> Iterator[bytes | Unread]:
    """Whole lines, some megabytes of them at a time; a line over the limit as unread."""
    waiting: list[bytes] = []
    size = skipped = 0
    first = True
    while block := stream.read(READ_BYTES):
        if first:
            block, first = block.removeprefix(BOM), False
        end = block.rfind(b"\n") + 1
        if skipped:
            cut = block.find(b"\n") + 1
            skipped += cut or len(block)
            if not cut:
                continue
            yield Unread(where="", reason="the line is too long", bytes=skipped)
            block, end, skipped = block[cut:], end - cut, 0
        waiting.append(block)
        size += len(block)
        if end and size >= BLOCK_BYTES:
            waiting[-1] = block[:end]
            yield b"".join(waiting)
            waiting, size = [block[end:]], len(block) - end
        elif size > LINE_LIMIT:
            whole = b"".join(waiting)
            end = whole.rfind(b"\n") + 1
            if end:
                yield whole[:end]
            skipped, waiting, size = len(whole) - end, [], 0
    if skipped:
        yield Unread(where="", reason="the line is too long", bytes=skipped)
    if last := b"".join(waiting):
        # A line that the damage cut is not a record.
        cut = last.rfind(b"\n") + 1 if stream.damage else len(last)
        if cut:
            yield last[:cut]


def _parsed(block: bytes, shape: Layout, line: int, ends: int) -> TextBatch | None:
    """A block of so many line ends, or None if something in it is not as it should be."""
    if shape.decoder is None:
        return None
    try:
        records = shape.decoder.decode_lines(block)
    except (msgspec.DecodeError, RecursionError):
        return None
    rows = ends + (not block.endswith(b"\n"))
    if len(records) != rows:
        return None  # blank lines, or several records on one: their numbers must be right
    text = strings_of([record.text for record in records])
    if text is None:
        return None
    nulls = text.null_count
    text = without_nulls(text)
    if not all_utf8(text):
        return None
    is_named = shape.identity is not None and shape.identity != shape.column
    return TextBatch(
        text=text,
        documents=Names([record.name for record in records], line, shape.prefix)
        if is_named
        else Numbers(line, len(text), shape.prefix),
        starts=np.zeros(len(text), np.int64),
        nulls=nulls,
    )


@dataclass(frozen=True, slots=True)
class Names(Documents):
    """Documents named by a field of their line, or by the line's number where that is null.

    >>> list(Names([msgspec.Raw(b'"a"'), msgspec.Raw(b"null"), msgspec.Raw(b"3")], first=7))
    ['a', '8', '3']
    """

    values: Sequence[msgspec.Raw]
    first: int
    prefix: str = ""

    def __len__(self) -> int:
        return len(self.values)

    def name(self, at: int) -> str:
        """Its name; bytes that are not UTF-8 become U+FFFD."""
        try:
            value = json.loads(bytes(self.values[at]).decode(errors="replace"))
        except (
            ValueError,
            RecursionError,
        ):  # thousands of digits, or of lists in lists: what Python will not make
            value = None
        return _name(value) or f"{self.prefix}{self.first + at}"


def _name(value: object) -> str:
    """What a document is called by a field of its line; "" when the field names nothing.

    >>> _name("a"), _name(3), _name([1, "é"]), _name(None)
    ('a', '3', '[1, "é"]', '')
    """
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):  # as above
        return ""


def _line_by_line(block: bytes, shape: Layout, first: int) -> TextBatch:
    texts: list[str] = []
    documents: list[str] = []
    unread: list[Unread] = []
    nulls = 0
    for number, line in enumerate(block.split(b"\n"), first):
        if not line.strip():
            continue
        where = f"line {shape.prefix}{number:,}"
        record = _decoded(line, where, unread)
        if record is None:
            continue
        try:
            text = columns.joined(record, shape.way)
        except TypeError as error:
            unread.append(Unread(where=where, reason=str(error), bytes=len(line)))
            continue
        nulls += text is None
        name = _name(record.get(shape.identity)) if shape.identity else ""
        texts.append(text or "")
        documents.append(name or f"{shape.prefix}{number}")
    return batch(texts, documents, unread=tuple(unread), nulls=nulls)


def _decoded(line: bytes, where: str, unread: list[Unread]) -> dict[str, object] | None:
    """The record of a line; None, and a place in ``unread``, if it has none."""
    try:
        line.decode()
    except UnicodeDecodeError:
        line, is_guessed, bad = mended(line)
        if is_guessed:
            unread.append(Unread(where=where, reason=GUESSED, bytes=0))
        unread += [Unread(where=where, reason=NOT_UTF8, bytes=size) for size in bad]
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        record = _leniently(line)
        if record is None:
            unread.append(Unread(where=where, reason=f"not JSON: {error}", bytes=len(line)))
            return None
    if isinstance(record, dict):
        return record
    unread.append(Unread(where=where, reason="not a JSON object", bytes=len(line)))
    return None


def _leniently(line: bytes) -> object:
    """The record of a line that is nearly JSON: control characters in a string, NaN, half a pair."""
    try:
        return json.loads(line, strict=False)
    except (ValueError, RecursionError):
        return None


def _faults(block: bytes, first: int, prefix: str) -> list[Unread]:
    """Why no line of a block is a record."""
    unread: list[Unread] = []
    for number, line in enumerate(block.split(b"\n"), first):
        if line.strip():
            _decoded(line, f"line {prefix}{number:,}", unread)
    return unread


def check_lines(shard: Shard) -> None:
    """Make sure that the text column is there, from the head of the file.

    Raises:
        InputError: it is not; or the file has lines, and no record among the first of them.
    """
    with closing(unpacked(shard)) as stream:
        head = stream.read(READ_BYTES)
    if head.removeprefix(BOM).strip() and b"\n" in head and layout(shard, head) is None:
        raise InputError(shard.path, "no line at its beginning is a JSON object", "Give JSON lines")
