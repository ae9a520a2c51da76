"""What people decide about single items: void, replaced by a corrected one, or answered for.

Void and replaced items leave the draws; their commitments still end opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from lacre.errors import Fault, InputError, RecordError
from lacre.registry import ledger as ledgers
from lacre.registry.events import Event, Supersede, Void, Waiver
from lacre.registry.items import Item
from lacre.registry.ledger import Signer
from lacre.registry.matrix import cell_name
from lacre.registry.reasons import plain_reason
from lacre.rotation.beacon import instant
from lacre.rotation.freeze import Checks
from lacre.rotation.public import Public, ledger_path
from lacre.sealing.commitments import Row


def void_events(public: Public, items: Sequence[str], reason: str) -> list[Event]:
    """The ledger's lines that take items out of the draws from here on. A draw that is frozen is not changed by them.

    Raises:
        InputError: no reason is given, or it is no line of plain words.
        RecordError: an item is not private, or void already; every one is listed.
    """
    reason = plain_reason(reason)
    rows = {row.id: row for row in public.rows}
    faults = [
        Fault(number, what, "Look it up in commitments.jsonl")
        for number, item in enumerate(items, 1)
        if (what := _unvoidable(public, rows, item))
    ]
    if faults:
        raise RecordError("items given", faults)
    return [
        Void(benchmark=public.benchmark, item=item, commitment=rows[item].commitment, reason=reason)
        for item in dict.fromkeys(items)
    ]


def supersede_target(public: Public, old: str, new: Item) -> Row:
    """The row of the item that ``new`` may replace.

    The correction keeps its cell and its batch, so that nobody moves an item, or makes it young again, by
    correcting it.

    Raises:
        InputError: the old one is not private, a draw is frozen, or the new one is of another cell, layer or
            benchmark, or of the same id.
    """
    where = f"item '{old}'"
    row = next((row for row in public.private if row.id == old), None)
    if row is None:
        raise InputError(
            where, "is no private item that takes part in draws", "Look it up in commitments.jsonl"
        )
    if (pending := public.history.pending) is not None:
        what = f"closing {pending.event.round} is frozen, and a frozen item cannot be replaced"
        raise InputError(where, what, "Replace it after the draw, or void it now")
    if new.id == old or any(new.id == known.id for known in public.rows) or new.id in public.history.opened:
        raise InputError(
            f"item '{new.id}'", "has an id that is taken", "Give the corrected item an id of its own"
        )
    if new.layer != "private" or new.benchmark != public.benchmark:
        raise InputError(
            f"item '{new.id}'", f"is no private item of {public.benchmark}", "Correct its record"
        )
    if cell_name(new.cell) != cell_name(row.cell):
        what = f"is of cell {cell_name(new.cell)}, and replaces one of {cell_name(row.cell)}"
        raise InputError(
            f"item '{new.id}'", what, "Void the old one, and add the new one with the next batch"
        )
    return row


def supersede_event(public: Public, old: Row, new: Row, reason: str) -> Supersede:
    """The ledger's line about a correction.

    Raises:
        InputError: no reason is given, or it is no line of plain words.
    """
    reason = plain_reason(reason)
    return Supersede(
        benchmark=public.benchmark,
        item=old.id,
        commitment=old.commitment,
        by=new.id,
        by_commitment=new.commitment,
        reason=reason,
    )


def waivers(
    public: Public,
    checks: Checks,
    *,
    items: Sequence[str],
    corpora: Sequence[str],
    who: str,
    reason: str,
) -> list[Event]:
    """The ledger's lines by which a person answers for items that vetting did not keep.

    Raises:
        InputError: no reason, or nobody, is given, or not in a line of plain words.
        RecordError: an item is not private, was never vetted, or is kept already; every one is listed.
    """
    reason, who = plain_reason(reason), plain_reason(who, "--who")
    rows = {row.id: row for row in public.private}
    faults: list[Fault] = []
    events: list[Event] = []
    for number, item in enumerate(dict.fromkeys(items), 1):
        row = rows.get(item)
        if row is None:
            what = f"item '{item}' is no private item of {public.benchmark}"
            faults.append(Fault(number, what, "Look it up in commitments.jsonl"))
            continue
        found = checks.get(row.commitment, {})
        said = sorted({found[corpus] for corpus in corpora or found if found.get(corpus, "keep") != "keep"})
        if not said:
            what = f"item '{item}' has no verdict to answer for there"
            faults.append(Fault(number, what, "Vet it first, with `lacre vet --vault`"))
            continue
        events.append(
            Waiver(
                benchmark=public.benchmark,
                item=item,
                digest=row.commitment,
                verdict=", ".join(said),
                who=who,
                reason=reason,
                corpora=tuple(sorted(corpora)),
            )
        )
    if faults:
        raise RecordError("items given", faults)
    return events


def longer_ledger(public: Public, events: Sequence[Event], now: datetime, signer: Signer | None) -> bytes:
    """The ledger's bytes with signed lines added."""
    where = ledger_path(public.registry)
    return ledgers.appended(public.ledger, events, at=instant(now), signer=signer, where=where).content


def _unvoidable(public: Public, rows: dict[str, Row], item: str) -> str | None:
    if item in public.history.opened:
        return f"item '{item}' is opened already"
    if item not in rows:
        return f"item '{item}' is no private item of {public.benchmark}"
    if item in public.history.voids:
        return f"item '{item}' is void already"
    if item in public.history.supersedes:
        return f"item '{item}' was replaced already, by '{public.history.supersedes[item].event.by}'"
    return None
