"""Speed of the vault: one JSON line, every figure from this one run. The ratio is what to quote.

Ours: items sealed in one batch into an empty vault, then the vault opened again and every item read and
checked, on disk, synced. Raw: pyrage's encrypt and decrypt of the very same plaintexts for the same readers,
in memory, with nothing written. Seconds are of the clock, for waiting on the disk is part of the work.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pyrage  # type: ignore[import-untyped]

from benchmarks import material
from lacre.registry.items import Item, Payload
from lacre.sealing import ages
from lacre.sealing.vault import create_vault, open_vault


def seconds(work: Callable[[], object]) -> float:
    """Seconds of one call, by the clock."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


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

        added, reopened = seconds(add), seconds(reopen)
        with open_vault(folder, identities[0]) as vault:
            for sealed in vault.items():
                text = msgspec.json.encode(sealed)
                plaintexts.append(text + b" " * (-(len(text) + 1) % ages.BLOCK) + b"\n")
    readers = [pyrage.x25519.Recipient.from_str(each.recipient) for each in identities]
    sealed_texts: list[bytes] = []
    encrypt = seconds(lambda: sealed_texts.extend(pyrage.encrypt(text, readers) for text in plaintexts))
    decrypt = seconds(lambda: [pyrage.decrypt(text, [identities[0].secret]) for text in sealed_texts])
    result = {
        "items": len(items),
        "readers": arguments.readers,
        "megabytes": round(sum(map(len, plaintexts)) / 1e6, 1),
        "add": round(added, 2),
        "reopen": round(reopened, 2),
        "raw_encrypt": round(encrypt, 2),
        "raw_decrypt": round(decrypt, 2),
        "add_over_raw": round(added / encrypt, 2),
        "reopen_over_raw": round(reopened / decrypt, 2),
        "over_raw": round((added + reopened) / (encrypt + decrypt), 2),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
