"""The items' index: seeds in a small table, and the sequences in which a hit grows to a run.

A *seed* is five words in a row. Of any four neighbouring seeds of an item at least one is in the table, the
most informative, so every run of eight words is found, while phrases that all texts share ("de acordo com o")
are seldom looked up. Variants hold one seed of any nine, which finds every run of thirteen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from lacre.errors import InputError
from lacre.overlap.kernel import (
    C1,
    NEED_RARE,
    NEED_USUAL,
    POSTING_FINAL,
    POSTING_LOOK,
    POSTING_PLACE,
    SEED,
    choose_seeds,
    fill_table,
    lay_out,
)
from lacre.overlap.rarest import Sentence, rarest_sentence
from lacre.overlap.sheets import Presented, Sheets, read_sheets, word_hash
from lacre.overlap.variants import VARIANTS, Changed, changed, lost, sites, unchanged

REVIEW_FROM = NEED_USUAL  # words; the shortest run that is looked for
GPT3_N = 13  # words; Brown et al. 2020, appendix C
LONGEST_ITEM = 32_000  # words, asides included: a place in an item and its flag fit 16 bits
LETTER_BITS = 3.0  # an option letter tells little
TOUCHED_BITS = 12.0  # a word that only wrong encodings make tells much
RARE_SEED_BITS = 34.0  # less than one chance hit in 1e10 words
LEAST_RARE_SEEDS = 4
ENOUGH_BITS = 40.0  # a seed that tells this much is as good as any: one chance hit in 1e12 words


Kind = TypeVar("Kind", bound=np.generic)


class Table(NamedTuple):
    """What the kernel looks up: bitmap, then slots, then postings, then the sequences themselves."""

    shift: np.uint64
    bitmap: npt.NDArray[np.uint64]
    marks: npt.NDArray[np.uint32]
    firsts: npt.NDArray[np.int32]
    postings: npt.NDArray[np.uint64]
    sequence: npt.NDArray[np.uint32]
    base: npt.NDArray[np.uint16]


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemIndex:
    """The index of a list of items.

    Attributes:
        sheets: their words.
        table: what the kernel reads.
        begins: place of the first word of each sequence, rising; ``owners``: the item of each sequence.
        sentences: the rarest sentence of each item, or None where no sentence is long enough.
        untestable: for each item, why it cannot be tested, or "".
    """

    sheets: Sheets
    table: Table
    begins: npt.NDArray[np.int32]
    owners: npt.NDArray[np.int32]
    sentences: tuple[Sentence | None, ...]
    untestable: tuple[str, ...]


class _Layer(NamedTuple):
    """One form of some items: its sequences as the kernel reads them, the seeds' keys and places, the owners."""

    sequence: npt.NDArray[np.uint32]
    base: npt.NDArray[np.uint16]
    keys: npt.NDArray[np.uint64]
    seeds: npt.NDArray[np.int32]
    owners: npt.NDArray[np.int32]


CHUNK = 500  # items laid out at a time, which bounds the memory that building takes


def index_items(
    items: Sequence[Presented],
    *,
    min_words: int,
    min_bits: float,
    rare_min_words: int,
    rarity: Callable[[Sheets], npt.NDArray[np.float32]] | None = None,
) -> ItemIndex:
    """The index of ``items``.

    Items with fewer than ``min_words`` words, or less than ``min_bits`` bits in all, are untestable. The rarest
    sentence has at least ``rare_min_words`` words; ``rarity`` gives what each word tells where that is known better
    than in general.
    """
    sheets = read_sheets(items)
    untestable: list[str] = []
    sentences: list[Sentence | None] = []
    growing = _Growing()
    for first in range(0, len(items), CHUNK):
        last = min(first + CHUNK, len(items))
        part = sheets.part(first, last)
        reasons = [_why_untestable(part, k, min_words, min_bits) for k in range(last - first)]
        weighed = part if rarity is None else replace(part, bits=rarity(part))
        rarest = [
            rarest_sentence(weighed, k, rare_min_words) if not reason else None
            for k, reason in enumerate(reasons)
        ]
        needs = np.array([0 if reason else _need(part, k) for k, reason in enumerate(reasons)], np.int64)
        for layer in _layers(part, needs, rarest):
            growing.add(layer, first)
        shift = int(sheets.word_of_field[sheets.field_of_item[first]])
        sentences += [s and s._replace(first=s.first + shift, last=s.last + shift) for s in rarest]
        untestable += reasons
    table = _table(
        growing.keys.taken(), growing.places.taken(), growing.sequence.taken(), growing.base.taken()
    )
    return ItemIndex(
        sheets=sheets,
        table=table,
        begins=growing.begins.taken(),
        owners=growing.owners.taken(),
        sentences=tuple(sentences),
        untestable=tuple(untestable),
    )


