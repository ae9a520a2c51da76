"""Documents written in every format and compression, and read back."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from lacre.corpora.batches import Unread
from lacre.corpora.readers import read
from lacre.corpora.sources import shards

COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".zst": zstandard.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def jsonl(documents: Sequence[str]) -> bytes:
    return "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in documents).encode()


def as_json(documents: Sequence[str]) -> bytes:
    return json.dumps([{"text": text} for text in documents]).encode()


def as_csv(documents: Sequence[str]) -> bytes:
    sheet = io.StringIO(newline="")
    rows = csv.writer(sheet, delimiter=";", quoting=csv.QUOTE_ALL)
    rows.writerows([("n", "text"), *enumerate(documents)])
    return sheet.getvalue().encode()


def parquet(documents: Sequence[str]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"text": list(documents)}), sink, row_group_size=2)
    return sink.getvalue()


@dataclass
class Reading:
    """What came of reading a source: text by shard and document, faults, the longest batch in bytes."""

    texts: dict[tuple[str, str], str]
    unread: list[Unread]
    nulls: int
    longest: int

    def documents(self) -> list[str]:
        return list(self.texts.values())

    def reasons(self) -> list[str]:
        return [fault.reason for fault in self.unread]


def reading(source: Path, *, column: str | None = None, batch_bytes: int = 1 << 22) -> Reading:
    """Everything under a source; pieces of a document joined where they overlap, and the overlap compared."""
    texts: dict[tuple[str, str], bytes] = {}
    result = Reading({}, [], 0, 0)
    for shard in shards(str(source), column=column).shards:
        for batch in read(shard, batch_bytes=batch_bytes):
            result.unread += batch.unread
            result.nulls += batch.nulls
            pieces = [str(piece).encode() for piece in batch.text.to_pylist()]
            assert len(pieces) == len(batch.documents) == len(batch.starts)
            result.longest = max(result.longest, sum(map(len, pieces)))
            for piece, document, start in zip(pieces, batch.documents, batch.starts, strict=True):
                key = (shard.path, document)
                had = texts.setdefault(key, b"")
                assert start <= len(had)
                assert had[start:] == piece[: len(had) - start]
                texts[key] = had + piece[len(had) - start :]
    result.texts = {key: text.decode() for key, text in texts.items()}
    return result
