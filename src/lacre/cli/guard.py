"""``lacre guard``: refuse public files that hold private words; the same as a git hook, and before each release."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lacre.cli.holding import IDENTITY, identity_of, opened
from lacre.cli.output import LiveLine, example, json_option, print_json, print_table, say
from lacre.errors import Exit, InputError

if TYPE_CHECKING:
    from lacre.registry.workspace import Workspace
    from lacre.release.guard import Inspection, Report
    from lacre.sealing.vault import Vault

_VAULT = click.option(
    "--vault", "folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="The vault whose items are looked for. Without it only what needs no secret is.",
)  # fmt: skip
_NEEDED = click.option(
    "--vault", "folder", required=True, type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="The vault.",
)  # fmt: skip


@click.group(epilog=example("lacre guard check page.txt"))
def guard() -> None:
    """Refuse files that hold private text, images, nonces or keys, or that tell who reviewed.

    Text is found escaped, encoded, in archives and in metadata too. A hit names file and item, never the text.
    """


@guard.command(epilog=example("lacre guard check page.txt --vault ../vault --identity ../operator.txt"))
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@_VAULT
@IDENTITY
@json_option
def check(paths: tuple[Path, ...], folder: Path | None, identity: Path | None, as_json: bool) -> int:
    """Look through PATHS, files and folders. Exits with 1 when something may not go out."""
    files: dict[str, Path | bytes] = {}
    for path in paths:
        files |= _below(path) if path.is_dir() and not path.is_symlink() else {str(path): path}
    return _checked(files, folder, identity, as_json)


@guard.command(epilog=example("lacre guard staged"))
@_VAULT
@IDENTITY
@json_option
def staged(folder: Path | None, identity: Path | None, as_json: bool) -> int:
    """Look through what is staged for the next git commit, as it is staged. This is what the hook runs."""
    names = _git("diff", "--cached", "--name-only", "--diff-filter=ACMRT", "-z").split(b"\0")
    files: dict[str, Path | bytes] = {
        os.fsdecode(name): _git("cat-file", "blob", b":" + name) for name in names if name and _is_blob(name)
    }
    return _checked(files, folder, identity, as_json)


@guard.command(epilog=example("lacre guard install"))
@_VAULT
@click.option(
    "--identity", type=click.Path(path_type=Path), metavar="FILE",
    help="The age identity that opens the vault; the hook asks for it when not given.",
)  # fmt: skip
@json_option
def install(folder: Path | None, identity: Path | None, as_json: bool) -> None:
    """Set up a git hook that runs `lacre guard staged` before each commit, and stops it when there is a hit.

    With a vault, the hook refuses to commit unless it can open it. Without one it looks for what needs no secret, and
    says each time what it did not look for. The hook stays on this machine: git does not copy it.
    """
    from lacre.jsonl import write_bytes  # noqa: PLC0415 - keeps --help fast

    if identity is not None and folder is None:
        raise InputError("--identity", "opens no vault", "Name one with --vault")
    path = Path(os.fsdecode(_git("rev-parse", "--git-path", "hooks").rstrip(b"\n"))) / "pre-commit"
    if path.exists() and _MARK not in path.read_bytes():
        raise InputError(path, "there is another hook already", "Add the line `lacre guard staged` to it")
    words = ["lacre", "guard", "staged"]
    for option, place in (("--vault", folder), ("--identity", identity)):
        words += [option, str(place.resolve())] if place is not None else []
    write_bytes(path, b"#!/bin/sh\n" + _MARK + b"\nexec " + os.fsencode(shlex.join(words)) + b"\n")
    path.chmod(0o755)
    if as_json:
        print_json({"file": str(path), "vault": None if folder is None else str(folder)})
        return
    click.echo(f"{path}: installed")


_MARK = b"# Written by `lacre guard install`."


@guard.command(
    epilog=example(
        "lacre guard excuse pr-00 --words 0-9 --who Ana --why 'a proverb' \\\n"
        "    --vault ../vault --identity ../operator.txt"
    )
)
@click.argument("item")
@click.option(
    "--words", "span", required=True, metavar="FIRST-LAST", help="Words of the item's own text, from 0."
)
@click.option("--who", required=True, metavar="NAME", help="Who answers for it.")
@click.option(
    "--why", required=True, metavar="TEXT", help="Why these words may stand in public; quote none of them."
)
@click.option("--when", metavar="DATE", help="When, as 2026-03-31; today when not given.")
@_NEEDED
@IDENTITY
@json_option
def excuse(
    *,
    item: str,
    span: str,
    who: str,
    why: str,
    when: str | None,
    folder: Path,
    identity: Path | None,
    as_json: bool,
) -> None:
    """Answer for words of ITEM that may stand in public. It is kept in the vault, and void when the item changes."""
    from lacre.registry.workspace import Workspace  # noqa: PLC0415 - keeps --help fast
    from lacre.release.guard_watch import Excused, keep_excused, read_excused  # noqa: PLC0415

    first, _, last = span.partition("-")
    if not (first.isdigit() and last.isdigit() and int(first) <= int(last)):
        raise InputError(f"--words {span}", "is no span of words", "Write it as 3-12")
    with opened(folder, identity, Workspace.search(Path.cwd())) as vault:
        one = Excused(
            item=item,
            commitment=vault.entry(item).row.commitment,
            first=int(first),
            last=int(last) + 1,
            who=who,
            when=when or date.today().isoformat(),
            why=why,
        )
        with vault.change() as change:
            keep_excused(change, {*read_excused(vault), one})
    if as_json:
        print_json({"item": item, "first": one.first, "last": one.last})
        return
    click.echo(f"{item}: words {first} to {last} are excused")


@guard.command(epilog=example("lacre guard excluded --vault ../vault --identity ../operator.txt"))
@_NEEDED
@IDENTITY
@json_option
def excluded(folder: Path, identity: Path | None, as_json: bool) -> None:
    """List what the guard of the last release left out, as the vault keeps it: items, places, reasons; no text."""
    from lacre.registry.workspace import Workspace  # noqa: PLC0415 - keeps --help fast
    from lacre.release.guard_watch import read_excluded  # noqa: PLC0415

    with opened(folder, identity, Workspace.search(Path.cwd())) as vault:
        kept = read_excluded(vault)
    # The phrases of a private item are its words, approved or not.
    rows = [
        (one.item, one.kind, "" if one.kind == "boilerplate" else one.source, one.first, one.last)
        for one in kept
    ]
    if as_json:
        names = ("item", "kind", "source", "first", "last")
        print_json({"excluded": [dict(zip(names, row, strict=True)) for row in rows]})
        return
    print_table(("item", "kind", "source", "first", "last"), rows, right=("first", "last"))
    say(f"{len(rows):,} exclusions.")


@click.command(
    "guard", epilog=example("lacre release guard corpus --vault ../vault --identity ../operator.txt")
)
@click.argument("release", type=click.Path(path_type=Path, exists=True, file_okay=False))
@_NEEDED
@IDENTITY
@json_option
def release_guard(release: Path, folder: Path, identity: Path | None, as_json: bool) -> int:
    """Look through the folder RELEASE for private items. Exits with 1 when something may not go out.

    What was left out, and why, is kept in the vault: `lacre guard excluded` lists it.
    """
    return _checked(_below(release), folder, identity, as_json, keep=True)


def guarded(
    folder: Path, identity: Path | None, workspace: Workspace, tell: Callable[[str], None] = say
) -> Callable[[Path, object], int]:
    """The guard of `lacre release build`: looks through a folder, refuses it, or returns how many items it looked for.

    The vault is not held while the folder is read; what was left out is kept in it afterwards.
    """
    from lacre.release.guard import refuse  # noqa: PLC0415 - keeps --help fast

    who = identity_of(identity)

    def look(release: Path, _: object) -> int:
        report = _inspected(_below(release), folder, who, workspace, keep=True).report
        _say_unsearched(report, tell)
        refuse(report)
        return report.items

    return look


def _checked(
    files: Mapping[str, Path | bytes],
    folder: Path | None,
    identity: Path | None,
    as_json: bool,
    *,
    keep: bool = False,
) -> int:
    from lacre.registry.workspace import Workspace  # noqa: PLC0415 - keeps --help fast

    who = identity_of(identity) if folder is not None else None
    report = _inspected(files, folder, who, Workspace.search(Path.cwd()), keep=keep).report
    if as_json:
        print_json(report)
    else:
        rows = [(hit.file, hit.member, hit.item, hit.kind, hit.why) for hit in report.hits]
        print_table(("file", "in it", "item", "holds", "why"), rows, whole=("item",))
        sys.stdout.flush()
        _say_unsearched(report, say)
        looked = f"{report.items:,} private items were looked for" if folder else _WITHOUT
        say(f"{len(report.hits):,} hits in {report.files:,} files, {report.bytes / 1e6:,.1f} MB; {looked}.")
    return Exit.CLEAN if report.is_clean else Exit.FINDING


_WITHOUT = "without a vault no private text, image or nonce was looked for"


def _inspected(
    files: Mapping[str, Path | bytes],
    folder: Path | None,
    who: object,
    workspace: Workspace | None,
    *,
    keep: bool,
) -> Inspection:
    from lacre.release.guard import inspect_files  # noqa: PLC0415 - keeps --help fast
    from lacre.release.guard_watch import keep_excluded, watch  # noqa: PLC0415
    from lacre.sealing.ages import Identity  # noqa: PLC0415

    assert who is None or isinstance(who, Identity)
    with ExitStack() as held:
        vault: Vault | None = held.enter_context(opened(folder, who, workspace)) if folder else None
        watched = watch(vault, workspace)
    live = LiveLine(sys.stderr.isatty())

    def shown(done: int, every: int) -> None:
        if live.live:
            live.show(f"{done / 1e6:,.0f} of {every / 1e6:,.0f} MB")

    try:
        found = inspect_files(files, watched, shown)
    finally:
        live.close()
    if keep and folder is not None:
        with opened(folder, who, workspace) as vault, vault.change() as change:
            keep_excluded(change, found.excluded)
    return found


def _say_unsearched(report: Report, tell: Callable[[str], None]) -> None:
    if report.unsearched:
        tell(f"Too short to be looked for: {', '.join(report.unsearched)}.")
    if report.unsearched_names:
        tell(
            f"{report.unsearched_names:,} reviewers' names of one word are not looked for; write them in full."
        )


def _below(folder: Path) -> dict[str, Path | bytes]:
    from lacre.release.guard import folder_files  # noqa: PLC0415 - keeps --help fast

    return dict(folder_files(folder))


def _git(*words: str | bytes) -> bytes:
    """What git says.

    Raises:
        InputError: it fails, or this is no work tree.
    """
    try:
        return subprocess.run(["git", *words], capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise InputError(Path.cwd(), "git has no answer here", "Go to a git work tree") from None


def _is_blob(name: bytes) -> bool:
    """Whether a staged name is a file: a submodule is a commit of another repository."""
    return _git("ls-files", "--stage", "-z", "--", b":(literal)" + name)[:6] != b"160000"
