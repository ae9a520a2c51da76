"""Which keys may sign, and when: read from the ledger, every signature on it checked."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lacre.digest import sha256
from lacre.errors import Fault, InputError, IntegrityError, sentence
from lacre.registry.events import KeyAdd, KeyRetire
from lacre.registry.ledger import Ledger, Line, signed_bytes
from lacre.sealing.dsse import Signed, statement, verify
from lacre.sealing.dsse import sign as sign_statement
from lacre.sealing.keys import PublicKey, SigningKey, public_key

HEAD = "urn:lacre:ledger-head:1"
"""Predicate of a signed head: the ledger's number of lines, of bytes, and the hash of its last line."""


@dataclass(frozen=True, slots=True)
class Tenure:
    """A key with its name, and the lines of the ledger from and up to which it may sign."""

    key: PublicKey
    name: str
    added: int
    retired: int | None = None

    def holds(self, seq: int) -> bool:
        """Whether the key may sign line number ``seq``; the line that retires it is still its own."""
        return self.added <= seq and (self.retired is None or seq <= self.retired)


@dataclass(frozen=True, slots=True)
class Keyring:
    """All keys that the ledger ever named, by fingerprint."""

    tenures: Mapping[str, Tenure]

    @property
    def active(self) -> dict[str, PublicKey]:
        """The keys that may sign now."""
        return {name: held.key for name, held in self.tenures.items() if held.retired is None}

    @property
    def known(self) -> dict[str, PublicKey]:
        """All keys, retired ones too: what they signed while they were active still holds."""
        return {name: held.key for name, held in self.tenures.items()}

    def at(self, seq: int) -> dict[str, PublicKey]:
        """The keys that may sign when the ledger has ``seq`` lines."""
        return {name: held.key for name, held in self.tenures.items() if held.holds(seq)}


def keyring(ledger: Ledger, where: str | Path = "ledger") -> Keyring:
    """The keys of a ledger, after checking every signature on its lines.

    Raises:
        IntegrityError: lists every line whose signature does not hold, or whose key may not sign there.
    """
    tenures: dict[str, Tenure] = {}
    faults: list[Fault] = []
    for line in ledger.lines:
        if what := _line_fault(line, tenures):
            faults.append(Fault(line.seq, what, "Trust nothing from here on until it is explained"))
            continue
        event = line.event
        if isinstance(event, KeyAdd):
            tenures[event.fingerprint] = Tenure(public_key(event.key, where), event.name, line.seq)
        elif isinstance(event, KeyRetire):
            held = tenures[event.fingerprint]
            tenures[event.fingerprint] = Tenure(held.key, held.name, held.added, line.seq)
    if faults:
        raise IntegrityError("\n".join(sentence(f"{where}:{f.line}", f.what, f.todo) for f in faults))
    return Keyring(tenures)


def sign_head(ledger: Ledger, key: SigningKey) -> bytes:
    """A signed head: an envelope that fixes every byte of the ledger, its last line too."""
    predicate = {"lines": ledger.size, "bytes": len(ledger.content), "head": ledger.head}
    return sign_statement(statement({"ledger.jsonl": sha256(ledger.content)}, HEAD, predicate), key)


def check_head(content: bytes, ledger: Ledger, ring: Keyring, where: str | Path) -> Signed:
    """The signed head in ``content``, after checking that the ledger still begins with what it fixes.

    Raises:
        IntegrityError: the head was changed or is signed by a key that could not sign it; or the ledger is
            not the signed one with lines added.
    """
    signed = verify(content, ring.known, where)
    claim, predicate = signed.statement, signed.statement.predicate
    size, lines = predicate.get("bytes"), predicate.get("lines")
    if claim.predicate_type != HEAD or not isinstance(size, int) or not isinstance(lines, int):
        raise IntegrityError(
            sentence(where, "is no signed head of a ledger", "Give the file `lacre ledger sign` wrote")
        )
    if len(ledger.content) < size:
        what = f"the ledger ends before the signed head: {len(ledger.content)} of {size} bytes"
        raise IntegrityError(
            sentence(where, what, "Lines were removed from its end: restore them from a copy")
        )
    if sha256(ledger.content[:size]) != claim.subject[0].digest.sha256:
        what = f"the ledger's first {lines} lines are not those that were signed"
        raise IntegrityError(sentence(where, what, "If no other line is named, the last of them was changed"))
    if not ring.tenures[signed.key].holds(lines):
        what = f"key {signed.key[:16]}... could not sign when the ledger had {lines} lines"
        raise IntegrityError(sentence(where, what, "Ask for a head signed by an active key"))
    return signed


def _line_fault(line: Line, tenures: Mapping[str, Tenure]) -> str | None:
    """What is wrong with the signature of a line, or with the key that it adds or retires."""
    event = line.event
    key: PublicKey | None = None
    if isinstance(event, KeyAdd):
        try:
            key = public_key(event.key, "")
        except InputError:
            return "adds something that is no Ed25519 public key"
        if key.fingerprint != event.fingerprint:
            return "adds a key under a fingerprint that is not its own"
        if event.fingerprint in tenures:
            return "adds a key that was added before"
    if isinstance(event, KeyRetire) and (
        event.fingerprint not in tenures or tenures[event.fingerprint].retired is not None
    ):
        return "retires a key that is not active"
    if line.by is None or line.sig is None:
        return None
    if tenures or not isinstance(event, KeyAdd):
        held = tenures.get(line.by)
        if held is None or not held.holds(line.seq):
            return f"is signed by key {line.by[:16]}..., which may not sign here"
        key = held.key
    elif key is None or key.fingerprint != line.by:
        return "adds the first key, and is not signed by it"
    try:
        signature = base64.b64decode(line.sig, validate=True)
    except (binascii.Error, ValueError):
        return "has a signature that is not base64"
    if base64.b64encode(signature).decode() != line.sig or not key.signed(signed_bytes(line), signature):
        return f"was changed: key {line.by[:16]}... did not sign it"
    return None
