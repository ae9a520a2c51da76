"""One shard read past the items' index, as a record that can travel between machines and be kept in a journal."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import msgspec

from lacre.corpora.batches import Shard, TextBatch, Unread
from lacre.corpora.readers import read
from lacre.corpora.remote import Unreachable, shown
from lacre.digest import sha256
from lacre.overlap.index import ItemIndex
from lacre.overlap.runs import Scratch, buffers, runs
from lacre.vetting.evidence import Found, Gathering, Place
from lacre.vetting.readings import Gaps, Reading, reading_of_shard


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of one item by one check: the number of documents, and the places kept."""

    item: int
    sentence: bool
    documents: int
    places: tuple[Place, ...]


class ShardResult(msgspec.Struct, frozen=True, kw_only=True):
    """One shard, read: how much of it, what was found, and why it could not be reached to its end, or "".

    A shard that was not reached may be read another time; one that is damaged stays so, and has no ``failure``.
    """

    reading: Reading
    found: tuple[Kept, ...]
    failure: str = ""

    @property
    def is_final(self) -> bool:
        """Whether the shard was read to its end, so that reading it again would say the same."""
        return not self.failure and not self.reading.incomplete


def shard_key(shard: Shard) -> str:
    """What a shard is known by in a journal: the digest of its path, size, mark of change and way of reading."""
    return sha256(msgspec.json.encode(shard))


def kept(found: Found) -> tuple[Kept, ...]:
    """What was found, as records, sorted by item and check."""
    return tuple(
        Kept(
            item=item,
            sentence=sentence,
            documents=found.documents[item, sentence],
            places=tuple(
                place for places in found.places.get((item, sentence), {}).values() for place in places
            ),
        )
        for item, sentence in sorted(found.documents)
    )


def take_in(found: Found, parts: tuple[Kept, ...]) -> None:
    """Merge what was found in another shard of the same corpus. In whatever order, the outcome is the same."""
    other = Found()
    for part in parts:
        other.documents[part.item, part.sentence] = part.documents
        places = other.places[part.item, part.sentence]
        for place in part.places:
            places.setdefault(place.key, []).append(place)
    found.merge(other)


class Stopped(Exception):  # noqa: N818 - not an error: the person asked for it
    """Another shard failed, or the person interrupted: this one has nothing to report."""


_LOCAL = threading.local()


def _scratch() -> Scratch:
    if not hasattr(_LOCAL, "scratch"):
        _LOCAL.scratch = Scratch.make()
    scratch: Scratch = _LOCAL.scratch
    return scratch


def scan_shard(
    index: ItemIndex,
    shard: Shard,
    align_from: float,
    *,
    is_stopped: Callable[[], bool] = lambda: False,
    on_batch: Callable[[int, int], None] = lambda _text, _matches: None,
) -> ShardResult:
    """Read one shard past the index.

    Args:
        align_from: similarity, 0 to 1, from which an aligned rarest sentence is kept.
        is_stopped: asked before every batch.
        on_batch: told the bytes of text and the matches of every batch.

    Raises:
        Stopped: as asked.
        InputError: the shard lacks the text column.
    """
    gathering = Gathering(shard, index.sheets)
    gaps = Gaps(shard)
    documents = size = nulls = 0
    failure = ""
    batches = _reached(read(shard), shard)
    for batch in batches:
        if isinstance(batch, str):
            failure = batch
            gaps.named.append(Unread(where="here", reason=batch, bytes=max(1, shard.size), incomplete=True))
            break
        if is_stopped():
            raise Stopped
        scanned = runs(index, batch.text, _scratch(), align_from=align_from)
        gathering.add(batch, scanned.runs)
        offsets = buffers(batch.text).offsets
        text = int(offsets[-1] - offsets[0])
        gaps.add(batch)
        documents += int((batch.starts == 0).sum())
        nulls += batch.nulls
        size += text
        on_batch(text, len(scanned.runs))
    reading = reading_of_shard(shard, documents=documents, size=size, nulls=nulls, unread=gaps.list())
    return ShardResult(reading=reading, found=kept(gathering.found()), failure=failure)


def _reached(batches: Iterator[TextBatch], shard: Shard) -> Iterator[TextBatch | str]:
    """The batches of a shard and, where it cannot be reached any more, why."""
    try:
        yield from batches
    except Unreachable as error:
        yield str(error).removeprefix(f"{shown(shard.location)}: ").rstrip(".")


def unreached(shard: Shard, why: str) -> ShardResult:
    """What there is to say of a shard of which nothing could be read, such as one whose workers died."""
    gap = Unread(where="here", reason=why, bytes=max(1, shard.size), incomplete=True)
    reading = reading_of_shard(shard, documents=0, size=0, nulls=0, unread=[gap])
    return ShardResult(reading=reading, found=(), failure=why)
