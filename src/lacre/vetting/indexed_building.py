"""Building the index of a corpus, and adding to it: safe to kill, and going on from where it was (SPEC X1).

Shards are read in *portions* of some tens of megabytes. What a portion yields goes to the folder ``building``,
whole or not at all, and is not read again after an interruption. When enough text has gone by, or all, portions are
packed into a segment. The manifest comes last: until then the index is what it was.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from lacre import jsonl
from lacre.corpora.batches import Shard
from lacre.corpora.indexing import (
    BUILDING,
    LOCK,
    MANIFEST,
    SEGMENTS,
    WORDS,
    CorpusRecord,
    Manifest,
    Replaced,
    SegmentFacts,
    SegmentRecord,
    Source,
    open_segment,
    read_manifest,
    state_of,
)
from lacre.corpora.remote import is_address
from lacre.corpora.sources import Listing
from lacre.errors import InputError
from lacre.overlap.kernel import GRAM
from lacre.overlap.sections import open_sections, write_sections
from lacre.overlap.segments import Packing
from lacre.overlap.winnow import MOST_BLOCKS, PARTS, WINDOW, Run, Vocabulary, added
from lacre.vetting.indexed_portions import (
    SIZES,
    Building,
    Done,
    Portion,
    Sizes,
    Work,
    portion_done,
    portions,
    run_path,
)

TOGETHER = 16  # vocabularies put together at a time
_MOST = np.uint64(0xFFFFFFFF)


class Built(NamedTuple):
    """What a build came to: the manifest, and how many shards were new, the same as before, and changed; how many of
    the new ones the index has for another corpus too."""

    manifest: Manifest
    new: int
    same: int
    changed: int
    shared: int


class _Packed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A segment that is written and not yet in the manifest, with the portions that are in it."""

    record: SegmentRecord
    portions: tuple[str, ...]


def build(
    folder: Path,
    listings: Sequence[tuple[str, str | None, Listing]],
    *,
    executor: Executor,
    on_progress: Callable[[Building], None] = lambda _: None,
    sizes: Sizes = SIZES,
) -> Built:
    """Make the index of corpora in ``folder``, or add them to the one that is there.

    Args:
        listings: for each corpus its name, the text column that was asked for, and its shards. A shard that is in
            the index already is not read again; one whose file has changed is, and its old text no longer counts.
        executor: any executor of threads; the files are the same whatever it does first.
        on_progress: called from any thread.
        sizes: how the text is cut up.

    Raises:
        InputError: another process is building here, or ``folder`` holds something else.
        IntegrityError: the index that is there is damaged.
        OSError: a file could not be written; the index that was there still is.
    """
    with _locked(folder):
        _tidied(folder)
        before = read_manifest(folder) if (folder / MANIFEST).exists() else Manifest()
        news = _news(
            folder, before, [_fixed(shard) for _, _, listing in listings for shard in listing.shards]
        )
        segments = _built(
            folder,
            before,
            portions(news.shards, sizes.portion),
            executor=executor,
            on_progress=on_progress,
            sizes=sizes,
        )
        named = {record.corpus: record for record in before.corpora}
        for corpus, column, listing in listings:
            named[corpus] = CorpusRecord(corpus=corpus, column=column, left_out=listing.left_out)
        manifest = Manifest(
            segments=(*before.segments, *segments),
            corpora=tuple(named[name] for name in sorted(named)),
            replaced=(*before.replaced, *news.replaced),
        )
        jsonl.write_bytes(
            folder / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"
        )
        shutil.rmtree(folder / BUILDING)
        kept = {record.file for record in manifest.segments}
        for path in (folder / SEGMENTS).iterdir():
            if path.name not in kept:
                path.unlink()
        return Built(manifest, len(news.shards), news.same, len(news.replaced), news.shared)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """The folder, made when it is not there, for one build at a time."""
    known = {MANIFEST, SEGMENTS, BUILDING, LOCK}
    if folder.exists() and not folder.is_dir():
        raise InputError(folder, "is not a folder", "Name a folder for the index")
    if folder.is_dir() and any(
        entry.name not in known and entry.name[0] != "." for entry in folder.iterdir()
    ):
        raise InputError(folder, "holds something else than an index", "Name an empty folder, or a new one")
    for name in (SEGMENTS, BUILDING):
        (folder / name).mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("wb") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                folder, "another process is building this index", "Wait until it has finished"
            ) from None
        yield


