"""Opens the scores of items that opened, beside their openings, for outsiders to check (SPEC X4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from lacre.digest import canonical, is_canonical
from lacre.engine.journal import entries, settled
from lacre.errors import Fault, IntegrityError, RecordError, sentence
from lacre.jsonl import read_bytes, read_lines
from lacre.registry.sealed_runs import SealedRun
from lacre.sealed.ending import REPLIES, SCORES
from lacre.sealed.records import KeptScore, document
from lacre.sealed.scores import OpenedScore, Said, open_scores, order, said, score_root
from lacre.sealing.vault import Vault


def opened_scores(
    vault: Vault, runs: Mapping[str, SealedRun], items: frozenset[str]
) -> tuple[OpenedScore, ...]:
    """What opens the scores of ``items`` in all runs that were scored, sorted by run, column, item and repetition.

    Raises:
        IntegrityError: the vault lacks the scores of a run, or they are not those that the ledger committed to.
    """
    found: list[OpenedScore] = []
    for name in sorted(runs):
        result = runs[name].result
        if result is None or not items & runs[name].shown:
            continue
        kept = _scores(vault, name)
        scores = [each.score for each in kept]
        nonces = {order(each.score): bytes.fromhex(each.nonce) for each in kept}
        if score_root(scores, nonces) != result.scores:
            what = "the vault's scores are not those that the ledger committed to"
            raise IntegrityError(sentence(f"run '{name}'", what, "Restore the vault from a backup"))
        found += open_scores(scores, nonces, _replies(vault, name), items)
    return tuple(found)


def scores_bytes(opened: Iterable[OpenedScore]) -> bytes:
    """The file of opened scores: one canonical line each, in their order."""
    return b"".join(canonical(each) + b"\n" for each in opened)


def read_scores(path: Path) -> tuple[OpenedScore, ...]:
    """The opened scores of a file, none when there is no file.

    Raises:
        RecordError: lists every line that is none, or that another hand wrote.
    """
    if not path.exists():
        return ()
    lines = read_lines(path, OpenedScore)
    faults = list(lines.faults)
    written = read_bytes(path).split(b"\n")
    for number, each in lines.records:
        if not is_canonical(each, written[number - 1]):
            faults.append(
                Fault(number, "is not in canonical form: it was altered", "Take it from git as it was")
            )
    if faults:
        raise RecordError(path, sorted(faults, key=lambda fault: fault.line))
    return tuple(each for _, each in lines.records)


def _scores(vault: Vault, run: str) -> list[KeptScore]:
    content = vault.document(document(run, SCORES))
    if content is None:
        what = "the vault lacks its scores"
        raise IntegrityError(sentence(f"run '{run}'", what, "Restore the vault from a backup"))
    return [msgspec.json.decode(line, type=KeptScore) for line in content.splitlines()]


def _replies(vault: Vault, run: str) -> dict[tuple[str, str, int], tuple[Said, ...]]:
    """What was said, by column, item and repetition."""
    content = vault.document(document(run, REPLIES)) or b""
    found: dict[tuple[str, str, int], list[Said]] = {}
    replies = settled(entries(content.splitlines(keepends=True), f"replies of run {run}"))
    for task in sorted(replies):
        key = (task.column, task.item, task.repetition)
        found.setdefault(key, []).append(said(task.part, replies[task].reply))
    return {key: tuple(each) for key, each in found.items()}
