"""``lacre canary``: mint the line that asks not to train on a benchmark, place it, find it."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lacre.cli.output import LiveLine, example, json_option, print_json, print_table, say
from lacre.errors import Exit, InputError

if TYPE_CHECKING:
    from lacre.release.canary import Canary

_PATHS = click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))


@click.group(epilog=example("lacre canary show"))
def canary() -> None:
    """The canary: one fixed line in every public file, which asks not to train on it, and is searched for."""


@canary.command(epilog=example('lacre canary new --name "Exemplo"'))
@click.option(
    "--name", required=True, metavar="TEXT", help="Whose benchmarks: letters without accents, digits, blanks."
)
@click.option("--minted", metavar="DATE", help="When it was made, as 2026-03-31; today when not given.")
@json_option
def new(name: str, minted: str | None, as_json: bool) -> None:
    """Mint the canary of this workspace, in canary/canary.toml. There is one, for ever."""
    from uuid import uuid4  # noqa: PLC0415 - keeps --help fast

    from lacre.registry.workspace import Workspace  # noqa: PLC0415
    from lacre.release.canary import mint, write_canary  # noqa: PLC0415

    root = Workspace.find(Path.cwd()).root
    made = mint(uuid4(), name, minted or date.today().isoformat())
    path = write_canary(root, made)
    if as_json:
        print_json({"file": str(path), "canary": made})
        return
    click.echo(f"{path}: {made.text}")


@canary.command(epilog=example("lacre canary show"))
@json_option
def show(as_json: bool) -> None:
    """Show the canary of this workspace."""
    found = _canary()
    if as_json:
        print_json(found)
        return
    click.echo(found.text)
    say(f"Minted {found.minted}. Files that cannot hold it: {', '.join(found.apart)}.")


@canary.command(epilog=example("lacre canary place page.txt", "lacre canary place page.txt --check"))
@_PATHS
@click.option(
    "--check", is_flag=True, help="Only name the files that lack it; exit with 1 when there are some."
)
@click.option("--strip", "takes", is_flag=True, help="Take it out again.")
@json_option
def place(paths: tuple[Path, ...], check: bool, takes: bool, as_json: bool) -> int:
    """Place the canary in PATHS, files and folders, in each where its format has room for it.

    A field in each record of JSON, JSONL and CSV; a comment in Markdown, HTML, SVG and source code; metadata in
    PNG, JPEG, PDF and Parquet; a last line in plain text. A file that holds it already is left as it is.
    """
    from fnmatch import fnmatchcase  # noqa: PLC0415 - keeps --help fast

    from lacre.jsonl import read_bytes, write_bytes  # noqa: PLC0415
    from lacre.release.canary import mark, strip  # noqa: PLC0415
    from lacre.release.canary_places import holds  # noqa: PLC0415

    if check and takes:
        raise InputError("--check", "changes nothing, and --strip does", "Give one of them")
    found = _canary()
    changed: list[str] = []
    for path in _files(paths):
        content = read_bytes(path)
        if any(fnmatchcase(path.name, pattern) for pattern in found.apart):
            continue
        if check:
            changed += [] if holds(path.name, content, found.text) else [str(path)]
            continue
        after = (strip if takes else mark)(str(path), content, found)
        if after != content:
            write_bytes(path, after)
            changed.append(str(path))
    if as_json:
        print_json({"files": changed})
    else:
        for name in changed:
            click.echo(name)
        what = "lack the canary" if check else "changed"
        say(f"{len(changed):,} files {what}.")
    return Exit.FINDING if check and changed else Exit.CLEAN


@canary.command(epilog=example("lacre canary find corpus"))
@click.argument("sources", nargs=-1, required=True, metavar="SRC...")
@click.option(
    "--workers", type=click.IntRange(1), metavar="N", help="Threads; one for each processor when not given."
)
@json_option
def find(sources: tuple[str, ...], workers: int | None, as_json: bool) -> int:
    """Look for the canary in corpora: as written, spread over lines, in other case, without hyphens, in base64.

    Exits with 1 when it was found, and with 5 when it was not but something could not be read.
    """
    import sys  # noqa: PLC0415 - keeps --help fast
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    from lacre.release.canary_find import find as found_in  # noqa: PLC0415

    live = LiveLine(sys.stderr.isatty())

    def shown(done: int, every: int, size: int) -> None:
        if live.live:
            live.show(f"{done:,} of {every:,} shards, {size / 1e6:,.0f} MB")

    try:
        with ThreadPoolExecutor(workers or os.cpu_count() or 1) as threads:
            found = found_in(_canary(), sources, executor=threads, on_progress=shown)
    finally:
        live.close()
    if as_json:
        print_json(found)
    else:
        rows = [(one.corpus, one.shard, one.place, one.byte, one.how) for one in found.sightings]
        print_table(("corpus", "file", "place", "byte", "how"), rows, right=("byte",))
        for gap in found.unread:
            say(f"not read: {gap.where}: {gap.reason}.")
        say(f"{len(found.sightings):,} places in {found.shards:,} shards, {found.bytes / 1e6:,.1f} MB.")
    if found.sightings:
        return Exit.FINDING
    return Exit.INCOMPLETE if found.unread else Exit.CLEAN


def _canary() -> Canary:
    from lacre.registry.workspace import Workspace  # noqa: PLC0415 - keeps --help fast
    from lacre.release.canary import read_canary  # noqa: PLC0415

    return read_canary(Workspace.find(Path.cwd()).root)


def _files(paths: tuple[Path, ...]) -> list[Path]:
    return [
        file
        for path in paths
        for file in (sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path])
    ]
