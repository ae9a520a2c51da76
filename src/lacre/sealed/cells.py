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
from math import ceil, lcm, log, sqrt
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from lacre.registry.records import Record

LONGEST_NAME = 120
CellName = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_NAME)]
Reason = Annotated[str, msgspec.Meta(pattern="^[a-z0-9 ;]{1,160}$")]
ALL = "all"
"""The name of the set of all items."""


UNLIKELY = 1e-4
"""The chance that is accepted of a draw that leaves fewer of a part of a cell of the matrix than is reckoned with."""


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
    """How many items of a set stay private at least, by what the draw does in each cell of the matrix.

    Attributes:
        place: of each item. ``bound``: items that may open whatever the draw says; they count as opening.
        drawn, free: by place, how many others the draw opens at most, and of how many. ``spare``: the margin.
    """

    place: Mapping[str, tuple[tuple[str, str], ...]]
    bound: frozenset[str]
    drawn: Mapping[tuple[tuple[str, str], ...], int]
    free: Mapping[tuple[tuple[str, str], ...], int]
    spare: Mapping[tuple[tuple[str, str], ...], int]

    def weight(self, items: Sequence[str]) -> float:
        """How many of ``items`` stay in the mean; it adds up over sets."""
        return sum(
            1 - self.drawn[self.place[item]] / self.free[self.place[item]]
            for item in items
            if item not in self.bound
        )

    def of(self, items: Sequence[str]) -> int:
        """At least so many of ``items`` stay, but for a chance of :data:`UNLIKELY`.

        Of a whole cell of the matrix the draw opens its share. Of a part of one, such as the newest batch, it opens as
        many as luck has it, and the bound is Hoeffding's (1963, theorem 2 and section 6), over all such parts together.
        """
        inside = Counter(self.place[item] for item in items)
        open_anyway = Counter(self.place[item] for item in items if item in self.bound)
        opened, worst, mean, parts = 0, 0, 0.0, 0
        for place, number in inside.items():
            drawn, free = self.drawn[place], number - open_anyway[place]
            opened += min(number, open_anyway[place] + self.spare[place])
            if free == self.free[place]:
                opened += drawn
            elif free:
                worst, mean, parts = (
                    worst + min(free, drawn),
                    mean + drawn * free / self.free[place],
                    parts + free,
                )
        by_luck = ceil(mean + sqrt(parts * log(1 / UNLIKELY) / 2))
        return max(0, len(items) - opened - min(worst, by_luck))


def _staying(items: Sequence[Held], rule: CellRule) -> _Staying:
    place = {item.id: tuple(sorted(item.cell.items())) for item in items}
    bound = frozenset(item.id for item in items if item.bound)
    number = Counter(place.values())
    forced = Counter(place[item] for item in bound)
    return _Staying(
        place=place,
        bound=bound,
        drawn={each: max(0, ceil(rule.share * n) - forced[each]) for each, n in number.items()},
        free={each: n - forced[each] for each, n in number.items()},
        spare={each: ceil(rule.margin * n) for each, n in number.items()},
    )


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
    """The set of fewest items that the cells give by adding and subtracting, by themselves or with past ones.

    None when all are of no items. What past cells give by themselves is known already, whatever is left out now.
    """
    alone = _follows(items, cells, (), staying)
    if not past:
        return alone
    both = _follows(items, cells, past, staying)
    return min((found for found in (alone, both) if found), key=lambda found: found.stays, default=None)


def _follows(
    items: Sequence[Held], cells: Sequence[Cell], past: Sequence[frozenset[str]], staying: _Staying
) -> _Follows | None:
    """The set of fewest items that follows from cells and past sets, and not from the past sets alone.

    Items that are in the same sets can only come together: they are one unknown. A set U follows when its indicator
    is a combination of the sets' indicators, so U is found by a mixed integer program: u = M'y, u of zeros and ones.
    """
    sets = [frozenset(cell.items) for cell in cells] + list(past)
    atoms: dict[tuple[bool, ...], list[str]] = defaultdict(list)
    for item in items:
        where = tuple(item.id in each for each in sets)
        if any(where):
            atoms[where].append(item.id)
    patterns = sorted(atoms, reverse=True)
    if not patterns:
        return None
    weights = np.array([staying.weight(atoms[pattern]) for pattern in patterns])
    members = np.array(patterns, dtype=np.float64)  # atoms x sets
    chosen = _least_combination(members, weights, known=len(past))
    if chosen is None:
        return None
    taken = [pattern for pattern, inside in zip(patterns, chosen.atoms, strict=True) if inside]
    stays = staying.of([item for pattern in taken for item in atoms[pattern]])
    uses = frozenset(
        cell.name for cell, factor in zip(cells, chosen.factors, strict=False) if abs(factor) > _EPSILON
    )
    return _Follows(stays, uses)


