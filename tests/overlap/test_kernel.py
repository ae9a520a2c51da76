"""The kernel reads words as lacre.text does: every code point, random text, broken bytes, any buffer."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise, product
from string import ascii_lowercase

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lacre.overlap.kernel import CHUNK, read_words
from lacre.overlap.runs import FOLD_ROOM, FoldRoom, buffers, fold_room
from lacre.overlap.sheets import TextWords, wide, word_hash, words_of_buffer, words_of_texts
from lacre.overlap.table import fold_table
from lacre.text import words

# The tracer cannot see compiled loops, and makes the definition that they are held to thrice as slow.
pytestmark = pytest.mark.untraced
hash_of = lru_cache(maxsize=1 << 16)(word_hash)


def oracle(texts: Sequence[str]) -> tuple[list[int], list[int], list[int], list[int]]:
    """What words_of_texts must return, by the definition."""
    firsts, hashes, starts, ends = [0], [], [], []
    for text in texts:
        at = list(accumulate((len(character.encode()) for character in text), initial=0))
        for word in words(text):
            hashes.append(hash_of(word.folded))
            starts.append(at[word.start])
            ends.append(at[word.end])
        firsts.append(len(hashes))
    return firsts, hashes, starts, ends


def read(found: TextWords) -> tuple[list[int], list[int], list[int], list[int]]:
    return found.firsts.tolist(), found.hashes.tolist(), found.starts.tolist(), found.ends.tolist()


def scanned(
    texts: Sequence[bytes], buffer: bytes | None = None, offsets: Sequence[int] = ()
) -> list[list[int]]:
    """The word hashes of each text as the scan reads them: many bytes at a time, without spans."""
    content = np.frombuffer(b"".join(texts) if buffer is None else buffer, np.uint8)
    places = list(accumulate(map(len, texts), initial=0)) if buffer is None else list(offsets)
    room, every = fold_room(FOLD_ROOM), []
    for low, high in pairwise(map(np.uint64, places)):
        while (words := _read(content, low, high, room)) is None:
            room = fold_room(2 * room.out.size)
        every.append(words)
    return every


def _read(
    content: npt.NDArray[np.uint8], low: np.uint64, high: np.uint64, room: FoldRoom
) -> list[int] | None:
    out = np.empty(2 * int(high - low) + 256, np.uint64)
    at, count = low, 0
    room.carried[0] = 0
    while at < high:
        at, count = read_words(
            content, wide(content), low, at, high, *fold_table(), tuple(room), out, count, CHUNK
        )
        if count < 0:
            return None
        at = np.uint64(at)
    hashes: list[int] = out[:count].tolist()
    return hashes


def check(texts: Sequence[str]) -> None:
    by_chunks = scanned([text.encode() for text in texts])
    firsts, hashes, _, _ = oracle(texts)
    if [h for of_text in by_chunks for h in of_text] != hashes:
        wrong = next(k for k in range(len(texts)) if by_chunks[k] != hashes[firsts[k] : firsts[k + 1]])
        pytest.fail(f"the scan, first of them: {texts[wrong]!r}")
    got, expected = read(words_of_texts([text.encode() for text in texts])), oracle(texts)
    if got != expected:  # a diff of a million words would say nothing
        wrong = next(
            k for k in range(len(texts)) if read(words_of_texts([texts[k].encode()])) != oracle([texts[k]])
        )
        pytest.fail(f"first of them: {texts[wrong]!r}")


PLANES = [range(start, min(start + 0x4000, 0x30000)) for start in range(0, 0x30000, 0x4000)]
BEYOND = [range(0x30000, 0x33480), range(0xE0000, 0xE0200), range(0x10FFF0, sys.maxunicode + 1)]


@pytest.mark.parametrize("points", [*PLANES, *BEYOND], ids=lambda points: f"U+{points.start:X}")
@pytest.mark.parametrize(
    "frame", ["a{}b", "{}", "abc{0}defghi{0} jklmnopqrstuvwxyz", "{}-\nb", "a-\n{}b", "a-{}b", "a{}\nb"],
    ids=[
        "between letters", "alone", "in a long text", "before a break", "behind a break", "behind a hyphen",
        "before a line break",
    ],
)  # fmt: skip
def test_every_code_point_reads_as_defined(points: range, frame: str) -> None:
    check([frame.format(chr(point)) for point in points if not 0xD800 <= point < 0xE000])


TEXTS = st.text(
    st.one_of(
        st.sampled_from(
            "aeA1 -\n\r\t\v\f.\u00ad\u00a0\u200b\u0301\u2010\u2011\u2028\u2029ﬁ½ºÇã°Т한ﷺ—?😀\ufffd\0"
        ),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=60,
)


@given(st.lists(TEXTS, max_size=5))
@settings(deadline=None)
def test_random_text_reads_as_defined_each_text_alone(texts: list[str]) -> None:
    check(texts)


@given(
    st.lists(st.sampled_from(["a", "é", "-", "\u00ad", "\n", "\r", " ", "\f", "\u0301", "1"]), max_size=14)
)
@settings(deadline=None)
def test_hyphens_and_line_breaks_read_as_defined(characters: list[str]) -> None:
    check(["".join(characters)])


@given(TEXTS, TEXTS, TEXTS)
@settings(deadline=None)
def test_what_stands_around_a_text_in_its_buffer_changes_nothing(before: str, text: str, after: str) -> None:
    whole = (before + text + after).encode()
    low, high = len(before.encode()), len((before + text).encode())
    inside = words_of_buffer(np.frombuffer(whole, np.uint8), np.array([low, high], np.int64))
    assert read(inside) == read(words_of_texts([text.encode()]))
    assert scanned([], whole, [low, high]) == scanned([text.encode()])


@given(st.binary(max_size=40), st.binary(max_size=8))
@settings(deadline=None)
def test_broken_bytes_are_read_without_looking_past_the_end(content: bytes, beyond: bytes) -> None:
    buffer = np.frombuffer(content + beyond, np.uint8)
    inside = words_of_buffer(buffer, np.array([0, len(content)], np.int64))
    assert read(inside) == read(words_of_texts([content]))
    assert all(0 <= s < e <= len(content) for s, e in zip(inside.starts, inside.ends, strict=True))
    assert scanned([], content + beyond, [0, len(content)]) == scanned([content]) == [inside.hashes.tolist()]


LONG = [
    "contami-\nnação",
    "a",
    "é",
    "comum",
    "½",
    "ﷺ",
    "x" * 30,
    "\u0301",
    "Ação-direta",
    "m²",
    "\u00ad",
    "—",
    "1.000,00",
]


@given(
    st.lists(st.sampled_from(LONG), min_size=1, max_size=12),
    st.sampled_from([" ", "", "\n", "-", "-\n"]),
    st.integers(CHUNK - 40, CHUNK + 8),
)
@settings(max_examples=25, deadline=None)
def test_the_end_of_a_chunk_cuts_no_word(parts: list[str], gap: str, before: int) -> None:
    text = "w" * (before % 7) + " " * (before - before % 7) + gap.join(parts) + " fim"
    check([text])
    check([f"{gap.join(parts)} " * (before // 8)])


@given(st.lists(st.text("aé -\n.Z9\u00ad", max_size=40), min_size=1, max_size=4))
@settings(max_examples=300, deadline=None)
def test_texts_of_common_characters_read_as_defined(texts: list[str]) -> None:
    check(texts)


@pytest.mark.parametrize(
    "content",
    [b"a\x80b", b"a\xffb", b"a\xc3", b"a\xe2\x80", b"a\xf0\x9f\x98", b"a\xf5\x90\x80\x80b", b"\x80" * 9],
    ids=["stray", "no such byte", "cut in two", "cut in three", "cut in four", "past Unicode", "only strays"],
)
def test_a_broken_sequence_separates_and_the_words_around_it_are_read(content: bytes) -> None:
    assert words_of_texts([content]).hashes.tolist() == [hash_of(c) for c in "ab" if c.encode() in content]


@given(st.lists(TEXTS, min_size=1, max_size=6), st.data())
@settings(deadline=None)
def test_a_slice_of_an_arrow_array_is_read_alone(texts: list[str], data: st.DataObject) -> None:
    low = data.draw(st.integers(0, len(texts)))
    high = data.draw(st.integers(low, len(texts)))
    pages = buffers(pa.array(texts, pa.large_string()).slice(low, high - low))
    assert read(words_of_buffer(*pages)) == oracle(texts[low:high])


def test_no_texts_and_empty_texts_have_no_words() -> None:
    assert read(words_of_texts([])) == ([0], [], [], [])
    assert read(words_of_texts([b"", b"", b""])) == ([0, 0, 0, 0], [], [], [])


@pytest.mark.parametrize("letter", ["a", "ã", "한", "𝐀", "ﷺ", "½"])
def test_one_giant_word_and_many_expansions_stay_inside_their_room(letter: str) -> None:
    check([letter * 20_000])


def test_a_document_without_blanks_is_one_word() -> None:
    found = words_of_texts([b"x" * 5_000_000])
    assert found.starts.tolist() == [0]
    assert found.ends.tolist() == [5_000_000]


@pytest.mark.parametrize("position", range(4090, 4102))
def test_words_at_the_edge_of_a_chunk_are_not_cut(position: int) -> None:
    # The scan reads some thousands of words at a time; here the text is all edges.
    check(["a " * position + "contami-\nnação e\u0301 " + "b " * 20])


@pytest.mark.parametrize(
    "text",
    [
        "a" + "\u00ad" * 150_000,
        "a" + "\u200b-" * 100_000,
        "a-" + " " * 300_000,
        "a-" * 150_000,
        "-\n" * 150_000,
    ],
    ids=["soft hyphens", "invisible, then a hyphen", "blanks", "hyphens", "hyphens at breaks"],
)
def test_rows_of_hyphens_and_invisible_characters_take_time_in_proportion(text: str) -> None:
    # Each soft hyphen may look back for a letter only where a line break follows it.
    words_of_texts([b"a"])  # compiled
    begun = time.process_time()
    words_of_texts([text.encode()])
    assert time.process_time() - begun < 2


ALIKE = {
    "a number at the end": [f"palavra{k}" for k in range(1_000_000)],
    "letters in front": ["".join(four) + "mente" for four in product(ascii_lowercase, repeat=4)],
    "letters in the middle of twelve": ["incr" + "".join(four) + "veis" for four in product(ascii_lowercase, repeat=4)],
    "letters eight apart": [
        f"{a}nticons{b}itucion{c}lissima{d}ente" for a, b, c, d in product(ascii_lowercase, repeat=4)
    ],
    "one letter over and over": ["a" * k for k in range(1, 1_000)],
    "letters beyond ASCII": [f"ção{chr(point)}ções" for point in range(0x4E00, 0x9FA5)],
}  # fmt: skip


@pytest.mark.parametrize("alike", ALIKE.values(), ids=ALIKE)
def test_words_that_are_alike_have_hashes_of_their_own(alike: list[str]) -> None:
    hashes = words_of_texts([" ".join(alike).encode()]).hashes
    assert hashes.size == len(alike)
    assert np.unique(hashes).size == len(alike)
    # Of the 32 bits that sequences keep, chance alone makes some agree: n^2 / 2^33 pairs.
    pairs = len(alike) ** 2 / 2**33
    assert len(alike) - np.unique(hashes >> np.uint64(32)).size <= 2 * pairs + 10


def test_accents_and_case_do_not_change_a_hash() -> None:
    pairs = [
        ("Constituição", "constituicao"),
        ("AÇÕES", "acoes"),
        ("inconstitucionalíssima", "Inconstitucionalissima"),
    ]
    for one, other in pairs:
        assert words_of_texts([one.encode()]).hashes == words_of_texts([other.encode()]).hashes
