"""Three releases of one workspace: before the first closing, after it, and after a rotation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pytest
from tests.release.making import played, release
from tests.release.resigning import Inline, read, resigned
from tests.rotation.making import Stage, items

from lacre.release import verify as verifier
from lacre.release.build import Built


@dataclass
class Story:
    """A workspace, and its three releases in order."""

    play: Stage
    built: tuple[Built, Built, Built]

    def folder(self, number: int) -> Path:
        return Path(self.built[number - 1].folder)

    def tar(self, number: int) -> Path:
        return Path(self.built[number - 1].tar)

    def small(self, number: int) -> dict[str, bytes]:
        """A release without the program, listed and signed anew by its own key: the same, and quick to verify."""
        return resigned(read(self.folder(number)), self.play.key, without=["code/"])


@pytest.fixture(scope="session")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    play = played(tmp_path_factory.mktemp("story"))
    quoted = "O vento sul sopra na restinga de manhã."
    play.add(items(20, passages={0: quoted, 1: quoted}), "b1")
    first = release(play, "exemplo-1")
    play.freeze()
    play.add(items(8, prefix="n"), "b2")
    play.close()
    second = release(play, "exemplo-2")
    play.void([play.public.private[0].id])
    play.freeze()
    play.close()
    play.freeze()
    third = release(play, "exemplo-3", program=None)
    return Story(play, (first, second, third))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each signature is checked once, each ledger, list and envelope is parsed once, however often they are asked
    about; bytes in memory are hashed where they are. What is changed is read and judged anew, by the same code."""
    for name in ("ed25519_signed", "read_ledger", "read_sums", "claim_of"):
        monkeypatch.setattr(verifier, name, lru_cache(1 << 8)(getattr(verifier, name)))
    monkeypatch.setattr(verifier, "ThreadPoolExecutor", Inline)
