"""The error tree. Every error carries one clear line and the exit code that tells its kind.

A message reads: where: what is wrong. What to do. Only :func:`lacre.cli.main` catches these.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path


class Exit(IntEnum):
    """Exit codes of the command, one for each kind of ending.

    >>> Exit.FINDING.value
    1
    """

    CLEAN = 0
    FINDING = 1
    BAD_INPUT = 2
    INTEGRITY = 3
    COLUMN = 4
    INCOMPLETE = 5
    INTERRUPTED = 130


class LacreError(Exception):
    """Base of all errors that a person can do something about."""

    exit_code = Exit.BAD_INPUT


class InputError(LacreError):
    """A file, option or setting is not what it must be.

    >>> str(InputError("items.csv", "the file is empty", "Give a file with at least one item"))
    'items.csv: the file is empty. Give a file with at least one item.'
    """

    def __init__(self, where: str | Path, what: str, todo: str = "") -> None:
        super().__init__(sentence(where, what, todo))


class RecordError(LacreError):
    """One or more records of a file break their rules; every one of them is listed.

    >>> fault = Fault(line=3, what="layer 'seled' is not official, open or private")
    >>> str(RecordError("items.jsonl", [fault]))
    "items.jsonl:3: layer 'seled' is not official, open or private."
    """

    def __init__(self, path: str | Path, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(sentence(f"{path}:{f.line}", f.what, f.todo) for f in faults))


class Fault:
    """What is wrong with one line of a file, and what to do about it."""

    __slots__ = ("line", "todo", "what")

    def __init__(self, line: int, what: str, todo: str = "") -> None:
        self.line = line
        self.what = what
        self.todo = todo


class IntegrityError(LacreError):
    """Bytes are not those that were promised."""

    exit_code = Exit.INTEGRITY


class ColumnError(LacreError):
    """A column, or the network on the way to it, failed."""

    exit_code = Exit.COLUMN


class IncompleteError(LacreError):
    """Work was left unfinished, so nothing may be concluded from it."""

    exit_code = Exit.INCOMPLETE


def sentence(where: str | Path, what: str, todo: str = "") -> str:
    """One line: where, what is wrong, what to do.

    >>> sentence("a.csv", "no column 'id'", "Name it with --map id=COLUMN")
    "a.csv: no column 'id'. Name it with --map id=COLUMN."
    """
    return ". ".join(part.rstrip(".") for part in (f"{where}: {what}", todo) if part) + "."


_REMEDIES = {
    errno.ENOSPC: "Make room",
    errno.EDQUOT: "Make room: the quota is used up",
    errno.EFBIG: "Raise the limit on the size of files (`ulimit -f`)",
    errno.EROFS: "Make it writable",
    errno.EACCES: "Check its permissions",
    errno.EPERM: "Check its permissions",
    errno.EIO: "Check the disk: it may be failing",
    errno.EMFILE: "Raise the limit on open files (`ulimit -n`)",
    errno.ENOENT: "Check that its folder is still there",
    errno.ENOTDIR: "Check that its folder is a folder",
    errno.EISDIR: "It is a folder: name a file",
}


def remedy(error: OSError) -> str:
    """What to do about a file or disk that failed, by the system's own reason; a part of a message.

    >>> remedy(OSError(errno.ENOSPC, "No space left on device")), remedy(OSError(errno.EIO, "Input/output error"))
    ('Make room', 'Check the disk: it may be failing')
    """
    return _REMEDIES.get(error.errno or 0, "Check the disk and the permissions")
