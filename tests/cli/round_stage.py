"""The ground that the commands of `lacre round` stand on: key, vault, sealed items, a frozen draw that is due."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.rotation.making import CORPUS, Stage, founded, lottery
from tests.sealing.making import private

from lacre import jsonl
from lacre.cli.vet_ground import corpus_grounds
from lacre.registry import ledger as ledgers
from lacre.registry.corpora import Corpus
from lacre.registry.events import Exposure
from lacre.registry.workspace import Workspace
from lacre.rotation.beacon import instant
from lacre.sealing.ages import write_identity
from lacre.sealing.keys import write_key

LONG_AGO = datetime(2020, 1, 1, 12, tzinfo=UTC)
BENCHMARK = f"""\
name = "exemplo"
title = "Exemplo"
[vetting]
required_corpora = ["{CORPUS}"]
"""
HERE, THERE = {"area": "saude", "difficulty": "facil"}, {"area": "direito", "difficulty": "dificil"}


def staged(root: Path, closings: int = 0, *, frozen: bool = False) -> Stage:
    """Eight items sealed years ago; as many closings carried out as said; a draw frozen that is due by now.

    Beside the workspace stand `vault`, `operator.txt`, `team.key`, `corrected.jsonl` and `draw-5900.json`.
    """
    beside = root.parent
    registry = root / "registry"
    (registry / "exemplo/benchmark.toml").write_text(BENCHMARK, encoding="utf-8")
    jsonl.write(registry / "corpora.jsonl", [Corpus(id=CORPUS, location="corpus")])
    play = founded(root, beside / "vault", begin=LONG_AGO)
    play.ground = lambda: corpus_grounds(Workspace.find(root))[CORPUS]
    write_identity(beside / "operator.txt", play.identity)
    write_key(beside / "team.key", play.key)
    jsonl.write(beside / "corrected.jsonl", [private("pr-02b", cell=HERE)])
    (beside / "draw-5900.json").write_bytes(lottery(5900))
    play.add([private(f"pr-{n:02d}", cell=HERE if n < 5 else THERE) for n in range(8)], "b1")
    if not closings and not frozen:
        play.vet(play.public.rows[-1:], "review")
    for _ in range(closings):
        play.freeze()
        play.close()
    if frozen:
        play.draws = 5899
        play.freeze()
    return play


def shown(play: Stage, runs: Mapping[str, int], items: Sequence[str] = ("pr-00", "pr-01")) -> None:
    """The ledger's lines about items shown to columns; ``runs``: column -> how many runs of it."""
    events = [
        Exposure(
            benchmark="exemplo", run=f"{column}-{n}", column=column, items=tuple(items), terms="no retention"
        )
        for column, times in runs.items()
        for n in range(times)
    ]
    ledgers.append(play.registry / "ledger.jsonl", events, at=instant(play.now), signer=play.key)


def prepare(names: tuple[str, ...], root: Path) -> None:
    """What the example of a command needs."""
    if names == ("exposure",):
        shown(staged(root), {"alfa": 2, "beta": 1})
    if names[:1] != ("round",):
        return
    match names[1:]:
        case ("split",):
            staged(root, frozen=True)
        case ("rotate",):
            staged(root, 1, frozen=True)
        case ("freeze",):
            play = staged(root)
            play.vet(play.public.rows)
        case _:
            staged(root)
