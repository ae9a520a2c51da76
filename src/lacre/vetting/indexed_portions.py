"""Reading a corpus for its index, portion by portion; see :mod:`lacre.vetting.indexed_building`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from lacre import jsonl
from lacre.corpora.batches import Shard
from lacre.corpora.indexing import FORMAT, FileState, Source, state_of
from lacre.corpora.readers import read
from lacre.digest import sha256
from lacre.overlap.kernel import GRAM
from lacre.overlap.runs import buffers
from lacre.overlap.sections import write_sections
from lacre.overlap.winnow import WINDOW, Run, Winnow
from lacre.vetting.readings import Gaps, reading_of_shard


class Sizes(NamedTuple):
    """How an index is cut up.

    Attributes:
        portion: bytes on disk of the shards that are read as one; a larger shard is a portion by itself.
        block: bytes of text in a block, at most: what is read again to look at a match.
        spill: fingerprints that a portion keeps in memory before it writes them down.
        segment: bytes of text in a segment, about.
    """

    portion: int = 64 << 20
    block: int = 4 << 20
    spill: int = 1 << 26
    segment: int = 32 << 30


SIZES = Sizes()


class Building(NamedTuple):
    """How far a build is: portions done and in all, bytes of text read, and what is being done now."""

    portions: int
    of_portions: int
    text: int
    doing: str


class Portion(NamedTuple):
    """Shards that are read as one, and the name of their files."""

    name: str
    shards: tuple[Shard, ...]


class Done(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A portion that was read: its shards, how many runs it left, and how its blocks lie.

    ``stretches``: (block, shard, first document, last document), all numbered within the portion.
    """

    sources: tuple[Source, ...]
    runs: int
    fingerprints: int
    blocks: int
    stretches: tuple[tuple[int, int, int, int], ...]
    gaps: tuple[int, ...]


class Stopped(Exception):  # noqa: N818 - not an error: the person asked for it
    """Another thread failed, or the person interrupted."""


def portions(shards: Sequence[Shard], portion_bytes: int) -> list[Portion]:
    """The shards in their order, small ones together."""
    groups: list[list[Shard]] = []
    size = 0
    for shard in shards:
        # A file may be empty: the first group begins with it all the same.
        if not groups or size + shard.size > portion_bytes:
            groups.append([])
            size = 0
        groups[-1].append(shard)
        size += shard.size
    return [Portion(_name(group), tuple(group)) for group in groups]


def _name(shards: Sequence[Shard]) -> str:
    """The name of a portion's files: it changes when its files do, so that nothing stale is taken up."""
    states = []
    for shard in shards:
        try:
            status = Path(shard.location).stat()
            states.append((status.st_size, status.st_mtime_ns))
        except OSError:
            states.append((0, 0))
    return sha256(msgspec.json.encode((shards, states, GRAM, WINDOW, FORMAT)))[:24]


@dataclass(kw_only=True)
class Work:
    """What the threads of a build share."""

    folder: Path
    sizes: Sizes
    of_portions: int
    on_progress: Callable[[Building], None]
    stop: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    portions: int = 0
    text: int = 0
    files: dict[str, FileState | None] = field(default_factory=dict)

    def count(self, *, text: int = 0, portions: int = 0, doing: str = "reading") -> None:
        """Count what was done, and tell."""
        with self.lock:
            self.text += text
            self.portions += portions
            self.on_progress(Building(self.portions, self.of_portions, self.text, doing))

    def file(self, shard: Shard) -> FileState | None:
        """The state of a shard's file; its bytes are hashed once, however many shards it has."""
        if "://" in shard.location:
            return None
        if shard.location not in self.files:
            self.files[shard.location] = state_of(shard)
        return self.files[shard.location]


def portion_done(portion: Portion, work: Work) -> Done:
    """Read a portion, or take it up where it was read before."""
    path = work.folder / f"{portion.name}.portion"
    if path.exists():
        done = msgspec.json.decode(path.read_bytes(), type=Done)
    else:
        done = _Reader(portion, work).done()
        jsonl.write_bytes(path, msgspec.json.encode(done))
    work.count(portions=1)
    return done


class _Reader:
    """One portion on its way through the winnow."""

    def __init__(self, portion: Portion, work: Work) -> None:
        self.portion, self.work = portion, work
        self.winnow = Winnow()
        self.runs = self.fingerprints = 0
        self.gaps = np.zeros(WINDOW + 1, np.int64)
        self.documents = 0  # of all shards: words of two of them are of two documents
        self.block = -1
        self.filled = work.sizes.block
        self.stretches: list[tuple[int, int, int, int]] = []

    def done(self) -> Done:
        """Read all of it."""
        sources = [self._source(number, shard) for number, shard in enumerate(self.portion.shards)]
        self._spill()
        return Done(
            sources=tuple(sources),
            runs=self.runs,
            fingerprints=self.fingerprints,
            blocks=self.block + 1,
            stretches=tuple(self.stretches),
            gaps=tuple(self.gaps.tolist()),
        )

    def _source(self, number: int, shard: Shard) -> Source:
        file = self.work.file(shard)
        gaps = Gaps(shard)
        documents = size = words = nulls = 0
        for batch in read(shard, batch_bytes=self.work.sizes.block):
            if self.work.stop.is_set():
                raise Stopped
            gaps.add(batch)
            nulls += batch.nulls
            if not len(batch.text):
                continue
            offsets = buffers(batch.text).offsets
            text = int(offsets[-1] - offsets[0])
            numbers = documents + np.cumsum(batch.starts == 0)
            self._into_block(text, number, int(numbers[0]), int(numbers[-1]))
            words += self.winnow.add(batch.text, self.documents + numbers, self.block)
            documents = int(numbers[-1])
            size += text
            self.work.count(text=text)
            if self.winnow.size >= self.work.sizes.spill:
                self._spill()
        self.documents += documents + 1
        reading = reading_of_shard(shard, documents=documents, size=size, nulls=nulls, unread=gaps.list())
        return Source(
            shard=shard,
            file=file,
            documents=documents,
            bytes=size,
            words=words,
            nulls=nulls,
            unread=reading.unread,
            unread_places=reading.unread_places,
            unread_bytes=reading.unread_bytes,
            incomplete=bool(reading.incomplete),
        )

    def _into_block(self, text: int, number: int, first: int, last: int) -> None:
        """Put a batch into the block that is being filled, or into a new one."""
        if self.filled + text > self.work.sizes.block:
            self.block += 1
            self.filled = 0
        self.filled += text
        if self.stretches and self.stretches[-1][:2] == (self.block, number):
            first = self.stretches.pop()[2]
        self.stretches.append((self.block, number, first, last))

    def _spill(self) -> None:
        """Write down what was kept so far."""
        found = self.winnow.taken()
        path = run_path(self.work.folder, self.portion, self.runs)
        write_sections(
            path,
            {
                "values": [run.values for run in found.runs],
                "starts": list(_starts(found.runs)),
                "words": [found.vocabulary.words],
                "counts": [found.vocabulary.counts],
                "documents": [found.vocabulary.documents],
            },
            is_hashed=False,
        )
        self.runs += 1
        self.fingerprints += sum(run.values.size for run in found.runs)
        self.gaps += found.gaps


def _starts(runs: Sequence[Run]) -> Iterator[npt.NDArray[np.int64]]:
    """Where the parts of runs begin that are written one behind the other."""
    before = 0
    for run in runs:
        yield (run.starts + before).reshape(-1)
        before += run.values.size


def run_path(folder: Path, portion: Portion, number: int) -> Path:
    """The file of one run of a portion."""
    return folder / f"{portion.name}.{number}.run"
