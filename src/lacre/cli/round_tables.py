"""How ``lacre round`` prints what it found."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from lacre.cli.output import print_table, say
from lacre.errors import sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lacre.rotation.audit import Audit, RoundAudit
    from lacre.rotation.calendar import Calendar
    from lacre.rotation.plan import Plan
    from lacre.rotation.records import DrawRecord, Frozen

STANDINGS = {
    "failed": "bold red",
    "repeatable": "yellow",
    "stamped": "yellow",
    "noted": "green",
    "frozen": "cyan",
    "shown": "green",
}
"""How a terminal shows what became of a closing."""

SHOWN = 20  # ids named in a line; --json has all


def print_status(found: Calendar) -> None:
    """Where a benchmark stands: sizes as the table, the rest in words."""
    print_table(
        ("cell", "target", "private", "missing"),
        [(cell.cell, cell.target, cell.private, cell.missing) for cell in found.cells],
        right=("target", "private", "missing"),
        whole=("cell",),
    )
    say(f"{found.round}: {_state(found)}")
    if found.ends is None:
        say("The first closing has no date of its own: it comes when the new set is complete.")
    elif found.overdue:
        say(f"The round ended on {found.ends[:10]}: {counted(found.overdue, 'day')} overdue.")
    else:
        say(f"The round began on {str(found.began)[:10]} and ends on {found.ends[:10]}.")
    say(f"{counted(found.private, 'private item')} in {counted(len(found.cells), 'cell')}; aim: {found.aim}.")
    for what, ids in (
        ("at the age cap, open at the next closing", found.at_cap),
        ("over the exposure cap, open at the next closing", found.over_exposed),
        ("void, open at the next closing", found.voided),
        ("replaced, open with their corrections", found.replaced),
    ):
        if ids:
            say(f"{counted(len(ids), 'item')} {what}: {_named(ids)}.")


def _state(found: Calendar) -> str:
    match found.state:
        case "empty":
            return "nothing is sealed yet."
        case "open":
            return f"{counted(found.closings, 'closing')} carried out; the next is not frozen."
        case "frozen":
            return f"frozen at {found.frozen_at}; {found.randomness} comes out at {found.draw_due}."
        case "due":
            late = f", {counted(found.draw_overdue, 'day')} ago" if found.draw_overdue else ""
            return f"{found.randomness} came out at {found.draw_due}{late}: carry the draw out."


def print_plan(found: Plan) -> None:
    """A plan, cell by cell, with its sums."""
    print_table(
        ("cell", "private", "opens", "stays", "write"),
        [(c.cell, c.private, c.opens, c.stays, c.write) for c in found.cells],
        right=("private", "opens", "stays", "write"),
        whole=("cell",),
    )
    say(f"{found.round}: {found.share} opens; aim: {found.aim}.")
    forced, leaving = (sum(getattr(cell, name) for cell in found.cells) for name in ("forced", "leaving"))
    if forced or leaving:
        say(f"{counted(forced, 'item')} must open; {leaving} void or replaced open besides.")
    least, most = (sum(getattr(c.write, name) for c in found.cells) for name in ("least", "most"))
    say(f"Write {least if least == most else f'{least} to {most}'} items in all.")
    if not found.exact and any(c.opens.least != c.opens.most for c in found.cells):
        say("Where two numbers stand, the draw decides.")


def print_frozen(frozen: Frozen, folder: Path, stamp: str | None, runs: Sequence[str]) -> None:
    """What was frozen, and what to do before its randomness is out; ``runs``: names of sealed runs under way."""
    from lacre.digest import sha256  # noqa: PLC0415 - keeps --help fast
    from lacre.rotation.beacon import source_name  # noqa: PLC0415
    from lacre.rotation.records import FREEZE_FILE, STAMP_FILE  # noqa: PLC0415

    print_table(
        ("round", "items", "share", "randomness", "due", "file"),
        [
            (
                frozen.round,
                len(frozen.items),
                frozen.share,
                source_name(frozen.source),
                frozen.source.due,
                folder / FREEZE_FILE,
            )
        ],
        right=("items",),
        whole=("round", "due"),
    )
    if must := Counter(item.must for item in frozen.items if item.must is not None):
        reasons = ", ".join(f"{number} for {reason}" for reason, number in sorted(must.items()))
        say(f"{counted(must.total(), 'item')} will open whatever the draw says: {reasons}.")
    if frozen.leaving:
        say(f"{counted(len(frozen.leaving), 'void or replaced item')} left the draw and will open.")
    for run in runs:
        say(
            f"Sealed run {run} is under way. After {frozen.source.due} it can only be given up: end it before."
        )
    if frozen.waived:
        stand = "stands" if len(frozen.waived) == 1 else "stand"
        say(f"{counted(len(frozen.waived), 'item')} {stand} by a waiver: {_named(frozen.waived)}.")
    digest = sha256((folder / FREEZE_FILE).read_bytes())
    said = f"have it stamped as {STAMP_FILE}" if stamp is None else f"it is stamped by {stamp}"
    say(f"Publish {folder / FREEZE_FILE} now; {said}. Nobody can do it later.")
    say(
        "A stamp shows that this freeze existed, not that it was the only one. Publish this line where others note it "
        f"before {frozen.source.due}:"
    )
    say(f"freeze {frozen.round} {source_name(frozen.source)} sha256 {digest}")


def print_closing(record: DrawRecord, scores: str | None = None) -> None:
    """What a closing opened, cell by cell.

    ``scores``: the command that opens the scores of what opened, where sealed runs have some.
    """
    print_table(
        ("cell", "items", "opens", "stays", "forced"),
        [(c.cell, c.items, c.opens, c.stays, c.forced) for c in record.cells],
        right=("items", "opens", "stays", "forced"),
        whole=("cell",),
    )
    left = sum(record.left.values())
    say(f"{record.round}: {counted(record.opens, 'item')} opened, {record.stays} stay private.")
    if record.forced:
        reasons = ", ".join(f"{number} {reason}" for reason, number in record.forced.items())
        say(f"Opened whatever the draw said: {reasons}.")
    if left:
        say(f"{counted(left, 'void or replaced item')} opened besides.")
    if scores is not None:
        say(f"Sealed runs scored some of what opened: open these scores, too, with `{scores}`.")
    say("Commit the registry; `lacre round plan` says what to write next.")


def print_audit(found: Audit) -> None:
    """What an audit found: one line for each closing, then all that does not hold."""
    print_table(
        ("round", "standing", "items", "opened", "forced", "waived", "void", "frozen", "due", "why"),
        [_audit_row(closing) for closing in found.rounds],
        right=("items", "opened", "forced", "waived", "void"),
        whole=("round", "standing"),
        styles=STANDINGS,
    )
    for note in found.notes:
        say(sentence("note", note))
    for finding in found.findings:
        say(sentence(finding.where, finding.what))
    where = f"{counted(found.lines, 'line')} of the ledger, head {found.head[:16]}"
    held = "all of it holds"
    if found.findings:
        does = "does" if len(found.findings) == 1 else "do"
        held = f"{counted(len(found.findings), 'thing')} that {does} not hold"
    say(f"{found.benchmark}: {where}: {held}.")


def _audit_row(closing: RoundAudit) -> tuple[object, ...]:
    return (
        closing.round,
        closing.standing,
        closing.items,
        closing.opened,
        closing.forced,
        closing.waived,
        f"{closing.voided} + {len(closing.voided_after)} late" if closing.voided_after else closing.voided,
        closing.frozen_at or "unknown",
        closing.due or "unknown",
        closing.why,
    )


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "item"), counted(2000, "item")
    ('1 item', '2,000 items')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _named(ids: tuple[str, ...]) -> str:
    more = f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else ""
    return ", ".join(ids[:SHOWN]) + more
