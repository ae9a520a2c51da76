"""Reading corpora past the items' index, shard by shard, on any executor of threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, as_completed
from typing import NamedTuple

import msgspec

from lacre.corpora.batches import Shard, TextBatch, Unread
from lacre.corpora.garbled import garbled
from lacre.corpora.readers import check, read
from lacre.corpora.sources import Listing, shards
from lacre.overlap.index import ItemIndex
from lacre.overlap.runs import Scratch, runs
from lacre.vetting.evidence import Found, Gathering

NAMED = 200  # unread places named per corpus; past it they are counted only


class Progress(NamedTuple):
    """How far a scan is: shards done and in all, bytes on disk done and in all, bytes of text, matches."""

    shards: int
    of_shards: int
    size: int
    of_size: int
    text: int
    matches: int


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How much of one corpus was read.

    Attributes:
        corpus: as it was named.
        shards, documents: how many were read.
        bytes: UTF-8 bytes of text read.
        nulls: documents without text.
        unread: what was not read or only garbled, by place; the first few hundred.
        unread_places: how many places that are in all; ``unread_bytes``: their bytes.
        incomplete: shards that were not read to their end.
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

    @property
    def unread_share(self) -> float:
        """Share of the corpus that was not read, 0 to 1."""
        return self.unread_bytes / max(1, self.bytes + self.unread_bytes)


class Corpus(NamedTuple):
    """A corpus that was read: how much of it, and what was found."""

    reading: Reading
    found: Found


class _Shard(NamedTuple):
    reading: Reading
    found: Found


def listings(sources: Sequence[str], column: str | None) -> list[Listing]:
    """The shards of every source, each checked to be readable, before anything is scanned.

    Raises:
        InputError: a source is not there, holds nothing to read, or lacks the text column.
    """
    found = [shards(source, column=column) for source in sources]
    for listing in found:
        for shard in listing.shards:
            check(shard)
    return found


def scan(
    index: ItemIndex,
    sources: Sequence[str],
    found: Sequence[Listing],
    *,
    align_from: float,
    executor: Executor,
    on_progress: Callable[[Progress], None],
) -> list[Corpus]:
    """Read every shard past the index; one result for each source, the same whatever the order of work.

    ``align_from``: similarity, 0 to 1, from which an aligned rarest sentence is kept. An interrupt stops every
    thread at its next batch.
    """
    stop = threading.Event()
    tally = _Tally(found, on_progress)
    futures: dict[Future[_Shard], int] = {}
    results: list[list[_Shard]] = [[] for _ in found]
    try:
        for number, listing in enumerate(found):
            for shard in listing.shards:
                work = executor.submit(scan_shard, index, shard, align_from, stop, tally)
                futures[work] = number
        for work in as_completed(futures):
            results[futures[work]].append(work.result())
    except BaseException:
        stop.set()
        for work in futures:
            work.cancel()
        raise
    return [
        _corpus(source, listing, sorted(parts, key=lambda part: part.reading.corpus))
        for source, listing, parts in zip(sources, found, results, strict=True)
    ]


class _Tally:
    """Progress counted over all threads."""

    def __init__(self, found: Sequence[Listing], on_progress: Callable[[Progress], None]) -> None:
        every = [shard for listing in found for shard in listing.shards]
        self.lock = threading.Lock()
        self.now = Progress(0, len(every), 0, sum(shard.size for shard in every), 0, 0)
        self.on_progress = on_progress

    def add(self, *, shards: int = 0, size: int = 0, text: int = 0, matches: int = 0) -> None:
        with self.lock:
            now = self.now
            self.now = now._replace(
                shards=now.shards + shards,
                size=now.size + size,
                text=now.text + text,
                matches=now.matches + matches,
            )
            self.on_progress(self.now)


class Stopped(Exception):  # noqa: N818 - not an error: the person asked for it
    """Another thread failed, or the person interrupted: this one has nothing to report."""


_LOCAL = threading.local()


def _scratch() -> Scratch:
    if not hasattr(_LOCAL, "scratch"):
        _LOCAL.scratch = Scratch.make()
    scratch: Scratch = _LOCAL.scratch
    return scratch


def scan_shard(
    index: ItemIndex, shard: Shard, align_from: float, stop: threading.Event, tally: _Tally
) -> _Shard:
    """Read one shard past the index."""
    gathering = Gathering(shard, index.sheets)
    gaps = _Gaps()
    documents = size = nulls = 0
    for batch in read(shard):
        if stop.is_set():
            raise Stopped
        scanned = runs(index, batch.text, _scratch(), align_from=align_from)
        gathering.add(batch, scanned.runs)
        text = int(batch.text.nbytes) - 8 * (len(batch.text) + 1)
        gaps.add(batch)
        documents += int((batch.starts == 0).sum())
        nulls += batch.nulls
        size += text
        tally.add(text=text, matches=len(scanned.runs))
    tally.add(shards=1, size=shard.size)
    return _Shard(_read(shard, documents, size, nulls, gaps.list()), gathering.found())


class _Gaps:
    """What one shard did not yield, faults of one kind in many places counted together."""

    def __init__(self) -> None:
        self.named: list[Unread] = []
        self.garbled: dict[str, tuple[int, int, str]] = {}

    def add(self, batch: TextBatch) -> None:
        """Take in what one batch left unread, and the stretches of it that no one can read."""
        self.named += batch.unread
        for span in garbled(batch):
            where = f"document {span.document}, byte {span.start:,}"
            places, size, first = self.garbled.get(span.reason, (0, 0, where))
            self.garbled[span.reason] = (places + 1, size + span.end - span.start, first)

    def list(self) -> list[Unread]:
        """All of it, in the order of the shard, garbled text last."""
        return self.named + [
            Unread(where=f"{places:,} places from {first}", reason=f"garbled: {reason}", bytes=size)
            for reason, (places, size, first) in sorted(self.garbled.items())
        ]


def _read(shard: Shard, documents: int, size: int, nulls: int, unread: list[Unread]) -> Reading:
    placed = [msgspec.structs.replace(gap, where=f"{shard.path}, {gap.where}") for gap in unread]
    return Reading(
        corpus=shard.path,
        shards=1,
        documents=documents,
        bytes=size,
        nulls=nulls,
        unread=tuple(placed[:NAMED]),
        unread_places=len(placed),
        unread_bytes=sum(gap.bytes for gap in placed),
        incomplete=(shard.path,) if any(gap.incomplete for gap in placed) else (),
    )


def _corpus(source: str, listing: Listing, parts: Sequence[_Shard]) -> Corpus:
    found = Found()
    for part in parts:
        found.merge(part.found)
    readings = [part.reading for part in parts]
    left_out = listing.left_out
    unread = [*left_out, *(gap for reading in readings for gap in reading.unread)]
    return Corpus(
        Reading(
            corpus=source,
            shards=len(readings),
            documents=sum(reading.documents for reading in readings),
            bytes=sum(reading.bytes for reading in readings),
            nulls=sum(reading.nulls for reading in readings),
            unread=tuple(unread[:NAMED]),
            unread_places=len(left_out) + sum(reading.unread_places for reading in readings),
            unread_bytes=sum(gap.bytes for gap in left_out)
            + sum(reading.unread_bytes for reading in readings),
            incomplete=tuple(
                sorted(
                    {name for reading in readings for name in reading.incomplete}
                    | {gap.where for gap in left_out if gap.incomplete}
                )
            ),
        ),
        found,
    )
