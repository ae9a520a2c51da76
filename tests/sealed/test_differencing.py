"""An attacker with all that two rounds publish, opened scores included, recovers no item (SPEC X5).

The attacker knows which items are in which cell, every published count of a column that answers the same in both
rounds, and the scores of what opened between them. Everything that follows is found twice: by linear algebra (which
sets of items have a known number of correct answers) and by integer programming (which items have a known answer).
"""

from __future__ import annotations

import random
from collections import defaultdict
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp  # type: ignore[import-untyped]

from lacre.draw import Ticket, draw
from lacre.scoring.outcomes import Outcome
from lacre.sealed.cells import Cell, CellRule, Held, Tables, approve
from lacre.sealed.counts import Bounded, Count, Exact, counts

RULE = CellRule(smallest=20, share=Fraction(1, 2), margin=Fraction(1, 100))
AXES = ["area", "level"]


def held(first: int, number: int, luck: random.Random) -> list[Held]:
    return [
        Held(id=f"i{n:04}", cell={"area": luck.choice("aaabbc"), "level": luck.choice("xxy")})
        for n in range(first, first + number)
    ]


def rotated(items: list[Held], seed: int) -> set[str]:
    """Ids that the real draw opens."""
    tickets = [Ticket(commitment=each.id, cell=f"{each.cell['area']}/{each.cell['level']}") for each in items]
    return set(draw(tickets, seed.to_bytes(32, "big"), Fraction(1, 2)).opens)


def known_range(count: Count, opened: dict[str, Outcome], inside: set[str]) -> tuple[int, int] | None:
    """The fewest and the most correct answers among the items of a cell that did not open."""
    right = sum(opened[item] is Outcome.CORRECT for item in inside & opened.keys())
    left = len(inside - opened.keys())
    match count:
        case Exact():
            exact = count.classes["correct"] - right
            return exact, exact
        case Bounded(side="at least"):
            return max(0, count.correct - right), left
        case Bounded():
            return 0, min(left, count.correct - right)
        case _:
            return None


class Attack:
    """What follows from the published counts about the items that are still private."""

    def __init__(self, private: set[str]) -> None:
        self.private = private
        self.sets: list[set[str]] = []
        self.ranges: list[tuple[int, int]] = []

    def learn(self, tables: Tables, told: tuple[Count, ...], opened: dict[str, Outcome]) -> None:
        members = {cell.name: set(cell.items) for cell in tables.cells}
        for count in told:
            inside = members[count.cell]
            if (found := known_range(count, opened, inside)) is not None and inside & self.private:
                self.sets.append(inside & self.private)
                self.ranges.append(found)

    def atoms(self) -> dict[tuple[bool, ...], list[str]]:
        found: dict[tuple[bool, ...], list[str]] = defaultdict(list)
        for item in sorted(self.private):
            found[tuple(item in each for each in self.sets)].append(item)
        return found

    def small_sets(self) -> list[int]:
        """Sizes of all sets of fewer than 20 items whose number of correct answers follows exactly."""
        atoms = self.atoms()
        exact = [n for n, (low, high) in enumerate(self.ranges) if low == high]
        inside = np.array([[pattern[n] for n in exact] for pattern in atoms], dtype=float).T
        if not exact:
            return []
        rank = np.linalg.matrix_rank(inside)
        sizes = [len(items) for items in atoms.values()]
        found = []
        for number in range(1, min(6, len(sizes)) + 1):
            for chosen in combinations(range(len(sizes)), number):
                size = sum(sizes[place] for place in chosen)
                unit = np.isin(np.arange(len(sizes)), chosen).astype(float)
                if size < 20 and np.linalg.matrix_rank(np.vstack([inside, unit])) == rank:
                    found.append(size)
        return found

    def pinned(self) -> list[str]:
        """Items whose answer is the same in every world that fits the counts."""
        atoms = self.atoms()
        sizes = np.array([len(items) for items in atoms.values()], dtype=float)
        inside = np.array(list(atoms), dtype=float).reshape(len(atoms), len(self.sets)).T
        found: list[str] = []
        for place, items in enumerate(atoms.values()):
            cost = np.zeros(len(sizes))
            cost[place] = 1
            low, high = (self.solved(sign * cost, inside, sizes) for sign in (1, -1))
            if low == len(items) or high == 0:
                found += items
        return found

    def solved(
        self, cost: np.ndarray[tuple[int], np.dtype[np.float64]], inside: object, sizes: object
    ) -> float:
        lower, upper = zip(*self.ranges, strict=True)
        done = milp(
            cost,
            constraints=LinearConstraint(inside, lower, upper),
            integrality=np.ones(len(cost)),
            bounds=Bounds(0, sizes),
        )
        assert done.x is not None, "the published counts contradict each other"
        return abs(float(round(done.fun)))


def played(seed: int) -> tuple[Attack, int]:
    """Two rounds of one column, and the attack after the second opened; how many cells were published."""
    luck = random.Random(seed)
    answers: dict[str, Outcome] = {}
    skill = luck.choice([0.3, 0.6, 0.8, 0.95])
    first = held(0, luck.randint(240, 500), luck)
    opened: set[str] = set()
    private, rounds, earlier = first, [], list[Cell]()
    for number in range(2):
        for each in private:
            wrong = luck.choice([Outcome.WRONG, Outcome.ABSTENTION, Outcome.FAILURE])
            answers.setdefault(each.id, Outcome.CORRECT if luck.random() < skill else wrong)
        tables = approve(private, AXES, RULE, earlier=earlier)
        rounds.append((tables, counts(tables.cells, answers)))
        earlier += tables.cells
        gone = rotated(private, seed * 2 + number)
        opened |= gone
        private = [each for each in private if each.id not in gone]
        if number == 0:
            after = Attack({each.id for each in private})
            after.learn(*rounds[0], {item: answers[item] for item in opened})
            assert after.small_sets() == []
            private += held(1000, len(gone), luck)
    attack = Attack({each.id for each in private})
    for tables, told in rounds:
        attack.learn(tables, told, {item: answers[item] for item in opened})
    return attack, sum(len(tables.cells) for tables, _ in rounds)


SEEDS = [pytest.param(seed, marks=() if seed < 4 else pytest.mark.slow) for seed in range(12)]


@pytest.mark.parametrize("seed", SEEDS)
def test_two_rounds_and_all_that_opened_single_out_no_item(seed: int) -> None:
    attack, published = played(seed)
    assert published, "nothing was published, so that nothing was tested"
    assert attack.pinned() == []


def test_without_the_rule_the_attack_would_succeed() -> None:
    items = [Held(id=f"i{n}", cell={"area": "a" if n < 60 else "b"}) for n in range(62)]
    answers = {each.id: Outcome.CORRECT if n % 2 or n > 59 else Outcome.WRONG for n, each in enumerate(items)}
    loose = approve(items, ["area"], CellRule(smallest=1, share=Fraction(1, 2)))
    told = tuple(
        Exact(
            cell=cell.name,
            items=len(cell.items),
            classes={each.value: sum(answers[i] is each for i in cell.items) for each in Outcome},
        )
        for cell in loose.cells
    )
    attack = Attack(set(answers))
    attack.learn(loose, told, {})
    assert attack.pinned() == ["i60", "i61"]
    assert attack.small_sets() == [2]
