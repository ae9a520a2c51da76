"""What a closing leaves in public: the signed freeze, how the draw went, and the openings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from lacre.digest import canonical, is_canonical, sha256
from lacre.draw import Drawn, Ticket
from lacre.errors import Fault, InputError, IntegrityError, RecordError
from lacre.jsonl import lines_of, read_bytes
from lacre.registry.events import Hash, Text, Why
from lacre.registry.items import Payload
from lacre.registry.matrix import parse_cell
from lacre.registry.records import Record
from lacre.rotation.beacon import Source
from lacre.sealing.commitments import Row
from lacre.sealing.dsse import Statement, statement

FREEZE = "urn:lacre:freeze:1"
"""Predicate of a signed freeze."""

FREEZE_FILE, BEACON_FILE, DRAW_FILE, OPENINGS_FILE = (
    "freeze.dsse.json",
    "randomness.json",
    "draw.json",
    "openings.jsonl",
)
STAMP_FILE = "freeze.tsr"
"""The files of one closing; the stamp is there when an authority stamped the freeze."""

GIVEN_UP = "given-up-{}.freeze.dsse.json"
"""A freeze of the closing that was given up for another: the first, the second ..."""

Ratio = Annotated[str, msgspec.Meta(pattern=r"^-?[0-9]{1,40}(/[1-9][0-9]{0,39})?$")]
"""An exact fraction, as text."""

Must = Literal["leak", "exposure", "defect"]
"""Why a person forces an item open."""


class FrozenItem(Record):
    """One private item in a freeze. ``age``: closings it stayed private through; ``cell``: the cell's name."""

    id: Text
    cell: Text
    commitment: Hash
    batch: Text
    group: str | None = None
    age: int = 0
    must: Must | None = None


class Leaving(Record):
    """An item that is in no draw any more, and opens at this closing.

    Attributes:
        why: ``void``: at once. ``supersede``: together with ``after``, the corrected item that replaced it.
    """

    id: Text
    cell: Text
    commitment: Hash
    batch: Text
    why: Literal["void", "supersede"]
    group: str | None = None
    after: str | None = None


class Frozen(Record, omit_defaults=False):
    """The ground of one draw, fixed before its randomness exists.

    Attributes:
        round: the benchmark, a slash, the number of the closing, from 1.
        share: exact share that opens. ``age_cap``: see :class:`lacre.registry.rules.RoundRules`.
        workspace, head, lines: the ledger's number, and its head and size at the time.
        at: when, UTC, by the clock of who froze it; a time stamp proves it.
        exposure_cap: showings to columns past which an item must open; 0: no cap. Kept for the audit: what it
            forces stands in ``items`` already.
        settings: SHA-256 of each public file, by its place in the registry, that says what the rules, the matrix
            and the corpora were.
        corpora: the required corpora that every item was kept against; ``waived``: items that a person
            answers for instead.
        items, leaving: sorted by id.
    """

    benchmark: Text
    round: Text
    share: Ratio
    age_cap: int
    workspace: Hash
    head: Hash
    lines: int
    at: Text
    source: Source
    items: tuple[FrozenItem, ...]
    leaving: tuple[Leaving, ...] = ()
    corpora: tuple[str, ...] = ()
    waived: tuple[str, ...] = ()
    exposure_cap: Annotated[int, msgspec.Meta(ge=0)] = 0
    settings: dict[str, Hash] = msgspec.field(default_factory=dict)

    @property
    def number(self) -> int:
        """The number of the closing."""
        return round_number(self.round)

    def tickets(self) -> list[Ticket]:
        """The items as the draw takes them."""
        return [
            Ticket(commitment=i.commitment, cell=i.cell, group=i.group, age=i.age, must=i.must)
            for i in self.items
        ]


class CellCount(Record, omit_defaults=False):
    """How the draw went in one cell. ``quota`` and ``carry`` are exact fractions, see :class:`lacre.draw.CellDraw`."""

    cell: str
    items: int
    quota: Ratio
    forced: int
    grouped: int
    drawn: int
    opens: int
    stays: int
    carry: Ratio


class DrawRecord(Record, omit_defaults=False):
    """How a draw went: what anybody who repeats it must find.

    Attributes:
        freeze, randomness_file: SHA-256 of those files; ``stamp_file``: that of the time stamp, if any.
        forced: how many opened whatever the draw said, by reason; ``left``: void and superseded ones.
        carried: for each cell, items opened above the exact quota in all closings so far, this one included.
    """

    round: str
    freeze: Hash
    head: Hash
    randomness: str
    randomness_file: Hash
    stamp_file: Hash | None
    seed: Hash
    share: Ratio
    opens: int
    stays: int
    forced: dict[str, int]
    left: dict[str, int]
    cells: tuple[CellCount, ...]
    carried: dict[str, Ratio]


class Opened(Record):
    """One line of the openings: the public row as it was committed, why it opened, and what opens it."""

    id: Text
    cell: dict[str, str]
    batch: Text
    commitment: Hash
    why: Why
    nonce: Hash
    payload: Payload
    group: str | None = None

    @property
    def row(self) -> Row:
        """The public row."""
        return Row(id=self.id, cell=self.cell, batch=self.batch, commitment=self.commitment, group=self.group)


