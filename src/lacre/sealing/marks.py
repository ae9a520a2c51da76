"""Beside each log of a vault, how far it has come: written after each frame and never waited for.

A mark is one small file, written over in place: the length of an age file, and that. Where the process is killed it
holds the last frame; where the machine loses power it may be older or unreadable, and then says nothing: what the
vault's index saw (:mod:`lacre.sealing.seen`) is left. It is never ahead of its log, whose frame is on disk before it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from lacre.errors import LacreError
from lacre.registry.events import Hash, Text
from lacre.registry.records import Record
from lacre.sealing.contents import MARKS
from lacre.sealing.journal import framed, unframed
from lacre.sealing.seen import LogSeen
from lacre.sealing.vault import Vault

_SUFFIX = ".mark"


class _Mark(Record, omit_defaults=False):
    """The content of the file."""

    secret: Hash
    log: Text
    seen: LogSeen


def mark_path(vault: Vault, name: str) -> Path:
    """Where the mark of a log lies."""
    return vault.folder / MARKS / f"{name}{_SUFFIX}"


def mark_names(vault: Vault) -> tuple[str, ...]:
    """The names of the logs that have a mark, sorted."""
    return tuple(
        sorted(path.name.removesuffix(_SUFFIX) for path in (vault.folder / MARKS).glob(f"*{_SUFFIX}"))
    )


def furthest(vault: Vault, name: str) -> LogSeen | None:
    """How far a log had come, by its mark or by the vault's index; none where neither knows it."""
    known = [
        each for each in (_read(vault, name), vault.index.logs.get(name)) if each is not None and each.frames
    ]
    return max(known, key=lambda each: (each.frames, each.replies), default=None)


class Mark:
    """The mark of a log that is being added to; its room on disk is taken at the beginning.

    Raises:
        OSError: it cannot be written.
    """

    def __init__(self, vault: Vault, name: str, seen: LogSeen) -> None:
        self._vault, self._name = vault, name
        path = mark_path(vault, name)
        vault.disk.make_folder(path.parent)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        self.write(seen)

    def write(self, seen: LogSeen) -> None:
        """Say how far the log has come."""
        mark = _Mark(secret=self._vault.index.secret, log=self._name, seen=seen)
        os.pwrite(self._file, framed(self._vault.seal(msgspec.json.encode(mark))), 0)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)


def _read(vault: Vault, name: str) -> LogSeen | None:
    path = mark_path(vault, name)
    # Older or unreadable after a power cut: no fault of anybody's, and the index is left.
    with suppress(OSError, LacreError, msgspec.DecodeError, UnicodeDecodeError):
        mark = msgspec.json.decode(vault.unseal(unframed(path.read_bytes()), path), type=_Mark)
        if (mark.secret, mark.log) == (vault.index.secret, name):
            return mark.seen
    return None
