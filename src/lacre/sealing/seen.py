"""What a vault last saw of the ledger and of its own logs: either may be longer since, and never shorter (SPEC X4).

The ledger's chain and a log's frames prove every line but the last ones: a file that was cut at a line's end holds. The
vault's index says how far each had come, so that a ledger taken back from git, or a log that was lost, is not taken for
one that did not go further.
"""

from __future__ import annotations

from pathlib import Path

from lacre.digest import sha256
from lacre.errors import IntegrityError, sentence
from lacre.registry.events import Count, Hash
from lacre.registry.records import Record

RESTORE_LEDGER = "Restore the longer one, from git or from a copy that others hold"


class LedgerSeen(Record):
    """How long the ledger was: its lines, and the hash of the last of them."""

    lines: Count
    head: Hash


class LogSeen(Record):
    """How long a log was: its frames, the hash of the last one, and the replies that were in it at least."""

    frames: Count
    digest: Hash
    replies: Count = 0


def ledger_seen(content: bytes) -> LedgerSeen | None:
    """What is to be remembered of a ledger's bytes; none of an empty one.

    >>> ledger_seen(b"a\\nb\\n").lines
    2
    """
    lines = _lines(content)
    return LedgerSeen(lines=len(lines), head=sha256(lines[-1])) if lines else None


def ledger_fault(seen: LedgerSeen | None, content: bytes) -> str | None:
    """Why a ledger's bytes are not those that were seen, with lines added; none when they are.

    >>> ledger_fault(ledger_seen(b"a\\nb\\n"), b"a\\nb\\nc\\n")
    >>> ledger_fault(ledger_seen(b"a\\nb\\n"), b"a\\n")
    'has 1 of the 2 lines that it had when the vault last saw it'
    >>> ledger_fault(ledger_seen(b"a\\nb\\n"), b"a\\nB\\nc\\n")
    'is another than the vault last saw: line 2 is not what it was'
    """
    if seen is None:
        return None
    lines = _lines(content)
    if len(lines) < seen.lines:
        return f"has {len(lines)} of the {seen.lines} lines that it had when the vault last saw it"
    if sha256(lines[seen.lines - 1]) != seen.head:
        return f"is another than the vault last saw: line {seen.lines} is not what it was"
    return None


def refuse_older(seen: LedgerSeen | None, content: bytes, where: Path) -> None:
    """Refuse a ledger that is shorter than the vault last saw it, or another one.

    Raises:
        IntegrityError: it is.
    """
    if (what := ledger_fault(seen, content)) is not None:
        raise IntegrityError(sentence(where, what, RESTORE_LEDGER))


def _lines(content: bytes) -> list[bytes]:
    return [line + b"\n" for line in content.split(b"\n")[:-1]]
