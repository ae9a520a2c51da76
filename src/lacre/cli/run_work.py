"""What ``lacre run`` and ``lacre probe`` share: asking the columns, and what is said of those that were stopped."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lacre.cli.output import say
from lacre.cli.run_ground import run_rules
from lacre.cli.run_tables import Meter, todo_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from decimal import Decimal

    from lacre.engine.folders import RunFolder
    from lacre.engine.keys import Key
    from lacre.engine.plans import Question, RunRecord
    from lacre.engine.runs import Run, RunState
    from lacre.registry.columns import Column


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
    """How far a run is after a session that asked all it could.

    Args:
        resuming: the command that goes on with it, for messages.

    Raises:
        IncompleteError: a reply could not be written.
        KeyboardInterrupt: it was interrupted; what was lost, and how to go on, is said.
    """
    from lacre.engine.client import Patience  # noqa: PLC0415 - keeps --help fast
    from lacre.engine.runs import Run  # noqa: PLC0415

    sink = folder.sink()
    if sink.torn:
        say(f"{folder.journal_path}: a line was cut short by a crash; its reply is asked for again.")
    rules = run_rules()
    meter = Meter(sys.stderr.isatty())
    going: Run | None = None
    try:
        going = Run(
            record=record,
            questions=questions,
            cards=cards,
            keys=keys,
            sink=sink,
            now=lambda: datetime.now(UTC),
            patience=Patience(attempts=rules.attempts, limit_wait=rules.limit_wait),
            budget=budget,
            again=again,
            on_progress=meter,
            where=str(folder.journal_path),
            todo=f"go on with: {resuming}",
        )
        return going.work()
    except KeyboardInterrupt:
        meter.close()
        say_interrupted(going, resuming)
        raise
    finally:
        meter.close()
        sink.close()


def say_interrupted(going: Run | None, resuming: str) -> None:
    """Say what an interrupt gave up, and how to go on."""
    if going is not None and going.under_way:
        say(
            f"{going.under_way:,} questions were under way: their replies are lost, and may be billed. "
            "They are asked again."
        )
    say(f"Every reply that came is kept. Go on with: {resuming}")


def say_halted(state: RunState, cards: Iterable[Column]) -> bool:
    """Say of each column that was stopped why, and what to do about it; whether there is one."""
    by_id = {card.id: card for card in cards}
    halted = [column.halted for column in state.columns if column.halted is not None]
    for halt in halted:
        todo = todo_of(halt.reason, halt.parameter, by_id.get(halt.column))
        say(f"lacre: column '{halt.column}': {halt.detail}. {todo}")
    return bool(halted)
