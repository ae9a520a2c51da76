"""The audit: everything about the closings of a benchmark, repeated from its public files alone (SPEC L3).

It needs no vault and no trust in whoever ran the closings. Each thing that does not hold is a finding that names
where; the audit goes on and names them all. What it cannot see is said too: without a time stamp a draw can be
repeated, but nobody can tell whether it was frozen before its randomness was known.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from lacre.errors import LacreError
from lacre.jsonl import read_bytes
from lacre.registry.records import Record
from lacre.registry.rules import Rules
from lacre.rotation.beacon import Randomness, instant, source_due, source_name
from lacre.rotation.history import History
from lacre.rotation.human import human_notes
from lacre.rotation.order import order_complaints
from lacre.rotation.public import Public, ledger_path, read_damaged, settings_digests
from lacre.rotation.recheck import Fault, SignedFreeze, draw_faults, freeze_faults, signed_freeze
from lacre.rotation.records import FREEZE_FILE, STAMP_FILE, Frozen, round_name
from lacre.rotation.rows import Rows, all_rows, exposure_complaints, open_layer_complaints, row_complaints
from lacre.rotation.standing import NOTHING_NOTED, Known, Noted, Standing, known_before, standing
from lacre.sealing.keyring import Keyring, keyring

StampCheck = Callable[[bytes, bytes], datetime]
"""Gives the time at which an authority stamped content (stamp, content), or raises a LacreError."""


class Finding(Record, omit_defaults=False):
    """One thing that does not hold: the closing it is about (none: all of them), where, and what."""

    round: str | None
    where: str
    what: str


class RoundAudit(Record, omit_defaults=False):
    """One closing.

    Attributes:
        standing: see :func:`lacre.rotation.standing.standing`. ``why``: in a few words, for it.
        items, opened: numbers of items in the draw, and opened in all; ``reasons``: the latter by why.
        voided, replaced: items that were void or replaced when it was frozen.
        forced: items that a person made open whatever the draw said; ``waived``: items for which a person answers.
        voided_after: ids of items made void after its freeze and before it was carried out, when the draw could
            be known; they are among those of the next closing's ``voided`` too, where they leave.
    """

    round: str
    standing: Standing
    why: str
    randomness: str | None = None
    due: str | None = None
    frozen_at: str | None = None
    stamped_at: str | None = None
    items: int = 0
    opened: int = 0
    reasons: dict[str, int] = msgspec.field(default_factory=dict)
    voided: int = 0
    replaced: int = 0
    voided_after: tuple[str, ...] = ()
    forced: int = 0
    waived: int = 0


class Audit(Record, omit_defaults=False):
    """What the audit of one benchmark found.

    Attributes:
        key: fingerprint of the ledger's first key; ``trusted``: whether it is the one that was asked for.
        notes: what outsiders should know though nothing is wrong with it.
    """

    benchmark: str
    lines: int
    head: str
    key: str | None
    trusted: bool
    rounds: tuple[RoundAudit, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]


@dataclass(slots=True)
class _Court:
    """What an audit works with, and what it has found so far."""

    public: Public
    ring: Keyring
    stamped: StampCheck | None
    known: Known
    at: datetime
    rows: Rows
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def accuse(self, round: str | None, where: str | Path, what: str) -> None:
        """Add a finding, its place relative to the registry's parent, so that it reads the same everywhere."""
        root = self.public.registry.parent
        place = Path(where)
        name = place.relative_to(root).as_posix() if place.is_relative_to(root) else str(where)
        self.findings.append(Finding(round=round, where=name, what=what.replace(f"{root}/", "")))


def audit(
    registry: Path,
    benchmark: str,
    rules: Rules,
    *,
    at: datetime,
    key: str | None = None,
    stamped: StampCheck | None = None,
    noted: Noted = NOTHING_NOTED,
) -> Audit:
    """All that can be checked about a benchmark's closings.

    Args:
        registry: the folder with the public files.
        rules: those of the benchmark as published.
        at: the time, for draws that are overdue.
        key: fingerprint of the ledger's first key, known from elsewhere.
        stamped: checks time stamps; none: they are not looked at, and the audit says so.
        noted: what the auditor kept from before a draw's hour.

    Raises:
        IntegrityError: the ledger's chain, or a signature in it, does not hold; nothing else can be trusted then.
    """
    public, damage = read_damaged(registry, benchmark)
    where = ledger_path(registry)
    known = known_before(public, noted)
    court = _Court(public, keyring(public.ledger, where), stamped, known, at, all_rows(public))
    for what in known.faults:
        court.accuse(None, where, what)
    first = next(iter(court.ring.tenures), None)
    if key is not None and first != key:
        court.accuse(None, where, f"its first key is {first or 'none'}, not {key}")
    for fault in damage:
        court.accuse(None, f"{public.commitments}:{fault.line}", f"was changed: {fault.what}")
    for complaints in (
        row_complaints(public, court.rows),
        exposure_complaints(public, court.rows),
        order_complaints(public),
    ):
        for round, place, what in complaints:
            court.accuse(round, place, what)
    rounds = tuple(_closing(court, number, rules) for number in range(1, _last(public) + 1))
    for round, place, what in open_layer_complaints(public, court.rows):
        court.accuse(round, place, what)
    return Audit(
        benchmark=public.benchmark,
        lines=public.ledger.size,
        head=public.ledger.head,
        key=first,
        trusted=key is not None and first == key,
        rounds=rounds,
        findings=tuple(court.findings),
        notes=(*court.notes, *_notes(court, first, key)),
    )