class _Column(Generic[Kind]):
    """An array that grows in place: the system moves its pages instead of copying them."""

    def __init__(self, kind: type[Kind]) -> None:
        self.array: npt.NDArray[Kind] = np.zeros(1 << 12, kind)
        self.size = 0

    def add(self, values: npt.NDArray[Kind]) -> None:
        after = self.size + values.size
        if after > self.array.size:
            self.array.resize(after + (after >> 3), refcheck=False)
        self.array[self.size : after] = values
        self.size = after

    def taken(self) -> npt.NDArray[Kind]:
        """The array, cut to its size; the column is empty afterwards."""
        array, self.array = self.array, np.zeros(0, self.array.dtype)
        array.resize(max(self.size, 1), refcheck=False)
        return array[: self.size] if self.size == 0 else array


class _Growing:
    """The layers of all items, put one behind another as they come."""

    def __init__(self) -> None:
        self.sequence = _Column(np.uint32)
        self.base = _Column(np.uint16)
        self.keys = _Column(np.uint64)
        self.places = _Column(np.int32)
        self.begins = _Column(np.int32)
        self.owners = _Column(np.int32)

    def add(self, layer: _Layer, first_item: int) -> None:
        at = np.int32(self.sequence.size)
        self.begins.add(np.flatnonzero(layer.sequence == 0)[:-1].astype(np.int32) + at + np.int32(1))
        self.keys.add(layer.keys)
        self.places.add(layer.seeds + at)
        self.owners.add(layer.owners + np.int32(first_item))
        self.sequence.add(layer.sequence)
        self.base.add(layer.base)


def _layers(
    sheets: Sheets, needs: npt.NDArray[np.int64], sentences: Sequence[Sentence | None]
) -> Iterator[_Layer]:
    plain = unchanged(sheets)
    yield _layer(sheets, plain, needs, letters=1, window=4, seam=False)
    yield _layer(sheets, plain, needs, letters=0, window=4, seam=True)
    yield _layer(sheets, plain, needs, letters=2, window=9, seam=True)
    ascii_only = np.array([all(f.text.isascii() for f in item.fields) for item in sheets.items], np.bool_)
    beyond = np.where(ascii_only, 0, needs)
    for variant in VARIANTS:
        # A word that is one accented letter ("é", "à") is lost whole: three of thirteen words may be.
        window = 6 if variant is lost else 9
        yield _layer(sheets, changed(sheets, variant), beyond, letters=1, window=window, seam=False)
    yield _site_layer(sheets, needs)
    yield _sentence_layer(sheets, sentences)


def _made(
    sequence: npt.NDArray[np.uint64],
    base: npt.NDArray[np.uint32],
    seeds: npt.NDArray[np.int64],
    owners: npt.NDArray[np.int32],
) -> _Layer:
    shortened = np.maximum((sequence >> np.uint64(32)).astype(np.uint32), 1)
    shortened[sequence == 0] = 0
    return _Layer(
        shortened, base.astype(np.uint16), _seed_keys(sequence, seeds), seeds.astype(np.int32), owners
    )


def _why_untestable(sheets: Sheets, item: int, min_words: int, min_bits: float) -> str:
    first, last = sheets.presented(item)
    if last - first < min_words:
        return f"too short: {last - first} words, {min_words} needed"
    if last - first > LONGEST_ITEM or sheets.words_of(item)[1] - first > LONGEST_ITEM:
        return f"too long: more than {LONGEST_ITEM:,} words"
    total = float(sheets.bits[first:last].sum())
    if last - first < GPT3_N and total < min_bits:
        return f"says too little: {total:.0f} bits in {last - first} words, {min_bits:.0f} needed"
    return ""


def _need(sheets: Sheets, item: int) -> int:
    first, last = sheets.presented(item)
    return min(REVIEW_FROM, last - first)


def _layer(
    sheets: Sheets, text: Changed, needs: npt.NDArray[np.int64], *, letters: int, window: int, seam: bool
) -> _Layer:
    """Sequences and seeds of one form of the items; ``letters`` 0 none, 1 as usual, 2 doubled ("AA")."""
    letter_hashes = np.array(
        [word_hash(f.letter.lower() * max(letters, 1)) if f.letter else 0 for f in sheets.fields], np.uint64
    )
    asides = np.array([field.aside for field in sheets.fields], np.bool_)
    letter_hashes[_outside(sheets, text, asides)] = 0
    room = text.hashes.size + 2 * len(sheets.fields) + len(sheets.items) + 2
    sequence, base = np.empty(room, np.uint64), np.empty(room, np.uint32)
    edges = np.zeros(room, np.uint8)
    size = lay_out(
        sheets.field_of_item,
        text.word_of_field,
        text.hashes,
        text.base,
        letter_hashes,
        asides,
        needs,
        letters > 0,
        sequence,
        base,
        edges,
    )
    sequence, base, edges = sequence[:size], base[:size], edges[:size]
    owners = _owners(sheets, needs, asides)
    weights = _weights(sheets, text, sequence, base, owners)
    chosen = np.empty(size, np.int64)
    made = choose_seeds(sequence, weights, edges, window, seam, ENOUGH_BITS, chosen)
    return _made(sequence, base, chosen[:made], owners)


