"""The ledger: what happened, one event a line, each line holding the hash of the line before.

A line is canonical JSON (RFC 8785) and a line feed; its hash is the SHA-256 of both, so that
``sed -n 3p ledger.jsonl | sha256sum`` prints the ``prev`` of line 4. A file that grew is a byte prefix of its
successor. The chain protects every line but the last; signatures on lines, and signed heads, protect that one.
"""

from __future__ import annotations

import base64
import fcntl
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from lacre.digest import canonical, sha256
from lacre.errors import Fault, InputError, IntegrityError, sentence
from lacre.jsonl import explained, read_bytes, write_bytes
from lacre.registry.events import (
    BatchCommit,
    Event,
    Exposure,
    Freeze,
    Genesis,
    Hash,
    KeyAdd,
    KeyRetire,
    RunAbort,
    RunIntent,
    RunResult,
    Split,
    Supersede,
    Void,
    event_name,
)
from lacre.registry.records import Record

NOTHING = "0" * 64  # `prev` of the first line
SIGNED = (
    *(KeyAdd, KeyRetire, BatchCommit, Supersede, Void, Freeze, Split),
    *(RunIntent, RunResult, RunAbort, Exposure),
)
"""Events that mean nothing without a signature of their own: they say who may sign, or steer a draw or a run.

An open line needs none: the split that ends its closing is signed, and names the hash of the line before it.
"""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


class Line(Record):
    """One line of the ledger.

    Attributes:
        seq: its number, from 1. ``prev``: hash of the line before. ``at``: when, UTC, to the second.
        by: fingerprint of the key that signed the line, ``sig`` the Ed25519 signature in base64, over
            :func:`signed_bytes`; both or neither.
    """

    seq: int
    prev: Hash
    at: str
    event: Event
    by: Hash | None = None
    sig: str | None = None


class Signer(Protocol):
    """Whatever can sign a line."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the raw public key."""
        ...

    def sign(self, message: bytes) -> bytes:
        """The signature of a message: 64 bytes."""
        ...


@dataclass(frozen=True, slots=True)
class Ledger:
    """A ledger whose chain holds: its lines, and its bytes as they are on disk."""

    lines: tuple[Line, ...]
    content: bytes

    @property
    def size(self) -> int:
        """The number of lines."""
        return len(self.lines)

    @property
    def head(self) -> str:
        """The hash of the last line; 64 zeros when there is none."""
        return head(self.content)

    @property
    def workspace(self) -> str | None:
        """The number that tells this workspace from others, none when there is no line yet."""
        first = self.lines[0].event if self.lines else None
        return first.workspace if isinstance(first, Genesis) else None

    def hash_of(self, seq: int) -> str:
        """The hash of line number ``seq``."""
        return self.lines[seq].prev if seq < self.size else self.head


def head(content: bytes) -> str:
    """The hash of the last line of a ledger's bytes; 64 zeros when there is none.

    >>> head(b"") == NOTHING
    True
    """
    return sha256(content[content.rfind(b"\n", 0, -1) + 1 :]) if content else NOTHING


def signed_bytes(line: Line) -> bytes:
    """What the signature of a line is over: the line without it, and what kind of thing this is."""
    return b"LACRE-LINE-v1\x00" + canonical(msgspec.structs.replace(line, sig=None))


def parse(content: bytes, where: str | Path) -> Ledger:
    """The ledger in ``content``, its chain checked; ``where`` names it in errors.

    Raises:
        IntegrityError: lists every line that was changed, removed, moved or torn.
    """
    lines, faults = _walk(content)
    if faults:
        raise IntegrityError("\n".join(sentence(f"{where}:{f.line}", f.what, f.todo) for f in faults))
    return Ledger(tuple(lines), content)


def read(path: Path) -> Ledger:
    """The ledger of a file, its chain checked; empty when there is no file.

    Raises:
        IntegrityError: lists every line that was changed, removed, moved or torn.
        InputError: the file cannot be read.
    """
    return parse(read_bytes(path) if path.exists() else b"", path)