_EPSILON = 1e-6
_FACTOR = 16.0  # no cell needs to be counted more often than this in tables of a whole and its parts


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A set, the factors of the sets that give it, and its weight."""

    atoms: tuple[bool, ...]
    factors: tuple[float, ...]
    weight: float


def _least_combination(
    members: NDArray[np.float64], weights: NDArray[np.float64], *, known: int
) -> _Chosen | None:
    """Zeros and ones u that are ``members @ y`` for some y, and no combination of the last ``known`` sets alone.

    Of least weight; none when every combination is one of those. A vector is no combination of the known sets when it
    is not orthogonal to each vector that all of them are orthogonal to; these have whole numbers, so 1 is the least.
    Of these vectors as many are needed as the other sets add dimensions.
    """
    atoms, sets = members.shape
    if not known:
        return _least(members, weights, np.ones(atoms))
    added, told = members[:, : sets - known], np.zeros((0, sets - known))
    best: _Chosen | None = None
    for row in _orthogonal(members[:, sets - known :]):
        more = np.vstack([told, row @ added])
        if np.linalg.matrix_rank(more) == len(told):
            continue
        told = more
        for sign in (1, -1):
            chosen = _least(members, weights, sign * row)
            if chosen is not None and (best is None or chosen.weight < best.weight):
                best = chosen
    return best


def _least(
    members: NDArray[np.float64], weights: NDArray[np.float64], other: NDArray[np.float64]
) -> _Chosen | None:
    """Zeros and ones u that are ``members @ y`` for some y, with ``other @ u`` at least 1, of least weight."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # type: ignore[import-untyped]  # noqa: PLC0415

    atoms, sets = members.shape
    # Where weights are zero a set without them would be as light; one for each atom breaks the tie towards fewer.
    cost = np.concatenate([weights * (atoms + 1) + 1, np.zeros(sets)])
    equal = np.hstack([np.eye(atoms), -members])
    some = np.concatenate([other, np.zeros(sets)])[None, :]
    found = milp(
        cost,
        constraints=[LinearConstraint(equal, 0, 0), LinearConstraint(some, 1, np.inf)],
        integrality=np.concatenate([np.ones(atoms), np.zeros(sets)]),
        bounds=Bounds(
            np.concatenate([np.zeros(atoms), np.full(sets, -_FACTOR)]),
            np.concatenate([np.ones(atoms), np.full(sets, _FACTOR)]),
        ),
    )
    if found.x is None:
        return None
    taken = tuple(bool(u > 0.5) for u in found.x[:atoms])
    return _Chosen(taken, tuple(float(y) for y in found.x[atoms:]), float(found.fun))


def _orthogonal(sets: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Whole-numbered vectors that span all that is orthogonal to the columns of ``sets`` (atoms x sets)."""
    rows = [[Fraction(int(value)) for value in column] for column in sets.T]
    atoms, pivots, done = len(sets), dict[int, int](), 0
    for place in range(atoms):
        first = next((at for at in range(done, len(rows)) if rows[at][place]), None)
        if first is None:
            continue
        rows[done], rows[first] = rows[first], rows[done]
        rows[done] = [value / rows[done][place] for value in rows[done]]
        for at in range(len(rows)):
            if at != done and (factor := rows[at][place]):
                rows[at] = [value - factor * by for value, by in zip(rows[at], rows[done], strict=True)]
        pivots[place], done = done, done + 1
    found = []
    for free in sorted(set(range(atoms)) - pivots.keys()):
        vector = [Fraction(0)] * atoms
        vector[free] = Fraction(1)
        for place, at in pivots.items():
            vector[place] = -rows[at][free]
        whole = lcm(*(value.denominator for value in vector))
        found.append(np.array([float(value * whole) for value in vector]))
    return found


def _given_up(cells: Sequence[Cell], uses: frozenset[str], staying: _Staying) -> Cell:
    """The smallest cell that a set too small needs; the whole only when it needs nothing else."""
    needed = [cell for cell in cells if cell.name in uses] or list(cells)
    return min(needed, key=lambda cell: (cell.name == ALL, staying.of(cell.items), cell.name))
