"""What may be said of a closing: repeated, in time, the only one of its kind (SPEC L3).

A time stamp shows that a freeze existed before its randomness. It does not show that it was the only one: whoever
stamps several and publishes the best has steered the draw all the same. That takes a person who noted, before the
hour, which freeze was published.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from lacre.errors import InputError
from lacre.registry.events import Freeze, Split
from lacre.registry.ledger import parse, prefix_fault
from lacre.rotation.beacon import LotteryDraw, Randomness, Source, instant, moment, source_name
from lacre.rotation.public import Public

Standing = Literal["shown", "noted", "stamped", "repeatable", "frozen", "failed"]
"""From the most that can be said to the least; see :func:`standing`."""


@dataclass(frozen=True, slots=True)
class Noted:
    """What an auditor kept from before the hour of a draw.

    Attributes:
        published: SHA-256 of freeze files, as they were published then.
        witnesses: ledgers as they were then, by name.
    """

    published: tuple[str, ...] = ()
    witnesses: tuple[tuple[str, bytes], ...] = ()


NOTHING_NOTED = Noted()


@dataclass(frozen=True, slots=True)
class Known:
    """Freezes, by SHA-256, that the auditor knows from before their hour, and what of his notes does not hold."""

    freezes: frozenset[str]
    faults: tuple[str, ...]


def known_before(public: Public, noted: Noted) -> Known:
    """The freezes that the auditor's notes vouch for.

    A copy of the ledger vouches for a freeze that it holds, where it ends before the hour of the randomness and the
    draw is not in it.
    """
    logged = {entry.event.freeze for entry in public.history.freezes}
    faults = [
        f"no line freezes {digest}, which was noted before: another freeze took the place of that one"
        for digest in noted.published
        if digest not in logged
    ]
    found = set(noted.published) & logged
    for name, content in noted.witnesses:
        fault = prefix_fault(content, public.ledger.content)
        if fault is not None:
            faults.append(f"line {fault.line} {fault.what}, by the copy {name}")
            continue
        found |= set(_witnessed(public, content, name))
    return Known(frozenset(found), tuple(faults))


def read_witness(path: Path) -> bytes:
    """The ledger of a copy of the public files: a ledger, or a folder with one somewhere usual.

    Raises:
        InputError: there is none.
    """
    places = (path, path / "ledger.jsonl", path / "registry" / "ledger.jsonl")
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise InputError(path, "holds no ledger", "Give the copy of registry/, or of ledger.jsonl in it")
    return found.read_bytes()


def _witnessed(public: Public, content: bytes, name: str) -> Iterator[str]:
    """Freezes that a copy of the ledger shows to have been there before their hour."""
    lines = parse(content, name).lines  # a prefix of a ledger that holds, so it does too
    carried = {line.event.freeze for line in lines if isinstance(line.event, Split)}
    for line in lines:
        event = line.event
        if (
            isinstance(event, Freeze)
            and event.benchmark == public.benchmark
            and event.freeze not in carried
            and moment(lines[-1].at) < moment(event.due)
        ):
            yield event.freeze


def doubt(source: Source, randomness: Randomness, since: str) -> str | None:
    """What an outsider still has to check about randomness that no signature proved; none when one did.

    ``since``: the time, in words, after which it must have come out.

    >>> doubt(LotteryDraw(draw=1, due=""), Randomness(value=b"", proved=False), "the freeze")
    'that draw 1 of the Loteria Federal took place after the freeze, with this result: number and date at Caixa'
    """
    if isinstance(source, LotteryDraw):
        what = f"that {source_name(source)} took place after {since}, with this result"
        return f"{what}: number and date at Caixa"
    return None if randomness.proved else randomness.note.rstrip(".")


def standing(
    *,
    carried_out: bool,
    failed: bool,
    noted: bool,
    stamped_at: datetime | None,
    has_stamp: bool,
    source: Source,
    randomness: Randomness | None,
) -> tuple[Standing, str]:
    """What may be said of a closing, and why.

    ``shown``: repeated, it is the freeze that the auditor noted before the hour, and the randomness is proved;
    ``noted``: the same, and he has to check the randomness himself; ``stamped``: it existed in time, and may be one of
    several; ``repeatable``: repeated, no more.
    """
    if failed:
        return "failed", "see the findings"
    if not carried_out or randomness is None:
        return "frozen", "its draw is not carried out yet"
    since = "you noted it" if noted else "the freeze" if stamped_at is None else instant(stamped_at)
    left = doubt(source, randomness, since)
    check = f"; still to check: {left}" if left else ""
    if noted:
        why = "repeated, and it is the freeze that you noted before the hour"
        return ("noted" if left else "shown"), why + check
    if stamped_at is not None:
        return "stamped", "repeated, and stamped in time; it may be one of several that were" + check
    if has_stamp:
        return "repeatable", "repeatable, not shown unsteered: its time stamp was not checked"
    return "repeatable", "repeatable, not shown unsteered: no time stamp"
