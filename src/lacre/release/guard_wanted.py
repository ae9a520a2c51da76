"""Private items made ready to be looked for: their words without what is public already, nonces, images, names."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lacre.overlap.index import REVIEW_FROM, ItemIndex, index_items
from lacre.overlap.kernel import PAD, SEED
from lacre.overlap.runs import Buffers, Scratch, WordRun, word_runs
from lacre.overlap.sheets import Presented, Sheets, word_hash
from lacre.registry.items import Candidate
from lacre.release.guard_watch import Exclusion, Watch
from lacre.release.survey import Ids, WordTable, id_table, short_runs, word_table
from lacre.release.survey_kernel import Places, Words
from lacre.text import words
from lacre.vetting.presented import presented

LEAST_WHOLE = 3
"""Words of the shortest item that is looked for; one of fewer would stand in any text."""

COPY_WORDS, COPY_SHARE = 16, 0.95
"""From how many words on, and how much of a private item, a public item that holds it is its copy, not a quotation."""

MAIL = re.compile(rb"[A-Za-z0-9._%+-]+@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,24}(?![A-Za-z0-9])")
CPF = re.compile(rb"\d{3}\.?\d{3}\.?\d{3}-?\d{2}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What is looked for.

    Attributes:
        index: the items' own words, declared passages left out.
        live: for each item, how many of the runs of eight words that begin before each word are secret.
        table: short items and names; ``owners``: the item of each, or None for a name.
        ids: of the items; ``short_ids``: those too short to stand out in running text.
        nonces: nonce -> item; ``beginnings``: their first eight bytes, sorted.
        images: SHA-256 -> item.
        public: addresses and numbers that may go out.
        excluded: what is not looked for, and why. ``unsearched``: items too short to be looked for.
        unsearched_names: names of one word, which would stand in any text.
    """

    index: ItemIndex
    live: tuple[Places, ...]
    table: WordTable
    owners: tuple[str | None, ...]
    ids: Ids
    short_ids: frozenset[str]
    nonces: dict[bytes, str]
    beginnings: Words
    images: dict[str, str]
    public: frozenset[bytes]
    excluded: tuple[Exclusion, ...]
    unsearched: tuple[str, ...]
    unsearched_names: int

    def is_secret(self, run: WordRun) -> bool:
        """Whether a run holds eight words in a row, or a whole shorter item, that are not public already."""
        live = self.live[run.item]
        need = _need(self.index.sheets, run.item, run.first)
        return run.last - run.first >= need and bool(live[run.last - need + 1] > live[run.first])

    def is_short(self, item: int) -> bool:
        """Whether an item is looked for whole, for it has fewer than eight words."""
        first, last = self.index.sheets.presented(item)
        return last - first < REVIEW_FROM


def _need(sheets: Sheets, item: int, first: int) -> int:
    """How many words in a row from a word on are a leak: eight, or all that a reader sees of a shorter item."""
    low, high = sheets.presented(item)
    return REVIEW_FROM if first >= high - low else min(REVIEW_FROM, high - low)


def wanted(watch: Watch) -> Wanted:
    """What is looked for on behalf of ``watch``."""
    items = [own(Candidate(id=sealed.item.id, payload=sealed.item.payload)) for sealed in watch.items]
    # Low numbers of words and bits: what is short is looked for whole. No sentence is aligned.
    index = index_items(items, min_words=SEED, min_bits=0.0, rare_min_words=1 << 30)
    excluded = _Excluded(watch, index)
    short, unsearched = _short(index.sheets)
    names = [_hashes(name) for name in watch.reviewers]
    many = [name for name in names if name.size > 1]
    table = word_table([*(sequence for _, sequence in short), *many])
    held = _held(excluded.texts, table)
    owners = [
        None if number < len(short) and number in held else items[item].item
        for number, (item, _) in enumerate(short)
    ]
    ids = [sealed.item.id for sealed in watch.items]
    nonces = {bytes.fromhex(sealed.nonce): sealed.item.id for sealed in watch.items}
    return Wanted(
        index=index,
        live=tuple(excluded.live),
        table=word_table(
            [sequence for (_, sequence), owner in zip(short, owners, strict=True) if owner is not None]
            + [name for number, name in enumerate(many, len(short)) if number not in held]
        ),
        owners=(
            *(owner for owner in owners if owner is not None),
            *(None for number in range(len(short), len(short) + len(many)) if number not in held),
        ),
        ids=id_table(ids),
        short_ids=frozenset(id for id in ids if len(id) < 4),
        nonces=nonces,
        beginnings=np.unique(np.array([int.from_bytes(nonce[:8], "little") for nonce in nonces], np.uint64)),
        images={
            image.sha256: sealed.item.id for sealed in watch.items for image in sealed.item.payload.images
        },
        public=_public(watch, excluded.texts),
        excluded=tuple(dict.fromkeys(excluded.listed)),
        unsearched=unsearched,
        unsearched_names=sum(name.size == 1 for name in names),
    )


