"""Which keys may sign, and when: read from the ledger, every signature on it checked."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from lacre.digest import sha256
from lacre.errors import Fault, InputError, IntegrityError, remedy, sentence
from lacre.jsonl import write_bytes
from lacre.registry.events import KeyAdd, KeyRetire
from lacre.registry.ledger import Ledger, Line, appended, locked, read, signed_bytes
from lacre.registry.reasons import plain_reason
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


Keep = Callable[[], None]
"""Writes the new key to its file: called once the ledger will take it, before the ledger names it."""


def _nothing() -> None:
    """Does nothing."""


def _named(path: Path, longer: Ledger, keep: Keep, forget: Keep) -> None:
    """Keep a new key and let the ledger name it; where the ledger cannot be written, the key goes again.

    Raises:
        InputError: the ledger cannot be written.
    """
    keep()
    with ExitStack() as undo:
        undo.callback(forget)
        try:
            write_bytes(path, longer.content)
        except OSError as error:
            what = f"cannot be written ({error.strerror}), so no key was made"
            raise InputError(path, what, f"{remedy(error)}, and run again") from None
        undo.pop_all()


def enter(
    path: Path,
    key: SigningKey,
    name: str,
    *,
    at: str,
    by: SigningKey | None = None,
    keep: Keep = _nothing,
    forget: Keep = _nothing,
) -> None:
    """Add a key to the ledger of a file, signed by ``by``, an active key; the first signs for itself.

    Raises:
        InputError: there are keys and ``by`` is none of the active ones, or there are none and it is given.
        IntegrityError: the ledger does not hold.
    """
    with locked(path):
        ledger = read(path)
        ring = keyring(ledger, path)
        if by is None and ring.tenures:
            raise InputError(
                path, "has keys already, and one of them must sign for the new one", "Give it with --by"
            )
        if by is not None:
            _refuse_inactive(ring, by)
        longer = appended(ledger, [_added(key, name)], at=at, signer=by or key, where=path)
        _named(path, longer, keep, forget)


def replace(
    path: Path,
    old: SigningKey,
    new: SigningKey,
    name: str | None,
    *,
    at: str,
    keep: Keep = _nothing,
    forget: Keep = _nothing,
) -> None:
    """Put a new key in the place of an old one: the old signs for the new, the new retires the old.

    Raises:
        InputError: the old one is not active. IntegrityError: the ledger does not hold.
    """
    with locked(path):
        ledger = read(path)
        ring = keyring(ledger, path)
        _refuse_inactive(ring, old)
        name = name or ring.tenures[old.fingerprint].name
        longer = appended(ledger, [_added(new, name)], at=at, signer=old, where=path)
        gone = KeyRetire(fingerprint=old.fingerprint, reason="rotated")
        longer = appended(longer, [gone], at=at, signer=new, where=path)
        _named(path, longer, keep, forget)


def retire(path: Path, which: str, signer: SigningKey, reason: str, *, at: str) -> str:
    """Retire an active key, named by its name, or by 8 digits or more of its fingerprint, which is returned.

    Raises:
        InputError: none or several are called so, it is the only one, the signer is not active, or the reason is no
            line of plain words.
        IntegrityError: the ledger does not hold.
    """
    reason = plain_reason(reason)
    with locked(path):
        ledger = read(path)
        ring = keyring(ledger, path)
        _refuse_inactive(ring, signer)
        found = [
            print_
            for print_ in ring.active
            if ring.tenures[print_].name == which or (len(which) >= 8 and print_.startswith(which))
        ]
        if len(found) != 1:
            what = f"{len(found)} active keys are called '{which}'" if found else f"no active key '{which}'"
            raise InputError(path, what, "`lacre key list` has the fingerprints; give 8 digits or more")
        if len(ring.active) == 1:
            raise InputError(
                path, "it is the only active key", "Put another in its place: `lacre key rotate`"
            )
        gone = KeyRetire(fingerprint=found[0], reason=reason)
        write_bytes(path, appended(ledger, [gone], at=at, signer=signer, where=path).content)
    return found[0]


def _added(key: SigningKey, name: str) -> KeyAdd:
    return KeyAdd(fingerprint=key.fingerprint, key=key.public.text, name=name)


def _refuse_inactive(ring: Keyring, key: SigningKey) -> None:
    if key.fingerprint not in ring.active:
        raise InputError(
            f"key {key.fingerprint[:16]}",
            "may not sign in this ledger",
            "`lacre key list` names those that may",
        )


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
