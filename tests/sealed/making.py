"""A benchmark with private items and a column that is asked them, sealed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.engine.making import HASTY, card
from tests.engine.server import Act, Say, Seen
from tests.rotation.making import CORPUS, Stage, founded, lottery
from tests.sealing.making import private

from lacre import jsonl
from lacre.engine.messages import read_templates
from lacre.engine.plans import Repetitions
from lacre.engine.runs import RunState
from lacre.registry.columns import Column, SourcedFact
from lacre.registry.corpora import Corpus
from lacre.registry.items import Item
from lacre.registry.sealed_runs import sealed_runs
from lacre.registry.workspace import Workspace, create_workspace
from lacre.sealed.ending import finish, scores_of, tidy
from lacre.sealed.ground import Ground
from lacre.sealed.memory import Log
from lacre.sealed.opening import opened_scores, scores_bytes
from lacre.sealed.records import PublicRun, Undecided, scores_place
from lacre.sealed.running import Means, session
from lacre.sealed.starting import Plan, UnderWay, begin, kept_run
from lacre.sealing.ages import write_identity
from lacre.sealing.keys import write_key
from lacre.sealing.logs import SealedLog
from lacre.sealing.vault import Vault

LONG_AGO = datetime(2020, 1, 1, 12, tzinfo=UTC)
BENCHMARK = f"""\
name = "exemplo"
title = "Exemplo"
[vetting]
required_corpora = ["{CORPUS}"]
[run]
attempts = 2
limit_wait = 1
[sealed]
axes = ["area"]
margin = "1/100"
"""
MATRIX = """\
[axes]
area = ["direito", "saude"]
difficulty = ["facil"]

[[cells]]
area = "direito"
difficulty = "facil"
share = "0.5"

[[cells]]
area = "saude"
difficulty = "facil"
share = "0.5"
"""
COLUMN = """\
[[columns]]
id = "local"
model = "modelo-1"
vendor = "Vendedor"
family = "familia"
dialect = "openai"
endpoint = "{endpoint}"
cap = 100
timeout = 5
concurrency = 4

[columns.retention]
value = "no retention"
source = "https://example.org/terms"
read = "{read}"
"""
TERMS = SourcedFact(value="no retention", source="https://example.org/terms", read="2020-01-01")
_OPTION = re.compile(r"^([A-Z])\) ", re.MULTILINE)


def varied(seen: Seen) -> Act:
    """An answer that the message decides: a letter, or now and then that it does not know."""
    digest = hashlib.sha256(seen.text.encode()).digest()
    letters = _OPTION.findall(seen.text)
    if not letters:
        return Say(text="Porque o farol é alto.\nConfiança: 50%")
    if digest[0] % 10 == 0:
        return Say(text="Não sei.\nConfiança: 10%")
    return Say(text=f"Alternativa {letters[digest[1] % len(letters)]}.\nConfiança: {digest[2] % 101}%")


def items(first: int, count: int) -> list[Item]:
    """Private items, half of each area."""
    return [
        private(f"p{n:04d}", cell={"area": "direito" if n % 2 else "saude", "difficulty": "facil"})
        for n in range(first, first + count)
    ]


@dataclass
class Sealing:
    """A stage with private items, and sealed runs on it by its clock."""

    play: Stage
    column: Column
    undecided: Undecided | None = None

    @property
    def root(self) -> Path:
        return self.play.root

    def ground(self) -> Ground:
        public = self.play.public
        return Ground(
            root=self.root,
            benchmark="exemplo",
            round=public.history.next_round,
            rules=Workspace(self.root).benchmark("exemplo").rules,
            rows=public.private,
            bound=frozenset(),
            signer=self.play.key,
        )

    def now(self) -> datetime:
        """A second later at each look."""
        self.play.now += timedelta(seconds=1)
        return self.play.now

    def plan(self, **changes: Any) -> Plan:
        """What is to be asked of the column."""
        values: dict[str, Any] = {
            "card": self.column,
            "templates": tuple(read_templates(None).values()),
            "repetitions": Repetitions(open=1),
            "undecided": self.undecided,
        }
        return Plan(**(values | changes))

    def begin(self, **changes: Any) -> str:
        """Begin a run, and its name."""
        with self.play.vault() as vault:
            return begin(vault, self.ground(), self.plan(**changes), now=self.now()).record.id

    @contextmanager
    def going(
        self, name: str, sink: Callable[[Vault, str], Log] = SealedLog
    ) -> Iterator[tuple[UnderWay, Log]]:
        """A run that began, and its log."""
        with self.play.vault() as vault:
            ground = self.ground()
            log = sink(vault, name)
            try:
                yield UnderWay(vault, ground, kept_run(vault, name), ground.runs()[name]), log
            finally:
                with suppress(OSError):
                    log.close()

    def work(self, name: str, sink: Callable[[Vault, str], Log] = SealedLog, **changes: Any) -> RunState:
        """A session of a run."""
        with self.going(name, sink) as (going, log):
            means = Means(keys={}, now=self.now, patience=HASTY, **changes)
            return session(going, log, means).work()

    def finish(self, name: str) -> PublicRun:
        """End a complete run."""
        with self.going(name) as (going, log):
            record = finish(going, scores_of(going, log), log, now=self.now())
            tidy(going.vault, going.ground.runs())
        return record

    def run(self, **changes: Any) -> PublicRun:
        """A whole run, from its beginning to its end."""
        name = self.begin(**changes)
        assert self.work(name).complete
        return self.finish(name)

    def close(self) -> None:
        """Freeze the next closing and carry it out."""
        self.play.freeze()
        self.play.close(lottery(self.play.draws))


def sealing(folder: Path, endpoint: str, count: int = 120, *, more: Sequence[Item] = ()) -> Sealing:
    """A workspace with private items long ago, its vault, identity and key beside it, and a card for a server."""
    create_workspace(folder / "workspace", "exemplo")
    return sealing_at(folder / "workspace", endpoint, count, more=more)


def sealing_at(root: Path, endpoint: str, count: int, *, more: Sequence[Item] = ()) -> Sealing:
    """The same in a workspace that is there."""
    (root / "registry/exemplo/benchmark.toml").write_text(BENCHMARK, encoding="utf-8")
    (root / "registry/exemplo/matrix.toml").write_text(MATRIX, encoding="utf-8")
    read = f"{datetime.now(UTC):%Y-%m-%d}"
    (root / "registry/columns.toml").write_text(COLUMN.format(endpoint=endpoint, read=read), encoding="utf-8")
    jsonl.write(root / "registry/corpora.jsonl", [Corpus(id=CORPUS, location="corpus")])
    play = founded(root, root.parent / "vault", begin=LONG_AGO)
    write_identity(root.parent / "operator.txt", play.identity)
    write_key(root.parent / "team.key", play.key)
    play.add([*items(0, count), *more], "b1")
    return Sealing(play, card(endpoint, id="local", retention=TERMS))


def open_scores(sealed: Sealing) -> None:
    """Open the scores of what opened at the first closing."""
    public = sealed.play.public
    with sealed.play.vault() as vault:
        opened = frozenset(each.id for each in public.openings(1))
        found = opened_scores(vault, sealed_runs(public.ledger, "exemplo"), opened)
    jsonl.write_bytes(sealed.root / scores_place("exemplo", 1), scores_bytes(found))
