"""A disk that fails at a chosen operation, and markers that must stand nowhere outside the vault."""

from __future__ import annotations

import base64
import errno
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from lacre.sealing.disk import FILE_MODE, Disk

MARKER = "jabuticabeira-assombrada-42"
"""Planted in the stem of private items."""


class Failing(Disk):
    """Does what a disk does, until operation number ``at``: there ``fail`` is called: before it, or (``half``) in the
    middle of a write and after anything else."""

    def __init__(self, at: int, fail: Callable[[], None], *, half: bool) -> None:
        self.left = at
        self.fail = fail
        self.half = half

    def _step(self) -> bool:
        """Count an operation; whether it is the one to fail half-way or after."""
        self.left -= 1
        if self.left == -1 and not self.half:
            self.fail()
        return self.left == -1

    def make_folder(self, path: Path) -> None:
        done = self._step()
        super().make_folder(path)
        if done:
            self.fail()

    def write(self, path: Path, content: bytes, mode: int = FILE_MODE) -> None:
        if self._step():
            super().write(path, content[: len(content) // 2], mode)
            self.fail()
        super().write(path, content, mode)

    def sync(self, paths: Sequence[Path]) -> None:
        done = self._step()
        super().sync(paths)
        if done:
            self.fail()

    def sync_folder(self, path: Path) -> None:
        done = self._step()
        super().sync_folder(path)
        if done:
            self.fail()

    def rename(self, old: Path, new: Path) -> None:
        done = self._step()
        super().rename(old, new)
        if done:
            self.fail()

    def remove(self, path: Path) -> None:
        done = self._step()
        super().remove(path)
        if done:
            self.fail()


def kill() -> None:
    """End this process as a power cut would."""
    os.kill(os.getpid(), signal.SIGKILL)


def full() -> None:
    """What a full disk says."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def killed_at_every_step(work: Callable[[Disk], None], *, half: bool) -> Iterator[int]:
    """Do ``work`` in a child process that is killed at operation 0, then 1 ..., until it is done unharmed.

    Yields after each death; whoever asks must put the ground back as it was before the next.
    """
    for at in range(10_000):
        child = os.fork()
        if child == 0:
            try:
                work(Failing(at, kill, half=half))
            except BaseException:  # noqa: BLE001 - the child may not run the tests' own code
                os._exit(1)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, -signal.SIGKILL), "the work itself failed"
        if code == 0:
            return
        yield at


def leaks(folder: Path, marker: str = MARKER) -> list[Path]:
    """Files below a folder in which the marker stands, plain, in base64 or in UTF-16."""
    forms = [marker.encode(), marker.encode("utf-16-le"), marker.encode("utf-16-be")]
    for shift in range(3):
        # The middle of the base64 of a text does not depend on what stands around it.
        forms.append(base64.b64encode(b" " * shift + marker.encode())[4:-4])
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(form in path.read_bytes() for form in forms)
    ]
