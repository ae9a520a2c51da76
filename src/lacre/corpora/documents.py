"""JSON that is not lines: a list of records, records in a row, or one record; streamed value by value."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing

import msgspec

from lacre.corpora import columns
from lacre.corpora.batches import BATCH_BYTES, Shard, TextBatch, Unread
from lacre.corpora.compression import READ_BYTES, unpacked
from lacre.corpora.decoding import Transcoder
from lacre.corpora.lines import LINE_LIMIT
from lacre.corpora.pieces import batch, nothing
from lacre.corpora.prose import decoded

_BETWEEN = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder(strict=False)
_NEAR = 16


def read_json(shard: Shard, *, most: int | None = None) -> Iterator[TextBatch]:
    """The documents of a JSON file: each element of a list at its top, each value of several, or its one
    value.

    The text is in the column named, or found as in JSONL; a value in which none is found is read whole: all
    strings in it, joined by blank lines. A value longer than 128 MiB is not read, nor what comes after it.

    Raises:
        InputError: no record among the first has the column named; the message lists the columns there are.
    """
    unread: list[Unread] = []
    texts: list[str] = []
    names: list[str] = []
    size = nulls = 0
    for number, value in enumerate(_values(decoded(shard, Transcoder()), unread), 1):
        if isinstance(value, Unread):
            unread.append(value)
            break
        text = _text(value, shard, first=number == 1, number=number, unread=unread)
        nulls += text is None
        texts.append(text or "")
        names.append(_name(value, number))
        size += len(text or "")
        if size >= BATCH_BYTES or number == most:
            yield batch(texts, names, unread=tuple(unread), nulls=nulls)
            texts, names, size, nulls = [], [], 0, 0
            unread.clear()
            if number == most:
                return
    if texts:
        yield batch(texts, names, unread=tuple(unread), nulls=nulls)
    elif unread:
        yield nothing(*unread)


def check_json(shard: Shard) -> None:
    """Make sure that the column named is there, from the first record.

    Raises:
        InputError: it is not; the message lists the columns there are.
    """
    for _ in read_json(shard, most=1):
        return


def _name(value: object, number: int) -> str:
    if isinstance(value, dict):
        identity = columns.identity(value)
        if identity and isinstance(value[identity], str | int):
            return str(value[identity])
    return str(number)


def _text(value: object, shard: Shard, *, first: bool, number: int, unread: list[Unread]) -> str | None:
    """The text of a value; None if it has none."""
    if isinstance(value, dict):
        if shard.column is not None:
            if first:
                columns.chosen(dict.fromkeys(value, True), shard.column, shard.path)
            way = (columns.Step(shard.column),) if shard.column in value else columns.steps(shard.column)
            try:
                return columns.joined(value, way)
            except TypeError as error:
                unread.append(Unread(where=f"value {number:,}", reason=str(error), bytes=1))
                return None
        found = next((name for name in columns.TEXT_COLUMNS if isinstance(value.get(name), str)), None)
        if found:
            return str(value[found])
    return columns.JOINT.join(columns.all_strings(value)) or None


def _values(blocks: Iterator[bytes | Unread], unread: list[Unread]) -> Iterator[object]:
    """The values of a file, one by one; the fault that ends them, if one does."""
    text = ""
    position = wanted = (
        0  # characters read before ``text``; characters to have before it is worth trying again
    )
    listed: bool | None = None
    for block in _with_end(blocks, unread):
        last = block is None
        text += (block or b"").decode()
        if listed is None and text.strip():
            start = len(text) - len(text.lstrip())
            listed = text[start] == "["
            text, position = text[start + listed :], start + listed
        if len(text) < wanted and not last:
            continue
        place = 0
        for value in _ready(text, last=last, listed=bool(listed)):
            if isinstance(value.value, Unread):
                where = f"after character {position + value.end:,}"
                yield msgspec.structs.replace(value.value, where=where)
                return
            yield value.value
            place = value.end
        text, position = text[place:], position + place
        wanted = 2 * len(text)


class _Value(msgspec.Struct, frozen=True):
    value: object
    end: int


def _ready(text: str, *, last: bool, listed: bool) -> Iterator[_Value]:
    """The values that a part of a file holds whole, then the fault that more of the file would not mend."""
    place = 0
    while True:
        between = _BETWEEN.match(text, place)
        start = between.end() if between else place
        if start == len(text) or (listed and text[start] == "]"):
            return
        try:
            value, place = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            if last or _real(error, text) or len(text) - start > LINE_LIMIT:
                reason = f"not JSON: {getattr(error, 'msg', error)}"
                fault = Unread(where="", reason=reason, bytes=len(text) - start, incomplete=True)
                yield _Value(fault, start)
            return
        if place == len(text) and not last and not isinstance(value, dict | list | str):
            return  # a number may go on in the next block
        yield _Value(value, place)


def _with_end(blocks: Iterator[bytes | Unread], unread: list[Unread]) -> Iterator[bytes | None]:
    for block in blocks:
        if isinstance(block, Unread):
            unread.append(block)
        else:
            yield block
    yield None


def _real(error: Exception, text: str) -> bool:
    """Whether more of the file would not mend it."""
    if not isinstance(error, json.JSONDecodeError):
        return True
    return error.pos < len(text) - _NEAR and not error.msg.startswith("Unterminated string")


def is_lines(shard: Shard) -> bool:
    """Whether a file named .json holds JSON lines: its first line is a whole record, and not the only one."""
    with closing(unpacked(shard)) as stream:
        head = Transcoder().feed(stream.read(READ_BYTES))
    first, _, rest = head.lstrip().partition(b"\n")
    if not first.startswith(b"{") or not rest.lstrip().startswith(b"{"):
        return False
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return False
    return True
