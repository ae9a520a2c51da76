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


class Shard(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a corpus that is read on its own: a file, or a range of row groups of a Parquet file.

    Attributes:
        corpus: the corpus as the person named it.
        path: path relative to the corpus, with ``/``; the file itself when the corpus is a file.
        location: where to open it.
        format: ``txt``, ``html``, ``jsonl``, ``json``, ``csv``, ``tsv`` or ``parquet``.
        compression: ``gz``, ``zst``, ``bz2``, ``xz`` or none.
        column: the text column, dotted and with ``[]`` for lists, or none to find it.
        row_groups: first and one past the last row group, Parquet only.
        size: bytes on disk.
    """

    corpus: str
    path: str
    location: str
    format: str
    compression: str | None
    column: str | None
    row_groups: tuple[int, int] | None
    size: int


class Unread(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was not read, or read but garbled: where, why, how many bytes (of text, or of the file)."""

    where: str
    reason: str
    bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class TextBatch:
    """A few megabytes of text.

    A document longer than a batch comes in pieces that overlap by :data:`OVERLAP` bytes, so that no match is cut.

    Attributes:
        text: one string per piece, shape (n,), type large_string.
        documents: the document each piece belongs to: its id where the source has one, else its row number.
        starts: byte offset of each piece in its document's UTF-8 text, shape (n,), int64.
        unread: what was passed over while reading this batch.
    """

    text: pa.LargeStringArray
    documents: Sequence[str]
    starts: npt.NDArray[np.int64]
    unread: tuple[Unread, ...] = ()
