"""Freezing the ground of a draw, before the randomness that decides it exists (DESIGN section 6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from lacre.errors import Fault, InputError, RecordError
from lacre.registry.events import Freeze, Incident
from lacre.registry.matrix import cell_name
from lacre.registry.rules import Rules
from lacre.rotation.beacon import Source, instant, source_due, source_name
from lacre.rotation.exposure import must_open
from lacre.rotation.history import Entry
from lacre.rotation.order import spent
from lacre.rotation.public import Public
from lacre.rotation.records import Frozen, FrozenItem, Leaving, Must
from lacre.sealing.checks import Check
from lacre.sealing.commitments import Row

Checks = Mapping[str, Mapping[str, str]]
"""Commitment -> corpus -> the verdict of its latest vetting against that corpus, in this round."""


def freeze(
    public: Public,
    rules: Rules,
    source: Source,
    *,
    now: datetime,
    required: Sequence[str],
    checks: Checks,
    forced: Mapping[str, Must] | None = None,
    settings: Mapping[str, str] | None = None,
    again: bool = False,
) -> Frozen:
    """The ground of the next closing: every private item, what must open, what leaves, and the randomness to come.

    Args:
        public: the benchmark's public files as they are now.
        rules: those of the benchmark.
        source: the randomness, which must not be due yet.
        now: the time.
        required: corpora that every item must be kept against.
        checks: what vetting said of the items' present text in this round; see :func:`this_round`.
        forced: items that must open, and why; those over the exposure cap are added to them.
        settings: the hashes of the files that the freeze stands on; see
            :func:`lacre.rotation.public.settings_digests`.
        again: whether a freeze that waits is given up for this one. The audit will say so for ever.

    Raises:
        InputError: the closing is frozen already, the randomness is due, there is nothing to freeze, or what is
            forced is no private item.
        RecordError: items that are not ``keep``, nor waived, against a required corpus; every one is listed (L7).
    """
    if not again:
        _refuse_frozen(public.history.pending)
    elif public.history.pending is None:
        raise InputError("--again", "no freeze waits to be given up", "Leave it out")
    _refuse_due(source, now)
    if (used := spent(public, source_name(source))) is not None:
        raise InputError(
            source_name(source), f"may be known already: {used}", "Name randomness that decides nothing else"
        )
    if not public.private:
        raise InputError(public.commitments, "no private items to freeze", "Seal some with `lacre vault add`")
    _refuse_unknown(public, forced or {})
    over: dict[str, Must] = dict.fromkeys(must_open(public.history, rules.rounds.exposure_cap), "exposure")
    forced = over | dict(forced or {})  # the reason that a person gives says more
    waived = _waived(public, required, checks)
    first = public.history.closed == 0
    return Frozen(
        benchmark=public.benchmark,
        round=public.history.next_round,
        share=rules.split.first_open if first else rules.rounds.rotation_open,
        age_cap=rules.rounds.age_cap,
        workspace=public.ledger.workspace or "0" * 64,
        head=public.ledger.head,
        lines=public.ledger.size,
        at=instant(now),
        source=source,
        items=frozen_items(public, public.private, forced),
        leaving=leaving(public),
        corpora=tuple(sorted(required)),
        waived=waived,
        exposure_cap=rules.rounds.exposure_cap,
        settings=dict(settings or {}),
    )


def freeze_event(frozen: Frozen, digest: str) -> Freeze:
    """The ledger's line about a freeze; ``digest``: SHA-256 of the signed file."""
    return Freeze(
        benchmark=frozen.benchmark,
        round=frozen.round,
        freeze=digest,
        items=len(frozen.items),
        beacon=source_name(frozen.source),
        due=instant(source_due(frozen.source)),
    )


def this_round(public: Public, checks: Iterable[Check]) -> list[Check]:
    """The checks made since the last closing: private items are checked again each round (L7)."""
    since = public.history.splits[-1].at if public.history.splits else ""
    return [check for check in checks if check.at >= since]


def refuse_stale(public: Public, checks: Iterable[Check], grounds: Mapping[str, str]) -> None:
    """Refuse vettings of private items that stand on another ground than today's: other rules, another corpus.

    ``grounds``: corpus -> the ground that a vetting against it has today.

    Raises:
        InputError: names each such corpus, with how many items.
    """
    private = {row.commitment for row in public.private}
    stale = Counter(
        check.corpus
        for check in checks
        if check.commitment in private and check.ground != grounds.get(check.corpus, check.ground)
    )
    faults = [
        f"{number} items were vetted against {corpus} as it was then, or by other rules or set phrases: "
        "its line in corpora.jsonl, its files, rules.toml or boilerplate.txt changed"
        for corpus, number in sorted(stale.items())
    ]
    if faults:
        raise InputError(
            public.commitments, "; ".join(faults), "Vet again, with `lacre vet --vault ... --required`"
        )


