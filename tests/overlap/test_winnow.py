"""Winnowed fingerprints: what the definition says, and every run of ten words found in whatever stands around it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.overlap.building import FILLER, folded, index_of, item, made_up

from lacre.overlap.kernel import BLOCK_BITS, EVERY, GRAM, STRETCH
from lacre.overlap.sheets import word_hash
from lacre.overlap.variants import VARIANTS
from lacre.overlap.winnow import (
    REACH,
    WINDOW,
    Fingerprints,
    Values,
    Vocabulary,
    Winnow,
    added,
    item_grams,
    reach,
    sentence_reach,
)

_C1 = 0xD6E8FEB86659FD93
TEXTS = st.text(
    st.one_of(st.sampled_from("aeA1 -\n\t.\u00ad\u00a0\u0301ﬁ½Ç?"), st.characters(exclude_categories=["Cs"])),
    max_size=200,
)


def kept(*texts: str, block: int = 0) -> Fingerprints:
    """What the winnow keeps of documents."""
    winnow = Winnow()
    winnow.add(pa.array(texts, pa.large_string()), np.arange(1, len(texts) + 1), block)
    return winnow.taken()


def values(found: Fingerprints) -> Values:
    """All fingerprints, sorted."""
    return np.sort(np.concatenate([np.zeros(0, np.uint64), *(run.values for run in found.runs)]))


def hashes(values: Values) -> set[int]:
    """The hashes alone, as numbers."""
    return {value >> BLOCK_BITS for value in values.tolist()}


def gram_hash(words: Sequence[str]) -> int:
    """The definition, in plain Python: a polynomial in 32 bits of each word's hash, then mixed."""
    h = 0
    for word in words:
        h = (h * _C1 + max(word_hash(word) >> 32, 1)) % 2**64
    h ^= h >> 32
    h = h * _C1 % 2**64
    return h ^ h >> 29


def by_definition(text: str) -> list[tuple[int, int]]:
    """The fingerprints of a document, with their places: the least of each window, the last of equals, once."""
    words = folded(text)
    grams = [gram_hash(words[k : k + GRAM]) for k in range(len(words) - GRAM + 1)]
    places: list[int] = []
    for first in range(max(1, len(grams) - WINDOW + 1) if grams else 0):
        among = range(first, min(first + WINDOW, len(grams)))
        least = min(among, key=lambda k: (grams[k], -k))
        if not places or places[-1] != least:
            places.append(least)
    return [(grams[k] >> BLOCK_BITS, k) for k in places]


@pytest.mark.untraced
@given(st.lists(st.one_of(TEXTS, st.lists(st.sampled_from("abc"), max_size=40).map(" ".join)), max_size=4))
@settings(deadline=None, max_examples=60)
def test_the_winnow_keeps_what_the_definition_says(texts: list[str]) -> None:
    places = [by_definition(text) for text in texts]
    found = kept(*texts)
    assert [value >> BLOCK_BITS for value in values(found).tolist()] == sorted(
        value for of_text in places for value, _ in of_text
    )
    gaps = Counter(b - a for of_text in places for (_, a), (_, b) in pairwise(of_text))
    assert found.gaps.tolist() == [gaps[k] for k in range(WINDOW + 1)]


@pytest.mark.untraced
@given(
    seed=st.integers(0, 2**32),
    size=st.integers(REACH, 40),
    around=st.tuples(st.integers(0, 60), st.integers(0, 60)),
)
@settings(deadline=None, max_examples=200)
def test_every_run_of_ten_words_is_found_whatever_stands_around_it(
    seed: int, size: int, around: tuple[int, int]
) -> None:
    chance = random.Random(seed)
    # Few different words, so that grams repeat and tie.
    vocabulary = made_up(chance, chance.choice([1, 2, 5, 500]))
    words = chance.choices(vocabulary, k=60)
    first = chance.randint(0, 60 - size)
    run = words[first : first + size]
    before, after = (chance.choices(chance.choice([FILLER, vocabulary]), k=count) for count in around)
    found = hashes(values(kept(" ".join([*before, *run, *after]))))
    grams = item_grams(index_of(item(" ".join(words))).table)
    of_run = {gram_hash(folded(" ".join(run[k : k + GRAM]))) >> BLOCK_BITS for k in range(size - GRAM + 1)}
    assert of_run <= hashes(grams.hashes)
    assert found & of_run


@given(seed=st.integers(0, 2**32), first=st.integers(0, 17), which=st.integers(0, len(VARIANTS) - 1))
@settings(deadline=None, max_examples=60)
def test_thirteen_words_of_an_item_are_found_in_every_harmless_form(
    seed: int, first: int, which: int
) -> None:
    chance = random.Random(seed)
    words = made_up(chance, 30)
    grams = hashes(item_grams(index_of(item(" ".join(words))).table).hashes)
    changed = "".join(VARIANTS[which](c) if c > "\x7f" else c for c in " ".join(words[first : first + 13]))
    text = " ".join([*chance.choices(FILLER, k=9), changed, *chance.choices(FILLER, k=9)])
    assert hashes(values(kept(text))) & grams


