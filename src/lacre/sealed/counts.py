"""What leaves of one column's answers: counts in approved cells, coarsened where they would tell of an item (X5).

Where nearly all or nearly none of a cell's items are correct, each item's answer would be known: then only "at least"
or "at most" leaves. And where counts of overlapping cells together pin the answers of some items down, which integer
programming finds out, further counts are withheld until they no longer do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lacre.registry.records import Record
from lacre.scoring.outcomes import Outcome
from lacre.sealed.cells import ALL, Cell, CellName

BAND = 2
"""So near to all or to none a count of correct answers is told as a bound."""


ClassName: TypeAlias = Literal["correct", "wrong", "abstention", "refusal", "failure"]


class Exact(Record, tag="exact", tag_field="count"):
    """Answers of a cell by class, all of ``items``; classes by name."""

    cell: CellName
    items: int
    classes: dict[ClassName, int]


class Bounded(Record, tag="bounded", tag_field="count"):
    """Nearly all or nearly none are correct: at least, or at most, ``correct``."""

    cell: CellName
    items: int
    side: Literal["at least", "at most"]
    correct: int


class Withheld(Record, tag="withheld", tag_field="count"):
    """No count leaves of this cell."""

    cell: CellName
    items: int
    reason: Literal["with the other counts it would tell of single items"]


Count: TypeAlias = Exact | Bounded | Withheld


def counts(cells: Sequence[Cell], outcomes: Mapping[str, Outcome]) -> tuple[Count, ...]:
    """What may leave of a column's answers, cell by cell in their order.

    Args:
        cells: the approved ones.
        outcomes: the class of the answer to each item in them.

    Raises:
        KeyError: an item of a cell has no class.

    >>> whole = Cell(name="all", items=tuple("abcdefgh"))
    >>> counts([whole], {item: Outcome.CORRECT for item in whole.items})
    (Bounded(cell='all', items=8, side='at least', correct=6),)
    >>> half = {item: Outcome.CORRECT if item < "e" else Outcome.WRONG for item in whole.items}
    >>> counts([whole], half)[0].classes["correct"]
    4
    """
    told = {cell.name: _told(cell, outcomes) for cell in cells}
    members = {cell.name: frozenset(cell.items) for cell in cells}
    while (item := _known_item(told, members)) is not None:
        gone = _given_up(told, members, item)
        told[gone] = Withheld(
            cell=gone, items=told[gone].items, reason="with the other counts it would tell of single items"
        )
    return tuple(told[cell.name] for cell in cells)


def _told(cell: Cell, outcomes: Mapping[str, Outcome]) -> Count:
    found = [outcomes[item] for item in cell.items]
    correct, items = sum(each is Outcome.CORRECT for each in found), len(found)
    if correct <= BAND:
        return Bounded(cell=cell.name, items=items, side="at most", correct=min(BAND, items))
    if correct >= items - BAND:
        return Bounded(cell=cell.name, items=items, side="at least", correct=items - BAND)
    return Exact(cell=cell.name, items=items, classes={each.value: found.count(each) for each in Outcome})


def _range(count: Count) -> tuple[int, int]:
    """The fewest and the most correct answers that a count allows."""
    match count:
        case Exact():
            correct = count.classes[Outcome.CORRECT.value]
            return correct, correct
        case Bounded(side="at least"):
            return count.correct, count.items
        case Bounded():
            return 0, count.correct
        case Withheld():
            return 0, count.items


def _given_up(told: Mapping[str, Count], members: Mapping[str, frozenset[str]], item: str) -> str:
    """The count without which ``item`` is not known: exact before bounded, small before large, the whole's last."""
    told_still = sorted(
        (name for name, count in told.items() if not isinstance(count, Withheld)),
        key=lambda name: (isinstance(told[name], Bounded), name == ALL, told[name].items, name),
    )
    for name in told_still:
        without = {other: count for other, count in told.items() if other != name}
        if not _System.of(without, members).knows(item):
            return name
    return told_still[0]


def _known_item(told: Mapping[str, Count], members: Mapping[str, frozenset[str]]) -> str | None:
    """An item whose answer follows from the counts, the first by id of the first such kind; none when none does."""
    system = _System.of(told, members)
    return next((items[0] for items in system.atoms.values() if system.knows(items[0])), None)


@dataclass(frozen=True, slots=True)
class _System:
    """What the counts say: items in the same cells are exchangeable, and make one unknown, an atom.

    Attributes:
        atoms: by the cells they are in, the ids of the items, sorted.
        inside: cells x atoms, ones where the atom is in the cell. ``ranges``: cells x 2, fewest and most correct.
    """

    atoms: Mapping[tuple[bool, ...], Sequence[str]]
    inside: NDArray[np.float64]
    ranges: NDArray[np.float64]

    @classmethod
    def of(cls, told: Mapping[str, Count], members: Mapping[str, frozenset[str]]) -> _System:
        """What the counts say that are not withheld."""
        names = [name for name, count in told.items() if not isinstance(count, Withheld)]
        atoms: dict[tuple[bool, ...], list[str]] = defaultdict(list)
        for item in sorted(frozenset().union(*(members[name] for name in names))):
            atoms[tuple(item in members[name] for name in names)].append(item)
        ordered = dict(sorted(atoms.items(), reverse=True))
        inside = np.array(list(ordered), dtype=np.float64).reshape(len(ordered), len(names)).T
        return cls(ordered, inside, np.array([_range(told[name]) for name in names], dtype=np.float64))

    def knows(self, item: str) -> bool:
        """Whether all of the item's atom must be correct, or none of it can be; unknown where no count holds it."""
        for place, items in enumerate(self.atoms.values()):
            if item in items:
                return not (self._possible(place, 1, len(items)) and self._possible(place, 0, len(items) - 1))
        return False

    def _possible(self, place: int, fewest: int, most: int) -> bool:
        """Whether the counts allow ``fewest`` to ``most`` correct answers in one atom."""
        from scipy.optimize import Bounds, LinearConstraint, milp  # type: ignore[import-untyped]  # noqa: PLC0415

        sizes = np.array([len(items) for items in self.atoms.values()], dtype=np.float64)
        lower, upper = np.zeros(len(sizes)), sizes.copy()
        lower[place], upper[place] = fewest, most
        found = milp(
            np.zeros(len(sizes)),
            constraints=LinearConstraint(self.inside, self.ranges[:, 0], self.ranges[:, 1]),
            integrality=np.ones(len(sizes)),
            bounds=Bounds(lower, upper),
        )
        return found.x is not None
