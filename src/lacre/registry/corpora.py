"""Public corpora to vet against: where they are, and what is known about them (SPEC L7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from lacre.errors import Fault
from lacre.registry.records import Record


class Fact(Record):
    """Something known about a corpus: value (none: looked for, not found), where and when read, how sure."""

    source: str
    confidence: Literal["high", "medium", "low"]
    value: str | None = None
    date: str | None = None


class Corpus(Record):
    """One public corpus.

    Attributes:
        kind: what it was made for; evaluation sets are searched too, for they hold exam items.
        location: address or path of its files, as ``lacre vet --corpus`` takes it; none when nobody says where.
        subset: its part in Portuguese, where it has parts.
        column: the text column, none to find it.
        size: bytes to read, none when unknown.
        gated: whether its owner asks for an account or consent; none when unknown.
        facts: name of the fact -> the fact with its source.
    """

    id: str
    location: str | None = None
    kind: Literal["pretraining", "instruction", "retrieval", "news", "evaluation", "example"] = "pretraining"
    subset: str | None = None
    column: str | None = None
    size: int | None = None
    licence: str | None = None
    gated: bool | None = None
    notes: str = ""
    facts: dict[str, Fact] = msgspec.field(default_factory=dict)


def corpus_faults(corpora: Sequence[tuple[int, Corpus]]) -> list[Fault]:
    """All that is wrong with the corpora of a file, each given with its line."""
    faults: list[Fault] = []
    seen: dict[str, int] = {}
    for line, corpus in corpora:
        if corpus.id in seen:
            faults.append(
                Fault(
                    line, f"corpus '{corpus.id}' is already on line {seen[corpus.id]}", "Keep one of the two"
                )
            )
        seen.setdefault(corpus.id, line)
        if corpus.location is not None and not corpus.location.strip():
            faults.append(
                Fault(
                    line,
                    f"corpus '{corpus.id}' has no location",
                    "Say where its files are, or leave it out when nobody knows",
                )
            )
        if corpus.size is not None and corpus.size < 0:
            faults.append(
                Fault(line, f"corpus '{corpus.id}' has a negative size", "Give bytes, or leave it out")
            )
        faults.extend(
            Fault(line, f"fact '{name}' of corpus '{corpus.id}' has no source", "Say where it was read")
            for name, fact in corpus.facts.items()
            if not fact.source.strip()
        )
    return faults
