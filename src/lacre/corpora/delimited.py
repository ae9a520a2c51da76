"""CSV and TSV as spreadsheets write them: any common separator, quoted line breaks, common encodings."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import closing

from lacre.corpora import columns
from lacre.corpora.batches import BATCH_BYTES, Shard, TextBatch, Unread
from lacre.corpora.compression import READ_BYTES, unpacked
from lacre.corpora.decoding import Transcoder
from lacre.corpora.pieces import batch, nothing
from lacre.corpora.prose import decoded
from lacre.errors import InputError

FIELD_LIMIT = 64 << 20
"""The longest field that is read: a longer one means a quotation mark without its other half."""

SEPARATORS = ",;\t|"
ROWS = 20_000


def read_delimited(shard: Shard) -> Iterator[TextBatch]:
    """The documents of a CSV or TSV file with a header, one a row.

    The text is in the column named; else in ``text``, ``content``, ``raw_content``, ``body``, ``texto``,
    ``conteudo``, ``question``, ``pergunta``, ``enunciado``, ``prompt``, ``resposta`` or ``answer``, the first
    there is; else in all columns, joined by blank lines. An empty field counts as a null.

    Raises:
        InputError: there is no such column; the message lists those there are.
    """
    unread: list[Unread] = []
    rows = _rows(_lines(decoded(shard, Transcoder()), unread), shard.format)
    header = next(rows, None)
    if isinstance(header, list):
        yield from _documents(rows, header, _text_fields(header, shard), unread)
    elif header:
        unread.append(header)
    if unread:
        yield nothing(*unread)


def check_delimited(shard: Shard) -> None:
    """Make sure that the text column is there, from the header.

    Raises:
        InputError: it is not; the message lists the columns there are.
    """
    with closing(unpacked(shard)) as stream:
        head: list[bytes | Unread] = [Transcoder().feed(stream.read(READ_BYTES))]
    header = next(_rows(_lines(iter(head), []), shard.format), None)
    if isinstance(header, list):
        _text_fields(header, shard)


def _lines(blocks: Iterator[bytes | Unread], unread: list[Unread]) -> Iterator[str]:
    waiting: list[bytes] = []
    for block in blocks:
        if isinstance(block, Unread):
            unread.append(block)
            continue
        end = block.rfind(b"\n") + 1
        if not end:
            waiting.append(block)
            continue
        yield from io.StringIO(b"".join([*waiting, block[:end]]).decode(), newline="\n")
        waiting = [block[end:]]
    if rest := b"".join(waiting):
        yield rest.decode()


def _rows(lines: Iterator[str], form: str) -> Iterator[list[str] | Unread]:
    """The rows; the fault that ends them, if one does."""
    first = next(lines, None)
    if first is None:
        return
    separator = "\t" if form == "tsv" and "\t" in first else max(SEPARATORS, key=first.count)
    csv.field_size_limit(FIELD_LIMIT)
    # The word sep=; is what Excel reads the separator from, and is no row.
    if first.strip().lower().startswith("sep=") and len(first.strip()) == 5:
        separator = first.strip()[4]
        first = next(lines, "")
    reader = csv.reader(_chained(first, lines), delimiter=separator)
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            yield Unread(
                where=f"line {reader.line_num:,}", reason=f"not CSV: {error}", bytes=1, incomplete=True
            )
            return
        if row is None:
            return
        if row:
            yield row


def _chained(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _text_fields(header: list[str], shard: Shard) -> list[int]:
    """Which fields of a row are its text."""
    names = [name.strip() for name in header]
    known = dict.fromkeys(names, True)
    try:
        column = columns.chosen(known, shard.column, shard.path, more=columns.QUESTION_COLUMNS)
    except InputError:
        if shard.column is not None:
            raise
        return list(range(len(names)))
    return [names.index(column)]


def _documents(
    rows: Iterator[list[str] | Unread], header: list[str], fields: list[int], unread: list[Unread]
) -> Iterator[TextBatch]:
    named = columns.identity(dict.fromkeys(header))
    name = header.index(named) if named else None
    texts: list[str] = []
    documents: list[str] = []
    size = nulls = 0
    for number, row in enumerate(rows, 1):
        if isinstance(row, Unread):
            unread.append(row)
            break
        text = _text(row, header, fields)
        nulls += not text
        texts.append(text)
        documents.append(row[name] if name is not None and name < len(row) else str(number))
        size += len(text)
        if size >= BATCH_BYTES or len(texts) >= ROWS:
            yield batch(texts, documents, unread=tuple(unread), nulls=nulls)
            texts, documents, size, nulls = [], [], 0, 0
            unread.clear()
    if texts:
        yield batch(texts, documents, unread=tuple(unread), nulls=nulls)
        unread.clear()


def _text(row: list[str], header: list[str], fields: list[int]) -> str:
    if len(fields) == 1:
        return row[fields[0]] if fields[0] < len(row) else ""
    # Fields past the header are text of the row too: nothing is dropped.
    return columns.JOINT.join(field for field in row[: max(len(header), len(row))] if field)
