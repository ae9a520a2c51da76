"""Reasons that are published: one line of plain words."""

from __future__ import annotations

import pytest

from lacre.errors import InputError
from lacre.registry.reasons import plain_reason

UNPLAIN = {
    "line feed": ("one\ntwo", "U+000A"),
    "carriage return": ("one\rtwo", "U+000D"),
    "tab": ("one\ttwo", "U+0009"),
    "escape code": ("one \x1b[31mtwo", "U+001B"),
    "turned writing": ("one \u202etwo", "U+202E"),
    "nothing wide": ("one\u200btwo", "U+200B"),
    "line separator": ("one\u2028two", "U+2028"),
    "half a character": ("one \ud800two", "U+D800"),
}


@pytest.mark.parametrize(("text", "named"), UNPLAIN.values(), ids=UNPLAIN)
def test_what_is_no_line_of_plain_words_is_refused_by_its_character(text: str, named: str) -> None:
    with pytest.raises(InputError) as raised:
        plain_reason(text, "--who")
    assert str(raised.value).startswith("--who: has characters that are no part of a line of text (" + named)


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_an_empty_reason_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is empty"):
        plain_reason(text)


def test_plain_words_in_any_language_stay_as_they_are() -> None:
    assert (
        plain_reason(" o fornecedor retirou o modelo: 100 % – «já» ")
        == "o fornecedor retirou o modelo: 100 % – «já»"
    )
