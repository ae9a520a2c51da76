"""``lacre items``: check items, bring them in, list them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lacre.cli.holding import IDENTITY, opened
from lacre.cli.output import example, json_option, print_json, print_table, say
from lacre.errors import Exit, Fault, InputError, LacreError, RecordError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lacre.registry.items import Item, Layer
    from lacre.registry.layers import Surroundings
    from lacre.registry.workspace import FileCheck, Workspace

_LAYER = click.Choice(["official", "open", "private"])
_BENCHMARK = click.option("--benchmark", metavar="NAME", help="Only this benchmark of the workspace.")


@click.group(epilog=example("lacre items list --layer open"))
def items() -> None:
    """Check items against the rules of their layer, bring them in from other files, list them."""


@items.command(
    epilog=example("lacre items check", "lacre items check registry/exemplo/open/items.jsonl --json")
)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@_BENCHMARK
@json_option
def check(paths: tuple[Path, ...], benchmark: str | None, as_json: bool) -> int:
    """Check every item of the workspace's benchmarks, or of the files PATHS, against the rules of its layer.

    Files must hold one record a line, as `lacre items import` writes them. Every bad line is named, with what
    to do. Exit code 2 when there is one.
    """
    workspace = _workspace()
    if paths:
        checks = [_check_path(path, workspace, benchmark) for path in paths]
    elif workspace is None:
        raise InputError(
            Path.cwd(), "is in no workspace", "Name files, go to a workspace, or make one with `lacre init`"
        )
    else:
        checks = [found for name in _names(workspace, benchmark) for found in workspace.check(name)]
    if as_json:
        print_json({"files": checks})
        return int(Exit.BAD_INPUT if any(found.faults for found in checks) else Exit.CLEAN)
    _refuse(checks)
    if not checks:
        say("No files of items yet.")
    print_table(("file", "items"), [(_near(found.path), found.items) for found in checks], right=("items",))
    return int(Exit.CLEAN)


@items.command(
    "import",
    epilog=example(
        "lacre items import questions.csv --benchmark exemplo --layer open"
        " --out new.jsonl \\\n    --map stem=question,options=alternatives --cell area=saude/difficulty=facil"
    ),
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--benchmark", metavar="NAME", required=True, help="The benchmark they belong to.")
@click.option("--layer", type=_LAYER, required=True, help="The layer they belong to.")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="JSONL file to write."
)
@click.option(
    "--map", "maps", multiple=True, metavar="FIELD=COLUMN,...", help="Columns of other names; join with +."
)
@click.option("--key-index", type=click.Choice(["0", "1"]), help="Keys count the options, from 0 or from 1.")
@click.option("--cell", metavar="AXIS=VALUE/...", help="Their cell, where no column says it.")
@click.option("--exam", metavar="ID", help="Official items: their exam, from exams.jsonl.")
@click.option("--url", metavar="URL", help="Official items: the booklet, where no column says it.")
@click.option("--licence", metavar="NAME", help="Their licence; the open layer's own unless you say another.")
@click.option("--written", metavar="TEXT", help="New items: who wrote them, and when.")
@click.option("--force", is_flag=True, help="Replace --out when it is there already.")
@json_option
def import_(
    *,
    file: Path,
    benchmark: str,
    layer: Layer,
    out: Path,
    maps: tuple[str, ...],
    key_index: str | None,
    cell: str | None,
    exam: str | None,
    url: str | None,
    licence: str | None,
    written: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Bring the items of FILE in as whole records that keep the rules of their layer.

    FILE is JSONL, JSON, CSV, TSV or Parquet, plain or compressed, with columns id, stem, options and key, and
    perhaps passage, passage_source, number, url, and one for each axis of the matrix. Options may be a list,
    an object, or text such as "(A) ... (B) ...". Every bad line is named and nothing is written then.
    Private items are written outside any git work tree, to a file that only you can read (mode 600); it is
    plain text all the same. `lacre vault add` takes FILE itself, without that step.
    """
    from lacre import jsonl  # noqa: PLC0415 - keeps --help fast
    from lacre.registry.intake import Origin, import_items, parse_mapping  # noqa: PLC0415
    from lacre.registry.items import Source  # noqa: PLC0415
    from lacre.registry.matrix import parse_cell  # noqa: PLC0415
    from lacre.registry.workspace import Workspace  # noqa: PLC0415

    workspace = Workspace.find(Path.cwd())
    around = workspace.surroundings(benchmark)
    _refuse_place(out, layer, workspace, force)
    if layer == "open" and licence is None:
        licence = around.open_licence
    origin = Origin(
        benchmark=benchmark,
        layer=layer,
        source=Source(exam=exam, url=url, licence=licence, written=written),
        cell=parse_cell(cell) if cell else {},
        axes=tuple(around.matrix.axes) if around.matrix else (),
    )
    brought = import_items(
        file,
        origin,
        _with_layer(around, layer),
        parse_mapping(maps),
        key_index=int(key_index) if key_index else None,
    )
    jsonl.write(out, brought.items, secret=layer == "private")
    noticed = brought.noticed
    if as_json:
        print_json({"out": str(out), "items": len(brought.items), "remarks": noticed.remarks()})
    else:
        for remark in noticed.remarks():
            say(f"{file}: {remark}")
        click.echo(f"{out}: {len(brought.items)} items")
    if layer == "private":
        _say_plain(out)


