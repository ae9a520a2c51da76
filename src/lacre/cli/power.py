"""``lacre power``: what a comparison of two columns on the same items can show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lacre.cli.output import example, json_option, print_json, print_table
from lacre.errors import InputError

if TYPE_CHECKING:
    from lacre.scoring.estimates import Undefined
    from lacre.scoring.power import Paired, Plan

DISCORDANT = (0.05, 0.1, 0.2, 0.3, 0.4)
"""Shares of items on which two columns differ, when nobody says which."""


@click.command(
    epilog=example(
        "lacre power --items 1068",
        "lacre power --items 1068 --difference 3% --discordant 15%,20%",
        "lacre power --difference 3% --discordant 20%",
        "lacre power --accuracy 80%,77% --correlation 0.5 --items 1068 --simulate 2000",
    )
)
@click.option("--items", type=click.IntRange(1), help="Items that both columns answer.")
@click.option("--difference", metavar="D", help="Difference in accuracy to find: 0.03 or 3%.")
@click.option(
    "--discordant",
    metavar="P,...",
    help="Share of items on which just one column is right; several usual ones when not given.",
)
@click.option("--accuracy", metavar="P,P", help="Instead: the accuracies of both columns ...")
@click.option("--correlation", type=float, help="... and how their right answers correlate, -1 to 1.")
@click.option("--power", "wanted", type=float, default=0.8, show_default=True, help="Power to plan for.")
@click.option("--level", type=float, default=0.95, show_default=True, help="1 less the level of the test.")
@click.option(
    "--simulate", type=click.IntRange(1), metavar="DRAWS", help="Check the power by simulated runs too."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the simulation.")
@json_option
def power(
    *,
    items: int | None,
    difference: str | None,
    discordant: str | None,
    accuracy: str | None,
    correlation: float | None,
    wanted: float,
    level: float,
    simulate: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Say what a comparison of two columns on the same items can show, by the exact McNemar test.

    With items and a difference: the power. With a difference: the items it needs. With items: the smallest
    difference that they show. What decides is the share of items on which just one of the two is right: measure
    it on a pilot, or give the columns' accuracies and their correlation.
    """
    from lacre.scoring.power import detectable_difference, mcnemar_items, plan  # noqa: PLC0415

    shares = [_share(part, "--discordant") for part in (discordant or "").split(",") if part.strip()]
    found: list[tuple[float, Plan | Undefined]]
    if accuracy is None and difference is None:
        if items is None:
            raise InputError("power", "neither items nor a difference", "Give --items, --difference, or both")
        found = [
            (share, detectable_difference(items, share, power=wanted, level=level))
            for share in shares or DISCORDANT
        ]
    else:
        found = [
            (
                design.discordance,
                mcnemar_items(design, power=wanted, level=level)
                if items is None
                else plan(items, design, level=level),
            )
            for design in _designs(difference, shares, accuracy, correlation)
        ]
    checks = [_simulated(outcome, simulate, seed) for _, outcome in found]
    if as_json:
        print_json(
            {
                "plans": [
                    {"discordance": share, "plan": outcome, "simulated_power": check}
                    for (share, outcome), check in zip(found, checks, strict=True)
                ]
            }
        )
        return
    names = ("discordant", "items", "difference", "power") + (("simulated",) if simulate else ())
    rows = [
        (*_row(share, outcome), *([] if not simulate else ["" if check is None else f"{check:.3f}"]))
        for (share, outcome), check in zip(found, checks, strict=True)
    ]
    print_table(names, rows, right=names)


def _share(text: str, name: str) -> float:
    from lacre.scoring.samples import exact  # noqa: PLC0415 - keeps --help fast

    return float(exact(text, name))


def _designs(
    difference: str | None, shares: list[float], accuracy: str | None, correlation: float | None
) -> list[Paired]:
    """The designs that are asked about."""
    from lacre.scoring.power import design_of_accuracies, design_of_difference  # noqa: PLC0415

    if accuracy is not None:
        both = [_share(part, "--accuracy") for part in accuracy.split(",")]
        if len(both) != 2 or correlation is None or difference is not None or shares:
            raise InputError(
                "--accuracy",
                "goes with --correlation, and without --difference and --discordant",
                "Write --accuracy 80%,77% --correlation 0.5",
            )
        return [design_of_accuracies(both[0], both[1], correlation)]
    assert difference is not None
    gap = _share(difference, "--difference")
    usual = [share for share in DISCORDANT if share >= abs(gap)]
    return [design_of_difference(gap, share) for share in shares or usual or [abs(gap)]]


def _simulated(outcome: Plan | Undefined, draws: int | None, seed: int) -> float | None:
    """The power by simulation, where it is asked for."""
    import numpy as np  # noqa: PLC0415 - keeps --help fast

    from lacre.scoring.power import Plan, design_of_difference, simulated_power  # noqa: PLC0415

    if draws is None or not isinstance(outcome, Plan):
        return None
    design = design_of_difference(outcome.difference, outcome.discordance)
    rng = np.random.default_rng(seed)
    return simulated_power(outcome.items, design, rng=rng, draws=draws, level=outcome.level)


def _row(share: float, outcome: Plan | Undefined) -> tuple[str, ...]:
    from lacre.scoring.power import Plan  # noqa: PLC0415 - keeps --help fast

    if not isinstance(outcome, Plan):
        return f"{share:.1%}", "", str(outcome), ""
    return f"{share:.1%}", f"{outcome.items:,}", f"{outcome.difference:+.2%}", f"{outcome.power:.3f}"
