"""What people decided about a draw before it: items forced open, and items that they answer for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from lacre.rotation.records import Frozen


def human_notes(frozen: Frozen) -> Iterator[str]:
    """What outsiders should know of the choices in a freeze: how many, why, and whether they could decide the draw.

    >>> from lacre.rotation.beacon import LotteryDraw
    >>> source = LotteryDraw(draw=1, due="2027-01-16T22:00:00Z")
    >>> list(human_notes(Frozen(benchmark="e", round="e/1", share="1/2", age_cap=3, workspace="0" * 64,
    ...     head="0" * 64, lines=1, at="2027-01-15T22:00:00Z", source=source, items=())))
    []
    """
    size = len(frozen.items)
    must = Counter(item.must for item in frozen.items if item.must is not None)
    if must:
        why = ", ".join(f"{number} for {reason}" for reason, number in sorted(must.items()))
        share = f"{must.total()} of {size} items ({must.total() / size:.0%})"
        yield f"{frozen.round}: {share} were made to open whatever the draw said: {why}"
    if cells := _decided(frozen):
        yield (
            f"{frozen.round}: in {len(cells)} of {len({i.cell for i in frozen.items})} cells what was made to open "
            f"fills all that opens, so people and not the draw decided there: {', '.join(cells)}"
        )
    if frozen.waived:
        share = f"{len(frozen.waived)} of {size} items ({len(frozen.waived) / size:.0%})"
        yield f"{frozen.round}: {share} were not kept by vetting, and stand by a waiver: {', '.join(frozen.waived)}"


def _decided(frozen: Frozen) -> list[str]:
    """Cells in which people forced as many items as may open, or more."""
    size = Counter(item.cell for item in frozen.items)
    forced = Counter(item.cell for item in frozen.items if item.must is not None)
    share = Fraction(frozen.share)
    return sorted(cell for cell, number in forced.items() if number >= share * size[cell])
