"""The records of sealed runs: what everybody may see, and what stays in the vault (SPEC X4 X5)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec

from lacre.digest import canonical, sha256
from lacre.engine.messages import Template
from lacre.engine.plans import RunRecord
from lacre.errors import InputError, IntegrityError, sentence
from lacre.jsonl import read_bytes
from lacre.registry.events import Count as Number
from lacre.registry.events import Hash
from lacre.registry.records import Record
from lacre.sealed.cells import Tables
from lacre.sealed.counts import Count
from lacre.sealed.scores import Score

T = TypeVar("T", "PublicRun", "RoundTables")

MOST_LETTERS = 120
"""The longest name in a public record: no room for a sentence."""
_PLAIN = "^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$"
Name = Annotated[str, msgspec.Meta(pattern=_PLAIN)]
"""An id, or the name of a run."""
Round = Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,119}/[0-9]{1,6}$")]
Version = Annotated[str, msgspec.Meta(pattern="^[0-9a-z.+-]{1,40}$")]
Undecided = Literal["wrong", "failure"]

Method = Literal["lacre-cells-1"]
COARSENED: Method = "lacre-cells-1"
"""How counts are held back: :func:`lacre.sealed.cells.approve`, then :func:`lacre.sealed.counts.counts`."""


class RoundTables(Record, omit_defaults=False):
    """Which counts may leave of a round's sealed runs, the same for every column. Public.

    Attributes:
        items: ids that every column of the round is asked, sorted. ``graded``: those of choice, which counts are of.
        smallest, share, margin: the rule; see :class:`lacre.sealed.cells.CellRule`. The last two are exact fractions.
        tables: the cells, and those left out with the reason.
    """

    benchmark: Name
    round: Round
    items: tuple[Name, ...]
    graded: tuple[Name, ...]
    axes: tuple[str, ...]
    smallest: int
    share: str
    margin: str
    tables: Tables
    format: Literal["lacre-sealed-tables-1"] = "lacre-sealed-tables-1"


class Times(Record, omit_defaults=False):
    """How often an item was asked, by its kind."""

    choice: Annotated[int, msgspec.Meta(ge=1, le=1000)]
    open: Annotated[int, msgspec.Meta(ge=1, le=1000)]


class PublicRun(Record, omit_defaults=False):
    """All that may be known of a sealed run. What is not a field here does not leave.

    Attributes:
        card: SHA-256 of what the column's card asks, and where; ``templates``: those of the messages, by name;
            ``code``: that of the program, see :func:`code_digest`.
        tables: SHA-256 of the round's tables. ``intent``: hash of the ledger's line.
        items, items_root: how many, and the Merkle root over their public rows.
        undecided: what answers counted as that the rule could not read; none when there were none.
        undecided_answers: how many those were; none where the whole set is too small for any count.
        ungraded: open items, of which no counts leave before they are graded.
        counts: in the order of the round's tables. ``method``: how they were held back.
        leaves, scores: how many scores, and the Merkle root over them.
    """

    benchmark: Name
    round: Round
    run: Name
    column: Name
    version: Version
    code: Hash
    card: Hash
    templates: dict[Literal["choice", "open", "part"], Hash]
    tables: Hash
    intent: Hash
    items: Number
    items_root: Hash
    repetitions: Times
    undecided: Undecided | None
    undecided_answers: Number | None
    ungraded: Number
    counts: tuple[Count, ...]
    leaves: Number
    scores: Hash
    method: Method = COARSENED
    format: Literal["lacre-sealed-run-1"] = "lacre-sealed-run-1"


class KeptRun(Record, omit_defaults=False):
    """What the vault keeps of a run from its beginning.

    Attributes:
        items: ids in the order in which they are asked.
        tables: SHA-256 of the round's tables. ``undecided``: as in :class:`PublicRun`, where it was said.
    """

    benchmark: Name
    round: Round
    record: RunRecord
    items: tuple[Name, ...]
    tables: Hash
    undecided: Undecided | None = None


class KeptScore(Record, omit_defaults=False):
    """A score with the nonce that opens its leaf; for the vault."""

    score: Score
    nonce: Hash


def run_name(benchmark: str, column: str, now: datetime) -> str:
    """The name of a run that begins now.

    >>> from datetime import UTC
    >>> run_name("exemplo", "local", datetime(2027, 1, 16, 22, tzinfo=UTC))
    'exemplo-local-20270116T220000Z'

    Raises:
        InputError: it would not fit the public record, which has no room for a sentence.
    """
    name = f"{benchmark}-{column}-{now:%Y%m%dT%H%M%SZ}"
    if re.fullmatch(_PLAIN, name):
        return name
    both = len(benchmark) + len(column)
    room = MOST_LETTERS - (len(name) - both)
    raise InputError(
        f"column '{column}'",
        f"makes no name for a run with benchmark '{benchmark}': together they have {both} letters, and there is room "
        f"for {room}, each of A-Z, a-z, 0-9, '.', '_' and '-'",
        "Give the card a shorter, plain id",
    )


def number_of(round: str) -> int:
    """The number of a round: of the closing that ends it.

    >>> number_of("exemplo/12")
    12
    """
    return int(round.rpartition("/")[2])


def run_place(benchmark: str, run: str) -> str:
    """Where the public record of a run stands in its workspace."""
    return f"registry/{benchmark}/private/runs/{run}.json"


def tables_place(benchmark: str, round: str) -> str:
    """Where a round's tables stand in their workspace."""
    return f"registry/{benchmark}/private/tables/{number_of(round):04d}.json"


