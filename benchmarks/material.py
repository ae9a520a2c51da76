"""Texts and items to measure with: the test data's when it is there, else made from word frequencies."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from lacre.corpora.readers import read
from lacre.corpora.sources import shards
from lacre.registry.intake import candidates
from lacre.registry.items import Candidate, Payload

SEED = 20260


def folder() -> Path | None:
    """The test data, if this machine has it."""
    named = os.environ.get("LACRE_TEST_DATA")
    return Path(named) if named and Path(named).is_dir() else None


def texts(kinds: tuple[str, ...]) -> list[str]:
    """Documents of these folders of the test corpora, each cut to a megabyte; made-up ones without test data."""
    data = folder()
    if data is None:
        return list(_made_up(4_000))
    found = []
    for kind in kinds:
        for shard in shards(str(data / "corpora" / kind)).shards:
            for batch in read(shard):
                for text in batch.text.to_pylist():
                    whole = text or ""
                    found += [whole[k : k + 1_000_000] for k in range(0, len(whole), 1_000_000)]
    return found


def items(count: int) -> list[Candidate]:
    """``count`` items: the test data's in a fixed random order, past their number with their words shuffled."""
    data = folder()
    rng = random.Random(SEED)
    if data is None:
        return [_open(f"i{k}", text[:800]) for k, text in enumerate(_made_up(count))]
    every = list(candidates(data / "items" / "items.jsonl.gz").items)
    rng.shuffle(every)
    result = every[:count]
    while len(result) < count:
        source = every[len(result) % len(every)].payload
        words = source.stem.split()
        rng.shuffle(words)
        result.append(_open(f"shuffled-{len(result)}", " ".join(words)))
    return result


def _open(name: str, stem: str) -> Candidate:
    return Candidate(id=name, payload=Payload(kind="open", stem=stem))


def _made_up(count: int) -> Iterator[str]:
    from wordfreq import get_frequency_dict

    rng = random.Random(SEED)
    frequencies = get_frequency_dict("pt", wordlist="large")
    words, weights = list(frequencies), list(frequencies.values())
    for _ in range(count):
        yield " ".join(rng.choices(words, weights, k=rng.randrange(50, 900)))


def repeated(documents: list[str], size: int) -> Iterator[str]:
    """The documents over and over until ``size`` bytes of UTF-8 have gone by."""
    sizes = [len(text.encode()) for text in documents]
    done = 0
    while done < size:
        for text, length in zip(documents, sizes, strict=True):
            yield text
            done += length
            if done >= size:
                return


def write_parquet(documents: Iterator[str], path: Path, group_bytes: int = 64 << 20) -> None:
    """A zstd Parquet file with columns id and text, row groups of some 20,000 documents or ``group_bytes``."""
    schema = pa.schema([("id", pa.string()), ("text", pa.string())])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        rows: list[str] = []
        size = number = 0
        for text in documents:
            rows.append(text)
            size += len(text)
            if size > group_bytes or len(rows) >= 20_000:
                writer.write_table(_table(rows, number, schema))
                number += len(rows)
                rows, size = [], 0
        writer.write_table(_table(rows, number, schema))


def _table(rows: list[str], number: int, schema: pa.Schema) -> pa.Table:
    return pa.table({"id": [f"d{number + k}" for k in range(len(rows))], "text": rows}, schema=schema)


def write_jsonl(documents: Iterator[str], path: Path) -> None:
    """A zstd JSONL file with fields id and text."""
    import msgspec

    with path.open("wb") as raw, zstandard.ZstdCompressor(3).stream_writer(raw) as file:
        for number, text in enumerate(documents):
            file.write(msgspec.json.encode({"id": f"d{number}", "text": text}) + b"\n")
