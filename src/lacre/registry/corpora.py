"""Public corpora to vet against: where they are, and what is known about them (SPEC L7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from lacre import jsonl
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


SIZE, COLUMNS, GATED, REVISION, LICENCE = "bytes to download", "columns", "gated", "revision", "licence"
"""Names of the facts that a look at a corpus tells."""


class Seen(Record):
    """What a look at a corpus where it lies told.

    Attributes:
        size: bytes of its files, none when the server does not say.
        files: how many can be read.
        columns: of its first table.
        gated: whether its owner asks for an account or consent; none where there is no such thing.
        revision: the one that it is at, "" where there are none.
        licence: as its card has it.
    """

    size: int | None
    files: int
    columns: tuple[str, ...]
    gated: bool | None = None
    revision: str = ""
    licence: str | None = None

    def facts(self) -> dict[str, str]:
        """What was seen, by the name of the fact.

        >>> Seen(size=9, files=1, columns=("id", "text"), gated=False).facts()
        {'bytes to download': '9', 'columns': 'id,text', 'gated': 'no'}
        """
        found = {
            SIZE: None if self.size is None else str(self.size),
            COLUMNS: ",".join(self.columns) or None,
            GATED: None if self.gated is None else "yes" if self.gated else "no",
            REVISION: self.revision or None,
            LICENCE: self.licence,
        }
        return {name: value for name, value in found.items() if value is not None}


def changes(corpus: Corpus, seen: Seen) -> tuple[str, ...]:
    """Names of the facts that are not as they were, and of those that were not known, in the order of a look.

    >>> seen = Seen(size=9, files=1, columns=("id", "text"))
    >>> changes(Corpus(id="c", facts={"columns": Fact(source="s", confidence="high", value="id,text")}), seen)
    ('bytes to download',)
    """
    return tuple(
        name
        for name, value in seen.facts().items()
        if name not in corpus.facts or corpus.facts[name].value != value
    )


def with_seen(corpus: Corpus, seen: Seen, *, source: str, date: str) -> Corpus:
    """A corpus with what a look at it told, each fact with its source and date; other facts stay as they are.

    A licence that somebody has written down is left alone: a card may say less.
    """
    new = {
        name: Fact(source=source, confidence="high", value=value, date=date)
        for name, value in seen.facts().items()
        if name != LICENCE or corpus.licence is None
    }
    facts = {**corpus.facts, **new}
    return msgspec.structs.replace(
        corpus,
        size=corpus.size if seen.size is None else seen.size,
        gated=corpus.gated if seen.gated is None else seen.gated,
        licence=corpus.licence or seen.licence,
        facts=facts,
    )


def write_corpora(path: Path, changed: Iterable[Corpus]) -> None:
    """Write some corpora into the inventory, in the places of those of the same id; whole or not at all.

    The file stays sorted by id, and every other line as it is, byte for byte.
    """
    lines: dict[str, bytes] = {}
    for line in jsonl.read_bytes(path).splitlines(keepends=True) if path.exists() else ():
        if line.strip():
            lines[msgspec.json.decode(line, type=Corpus).id] = line.rstrip() + b"\n"
    lines |= {corpus.id: jsonl.encode(corpus) for corpus in changed}
    jsonl.write_bytes(path, b"".join(lines[id] for id in sorted(lines)))