def given_up(public: Public, reason: str) -> Incident:
    """The ledger's line about a freeze that is given up for another.

    Raises:
        InputError: no reason is given.
    """
    if not reason.strip():
        raise InputError("--again", "is empty", "Say why, in words that outsiders may read")
    what = f"the freeze of {public.history.next_round} was given up: {reason}"
    return Incident(what=what, benchmark=public.benchmark)


def frozen_items(public: Public, rows: Sequence[Row], forced: Mapping[str, Must]) -> tuple[FrozenItem, ...]:
    """Private items as a freeze names them, sorted by id.

    Raises:
        InputError: a row belongs to a batch that the ledger does not know.
    """
    known = public.history.batches
    for row in rows:
        if row.batch not in known:
            what = f"item '{row.id}' is of batch '{row.batch}', which the ledger does not know"
            raise InputError(public.commitments, what, "Run `lacre round audit`")
    return tuple(
        FrozenItem(
            id=row.id,
            cell=cell_name(row.cell),
            commitment=row.commitment,
            batch=row.batch,
            group=row.group,
            age=public.history.age(row.batch),
            must=forced.get(row.id),
        )
        for row in sorted(rows, key=lambda row: row.id)
    )


def leaving(public: Public) -> tuple[Leaving, ...]:
    """Void and replaced items that are not opened yet, sorted by id."""
    found = []
    for row in public.rows:
        void, replaced = row.id in public.history.voids, row.id in public.history.supersedes
        if void or replaced:
            found.append(
                Leaving(
                    id=row.id,
                    cell=cell_name(row.cell),
                    commitment=row.commitment,
                    batch=row.batch,
                    group=row.group,
                    why="void" if void else "supersede",
                    after=None if void else public.successor(row.id),
                )
            )
    return tuple(sorted(found, key=lambda left: left.id))


def _refuse_frozen(pending: Entry[Freeze] | None) -> None:
    if pending is not None:
        raise InputError(
            f"closing {pending.event.round}",
            f"was frozen at {pending.at}, for {pending.event.beacon}",
            "A draw is frozen once: carry it out with `lacre round split` or `lacre round rotate`, "
            "or see --again",
        )


def _refuse_due(source: Source, now: datetime) -> None:
    due = source_due(source)
    if due <= now:
        raise InputError(
            source_name(source),
            f"is due since {instant(due)}, so it could be known already",
            "Name randomness of the future",
        )


def _refuse_unknown(public: Public, forced: Mapping[str, Must]) -> None:
    private = {row.id for row in public.private}
    if unknown := sorted(set(forced) - private):
        raise InputError(
            "--force", f"no private items: {', '.join(unknown)}", "Look them up in commitments.jsonl"
        )


def _waived(public: Public, required: Sequence[str], checks: Checks) -> tuple[str, ...]:
    """Items that count because a person answers for them; refuses those that do not count at all (L7)."""
    if not required:
        raise InputError(
            f"benchmark '{public.benchmark}'",
            "names no required corpora, so nothing says that its items are new",
            "Write required_corpora in benchmark.toml, and vet",
        )
    faults: list[Fault] = []
    waived: list[str] = []
    private = {row.id for row in public.private}
    for number, row in enumerate(public.rows, 1):
        if row.id not in private:
            continue
        open_faults = list(_objections(row, required, checks))
        answered = [corpus for corpus, _ in open_faults if public.history.waives(row.commitment, corpus)]
        if answered:
            waived.append(row.id)
        faults += [
            Fault(
                number,
                f"item '{row.id}': {what}",
                "Vet it with `lacre vet --vault`, or answer for it with `lacre round waive`",
            )
            for corpus, what in open_faults
            if corpus not in answered
        ]
    if faults:
        raise RecordError(public.commitments, faults)
    return tuple(sorted(waived))


def _objections(row: Row, required: Sequence[str], checks: Checks) -> Iterator[tuple[str, str]]:
    """Each required corpus that an item is not kept against, and why."""
    found = checks.get(row.commitment, {})
    for corpus in sorted(required):
        if corpus not in found:
            yield corpus, f"its present text was not vetted against {corpus} in this round"
        elif found[corpus] != "keep":
            yield corpus, f"{found[corpus]} against {corpus}"
