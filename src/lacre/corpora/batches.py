"""What a reader hands to a scan: batches of text, and what could not be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

BATCH_BYTES = 4 << 20
"""Bytes of text in a batch, at most."""

OVERLAP = 4096
"""Bytes that two neighbouring pieces of a long document share, at least: more than any run looked for."""


class Shard(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a corpus that is read on its own: a file, a range of row groups of a Parquet file, or a range of
    bytes of an uncompressed JSONL file.

    Attributes:
        corpus: the corpus as the person named it.
        path: path relative to the corpus, with ``/``; the file's name when the corpus is a file. The shards
            of one file share it and differ in ``row_groups`` or ``span``.
        location: where to open it: a path, or an address.
        format: ``txt``, ``html``, ``xml``, ``jsonl``, ``json``, ``csv``, ``tsv``, ``parquet``, or
            ``streamed`` for a split of a repository that :mod:`lacre.corpora.hub` reads.
        compression: ``gz``, ``zst``, ``bz2``, ``xz`` or none.
        column: the text column, dotted and with ``[]`` for lists, or none to find it.
        row_groups: first and one past the last row group, Parquet only.
        size: bytes of the whole file.
        span: first byte and one past the last, JSONL only. The shard has the lines that begin there.
        unpacked: bytes of its row groups when unpacked, Parquet only.
        mark: what changes when the file does: its time of change, or the tag or revision that a server gives.
    """

    corpus: str
    path: str
    location: str
    format: str
    compression: str | None
    column: str | None
    row_groups: tuple[int, int] | None
    size: int
    span: tuple[int, int] | None = None
    unpacked: int | None = None
    mark: str = ""


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was not read, or read but garbled.

    Attributes:
        where: file, line, byte or row.
        reason: why, in a few words.
        bytes: how many bytes of text, or of the file, were not read; 0 for what only has to be said.
        incomplete: the shard ends here, before its end: nothing after this place was read.
    """

    where: str
    reason: str
    bytes: int
    incomplete: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class TextBatch:
    """A few megabytes of text.

    A document longer than a batch comes in pieces that overlap by at least :data:`OVERLAP` bytes, so that no
    match is cut.

    Attributes:
        text: one string per piece, shape (n,), type large_string, no nulls; it may be a slice of a larger
            array.
        documents: the document each piece belongs to: its id where the source has one, else its row number.
        starts: byte offset of each piece in its document's UTF-8 text, shape (n,), int64.
        unread: what was passed over while reading this batch.
        nulls: documents of this batch whose text is null or missing; they stand in ``text`` as "".
    """

    text: pa.LargeStringArray
    documents: Sequence[str]
    starts: npt.NDArray[np.int64]
    unread: tuple[Unread, ...] = ()
    nulls: int = 0
