"""Segments of a corpus's index: sorted fingerprints, packed, in which a gram is found in a few steps.

A fingerprint's hash is cut in two. The high bits say in which of some 2^k *buckets* it belongs; buckets and
fingerprints are written in unary, a one for each fingerprint and a zero to close each bucket (``heads``). The low
bits, and the number of the block, are written as they are, in as many bits as they need (``tails``). ``samples``
has the place in ``heads`` of every 128th bucket. All in all some 30 bits a fingerprint, however many there are:
what the larger segment spends on block numbers it saves on hashes (Elias 1974, Fano 1971).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lacre.overlap.kernel import (
    BLOCK_BITS,
    HASH_BITS,
    SAMPLE,
    looked_up,
    packed,
    unpacked_part,
)
from lacre.overlap.winnow import PART_BITS, PARTS, Run, Values

_PADDING = 4  # eights behind the unary code, so that a search for a bucket never leaves it


@dataclass(kw_only=True)
class Packing:
    """Runs on the way to a segment: ``tails`` must be taken to its end, then ``heads`` and ``samples`` are there.

    Attributes:
        runs: what is packed, with the number that the first block of each has in the segment.
        blocks: how many blocks there are in all.
        size: distinct fingerprints so far.
    """

    runs: Sequence[tuple[Run, int]]
    blocks: int
    size: int = 0
    low_bits: int = field(init=False)
    block_bits: int = field(init=False)
    heads: Values = field(init=False)
    samples: Values = field(init=False)

    def __post_init__(self) -> None:
        self._sized(sum(run.values.size for run, _ in self.runs))

    def _sized(self, total: int) -> None:
        """Make room for ``total`` fingerprints, or fewer."""
        bucket_bits = max(PART_BITS, total.bit_length() - 1)
        self.low_bits = HASH_BITS - bucket_bits
        self.block_bits = max(1, (self.blocks - 1).bit_length())
        buckets = 1 << bucket_bits
        self.heads = np.zeros((total + buckets >> 6) + 1 + _PADDING, np.uint64)
        self.samples = np.zeros(buckets // SAMPLE + 1, np.uint64)

    def tails(self) -> Iterator[Values]:
        """The low bits of all fingerprints, in pieces."""
        width = self.low_bits + self.block_bits
        buckets = 1 << HASH_BITS - self.low_bits
        carried, bit, sampled = np.uint64(0), 0, 0
        for part in range(PARTS):
            values = self._part(part)
            room = np.zeros((values.size * width + bit >> 6) + 2, np.uint64)
            room[0] = carried
            end, sampled, made = packed(
                values,
                self.low_bits,
                self.block_bits,
                room,
                bit,
                self.heads,
                self.size,
                sampled,
                self.samples,
            )
            self.size += made
            carried, bit = room[end >> 6], end & 63
            yield room[: end >> 6]
        yield np.array([carried, 0], np.uint64)
        later = np.arange(sampled, buckets // SAMPLE + 1, dtype=np.int64)
        self.samples[later] = (later * SAMPLE + self.size).astype(np.uint64)
        self.heads = self.heads[: (self.size + buckets >> 6) + 1 + _PADDING]

    def _part(self, part: int) -> Values:
        """One part of all runs, sorted; packing drops what a block has twice."""
        nothing = np.zeros(0, np.uint64)
        pieces = [nothing]
        for run, base in self.runs:
            bounds = run.starts[:, part : part + 2].tolist()
            own = np.concatenate([nothing, *(run.values[first:last] for first, last in bounds)])
            pieces.append(own + np.uint64(base) if base else own)
        values = np.concatenate(pieces)
        values.sort()
        return values


class Hits(NamedTuple):
    """Which of the grams that were looked up stand in which block: pairs, in the order of the grams."""

    which: npt.NDArray[np.int64]
    blocks: npt.NDArray[np.int64]


class Packed(NamedTuple):
    """The fingerprints of a segment; see the module for what the arrays hold.

    Attributes:
        size: how many fingerprints there are.
        low_bits, block_bits: of each in ``tails``.
    """

    size: int
    low_bits: int
    block_bits: int
    tails: Values
    heads: Values
    samples: Values

    def fits(self) -> bool:
        """Whether the arrays are as long as ``size`` and the bits say."""
        buckets = 1 << HASH_BITS - self.low_bits
        return (
            0 < self.low_bits <= HASH_BITS - PART_BITS
            and 0 < self.block_bits <= BLOCK_BITS
            and self.tails.size >= (self.size * (self.low_bits + self.block_bits) >> 6) + 2
            and self.heads.size >= (self.size + buckets >> 6) + 1 + _PADDING
            and self.samples.size == buckets // SAMPLE + 1
        )

    def look_up(self, hashes: Values) -> Hits:
        """The blocks in which each of ``hashes`` stands; these must rise, with zeros for the block."""
        room = max(1 << 12, 2 * hashes.size)
        while True:
            which, blocks = np.empty(room, np.int64), np.empty(room, np.int64)
            made = looked_up(
                hashes,
                self.heads,
                self.samples,
                self.tails,
                self.size,
                self.low_bits,
                self.block_bits,
                which,
                blocks,
            )
            if made <= room:
                return Hits(which[:made], blocks[:made])
            room = made

    def values(self, at_once: int = 1 << 20) -> Iterator[Values]:
        """All fingerprints as they were before they were packed, in pieces, in the order in which they stand."""
        place = 0
        for first in range(0, self.size, at_once):
            out = np.empty(min(at_once, self.size - first), np.uint64)
            place = unpacked_part(
                self.heads, self.tails, first, out.size, place, self.low_bits, self.block_bits, out
            )
            yield out

    def is_sorted(self) -> bool:
        """Whether the unary code holds as many fingerprints as it should, and every one is larger than the last."""
        if int(np.bitwise_count(self.heads).sum()) != self.size:
            return False
        last = -1
        for values in self.values():
            if int(values[0]) <= last or (values[1:] <= values[:-1]).any():
                return False
            last = int(values[-1])
        return True
