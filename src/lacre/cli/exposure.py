"""``lacre exposure``: which private item was shown to whom, when and how often."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lacre.cli.output import example, json_option, print_json, print_table, say
from lacre.cli.round_ground import ground_of
from lacre.cli.round_tables import counted
from lacre.errors import Exit, InputError

if TYPE_CHECKING:
    from lacre.rotation.exposure import Exposures


@click.command(epilog=example("lacre exposure", "lacre exposure --by column", "lacre exposure --over --json"))
@click.option(
    "--by", type=click.Choice(["item", "column", "both"]), default="item", show_default=True,
    help="One line for each item, for each column, or for each item and column.",
)  # fmt: skip
@click.option("--item", "only", metavar="ID", help="Only this item.")
@click.option("--over", is_flag=True, help="Only items over the cap.")
@click.option("--benchmark", metavar="NAME", help="Which one, where the workspace has more than one.")
@json_option
def exposure(*, by: str, only: str | None, over: bool, benchmark: str | None, as_json: bool) -> int:
    """Say which private item was shown to which column, when and how often, by the ledger.

    A sealed run of one column shows an item once, however often it was cut short and resumed. A corrected item
    counts what the text it corrects was shown. Past the cap, `exposure_cap` in rules.toml, `lacre round freeze`
    makes the item open at the next closing, whatever the draw says. Only ids are printed.

    Exit code: 1 when a private item is over the cap, else 0.
    """
    from lacre.rotation.exposure import exposures, narrowed  # noqa: PLC0415 - keeps --help fast

    ground = ground_of(benchmark)
    found = exposures(ground.public().history, ground.rules.rounds.exposure_cap)
    if only is not None and only not in {each.item for each in found.items}:
        raise InputError(f"--item {only}", "was shown to no column", "`lacre exposure` lists those that were")
    if only is not None:
        found = narrowed(found, {only})
    if over:
        found = narrowed(found, set(found.over))
    if as_json:
        print_json(found)
    else:
        _print(found, by)
    return int(Exit.FINDING if found.over else Exit.CLEAN)


def _print(found: Exposures, by: str) -> None:
    if by == "item":
        rows = [
            (each.item, each.times, ", ".join(each.columns), each.last, _standing(each.over, each.private))
            for each in found.items
        ]
        print_table(("item", "times", "columns", "last", "standing"), rows, right=("times",), whole=("item",))
    elif by == "column":
        by_column = [(each.column, each.items, each.times, each.last) for each in found.columns]
        print_table(
            ("column", "items", "times", "last"), by_column, right=("items", "times"), whole=("column",)
        )
    else:
        both = [
            (each.item, each.column, each.times, each.first, each.last, ", ".join(each.runs))
            for each in found.seen
        ]
        print_table(
            ("item", "column", "times", "first", "last", "runs"),
            both,
            right=("times",),
            whole=("item", "column"),
        )
    cap = f"the cap is {found.cap}" if found.cap else "there is no cap"
    say(
        f"{found.benchmark}: {counted(len(found.items), 'item')} shown to "
        f"{counted(len(found.columns), 'column')}; {cap}."
    )
    if found.over:
        say(f"{counted(len(found.over), 'item')} over it: the next freeze makes them open, for exposure.")


def _standing(over: bool, private: bool) -> str:
    if over:
        return "over the cap"
    return "private" if private else "no longer private"