def test_grams_of_items_do_not_reach_from_one_text_into_another() -> None:
    shown = item("um dois três quatro cinco", asides=["seis sete oito nove dez onze"])
    assert item_grams(index_of(shown).table).hashes.size == 0


def test_option_letters_and_their_absence_are_looked_up() -> None:
    shown = item("Qual destas aves canta", ["o sabiá preto", "a arara azul"])
    grams = hashes(item_grams(index_of(shown).table).hashes)
    for text in (
        "Qual destas aves canta A) o sabiá preto B) a arara azul",
        "Qual destas aves canta o sabiá preto a arara azul",
        "Qual destas aves canta AA o sabiá preto BB a arara azul",
    ):
        assert hashes(values(kept(text))) <= grams
        assert values(kept(text)).size


def test_the_low_bits_hold_the_block() -> None:
    found = values(kept(" ".join(made_up(random.Random(1), 50)), block=77))
    assert found.size > 10
    assert {value & (1 << BLOCK_BITS) - 1 for value in found.tolist()} == {77}


def test_words_are_counted_with_the_documents_they_stand_in_over_batches() -> None:
    winnow = Winnow()
    # A long document comes in two batches, and counts once.
    for text, number in (("a bola a rede", 1), ("a bola", 1), ("a rede", 2)):
        winnow.add(pa.array([text], pa.large_string()), np.array([number]), 0)
    words, counts, documents = winnow.taken().vocabulary
    found = {
        name: (int(counts[at]), int(documents[at]))
        for name in ("a", "bola", "rede")
        for at in np.flatnonzero(words == np.uint64(word_hash(name) | 1)).tolist()
    }
    assert found == {"a": (4, 2), "bola": (2, 1), "rede": (2, 2)}
    assert values(winnow.taken()).size == 0, "the winnow is empty afterwards"


@pytest.mark.untraced
def test_one_stretch_of_words_in_eight_is_counted_and_the_table_grows_with_them() -> None:
    size = 600_000 // (EVERY * STRETCH) * EVERY * STRETCH
    text = " ".join(f"{k}" for k in range(size))
    once, twice = kept(text), kept(text, text)
    assert once.vocabulary.words.size == twice.vocabulary.words.size == size // EVERY > 1 << 16
    assert set(once.vocabulary.counts.tolist()) == {1}
    assert set(twice.vocabulary.counts.tolist()) == {2}
    assert values(twice).tolist() == np.repeat(values(once), 2).tolist(), "each document alone"


def test_a_word_longer_than_the_room_for_it_is_read() -> None:
    text = "x" * 3_000_000 + " " + " ".join(made_up(random.Random(3), 12))
    assert values(kept(text)).size >= 1
    assert int(kept(text).vocabulary.counts.sum()) == 13


def test_an_empty_batch_keeps_nothing() -> None:
    assert values(kept()).size == values(kept("", "")).size == 0
    assert added([]).words.size == 0


def test_vocabularies_of_parts_add_up() -> None:
    one, two = kept("a b a").vocabulary, kept("b c").vocabulary
    whole = added([one, two])
    assert sorted(whole.counts.tolist()) == [1, 2, 2]
    assert isinstance(whole, Vocabulary)
    assert whole.words.tolist() == sorted(whole.words.tolist())


@pytest.mark.untraced
@pytest.mark.parametrize("words", range(GRAM, REACH + 3))
def test_the_reach_told_by_the_gaps_is_that_of_planted_runs(words: int) -> None:
    chance = random.Random(words)
    run = made_up(chance, words)
    of_run = {gram_hash(folded(" ".join(run[k : k + GRAM]))) >> BLOCK_BITS for k in range(words - GRAM + 1)}
    texts = [
        " ".join([*made_up(chance, 15), *made_up(chance, words), *made_up(chance, 15)]) for _ in range(800)
    ]
    total = kept(*texts)
    found = 0
    for text in texts:
        middle = folded(text)[15 : 15 + words]
        inside = {gram_hash(middle[k : k + GRAM]) >> BLOCK_BITS for k in range(words - GRAM + 1)}
        found += bool(hashes(values(kept(text))) & inside)
    assert of_run
    assert found / len(texts) == pytest.approx(reach(total.gaps, words), abs=0.05)
    if words >= REACH:
        assert found == len(texts)


def test_where_nothing_was_counted_the_reach_is_that_of_random_text() -> None:
    assert reach(np.zeros(WINDOW + 1, np.int64), 13) == 1.0
    assert reach(np.zeros(WINDOW + 1, np.int64), 8) == 0.5
    assert reach(np.array([0, 1, 1, 1]), GRAM - 1) == 0.0
    assert sentence_reach(np.array([0, 1, 1, 1]), GRAM) == 0.0
