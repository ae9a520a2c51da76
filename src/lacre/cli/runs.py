"""``lacre run``: put items to columns, resume, and see how far a run is and what it cost."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import click

from lacre.cli.column import read_workspace_columns
from lacre.cli.output import example, json_option, print_json, print_table, quoted, say
from lacre.cli.run_ground import (
    budget_of,
    checked_questions,
    chosen,
    dollars,
    exchange_given,
    questions_of_source,
    ready,
    record_of,
    refuse_probe,
    renewed,
)
from lacre.cli.run_tables import (
    cost_row,
    print_record,
    print_replies,
    print_requests,
    print_state,
    print_written,
    say_budget,
)
from lacre.cli.run_work import asked, say_halted
from lacre.cli.sealed_ground import means_of, refuse_open, refuse_sealed, refuse_sealed_name, sealed_options
from lacre.cli.sealed_scores import abort, check_scores, open_scores, sealed
from lacre.errors import Exit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal

    from lacre.engine.folders import RunFolder
    from lacre.engine.keys import Key
    from lacre.engine.plans import Question, RunRecord
    from lacre.engine.runs import RunState
    from lacre.registry.columns import Column

LAYERS = ("official", "open")
SEALED_TOLD = "`lacre run sealed` says how it stands; its replies stay in the vault"
Kind = Literal["choice", "open"]


@click.group(epilog=example("lacre run start exemplo --column local --dry-run"))
def run() -> None:
    """Put items to columns, each reply on disk before it counts.

    A run lives in a folder: run.json says what it asks, journal.jsonl holds every reply, and once all are
    there answers-choice.jsonl holds what `lacre score` reads. A run that was stopped is resumed and repeats
    nothing; one that is not complete is never scored.

    \b
    Exit codes: 0 complete, 4 a column was stopped or gave nothing but failures, 5 not complete, 130 interrupted.
    """


for _command in (sealed, abort, open_scores, check_scores):
    run.add_command(_command)


@run.command(epilog=example("lacre run start exemplo --column local --out runs/first"))
@click.argument("source", metavar="BENCHMARK|FILE")
@click.option(
    "--column", "ids", multiple=True, required=True, metavar="ID", help="Ask this column; again for more."
)
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="The run's folder; runs/ID when not given."
)
@click.option("--layer", type=click.Choice(LAYERS), help="Only items of this layer.")
@click.option("--kind", type=click.Choice(get_args(Kind)), help="Only items of this kind.")
@click.option("--item", "items", multiple=True, metavar="ID", help="Only this item; again for more.")
@click.option("--budget", metavar="USD", help="Stop before this many dollars are exceeded.")
@click.option("--brl-per-usd", metavar="RATE", help="Exchange rate, in the place of that in columns.toml.")
@click.option(
    "--dry-run", is_flag=True, help="Send nothing; print the exact request for the first item chosen."
)
@click.option("--sealed", is_flag=True, help="Ask the private items of BENCHMARK, out of the vault.")
@sealed_options
@json_option
def start(
    *,
    source: str,
    ids: tuple[str, ...],
    out: Path | None,
    layer: str | None,
    kind: Kind | None,
    items: tuple[str, ...],
    budget: str | None,
    brl_per_usd: str | None,
    dry_run: bool,
    sealed: bool,
    as_json: bool,
    **means: Any,
) -> int:
    """Put the items of BENCHMARK, or of an items FILE, to one or more columns.

    Every column gets the same message, with the settings of its card in registry/columns.toml and nothing
    else; keys come from where the card says, and are never written anywhere. Choice items are asked once,
    open-ended ones three times. Whatever fails after its tries is asked once more at the end.

    With --sealed the private items are asked of one column, once in a round: no word leaves but what it is sent. It
    needs --vault, --identity and --key. Replies stay in the vault, and only counts of large sets of items are told.
    """
    if sealed:
        from lacre.cli.sealed_run import start_sealed  # noqa: PLC0415

        refuse_open(out=out, layer=layer, kind=kind, item=items, dry_run=dry_run)
        return start_sealed(source, ids, budget, brl_per_usd, means_of(**means), as_json=as_json)
    refuse_sealed(**means)
    from lacre.engine.folders import RunFolder  # noqa: PLC0415
    from lacre.engine.plans import check_questions  # noqa: PLC0415

    columns = read_workspace_columns(ids)
    cards = columns.named(ids)
    questions = chosen(questions_of_source(source), layer, kind, items)
    check_questions(questions, cards)
    exchange = exchange_given(brl_per_usd) or columns.exchange
    limit = dollars(budget)
    now = datetime.now(UTC)
    name = f"{Path(source).stem}-{now:%Y%m%dT%H%M%SZ}"
    filtered = bool(layer or kind or items)
    record = record_of(
        name, source, cards, questions, now=now, exchange=exchange, budget=limit, filtered=filtered
    )
    if dry_run:
        print_requests(record, cards, questions, as_json=as_json)
        return int(Exit.CLEAN)
    keys = ready(cards, record, questions, limit)
    folder = RunFolder.create(out or Path("runs") / name, record)
    say(f"Run {record.id} in {folder.path}")
    return _work(folder, record, questions, cards, keys, budget=limit, as_json=as_json)


@run.command(
    epilog=example("lacre run start exemplo --column local --out runs/first", "lacre run resume runs/first")
)
@click.argument("folder", type=click.Path(path_type=Path), metavar="RUN")
@click.option(
    "--budget",
    metavar="USD|none",
    help="Dollars for the whole run, in the place of those it began with; none: no limit.",
)
@click.option("--failed", is_flag=True, help="Ask once more what had failed to the end.")
@sealed_options
@json_option
def resume(*, folder: Path, budget: str | None, failed: bool, as_json: bool, **means: Any) -> int:
    """Go on with the run in folder RUN; nothing that was answered is asked again.

    Cards are read anew, so that one that was wrong can be corrected; a card whose questions have been
    answered keeps the settings it began with.

    With --vault, RUN is the name of a sealed run; it needs --identity and --key, too.
    """
    if means["vault"] is not None:
        from lacre.cli.sealed_run import resume_sealed  # noqa: PLC0415

        return resume_sealed(str(folder), budget, means_of(**means), again=failed, as_json=as_json)
    from lacre.engine.folders import RunFolder  # noqa: PLC0415
    from lacre.registry.sealed_runs import resume_command  # noqa: PLC0415

    refuse_sealed_name(folder, f"Go on with `{resume_command('{}')}`")
    refuse_sealed(**means)
    place = RunFolder.open(folder)
    record = place.record()
    refuse_probe(folder, record)
    questions = checked_questions(record)
    record = renewed(place, record)
    limit = budget_of(budget, record.budget)
    keys = ready(record.columns, record, questions, limit)
    return _work(place, record, questions, record.columns, keys, budget=limit, again=failed, as_json=as_json)


@run.command(
    epilog=example("lacre run start exemplo --column local --out runs/first", "lacre run status runs/first")
)
@click.argument("folder", type=click.Path(path_type=Path), metavar="RUN")
@json_option
def status(folder: Path, as_json: bool) -> int:
    """Say how far the run in folder RUN is, column by column, also while it works."""
    from lacre.engine.folders import RunFolder  # noqa: PLC0415
    from lacre.engine.runs import state_of  # noqa: PLC0415

    refuse_sealed_name(folder, SEALED_TOLD)
    place = RunFolder.open(folder)
    record = place.record()
    refuse_probe(folder, record)
    questions = checked_questions(record)
    state = state_of(record, questions, place.entries(), place.journal_path)
    if as_json:
        print_json({"run": record.id, "state": state})
    else:
        print_state(state)
    return int(Exit.CLEAN if state.complete else Exit.INCOMPLETE)


@run.command(
    epilog=example("lacre run start exemplo --column local --out runs/first", "lacre run show runs/first")
)
@click.argument("folder", type=click.Path(path_type=Path), metavar="RUN")
@click.option("--item", metavar="ID", help="Show what this item was answered.")
@json_option
def show(folder: Path, item: str | None, as_json: bool) -> None:
    """Show what the run in folder RUN asks, with which settings, and what it cost so far.

    Costs are for each stage and column: tokens, dollars and reais. What cannot be known is undefined, with
    the reason. With --item, the replies to that item are shown instead.
    """
    from lacre.engine.costs import costs  # noqa: PLC0415
    from lacre.engine.folders import RunFolder  # noqa: PLC0415
    from lacre.engine.owned import own_entries  # noqa: PLC0415

    refuse_sealed_name(folder, SEALED_TOLD)
    place = RunFolder.open(folder)
    record = place.record()
    entries = place.entries()
    if not record.stage.startswith("probe "):
        entries = own_entries(entries, record, checked_questions(record), place.journal_path)
    if item is not None:
        print_replies(entries, item, as_json=as_json)
        return
    spent = costs(record.stage, record.columns, record.exchange, entries)
    if as_json:
        print_json({"record": record, "costs": spent})
        return
    print_record(record)
    print_table(
        ("stage", "column", "replies", "input", "cached", "output", "reasoning", "USD", "BRL", "untold"),
        [cost_row(cost) for cost in spent],
        right=("replies", "input", "cached", "output", "reasoning", "USD", "BRL", "untold"),
        whole=("column",),
    )


@run.command(
    epilog=example(
        "lacre run start exemplo --column local --out runs/first",
        "lacre run answers runs/first --undecided wrong",
    )
)
@click.argument("folder", type=click.Path(path_type=Path), metavar="RUN")
@click.option(
    "--undecided", type=click.Choice(["wrong", "failure"]),
    help="What an answer counts as that the rule cannot read, for want of judges.",
)  # fmt: skip
@json_option
def answers(folder: Path, undecided: Literal["wrong", "failure"] | None, as_json: bool) -> int:
    """Read the replies of a complete run by rule, and write what `lacre score` reads.

    A file is written for each kind of item whose replies are all decided. What the rule cannot read waits for
    the judges; with --undecided it counts as given, and how many do is said.

    Exit code: 0 when all are decided, 1 when some wait for judges, 5 when the run is not complete.
    """
    from lacre.engine.folders import RunFolder, write_answers  # noqa: PLC0415
    from lacre.engine.runs import state_of  # noqa: PLC0415

    refuse_sealed_name(folder, SEALED_TOLD)
    place = RunFolder.open(folder)
    record = place.record()
    refuse_probe(folder, record)
    questions = checked_questions(record)
    state = state_of(record, questions, place.entries(), place.journal_path)
    written = write_answers(place, questions, complete=state.complete, undecided=undecided)
    if as_json:
        print_json(written)
    else:
        print_written(written, on=sys.stdout)
    if undecided is not None and not written.forced:
        say("No answer was undecided: --undecided changed nothing.")
    _say_failed(written.wholly_failed, state, folder)
    return int(Exit.FINDING if written.undecided and undecided is None else Exit.CLEAN)


def _work(
    folder: RunFolder,
    record: RunRecord,
    questions: Sequence[Question],
    cards: Sequence[Column],
    keys: Mapping[str, Key | None],
    *,
    budget: Decimal | None,
    as_json: bool,
    again: bool = False,
) -> int:
    """Ask, print how it ended, and give the exit code."""
    from lacre.engine.folders import write_answers  # noqa: PLC0415

    state = asked(
        folder, record, questions, cards, keys, budget=budget, again=again, resuming=_resuming(folder.path)
    )
    written = write_answers(folder, questions, complete=True) if state.complete else None
    wholly_failed = written.wholly_failed if written is not None else ()
    if as_json:
        print_json({"run": record.id, "folder": str(folder.path), "state": state, "written": written})
    else:
        print_state(state)
        if written is not None:
            print_written(written, on=sys.stderr)
    return _ended(state, folder, wholly_failed)


def _ended(state: RunState, folder: RunFolder, wholly_failed: Sequence[str]) -> int:
    """The exit code of a run, and what to do about it when it is not complete or worth nothing."""
    _say_failed(wholly_failed, state, folder.path)
    say_budget(state)
    resuming = _resuming(folder.path)
    if state.complete:
        return int(Exit.COLUMN if wholly_failed else Exit.CLEAN)
    if state.budget_reached:
        say(f"The next request could exceed the budget. Go on with: {resuming} --budget USD")
    halted = say_halted(state, folder.record().columns)
    if halted:
        say(f"What is done is kept. Go on with: {resuming}")
    return int(Exit.COLUMN if halted else Exit.INCOMPLETE)


def _resuming(folder: Path) -> str:
    """The command that goes on with a run."""
    return f"lacre run resume {quoted(folder)}"


def _say_failed(columns: Sequence[str], state: RunState, folder: Path) -> None:
    """One line for each column that was asked everything and gave nothing but failures."""
    for column in (column for column in state.columns if column.column in columns):
        id, place = column.column, quoted(folder)
        if column.truncated == column.done and column.cap is not None:
            say(
                f"lacre: column '{id}': every reply is cut short, so that its scores say nothing of it: most often by "
                f"the output cap of {column.cap:,} tokens. See them with `lacre run show {place} --item ID`. A larger "
                "cap asks otherwise: give it on the card, and start another run."
            )
            continue
        say(
            f"lacre: column '{id}': every reply failed, so that its scores say nothing of it. See why with "
            f"`lacre run show {place} --item ID`, check its card with `lacre column check {id}`, then "
            f"`lacre run resume {place} --failed`."
        )
