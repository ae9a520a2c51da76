"""``lacre round``: freeze, split, rotate, and let outsiders check it. Its verbs, brought together."""

from __future__ import annotations

import click

from lacre.cli.output import example
from lacre.cli.round_audit import audit
from lacre.cli.round_close import rotate, split
from lacre.cli.round_freeze import freeze
from lacre.cli.round_items import supersede, void, waive
from lacre.cli.round_plan import plan, status


@click.group(epilog=example("lacre round status", "lacre round audit"))
def round() -> None:
    """Open private items on schedule, by a draw that nobody can steer and anybody can repeat.

    A closing has two steps. `freeze` fixes the items and names randomness that does not exist yet; publish its
    file, and have it time-stamped. When the randomness is out, `split` (the first time) or `rotate` (from then
    on) carries the draw out. `audit` repeats all of it from the public files alone.
    """


for _verb in (status, plan, freeze, split, rotate, void, waive, supersede, audit):
    round.add_command(_verb)
