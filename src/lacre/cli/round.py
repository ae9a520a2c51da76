"""``lacre round``: freeze, split, rotate, and let outsiders check it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from lacre.cli.holding import IDENTITY, opened, signing_key
from lacre.cli.output import example, json_option, print_json, say
from lacre.cli.round_ground import Ground, ground_of, moment_of, now, one_item
from lacre.cli.round_tables import counted, print_audit, print_closing, print_frozen, print_plan, print_status
from lacre.errors import Exit, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lacre.rotation.audit import StampCheck
    from lacre.rotation.plan import Plan
    from lacre.rotation.records import Frozen, Must
    from lacre.rotation.standing import Noted

REASONS = ("leak", "exposure", "defect")

_BENCHMARK = click.option(
    "--benchmark", metavar="NAME", help="Which one, where the workspace has more than one."
)
_KEY = click.option(
    "--key", "key_file", required=True, type=click.Path(path_type=Path), metavar="FILE",
    help="The key that signs, as `lacre key new` made it.",
)  # fmt: skip
_VAULT = click.option(
    "--vault", "folder", required=True, type=click.Path(path_type=Path), metavar="DIR",
    help="The vault with the private items.",
)  # fmt: skip
_BEACON = click.option(
    "--beacon-file", "beacon", required=True, type=click.Path(path_type=Path), metavar="FILE",
    help="The randomness that was frozen, as its source publishes it.",
)  # fmt: skip


@click.group(epilog=example("lacre round status", "lacre round audit"))
def round() -> None:
    """Open private items on schedule, by a draw that nobody can steer and anybody can repeat.

    A closing has two steps. `freeze` fixes the items and names randomness that does not exist yet; publish its
    file, and have it time-stamped. When the randomness is out, `split` (the first time) or `rotate` (from then
    on) carries the draw out. `audit` repeats all of it from the public files alone.
    """


@round.command(epilog=example("lacre round status", "lacre round status --json"))
@_BENCHMARK
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


@round.command(epilog=example("lacre round plan"))
@click.option(
    "--beacon-file", "beacon", type=click.Path(path_type=Path), metavar="FILE",
    help="The randomness, where it is out: the plan is exact then.",
)  # fmt: skip
@_BENCHMARK
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


@round.command(
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
@_VAULT
@IDENTITY
@_KEY
@_BENCHMARK
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


@round.command(
    epilog=example(
        "lacre round split --beacon-file ../draw-5900.json \\\n"
        "    --vault ../vault --identity ../operator.txt --key ../team.key"
    )
)
@_BEACON
@_VAULT
@IDENTITY
@_KEY
@_BENCHMARK
@json_option
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


@round.command(
    epilog=example(
        "lacre round rotate --beacon-file ../draw-5900.json \\\n"
        "    --vault ../vault --identity ../operator.txt --key ../team.key"
    )
)
@_BEACON
@_VAULT
@IDENTITY
@_KEY
@_BENCHMARK
@json_option
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


@round.command(epilog=example("lacre round void pr-03 --reason 'two right answers' --key ../team.key"))
@click.argument("items", nargs=-1, required=True, metavar="ID...")
@click.option("--reason", required=True, metavar="TEXT", help="Why; it is published.")
@_KEY
@_BENCHMARK
@json_option
def void(items: tuple[str, ...], reason: str, key_file: Path, benchmark: str | None, as_json: bool) -> None:
    """Take private items out of all draws to come. They open at the next closing, with the reason.

    A draw that is frozen already is not changed by it.
    """
    from lacre.rotation.steps import void_items  # noqa: PLC0415 - keeps --help fast

    ground = ground_of(benchmark)
    number = void_items(ground.root, ground.name, items, reason, now=now(), signer=signing_key(key_file))
    if as_json:
        print_json({"benchmark": ground.name, "void": list(dict.fromkeys(items)), "reason": reason})
        return
    say(f"{counted(number, 'item')} void: they open at the next closing, and counted in public.")


@round.command(
    epilog=example(
        "lacre round waive pr-07 --reason 'a set phrase' --who 'Review board' \\\n"
        "    --vault ../vault --identity ../operator.txt --key ../team.key"
    )
)
@click.argument("items", nargs=-1, required=True, metavar="ID...")
@click.option("--reason", required=True, metavar="TEXT", help="Why the match does no harm; it is published.")
@click.option("--who", required=True, metavar="NAME", help="Who answers for it; it is published.")
@click.option(
    "--corpus", "corpora", multiple=True, metavar="ID", help="Only for this corpus; again for more."
)
@_VAULT
@IDENTITY
@_KEY
@_BENCHMARK
@json_option
def waive(
    *,
    items: tuple[str, ...],
    reason: str,
    who: str,
    corpora: tuple[str, ...],
    folder: Path,
    identity: Path | None,
    key_file: Path,
    benchmark: str | None,
    as_json: bool,
) -> None:
    """Answer for private items that vetting did not keep, so that they can be frozen. Signed, in the ledger.

    Private items only: what `lacre waive` writes would give a guessable hash of them away. The waiver is about
    the present text; a corrected item needs its own.
    """
    from lacre.rotation.steps import waive_items  # noqa: PLC0415 - keeps --help fast

    ground, key = ground_of(benchmark), signing_key(key_file)
    with opened(folder, identity, ground.workspace) as vault:
        number = waive_items(
            vault,
            ground.root,
            ground.name,
            items=items,
            corpora=corpora,
            who=who,
            reason=reason,
            now=now(),
            signer=key,
        )
    if as_json:
        print_json({"benchmark": ground.name, "waived": list(dict.fromkeys(items)), "who": who})
        return
    say(f"{counted(number, 'item')} waived by {who}; the ledger says so.")


@round.command(
    epilog=example(
        "lacre round supersede pr-02 ../corrected.jsonl --reason 'a comma' \\\n"
        "    --vault ../vault --identity ../operator.txt --key ../team.key"
    )
)
@click.argument("old", metavar="ID")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--reason", required=True, metavar="TEXT", help="Why; it is published.")
@click.option(
    "--map", "maps", multiple=True, metavar="FIELD=COLUMN,...", help="Columns of other names; join with +."
)
@click.option("--key-index", type=click.Choice(["0", "1"]), help="Keys count the options, from 0 or from 1.")
@_VAULT
@IDENTITY
@_KEY
@_BENCHMARK
@json_option
def supersede(
    *,
    old: str,
    file: Path,
    reason: str,
    maps: tuple[str, ...],
    key_index: str | None,
    folder: Path,
    identity: Path | None,
    key_file: Path,
    benchmark: str | None,
    as_json: bool,
) -> None:
    """Replace a private item by the corrected one in FILE, which has an id of its own.

    FILE is what `lacre vault add` takes: a record, or a table of one row with columns id, stem, options and key.
    The correction keeps cell, batch and age. The old item's commitment opens together with it.
    """
    from lacre.rotation.steps import supersede_item  # noqa: PLC0415 - keeps --help fast

    ground = ground_of(benchmark)
    new, key = one_item(file, ground, old, maps, key_index), signing_key(key_file)
    with opened(folder, identity, ground.workspace) as vault:
        row = supersede_item(
            vault, ground.root, ground.name, old=old, new=new, reason=reason, now=now(), signer=key
        )
    if as_json:
        print_json({"item": old, "by": row})
        return
    say(f"'{row.id}' replaces '{old}'. Vet it before the next freeze, with `lacre vet --vault`.")
    say(f"The text still stands in {file}: remove it, for instance with `shred -u {file}`.")


@round.command(epilog=example("lacre round audit", "lacre round audit --json"))
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
@_BENCHMARK
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
        print_closing(record)


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
