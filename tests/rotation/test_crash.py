"""Killed at any write, a step of a round is finished or has never been; nothing is lost, doubled or bared (X5)."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.rotation.making import CELLS, Stage, files, items, lasting, lottery, stage
from tests.sealing.making import private

from lacre.errors import InputError
from lacre.registry import ledger as ledgers
from lacre.registry.events import Incident
from lacre.rotation.beacon import instant
from lacre.rotation.public import ledger_path
from lacre.sealing.batches import row_faults, rows_place
from lacre.sealing.disk import FILE_MODE, Disk
from lacre.sealing.inspection import inspect


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


def rotate(play: Stage) -> None:
    split(play)


def freeze(play: Stage) -> None:
    play.freeze()


def supersede(play: Stage) -> None:
    play.supersede("p0000", private("p0000b", cell=CELLS[0]), vetted=False)


STEPS = [
    pytest.param(split, True, id="split"),
    pytest.param(rotate, True, id="rotate"),
    pytest.param(freeze, False, id="freeze"),
    pytest.param(supersede, False, id="supersede"),
]


def prepared(folder: Path, frozen: bool, step: Callable[[Stage], None] = split) -> Stage:
    play = lasting(stage(folder))
    play.add(items(8), "b1")
    play.void(["p0007"])
    if step is rotate:
        later(play)
    elif frozen:
        play.freeze()
    return play


def later(play: Stage) -> None:
    """A rotation frozen: items drawn, forced, void and replaced, one whose correction opens and one whose stays."""
    play.freeze()
    play.close()
    play.add(items(8, prefix="q", passages={0: "Um dia no farol.", 4: "Um dia no farol."}), "b2")
    singles = [row for row in play.public.private if row.id.startswith("q") and row.group is None]
    first = singles[0]
    for old in singles[:4]:
        play.supersede(old.id, private(f"{old.id}b", cell=old.cell))
    play.void([singles[4].id])
    stays = next(row.id for row in play.public.private if row.id.startswith("p"))
    play.freeze(forced={f"{first.id}b": "leak", stays: "defect"})


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


@pytest.mark.parametrize(
    ("step", "frozen", "stride"),
    [
        pytest.param(split, True, 1, id="split"),
        pytest.param(rotate, True, 7, id="rotate"),
        pytest.param(rotate, True, 1, id="rotate, every write", marks=pytest.mark.slow),
        pytest.param(freeze, False, 1, id="freeze"),
        pytest.param(supersede, False, 1, id="supersede"),
    ],
)
def test_killed_at_every_write_it_is_finished_by_the_same_call(
    step: Callable[[Stage], None], frozen: bool, stride: int, tmp_path: Path
) -> None:
    base = prepared(tmp_path / "base", frozen, step)
    whole = copied(base, tmp_path / "whole")
    step(whole)
    expected, ids = files(whole.registry), held(whole)
    if step is rotate:
        assert_all_kinds(whole)
    for last in range(1, 1000, stride):
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
        if last % 2:  # half of them are mended by `vault check` first
            with play.vault() as vault:
                assert inspect(vault).faults == (), last
                place = play.root / rows_place("exemplo")
                assert row_faults(vault, "exemplo", place) == [], last
                assert vault.recovered.what in ("nothing", "undone", "finished"), last
        finish(play, step)
        assert files(play.registry) == expected, last
        assert held(play) == ids, last
        with play.vault() as vault:
            assert not any(vault.journal.folder.iterdir()), last
        shutil.rmtree(tmp_path / f"cut{last}")
    assert last > 15, "the step wrote less than it must"
    assert whole.audit().findings == ()


def assert_all_kinds(play: Stage) -> None:
    """A rotation in which every way for an item to open, or to stay, occurs."""
    opened = play.public.openings(2)
    assert {o.why for o in opened} == {"draw", "leak", "defect", "void", "supersede"}
    history = play.public.history
    assert [id for id in history.supersedes if id not in history.opened], "a replaced item waits"
    assert {row.batch for row in play.public.private} == {"b1", "b2"}, "items stay for another round"


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
    base = prepared(tmp_path / "base", frozen, step)
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
@pytest.mark.parametrize("step", [split, rotate])
def test_a_process_that_is_really_killed_is_finished_by_the_same_call(
    step: Callable[[Stage], None], tmp_path: Path
) -> None:
    base = prepared(tmp_path / "base", True, step)
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


class Meanwhile(Disk):
    """A disk on whose first write another program that knows no locks, such as git, brings in a line of the ledger."""

    def __init__(self, play: Stage) -> None:
        self.play = play
        self.done = False

    def write(self, path: Path, content: bytes, mode: int = FILE_MODE) -> None:
        if not self.done:
            self.done = True
            path_, incident = ledger_path(self.play.registry), Incident(what="a line of another process")
            path_.write_bytes(
                ledgers.appended(ledgers.read(path_), [incident], at=instant(self.play.now)).content
            )
        super().write(path, content, mode)


@pytest.mark.parametrize(("step", "frozen"), STEPS)
def test_a_line_that_another_process_writes_meanwhile_is_never_lost(
    step: Callable[[Stage], None], frozen: bool, tmp_path: Path
) -> None:
    play = prepared(tmp_path, frozen, step)
    before, now, draws = files(play.registry / "exemplo"), play.now, play.draws
    play.disk = Meanwhile(play)
    with pytest.raises(InputError, match="another process wrote it meanwhile"):
        step(play)
    assert files(play.registry / "exemplo") == before
    play.disk, play.now, play.draws = None, now, draws
    step(play)
    lines = ledgers.read(ledger_path(play.registry)).lines
    assert any(isinstance(line.event, Incident) for line in lines)
    assert play.audit().findings == ()
