"""``lacre sample-size``: how many items a layer needs, and the interval that a stratum has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lacre.cli.output import example, json_option, print_json, print_table
from lacre.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lacre.scoring.samples import RareEvents, Reach, SampleTable


@click.command(
    epilog=example(
        "lacre sample-size --table",
        "lacre sample-size --accuracy 85% --margin 4%",
        "lacre sample-size --items 60,120 --accuracy 50%,80%",
        "lacre sample-size --rare 1%",
    )
)
@click.option(
    "--table", "as_table", is_flag=True, help="The table of the LUA rules; what comes without options."
)
@click.option("--accuracy", metavar="P,...", help="Expected accuracies: 0.8 or 80%.")
@click.option("--margin", metavar="E,...", help="Half widths of the 95% interval: 0.03 or 3%.")
@click.option("--items", metavar="N,...", help="The interval that so many items give, as a stratum has them.")
@click.option("--rare", metavar="P,...", help="Items without one event that show a rate to be below this.")
@json_option
def sample_size(
    *,
    as_table: bool,
    accuracy: str | None,
    margin: str | None,
    items: str | None,
    rare: str | None,
    as_json: bool,
) -> None:
    """Say how many items an accuracy needs for its 95% interval, or what interval so many items give.

    n = 1.96^2 p(1 - p) / E^2, rounded up, in exact fractions. Rare events use the rule of three.
    """
    from lacre.scoring.samples import ACCURACIES, MARGINS, rare_events, reach, sample_table  # noqa: PLC0415

    if ((items or rare) and (as_table or margin)) or (items and rare):
        raise InputError(
            "sample-size", "more than one question at once", "Ask with --margin, --items or --rare"
        )
    if as_table and (accuracy or margin):
        raise InputError(
            "--table",
            "is the table of the rules, without --accuracy or --margin",
            "Leave --table out to ask your own",
        )
    accuracies = _parts(accuracy) or ACCURACIES
    if items:
        reaches = [reach(_whole(n), p) for n in _parts(items) for p in accuracies]
        _print_reaches(reaches, as_json)
    elif rare:
        _print_rare([rare_events(bound) for bound in _parts(rare)], as_json)
    else:
        _print_sizes(sample_table(accuracies, _parts(margin) or MARGINS), as_json)


def _parts(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise InputError("--items", f"'{text}' is no number of items", "Write 60 or 60,120")
    return int(text)


def _print_sizes(table: SampleTable, as_json: bool) -> None:
    if as_json:
        print_json(table)
        return
    names = ("accuracy", *(f"±{margin}" for margin in table.margins))
    rows = [
        (f"{accuracy} (worst case)" if accuracy in ("50%", "0.5") else accuracy, *(f"{n:,}" for n in row))
        for accuracy, row in zip(table.accuracies, table.items, strict=True)
    ]
    print_table(names, rows, right=names[1:])


def _print_reaches(reaches: Sequence[Reach], as_json: bool) -> None:
    if as_json:
        print_json({"reaches": reaches})
        return
    names = ("items", "accuracy", "half width", "Wilson low", "Wilson high")
    rows = [
        (
            f"{found.n:,}",
            f"{found.accuracy:.1%}",
            f"{found.half_width:.2%}",
            f"{found.interval.lo:.2%}",
            f"{found.interval.hi:.2%}",
        )
        for found in reaches
    ]
    print_table(names, rows, right=names)


def _print_rare(found: Sequence[RareEvents], as_json: bool) -> None:
    if as_json:
        print_json({"rare": found})
        return
    names = ("rate below", "items by the rule of three", "items by the binomial")
    rows = [(f"{rare.bound:.4%}", f"{rare.rule_of_three:,}", f"{rare.exact:,}") for rare in found]
    print_table(names, rows, right=names)
