"""From an address to the files that are there."""

from __future__ import annotations

import posixpath
from functools import partial
from importlib import import_module
from itertools import takewhile
from typing import Any, NamedTuple

from lacre.corpora.remote import Unreachable, filesystem, plain, shown, status, tried
from lacre.errors import InputError


class FileAt(NamedTuple):
    """A file: its path below what was named, its address, its bytes and the mark that changes when it does."""

    path: str
    location: str
    size: int
    mark: str


class Found(NamedTuple):
    """The files at an address, sorted by path, and the revision they are of, or ""."""

    files: tuple[FileAt, ...]
    revision: str


def files_at(source: str) -> Found:
    """The files at an address: the one it names, those below the folder it names, or those that a pattern names.

    A repository of the Hub is read at one revision, which is told: the one named with ``@``, else its newest. After
    ``#`` may stand the folder or configuration to read of it, wherever in the repository that folder is.

    Raises:
        InputError: nothing is there, or nothing here knows such addresses.
        Unreachable: nobody answers, or not us.
    """
    system = filesystem(source)
    scheme = source.partition("://")[0]
    if scheme in ("http", "https"):
        details = tried(source, lambda: system.info(source))
        known = status(details)
        name = posixpath.basename(source.partition("?")[0].partition("#")[0])
        return Found((FileAt(name or shown(source), source, known.size or 0, known.mark),), "")
    path, revision, subset = plain(source), "", ""
    system.invalidate_cache()
    if scheme == "hf":
        address, _, subset = source.partition("#")
        path, revision = pinned(address, system)
        path = _narrowed(source, system, path, subset)
    found = _listed(source, system, path)
    base = _base(path, found)
    if subset:
        inside = {name: details for name, details in found.items() if subset in name.split("/")[:-1]}
        found = inside or found
    files = []
    for name, details in found.items():
        if details["type"] == "file":
            known = status(details)
            address = f"{scheme}://{name}"
            files.append(FileAt(posixpath.relpath(name, base), address, known.size or 0, known.mark))
    if not files:
        raise InputError(shown(source), "there is no file here", "Check the address")
    return Found(tuple(sorted(files)), revision)


def _narrowed(source: str, system: Any, path: str, subset: str) -> str:
    """The folder of a subset where it is in one of the usual places, so that no large repository is listed whole."""
    for place in (f"{path}/data/{subset}", f"{path}/{subset}") if subset else ():
        if tried(source, partial(system.isdir, place)):
            return place
    return path


def has_pattern(path: str) -> bool:
    """Whether a path is a pattern."""
    return any(mark in path for mark in "*?[")


def _listed(source: str, system: Any, path: str) -> dict[str, dict[str, Any]]:
    """The files that a path names, with what the server says of each."""

    def work() -> dict[str, dict[str, Any]]:
        if has_pattern(path):
            found = system.glob(path, detail=True)
            folders = [name for name, details in found.items() if details["type"] == "directory"]
            below = [system.find(name, detail=True) for name in folders]
            return {name: details for part in (found, *below) for name, details in part.items()}
        return dict(system.find(path, detail=True))

    return tried(source, work)


def _base(path: str, found: dict[str, dict[str, Any]]) -> str:
    """What the paths of the files are relative to."""
    if has_pattern(path):
        return posixpath.join(*takewhile(lambda part: not has_pattern(part), path.split("/")))
    return posixpath.dirname(path) if path in found else path


def pinned(source: str, system: Any) -> tuple[str, str]:
    """The path of a repository's files at one revision, and that revision.

    Raises:
        InputError: it is not the address of a repository.
        Unreachable: the Hub does not answer, or not us.
    """
    path = plain(source)
    fixed = "/".join(takewhile(lambda part: not has_pattern(part), path.split("/")))
    try:
        resolved = tried(source, lambda: system.resolve_path(fixed))
        api: Any = import_module("huggingface_hub").HfApi(endpoint=system.endpoint, token=system.token)
        about = tried(
            source,
            lambda: api.repo_info(resolved.repo_id, repo_type=resolved.repo_type, revision=resolved.revision),
        )
    except (AttributeError, NotImplementedError, ValueError):
        raise InputError(
            shown(source),
            "is not the address of a repository",
            "Write hf://datasets/OWNER/NAME[@REVISION][/PATH]",
        ) from None
    root = f"{resolved.repo_type}s/{resolved.repo_id}@{about.sha}"
    rest = resolved.path_in_repo + path[len(fixed) :]
    return (f"{root}/{rest.lstrip('/')}" if rest else root), str(about.sha)


def out_of_reach(source: str) -> str | None:
    """Why an address cannot be read from here, in a few words; none when it can."""
    try:
        files_at(source)
    except (Unreachable, InputError) as error:
        return str(error).removeprefix(f"{shown(source)}: ").rstrip(".")
    return None
