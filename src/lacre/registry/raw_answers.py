"""Files of answers as columns wrote them: one text a row, with the options it chose from (SPEC L10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from lacre.digest import sha256
from lacre.errors import Fault, InputError, RecordError
from lacre.registry import endings
from lacre.registry.items import Expects, Payload
from lacre.registry.options import Options, OptionsError, parse_key, parse_options
from lacre.registry.records import Record
from lacre.registry.tables import Row, read_table

FIELDS = ("column", "item", "repetition", "answer", "finish", "options", "key", "expects")
"""What a row may say; ``--map`` gives the names of its columns."""

Ending = Literal["answered", "refused", "truncated", "failed"]

_KINDS: dict[endings.Ending, Ending] = {
    "whole": "answered",
    "cap": "truncated",
    "cut": "truncated",
    "refused": "refused",
    "failed": "failed",
}
_ENDINGS: dict[str, Ending] = {
    "": "answered",
    **{kind: kind for kind in get_args(Ending)},
    **{word: _KINDS[ending] for word, ending in endings.ENDINGS.items()},
}


class RawAnswer(Record):
    """One answer of one column to one item, as it came.

    Attributes:
        ending: how the reply ended.
        options: letter -> text; empty for an open-ended item.
    """

    column: str
    item: str
    text: str
    repetition: int = 1
    ending: Ending = "answered"
    options: dict[str, str] = msgspec.field(default_factory=dict)
    key: str | None = None
    expects: Expects = "answer"

    @property
    def sha256(self) -> str:
        """The SHA-256 of its text in UTF-8."""
        return sha256(self.text.encode("utf-8", "surrogatepass"))


class RowError(ValueError):
    """A row that is no answer; the message says what is wrong and what to do."""


def read_raw_answers(
    path: Path,
    mapping: Mapping[str, str] | None = None,
    *,
    items: Mapping[str, Payload] | None = None,
    letters: str | None = None,
) -> tuple[RawAnswer, ...]:
    """The answers of a file (JSONL, JSON, CSV, TSV, Parquet), one a row, in its order.

    A row says ``item`` and ``answer`` (the text), and may say ``column`` (else the file's name stands for it),
    ``repetition``, ``finish`` (stop, length, content_filter ... or answered, truncated, refused, failed),
    ``options``, ``key`` and ``expects``.

    Args:
        mapping: fields and the columns that hold them.
        items: the items by id; then options, key and expectation come from there.
        letters: letters of options whose texts are not known, where rows and items give none.

    Raises:
        InputError: the file is missing, damaged, or lacks a column that is needed.
        RecordError: lists every bad line. No answer's text is quoted.
    """
    table = read_table(path)
    names = _names(path, table.columns, dict(mapping or {}))
    if items is None and letters is None and "options" not in names:
        raise InputError(
            path,
            "its rows have no options",
            "Name the items with --items, the column with --map options=COLUMN, or the letters with --letters",
        )
    faults = list(table.faults)
    found: list[RawAnswer] = []
    taken: dict[tuple[str, str, int], int] = {}
    for row in table.rows:
        try:
            answer = _answer(row, names, path, items, letters)
        except RowError as error:
            faults.append(Fault(row.line, str(error)))
            continue
        run = (answer.column, answer.item, answer.repetition)
        if run in taken:
            faults.append(
                Fault(
                    row.line,
                    f"column '{run[0]}' answers item '{run[1]}', repetition {run[2]}, on line {taken[run]} already",
                    "Keep one, or number the runs in a column `repetition`",
                )
            )
        taken.setdefault(run, row.line)
        found.append(answer)
    if faults:
        raise RecordError(path, sorted(faults, key=lambda fault: fault.line))
    return tuple(found)


def _names(path: Path, columns: Sequence[str], mapping: Mapping[str, str]) -> dict[str, str]:
    """Which column holds each field."""
    if unknown := [field for field in mapping if field not in FIELDS]:
        raise InputError("--map", f"no field '{unknown[0]}'", f"There are: {', '.join(FIELDS)}")
    names = {field: mapping.get(field, field) for field in FIELDS}
    known = f"The file has: {', '.join(columns)}"
    for field, column in names.items():
        if column not in columns and (field in mapping or field in ("item", "answer")):
            raise InputError(path, f"no column '{column}'", f"{known}. Say --map {field}=COLUMN")
    return {field: column for field, column in names.items() if column in columns}


def _answer(
    row: Row,
    names: Mapping[str, str],
    path: Path,
    items: Mapping[str, Payload] | None,
    letters: str | None,
) -> RawAnswer:
    said = {field: row.values.get(column) for field, column in names.items()}
    item = _text(said.get("item"))
    if not item:
        raise RowError("no item. Write the item's id")
    payload = None if items is None else items.get(item)
    if items is not None and payload is None:
        raise RowError(f"item '{item}' is none of --items. Correct the id, or name the right file")
    options = _options(said.get("options"), payload, letters)
    return RawAnswer(
        column=_text(said.get("column")) or path.name.split(".")[0],
        item=item,
        text=_text(said.get("answer"), strip=False),
        repetition=_repetition(said.get("repetition")),
        ending=_ending(said.get("finish")),
        options=options.texts,
        key=_key(said.get("key"), payload, options),
        expects=_expects(said.get("expects"), payload),
    )


def _text(value: Any, *, strip: bool = True) -> str:
    if value is None:
        return ""
    if not isinstance(value, str | int | float):
        raise RowError("a text is no text. Write it as one")
    return str(value).strip() if strip else str(value)


def _options(value: Any, payload: Payload | None, letters: str | None) -> Options:
    if payload is not None:
        return Options(dict(payload.options), {})
    try:
        found = parse_options(value)
    except OptionsError as error:
        raise RowError(str(error)) from None
    if found is not None:
        return found
    return Options(dict.fromkeys(sorted(letters or ""), ""), {})


def _key(value: Any, payload: Payload | None, options: Options) -> str | None:
    if payload is not None:
        return payload.key if payload.kind == "choice" else None
    if not options.texts or not _text(value):
        return None
    key = parse_key(_text(value).strip("().[] "), options)
    if key.problem:
        raise RowError(key.problem)
    return key.letter


def _repetition(value: Any) -> int:
    text = _text(value) or "1"
    if not text.isdecimal() or int(text) < 1:
        raise RowError(f"repetition '{text}' is no number from 1 on. Count the runs of an item from 1")
    return int(text)


def _ending(value: Any) -> Ending:
    text = _text(value).casefold()
    if text not in _ENDINGS:
        known = ", ".join(name for name in _ENDINGS if name)
        raise RowError(f"finish '{text}' is not known. There are: {known}")
    return _ENDINGS[text]


def _expects(value: Any, payload: Payload | None) -> Expects:
    if payload is not None:
        return payload.expects
    text = _text(value) or "answer"
    for known in get_args(Expects):
        if text == known:
            return known  # type: ignore[no-any-return]
    raise RowError(f"expects '{text}' is not {', '.join(get_args(Expects))}. Write one of these")
