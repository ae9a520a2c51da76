"""Killed at any write, a step of a round is finished or has never been; nothing is lost, doubled or bared (X5)."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.rotation.making import CELLS, Stage, files, items, lottery, stage
from tests.sealing.making import private

from lacre.errors import InputError
from lacre.sealing.disk import FILE_MODE, Disk


class Killed(BaseException):
    """What a process does not live to see."""


class DyingDisk(Disk):
    """A disk on which operation number ``last`` is cut short, and after which nothing happens any more."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.done = 0

    def _next(self) -> None:
        self.done += 1
        if self.done >= self.last:
            raise Killed

    def make_folder(self, path: Path) -> None:
        self._next()
        super().make_folder(path)

    def write(self, path: Path, content: bytes, mode: int = FILE_MODE) -> None:
        if self.done + 1 == self.last:
            super().write(path, content[: len(content) // 2], mode)
        self._next()
        super().write(path, content, mode)

    def sync(self, paths: Sequence[Path]) -> None:
        self._next()
        super().sync(paths)

    def sync_folder(self, path: Path) -> None:
        self._next()
        super().sync_folder(path)

    def rename(self, old: Path, new: Path) -> None:
        self._next()
        super().rename(old, new)

    def remove(self, path: Path) -> None:
        self._next()
        super().remove(path)


class FullDisk(Disk):
    """A disk that is full from operation number ``last`` on, for writing."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.done = 0

    def write(self, path: Path, content: bytes, mode: int = FILE_MODE) -> None:
        self.done += 1
        if self.done >= self.last:
            raise OSError(28, "No space left on device")
        super().write(path, content, mode)


def split(play: Stage) -> None:
    play.close(lottery(play.draws))


def freeze(play: Stage) -> None:
    play.freeze()


def supersede(play: Stage) -> None:
    play.supersede("p0000", private("p0000b", cell=CELLS[0]), vetted=False)


STEPS = [
    pytest.param(split, True, id="split"),
    pytest.param(freeze, False, id="freeze"),
    pytest.param(supersede, False, id="supersede"),
]


def prepared(folder: Path, frozen: bool) -> Stage:
    play = stage(folder)
    play.add(items(8), "b1")
    play.void(["p0007"])
    if frozen:
        play.freeze()
    return play


def copied(play: Stage, folder: Path) -> Stage:
    shutil.copytree(play.root, folder / "workspace")
    shutil.copytree(play.vault_folder, folder / "vault")
    return Stage(
        root=folder / "workspace",
        vault_folder=folder / "vault",
        identity=play.identity,
        key=play.key,
        now=play.now,
        draws=play.draws,
    )


def held(play: Stage) -> list[str]:
    with play.vault() as vault:
        return [sealed.item.id for sealed in vault.items()]


def bared(play: Stage, sealed: Sequence[str]) -> list[str]:
    """Files of the workspace that hold words of a sealed item, and files of the vault that hold words of any."""
    outside = [
        name
        for name, content in files(play.root).items()
        for id in sealed
        if f"no farol {id} ao".encode() in content
    ]
    return outside + [name for name, content in files(play.vault_folder).items() if b"no farol" in content]


@pytest.mark.parametrize(("step", "frozen"), STEPS)
def test_killed_at_every_write_it_is_finished_by_the_same_call(
    step: Callable[[Stage], None], frozen: bool, tmp_path: Path
) -> None:
    base = prepared(tmp_path / "base", frozen)
    whole = copied(base, tmp_path / "whole")
    step(whole)
    expected, ids = files(whole.registry), held(whole)
    for last in range(1, 1000):
        play = copied(base, tmp_path / f"cut{last}")
        play.disk = DyingDisk(last)
        try:
            step(play)
        except Killed:
            pass
        else:
            break
        play.now, play.draws, play.disk = base.now, base.draws, None
        assert bared(play, ids) == [], last
        finish(play, step)
        assert files(play.registry) == expected, last
        assert held(play) == ids, last
        with play.vault() as vault:
            assert not any(vault.journal.folder.iterdir()), last
        shutil.rmtree(tmp_path / f"cut{last}")
    assert last > 15, "the step wrote less than it must"


def finish(play: Stage, step: Callable[[Stage], None]) -> None:
    """The same call again. A freeze that had happened already says so: it is never made twice."""
    try:
        step(play)
    except InputError as error:
        if step is not freeze or "was frozen at" not in str(error):
            raise


@pytest.mark.parametrize(("step", "frozen"), STEPS)
def test_a_full_disk_is_said_and_changes_nothing_that_was_not_decided(
    step: Callable[[Stage], None], frozen: bool, tmp_path: Path
) -> None:
    base = prepared(tmp_path / "base", frozen)
    whole = copied(base, tmp_path / "whole")
    step(whole)
    said: list[str] = []
    for last in range(1, 1000):
        play = copied(base, tmp_path / f"full{last}")
        play.disk = FullDisk(last)
        try:
            step(play)
        except InputError as error:
            said.append(str(error))
        else:
            break
        play.now, play.draws, play.disk = base.now, base.draws, None
        finish(play, step)
        assert files(play.registry) == files(whole.registry)
    assert len(said) > 3
    assert all("No space left" in line for line in said)


def test_two_processes_cannot_close_at_once(tmp_path: Path) -> None:
    play = prepared(tmp_path, frozen=True)
    with play.vault(), pytest.raises(InputError, match="another process has the vault"):
        play.close()


def test_the_vault_of_another_workspace_is_refused(tmp_path: Path) -> None:
    play = prepared(tmp_path / "one", frozen=True)
    other = stage(tmp_path / "two", workspace="cd" * 32)
    play.vault_folder, play.identity = other.vault_folder, other.identity
    with pytest.raises(InputError, match="is not the vault of this workspace"):
        play.close()


class KillingDisk(DyingDisk):
    """A disk on which operation number ``last`` is the end of the process: nothing is undone or flushed."""

    def _next(self) -> None:
        self.done += 1
        if self.done >= self.last:
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_a_process_that_is_really_killed_is_finished_by_the_same_call(tmp_path: Path) -> None:
    base = prepared(tmp_path / "base", frozen=True)
    whole = copied(base, tmp_path / "whole")
    split(whole)
    for last in range(1, 1000, 3):
        play = copied(base, tmp_path / f"cut{last}")
        child = os.fork()
        if child == 0:
            play.disk = KillingDisk(last)
            split(play)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            break
        assert os.WTERMSIG(status) == signal.SIGKILL
        split(play)
        assert files(play.registry) == files(whole.registry), last
        assert held(play) == held(whole), last
        shutil.rmtree(tmp_path / f"cut{last}")
    assert last > 15
