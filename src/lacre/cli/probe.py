"""``lacre probe``: what a column has seen, and how fresh the exams were when it was asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lacre.cli.options import plot_option, together
from lacre.cli.output import example, json_option
from lacre.errors import InputError

LAYERS = ("official", "open", "private")
MODES = ("chat", "completion")
MOST_CONTROLS = 400


@click.group(epilog=example("lacre probe completion exemplo --layer open --column local --dry-run"))
def probe() -> None:
    """Ask columns for what they should not know: the rest of an exam's item, the canary, a masked option.

    A probe lives in a folder as a run does: every reply is on disk before it counts, and what was stopped is
    resumed. "Not reproduced" is never "unseen": what a column does not write down it may still have read.

    \b
    Exit codes: 0 nothing seen, 1 something seen, 2 bad input, 4 a column was stopped, 5 not complete,
    130 interrupted.
    """


_ASKING = (
    click.option(
        "--column", "ids", multiple=True, required=True, metavar="ID", help="Ask this column; again for more."
    ),
    click.option(
        "--out", type=click.Path(path_type=Path), metavar="DIR", help="The probe's folder; probes/ID when not given."
    ),
    click.option("--budget", metavar="USD", help="Stop before this many dollars are exceeded."),
    click.option("--brl-per-usd", metavar="RATE", help="Exchange rate, in the place of that in columns.toml."),
    click.option("--dry-run", is_flag=True, help="Send nothing; print the first request, and how many there are."),
)  # fmt: skip

_PROBE = click.argument("folder", type=click.Path(path_type=Path), metavar="PROBE")

_ITEMS = (
    click.argument("benchmark", required=False, metavar="[BENCHMARK]"),
    click.option(
        "--layer", type=click.Choice(LAYERS), default="official", show_default=True,
        help="Probe the items of this layer. Private items are refused: they go to no probe.",
    ),
    click.option("--item", "items", multiple=True, metavar="ID", help="Only this item; again for more."),
    click.option(
        "--controls", multiple=True, metavar="open|none|FILE",
        help="New items that no column can have seen: the open layer (the default), a file, or none. "
        "They go out: never give items that are to stay private.",
    ),
    click.option(
        "--most-controls", type=click.IntRange(0), default=MOST_CONTROLS, show_default=True,
        help="Ask for at most so many controls, those nearest to the items in subject and length.",
    ),
)  # fmt: skip


@probe.command(
    epilog=example(
        "lacre probe completion exemplo --layer open --column local --dry-run",
        "lacre probe completion exemplo --layer open --column local --out probes/first",
    )
)
@together((*_ITEMS, *_ASKING))
@click.option(
    "--cut", "cuts", type=click.IntRange(10, 90), multiple=True, metavar="PERCENT",
    help="Ask for the rest of an item after this share of it too; 40 and 60 when not given. 50 decides.",
)  # fmt: skip
@click.option(
    "--mode", type=click.Choice(MODES), default="chat", show_default=True,
    help="Ask in words, or send the beginning alone, for columns that complete text.",
)  # fmt: skip
@click.option("--without-famous", is_flag=True, help="Leave out the famous texts, which measure the power.")
@json_option
def completion(
    *,
    benchmark: str | None,
    layer: str,
    items: tuple[str, ...],
    controls: tuple[str, ...],
    most_controls: int,
    cuts: tuple[int, ...],
    mode: str,
    without_famous: bool,
    **asking: Any,
) -> int:
    """Send half of each item of BENCHMARK out, ask for the rest, and mark what comes back almost verbatim.

    Controls, which no column can have seen, are asked for in the same way: half of them set how much must come
    back for a mark, so that at most 1 % of them are marked; the others measure how often that mark is wrong.
    Famous texts measure how much the probe can find at all. BENCHMARK may be left out where there is only one.
    """
    from lacre.cli.probe_making import completion_probe  # noqa: PLC0415 - keeps --help fast
    from lacre.cli.probe_work import Wish, begin  # noqa: PLC0415

    made = completion_probe(
        benchmark, layer, items, controls, most_controls, cuts=cuts, mode=mode, famous=not without_famous
    )
    return begin(made, Wish(**asking))


@probe.command(epilog=example("lacre probe options exemplo --layer open --column local --dry-run"))
@together((*_ITEMS, *_ASKING))
@json_option
def options(
    *,
    benchmark: str | None,
    layer: str,
    items: tuple[str, ...],
    controls: tuple[str, ...],
    most_controls: int,
    **asking: Any,
) -> int:
    """Mask one wrong option of each choice item of BENCHMARK, and ask for it.

    A second signal, independent of the completion probe: nobody can work out how a wrong option is worded. It
    marks no item; it says how much oftener items are hit than controls.
    """
    from lacre.cli.probe_making import options_probe  # noqa: PLC0415 - keeps --help fast
    from lacre.cli.probe_work import Wish, begin  # noqa: PLC0415

    return begin(options_probe(benchmark, layer, items, controls, most_controls), Wish(**asking))


@probe.command(
    epilog=example(
        "lacre probe canary --column local --dry-run"
        ' --text "CANARY 01234567-89ab-cdef-0123-456789abcdef: made up for this example"'
    )
)
@together(_ASKING)
@click.option(
    "--text", metavar="LINE", help="This canary, in the place of that in canary/canary.toml of the workspace."
)
@json_option
def canary(
    *,
    text: str | None,
    **asking: Any,
) -> int:
    """Ask for the canary's own string, and for the true one among invented ones.

    Evidence, not proof: a column that knows the canary has read some file or page that holds it, perhaps not
    the items; one that does not know it may have read them without it.
    """
    from lacre.cli.probe_making import canary_of  # noqa: PLC0415 - keeps --help fast
    from lacre.cli.probe_work import Wish, begin  # noqa: PLC0415

    return begin(canary_of(text), Wish(**asking))


@probe.command(
    epilog=example(
        "lacre probe completion exemplo --layer open --column local --out probes/first",
        "lacre probe resume probes/first",
    )
)
@_PROBE
@click.option(
    "--budget", metavar="USD", help="Dollars for the whole probe, in the place of those it began with."
)
@click.option("--failed", is_flag=True, help="Ask once more what had failed to the end.")
@json_option
def resume(*, folder: Path, budget: str | None, failed: bool, as_json: bool) -> int:
    """Go on with the probe in folder PROBE; nothing that was answered is asked again."""
    from lacre.cli.probe_work import go_on  # noqa: PLC0415 - keeps --help fast

    return go_on(folder, budget=budget, failed=failed, as_json=as_json)


@probe.command(
    epilog=example(
        "lacre probe completion exemplo --layer open --column local --out probes/first",
        "lacre probe report probes/first --plot probe.svg",
    )
)
@_PROBE
@click.option("--list", "listing", is_flag=True, help="List the items seen, instead of the figures.")
@plot_option
@json_option
def report(*, folder: Path, listing: bool, plot: Path | None, as_json: bool) -> int:
    """Say what the probe in folder PROBE found, and how far that may be believed; also what it cost.

    The findings are made anew from the replies, and marks.jsonl is written anew.
    """
    from lacre.cli.answers import check_figure  # noqa: PLC0415 - keeps --help fast
    from lacre.cli.probe_work import finish, opened  # noqa: PLC0415

    check_figure(plot)
    place = opened(folder)
    return finish(place, as_json=as_json, listing=listing, plot=plot)


@probe.command(
    epilog=example("lacre probe freshness exemplo --column local --on 2026-06-01"),
)
@click.argument("benchmark", required=False, metavar="[BENCHMARK]")
@click.option(
    "--run", "runs", multiple=True, type=click.Path(path_type=Path), metavar="DIR",
    help="The folder of a run or a probe: when its columns were asked; again for more.",
)  # fmt: skip
@click.option("--column", "ids", multiple=True, metavar="ID", help="With --on: this column; again for more.")
@click.option("--on", "day", metavar="YYYY-MM-DD", help="In the place of a run: the day on which it will be.")
@json_option
def freshness(
    *,
    benchmark: str | None,
    runs: tuple[Path, ...],
    ids: tuple[str, ...],
    day: str | None,
    as_json: bool,
) -> None:
    """Say for each exam how many days passed from its key's publication to the run, column by column.

    The latest exam comes first. Where a date is known to the month or the year only, the days are a span.
    "Before" and "after" are the exam's date against the column's declared cutoff.
    """
    from lacre.cli.probe_making import freshness_of  # noqa: PLC0415 - keeps --help fast
    from lacre.cli.probe_tables import print_freshness  # noqa: PLC0415

    if bool(runs) == (day is not None):
        raise InputError("probe freshness", "takes --run, or --on with --column", "Give one of the two")
    print_freshness(freshness_of(benchmark, runs, ids, day), as_json=as_json)
