"""Taking items in: from the record format or plain files, to candidates for vetting or to whole records."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import msgspec

from lacre.errors import Fault, InputError, RecordError
from lacre.jsonl import Lines, explained
from lacre.registry.items import Candidate, Item, Layer, Passage, Payload, Source
from lacre.registry.layers import Surroundings, is_decomposed, layer_faults
from lacre.registry.misfits import misfits
from lacre.registry.options import (
    NO_KEY,
    NO_OPTIONS,
    Key,
    Options,
    OptionsError,
    columns_as_options,
    parse_key,
    parse_options,
)
from lacre.registry.records import Record
from lacre.registry.tables import Row, Table, read_table

FIELDS = ("id", "stem", "options", "key", "passage", "passage_source")
"""What a plain file says of an item; ``--map`` gives them the names of its columns."""

ORIGIN_FIELDS = ("number", "url")
"""What a plain file may say besides, for whole records; the axes of the matrix come after these."""


class RowError(ValueError):
    """A row that is no item; the message says what is wrong and what to do."""


class Imported(Record, omit_defaults=False):
    """Candidates of a file, in its order, and all that was noticed while reading it.

    Attributes:
        lines: the line of each item (in a JSON list or Parquet file, its number from 1).
        ignored: columns of the file that were not used.
        annulled: items whose exam annulled them; they have no key.
        unkeyed: choice items that need a key and have none, or one that could not be understood.
        without_text: items with no text at all: they cannot be tested.
        blank_options: options without text (images, as a rule).
        recoded: lines that were not UTF-8 and were read as Windows-1252.
        recomposed: items whose text was not in NFC and now is.
    """

    items: tuple[Candidate, ...]
    lines: tuple[int, ...]
    ignored: tuple[str, ...] = ()
    annulled: int = 0
    unkeyed: int = 0
    without_text: int = 0
    blank_options: int = 0
    recoded: int = 0
    recomposed: int = 0

    @property
    def encoding(self) -> str:
        """How the file was read: ``UTF-8``, or ``UTF-8 and Windows-1252``."""
        return "UTF-8 and Windows-1252" if self.recoded else "UTF-8"

    def remarks(self) -> tuple[str, ...]:
        """What a person should know about the file, one sentence each; empty when there is nothing to say."""
        said = (
            (len(self.ignored), f"columns not used: {', '.join(self.ignored)}"),
            (self.annulled, f"{self.annulled} annulled, without a key"),
            (self.unkeyed, f"{self.unkeyed} without a key that could be understood"),
            (self.without_text, f"{self.without_text} without any text"),
            (self.blank_options, f"{self.blank_options} options without text"),
            (self.recoded, f"{self.recoded} lines were not UTF-8 and were read as Windows-1252"),
            (self.recomposed, f"{self.recomposed} were not in NFC and now are"),
        )
        return tuple(sentence for count, sentence in said if count)


class ImportedItems(Record, omit_defaults=False):
    """Whole records of a file, sorted by id, and what was noticed while reading it."""

    items: tuple[Item, ...]
    noticed: Imported


class Origin(Record):
    """What all items of one import share.

    Attributes:
        source: exam, licence, author group; ``number`` and ``url`` come from columns of these names where
            they exist.
        cell: place on the axes of the matrix; a column named after an axis comes before it.
    """

    benchmark: str
    layer: Layer
    source: Source = Source()
    cell: dict[str, str] = msgspec.field(default_factory=dict)
    axes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Entry:
    """One item as it was read; ``item`` is the record itself where the file held records."""

    line: int
    candidate: Candidate
    item: Item | None = None
    key: Key = NO_KEY
    extra: Mapping[str, str]
    recomposed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class _Reading:
    """A file as it was read: its items, its faults, and what became of its columns."""

    entries: tuple[_Entry, ...]
    faults: tuple[Fault, ...]
    ignored: tuple[str, ...]
    recoded: int


def candidates(
    path: Path, mapping: Mapping[str, str] | None = None, *, key_index: int | None = None
) -> Imported:
    """The items of a file for vetting: in the record format, or plain with columns id, stem, options, key.

    Lenient where vetting does not care: an item without text is kept (vetting calls it untestable), so is one
    without a key; both are counted. Items without an options column or cell are open. ``mapping`` gives
    columns of other names (:func:`parse_mapping`); ``key_index`` is 0 or 1 when keys count the options.

    Raises:
        InputError: the file is missing, damaged or empty, or lacks a column; the columns there are get named.
        RecordError: lists every bad line: not readable, no id, an id given twice, options not understood.
    """
    reading = _read(path, mapping or {}, key_index, ())
    faults = sorted([*reading.faults, *_repeated(reading.entries)], key=lambda fault: fault.line)
    if faults:
        raise RecordError(path, faults)
    return _imported(reading)


def candidate(
    values: Mapping[str, Any],
    line: int,
    mapping: Mapping[str, str] | None = None,
    *,
    key_index: int | None = None,
) -> Candidate:
    """The item of one row, a record or plain, as :func:`candidates` reads those of a file; ``line`` is its number.

    >>> candidate({"id": "q1", "stem": "Quem foi Zumbi?"}, 1).payload.stem
    'Quem foi Zumbi?'

    Raises:
        InputError: the row lacks a column.
        RecordError: it is no item.
    """
    table = Table(columns=tuple(values), rows=(Row(line, dict(values)),))
    reading = _read_rows(Path("standard input"), table, mapping or {}, key_index, ())
    if reading.faults:
        raise RecordError("standard input", reading.faults)
    return reading.entries[0].candidate


def import_items(
    path: Path,
    origin: Origin,
    around: Surroundings,
    mapping: Mapping[str, str] | None = None,
    *,
    key_index: int | None = None,
) -> ImportedItems:
    """The items of a file as whole records that keep the rules of their layer (L1).

    Items that are records already stay as they are, and must belong to the benchmark and layer of ``origin``.

    Raises:
        InputError, RecordError: as :func:`candidates`, and every break of the layer's rules.
    """
    reading = _read(path, mapping or {}, key_index, (*ORIGIN_FIELDS, *origin.axes))
    items = [(entry.line, entry.item or _item(entry, origin)) for entry in reading.entries]
    unclear = [
        Fault(entry.line, f"item '{entry.candidate.id}': {entry.key.problem}")
        for entry in reading.entries
        if entry.key.problem
    ]
    # Said once: the rules would call a key that was not understood a missing one.
    said = {fault.line for fault in unclear}
    broken = layer_faults([(line, item) for line, item in items if line not in said], around)
    faults = [*reading.faults, *unclear, *broken]
    if faults:
        raise RecordError(path, sorted(faults, key=lambda fault: fault.line))
    return ImportedItems(
        items=tuple(sorted((item for _, item in items), key=lambda item: item.id)), noticed=_imported(reading)
    )


def read_records(path: Path) -> Lines[Item]:
    """The whole items of a file in the record format, with their lines and faults; no text is changed.

    Raises:
        InputError: the file is missing, damaged or empty, or holds plain rows.
    """
    table = read_table(path)
    if not table.rows and not table.faults:
        raise InputError(path, "no items", "Give a file with at least one item")
    if table.rows and not {"payload", "layer"} & set(table.columns):
        if not ({*FIELDS, *ORIGIN_FIELDS} - {"id"}) & set(table.columns):
            what = f"holds no items that we know: its columns are {', '.join(table.columns[:5])}"
            todo = "Name a file of items; `lacre items import --map` brings in columns of other names"
            raise InputError(path, what, todo)
        raise InputError(path, "holds plain rows, not records", "Bring them in with `lacre items import`")
    records: list[tuple[int, Item]] = []
    broken: list[tuple[int, str]] = []
    for row in table.rows:
        try:
            records.append((row.line, msgspec.convert(row.values, Item)))
        except msgspec.ValidationError as error:
            broken.append((row.line, explained(error, Item)))
    return Lines(tuple(records), (*table.faults, *misfits(broken)))


def parse_mapping(texts: Iterable[str]) -> dict[str, str]:
    """Fields and the columns that hold them, from ``stem=question,options=alternatives``, once or repeated.

    Several columns for one field are joined with ``+``: ``options=A+B+C+D``; a value inside a column has a
    dotted name: ``stem=question.stem``.

    >>> parse_mapping(["stem=question,key=answer"])
    {'stem': 'question', 'key': 'answer'}

    Raises:
        InputError: a part is not field=column, or the field does not exist or is given twice.
    """
    known = (*FIELDS, *ORIGIN_FIELDS)
    mapping: dict[str, str] = {}
    for part in (part.strip() for text in texts for part in text.split(",")):
        field, equals, column = (piece.strip() for piece in part.partition("="))
        if not (field and equals and column):
            raise InputError(
                "--map", f"'{part}' is not field=column", "Write --map stem=question,options=alternatives"
            )
        if field not in known:
            raise InputError("--map", f"'{field}' is no field of an item", f"There are: {', '.join(known)}")
        if field in mapping:
            raise InputError("--map", f"{field} is given twice", "Join columns with +, as in options=A+B+C+D")
        mapping[field] = column
    return mapping


def _imported(reading: _Reading) -> Imported:
    entries = reading.entries
    payloads = [entry.candidate.payload for entry in entries]
    return Imported(
        items=tuple(entry.candidate for entry in entries),
        lines=tuple(entry.line for entry in entries),
        ignored=reading.ignored,
        annulled=sum(entry.key.annulled for entry in entries),
        unkeyed=sum(
            payload.kind == "choice" and payload.key is None and payload.expects != "abstention"
            for payload in payloads
        )
        - sum(entry.key.annulled for entry in entries),
        without_text=sum(not _has_text(payload) for payload in payloads),
        blank_options=sum(not text for payload in payloads for text in payload.options.values()),
        recoded=reading.recoded,
        recomposed=sum(entry.recomposed for entry in entries),
    )


def _has_text(payload: Payload) -> bool:
    texts = [payload.stem, *payload.options.values(), *(part.prompt for part in payload.parts)]
    if payload.passage is not None:
        texts.append(payload.passage.text)
    return any(text.strip() for text in texts)


def _item(entry: _Entry, origin: Origin) -> Item:
    """The whole record of a candidate."""
    source = msgspec.structs.replace(
        origin.source,
        number=entry.extra.get("number", origin.source.number),
        url=entry.extra.get("url", origin.source.url),
        annulled=entry.key.annulled,
    )
    own = {axis: entry.extra[axis] for axis in origin.axes if axis in entry.extra}
    return Item(
        id=entry.candidate.id,
        benchmark=origin.benchmark,
        layer=origin.layer,
        cell={**origin.cell, **own},
        payload=entry.candidate.payload,
        source=source,
    )


def _read(path: Path, mapping: Mapping[str, str], key_index: int | None, extra: Sequence[str]) -> _Reading:
    """A file's items and faults."""
    table = read_table(path)
    if not table.rows and not table.faults:
        raise InputError(path, "no items", "Give a file with at least one item")
    return _read_rows(path, table, mapping, key_index, extra)


