"""A workspace with a key, a vault and private items, and its rounds by a clock of our own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.sealing.making import counted, private

from lacre.registry import ledger as ledgers
from lacre.registry.events import Genesis, KeyAdd
from lacre.registry.items import Item
from lacre.registry.rules import Rules, default_rules
from lacre.registry.workspace import create_workspace
from lacre.rotation.audit import Audit, StampCheck, audit
from lacre.rotation.beacon import LotteryDraw, instant
from lacre.rotation.public import Public, read_public
from lacre.rotation.records import DrawRecord, Frozen, Must
from lacre.rotation.standing import NOTHING_NOTED, Noted
from lacre.rotation.steps import close_round, freeze_round, supersede_item, void_items
from lacre.sealing.ages import Identity, new_identity
from lacre.sealing.batches import Batch, seal_batch
from lacre.sealing.checks import Check, keep_checks
from lacre.sealing.commitments import Row
from lacre.sealing.disk import Disk
from lacre.sealing.keys import SigningKey, key_from
from lacre.sealing.vault import Vault, create_vault, open_vault

BEGIN = datetime(2026, 12, 1, 12, tzinfo=UTC)
CORPUS = "corpus-a"
CELLS = [
    {"area": area, "difficulty": difficulty}
    for area in ("direito", "saude")
    for difficulty in ("dificil", "facil")
]


def items(count: int, *, prefix: str = "p", passages: Mapping[int, str] | None = None) -> list[Item]:
    """Private items spread over the cells; ``passages``: number of an item -> the passage it quotes."""
    return [
        private(f"{prefix}{n:04d}", passage=(passages or {}).get(n), cell=CELLS[n % len(CELLS)])
        for n in range(count)
    ]


def lottery(number: int, tickets: Sequence[str] = ("012345", "67890", "11111", "00000", "99999")) -> bytes:
    """The file of a lottery result."""
    return json.dumps({"numero": number, "dezenasSorteadasOrdemSorteio": tickets}).encode()


@dataclass
class Stage:
    """A workspace and its vault. ``now`` moves when a test says so."""

    root: Path
    vault_folder: Path
    identity: Identity
    key: SigningKey = field(default_factory=lambda: key_from(bytes(32)))
    now: datetime = BEGIN
    rules: Rules = field(default_factory=default_rules)
    disk: Disk | None = None
    draws: int = 100
    ground: Callable[[], str] = str

    @property
    def registry(self) -> Path:
        return self.root / "registry"

    @property
    def public(self) -> Public:
        return read_public(self.registry, "exemplo")

    @contextmanager
    def vault(self) -> Iterator[Vault]:
        with open_vault(
            self.vault_folder, self.identity, random=counted(str(self.draws)), disk=self.disk
        ) as vault:
            yield vault

    def add(self, new: Sequence[Item], batch: str, *, vetted: bool = True) -> Batch:
        with self.vault() as vault:
            vault.random = counted(batch)
            done = seal_batch(
                vault, "exemplo", new, batch, at=instant(self.now), root=self.root, signer=self.key
            )
        if vetted:
            self.vet(done.rows)
        return done

    def vet(self, rows: Sequence[Row], verdict: str = "keep", corpus: str = CORPUS) -> None:
        checks = [
            Check(
                item=row.id,
                commitment=row.commitment,
                corpus=corpus,
                verdict=verdict,  # type: ignore[arg-type]
                classes={},
                findings=0,
                at=instant(self.now),
                ground=self.ground(),
            )
            for row in rows
        ]
        with self.vault() as vault, vault.change() as change:
            keep_checks(change, checks)

    def freeze(
        self, *, forced: Mapping[str, Must] | None = None, hours: int = 24, again: str | None = None
    ) -> Frozen:
        if self.public.history.closed:
            self.vet(self.public.private)  # again each round
        self.draws += 1
        source = LotteryDraw(draw=self.draws, due=instant(self.now + timedelta(hours=hours)))
        with self.vault() as vault:
            return freeze_round(
                vault,
                self.root,
                "exemplo",
                self.rules,
                source,
                now=self.now,
                required=[CORPUS],
                signer=self.key,
                forced=forced,
                again=again,
            )

    def close(self, content: bytes | None = None) -> DrawRecord:
        """Carry the frozen closing out, a day later, and go on half a year."""
        self.now += timedelta(days=1)
        known = self.public.history
        number = known.closed + (
            known.pending is not None or known.closed == 0
        )  # the last again, if none waits
        with self.vault() as vault:
            record = close_round(
                vault,
                self.root,
                "exemplo",
                self.rules,
                content or lottery(self.draws),
                now=self.now,
                first=number == 1,
                signer=self.key,
            )
        self.now += timedelta(days=180)
        return record

    def void(self, ids: Sequence[str], reason: str = "duas respostas certas") -> int:
        return void_items(self.root, "exemplo", ids, reason, now=self.now, signer=self.key)

    def supersede(
        self, old: str, new: Item, *, vetted: bool = True, reason: str = "vírgula fora do lugar"
    ) -> Row:
        with self.vault() as vault:
            row = supersede_item(
                vault,
                self.root,
                "exemplo",
                old=old,
                new=new,
                reason=reason,
                now=self.now,
                signer=self.key,
            )
        if vetted:
            self.vet([row])
        return row

    def audit(
        self, *, key: str | None = None, stamped: StampCheck | None = None, noted: Noted = NOTHING_NOTED
    ) -> Audit:
        trusted = key or self.key.fingerprint
        return audit(
            self.registry, "exemplo", self.rules, at=self.now, key=trusted, stamped=stamped, noted=noted
        )


def stage(folder: Path, workspace: str = "ab" * 32) -> Stage:
    """A workspace with a key and an empty vault."""
    create_workspace(folder / "workspace", "exemplo")
    return founded(folder / "workspace", folder / "vault", workspace)


def founded(root: Path, vault_folder: Path, workspace: str = "ab" * 32, begin: datetime = BEGIN) -> Stage:
    """A key and an empty vault for a workspace that is there."""
    identity, key = new_identity(), key_from(bytes(32))
    path = root / "registry" / "ledger.jsonl"
    ledgers.append(path, Genesis(workspace=workspace), at=instant(begin))
    added = KeyAdd(fingerprint=key.fingerprint, key=key.public.text, name="equipe")
    ledgers.append(path, added, at=instant(begin), signer=key)
    create_vault(vault_folder, {"operator": identity.recipient}, workspace=workspace)
    return Stage(root=root, vault_folder=vault_folder, identity=identity, key=key, now=begin)


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def lasting(play: Stage) -> Stage:
    """The stage with rules.toml as it was once: a freeze names its hash, and a new default must not change a draw."""
    (play.registry / "rules.toml").write_text("# as when these tests were written\n")
    return play
