"""Carrying out a frozen draw: the first split, or a rotation, as one change (DESIGN section 6).

:func:`close` only computes; whoever holds the vault makes the files appear and the items go, all at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from pathlib import Path

import msgspec

from lacre import jsonl
from lacre.digest import sha256
from lacre.draw import Drawn, draw, seed_of
from lacre.errors import IncompleteError, InputError, IntegrityError
from lacre.registry import ledger as ledgers
from lacre.registry.events import Event, Open, Split, Why
from lacre.registry.items import Change, Item, Source
from lacre.registry.ledger import Signer
from lacre.rotation.beacon import Randomness, come_out, instant, source_due, source_name
from lacre.rotation.history import History
from lacre.rotation.public import Public, ledger_path, without
from lacre.rotation.records import (
    BEACON_FILE,
    DRAW_FILE,
    FREEZE_FILE,
    OPENINGS_FILE,
    STAMP_FILE,
    DrawRecord,
    Frozen,
    Opened,
    draw_record,
    frozen_from,
    lines_bytes,
    read_draw,
    read_round_file,
    record_bytes,
)
from lacre.sealing.batches import rows_bytes
from lacre.sealing.commitments import Opening, Row, opens, rows_root
from lacre.sealing.dsse import verify
from lacre.sealing.keyring import keyring

COUNTING: tuple[Why, ...] = ("draw", "age", "leak", "exposure", "passage")
"""Why an item opened that goes on as an open item; what is defective, void or replaced only has its opening."""


@dataclass(frozen=True, slots=True)
class Unsealed:
    """One private item out of the vault: the item, and what opens its commitment."""

    item: Item
    opening: Opening


@dataclass(frozen=True, slots=True)
class Closing:
    """What a closing changes, whole.

    Attributes:
        files: path in the workspace -> its new bytes, in the order in which they may appear: the ledger last.
        removed: ids that leave the vault.
    """

    record: DrawRecord
    files: Mapping[Path, bytes]
    removed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ready:
    """A freeze that can be carried out: its bytes, what it says, and the stamp on it, if any."""

    content: bytes
    frozen: Frozen
    stamp: bytes | None


def pending(public: Public) -> Ready:
    """The freeze that waits for its draw, its signature checked.

    Raises:
        InputError: nothing is frozen.
        IntegrityError: the signed file is missing, changed, or not the one of the ledger.
    """
    entry = public.history.pending
    if entry is None:
        raise InputError(
            f"closing {public.history.next_round}", "is not frozen", "Begin with `lacre round freeze`"
        )
    folder = public.folder(public.history.closed + 1)
    content = read_round_file(folder, FREEZE_FILE)
    where = folder / FREEZE_FILE
    if sha256(content) != entry.event.freeze:
        raise IntegrityError(
            f"{where}: is not the freeze of line {entry.line} of the ledger. Restore it from a copy."
        )
    ring = keyring(public.ledger, ledger_path(public.registry))
    frozen = frozen_from(verify(content, ring.at(entry.line), where).statement, where)
    stamp = folder / STAMP_FILE
    return Ready(content, frozen, jsonl.read_bytes(stamp) if stamp.is_file() else None)


def close(
    public: Public,
    ready: Ready,
    randomness_file: bytes,
    unsealed: Callable[[str], Unsealed],
    *,
    now: datetime,
    licence: str,
    signer: Signer | None,
    where: str = "--beacon-file",
) -> Closing:
    """What carrying out a freeze changes: openings, open items, what stays private, and the ledger's lines.

    Args:
        randomness_file: the file with the randomness, as it was fetched.
        unsealed: gives an item out of the vault by its id.
        now: the time; the randomness must be due.
        licence: that of the open layer.
        signer: signs the ledger's line about the draw, and with it those before.

    Raises:
        IncompleteError: the randomness is not due yet.
        InputError: the file does not hold it.
        IntegrityError: it is forged, or an item of the vault is not the one that was committed to.
    """
    frozen = ready.frozen
    due = source_due(frozen.source)
    if now < due:
        raise IncompleteError(
            f"{source_name(frozen.source)}: is not out before {instant(due)}. Come back then."
        )
    randomness = come_out(frozen.source, randomness_file, where)
    again = repeat(frozen, randomness)
    drawn, seed = again.drawn, again.seed
    whys = opening_reasons(frozen, drawn)
    known = {row.id: row for row in public.rows}
    opened: list[Opened] = []
    items: list[Item] = []
    for id, why in sorted(whys.items()):
        if id not in known:
            what = f"{public.commitments}: item '{id}' was frozen and has no row"
            raise IntegrityError(f"{what}. Restore it from a copy.")
        out = unsealed(id)
        opened.append(_opened(known[id], why, out.opening))
        if counts(public.history, id, why):
            items.append(_open_item(out.item, frozen, licence, now))
    record = draw_record(
        frozen,
        drawn,
        freeze=ready.content,
        randomness=randomness.value,
        randomness_file=randomness_file,
        stamp_file=ready.stamp,
        seed=seed,
        left=Counter(o.why for o in opened if o.why in ("void", "supersede")),
        before=carried_before(public, frozen.number),
    )
    rows = without(public.rows, whys)
    folder = public.folder(frozen.number)
    openings = lines_bytes(opened)
    draw_file = record_bytes(record)
    events = _events(
        frozen,
        opened,
        Split(
            benchmark=frozen.benchmark,
            round=frozen.round,
            freeze=sha256(ready.content),
            randomness=randomness.value.hex(),
            seed=seed.hex(),
            opened=len(opened),
            kept=len(rows),
            openings=sha256(openings),
            draw=sha256(draw_file),
            root=rows_root(rows),
        ),
    )
    ledger = _written(public, events, now, signer)
    files = {
        folder / BEACON_FILE: randomness_file,
        folder / DRAW_FILE: draw_file,
        folder / OPENINGS_FILE: openings,
        open_items_path(public, frozen.number): b"".join(map(jsonl.encode, items)),
        public.commitments: rows_bytes(rows),
        ledger_path(public.registry): ledger,
    }
    return Closing(record=record, files=files, removed=tuple(sorted(whys)))


@dataclass(frozen=True, slots=True)
class Repeated:
    """A draw, and the 32 bytes of its seed."""

    drawn: Drawn
    seed: bytes


def repeat(frozen: Frozen, randomness: Randomness) -> Repeated:
    """The draw of a freeze: what anybody finds who repeats it.

    Raises:
        IntegrityError: the frozen share is none.
    """
    seed = seed_of(frozen.round, frozen.head, randomness.value)
    try:
        share = Fraction(frozen.share)
    except (ValueError, ZeroDivisionError):
        raise IntegrityError(
            f"freeze {frozen.round}: its share '{frozen.share}' is none. Never carry it out."
        ) from None
    return Repeated(draw(frozen.tickets(), seed, share, age_cap=frozen.age_cap), seed)


def opening_reasons(frozen: Frozen, drawn: Drawn) -> dict[str, Why]:
    """Every item that opens at a closing, and why: drawn, forced, void, or replaced by one that opens."""
    chosen = set(drawn.opens)
    reasons: dict[str, Why] = {}
    for item in frozen.items:
        if item.commitment in chosen:
            reasons[item.id] = _why(drawn.forced.get(item.commitment, "draw"))
    voids = {left.id for left in frozen.leaving if left.why == "void"}
    for left in frozen.leaving:
        # An old version gives its correction away, so it waits for it.
        if left.why == "void" or left.after in reasons or left.after in voids:
            reasons[left.id] = left.why
    return reasons


def open_items_path(public: Public, number: int) -> Path:
    """The file of the open layer with the items that opened at a closing."""
    return public.registry / public.benchmark / "open" / f"closing-{number:04d}.jsonl"


def counts(known: History, item: str, why: Why) -> bool:
    """Whether an item that opens goes on as an open item; one that was made void while frozen does not."""
    return why in COUNTING and item not in known.voids


def carried_before(public: Public, number: int) -> dict[str, str]:
    """What each cell opened above its exact quota in the closings before number ``number``."""
    if number <= 1:
        return {}
    path = public.folder(number - 1) / DRAW_FILE
    return read_draw(public.published(path), path).carried


def done_already(public: Public, randomness_file: bytes) -> DrawRecord | None:
    """The record of the last closing, when it was carried out with this very file: nothing is left to do then."""
    number = public.history.closed
    if number == 0 or public.history.pending is not None:
        return None
    folder = public.folder(number)
    record = read_draw(read_round_file(folder, DRAW_FILE), folder / DRAW_FILE)
    return record if sha256(randomness_file) == record.randomness_file else None


def _why(reason: str) -> Why:
    why: Why = msgspec.convert(reason, Why)
    return why


def _opened(row: Row, why: Why, opening: Opening) -> Opened:
    """The opening of one item, checked against its row."""
    if not opens(opening, row.commitment):
        raise IntegrityError(
            f"item '{row.id}': the vault does not open its commitment. Restore it from a backup."
        )
    return Opened(
        id=row.id,
        cell=row.cell,
        batch=row.batch,
        commitment=row.commitment,
        group=row.group,
        why=why,
        nonce=opening.nonce,
        payload=opening.payload,
    )


def _open_item(item: Item, frozen: Frozen, licence: str, now: datetime) -> Item:
    """A private item as an open one. Its history stays behind: it names people."""
    return Item(
        id=item.id,
        benchmark=item.benchmark,
        layer="open",
        cell=item.cell,
        payload=item.payload,
        source=Source(licence=licence, written=item.source.written),
        history=(Change(when=instant(now)[:10], who=f"closing {frozen.round}", what="opened"),),
        canary=item.canary,
    )


def _events(frozen: Frozen, opened: Iterable[Opened], split: Split) -> list[Event]:
    """The ledger's lines: one for each item, then the draw's, which is signed and closes them off."""
    events: list[Event] = [
        Open(benchmark=frozen.benchmark, round=frozen.round, item=o.id, commitment=o.commitment, why=o.why)
        for o in opened
    ]
    return [*events, split]


def _written(public: Public, events: Sequence[Event], now: datetime, signer: Signer | None) -> bytes:
    """The ledger with lines added. Only the last is signed: it names the hash of the line before, and so on."""
    at, where = instant(now), ledger_path(public.registry)
    longer = ledgers.appended(public.ledger, events[:-1], at=at, where=where)
    return ledgers.appended(longer, events[-1:], at=at, signer=signer, where=where).content
