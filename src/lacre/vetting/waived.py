"""Which waivers hold for an item as it reads now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lacre.registry.items import Candidate
from lacre.registry.verdicts import Finding
from lacre.registry.waivers import Waiver, finding_id, payload_sha256


class Waived(NamedTuple):
    """The waivers of one item: those of its present text, by finding; and the date of each that is void."""

    holding: Mapping[str, Waiver]
    void: tuple[str, ...]

    def waiver(self, finding: Finding) -> Waiver | None:
        """The waiver of a finding, whether or not the finding has spread since."""
        return self.holding.get(finding_id(finding)) if self.holding else None


NONE = Waived({}, ())


def waived(items: Sequence[Candidate], waivers: Sequence[Waiver]) -> list[Waived]:
    """The waivers of each item, in the order of the items.

    A waiver is void when the item's text is not the one that was waived. Of several for one finding, the one
    for the most documents holds.
    """
    by_item: dict[str, list[Waiver]] = defaultdict(list)
    for waiver in waivers:
        by_item[waiver.item].append(waiver)
    return [_of(item, by_item[item.id]) if item.id in by_item else NONE for item in items]


def _of(item: Candidate, waivers: Sequence[Waiver]) -> Waived:
    present = payload_sha256(item.payload)
    current = [waiver for waiver in waivers if waiver.payload_sha256 == present]
    return Waived(
        {waiver.finding: waiver for waiver in sorted(current, key=lambda waiver: waiver.documents)},
        tuple(sorted({waiver.when for waiver in waivers if waiver.payload_sha256 != present})),
    )
