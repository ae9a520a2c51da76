"""``lacre key``: the keys that sign, made, replaced, retired and listed."""

from __future__ import annotations

from pathlib import Path

import click

from lacre.cli.holding import begun, hidden, ledger_of, now, signing_key
from lacre.cli.output import example, json_option, print_json, print_table, say
from lacre.errors import InputError

_OUT = click.option(
    "--out", required=True, type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Where the new key goes: outside any git work tree, mode 600. Its public key goes beside it.",
)  # fmt: skip
_PASSPHRASE = click.option(
    "--passphrase", "asked", is_flag=True, help="Ask for a passphrase to protect the file."
)


@click.group(epilog=example("lacre key list"))
def key() -> None:
    """Make, replace and retire the keys that sign. The ledger says which may sign, and since when."""


@key.command(epilog=example("lacre key new --name custodian --by ../team.key --out ../keys/custodian.key"))
@click.option("--name", required=True, metavar="TEXT", help="Whose it is, or what for; it is published.")
@_OUT
@click.option(
    "--by", type=click.Path(path_type=Path), metavar="FILE", help="An active key, which signs for it."
)
@_PASSPHRASE
@json_option
def new(name: str, out: Path, by: Path | None, asked: bool, as_json: bool) -> None:
    """Make a key, and enter it in the workspace's ledger.

    The first key signs for itself. Every other needs an active one to sign for it (--by); to put a new key in
    the place of an old one, use `lacre key rotate`.
    """
    import secrets  # noqa: PLC0415 - keeps --help fast

    from lacre.registry.workspace import Workspace  # noqa: PLC0415
    from lacre.sealing.keyring import enter  # noqa: PLC0415
    from lacre.sealing.keys import forget_key, key_from, write_key  # noqa: PLC0415

    path = ledger_of(Workspace.find(Path.cwd()))
    signer = signing_key(by) if by else None
    made = key_from(secrets.token_bytes(32))
    begun(path)
    secret = _passphrase(asked)
    enter(
        path,
        made,
        name,
        at=now(),
        by=signer,
        keep=lambda: write_key(out, made, secret),
        forget=lambda: forget_key(out),
    )
    _tell(made.fingerprint, out, as_json)


@key.command(epilog=example("lacre key rotate --key ../team.key --name operator --out ../keys/operator.key"))
@click.option(
    "--key",
    "old_file",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The key to replace.",
)
@click.option("--name", metavar="TEXT", help="Whose the new one is; as the old one's when not given.")
@_OUT
@_PASSPHRASE
@json_option
def rotate(old_file: Path, name: str | None, out: Path, asked: bool, as_json: bool) -> None:
    """Put a new key in the place of an old one: the old signs for the new, then is retired."""
    import secrets  # noqa: PLC0415 - keeps --help fast

    from lacre.registry.workspace import Workspace  # noqa: PLC0415
    from lacre.sealing.keyring import replace  # noqa: PLC0415
    from lacre.sealing.keys import forget_key, key_from, write_key  # noqa: PLC0415

    path = ledger_of(Workspace.find(Path.cwd()))
    old, made = signing_key(old_file), key_from(secrets.token_bytes(32))
    secret = _passphrase(asked)
    replace(
        path,
        old,
        made,
        name,
        at=now(),
        keep=lambda: write_key(out, made, secret),
        forget=lambda: forget_key(out),
    )
    _tell(made.fingerprint, out, as_json)
    say(f"Key {old.fingerprint[:16]} is retired. What it signed still holds; destroy {old_file}.")


@key.command("list", epilog=example("lacre key list", "lacre key list --json"))
@json_option
def list_(as_json: bool) -> None:
    """List the keys that the workspace's ledger names, active and retired."""
    from lacre.registry.ledger import read  # noqa: PLC0415 - keeps --help fast
    from lacre.registry.workspace import Workspace  # noqa: PLC0415
    from lacre.sealing.keyring import keyring  # noqa: PLC0415

    path = ledger_of(Workspace.find(Path.cwd()))
    ring = keyring(read(path), path)
    columns = ("fingerprint", "name", "added on line", "retired on line")
    rows = [(name, held.name, held.added, held.retired) for name, held in ring.tenures.items()]
    if as_json:
        names = ("fingerprint", "name", "added", "retired")
        print_json({"keys": [dict(zip(names, row, strict=True)) for row in rows]})
        return
    print_table(columns, [(*row[:3], row[3] or "") for row in rows], right=columns[2:], whole=columns[:1])
    if not rows:
        say("No keys yet: make one with `lacre key new`.")


@key.command(
    epilog=example("lacre key retire second --key ../team.key --reason 'left the team'"),
)
@click.argument("fingerprint")
@click.option(
    "--key",
    "key_file",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The key that signs.",
)
@click.option("--reason", required=True, metavar="TEXT", help="Why; it is published.")
@json_option
def retire(fingerprint: str, key_file: Path, reason: str, as_json: bool) -> None:
    """Retire the key of this FINGERPRINT (its first 8 digits or more, or its name): it may sign no more.

    What it signed before still holds. The only active key cannot be retired: nobody could sign after it.
    """
    from lacre.registry.workspace import Workspace  # noqa: PLC0415 - keeps --help fast
    from lacre.sealing.keyring import retire as retired  # noqa: PLC0415

    path = ledger_of(Workspace.find(Path.cwd()))
    whole = retired(path, fingerprint, signing_key(key_file), reason, at=now())
    if as_json:
        print_json({"fingerprint": whole})
        return
    click.echo(f"{whole} is retired")


def _passphrase(asked: bool) -> str | None:
    if not asked:
        return None
    first = hidden("Passphrase for the new key")
    if hidden("The same again") != first:
        raise InputError("passphrase", "the two are not the same", "Run again")
    return first


def _tell(fingerprint: str, out: Path, as_json: bool) -> None:
    if as_json:
        print_json({"fingerprint": fingerprint, "key": str(out), "public": f"{out}.pub"})
        return
    click.echo(fingerprint)
    say(f"The key is in {out}: keep it secret, and a copy of it elsewhere. Publish its fingerprint.")