def _tidied(folder: Path) -> None:
    """Remove what a build that was killed left half written."""
    for place in (folder, folder / SEGMENTS, folder / BUILDING):
        for path in place.glob(".*.part"):
            path.unlink()


class _News(NamedTuple):
    shards: list[Shard]
    same: int
    replaced: list[Replaced]
    shared: int


def _fixed(shard: Shard) -> Shard:
    """A shard by its whole path, so that it is found again from whatever folder the index is used in."""
    if is_address(shard.location):
        return shard
    return msgspec.structs.replace(shard, location=os.path.abspath(shard.location))  # noqa: PTH100 - links stay


def _news(folder: Path, before: Manifest, shards: Sequence[Shard]) -> _News:
    """The shards that the index does not have, how many it has, and what the new ones take the place of.

    A file that is indexed for two corpora is read for each; how many shards that is, is counted.
    """
    gone = {(record.segment, record.source) for record in before.replaced}
    held: dict[bytes, tuple[Replaced, Source]] = {}
    corpora: dict[bytes, set[str]] = {}
    for record in before.segments:
        for number, source in enumerate(open_segment(folder, record).facts.sources):
            if (record.file, number) not in gone:
                held[_place(source.shard)] = Replaced(segment=record.file, source=number), source
                corpora.setdefault(_text(source.shard), set()).add(source.shard.corpus)
    new: list[Shard] = []
    replaced: list[Replaced] = []
    shared = 0
    for shard in shards:
        others = corpora.setdefault(_text(shard), set())
        shared += bool(others - {shard.corpus})
        others.add(shard.corpus)
        old = held.get(_place(shard))
        if old is None:
            new.append(shard)
        elif not _same(old[1], shard):
            new.append(shard)
            replaced.append(old[0])
    return _News(new, len(shards) - len(new), replaced, shared)


def _place(shard: Shard) -> bytes:
    """What tells a shard from every other, whatever its file holds."""
    return msgspec.json.encode((shard.corpus, shard.path, _text(shard)))


def _text(shard: Shard) -> bytes:
    """What tells the text of a shard from every other, whatever corpus it is read for."""
    return msgspec.json.encode((_fixed(shard).location, shard.row_groups, shard.span))


def _same(source: Source, shard: Shard) -> bool:
    """Whether a shard is what it was when it was indexed."""
    if source.shard == shard and source.file is None:
        return not source.incomplete
    now = state_of(shard)
    return now is not None and source.file is not None and now.sha256 == source.file.sha256


def _built(
    folder: Path,
    before: Manifest,
    every: Sequence[Portion],
    *,
    executor: Executor,
    on_progress: Callable[[Building], None],
    sizes: Sizes,
) -> list[SegmentRecord]:
    """The segments of all portions, in order; those that are there already are taken as they are."""
    building = folder / BUILDING
    made = [
        msgspec.json.decode(path.read_bytes(), type=_Packed) for path in sorted(building.glob("*.segment"))
    ]
    # A segment of a build that was given up for another is of no use.
    wanted = {portion.name for portion in every}
    made = [one for one in made if wanted.issuperset(one.portions)]
    covered = {name for one in made for name in one.portions}
    waiting = [portion for portion in every if portion.name not in covered]
    work = Work(folder=building, sizes=sizes, of_portions=len(waiting), on_progress=on_progress)
    futures = [executor.submit(portion_done, portion, work) for portion in waiting]
    try:
        for group in _groups(waiting, futures, sizes.segment):
            work.count(doing="packing")
            made.append(_segment(folder, _number(before, made), group, sizes.block))
    except BaseException:
        work.stop.set()
        for future in futures:
            future.cancel()
        raise
    return [one.record for one in made]


def _number(before: Manifest, made: Sequence[_Packed]) -> int:
    """The number of the next segment."""
    files = [record.file for record in before.segments] + [one.record.file for one in made]
    return 1 + max((int(Path(file).stem) for file in files), default=0)


