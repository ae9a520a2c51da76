"""Probes for the tests: subjects out of texts, asked of a real server over the real engine."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.engine.making import HASTY, card
from tests.engine.server import Script, Server

from lacre.engine.journal import FileSink, Replied, Task, read_journal
from lacre.engine.plans import Repetitions, RunRecord, items_digest
from lacre.engine.runs import Run
from lacre.probe.completion import Probe, prompts_of, whole_template
from lacre.probe.controls import Subject
from lacre.probe.cuts import HALF, text_of
from lacre.probe.findings import Found, find
from lacre.probe.folders import AnyProbe, questions_of
from lacre.registry.columns import Column
from lacre.registry.items import Payload
from lacre.text import words


def probe_of(
    items: Mapping[str, str],
    controls: Mapping[str, str] | None = None,
    *,
    famous: Sequence[Subject] = (),
    **changes: Any,
) -> Probe:
    """A completion probe of texts by id, at half only unless it is said otherwise."""
    values: dict[str, Any] = {
        "benchmark": "prova",
        "layer": "official",
        "mode": "chat",
        "cuts": (HALF,),
        "phrases": (),
        "prompts": prompts_of("chat"),
        "subjects": (
            *(Subject(id=id, role="item", text=text) for id, text in sorted(items.items())),
            *(Subject(id=id, role="control", text=text) for id, text in sorted((controls or {}).items())),
            *famous,
        ),
        "controls_source": "new",
        "pool": len(controls or {}),
        "same_group": 0,
    }
    return Probe(**(values | changes))


def asked_of(
    path: Path, probe: AnyProbe, script: Script, **changes: Any
) -> tuple[tuple[Column, ...], dict[Task, Replied]]:
    """The column that a server plays, and its replies to a probe."""
    questions = questions_of(probe)
    with Server(script, keep=False) as server:
        cards = (card(server.endpoint("openai"), id="coluna", **({"concurrency": 8} | changes)),)
        record = RunRecord(
            id="prova",
            stage="probe",
            source="prova",
            created="2026-01-01T00:00:00+00:00",
            version="0",
            columns=cards,
            templates=(whole_template(),),
            items=len(questions),
            items_sha256=items_digest(questions),
            repetitions=Repetitions(open=1),
        )
        sink = FileSink(path)
        try:
            Run(
                record=record,
                questions=questions,
                cards=cards,
                keys={},
                sink=sink,
                now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
                patience=HASTY,
            ).work()
        finally:
            sink.close()
    replies = {entry.task: entry for entry in read_journal(path) if isinstance(entry, Replied)}
    return cards, replies


def found_by(path: Path, probe: Probe, script: Script, **changes: Any) -> Found:
    """What a probe finds of the column that a server plays."""
    cards, replies = asked_of(path, probe, script, **changes)
    return find("prova", probe, cards, replies)


def real_items(data: Path, sources: Sequence[str], *, kin: bool = False) -> dict[str, str]:
    """Official items as booklets print them, by id; of those that share ten words in a row, the first only.

    ``kin``: all of them.
    """
    found: dict[str, str] = {}
    known: set[tuple[str, ...]] = set()
    with gzip.open(data / "items" / "items.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            options = row.get("options") or []
            if (
                row["source"] not in sources
                or not row["stem"]
                or not all(isinstance(o, str) for o in options)
            ):
                continue
            lettered = dict(zip("ABCDEFGH", options, strict=False))
            text = text_of(Payload(kind="choice", stem=row["stem"], options=lettered))
            said = [word.folded for word in words(text)]
            grams = {tuple(said[place : place + 10]) for place in range(len(said) - 9)}
            if kin or (grams and grams.isdisjoint(known)):
                known |= grams
                found[row["id"]] = text
    return found
