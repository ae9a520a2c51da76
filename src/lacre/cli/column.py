"""``lacre column``: the systems that are measured, and whether their cards are right."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lacre.cli.output import example, json_option, print_json, print_table, say
from lacre.errors import ColumnError, Exit, sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lacre.engine.checks import Checked
    from lacre.registry.columns import Column, Columns


@click.group(epilog=example("lacre column list"))
def column() -> None:
    """List the columns of this workspace, and check their cards against the real systems.

    A column is a measured system or a judge. Its card in registry/columns.toml says how it is asked, and what
    is known of it, each fact with its source.
    """


def read_workspace_columns(ids: Sequence[str] = ()) -> Columns:
    """The cards of the workspace that we are in; what is wrong with those that are not asked for is said.

    Raises:
        RecordError: one of ``ids`` has a bad card.
    """
    from lacre.errors import sentence  # noqa: PLC0415
    from lacre.registry.columns import usable_columns  # noqa: PLC0415
    from lacre.registry.workspace import Workspace  # noqa: PLC0415

    columns = usable_columns(Workspace.find(Path.cwd()).registry / "columns.toml", latest=latest_day())
    columns.refuse_bad(ids)
    for fault in columns.bad:
        say(sentence(f"columns.toml:{fault.line}", fault.what, fault.todo))
    return columns


def latest_day() -> date:
    """The latest date anywhere on Earth: nobody is told that their today has not come."""
    return (datetime.now(UTC) + timedelta(hours=14)).date()


@column.command("list", epilog=example("lacre column list"))
@json_option
def list_(as_json: bool) -> int:
    """List the columns with what is known of them. Prices are for a million tokens, input / output.

    A card that says what it may not is named with its line, and the good ones are listed all the same.

    Exit code: 0 when all cards are good, 2 when one is not.
    """
    from lacre.registry.columns import card_summary  # noqa: PLC0415

    cards = read_workspace_columns()
    code = int(Exit.BAD_INPUT if cards.bad else Exit.CLEAN)
    if as_json:
        print_json(cards)
        return code
    rows = [card_summary(card) for card in cards.columns.values()]
    if not rows:
        say("No columns: write their cards in registry/columns.toml.")
        return code
    print_table(list(rows[0]), [list(row.values()) for row in rows], whole=("column",))
    if cards.exchange is not None:
        rate = cards.exchange
        say(f"1 USD = {rate.brl_per_usd} BRL ({rate.source}, {rate.read}).")
    return code


@column.command(epilog=example("lacre column check local"))
@click.argument("ids", nargs=-1, required=True, metavar="COLUMN...")
@json_option
def check(ids: tuple[str, ...], as_json: bool) -> int:
    """Send one harmless question to each COLUMN, and say where its card is wrong.

    The question is the same for all and holds no item. A setting that the model does not take is named.

    Exit code: 0 when the cards hold, 1 when one says what the answer does not bear out, 4 when a column did
    not answer.
    """
    from lacre.engine.checks import check_column  # noqa: PLC0415
    from lacre.engine.keys import read_key  # noqa: PLC0415

    cards = read_workspace_columns(ids).named(ids)
    keys = {card.id: read_key(card, os.environ) for card in cards}
    checked = [check_column(card, keys[card.id]) for card in cards]
    if as_json:
        print_json(checked)
    else:
        print_table(
            ("column", "status", "model", "finish", "tokens", "seconds", "remarks"),
            [_row(one) for one in checked],
            right=("tokens", "seconds"),
            whole=("column", "status"),
            styles={"ok": "green", "differs": "yellow", "failed": "bold red"},
        )
    if any(one.status == "failed" for one in checked):
        raise ColumnError(
            "\n".join(
                sentence(f"column '{one.column}'", one.why, _todo(one, card))
                for one, card in zip(checked, cards, strict=True)
                if one.why
            )
        )
    return int(Exit.FINDING if any(one.status == "differs" for one in checked) else Exit.CLEAN)


def _todo(one: Checked, card: Column) -> str:
    from lacre.cli.run_tables import todo_of  # noqa: PLC0415

    return todo_of(one.reason, one.parameter, card) if one.reason is not None else ""


def _row(one: Checked) -> tuple[str, ...]:
    tokens = "not told" if one.tokens is None else f"{one.tokens:,}"
    seconds = "" if one.seconds is None else f"{one.seconds:.2f}"
    return (
        one.column,
        one.status,
        one.model or "not told",
        one.finish or "",
        tokens,
        seconds,
        "; ".join(one.remarks),
    )
