"""What the ledger says about one benchmark's private items: batches, closings, and what became of each item."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from lacre.registry.events import (
    BatchCommit,
    Exposure,
    Freeze,
    Open,
    RunIntent,
    Split,
    Supersede,
    Void,
    Waiver,
)
from lacre.registry.ledger import Ledger
from lacre.rotation.records import round_name

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Entry(Generic[E]):
    """An event, the number of its line, and when it was written (ISO, UTC)."""

    line: int
    at: str
    event: E


@dataclass(slots=True)
class History:
    """One benchmark's events, by what they are about.

    Attributes:
        batches: by name, in the order of the ledger.
        freezes, splits: in the order of the ledger.
        voids, supersedes, opened: by item.
        corrections: by the item that corrects.
        replaced: every line that replaces an item, in the order of the ledger; only of a forged ledger are they
            more than ``supersedes``.
        exposures: showings of items to columns, in the order of the ledger; ``intents``: the runs that began.
    """

    benchmark: str
    batches: dict[str, Entry[BatchCommit]] = field(default_factory=dict)
    freezes: list[Entry[Freeze]] = field(default_factory=list)
    splits: list[Entry[Split]] = field(default_factory=list)
    voids: dict[str, Entry[Void]] = field(default_factory=dict)
    supersedes: dict[str, Entry[Supersede]] = field(default_factory=dict)
    corrections: dict[str, Entry[Supersede]] = field(default_factory=dict)
    opened: dict[str, Entry[Open]] = field(default_factory=dict)
    waivers: list[Entry[Waiver]] = field(default_factory=list)
    replaced: list[Entry[Supersede]] = field(default_factory=list)
    exposures: list[Entry[Exposure]] = field(default_factory=list)
    intents: list[Entry[RunIntent]] = field(default_factory=list)

    @property
    def closed(self) -> int:
        """The number of closings carried out."""
        return len(self.splits)

    @property
    def next_round(self) -> str:
        """The name of the closing that comes next, or is under way."""
        return round_name(self.benchmark, self.closed + 1)

    @property
    def pending(self) -> Entry[Freeze] | None:
        """The freeze that waits for its draw, none when there is none."""
        waiting = [entry for entry in self.freezes if entry.event.round == self.next_round]
        return waiting[-1] if waiting else None

    def age(self, batch: str, before: int | None = None) -> int:
        """Closings that the items of a batch have been frozen for and stayed private through.

        ``before``: count only those carried out before this line.
        """
        committed = self.batches[batch].line
        frozen = {entry.event.freeze: entry.line for entry in self.freezes}
        return sum(
            1
            for split in self.splits
            if frozen.get(split.event.freeze, 0) > committed and (before is None or split.line < before)
        )

    def waives(self, commitment: str, corpus: str | None = None, before: int | None = None) -> bool:
        """Whether a signed waiver covers an item's present text, for a corpus or for any.

        ``before``: count only those of lines before this one.
        """
        return any(
            entry.event.digest == commitment
            and (corpus is None or not entry.event.corpora or corpus in entry.event.corpora)
            and (before is None or entry.line < before)
            for entry in self.waivers
        )

    def is_private(self, item: str) -> bool:
        """Whether an item takes part in draws: not opened, void or replaced."""
        return item not in self.opened and item not in self.voids and item not in self.supersedes


def history(ledger: Ledger, benchmark: str) -> History:
    """The history of a benchmark. Whether it is consistent is for :func:`lacre.rotation.audit.audit` to say."""
    known = History(benchmark)
    for line in ledger.lines:
        event = line.event
        if getattr(event, "benchmark", None) != benchmark:
            continue
        match event:
            case BatchCommit():
                known.batches.setdefault(event.batch, Entry(line.seq, line.at, event))
            case Freeze():
                known.freezes.append(Entry(line.seq, line.at, event))
            case Split():
                known.splits.append(Entry(line.seq, line.at, event))
            case Void():
                known.voids.setdefault(event.item, Entry(line.seq, line.at, event))
            case Supersede():
                known.replaced.append(Entry(line.seq, line.at, event))
                known.supersedes.setdefault(event.item, Entry(line.seq, line.at, event))
                known.corrections.setdefault(event.by, Entry(line.seq, line.at, event))
            case Open():
                known.opened.setdefault(event.item, Entry(line.seq, line.at, event))
            case Waiver() if line.sig is not None:  # nobody answers for an item without signing
                known.waivers.append(Entry(line.seq, line.at, event))
            case RunIntent():
                known.intents.append(Entry(line.seq, line.at, event))
            case Exposure():
                known.exposures.append(Entry(line.seq, line.at, event))
            case _:
                pass  # runs, incidents and releases move no item
    return known
