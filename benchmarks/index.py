"""Speed and size of the index of a corpus: one JSON line, every figure from this one run, one thread.

MB are 10^6 bytes of UTF-8 text. Building is in processor seconds of this process, so that other work on the machine
weighs less; queries are in seconds by the clock, for they wait for the disk. The text is the test corpora over and
over, with some common words changed in each repetition, so that four grams in five are new. An index of ten times as
much text is made from the fingerprints: each copy's hashes are changed in the same bits, and all are packed as one
segment.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import material
from lacre.corpora.indexing import Index, open_index
from lacre.corpora.readers import read
from lacre.corpora.sources import shards
from lacre.overlap.index import ItemIndex, index_items
from lacre.overlap.sections import open_sections, write_sections
from lacre.overlap.segments import Packed, Packing
from lacre.overlap.winnow import PART_BITS, PARTS, Values, item_grams, reach, sentence_reach
from lacre.registry.rules import default_rules
from lacre.vetting.indexed import Lookup, candidates
from lacre.vetting.indexed_building import build
from lacre.vetting.presented import presented
from lacre.vetting.vet import vet

COMMON = (" de ", " a ", " o ", " que ", " e ", " do ")


def perturbed(documents: list[str], size: int) -> Iterator[str]:
    """The documents over and over, until ``size`` bytes have gone by, some words changed in each repetition."""
    done = repetition = 0
    while done < size:
        for text in documents:
            changed = text
            if repetition:
                for word in COMMON:
                    changed = changed.replace(word, f" {word.strip()}{repetition} ")
            yield changed
            done += len(changed.encode())
            if done >= size:
                return
        repetition += 1


class Copies(Packing):
    """A segment's fingerprints many times over, each copy with some bits of every hash changed."""

    def __init__(self, values: Values, blocks: int, copies: int) -> None:
        chance = np.random.default_rng(20260)
        self.marks = [int(mark) << 20 for mark in chance.integers(0, 1 << 44, copies)]
        self.values, self.each = values, blocks
        self.bounds = np.searchsorted(
            values, np.arange(PARTS + 1, dtype=np.float64) * 2.0 ** (64 - PART_BITS)
        )
        self.runs, self.blocks, self.size = [], blocks * copies, 0
        self._sized(values.size * copies)

    def _part(self, part: int) -> Values:
        pieces = []
        for copy, mark in enumerate(self.marks):
            own = part ^ mark >> 64 - PART_BITS
            piece = self.values[self.bounds[own] : self.bounds[own + 1]]
            pieces.append((piece ^ np.uint64(mark)) + np.uint64(copy * self.each))
        values = np.concatenate(pieces)
        values.sort()
        return values


class Large(NamedTuple):
    """A segment of many copies: its file, and its fingerprints mapped."""

    path: Path
    packed: Packed
    marks: list[int]


def copied(packed: Packed, blocks: int, copies: int, path: Path) -> Large:
    """Write the segment of ``copies`` copies."""
    copying = Copies(np.concatenate(list(packed.values())), blocks, copies)

    def late(name: str) -> Iterator[Values]:
        yield getattr(copying, name)

    write_sections(path, {"tails": copying.tails(), "heads": late("heads"), "samples": late("samples")})
    arrays = open_sections(path, type(None)).arrays
    made = Packed(
        copying.size,
        copying.low_bits,
        copying.block_bits,
        arrays["tails"],
        arrays["heads"],
        arrays["samples"],
    )
    assert made.fits()
    return Large(path, made, copying.marks)


def best(work: Callable[[], object], times: int) -> float:
    """Processor seconds of the quickest of several calls, which other work on the machine disturbed least."""
    took = []
    for _ in range(times):
        begun = time.process_time()
        work()
        took.append(time.process_time() - begun)
    return min(took)


