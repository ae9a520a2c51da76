"""Speed of building and verifying a large release: one JSON line, every figure from this one run.

100,000 private items are sealed and two fifths of them opened by a draw, so that the ledger, the commitments and
the openings are as long as they get; raw answers fill the release up to its size. ``sha256sum -c`` on the same files
is what verification is held against: its time is the floor, for every byte has to be hashed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import msgspec

from lacre import jsonl
from lacre.digest import sha256
from lacre.registry import ledger as ledgers
from lacre.registry.events import BatchCommit, Genesis, KeyAdd
from lacre.registry.items import Item, Payload
from lacre.registry.rules import default_rules, default_rules_text
from lacre.registry.workspace import create_workspace
from lacre.release.build import build
from lacre.release.canary import mint, write_canary
from lacre.release.describe import Order
from lacre.rotation.beacon import LotteryDraw, instant
from lacre.rotation.closing import Unsealed, close, pending
from lacre.rotation.freeze import freeze, freeze_event
from lacre.rotation.public import read_public
from lacre.rotation.records import FREEZE_FILE, freeze_statement
from lacre.sealing.batches import rows_bytes
from lacre.sealing.commitments import Opening, Row, commit, rows_root
from lacre.sealing.dsse import sign
from lacre.sealing.keys import key_from

KEY = key_from(bytes(32))
BEGIN = datetime(2026, 12, 1, 12, tzinfo=UTC)
CELLS = [{"subject": "general", "difficulty": level} for level in ("easy", "hard")]
ABOUT = 'publisher = "bench"\nurl = "https://example.org"\ncontact = "bench"\naccess = "none"\n'
DRAW = {"numero": 1, "dezenasSorteadasOrdemSorteio": ["012345", "67890", "11111", "00000", "99999"]}


def item(number: int) -> Item:
    """A private item of usual length."""
    stem = (
        f"Na visita de número {number}, " + "a costureira esqueceu um relógio sem ponteiros no coreto. " * 6
    )
    options = {letter: f"{number + k} dias depois, ao meio-dia" for k, letter in enumerate("ABCDE")}
    return Item(
        id=f"i{number:06d}",
        benchmark="exemplo",
        layer="private",
        cell=CELLS[number % 2],
        payload=Payload(kind="choice", stem=stem, options=options, key="B"),
    )


def nonce(number: int) -> bytes:
    """The nonce of an item; here anybody may guess it."""
    return hashlib.sha256(b"nonce %d" % number).digest()


def sealed(root: Path, count: int) -> None:
    """Seal items and open two fifths of them, as the commands would; the vault is left out."""
    registry, at = root / "registry", instant(BEGIN)
    path = registry / "ledger.jsonl"
    items = {each.id: each for each in map(item, range(count))}
    rows = [
        Row(id=each.id, cell=each.cell, batch="b1", commitment=commit(each.payload, nonce(int(each.id[1:]))))
        for each in items.values()
    ]
    ledgers.append(path, Genesis(workspace="ab" * 32), at=at)
    added = KeyAdd(fingerprint=KEY.fingerprint, key=KEY.public.text, name="bench")
    ledgers.append(path, added, at=at, signer=KEY)
    batch = BatchCommit(benchmark="exemplo", batch="b1", items=count, root=rows_root(rows))
    ledgers.append(path, batch, at=at, signer=KEY)
    jsonl.write_bytes(registry / "exemplo/private/commitments.jsonl", rows_bytes(rows))
    public = read_public(registry, "exemplo")
    frozen = freeze(
        public,
        default_rules(),
        LotteryDraw(draw=1, due=instant(BEGIN + timedelta(hours=1))),
        now=BEGIN,
        required=["c"],
        checks={row.commitment: {"c": "keep"} for row in rows},
    )
    envelope = sign(freeze_statement(frozen, public.ledger.content), KEY)
    jsonl.write_bytes(public.folder(1) / FREEZE_FILE, envelope)
    ledgers.append(path, freeze_event(frozen, sha256(envelope)), at=at, signer=KEY)

    def unsealed(id: str) -> Unsealed:
        found = items[id]
        opening = Opening(id=id, nonce=nonce(int(id[1:])).hex(), payload=found.payload)
        return Unsealed(item=found, opening=opening)

    public = read_public(registry, "exemplo")
    closing = close(
        public,
        pending(public),
        json.dumps(DRAW).encode(),
        unsealed,
        now=BEGIN + timedelta(days=1),
        licence="CC BY 4.0",
        signer=KEY,
    )
    for place, content in closing.files.items():
        jsonl.write_bytes(place, content)


def answers(folder: Path, size: int) -> None:
    """Raw answers of ten columns, ``size`` bytes in all."""
    text = "O barqueiro voltou antes do anoitecer, e por isso a resposta certa é a letra B. " * 12
    for column in range(10):
        with (folder / f"answers-{column}.jsonl").open("wb") as file:
            number = 0
            while file.tell() < size // 10:
                row = {"column": f"c{column}", "item": f"i{number:06d}", "answer": f"{number}: {text}"}
                file.write(msgspec.json.encode(row) + b"\n")
                number += 1


def seconds(work: Callable[[], object]) -> float:
    """Seconds on the wall of one call."""
    begun = time.monotonic()
    work()
    return round(time.monotonic() - begun, 2)


def both(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the wall, and of processor time in the commands that one call ran."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = seconds(work)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2)


def checked(command: list[str], folder: Path, code: int) -> Callable[[], None]:
    """Runs a command, which must end with this exit code."""

    def work() -> None:
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        if done.returncode != code:
            raise SystemExit(done.stdout.decode() + done.stderr.decode())

    return work


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--size", type=float, default=1000, help="MB of files")
    parser.add_argument("--times", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "workspace"
        create_workspace(root, "exemplo")
        (root / "registry/rules.toml").write_text(default_rules_text(), encoding="utf-8")
        (root / "registry/release.toml").write_text(ABOUT, encoding="utf-8")
        write_canary(root, mint(UUID(int=7), "bench", "2026-01-31"))
        sealed(root, arguments.items)
        (root / "answers").mkdir()
        # The items take up some of it already.
        answers(root / "answers", max(0, int(arguments.size * 1e6) - arguments.items * 1600))

        def guard(*_: object) -> int:
            return 0

        order = Order(
            name="r1",
            benchmarks=("exemplo",),
            out=Path(name) / "releases",
            at=BEGIN + timedelta(days=2),
            results=(root / "answers",),
        )
        built = seconds(lambda: build(root, order, KEY, guard))
        folder, tar = order.folder, order.tar
        here = [sys.executable, "-I", "verify.py"]
        hashed = [
            both(checked(["sha256sum", "--quiet", "-c", "SHA256SUMS"], folder, 0))
            for _ in range(arguments.times)
        ]
        verified = [both(checked(here, folder, 1)) for _ in range(arguments.times)]
        packed = [both(checked([*here, str(tar)], folder, 1)) for _ in range(arguments.times)]
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        shutil.rmtree(folder)
    result = {
        "items": arguments.items,
        "megabytes": round(size / 1e6),
        "build_without_guard": built,
        "sha256sum": min(hashed)[0],
        "verify_folder": min(verified)[0],
        "verify_tar": min(packed)[0],
        "verify_over_sha256sum": round(min(verified)[0] / min(hashed)[0], 2),
        "processor_seconds": {
            "sha256sum": min(cpu for _, cpu in hashed),
            "verify_folder": min(cpu for _, cpu in verified),
        },
        "peak_megabytes_of_verify": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
