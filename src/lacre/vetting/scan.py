"""Reading corpora past the items' index, shard by shard, by whoever does the work."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from lacre.corpora.batches import Shard, Unread
from lacre.corpora.readers import check
from lacre.corpora.remote import is_address, shown
from lacre.corpora.sources import AT_ONCE, TABLE_FORMATS, Listing, shards
from lacre.errors import InputError
from lacre.overlap.index import ItemIndex
from lacre.vetting.crews import Crew
from lacre.vetting.evidence import Found
from lacre.vetting.journal import NAME as JOURNAL
from lacre.vetting.journal import Journal
from lacre.vetting.progress import Progress, Tally, expected
from lacre.vetting.readings import Reading, reading_of_corpus
from lacre.vetting.shards import ShardResult, shard_key, take_in


class Corpus(NamedTuple):
    """A corpus that was read: how much of it, what was found, and the shards that another try may reach."""

    reading: Reading
    found: Found
    failed: tuple[str, ...] = ()


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
        Unreachable: an address cannot be reached.
    """
    # realpath, unlike resolve, does not mind links that go in a circle.
    places = [source if is_address(source) else os.path.realpath(source) for source in sources]
    for number, place in enumerate(places):
        if place in places[:number]:
            raise InputError(shown(sources[number]), "this corpus is named twice", "Name it once")
    aside = [Path(os.path.realpath(path)) for path in apart]
    found = [
        _without(
            source,
            shards(source, column=columns.get(source, column)),
            aside,
        )
        for source in sources
    ]
    return _shared_named(sources, [_readable(listing) for listing in found])


def _readable(listing: Listing) -> Listing:
    """A listing with the files that have no text column, as far as their heads tell, among what was not read.

    Raises:
        InputError: none of the files can be read, or none has the column that was named.
        Unreachable: an address cannot be reached.
    """
    # Parts of one file share its columns: the first speaks for all.
    firsts = {(shard.location, shard.path): shard for shard in reversed(listing.shards)}
    refusals = dict(zip(firsts, _refusals(list(firsts.values())), strict=True))
    kept = [shard for shard in listing.shards if refusals[shard.location, shard.path] is None]
    out = [
        Unread(
            where=firsts[place].path,
            reason=str(error).removeprefix(f"{firsts[place].path}: ").rstrip("."),
            bytes=max(1, firsts[place].size),
            incomplete=True,
        )
        for place, error in refusals.items()
        if error is not None
    ]
    named = any(shard.column is not None for shard in listing.shards)
    useful = [shard for shard in kept if shard.format in TABLE_FORMATS] if named else kept
    faults = [error for error in refusals.values() if error is not None]
    if faults and not useful:
        raise faults[-1]  # of the first file: ``firsts`` runs backwards
    left_out = (*listing.left_out, *out) if out else listing.left_out
    return msgspec.structs.replace(
        listing, shards=tuple(kept), left_out=tuple(sorted(left_out, key=lambda gap: gap.where))
    )


def _refusals(shards: Sequence[Shard]) -> list[InputError | None]:
    """Why each shard cannot be read, none where it can."""

    def refusal(shard: Shard) -> InputError | None:
        try:
            check(shard)
        except InputError as error:
            return error
        return None

    if not any(is_address(shard.location) for shard in shards):
        return [refusal(shard) for shard in shards]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(refusal, shards))


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
            shown(source),
            "holds nothing but the items, or what was written about them",
            "Give the text to search, and another folder for --out",
        )
    left_out = sorted([*listing.left_out, *out], key=lambda gap: gap.where)
    return msgspec.structs.replace(listing, shards=tuple(kept), left_out=tuple(left_out))


