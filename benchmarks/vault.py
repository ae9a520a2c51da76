"""Speed of the vault: one JSON line, every figure from this one run. The ratio is what to quote.

Ours: items sealed in one batch into an empty vault, then the vault opened again and every item read and
checked, on disk, synced. Raw: pyrage's encrypt and decrypt of the very same plaintexts for the same readers,
in memory, with nothing written. Seconds are of the clock, for waiting on the disk is part of the work;
``processor`` has the same ratios in seconds of processor time, which other work on the machine disturbs less.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import pyrage  # type: ignore[import-untyped]

from benchmarks import material
from lacre.registry.items import Item, Payload
from lacre.sealing import ages
from lacre.sealing.vault import create_vault, open_vault


class Took(NamedTuple):
    """Seconds of one call: by the clock, and of the processor, all threads together."""

    clock: float
    processor: float


def took(work: Callable[[], object]) -> Took:
    """How long a call takes."""
    begun = time.perf_counter(), time.process_time()
    work()
    return Took(time.perf_counter() - begun[0], time.process_time() - begun[1])


def private(count: int) -> list[Item]:
    """Private items, each with a stem of its own; a few texts serve for all, for making them up is slow."""
    place = {"area": "saude", "difficulty": "facil"}
    texts = [each.payload for each in material.items(20)]

    def payload(number: int) -> Payload:
        base = texts[number % len(texts)]
        return msgspec.structs.replace(base, stem=f"{number}. {base.stem}")

    return [
        Item(id=f"p-{n:06d}", benchmark="exemplo", layer="private", cell=place, payload=payload(n))
        for n in range(count)
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--readers", type=int, default=3)
    arguments = parser.parse_args()
    items = private(arguments.items)
    identities = [ages.new_identity() for _ in range(arguments.readers)]
    names = {f"reader-{n}": each.recipient for n, each in enumerate(identities)}
    plaintexts: list[bytes] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "vault"
        create_vault(folder, names, workspace=None)

        def add() -> None:
            with open_vault(folder, identities[0]) as vault, vault.change() as change:
                change.add(items, "1")

        def reopen() -> None:
            with open_vault(folder, identities[0]) as vault:
                assert sum(1 for _ in vault.items()) == len(items)

        added, reopened = took(add), took(reopen)
        with open_vault(folder, identities[0]) as vault:
            for sealed in vault.items():
                text = msgspec.json.encode(sealed)
                plaintexts.append(text + b" " * (-(len(text) + 1) % ages.BLOCK) + b"\n")
    readers = [pyrage.x25519.Recipient.from_str(each.recipient) for each in identities]
    sealed_texts: list[bytes] = []
    encrypt = took(lambda: sealed_texts.extend(pyrage.encrypt(text, readers) for text in plaintexts))
    decrypt = took(lambda: [pyrage.decrypt(text, [identities[0].secret]) for text in sealed_texts])
    result = {
        "items": len(items),
        "readers": arguments.readers,
        "megabytes": round(sum(map(len, plaintexts)) / 1e6, 1),
        "add": round(added.clock, 2),
        "reopen": round(reopened.clock, 2),
        "raw_encrypt": round(encrypt.clock, 2),
        "raw_decrypt": round(decrypt.clock, 2),
        "add_over_raw": round(added.clock / encrypt.clock, 2),
        "reopen_over_raw": round(reopened.clock / decrypt.clock, 2),
        "over_raw": round((added.clock + reopened.clock) / (encrypt.clock + decrypt.clock), 2),
        "processor": {
            "add_over_raw": round(added.processor / encrypt.processor, 2),
            "reopen_over_raw": round(reopened.processor / decrypt.processor, 2),
        },
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
