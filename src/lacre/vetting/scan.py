"""Reading corpora past the items' index, shard by shard, on any executor of threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, as_completed
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from lacre.corpora.batches import Shard, TextBatch, Unread
from lacre.corpora.garbled import garbled
from lacre.corpora.readers import check, read
from lacre.corpora.sources import Listing, shards
from lacre.errors import InputError
from lacre.overlap.index import ItemIndex
from lacre.overlap.runs import Scratch, buffers, runs
from lacre.vetting.evidence import Found, Gathering

NAMED = 200  # unread places named per corpus; past it they are counted only


class Progress(NamedTuple):
    """How far a scan is: shards done and in all, bytes of text, matches, share done about, 0 to 1."""

    shards: int
    of_shards: int
    text: int
    matches: int
    share: float


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
    def is_reached(self) -> bool:
        """Whether there was anything to read; when not, ``unread`` says why."""
        return self.shards > 0 or not self.incomplete

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


def listings(
    sources: Sequence[str],
    column: str | None,
    apart: Sequence[Path] = (),
    columns: Mapping[str, str] = MappingProxyType({}),
) -> list[Listing]:
    """The shards of every source, each checked to be readable, before anything is scanned.

    ``columns``: text columns of single sources, which come before ``column``.
    ``apart``: files and folders that are no corpus though they may lie in one, such as the items themselves.
    They are left out, by name. A file that two sources hold is read for each, and the second says so.

    Raises:
        InputError: a source is not there, is named twice, holds nothing to read, or lacks the text column.
    """
    # realpath, unlike resolve, does not mind links that go in a circle.
    places = [Path(os.path.realpath(source)) for source in sources]
    for number, place in enumerate(places):
        if place in places[:number]:
            raise InputError(sources[number], "this corpus is named twice", "Name it once")
    aside = [Path(os.path.realpath(path)) for path in apart]
    found = [
        _without(source, shards(source, column=columns.get(source, column)), aside) for source in sources
    ]
    return _shared_named(sources, [_readable(listing) for listing in found])


_TABLES = ("jsonl", "json", "csv", "tsv", "parquet")  # formats in which the text is a column


def _readable(listing: Listing) -> Listing:
    """A listing with the files that have no text column, as far as their heads tell, among what was not read.

    Raises:
        InputError: none of the files can be read, or none has the column that was named.
    """
    kept: list[Shard] = []
    out: list[Unread] = []
    refused: InputError | None = None
    for shard in listing.shards:
        try:
            check(shard)
        except InputError as error:
            refused = refused or error
            reason = str(error).removeprefix(f"{shard.path}: ").rstrip(".")
            out.append(Unread(where=shard.path, reason=reason, bytes=max(1, shard.size), incomplete=True))
        else:
            kept.append(shard)
    named = any(shard.column is not None for shard in listing.shards)
    useful = [shard for shard in kept if shard.format in _TABLES] if named else kept
    if refused is not None and not useful:
        raise refused
    left_out = (*listing.left_out, *out) if out else listing.left_out
    return Listing(shards=tuple(kept), left_out=tuple(sorted(left_out, key=lambda gap: gap.where)))


def _without(source: str, listing: Listing, apart: Sequence[Path]) -> Listing:
    """A listing without what lies apart and what earlier vettings wrote, each file of it named."""
    kept: list[Shard] = []
    out: list[Unread] = []
    for shard in listing.shards:
        here = Path(os.path.realpath(shard.location))
        if any(here.is_relative_to(path) for path in apart) or _is_own(here):
            reason = "the items themselves, or what was written about them"
            out.append(Unread(where=shard.path, reason=reason, bytes=0))
        else:
            kept.append(shard)
    if not kept:
        raise InputError(
            source,
            "holds nothing but the items, or what was written about them",
            "Give the text to search, and another folder for --out",
        )
    return Listing(
        shards=tuple(kept), left_out=tuple(sorted([*listing.left_out, *out], key=lambda gap: gap.where))
    )


# How the files of an earlier vetting begin: they quote the items, and would find them.
_OWN = {
    "verdicts.jsonl": (b'{"item":', b'"verdict":'),
    "findings.jsonl": (b'{"item":', b'"check":'),
    "vetting.html": (b"<!doctype html>", b'name="generator" content="lacre"'),
    "decisions.csv": (b"item", b"decision"),
}


def _is_own(path: Path) -> bool:
    """Whether a file was written by a vetting, by its name and its first bytes."""
    marks = _OWN.get(path.name)
    if marks is None:
        return False
    try:
        with path.open("rb") as file:
            head = file.read(4096).lower()
    except OSError:
        return False  # it is for the reading to report
    return all(mark in head for mark in marks)


def _shared_named(sources: Sequence[str], found: Sequence[Listing]) -> list[Listing]:
    """The listings, with a word in each about the files that an earlier one holds too."""
    first: dict[Path, str] = {}
    named = []
    for source, listing in zip(sources, found, strict=True):
        here = {Path(shard.location).resolve(): shard.path for shard in listing.shards}
        again = sorted((path, first[place]) for place, path in here.items() if place in first)
        gaps = [Unread(where=path, reason=f"read for {other} too", bytes=0) for path, other in again]
        named.append(Listing(shards=listing.shards, left_out=(*listing.left_out, *gaps)))
        first = dict.fromkeys(here, source) | first
    return named


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

    ``align_from``: similarity, 0 to 1, from which an aligned rarest sentence is kept. An interrupt stops
    every thread at its next batch.
    """
    stop = threading.Event()
    tally = _Tally(found, on_progress)
    works: list[list[Future[_Shard]]] = [[] for _ in found]
    try:
        for listing, own in zip(found, works, strict=True):
            for shard in listing.shards:
                own.append(executor.submit(scan_shard, index, shard, align_from, stop, tally))
        for work in as_completed([work for own in works for work in own]):
            work.result()  # the first fault stops all
    except BaseException:
        stop.set()
        for own in works:
            for work in own:
                work.cancel()
        raise
    # In the order of the shards, not in that of the work.
    return [
        _corpus(source, listing, [work.result() for work in own])
        for source, listing, own in zip(sources, found, works, strict=True)
    ]


