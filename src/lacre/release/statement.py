"""The statement of a release: what its signature vouches for (DESIGN section 7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lacre.registry.events import Count, Hash, Text
from lacre.registry.ledger import Ledger
from lacre.registry.matrix import cell_name
from lacre.registry.records import Record
from lacre.release.verify import RELEASE, SUMS
from lacre.rotation.public import Public
from lacre.sealing.commitments import Row, rows_root
from lacre.sealing.dsse import Statement, statement


class Package(Record, omit_defaults=False):
    """The files that SHA256SUMS lists: how many, and their bytes in all."""

    files: Count
    bytes: Count


class Head(Record, omit_defaults=False):
    """The ledger that travels along: its lines, its bytes, and the hash of its last line."""

    lines: Count
    bytes: Count
    head: Hash


class Previous(Record, omit_defaults=False):
    """The release before: its name, and the hash of its SHA256SUMS."""

    release: Text
    package: Hash


class Private(Record, omit_defaults=False):
    """The sealed items of one benchmark.

    Attributes:
        closings: draws carried out. ``private``: items that are sealed; ``cells``: by cell of the matrix.
        root: Merkle root over their rows, sorted by id.
    """

    closings: Count
    private: Count
    cells: dict[str, Count]
    root: Hash


class Code(Record, omit_defaults=False):
    """The program that made the release: its version, and the hash of the list of its files' hashes."""

    lacre: Text
    files: Hash


class Release(Record, omit_defaults=False):
    """What a release says of itself; the predicate of its signed statement.

    Attributes:
        at: when it was made (UTC); ``next_due``: when the next one is due, so that an old one is not passed off
            as the last.
    """

    release: Text
    at: Text
    package: Package
    benchmarks: dict[str, Private]
    ledger: Head
    previous: Previous | None
    next_due: str | None
    code: Code


def head_of(ledger: Ledger) -> Head:
    """The head of a ledger."""
    return Head(lines=ledger.size, bytes=len(ledger.content), head=ledger.head)


def private_of(public: Public) -> Private:
    """The sealed items of a benchmark, void and replaced ones included: they are sealed until they open."""
    return counted(public.history.closed, public.rows)


def counted(closings: int, rows: Sequence[Row]) -> Private:
    """Rows, counted.

    >>> counted(0, []).private
    0
    """
    cells = Counter(cell_name(row.cell) for row in rows)
    return Private(
        closings=closings, private=len(rows), cells=dict(sorted(cells.items())), root=rows_root(rows)
    )


def release_statement(release: Release, package: str) -> Statement:
    """The statement that is signed; ``package``: the hash of SHA256SUMS."""
    return statement({SUMS: package}, RELEASE, release)