@items.command("list", epilog=example("lacre items list --cell area=saude/difficulty=facil"))
@_BENCHMARK
@click.option("--layer", type=_LAYER, help="Only this layer.")
@click.option("--cell", metavar="AXIS=VALUE/...", help="Only items there; axes left out may have any value.")
@click.option(
    "--vault", "folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="The private items of this vault instead, by what the public may see of them.",
)  # fmt: skip
@IDENTITY
@json_option
def list_(
    *,
    benchmark: str | None,
    layer: str | None,
    cell: str | None,
    folder: Path | None,
    identity: Path | None,
    as_json: bool,
) -> None:
    """List the public items of the workspace: id, layer, cell, kind, and the words of the stem.

    With --vault, the private items: id, benchmark, layer, cell and batch, and no more.
    """
    from lacre.registry.matrix import cell_name, parse_cell  # noqa: PLC0415 - keeps --help fast
    from lacre.registry.workspace import Workspace  # noqa: PLC0415
    from lacre.text import words  # noqa: PLC0415

    workspace = Workspace.find(Path.cwd())
    names = _names(workspace, benchmark)
    place = parse_cell(cell) if cell else {}
    _refuse_unknown_axes(place, workspace, names)
    if folder is not None:
        _list_vault(folder, identity=identity, workspace=workspace, names=names, place=place, as_json=as_json)
        return
    found: list[Item] = [
        item
        for name in names
        for item in workspace.items(name)
        if (layer is None or item.layer == layer) and place.items() <= item.cell.items()
    ]
    columns = ("id", "benchmark", "layer", "cell", "kind", "words")
    rows = [
        (
            item.id,
            item.benchmark,
            item.layer,
            cell_name(item.cell),
            item.payload.kind,
            len(words(item.payload.stem)),
        )
        for item in found
    ]
    if as_json:
        print_json({"items": [dict(zip(columns, row, strict=True)) for row in rows]})
        return
    print_table(columns, rows, right=("words",))
    if not rows:
        say("No items there.")


def _list_vault(
    folder: Path,
    *,
    identity: Path | None,
    workspace: Workspace,
    names: Sequence[str],
    place: dict[str, str],
    as_json: bool,
) -> None:
    """List the private items of a vault that lie in some place, by their public rows."""
    from lacre.registry.matrix import cell_name  # noqa: PLC0415 - keeps --help fast

    with opened(folder, identity, workspace) as vault:
        entries = [entry for name in names for entry in vault.entries(name)]
    columns = ("id", "benchmark", "layer", "cell", "batch")
    rows = [
        (entry.row.id, entry.benchmark, "private", cell_name(entry.row.cell), entry.row.batch)
        for entry in entries
        if place.items() <= entry.row.cell.items()
    ]
    if as_json:
        print_json({"items": [dict(zip(columns, row, strict=True)) for row in rows]})
        return
    print_table(columns, rows, whole=("id",))
    if not rows:
        say("No items there.")


