"""A release carries what outsiders need to check sealed scores, and the guard lets it pass (SPEC X4 X5 L22)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.engine.server import Server
from tests.release.making import ready
from tests.sealed.making import open_scores, sealing, varied

from lacre.cli import run
from lacre.errors import Exit
from lacre.sealed.records import run_place, scores_place, tables_place


@pytest.mark.slow
def test_sealed_scores_are_checked_from_a_release_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Server(varied) as server:
        sealed = sealing(tmp_path, server.endpoint("openai"), 120)
        name = sealed.run().run
    sealed.close()
    open_scores(sealed)
    ready(sealed.root)
    monkeypatch.chdir(sealed.root)
    means = ["--vault", "../vault", "--identity", "../operator.txt", "--key", "../team.key"]
    assert run(["release", "build", "2020-1", *means, "--out", "../releases"]) == Exit.CLEAN, (
        capsys.readouterr()
    )
    folder = tmp_path / "releases/2020-1"
    for place in (
        run_place("exemplo", name),
        tables_place("exemplo", "exemplo/1"),
        scores_place("exemplo", 1),
    ):
        assert (folder / place).is_file(), place
    assert run(["release", "verify", str(folder), "--key", sealed.play.key.fingerprint]) == Exit.CLEAN
    outside = tmp_path / "outside"
    shutil.copytree(folder, outside)
    monkeypatch.chdir(outside)
    assert run(["canary", "place", "registry", "--strip"]) == Exit.CLEAN
    capsys.readouterr()
    assert run(["run", "check-scores", "--key", sealed.play.key.fingerprint]) == Exit.CLEAN, (
        capsys.readouterr()
    )