# How the files of an earlier vetting begin: they quote the items, and would find them.
_OWN = {
    "verdicts.jsonl": (b'{"item":', b'"verdict":'),
    "findings.jsonl": (b'{"item":', b'"check":'),
    "vetting.html": (b"<!doctype html>", b'name="generator" content="lacre"'),
    "decisions.csv": (b"item", b"decision"),
    JOURNAL: (b'{"type":"scan"', b'"rules":'),
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
        gaps = [Unread(where=path, reason=f"read for {shown(other)} too", bytes=0) for path, other in again]
        named.append(msgspec.structs.replace(listing, left_out=(*listing.left_out, *gaps)))
        first = dict.fromkeys(here, source) | first
    return named


TRIES = 3
"""Times that a shard is read, when it could not be reached, before that is reported."""


def scan(
    index: ItemIndex,
    sources: Sequence[str],
    found: Sequence[Listing],
    *,
    align_from: float,
    crew: Crew,
    journal: Journal | None = None,
    on_progress: Callable[[Progress], None],
) -> list[Corpus]:
    """Read every shard past the index; one result for each source, the same whatever the order of work.

    Args:
        align_from: similarity, 0 to 1, from which an aligned rarest sentence is kept.
        crew: who reads.
        journal: where shards that are done are kept; those that it has are not read again.
        on_progress: called from any thread, one at a time.

    An interrupt stops every reader at its next batch. A shard that could not be reached goes to the end of the
    queue, and after :data:`TRIES` times is reported as not read.
    """
    tally = Tally(found, on_progress)
    sums = [_Sum(len(listing.shards)) for listing in found]
    jobs = _jobs(found)
    if journal is not None:
        _take_up(journal, jobs, sums, tally)
    _work_off(list(jobs.values()), _Desk(index, align_from, crew, journal, tally, sums))
    return [
        Corpus(
            reading_of_corpus(shown(source), listing, [r for r in one.readings if r is not None]),
            one.found,
            tuple(sorted(one.failed)),
        )
        for source, listing, one in zip(sources, found, sums, strict=True)
    ]


class _Job(NamedTuple):
    """A shard to be read: which corpus it is of, which shard there, its key; how often it was tried, and what came."""

    corpus: int
    number: int
    shard: Shard
    key: str
    tries: int = 0
    best: ShardResult | None = None


class _Sum:
    """What is known of one corpus so far."""

    def __init__(self, shards: int) -> None:
        self.readings: list[Reading | None] = [None] * shards
        self.found = Found()
        self.failed: list[str] = []

    def add(self, number: int, result: ShardResult) -> None:
        """Take in a shard, in whatever order they come."""
        self.readings[number] = result.reading
        if result.failure:
            self.failed.append(result.reading.corpus)
        take_in(self.found, result.found)


class _Desk(NamedTuple):
    """What the work needs."""

    items: ItemIndex
    align_from: float
    crew: Crew
    journal: Journal | None
    tally: Tally
    sums: Sequence[_Sum]


def _jobs(found: Sequence[Listing]) -> dict[str, _Job]:
    """The shards by their keys, the largest first, so that nobody reads on alone at the end."""
    every = [
        _Job(corpus, number, shard, shard_key(shard))
        for corpus, listing in enumerate(found)
        for number, shard in enumerate(listing.shards)
    ]
    return {job.key: job for job in sorted(every, key=lambda job: -expected(job.shard))}


def _take_up(journal: Journal, jobs: dict[str, _Job], sums: Sequence[_Sum], tally: Tally) -> None:
    """Take from a journal the shards that are as they were, and leave the others to be read."""
    for line in journal.results():
        job = jobs.pop(line.key, None)
        if job is not None:
            sums[job.corpus].add(job.number, line.result)
            tally.kept(job.shard, line.result.reading.bytes)


def _work_off(jobs: Sequence[_Job], desk: _Desk) -> None:
    """Have all shards read; each is added and kept in the journal as it comes."""
    if not jobs:
        return
    done: SimpleQueue[Future[ShardResult]] = SimpleQueue()
    waiting: dict[Future[ShardResult], _Job] = {}

    def submit(job: _Job) -> None:
        work = desk.crew.submit(job.shard)
        waiting[work] = job
        work.add_done_callback(done.put)

    # Of many items there are many objects, none of which goes while we scan: a collection need not look at them.
    gc.freeze()
    try:
        desk.crew.begin(desk.items, desk.align_from, desk.tally)
        for job in jobs:
            submit(job)
        while waiting:
            work = done.get()
            job = waiting.pop(work)
            result = work.result()  # the first fault stops all
            if result.failure:
                # Of several tries the one that came furthest counts: what was found is found.
                result = max(job.best or result, result, key=lambda one: one.reading.bytes)
                if job.tries + 1 < TRIES:
                    desk.tally.again(job.shard, work.result().reading.bytes)
                    submit(job._replace(tries=job.tries + 1, best=result))
                    continue
            desk.sums[job.corpus].add(job.number, result)
            if desk.journal is not None and result.is_final:
                desk.journal.add(job.key, result)
    except BaseException:
        desk.crew.abandon()
        for work in waiting:
            work.cancel()
        raise
    finally:
        gc.unfreeze()