def own(item: Candidate) -> Presented:
    """An item without its declared passage: its own words."""
    whole = presented(item)
    return Presented(item=whole.item, fields=tuple(field for field in whole.fields if field.own))


def _hashes(text: str) -> Words:
    return np.array([word_hash(word.folded) for word in words(text)], np.uint64)


def _short(sheets: Sheets) -> tuple[list[tuple[int, Words]], tuple[str, ...]]:
    """Items too short for the index, each with its words and with its letters and words; and those shorter still."""
    found: list[tuple[int, Words]] = []
    unsearched = []
    for item, shown in enumerate(sheets.items):
        first, last = sheets.presented(item)
        if last - first >= SEED:
            continue
        if last - first < LEAST_WHOLE:
            unsearched.append(shown.item)
            continue
        found.append((item, sheets.hashes[first:last]))
        lettered = " ".join(f"{field.letter or ''} {field.text}" for field in shown.fields if not field.aside)
        if any(field.letter for field in shown.fields):
            found.append((item, _hashes(lettered)))
    return found, tuple(unsearched)


class _Excluded:
    """Finds what of private items is public already."""

    def __init__(self, watch: Watch, index: ItemIndex) -> None:
        self.index = index
        self.listed: list[Exclusion] = []
        self.texts = [text for item in watch.published for text in _texts(item)]
        sheets = index.sheets
        sizes = [sheets.words_of(item)[1] - sheets.words_of(item)[0] for item in range(len(sheets.items))]
        # Words that no run may count, and runs of eight, by their first word, that stand in public whole.
        self.out = [np.zeros(size, np.bool_) for size in sizes]
        self.dead = [np.zeros(size, np.bool_) for size in sizes]
        self._passages(watch)
        self._boilerplate(watch.phrases)
        self._excused(watch)
        self._published(watch.published)
        self.live = [self._live(item) for item in range(len(sizes))]

    def _list(self, item: int, kind: str, source: str, first: int, last: int) -> None:
        name = self.index.sheets.items[item].item
        self.listed.append(Exclusion(item=name, kind=kind, source=source, first=first, last=last))

    def _passages(self, watch: Watch) -> None:
        for sealed in watch.items:
            passage = sealed.item.payload.passage
            if passage is not None and passage.source is not None:
                self.listed.append(Exclusion(item=sealed.item.id, kind="passage", source=passage.source))

    def _boilerplate(self, phrases: Sequence[str]) -> None:
        table = word_table([_hashes(phrase) for phrase in phrases])
        for item in range(len(self.out)):
            low, high = self.index.sheets.words_of(item)
            own = self.index.sheets.hashes[low:high]
            for number in sorted(short_runs(own, table)):
                phrase = _hashes(phrases[number])
                for first in _places(own, phrase):
                    self.out[item][first : first + phrase.size] = True
                    self._list(item, "boilerplate", phrases[number], first, first + phrase.size)

    def _excused(self, watch: Watch) -> None:
        commitments = {sealed.item.id: (k, sealed.commitment) for k, sealed in enumerate(watch.items)}
        for one in watch.excused:
            item, commitment = commitments.get(one.item, (-1, ""))
            if commitment == one.commitment:
                self.out[item][one.first : one.last] = True
                self._list(item, "excused", one.who, one.first, one.last)

    def _published(self, published: Iterable[Candidate]) -> None:
        scratch = Scratch.make()
        for public in published:
            for text in _texts(public):
                content = np.frombuffer(text, np.uint8)
                pages = Buffers(content, np.array([0, content.size], np.int64))
                for item, runs in _by_item(word_runs(self.index, pages, scratch).runs).items():
                    if self._is_copy(item, runs):
                        continue
                    for run in runs:
                        need = _need(self.index.sheets, item, run.first)
                        self.dead[item][run.first : max(run.first, run.last - need + 1)] = True
                        self._list(item, "published", public.id, run.first, run.last)

    def _is_copy(self, item: int, runs: Sequence[WordRun]) -> bool:
        """Whether a public item holds the whole of a private one: that is a leak, not something both quote."""
        low, high = self.index.sheets.presented(item)
        seen = np.zeros(self.out[item].size, np.bool_)
        for run in runs:
            seen[run.first : run.last] = True
        return high - low >= COPY_WORDS and bool(seen[: high - low].mean() >= COPY_SHARE)

    def _live(self, item: int) -> Places:
        """How many runs that begin before each word are secret; one more than there are words."""
        low, high = self.index.sheets.presented(item)
        out = np.concatenate([[0], np.cumsum(self.out[item])])
        clear = np.zeros(self.out[item].size, np.bool_)
        for first, last, need in (
            (0, high - low, max(1, _need(self.index.sheets, item, 0))),
            (high - low, clear.size, REVIEW_FROM),
        ):
            # A run may go on past what a reader sees only where the two are one sequence, which they never are.
            stop = last - need + 1
            if stop > first:
                clear[first:stop] = out[first + need : last + 1] == out[first:stop]
        return np.concatenate([[0], np.cumsum(clear & ~self.dead[item])]).astype(np.int64)


