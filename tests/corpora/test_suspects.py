"""The compiled loop that tells which lines to look at, held to the definition of unreadable lines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacre.corpora.garbled import _reason, _upright
from lacre.corpora.suspects import UPRIGHT_LINES, mark

PARTS = [
    "a",
    "Ação ",
    "é",
    " ",
    "\n",
    "\r\n",
    "\r",
    "\ufffd",
    "§",
    "•",
    "†",
    "∑",
    "π",
    "Ω",
    "≤",
    "ª",
    "“",
    "\x01",
    "\u00a0",
    "«",
    "±",
    "¶",
    "¬",
    "–",
    "‡",
    "\ufeff",
    "\uf8ff",
    "\ue000",
    "😀",
    "\u200b",
]
CODES = ["(cid:12)", "/g76", "/uni0041", "/C12/C13", "/G1 ", "\x85", "\ue001", "\x1c", "\x0c", "(x", "/"]


def marked(content: bytes) -> tuple[list[bool], bool]:
    """The marks of the lines, and whether the text is upright."""
    lines = len(content.splitlines())
    marks = np.zeros(lines + 1, np.bool_)
    is_upright = bool(mark(np.frombuffer(content, np.uint8), marks))
    return marks[:lines].tolist(), is_upright


@given(st.lists(st.sampled_from(PARTS + CODES), max_size=40).map("".join))
def test_every_unreadable_line_is_marked(text: str) -> None:
    lines = text.encode().splitlines(keepends=True)
    marks, _ = marked(text.encode())
    assert all(mark for mark, line in zip(marks, lines, strict=True) if _reason(line))


@given(st.lists(st.sampled_from(["a", "b\n", "c", "\n", "d \n", " 7\r\n", "e\r"]), min_size=8, max_size=60))
def test_upright_text_is_seen(parts: list[str]) -> None:
    content = "".join(parts).encode()
    lines = content.splitlines(keepends=True)
    reasons: list[str | None] = [None] * len(lines)
    _upright(lines, reasons)
    assert marked(content)[1] or not any(reasons)


@pytest.mark.parametrize(
    "text",
    [
        "Uma linha comum, com acentuação e hífen-a-hífen.",
        "ano (turma B) e/ou turno",
        '"aspas" só',
        "“uma – de 2\u00a0ª” «º» … 😀 ½ °",
    ],
)
def test_ordinary_lines_are_spared(text: str) -> None:
    assert not any(marked(text.encode())[0])


def test_a_column_of_letters_is_upright_from_twelve_lines() -> None:
    assert marked(b"a\n" * UPRIGHT_LINES)[1]
    assert not marked(b"a\n" * (UPRIGHT_LINES - 1))[1]
    assert not marked(b"ab\n" * UPRIGHT_LINES)[1]
