"""How much of a shard, and of a corpus, was read: counts, and the places that were not."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lacre.corpora.batches import Shard, TextBatch, Unread
from lacre.corpora.garbled import garbled
from lacre.corpora.sources import Listing

NAMED = 200  # unread places named per corpus; past it they are counted only


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How much of one corpus was read.

    Attributes:
        corpus: as it was named.
        shards, documents: how many were read.
        bytes: UTF-8 bytes of text read.
        nulls: documents without text.
        unread: what was not read or only garbled, by place; the weightiest few hundred.
        unread_places: how many places that are in all; ``unread_bytes``: their bytes.
        incomplete: shards that were not read to their end.
        revision: the revision that was read, where the corpus is kept under one; "" elsewhere.
        index: the index it was looked up in; "" where it was read. ``gone``: shards that may hold items, and could
            not be read again.
    """

    corpus: str
    shards: int
    documents: int
    bytes: int
    nulls: int
    unread: tuple[Unread, ...]
    unread_places: int
    unread_bytes: int
    incomplete: tuple[str, ...]
    revision: str = ""
    index: str = ""
    gone: int = 0

    @property
    def is_reached(self) -> bool:
        """Whether there was anything to read; when not, ``unread`` says why."""
        return self.shards > 0 or not self.incomplete

    @property
    def unread_share(self) -> float:
        """Share of the corpus that was not read, 0 to 1."""
        return self.unread_bytes / max(1, self.bytes + self.unread_bytes)


class Gaps:
    """What one shard did not yield, faults of one kind in many places counted together."""

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self.named: list[Unread] = []
        self.garbled: dict[str, tuple[int, int, str]] = {}

    def add(self, batch: TextBatch) -> None:
        """Take in what one batch left unread, and the stretches of it that no one can read."""
        self.named += batch.unread
        for span in garbled(batch):
            where = f"byte {span.start:,}"
            if span.document != self.shard.path:
                where = f"document {span.document}, {where}"
            places, size, first = self.garbled.get(span.reason, (0, 0, where))
            self.garbled[span.reason] = (places + 1, size + span.end - span.start, first)

    def list(self) -> list[Unread]:
        """All of it, in the order of the shard, garbled text last."""
        return self.named + [
            Unread(
                where=first if places == 1 else f"{places:,} places, the first {first}",
                reason=f"garbled: {reason}",
                bytes=size,
            )
            for reason, (places, size, first) in sorted(self.garbled.items())
        ]


def reading_of_shard(
    shard: Shard, *, documents: int, size: int, nulls: int, unread: Sequence[Unread]
) -> Reading:
    """How much of one shard was read: documents, bytes of text, documents without text, and what was not."""
    placed = [msgspec.structs.replace(gap, where=f"{shard.path}, {gap.where}") for gap in unread]
    return Reading(
        corpus=shard.path,
        shards=1,
        documents=documents,
        bytes=size,
        nulls=nulls,
        unread=_weightiest(placed),
        unread_places=len(placed),
        unread_bytes=sum(gap.bytes for gap in placed),
        incomplete=(shard.path,) if any(gap.incomplete for gap in placed) else (),
    )


def reading_of_corpus(source: str, listing: Listing, readings: Sequence[Reading]) -> Reading:
    """The readings of a corpus's shards, in their order, as one."""
    left_out = listing.left_out
    unread = [*left_out, *(gap for reading in readings for gap in reading.unread)]
    incomplete = {name for reading in readings for name in reading.incomplete}
    return Reading(
        corpus=source,
        shards=len(readings),
        documents=sum(reading.documents for reading in readings),
        bytes=sum(reading.bytes for reading in readings),
        nulls=sum(reading.nulls for reading in readings),
        unread=_weightiest(unread),
        unread_places=len(left_out) + sum(reading.unread_places for reading in readings),
        unread_bytes=sum(gap.bytes for gap in left_out) + sum(reading.unread_bytes for reading in readings),
        incomplete=tuple(sorted(incomplete | {gap.where for gap in left_out if gap.incomplete})),
        revision=listing.revision,
    )


def _weightiest(gaps: Sequence[Unread]) -> tuple[Unread, ...]:
    """The gaps to name, in their order: broken ends, then those that lost most."""
    ranked = sorted(range(len(gaps)), key=lambda k: (not gaps[k].incomplete, -gaps[k].bytes, k))
    return tuple(gaps[k] for k in sorted(ranked[:NAMED]))
