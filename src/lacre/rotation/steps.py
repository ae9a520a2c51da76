"""The steps of a round, each as one change of vault and workspace: freeze, close, void, supersede.

Each is all or nothing: the files are staged in the vault's journal, sealed, and appear together with the ledger's
lines. A step that was cut short is finished when the vault is next opened; the same call again changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from lacre.digest import sha256
from lacre.errors import Fault, InputError, RecordError
from lacre.registry import ledger as ledgers
from lacre.registry.events import Event
from lacre.registry.items import Item
from lacre.registry.ledger import Signer
from lacre.registry.rules import Rules
from lacre.rotation.beacon import Source, instant
from lacre.rotation.closing import Unsealed, close, done_already, pending
from lacre.rotation.freeze import freeze, freeze_event, given_up, refuse_stale, this_round
from lacre.rotation.public import Public, commitments_path, ledger_path, read_public, settings_digests
from lacre.rotation.records import (
    FREEZE_FILE,
    GIVEN_UP,
    DrawRecord,
    Frozen,
    Must,
    freeze_statement,
    round_folder,
)
from lacre.rotation.retire import longer_ledger, supersede_event, supersede_target, void_events, waivers
from lacre.rotation.running import refuse_under_way
from lacre.rotation.sound import refuse_unsound, refuse_wrong
from lacre.sealing import dsse
from lacre.sealing.batches import refuse_public, rows_bytes
from lacre.sealing.checks import read_checks, verdicts_by_corpus
from lacre.sealing.commitments import Row
from lacre.sealing.keyring import keyring
from lacre.sealing.published import public_already, public_texts
from lacre.sealing.quotes import refuse_quotes
from lacre.sealing.vault import Vault


def freeze_round(
    vault: Vault,
    root: Path,
    benchmark: str,
    rules: Rules,
    source: Source,
    *,
    now: datetime,
    required: Sequence[str],
    signer: Signer,
    forced: Mapping[str, Must] | None = None,
    again: str | None = None,
    grounds: Mapping[str, str] | None = None,
) -> Frozen:
    """Freeze the next closing: the signed file and the ledger's line appear together.

    Args:
        again: why the freeze that waits is given up; it is published, and the old file stays beside the new one.
        grounds: corpus -> what a vetting against it stands on today; a vetting on other ground is refused. None: the
            ground is not looked at.

    Raises:
        InputError, RecordError: as :func:`lacre.rotation.freeze.freeze`; or items that are public.
        IntegrityError: the public files do not hold.
    """
    public = _public(vault, root, benchmark)
    refuse_unsound(public)
    _refuse_published(vault, public)
    vetted = this_round(public, read_checks(vault))
    if grounds is not None:
        refuse_stale(public, vetted, {corpus: grounds.get(corpus, "") for corpus in required})
    checks = verdicts_by_corpus(vetted)
    frozen = freeze(
        public,
        rules,
        source,
        now=now,
        required=required,
        checks=checks,
        forced=forced,
        settings=settings_digests(public.registry, benchmark),
        again=again is not None,
    )
    envelope = dsse.sign(freeze_statement(frozen, public.ledger.content), signer)
    events: list[Event] = [freeze_event(frozen, sha256(envelope))]
    if again is not None:
        events.append(given_up(public, again))  # after it: the freeze is made on the head before
    folder = round_folder(public.registry, benchmark, frozen.number)
    with vault.change(root) as change:
        if again is not None:
            nth = sum(entry.event.round == frozen.round for entry in public.history.freezes)
            old = (folder / FREEZE_FILE).read_bytes()
            change.publish(_place(folder / GIVEN_UP.format(nth), root), old)
        change.publish(_place(folder / FREEZE_FILE, root), envelope)
        change.publish(_place(ledger_path(public.registry), root), longer_ledger(public, events, now, signer))
    return frozen


def close_round(
    vault: Vault,
    root: Path,
    benchmark: str,
    rules: Rules,
    randomness_file: bytes,
    *,
    now: datetime,
    first: bool,
    signer: Signer,
    where: str = "--beacon-file",
) -> DrawRecord:
    """Carry out the frozen closing; with the same file a second time, nothing changes and the same is returned.

    ``first``: whether this is the first split, or a rotation; the other kind is refused.

    Raises:
        InputError, IncompleteError, IntegrityError: as :func:`lacre.rotation.closing.close`; or a sealed run is
            under way.
    """
    public = _public(vault, root, benchmark)
    number = public.history.closed + 1
    last_kind = number > 1 and first == (number == 2)  # the same command as the last closing
    if last_kind and (done := done_already(public, randomness_file)) is not None:
        return done
    if last_kind and public.history.pending is None:
        done_name = public.history.splits[-1].event.round
        what = f"is not the randomness that {done_name} was carried out with, and a draw is carried out once"
        raise InputError(
            where, what, "`lacre round audit` repeats it; `lacre round freeze` begins the next closing"
        )
    if first != (number == 1):
        what = "is the first, which splits" if number == 1 else "is a rotation"
        todo = "Run `lacre round split`" if number == 1 else "Run `lacre round rotate`"
        raise InputError(f"closing {public.history.next_round}", what, todo)

    refuse_under_way(public, f"closing {public.history.next_round}", now)

    def unsealed(id: str) -> Unsealed:
        sealed = vault.sealed(id)
        return Unsealed(item=sealed.item, opening=sealed.opening)

    ready = pending(public)
    refuse_unsound(public, drawing=True)
    closing = close(
        public,
        ready,
        randomness_file,
        unsealed,
        now=now,
        licence=rules.layers.open_licence,
        signer=signer,
        where=where,
    )
    refuse_wrong(public, closing.files)
    with vault.change(root) as change:
        for path, content in closing.files.items():
            change.publish(_place(path, root), content)
        for id in closing.removed:
            change.remove(id)
    return closing.record


def void_items(
    root: Path, benchmark: str, items: Sequence[str], reason: str, *, now: datetime, signer: Signer
) -> int:
    """Take items out of the draws from here on; returns how many. The vault is not needed: they stay sealed.

    Raises:
        InputError, RecordError: as :func:`lacre.rotation.retire.void_events`; or a sealed run is under way.
    """
    public = read_public(root / "registry", benchmark)
    keyring(public.ledger, ledger_path(public.registry))
    events = void_events(public, items, reason)
    refuse_under_way(public, "making items void", now)
    ledgers.append(ledger_path(public.registry), events, at=instant(now), signer=signer)
    return len(events)


def waive_items(
    vault: Vault,
    root: Path,
    benchmark: str,
    *,
    items: Sequence[str],
    corpora: Sequence[str],
    who: str,
    reason: str,
    now: datetime,
    signer: Signer,
) -> int:
    """Answer for private items that vetting did not keep; returns how many lines the ledger got.

    ``corpora``: for which it holds; empty: for all. The waiver names the item's commitment, so it ends when a
    corrected item takes its place.

    Raises:
        InputError, RecordError: as :func:`lacre.rotation.retire.waivers`; or the reason quotes a private item.
    """
    public = _public(vault, root, benchmark)
    refuse_quotes(vault, reason)
    checks = verdicts_by_corpus(this_round(public, read_checks(vault)))
    events = waivers(public, checks, items=items, corpora=corpora, who=who, reason=reason)
    ledgers.append(ledger_path(public.registry), events, at=instant(now), signer=signer)
    return len(events)


def supersede_item(
    vault: Vault,
    root: Path,
    benchmark: str,
    *,
    old: str,
    new: Item,
    reason: str,
    now: datetime,
    signer: Signer,
) -> Row:
    """Replace a private item by a corrected one, and return the new row. Called again, it changes nothing.

    Raises:
        InputError: as :func:`lacre.rotation.retire.supersede_target`; or a sealed run is under way, or the reason
            quotes a private item.
        LacreError: the new item cannot be sealed.
    """
    public = _public(vault, root, benchmark)
    if (row := _corrected(vault, public, old, new)) is not None:
        return row
    target = supersede_target(public, old, new)
    refuse_quotes(vault, reason, others=[new.payload])
    refuse_under_way(public, f"replacing item '{old}'", now)
    refuse_public(root, [new])
    with vault.change(root) as change:
        (row,) = change.add([new], target.batch, correcting=target).rows
        event = supersede_event(public, target, row, reason)
        place = _place(commitments_path(public.registry, benchmark), root)
        change.publish(place, rows_bytes([*public.rows, row]))
        change.publish(
            _place(ledger_path(public.registry), root), longer_ledger(public, [event], now, signer)
        )
    return row


def _corrected(vault: Vault, public: Public, old: str, new: Item) -> Row | None:
    """The row of a correction that was made already, with this very text; none when it was not."""
    entry = public.history.supersedes.get(old)
    if entry is None or entry.event.by != new.id or not vault.holds(new.id):
        return None
    sealed = vault.sealed(new.id)
    return vault.entry(new.id).row if sealed.item.payload == new.payload else None


def _public(vault: Vault, root: Path, benchmark: str) -> Public:
    """The public files, and the vault that belongs to them.

    Raises:
        InputError: the vault is another workspace's.
        IntegrityError: a signature on the ledger does not hold.
    """
    public = read_public(root / "registry", benchmark)
    if public.ledger.workspace is None:
        raise InputError(ledger_path(public.registry), "has no line yet", "Begin with `lacre key new`")
    if vault.workspace != public.ledger.workspace:
        raise InputError(vault.folder, "is not the vault of this workspace", "Name the one that is")
    keyring(public.ledger, ledger_path(public.registry))
    return public


def _refuse_published(vault: Vault, public: Public) -> None:
    """Refuse to freeze items whose text is public, by an opening or a public layer: they are private by name only.

    Raises:
        RecordError: lists every one.
    """
    known = public_texts(public.registry)
    if not known.payloads:
        return
    numbers = {row.id: number for number, row in enumerate(public.rows, 1)}
    private = {row.id for row in public.private}
    sealed = ((each.item.id, each.item.payload) for each in vault.items(public.benchmark))
    faults = [
        Fault(
            numbers[id], f"item '{id}': is public: it is the same as {where}", "Void it: `lacre round void`"
        )
        for id, where in public_already(known, sealed)
        if id in private
    ]
    if faults:
        raise RecordError(public.commitments, faults)


def _place(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()
