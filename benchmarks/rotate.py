"""Speed of a rotation over 10,000 private items: one JSON line; seconds by the wall clock, and of the processor.

The goal is a rotation in under 10 seconds. A drawn half is unsealed, checked against its commitments, published
and taken out of the vault, all in one change; then the audit repeats it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from lacre.registry import ledger as ledgers
from lacre.registry.events import Genesis, KeyAdd
from lacre.registry.items import Item, Payload
from lacre.registry.rules import default_rules
from lacre.registry.workspace import create_workspace
from lacre.rotation.audit import audit
from lacre.rotation.beacon import LotteryDraw, instant
from lacre.rotation.public import read_public
from lacre.rotation.steps import close_round, freeze_round
from lacre.sealing.ages import new_identity
from lacre.sealing.batches import seal_batch
from lacre.sealing.checks import Check, keep_checks
from lacre.sealing.keys import key_from
from lacre.sealing.vault import Vault, create_vault, open_vault

T = TypeVar("T")
GOAL = 10.0  # seconds for a rotation over 10,000 items
WORKSPACE = "ab" * 32
BEGIN = datetime(2026, 12, 1, 12, tzinfo=UTC)
CELLS = 40


def item(number: int) -> Item:
    """A private item of a usual length."""
    words = " ".join(f"palavra{number}x{n}" for n in range(60))
    return Item(
        id=f"p{number:06d}",
        benchmark="exemplo",
        layer="private",
        cell={"area": f"a{number % CELLS}"},
        payload=Payload(
            kind="choice",
            stem=f"Considere o texto seguinte. {words}. O que ele diz?",
            options={letter: f"Opção {letter} do item {number}, com algumas palavras" for letter in "ABCDE"},
            key="B",
        ),
    )


def timed(times: dict[str, float], name: str, work: Callable[[], T]) -> T:
    """What ``work`` returns; its seconds go into ``times``."""
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    times[f"{name}_s"] = round(time.perf_counter() - wall, 2)
    times[f"{name}_cpu_s"] = round(time.process_time() - processor, 2)
    return result


def keep(vault: Vault, at: str) -> None:
    """Every item is kept against the one corpus."""
    with vault.change() as change:
        keep_checks(
            change,
            [
                Check(
                    item=row.id,
                    commitment=row.commitment,
                    corpus="c",
                    verdict="keep",
                    classes={},
                    findings=0,
                    at=at,
                )
                for row in vault.rows("exemplo")
            ],
        )


def measure(folder: Path, count: int) -> dict[str, float]:
    """Seconds of each step."""
    root, vault_folder = folder / "workspace", folder / "vault"
    create_workspace(root, "exemplo")
    key, identity, rules = key_from(bytes(32)), new_identity(), default_rules()
    ledger = root / "registry" / "ledger.jsonl"
    ledgers.append(ledger, Genesis(workspace=WORKSPACE), at=instant(BEGIN))
    added = KeyAdd(fingerprint=key.fingerprint, key=key.public.text, name="bench")
    ledgers.append(ledger, added, at=instant(BEGIN), signer=key)
    create_vault(vault_folder, {"operator": identity.recipient}, workspace=WORKSPACE)
    times: dict[str, float] = {"items": count}
    # A small first closing, so that the second one is a rotation.
    with open_vault(vault_folder, identity) as vault:
        now = BEGIN
        for number, new in ((1, range(10)), (2, range(10, 10 + count))):
            batch = [item(n) for n in new]
            seal_batch(vault, "exemplo", batch, f"b{number}", at=instant(now), root=root, signer=key)
            keep(vault, instant(now))
            source = LotteryDraw(draw=number, due=instant(now + timedelta(days=1)))
            timed(
                times,
                "freeze",
                lambda source=source, now=now: freeze_round(  # type: ignore[misc]
                    vault, root, "exemplo", rules, source, now=now, required=["c"], signer=key
                ),
            )
            now += timedelta(days=1)
            result = json.dumps({"numero": number, "dezenasSorteadasOrdemSorteio": ["12345"] * 5}).encode()
            record = timed(
                times,
                "rotate",
                lambda result=result, now=now, number=number: close_round(  # type: ignore[misc]
                    vault, root, "exemplo", rules, result, now=now, first=number == 1, signer=key
                ),
            )
            now += timedelta(days=180)
    found = timed(
        times, "audit", lambda: audit(root / "registry", "exemplo", rules, at=now, key=key.fingerprint)
    )
    assert not found.findings, found.findings[:3]
    assert len(read_public(root / "registry", "exemplo").history.opened) == 4 + record.opens
    return times | {"opened": record.opens}


def main() -> None:
    """Measure once and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=10_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        times = measure(Path(folder), arguments.items)
    print(json.dumps(times | {"goal_s": GOAL, "holds": times["rotate_s"] < GOAL}))


if __name__ == "__main__":
    main()
