"""Releases from elsewhere: a tar or a folder at a web address, or a dataset of the Hugging Face Hub."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from lacre.errors import ColumnError, InputError, IntegrityError, sentence
from lacre.release.verify import ENVELOPE, STAMP, SUMS, Wrong, read_sums

if TYPE_CHECKING:
    import httpx2

HUB = "hf://datasets/"
SECONDS = 60.0  # without a byte, after which a server has gone
_TODO = "Check the address, and try again"

Progress = Callable[[int], None]
"""Told how many bytes have come."""


def is_elsewhere(place: str) -> bool:
    """Whether a place is an address and no path.

    >>> is_elsewhere("https://example.org/a.tar"), is_elsewhere("releases/a")
    (True, False)
    """
    return place.startswith((HUB, "https://", "http://"))


def fetched(
    place: str, room: Path, progress: Progress = lambda _: None, *, endpoint: str | None = None
) -> Path:
    """The folder or tar, below ``room``, with what stands at an address.

    ``hf://datasets/ORG/NAME@REVISION``, the address of a tar, or that of a folder: of a folder only what its
    SHA256SUMS lists is fetched, for a web server does not say what else lies there. ``endpoint``: of another Hub.

    Raises:
        ColumnError: the server cannot be reached, refuses, or sends less than it said.
        InputError: the address is none. IntegrityError: the folder's SHA256SUMS is none.
    """
    if place.startswith(HUB):
        return _from_hub(place, room, endpoint)
    import httpx2  # noqa: PLC0415 - only where something is fetched

    with httpx2.Client(timeout=SECONDS, follow_redirects=True) as client:
        if place.endswith(".tar"):
            target = room / place.rpartition("/")[2]
            _download(client, place, target, progress, 0)
            return target
        return _folder(client, place.rstrip("/"), room / "release", progress)


def repository(place: str) -> tuple[str, str | None]:
    """The repository and the revision that an ``hf://`` address names.

    >>> repository("hf://datasets/lua/exemplo@v1"), repository("hf://datasets/lua/exemplo")
    (('lua/exemplo', 'v1'), ('lua/exemplo', None))

    Raises:
        InputError: it is not ``hf://datasets/ORG/NAME``.
    """
    name, at, revision = place.removeprefix(HUB).partition("@")
    if not place.startswith(HUB) or name.count("/") != 1 or not all(name.split("/")) or (at and not revision):
        raise InputError(
            place, "is not the address of a dataset", f"Write {HUB}ORG/NAME or {HUB}ORG/NAME@REVISION"
        )
    return name, revision or None


def _folder(client: httpx2.Client, address: str, folder: Path, progress: Progress) -> Path:
    done = 0
    for name in (SUMS, ENVELOPE):
        done = _download(client, f"{address}/{name}", folder / name, progress, done)
    try:
        listed = read_sums((folder / SUMS).read_bytes(), f"{address}/{SUMS}")
    except Wrong as wrong:
        raise IntegrityError(sentence(address, str(wrong), "It is no release, or was changed")) from None
    for name in listed:
        done = _download(client, f"{address}/{name}", folder / name, progress, done)
    if client.head(f"{address}/{STAMP}").status_code == 200:
        _download(client, f"{address}/{STAMP}", folder / STAMP, progress, done)
    return folder


def _download(client: httpx2.Client, address: str, target: Path, progress: Progress, done: int) -> int:
    """Fetch one file; returns the bytes that have come so far."""
    import httpx2  # noqa: PLC0415 - only where something is fetched

    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with client.stream("GET", address) as answer, target.open("wb") as out:
            if answer.status_code != 200:
                what = f"answered with status {answer.status_code}"
                raise ColumnError(sentence(address, what, _TODO))
            for block in answer.iter_bytes():
                out.write(block)
                done += len(block)
                progress(done)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise ColumnError(sentence(address, f"cannot be fetched ({type(error).__name__})", _TODO)) from None
    return done


def _from_hub(place: str, room: Path, endpoint: str | None) -> Path:
    import httpx2  # noqa: PLC0415 - heavy
    from huggingface_hub import HfApi  # noqa: PLC0415

    name, revision = repository(place)
    folder = room / "release"
    try:
        HfApi(endpoint=endpoint).snapshot_download(
            name, repo_type="dataset", revision=revision, local_dir=folder
        )
    except (httpx2.HTTPError, OSError, ValueError) as error:
        raise ColumnError(sentence(place, f"cannot be fetched ({type(error).__name__})", _TODO)) from None
    # What the library keeps for itself beside the files.
    shutil.rmtree(folder / ".cache", ignore_errors=True)
    return folder
