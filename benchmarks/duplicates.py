"""Speed and recall of the search for near-duplicates: one JSON line, every figure from this one run, one thread.

Seconds are of processor time of this process, so that other work on the machine weighs less. Recall is told twice:
against the same comparison made of every pair, and against rapidfuzz on the plain texts of every pair, which knows
nothing of questions and options. Both need the test data; speed does not.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import combinations
from pathlib import Path

from benchmarks import material
from lacre.overlap.duplicates import Bounds, compare_all
from lacre.registry.intake import candidates
from lacre.registry.items import Candidate
from lacre.registry.rules import default_rules
from lacre.registry.tables import read_table
from lacre.vetting.duplicates import find_duplicates
from lacre.vetting.presented import presented

EXAM = "ENEM 2022"
PLAIN = 90  # of 100: stem inside stem and options inside options, letter by letter


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=10_000)
    arguments = parser.parse_args()
    rules = default_rules().duplicates
    bounds = Bounds(rules.alike, rules.min_bits, rules.passage_words)
    find_duplicates(material.items(200), {}, rules)  # compiles, or loads what was compiled
    # Ids may repeat in made-up items; a number keeps them apart.
    items = [
        Candidate(id=f"{k}", payload=item.payload) for k, item in enumerate(material.items(arguments.items))
    ]
    begun = time.process_time()
    found = find_duplicates(items, {}, rules)
    took = time.process_time() - begun
    kinds = {kind: sum(pair.kind == kind for pair in found.pairs) for kind in ("copy", "variant")}
    result: dict[str, object] = {
        "items": len(items),
        "processor_seconds": round(took, 1),
        **kinds,
        "passage_groups": len(found.passages),
    }
    data = material.folder()
    if data is not None:
        result[EXAM] = recall(data / "items" / "items.jsonl.gz", bounds)
    print(json.dumps(result))


def recall(path: Path, bounds: Bounds) -> dict[str, int]:
    """How many pairs of one exam in two collections exist, and how many the search finds."""
    collection = {
        str(row.values["id"]): str(row.values["source"])
        for row in read_table(path).rows
        if row.values["exam"] == EXAM
    }
    items = [item for item in candidates(path).items if item.id in collection]
    sides = [collection[item.id] for item in items]
    shown = [presented(item) for item in items]
    between = {pair for pair in combinations(range(len(items)), 2) if sides[pair[0]] != sides[pair[1]]}

    def pairs(exhaustive: bool) -> set[tuple[int, int]]:
        found = compare_all(shown, bounds, exhaustive=exhaustive).pairs
        return {(one.first, one.second) for one in found if one.kind != "passage"} & between

    found, whole, plain = pairs(False), pairs(True), _plain(items, between)
    return {
        "pairs_compared": len(between),
        "found": len(found),
        "exhaustive": len(whole),
        "exhaustive_found": len(whole & found),
        "rapidfuzz": len(plain),
        "rapidfuzz_found": len(plain & found),
    }


def _plain(items: list[Candidate], between: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Pairs whose plain texts stand inside each other, by rapidfuzz alone."""
    from rapidfuzz import fuzz, utils

    stems = [utils.default_process(item.payload.stem) for item in items]
    options = [utils.default_process(" ".join(item.payload.options.values())) for item in items]
    return {
        (a, b)
        for a, b in between
        if min(len(stems[a]), len(stems[b])) >= 20
        and fuzz.partial_ratio(stems[a], stems[b]) >= PLAIN
        and (
            fuzz.partial_ratio(options[a], options[b]) >= PLAIN
            or fuzz.token_set_ratio(options[a], options[b]) >= PLAIN
        )
    }


if __name__ == "__main__":
    main()