PACKED = 3.5  # bytes of text in a compressed byte, until the first shards tell better


class _Tally:
    """Progress counted over all threads."""

    def __init__(self, found: Sequence[Listing], on_progress: Callable[[Progress], None]) -> None:
        every = [shard for listing in found for shard in listing.shards]
        self.lock = threading.Lock()
        self.now = Progress(0, len(every), 0, 0, 0.0)
        self.expected = sum(map(_expected, every))
        self.done_expected = 0.0  # of the shards that are done: what was expected, and what came
        self.done_text = 0
        self.on_progress = on_progress

    def add(self, *, text: int, matches: int) -> None:
        """Count a batch."""
        with self.lock:
            now = self.now
            self._show(now._replace(text=now.text + text, matches=now.matches + matches))

    def done(self, shard: Shard, text: int) -> None:
        """Count a shard that was read."""
        with self.lock:
            self.done_expected += _expected(shard)
            self.done_text += text
            self._show(self.now._replace(shards=self.now.shards + 1))

    def _show(self, now: Progress) -> None:
        self.now = now._replace(share=self._share(now))
        self.on_progress(self.now)

    def _share(self, now: Progress) -> float:
        if now.shards == now.of_shards or not self.expected:
            return 1.0
        rate = self.done_text / self.done_expected if self.done_text else 1.0
        running = (now.text - self.done_text) / rate
        return min(0.99, (self.done_expected + running) / self.expected)


def _expected(shard: Shard) -> float:
    """Bytes of text that a shard may hold."""
    return shard.size * (PACKED if shard.compression or shard.format == "parquet" else 1.0)


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
    gaps = _Gaps(shard)
    documents = size = nulls = 0
    for batch in read(shard):
        if stop.is_set():
            raise Stopped
        scanned = runs(index, batch.text, _scratch(), align_from=align_from)
        gathering.add(batch, scanned.runs)
        offsets = buffers(batch.text).offsets
        text = int(offsets[-1] - offsets[0])
        gaps.add(batch)
        documents += int((batch.starts == 0).sum())
        nulls += batch.nulls
        size += text
        tally.add(text=text, matches=len(scanned.runs))
    tally.done(shard, size)
    return _Shard(_read(shard, documents, size, nulls, gaps.list()), gathering.found())


class _Gaps:
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


def _read(shard: Shard, documents: int, size: int, nulls: int, unread: list[Unread]) -> Reading:
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


def _weightiest(gaps: Sequence[Unread]) -> tuple[Unread, ...]:
    """The gaps to name, in their order: broken ends, then those that lost most."""
    ranked = sorted(range(len(gaps)), key=lambda k: (not gaps[k].incomplete, -gaps[k].bytes, k))
    return tuple(gaps[k] for k in sorted(ranked[:NAMED]))


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
            unread=_weightiest(unread),
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
