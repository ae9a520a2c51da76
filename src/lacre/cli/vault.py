"""``lacre vault``: private items, sealed, listed, shown, checked."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lacre.cli.holding import IDENTITY, begun, ledger_of, now, opened, signing_key
from lacre.cli.output import example, json_option, print_json, print_table, say
from lacre.errors import Exit, InputError, sentence

if TYPE_CHECKING:
    from lacre.registry.items import Item
    from lacre.registry.workspace import Workspace

_FOLDER = click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
_READER = click.option(
    "--recipient", "readers", multiple=True, metavar="NAME=age1...",
    help="Who can open it; give it again for more, such as custodian and recovery.",
)  # fmt: skip
_OPERATOR = "operator"


@click.group(epilog=example("lacre vault list ../vault --identity ../operator.txt"))
def vault() -> None:
    """Keep private items in a vault: age files in a folder outside any git work tree.

    An identity opens it, from a file or typed in; it is never an argument, nor in the environment.
    """


@vault.command(epilog=example("lacre vault init ../new-vault --new-identity ../new-operator.txt"))
@_FOLDER
@_READER
@click.option(
    "--new-identity", "identity_file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help=f"Make an identity here, for the reader '{_OPERATOR}': mode 600, outside any git work tree.",
)  # fmt: skip
@json_option
def init(folder: Path, readers: tuple[str, ...], identity_file: Path | None, as_json: bool) -> None:
    """Make an empty vault in FOLDER, bound to the workspace we are in.

    Give several readers: items whose only identity is lost are lost.
    """
    from lacre.registry.workspace import Workspace  # noqa: PLC0415 - keeps --help fast
    from lacre.sealing.ages import new_identity, write_identity  # noqa: PLC0415
    from lacre.sealing.keys import refuse_git  # noqa: PLC0415
    from lacre.sealing.vault import create_vault  # noqa: PLC0415

    refuse_git(folder)
    known, made = _readers(readers), None
    if identity_file is not None:
        if _OPERATOR in known:
            raise InputError(
                "--new-identity", f"'{_OPERATOR}' has a recipient already", "Give one of the two"
            )
        made = new_identity()
        known[_OPERATOR] = made.recipient
    if not known:
        raise InputError("--recipient", "nobody could open the vault", "Give one, or --new-identity FILE")
    workspace = Workspace.search(Path.cwd())
    number = begun(ledger_of(workspace)).workspace if workspace else None
    with ExitStack() as undo:
        if identity_file is not None and made is not None:
            write_identity(identity_file, made)
            undo.callback(identity_file.unlink, missing_ok=True)
        create_vault(folder, known, workspace=number)
        undo.pop_all()
    if as_json:
        print_json({"vault": str(folder), "readers": known, "workspace": number})
        return
    click.echo(f"{folder}: an empty vault for {', '.join(sorted(known))}")
    if workspace is None:
        say("It is bound to no workspace, for we are in none: nothing of it will be published.")
    if len(known) == 1:
        say("One identity opens it: keep a copy elsewhere, or `lacre vault rekey` it for a second reader.")


@vault.command(epilog=example("lacre vault identity ../custodian.txt"))
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@json_option
def identity(file: Path, as_json: bool) -> None:
    """Make an age identity in FILE, and print its recipient, which is public: `vault init` and `rekey` take it.

    Each reader makes their own, on their own machine, and gives only the recipient away. The file has mode 600,
    lies outside any git work tree, and is as `age-keygen` writes it.
    """
    from lacre.sealing.ages import new_identity, write_identity  # noqa: PLC0415 - keeps --help fast

    made = new_identity()
    write_identity(file, made)
    if as_json:
        print_json({"file": str(file), "recipient": made.recipient})
        return
    click.echo(made.recipient)
    say(f"{file} opens what is sealed for it: keep it to yourself, and a copy elsewhere.")


@vault.command(
    epilog=example(
        "lacre vault add ../vault ../new-items.csv --benchmark exemplo --batch 2026-2 \\\n"
        "    --map stem=question,options=alternatives --cell area=saude/difficulty=facil \\\n"
        "    --identity ../operator.txt --key ../team.key"
    )
)
@_FOLDER
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--benchmark", required=True, metavar="NAME", help="The benchmark they belong to.")
@click.option("--batch", required=True, metavar="NAME", help="The batch they are; one call seals one batch.")
@IDENTITY
@click.option(
    "--key",
    "key_file",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The key that signs the ledger's line.",
)
@click.option(
    "--map", "maps", multiple=True, metavar="FIELD=COLUMN,...", help="Columns of other names; join with +."
)
@click.option("--key-index", type=click.Choice(["0", "1"]), help="Keys count the options, from 0 or from 1.")
@click.option("--cell", metavar="AXIS=VALUE/...", help="Their cell, where no column says it.")
@click.option("--written", metavar="TEXT", help="Who wrote them, and when.")
@click.option("--random-ids", is_flag=True, help="Give each item a random id: one that tells nothing.")
@json_option
def add(
    *,
    folder: Path,
    file: Path,
    benchmark: str,
    batch: str,
    identity: Path | None,
    key_file: Path,
    maps: tuple[str, ...],
    key_index: str | None,
    cell: str | None,
    written: str | None,
    random_ids: bool,
    as_json: bool,
) -> None:
    """Seal the items of FILE as one batch, and publish their rows: id, cell, batch and commitment.

    FILE is what `lacre items import` takes: records, or a table with columns id, stem, options, key and one
    for each axis of the matrix. All of it is sealed, with its line in the ledger, or nothing is. Run it again
    after an interruption: what is there already is passed over.
    """
    from lacre.registry.workspace import Workspace  # noqa: PLC0415 - keeps --help fast
    from lacre.sealing.batches import seal_batch  # noqa: PLC0415

    workspace = Workspace.find(Path.cwd())
    items = _read(
        file,
        workspace=workspace,
        benchmark=benchmark,
        maps=maps,
        key_index=key_index,
        cell=cell,
        written=written,
    )
    signer = signing_key(key_file)
    with opened(folder, identity, workspace) as held:
        if random_ids:
            items = _renamed(items, {entry.payload: entry.row.id for entry in held.entries()})
        say(f"Sealing {len(items):,} items ...")
        done = seal_batch(held, benchmark, items, batch, at=now(), root=workspace.root, signer=signer)
    if as_json:
        print_json(done)
    else:
        click.echo(
            f"{folder}: {len(done.rows)} items sealed in batch {batch}, {len(done.already)} there already"
        )
    _farewell(file)


@vault.command("list", epilog=example("lacre vault list ../vault --identity ../operator.txt --json"))
@_FOLDER
@IDENTITY
@click.option("--benchmark", metavar="NAME", help="Only this benchmark.")
@json_option
def list_(folder: Path, identity: Path | None, benchmark: str | None, as_json: bool) -> None:
    """List what the vault holds, by what the public may see of it: id, cell, batch and commitment."""
    from lacre.registry.matrix import cell_name  # noqa: PLC0415 - keeps --help fast
    from lacre.registry.workspace import Workspace  # noqa: PLC0415

    with opened(folder, identity, Workspace.search(Path.cwd())) as held:
        entries = held.entries(benchmark)
    columns = ("id", "benchmark", "cell", "batch", "commitment")
    rows = [(e.row.id, e.benchmark, cell_name(e.row.cell), e.row.batch, e.row.commitment) for e in entries]
    if as_json:
        print_json({"items": [dict(zip(columns, row, strict=True)) for row in rows]})
        return
    print_table(columns, rows, whole=("id",))
    if not rows:
        say("No items there.")


@vault.command(epilog=example("lacre vault show ../vault pr-00 --identity ../operator.txt"))
@_FOLDER
@click.argument("id")
@IDENTITY
@click.option("--findings", is_flag=True, help="Show what the last `lacre vet --vault` found of it too.")
@json_option
def show(folder: Path, id: str, identity: Path | None, findings: bool, as_json: bool) -> None:
    """Show one private item. Only on a terminal: its words may go into no file, pipe or log."""
    import msgspec  # noqa: PLC0415 - keeps --help fast

    from lacre.registry.verdicts import Finding  # noqa: PLC0415
    from lacre.registry.workspace import Workspace  # noqa: PLC0415
    from lacre.sealing.checks import FINDINGS  # noqa: PLC0415

    if not sys.stdout.isatty():
        raise InputError(
            "vault show", "prints private words, and the output is no terminal", "Run it on a terminal"
        )
    with opened(folder, identity, Workspace.search(Path.cwd())) as held:
        sealed = held.sealed(id)
        content = (held.document(FINDINGS) or b"") if findings else b""
    found = [msgspec.json.decode(line, type=Finding) for line in content.splitlines()]
    own = [finding for finding in found if finding.item == id]
    if as_json:
        print_json({"item": sealed.item, "batch": sealed.batch, "findings": own})
        return
    click.echo(_text_of(sealed.item))
    for finding in own:
        click.echo(f"\n{finding.corpus}: {finding.shard}, {finding.document}: {finding.snippet}")


@vault.command(epilog=example("lacre vault check ../vault --identity ../operator.txt"))
@_FOLDER
@IDENTITY
@json_option
def check(folder: Path, identity: Path | None, as_json: bool) -> int:
    """Finish or undo what a crash left, then open every file and check it, and the public rows, against it.

    Nothing is ever deleted or cut: a file that does not belong is named and left where it is. Exit code 3
    when something is damaged, missing, swapped or open to others.
    """
    from lacre.registry.workspace import Workspace  # noqa: PLC0415 - keeps --help fast
    from lacre.sealing.batches import raise_all, row_faults, rows_place  # noqa: PLC0415
    from lacre.sealing.inspection import inspect  # noqa: PLC0415
    from lacre.sealing.journal import bytes_of  # noqa: PLC0415
    from lacre.sealing.seen import RESTORE_LEDGER, ledger_fault  # noqa: PLC0415

    workspace = Workspace.search(Path.cwd())
    with opened(folder, identity, workspace) as held:
        seen = inspect(held)
        faults = list(seen.faults)
        if workspace and held.workspace:
            ledger = ledger_of(workspace)
            if (what := ledger_fault(held.index.ledger, bytes_of(ledger))) is not None:
                faults.append(sentence(ledger, what, RESTORE_LEDGER))
        for name in workspace.benchmarks() if workspace and held.workspace else ():
            faults += row_faults(held, name, workspace.root / rows_place(name)) if workspace else []
    if as_json:
        print_json(
            {"items": seen.items, "documents": seen.documents, "recovered": seen.recovered, "faults": faults}
        )
        return int(Exit.INTEGRITY if faults else Exit.CLEAN)
    raise_all(faults)
    click.echo(f"{folder}: {seen.items} items and {seen.documents} documents hold")
    return int(Exit.CLEAN)


@vault.command(
    epilog=example(
        "lacre vault rekey ../vault --identity ../operator.txt \\\n"
        "    --recipient operator=age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj"
    )
)
@_FOLDER
@_READER
@IDENTITY
@json_option
def rekey(folder: Path, readers: tuple[str, ...], identity: Path | None, as_json: bool) -> None:
    """Seal everything anew for these readers, and no others, under a new secret, all of it or nothing.

    Commitments stay as they are. Whoever could read the vault before can still read old copies of it.
    """
    from lacre.registry.workspace import Workspace  # noqa: PLC0415 - keeps --help fast

    known = _readers(readers)
    with opened(folder, identity, Workspace.search(Path.cwd())) as held:
        before = {reader.name for reader in held.readers}
        with held.change() as change:
            change.rekey(known)
        count = len(held.entries())
    if as_json:
        print_json({"items": count, "readers": known})
        return
    click.echo(f"{folder}: {count} items sealed anew for {', '.join(sorted(known))}")
    if gone := sorted(before - known.keys()):
        say(f"{', '.join(gone)} can no longer open it, but can open any copy made before.")


def _readers(given: tuple[str, ...]) -> dict[str, str]:
    """Name -> recipient."""
    known: dict[str, str] = {}
    for text in given:
        name, equals, recipient = text.partition("=")
        if not (name and equals and recipient) or name in known:
            raise InputError(
                "--recipient", f"'{name}' is not NAME=age1..., each name once", "Write operator=age1..."
            )
        known[name] = recipient
    return known


def _read(
    file: Path,
    *,
    workspace: Workspace,
    benchmark: str,
    maps: tuple[str, ...],
    key_index: str | None,
    cell: str | None,
    written: str | None,
) -> tuple[Item, ...]:
    """The private items of a file, checked against their layer's rules."""
    import msgspec  # noqa: PLC0415 - keeps --help fast

    from lacre.registry.intake import Origin, import_items, parse_mapping  # noqa: PLC0415
    from lacre.registry.items import Source  # noqa: PLC0415
    from lacre.registry.matrix import parse_cell  # noqa: PLC0415

    around = msgspec.structs.replace(workspace.surroundings(benchmark), layer="private")
    origin = Origin(
        benchmark=benchmark,
        layer="private",
        source=Source(written=written),
        cell=parse_cell(cell) if cell else {},
        axes=tuple(around.matrix.axes) if around.matrix else (),
    )
    mapping = parse_mapping(maps)
    brought = import_items(file, origin, around, mapping, key_index=int(key_index) if key_index else None)
    for remark in brought.noticed.remarks():
        say(f"{file}: {remark}")
    return brought.items


