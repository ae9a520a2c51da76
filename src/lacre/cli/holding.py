"""What the commands on keys, ledger and vault share: options, the time, secrets typed in, the open vault."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lacre.cli.output import say
from lacre.errors import InputError

if TYPE_CHECKING:
    from lacre.registry.ledger import Ledger
    from lacre.registry.workspace import Workspace
    from lacre.sealing.ages import Identity
    from lacre.sealing.keys import SigningKey
    from lacre.sealing.vault import Vault

IDENTITY = click.option(
    "--identity", type=click.Path(path_type=Path), metavar="FILE",
    help="The age identity that opens the vault; asked for when not given.",
)  # fmt: skip


_PLAIN_FILE = "run it on a terminal, or give a file that needs no passphrase"


def hidden(question: str, todo: str = _PLAIN_FILE) -> str:
    """A secret typed in on the terminal; it is not shown.

    ``todo``: what to do where there is no terminal.

    Raises:
        InputError: there is no terminal. A pipe is never read: what stands in one stands in a script or a log.
    """
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        raise InputError(question, f"no terminal to ask on; {todo}") from None
    return str(click.prompt(question, hide_input=True, err=True))


def identity_of(path: Path | None) -> Identity:
    """The identity of a file, or typed in where there is none; errors as :func:`hidden` and ``read_identity``."""
    from lacre.sealing.ages import read_identity  # noqa: PLC0415 - keeps --help fast

    return read_identity(path, hidden if path else lambda question: hidden(question, "give --identity FILE"))


def now() -> str:
    """The time, UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def ledger_of(workspace: Workspace) -> Path:
    """The ledger of a workspace."""
    return workspace.registry / "ledger.jsonl"


def begun(path: Path) -> Ledger:
    """The ledger, with its first line; that is written where there is none."""
    import secrets  # noqa: PLC0415 - keeps --help fast

    from lacre.registry.events import Genesis  # noqa: PLC0415
    from lacre.registry.ledger import append, read  # noqa: PLC0415

    if not read(path).lines:
        append(path, Genesis(workspace=secrets.token_hex(32)), at=now())
    return read(path)


def signing_key(path: Path) -> SigningKey:
    """The key of a file."""
    from lacre.sealing.keys import read_key  # noqa: PLC0415 - keeps --help fast

    return read_key(path, hidden)


@contextmanager
def opened(folder: Path, identity: Path | Identity | None, workspace: Workspace | None) -> Iterator[Vault]:
    """The vault, open; what an interruption had left is finished or undone first, and said.

    ``identity``: a file, or one that was read; asked for when it is none.
    """
    import resource  # noqa: PLC0415 - keeps --help fast

    from lacre.registry.ledger import read  # noqa: PLC0415
    from lacre.sealing.vault import open_vault  # noqa: PLC0415

    # A core dump would hold the items in plain text.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    number = read(ledger_of(workspace)).workspace if workspace else None
    who = identity_of(identity) if identity is None or isinstance(identity, Path) else identity
    with open_vault(folder, who, workspace=number) as vault:
        if vault.recovered.what != "nothing":
            say(f"{folder}: a change had been cut short; it was {vault.recovered.what}.")
        yield vault
