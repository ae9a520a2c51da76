"""Speed and memory of the scan: one JSON line, every figure from this one run.

MB are 10^6 bytes of UTF-8 text; seconds are of processor time of this process, so that other work on the
machine weighs less, and of one thread. Ratios are what to quote. What two threads gain over one can only be told by
the clock on the wall: the two are timed in turn, several times, and the best of each counts. ``--peers`` adds other
programs on the same texts, 60 MB of them when --size does not say otherwise.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import material, peers
from lacre.corpora.batches import Shard
from lacre.corpora.readers import read
from lacre.corpora.sources import shards
from lacre.overlap.index import ItemIndex, index_items
from lacre.overlap.kernel import count_words
from lacre.overlap.runs import Scratch, buffers, kernel_runs
from lacre.overlap.sheets import wide
from lacre.overlap.table import fold_table
from lacre.registry.rules import default_rules
from lacre.vetting.presented import presented
from lacre.vetting.shards import scan_shard


def seconds(work: Callable[[], object]) -> float:
    """Processor seconds of one call."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def best(work: Callable[[], object], times: int) -> float:
    """The least of several, which other work on the machine disturbed least."""
    return min(seconds(work) for _ in range(times))


def index(count: int) -> ItemIndex:
    """The index of ``count`` items under the shared rules."""
    rules = default_rules().vetting
    return index_items(
        [presented(item) for item in material.items(count)],
        min_words=rules.short_min_words,
        min_bits=rules.short_min_bits,
        rare_min_words=rules.rare_min_words,
    )


def words_only(shard: Shard) -> None:
    """Read, and hash the words."""
    scratch = Scratch.make()
    latin, entries, parts = fold_table()
    words = np.empty((8 << 20) + 128, np.uint64)
    for batch in read(shard):
        pages = buffers(batch.text)
        room = tuple(scratch.room)
        count_words(pages.data, wide(pages.data), pages.offsets, latin, entries, parts, room, words)


def words_and_grams(shard: Shard, table: ItemIndex) -> None:
    """Read, hash the words, and look up every seed."""
    scratch = Scratch.make()
    for batch in read(shard):
        kernel_runs(table, buffers(batch.text), scratch)


def whole(listing: list[Shard], table: ItemIndex) -> None:
    """The vetting's own work on every shard, in this thread."""
    gc.freeze()  # as lacre.vetting.scan does
    for shard in listing:
        scan_shard(table, shard, 0.75)
    gc.unfreeze()


EVEN_BYTES = 3 << 20


def on_the_wall(listing: list[Shard], table: ItemIndex, threads: int) -> float:
    """Seconds on the wall that so many threads take for all shards."""
    with ThreadPoolExecutor(threads) as pool:
        begun = time.monotonic()
        list(pool.map(lambda shard: scan_shard(table, shard, 0.75), listing))
        return time.monotonic() - begun


def two_over_one(documents: list[str], size: int, folder: Path, table: ItemIndex, times: int) -> float:
    """How many times as fast two threads are as one, on Parquet in many small and even shards."""
    path = folder / "even.parquet"
    material.write_parquet(material.repeated(documents, size), path, group_bytes=EVEN_BYTES)
    listing = list(shards(str(path), shard_bytes=EVEN_BYTES).shards)
    one, two = [], []
    for _ in range(times):
        one.append(on_the_wall(listing, table, 1))
        two.append(on_the_wall(listing, table, 2))
    return round(min(one) / min(two), 2)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=float, help="MB of text; 500, with --peers 60")
    parser.add_argument("--kinds", default="clean,law,contaminated", help="folders of the test corpora")
    parser.add_argument("--times", type=int, default=2)
    parser.add_argument("--peers", action="store_true", help="other programs on the same texts too")
    parser.add_argument(
        "--seconds", type=float, default=60, help="processor seconds after which a peer is stopped"
    )
    arguments = parser.parse_args()
    arguments.size = arguments.size or (60 if arguments.peers else 500)
    documents = material.texts(tuple(arguments.kinds.split(",")))
    size = int(arguments.size * 1e6)
    small, large = index(2_000), index(20_000)
    with tempfile.TemporaryDirectory() as name:
        parquet, jsonl = Path(name) / "text.parquet", Path(name) / "text.jsonl.zst"
        material.write_parquet(material.repeated(documents, size), parquet)
        material.write_jsonl(material.repeated(documents, size), jsonl)
        result: dict[str, Any] = {
            "megabytes": arguments.size,
            "documents": arguments.kinds if material.folder() else "made up",
            "parquet": _figures(parquet, small, large, arguments),
            "jsonl_zst": _figures(jsonl, small, large, arguments),
            "str_lower": _lower(documents, arguments),
            "two_threads_over_one": two_over_one(documents, size, Path(name), small, 5),
            "peak_megabytes": {"this_process": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3},
            "command": _command(parquet, Path(name)),
        }
    for kind in ("parquet", "jsonl_zst"):
        figures = result[kind]
        figures["kernel_over_str_lower"] = round(figures["words_and_grams_alone"] / result["str_lower"], 2)
    if arguments.peers:
        result["peers"] = _peers(result, arguments)
    print(json.dumps(result))


