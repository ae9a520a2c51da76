"""The index of a corpus on disk: what it holds, opened for looking up (SPEC X1).

``manifest.json`` names the segments, each with its SHA-256, and the corpora; it is replaced as a whole, last, so
that a build or an addition that is killed leaves the index as it was. Segments are never written again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from lacre import jsonl
from lacre.corpora.batches import Shard, Unread
from lacre.errors import InputError, IntegrityError
from lacre.overlap.kernel import EVERY, GRAM
from lacre.overlap.sections import open_sections, sha256_of
from lacre.overlap.segments import Packed
from lacre.overlap.winnow import WINDOW, Values, Vocabulary

MANIFEST, SEGMENTS, BUILDING, LOCK = "manifest.json", "segments", "building", "lock"
FORMAT: Literal["lacre-index-2"] = "lacre-index-2"
FORMAT_BEGINS = b'"lacre-index-'
"""How the format is named in the manifest of any version."""
WORDS: Literal["lacre-words-1"] = "lacre-words-1"

Places = npt.NDArray[np.int64]


class FileState(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A local file: its size, when it was last changed, in nanoseconds since 1970, and its SHA-256."""

    size: int
    modified: int
    sha256: str


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A shard as it was indexed.

    Attributes:
        shard: what was read.
        file: the local file it was read from; none for what is not one.
        documents, bytes, words, nulls: what was read of it: documents, UTF-8 bytes, words, documents without text.
        unread: what was not read or only garbled; the weightiest.
        unread_places, unread_bytes: how many places that are in all, and their bytes.
        incomplete: whether it was not read to its end.
    """

    shard: Shard
    file: FileState | None
    documents: int
    bytes: int
    words: int
    nulls: int
    unread: tuple[Unread, ...]
    unread_places: int
    unread_bytes: int
    incomplete: bool


class SegmentFacts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a segment says of itself.

    Attributes:
        gram, window: words in a gram, and neighbouring grams of which one is kept.
        text: the definition of a word.
        size: fingerprints; ``low_bits`` and ``block_bits``: see :mod:`lacre.overlap.segments`.
        blocks: how many there are; ``block_bytes``: of text in each, at most.
        gaps: how often two kept grams stand so many grams apart.
        sources: the shards, in the order in which they were read.
    """

    gram: int
    window: int
    text: str
    size: int
    low_bits: int
    block_bits: int
    blocks: int
    block_bytes: int
    gaps: tuple[int, ...]
    sources: tuple[Source, ...]


class SegmentRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A segment as the manifest names it: its file and its SHA-256, what it takes and what it holds."""

    file: str
    sha256: str
    size: int
    fingerprints: int
    text: int
    words: int
    documents: int
    shards: int


class CorpusRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A corpus that was indexed: as it was named, its text column, and what of it was left out."""

    corpus: str
    column: str | None
    left_out: tuple[Unread, ...]


