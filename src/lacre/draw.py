"""The draw: which private items open, from a seed that anybody can repeat (SPEC L2, L3).

One function serves the first split (two fifths open) and every rotation (half opens). It is pure: the same
tickets, seed and share give the same items, in whatever order the tickets come. Shares are exact fractions;
no floating point is involved, so every machine and language agrees.

Per cell, floor(q·n) items open; the fractional rests are handed out over the cells by systematic sampling, so
that each cell opens the floor or the ceiling of q·n and so does the whole, and every item has the same chance.
Inside a cell the order is that of HMAC-SHA256 under the seed. What must open counts against its cell's quota.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

import msgspec

from lacre.errors import InputError

DOMAIN = b"LACRE-DRAW-v1\0"


class Ticket(msgspec.Struct, frozen=True, kw_only=True):
    """One item in a draw.

    Attributes:
        commitment: 64 hex digits; what the order inside a cell is made from.
        group: items with the same group share a passage, and open or stay together.
        age: closings it has stayed private through.
        must: why it opens whatever the draw says: leak, exposure, defect; none for an ordinary item.
    """

    commitment: str
    cell: str
    group: str | None = None
    age: int = 0
    must: str | None = None


class CellDraw(msgspec.Struct, frozen=True, kw_only=True):
    """What the draw did in one cell.

    Attributes:
        items: items in the draw.
        quota: share times items, exact.
        forced: items that opened whatever the draw said, their passage's other items included.
        grouped: items that the draw opened together with others of their passage.
        drawn: items that the draw opened one by one.
    """

    cell: str
    items: int
    quota: Fraction
    forced: int
    grouped: int
    drawn: int

    @property
    def opens(self) -> int:
        """Items that open."""
        return self.forced + self.grouped + self.drawn

    @property
    def stays(self) -> int:
        """Items that stay private."""
        return self.items - self.opens

    @property
    def carry(self) -> Fraction:
        """Items opened above the exact quota; negative when below."""
        return self.opens - self.quota


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """The result: commitments that open, those among them that had to (with the reason), and the cells."""

    opens: tuple[str, ...]
    forced: Mapping[str, str]
    cells: tuple[CellDraw, ...]


def seed_of(round_name: str, head: str, randomness: bytes) -> bytes:
    """The seed of a draw: SHA-256 of "LACRE-DRAW-v1", NUL, the round's name, NUL, the head, the randomness.

    ``head`` is the ledger's head that the freeze was made on, 64 hex digits; its 32 bytes are hashed.

    >>> seed_of("exemplo/1", "00" * 32, b"\\x01").hex()[:16]
    'b5dc8d5626bc6745'
    """
    return hashlib.sha256(DOMAIN + round_name.encode() + b"\0" + bytes.fromhex(head) + randomness).digest()


def draw(tickets: Iterable[Ticket], seed: bytes, share: Fraction, *, age_cap: int | None = None) -> Drawn:
    """The items that open.

    Laws: a cell opens the floor or the ceiling of share·items, and so does the whole, unless what must open
    (or a passage that cannot be parted) goes beyond it; then nothing is drawn in that cell one by one. Items of
    a group share their fate. An item at ``age_cap`` closings opens. The order of ``tickets`` does not matter.

    Args:
        tickets: the frozen items.
        seed: 32 bytes, see :func:`seed_of`.
        share: 0 to 1.
        age_cap: closings after which an item opens whatever the draw says; none: never.

    Raises:
        InputError: the share is not between 0 and 1, or a commitment comes twice.

    >>> items = [Ticket(commitment=f"{n:064x}", cell="area=a") for n in range(5)]
    >>> [len(draw(items, bytes(32), Fraction(share)).opens) for share in ("0", "2/5", "1")]
    [0, 2, 5]
    """
    if not 0 <= share <= 1:
        raise InputError("share", f"{share} is not between 0 and 1", "Give a fraction such as 1/2")
    ordered = sorted(tickets, key=lambda ticket: ticket.commitment)
    for before, after in pairwise(ordered):
        if before.commitment == after.commitment:
            raise InputError("draw", f"commitment {after.commitment} comes twice", "Freeze each item once")
    forced = _forced(ordered, age_cap)
    items = Counter(ticket.cell for ticket in ordered)
    compelled = Counter(ticket.cell for ticket in ordered if ticket.commitment in forced)
    quotas = _quotas(items, seed, share)
    bundles, singles = _parted([ticket for ticket in ordered if ticket.commitment not in forced])
    together = _bundled(bundles, _rates(items, compelled, share), seed)
    grouped = Counter(ticket.cell for ticket in together)
    opens = set(forced) | {ticket.commitment for ticket in together}
    cells = []
    for cell in sorted(items):
        room = max(0, quotas[cell] - compelled[cell] - grouped[cell])
        drawn = sorted(singles[cell], key=lambda commitment: _prf(seed, "item", commitment))[:room]
        opens.update(drawn)
        cells.append(
            CellDraw(
                cell=cell,
                items=items[cell],
                quota=share * items[cell],
                forced=compelled[cell],
                grouped=grouped[cell],
                drawn=len(drawn),
            )
        )
    return Drawn(opens=tuple(sorted(opens)), forced=forced, cells=tuple(cells))


def _prf(seed: bytes, *parts: str) -> bytes:
    """HMAC-SHA256 of the parts, joined by NUL."""
    return hmac.digest(seed, "\0".join(parts).encode(), "sha256")


def _mark(seed: bytes, *parts: str) -> Fraction:
    """A fraction in [0, 1), uniform to 128 bits."""
    return Fraction(int.from_bytes(_prf(seed, *parts)[:16], "big"), 1 << 128)


def _forced(tickets: Sequence[Ticket], age_cap: int | None) -> dict[str, str]:
    """Commitments that open whatever the draw says, each with its reason, sorted."""
    reasons = {
        ticket.commitment: ticket.must or "age"
        for ticket in tickets
        if ticket.must is not None or (age_cap is not None and ticket.age >= age_cap)
    }
    groups = {t.group for t in tickets if t.group is not None and t.commitment in reasons}
    # Ordered as the tickets are, so that the record of the draw is the same bytes everywhere.
    return {
        ticket.commitment: reasons.get(ticket.commitment, "passage")
        for ticket in tickets
        if ticket.commitment in reasons or ticket.group in groups
    }


def _quotas(items: Mapping[str, int], seed: bytes, share: Fraction) -> dict[str, int]:
    """Items to open in each cell: the floor of its share, and one more where systematic sampling falls."""
    quotas = {cell: int(share * number) for cell, number in items.items()}
    reached, mark = Fraction(0), _mark(seed, "u")
    for cell in sorted(items, key=lambda cell: (_prf(seed, "cell", cell), cell)):
        reached += share * items[cell] - quotas[cell]
        if reached > mark:
            quotas[cell] += 1
            mark += 1
    return quotas


def _rates(items: Mapping[str, int], forced: Mapping[str, int], share: Fraction) -> dict[str, Fraction]:
    """The chance that is left for an item of each cell that need not open."""
    return {
        cell: max(Fraction(0), (share * number - forced[cell]) / (number - forced[cell]))
        for cell, number in items.items()
        if number > forced[cell]
    }


def _parted(tickets: Sequence[Ticket]) -> tuple[list[list[Ticket]], dict[str, list[str]]]:
    """Groups of several items, and the commitments of all other items by cell."""
    groups: dict[str, list[Ticket]] = defaultdict(list)
    for ticket in tickets:
        if ticket.group is not None:
            groups[ticket.group].append(ticket)
    bundles = [group for group in groups.values() if len(group) > 1]
    in_bundles = {ticket.commitment for bundle in bundles for ticket in bundle}
    singles: dict[str, list[str]] = defaultdict(list)
    for ticket in tickets:
        if ticket.commitment not in in_bundles:
            singles[ticket.cell].append(ticket.commitment)
    return bundles, singles


def _bundled(bundles: Sequence[Sequence[Ticket]], rates: Mapping[str, Fraction], seed: bytes) -> list[Ticket]:
    """The items of the groups that open: systematic sampling, groups of the same cells side by side."""

    def place(bundle: Sequence[Ticket]) -> tuple[bytes, bytes]:
        cells = sorted(ticket.cell for ticket in bundle)
        return _prf(seed, "cells", *cells), _prf(seed, "group", bundle[0].commitment)

    opened: list[Ticket] = []
    reached, mark = Fraction(0), _mark(seed, "v")
    for bundle in sorted(bundles, key=place):
        reached += sum((rates[ticket.cell] for ticket in bundle), Fraction(0)) / len(bundle)
        if reached > mark:
            opened.extend(bundle)
            mark += 1
    return opened
