"""What the commands of ``lacre probe`` share: what is asked, asking it, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from lacre import __version__
from lacre.cli.answers import write_figure
from lacre.cli.column import read_workspace_columns
from lacre.cli.output import print_json, quoted, say
from lacre.cli.probe_making import Made
from lacre.errors import Exit, IncompleteError, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal

    from lacre.engine.keys import Key
    from lacre.engine.plans import Question, RunRecord
    from lacre.engine.runs import RunState
    from lacre.probe.folders import AnyFound, AnyProbe, ProbeFolder
    from lacre.registry.columns import Column, Exchange


MANY = 2_000
"""Replies from which judging them takes a while."""


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What every probe is told: whom to ask, where, for how much."""

    ids: tuple[str, ...]
    out: Path | None
    budget: str | None
    brl_per_usd: str | None
    dry_run: bool
    as_json: bool


def begin(made: Made, wish: Wish) -> int:
    """Ask a new probe, or with a dry run show the first request; the exit code."""
    from lacre.cli.run_ground import dollars, exchange_given, ready  # noqa: PLC0415
    from lacre.cli.run_tables import print_requests  # noqa: PLC0415
    from lacre.probe.folders import ProbeFolder, questions_of  # noqa: PLC0415

    columns = read_workspace_columns(wish.ids)
    cards = columns.named(wish.ids)
    _check_dialects(made.probe, cards)
    questions = questions_of(made.probe)
    for remark in made.remarks:
        say(f"{remark}.")
    limit = dollars(wish.budget)
    now = datetime.now(UTC)
    name = f"{made.stage.replace(' ', '-')}-{now:%Y%m%dT%H%M%SZ}"
    exchange = exchange_given(wish.brl_per_usd) or columns.exchange
    record = _record(name, made, cards, questions, now=now, exchange=exchange, budget=limit)
    if not questions:
        if wish.dry_run:
            say("There is nothing to ask. Nothing was sent.")
            return int(Exit.CLEAN)
        raise InputError("probe", "there is nothing to ask", "See above why, and choose other items")
    if wish.dry_run:
        print_requests(record, cards, questions, as_json=wish.as_json)
        return int(Exit.CLEAN)
    keys = ready(cards, record, questions, limit)
    folder = ProbeFolder.create(wish.out or Path("probes") / name, record, made.probe)
    say(f"Probe {record.id} in {folder.path}")
    return _work(folder, record, questions, keys, budget=limit, as_json=wish.as_json)


def go_on(folder: Path, *, budget: str | None, failed: bool, as_json: bool) -> int:
    """Go on with a probe; the exit code."""
    from lacre.cli.run_ground import dollars, ready, renewed  # noqa: PLC0415
    from lacre.engine.plans import check_resumed  # noqa: PLC0415
    from lacre.probe.folders import questions_of  # noqa: PLC0415

    place = opened(folder)
    record = place.run.record()
    questions = questions_of(place.probe())
    check_resumed(record, questions)
    record = renewed(place.run, record)
    _check_dialects(place.probe(), record.columns)
    limit = dollars(budget) if budget is not None else dollars(record.budget)
    keys = ready(record.columns, record, questions, limit)
    return _work(place, record, questions, keys, budget=limit, as_json=as_json, again=failed)


def _check_dialects(probe: AnyProbe, cards: Sequence[Column]) -> None:
    """Refuse columns that cannot be asked in the way of this probe.

    Raises:
        InputError: a column answers messages where a text is to be gone on with, or the other way round.
    """
    from lacre.probe.completion import Probe  # noqa: PLC0415

    completing = isinstance(probe, Probe) and probe.mode == "completion"
    for card in cards:
        if completing and not card.completes:
            raise InputError(
                f"column '{card.id}'",
                f"answers messages, and the {card.dialect} dialect has no other mode",
                'Leave out --mode completion, or write a card with dialect = "completions" if its server has it',
            )
        if card.completes and not completing:
            raise InputError(
                f"column '{card.id}'",
                "goes on with a text and answers no question (dialect completions)",
                "Probe it with `lacre probe completion --mode completion`",
            )


def opened(folder: Path) -> ProbeFolder:
    """The folder of a probe."""
    from lacre.probe.folders import ProbeFolder  # noqa: PLC0415

    return ProbeFolder.open(folder)


def _record(
    name: str,
    made: Made,
    cards: Sequence[Column],
    questions: Sequence[Question],
    *,
    now: datetime,
    exchange: Exchange | None,
    budget: Decimal | None,
) -> RunRecord:
    from lacre.engine.plans import Repetitions, RunRecord, items_digest  # noqa: PLC0415
    from lacre.probe.completion import whole_template  # noqa: PLC0415

    return RunRecord(
        id=name,
        stage=made.stage,
        source=made.source,
        created=now.isoformat(timespec="seconds"),
        version=__version__,
        columns=tuple(cards),
        templates=(whole_template(),),
        items=len(questions),
        items_sha256=items_digest(questions),
        repetitions=Repetitions(open=1),
        exchange=exchange,
        budget=None if budget is None else str(budget),
    )


def _work(
    folder: ProbeFolder,
    record: RunRecord,
    questions: Sequence[Question],
    keys: Mapping[str, Key | None],
    *,
    budget: Decimal | None,
    as_json: bool,
    again: bool = False,
) -> int:
    """Ask, say what was found when all is answered, and give the exit code."""
    from lacre.cli.run_work import asked  # noqa: PLC0415

    state = asked(
        folder.run,
        record,
        questions,
        record.columns,
        keys,
        budget=budget,
        again=again,
        resuming=_resuming(folder),
    )
    if state.complete:
        return finish(folder, as_json=as_json)
    return _stopped(state, folder, as_json=as_json)


