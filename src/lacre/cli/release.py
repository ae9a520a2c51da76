"""``lacre release``: build, verify, publish, compare."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lacre.cli.guard import guarded, release_guard
from lacre.cli.holding import IDENTITY, signing_key
from lacre.cli.output import LiveLine, example, json_option, print_json, print_table, say
from lacre.cli.round_ground import moment_of, now
from lacre.errors import Exit, InputError, IntegrityError, sentence

if TYPE_CHECKING:
    from collections.abc import Callable

    from lacre.registry.workspace import Workspace
    from lacre.release.build import Guard
    from lacre.release.verify import Outcome

_VAULT = click.option(
    "--vault", "vault", type=click.Path(path_type=Path), metavar="DIR",
    help="The vault, whose items must be nowhere in the release.",
)  # fmt: skip


@click.group(epilog=example("lacre release verify releases/first"))
def release() -> None:
    """Build a release, verify one, publish it, see what changed.

    A release is a folder, and one tar of it, with everything public of a benchmark: items, openings,
    commitments, ledger, results, prompts, the program. SHA256SUMS lists every file, one signature covers the
    list, and verify.py inside checks all of it with nothing installed.
    """


@release.command(
    epilog=example("lacre release build 2026-1 --key ../team.key --vault ../vault --identity ../operator.txt")
)
@click.argument("name")
@click.option(
    "--benchmark",
    "benchmarks",
    multiple=True,
    metavar="NAME",
    help="Only this one; again for more. Else all.",
)
@click.option(
    "--key", "key_file", required=True, type=click.Path(path_type=Path), metavar="FILE",
    help="The key that signs, as `lacre key new` made it.",
)  # fmt: skip
@_VAULT
@IDENTITY
@click.option(
    "--run", "runs", multiple=True, type=click.Path(path_type=Path), metavar="DIR",
    help="The folder of a run on public items, whose raw answers go in; again for more.",
)  # fmt: skip
@click.option(
    "--results", multiple=True, type=click.Path(path_type=Path), metavar="PATH",
    help="A file or folder of results; again for more.",
)  # fmt: skip
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("releases"), show_default=True, metavar="DIR",
    help="The folder that gets NAME and NAME.tar.",
)  # fmt: skip
@click.option(
    "--at", metavar="TIME", help="When it is made, such as 2027-01-16T19:00-03:00; now if not given."
)
@click.option(
    "--next-due",
    metavar="TIME",
    help="When the next one is due; as many months later as a round lasts if not given.",
)
@click.option("--authority", metavar="URL", help="Have the signature stamped by this RFC 3161 authority.")
@json_option
def build(
    *,
    name: str,
    benchmarks: tuple[str, ...],
    key_file: Path,
    vault: Path | None,
    identity: Path | None,
    runs: tuple[Path, ...],
    results: tuple[Path, ...],
    out: Path,
    at: str | None,
    next_due: str | None,
    authority: str | None,
    as_json: bool,
) -> None:
    """Build release NAME: gathered, marked with the canary, guarded, hashed, signed and verified.

    All of it appears or nothing: the folder, its tar, manifests/NAME, and a line in the ledger, which is the
    first of the next round. Called again after an interruption, it finishes. Stops, and says all of it, when
    an official item lacks its booklet or dates, or a public file holds anything private.
    """
    from lacre.registry.workspace import Workspace  # noqa: PLC0415 - keeps --help fast
    from lacre.release.build import build as build_release  # noqa: PLC0415
    from lacre.release.describe import Order  # noqa: PLC0415

    workspace = Workspace.find(Path.cwd())
    order = Order(
        name=name,
        benchmarks=_benchmarks(workspace, benchmarks),
        out=out,
        at=_time("--at", at) or now(),
        next_due=_time("--next-due", next_due),
        runs=runs,
        results=results,
    )
    guard = _guard(workspace, order.benchmarks, vault, identity)
    key, stamp = signing_key(key_file), None if authority is None else _stamp(authority)
    built = build_release(workspace.root, order, key, guard, say, stamp=stamp)
    for left in built.left_out:
        say(f"{left}: left out, for no release holds such a file")
    if as_json:
        print_json(built)
        return
    rest = "; an interrupted call had built it, and this one did the rest" if built.finished else ""
    click.echo(f"{built.folder}: {built.files} files, {built.bytes:,} bytes, and {built.tar}{rest}")
    click.echo(f"package {built.package}, signed by key {built.key}")
    say(
        f"The guard looked for {built.guarded} private items and found none. `lacre release publish` sends it out."
    )


@release.command(
    epilog=example("lacre release verify releases/first", "lacre release verify releases/first.tar --json")
)
@click.argument("place", metavar="DIR|TAR|URL")
@click.option(
    "--key", metavar="FINGERPRINT", help="Who must have signed: 64 hex digits, known from elsewhere."
)
@click.option(
    "--previous", multiple=True, type=click.Path(path_type=Path), metavar="DIR|TAR",
    help="A release that you trust, which this one must go on from; again for more.",
)  # fmt: skip
@click.option(
    "--roots", type=click.Path(path_type=Path), metavar="PEM",
    help="Certificates of the time-stamping authorities that you trust; the release's stamp is checked then.",
)  # fmt: skip
@json_option
def verify(place: str, key: str | None, previous: tuple[Path, ...], roots: Path | None, as_json: bool) -> int:
    """Verify a release: names, files, signature, ledger, earlier releases, commitments, openings, draws.

    One line for each check, then what is proved and what is not. The same program as verify.py inside every
    release. URL: of a tar, of a folder, or hf://datasets/ORG/NAME@REVISION.

    \b
    Exit codes: 0 authentic, 1 integrity only (neither --key nor --previous), 3 something does not hold.
    """
    from lacre.release import verify as verifier  # noqa: PLC0415 - keeps --help fast
    from lacre.release.fetch import fetched, is_elsewhere  # noqa: PLC0415

    if key is not None and (len(key) != 64 or set(key.lower()) - set("0123456789abcdef")):
        raise InputError("--key", "is not a fingerprint", "Give its 64 hex digits")
    with ExitStack() as stack:
        meter = LiveLine(sys.stderr.isatty())
        stack.callback(meter.close)
        here: str | Path = place
        if is_elsewhere(place):
            room = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lacre-")))
            here = fetched(place, room, _shown(meter, "fetched"))
        hashed = _shown(meter, "hashed")
        outcome = verifier.verify(here, key=key, previous=previous, progress=lambda done, _: hashed(done))
        meter.close()
        stamped = None
        if roots is not None and outcome.verdict != "failed":
            stamped = _stamped(here, roots, place)
    _print(outcome, place, as_json, stamped)
    return outcome.exit_code


@release.command(
    epilog=example(
        "lacre release publish releases/first --to ../mirror --yes",
        "lacre release publish releases/first --to hf://datasets/org/exemplo",
    )
)
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--to", required=True, metavar="hf://datasets/ORG/NAME|DIR", help="Where to.")
@click.option("--yes", is_flag=True, help="Do it. Without it nothing is sent, only shown.")
@json_option
def publish(folder: Path, to: str, yes: bool, as_json: bool) -> None:
    """Publish a release of this workspace; without --yes only show what would be sent.

    Refused: what the guard has not passed, and what does not verify. A dataset of the Hugging Face Hub holds
    exactly the release afterwards, in one commit tagged with its name; the revision is noted in manifests/.
    An interrupted call is made again, and sends only what is not there. The token is the one that `hf auth
    login` or HF_TOKEN keeps.
    """
    # Files go by their SHA-256, so that what arrived is known and not sent again.
    os.environ.setdefault("HF_HUB_DISABLE_XET", "1")
    from lacre.registry.workspace import Workspace  # noqa: PLC0415 - keeps --help fast
    from lacre.release.fetch import HUB, repository  # noqa: PLC0415
    from lacre.release.publish import shipment, to_folder, to_hub  # noqa: PLC0415
    from lacre.rotation.beacon import instant  # noqa: PLC0415

    root = Workspace.find(Path.cwd()).root
    hub = to.startswith(HUB)
    if hub:
        repository(to)
    ship = shipment(root, folder)
    if not yes:
        if as_json:
            print_json({"dry_run": True, "to": to, "shipment": ship})
            return
        click.echo(f"{to} would get {ship.files} files, {ship.bytes:,} bytes, package {ship.package}")
        say("Nothing was sent. Add --yes to publish it.")
        return
    at = instant(now())
    if hub:
        from huggingface_hub import HfApi  # noqa: PLC0415 - heavy

        done = to_hub(root, folder, to, ship, HfApi(), at=at, say=say)
    else:
        done = to_folder(root, folder, Path(to), ship, at=at)
    if as_json:
        print_json(done)
    else:
        click.echo(f"{done.to}: package {done.package}")


@release.command(epilog=example("lacre release diff releases/first releases/second.tar"))
@click.argument("before", type=click.Path(path_type=Path), metavar="A")
@click.argument("after", type=click.Path(path_type=Path), metavar="B")
@json_option
def diff(before: Path, after: Path, as_json: bool) -> int:
    """Show what changed from release A to release B: items, files, results, rules, what is sealed.

    Both are verified first. Exit code: 1 when something differs, else 0.
    """
    from lacre.release.diff import diff as compare  # noqa: PLC0415 - keeps --help fast

    found = compare(before, after)
    if as_json:
        print_json(found)
    else:
        rows = [
            (each.kind, each.what, each.name, each.before or "", each.after or "")
            for each in found.differences
        ]
        print_table(("kind", "what", "name", "before", "after"), rows, whole=("name",))
        say(f"{found.before} -> {found.after}: {len(rows)} differences")
    return int(Exit.FINDING if found.differences else Exit.CLEAN)


release.add_command(release_guard)


def _benchmarks(workspace: Workspace, named: tuple[str, ...]) -> tuple[str, ...]:
    known = workspace.benchmarks()
    if not known:
        raise InputError(workspace.registry, "has no benchmark yet", "Write registry/NAME/benchmark.toml")
    for name in named:
        workspace.benchmark(name)
    return tuple(sorted(set(named))) or known


def _time(option: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return moment_of(text)
    except InputError as error:
        raise InputError(option, str(error).partition(": ")[2]) from None


def _guard(
    workspace: Workspace, benchmarks: tuple[str, ...], vault: Path | None, identity: Path | None
) -> Guard:
    """The guard: with the vault, or without one where nothing was ever sealed.

    Raises:
        InputError: items were sealed, and no vault is given.
    """
    if vault is not None:
        return guarded(vault, identity, workspace)
    from lacre.release.guard import inspect, refuse  # noqa: PLC0415 - keeps --help fast
    from lacre.release.guard_watch import watch  # noqa: PLC0415
    from lacre.rotation.public import read_public  # noqa: PLC0415

    for name in benchmarks:
        if read_public(workspace.registry, name).history.batches:
            raise InputError(
                "--vault", f"{name} has sealed items, and the release must hold none", "Name the vault"
            )

    def look(folder: Path, _: object) -> int:
        report = inspect(folder, watch(None, workspace)).report
        refuse(report)
        return report.items

    return look


def _stamp(authority: str) -> Callable[[bytes], bytes]:
    from lacre.sealing.timestamps import post, stamp  # noqa: PLC0415 - keeps --help fast

    return lambda content: stamp(content, authority, post)


def _stamped(here: str | Path, roots: Path, place: str) -> str:
    """Since when the release existed, on the word of an authority.

    Raises:
        IntegrityError: there is no stamp, or none that one of the roots stands for.
    """
    from lacre.release.verify import ENVELOPE, STAMP, tree_of  # noqa: PLC0415 - keeps --help fast
    from lacre.sealing.timestamps import read_certificates, verify  # noqa: PLC0415

    tree = tree_of(here)
    if STAMP not in tree.files:
        raise IntegrityError(sentence(place, f"has no {STAMP}", "Leave out --roots"))
    found = verify(tree.read(STAMP), tree.read(ENVELOPE), read_certificates(roots), f"{place}: {STAMP}")
    return f"existed at {found.at}, says {found.authority}"


def _shown(meter: LiveLine, what: str) -> Callable[[int], None]:
    """Progress in megabytes, one line for each hundred, or live on a terminal."""
    last = 0

    def show(done: int) -> None:
        nonlocal last
        step = done // (1_000_000 if meter.live else 100_000_000)
        if step > last:
            last = step
            meter.show(f"{done / 1e6:,.0f} MB {what}")

    return show


def _print(outcome: Outcome, place: str, as_json: bool, stamped: str | None) -> None:
    from lacre.release import verify as verifier  # noqa: PLC0415 - keeps --help fast

    if as_json:
        print_json({**verifier.as_json(outcome), "where": place, "stamp": stamped})
        return
    text = verifier.told(outcome).replace(outcome.where, place, 1)
    if stamped is not None:
        # Before the verdict, which is the last line.
        lines = text.split("\n")
        text = "\n".join([*lines[:-2], "", f"Time stamp: {stamped}.", *lines[-2:]])
    click.echo(text)
