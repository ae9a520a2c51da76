"""``lacre run`` on sealed runs: start, resume, give up, list, and open and check their scores."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from lacre.cli.column import read_workspace_columns
from lacre.cli.output import print_json, print_table, quoted, say
from lacre.cli.round_ground import ground_of, now
from lacre.cli.run_ground import budget_of, dollars, exchange_given, is_file
from lacre.cli.run_work import asking, say_halted
from lacre.cli.sealed_ground import Means, run_named, standing, under_way
from lacre.errors import Exit, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from lacre.engine.runs import RunState
    from lacre.sealed.counts import Count
    from lacre.sealed.ground import Ground
    from lacre.sealed.protection import Shield
    from lacre.sealed.records import PublicRun
    from lacre.sealed.running import Told
    from lacre.sealed.starting import UnderWay
    from lacre.sealing.logs import SealedLog


FEW = "No counts leave: too few items would stay private after the next rotation."


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
    from lacre.sealed.ground import fixed_tables  # noqa: PLC0415
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
        if not fixed_tables(ground, kept).tables.cells:
            say(f"{FEW} Its scores are committed all the same.")
        going = under_way(vault, ground, kept.record.id)
        return _work(going, means, budget=limit, as_json=as_json)


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
        if (found := ground.runs().get(name)) is not None and found.result is not None and not run.ends:
            # Opening the vault finished what a kill had cut short: the end of this very run.
            return _ended_already(ground, name, as_json=as_json)
        going = under_way(vault, ground, name)
        (card,) = read_workspace_columns([run.intent.column]).named([run.intent.column])
        kept = renewed(going.kept, going.run, card)
        if means.undecided is not None:
            kept = msgspec.structs.replace(kept, undecided=means.undecided)
            refuse_unlike(vault, ground, ground.round_runs(ledger), plan_of(kept))
        going = UnderWay(vault, ground, kept, going.run)
        limit = budget_of(budget, kept.record.budget)
        refuse_budget(limit, kept.record, [card], going.questions, rounded=True)
        return _work(going, means, budget=limit, again=again, resuming=True, as_json=as_json)


def _ended_already(ground: Ground, name: str, *, as_json: bool) -> int:
    """Print the record of a run whose end was decided, and cut short."""
    from lacre.sealed.records import read_run, run_place  # noqa: PLC0415 - keeps --help fast

    record = read_run(ground.root / run_place(ground.benchmark, name))
    say(f"Run {name} had come to its end, which was cut short: it is scored now.")
    if as_json:
        print_json({"run": name, "state": None, "record": record})
    else:
        print_record(record)
    return int(Exit.CLEAN)


def _work(
    going: UnderWay,
    means: Means,
    *,
    budget: Decimal | None,
    as_json: bool,
    again: bool = False,
    resuming: bool = False,
) -> int:
    """Ask, end the run when it is complete, print how it stands, and give the exit code."""
    from lacre.engine.keys import read_key  # noqa: PLC0415 - keeps --help fast
    from lacre.sealed.running import Means as Session  # noqa: PLC0415
    from lacre.sealed.running import session  # noqa: PLC0415
    from lacre.sealing.logs import SealedLog  # noqa: PLC0415

    (card,) = going.kept.record.columns
    log = SealedLog(going.vault, going.name)
    # The end of the run is within, too: an interrupt there is told in the same way.
    command = _again(going, means)
    with asking(log, going.ground.rules.run, command) as asked:
        with_these = Session(
            keys={card.id: read_key(card, os.environ)},
            now=asked.now,
            patience=asked.patience,
            budget=budget,
            again=again,
            on_progress=asked.meter,
        )
        ready = session(going, log, with_these)
        if resuming:
            say(
                f"The vault has {log.replies:,} replies of this run, of which {len(going.run.shown):,} items "
                "were shown."
            )
        return _ended(going, log, asked.work(ready), command, as_json=as_json)


def _ended(going: UnderWay, log: SealedLog, state: RunState, command: str, *, as_json: bool) -> int:
    """End a complete run; say what is left to do of another; the exit code.

    ``command``: the one that goes on with it.
    """
    from lacre.sealed.ending import finish, large, scores_of, tidy  # noqa: PLC0415 - keeps --help fast
    from lacre.sealed.running import shown, told  # noqa: PLC0415

    name, record, code = going.name, None, Exit.INCOMPLETE
    (card,) = going.kept.record.columns
    if state.complete:
        found = scores_of(going, log)
        if found.wholly_failed:
            say(
                f"lacre: column '{going.run.intent.column}': every reply failed, so that it was not measured. "
                f"Check its card with `lacre column check {card.id}`, then: {command} --failed"
            )
            code = Exit.COLUMN
        elif found.undecided and going.kept.undecided is None:
            number = f"{found.undecided:,} of {len(found.replies):,}" if large(going) else "some of the"
            say(
                f"lacre: run {name}: the rule cannot read {number} answers, and there are no judges yet. Say what they "
                f"count as, wrong or failure: {command} --undecided wrong"
            )
        else:
            record = finish(going, found, log, now=now())
            tidy(going.vault, going.ground.runs())
            code = Exit.CLEAN
    elif say_halted(shown(state, card), [card]):
        code = Exit.COLUMN
    if not state.complete:
        more = " --budget USD" if state.budget_reached else ""
        say(f"What came is kept. Go on with: {command}{more}")
    if as_json:
        print_json({"run": name, "state": told(state, card), "record": record})
    elif record is None:
        _print_told(told(state, card))
    else:
        print_record(record)
    return int(code)


def _print_told(told: Told) -> None:
    """Print how far a run is that has no record yet: no class of an answer is told before."""
    how = "not complete"
    if told.halted is not None:
        how = f"stopped: {told.halted.detail}"
    elif told.complete:
        how = "all replies came"
    print_table(
        ("column", "replies", "of", "state"),
        [(told.column, f"{told.replies:,}", f"{told.expected:,}", how)],
        right=("replies", "of"),
        whole=("column",),
    )
    sys.stdout.flush()
    if told.over_cap:
        say(
            f"column '{told.column}': some replies are longer than the output cap of its card: its server does not "
            "keep to it, and a budget cannot count on it."
        )
    end = (
        "All replies are there, and the run is NOT scored."
        if told.complete
        else "The run is NOT complete, and is not scored."
    )
    say(end)


def print_record(record: PublicRun) -> None:
    """Print what may be known of a sealed run."""
    from lacre.sealed.records import run_place  # noqa: PLC0415 - keeps --help fast

    print_table(
        ("cell", "items", "counts"), [(c.cell, c.items, told(c)) for c in record.counts], right=("items",)
    )
    sys.stdout.flush()
    if not record.counts:
        say(FEW)
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


def _again(going: UnderWay, means: Means) -> str:
    """The command that goes on with a run, as it can be typed here."""
    who = "" if means.identity is None else f" --identity {quoted(means.identity)}"
    swap = " --allow-swap" if means.allow_swap else ""
    return f"lacre run resume {going.name} --vault {quoted(means.folder)}{who} --key {quoted(means.key_file)}{swap}"
