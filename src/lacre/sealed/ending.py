"""The end of a sealed run: replies and scores into the vault, counts and the score root to the public (X4, X5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from lacre import __version__
from lacre.digest import sha256
from lacre.engine.journal import Sink, entries, settled
from lacre.registry.events import RunAbort, RunResult
from lacre.registry.reasons import plain_reason
from lacre.registry.sealed_runs import SealedRun
from lacre.sealed.cells import ALL, Cell
from lacre.sealed.counts import counts
from lacre.sealed.ground import fixed_tables, refuse_due
from lacre.sealed.records import (
    KeptRun,
    KeptScore,
    PublicRun,
    RoundTables,
    Times,
    code_digest,
    document,
    public_bytes,
    run_place,
)
from lacre.sealed.scores import NONCE_BYTES, order, score_root
from lacre.sealed.scoring import Scored, item_outcomes, scored
from lacre.sealed.starting import UnderWay, late
from lacre.sealing.change import LEDGER
from lacre.sealing.logs import known_logs, remove_logs
from lacre.sealing.marks import furthest
from lacre.sealing.quotes import refuse_quotes
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
    refuse_due(ground, ledger, now, late(going.name))
    nonces = {order(score): vault.random(NONCE_BYTES) for score in found.scores}
    tables = fixed_tables(ground, kept)
    cells = _present(tables, kept)
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
        undecided_answers=found.undecided if _has_whole(tables) else None,
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
        change.see_log(name, None)
        change.publish(run_place(kept.benchmark, name), content)
        change.publish(LEDGER, ground.longer(ledger, [result], now))
    return record


def large(going: UnderWay) -> bool:
    """Whether the whole set of a run is large enough for its counts to leave, and so to be said at all.

    Raises:
        IntegrityError: the round's tables are not those that the run began with.
    """
    return _has_whole(fixed_tables(going.ground, going.kept))


def _has_whole(tables: RoundTables) -> bool:
    return any(cell.name == ALL for cell in tables.tables.cells)


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A run that was given up: the replies that had come, at least, and those that are kept."""

    came: int
    kept: int


def give_up(going: UnderWay, reason: str, sink: Sink, *, now: datetime) -> GivenUp:
    """Give a run up, for a reason that is published; its replies stay in the vault, as far as they are there.

    Raises:
        InputError: no reason is given, it is no line of plain words, it quotes a private item or a reply, or the disk
            is full.
    """
    reason = plain_reason(reason)
    vault, ground, kept, run = going.vault, going.ground, going.kept, going.run
    name = going.name
    lines = list(sink.lines())
    replies = settled(entries(lines, going.journal))
    texts = (getattr(entry.reply, "text", "") for entry in replies.values())
    refuse_quotes(vault, reason, replies=texts)
    there = len(replies)
    seen = furthest(vault, name)
    came = max(there, seen.replies if seen else 0)
    event = RunAbort(benchmark=kept.benchmark, run=name, intent=run.digest, reason=reason, replies=came)
    with vault.change(ground.root) as change:
        change.keep(document(name, REPLIES), b"".join(lines))
        change.see_log(name, None)
        change.publish(LEDGER, ground.longer(ground.ledger(), [event], now))
    return GivenUp(came=came, kept=there)


def tidy(vault: Vault, runs: Mapping[str, SealedRun]) -> tuple[str, ...]:
    """Remove the logs of runs that ended: their lines are in a document. Returns the names of those removed."""
    ended = [name for name in known_logs(vault) if name in runs and runs[name].ends]
    remove_logs(vault, ended)
    return tuple(ended)


def _present(tables: RoundTables, kept: KeptRun) -> list[Cell]:
    """The cells without items that were void before the run began; the rule's margin is for these."""
    asked = set(kept.items)
    cells = [
        msgspec.structs.replace(cell, items=tuple(item for item in cell.items if item in asked))
        for cell in tables.tables.cells
    ]
    return [cell for cell in cells if cell.items]