def _by_item(runs: Iterable[WordRun]) -> dict[int, list[WordRun]]:
    found: dict[int, list[WordRun]] = defaultdict(list)
    for run in runs:
        found[run.item].append(run)
    return found


def _places(whole: Words, part: Words) -> Iterator[int]:
    for place in np.flatnonzero(whole[: whole.size - part.size + 1] == part[0]).tolist():
        if (whole[place : place + part.size] == part).all():
            yield place


def _texts(item: Candidate) -> tuple[bytes, bytes]:
    """A public item as it may be printed: without and with the letters of its options."""
    fields = presented(item).fields
    plain = "\n".join(field.text for field in fields)
    lettered = "\n".join(f"{field.letter}) {field.text}" if field.letter else field.text for field in fields)
    return plain.encode("utf-8", "replace"), lettered.encode("utf-8", "replace")


def _held(texts: Iterable[bytes], table: WordTable) -> frozenset[int]:
    """The numbers of the sequences that stand in public texts."""
    found: set[int] = set()
    if not table.firsts.size:
        return frozenset()
    none = index_items([], min_words=SEED, min_bits=0.0, rare_min_words=1 << 30)
    scratch = Scratch.make()
    for text in texts:
        content = np.frombuffer(text, np.uint8)
        read = word_runs(none, Buffers(content, np.array([0, content.size], np.int64)), scratch).words
        found |= short_runs(scratch.words[0][PAD : PAD + read], table)
    return frozenset(found)


def _public(watch: Watch, texts: Iterable[bytes]) -> frozenset[bytes]:
    """Addresses and numbers of people that stand in public items or are contacts."""
    said = [match.lower() for text in texts for match in (*MAIL.findall(text), *CPF.findall(text))]
    return frozenset([*said, *(contact.lower().encode() for contact in watch.rules.contacts)])


def image_sha256(content: bytes) -> str:
    """The SHA-256 of a picture's bytes, as an item gives it."""
    return hashlib.sha256(content).hexdigest()
