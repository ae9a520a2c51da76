"""Keys: where they come from, and that they do not show themselves."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest
from tests.engine.making import card

from lacre.engine.dialects import key_header, shown_headers
from lacre.engine.keys import Key, read_key
from lacre.errors import InputError

SECRET = "sk-planted-77"


def test_a_key_comes_from_the_environment_or_a_file_of_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text(SECRET + "\n", encoding="utf-8")
    path.chmod(0o600)
    for key in (
        read_key(card("http://127.0.0.1", key_env="K"), {"K": SECRET}),
        read_key(card("http://127.0.0.1", key_file=str(path)), {}),
    ):
        assert key is not None
        assert key.reveal() == SECRET
    assert read_key(card("http://127.0.0.1"), {}) is None


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660])
def test_a_file_that_others_can_read_is_refused(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text(SECRET, encoding="utf-8")
    path.chmod(mode)
    with pytest.raises(InputError, match="chmod 600") as raised:
        read_key(card("http://127.0.0.1", key_file=str(path)), {})
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("value", ["", "  ", "two words", "chavé", "a\nb"])
def test_what_can_be_no_key_is_refused_unseen(value: str) -> None:
    with pytest.raises(InputError) as raised:
        read_key(card("http://127.0.0.1", key_env="K"), {"K": value})
    assert not value.strip() or value not in str(raised.value)
    with pytest.raises(InputError, match="is not set"):
        read_key(card("http://127.0.0.1", key_env="K"), {})


def test_an_empty_or_missing_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    with pytest.raises(InputError, match="cannot be read"):
        read_key(card("http://127.0.0.1", key_file=str(path)), {})
    path.touch(0o600)
    with pytest.raises(InputError, match="is empty"):
        read_key(card("http://127.0.0.1", key_file=str(path)), {})


def test_a_key_does_not_show_itself_and_is_not_copied() -> None:
    key = Key(SECRET, "$K")
    assert SECRET not in f"{key} {key!r} {[key]}"
    for copying in (copy.copy, pickle.dumps):
        with pytest.raises(TypeError, match="not to be copied"):
            copying(key)


@pytest.mark.parametrize(
    ("dialect", "header", "value"),
    [
        ("openai", "authorization", f"Bearer {SECRET}"),
        ("maritaca", "authorization", f"Bearer {SECRET}"),
        ("completions", "authorization", f"Bearer {SECRET}"),
        ("anthropic", "x-api-key", SECRET),
        ("gemini", "x-goog-api-key", SECRET),
    ],
)
def test_each_dialect_has_its_header(dialect: str, header: str, value: str) -> None:
    one = card("http://127.0.0.1", dialect, key_env="K")
    assert key_header(one.dialect, Key(SECRET, "$K")) == {header: value}
    assert shown_headers(one) == {header: value.replace(SECRET, "$K")}
