"""A benchmark's matrix: its axes, its cells, and the share of items each cell is meant to hold (SPEC L2)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from lacre.errors import Fault, InputError, RecordError
from lacre.registry.settings import Settings

_NAME = re.compile(r"[^\W_][\w.-]*")
_SHARE = re.compile(r"\d+(\.\d+|/\d*[1-9]\d*)?")


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One cell: the value on each axis, and its exact target share of the items."""

    place: dict[str, str]
    share: Fraction

    @property
    def name(self) -> str:
        """The cell's canonical name."""
        return cell_name(self.place)


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """Axes (name -> values, in the order of the file) and the cells in use, whose shares sum to 1."""

    axes: dict[str, tuple[str, ...]]
    cells: tuple[Cell, ...]

    def names(self) -> frozenset[str]:
        """The canonical names of all cells."""
        return frozenset(cell.name for cell in self.cells)


def cell_name(place: Mapping[str, str]) -> str:
    """A cell's canonical name: axes in the order of the alphabet, whatever order they were given in.

    >>> cell_name({"difficulty": "facil", "area": "direito"})
    'area=direito/difficulty=facil'
    """
    return "/".join(f"{axis}={place[axis]}" for axis in sorted(place))


def parse_cell(name: str) -> dict[str, str]:
    """The place that a cell's name stands for; the inverse of :func:`cell_name`, axes in any order.

    >>> parse_cell("area=direito/difficulty=facil")
    {'area': 'direito', 'difficulty': 'facil'}

    Raises:
        InputError: the name is not made of axis=value.
    """
    place: dict[str, str] = {}
    for part in name.split("/"):
        axis, equals, value = part.partition("=")
        if not (axis and equals and value) or axis in place:
            raise InputError(f"cell '{name}'", "is not axis=value/axis=value", "Name each axis once")
        place[axis] = value
    return place


def read_matrix(path: Path) -> Matrix:
    """The matrix of a benchmark.

    Raises:
        InputError: the file is missing, or not TOML.
        RecordError: lists all that is wrong: unknown axes or values, missing ones, cells given twice, shares
            that are not decimals written as text or do not sum to 1.
    """
    settings = Settings(path)
    faults: list[Fault] = [
        Fault(settings.line((key,)), f"'{key}' is no part of a matrix", "There are: axes, cells")
        for key in settings.values
        if key not in ("axes", "cells")
    ]
    axes = _axes(settings, faults)
    cells: list[Cell] = []
    rows = settings.values.get("cells", [])
    if not isinstance(rows, list) or not rows:
        faults.append(Fault(1, "no cells", "Write a [[cells]] for each cell in use"))
        rows = []
    seen: dict[str, int] = {}
    for nth, row in enumerate(rows, 1):
        line = settings.line(("cells",), nth)
        cell = _cell(row, axes, line, faults)
        if cell is not None and cell.name in seen:
            faults.append(Fault(line, f"cell {cell.name} is already on line {seen[cell.name]}", "Keep one"))
        elif cell is not None:
            seen[cell.name] = line
            cells.append(cell)
    total = sum((cell.share for cell in cells), Fraction(0))
    if not faults and total != 1:
        faults.append(
            Fault(settings.line(("cells",)), f"shares sum to {_decimal(total)}, not 1", "Correct the shares")
        )
    if faults:
        raise RecordError(path, sorted(faults, key=lambda fault: fault.line))
    return Matrix(axes=axes, cells=tuple(cells))


def _axes(settings: Settings, faults: list[Fault]) -> dict[str, tuple[str, ...]]:
    """The axes of the file; what is wrong with them is added to ``faults``."""
    table = settings.values.get("axes")
    if not isinstance(table, dict) or not table:
        faults.append(Fault(1, "no axes", "Write [axes] with a list of values for each axis"))
        return {}
    axes: dict[str, tuple[str, ...]] = {}
    for axis, values in table.items():
        line = settings.line(("axes", axis))
        if not isinstance(values, list) or not values or not all(isinstance(value, str) for value in values):
            faults.append(Fault(line, f"axis '{axis}' is not a list of names", 'Write ["easy", "hard"]'))
            continue
        if axis == "share":
            faults.append(Fault(line, "an axis may not be called share", "Give it another name"))
        faults.extend(
            Fault(line, f"'{name}' is not a name", "Use letters, digits, hyphen, dot and underscore")
            for name in (axis, *values)
            if not _NAME.fullmatch(name)
        )
        if len(set(values)) < len(values):
            faults.append(Fault(line, f"axis '{axis}' has a value twice", "Keep one of the two"))
        axes[axis] = tuple(values)
    return axes


def _cell(row: Any, axes: Mapping[str, tuple[str, ...]], line: int, faults: list[Fault]) -> Cell | None:
    """One cell, or none when something is wrong with it, which is added to ``faults``."""
    before = len(faults)
    if not isinstance(row, dict):
        faults.append(Fault(line, "a cell is not a table", "Write [[cells]] above it"))
        return None
    share = row.get("share")
    if not isinstance(share, str) or not _SHARE.fullmatch(share):
        faults.append(Fault(line, "the share is not a decimal written as text", 'Write share = "0.05"'))
    place = {axis: value for axis, value in row.items() if axis != "share"}
    faults.extend(
        Fault(line, f"'{axis}' is no axis", f"The axes are: {', '.join(axes)}")
        for axis in place
        if axis not in axes
    )
    for axis, values in axes.items():
        if axis not in place:
            faults.append(
                Fault(line, f"the cell says nothing about axis '{axis}'", f"One of: {', '.join(values)}")
            )
        elif place[axis] not in values:
            what = f"'{place[axis]}' is no value of axis '{axis}'"
            faults.append(Fault(line, what, f"One of: {', '.join(values)}"))
    return None if len(faults) > before else Cell(place=place, share=Fraction(str(share)))


def _decimal(share: Fraction) -> str:
    """A share as a person reads it: a decimal when it is short, else a fraction."""
    text = f"{float(share):.6f}".rstrip("0").rstrip(".")
    return text if Fraction(text) == share else str(share)
