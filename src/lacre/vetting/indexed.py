"""Looking items up in the indexes of corpora, and reading again only what may hold them (SPEC X1, X2).

What the index names are blocks of text. Those are read again from where they were indexed and go past the same
search as a scan, so that a match comes with the same evidence. A run that the index is sure to find, ten words of a
document, is found as a scan finds it; shorter ones and edited sentences may be missed, and the reading says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lacre.corpora.batches import Unread
from lacre.corpora.indexing import Index, Segment, Source, Stretch, absence, open_index, parts_of
from lacre.corpora.readers import read
from lacre.corpora.sources import Listing
from lacre.errors import LacreError
from lacre.overlap.index import ItemIndex
from lacre.overlap.kernel import GRAM
from lacre.overlap.rarity import rarity
from lacre.overlap.runs import Scratch, buffers, runs
from lacre.overlap.sheets import Sheets
from lacre.overlap.winnow import REACH, ItemGrams, item_grams, reach
from lacre.vetting.evidence import NOT_AT_HAND, Found, Gathering, Place
from lacre.vetting.indexed_unseen import Gone, unseen
from lacre.vetting.progress import Progress
from lacre.vetting.readings import Reading, reading_of_corpus
from lacre.vetting.scan import Corpus


class _Work(NamedTuple):
    """A shard that may hold items, by its number in its segment: the documents to look at, and the grams that were met
    in their blocks."""

    segment: Segment
    number: int
    source: Source
    block_bytes: int
    stretches: list[Stretch]
    which: npt.NDArray[np.int64]
    blocks: npt.NDArray[np.int64]


class _Read(NamedTuple):
    """What came of a shard: what was found, why it could not be read or "", bytes of text read."""

    found: Found
    failure: str
    text: int


def _quiet(items: Sequence[str], shards: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """Indexes in which items are looked up.

    Attributes:
        indexes: opened.
        workers: threads that read again.
        on_met: told, before anything is read again, the ids of the items that were met, and how many shards that is.
        read_in_full: corpora that are scanned besides: what an index has of them is not looked up again.
    """

    indexes: tuple[Index, ...]
    workers: int = 1
    on_met: Callable[[Sequence[str], int], None] = _quiet
    read_in_full: frozenset[str] = frozenset()

    @classmethod
    def open(cls, folders: Sequence[Path], *, workers: int = 1, read_in_full: Sequence[str] = ()) -> Lookup:
        """The indexes of these folders.

        Raises:
            InputError: there is none in one of them.
            IntegrityError: one is damaged.
        """
        return cls(
            indexes=tuple(map(open_index, folders)), workers=workers, read_in_full=frozenset(read_in_full)
        )

    def rarity(self, sheets: Sheets) -> npt.NDArray[np.float32]:
        """What each word tells, by all text of the indexes; it chooses the rarest sentence."""
        counts = np.zeros(sheets.hashes.size, np.int64)
        for index in self.indexes:
            counts += index.frequency(sheets.hashes)
        return rarity(sheets, counts, sum(index.words for index in self.indexes))

    def within_reach(self, index: ItemIndex) -> ItemIndex:
        """The items' index, in which items too short for a corpus's index to find are untestable."""
        reasons = list(index.untestable)
        for item, reason in enumerate(reasons):
            first, last = index.sheets.presented(item)
            if not reason and last - first < REACH:
                reasons[item] = f"too short for an index: {last - first} words, {REACH} needed to be sure"
        return replace(index, untestable=tuple(reasons))

    def search(
        self,
        index: ItemIndex,
        *,
        align_from: float,
        on_progress: Callable[[Progress], None] = lambda _: None,
    ) -> list[Corpus]:
        """What the indexed corpora hold of the items, each corpus as a scan of it would say.

        ``align_from``: similarity, 0 to 1, from which an aligned rarest sentence is kept. ``on_progress`` is called
        from this thread.

        Raises:
            IntegrityError: an index is damaged.
        """
        grams = item_grams(index.table)
        corpora: list[Corpus] = []
        taken = set(self.read_in_full)
        for one in self.indexes:
            names = [record.corpus for record in one.manifest.corpora if record.corpus not in taken]
            work = [job for job in candidates(one, grams) if job.source.shard.corpus in names]
            met = met_items(index, grams, work)
            self.on_met([index.sheets.items[item].item for item in met], len(work))
            results = self._read_all(index, work, align_from, on_progress)
            corpora += [_corpus(one, name, index, grams, results) for name in names]
            taken.update(names)
        return corpora

    def _read_all(
        self,
        index: ItemIndex,
        work: Sequence[_Work],
        align_from: float,
        on_progress: Callable[[Progress], None],
    ) -> list[tuple[_Work, _Read]]:
        """Every shard that may hold items, read again."""
        results: list[tuple[_Work, _Read]] = []
        text = matches = 0
        with ThreadPoolExecutor(self.workers) as executor:
            futures = [executor.submit(_read_again, index, job, align_from) for job in work]
            try:
                for job, future in zip(work, futures, strict=True):
                    result = future.result()
                    results.append((job, result))
                    text += result.text
                    matches += sum(result.found.documents.values())
                    on_progress(Progress(len(results), len(work), text, matches, len(results) / len(work)))
            except BaseException:
                for future in futures:
                    future.cancel()
                raise
        return results


def _read_again(index: ItemIndex, job: _Work, align_from: float) -> _Read:
    """Read what may hold items past the items' index."""
    why = absence(job.source)
    if why:
        return _Read(Found(), why, 0)
    gathering = Gathering(job.source.shard, index.sheets)
    try:
        text, failure = _read_stretches(index, job, gathering, align_from)
    except LacreError as error:
        return _Read(gathering.found(), str(error).rstrip("."), 0)
    return _Read(gathering.found(), failure, text)