def appended(
    ledger: Ledger, events: Sequence[Event], *, at: str, signer: Signer | None = None, where: str | Path = ""
) -> Ledger:
    """The ledger with events at its end, all at time ``at``, each signed where there is a signer.

    Raises:
        InputError: the signer may not sign there, or there is none for an event that must be signed; ``at`` is
            before the last line, for a clock that went backwards would hide the order of things; or the first
            event is not the genesis, or a later one is.
    """
    _refuse_signer(ledger, events, signer, where or "ledger")
    return chained(ledger, events, at=at, signer=signer, where=where)


def active_keys(lines: Sequence[Line]) -> dict[str, str]:
    """Fingerprint -> name of the keys that may sign after these lines, by what they say; no signature is checked.

    >>> active_keys(())
    {}
    """
    active: dict[str, str] = {}
    for line in lines:
        if isinstance(line.event, KeyAdd):
            active[line.event.fingerprint] = line.event.name
        elif isinstance(line.event, KeyRetire):
            active.pop(line.event.fingerprint, None)
    return active


def _refuse_signer(ledger: Ledger, events: Sequence[Event], signer: Signer | None, where: str | Path) -> None:
    """Refuse lines that no reader would accept, before anything is written.

    Raises:
        InputError: as :func:`appended`.
    """
    if signer is None:
        bare = next((event for event in events if isinstance(event, SIGNED)), None)
        if bare is not None:
            what = f"a {event_name(bare)} must be signed, and no key is given"
            raise InputError(where, what, "Give an active key with --key: `lacre key list` names them")
        return
    active = active_keys(ledger.lines)
    first = next((event for event in events if isinstance(event, KeyAdd)), None)
    if not active and first is not None:
        active = {first.fingerprint: first.name}  # the first key signs for itself
    if signer.fingerprint not in active:
        line = next(
            (
                line.seq
                for line in ledger.lines
                if isinstance(line.event, KeyRetire) and line.event.fingerprint == signer.fingerprint
            ),
            None,
        )
        why = "this ledger does not know it" if line is None else f"line {line} retired it"
        raise InputError(
            f"key {signer.fingerprint[:16]}",
            f"may not sign in {where}: {why}",
            "`lacre key list` names those that may",
        )


def chained(
    ledger: Ledger, events: Sequence[Event], *, at: str, signer: Signer | None = None, where: str | Path = ""
) -> Ledger:
    """As :func:`appended`, whoever signs: who may is not looked at, so only what is never kept is made so.

    Raises:
        InputError: the time, or the place of a genesis, is wrong.
    """
    where = where or "ledger"
    if not _TIME.fullmatch(at):
        raise InputError(
            where, f"'{at}' is not a time such as 2026-01-31T12:00:00Z", "Give UTC, to the second"
        )
    if ledger.lines and at < ledger.lines[-1].at:
        raise InputError(
            where,
            f"the clock says {at}, before the last line's {ledger.lines[-1].at}",
            "Set the clock right, and run again",
        )
    lines, content = list(ledger.lines), bytearray(ledger.content)
    prev = ledger.head
    for event in events:
        if isinstance(event, Genesis) == bool(lines):
            raise InputError(where, "genesis is the first line, and no other", "Begin with `lacre key new`")
        line = Line(
            seq=len(lines) + 1, prev=prev, at=at, event=event, by=signer.fingerprint if signer else None
        )
        if signer is not None:
            sig = base64.b64encode(signer.sign(signed_bytes(line))).decode()
            line = msgspec.structs.replace(line, sig=sig)
        written = line_bytes(line)
        prev = sha256(written)
        lines.append(line)
        content += written
    return Ledger(tuple(lines), bytes(content))


def line_bytes(line: Line) -> bytes:
    """A line as it stands in the file, its line feed included."""
    return canonical(line) + b"\n"


def append(path: Path, events: Event | Sequence[Event], *, at: str, signer: Signer | None = None) -> str:
    """Write events at the end of a ledger, all of them or none, and return the hash of the last line.

    The chain is checked first, under a lock: nothing is ever built on a broken one.

    Raises:
        IntegrityError, InputError: as :func:`read` and :func:`appended`.
    """
    several = events if isinstance(events, Sequence) else (events,)
    with locked(path):
        longer = appended(read(path), several, at=at, signer=signer, where=path)
        write_bytes(path, longer.content)
    return longer.head


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds off other processes that write the ledger at ``path``; waits for them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # The folder, not the file: the file is replaced at each write, and a lock beside it would lie in git.
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        # What a killed process had half written: whoever writes has the lock, so it is nobody's any more.
        for left in path.parent.glob(f".{path.name}.*.part"):
            if left.is_file():
                left.unlink(missing_ok=True)
        yield
    finally:
        os.close(handle)


