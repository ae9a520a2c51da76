"""The ground that the commands on keys, ledger and vault stand on, beside a workspace."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.cli.round_stage import staged

from lacre.sealing.keyring import enter
from lacre.sealing.keys import key_from

NEW = """\
id;question;alternatives;key
n1;Que horas marca o relógio que a tia esqueceu no sótão da fazenda?;(A) Três (B) Nove;b
n2;De que cor é a rede estendida na varanda do farol abandonado?;(A) Azul (B) Ocre;A
"""


def prepare_held(names: tuple[str, ...], root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the example of a command needs: a vault, keys, new items; for `vault show`, a terminal."""
    if names[:1] not in {("key",), ("ledger",), ("vault",)}:
        return
    play = staged(root)
    enter(
        root / "registry/ledger.jsonl",
        key_from(bytes([7]) * 32),
        "second",
        at="2026-01-31T12:00:00Z",
        by=play.key,
    )
    (root.parent / "new-items.csv").write_text(NEW, encoding="utf-8")
    if names == ("vault", "show"):
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
