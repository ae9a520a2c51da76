"""Vetting items while they are written: each save of a file, each line of a form, answered at once (SPEC X1)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec

from lacre.overlap.index import index_items
from lacre.overlap.runs import Scratch, runs
from lacre.overlap.winnow import item_grams
from lacre.registry.items import Candidate, Payload
from lacre.registry.rules import VettingRules
from lacre.registry.verdicts import Finding, Verdict
from lacre.registry.waivers import Waiver
from lacre.vetting.indexed import Lookup
from lacre.vetting.presented import presented
from lacre.vetting.verdicts import ItemVerdict
from lacre.vetting.vet import vet

POLL = 0.05  # seconds between two looks at the file
WARM = "O relojoeiro da praça guardou dez parafusos azuis numa caixa de fósforos vazia e perdeu a chave dela."
PATIENCE = 1.0  # seconds that a file may be gone between the two steps of a save


class State(NamedTuple):
    """What tells one save of a file from the next: which file it is, its size, when it was changed."""

    inode: int
    size: int
    modified: int


def state(path: Path) -> State | None:
    """The state of a file, none when it is not there."""
    try:
        status = os.stat(path)  # noqa: PTH116 - as a path, whatever its name
    except OSError:
        return None
    return State(status.st_ino, status.st_size, status.st_mtime_ns)


def saves(
    path: Path, *, wait: Callable[[float], None], state: Callable[[Path], State | None] = state
) -> Iterator[bool]:
    """Yields at once and after each save of a file; false when the file has been gone for longer than a save takes.

    A file that is still changing is left until it rests. ``wait`` waits so many seconds; ``state`` looks at it.
    """
    last: State | None = State(-1, -1, -1)
    gone = 0.0
    while True:
        now = state(path)
        gone = 0.0 if now is not None else gone
        if now is None and last is not None:
            gone += POLL
            if gone > PATIENCE:
                last = None
                yield False
        elif now is not None and now != last:
            wait(POLL)
            if state(path) == now:
                last = now
                yield True
            continue
        wait(POLL)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What is said of one item: its verdict, and the findings that bear on it, the deciding one first."""

    verdict: Verdict
    findings: tuple[Finding, ...]


@dataclass(kw_only=True)
class Desk:
    """Where items are answered for, one version after another.

    Attributes:
        lookup: the indexes they are looked up in; ``rules``, ``phrases``, ``waivers``: what holds.
    """

    lookup: Lookup
    rules: VettingRules
    phrases: Sequence[str] = ()
    waivers: Sequence[Waiver] = ()
    known: dict[str, tuple[bytes, ItemVerdict]] = field(default_factory=dict)

    def warm(self) -> None:
        """Search once for a made-up item in its own words, so that the first answer does not wait to be loaded."""
        import pyarrow as pa  # noqa: PLC0415 - heavy

        item = Candidate(id="warm", payload=Payload(kind="open", stem=WARM))
        index = index_items(
            [presented(item)],
            min_words=self.rules.short_min_words,
            min_bits=self.rules.short_min_bits,
            rare_min_words=self.rules.rare_min_words,
            rarity=self.lookup.rarity,
        )
        item_grams(index.table)
        runs(index, pa.array([WARM], pa.large_string()), Scratch.make(), align_from=self.rules.rare_review)

    def vetted(self, items: Sequence[Candidate]) -> list[ItemVerdict]:
        """The verdicts of items, in their order."""
        with ThreadPoolExecutor(1) as executor:
            found = vet(
                items,
                [],
                self.rules,
                executor=executor,
                phrases=self.phrases,
                waivers=self.waivers,
                lookup=self.lookup,
            )
        return list(found.items)

    def renewed(self, items: Sequence[Candidate]) -> list[ItemVerdict]:
        """The verdicts of those items that are new or have changed; what is gone is forgotten."""
        versions = {item.id: msgspec.json.encode(item.payload) for item in items}
        changed = [item for item in items if self.known.get(item.id, (b"",))[0] != versions[item.id]]
        self.known = {name: old for name, old in self.known.items() if name in versions}
        verdicts = self.vetted(changed) if changed else []
        for item, verdict in zip(changed, verdicts, strict=True):
            self.known[item.id] = versions[item.id], verdict
        return verdicts


def answer(verdict: ItemVerdict) -> Answer:
    """A verdict with its findings, as a form wants it."""
    return Answer(verdict=verdict.verdict, findings=tuple(judged.finding for judged in verdict.judged))
