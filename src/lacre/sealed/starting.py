"""The beginning of a sealed run: its intent in the ledger and its plan in the vault, before anything is sent (X4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

import msgspec

from lacre import __version__
from lacre.digest import sha256
from lacre.engine.budgets import refuse_budget
from lacre.engine.messages import Template, uncaptioned
from lacre.engine.plans import Repetitions, RunRecord, check_questions, items_digest
from lacre.errors import InputError, IntegrityError, sentence
from lacre.registry.columns import Column, Exchange
from lacre.registry.events import RunIntent
from lacre.registry.sealed_runs import SealedRun, abort_command
from lacre.sealed.called import called, card_digest, fixed
from lacre.sealed.ground import (
    Ground,
    asked_rows,
    refuse_due,
    refuse_second,
    refuse_vault,
    round_tables,
    terms_of,
)
from lacre.sealed.questions import SealedQuestions, shuffled
from lacre.sealed.records import (
    KeptRun,
    Undecided,
    document,
    public_bytes,
    read_run,
    run_name,
    run_place,
    tables_place,
    templates_digest,
)
from lacre.sealing.change import LEDGER
from lacre.sealing.commitments import rows_root
from lacre.sealing.vault import Vault

PLAN = "run.json"


def late(run: str) -> str:
    """What is left to do with a run that did not end before it could be known what opens."""
    return f"Give the run up, with `{abort_command(run)}`"


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What is to be asked of a column, by the person who starts the run.

    Attributes:
        budget: dollars as decimal text. ``undecided``: what answers count as that the rule cannot read.
    """

    card: Column
    templates: Sequence[Template]
    repetitions: Repetitions
    exchange: Exchange | None = None
    budget: str | None = None
    undecided: Undecided | None = None


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A sealed run that began: the vault and the ground it stands on, its plan, and what the ledger says of it."""

    vault: Vault
    ground: Ground
    kept: KeptRun
    run: SealedRun

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.kept.record.id

    @property
    def questions(self) -> SealedQuestions:
        """What it asks, in its order."""
        return SealedQuestions(self.vault, self.kept.items)

    @property
    def journal(self) -> str:
        """How errors name its journal."""
        return f"journal of run {self.name}"


def begin(vault: Vault, ground: Ground, plan: Plan, *, now: datetime) -> KeptRun:
    """Begin a run: tables of the round, intent in the ledger and plan in the vault, all of them or none.

    Raises:
        InputError: the column's terms do not allow it, it had its run of the round, an item cannot be asked, or the
            ledger was written meanwhile; a name is too long for the public record, or the budget too small.
        IntegrityError: a public file does not hold.
    """
    # Read once: what is refused by it and what is added to it are of one ledger, or nothing is written.
    ledger = ground.ledger()
    runs = ground.round_runs(ledger)
    refuse_vault(vault, ground, ledger)
    terms_of(plan.card, ground.rules.sealed, now.date())
    refuse_second(runs, ground.round, plan.card.id)
    _refuse_copy(vault, runs, plan.card)
    refuse_unlike(vault, ground, runs, plan)
    refuse_due(
        ground,
        ledger,
        now,
        "Carry it out with `lacre round split` or `rotate`, then start in the next round",
    )
    name = run_name(ground.benchmark, plan.card.id, now)
    tables = round_tables(vault, ground)
    rows = asked_rows(tables, ground)
    # Where items go to a column in one order, that order tells which reply is whose to who watches the line.
    questions = SealedQuestions(vault, shuffled([row.id for row in rows], vault.random(32)))
    _refuse_bare(questions, plan.card)
    check_questions(questions, [plan.card])
    content = public_bytes(tables)
    record = _record(name, ground, plan, questions, now)
    refuse_budget(
        None if plan.budget is None else Decimal(plan.budget), record, [plan.card], questions, rounded=True
    )
    kept = KeptRun(
        benchmark=ground.benchmark,
        round=ground.round,
        record=record,
        items=questions.ids,
        tables=sha256(content),
        undecided=plan.undecided,
    )
    intent = RunIntent(
        benchmark=ground.benchmark,
        run=name,
        column=plan.card.id,
        items=len(rows),
        root=rows_root(rows),
        templates=templates_digest(plan.templates),
        round=ground.round,
        card=card_digest(plan.card),
        tables=kept.tables,
    )
    with vault.change(ground.root) as change:
        change.keep(document(name, PLAN), msgspec.json.encode(kept))
        change.publish(tables_place(ground.benchmark, ground.round), content)
        change.publish(LEDGER, ground.longer(ledger, [intent], now))
    return kept


def refuse_unlike(vault: Vault, ground: Ground, runs: Mapping[str, SealedRun], plan: Plan) -> None:
    """Refuse to ask or to score otherwise than the runs of the round: one message for all columns (SPEC L21).

    Runs that were given up bind nobody: nothing of them is published.

    Raises:
        InputError: messages, number of runs, or what counts for unreadable answers are others.
        IntegrityError: what is known of another run is damaged.
    """
    for name, run in runs.items():
        if run.standing == "given up":
            continue
        kept = kept_run(vault, name)
        scored_as = kept.undecided
        if run.result is not None:
            scored_as = read_run(ground.root / run_place(ground.benchmark, name)).undecided
        todo = "Restore it: every column of a round is asked and scored alike"
        if templates_digest(plan.templates) != run.intent.templates:
            raise InputError(
                "templates", f"are others than those that run '{name}' of {ground.round} asks with", todo
            )
        if plan.repetitions != kept.record.repetitions:
            what = f"ask items another number of times than run '{name}' of {ground.round}"
            raise InputError("[run] choice_runs and open_runs", what, todo)
        if plan.undecided and scored_as and plan.undecided != scored_as:
            raise InputError(
                "--undecided",
                f"is {plan.undecided}, and in run '{name}' of {ground.round} it is {scored_as}",
                f"Say {scored_as}: every column of a round is scored alike",
            )


def _refuse_copy(vault: Vault, runs: Iterable[str], card: Column) -> None:
    """Refuse a card that calls what another had its run of the round on: an id is only a name.

    Raises:
        InputError: there is one. IntegrityError: the plan of a run of the round is damaged.
    """
    for name in runs:
        (asked,) = kept_run(vault, name).record.columns
        if called(asked) == called(card):
            what = f"calls the same model with the same settings as '{asked.id}', which run '{name}' is of"
            raise InputError(
                f"column '{card.id}'", what, "Wait for the next round: a column has one run in each"
            )


def plan_of(kept: KeptRun) -> Plan:
    """What was to be asked of the column of a run that began."""
    record = kept.record
    return Plan(
        card=record.columns[0],
        templates=record.templates,
        repetitions=record.repetitions,
        exchange=record.exchange,
        budget=record.budget,
        undecided=kept.undecided,
    )


def kept_run(vault: Vault, name: str) -> KeptRun:
    """The plan of a run that began.

    Raises:
        InputError: the vault has none of this name. IntegrityError: it is damaged.
    """
    content = vault.document(document(name, PLAN))
    if content is None:
        raise InputError(f"run '{name}'", "is no sealed run of this vault", "`lacre run sealed` lists them")
    kept = _decoded(content)
    if kept is None:
        raise IntegrityError(
            sentence(f"run '{name}'", "its plan in the vault is damaged", "Restore the vault")
        )
    return kept


def renewed(kept: KeptRun, run: SealedRun, card: Column) -> KeptRun:
    """The plan with today's card, which may have other prices, another pace or another key.

    Raises:
        InputError: it asks otherwise than the card that the ledger fixed.
    """
    if card_digest(card) != run.intent.card:
        before, after = fixed(kept.record.columns[0]), fixed(card)
        changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        raise InputError(
            f"column '{card.id}'",
            f"its card asks otherwise than when this run began ({', '.join(changed)})",
            f"Restore it; or give the run up with `{abort_command(run.intent.run)}`, and wait for the next round",
        )
    record = msgspec.structs.replace(kept.record, columns=(card,))
    return msgspec.structs.replace(kept, record=record)


def _refuse_bare(questions: SealedQuestions, card: Column) -> None:
    """Refuse images without captions, by the ids of their items: the name of an image may tell what it shows.

    Raises:
        InputError: there is one that the column would not be told of.
    """
    if bare := sorted(each.id for each in questions if uncaptioned(each.payload, card.images)):
        what = f"gets captions, and images of {len(bare)} items have none: {', '.join(bare[:5])}"
        raise InputError(f"column '{card.id}'", what, "Write captions, as a correction of each item")


def _record(name: str, ground: Ground, plan: Plan, questions: SealedQuestions, now: datetime) -> RunRecord:
    return RunRecord(
        id=name,
        stage="answers",
        source=ground.benchmark,
        created=now.isoformat(timespec="seconds"),
        version=__version__,
        columns=(plan.card,),
        templates=tuple(plan.templates),
        items=len(questions),
        items_sha256=items_digest(questions),
        repetitions=plan.repetitions,
        exchange=plan.exchange,
        budget=plan.budget,
        unstored=True,
    )


def _decoded(content: bytes) -> KeptRun | None:
    try:
        return msgspec.json.decode(content, type=KeptRun)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
