"""The compiled loops that put matches together, held to plain Python."""

from __future__ import annotations

from itertools import groupby

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lacre.overlap.gathered import ABSENT, LOOK_BACK, UNSURE, joined, whole_sentences

Piece = tuple[int, int, int, int, int, int]
NEED = 8
LETTERED = np.array([k % 64 < 40 for k in range(256)], np.bool_)
HEADS = (0, 128)  # where the words of each item begin


def by_hand(pieces: list[Piece]) -> list[Piece]:
    """Pieces that go on from one another made one, and of these those that count."""
    found: list[Piece] = []
    for _, group in groupby(pieces, key=lambda piece: piece[:2]):
        merged: list[Piece] = []
        for document, item, at, until, first, last in group:
            for k in range(len(merged) - 1, max(-1, len(merged) - 1 - LOOK_BACK), -1):
                _, _, begun, reached, low, high = merged[k]
                if at <= reached and low <= first <= high and last > high:
                    merged[k] = (document, item, begun, max(reached, until), low, last)
                    break
            else:
                merged.append((document, item, at, until, first, last))
        for piece in merged:
            _, item, _, _, low, high = piece
            if high - low >= NEED and LETTERED[HEADS[item] + low : HEADS[item] + high].any():
                found.append(piece)
    return found


@st.composite
def pieces(draw: st.DrawFn) -> list[Piece]:
    numbers = st.tuples(
        st.integers(0, 1), st.integers(0, 1), st.integers(0, 40), st.integers(1, 12), st.integers(0, 60)
    )
    drawn = draw(st.lists(numbers, max_size=24))
    return sorted((d, i, at, at + size, first, first + size) for d, i, at, size, first in drawn)


@given(pieces())
def test_pieces_are_joined_and_counted_as_by_hand(given_pieces: list[Piece]) -> None:
    rows = np.array(given_pieces, np.int64).reshape(-1, 6)
    out = np.empty_like(rows)
    needs, heads = np.full(len(rows), NEED, np.int64), np.array(HEADS, np.int64)[rows[:, 1]]
    made = joined(rows, needs, heads, LETTERED, out)
    assert [tuple(row) for row in out[:made].tolist()] == by_hand(given_pieces)


WORDS = np.array([(k + 1) << 32 | 7 for k in range(100)], np.uint64)


def sentence_at(run: Piece, sequence: list[int], *, size: int = 5, length: int = 100) -> int:
    """Where the sentence of words 10 to 15 of the item stands, by one run that covers what it covers."""
    rows = np.array([run], np.int64)
    at = np.empty(1, np.int64)
    wanted = np.array([[10, 10, size, length, 0, 1, 0, 1]], np.int64)
    places = np.array([1], np.int64)
    whole_sentences(wanted, rows, rows, places, np.array(sequence, np.uint32), WORDS, at)
    return int(at[0])


PLAIN = [0, *range(9, 30), 0]  # words 8, 9, 10 ... of the item, as the sequences keep them


def test_a_sentence_within_a_run_is_found_at_its_words() -> None:
    assert sentence_at((0, 0, 50, 60, 8, 18), PLAIN) == 52


def test_a_sentence_that_a_run_does_not_cover_is_absent() -> None:
    assert sentence_at((0, 0, 50, 56, 8, 14), PLAIN) == ABSENT
    assert sentence_at((0, 0, 50, 60, 11, 21), PLAIN) == ABSENT


def test_a_sentence_that_would_end_behind_the_document_is_absent() -> None:
    assert sentence_at((0, 0, 50, 60, 8, 18), PLAIN, length=57) == 52
    assert sentence_at((0, 0, 50, 60, 8, 18), PLAIN, length=56) == ABSENT


def test_other_words_where_a_sentence_should_stand_must_be_looked_at() -> None:
    shifted = [0, 9, 77, *range(10, 30), 0]  # an option letter shifts the words behind it
    assert sentence_at((0, 0, 50, 61, 8, 18), shifted) == UNSURE
