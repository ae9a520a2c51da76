"""Verdicts and ratings as files: one row for each rating, one column for each rater, or one file for each."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from lacre.errors import Fault, InputError, LacreError, RecordError
from lacre.registry.records import Record
from lacre.registry.tables import Row, Table, read_table

Repeats = Literal["refuse", "nth", "order"]

ITEM_COLUMNS = ("item", "id")
"""Columns that name the item when nobody says which do."""
RATER, LABEL = "rater", "label"
"""Columns of the long form when nobody says which they are."""

NO_VALUE = frozenset({"nan", "na", "n/a", "#n/a", "null", "none", "<na>"})
"""How programs write that there is no value; as a label, in lower case, it is refused until someone says which."""

_JOIN = " / "


class Layout(Record):
    """Which columns hold what; what is left out is found by the usual names.

    Attributes:
        item: columns that together name the item. Without any, and without a column ``item`` or ``id``, each row
            of a wide file is an item of its own.
        rater, label: columns of the long form, a row for each rating. ``label`` without ``rater``: each file is
            one rater, called by the file's name.
        raters: columns of the wide form, or the raters to keep of the others, in this order.
        missing: labels that mean that there is none, besides empty ones.
        declared: labels that are categories though they look like a missing value (:data:`NO_VALUE`).
        repeats: what to do when a rater rates an item twice: refuse; take the nth rating of one rater with the nth
            of another (``nth``); or align the rows of two raters in their order (``order``).
    """

    item: tuple[str, ...] = ()
    rater: str | None = None
    label: str | None = None
    raters: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    repeats: Repeats = "refuse"


class Ratings(Record, omit_defaults=False):
    """Labels of items by raters, in the order of the files.

    Attributes:
        labels: one row for each item, one label for each rater, none where there is none.
        alone: items with fewer than two ratings: they say nothing about agreement.
        empty: rows whose label is empty or means missing.
        repeated: ratings that their item had of that rater before, paired as ``repeats`` says.
        recoded: lines that were not UTF-8 and were read as Windows-1252.
    """

    items: tuple[str, ...]
    raters: tuple[str, ...]
    labels: tuple[tuple[str | None, ...], ...]
    alone: int
    empty: int
    repeated: int
    recoded: int = 0


class _Rating(NamedTuple):
    """One rating, and where it stands."""

    path: Path
    line: int
    item: str
    rater: str
    label: str | None


def read_ratings(paths: Sequence[Path], layout: Layout) -> Ratings:
    """The ratings of one or more files (JSONL, JSON, CSV, TSV, Parquet; plain or compressed).

    Raises:
        InputError: a file that cannot be read, lacks a column, or leaves the layout open; a rater without any
            rating; ratings given twice where ``repeats`` refuses them.
        RecordError: lists every row without an item, without a rater, or with a label that is none.
    """
    tables = [(path, read_table(path)) for path in paths]
    errors: list[LacreError] = [RecordError(path, table.faults) for path, table in tables if table.faults]
    ratings: list[_Rating] = []
    stems = [_stem(path) for path in paths]
    for (path, table), stem in zip(tables, stems, strict=True):
        known = _completed(path, table, layout, len(paths))
        if known.rater is None and known.label is not None and stems.count(stem) > 1:
            raise InputError(path, f"two files are called '{stem}'", "Each file is a rater: rename one")
        faults: list[Fault] = []
        for row in table.rows:
            ratings.extend(_row_ratings(path, row, known, stem, faults))
        if faults:
            errors.append(RecordError(path, faults))
    if errors:
        raise LacreError("\n".join(map(str, errors)))
    gathered = _gathered(ratings, layout)
    recoded = sum(table.recoded for _, table in tables)
    return msgspec.structs.replace(gathered, recoded=recoded)


def number(label: str) -> float | None:
    """A label as a number, decimal commas read; none when it is no finite number.

    >>> number("7,5"), number("right")
    (7.5, None)
    """
    try:
        value = float(label.replace(",", "."))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def seen_categories(labels: Iterable[Sequence[str | None]]) -> tuple[str, ...]:
    """The labels that occur, numbers by value before words by letter.

    >>> seen_categories([("10", "9"), (None, "yes")])
    ('9', '10', 'yes')
    """

    def place(label: str) -> tuple[bool, float, str]:
        value = number(label)
        return value is None, value or 0.0, label

    return tuple(sorted({label for row in labels for label in row if label is not None}, key=place))


def label_text(value: Any) -> str | None:
    """A label as text: whole numbers without a point, true and false in lower case; none when it is empty.

    >>> label_text(3.0), label_text(" Sim "), label_text(True), label_text(""), label_text(float("nan"))
    ('3', 'Sim', 'true', None, None)

    Raises:
        TypeError: a list or an object.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list | dict):
        raise TypeError("is a list or an object")
    return unicodedata.normalize("NFC", str(value)).strip() or None


