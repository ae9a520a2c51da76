"""``lacre round audit``: every freeze and every draw again, from the public files alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lacre.cli.output import example, json_option, print_json
from lacre.cli.round_ground import BENCHMARK, ground_of, moment_of, now
from lacre.cli.round_tables import print_audit
from lacre.errors import Exit, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lacre.rotation.audit import StampCheck
    from lacre.rotation.standing import Noted


@click.command(epilog=example("lacre round audit", "lacre round audit --json"))
@click.option("--key", metavar="FINGERPRINT", help="The ledger's first key, as you know it from elsewhere.")
@click.option(
    "--roots", type=click.Path(path_type=Path), metavar="PEM",
    help="Certificates of the time-stamping authorities that you trust; stamps are checked then.",
)  # fmt: skip
@click.option(
    "--published", multiple=True, metavar="SHA256",
    help="A freeze file's hash, as you noted it before the hour of its draw; again for more.",
)  # fmt: skip
@click.option(
    "--witness", "witnesses", multiple=True, type=click.Path(path_type=Path), metavar="DIR|FILE",
    help="A copy of the public files, or of the ledger, that you took before the hour; again for more.",
)  # fmt: skip
@click.option("--at", "when", metavar="TIME", help="Audit as of this time; now when not given.")
@BENCHMARK
@json_option
def audit(
    *,
    key: str | None,
    roots: Path | None,
    published: tuple[str, ...],
    witnesses: tuple[Path, ...],
    when: str | None,
    benchmark: str | None,
    as_json: bool,
) -> int:
    """Repeat every freeze and every draw from the public files alone, and name all that does not hold.

    It needs no vault, no key and no network: run it on your own copy of the registry. A time stamp shows that a
    freeze existed in time, not that it was the only one: that takes what you noted before the hour (--published,
    --witness). Exit code: 3 when something does not hold.
    """
    from lacre.rotation.audit import audit as audited  # noqa: PLC0415 - keeps --help fast

    ground = ground_of(benchmark)
    found = audited(
        ground.workspace.registry,
        ground.name,
        ground.rules,
        at=now() if when is None else moment_of(when, "--at"),
        key=key,
        stamped=None if roots is None else _stamp_check(roots),
        noted=_noted(published, witnesses),
    )
    if as_json:
        print_json(found)
    else:
        print_audit(found)
    return int(Exit.INTEGRITY if found.findings else Exit.CLEAN)


def _noted(published: Sequence[str], witnesses: Sequence[Path]) -> Noted:
    """What a person kept from before a draw."""
    from lacre.rotation.standing import Noted, read_witness  # noqa: PLC0415 - keeps --help fast

    for text in published:
        if not re.fullmatch(r"[0-9a-f]{64}", text):
            raise InputError(f"--published {text}", "is no SHA-256", "Give the 64 hex digits that you noted")
    return Noted(published=tuple(published), witnesses=tuple((str(p), read_witness(p)) for p in witnesses))


def _stamp_check(roots: Path) -> StampCheck:
    """Checks time stamps against the authorities of a file of certificates."""
    from lacre.rotation.beacon import moment  # noqa: PLC0415 - keeps --help fast
    from lacre.rotation.records import STAMP_FILE  # noqa: PLC0415
    from lacre.sealing.timestamps import read_certificates, verify  # noqa: PLC0415

    certificates = read_certificates(roots)
    return lambda reply, content: moment(verify(reply, content, certificates, STAMP_FILE).at)
