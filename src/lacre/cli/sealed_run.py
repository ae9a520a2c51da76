"""``lacre run`` on sealed runs: start, resume, give up, list, and open and check their scores."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from lacre.cli.column import read_workspace_columns
from lacre.cli.output import print_json, print_table, say
from lacre.cli.round_ground import ground_of, now
from lacre.cli.run_ground import budget_of, dollars, exchange_given, is_file
from lacre.cli.run_tables import print_state
from lacre.cli.run_work import asking, say_halted
from lacre.cli.sealed_ground import Means, run_named, standing, under_way
from lacre.errors import Exit, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from lacre.engine.runs import RunState
    from lacre.sealed.counts import Count
    from lacre.sealed.protection import Shield
    from lacre.sealed.records import PublicRun
    from lacre.sealed.starting import UnderWay
    from lacre.sealing.logs import SealedLog


def start_sealed(
    benchmark: str, ids: Sequence[str], budget: str | None, rate: str | None, means: Means, *, as_json: bool
) -> int:
    """Begin a sealed run of one column, and work on it."""
    from lacre.sealed.protection import shielded  # noqa: PLC0415 - keeps --help fast

    if len(set(ids)) != 1:
        raise InputError(
            "--column", "is given more than once", "A sealed run is of one column: start one for each"
        )
    if is_file(benchmark):
        raise InputError(benchmark, "is no benchmark", "Name the benchmark: items come from the vault")
    return shielded(
        lambda shield: _start(shield, benchmark, ids[0], budget, rate=rate, means=means, as_json=as_json)
    )


def _start(
    shield: Shield,
    benchmark: str,
    id: str,
    budget: str | None,
    *,
    rate: str | None,
    means: Means,
    as_json: bool,
) -> int:
    from lacre.engine.keys import read_key  # noqa: PLC0415 - keeps --help fast
    from lacre.engine.messages import read_templates  # noqa: PLC0415
    from lacre.engine.plans import Repetitions  # noqa: PLC0415
    from lacre.sealed.starting import Plan, begin  # noqa: PLC0415

    place = ground_of(benchmark)
    columns = read_workspace_columns([id])
    (card,) = columns.named([id])
    read_key(card, os.environ)  # a missing key is said before anything is written
    limit = dollars(budget)
    plan = Plan(
        card=card,
        templates=tuple(read_templates(place.workspace.registry / "templates").values()),
        repetitions=Repetitions(choice=place.rules.run.choice_runs, open=place.rules.run.open_runs),
        exchange=exchange_given(rate) or columns.exchange,
        budget=None if limit is None else str(limit),
        undecided=means.undecided,
    )
    with standing(place, shield, means) as (vault, ground):
        kept = begin(vault, ground, plan, now=now())
        say(
            f"Sealed run {kept.record.id}: {len(kept.items):,} private items to column '{id}' in {ground.round}."
        )
        return _work(under_way(vault, ground, kept.record.id), budget=limit, again=False, as_json=as_json)


def resume_sealed(name: str, budget: str | None, means: Means, *, again: bool, as_json: bool) -> int:
    """Go on with a sealed run."""
    from lacre.sealed.protection import shielded  # noqa: PLC0415 - keeps --help fast

    return shielded(lambda shield: _resume(shield, name, budget, means, again=again, as_json=as_json))


def _resume(
    shield: Shield, name: str, budget: str | None, means: Means, *, again: bool, as_json: bool
) -> int:
    import msgspec  # noqa: PLC0415 - keeps --help fast

    from lacre.engine.budgets import refuse_budget  # noqa: PLC0415
    from lacre.sealed.ground import refuse_vault  # noqa: PLC0415
    from lacre.sealed.starting import UnderWay, plan_of, refuse_unlike, renewed  # noqa: PLC0415

    place, run = run_named(name)
    with standing(place, shield, means) as (vault, ground):
        ledger = ground.ledger()
        refuse_vault(vault, ground, ledger)
        going = under_way(vault, ground, name)
        (card,) = read_workspace_columns([run.intent.column]).named([run.intent.column])
        kept = renewed(going.kept, going.run, card)
        if means.undecided is not None:
            kept = msgspec.structs.replace(kept, undecided=means.undecided)
            refuse_unlike(vault, ground, ground.round_runs(ledger), plan_of(kept))
        going = UnderWay(vault, ground, kept, going.run)
        limit = budget_of(budget, kept.record.budget)
        refuse_budget(limit, kept.record, [card], going.questions, rounded=True)
        return _work(going, budget=limit, again=again, as_json=as_json)


def _work(going: UnderWay, *, budget: Decimal | None, again: bool, as_json: bool) -> int:
    """Ask, end the run when it is complete, print how it stands, and give the exit code."""
    from lacre.engine.keys import read_key  # noqa: PLC0415 - keeps --help fast
    from lacre.sealed.running import Means as Session  # noqa: PLC0415
    from lacre.sealed.running import session, shown  # noqa: PLC0415
    from lacre.sealing.logs import SealedLog  # noqa: PLC0415

    (card,) = going.kept.record.columns
    log = SealedLog(going.vault, going.name)
    # The end of the run is within, too: an interrupt there is told in the same way.
    with asking(log, going.ground.rules.run, _again(going)) as asked:
        with_these = Session(
            keys={card.id: read_key(card, os.environ)},
            now=asked.now,
            patience=asked.patience,
            budget=budget,
            again=again,
            on_progress=asked.meter,
        )
        state = shown(asked.work(session(going, log, with_these)), card)
        return _ended(going, log, state, as_json=as_json)


def _ended(going: UnderWay, log: SealedLog, state: RunState, *, as_json: bool) -> int:
    """End a complete run; say what is left to do of another; the exit code."""
    from lacre.sealed.ending import finish, scores_of, tidy  # noqa: PLC0415 - keeps --help fast

    name, record, code = going.name, None, Exit.INCOMPLETE
    if state.complete:
        found = scores_of(going, log)
        if found.wholly_failed:
            say(
                f"lacre: column '{going.run.intent.column}': every reply failed, so that it was not measured. "
                f"Check its card with `lacre column check`, then: {_again(going)} --failed"
            )
            code = Exit.COLUMN
        elif found.undecided and going.kept.undecided is None:
            say(
                f"lacre: run {name}: the rule cannot read {found.undecided:,} of {len(found.replies):,} answers, and "
                f"there are no judges yet. Say what they count as: {_again(going)} --undecided wrong"
            )
        else:
            record = finish(going, found, log, now=now())
            tidy(going.vault, going.ground.runs())
            code = Exit.CLEAN
    elif say_halted(state, going.kept.record.columns):
        code = Exit.COLUMN
    if not state.complete:
        more = " --budget USD" if state.budget_reached else ""
        say(f"What came is kept. Go on with: {_again(going)}{more}")
    if as_json:
        print_json({"run": name, "state": state, "record": record})
    elif record is None:
        print_state(state)
    else:
        print_record(record)
    return int(code)


def print_record(record: PublicRun) -> None:
    """Print what may be known of a sealed run."""
    from lacre.sealed.records import run_place  # noqa: PLC0415 - keeps --help fast

    print_table(
        ("cell", "items", "counts"), [(c.cell, c.items, told(c)) for c in record.counts], right=("items",)
    )
    sys.stdout.flush()
    if not record.counts:
        say("No counts leave: too few items would stay private after the next rotation.")
    if record.ungraded:
        say(
            f"{record.ungraded:,} open items wait for grading: their scores are committed, and no counts leave."
        )
    if record.undecided is not None:
        number = "Some" if record.undecided_answers is None else f"{record.undecided_answers:,}"
        say(f"{number} answers that the rule cannot read count as {record.undecided}.")
    say(f"Scored: {record.leaves:,} scores under root {record.scores[:16]}...; all that leaves stands in")
    say(run_place(record.benchmark, record.run))


def told(count: Count) -> str:
    """What a count says, in words.

    >>> from lacre.sealed.counts import Bounded
    >>> told(Bounded(cell="all", items=40, side="at least", correct=38))
    'at least 38 correct'
    """
    from lacre.sealed.counts import Bounded, Exact  # noqa: PLC0415 - keeps --help fast

    match count:
        case Exact():
            return ", ".join(f"{number} {name}" for name, number in count.classes.items())
        case Bounded():
            return f"{count.side} {count.correct} correct"
        case _:
            return f"withheld: {count.reason}"


def _again(going: UnderWay) -> str:
    return f"lacre run resume {going.name} --vault {going.vault.folder} --identity FILE --key FILE"
