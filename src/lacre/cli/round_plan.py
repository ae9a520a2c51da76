"""``lacre round status`` and ``plan``: where the round stands, and what its end will open."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lacre.cli.output import example, json_option, print_json
from lacre.cli.round_ground import BENCHMARK, Ground, ground_of, now
from lacre.cli.round_tables import print_plan, print_status
from lacre.errors import Exit, InputError

if TYPE_CHECKING:
    from lacre.rotation.plan import Plan


@click.command(epilog=example("lacre round status", "lacre round status --json"))
@BENCHMARK
@json_option
def status(benchmark: str | None, as_json: bool) -> int:
    """Say which round it is, when it ends, what is overdue, who reaches the age cap, and whether sizes hold.

    Exit code: 1 when something is overdue or a cell is short, else 0.
    """
    from lacre.rotation.calendar import calendar  # noqa: PLC0415 - keeps --help fast

    ground = ground_of(benchmark)
    planned = _plan(ground, None)
    found = calendar(ground.public(), ground.rules, ground.matrix(), planned, now())
    if as_json:
        print_json(found)
    else:
        print_status(found)
    late = found.overdue or found.draw_overdue
    return int(Exit.FINDING if late or not found.sizes_hold else Exit.CLEAN)


@click.command(epilog=example("lacre round plan"))
@click.option(
    "--beacon-file", "beacon", type=click.Path(path_type=Path), metavar="FILE",
    help="The randomness, where it is out: the plan is exact then.",
)  # fmt: skip
@BENCHMARK
@json_option
def plan(beacon: Path | None, benchmark: str | None, as_json: bool) -> None:
    """Show for each cell of the matrix: private now, opens, stays, to be written.

    Before the randomness is out, a cell that does not divide shows the least and the most.
    """
    found = _plan(ground_of(benchmark), beacon)
    if as_json:
        print_json(found)
    else:
        print_plan(found)


def _plan(ground: Ground, beacon: Path | None) -> Plan:
    """The plan of the next closing; exact where its randomness is given."""
    from lacre.jsonl import read_bytes  # noqa: PLC0415 - keeps --help fast
    from lacre.rotation.beacon import come_out  # noqa: PLC0415
    from lacre.rotation.closing import pending, repeat  # noqa: PLC0415
    from lacre.rotation.plan import plan as planned  # noqa: PLC0415

    public = ground.public()
    frozen = None if public.history.pending is None else pending(public).frozen
    drawn = None
    if beacon is not None:
        if frozen is None:
            raise InputError("--beacon-file", "no draw is frozen", "Leave it out, or freeze first")
        drawn = repeat(frozen, come_out(frozen.source, read_bytes(beacon), str(beacon))).drawn
    return planned(public, ground.rules, ground.matrix(), frozen, drawn)
