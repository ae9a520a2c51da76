"""The fast spans of words, held to the kernel's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacre.overlap.kernel import GROWTH, spans_between
from lacre.overlap.places import word_places
from lacre.overlap.sheets import wide
from lacre.overlap.table import fold_table

Spans = list[tuple[int, int]]
ODD = "aBé1 -\n\r\t\u00ad.,ç—“½ﬁ\u0301ªº\u2028\u00a0\x0c\u200b中𝐀😀⅓\ufffdİßı\u2010\x00㎏"


def _room(size: int) -> tuple[Any, Any]:
    return np.empty(2 * size + 128, np.int64), np.empty(2 * size + 128, np.int64)


def by_kernel(content: bytes) -> Spans:
    """What the kernel says."""
    starts, ends = _room(len(content))
    letters, words = np.empty(GROWTH * len(content) + 128, np.uint8), np.empty(starts.size, np.uint64)
    end = np.uint64(len(content))
    table = fold_table()
    count = spans_between(
        np.frombuffer(content, np.uint8),
        np.uint64(0),
        np.uint64(0),
        end,
        end,
        table.entries,
        table.parts,
        letters,
        wide(letters),
        words,
        starts,
        ends,
        0,
    )
    return list(zip(starts[:count].tolist(), ends[:count].tolist(), strict=True))


def fast(content: bytes) -> Spans | None:
    """What the fast loop says; none where it leaves the text to the kernel."""
    starts, ends = _room(len(content))
    buffer = np.frombuffer(content, np.uint8)
    count = word_places(buffer, 0, 0, len(content), len(content), tuple(fold_table()), starts, ends)
    return None if count < 0 else list(zip(starts[:count].tolist(), ends[:count].tolist(), strict=True))


@given(st.text(st.sampled_from(ODD) | st.characters(exclude_categories=["Cs"]), max_size=24))
def test_fast_spans_are_the_kernels_or_left_to_it(text: str) -> None:
    content = text.encode()
    assert fast(content) in (None, by_kernel(content))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A ação é boa, — disse-me.", 6),
        ("consti-\ntuição e execuçã-\r\n  ão", 3),
        ("entre – e • ½ ﬁm", 4 + 1),
        ("-\n-", 0),
        ("fim -", 1),
    ],
)
def test_ordinary_text_is_not_left_to_the_kernel(text: str, words: int) -> None:
    found = fast(text.encode())
    assert found == by_kernel(text.encode())
    assert len(found) == words


@pytest.mark.parametrize("text", ["a\u00adb", "co-\u2028bra", "sus-\n\u00a0to", "a\u2010b"])
def test_rare_hyphens_are_left_to_the_kernel(text: str) -> None:
    assert fast(text.encode()) is None


def test_broken_text_is_left_to_the_kernel() -> None:
    assert fast(b"ab\xc3") is None
    assert fast(b"ab\x80c") is None
