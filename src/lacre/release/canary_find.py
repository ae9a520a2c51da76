"""Finding a canary in corpora: as it was placed, spread over lines, in other case, encoded (SPEC L9).

Every byte of a shard is looked at, not only its text column: the canary stands in a field of its own. It is known by
the 32 digits of its uuid, one after another, whatever stands between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import msgspec
import numpy as np

from lacre.corpora.batches import Shard, Unread
from lacre.corpora.compression import opened
from lacre.corpora.readers import read
from lacre.corpora.sources import shards
from lacre.overlap.runs import buffers
from lacre.overlap.table import fold_table
from lacre.registry.records import Record
from lacre.release.canary import Canary
from lacre.release.columns import parquet_cells
from lacre.release.encoded import from_base64
from lacre.release.survey import digit_runs, encoded
from lacre.release.survey_kernel import Bytes
from lacre.release.unpack import Budget, Unopened, is_text, pieces

WRITTEN, SPREAD, BASE64 = "as written", "spread", "base64"
MOST_UNPACKED = 256 << 20
"""Bytes of a file that is no text and is unpacked in memory to be looked into: pictures, archives, documents."""


class Sighting(Record, omit_defaults=False):
    """The canary in a corpus.

    Attributes:
        corpus, shard: where. ``place``: column and row of a table, member of an archive; "" for the text itself.
        byte: offset in the unpacked text, or in what ``place`` names.
        how: ``as written``; ``spread``: other case, or something between its digits; ``base64``.
    """

    corpus: str
    shard: str
    place: str
    byte: int
    how: str


class Found(Record, omit_defaults=False):
    """What was found, after reading how much; ``unread``: what could not be read, and why."""

    sightings: tuple[Sighting, ...]
    shards: int
    bytes: int
    unread: tuple[Unread, ...]


Progress = Callable[[int, int, int], None]
"""Told how many shards are done, of how many, and how many bytes."""


class _Part(NamedTuple):
    sightings: list[Sighting]
    bytes: int
    unread: list[Unread]


def find(
    canary: Canary,
    sources: Sequence[str],
    *,
    executor: Executor,
    on_progress: Progress = lambda *_: None,
) -> Found:
    """Every place of ``sources`` (files, folders, globs, addresses) where the canary stands.

    The result is the same whatever the executor's threads do first.

    Raises:
        InputError: there is no such source, or nothing in it can be read.
    """
    parts: list[_Part] = []
    works = []
    for source in sources:
        listing = shards(source)
        works += [executor.submit(_shard, canary, shard) for shard in listing.shards]
        parts += [_left_out(canary, source, gap) for gap in listing.left_out]
    done = 0
    for number, work in enumerate(works, 1):
        parts.append(work.result())
        done += parts[-1].bytes
        on_progress(number, len(works), done)
    sightings = {sighting for part in parts for sighting in part.sightings}
    return Found(
        sightings=tuple(
            sorted(sightings, key=lambda one: (one.corpus, one.shard, one.place, one.byte, one.how))
        ),
        shards=len(works),
        bytes=sum(part.bytes for part in parts),
        unread=tuple(sorted((gap for part in parts for gap in part.unread), key=lambda gap: gap.where)),
    )


def _shard(canary: Canary, shard: Shard) -> _Part:
    if shard.format == "parquet":
        return _table(canary, shard)
    # As running text, whatever it is: fields, attributes and comments are text too.
    part = _Part([], 0, [])
    size = 0
    for batch in read(msgspec.structs.replace(shard, format="txt", column=None)):
        part.unread.extend(gap for gap in batch.unread if gap.bytes)
        pages = buffers(batch.text)
        for number, start in enumerate(batch.starts.tolist()):
            low, high = int(pages.offsets[number]), int(pages.offsets[number + 1])
            for place, how in sightings(pages.data[low:high], canary):
                part.sightings.append(_sighting(shard, "", start + place, how))
            size = max(size, start + high - low)
    return part._replace(bytes=size)


def _table(canary: Canary, shard: Shard) -> _Part:
    import pyarrow as pa  # noqa: PLC0415 - keeps `import lacre` light

    part = _Part([], 0, [])
    size = 0
    try:
        with opened(shard.location) as file:
            for cells in parquet_cells(file, shard.row_groups):
                size += cells.content.size
                for place, how in sightings(cells.content, canary):
                    row = cells.row + int((cells.content[:place] == 0).sum())
                    part.sightings.append(_sighting(shard, f"{cells.column}, row {row}", place, how))
    except (pa.ArrowException, OSError):
        part.unread.append(Unread(where=shard.path, reason="is damaged", bytes=shard.size, incomplete=True))
    return part._replace(bytes=size)


def _left_out(canary: Canary, source: str, gap: Unread) -> _Part:
    """A file that a corpus has no text of: unpacked in memory, where it is a small one on this machine."""
    path = Path(source) if Path(source).is_file() else Path(source, gap.where)
    if not path.is_file() or path.stat().st_size > MOST_UNPACKED:
        return _Part([], 0, [gap])
    part = _Part([], path.stat().st_size, [])
    for piece in pieces(path.read_bytes(), "", Budget()):
        if isinstance(piece, Unopened):
            where = "/".join(filter(None, (gap.where, piece.member)))
            part.unread.append(Unread(where=where, reason=piece.reason, bytes=gap.bytes))
        else:
            for place, how in sightings(np.frombuffer(piece.content, np.uint8), canary):
                part.sightings.append(
                    Sighting(corpus=source, shard=gap.where, place=piece.member, byte=place, how=how)
                )
    return part


def _sighting(shard: Shard, place: str, byte: int, how: str) -> Sighting:
    return Sighting(corpus=shard.corpus, shard=shard.path, place=place, byte=byte, how=how)


def sightings(content: Bytes, canary: Canary, depth: int = 2) -> Iterator[tuple[int, str]]:
    """Offset and form of every canary in ``content``; ``depth``: how many layers of base64 are opened.

    >>> from lacre.release.canary import mint
    >>> canary = mint(UUID(int=0xABCDEF), "Exemplo", "2026-01-31")
    >>> text = "x 00000000-0000-0000-\\n0000-000000ABCDEF".encode()
    >>> list(sightings(np.frombuffer(text, np.uint8), canary))
    [(2, 'spread')]
    """
    number = UUID(canary.uuid).int
    entries = fold_table().entries
    for start, end in digit_runs(content, entries, number).tolist():
        as_written = content[start:end].tobytes() == canary.uuid.encode()
        yield start, WRITTEN if as_written else SPREAD
    if depth == 0:
        return
    for start, end in encoded(content).tolist():
        for plain in from_base64(content[start:end].tobytes()):
            if is_text(plain) and next(sightings(np.frombuffer(plain, np.uint8), canary, depth - 1), None):
                yield start, BASE64
                break
