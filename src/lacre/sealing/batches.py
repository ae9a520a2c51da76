"""Sealing a batch: items into the vault, their rows and the ledger's line into the workspace, in one change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from lacre.errors import Fault, InputError, IntegrityError, LacreError, RecordError, sentence
from lacre.jsonl import read_lines
from lacre.registry import ledger as ledgers
from lacre.registry.events import BatchCommit, Freeze, RunIntent, Split
from lacre.registry.items import Item
from lacre.registry.ledger import Ledger, Signer
from lacre.registry.records import Record
from lacre.sealing.change import LEDGER
from lacre.sealing.commitments import Row, row_bytes, rows_root
from lacre.sealing.published import public_already, public_texts
from lacre.sealing.vault import Vault


class Batch(Record, omit_defaults=False):
    """What became of a batch.

    Attributes:
        rows: public rows of the items that were sealed now. ``already``: ids that were there before.
        line: number of the ledger's line that commits to them; none outside a workspace, or for no new item.
    """

    batch: str
    rows: tuple[Row, ...]
    already: tuple[str, ...]
    line: int | None = None


def rows_place(benchmark: str) -> str:
    """Where the public rows of a benchmark stand in its workspace."""
    return f"registry/{benchmark}/private/commitments.jsonl"


def rows_bytes(rows: Iterable[Row]) -> bytes:
    """The file of public rows: one canonical line each, sorted by id."""
    return b"".join(row_bytes(row) + b"\n" for row in sorted(rows, key=lambda row: row.id))


def read_rows(path: Path) -> tuple[Row, ...]:
    """The public rows of a file, none when there is no file.

    Raises:
        RecordError: lists every line that is no row, not canonical, out of order, or given twice.
    """
    if not path.exists():
        return ()
    lines = read_lines(path, Row)
    faults = list(lines.faults)
    rows = tuple(row for _, row in lines.records)
    for (number, row), before in zip(lines.records[1:], rows, strict=False):
        if row.id <= before.id:
            faults.append(Fault(number, f"item '{row.id}' comes after '{before.id}'", "Sort the file by id"))
    if not faults and rows_bytes(rows) != path.read_bytes():
        faults.append(Fault(1, "the file is not in canonical form", "Take it from git as it was"))
    if faults:
        raise RecordError(path, faults)
    return rows


def seal_batch(
    vault: Vault,
    benchmark: str,
    items: Sequence[Item],
    batch: str,
    *,
    at: str,
    root: Path | None = None,
    signer: Signer | None = None,
) -> Batch:
    """Seal private items of one benchmark as one batch, all of it or nothing.

    In a workspace (``root``) their rows join ``commitments.jsonl`` and one line of the ledger commits to
    them, in the same change. A batch is committed once: what its line fixed cannot be added to. Items that
    are there already are passed over, so that a call that was cut short can be made again.

    Raises:
        LacreError: as :meth:`lacre.sealing.change.Change.add`; or items that the workspace has published.
        InputError: the batch was committed before, the vault belongs to another workspace, or the batch would join a
            draw that the round's sealed runs did not reckon with.
        IntegrityError: the ledger or the file of rows does not hold.
    """
    stray = sorted({item.benchmark for item in items} - {benchmark})
    if stray:
        raise InputError(
            f"benchmark '{stray[0]}'", f"is not {benchmark}", "Add each benchmark's items by themselves"
        )
    if root is not None:
        refuse_public(root, [item for item in items if not vault.holds(item.id)])
    with vault.change(root) as change:
        added = change.add(items, batch)
        done = Batch(batch=batch, rows=added.rows, already=added.already)
        if root is None or not added.rows:
            return done
        ledger = _ledger(vault, change.published(LEDGER), root)
        _refuse_committed(ledger, benchmark, batch)
        _refuse_joining(ledger, benchmark, batch)
        event = BatchCommit(
            benchmark=benchmark, batch=batch, items=len(added.rows), root=rows_root(added.rows)
        )
        longer = ledgers.appended(ledger, [event], at=at, signer=signer, where=root / LEDGER)
        place = rows_place(benchmark)
        change.publish(place, rows_bytes([*read_rows(root / place), *added.rows]))
        change.publish(LEDGER, longer.content)
    return msgspec.structs.replace(done, line=longer.size)


def refuse_public(root: Path, items: Sequence[Item]) -> None:
    """Refuse items whose text a workspace has published: opened at a closing, or in a public layer.

    Raises:
        LacreError: lists every one.
    """
    found = public_already(public_texts(root / "registry"), ((item.id, item.payload) for item in items))
    faults = [
        sentence(f"item '{id}'", f"is public: it is the same as {where}", "Write another")
        for id, where in found
    ]
    if faults:
        raise LacreError("\n".join(faults))


def _ledger(vault: Vault, content: bytes, root: Path) -> Ledger:
    ledger = ledgers.parse(content, root / LEDGER)
    if ledger.workspace != vault.workspace:
        what = "is the vault of another workspace" if vault.workspace else "is bound to no workspace"
        raise InputError(vault.folder, what, "Make one for this workspace with `lacre vault init`, here")
    return ledger


def _refuse_joining(ledger: Ledger, benchmark: str, batch: str) -> None:
    """Refuse a batch between a round's first sealed run and its freeze: it would join that round's draw.

    The run fixed which counts may leave, from what the draw can open of the items of that time; among more items it
    may open more of those (SPEC X5).

    Raises:
        InputError: names the run.
    """
    run, frozen = None, False
    for line in ledger.lines:
        match line.event:
            case Split(benchmark=name) if name == benchmark:
                run, frozen = None, False
            case Freeze(benchmark=name) if name == benchmark:
                frozen = True
            case RunIntent(benchmark=name) if name == benchmark:
                run = run or line.event.run
            case _:
                pass
    if run is not None and not frozen:
        raise InputError(
            f"batch '{batch}'",
            f"would join a draw that sealed run '{run}' did not reckon with",
            "Seal it once this round is frozen, after `lacre round freeze`",
        )


def _refuse_committed(ledger: Ledger, benchmark: str, batch: str) -> None:
    for line in ledger.lines:
        event = line.event
        if isinstance(event, BatchCommit) and (event.benchmark, event.batch) == (benchmark, batch):
            raise InputError(
                f"batch '{batch}'",
                f"was committed on line {line.seq} of the ledger, with {event.items} items",
                f"Give the new items a batch of their own, such as {batch}b",
            )


def row_faults(vault: Vault, benchmark: str, path: Path) -> list[str]:
    """How the public rows of a benchmark differ from what its vault holds, one line each; empty when they agree.

    Raises:
        RecordError: the file of rows is damaged.
    """
    public = {row.id: row for row in read_rows(path)}
    sealed = {row.id: row for row in vault.rows(benchmark)}
    said = []
    for id in sorted(public.keys() | sealed.keys()):
        if id not in sealed:
            said.append((f"item '{id}' is public and not in the vault", "Restore the vault from a backup"))
        elif id not in public:
            said.append((f"item '{id}' is in the vault and not public", "Restore the file from git"))
        elif public[id] != sealed[id]:
            said.append(
                (f"the row of item '{id}' is not the one that was sealed", "Restore the file from git")
            )
    return [sentence(path, *each) for each in said]


def raise_all(faults: Sequence[str]) -> None:
    """Raise all faults together.

    Raises:
        IntegrityError: there is one.
    """
    if faults:
        raise IntegrityError("\n".join(faults))
