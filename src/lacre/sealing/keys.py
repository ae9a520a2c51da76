"""Ed25519 keys: made, kept in files that only their owner can read, and named by their fingerprint."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from lacre.digest import sha256
from lacre.errors import InputError
from lacre.jsonl import read_bytes, sync_folder, write_bytes

Prompt = Callable[[str], str]
"""Asks a person for a secret and returns it."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that checks signatures: its 32 raw bytes (RFC 8032)."""

    raw: bytes

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the raw key, 64 hex digits: the key's id everywhere."""
        return sha256(self.raw)

    @property
    def text(self) -> str:
        """The raw key in base64."""
        return base64.b64encode(self.raw).decode()

    @property
    def pem(self) -> bytes:
        """The key as a PEM file, which ``openssl pkeyutl -verify -pubin`` reads."""
        key = Ed25519PublicKey.from_public_bytes(self.raw)
        return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def signed(self, message: bytes, signature: bytes) -> bool:
        """Whether this key made ``signature`` over ``message``."""
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key that signs. Printing it shows the fingerprint only."""

    private: Ed25519PrivateKey

    def __repr__(self) -> str:
        """The fingerprint; never the key."""
        return f"SigningKey({self.fingerprint})"

    @property
    def public(self) -> PublicKey:
        """The key that checks what this one signs."""
        return PublicKey(self.private.public_key().public_bytes_raw())

    @property
    def fingerprint(self) -> str:
        """That of the public key."""
        return self.public.fingerprint

    def sign(self, message: bytes) -> bytes:
        """The signature of ``message``: 64 bytes (RFC 8032); the same each time."""
        return self.private.sign(message)


def key_from(seed: bytes) -> SigningKey:
    """The key of 32 random bytes.

    >>> key_from(bytes(32)).fingerprint[:16]
    '139e3940e64b5491'
    """
    return SigningKey(Ed25519PrivateKey.from_private_bytes(seed))


def public_key(text: str, where: str | Path) -> PublicKey:
    """The public key written as base64.

    Raises:
        InputError: it is not 32 bytes in base64.
    """
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != 32 or base64.b64encode(raw).decode() != text:
        raise InputError(where, "is not an Ed25519 public key", "Give 32 bytes in base64")
    return PublicKey(raw)


def write_key(path: Path, key: SigningKey, passphrase: str | None = None) -> None:
    """Write a key to ``path`` (mode 600) and its public key beside it as ``<name>.pub``.

    Raises:
        InputError: a file is there already, for a key that is replaced is lost; the place lies in a git work
            tree; or it cannot be written.
    """
    guard: KeySerializationEncryption = NoEncryption()
    if passphrase:
        guard = BestAvailableEncryption(passphrase.encode())
    pem = key.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, guard)
    write_secret(path, pem)
    beside = public_place(path)
    try:
        write_bytes(beside, key.public.pem)
    except OSError as error:
        path.unlink()
        raise InputError(
            beside, f"cannot be written ({error.strerror})", "Choose another place; no key was made"
        ) from None


def public_place(path: Path) -> Path:
    """Where the public key of a key file stands.

    >>> public_place(Path("team.key")).name
    'team.key.pub'
    """
    return path.with_name(path.name + ".pub")


def forget_key(path: Path) -> None:
    """Remove a key just made, and its public key: nothing names it, for what it was made for failed."""
    path.unlink(missing_ok=True)
    public_place(path).unlink(missing_ok=True)


def read_key(path: Path, prompt: Prompt) -> SigningKey:
    """The key of a file; ``prompt`` is asked for the passphrase where it has one.

    Raises:
        InputError: the file is missing, others may read it, it is no Ed25519 key, or the passphrase is wrong.
    """
    content = read_bytes(path)
    refuse_readable(path)
    try:
        try:
            key = load_pem_private_key(content, None)
        except TypeError:
            key = load_pem_private_key(content, prompt(f"Passphrase of {path}").encode())
    except ValueError:
        raise InputError(
            path,
            "is not a private key in PEM, or the passphrase is wrong",
            "Give the file `lacre key new` made",
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(path, "is not an Ed25519 key", "Give the file `lacre key new` made")
    return SigningKey(key)


def read_public_key(path: Path) -> PublicKey:
    """The public key of a PEM file.

    Raises:
        InputError: the file is missing, or is no Ed25519 public key.
    """
    try:
        key = load_pem_public_key(read_bytes(path))
    except ValueError:
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise InputError(path, "is not an Ed25519 public key in PEM", "Give the .pub file of the key")
    return PublicKey(key.public_bytes_raw())


def write_secret(path: Path, content: bytes) -> None:
    """Write a new file that only its owner can read, outside any git work tree.

    Raises:
        InputError: a file is there already, the place is in a git work tree, or it cannot be written. Nothing is
            left there then; and a file without a byte, which a crash leaves, is no secret and is replaced.
    """
    refuse_git(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.is_file() and not path.is_symlink() and path.stat().st_size == 0:
            path.unlink()
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with ExitStack() as undo:
            undo.callback(path.unlink, missing_ok=True)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            sync_folder(path.parent)
            undo.pop_all()
    except FileExistsError:
        raise InputError(
            path, "is there already", "Choose another name; a secret is never replaced"
        ) from None
    except OSError as error:
        raise InputError(path, f"cannot be written ({error.strerror})", "Choose another place") from None


def refuse_git(path: Path) -> None:
    """Refuse a place inside a git work tree: what lies there is committed sooner or later.

    Raises:
        InputError: ``.git`` stands in a folder above.
    """
    here = path.resolve()
    for folder in (here, *here.parents):
        if os.path.lexists(folder / ".git"):
            raise InputError(
                path, f"is inside the git work tree {folder}", "Choose a place outside any git tree"
            )


def refuse_readable(path: Path) -> None:
    """Refuse a secret that others may read.

    Raises:
        InputError: group or others have any right on the file.
    """
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        raise InputError(path, f"can be read by others (mode {mode:o})", f"Run `chmod 600 {path}`")
