"""Options and keys in every form people write them in."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacre.registry.options import (
    NO_OPTIONS,
    Options,
    OptionsError,
    columns_as_options,
    lettered_text,
    parse_key,
    parse_options,
)

TWO = {"A": "um", "B": "dois"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(["um", "dois"], TWO, id="list"),
        pytest.param(("um", "dois"), TWO, id="tuple"),
        pytest.param([" um ", "dois\n"], TWO, id="white space around"),
        pytest.param([1, 2.5], {"A": "1", "B": "2.5"}, id="numbers"),
        pytest.param([None, None], {"A": "", "B": ""}, id="images only"),
        pytest.param(["um", None], {"A": "um", "B": ""}, id="one image in a list"),
        pytest.param({"A": "um", "B": "dois"}, TWO, id="object"),
        pytest.param({"b": "dois", "a": "um"}, TWO, id="object, small letters, out of order"),
        pytest.param({"A)": "um", "(B)": "dois"}, TWO, id="object with brackets"),
        pytest.param({"A": "um", "B": "dois", "C": None}, TWO, id="object with an empty end"),
        pytest.param({"1": "um", "2": "dois"}, TWO, id="object with numbers"),
        pytest.param({"text": ["um", "dois"], "label": ["A", "B"]}, TWO, id="two lists"),
        pytest.param({"text": ["um", "dois"], "label": ["1", "2"]}, TWO, id="two lists, labels are numbers"),
        pytest.param({"choices": ["um", "dois"]}, TWO, id="choices"),
        pytest.param(
            [{"label": "A", "text": "um"}, {"label": "B", "text": "dois"}], TWO, id="list of objects"
        ),
        pytest.param(
            [{"letra": "b", "texto": "dois"}, {"letra": "a", "texto": "um"}], TWO, id="in Portuguese"
        ),
        pytest.param([{"A": "um"}, {"B": "dois"}], TWO, id="list of single pairs"),
        pytest.param([{"text": "um"}, {"text": "dois"}], TWO, id="texts without labels"),
        pytest.param(
            [{"label": "A", "text": "um"}, {"label": "B", "text": None}], {"A": "um", "B": ""}, id="no text"
        ),
        pytest.param('["um", "dois"]', TWO, id="JSON list"),
        pytest.param('{"A": "um", "B": "dois"}', TWO, id="JSON object"),
        pytest.param("['um', 'dois']", TWO, id="Python list"),
        pytest.param("(A) um (B) dois", TWO, id="(A)"),
        pytest.param("A) um B) dois", TWO, id="A) on one line"),
        pytest.param("a) um\nb) dois", TWO, id="a)"),
        pytest.param("A. um\nB. dois", TWO, id="A."),
        pytest.param("A - um\nB - dois", TWO, id="A -"),
        pytest.param("A – um\nB – dois", TWO, id="A and en dash"),
        pytest.param("A: um\nB: dois", TWO, id="A:"),
        pytest.param("um\ndois", TWO, id="lines"),
        pytest.param(
            "a) um, como em (b)\nb) dois", {"A": "um, como em (b)", "B": "dois"}, id="mark in a text"
        ),
        pytest.param(
            "(A) um\nainda um\n(B) dois", {"A": "um\nainda um", "B": "dois"}, id="text of two lines"
        ),
        pytest.param(["A) um", "B) dois"], TWO, id="own letters with brackets"),
        pytest.param(["(a) um", "(b) dois"], TWO, id="own letters in brackets"),
        pytest.param(["A  um", "B  dois"], TWO, id="own letters and two spaces"),
        pytest.param(["A. um", "B. dois"], TWO, id="own letters and full stops"),
        pytest.param({"A": "A - um", "B": "B - dois"}, TWO, id="own letters and dashes"),
        pytest.param(["A  um", "B  dois", "três"], {**TWO, "C": "três"}, id="most have their letter"),
        pytest.param(["A) um", "dois"], TWO, id="only one has its letter"),
        pytest.param(["A vaca", "O boi"], {"A": "A vaca", "B": "O boi"}, id="article, not letter"),
        pytest.param(
            ["x", "y", "z", "w", "E. coli"],
            dict(zip("ABCDE", ["x", "y", "z", "w", "E. coli"], strict=True)),
            id="E. coli is no letter",
        ),
        pytest.param(
            ["B) um", "C) dois"], {"A": "B) um", "B": "C) dois"}, id="another option's letter stays"
        ),
    ],
)
def test_options_are_understood(value: Any, expected: dict[str, str]) -> None:
    found = parse_options(value)
    assert found is not None
    assert found.texts == expected
    assert list(found.texts) == sorted(found.texts)


@pytest.mark.parametrize("value", [None, "", "  \n"])
def test_no_options_make_an_open_item(value: Any) -> None:
    assert parse_options(value) is None


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("um só", "options are one text without letters"),
        (7, "options are neither text, a list nor an object"),
        ([["um"], ["dois"]], "an option is neither text nor a number"),
        ([{"label": "A", "words": "um"}], "an option has no text"),
        ({"text": ["um", "dois"], "label": ["A"]}, "1 labels for 2 options"),
        ([{"label": "A", "text": "um"}, {"label": "a", "text": "dois"}], "two options have the same letter"),
        (["um"] * 27, "27 options"),
    ],
)
def test_other_forms_are_refused(value: Any, said: str) -> None:
    with pytest.raises(OptionsError, match=said):
        parse_options(value)


def test_columns_end_where_the_empty_ones_begin() -> None:
    found = columns_as_options(["um", "dois", None, ""])
    assert found is not None
    assert found.texts == TWO
    assert columns_as_options([None, ""]) is None


WORDS = st.lists(st.text("abcdefg çãé0123", min_size=1).map(str.strip).filter(bool), min_size=2, max_size=8)


@given(WORDS, st.sampled_from(["({})", "{})"]))
def test_lettered_text_gives_back_its_options(texts: list[str], mark: str) -> None:
    written = "\n".join(
        f"{mark.format(letter)} {text}" for letter, text in zip("ABCDEFGH", texts, strict=False)
    )
    assert list(lettered_text(written).values()) == texts


@given(st.text(max_size=40))
def test_any_text_is_options_or_refused(text: str) -> None:
    with suppress(OptionsError):
        found = parse_options(text)
        assert found is None or all(isinstance(option, str) for option in found.texts.values())


OPTIONS = Options({"A": "Falso", "B": "Verdadeiro", "C": "12"}, {"x1": "A"})


@pytest.mark.parametrize(
    ("value", "letter"),
    [
        ("B", "B"),
        ("b", "B"),
        ("(b)", "B"),
        ("B.", "B"),
        (" B) ", "B"),
        ("Letra B", "B"),
        ("alternativa c", "C"),
        ("verdadeiro", "B"),
        ("12", "C"),
        (12, "C"),
        ("X1", "A"),
    ],
)
def test_a_key_names_one_option(value: Any, letter: str) -> None:
    assert parse_key(value, OPTIONS).letter == letter


@pytest.mark.parametrize(
    ("value", "first", "letter"), [(0, 0, "A"), ("2", 0, "C"), (1, 1, "A"), ("3", 1, "C"), ("B", 1, "B")]
)
def test_an_index_counts_only_when_it_is_said(value: Any, first: int, letter: str) -> None:
    assert parse_key(value, OPTIONS, first_index=first).letter == letter


@pytest.mark.parametrize("value", ["Anulada", "ANULADO", "anuladas", " Anulada "])
def test_annulled_is_no_fault(value: str) -> None:
    key = parse_key(value, OPTIONS)
    assert (key.annulled, key.problem) == (True, None)


@pytest.mark.parametrize(
    ("value", "options", "first", "said"),
    [
        (None, OPTIONS, None, "no key"),
        ("D", OPTIONS, None, r"none of the letters \(A, B, C\)"),
        ("uma resposta", OPTIONS, None, "nor the text of one option"),
        ("A", NO_OPTIONS, None, "no options"),
        ("1", OPTIONS, None, "say --key-index 0 or --key-index 1"),
        ("3", OPTIONS, 0, "no index of 3 options"),
        ("0", OPTIONS, 1, "no index of 3 options"),
        ("igual", Options({"A": "igual", "B": "igual"}, {}), None, "nor the text of one option"),
    ],
)
def test_a_key_that_is_not_understood_says_why(
    value: Any, options: Options, first: int | None, said: str
) -> None:
    key = parse_key(value, options, first_index=first)
    assert key.letter is None
    assert re.search(said, key.problem or "")


def test_a_problem_never_quotes_the_key() -> None:
    assert "MARCADOR" not in str(parse_key("MARCADOR secreto", OPTIONS).problem)
