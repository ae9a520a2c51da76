"""Looking items up in the indexes of corpora, and reading again only what may hold them (SPEC X1, X2).

What the index names are blocks of text. Those are read again from where they were indexed and go past the same
search as a scan, so that a match comes with the same evidence. A run that the index is sure to find, ten words of a
document, is found as a scan finds it; shorter ones and edited sentences may be missed, and the reading says so.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from lacre.corpora.batches import Shard, Unread
from lacre.corpora.indexing import Index, Segment, Source, Stretch, absence, open_index, parts_of
from lacre.corpora.readers import read
from lacre.corpora.remote import is_address
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

    @property
    def name(self) -> tuple[str, int]:
        """The file of its segment, and its number in it."""
        return self.segment.record.file, self.number


@dataclass(frozen=True, kw_only=True, slots=True)
class Left:
    """What of an index is looked up.

    Attributes:
        index: opened.
        sources: for each corpus its shards, by the file of their segment and their number in it.
        passed: for each corpus that is scanned, how many files of the index that scan reads.
    """

    index: Index
    sources: dict[str, set[tuple[str, int]]]
    passed: dict[str, int]

    def holds(self, name: tuple[str, int]) -> bool:
        """Whether a shard is looked up, by the file of its segment and its number in it."""
        return any(name in names for names in self.sources.values())


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
    """

    indexes: tuple[Index, ...]
    workers: int = 1
    on_met: Callable[[Sequence[str], int], None] = _quiet

    @classmethod
    def open(cls, folders: Sequence[Path], *, workers: int = 1) -> Lookup:
        """The indexes of these folders.

        Raises:
            InputError: there is none in one of them.
            IntegrityError: one is damaged.
        """
        return cls(indexes=tuple(map(open_index, folders)), workers=workers)

    def left(self, scanned: Sequence[Shard]) -> list[Left]:
        """What of each index is looked up when ``scanned`` is read in full: all but that, and each text once.

        Of a file that is scanned the index may hold an older text, which no longer counts; of one that is not there
        any more it has the only word.
        """
        read = {_where(shard): shard.corpus for shard in scanned}
        taken: set[tuple[object, ...]] = set()
        found: list[Left] = []
        for one in self.indexes:
            here: set[tuple[object, ...]] = set()
            sources: dict[str, set[tuple[str, int]]] = {}
            passed: dict[str, set[str]] = {}
            for segment in one.segments:
                for number, source in enumerate(segment.facts.sources):
                    if number in segment.replaced:
                        continue
                    if len(self.indexes) > 1:
                        here.add(text := _text(source))
                        if text in taken:
                            continue
                    if read and (where := _where(source.shard)) in read:
                        passed.setdefault(read[where], set()).add(where[0])
                    else:
                        sources.setdefault(source.shard.corpus, set()).add((segment.record.file, number))
            taken |= here
            found.append(
                Left(
                    index=one,
                    sources=sources,
                    passed={name: len(files) for name, files in passed.items()},
                )
            )
        return found

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
        left: Sequence[Left],
        *,
        align_from: float,
        on_progress: Callable[[Progress], None] = lambda _: None,
    ) -> list[Corpus]:
        """What the indexed corpora hold of the items, each corpus as a scan of it would say.

        ``left``: what is looked up, see :meth:`left`. ``align_from``: similarity, 0 to 1, from which an aligned rarest
        sentence is kept. ``on_progress`` is called from this thread.

        Raises:
            IntegrityError: an index is damaged.
        """
        grams = item_grams(index.table)
        corpora: list[Corpus] = []
        for one in left:
            work = [job for job in candidates(one.index, grams) if one.holds(job.name)]
            met = met_items(index, grams, work)
            self.on_met([index.sheets.items[item].item for item in met], len(work))
            results = self._read_all(index, work, align_from, on_progress)
            corpora += [_corpus(one, name, index, grams, results) for name in sorted(one.sources)]
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
    one: Left, name: str, index: ItemIndex, grams: ItemGrams, results: Sequence[tuple[_Work, _Read]]
) -> Corpus:
    """One corpus of an index: how much of it was indexed, what was found, what could not be read again."""
    found = Found()
    gone: list[Gone] = []
    remarks = [Unread(where=str(one.index.folder), reason=_said(one.index), bytes=0)]
    for job, result in results:
        if job.source.shard.corpus != name:
            continue
        found.merge(result.found)
        if result.failure:
            gone.append(Gone(job.segment, job.number, job.which, job.blocks))
            reason = f"{NOT_AT_HAND}: {result.failure}"
            remarks.append(Unread(where=job.source.shard.location, reason=reason, bytes=0))
    _add_unseen(found, unseen(index, grams, gone))
    # A scan of the corpus says itself what it leaves out.
    left_out = next(
        (r.left_out for r in one.index.manifest.corpora if r.corpus == name and name not in one.passed), ()
    )
    sources = [
        source
        for segment in one.index.segments
        for number, source in enumerate(segment.facts.sources)
        if (segment.record.file, number) in one.sources[name]
    ]
    listing = Listing(shards=tuple(source.shard for source in sources), left_out=(*left_out, *remarks))
    reading = reading_of_corpus(name, listing, [_reading(source) for source in sources])
    return Corpus(
        msgspec.structs.replace(reading, index=str(one.index.folder), gone=len(gone)),
        found,
    )


def with_passed(corpora: Sequence[Corpus], left: Sequence[Left]) -> list[Corpus]:
    """Corpora that were scanned, with a word about what of them was not looked up in the indexes besides."""
    told = []
    for corpus in corpora:
        reading = corpus.reading
        remarks = [
            Unread(
                where=str(one.index.folder),
                reason=f"{number:,} of its files {'is' if number == 1 else 'are'} read here, and not looked up in it",
                bytes=0,
            )
            for one in left
            if (number := one.passed.get(reading.corpus, 0))
        ]
        reading = msgspec.structs.replace(
            reading,
            unread=(*reading.unread, *remarks),
            unread_places=reading.unread_places + len(remarks),
        )
        told.append(corpus._replace(reading=reading))
    return told


def _where(shard: Shard) -> tuple[str, str | None]:
    """What tells the file, and the column, that a shard is of."""
    here = shard.location if is_address(shard.location) else os.path.realpath(shard.location)
    return here, shard.column


def _text(source: Source) -> tuple[object, ...]:
    """What tells the text of a source from every other; two indexes may hold the same."""
    shard = source.shard
    state = source.file.sha256 if source.file else shard.mark
    return shard.corpus, shard.path, shard.column, shard.row_groups, shard.span, state, source.incomplete


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
