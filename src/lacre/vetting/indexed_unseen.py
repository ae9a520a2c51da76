"""What an index alone says of text that cannot be read again: that pieces of an item stand in a block, and no more.

A block holds text of several documents, and of several files where these are small. Of a gram the index says in which
block it stands: neither where, nor in which document. One gram is eight words in a row; whether two of them stand side
by side, or in two files, nobody can tell. So nothing drops by an index alone, and where one of several files may hold
the text, all of them are named.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lacre.corpora.indexing import Segment
from lacre.overlap.index import ItemIndex
from lacre.overlap.kernel import GRAM
from lacre.overlap.runs import item_words
from lacre.overlap.winnow import ItemGrams
from lacre.vetting.evidence import NOT_AT_HAND, DocumentKey, Excerpt, Place

NAMED = 5  # files named where one of several may hold a text; the others are counted
KEPT = 20  # stretches of an item that are told, the longest


class Gone(NamedTuple):
    """A shard that could not be read again: its number in its segment, the grams met in its blocks, those blocks."""

    segment: Segment
    source: int
    which: npt.NDArray[np.int64]
    blocks: npt.NDArray[np.int64]


class _Block(NamedTuple):
    """A block that holds text of shards that are gone."""

    segment: Segment
    number: int
    gone: tuple[int, ...]
    grams: tuple[int, ...]


class _Chain(NamedTuple):
    """Words of an item, [first, last), that are covered by grams met in a block."""

    first: int
    last: int
    block: _Block


def unseen(index: ItemIndex, grams: ItemGrams, gone: Sequence[Gone]) -> dict[int, list[Place]]:
    """For each item, the stretches of its words of which pieces were met in blocks of shards that are gone.

    A stretch that lies in a longer one is not told beside it.
    """
    chains: dict[int, list[_Chain]] = {}
    order = np.argsort(grams.which, kind="stable")
    bounds = np.searchsorted(grams.which[order], np.arange(grams.hashes.size + 1))
    for block in _blocks(gone):
        places = np.concatenate([order[bounds[gram] : bounds[gram + 1]] for gram in block.grams])
        for item, spans in _pieces(index, grams.places[places]).items():
            chains.setdefault(item, []).extend(_Chain(low, high, block) for low, high in _chained(spans))
    return {item: [_place(index, item, one) for one in _longest(chains[item])] for item in sorted(chains)}


def _blocks(gone: Sequence[Gone]) -> list[_Block]:
    """The blocks of the shards that are gone, in their order, each once, with all grams met in them."""
    sources: dict[tuple[str, int], list[int]] = {}
    grams: dict[tuple[str, int], set[int]] = {}
    segments = {one.segment.record.file: one.segment for one in gone}
    for one in gone:
        for gram, block in zip(one.which.tolist(), one.blocks.tolist(), strict=True):
            key = one.segment.record.file, block
            grams.setdefault(key, set()).add(gram)
            if one.source not in sources.setdefault(key, []):
                sources[key].append(one.source)
    return [
        _Block(segments[key[0]], key[1], tuple(sorted(sources[key])), tuple(sorted(grams[key])))
        for key in sorted(grams)
    ]


def _pieces(index: ItemIndex, places: npt.NDArray[np.int64]) -> dict[int, set[tuple[int, int]]]:
    """The words of each item that grams at these places of its sequences cover; those without a letter never count."""
    owners = index.owners[np.searchsorted(index.begins, places, side="right") - 1]
    first, last = item_words(index, places, np.full(places.size, GRAM, np.int64))
    pieces: dict[int, set[tuple[int, int]]] = {}
    for item, low, high in zip(owners.tolist(), first.tolist(), last.tolist(), strict=True):
        head = index.sheets.words_of(item)[0]
        if low < high and index.sheets.lettered[head + low : head + high].any():
            pieces.setdefault(item, set()).add((low, high))
    return pieces


def _chained(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Overlapping [first, last) spans made one.

    >>> _chained({(0, 8), (3, 11), (20, 28)})
    [(0, 11), (20, 28)]
    """
    chains: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if chains and low < chains[-1][1]:
            chains[-1] = (chains[-1][0], max(chains[-1][1], high))
        else:
            chains.append((low, high))
    return chains


def _longest(chains: Sequence[_Chain]) -> list[_Chain]:
    """The longest chains, none of them inside another."""
    kept: list[_Chain] = []
    for one in sorted(chains, key=lambda chain: (chain.first - chain.last, chain.first)):
        if not any(other.first <= one.first and one.last <= other.last for other in kept):
            kept.append(one)
    return kept[:KEPT]


def _place(index: ItemIndex, item: int, chain: _Chain) -> Place:
    """A place of which nothing is known but words of the item, and which files may hold it."""
    block = chain.block
    shard, document = _where(block)
    low, high = index.sheets.presented(item)
    size = max(1, high - low)
    # No more is sure than that one gram stands there.
    sure = min(size, GRAM, chain.last - chain.first)
    return Place(
        item=item,
        sentence=False,
        shard=shard,
        document=document,
        # Documents have numbers from 1: this is none of them.
        key=DocumentKey(block.segment.record.file, 0, -1 - block.number),
        start=0,
        end=0,
        first=chain.first,
        last=chain.last,
        score=1.0,
        coverage=round(sure / size, 4),
        excerpt=Excerpt("", NOT_AT_HAND, ""),
        around=b"",
        near=((chain.first, chain.last),),
        at_hand=False,
    )


def _where(block: _Block) -> tuple[str, str]:
    """The file that holds the text of a block, and the document in it, as far as that is known."""
    rows = block.segment.stretches[block.segment.stretches[:, 0] == block.number, 1:].tolist()
    names = sorted({block.segment.facts.sources[number].shard.path for number in block.gone})
    beside = len({number for number, _, _ in rows} - set(block.gone))
    if len(block.gone) == 1 and not beside:
        (source, first, last), *_ = rows
        if block.segment.facts.sources[source].documents == 1:
            return names[0], names[0]
        return names[0], f"{first:,}" if first == last else f"one of {first:,} to {last:,}"
    said = names[0] if len(names) == 1 else f"one of these {len(names):,} files: {', '.join(names[:NAMED])}"
    if len(names) > NAMED:
        said += f" and {len(names) - NAMED:,} more"
    if beside:
        # They were read again, or no longer count: what they hold is told by itself, or of no interest.
        said += f"; or {'a file' if beside == 1 else f'one of {beside:,} files'} indexed beside it"
    return said, said
