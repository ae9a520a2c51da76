"""One bad card leaves the good ones alone, and is never taken for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from lacre.errors import InputError, RecordError
from lacre.registry.columns import Columns, read_columns, usable_columns

CARD = """
[[columns]]
id = "{id}"
model = "any"
vendor = "{vendor}"
family = "g"
dialect = "openai"
endpoint = "http://127.0.0.1:8000/v1"
"""


def columns(folder: Path, *cards: str) -> Columns:
    path = folder / "columns.toml"
    path.write_text("".join(cards), encoding="utf-8")
    return usable_columns(path)


def card(id: str, vendor: str = "none") -> str:
    return CARD.format(id=id, vendor=vendor)


def test_good_cards_are_read_beside_bad_ones(tmp_path: Path) -> None:
    found = columns(tmp_path, card("good"), card("empty", ""), card("odd") + "warmth = 1\n", card("other"))
    assert list(found.columns) == ["good", "other"]
    assert [(fault.id, fault.line) for fault in found.bad] == [("empty", 10), ("odd", 18)]
    assert [one.id for one in found.named(["other", "good"])] == ["other", "good"]


def test_a_bad_card_is_refused_with_all_its_faults_and_no_other_s(tmp_path: Path) -> None:
    found = columns(tmp_path, card("good"), card("empty", "") + "cap = 0\n", card("odd") + "warmth = 1\n")
    with pytest.raises(RecordError) as raised:
        found.named(["good", "empty"])
    assert str(raised.value).splitlines() == [
        "columns.toml:10: column 'empty': vendor is empty. Say it: families decide who may judge whom (L16).",
        "columns.toml:10: column 'empty': cap is below 1. Give a whole number above 0, or leave it out.",
    ]
    with pytest.raises(InputError, match="There are: good"):
        found.named(["none"])


def test_of_two_cards_with_one_id_neither_is_used(tmp_path: Path) -> None:
    for cards in (
        [card("twice"), card("twice")],
        [card("twice") + "warmth = 1\n", card("twice")],
        [card("twice"), card("twice") + "warmth = 1\n"],
        [card("twice"), card("twice", "")],
    ):
        found = columns(tmp_path, card("good"), *cards)
        assert list(found.columns) == ["good"]
        assert {fault.id for fault in found.bad} == {"twice"}
    three = columns(tmp_path, card("twice"), card("twice"), card("twice"))
    assert list(three.columns) == []


def test_a_card_without_an_id_is_told_by_its_line(tmp_path: Path) -> None:
    found = columns(tmp_path, card("good"), '\n[[columns]]\nmodel = "m"\n', "\n[[columns]]\nid = 7\n")
    assert list(found.columns) == ["good"]
    assert [(fault.id, fault.line) for fault in found.bad] == [(None, 10), (None, 13)]


def test_a_fault_in_no_card_is_said_with_those_of_all_cards(tmp_path: Path) -> None:
    with pytest.raises(RecordError) as raised:
        columns(tmp_path, card("good"), card("empty", ""), "\n[rates]\nx = 1\n")
    assert [fault.line for fault in raised.value.faults] == [10, 18]


def test_the_strict_reading_refuses_any_bad_card(tmp_path: Path) -> None:
    columns(tmp_path, card("good"), card("empty", ""))
    with pytest.raises(RecordError, match="vendor is empty"):
        read_columns(tmp_path / "columns.toml")
