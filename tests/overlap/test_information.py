"""How much words tell."""

from __future__ import annotations

import pytest

from lacre.overlap.information import bits


@pytest.mark.parametrize(
    "marks", [["I", "II", "III", "IV", "V"], ["a", "b", "c", "d", "e"], ["XIV", "XV", "xvi"]]
)
def test_numerals_and_letters_that_number_parts_tell_little(marks: list[str]) -> None:
    assert max(bits(marks)) <= 3


def test_words_of_roman_letters_are_words() -> None:
    assert min(bits(["civil", "mil", "dividi"])) > 10


def test_numbers_tell_as_much_as_a_word_in_a_thousand() -> None:
    assert bits(["2026"]) == pytest.approx([9.97], abs=0.01)