class Replaced(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A shard that was indexed anew, in a later segment, because its file had changed."""

    segment: str
    source: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an index holds: segments in the order in which they came, corpora, shards that no longer count."""

    format: Literal["lacre-index-2"] = FORMAT
    segments: tuple[SegmentRecord, ...] = ()
    corpora: tuple[CorpusRecord, ...] = ()
    replaced: tuple[Replaced, ...] = ()


class Stretch(msgspec.Struct, frozen=True, order=True):
    """Documents ``first`` to ``last`` of a shard, numbered from 1; the shard is a number in its segment."""

    source: int
    first: int
    last: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment:
    """A segment, mapped into memory.

    Attributes:
        record: as the manifest has it; ``facts``: as the segment has them.
        packed: the fingerprints.
        stretches: rows of (block, source, first document, last document), by block.
        vocabulary: the words that were counted twice or more.
        replaced: numbers of the sources that no longer count.
    """

    record: SegmentRecord
    facts: SegmentFacts
    packed: Packed
    stretches: Places
    vocabulary: Vocabulary
    replaced: frozenset[int]

    def of_blocks(self, blocks: Places) -> list[Stretch]:
        """The stretches of some blocks, without those of sources that no longer count; sorted.

        Raises:
            IntegrityError: there are no such blocks: the segment is damaged.
        """
        if blocks.size and int(blocks.max()) >= self.facts.blocks:
            raise IntegrityError(f"{self.record.file}: is damaged. Build the index again.")
        wanted = np.zeros(self.facts.blocks, np.bool_)
        wanted[blocks] = True
        rows = self.stretches[wanted[self.stretches[:, 0]]]
        return sorted(Stretch(*row) for row in rows[:, 1:].tolist() if row[0] not in self.replaced)


@dataclass(frozen=True, kw_only=True, slots=True)
class Index:
    """An index, opened: its folder, what it holds, its segments."""

    folder: Path
    manifest: Manifest
    segments: tuple[Segment, ...]

    @property
    def gaps(self) -> Places:
        """How often two kept grams stand so many grams apart, shape (WINDOW + 1,)."""
        total = np.zeros(WINDOW + 1, np.int64)
        for segment in self.segments:
            total += np.array(segment.facts.gaps, np.int64)
        return total

    @property
    def words(self) -> int:
        """Words of text."""
        return sum(segment.record.words for segment in self.segments)

    def sources(self) -> Iterator[Source]:
        """The shards that count, in the order of the segments."""
        for segment in self.segments:
            for number, source in enumerate(segment.facts.sources):
                if number not in segment.replaced:
                    yield source

    def frequency(self, hashes: Values) -> Places:
        """How often each word, by its hash, stands in the text, about: one word in eight was counted.

        Words that were counted only once in a segment count for none.
        """
        total = np.zeros(hashes.size, np.int64)
        wanted = hashes | np.uint64(1)
        for segment in self.segments:
            words, counts, _ = segment.vocabulary
            if not words.size:
                continue
            at = np.minimum(np.searchsorted(words, wanted), words.size - 1)
            total += np.where(words[at] == wanted, counts[at], 0).astype(np.int64)
        return total * EVERY


def read_manifest(folder: Path) -> Manifest:
    """What the index in ``folder`` holds.

    Raises:
        InputError: there is no index there, or an unfinished one.
        IntegrityError: the manifest cannot be understood.
    """
    path = folder / MANIFEST
    if not path.is_file():
        if (folder / BUILDING).is_dir():
            raise InputError(
                folder, "the index is not finished", "Run the same `lacre index build` to finish it"
            )
        raise InputError(folder, "there is no index here", "Make one with `lacre index build`")
    content = jsonl.read_bytes(path)
    try:
        return msgspec.json.decode(content, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise IntegrityError(f"{path}: {_fault(content)}. Build the index again.") from None


class _Format(msgspec.Struct, frozen=True):
    """The format of a manifest of any version."""

    format: str


def _fault(content: bytes) -> str:
    """What is wrong with a manifest that cannot be understood."""
    try:
        name = msgspec.json.decode(content, type=_Format).format
    except (msgspec.DecodeError, UnicodeDecodeError):
        return "is damaged"
    if name == FORMAT:
        return "is damaged"
    return f"is of the format {name!r}, made by another version; this lacre reads {FORMAT!r}"


def open_index(folder: Path) -> Index:
    """The index in ``folder``, mapped into memory; nothing is read yet but what its files say of themselves.

    Raises:
        InputError: there is no index there.
        IntegrityError: a file of it is missing, damaged, or made in another way.
    """
    manifest = read_manifest(folder)
    return Index(
        folder=folder,
        manifest=manifest,
        segments=tuple(
            open_segment(
                folder, record, frozenset(r.source for r in manifest.replaced if r.segment == record.file)
            )
            for record in manifest.segments
        ),
    )


def open_segment(folder: Path, record: SegmentRecord, replaced: frozenset[int] = frozenset()) -> Segment:
    """One segment of the index in ``folder``.

    Raises:
        IntegrityError: its file is missing, damaged, or made in another way.
    """
    path = folder / SEGMENTS / record.file
    facts, arrays = open_sections(path, SegmentFacts)
    if (facts.gram, facts.window, facts.text) != (GRAM, WINDOW, WORDS):
        raise IntegrityError(f"{path}: was made in another way than this lacre reads. Build the index again.")
    wanted = {"tails", "stretches", "words", "weights", "heads", "samples"}
    if set(arrays) != wanted or path.stat().st_size != record.size:
        raise IntegrityError(f"{path}: is not what the manifest says. Build the index again.")
    packed = Packed(
        facts.size, facts.low_bits, facts.block_bits, arrays["tails"], arrays["heads"], arrays["samples"]
    )
    stretches = arrays["stretches"].reshape(-1, 4)
    in_order = not stretches.size or (
        0 <= int(stretches[:, 0].min()) <= int(stretches[:, 0].max()) < facts.blocks
    )
    if not packed.fits() or not in_order:
        raise IntegrityError(f"{path}: is damaged. Build the index again.")
    weights = arrays["weights"]
    return Segment(
        record=record,
        facts=facts,
        packed=packed,
        stretches=stretches,
        vocabulary=Vocabulary(arrays["words"], weights >> np.uint64(32), weights & np.uint64(0xFFFFFFFF)),
        replaced=replaced,
    )


def checked(folder: Path) -> Iterator[str]:
    """What is wrong with the files of an index, one line each: other bytes than promised, or out of order.

    Raises:
        InputError, IntegrityError: as :func:`read_manifest`.
    """
    manifest = read_manifest(folder)
    for record in manifest.segments:
        path = folder / SEGMENTS / record.file
        try:
            digest = sha256_of(path)
        except OSError as error:
            yield f"{path}: cannot be read ({error.strerror})"
            continue
        if digest != record.sha256:
            yield f"{path}: its SHA-256 is {digest}, the manifest says {record.sha256}"
            continue
        try:
            segment = open_segment(folder, record)
        except IntegrityError as error:
            yield str(error).rstrip(".")
            continue
        words = segment.vocabulary.words
        if not segment.packed.is_sorted() or (words[1:] <= words[:-1]).any():
            yield f"{path}: is not sorted"


def absence(source: Source) -> str:
    """Why the text of a shard cannot be read again as it was indexed; "" when it can.

    A server is asked for the mark of its file. What is pinned to a revision, and what has no mark, is taken to be
    there until reading it fails.
    """
    if source.file is None:
        return _absence_at_address(source.shard)
    path = Path(source.shard.location)
    try:
        status = path.stat()
        if status.st_size != source.file.size:
            return "changed since it was indexed"
        if status.st_mtime_ns == source.file.modified:
            return ""
        # Touched, or copied: the bytes decide.
        return "" if sha256_of(path) == source.file.sha256 else "changed since it was indexed"
    except OSError as error:
        why = error.strerror or "cannot be read"
        # Indexes of earlier versions hold paths as they were given.
        return (
            why if path.is_absolute() else f"{why}, as seen from {Path.cwd()}: go where the index was built"
        )


def _absence_at_address(shard: Shard) -> str:
    if not shard.mark or shard.location.partition("://")[0] not in ("http", "https", "s3"):
        return ""
    from lacre.corpora.remote import Unreachable, filesystem, look  # noqa: PLC0415 - heavy

    filesystem(shard.location).invalidate_cache()
    try:
        mark = look(shard.location).mark
    except Unreachable as error:
        return str(error).rstrip(".")
    return "" if mark == shard.mark else "changed since it was indexed"


def state_of(shard: Shard) -> FileState | None:
    """The file of a shard; none for what is not a local file, or cannot be read: its reading will say so."""
    path = Path(shard.location)
    try:
        status = path.stat()
        return FileState(size=status.st_size, modified=status.st_mtime_ns, sha256=sha256_of(path))
    except OSError:
        return None


def by_corpus(index: Index) -> dict[str, list[Source]]:
    """The shards that count, by the corpus they belong to."""
    found: dict[str, list[Source]] = {record.corpus: [] for record in index.manifest.corpora}
    for source in index.sources():
        found.setdefault(source.shard.corpus, []).append(source)
    return found


def size_of(records: Sequence[SegmentRecord]) -> int:
    """Bytes that segments take on disk."""
    return sum(record.size for record in records)


class Part(NamedTuple):
    """A part of a shard that is read by itself, and how many documents of the shard come before it."""

    shard: Shard
    before: int


def parts_of(shard: Shard, wanted: Sequence[Stretch]) -> list[Part]:
    """The parts of a shard that must be read for some of its documents: row groups of a Parquet file, else all."""
    if shard.format != "parquet" or "://" in shard.location:
        return [Part(shard, 0)]
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415 - heavy

    try:
        with pq.ParquetFile(shard.location) as file:
            first, last = shard.row_groups or (0, file.num_row_groups)
            rows = [file.metadata.row_group(group).num_rows for group in range(first, last)]
    except (pa.ArrowException, OSError):
        return [Part(shard, 0)]  # for its reading to report
    parts: list[Part] = []
    before = 0
    for group, count in zip(range(first, last), rows, strict=True):
        if any(stretch.first <= before + count and before < stretch.last for stretch in wanted):
            parts.append(Part(msgspec.structs.replace(shard, row_groups=(group, group + 1)), before))
        before += count
    return parts
