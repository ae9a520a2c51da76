"""Which column of a table holds the text, and the text of nested columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from lacre.errors import InputError

TEXT_COLUMNS = ("text", "content", "raw_content", "body", "texto", "conteudo", "conteúdo")
QUESTION_COLUMNS = ("question", "pergunta", "enunciado", "prompt", "resposta", "answer")
ID_COLUMNS = ("id", "doc_id", "_id", "url")

JOINT = "\n\n"
"""Stands between the texts of one document that come from different places of a nested column."""


class Step(msgspec.Struct, frozen=True):
    """One step of the way to a nested text: a field, or every element of a list (no name)."""

    name: str | None


def steps(column: str) -> tuple[Step, ...]:
    """The way to a nested text.

    >>> [step.name for step in steps("messages[].content")]
    ['messages', None, 'content']
    """
    way: list[Step] = []
    for part in column.split("."):
        name = part
        lists = 0
        while name.endswith("[]"):
            name, lists = name[:-2], lists + 1
        if name:
            way.append(Step(name))
        way.extend([Step(None)] * lists)
    return tuple(way)


def root(column: str, columns: Mapping[str, object]) -> str:
    """The column at the root of a way; a column may have dots in its own name."""
    if column in columns:
        return column
    first = steps(column)[0].name if column else None
    return first or column


def chosen(columns: Mapping[str, bool], column: str | None, where: str, *, more: tuple[str, ...] = ()) -> str:
    """The text column of a table, whose columns are given with whether each holds strings.

    The one named; else the first there is of ``text``, ``content``, ``raw_content``, ``body``, ``texto``,
    ``conteudo`` and of ``more``; else the only one that holds strings.

    Raises:
        InputError: there is no such column; the message lists those there are.

    >>> chosen({"n": False, "verso": True}, None, "poemas.csv")
    'verso'
    """
    listed = ", ".join(columns) or "none"
    if column is not None:
        if root(column, columns) in columns:
            return column
        raise InputError(where, f"no column '{column}'", f"Name one of: {listed}")
    names = {name.lower(): name for name, holds in columns.items() if holds}
    for candidate in (*TEXT_COLUMNS, *more):
        if candidate in names:
            return names[candidate]
    if len(names) == 1:
        return next(iter(names.values()))
    raise InputError(where, "no text column was found", f"Name it; the columns are: {listed}")


def identity(columns: Mapping[str, object]) -> str | None:
    """The column that names the documents, if there is one."""
    return next((name for name in ID_COLUMNS if name in columns), None)


def picked(value: object, way: tuple[Step, ...]) -> Iterator[object]:
    """What stands at the end of a way, in a decoded JSON value: every element of a list, in order."""
    if not way:
        yield value
    elif way[0].name is None:
        for element in value if isinstance(value, list) else ():
            yield from picked(element, way[1:])
    elif isinstance(value, dict) and way[0].name in value:
        yield from picked(value[way[0].name], way[1:])


def all_strings(value: object) -> list[str]:
    """Every string in a decoded JSON value, in order; names of fields are not text."""
    texts: list[str] = []
    waiting = [value]
    while waiting:
        here = waiting.pop()
        if isinstance(here, str):
            texts.append(here)
        elif isinstance(here, list):
            waiting.extend(reversed(here))
        elif isinstance(here, dict):
            waiting.extend(reversed(list(here.values())))
    return texts


def joined(value: object, way: tuple[Step, ...]) -> str | None:
    """The text of a document at the end of a way, parts joined by a blank line; None if there is none.

    Raises:
        TypeError: what stands there is not text.

    >>> joined({"turns": ["a", None, "b"]}, steps("turns[]"))
    'a\\n\\nb'
    """
    found = [part for part in picked(value, way) if part is not None]
    # A list of strings is text even if the person did not write the [].
    texts = [text for part in found for text in (part if isinstance(part, list) else [part])]
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"the text is a {_NAMES.get(type(text), 'value')}, not a string")
    return JOINT.join(cast("list[str]", texts)) if texts else None


_NAMES: dict[type, str] = {dict: "record", list: "list", int: "number", float: "number", bool: "truth value"}


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds strings, dictionaries of strings included."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def text_of(array: pa.Array[Any], way: tuple[Step, ...], where: str) -> pa.LargeStringArray:
    """The text of each row at the end of a way, parts joined by a blank line; null where there is none.

    Raises:
        InputError: the way does not lead to text.
    """
    kind = array.type
    if is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        if way:
            raise InputError(
                where, f"'{way[0].name or '[]'}' is asked of a column of strings", "Shorten the column's name"
            )
        large = array if pa.types.is_large_string(kind) else array.cast(pa.large_string(), safe=False)
        return cast("pa.LargeStringArray", large)
    if _is_list(kind):
        rest = way[1:] if way and way[0].name is None else way
        parts = text_of(pc.list_flatten(array), rest, where)
        return _gathered(array, parts)
    if pa.types.is_struct(kind) and way and way[0].name is not None:
        fields = [kind.field(at).name for at in range(kind.num_fields)]
        if way[0].name not in fields:
            raise InputError(where, f"no field '{way[0].name}'", f"Name one of: {', '.join(fields)}")
        return text_of(pc.struct_field(array, [fields.index(way[0].name)]), way[1:], where)
    raise InputError(
        where, f"the column is {kind}, not text", "Name a column of strings, such as messages[].content"
    )


def _gathered(lists: pa.Array[Any], parts: pa.LargeStringArray) -> pa.LargeStringArray:
    """The parts of each list joined; null parts are passed over."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    ends = lengths.cumsum()
    rows = []
    for start, end in zip(ends - lengths, ends, strict=True):
        texts = [text for text in parts.slice(int(start), int(end - start)).to_pylist() if text is not None]
        rows.append(JOINT.join(texts) if texts else None)
    return pa.array(rows, pa.large_string())