def candidates(index: Index, grams: ItemGrams) -> list[_Work]:
    """The shards that may hold some of the grams, with the documents to look at, in the order of the segments."""
    found: list[_Work] = []
    for segment in index.segments:
        hits = segment.packed.look_up(grams.hashes)
        by_source: dict[int, list[Stretch]] = {}
        for stretch in segment.of_blocks(hits.blocks):
            by_source.setdefault(stretch.source, []).append(stretch)
        for number, stretches in by_source.items():
            source = segment.facts.sources[number]
            met = _met(segment, number, hits.which, hits.blocks)
            found.append(_Work(segment, number, source, segment.facts.block_bytes, stretches, *met))
    return found


def met_items(index: ItemIndex, grams: ItemGrams, work: Sequence[_Work]) -> tuple[int, ...]:
    """The items of which some gram was met, rising."""
    if not work:
        return ()
    met = np.zeros(grams.hashes.size, np.bool_)
    for job in work:
        met[job.which] = True
    places = grams.places[met[grams.which]]
    owners = index.owners[np.searchsorted(index.begins, places, side="right") - 1]
    return tuple(np.unique(owners).tolist())


def _met(
    segment: Segment, source: int, which: npt.NDArray[np.int64], blocks: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The grams met in the blocks of a source, with those blocks."""
    mine = np.zeros(segment.facts.blocks, np.bool_)
    mine[segment.stretches[segment.stretches[:, 1] == source, 0]] = True
    here = mine[blocks]
    return which[here], blocks[here]


def _read_stretches(index: ItemIndex, job: _Work, gathering: Gathering, align_from: float) -> tuple[int, str]:
    """Bytes of text read past the items' index, and why that ended too early, or ""."""
    scratch = Scratch.make()
    last = job.stretches[-1].last
    text = 0
    for part in parts_of(job.source.shard, job.stretches):
        gathering.documents = part.before
        for batch in read(part.shard, batch_bytes=job.block_bytes):
            broken = [gap.reason for gap in batch.unread if gap.incomplete]
            if broken and not job.source.incomplete:
                return text, broken[0]
            if not len(batch.text):
                continue
            numbers = gathering.documents + np.cumsum(batch.starts == 0)
            low, high = int(numbers[0]), int(numbers[-1])
            if low > last:
                break
            if not any(stretch.first <= high and low <= stretch.last for stretch in job.stretches):
                gathering.documents = high
                continue
            gathering.add(batch, runs(index, batch.text, scratch, align_from=align_from).runs)
            offsets = buffers(batch.text).offsets
            text += int(offsets[-1] - offsets[0])
    return text, ""


def _corpus(
    one: Index, name: str, index: ItemIndex, grams: ItemGrams, results: Sequence[tuple[_Work, _Read]]
) -> Corpus:
    """One corpus of an index: how much of it was indexed, what was found, what could not be read again."""
    found = Found()
    gone: list[Gone] = []
    remarks = [Unread(where=str(one.folder), reason=_said(one), bytes=0)]
    for job, result in results:
        if job.source.shard.corpus != name:
            continue
        found.merge(result.found)
        if result.failure:
            gone.append(Gone(job.segment, job.number, job.which, job.blocks))
            reason = f"{NOT_AT_HAND}: {result.failure}"
            remarks.append(Unread(where=job.source.shard.path, reason=reason, bytes=0))
    _add_unseen(found, unseen(index, grams, gone))
    left_out = next(record.left_out for record in one.manifest.corpora if record.corpus == name)
    sources = [source for source in one.sources() if source.shard.corpus == name]
    listing = Listing(shards=tuple(source.shard for source in sources), left_out=(*left_out, *remarks))
    return Corpus(reading_of_corpus(name, listing, [_reading(source) for source in sources]), found)


def _add_unseen(found: Found, places: dict[int, list[Place]]) -> None:
    """Put what nobody could look at beside what was seen: it pushes none of that out, and adds no document to it."""
    for item, unseen_places in places.items():
        key = item, False
        found.documents[key] = max(1, found.documents[key])
        for place in unseen_places:
            found.places[key].setdefault(place.key, []).append(place)


def _said(one: Index) -> str:
    """What a search by an index is worth."""
    gaps = one.gaps
    shares = ", ".join(f"{reach(gaps, words):.0%} of those of {words}" for words in range(GRAM, REACH))
    return (
        f"looked up in its index, which finds all runs of {REACH} words or more, {shares}; "
        f"the {one.words:,} words of the index chose the rarest sentences"
    )


def _reading(source: Source) -> Reading:
    """How much of a shard was read when it was indexed."""
    return Reading(
        corpus=source.shard.path,
        shards=1,
        documents=source.documents,
        bytes=source.bytes,
        nulls=source.nulls,
        unread=source.unread,
        unread_places=source.unread_places,
        unread_bytes=source.unread_bytes,
        incomplete=(source.shard.path,) if source.incomplete else (),
    )
