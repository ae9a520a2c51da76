"""What open runs, sealed runs and probes share: asking the columns, and telling of those that were stopped."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from lacre.cli.output import say
from lacre.cli.run_ground import run_rules
from lacre.cli.run_tables import Meter, todo_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from decimal import Decimal
    from pathlib import Path

    from lacre.engine.folders import RunFolder
    from lacre.engine.keys import Key
    from lacre.engine.plans import Question, RunRecord
    from lacre.engine.runs import RunState
    from lacre.registry.columns import Column
    from lacre.registry.rules import RunRules


class Held(Protocol):
    """A journal that this process holds: a run's file, or a sealed run's log in the vault."""

    @property
    def path(self) -> Path:
        """Where it lies."""

    @property
    def torn(self) -> int:
        """Bytes that a crash had cut short, and that were taken away."""

    def close(self) -> None:
        """Let go of it."""


class Works(Protocol):
    """What asks the columns: a run, or a session of a sealed one."""

    @property
    def under_way(self) -> int:
        """Requests without an answer yet."""

    def work(self) -> RunState:
        """Ask all that is still to be asked."""


class Asking:
    """A session with the columns: how patient it is, where it shows its progress, and the run once it works."""

    def __init__(self, rules: RunRules) -> None:
        from lacre.engine.client import Patience  # noqa: PLC0415 - keeps --help fast

        self.patience = Patience(attempts=rules.attempts, limit_wait=rules.limit_wait)
        self.meter = Meter(sys.stderr.isatty())
        self.under_way = 0
        """Questions that an interrupt gave up."""

    def now(self) -> datetime:
        """The time, for the journal."""
        return datetime.now(UTC)

    def work(self, run: Works) -> RunState:
        """How far the run is after it asked all it could.

        Raises:
            IncompleteError: a reply could not be written.
        """
        try:
            return run.work()
        finally:
            self.under_way = run.under_way
            self.meter.close()


@contextmanager
def asking(journal: Held, rules: RunRules, resuming: str) -> Iterator[Asking]:
    """A session that works with a journal, which is closed at its end.

    Args:
        resuming: the command that goes on with the run, for messages.

    Raises:
        KeyboardInterrupt: it was interrupted; what was lost, and how to go on, is said.
    """
    session = Asking(rules)
    try:
        if journal.torn:
            say(f"{journal.path}: its end was cut short by a crash; the replies in it are asked for again.")
        yield session
    except KeyboardInterrupt:
        if session.under_way:
            say(
                "1 question was under way: its reply is lost, and may be billed. It is asked again."
                if session.under_way == 1
                else f"{session.under_way:,} questions were under way: their replies are lost, and may be billed. "
                "They are asked again."
            )
        say(f"Every reply that came is kept. Go on with: {resuming}")
        raise
    finally:
        journal.close()


def asked(
    folder: RunFolder,
    record: RunRecord,
    questions: Sequence[Question],
    cards: Sequence[Column],
    keys: Mapping[str, Key | None],
    *,
    budget: Decimal | None,
    again: bool,
    resuming: str,
) -> RunState:
    """How far a run in a folder is after a session that asked all it could.

    Args:
        resuming: the command that goes on with it, for messages.

    Raises:
        IncompleteError: a reply could not be written.
        KeyboardInterrupt: as :func:`asking`.
    """
    from lacre.engine.runs import Run  # noqa: PLC0415 - keeps --help fast

    sink = folder.sink()
    with asking(sink, run_rules(), resuming) as session:
        return session.work(
            Run(
                record=record,
                questions=questions,
                cards=cards,
                keys=keys,
                sink=sink,
                now=session.now,
                patience=session.patience,
                budget=budget,
                again=again,
                on_progress=session.meter,
                where=str(folder.journal_path),
                todo=f"go on with: {resuming}",
            )
        )


def say_halted(state: RunState, cards: Iterable[Column]) -> bool:
    """Say of each column that was stopped why, and what to do about it; whether there is one."""
    by_id = {card.id: card for card in cards}
    halted = [column.halted for column in state.columns if column.halted is not None]
    for halt in halted:
        todo = todo_of(halt.reason, halt.parameter, by_id.get(halt.column))
        say(f"lacre: column '{halt.column}': {halt.detail}. {todo}")
    return bool(halted)