def _stem(path: Path) -> str:
    """The name of a file without any of its endings."""
    return path.name.partition(".")[0] or path.name


def _completed(path: Path, table: Table, layout: Layout, files: int) -> Layout:
    """The layout with the usual names filled in, checked against the columns that are there."""
    there = table.columns
    item = layout.item or tuple(name for name in ITEM_COLUMNS if name in there)[:1]
    rater, label = layout.rater, layout.label
    if rater is None and label is None and not (set(layout.raters) <= set(there) and layout.raters):
        label = LABEL if LABEL in there else None
        rater = RATER if label is not None and RATER in there else None
    if rater is not None and label is None:
        label = LABEL
    raters = layout.raters
    if label is None and not raters:
        raters = tuple(name for name in there if name not in item) if item else ()
    needed = [*item, *([rater] if rater else []), *([label] if label else raters)]
    absent = [name for name in needed if name not in there]
    listed = f"The columns are: {', '.join(there) or 'none'}"
    if absent:
        raise InputError(path, f"no column {', '.join(repr(name) for name in absent)}", listed)
    if label is not None and rater is None and files == 1:
        raise InputError(
            path,
            "one file, and no column of raters",
            f"Name it with --rater, or give a file for each. {listed}",
        )
    if label is not None and not item:
        raise InputError(path, "no column 'item' or 'id'", f"Name it with --item. {listed}")
    if label is None and len(raters) < 2:
        what = "one column of ratings only" if raters else "which columns hold the ratings is not clear"
        raise InputError(path, what, f"Name two or more with --raters, or one with --label. {listed}")
    return Layout(
        item=item,
        rater=rater,
        label=label,
        raters=() if label else raters,
        missing=layout.missing,
        declared=layout.declared,
    )


def _row_ratings(path: Path, row: Row, layout: Layout, stem: str, faults: list[Fault]) -> list[_Rating]:
    """The ratings of one row; what is wrong with it goes to ``faults``."""
    names = [row.values.get(column) for column in layout.item]
    if any(name is None or isinstance(name, list | dict) or str(name).strip() == "" for name in names):
        faults.append(Fault(row.line, f"no {' and '.join(layout.item)}", "Say which item was rated"))
        return []
    item = _JOIN.join(unicodedata.normalize("NFC", str(name)) for name in names)
    if not layout.item:
        item = f"{path.name}:{row.line}"
    pairs: list[tuple[str, str]] = [(name, name) for name in layout.raters]
    if layout.label is not None:
        rater = stem if layout.rater is None else row.values.get(layout.rater)
        if rater is None or isinstance(rater, list | dict) or not str(rater).strip():
            faults.append(Fault(row.line, f"no {layout.rater}", "Say who rated"))
            return []
        pairs = [(str(rater).strip(), layout.label)]
    found: list[_Rating] = []
    for rater, column in pairs:
        try:
            label = label_text(row.values.get(column))
        except TypeError as error:
            faults.append(Fault(row.line, f"{column} {error}", "Give one label"))
            continue
        if label in layout.missing:
            label = None
        elif label is not None and label.casefold() in NO_VALUE and label not in layout.declared:
            advice = (
                f"If there is no rating, say --missing {label}; if it is a label, name it in --categories"
            )
            faults.append(
                Fault(row.line, f"{column} is '{label}', which often means that there is none", advice)
            )
            continue
        found.append(_Rating(path, row.line, item, rater, label))
    return found