def _read_rows(
    path: Path, table: Table, mapping: Mapping[str, str], key_index: int | None, extra: Sequence[str]
) -> _Reading:
    """The items and faults of rows; ``path`` is where they come from."""
    if "payload" in table.columns:
        if mapping:
            raise InputError(path, "holds records, which need no --map", "Leave --map out")
        entries, faults = _record_entries(table)
        ignored: tuple[str, ...] = ()
    else:
        columns = _assigned(path, table, mapping, extra)
        entries, faults = _plain_entries(table, columns, key_index, extra)
        used = _tops(table, columns)
        ignored = tuple(name for name in table.columns if name not in used)
    return _Reading(
        entries=tuple(entries), faults=(*table.faults, *faults), ignored=ignored, recoded=table.recoded
    )


def _repeated(entries: Sequence[_Entry]) -> list[Fault]:
    """A fault for every id that an earlier line has."""
    seen: dict[str, int] = {}
    faults: list[Fault] = []
    for entry in entries:
        name = entry.candidate.id
        if name in seen:
            faults.append(
                Fault(
                    entry.line,
                    f"item '{name}' is already on line {seen[name]}",
                    "Give each item an id of its own",
                )
            )
        seen.setdefault(name, entry.line)
    return faults


def _record_entries(table: Table) -> tuple[list[_Entry], list[Fault]]:
    """Items, or candidates, of the record format."""
    entries: list[_Entry] = []
    broken: list[tuple[int, str]] = []
    kind: type[Item] | type[Candidate] = Item if "layer" in table.columns else Candidate
    for row in table.rows:
        values = composed(row.values)
        try:
            record = msgspec.convert(values, kind)
        except msgspec.ValidationError as error:
            broken.append((row.line, explained(error, kind)))
            continue
        item = record if isinstance(record, Item) else None
        entries.append(
            _Entry(
                line=row.line,
                candidate=Candidate(id=record.id, payload=record.payload),
                item=item,
                key=Key(annulled=item is not None and item.source.annulled),
                extra={},
                recomposed=values != row.values and is_decomposed(row.values),
            )
        )
    return entries, misfits(broken)


