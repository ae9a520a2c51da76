"""``lacre round freeze``: the ground of the next draw, fixed before its randomness exists."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from lacre.cli.holding import IDENTITY, opened, signing_key
from lacre.cli.output import example, json_option, print_json
from lacre.cli.round_ground import BENCHMARK, KEY, VAULT, Ground, ground_of, moment_of, now
from lacre.cli.round_tables import print_frozen
from lacre.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lacre.rotation.records import Frozen, Must

REASONS = ("leak", "exposure", "defect")


@click.command(
    epilog=example(
        "lacre round freeze --randomness drand:quicknet --due 2099-01-16T19:00-03:00 \\\n"
        "    --vault ../vault --identity ../operator.txt --key ../team.key"
    )
)
@click.option(
    "--randomness", required=True, metavar="SOURCE",
    help="drand:quicknet, drand:default (with :ROUND, or --due for the first one then), or "
    "loteria-federal:DRAW with --due.",
)  # fmt: skip
@click.option("--due", metavar="TIME", help="When it comes out, such as 2027-01-16T19:00-03:00.")
@click.option(
    "--force", "forces", multiple=True, metavar="ID=REASON",
    help=f"This item opens whatever the draw says; REASON is one of {', '.join(REASONS)}.",
)  # fmt: skip
@click.option(
    "--require", "required", multiple=True, metavar="CORPUS",
    help="Items must be kept against this corpus, besides those that the benchmark requires.",
)  # fmt: skip
@click.option(
    "--again", metavar="REASON",
    help="Give up the freeze that waits, for randomness that never came. It is published, and the audit of "
    "this closing fails for ever.",
)  # fmt: skip
@click.option("--authority", metavar="URL", help="Have the freeze stamped by this RFC 3161 authority.")
@VAULT
@IDENTITY
@KEY
@BENCHMARK
@json_option
def freeze(
    *,
    randomness: str,
    due: str | None,
    forces: tuple[str, ...],
    required: tuple[str, ...],
    again: str | None,
    authority: str | None,
    folder: Path,
    identity: Path | None,
    key_file: Path,
    benchmark: str | None,
    as_json: bool,
) -> None:
    """Fix the ground of the next draw, signed, and name the public randomness that will decide it.

    Refused: randomness that is due already, and items that vetting does not keep, for their present text,
    against every required corpus, unless a waiver covers them.
    """
    from lacre.cli.vet_ground import corpus_grounds  # noqa: PLC0415 - keeps --help fast
    from lacre.rotation.beacon import named  # noqa: PLC0415
    from lacre.rotation.running import under_way  # noqa: PLC0415
    from lacre.rotation.steps import freeze_round  # noqa: PLC0415

    ground = ground_of(benchmark)
    source = named(randomness, None if due is None else moment_of(due))
    forced = _forced(forces)
    key = signing_key(key_file)
    with opened(folder, identity, ground.workspace) as vault:
        frozen = freeze_round(
            vault,
            ground.root,
            ground.name,
            ground.rules,
            source,
            now=now(),
            required=sorted({*ground.required, *required}),
            signer=key,
            forced=forced,
            again=again,
            grounds=corpus_grounds(ground.workspace),
        )
    stamp = None if authority is None else _stamped(ground, frozen, authority)
    if as_json:
        print_json(frozen)
    else:
        print_frozen(frozen, ground.folder(frozen.number), stamp, under_way(ground.public()))


def _forced(texts: Sequence[str]) -> dict[str, Must]:
    """Items to force, with the reason of each."""
    found: dict[str, Must] = {}
    for text in texts:
        item, equals, reason = text.partition("=")
        if not (item and equals) or reason not in REASONS:
            raise InputError(f"--force {text}", "is not ID=REASON", f"REASON is one of {', '.join(REASONS)}")
        found[item] = cast("Must", reason)
    return found


def _stamped(ground: Ground, frozen: Frozen, authority: str) -> str:
    """When an authority says that the freeze existed; the stamp is written beside it.

    The freeze stands whatever happens here: a stamp can also be had by hand.
    """
    from lacre.errors import ColumnError  # noqa: PLC0415 - keeps --help fast
    from lacre.jsonl import write_bytes  # noqa: PLC0415
    from lacre.rotation.records import FREEZE_FILE, STAMP_FILE  # noqa: PLC0415
    from lacre.sealing.timestamps import post, stamp  # noqa: PLC0415

    folder = ground.folder(frozen.number)
    try:
        write_bytes(folder / STAMP_FILE, stamp((folder / FREEZE_FILE).read_bytes(), authority, post))
    except ColumnError as error:
        raise ColumnError(
            f"{error}\nThe freeze stands. Have {folder / FREEZE_FILE} stamped in another way before its "
            f"randomness is out, and write the answer to {folder / STAMP_FILE}."
        ) from None
    return authority