def round_name(benchmark: str, number: int) -> str:
    """The name of a closing, as the seed and the ledger have it.

    >>> round_name("exemplo", 2)
    'exemplo/2'
    """
    return f"{benchmark}/{number}"


def round_number(name: str) -> int:
    """The number in a closing's name; 0 when there is none.

    >>> round_number("exemplo/12"), round_number("exemplo")
    (12, 0)
    """
    digits = name.rpartition("/")[2]
    return int(digits) if digits.isascii() and digits.isdecimal() and "/" in name else 0


def round_folder(registry: Path, benchmark: str, number: int) -> Path:
    """The folder of a closing's files."""
    return registry / benchmark / "rounds" / f"{number:04d}"


def freeze_statement(frozen: Frozen, ledger: bytes) -> Statement:
    """The statement that is signed: about the ledger's bytes at the time."""
    return statement({"ledger.jsonl": sha256(ledger)}, FREEZE, frozen)


def frozen_from(claim: Statement, where: str | Path) -> Frozen:
    """The freeze in a statement whose signature was checked.

    Raises:
        IntegrityError: the statement is about something else.
    """
    if claim.predicate_type != FREEZE:
        raise IntegrityError(f"{where}: is no freeze. Give the file `lacre round freeze` wrote.")
    try:
        return msgspec.convert(claim.predicate, Frozen)
    except msgspec.ValidationError as error:
        raise IntegrityError(
            f"{where}: is no freeze: {error}. Give the file `lacre round freeze` wrote."
        ) from None


def draw_record(
    frozen: Frozen,
    drawn: Drawn,
    *,
    freeze: bytes,
    randomness: bytes,
    randomness_file: bytes,
    stamp_file: bytes | None,
    seed: bytes,
    left: Mapping[str, int],
    before: Mapping[str, str],
) -> DrawRecord:
    """The record of a draw; ``before``: what was carried up to the closing before, by cell."""
    reasons: dict[str, int] = {}
    for reason in drawn.forced.values():
        reasons[reason] = reasons.get(reason, 0) + 1
    carried = {cell: Fraction(text) for cell, text in before.items()}
    for cell in drawn.cells:
        carried[cell.cell] = carried.get(cell.cell, Fraction(0)) + cell.carry
    return DrawRecord(
        round=frozen.round,
        freeze=sha256(freeze),
        head=frozen.head,
        randomness=randomness.hex(),
        randomness_file=sha256(randomness_file),
        stamp_file=None if stamp_file is None else sha256(stamp_file),
        seed=seed.hex(),
        share=frozen.share,
        opens=len(drawn.opens),
        stays=len(frozen.items) - len(drawn.opens),
        forced=dict(sorted(reasons.items())),
        left=dict(sorted(left.items())),
        cells=tuple(
            CellCount(
                cell=c.cell,
                items=c.items,
                quota=str(c.quota),
                forced=c.forced,
                grouped=c.grouped,
                drawn=c.drawn,
                opens=c.opens,
                stays=c.stays,
                carry=str(c.carry),
            )
            for c in drawn.cells
        ),
        carried={cell: str(share) for cell, share in sorted(carried.items())},
    )


def record_bytes(record: Record) -> bytes:
    """A record as a file of its own: canonical JSON and a line feed, so that no byte can change unseen."""
    return canonical(record) + b"\n"


def lines_bytes(records: Iterable[Record]) -> bytes:
    """Records as a file: one a line, each in canonical JSON."""
    return b"".join(map(record_bytes, records))


def read_draw(content: bytes, where: str | Path) -> DrawRecord:
    """The record of a draw.

    Raises:
        IntegrityError: it is none, or not in canonical form.
    """
    try:
        record = msgspec.json.decode(content, type=DrawRecord)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise IntegrityError(f"{where}: was changed: {error}. Get it again from who published it.") from None
    if not content.endswith(b"\n") or not is_canonical(record, content[:-1]):
        raise IntegrityError(
            f"{where}: was changed: it is not in canonical form. Get it again from who published it."
        )
    return record


def openings_from(content: bytes, path: Path) -> list[Opened]:
    """The openings in the bytes of a closing's file; ``path`` names it.

    Raises:
        IntegrityError: a line was changed; every one is listed.
    """
    lines = lines_of(content, Opened)
    faults = [
        Fault(f.line, f"was changed: {f.what}", "Get it again from who published it") for f in lines.faults
    ]
    if faults:
        raise IntegrityError(str(RecordError(path, faults)))
    return [record for _, record in lines.records]


def place_of(cell: str) -> dict[str, str]:
    """The place in the matrix that a frozen cell names.

    Raises:
        IntegrityError: the name is none.
    """
    try:
        return parse_cell(cell)
    except InputError as error:
        raise IntegrityError(str(error)) from None


def read_round_file(folder: Path, name: str) -> bytes:
    """The bytes of a closing's file.

    Raises:
        IntegrityError: it is missing: what was published is never taken away.
    """
    path = folder / name
    if not path.is_file():
        raise IntegrityError(f"{path}: is missing. Get it again from who published it.")
    return read_bytes(path)
