"""Private items and vaults, made for the tests."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from lacre.registry.items import Item, Passage, Payload
from lacre.sealing.ages import Identity, new_identity
from lacre.sealing.vault import create_vault

WORKSPACE = "ab" * 32


def counted(seed: str = "x") -> Callable[[int], bytes]:
    """Bytes that are the same in each run, and differ at each call."""
    calls = 0

    def random(size: int) -> bytes:
        nonlocal calls
        calls += 1
        return hashlib.shake_128(f"{seed}/{calls}".encode()).digest(size)

    return random


def private(id: str, stem: str = "", passage: str | None = None, **changes: object) -> Item:
    """A private item that keeps every rule."""
    values: dict[str, object] = {
        "id": id,
        "benchmark": "exemplo",
        "layer": "private",
        "cell": {"area": "saude", "difficulty": "facil"},
        "payload": Payload(
            kind="choice",
            stem=stem or f"Quantas gaivotas pousam no farol {id} ao meio-dia?",
            options={"A": "Nenhuma", "B": "Duas dúzias"},
            key="B",
            passage=Passage(text=passage) if passage else None,
        ),
    }
    return Item(**(values | changes))  # type: ignore[arg-type]


def empty_vault(folder: Path, workspace: str | None = WORKSPACE) -> Identity:
    """A vault in ``folder`` with one reader, whose identity is returned."""
    identity = new_identity()
    create_vault(folder, {"operator": identity.recipient}, workspace=workspace)
    return identity
