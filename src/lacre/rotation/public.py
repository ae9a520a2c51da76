"""The public files of one benchmark's private items, read together: ledger, commitments, closings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lacre.digest import sha256
from lacre.errors import Fault, IntegrityError
from lacre.jsonl import Lines, lines_of, read_bytes, read_lines
from lacre.registry import ledger as ledgers
from lacre.registry.ledger import Ledger
from lacre.rotation.history import History, history
from lacre.rotation.records import OPENINGS_FILE, Opened, openings_from, round_folder
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
        coming: files that are about to be written, by path: they are read in the place of what is on disk.
    """

    registry: Path
    benchmark: str
    ledger: Ledger
    history: History
    rows: tuple[Row, ...]
    coming: Mapping[Path, bytes] = field(default_factory=dict)

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
        """What opened at a closing.

        Raises:
            IntegrityError: a line was changed; every one is listed. InputError: the file cannot be read.
        """
        path = self.folder(number) / OPENINGS_FILE
        return openings_from(self.content(path), path)

    def has(self, path: Path) -> bool:
        """Whether there is such a file."""
        return path in self.coming or path.is_file()

    def content(self, path: Path) -> bytes:
        """The bytes of a public file.

        Raises:
            InputError: it cannot be read.
        """
        return self.coming[path] if path in self.coming else read_bytes(path)

    def published(self, path: Path) -> bytes:
        """The bytes of a file that was published.

        Raises:
            IntegrityError: it is missing: what was published is never taken away.
        """
        if not self.has(path):
            raise IntegrityError(f"{path}: is missing. Get it again from who published it.")
        return self.content(path)

    def successor(self, item: str) -> str:
        """The item that stands for ``item`` now: its last correction, or itself."""
        seen = {item}
        while item in self.history.supersedes:
            item = self.history.supersedes[item].event.by
            if item in seen:
                place = ledger_path(self.registry)
                raise IntegrityError(
                    f"{place}: item '{item}' replaces itself. `lacre round audit` names the lines."
                )
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
    lines: Lines[Row] | None = read_lines(path, Row) if path.exists() else None
    rows = () if lines is None else tuple(row for _, row in lines.records)
    faults = () if lines is None else lines.faults
    return Public(registry, benchmark, ledger, history(ledger, benchmark), rows), faults


def after(public: Public, coming: Mapping[Path, bytes]) -> Public:
    """The public files as they will be once some are written: what an audit of a step looks at before it is taken.

    Raises:
        IntegrityError: the ledger to come does not hold.
    """
    ledger = ledgers.parse(coming[ledger_path(public.registry)], ledger_path(public.registry))
    rows = tuple(row for _, row in lines_of(coming[public.commitments], Row).records)
    return Public(public.registry, public.benchmark, ledger, history(ledger, public.benchmark), rows, coming)


def without(rows: Sequence[Row], gone: Iterable[str]) -> tuple[Row, ...]:
    """Rows but for those of some items."""
    left = set(gone)
    return tuple(row for row in rows if row.id not in left)
