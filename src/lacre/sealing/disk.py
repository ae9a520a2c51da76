"""Every change that the vault makes on disk, one method for each kind, so that a test can cut any of them short."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lacre import jsonl

FOLDER_MODE, FILE_MODE, PUBLIC_MODE = 0o700, 0o600, 0o644
THREADS = 32  # files written or synced at once: the file system then commits many in one go


class Disk:
    """The disk as it is."""

    def make_folder(self, path: Path) -> None:
        """Make a folder that only its owner can enter, and those above it."""
        path.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)

    def write(self, path: Path, content: bytes, mode: int = FILE_MODE) -> None:
        """Write a file, not synced yet; what a crash left under this name is written over."""
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode)
        with os.fdopen(handle, "wb") as file:
            file.write(content)

    def write_all(self, contents: Mapping[Path, bytes]) -> None:
        """Write files, not synced yet; many at once, for each new name waits on the file system's journal."""
        if len(contents) < THREADS:
            for path, content in contents.items():
                self.write(path, content)
            return
        with ThreadPoolExecutor(THREADS) as threads:
            list(threads.map(self.write, contents.keys(), contents.values()))

    def sync(self, paths: Sequence[Path]) -> None:
        """Make files survive a power cut."""
        if len(paths) < THREADS:
            for path in paths:
                _sync(path)
            return
        with ThreadPoolExecutor(THREADS) as threads:
            list(threads.map(_sync, paths))

    def sync_folder(self, path: Path) -> None:
        """Make the names in a folder survive a power cut."""
        jsonl.sync_folder(path)

    def rename(self, old: Path, new: Path) -> None:
        """Give a file its name; one that has the name already goes."""
        old.replace(new)

    def remove(self, path: Path) -> None:
        """Remove a file; it may be gone already."""
        path.unlink(missing_ok=True)

    def remove_all(self, paths: Sequence[Path]) -> None:
        """Remove files, many at once: one after the other, some file systems take milliseconds for each."""
        if len(paths) < THREADS:
            for path in paths:
                self.remove(path)
            return
        with ThreadPoolExecutor(THREADS) as threads:
            list(threads.map(self.remove, paths))


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
