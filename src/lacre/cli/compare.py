"""``lacre compare``: columns against each other on the same items."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from lacre.cli.answers import check_figure, listed, percent, plain, read, reading_options, write_figure
from lacre.cli.options import given, plot_option
from lacre.cli.output import example, json_option, print_json, print_table, say
from lacre.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lacre.scoring.comparison import Comparison, Name, Pair
    from lacre.scoring.estimates import Measured

SHOWN = 40  # pairs on a terminal; a pipe gets them all


@click.command(
    epilog=example(
        "lacre compare answers.csv",
        "lacre compare answers.csv --metric penalised --t 0.75 --plot differences.svg",
    )
)
@reading_options
@click.option(
    "--metric", type=click.Choice(["accuracy", "error_when_attempted", "mean_score", "penalised"]),
    default="accuracy", show_default=True, help="What to compare.",
)  # fmt: skip
@click.option("--t", default="0.5", show_default=True, metavar="T", help="Threshold of the penalised score.")
@plot_option
@json_option
def compare(
    *,
    files: tuple[Path, ...],
    mapping: tuple[str, ...],
    only: tuple[str, ...],
    unlettered: str,
    threshold: float | None,
    level: float,
    draws: int,
    seed: int,
    metric: str,
    t: str,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Print the ranks of the columns of FILES and the difference of every pair, ties marked.

    Only items that every column answered count; what that leaves out is said. Differences come from a bootstrap
    that resamples items, the same for all columns. An interval that contains zero, its ends included, is a tie.
    Exact McNemar stands beside it, and Holm's p over all pairs. FILES are as `lacre score` reads them.
    """
    import numpy as np  # noqa: PLC0415 - keeps --help fast

    from lacre.scoring.comparison import compare as compared  # noqa: PLC0415

    if given("t") and metric != "penalised":
        raise InputError("--t", f"says nothing about {metric}", "Add --metric penalised, or leave it out")
    check_figure(plot)
    answers = read(files, mapping, only, unlettered=unlettered, threshold=threshold)
    found = compared(
        answers,
        rng=np.random.default_rng(seed),
        metric=cast("Name", metric),
        t=t,
        draws=draws,
        level=level,
    )
    if as_json:
        print_json(found)
    else:
        _ranks(found)
        _pairs(found)
    _remark(found)
    if plot is not None:
        from lacre.report import plots  # noqa: PLC0415 - matplotlib takes its time

        write_figure(plot, lambda: plots.forest_plot(found))


def _ranks(found: Comparison) -> None:
    value = plain if found.metric.startswith("penalised") else percent
    print_table(
        ("rank", "column", found.metric.replace("_", " "), "rank, all claims at once"),
        [
            (_span(row.best, row.worst), row.column, value(row.value), _span(row.best_holm, row.worst_holm))
            for row in found.ranks
        ],
        right=(found.metric.replace("_", " "),),
        whole=("column",),
    )


def _span(best: int, worst: int) -> str:
    return str(best) if best == worst else f"{best}-{worst}"


def _pairs(found: Comparison) -> None:
    shown: Sequence[Pair] = found.pairs[:SHOWN] if sys.stdout.isatty() else found.pairs
    both = any(pair.difference_without_failures != pair.difference for pair in shown)
    both = both and any(pair.difference_without_failures is not None for pair in shown)
    names = ["first", "second", "difference", "verdict"]
    names += ["without failures", "verdict without"] if both else []
    names += ["only first", "only second", "p", "p (Holm)"]
    click.echo()
    print_table(
        names,
        [_row(pair, both) for pair in shown],
        right=("difference", "without failures", "only first", "only second", "p", "p (Holm)"),
        styles={"tie": "dim"},
    )
    if len(shown) < len(found.pairs):
        say(f"... and {len(found.pairs) - len(shown):,} more pairs; a pipe or --json gives them all.")


def _row(pair: Pair, both: bool) -> tuple[str, ...]:
    from lacre.scoring.significance import McNemar  # noqa: PLC0415 - keeps --help fast

    cells = [pair.first, pair.second, _points(pair.difference), _verdict(pair.difference, pair.tie)]
    if both and pair.difference_without_failures is not None:
        without = pair.difference_without_failures
        cells += [_points(without), _verdict(without, pair.tie_without_failures)]
    elif both:
        cells += ["", ""]
    if isinstance(pair.test, McNemar):
        cells += [f"{pair.test.only_first:,}", f"{pair.test.only_second:,}"]
    else:
        cells += ["", ""]
    p = getattr(pair.test, "p", None)
    cells += [str(pair.test) if p is None else _p(p), "" if pair.p_holm is None else _p(pair.p_holm)]
    return tuple(cells)


def _verdict(difference: Measured, tie: bool | None) -> str:
    from lacre.scoring.estimates import Undefined  # noqa: PLC0415 - keeps --help fast

    if isinstance(difference, Undefined):
        return "undefined"
    if tie is None and isinstance(difference.interval, Undefined):
        return f"undecided: {difference.interval.reason}"
    return "tie" if tie else "differ"


def _p(value: float) -> str:
    """A p value; a small one as a bound.

    >>> _p(0.0312), _p(0.00001)
    ('0.031', '<0.001')
    """
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _points(found: Measured) -> str:
    """A difference in percentage points, signed."""
    from lacre.scoring.estimates import Undefined  # noqa: PLC0415 - keeps --help fast

    if isinstance(found, Undefined):
        return str(found)
    text = f"{100 * found.value:+.1f}"
    if isinstance(found.interval, Undefined):
        return f"{text} [no interval]"  # the verdict says why, or that nothing differs
    return f"{text} [{100 * found.interval.lo:+.1f}, {100 * found.interval.hi:+.1f}]"


def _remark(found: Comparison) -> None:
    """What a reader must know, on stderr."""
    sys.stdout.flush()
    ties = sum(pair.tie is True for pair in found.pairs)
    say(
        f"{len(found.ranks):,} columns on {found.items:,} shared items; {ties:,} of {len(found.pairs):,} pairs"
        f" are ties at {found.level:.0%}; {found.draws:,} resamples of items; differences in points of 100."
    )
    if left := {column: count for column, count in found.left_out.items() if count}:
        say(f"Left out, for some other column lacks them: {listed(left)} items.")
