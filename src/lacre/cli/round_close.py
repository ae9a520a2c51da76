"""``lacre round split`` and ``rotate``: what the draw opens, opened."""

from __future__ import annotations

from pathlib import Path

import click

from lacre.cli.holding import IDENTITY, opened, signing_key
from lacre.cli.options import together
from lacre.cli.output import example, json_option, print_json, quoted
from lacre.cli.round_ground import BENCHMARK, KEY, VAULT, Ground, ground_of, now
from lacre.cli.round_tables import print_closing

_BEACON = click.option(
    "--beacon-file", "beacon", required=True, type=click.Path(path_type=Path), metavar="FILE",
    help="The randomness that was frozen, as its source publishes it.",
)  # fmt: skip
_CLOSING = together((_BEACON, VAULT, IDENTITY, KEY, BENCHMARK, json_option))


@click.command(
    epilog=example(
        "lacre round split --beacon-file ../draw-5900.json \\\n"
        "    --vault ../vault --identity ../operator.txt --key ../team.key"
    )
)
@_CLOSING
def split(
    *,
    beacon: Path,
    folder: Path,
    identity: Path | None,
    key_file: Path,
    benchmark: str | None,
    as_json: bool,
) -> None:
    """Carry out the first draw: part of the new items opens, the rest stays private.

    All of it happens or nothing. The same call again changes nothing.
    """
    _close(ground_of(benchmark), beacon, folder, identity, key_file, first=True, as_json=as_json)


@click.command(
    epilog=example(
        "lacre round rotate --beacon-file ../draw-5900.json \\\n"
        "    --vault ../vault --identity ../operator.txt --key ../team.key"
    )
)
@_CLOSING
def rotate(
    *,
    beacon: Path,
    folder: Path,
    identity: Path | None,
    key_file: Path,
    benchmark: str | None,
    as_json: bool,
) -> None:
    """Carry out a rotation: half of the private items opens; what has been private too long opens too.

    All of it happens or nothing. The same call again changes nothing. `lacre round plan` then says how many
    items to write for each cell.
    """
    _close(ground_of(benchmark), beacon, folder, identity, key_file, first=False, as_json=as_json)


def _close(
    ground: Ground,
    beacon: Path,
    folder: Path,
    identity: Path | None,
    key_file: Path,
    *,
    first: bool,
    as_json: bool,
) -> None:
    """Carry out a closing and print what it did."""
    from lacre.jsonl import read_bytes  # noqa: PLC0415 - keeps --help fast
    from lacre.rotation.steps import close_round  # noqa: PLC0415

    content, key = read_bytes(beacon), signing_key(key_file)
    with opened(folder, identity, ground.workspace) as vault:
        record = close_round(
            vault,
            ground.root,
            ground.name,
            ground.rules,
            content,
            now=now(),
            first=first,
            signer=key,
            where=str(beacon),
        )
    if as_json:
        print_json(record)
    else:
        print_closing(record, _opening(ground, folder, identity))


def _opening(ground: Ground, folder: Path, identity: Path | None) -> str | None:
    """The command that opens the scores of what opened; none where no scored run was shown any of it."""
    from lacre.registry.sealed_runs import sealed_runs  # noqa: PLC0415 - keeps --help fast

    public = ground.public()
    runs = sealed_runs(public.ledger, ground.name).values()
    if not any(run.result is not None and run.shown & public.history.opened.keys() for run in runs):
        return None
    who = "" if identity is None else f" --identity {quoted(identity)}"
    return f"lacre run open-scores --vault {quoted(folder)}{who}"
