"""age files: sealed for several recipients, padded so that their size tells little, opened with an identity.

Only pyrage's functions on bytes are used: those on files leave plaintext behind when they fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyrage  # type: ignore[import-untyped]  # it ships no types

from lacre.errors import InputError, IntegrityError, sentence
from lacre.jsonl import read_bytes
from lacre.sealing.keys import Prompt, refuse_readable, write_secret

BLOCK = 4096  # bytes to a multiple of which plaintext is padded
SECRET = "AGE-SECRET-KEY-"  # noqa: S105 - how an age identity begins
_ARMOR = b"-----BEGIN AGE ENCRYPTED FILE-----"


@dataclass(frozen=True, slots=True)
class Identity:
    """What opens a vault. Printing it shows nothing of it."""

    secret: pyrage.x25519.Identity

    def __repr__(self) -> str:
        """The public side only."""
        return f"Identity({self.recipient})"

    @property
    def recipient(self) -> str:
        """The public side, ``age1...``, to which others seal."""
        return str(self.secret.to_public())


def new_identity() -> Identity:
    """A new identity, from the system's randomness."""
    return Identity(pyrage.x25519.Identity.generate())


def write_identity(path: Path, identity: Identity) -> None:
    """Write an identity to a new file (mode 600), as ``age-keygen`` does.

    Raises:
        InputError: a file is there already, the place lies in a git work tree, or it cannot be written.
    """
    write_secret(path, f"# public key: {identity.recipient}\n{identity.secret}\n".encode())


def read_identity(path: Path | None, prompt: Prompt) -> Identity:
    """The identity of a file, or typed in where there is no file.

    A file may be sealed with a passphrase, as ``age -p`` does; ``prompt`` is asked for it.

    Raises:
        InputError: the file is missing, others may read it, the passphrase is wrong, or it holds no identity.
    """
    if path is None:
        return _identity(prompt("Identity (AGE-SECRET-KEY-...)").encode(), "the identity typed in")
    if str(path).upper().startswith(SECRET):
        raise InputError(
            "--identity",
            "a secret was given where a file is due: it now stands in the shell's history",
            "Rekey the vault, and give the name of a file",
        )
    content = read_bytes(path)
    refuse_readable(path)
    if content.startswith((b"age-encryption.org/", _ARMOR)):
        try:
            content = pyrage.passphrase.decrypt(content, prompt(f"Passphrase of {path}"))
        except pyrage.DecryptError:
            raise InputError(path, "does not open with this passphrase", "Try again") from None
    return _identity(content, path)


def recipient(text: str) -> str:
    """A recipient, checked.

    Raises:
        InputError: it is no ``age1...``.
    """
    try:
        return str(pyrage.x25519.Recipient.from_str(text.strip()))
    except pyrage.RecipientError:
        raise InputError(
            "recipient", "is not an age X25519 recipient", "Give what stands after 'public key:', age1..."
        ) from None


def seal(plaintext: bytes, recipients: Sequence[str]) -> bytes:
    """Padded plaintext as an age file that each of the recipients can open.

    The padding is blanks and a line feed after the text, which JSON passes over, so that ``age -d`` alone
    gives back a readable record.
    """
    fill = -(len(plaintext) + 1) % BLOCK
    readers = [pyrage.x25519.Recipient.from_str(name) for name in recipients]
    return bytes(pyrage.encrypt(plaintext + b" " * fill + b"\n", readers))


def unseal(content: bytes, identity: Identity, where: str | Path) -> bytes:
    """The plaintext of an age file, padding included.

    Raises:
        IntegrityError: the file is damaged, or was not sealed for this identity.
    """
    try:
        return bytes(pyrage.decrypt(content, [identity.secret]))
    except pyrage.DecryptError as error:
        foreign = "No matching keys" in str(error)
        what = "was not sealed for this identity, or its head is damaged" if foreign else "is damaged"
        raise IntegrityError(sentence(where, what, "Restore it from a backup of the vault")) from None


def _identity(content: bytes, where: str | Path) -> Identity:
    lines = [line.strip() for line in content.decode("ascii", "replace").splitlines()]
    secrets = [line for line in lines if line.upper().startswith(SECRET)]
    try:
        if len(secrets) == 1:
            return Identity(pyrage.x25519.Identity.from_str(secrets[0].upper()))
    except pyrage.IdentityError:
        pass
    what = "holds more than one identity" if len(secrets) > 1 else "holds no age identity"
    raise InputError(where, what, "Give the file `lacre vault init --new-identity` or age-keygen wrote")
