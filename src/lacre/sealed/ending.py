"""The end of a sealed run: replies and scores into the vault, counts and the score root to the public (X4, X5)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from lacre import __version__
from lacre.digest import sha256
from lacre.engine.journal import Sink, entries, settled
from lacre.errors import InputError, IntegrityError, sentence
from lacre.registry.events import RunAbort, RunResult
from lacre.registry.sealed_runs import SealedRun
from lacre.sealed.cells import ALL, Cell
from lacre.sealed.counts import counts
from lacre.sealed.ground import Ground, refuse_due
from lacre.sealed.records import (
    KeptRun,
    KeptScore,
    PublicRun,
    RoundTables,
    Times,
    code_digest,
    document,
    public_bytes,
    read_tables,
    run_place,
    tables_place,
)
from lacre.sealed.scores import NONCE_BYTES, order, score_root
from lacre.sealed.scoring import Scored, item_outcomes, scored
from lacre.sealed.starting import LATE, UnderWay
from lacre.sealing.change import LEDGER
from lacre.sealing.logs import log_names, log_path
from lacre.sealing.vault import Vault

REPLIES, SCORES = "replies.jsonl", "scores.jsonl"


def scores_of(going: UnderWay, sink: Sink) -> Scored:
    """The scores of a complete run, from its journal."""
    replies = settled(entries(sink.lines(), going.journal))
    return scored(going.name, replies, going.questions, undecided=going.kept.undecided)


def finish(going: UnderWay, found: Scored, sink: Sink, *, now: datetime) -> PublicRun:
    """End a complete run: keep its replies and scores, publish its record and the ledger's line, all or nothing.

    Raises:
        IntegrityError: the round's tables are not those that the run began with.
        InputError: the disk is full, or the like, and the run can be ended again; or it may be known what opens.
    """
    vault, ground, kept, run = going.vault, going.ground, going.kept, going.run
    ledger = ground.ledger()
    refuse_due(ground, ledger, now, LATE.format(going.name))
    nonces = {order(score): vault.random(NONCE_BYTES) for score in found.scores}
    tables = _tables(ground, kept)
    cells = _present(tables, kept)
    large = any(cell.name == ALL for cell in cells)
    name = kept.record.id
    record = PublicRun(
        benchmark=kept.benchmark,
        round=kept.round,
        run=name,
        column=run.intent.column,
        version=__version__,
        code=code_digest(),
        card=run.intent.card or "",
        templates={template.name: template.sha256 for template in kept.record.templates},
        tables=kept.tables,
        intent=run.digest,
        items=run.intent.items,
        items_root=run.intent.root,
        repetitions=Times(choice=kept.record.repetitions.choice, open=kept.record.repetitions.open),
        undecided=kept.undecided if found.undecided else None,
        undecided_answers=found.undecided if large else None,
        ungraded=sum(item not in set(tables.graded) for item in kept.items),
        counts=counts(cells, item_outcomes(found.scores)),
        leaves=len(found.scores),
        scores=score_root(found.scores, nonces),
    )
    content = public_bytes(record)
    result = RunResult(
        benchmark=kept.benchmark,
        run=name,
        intent=run.digest,
        scores=record.scores,
        leaves=record.leaves,
        record=sha256(content),
    )
    secret = [KeptScore(score=score, nonce=nonces[order(score)].hex()) for score in found.scores]
    with vault.change(ground.root) as change:
        change.keep(document(name, REPLIES), b"".join(sink.lines()))
        change.keep(document(name, SCORES), b"".join(msgspec.json.encode(each) + b"\n" for each in secret))
        change.publish(run_place(kept.benchmark, name), content)
        change.publish(LEDGER, ground.longer(ledger, [result], now))
    return record


def give_up(going: UnderWay, reason: str, sink: Sink, *, now: datetime) -> int:
    """Give a run up, for a reason that is published; its replies stay in the vault. Returns how many there are.

    Raises:
        InputError: no reason is given, or the disk is full.
    """
    if not reason.strip():
        raise InputError("--reason", "is empty", "Say why, in words that outsiders may read")
    vault, ground, kept, run = going.vault, going.ground, going.kept, going.run
    name = going.name
    replies = len(settled(entries(sink.lines(), going.journal)))
    event = RunAbort(benchmark=kept.benchmark, run=name, intent=run.digest, reason=reason, replies=replies)
    with vault.change(ground.root) as change:
        change.keep(document(name, REPLIES), b"".join(sink.lines()))
        change.publish(LEDGER, ground.longer(ground.ledger(), [event], now))
    return replies


def tidy(vault: Vault, runs: Mapping[str, SealedRun]) -> tuple[str, ...]:
    """Remove the logs of runs that ended: their lines are in a document. Returns the names of those removed."""
    ended = [name for name in log_names(vault) if name in runs and runs[name].ends]
    for name in ended:
        vault.disk.remove(log_path(vault, name))
    if ended:
        vault.disk.sync_folder(log_path(vault, ended[0]).parent)
    return tuple(ended)


def _tables(ground: Ground, kept: KeptRun) -> RoundTables:
    path = ground.root / tables_place(kept.benchmark, kept.round)
    tables = read_tables(path)
    if sha256(public_bytes(tables)) != kept.tables:
        raise IntegrityError(
            sentence(path, "is not what this run began with", "Restore it from a copy, then resume")
        )
    return tables


def _present(tables: RoundTables, kept: KeptRun) -> list[Cell]:
    """The cells without items that were void before the run began; the rule's margin is for these."""
    asked = set(kept.items)
    cells = [
        msgspec.structs.replace(cell, items=tuple(item for item in cell.items if item in asked))
        for cell in tables.tables.cells
    ]
    return [cell for cell in cells if cell.items]