def _resuming(folder: ProbeFolder) -> str:
    """The command that goes on with a probe."""
    return f"lacre probe resume {quoted(folder.path)}"


def _stopped(state: RunState, folder: ProbeFolder, *, as_json: bool) -> int:
    """Say why a probe is not complete; the exit code."""
    from lacre.cli.run_tables import print_state  # noqa: PLC0415
    from lacre.cli.run_work import say_halted  # noqa: PLC0415

    if as_json:
        print_json({"probe": str(folder.path), "state": state})
    else:
        print_state(state)
    halted = say_halted(state, folder.run.record().columns)
    money = " --budget USD" if state.budget_reached else ""
    say(f"What is done is kept, and nothing is marked yet. Go on with: {_resuming(folder)}{money}")
    return int(Exit.COLUMN if halted else Exit.INCOMPLETE)


def finish(folder: ProbeFolder, *, as_json: bool, listing: bool = False, plot: Path | None = None) -> int:
    """Write and print what a complete probe found; the exit code.

    Raises:
        IncompleteError: it is not complete.
        IntegrityError: the texts of its record are not those that were asked for.
    """
    from lacre.cli import probe_tables  # noqa: PLC0415
    from lacre.engine.costs import costs  # noqa: PLC0415
    from lacre.engine.plans import check_resumed  # noqa: PLC0415
    from lacre.engine.runs import state_of  # noqa: PLC0415
    from lacre.probe.folders import MARKS, questions_of  # noqa: PLC0415

    probe, record = folder.probe(), folder.run.record()
    questions = questions_of(probe)
    # What was asked, and what it is held against, are in one record: it must be the one that was asked.
    check_resumed(record, questions)
    state = state_of(record, questions, folder.run.entries())
    if not state.complete:
        done, owed = (sum(getattr(each, name) for each in state.columns) for name in ("done", "expected"))
        raise IncompleteError(
            f"{folder.path}: the probe is not complete ({done:,} of {owed:,} replies), so that nothing is marked. "
            f"Go on with `{_resuming(folder)}`."
        )
    if len(questions) * len(record.columns) >= MANY:
        say(f"Holding {len(questions) * len(record.columns):,} replies against what they were to give ...")
    found = _found(folder, probe, record)
    if plot is not None:
        _draw(found, plot)
    spent = costs(record.stage, record.columns, record.exchange, folder.run.entries())
    if as_json:
        print_json(
            {"probe": record.id, "folder": str(folder.path), "findings": _result(found), "costs": spent}
        )
    else:
        probe_tables.print_found(found, folder.path / MARKS, listing=listing)
        if not listing:
            probe_tables.print_costs(spent)
    wholly_failed = _wholly_failed(folder)
    for column in wholly_failed:
        say(
            f"lacre: column '{column}': every reply failed, so that nothing is known of it. Check its card with "
            f"`lacre column check {column}`, then `{_resuming(folder)} --failed`."
        )
    return int(Exit.FINDING if _hits(found) else Exit.COLUMN if wholly_failed else Exit.CLEAN)


def _wholly_failed(folder: ProbeFolder) -> list[str]:
    """The columns whose every reply failed, sorted: that they are not marked says nothing."""
    from lacre.engine.replies import Failed  # noqa: PLC0415

    failed: dict[str, bool] = {}
    for task, entry in folder.run.settled().items():
        failed[task.column] = failed.get(task.column, True) and isinstance(entry.reply, Failed)
    return sorted(column for column, every in failed.items() if every)


def _found(folder: ProbeFolder, probe: AnyProbe, record: RunRecord) -> AnyFound:
    """What a complete probe found, written beside its replies."""
    from lacre.probe.canary import CanaryProbe, find_canary  # noqa: PLC0415
    from lacre.probe.completion import Probe  # noqa: PLC0415
    from lacre.probe.findings import find  # noqa: PLC0415
    from lacre.probe.folders import FINDINGS, MARKS  # noqa: PLC0415
    from lacre.probe.options import OptionsProbe, find_options  # noqa: PLC0415
    from lacre.registry.seen import write_marks  # noqa: PLC0415

    replies = folder.run.settled()
    found: AnyFound
    match probe:
        case Probe():
            found = find(record.id, probe, record.columns, replies)
            write_marks(folder.path / MARKS, found.marks)
        case OptionsProbe():
            found = find_options(probe, record.columns, replies)
        case CanaryProbe():
            found = find_canary(probe, record.columns, replies)
        case _:
            assert_never(probe)
    folder.write(FINDINGS, _result(found))
    return found


def _result(found: AnyFound) -> object:
    """What is written and printed of it: of a completion probe the figures, for its marks have a file of their own."""
    from lacre.probe.findings import Found  # noqa: PLC0415

    return found.findings if isinstance(found, Found) else found


def _hits(found: AnyFound) -> int:
    """How much of it a person must look at."""
    from lacre.probe.canary import CanaryResult  # noqa: PLC0415
    from lacre.probe.findings import Found  # noqa: PLC0415

    if isinstance(found, Found):
        return sum(column.seen for column in found.findings.columns)
    if isinstance(found, CanaryResult):
        return sum(row.is_evidence for row in found.columns)
    return sum(row.exact for row in found.columns)


def _draw(found: AnyFound, plot: Path) -> None:
    from lacre.probe.findings import Found  # noqa: PLC0415
    from lacre.report.probe_plots import probe_plot  # noqa: PLC0415 - matplotlib takes its time

    if not isinstance(found, Found):
        raise InputError("--plot", "is for completion probes", "Leave it out")
    write_figure(plot, lambda: probe_plot(found.shares))