def prefix_fault(older: bytes, newer: bytes) -> Fault | None:
    """Why ``newer`` is not ``older`` with lines added; none when it is. Names the first line that differs.

    >>> prefix_fault(b"a\\nb\\n", b"a\\nb\\nc\\n")
    >>> prefix_fault(b"a\\nb\\n", b"a\\nB\\nc\\n").what
    'is not what it was'
    """
    if newer.startswith(older) and (not older or older.endswith(b"\n")):
        return None
    todo = "History was rewritten: trust neither ledger until it is explained"
    old, new = older.splitlines(keepends=True), newer.splitlines(keepends=True)
    for number, line in enumerate(old, 1):
        if number > len(new):
            return Fault(number, f"is gone: the older ledger has {len(old)} lines, this one {len(new)}", todo)
        if new[number - 1] != line:
            return Fault(number, "is not what it was", todo)
    return Fault(len(old), "has no end in the older ledger", todo)


def _walk(content: bytes) -> tuple[list[Line], list[Fault]]:
    """The lines that can be read, and what is wrong with the chain."""
    raw = content.split(b"\n")
    torn = raw.pop()
    lines: list[Line] = []
    faults: list[Fault] = []
    expected, seq = NOTHING, 1
    for number, text in enumerate(raw, 1):
        found = _line(text)
        if isinstance(found, str):
            faults.append(Fault(number, found, "Restore it from a copy that others hold"))
            expected, seq = sha256(text + b"\n"), seq + 1
            continue
        if found.seq != seq:
            faults.append(Fault(number, *_misplaced(found.seq, seq)))
        elif found.prev != expected:
            faults.append(_broken(number, found.prev))
        elif lines and found.at < lines[-1].at:
            faults.append(
                Fault(number, f"is dated {found.at}, before the line above it", "A clock went backwards")
            )
        if isinstance(found.event, Genesis) != (number == 1):
            what = "begins with no genesis" if number == 1 else "is a second genesis"
            faults.append(Fault(number, what, "Restore the ledger from a copy that others hold"))
        lines.append(found)
        expected, seq = sha256(text + b"\n"), found.seq + 1
    if torn:
        what = f"is torn: {len(torn)} bytes without a line feed"
        faults.append(
            Fault(len(raw) + 1, what, "Restore it from a copy, or take the piece out if it was cut short")
        )
    return lines, faults


def _line(text: bytes) -> Line | str:
    """A line, or what is wrong with it."""
    try:
        line = msgspec.json.decode(text, type=Line)
        if canonical(line) != text:
            return "was changed: it is not in canonical form"
    except UnicodeDecodeError:
        return "was changed: it is not UTF-8"
    except msgspec.DecodeError as error:
        return f"was changed: {explained(error, Line)}"
    except ValueError:
        return "was changed: it has no canonical form"
    if not _TIME.fullmatch(line.at):
        return "was changed: its time is not a time"
    if (line.by is None) != (line.sig is None):
        return "was changed: a signature goes with the key that made it"
    if isinstance(line.event, SIGNED) and line.sig is None:
        return f"is a {event_name(line.event)} that nobody signed"
    return line


def _misplaced(seq: int, due: int) -> tuple[str, str]:
    """What is wrong with a line whose number is not the one that is due, and what to do."""
    todo = "Restore the ledger from a copy that others hold"
    if seq > due:
        missing = f"line {due} was" if seq == due + 1 else f"lines {due} to {seq - 1} were"
        return f"says it is line {seq}: {missing} removed or moved", todo
    return f"says it is line {seq}, where {due} is due: it was moved or doubled", todo


def _broken(number: int, prev: str) -> Fault:
    """The fault of a line that names another line before it than the one that stands there."""
    if number == 1:
        return Fault(1, "names a line before it", "Restore the ledger from a copy that others hold")
    what = f"was changed: line {number} names {prev[:12]}... as the line before it"
    return Fault(number - 1, what, "Restore it from a copy that others hold")
