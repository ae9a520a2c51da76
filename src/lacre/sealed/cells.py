"""Which tables of a sealed run may leave, so that no sum or difference of them tells of a few items (SPEC X5).

What leaves is the whole and one table for each approved axis, the same for every column of a round. A set of items is
safe when at least ``smallest`` of them stay private after the most that the next rotation can open: what is opened is
known to everybody, and can be subtracted. Not only the published sets must be safe but whatever follows from them by
adding and subtracting, over this round's tables and the last one's: the smallest set that follows is found by integer
programming, and the smallest cell that it needs is given up until none is too small.

This looks at who is in which set and never at an answer, so that what is left out tells nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from lacre.registry.records import Record

CellName = Annotated[str, msgspec.Meta(min_length=1, max_length=120)]
Reason = Annotated[str, msgspec.Meta(pattern="^[a-z0-9 ;]{1,160}$")]
ALL = "all"
"""The name of the set of all items."""


class CellRule(Record):
    """When a set of items is safe.

    Attributes:
        smallest: items that must stay private.
        share: what the next rotation opens, as an exact fraction.
        margin: the share of items that may have to open beside it: leaks, defects.
    """

    smallest: int
    share: Fraction
    margin: Fraction = Fraction(0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """A private item as tables see it.

    Attributes:
        cell: axis -> value.
        bound: it may open for another reason than the draw's turn: its age, its passage, a forced opening.
    """

    id: str
    cell: Mapping[str, str]
    bound: bool = False


class Cell(Record):
    """One set of items whose counts may leave: ``all``, or ``axis=value``; ``items``: their ids, sorted."""

    name: CellName
    items: tuple[str, ...]


class Tables(Record, omit_defaults=False):
    """What may leave of a round.

    Attributes:
        cells: in the order of their names, the whole first.
        left_out: names of the cells that may not, with the reason.
        fewest: items that stay private in the smallest set that follows from the cells; none without any.
    """

    cells: tuple[Cell, ...]
    left_out: dict[CellName, Reason]
    fewest: int | None


def approve(
    items: Sequence[Held], axes: Sequence[str], rule: CellRule, *, earlier: Sequence[Cell] = ()
) -> Tables:
    """The tables that may leave of a run over ``items``.

    Args:
        items: those of the run, all still private.
        axes: approved ones.
        rule: when a set is safe.
        earlier: what left in the round before, over all items of that time. A column that answers as it did then
            would let the two be subtracted.

    >>> items = [Held(id=f"{n:02}", cell={"area": "ab"[n > 60]}) for n in range(90)]
    >>> found = approve(items, ["area"], CellRule(smallest=20, share=Fraction(1, 2)))
    >>> [cell.name for cell in found.cells], found.fewest
    (['all'], 44)
    >>> found.left_out["area=b"]
    '14 items would stay private after the next rotation; 20 must'
    """
    staying = _staying(items, rule)
    proposed = _proposed(items, axes)
    left_out: dict[str, str] = {}
    kept: list[Cell] = []
    for cell in proposed:
        stays = staying.of(cell.items)
        if stays < rule.smallest:
            left_out[cell.name] = (
                f"{stays} items would stay private after the next rotation; {rule.smallest} must"
            )
        else:
            kept.append(cell)
    past = _past(earlier, {item.id for item in items})
    while kept:
        found = _smallest_that_follows(items, kept, past, staying)
        if found is None or found.stays >= rule.smallest:
            return Tables(
                cells=tuple(kept), left_out=left_out, fewest=None if found is None else int(found.stays)
            )
        gone = _given_up(kept, found.uses, staying)
        left_out[gone.name] = (
            f"with the other tables it would single out {found.stays} items that stay private"
        )
        kept.remove(gone)
    return Tables(cells=(), left_out=left_out, fewest=None)


@dataclass(frozen=True, slots=True)
class _Staying:
    """How many items of a set stay private at least: by cell of the matrix, for there the draw is bounded."""

    place: Mapping[str, tuple[tuple[str, str], ...]]
    opens: Mapping[tuple[tuple[str, str], ...], int]

    def of(self, items: Sequence[str]) -> int:
        """At least so many of ``items`` stay."""
        inside = Counter(self.place[item] for item in items)
        return sum(number - min(number, self.opens[place]) for place, number in inside.items())


def _staying(items: Sequence[Held], rule: CellRule) -> _Staying:
    place = {item.id: tuple(sorted(item.cell.items())) for item in items}
    number = Counter(place.values())
    bound = Counter(place[item.id] for item in items if item.bound)
    opens = {
        each: min(n, max(ceil(rule.share * n), bound[each]) + ceil(rule.margin * n))
        for each, n in number.items()
    }
    return _Staying(place, opens)


def _proposed(items: Sequence[Held], axes: Sequence[str]) -> list[Cell]:
    """The whole, and a cell for each value of each axis."""
    cells: dict[str, list[str]] = defaultdict(list)
    for item in items:
        for axis in axes:
            if axis in item.cell:
                cells[f"{axis}={item.cell[axis]}"].append(item.id)
    whole = Cell(name=ALL, items=tuple(sorted(item.id for item in items)))
    return [whole, *(Cell(name=name, items=tuple(sorted(ids))) for name, ids in sorted(cells.items()))]


def _past(earlier: Sequence[Cell], present: set[str]) -> list[frozenset[str]]:
    """What earlier cells say of the items that are still private: the others are opened, and can be subtracted."""
    return [kept for cell in earlier if (kept := frozenset(cell.items) & present)]


@dataclass(frozen=True, slots=True)
class _Follows:
    """A set that follows from the cells: how many of it stay private, and which cells it needs."""

    stays: int
    uses: frozenset[str]


def _smallest_that_follows(
    items: Sequence[Held], cells: Sequence[Cell], past: Sequence[frozenset[str]], staying: _Staying
) -> _Follows | None:
    """The set of fewest items that adding and subtracting the cells can give; none when all are of no items.

    Items that are in the same sets can only come together: they are one unknown. A set U follows when its indicator
    is a combination of the sets' indicators, so U is found by a mixed integer program: u = M'y, u of zeros and ones.
    """
    sets = [frozenset(cell.items) for cell in cells] + list(past)
    atoms: dict[tuple[object, ...], list[str]] = defaultdict(list)
    for item in items:
        where = tuple(item.id in each for each in sets)
        if any(where):
            atoms[(staying.place[item.id], *where)].append(item.id)
    patterns = sorted({key[1:] for key in atoms}, reverse=True)
    if not patterns:
        return None
    weights = [
        sum(staying.of(ids) for key, ids in atoms.items() if key[1:] == pattern) for pattern in patterns
    ]
    members = np.array(patterns, dtype=np.float64)  # atoms x sets
    chosen = _least_combination(members, np.array(weights, dtype=np.float64))
    stays = sum(weight for weight, taken in zip(weights, chosen.atoms, strict=True) if taken)
    uses = frozenset(
        cell.name for cell, factor in zip(cells, chosen.factors, strict=False) if abs(factor) > _EPSILON
    )
    return _Follows(int(stays), uses)


_EPSILON = 1e-6
_FACTOR = 16.0  # no cell needs to be counted more often than this in tables of a whole and its parts


@dataclass(frozen=True, slots=True)
class _Chosen:
    atoms: tuple[bool, ...]
    factors: tuple[float, ...]


def _least_combination(members: NDArray[np.float64], weights: NDArray[np.float64]) -> _Chosen:
    """Zeros and ones u, not all zero, that are ``members @ y`` for some y, of least weight."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # type: ignore[import-untyped]  # noqa: PLC0415

    atoms, sets = members.shape
    # Where weights are zero a set without them would be as light; one for each atom breaks the tie towards fewer.
    cost = np.concatenate([weights * (atoms + 1) + 1, np.zeros(sets)])
    equal = np.hstack([np.eye(atoms), -members])
    some = np.concatenate([np.ones(atoms), np.zeros(sets)])[None, :]
    found = milp(
        cost,
        constraints=[LinearConstraint(equal, 0, 0), LinearConstraint(some, 1, np.inf)],
        integrality=np.concatenate([np.ones(atoms), np.zeros(sets)]),
        bounds=Bounds(
            np.concatenate([np.zeros(atoms), np.full(sets, -_FACTOR)]),
            np.concatenate([np.ones(atoms), np.full(sets, _FACTOR)]),
        ),
    )
    if found.x is None:  # each set is a combination of itself, so there always is one
        raise AssertionError(found.message)
    return _Chosen(tuple(bool(u > 0.5) for u in found.x[:atoms]), tuple(float(y) for y in found.x[atoms:]))


def _given_up(cells: Sequence[Cell], uses: frozenset[str], staying: _Staying) -> Cell:
    """The smallest cell that a set too small needs; the whole only when it needs nothing else."""
    needed = [cell for cell in cells if cell.name in uses] or list(cells)
    return min(needed, key=lambda cell: (cell.name == ALL, staying.of(cell.items), cell.name))