def _gathered(ratings: Sequence[_Rating], layout: Layout) -> Ratings:
    """The ratings as a table of items by raters."""
    there = tuple(dict.fromkeys(rating.rater for rating in ratings))
    raters = layout.raters or there
    absent = [name for name in raters if name not in there]
    if absent:
        raise InputError(
            "--raters", f"no ratings by {', '.join(map(repr, absent))}", f"There are: {', '.join(there)}"
        )
    kept = [rating for rating in ratings if rating.rater in raters]
    empty = sum(rating.label is None for rating in kept)
    if layout.repeats == "order":
        keyed, repeated = _aligned(kept, raters)
    else:
        keyed, repeated = _numbered(kept, layout.repeats)
    table: dict[tuple[str, int], dict[str, str | None]] = {}
    for key, rating in keyed:
        table.setdefault(key, {})[rating.rater] = rating.label
    labels = tuple(tuple(row.get(rater) for rater in raters) for row in table.values())
    return Ratings(
        items=tuple(name if nth == 1 else f"{name} #{nth}" for name, nth in table),
        raters=raters,
        labels=labels,
        alone=sum(sum(label is not None for label in row) < 2 for row in labels),
        empty=empty,
        repeated=repeated,
    )


def _numbered(
    ratings: Sequence[_Rating], repeats: Repeats
) -> tuple[list[tuple[tuple[str, int], _Rating]], int]:
    """Each rating with its item and the times that the rater has rated it, and how many came again."""
    times: dict[tuple[str, str], int] = {}
    keyed: list[tuple[tuple[str, int], _Rating]] = []
    again: list[_Rating] = []
    for rating in ratings:
        nth = times[rating.item, rating.rater] = times.get((rating.item, rating.rater), 0) + 1
        if nth > 1:
            again.append(rating)
        keyed.append(((rating.item, nth), rating))
    if again and repeats == "refuse":
        first = again[0]
        raise InputError(
            f"{first.path}:{first.line}",
            f"'{first.rater}' has rated this item on an earlier line; so it is with {len(again):,} ratings",
            "Keep one of each, name more columns with --item, or pair them with --repeats nth or order",
        )
    return keyed, len(again)


def _aligned(
    ratings: Sequence[_Rating], raters: Sequence[str]
) -> tuple[list[tuple[tuple[str, int], _Rating]], int]:
    """The ratings of two raters paired by the longest alignment of their rows (longest common subsequence)."""
    from rapidfuzz.distance import LCSseq  # noqa: PLC0415 - only where rows are aligned

    if len(raters) != 2:
        raise InputError(
            "--repeats order", f"aligns two raters, not {len(raters)}", "Choose two with --raters"
        )
    place: dict[str, int] = {}
    rows = [[rating for rating in ratings if rating.rater == name] for name in raters]
    runs = [[place.setdefault(rating.item, len(place)) for rating in part] for part in rows]
    repeated = sum(len(run) - len(set(run)) for run in runs)
    times: dict[str, int] = {}
    keyed: list[tuple[tuple[str, int], _Rating]] = []

    def pair(*together: _Rating) -> None:
        item = together[0].item
        times[item] = times.get(item, 0) + 1
        keyed.extend(((item, times[item]), rating) for rating in together)

    for step in LCSseq.opcodes(runs[0], runs[1]):
        first = rows[0][step.src_start : step.src_end]
        second = rows[1][step.dest_start : step.dest_end]
        if step.tag == "equal":
            for both in zip(first, second, strict=True):
                pair(*both)
        else:
            for lone in (*first, *second):
                pair(lone)
    return keyed, repeated
