"""A sealed run under way: the engine's own loop, with the vault for a sink and the ledger told first (SPEC X4 X5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

import msgspec

from lacre.engine.client import Patience
from lacre.engine.dialects import sent_settings
from lacre.engine.journal import Sink
from lacre.engine.keys import Key
from lacre.engine.plans import check_resumed
from lacre.engine.runs import Progress, Run
from lacre.engine.states import ColumnState, RunState
from lacre.registry.columns import Column
from lacre.sealed.exposing import Exposer
from lacre.sealed.ground import refuse_due, terms_of
from lacre.sealed.starting import LATE, UnderWay


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


def session(going: UnderWay, sink: Sink, means: Means) -> Run:
    """A session of a run, ready to work; ``sink`` is the run's log in the vault.

    Raises:
        InputError: an item is no longer in the vault, the column's terms are no longer acceptable, or it
            may be known what opens.
        IntegrityError: an item is not the one that the run began with, or the log is damaged.
    """
    ground, kept, questions = going.ground, going.kept, going.questions
    (card,) = kept.record.columns
    refuse_due(ground, ground.ledger(), means.now(), LATE.format(going.name))
    check_resumed(kept.record, questions)
    exposer = Exposer(
        ground,
        kept.record.id,
        card.id,
        terms_of(card, ground.rules.sealed, means.now().date()),
        order=kept.items,
        shown=going.run.shown,
        now=means.now,
    )
    return Run(
        record=kept.record,
        questions=questions,
        cards=(card,),
        keys=means.keys,
        sink=sink,
        now=means.now,
        patience=means.patience,
        budget=means.budget,
        again=means.again,
        on_progress=means.on_progress,
        on_exposure=exposer,
        where=going.journal,
        todo=f"go on with `lacre run resume {going.name}`",
    )


def shown(state: RunState, card: Column) -> RunState:
    """What may be printed of how far a run is: without words that a server chose, for it may repeat an item's.

    Ends that are not known are counted and not named. A parameter is named only where the card has it.
    """
    known = {*sent_settings(card, unstored=True), *card.accepts}
    return msgspec.structs.replace(state, columns=tuple(_shown(column, known) for column in state.columns))


def _shown(column: ColumnState, known: set[str]) -> ColumnState:
    ends = {"(named in the vault)": sum(column.unknown_ends.values())} if column.unknown_ends else {}
    halted = column.halted
    if halted is not None and halted.parameter is not None and halted.parameter not in known:
        halted = msgspec.structs.replace(
            halted, detail="the server does not take a parameter, which is named in the vault", parameter=None
        )
    return msgspec.structs.replace(column, unknown_ends=ends, halted=halted)