def _assigned(
    path: Path, table: Table, mapping: Mapping[str, str], extra: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """The columns that hold each field.

    Raises:
        InputError: a column that does not exist, or none for id or stem.
        RecordError: no line could be read, so that there is no column at all.
    """
    if table.faults and not table.columns:
        raise RecordError(path, table.faults)
    there = f"The columns are: {', '.join(table.columns) or 'none'}"
    assigned: dict[str, tuple[str, ...]] = {}
    missing: list[str] = []
    for field, column in mapping.items():
        names = (column,) if column in table.columns else tuple(name.strip() for name in column.split("+"))
        missing.extend(f"'{name}' (for {field})" for name in names if not _exists(table, name))
        assigned[field] = names
    if missing:
        raise InputError(path, f"no column {', '.join(missing)}", there)
    for field in (*FIELDS, *extra):
        if field not in assigned and field in table.columns:
            assigned[field] = (field,)
    if "options" not in assigned:
        for alphabet in (ascii_uppercase, ascii_lowercase):
            letters = tuple(takewhile(lambda letter: letter in table.columns, alphabet))
            if len(letters) > 1:
                assigned["options"] = letters
    for field in ("id", "stem"):
        if field not in assigned:
            raise InputError(path, f"no column '{field}'", f"{there}. Name it with --map {field}=COLUMN")
    return assigned


def _exists(table: Table, name: str) -> bool:
    """Whether a column, or a value nested in one (``question.stem``), is in the file."""
    return name in table.columns or any(_value(row, name) is not None for row in table.rows)


def _value(row: Row, name: str) -> Any:
    """The value of a column, or the one nested in it under a dotted name; none where there is none."""
    if name in row.values:
        return row.values[name]
    value: Any = row.values
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _tops(table: Table, columns: Mapping[str, tuple[str, ...]]) -> set[str]:
    """The columns that hold the fields, nested ones by the column they are in."""
    names = {name for names in columns.values() for name in names}
    return {name if name in table.columns else name.partition(".")[0] for name in names}


def _plain_entries(
    table: Table, columns: Mapping[str, tuple[str, ...]], key_index: int | None, extra: Sequence[str]
) -> tuple[list[_Entry], list[Fault]]:
    """Items of rows with columns."""
    wanted = _tops(table, columns)
    entries: list[_Entry] = []
    faults: list[Fault] = []
    for row in table.rows:
        values = {name: value for name, value in row.values.items() if name in wanted}
        clean = composed(values)
        try:
            entries.append(
                _plain_entry(
                    Row(row.line, {**clean, **_names(row, columns)}),
                    columns,
                    key_index,
                    extra,
                    recomposed=clean != values and is_decomposed(values),
                )
            )
        except (RowError, OptionsError) as error:
            faults.append(Fault(row.line, str(error)))
    return entries, faults


def _names(row: Row, columns: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """The id as it is written: others look the item up by it, so not even its accents are recomposed."""
    return {name: row.values[name] for name in columns.get("id", ()) if name in row.values}


def _plain_entry(
    row: Row,
    columns: Mapping[str, tuple[str, ...]],
    key_index: int | None,
    extra: Sequence[str],
    *,
    recomposed: bool,
) -> _Entry:
    """The item of one row; a RowError or OptionsError says what is wrong with it."""
    texts = {
        field: _joined(row, columns[field], field)
        for field in (*FIELDS, *extra)
        if field in columns and field != "options"
    }
    name = texts.get("id") or ""
    if not name:
        raise RowError("no id. Give the item an id of its own")
    options = _options(row, columns.get("options", ()))
    key = NO_KEY if options is None else parse_key(texts.get("key"), options, first_index=key_index)
    passage = texts.get("passage")
    payload = Payload(
        kind="open" if options is None else "choice",
        stem=texts.get("stem") or "",
        passage=Passage(text=passage, source=texts.get("passage_source") or None) if passage else None,
        options={} if options is None else options.texts,
        key=key.letter if options is not None else texts.get("key") or None,
    )
    return _Entry(
        line=row.line,
        candidate=Candidate(id=name, payload=payload),
        key=key,
        extra={field: text for field in extra if (text := texts.get(field))},
        recomposed=recomposed,
    )


def _options(row: Row, names: Sequence[str]) -> Options | None:
    """The options of a row: none for an open item."""
    if len(names) > 1:
        return columns_as_options([_value(row, name) for name in names])
    value = _value(row, names[0]) if names else None
    return NO_OPTIONS if value in ([], {}) else parse_options(value)


def _joined(row: Row, names: Sequence[str], field: str) -> str:
    """The text of a field; several columns, or a list of texts, become paragraphs."""
    parts: list[str] = []
    for value in (_value(row, name) for name in names):
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict | list):
                raise RowError(f"{field} is neither text nor a list of texts. Map another column to it")
            if part is not None and (text := str(part).strip()):
                parts.append(text)
    return "\n\n".join(parts)


def composed(value: Any) -> Any:
    """The same value with every text in it in NFC, and its lines ended by LF.

    >>> composed({"stem": "ac\\u0327a\\u0303o\\r\\n"})
    {'stem': 'ação\\n'}
    """
    if isinstance(value, str):
        value = value.replace("\r\n", "\n") if "\r" in value else value
        return value if unicodedata.is_normalized("NFC", value) else unicodedata.normalize("NFC", value)
    if isinstance(value, dict):
        return {composed(name): composed(part) for name, part in value.items()}
    return [composed(part) for part in value] if isinstance(value, list) else value