def _groups(
    portions: Sequence[Portion], futures: Sequence[Future[Done]], segment_bytes: int
) -> Iterator[list[tuple[Portion, Done]]]:
    """Portions as they are done, in their order, so many together as a segment holds."""
    group: list[tuple[Portion, Done]] = []
    text = blocks = 0
    for portion, future in zip(portions, futures, strict=True):
        done = future.result()
        size = sum(source.bytes for source in done.sources)
        if group and (text + size > segment_bytes or blocks + done.blocks > MOST_BLOCKS):
            yield group
            group, text, blocks = [], 0, 0
        group.append((portion, done))
        text += size
        blocks += done.blocks
    if group:
        yield group


def _segment(folder: Path, number: int, group: Sequence[tuple[Portion, Done]], block_bytes: int) -> _Packed:
    """Write a segment from its portions, note it down, and let their files go."""
    building = folder / BUILDING
    name = f"{number:04}.seg"
    sources = [source for _, done in group for source in done.sources]
    runs, stretches = _runs(building, group)
    packing = Packing(runs=runs, blocks=max(1, sum(done.blocks for _, done in group)))
    vocabulary = _vocabulary(building, group)

    def facts() -> SegmentFacts:
        return SegmentFacts(
            gram=GRAM,
            window=WINDOW,
            text=WORDS,
            size=packing.size,
            low_bits=packing.low_bits,
            block_bits=packing.block_bits,
            blocks=packing.blocks,
            block_bytes=block_bytes,
            gaps=tuple(np.sum([done.gaps for _, done in group], axis=0).tolist()),
            sources=tuple(sources),
        )

    weights = np.minimum(vocabulary.counts, _MOST) << np.uint64(32) | np.minimum(vocabulary.documents, _MOST)
    written = write_sections(
        folder / SEGMENTS / name,
        {
            "tails": packing.tails(),
            "stretches": [stretches],
            "words": [vocabulary.words],
            "weights": [weights],
            # Asked for last: they are whole when the tails were taken to their end.
            "heads": _late(lambda: packing.heads),
            "samples": _late(lambda: packing.samples),
        },
        facts,
    )
    record = SegmentRecord(
        file=name,
        sha256=written.sha256,
        size=written.size,
        fingerprints=packing.size,
        text=sum(source.bytes for source in sources),
        words=sum(source.words for source in sources),
        documents=sum(source.documents for source in sources),
        shards=len(sources),
    )
    packed = _Packed(record=record, portions=tuple(portion.name for portion, _ in group))
    jsonl.write_bytes(building / f"{number:04}.segment", msgspec.json.encode(packed))
    for portion, done in group:
        for k in range(done.runs):
            run_path(building, portion, k).unlink()
        (building / f"{portion.name}.portion").unlink()
    return packed


def _late(values: Callable[[], np.ndarray[tuple[int, ...], np.dtype[np.uint64]]]) -> Iterator[np.ndarray]:
    yield values()


def _runs(building: Path, group: Sequence[tuple[Portion, Done]]) -> tuple[list[tuple[Run, int]], np.ndarray]:
    """The runs of portions, each with the number of its first block, and the stretches of all blocks."""
    runs: list[tuple[Run, int]] = []
    rows: list[np.ndarray] = [np.zeros((0, 4), np.int64)]
    block = source = 0
    for portion, done in group:
        for k in range(done.runs):
            arrays = open_sections(run_path(building, portion, k), type(None)).arrays
            runs.append((Run(arrays["values"], arrays["starts"].reshape(-1, PARTS + 1)), block))
        rows.append(np.array(done.stretches, np.int64).reshape(-1, 4) + np.array([block, source, 0, 0]))
        block += done.blocks
        source += len(done.sources)
    return runs, np.concatenate(rows).reshape(-1)


def _vocabulary(building: Path, group: Sequence[tuple[Portion, Done]]) -> Vocabulary:
    """The words that were counted twice or more in the text of portions."""
    parts: list[Vocabulary] = []
    for portion, done in group:
        for k in range(done.runs):
            arrays = open_sections(run_path(building, portion, k), type(None)).arrays
            parts.append(Vocabulary(arrays["words"], arrays["counts"], arrays["documents"]))
            if len(parts) >= TOGETHER:
                parts = [added(parts)]
    whole = added(parts)
    twice = whole.counts > 1
    return Vocabulary(whole.words[twice], whole.counts[twice], whole.documents[twice])
