"""Parquet: the text column alone, in slices of a row group, never the row group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lacre.corpora import columns
from lacre.corpora.batches import BATCH_BYTES, Shard, TextBatch, Unread
from lacre.corpora.decoding import GUESSED, NOT_UTF8, mended
from lacre.corpora.pieces import Ids, Numbers, batch, nothing, without_nulls
from lacre.corpora.remote import WHOLE_ONLY, is_address, open_address
from lacre.corpora.utf8 import all_utf8

if TYPE_CHECKING:
    import io

BUFFER_BYTES = 1 << 20
MOST_ROWS = 1 << 16


class Layout(msgspec.Struct, frozen=True):
    """Where the text is: its root column, the way from there, and the column of ids."""

    root: str
    way: tuple[columns.Step, ...]
    identity: str | None


def layout(schema: pa.Schema, shard: Shard) -> Layout:
    """Where the text of a Parquet file is.

    Raises:
        InputError: there is no such column, or it is not text; the message lists the columns.
    """
    kinds = {field.name: field.type for field in schema}
    strings = {name: columns.is_text(kind) for name, kind in kinds.items()}
    column = columns.chosen(strings, shard.column, shard.path)
    root = columns.root(column, kinds)
    way = () if column in kinds else columns.steps(column)[1:]
    columns.text_of(pa.array([], kinds[root]), way, f"{shard.path}: {column}")
    identity = columns.identity(
        {name: None for name, kind in kinds.items() if strings[name] or pa.types.is_integer(kind)}
    )
    return Layout(root, way, identity if identity != root else None)


def parquet_file(location: str, size: int) -> pq.ParquetFile:
    """A Parquet file, opened where it is; close it.

    Raises:
        OSError: it is not there, or may not be read.
        ArrowException: it is not Parquet.
        Unreachable: it is at an address that cannot be reached.
    """
    # With a buffer Arrow streams a column's pages; without one it loads the whole row group.
    if not is_address(location):
        return pq.ParquetFile(location, buffer_size=BUFFER_BYTES, pre_buffer=False)
    file = open_address(location, size or None)
    return pq.ParquetFile(
        pa.PythonFile(cast("io.IOBase", file), mode="r"), buffer_size=BUFFER_BYTES, pre_buffer=False
    )


def check_parquet(shard: Shard) -> None:
    """Make sure that the text column is there. A file that cannot be opened is left to the reading, which
    says so.

    Raises:
        InputError: it is not there, or is not text.
    """
    try:
        with parquet_file(shard.location, shard.size) as file:
            layout(file.schema_arrow, shard)
    except (pa.ArrowException, OSError):
        return


def read_parquet(shard: Shard, batch_bytes: int = BATCH_BYTES) -> Iterator[TextBatch]:
    """The documents of a range of row groups, in order; rows that cannot be read are unread, by number.

    Raises:
        InputError: there is no such column, or it is not text.
    """
    try:
        file = parquet_file(shard.location, shard.size)
    except (pa.ArrowException, OSError) as error:
        reason = _fault("not a whole Parquet file", error)
        yield nothing(Unread(where="after byte 0", reason=reason, bytes=max(shard.size, 1), incomplete=True))
        return
    with file:
        shape = layout(file.schema_arrow, shard)
        first, last = shard.row_groups or (0, file.num_row_groups)
        row = 1 + sum(file.metadata.row_group(group).num_rows for group in range(first))
        for group in range(first, last):
            yield from _group(file, group, shape, row, batch_bytes)
            row += file.metadata.row_group(group).num_rows


def _fault(what: str, error: Exception) -> str:
    """Why a file is not read: that its server gives no parts of files says nothing of the file."""
    line = str(error).splitlines()[0].rstrip(".")
    return line if WHOLE_ONLY in line else f"{what}: {line}"


def _group(
    file: pq.ParquetFile, group: int, shape: Layout, row: int, batch_bytes: int
) -> Iterator[TextBatch]:
    metadata = file.metadata.row_group(group)
    paths = [metadata.column(at) for at in range(metadata.num_columns)]
    size = sum(
        path.total_uncompressed_size for path in paths if path.path_in_schema.split(".")[0] == shape.root
    )
    rows = max(1, min(MOST_ROWS, batch_bytes * metadata.num_rows // max(size, 1)))
    wanted = [shape.root, *([shape.identity] if shape.identity else [])]
    done = 0
    batches = file.iter_batches(batch_size=rows, row_groups=[group], columns=wanted, use_threads=False)
    while True:
        try:
            records = next(batches, None)
        except (pa.ArrowException, OSError) as error:
            left = int(size * (1 - done / max(metadata.num_rows, 1)))
            fault = Unread(
                where=f"row {row + done:,}",
                reason=_fault("damaged", error),
                bytes=max(left, 1),
                incomplete=True,
            )
            yield nothing(fault)
            return
        if records is None:
            return
        yield rows_of(records, shape, row + done)
        done += records.num_rows


def rows_of(records: pa.RecordBatch, shape: Layout, row: int) -> TextBatch:
    """The documents of a batch of rows, the first of which has the number ``row``."""
    text = columns.text_of(records.column(shape.root), shape.way, shape.root)
    named = records.column(shape.identity) if shape.identity else None
    documents = Numbers(row, len(text)) if named is None else Ids(named, row)
    nulls = text.null_count
    text = without_nulls(text)
    if not all_utf8(text):
        return _mended(text, documents, row, nulls)
    return TextBatch(text=text, documents=documents, starts=np.zeros(len(text), np.int64), nulls=nulls)


def _mended(text: pa.LargeStringArray, documents: Numbers | Ids, row: int, nulls: int) -> TextBatch:
    """Rows of which some are not UTF-8: read as a text file would be, and what was guessed or given up is said."""
    texts: list[bytes] = []
    unread: list[Unread] = []
    for at, value in enumerate(text.view(pa.large_binary()).to_pylist()):
        read, is_guessed, bad = mended(value or b"")
        texts.append(read)
        where = f"row {row + at:,}"
        if is_guessed:
            unread.append(Unread(where=where, reason=GUESSED, bytes=0))
        unread += [Unread(where=where, reason=NOT_UTF8, bytes=size) for size in bad]
    return batch(texts, documents, unread=tuple(unread), nulls=nulls)
