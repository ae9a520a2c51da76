"""Rows that are no records: what is wrong with each, and once for a field that many have or lack."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lacre.errors import Fault

FIRST_LINES = 3
"""Lines that are named where many have the same field too much or too little."""

_FIELD = re.compile(r"Object (contains unknown|missing required) field `(.+?)`(?: - at `(.+)`)?", re.DOTALL)
_TODO = {"unknown": "Take it out, or correct its name", "missing": "Give it"}


def misfits(broken: Iterable[tuple[int, str]]) -> list[Fault]:
    """The faults of rows that are no records, given as their lines and what is wrong with each.

    A field that no record has, or that each needs, is most often wrong on every line: it is told once, with the number
    of lines and the first of them; an element of a list counts as any other.

    >>> wrong = "Object contains unknown field `colour` - at `$.payload`"
    >>> [fault.what for fault in misfits((line, wrong) for line in (2, 3, 4, 5))]
    ["unknown field 'colour' in payload, on 4 lines: 2, 3, 4 and others"]
    """
    faults: list[Fault] = []
    fields: dict[tuple[str, str, str], list[int]] = {}
    for line, what in broken:
        found = _FIELD.fullmatch(what)
        if found is None:
            faults.append(Fault(line, what, "Correct this line"))
            continue
        wrong = "missing" if found[1] == "missing required" else "unknown"
        place = re.sub(r"\[\d+\]", "", (found[3] or "").removeprefix("$").removeprefix("."))
        fields.setdefault((wrong, found[2], place), []).append(line)
    for (wrong, name, place), lines in fields.items():
        what = f"{wrong} field '{name}'" + (f" in {place}" if place else "")
        faults.append(Fault(lines[0], what + _on(lines), _TODO[wrong]))
    return sorted(faults, key=lambda fault: fault.line)


def _on(lines: list[int]) -> str:
    """On which lines a field is, nothing where it is on one."""
    if len(lines) == 1:
        return ""
    first = ", ".join(map(str, lines[:FIRST_LINES]))
    return f", on {len(lines):,} lines: {first}{' and others' if len(lines) > FIRST_LINES else ''}"
