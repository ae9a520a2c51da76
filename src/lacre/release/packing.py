"""A release on disk: written beside its place, synced, hashed, packed into one tar, and renamed into place."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from lacre.jsonl import replacing, sync_folder
from lacre.release.verify import BLOCK, TAR_END, tar_header


@contextmanager
def draft(place: Path) -> Iterator[Path]:
    """A folder that takes the place of ``place`` only when the block ends well; whatever a crash had left goes.

    Every file and folder in it is synced first. Hold a lock: two drafts of one place would end each other.
    """
    for old in place.parent.glob(f".{place.name}.*.part"):
        shutil.rmtree(old)
    folder = place.with_name(f".{place.name}.{os.getpid()}.part")
    folder.mkdir(parents=True)
    try:
        yield folder
        # Several at a time, for a disk syncs many as fast as one; folders last.
        paths = sorted(folder.rglob("*"))
        with ThreadPoolExecutor(max_workers=16) as threads:
            list(threads.map(_sync, (path for path in paths if path.is_file())))
        for path in (*(path for path in reversed(paths) if path.is_dir()), folder):
            _sync(path)
        folder.rename(place)
        sync_folder(place.parent)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def put(folder: Path, name: str, content: bytes) -> str:
    """Write a file of the draft and return its SHA-256."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def copy(folder: Path, name: str, source: Path) -> str:
    """Copy a file into the draft, block by block, and return the SHA-256 of what was copied."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with source.open("rb") as file, path.open("wb") as out:
        while block := file.read(BLOCK):
            digest.update(block)
            out.write(block)
    return digest.hexdigest()


def write_tar(folder: Path, tar: Path) -> None:
    """Write the one tar of a folder: names sorted, no dates, no owners, nothing but names and bytes (POSIX ustar).

    Raises:
        lacre.release.verify.Wrong: a name is too long for it.
    """
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    with replacing(tar) as out:
        for name in sorted(f"{folder.name}/{name}" for name in names):
            path = folder.parent / name
            size = path.stat().st_size
            out.write(tar_header(name, size))
            with path.open("rb") as file:
                shutil.copyfileobj(file, out, BLOCK)
            out.write(b"\0" * (-size % 512))
        out.write(b"\0" * TAR_END)


def tar_bytes(files: Mapping[str, bytes]) -> bytes:
    """The tar of some files, by their names, in the one form that :func:`write_tar` writes."""
    members = (
        tar_header(name, len(files[name])) + files[name] + b"\0" * (-len(files[name]) % 512)
        for name in sorted(files)
    )
    return b"".join(members) + b"\0" * TAR_END


def total_bytes(folder: Path, names: Mapping[str, str]) -> int:
    """The bytes of some files of a folder, in all."""
    return sum((folder / name).stat().st_size for name in names)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
