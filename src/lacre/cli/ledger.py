"""``lacre ledger``: what happened, shown and verified."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lacre.cli.holding import ledger_of, signing_key
from lacre.cli.output import example, json_option, print_json, print_table, say
from lacre.errors import InputError, IntegrityError, sentence

if TYPE_CHECKING:
    from lacre.registry.ledger import Ledger
    from lacre.sealing.keyring import Keyring

HEAD = "ledger.head.dsse.json"  # beside the ledger
_SHORT = 16  # characters of a hash in a table
_FILE = click.argument("file", required=False, type=click.Path(path_type=Path))


@click.group(epilog=example("lacre ledger verify"))
def ledger() -> None:
    """Show and verify the ledger: an append-only file in which each line holds the hash of the one before."""


@ledger.command(epilog=example("lacre ledger show", "lacre ledger show --type batch_commit --json"))
@_FILE
@click.option("--type", "kind", metavar="NAME", help="Only events of this type, such as batch_commit.")
@click.option("--last", type=click.IntRange(1), metavar="N", help="Only the last N lines.")
@json_option
def show(file: Path | None, kind: str | None, last: int | None, as_json: bool) -> None:
    """Show the events of the workspace's ledger, or of FILE: line, time, type, who signed it, what it says."""
    import msgspec  # noqa: PLC0415 - keeps --help fast

    from lacre.registry.events import Event, event_name  # noqa: PLC0415
    from lacre.registry.ledger import read  # noqa: PLC0415
    from lacre.sealing.keyring import keyring  # noqa: PLC0415

    path = _path(file)
    book = read(path)
    names = {name: held.name for name, held in keyring(book, path).tenures.items()}
    known = sorted(event_name(each) for each in Event.__args__)
    if kind is not None and kind not in known:
        raise InputError("--type", f"no event is called '{kind}'", f"There are: {', '.join(known)}")
    lines = [line for line in book.lines if kind in (None, event_name(line.event))][-(last or 0) :]
    if as_json:
        print_json({"head": book.head, "lines": lines})
        return
    rows = [
        (
            line.seq,
            line.at,
            event_name(line.event),
            names.get(line.by or "", ""),
            _told(msgspec.to_builtins(line.event)),
        )
        for line in lines
    ]
    print_table(
        ("line", "when", "event", "signed by", "what"), rows, right=("line",), whole=("event", "when")
    )
    if not rows:
        say("No events there.")


@ledger.command(epilog=example("lacre ledger verify", "lacre ledger verify --json"))
@_FILE
@click.option(
    "--head", "head_file", type=click.Path(path_type=Path), metavar="FILE",
    help=f"A signed head that the ledger must still begin with; {HEAD} beside it when it is there.",
)  # fmt: skip
@click.option(
    "--older", type=click.Path(path_type=Path), metavar="FILE",
    help="An earlier copy: the ledger must be that copy with lines added.",
)  # fmt: skip
@click.option(
    "--key", "fingerprint", metavar="FINGERPRINT", help="The first key, as you know it from elsewhere."
)
@json_option
def verify(
    file: Path | None, head_file: Path | None, older: Path | None, fingerprint: str | None, as_json: bool
) -> None:
    """Verify every line of the workspace's ledger, or of FILE: the chain, the signatures, the signed head.

    A line that was changed, removed, moved or torn is named, and so is one whose key may not sign there. Exit
    code 3 then. What holds proves that nothing in it was rewritten, not that whoever wrote it was honest.
    """
    from lacre.jsonl import read_bytes  # noqa: PLC0415 - keeps --help fast
    from lacre.registry.ledger import parse  # noqa: PLC0415
    from lacre.sealing.keyring import keyring  # noqa: PLC0415

    path = _path(file)
    book = parse(read_bytes(path), path)
    ring = keyring(book, path)
    _refuse_key(ring, fingerprint, path)
    if older is not None:
        _refuse_rewritten(older, read_bytes(older), book, path)
    covered = _covered(book, ring, head_file, path)
    signed = next((line.seq for line in reversed(book.lines) if line.sig is not None), 0)
    safe = max(covered, signed)
    if as_json:
        print_json({"lines": book.size, "head": book.head, "signed_up_to": safe, "keys": sorted(ring.active)})
        return
    click.echo(f"{path}: {book.size} lines hold; head {book.head}")
    if safe < book.size:
        say(f"Lines after {safe} are under no signature yet: `lacre ledger sign` puts them under one.")
    if fingerprint is None and ring.tenures:
        say("Whose keys these are is not shown: say --key FINGERPRINT, as you know it from elsewhere.")


@ledger.command(epilog=example("lacre ledger sign --key ../team.key"))
@click.option(
    "--key",
    "key_file",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The key that signs.",
)
@json_option
def sign(key_file: Path, as_json: bool) -> None:
    """Sign the head of the workspace's ledger, its last line included, into a file beside it."""
    from lacre.jsonl import write_bytes  # noqa: PLC0415 - keeps --help fast
    from lacre.registry.ledger import read  # noqa: PLC0415
    from lacre.sealing.keyring import keyring, sign_head  # noqa: PLC0415

    path = _path(None)
    book = read(path)
    key = signing_key(key_file)
    if key.fingerprint not in keyring(book, path).active:
        raise InputError(
            key_file, "is a key that may not sign in this ledger", "`lacre key list` has those that may"
        )
    out = path.with_name(HEAD)
    write_bytes(out, sign_head(book, key))
    if as_json:
        print_json({"head": book.head, "lines": book.size, "file": str(out)})
        return
    click.echo(f"{out}: {book.size} lines, head {book.head}")


def _path(file: Path | None) -> Path:
    from lacre.registry.workspace import Workspace  # noqa: PLC0415 - keeps --help fast

    return file or ledger_of(Workspace.find(Path.cwd()))


def _told(event: dict[str, object]) -> str:
    """What an event says, in one line; hashes cut short."""
    said = []
    for name, value in event.items():
        if name == "type":
            continue
        text = f"{len(value)} of them" if isinstance(value, list) and len(value) > 3 else str(value)
        long = len(text) == 64 and " " not in text
        said.append(f"{name} {text[:_SHORT]}" if long else f"{name} {text}")
    return ", ".join(said)


def _refuse_key(ring: Keyring, fingerprint: str | None, path: Path) -> None:
    first = min(ring.tenures.values(), key=lambda held: held.added, default=None)
    if fingerprint is None:
        return
    if first is None or first.key.fingerprint != fingerprint:
        what = f"its first key is {first.key.fingerprint if first else 'none'}, not the one you trust"
        raise IntegrityError(sentence(path, what, "It is another's ledger, or the fingerprint is wrong"))


def _refuse_rewritten(older: Path, content: bytes, book: Ledger, path: Path) -> None:
    from lacre.registry.ledger import prefix_fault  # noqa: PLC0415 - keeps --help fast

    fault = prefix_fault(content, book.content)
    if fault is not None:
        raise IntegrityError(sentence(f"{path}:{fault.line}", f"{fault.what} (against {older})", fault.todo))


def _covered(book: Ledger, ring: Keyring, head_file: Path | None, path: Path) -> int:
    """The number of lines that a signed head fixes; 0 when there is none."""
    from lacre.jsonl import read_bytes  # noqa: PLC0415 - keeps --help fast
    from lacre.sealing.keyring import check_head  # noqa: PLC0415

    place = head_file or path.with_name(HEAD)
    if head_file is None and not place.exists():
        return 0
    signed = check_head(read_bytes(place), book, ring, place)
    return int(signed.statement.predicate["lines"])
