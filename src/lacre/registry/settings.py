"""Settings files in TOML: read once, faults with their line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lacre.errors import InputError
from lacre.jsonl import read_bytes


class Settings:
    """A TOML file: its values, and the line on which a value stands."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._text = read_bytes(path).decode("utf-8-sig")
            self.values: dict[str, Any] = tomllib.loads(self._text)
        except UnicodeDecodeError:
            raise InputError(path, "is not UTF-8", "Save it as UTF-8") from None
        except tomllib.TOMLDecodeError as error:
            raise InputError(path, f"is not TOML: {error}", "Correct that line") from None

    def line(self, keys: Sequence[str], nth: int = 1) -> int:
        """The line of ``keys`` (tables, then a name), 1 when it is written in no usual way.

        ``nth`` counts the tables of an array of tables, from 1.
        """
        wanted = ".".join(keys)
        table, headers = "", 0
        for number, text in enumerate(self._text.split("\n"), 1):
            if header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]", text):
                table = _plain(header[1]) + "."
                headers += table == wanted + "."
                if headers == nth and table == wanted + ".":
                    return number
            elif (name := re.match(r"\s*([\w.\"' -]+?)\s*=", text)) and table + _plain(name[1]) == wanted:
                return number
        return 1


def _plain(name: str) -> str:
    """A dotted name without quotes and spaces."""
    return re.sub(r"[\"' ]", "", name)