def scores_place(benchmark: str, closing: int) -> str:
    """Where the scores of the items stand that opened at a closing, beside their openings."""
    return f"registry/{benchmark}/rounds/{closing:04d}/scores-opened.jsonl"


def document(run: str, name: str) -> str:
    """The name of a document of a run in the vault.

    >>> document("r1", "scores.jsonl")
    'runs/r1/scores.jsonl'
    """
    return f"runs/{run}/{name}"


def public_bytes(record: PublicRun | RoundTables) -> bytes:
    """The file of a public record. What does not fit its schema is refused, so that nothing else can leave.

    Raises:
        IntegrityError: a value does not fit, or names a cell that is none of the record's.
    """
    content = msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"
    found = _read(content, PublicRun) if isinstance(record, PublicRun) else _read(content, RoundTables)
    if isinstance(found, _Misfit):
        raise IntegrityError(
            f"sealed: the public record of {record.round} does not fit its schema{found.at}. "
            "Nothing of it was written."
        )
    return content


def read_run(path: Path) -> PublicRun:
    """The public record of a run.

    Raises:
        InputError: the file cannot be read. IntegrityError: it is none, or was written by another hand.
    """
    return _record(path, PublicRun)


def read_tables(path: Path) -> RoundTables:
    """The tables of a round; errors as :func:`read_run`."""
    return _record(path, RoundTables)


def templates_digest(templates: Sequence[Template]) -> str:
    """The SHA-256 that stands for the messages of a run: of the canonical JSON of name -> SHA-256 of the file.

    >>> templates_digest([])[:16]
    '44136fa355b3678a'
    """
    return sha256(canonical({template.name: template.sha256 for template in templates}))


@cache
def code_digest(folder: Path = Path(__file__).parents[1]) -> str:
    """The SHA-256 that stands for the program: of the SHA-256 and the name of each of its files, sorted by name.

    It is what ``sha256sum`` prints of the sorted list of ``*.py`` in the package's folder.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py"), key=lambda path: path.relative_to(folder).as_posix()):
        name = path.relative_to(folder).as_posix()
        digest.update(f"{sha256(path.read_bytes())}  {name}\n".encode())
    return digest.hexdigest()


def _record(path: Path, kind: type[T]) -> T:
    content = read_bytes(path)
    found = _read(content, kind)
    if isinstance(found, _Misfit) or public_bytes(found) != content:
        raise IntegrityError(
            sentence(path, "is no public record of a sealed run as lacre writes it", "Restore it from a copy")
        )
    return found


@dataclass(frozen=True, slots=True)
class _Misfit:
    """Bytes that are no record: the field that does not fit, as the end of a clause; never its value."""

    at: str


def _read(content: bytes, kind: type[T]) -> T | _Misfit:
    """The record in some bytes, or where they do not fit it."""
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        place = re.search(r"at `(?:key in )?\$\.?([\w.\[\]]+)`$", str(error))
        return _Misfit(f", at {place[1]}" if place else "")
