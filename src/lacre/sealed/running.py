"""A sealed run under way: the engine's own loop, with the vault for a sink and the ledger told first (SPEC X4 X5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from lacre.engine.client import Patience
from lacre.engine.journal import Sink
from lacre.engine.keys import Key
from lacre.engine.plans import check_resumed
from lacre.engine.runs import Progress, Run
from lacre.sealed.exposing import Exposer
from lacre.sealed.ground import terms_of
from lacre.sealed.starting import UnderWay


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
        InputError: an item is no longer in the vault, or the column's terms are no longer acceptable.
        IntegrityError: an item is not the one that the run began with, or the log is damaged.
    """
    ground, kept, questions = going.ground, going.kept, going.questions
    (card,) = kept.record.columns
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
    )
