"""Speed of the guard and of the search for a canary against the scanner, on the same files, one thread, one run.

Prints one JSON line.

MB are 10^6 bytes of the files as they lie on disk, which are plain: JSONL with every escape that JSON needs, CSV, and
running text. Seconds are of processor time of this process. ``guard_over_scanner`` is the ratio to quote; 0.5 is asked.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

from benchmarks import material
from lacre.corpora.sources import shards
from lacre.overlap.index import ItemIndex, index_items
from lacre.overlap.runs import Scratch
from lacre.registry.items import Candidate, Item
from lacre.registry.rules import default_rules
from lacre.release.canary import mint
from lacre.release.canary_find import find
from lacre.release.guard_search import Search
from lacre.release.guard_wanted import Wanted, wanted
from lacre.release.guard_watch import Watch
from lacre.sealing.commitments import commit
from lacre.sealing.contents import Sealed
from lacre.vetting.presented import presented
from lacre.vetting.shards import scan_shard

CANARY = mint(UUID(int=20260), "bench", "2026-01-31")


def seconds(work: Callable[[], object]) -> float:
    """Processor seconds of one call."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def index(count: int) -> ItemIndex:
    """The index of ``count`` items under the shared rules, as vetting makes it."""
    rules = default_rules().vetting
    return index_items(
        [presented(item) for item in material.items(count)],
        min_words=rules.short_min_words,
        min_bits=rules.short_min_bits,
        rare_min_words=rules.rare_min_words,
    )


def private(candidate: Candidate, number: int) -> Sealed:
    """A private item with the text of a candidate and an id of its own."""
    nonce = number.to_bytes(32, "big")
    item = Item(
        id=f"p-{number:07x}", benchmark="b", layer="private", cell={"a": "b"}, payload=candidate.payload
    )
    commitment = commit(candidate.payload, nonce)
    return Sealed(secret="0" * 64, nonce=nonce.hex(), commitment=commitment, batch="1", item=item)


def watching(count: int) -> Wanted:
    """``count`` private items made ready, and some names."""
    items = tuple(private(one, number) for number, one in enumerate(material.items(count)))
    return wanted(Watch(items=items, reviewers=("Maria das Dores Quadros",), rules=default_rules().guard))


def write(documents: list[str], size: int, folder: Path) -> dict[str, Path]:
    """The documents as JSONL, CSV and text."""
    texts = list(material.repeated(documents, size))
    found = {kind: folder / f"text.{kind}" for kind in ("jsonl", "csv", "txt")}
    with found["jsonl"].open("wb") as file:
        for number, text in enumerate(texts):
            file.write(json.dumps({"id": f"d{number}", "text": text}, ensure_ascii=False).encode() + b"\n")
    with found["csv"].open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("id", "text"))
        rows.writerows((f"d{number}", text) for number, text in enumerate(texts))
    found["txt"].write_text("\n".join(texts), encoding="utf-8")
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=float, default=200, help="MB of each kind of file")
    parser.add_argument("--items", type=int, default=2_000)
    parser.add_argument("--kinds", default="clean,law", help="folders of the test corpora")
    parser.add_argument("--times", type=int, default=2)
    arguments = parser.parse_args()
    documents = material.texts(tuple(arguments.kinds.split(",")))
    ready, table, scratch = watching(arguments.items), index(arguments.items), Scratch.make()
    result: dict[str, object] = {"documents": arguments.kinds if material.folder() else "made up"}
    with tempfile.TemporaryDirectory() as name:
        for kind, path in write(documents, int(arguments.size * 1e6), Path(name)).items():
            megabytes = path.stat().st_size / 1e6

            def guard(path: Path = path) -> None:
                Search(ready, default_rules().guard, scratch).file(path.name, path.read_bytes())

            def scanner(path: Path = path) -> None:
                for shard in shards(str(path)).shards:
                    scan_shard(table, shard, 0.75)

            def canary(path: Path = path) -> None:
                with ThreadPoolExecutor(1) as thread:
                    find(CANARY, [str(path)], executor=thread)

            result[kind] = _figures(guard, scanner, canary, megabytes, arguments.times)
    print(json.dumps(result | {"items": arguments.items, "cpus": os.cpu_count()}))


def _figures(
    guard: Callable[[], None],
    scanner: Callable[[], None],
    canary: Callable[[], None],
    megabytes: float,
    times: int,
) -> dict[str, float]:
    for work in (guard, scanner, canary):
        work()  # compiles, or loads what was compiled
    # One after the other, so that all meet the same neighbours.
    rounds = [(seconds(guard), seconds(scanner), seconds(canary)) for _ in range(times)]
    guarded, scanned, found = (min(column) for column in zip(*rounds, strict=True))
    return {
        "guard": round(megabytes / guarded, 1),
        "scanner": round(megabytes / scanned, 1),
        "canary": round(megabytes / found, 1),
        "guard_over_scanner": round(scanned / guarded, 2),
        "canary_over_scanner": round(scanned / found, 2),
    }


if __name__ == "__main__":
    main()
