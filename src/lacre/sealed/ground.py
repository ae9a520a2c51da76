"""What a sealed run stands on, and what is refused before its first question (SPEC X4 X5, L21)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

from lacre.digest import sha256
from lacre.errors import InputError, IntegrityError, sentence
from lacre.registry import ledger as ledgers
from lacre.registry.columns import Column
from lacre.registry.events import Event, Freeze
from lacre.registry.ledger import Ledger, Signer
from lacre.registry.rules import Rules, SealedRules
from lacre.registry.sealed_runs import SealedRun, resume_command, runs_of_round, sealed_runs
from lacre.sealed.cells import LONGEST_NAME, Cell, CellRule, Held, approve
from lacre.sealed.records import KeptRun, RoundTables, number_of, public_bytes, read_tables, tables_place
from lacre.sealing.change import LEDGER
from lacre.sealing.commitments import Row
from lacre.sealing.keyring import keyring
from lacre.sealing.seen import refuse_older
from lacre.sealing.vault import Vault


@dataclass(frozen=True, kw_only=True, slots=True)
class Ground:
    """A benchmark in its workspace, as a sealed run finds it.

    Attributes:
        root: the folder of the workspace.
        round: the closing that comes next, such as ``exemplo/2``.
        rows: public rows of the items that are private now: neither void nor replaced.
        bound: ids of those that may open at the next closing whatever the draw says.
        signer: signs the ledger's lines.
    """

    root: Path
    benchmark: str
    round: str
    rules: Rules
    rows: tuple[Row, ...]
    bound: frozenset[str]
    signer: Signer

    @property
    def ledger_path(self) -> Path:
        """The ledger of the workspace."""
        return self.root / LEDGER

    def ledger(self) -> Ledger:
        """The ledger as it is now."""
        return ledgers.read(self.ledger_path)

    def runs(self) -> dict[str, SealedRun]:
        """The sealed runs of the benchmark, by name."""
        return sealed_runs(self.ledger(), self.benchmark)

    def round_runs(self, ledger: Ledger) -> dict[str, SealedRun]:
        """The sealed runs of the round, by name."""
        return runs_of_round(ledger, self.benchmark, self.round)

    def longer(self, ledger: Ledger, events: Sequence[Event], now: datetime) -> bytes:
        """The ledger with signed lines added, as bytes."""
        at = instant(now)
        return ledgers.appended(ledger, events, at=at, signer=self.signer, where=self.ledger_path).content


def instant(now: datetime) -> str:
    """A time as the ledger has it.

    >>> from datetime import UTC
    >>> instant(datetime(2027, 1, 16, 22, tzinfo=UTC))
    '2027-01-16T22:00:00Z'
    """
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def terms_of(card: Column, rules: SealedRules, today: date) -> str:
    """The terms of retention under which a column may be shown private items; judges are columns too.

    Raises:
        InputError: its card names none, or such as the rules do not accept, or they were read too long ago.
    """
    where, fact = f"column '{card.id}'", card.retention
    if fact is None:
        what = "its card says nothing of what its vendor keeps of what it is sent, so no private item may go there"
        raise InputError(
            where, what, "Write [columns.retention] with value, source and read, from the vendor's terms"
        )
    if fact.value not in rules.retention:
        known = "; ".join(rules.retention) or "none"
        raise InputError(
            where,
            f"terms of retention '{fact.value}' are not among those accepted: {known}",
            "Agree on others with the vendor, or have them accepted: [sealed] retention in the rules",
        )
    try:
        days = (today - date.fromisoformat(fact.read)).days
    except ValueError:
        raise InputError(where, "its terms of retention have no date", "Say when they were read") from None
    if days < 0:
        raise InputError(where, f"its terms were read on {fact.read}, a day to come", "Correct the date")
    if days > rules.terms_days:
        raise InputError(
            where,
            f"its terms were read {days} days ago, and count for {rules.terms_days}",
            f"Read {fact.source} again, and write the day",
        )
    return fact.value


def refuse_vault(vault: Vault, ground: Ground, ledger: Ledger) -> None:
    """Refuse a vault of another workspace, a key that may not sign, and public rows that the vault does not hold.

    Raises:
        InputError: one of these is so.
        IntegrityError: a signature on the ledger does not hold, or it is shorter than the vault saw it.
    """
    refuse_older(vault.index.ledger, ledger.content, ground.ledger_path)
    if ledger.workspace is None:
        raise InputError(ground.ledger_path, "has no line yet", "Begin with `lacre key new`")
    if vault.workspace != ledger.workspace:
        raise InputError(vault.folder, "is not the vault of this workspace", "Name the one that is")
    if ground.signer.fingerprint not in keyring(ledger, ground.ledger_path).active:
        raise InputError("--key", "may not sign in this ledger", "`lacre key list` has the keys that may")
    sealed = {row.id: row for row in vault.rows(ground.benchmark)}
    if strangers := [row.id for row in ground.rows if sealed.get(row.id) != row]:
        what = f"{len(strangers)} public rows are not those of the vault, such as '{strangers[0]}'"
        raise InputError(vault.folder, what, "Run `lacre vault check` in the workspace")


def due_of(
    ledger: Ledger, benchmark: str, round: str | None, *, before: int | None = None
) -> datetime | None:
    """When the randomness comes out that decides what opens of a round; none while the round is not frozen.

    ``before``: by what lines before this one say.

    >>> due_of(Ledger((), b""), "exemplo", "exemplo/1") is None
    True
    """
    dues = [
        line.event.due
        for line in ledger.lines
        if isinstance(line.event, Freeze)
        and (line.event.benchmark, line.event.round) == (benchmark, round)
        and (before is None or line.seq < before)
    ]
    return datetime.fromisoformat(dues[-1]) if dues else None


def refuse_due(ground: Ground, ledger: Ledger, now: datetime, todo: str) -> None:
    """Refuse to ask or to score once it may be known what opens: scores must be fixed before (SPEC X4).

    Raises:
        InputError: the randomness of the round's freeze is due.
    """
    due = due_of(ledger, ground.benchmark, ground.round)
    if due is not None and due <= now:
        what = f"its randomness is due since {instant(due)}, and scores must be fixed before it can be known what opens"
        raise InputError(f"closing {ground.round}", what, todo)


def refuse_second(runs: Mapping[str, SealedRun], round: str, column: str) -> None:
    """Refuse a second run of a column among those of a round: whoever has two may publish the better one.

    Raises:
        InputError: there is one.
    """
    for name, run in runs.items():
        if run.intent.column != column:
            continue
        where = f"column '{column}'"
        match run.standing:
            case "under way":
                raise InputError(
                    where,
                    f"run '{name}' of it is under way in {round}",
                    f"Go on with `{resume_command(name)}`",
                )
            case "scored":
                raise InputError(
                    where, f"was scored in {round} already, by run '{name}'", "Wait for the next round"
                )
            case "given up":
                what = f"run '{name}' of it was given up in {round}, which counts as its run"
                raise InputError(where, what, "Wait for the next round")


def round_tables(vault: Vault, ground: Ground) -> RoundTables:
    """The tables of the round: those of its first run, or new ones where this is the first.

    Raises:
        IntegrityError: the tables of this round or of one before are damaged.
        InputError: there are no private items.
    """
    path = ground.root / tables_place(ground.benchmark, ground.round)
    if path.exists():
        return read_tables(path)
    if not ground.rows:
        raise InputError(
            f"benchmark '{ground.benchmark}'", "has no private items", "Seal some with `lacre vault add`"
        )
    rules = ground.rules
    refuse_axes(ground)
    share = rules.split.first_open if number_of(ground.round) == 1 else rules.rounds.rotation_open
    rule = CellRule(
        smallest=rules.guard.smallest_cell, share=Fraction(share), margin=Fraction(rules.sealed.margin)
    )
    graded = [row for row in ground.rows if vault.sealed(row.id).item.payload.kind == "choice"]
    held = [Held(id=row.id, cell=row.cell, bound=row.id in ground.bound) for row in graded]
    return RoundTables(
        benchmark=ground.benchmark,
        round=ground.round,
        items=tuple(sorted(row.id for row in ground.rows)),
        graded=tuple(sorted(row.id for row in graded)),
        axes=rules.sealed.axes,
        smallest=rule.smallest,
        share=str(rule.share),
        margin=str(rule.margin),
        tables=approve(held, rules.sealed.axes, rule, earlier=_earlier(ground)),
    )


def refuse_axes(ground: Ground) -> None:
    """Refuse axes that the private items do not have, and values whose cells are too long for a public record.

    Raises:
        InputError: there is one; all of its kind are named.
    """
    axes, registry = ground.rules.sealed.axes, ground.root / "registry"
    known = sorted({axis for row in ground.rows for axis in row.cell})
    if unknown := [axis for axis in axes if axis not in known]:
        what = f"{', '.join(unknown)}: no axis of the matrix of '{ground.benchmark}'"
        raise InputError("[sealed] axes", what, f"There are: {', '.join(known) or 'none'}")
    names = {f"{axis}={row.cell[axis]}" for row in ground.rows for axis in axes if axis in row.cell}
    if long := sorted(name for name in names if len(name) > LONGEST_NAME):
        first = f"{long[0][:30]}..."
        raise InputError(
            registry / ground.benchmark / "matrix.toml",
            f"cell '{first}' has {len(long[0])} letters, and a public record has room for {LONGEST_NAME}",
            "Give its value a shorter name, or take its axis out of [sealed] axes",
        )


def fixed_tables(ground: Ground, kept: KeptRun) -> RoundTables:
    """The tables of the round, as a run began with them.

    Raises:
        IntegrityError: they are gone, damaged, or others.
    """
    path, todo = ground.root / tables_place(kept.benchmark, kept.round), "Restore it from git, then resume"
    if not path.exists():
        raise IntegrityError(sentence(path, "is missing: it says which counts may leave of this round", todo))
    tables = read_tables(path)
    if sha256(public_bytes(tables)) != kept.tables:
        raise IntegrityError(sentence(path, "is not what this run began with", todo))
    return tables


def asked_rows(tables: RoundTables, ground: Ground) -> tuple[Row, ...]:
    """The rows that a run of the round asks: those of its tables that are private still, sorted by id.

    What was sealed since the round's first run waits for the next one, or the two runs would not be of one set.
    """
    named = set(tables.items)
    return tuple(row for row in ground.rows if row.id in named)


def _earlier(ground: Ground) -> list[Cell]:
    """The cells of all rounds before: any of them may be subtracted from this round's."""
    folder = (ground.root / tables_place(ground.benchmark, ground.round)).parent
    return [cell for path in sorted(folder.glob("*.json")) for cell in read_tables(path).tables.cells]
