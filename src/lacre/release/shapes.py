"""The shape of records as tables see it: columns, their types, columns within columns; from the records themselves."""

from __future__ import annotations

import inspect
from typing import Literal

import msgspec

from lacre.registry.records import Record

Basic = Literal["string", "bool", "int64", "date32"]


class Shape(Record, omit_defaults=False):
    """One column.

    Attributes:
        basic: the type of its values; none where they are made of columns, ``below``.
        many: whether a row has a list of them. ``optional``: whether it may be null.
    """

    name: str
    basic: Basic | None
    many: bool = False
    optional: bool = False
    below: tuple[Shape, ...] = ()


def shapes(record: type[msgspec.Struct]) -> tuple[Shape, ...]:
    """The columns of a record, in order.

    >>> class Option(Record):
    ...     letter: str
    >>> shapes(Option)
    (Shape(name='letter', basic='string', many=False, optional=False, below=()),)

    Raises:
        TypeError: a field has a type that tables do not know.
    """
    kind = msgspec.inspect.type_info(record)
    assert isinstance(kind, msgspec.inspect.StructType)
    return tuple(_shape(field.encode_name, field.type) for field in kind.fields)


def _shape(name: str, kind: msgspec.inspect.Type) -> Shape:
    optional = False
    if isinstance(kind, msgspec.inspect.UnionType):
        (kind,) = (part for part in kind.types if not isinstance(part, msgspec.inspect.NoneType))
        optional = True
    if isinstance(kind, msgspec.inspect.VarTupleType):
        return msgspec.structs.replace(_shape(name, kind.item_type), many=True)
    if isinstance(kind, msgspec.inspect.StructType):
        return Shape(name=name, basic=None, below=shapes(kind.cls))
    basics: dict[type, Basic] = {
        msgspec.inspect.StrType: "string",
        msgspec.inspect.BoolType: "bool",
        msgspec.inspect.IntType: "int64",
        msgspec.inspect.DateType: "date32",
    }
    if type(kind) not in basics:
        raise TypeError(f"{name}: tables know no {kind}")
    return Shape(name=name, basic=basics[type(kind)], optional=optional)


def meanings(record: type) -> tuple[str, tuple[str, ...]]:
    """What a record's docstring says: its first paragraphs, and its lines under ``Attributes``.

    >>> meanings(Shape)[0]
    'One column.'
    """
    first, _, attributes = inspect.cleandoc(record.__doc__ or "").partition("\nAttributes:\n")
    lines: list[str] = []
    for line in attributes.split("\n"):
        if line.startswith("     ") and lines:
            lines[-1] += " " + line.strip()
        elif line.strip():
            lines.append(line.strip())
    return " ".join(first.split()), tuple(lines)