def _workspace() -> Workspace | None:
    from lacre.registry.workspace import Workspace  # noqa: PLC0415 - keeps --help fast

    return Workspace.search(Path.cwd())


def _names(workspace: Workspace, benchmark: str | None) -> tuple[str, ...]:
    """The benchmark asked for, or all of the workspace."""
    if benchmark is not None:
        return (workspace.benchmark(benchmark).name,)
    names = workspace.benchmarks()
    if not names:
        raise InputError(
            workspace.registry, "no benchmark yet", "Write registry/NAME/benchmark.toml and matrix.toml"
        )
    return names


def _check_path(path: Path, workspace: Workspace | None, benchmark: str | None) -> FileCheck:
    """The check of one file: against its benchmark where one is named or the file lies in it."""
    import msgspec  # noqa: PLC0415 - keeps --help fast

    from lacre.registry.layers import Surroundings  # noqa: PLC0415
    from lacre.registry.rules import default_rules  # noqa: PLC0415
    from lacre.registry.workspace import check_file  # noqa: PLC0415

    if workspace is None:
        if benchmark is not None:
            raise InputError(Path.cwd(), "is in no workspace", "Leave --benchmark out, or go to a workspace")
        return check_file(path, Surroundings(open_licence=default_rules().layers.open_licence))
    name = benchmark or next(
        (n for n in workspace.benchmarks() if _lies_in(path, workspace.registry / n)), None
    )
    if name is None:
        around = Surroundings(open_licence=workspace.rules().layers.open_licence, exams=workspace.exams())
    else:
        around = workspace.surroundings(name)
    return check_file(path, msgspec.structs.replace(around, in_workspace=workspace.holds(path)))


def _lies_in(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _near(path: str) -> str:
    """A path as seen from here, when it is below."""
    whole = Path(path)
    return str(whole.relative_to(Path.cwd())) if whole.is_relative_to(Path.cwd()) else path


def _refuse(checks: Sequence[FileCheck]) -> None:
    """Raise all faults of all files together."""
    errors = [
        RecordError(_near(found.path), [Fault(fault.line, fault.what, fault.todo) for fault in found.faults])
        for found in checks
        if found.faults
    ]
    if errors:
        raise LacreError("\n".join(map(str, errors)))


def _with_layer(around: Surroundings, layer: str) -> Surroundings:
    import msgspec  # noqa: PLC0415 - keeps --help fast

    return msgspec.structs.replace(around, layer=layer)


def _refuse_place(out: Path, layer: str, workspace: Workspace, force: bool) -> None:
    """Refuse a place where private text may not be, and to write over a file in silence."""
    if layer == "private" and (workspace.holds(out) or workspace.holds(out.parent)):
        raise InputError(
            out, "private text may not be in the workspace", "Write it outside, where the vault is"
        )
    if layer == "private":
        from lacre.sealing.keys import refuse_git  # noqa: PLC0415 - keeps --help fast

        # A link there is replaced, so that its own folder counts as well as where it leads.
        refuse_git(out)
        refuse_git(out.parent)
    if out.exists() and not force:
        raise InputError(out, "is there already", "Choose another name, or say --force to replace it")


def _say_plain(out: Path) -> None:
    """Say that private items stand in plain text, and how to be rid of them."""
    import shlex  # noqa: PLC0415 - keeps --help fast

    say(
        f"{out} holds private items in plain text. Seal them with `lacre vault add`; once they are in the vault, "
        f"remove it: `shred -u {shlex.quote(str(out))}`. Think of the source and its copies too."
    )


def _refuse_unknown_axes(place: dict[str, str], workspace: Workspace, names: Sequence[str]) -> None:
    """Refuse a place that no cell of the matrices asked for has: an empty list would hide a slip."""
    known = [cell.place for name in names for cell in workspace.matrix(name).cells]
    if place and not any(place.items() <= cell.items() for cell in known):
        raise InputError(
            "--cell", "no cell of the matrix is there", "Look the axes and values up in matrix.toml"
        )