def timed(work: Callable[[], object]) -> float:
    """Seconds by the clock."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def forget(*paths: Path) -> None:
    """Ask the system to forget what it holds of files, so that they are read from the disk."""
    for path in paths:
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def items_index(lookup: Lookup, count: int) -> ItemIndex:
    """The index of ``count`` items, as vetting makes it."""
    rules = default_rules().vetting
    return index_items(
        [presented(item) for item in material.items(count)],
        min_words=rules.short_min_words,
        min_bits=rules.short_min_bits,
        rare_min_words=rules.rare_min_words,
        rarity=lookup.rarity,
    )


def built(parquet: Path, folder: Path) -> Index:
    """The index of a file, built by one thread."""
    with ThreadPoolExecutor(1) as executor:
        build(folder, [(str(parquet), None, shards(str(parquet)))], executor=executor)
    return open_index(folder)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=float, default=1000, help="MB of text")
    parser.add_argument("--copies", type=int, default=10, help="of it in the large index")
    parser.add_argument("--kinds", default="clean,law,contaminated", help="folders of the test corpora")
    parser.add_argument(
        "--folder", type=Path, help="where the files go for a while; the system's place when not given"
    )
    arguments = parser.parse_args()
    documents = material.texts(tuple(arguments.kinds.split(",")))
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        print(json.dumps(measured(documents, Path(name), arguments)))


def measured(documents: list[str], folder: Path, arguments: argparse.Namespace) -> dict[str, object]:
    """All figures."""
    small = folder / "small.parquet"
    material.write_parquet(perturbed(documents, 10_000_000), small)
    built(small, folder / "compiles")
    parquet = folder / "text.parquet"
    material.write_parquet(perturbed(documents, int(arguments.size * 1e6)), parquet)
    lower = best(lambda: [text.lower() for text in documents], 3)
    megabytes = sum(len(text.encode()) for text in documents) / 1e6
    reading = best(lambda: [None for shard in shards(str(parquet)).shards for _ in read(shard)], 1)
    begun = time.process_time()
    index = built(parquet, folder / "index")
    building = time.process_time() - begun
    record = index.manifest.segments[0]
    text = sum(one.text for one in index.manifest.segments)
    print(f"built {text / 1e6:,.0f} MB in {building:.1f} s of processor time", file=sys.stderr)
    return {
        "megabytes": round(text / 1e6),
        "documents": arguments.kinds if material.folder() else "made up",
        "str_lower": round(megabytes / lower, 1),
        "build": round(text / 1e6 / building, 1),
        "build_without_reading": round(text / 1e6 / (building - reading), 1),
        "build_over_str_lower": round(text / 1e6 / building / (megabytes / lower), 2),
        "bytes_per_byte": round(sum(one.size for one in index.manifest.segments) / text, 3),
        "bits_per_fingerprint": round(8 * record.size / record.fingerprints, 1),
        "reach_of_runs": {words: round(reach(index.gaps, words), 3) for words in range(8, 14)},
        "reach_of_sentences_with_a_word_changed": {
            words: round(sentence_reach(index.gaps, words), 3) for words in range(10, 28, 4)
        },
        **queries(index, folder, arguments.copies),
        "vet_seconds": vetting(folder / "index"),
    }


def queries(index: Index, folder: Path, copies: int) -> dict[str, object]:
    """How long it takes to name the blocks that may hold 2,000 items, in the index and in one many times as large."""
    lookup = Lookup(indexes=(index,))
    table = items_index(lookup, 2_000)
    grams = item_grams(table.table)
    paths = [index.folder / "segments" / record.file for record in index.manifest.segments]
    blocks = sum(segment.facts.blocks for segment in index.segments)
    warm = min(timed(lambda: candidates(index, grams)) for _ in range(5))
    worked = best(lambda: candidates(index, grams), 5)
    met = sum(np.unique(s.packed.look_up(grams.hashes).blocks).size for s in index.segments)
    forget(*paths)
    cold = timed(lambda: candidates(open_index(index.folder), grams))
    large = copied(index.segments[0].packed, blocks, copies, folder / "large.seg")
    # As many hits as the items have in the first copy.
    moved = np.sort(grams.hashes ^ np.uint64(large.marks[0]))
    warm_large = min(timed(lambda: large.packed.look_up(moved)) for _ in range(5))
    worked_large = best(lambda: large.packed.look_up(moved), 5)
    hits = large.packed.look_up(moved)
    forget(large.path)
    arrays = open_sections(large.path, type(None)).arrays
    fresh = large.packed._replace(tails=arrays["tails"], heads=arrays["heads"], samples=arrays["samples"])
    cold_large = timed(lambda: fresh.look_up(moved))
    print(f"large: {warm_large:.3f} s warm, {cold_large:.3f} s cold", file=sys.stderr)
    return {
        "grams_of_2000_items": int(grams.hashes.size),
        "seconds_to_make_them": round(min(timed(lambda: item_grams(table.table)) for _ in range(3)), 3),
        "processor_seconds_to_make_them": round(best(lambda: item_grams(table.table), 3), 3),
        "query_warm": round(warm, 3),
        "query_warm_processor": round(worked, 3),
        "query_cold": round(cold, 3),
        "blocks_named": f"{met} of {blocks}",
        "large_gigabytes": round(copies * sum(r.text for r in index.manifest.segments) / 1e9, 1),
        "large_index_gigabytes": round(large.path.stat().st_size / 1e9, 2),
        "large_query_warm": round(warm_large, 3),
        "large_query_warm_processor": round(worked_large, 3),
        "large_query_cold": round(cold_large, 3),
        "large_blocks_named": f"{np.unique(hits.blocks).size} of {blocks * copies}",
    }


def vetting(folder: Path) -> dict[str, float]:
    """Seconds by the clock of the whole vetting of some items in the index, evidence included."""
    rules = default_rules().vetting
    every = material.items(100)

    def whole(count: int) -> None:
        with ThreadPoolExecutor(1) as executor:
            vet(every[:count], [], rules, executor=executor, lookup=Lookup.open([folder]))

    whole(1)
    return {f"items_{count}": round(timed(partial(whole, count)), 2) for count in (1, 10, 100)}


if __name__ == "__main__":
    main()
