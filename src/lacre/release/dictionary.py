"""The data dictionary of a release, made from the schemas of the records (SPEC L22)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import msgspec

from lacre.engine.journal import Halted, Replied, SetAside
from lacre.engine.plans import RunRecord
from lacre.registry.events import Event
from lacre.registry.exams import Exam
from lacre.registry.items import Change, Image, Item, Part, Passage, Payload, Source
from lacre.registry.ledger import Line
from lacre.release.flat import FlatImage, FlatItem, FlatOption, FlatPart, FlatPlace
from lacre.release.shapes import meanings
from lacre.release.statement import Release
from lacre.rotation.records import CellCount, DrawRecord, Frozen, FrozenItem, Leaving, Opened
from lacre.scoring.outcomes import Answer
from lacre.sealed.cells import Cell
from lacre.sealed.counts import Bounded, Exact, Withheld
from lacre.sealed.records import PublicRun, RoundTables
from lacre.sealed.scores import OpenedScore, Said, Score
from lacre.sealing.commitments import Row

FILES: tuple[tuple[str, str, tuple[type[msgspec.Struct], ...]], ...] = (
    (
        "data/<benchmark>/<layer>.jsonl",
        "Public items as flat rows, for tables and `datasets.load_dataset`.",
        (FlatItem, FlatPlace, FlatOption, FlatPart, FlatImage),
    ),
    (
        "registry/<benchmark>/official/*.jsonl and open/*.jsonl",
        "The same items as the benchmark keeps them: what commitments and runs are about.",
        (Item, Payload, Passage, Part, Image, Source, Change),
    ),
    ("registry/exams.jsonl", "Official exams, with the source of each fact.", (Exam,)),
    (
        "registry/<benchmark>/private/commitments.jsonl",
        "One row for each item that is still sealed.",
        (Row,),
    ),
    (
        "registry/<benchmark>/rounds/<number>/",
        "The closings: `freeze.dsse.json` (signed; its predicate is a Frozen), `randomness.json` as its source"
        " publishes it, `draw.json`, `openings.jsonl`.",
        (Frozen, FrozenItem, Leaving, DrawRecord, CellCount, Opened),
    ),
    (
        "registry/<benchmark>/private/runs/*.json and private/tables/*.json",
        "Sealed runs: counts in approved cells; which cells those are in a round.",
        (PublicRun, Exact, Bounded, Withheld, RoundTables, Cell),
    ),
    (
        "registry/<benchmark>/rounds/<number>/scores-opened.jsonl",
        "Scores of sealed runs on the items that opened, with what proves them and the replies behind them.",
        (OpenedScore, Score, Said),
    ),
    ("registry/ledger.jsonl", "What happened, one event a line.", (Line, *get_args(Event))),
    (
        "runs/<run>/",
        "Raw answers: `run.json` says what was asked, `journal.jsonl` holds every reply, `answers*.jsonl` what is"
        " scored.",
        (RunRecord, Replied, Halted, SetAside, Answer),
    ),
    ("release.dsse.json", "The signed statement; this is its predicate.", (Release,)),
)
"""Kinds of files with the records in them."""


def dictionary() -> str:
    """The data dictionary, as Markdown."""
    lines = [
        "# Data dictionary",
        "",
        "Made from the schemas of the program that reads and writes these files. JSONL files hold one record a line,"
        " in UTF-8; a field that says its default is left out, in the flat rows never. Public files besides hold"
        " `canary`: a line that asks not to train on them.",
        "",
    ]
    for place, what, records in FILES:
        lines += [f"## `{place}`", "", what, ""]
        for record in records:
            lines += list(_record(record))
    return "\n".join(lines)


def _record(record: type[msgspec.Struct]) -> Iterator[str]:
    what, attributes = meanings(record)
    yield from (f"### {record.__name__}", "", what, "")
    for line in attributes:
        yield f"- {line.replace('``', '`')}"
    if attributes:
        yield ""
    kind = msgspec.inspect.type_info(record)
    assert isinstance(kind, msgspec.inspect.StructType)
    yield from ("| field | type | where left out |", "|---|---|---|")
    if isinstance(kind.tag, str):
        yield f"| `{kind.tag_field}` | always `{kind.tag}` | |"
    for field in kind.fields:
        default = "" if field.required else f"`{_default(field)}`"
        yield f"| `{field.encode_name}` | {type_name(field.type)} | {default} |"
    yield ""


def _default(field: msgspec.inspect.Field) -> str:
    """A default as JSON."""
    value = field.default if field.default is not msgspec.NODEFAULT else None
    if field.default_factory is not msgspec.NODEFAULT:
        value = field.default_factory()
    return msgspec.json.encode(value).decode()


def type_name(kind: msgspec.inspect.Type) -> str:
    """A type in words.

    >>> type_name(msgspec.inspect.type_info(tuple[str, ...])), type_name(msgspec.inspect.type_info(int | None))
    ('list of text', 'whole number or null')
    """
    inspect = msgspec.inspect
    match kind:
        case inspect.UnionType():
            return " or ".join(
                sorted((type_name(part) for part in kind.types), key=lambda name: name == "null")
            )
        case inspect.VarTupleType():
            return f"list of {type_name(kind.item_type)}"
        case inspect.TupleType():
            return f"list of {', '.join(map(type_name, kind.item_types))}"
        case inspect.DictType():
            return f"object: {type_name(kind.key_type)} -> {type_name(kind.value_type)}"
        case inspect.StructType():
            return kind.cls.__name__
        case inspect.LiteralType():
            return ", ".join(f"`{value}`" for value in kind.values)
        case inspect.EnumType():
            return ", ".join(f"`{member.value}`" for member in kind.cls)
        case inspect.StrType():
            return "hash (64 hex digits)" if kind.pattern == "^[0-9a-f]{64}$" else "text"
        case _:
            names = {
                inspect.IntType: "whole number",
                inspect.FloatType: "number",
                inspect.BoolType: "true or false",
                inspect.NoneType: "null",
                inspect.DateType: "day (YYYY-MM-DD)",
                inspect.DecimalType: "decimal, as text",
            }
            return names.get(type(kind), "any JSON")
