"""The public files of one benchmark's private items, read together: ledger, commitments, closings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lacre.digest import sha256
from lacre.errors import Fault, InputError
from lacre.jsonl import read_bytes, read_lines
from lacre.registry import ledger as ledgers
from lacre.registry.ledger import Ledger
from lacre.rotation.history import History, history
from lacre.rotation.records import OPENINGS_FILE, Opened, read_openings, round_folder
from lacre.sealing.batches import read_rows, rows_place
from lacre.sealing.change import LEDGER
from lacre.sealing.commitments import Row

SETTINGS = ("boilerplate.txt", "corpora.jsonl", "rules.toml")
OWN_SETTINGS = ("benchmark.toml", "matrix.toml")
"""Files of the registry, and of a benchmark in it, on which a freeze stands; it names their hashes."""


@dataclass(frozen=True, slots=True)
class Public:
    """What everybody may see of a benchmark's private items.

    Attributes:
        rows: those whose commitments are not opened yet, sorted by id.
    """

    registry: Path
    benchmark: str
    ledger: Ledger
    history: History
    rows: tuple[Row, ...]

    @property
    def commitments(self) -> Path:
        """The file of the rows."""
        return commitments_path(self.registry, self.benchmark)

    @property
    def private(self) -> tuple[Row, ...]:
        """Rows that take part in draws: neither void nor replaced."""
        return tuple(row for row in self.rows if self.history.is_private(row.id))

    def folder(self, number: int) -> Path:
        """The folder of a closing."""
        return round_folder(self.registry, self.benchmark, number)

    def openings(self, number: int) -> list[Opened]:
        """What opened at a closing."""
        return read_openings(self.folder(number) / OPENINGS_FILE)

    def successor(self, item: str) -> str:
        """The item that stands for ``item`` now: its last correction, or itself."""
        seen = {item}
        while item in self.history.supersedes:
            item = self.history.supersedes[item].event.by
            if item in seen:
                raise InputError(self.registry / "ledger.jsonl", f"item '{item}' replaces itself", "Audit it")
            seen.add(item)
        return item


def settings_digests(registry: Path, benchmark: str) -> dict[str, str]:
    """SHA-256 of each file that says what the rules, the matrix and the corpora are, by its place in the registry.

    A file that is not there is not named.
    """
    places = [*SETTINGS, *(f"{benchmark}/{name}" for name in OWN_SETTINGS)]
    return {
        place: sha256(read_bytes(registry / place))
        for place in sorted(places)
        if (registry / place).is_file()
    }


def ledger_path(registry: Path) -> Path:
    """The ledger of a workspace."""
    return registry.parent / LEDGER


def commitments_path(registry: Path, benchmark: str) -> Path:
    """The public rows of a benchmark's private items."""
    return registry.parent / rows_place(benchmark)


def read_public(registry: Path, benchmark: str) -> Public:
    """The public files of a benchmark.

    Raises:
        InputError, RecordError: a file cannot be read.
        IntegrityError: the ledger's chain does not hold.
    """
    ledger = ledgers.read(ledger_path(registry))
    rows = read_rows(commitments_path(registry, benchmark))
    return Public(registry, benchmark, ledger, history(ledger, benchmark), rows)


def read_damaged(registry: Path, benchmark: str) -> tuple[Public, tuple[Fault, ...]]:
    """As :func:`read_public`, but rows that can be read are taken, and what is wrong with the others is told.

    Raises:
        IntegrityError: the ledger's chain does not hold; then nothing can be told.
    """
    ledger = ledgers.read(ledger_path(registry))
    path = commitments_path(registry, benchmark)
    lines = read_lines(path, Row) if path.exists() else None
    rows = () if lines is None else tuple(row for _, row in lines.records)
    faults = () if lines is None else lines.faults
    return Public(registry, benchmark, ledger, history(ledger, benchmark), rows), faults


def without(rows: Sequence[Row], gone: Iterable[str]) -> tuple[Row, ...]:
    """Rows but for those of some items."""
    left = set(gone)
    return tuple(row for row in rows if row.id not in left)
