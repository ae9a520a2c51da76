"""The ground that the commands on canary and guard stand on: a canary, a vault, a git repository."""

from __future__ import annotations

import subprocess
from pathlib import Path
from uuid import UUID

from tests.cli.round_stage import staged

from lacre.release.canary import Canary, mint, write_canary

CANARY = mint(UUID("3f2504e0-4f89-41d3-9a0c-0305e82c3301"), "Exemplo", "2026-01-31")


def minted(root: Path) -> Canary:
    """The canary of the workspace, and a page."""
    write_canary(root, CANARY)
    (root / "page.txt").write_text("Nada de novo na feira.\n", encoding="utf-8")
    return CANARY


def repository(root: Path) -> None:
    """A git repository in ``root``, with ``page.txt`` staged."""
    (root / "page.txt").write_text("Nada de novo na feira.\n", encoding="utf-8")
    for words in (("init", "-q"), ("add", "page.txt")):
        subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)


def prepare_guard(names: tuple[str, ...], root: Path) -> None:
    """What the example of a command needs."""
    if names[:1] == ("canary",) and names != ("canary", "new"):
        minted(root)
    if names[:1] == ("guard",):
        staged(root)
        repository(root)
