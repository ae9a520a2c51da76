"""What the completion probe finds in a column that memorises: recall by manner, false positives, time: one JSON line.

Half of the official items are held by the column: word for word, nearly so in six manners, or paraphrased. The other
half and all controls it makes up, from whole sentences of other items on the same subject. Controls are other items,
matched in length; half of them set the threshold, the other half measure. Needs LACRE_TEST_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.probe.making import found_by, probe_of, real_items
from tests.probe.memory import NEAR, Manner, Memory

from lacre.probe.completion import famous, is_judgeable
from lacre.probe.controls import Subject, matched
from lacre.probe.cuts import HALF, cut
from lacre.probe.marks import candidate
from lacre.probe.measures import measure
from lacre.probe.telling import telling
from lacre.report.probe_plots import probe_plot

SOURCES = ("enem_api", "oab_ownpt", "revalida_bezerra", "bluex_helm", "enem2025")


def manners(count: int, rng: random.Random) -> list[Manner | None]:
    """How each of so many items comes back: half of them not at all."""
    held = count // 2
    each = held // 10
    told: list[Manner | None] = ["verbatim"] * (3 * each)
    for manner in NEAR:
        told += [manner] * each
    told += ["paraphrased"] * (held - len(told))
    told += [None] * (count - len(told))
    rng.shuffle(told)
    return told


def doses(texts: list[str]) -> dict[str, str]:
    """The share of texts marked at the lowest threshold, by how often a word is another, and by length."""
    halves = [cut(text, HALF) for text in texts]
    told = [telling(half) for half in halves]

    def marked(change: Callable[[list[str]], list[str]]) -> str:
        replies = [
            " ".join(change(text[len(h.beginning) :].split())) for text, h in zip(texts, halves, strict=True)
        ]
        hits = sum(candidate(measure(h, t, r)) for h, t, r in zip(halves, told, replies, strict=True))
        return f"{hits / len(texts):.1%}"

    found = {
        f"a word in {every} is another": marked(
            lambda words, n=every: ["talvez" if place % n == n - 1 else w for place, w in enumerate(words)]  # type: ignore[misc]
        )
        for every in (4, 5, 6, 8, 10, 12, 15, 20)
    }
    return found | {
        f"only the first {length} words": marked(lambda words, n=length: words[:n])  # type: ignore[misc]
        for length in (6, 8, 10, 12, 15, 20, 30)
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--controls", type=int, default=2200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--kin", action="store_true", help="invent from items that share passages, too")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    texts = real_items(Path(os.environ["LACRE_TEST_DATA"]), SOURCES)
    judgeable = [id for id, text in texts.items() if is_judgeable(Subject(id=id, role="item", text=text), ())]
    rng.shuffle(judgeable)
    items = {id: texts[id] for id in judgeable[: arguments.items]}
    rest = [
        Subject(id=id, role="control", text=texts[id], group=id.split("_")[0])
        for id in judgeable[arguments.items :]
    ]
    chosen = matched(
        [Subject(id=id, role="item", text=text, group=id.split("_")[0]) for id, text in items.items()],
        rest,
        arguments.controls,
    )
    told = dict(zip(sorted(items), manners(len(items), rng), strict=True))
    positive = famous()
    held: dict[str, Manner] = {items[id]: manner for id, manner in told.items() if manner is not None}
    held |= {each.text: "verbatim" for each in positive}
    prose = list(texts.values())
    if arguments.kin:
        prose = list(real_items(Path(os.environ["LACRE_TEST_DATA"]), SOURCES, kin=True).values())
    memory = Memory(held, prose, seed=arguments.seed)
    probe = probe_of(items, {each.id: each.text for each in chosen.controls}, famous=positive)
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        found = found_by(Path(folder) / "journal.jsonl", probe, memory)
    seconds = time.perf_counter() - begun
    if arguments.plot:
        arguments.plot.write_bytes(probe_plot(found.shares))
    of: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for mark in found.marks:
        if mark.verdict != "not_probed":
            name = told[mark.item] or "not held"
            of[name] += 1
            seen[name] += mark.verdict == "seen"
    [column] = found.findings.columns
    near = sum(seen[name] for name in NEAR), sum(of[name] for name in NEAR)
    print(
        json.dumps(
            {
                "judgeable": len(judgeable),
                "of_texts": len(texts),
                "items": len(items),
                "marked": {name: f"{seen[name]} of {of[name]}" for name in sorted(of)},
                "recall_verbatim": round(seen["verbatim"] / of["verbatim"], 4),
                "recall_near": round(near[0] / near[1], 4),
                "threshold": column.threshold,
                "false_positives": column.false_positives,
                "shuffled": column.shuffled,
                "power": column.power,
                "words": [round(found.findings.item_words), round(found.findings.control_words)],
                "requests": len(items) + len(chosen.controls) + len(positive),
                "seconds": round(seconds, 1),
                "doses": doses(list(items.values())[:400]),
            },
            default=lambda record: {name: getattr(record, name) for name in record.__struct_fields__},
        )
    )


if __name__ == "__main__":
    main()
