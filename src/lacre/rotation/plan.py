"""What the next closing does to each cell, and how many items to write (SPEC L3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from math import ceil, floor

from lacre.draw import Drawn
from lacre.registry.matrix import Matrix, cell_name
from lacre.registry.records import Record
from lacre.registry.rules import Rules
from lacre.rotation.exposure import must_open
from lacre.rotation.public import Public
from lacre.rotation.records import DRAW_FILE, Frozen, read_draw, read_round_file


class Span(Record, omit_defaults=False):
    """A number that lies between two others, which are the same once it is known."""

    least: int
    most: int

    def __str__(self) -> str:
        """One number, or two with a dash.

        >>> str(Span(least=3, most=4)), str(Span(least=3, most=3))
        ('3-4', '3')
        """
        return str(self.least) if self.least == self.most else f"{self.least}-{self.most}"


class CellPlan(Record, omit_defaults=False):
    """One cell in a plan.

    Attributes:
        target: private items aimed at after the closing and the new batch.
        private: in draws now; ``leaving``: void and replaced ones that will open.
        forced: open whatever the draw says, as far as is known.
        write: items to write so that the target holds after the closing.
    """

    cell: str
    target: int
    private: int
    leaving: int
    forced: int
    opens: Span
    stays: Span
    write: Span


class Plan(Record, omit_defaults=False):
    """The next closing, cell by cell. ``exact``: the draw is known; ``aim``: where the targets come from."""

    round: str
    share: str
    frozen: bool
    exact: bool
    aim: str
    cells: tuple[CellPlan, ...]


def plan(
    public: Public, rules: Rules, matrix: Matrix, frozen: Frozen | None, drawn: Drawn | None = None
) -> Plan:
    """What the next closing does to each cell of the matrix.

    ``frozen``: the freeze that waits for its draw, if any; then only its items can open. ``drawn``: its draw,
    once its randomness is out. Without it, a cell opens the floor or the ceiling of its share; passages that
    move together may take it past either.
    """
    share = rules.split.first_open if public.history.closed == 0 else rules.rounds.rotation_open
    if frozen is not None:
        share = frozen.share
    private = Counter(cell_name(row.cell) for row in public.private)
    gone = Counter(cell_name(row.cell) for row in public.rows) - private
    in_draw, forced = _in_draw(public, rules, frozen)
    cells = sorted({cell.name for cell in matrix.cells} | set(private))
    opens = {cell: _opens(cell, in_draw[cell], forced[cell], Fraction(share), drawn) for cell in cells}
    targets, aim = _targets(public, rules, matrix, private, opens)
    return Plan(
        round=public.history.next_round,
        share=share,
        frozen=frozen is not None,
        exact=drawn is not None,
        aim=aim,
        cells=tuple(
            _cell(
                cell,
                opens[cell],
                target=targets.get(cell, 0),
                private=private[cell],
                leaving=gone[cell],
                forced=forced[cell],
            )
            for cell in cells
        ),
    )


def _cell(cell: str, opens: Span, *, target: int, private: int, leaving: int, forced: int) -> CellPlan:
    stays = Span(least=private - opens.most, most=private - opens.least)
    return CellPlan(
        cell=cell,
        target=target,
        private=private,
        leaving=leaving,
        forced=forced,
        opens=opens,
        stays=stays,
        write=Span(least=max(0, target - stays.most), most=max(0, target - stays.least)),
    )


def _in_draw(public: Public, rules: Rules, frozen: Frozen | None) -> tuple[Counter[str], Counter[str]]:
    """Items in the draw, and those that must open, by cell."""
    if frozen is not None:
        items = Counter(item.cell for item in frozen.items)
        must = (i.cell for i in frozen.items if i.must is not None or i.age >= frozen.age_cap)
        return items, Counter(must)
    items = Counter(cell_name(row.cell) for row in public.private)
    known, cap = public.history.batches, rules.rounds.age_cap
    over = set(must_open(public.history, rules.rounds.exposure_cap))
    forced = (
        cell_name(row.cell)
        for row in public.private
        if row.id in over or (row.batch in known and public.history.age(row.batch) >= cap)
    )
    return items, Counter(forced)


def _opens(cell: str, items: int, forced: int, share: Fraction, drawn: Drawn | None) -> Span:
    """How many items of a cell open."""
    if drawn is not None:
        exact = next((c.opens for c in drawn.cells if c.cell == cell), 0)
        return Span(least=exact, most=exact)
    quota = share * items
    return Span(least=max(forced, floor(quota)), most=max(forced, ceil(quota)))


def _targets(
    public: Public, rules: Rules, matrix: Matrix, private: Mapping[str, int], opens: Mapping[str, Span]
) -> tuple[dict[str, int], str]:
    """Private items aimed at in each cell, and where the figure comes from."""
    if rules.rounds.private_size:
        shares = {cell.name: cell.share for cell in matrix.cells}
        return apportioned(rules.rounds.private_size, shares), f"private_size = {rules.rounds.private_size}"
    if public.history.closed == 0:
        # Nothing replaces what opens at the first closing: whatever stays is the private set.
        return {cell: private.get(cell, 0) - span.most for cell, span in opens.items()}, (
            "the first closing only parts what is there"
        )
    folder = public.folder(1)
    first = read_draw(read_round_file(folder, DRAW_FILE), folder / DRAW_FILE)
    return {cell.cell: cell.stays for cell in first.cells}, "as many as the first closing kept"


def apportioned(total: int, shares: Mapping[str, Fraction]) -> dict[str, int]:
    """A total in whole numbers over shares that sum to 1, by largest remainder; names decide ties.

    >>> apportioned(10, {"a": Fraction(1, 3), "b": Fraction(2, 3)})
    {'a': 3, 'b': 7}
    """
    whole = {name: floor(total * share) for name, share in shares.items()}
    rest = total - sum(whole.values())
    for name in sorted(shares, key=lambda name: (whole[name] - total * shares[name], name))[:rest]:
        whole[name] += 1
    return whole