def _peers(result: dict[str, Any], arguments: argparse.Namespace) -> dict[str, Any]:
    """The peers' rates, and how many times as fast as the fastest of them the whole vetting is."""
    found = peers.rates(arguments.size, tuple(arguments.kinds.split(",")), 2_000, arguments.seconds)
    fastest = max((rate for rate in found.values() if isinstance(rate, float)), default=0.0)
    over = {
        f"{kind}_over_fastest": round(result[kind]["vet_2000"] / fastest, 1)
        for kind in ("parquet", "jsonl_zst")
        if fastest
    }
    return {**found, **over}


def _figures(
    path: Path, small: ItemIndex, large: ItemIndex, arguments: argparse.Namespace
) -> dict[str, float]:
    listing = list(shards(str(path)).shards)
    megabytes = arguments.size
    whole(listing[:1], small)  # compiles, or loads what was compiled

    def each(work: Callable[[Shard], object]) -> float:
        return best(lambda: [work(shard) for shard in listing], arguments.times)

    reading = each(lambda shard: [None for _ in read(shard)])
    words = each(words_only)
    grams = each(lambda shard: words_and_grams(shard, small))
    all_small = best(lambda: whole(listing, small), arguments.times)
    all_large = best(lambda: whole(listing, large), arguments.times)
    return {
        "read": round(megabytes / reading, 1),
        "words_alone": round(megabytes / (words - reading), 1),
        "words_and_grams_alone": round(megabytes / (grams - reading), 1),
        "vet_2000": round(megabytes / all_small, 1),
        "vet_20000": round(megabytes / all_large, 1),
        "vet_over_read": round(all_small / reading, 2),
        "items_20000_over_2000": round(all_large / all_small, 2),
    }


def _lower(documents: list[str], arguments: argparse.Namespace) -> float:
    sample = documents[: max(1, len(documents))]
    bytes_each = sum(len(text.encode()) for text in sample)
    times = max(1, int(arguments.size * 1e6 / bytes_each))
    took = best(lambda: [[text.lower() for text in sample] for _ in range(times)], arguments.times)
    return round(bytes_each * times / 1e6 / took, 1)


_COMMAND = """
import sys, time
from lacre.cli import run
begun = time.monotonic()
code = run(sys.argv[1:])
took = time.monotonic() - begun
# Not getrusage: its peak outlives exec, and would tell of the parent.
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(code, took, int(peak) / 1e3, file=sys.stderr)
"""


def _command(parquet: Path, name: Path) -> dict[str, float]:
    """The real command on 2,000 items, one thread: seconds and peak memory."""
    items = name / "items.jsonl"
    from lacre import jsonl

    jsonl.write(items, material.items(2_000))
    done = subprocess.run(
        [sys.executable, "-c", _COMMAND, "vet", str(items), "--corpus", str(parquet), "--workers", "1"],
        capture_output=True,
        text=True,
        check=True,
    )
    _, took, peak = done.stderr.strip().split("\n")[-1].split()
    return {"seconds": round(float(took), 1), "peak_megabytes": round(float(peak), 0)}


if __name__ == "__main__":
    main()
