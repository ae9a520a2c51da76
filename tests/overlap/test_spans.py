"""Where words stand that are read again in the steps of a scan, held to one reading of the whole text."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.overlap.building import FILLER, index_of, item, made_up, matched, overlaps
from tests.overlap.test_places import by_kernel

from lacre.overlap.index import ItemIndex
from lacre.overlap.kernel import STRIDE
from lacre.overlap.runs import Scratch, buffers, kernel_runs
from lacre.overlap.spans import Spans

MARKS = (" ", " ", " ", "\n", "-\n", ", ", " — ", "\u00ad", "ﬁ ", " ª", "\u200b")


@pytest.fixture(scope="module")
def index() -> ItemIndex:
    return index_of(item("ba ce di fo gu la me ni po"))


def document(chance: random.Random, size: int, marks: tuple[str, ...]) -> str:
    """Some ``size`` words and marks between them."""
    return "".join(word + chance.choice(marks) for word in made_up(chance, size))


@given(st.integers(0, 2**32), st.booleans())
def test_words_stand_where_one_reading_of_the_whole_finds_them(
    index: ItemIndex, seed: int, is_plain: bool
) -> None:
    chance = random.Random(seed)
    marks = MARKS[:3] if is_plain else MARKS
    texts = [document(chance, chance.choice((1, 30, 900)), marks) for _ in range(3)]
    pages, scratch = buffers(pa.array(texts, pa.large_string())), Scratch.make()
    kernel_runs(index, pages, scratch)
    spans, whole = Spans(pages, scratch), [by_kernel(text.encode()) for text in texts]
    assert spans.sizes(np.arange(3)).tolist() == [len(words) for words in whole]
    wanted = []
    for _ in range(40):
        number = chance.randrange(3)
        first = chance.randrange(len(whole[number]))
        wanted.append((number, first, chance.randint(first + 1, min(first + 60, len(whole[number])))))
    rows = np.array(wanted, np.int64)
    starts, ends, begins = spans.words(rows)
    edges = spans.of(rows).tolist()
    for (number, first, last), begin, edge in zip(wanted, begins.tolist(), edges, strict=True):
        here = slice(begin, begin + last - first)
        assert list(zip(starts[here].tolist(), ends[here].tolist(), strict=True)) == whole[number][first:last]
        assert edge == [whole[number][first][0], whole[number][last - 1][1]]


@pytest.mark.parametrize("shift", range(0, 40, 3))
def test_a_run_whose_last_word_is_cut_by_a_step_of_the_scan_ends_with_that_word(shift: int) -> None:
    one, other = (" ".join(made_up(random.Random(k), 8)) for k in range(2))
    before = (" ".join(FILLER) + " ") * 100
    before = before[: STRIDE - len(f"{one} {other}".encode()) + shift - 20] + " "
    text = f"{before}{one} {other} kwonk"
    found = overlaps(index_of(item(one, name="one"), item(other, name="other")), text)
    assert [matched(text, run) for run in found] == [one, other]