def _last(public: Public) -> int:
    """The number of the last closing that was frozen or carried out."""
    return public.history.closed + (public.history.pending is not None)


def _closing(court: _Court, number: int, rules: Rules) -> RoundAudit:
    """One closing: its freeze, its stamp, its draw."""
    public, name = court.public, round_name(court.public.benchmark, number)
    folder = public.folder(number)
    signed = _freeze(court, name, folder)
    split = next((entry for entry in public.history.splits if entry.event.round == name), None)
    if signed is None:
        failed = "its freeze cannot be read, so nothing can be repeated"
        return RoundAudit(
            round=name,
            standing="failed",
            why=failed,
            opened=split.event.opened if split else 0,
            voided_after=_voided_after(public.history, name),
        )
    frozen = signed.frozen
    stamped_at = _stamp(court, name, folder, signed)
    seen: list[Randomness] = []
    if split is not None:
        _collect(court, name, folder, draw_faults(public, court.rows, signed, split, seen))
    else:
        _overdue(court, name, signed, rules)
    for randomness in seen:
        if randomness.note:
            after = f", and that it took place after {frozen.at}" if signed.lottery else ""
            court.notes.append(f"{name}: {randomness.note}".rstrip(".") + after)
    _hold_to_rules(court, name, signed, rules)
    court.notes += human_notes(frozen)
    stands, why = standing(
        carried_out=split is not None,
        failed=any(finding.round == name for finding in court.findings),
        noted=signed.entry.event.freeze in court.known.freezes,
        stamped_at=stamped_at,
        has_stamp=(folder / STAMP_FILE).is_file(),
        source=frozen.source,
        randomness=seen[0] if seen else None,
    )
    openings = court.rows.openings.get(number, []) if split is not None else []
    return RoundAudit(
        round=name,
        standing=stands,
        why=why,
        randomness=source_name(frozen.source),
        due=instant(source_due(frozen.source)),
        frozen_at=frozen.at,
        stamped_at=None if stamped_at is None else instant(stamped_at),
        items=len(frozen.items),
        opened=len(openings),
        reasons=dict(sorted(Counter(opening.why for opening in openings).items())),
        voided=sum(left.why == "void" for left in frozen.leaving),
        replaced=sum(left.why == "supersede" for left in frozen.leaving),
        voided_after=_voided_after(public.history, name),
        forced=sum(item.must is not None for item in frozen.items),
        waived=len(frozen.waived),
    )


def _overdue(court: _Court, name: str, signed: SignedFreeze, rules: Rules) -> None:
    """A draw whose randomness is out, and that is not carried out: first a note, then a finding.

    Whoever does not like a draw could leave it at that.
    """
    due = source_due(signed.frozen.source)
    days = rules.rounds.draw_days
    what = f"its randomness is out since {instant(due)}, and the draw is not carried out"
    if court.at > due + timedelta(days=days):
        court.accuse(
            name, court.public.folder(signed.frozen.number), f"{what}; the rules give it {days} days"
        )
    elif court.at > due:
        court.notes.append(f"{name}: {what}")


def _freeze(court: _Court, name: str, folder: Path) -> SignedFreeze | None:
    """The freeze of a closing, checked; none when it cannot be read."""
    try:
        signed = signed_freeze(court.public, court.ring, name, folder)
    except LacreError as error:
        court.accuse(name, folder / FREEZE_FILE, _stripped(error, folder / FREEZE_FILE))
        return None
    _collect(court, name, folder, freeze_faults(court.public, court.rows, signed))
    return signed


def _stamp(court: _Court, name: str, folder: Path, signed: SignedFreeze) -> datetime | None:
    """When the freeze was stamped, provided that was before its randomness was out."""
    path = folder / STAMP_FILE
    if court.stamped is None or not path.is_file():
        return None
    try:
        when = court.stamped(read_bytes(path), signed.content)
    except LacreError as error:
        court.accuse(name, path, _stripped(error, path))
        return None
    due = source_due(signed.frozen.source)
    if when < due:
        return when
    what = f"the freeze was stamped at {instant(when)}, when its randomness was out since {instant(due)}"
    court.accuse(name, path, f"{what}: whoever froze it could know the draw")
    return None


