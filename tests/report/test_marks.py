"""Marks: the right characters, nothing but the right characters, and nothing that breaks out."""

from __future__ import annotations

import html
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacre.report.marks import EDGE, LONG, marked, merged
from lacre.report.words import clean

spans = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 60)).map(lambda pair: (min(pair), max(pair) + 1)), max_size=6
)


def text_of(markup: str) -> str:
    """What a reader sees, marks between « and »."""
    return html.unescape(re.sub(r"<(/?)mark>", lambda tag: "»" if tag[1] else "«", markup))


@pytest.mark.parametrize(
    ("text", "marks", "seen"),
    [
        pytest.param("uma lata azul", [(4, 8)], "uma «lata» azul", id="one word"),
        pytest.param("uma lata azul", [], "uma lata azul", id="nothing marked"),
        pytest.param("uma lata azul", [(4, 8), (9, 13)], "uma «lata» «azul»", id="two words"),
        pytest.param("uma lata azul", [(4, 9), (9, 13)], "uma «lata azul»", id="touching marks join"),
        pytest.param("uma lata azul", [(9, 13), (0, 3)], "«uma» lata «azul»", id="any order"),
        pytest.param("a < b & c", [(2, 3)], "a «<» b & c", id="markup characters"),
        pytest.param("açaí\r\nbom", [(0, 4)], "«açaí»\nbom", id="line ends"),
        pytest.param("x\x00y\x1bz", [(0, 5)], "«x␀y␛z»", id="controls are shown"),
        pytest.param("a\ud800b\x93c", [(0, 1)], "«a»\ufffdb\ufffdc", id="what UTF-8 or HTML cannot carry"),
        pytest.param("página\f2", [], "página\n2", id="a form feed ends the line"),
    ],
)
def test_marked_text_reads(text: str, marks: list[tuple[int, int]], seen: str) -> None:
    assert text_of(marked(text, marks)) == seen


@given(st.text(max_size=60), spans)
def test_removing_the_marks_gives_the_text_back(text: str, marks: list[tuple[int, int]]) -> None:
    marks = [(start, min(end, len(text))) for start, end in marks if start < min(end, len(text))]
    shown = html.unescape(re.sub(r"</?mark>", "", marked(text, marks)))
    # Line ends at the seam of two stretches may count twice; nothing else may differ.
    assert re.sub(r"\n+", "\n", shown) == re.sub(r"\n+", "\n", clean(text))


@given(st.text(max_size=60), spans)
def test_marks_never_leave_other_tags(text: str, marks: list[tuple[int, int]]) -> None:
    assert "<" not in re.sub(r"</?mark>", "", marked(text, marks))


@given(spans)
def test_merged_spans_cover_the_same_places_and_stay_apart(marks: list[tuple[int, int]]) -> None:
    joined = merged(marks)
    assert {n for s, e in joined for n in range(s, e)} == {n for s, e in marks for n in range(s, e)}
    assert all(before[1] < after[0] for before, after in pairwise(joined))


def test_a_long_unmarked_stretch_is_cut_and_counted_but_a_mark_never_is() -> None:
    words = "lata " * 1000
    shown = marked(words + "azul" + words, [(5000, 5004)])
    assert f"[… {5000 - EDGE:,} caracteres …]".replace(",", "\u202f") in shown
    assert words[-EDGE:] + "<mark>azul</mark>" + words[:EDGE] in shown
    assert marked(words, [(0, 5000)]) == f"<mark>{words}</mark>"
    assert "caracteres" not in marked("a" * LONG, [])