def _outside(sheets: Sheets, text: Changed, asides: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Fields before the first word of their item or behind the last one presented: options that are images.

    Their letters are left out, so that a seed at either end of a short item is made of its words.
    """
    counts = np.diff(sheets.field_of_item)
    hidden = np.diff(np.concatenate([[0], np.cumsum(asides)])[sheets.field_of_item])
    heads = text.word_of_field[sheets.field_of_item[:-1]]
    ends = text.word_of_field[sheets.field_of_item[1:] - hidden]
    before = text.word_of_field[1:] == np.repeat(heads, counts)
    behind = text.word_of_field[:-1] == np.repeat(ends, counts)
    return np.asarray(before | (behind & ~asides), np.bool_)


def _owners(
    sheets: Sheets, needs: npt.NDArray[np.int64], asides: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int32]:
    """The item of each sequence that ``lay_out`` writes: one for what is presented, one for each aside."""
    owners = []
    for item in np.flatnonzero(needs).tolist():
        first, last = int(sheets.field_of_item[item]), int(sheets.field_of_item[item + 1])
        hidden = int(asides[first:last].sum())
        owners += [item] * (hidden + (1 if hidden < last - first else 0))
    return np.array(owners, np.int32)


def _weights(
    sheets: Sheets,
    text: Changed,
    sequence: npt.NDArray[np.uint64],
    base: npt.NDArray[np.uint32],
    owners: npt.NDArray[np.int32],
) -> npt.NDArray[np.float32]:
    """Information of every place: the word's own; a little for option letters; much for broken encodings."""
    ends = sequence == 0
    number = np.cumsum(ends) - 1
    first_word = sheets.word_of_field[sheets.field_of_item[:-1]]
    owner = owners[np.minimum(number, owners.size - 1)] if owners.size else number
    word = np.minimum(first_word[owner] + (base >> 1), max(sheets.bits.size - 1, 0)) if owners.size else base
    weights = sheets.bits[word].astype(np.float32) if sheets.bits.size else np.zeros(base.size, np.float32)
    weights[(base & 1) == 1] = LETTER_BITS
    if text.touched.any() and sheets.bits.size:
        weights[(sequence != sheets.hashes[word]) & ~ends] = TOUCHED_BITS
    weights[ends] = 0
    return weights


CONTEXT = GPT3_N - 1  # words kept on either side of a site: a run of 13 that covers it fits


def _site_layer(sheets: Sheets, needs: npt.NDArray[np.int64]) -> _Layer:
    """Short sequences around each compound that may be written joined or split."""
    hashes: list[int] = []
    base: list[int] = []
    owners: list[int] = []
    item_of_field = np.repeat(np.arange(len(sheets.items)), np.diff(sheets.field_of_item))
    field_of_word = np.repeat(np.arange(len(sheets.fields)), np.diff(sheets.word_of_field))
    for site in sites(sheets):
        field = int(field_of_word[site.first])
        item = int(item_of_field[field])
        if needs[item] == 0:
            continue
        low = sheets.words_of(item)[0]
        # An aside stands alone, and what is presented ends before it.
        alone = sheets.fields[field].aside
        head, end = (sheets.bounds[field], sheets.bounds[field + 1]) if alone else sheets.presented(item)
        begin, finish = max(head, site.first - CONTEXT), min(end, site.last + 1 + CONTEXT)
        place = [(word - low) << 1 for word in range(begin, finish)]
        at, after = site.first - begin, site.last + 1 - begin
        words = sheets.hashes[begin:finish].tolist()
        hashes += [0, *words[:at], *site.others, *words[after:]]
        base += [int(needs[item]), *place[:at], *_spread(place[at:after], len(site.others)), *place[after:]]
        owners.append(item)
    hashes.append(0)
    base.append(0)
    sequence, places = np.array(hashes, np.uint64), np.array(base, np.uint32)
    weights = np.full(sequence.size, TOUCHED_BITS, np.float32)
    chosen = np.empty(sequence.size, np.int64)
    # Joined, thirteen words are twelve places, so eight seeds: one of them must be in the table.
    no_edges = np.zeros(sequence.size, np.uint8)
    made = choose_seeds(sequence, weights, no_edges, GPT3_N - SEED, False, ENOUGH_BITS, chosen)
    return _made(sequence, places, chosen[:made], np.array(owners, np.int32))


def _spread(places: list[int], count: int) -> list[int]:
    """The places of ``count`` words that stand for those at ``places``: one word for two takes the last."""
    return [places[min(k, len(places) - 1)] if count > 1 else places[-1] for k in range(count)]


def _sentence_layer(sheets: Sheets, sentences: Sequence[Sentence | None]) -> _Layer:
    """The rarest sentence of each item, with the seeds that hardly any other text has."""
    hashes: list[int] = []
    base: list[int] = []
    owners: list[int] = []
    seeds: list[int] = []
    for item, sentence in enumerate(sentences):
        if sentence is None:
            continue
        first = sheets.words_of(item)[0]
        hashes.append(0)
        base.append(NEED_RARE)
        owners.append(item)
        bits = sheets.bits[sentence.first : sentence.last]
        of_seeds = np.convolve(bits, np.ones(SEED, np.float32), "valid")
        order = np.argsort(-of_seeds, kind="stable")
        for rank, seed in enumerate(order.tolist()):
            if rank < LEAST_RARE_SEEDS or of_seeds[seed] >= RARE_SEED_BITS:
                seeds.append(len(hashes) + seed)
        hashes += sheets.hashes[sentence.first : sentence.last].tolist()
        base += [(word - first) << 1 for word in range(sentence.first, sentence.last)]
    hashes.append(0)
    base.append(0)
    return _made(
        np.array(hashes, np.uint64),
        np.array(base, np.uint32),
        np.array(sorted(seeds), np.int64),
        np.array(owners, np.int32),
    )


def _seed_keys(sequence: npt.NDArray[np.uint64], seeds: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """The kernel's hash of the five words at each seed."""
    keys = sequence[seeds + SEED - 1].copy()
    for k in range(SEED - 1):
        by = np.uint64(13 * (SEED - 1 - k))
        words = sequence[seeds + k]
        keys ^= words << by | words >> np.uint64(64) - by
    keys *= C1
    return keys


def _postings(
    places: npt.NDArray[np.int32], sequence: npt.NDArray[np.uint32], base: npt.NDArray[np.uint16]
) -> npt.NDArray[np.uint64]:
    """What the kernel reads of each seed; see ``POSTING_PLACE`` there.

    Raises:
        InputError: there are more words in all forms of the items than places can be told.
    """
    if sequence.size > int(POSTING_PLACE):
        raise InputError(
            "the items", f"{sequence.size:,} words in all their forms are too many", "Vet them in parts"
        )
    marks = np.flatnonzero(sequence == 0)
    needs = base[marks[np.searchsorted(marks, places) - 1]]
    covered = (base[places + SEED - 1] >> 1).astype(np.int32) - (base[places] >> 1) + 1
    looks = (needs != NEED_USUAL) | (covered >= NEED_USUAL)
    before = sequence[places - 1] >> np.uint32(16)
    behind = sequence[places + SEED] >> np.uint32(16)
    postings: npt.NDArray[np.uint64] = places.astype(np.uint64) | looks * POSTING_LOOK
    postings |= before.astype(np.uint64) << np.uint64(32) | behind.astype(np.uint64) << np.uint64(48)
    return postings


def _table(
    keys: npt.NDArray[np.uint64],
    places: npt.NDArray[np.int32],
    sequence: npt.NDArray[np.uint32],
    base: npt.NDArray[np.uint16],
) -> Table:
    order = np.argsort(keys, kind="stable")  # places rise already, and stay in order within a key
    keys = keys[order]
    postings = _postings(places[order], sequence, base)
    del order
    last = np.ones(keys.size, np.bool_)
    last[:-1] = keys[1:] != keys[:-1]
    postings[last] |= POSTING_FINAL
    distinct = int(last.sum())
    # Ten to twenty bits a key, two of them set: some three words in a hundred of other texts pass.
    cells = max(10, (10 * distinct).bit_length() - 6)
    shift = np.uint64(64 - cells)
    bitmap = np.zeros(2**cells, np.uint64)
    slots = 2 ** max(4, (2 * distinct).bit_length())
    marks, firsts = np.zeros(slots, np.uint32), np.zeros(slots, np.int32)
    fill_table(keys, shift, bitmap, marks, firsts)
    return Table(shift, bitmap, marks, firsts, postings, sequence, base)
