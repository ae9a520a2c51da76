"""A sealed run under way: the engine's own loop, with the vault for a sink and the ledger told first (SPEC X4 X5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal

import msgspec

from lacre.engine.client import Patience
from lacre.engine.dialects import sent_settings
from lacre.engine.journal import Halted
from lacre.engine.keys import Key
from lacre.engine.plans import check_resumed
from lacre.engine.runs import Progress, Run
from lacre.engine.states import ColumnState, RunState
from lacre.registry.columns import Column
from lacre.registry.records import Record
from lacre.registry.sealed_runs import resume_command
from lacre.sealed.exposing import Exposer
from lacre.sealed.ground import fixed_tables, refuse_due, terms_of
from lacre.sealed.memory import Log, Memory
from lacre.sealed.starting import UnderWay, late
from lacre.sealing.seen import refuse_older


@dataclass(frozen=True, kw_only=True, slots=True)
class Means:
    """What a session of a run works with.

    Attributes:
        budget: dollars for the whole run. ``again``: ask once more what had failed to the end.
        on_progress: called after every reply.
    """

    keys: Mapping[str, Key | None]
    now: Callable[[], datetime]
    patience: Patience = field(default_factory=Patience)
    budget: Decimal | None = None
    again: bool = False
    on_progress: Callable[[Progress], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Session:
    """A session of a run; the vault remembers how far it came, but for one that is killed."""

    run: Run
    memory: Memory

    @property
    def under_way(self) -> int:
        """Requests without an answer yet."""
        return self.run.under_way

    def work(self) -> RunState:
        """Ask all that is still to be asked; errors as :meth:`lacre.engine.runs.Run.work`."""
        try:
            state = self.run.work()
        except KeyboardInterrupt:
            self.memory.keep()
            raise
        self.memory.keep()
        return state


def session(going: UnderWay, log: Log, means: Means) -> Session:
    """A session of a run, ready to work.

    Raises:
        InputError: an item is no longer in the vault, the column's terms are no longer acceptable, or it
            may be known what opens.
        IntegrityError: an item or the round's tables are not those that the run began with, the log is damaged, or the
            ledger is shorter than the vault saw it.
    """
    ground, kept, questions = going.ground, going.kept, going.questions
    (card,) = kept.record.columns
    ledger = ground.ledger()
    refuse_older(going.vault.index.ledger, ledger.content, ground.ledger_path)
    refuse_due(ground, ledger, means.now(), late(going.name))
    check_resumed(kept.record, questions)
    fixed_tables(ground, kept)
    memory = Memory(going.vault, ground, going.name, log)
    exposer = Exposer(
        ground,
        kept.record.id,
        card.id,
        terms_of(card, ground.rules.sealed, means.now().date()),
        order=kept.items,
        shown=going.run.shown,
        now=means.now,
        memory=memory,
    )

    def on_progress(progress: Progress) -> None:
        log.replies = progress.done
        # Told after every reply, kinds of answers would tell of single items.
        means.on_progress(replace(progress, kinds={}))

    run = Run(
        record=kept.record,
        questions=questions,
        cards=(card,),
        keys=means.keys,
        sink=log,
        now=means.now,
        patience=means.patience,
        budget=means.budget,
        again=means.again,
        on_progress=on_progress,
        on_exposure=exposer,
        where=going.journal,
        todo=f"go on with `{resume_command(going.name)}`",
    )
    log.replies = run.state().columns[0].done
    return Session(run, memory)


def shown(state: RunState, card: Column) -> RunState:
    """What may be printed of how far a run is: without words that a server chose, for it may repeat an item's.

    Ends that are not known are counted and not named. A parameter is named only where the card has it.
    """
    known = {*sent_settings(card, unstored=True), *card.accepts}
    return msgspec.structs.replace(state, columns=tuple(_shown(column, known) for column in state.columns))


class Told(Record, omit_defaults=False):
    """How far a sealed run is, as far as anybody may be told.

    Which classes its answers are of is in its record or nowhere: told here, for few items or after each reply, it would
    tell of single ones.

    Attributes:
        replies, expected: how many came, and how many are due.
        over_cap: whether some are longer than the card's output cap.
        budget, spent: dollars of a session with a budget.
    """

    column: str
    replies: int
    expected: int
    complete: bool
    halted: Halted | None
    over_cap: bool
    budget_reached: bool
    budget: str | None
    spent: str | None


def told(state: RunState, card: Column) -> Told:
    """What may be told of the state of a run, which is of one column."""
    (column,) = shown(state, card).columns
    return Told(
        column=column.column,
        replies=column.done,
        expected=column.expected,
        complete=state.complete,
        halted=column.halted,
        over_cap=bool(column.over_cap),
        budget_reached=state.budget_reached,
        budget=state.budget,
        spent=state.spent,
    )


def _shown(column: ColumnState, known: set[str]) -> ColumnState:
    ends = {"(named in the vault)": sum(column.unknown_ends.values())} if column.unknown_ends else {}
    halted = column.halted
    if halted is not None and halted.parameter is not None and halted.parameter not in known:
        halted = msgspec.structs.replace(
            halted, detail="the server does not take a parameter, which is named in the vault", parameter=None
        )
    return msgspec.structs.replace(column, unknown_ends=ends, halted=halted)
