"""Cards of columns: no source, no fact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from lacre.errors import InputError, RecordError
from lacre.registry.columns import card_summary, read_columns

GOOD = """\
[exchange]
brl_per_usd = "5.40"
source = "https://example.org/ptax"
read = "2026-01-02"

[[columns]]
id = "m-1"
model = "m-1-2026"
vendor = "V"
family = "f"
dialect = "openai"
endpoint = "https://api.example.org/v1"
key_env = "M_KEY"
cap = 100
accepts = ["temperature", "reasoning_effort"]
effort_name = "reasoning_effort"
effort = "low"
settings = { temperature = 0 }
source = "https://example.org/m-1"
read = "2026-01-02"

[columns.price]
currency = "USD"
input = "0.15"
output = "0.60"
source = "https://example.org/prices"
read = "2026-01-02"

[columns.cutoff]
value = "2025-06"
precision = "month"
source = "https://example.org/m-1"
read = "2026-01-02"

[[columns]]
id = "here"
model = "any"
vendor = "none"
family = "g"
dialect = "maritaca"
endpoint = "http://127.0.0.1:8000/v1"
"""


def read(folder: Path, text: str) -> object:
    path = folder / "columns.toml"
    path.write_text(text, encoding="utf-8")
    return read_columns(path)


def test_good_cards_are_read(tmp_path: Path) -> None:
    path = tmp_path / "columns.toml"
    path.write_text(GOOD, encoding="utf-8")
    columns = read_columns(path)
    assert list(columns.columns) == ["m-1", "here"]
    assert columns.exchange is not None
    assert [card.id for card in columns.named(["here", "m-1", "here"])] == ["here", "m-1"]
    assert card_summary(columns.columns["m-1"])["price"] == "0.15 / 0.60 USD"
    assert card_summary(columns.columns["here"])["cutoff"] == "not known"
    with pytest.raises(InputError, match="There are: m-1, here"):
        columns.named(["m-2"])


def test_without_a_file_there_are_no_columns(tmp_path: Path) -> None:
    assert read_columns(tmp_path / "columns.toml").columns == {}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('source = "https://example.org/m-1"\nread = "2026-01-02"\n\n[columns.price]', "[columns.price]",
         "'m-1': has no source"),
        ('source = "https://example.org/prices"', 'source = "a friend"', "price: source is not a web address"),
        ('read = "2026-01-02"\n\n[columns.cutoff]', 'read = "today"\n\n[columns.cutoff]', "price: read is not a day"),
        ('value = "2025-06"', 'value = "2025"', "not a date with the precision of a month"),
        ('input = "0.15"', 'input = "0,15"', "price.input is not an amount"),
        ('input = "0.15"', 'input = "-1"', "price.input is not an amount"),
        ("https://api.example.org/v1", "http://api.example.org/v1", "endpoint is not encrypted"),
        ("https://api.example.org/v1", "api.example.org", "endpoint is not a web address"),
        ('key_env = "M_KEY"', 'key_env = "sk-a-real-key!"', "is not the name of an environment variable"),
        ('key_env = "M_KEY"', 'key_env = "K"\nkey_file = "k"', "key_env and key_file are both given"),
        ("cap = 100", "cap = 0", "cap is below 1"),
        ("settings = { temperature = 0 }", "settings = { top_p = 1 }", "'top_p' is not among those it accepts"),
        ('effort = "low"\n', "", "effort and effort_name go together"),
        ('dialect = "maritaca"', 'dialect = "anthropic"', "'here': has no cap"),
        ('dialect = "maritaca"', 'dialect = "completions"\nimages = "inline"', "the completions dialect has none"),
        ('dialect = "maritaca"', 'dialect = "cohere"',
         "'cohere' is not anthropic, completions, gemini, maritaca or openai"),
        ('id = "here"', 'id = "m-1"', "is there already"),
        ('brl_per_usd = "5.40"', 'brl_per_usd = "0"', "brl_per_usd is not a rate"),
        ('source = "https://example.org/ptax"\n', "", "exchange: "),
        ("[exchange]", "[exchanges]", "'exchanges' is no part"),
        ('family = "g"', 'family = "g"\ntemprature = 1', "temprature"),
        ('family = "g"', 'family = " "', "family is empty"),
    ],
)  # fmt: skip
def test_what_a_card_may_not_say(before: str, after: str, said: str, tmp_path: Path) -> None:
    assert before in GOOD
    with pytest.raises(RecordError) as raised:
        read(tmp_path, GOOD.replace(before, after, 1))
    assert said in str(raised.value)
    assert "sk-a-real-key" not in str(raised.value)


def test_every_fault_is_said_with_its_line(tmp_path: Path) -> None:
    text = GOOD.replace('vendor = "none"', 'vendor = ""').replace("cap = 100", "cap = -1")
    with pytest.raises(RecordError) as raised:
        read(tmp_path, text)
    assert [fault.line for fault in raised.value.faults] == [6, 35]


def test_what_changes_how_a_column_is_asked_changes_its_setting(tmp_path: Path) -> None:
    path = tmp_path / "columns.toml"
    path.write_text(GOOD, encoding="utf-8")
    card = read_columns(path).columns["m-1"]
    asked: tuple[dict[str, Any], ...] = (
        {"cap": 200}, {"effort": "high"}, {"settings": {}}, {"model": "m-2"}, {"images": "inline"},
    )  # fmt: skip
    not_asked: tuple[dict[str, Any], ...] = (
        {"concurrency": 1}, {"price": None}, {"key_env": "OTHER"}, {"timeout": 9}, {"notes": "x"},
    )  # fmt: skip
    assert all(msgspec.structs.replace(card, **changes).setting() != card.setting() for changes in asked)
    assert all(msgspec.structs.replace(card, **changes).setting() == card.setting() for changes in not_asked)


def test_the_cards_of_this_project_are_good() -> None:
    columns = read_columns(Path(__file__).parents[2] / "registry" / "columns.toml")
    assert {card.dialect for card in columns.columns.values()} == {
        "openai",
        "anthropic",
        "gemini",
        "maritaca",
    }