def _collect(court: _Court, name: str, folder: Path, faults: Iterator[Fault]) -> None:
    """Take in faults as they come; what cannot be read ends them, and is one more."""
    try:
        for place, what in faults:
            court.accuse(name, place, what)
    except LacreError as error:
        where, _, what = str(error).partition(": ")
        court.accuse(name, *((where, what) if what else (folder, where)))


def _stripped(error: LacreError, place: Path) -> str:
    """What an error says, without the place it begins with."""
    return str(error).removeprefix(f"{place}: ").removeprefix(f"{place}:")


def _voided_after(known: History, name: str) -> tuple[str, ...]:
    """Ids of the items made void between a closing's freeze and its draw, sorted; by the ledger alone."""
    between = _between(known, name)
    return tuple(sorted(id for id, entry in known.voids.items() if entry.line in between))


def _replaced_after(known: History, name: str) -> list[str]:
    """The same of items that were replaced, each with its correction. lacre refuses that: it was done by hand."""
    between = _between(known, name)
    return sorted(f"{id} by {e.event.by}" for id, e in known.supersedes.items() if e.line in between)


def _between(known: History, name: str) -> range:
    """The ledger's lines between a closing's freeze and its draw; to the end where it is not carried out."""
    split = next((entry for entry in known.splits if entry.event.round == name), None)
    freezes = [entry for entry in known.freezes if entry.event.round == name]
    carried = [entry for entry in freezes if split is not None and entry.event.freeze == split.event.freeze]
    if not freezes:
        return range(0)
    return range((carried or freezes[-1:])[0].line + 1, sys.maxsize if split is None else split.line)


def _hold_to_rules(court: _Court, name: str, signed: SignedFreeze, rules: Rules) -> None:
    """Where a freeze stands on other rules than those of today: a note, for they may change, in public, between
    closings; a finding where the files are the very ones that it names."""
    public, frozen = court.public, signed.frozen
    today = settings_digests(public.registry, public.benchmark)
    same = ("rules.toml", f"{public.benchmark}/benchmark.toml")
    unchanged = all(place in today and frozen.settings.get(place) == today[place] for place in same)
    for what in _other_rules(frozen, rules):
        if unchanged:
            court.accuse(
                name, public.folder(frozen.number) / FREEZE_FILE, f"{what}, and have not changed since"
            )
        else:
            court.notes.append(f"{name}: {what}")
    changed = sorted(place for place, digest in frozen.settings.items() if today.get(place) != digest)
    # Only of the last freeze: files change in the course of the rounds, and a closing stands on those it had.
    if changed and frozen.number == _last(public):
        court.notes.append(f"{name}: not what they were when it was frozen: {', '.join(changed)}")


def _other_rules(frozen: Frozen, rules: Rules) -> Iterator[str]:
    """What a freeze says otherwise than the rules."""
    share = rules.split.first_open if frozen.number == 1 else rules.rounds.rotation_open
    for what, then, now in (
        ("share", frozen.share, share),
        ("age cap", frozen.age_cap, rules.rounds.age_cap),
        ("exposure cap", frozen.exposure_cap, rules.rounds.exposure_cap),
    ):
        if then != now:
            yield f"its {what} is {then}; the rules say {now}"
    if missing := sorted(set(rules.vetting.required_corpora) - set(frozen.corpora)):
        yield f"its items were not vetted against {', '.join(missing)}; the rules require it"


def _notes(court: _Court, first: str | None, key: str | None) -> Iterator[str]:
    """What outsiders should know: whom they trust, what was proved by no signature, and what was made void."""
    if key is None and first is not None:
        yield f"integrity only: nobody vouched for the ledger's first key, {first}; give --key to say whose it must be"
    known, before = court.public.history, 0
    for number in range(1, _last(court.public) + 1):
        name = round_name(known.benchmark, number)
        split = known.splits[number - 1] if number <= known.closed else None
        late = _voided_after(known, name)
        until = split.line if split else court.public.ledger.size + 1
        voided = sum(before < entry.line < until for id, entry in known.voids.items() if id not in late)
        rows = split.event.opened + split.event.kept if split else 0
        if voided and rows:
            yield f"{name}: {voided} of {rows} items ({voided / rows:.0%}) were made void before it"
        if late:
            count = (
                f"{len(late)} of {rows} items ({len(late) / rows:.0%})" if rows else f"items ({len(late)})"
            )
            when = "after its freeze, when the draw could be known"
            yield f"{name}: {count} were made void {when}: {', '.join(late)}"
        if replaced := _replaced_after(known, name):
            what = "were replaced after its freeze, which holds none of the corrections"
            yield f"{name}: items ({len(replaced)}) {what}: {', '.join(replaced)}"
        before = until
    if voided := sum(row.id in known.voids for row in court.public.rows):
        rows = len(court.public.rows)
        yield f"{voided} of {rows} sealed items ({voided / rows:.0%}) are void, and open at the next closing"
