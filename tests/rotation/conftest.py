"""Rounds to look at, and a copy of them to tamper with."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.rotation.making import Stage, items, lasting, stage


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """Two closings carried out and a third frozen, with a void item and a corrected one."""
    play = lasting(stage(tmp_path_factory.mktemp("finished")))
    play.add(items(12), "b1")
    play.void(["p0001"])
    play.freeze(forced={"p0002": "leak"})
    play.close()
    play.add(items(4, prefix="q"), "b2")
    play.freeze()
    play.close()
    play.freeze()
    return play


@pytest.fixture
def play(finished: Stage, tmp_path: Path) -> Stage:
    """A copy of the above, to be tampered with."""
    shutil.copytree(finished.root, tmp_path / "workspace")
    return Stage(
        root=tmp_path / "workspace",
        vault_folder=tmp_path / "none",
        identity=finished.identity,
        key=finished.key,
        now=finished.now,
        draws=finished.draws,
    )