def _renamed(items: tuple[Item, ...], known: dict[str, str]) -> tuple[Item, ...]:
    """Items under random ids; one whose payload is in the vault keeps the id it has there."""
    import secrets  # noqa: PLC0415 - keeps --help fast

    import msgspec  # noqa: PLC0415

    from lacre.digest import sha256  # noqa: PLC0415
    from lacre.sealing.commitments import payload_bytes  # noqa: PLC0415

    return tuple(
        msgspec.structs.replace(
            item, id=known.get(sha256(payload_bytes(item.payload)), f"p-{secrets.token_hex(6)}")
        )
        for item in items
    )


def _farewell(file: Path) -> None:
    """Say how to be rid of the source file."""
    say(
        f"Now remove the source: `shred -u {file}`. Think of its copies: the editor's, the trash, backups, mail."
    )
    here = file.resolve()
    if any((folder / ".git").exists() for folder in here.parents):
        say("It lies in a git work tree: if it was ever committed, these items are not private any more.")


def _text_of(item: Item) -> str:
    """An item as a person reads it."""
    payload = item.payload
    lines = [item.id, ""]
    if payload.passage is not None:
        lines += [payload.passage.text, ""]
    lines += [payload.stem, *(f"({letter}) {text}" for letter, text in payload.options.items())]
    for part in payload.parts:
        lines += ["", f"{part.id}) {part.prompt}", f"   {part.expected}"]
    if payload.key is not None:
        lines += ["", f"Key: {payload.key}"]
    return "\n".join(lines)
