"""What a vetting stands on: rules, set phrases, a corpus and its files; a freeze takes no vetting on other ground."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lacre.registry.workspace import Workspace

RULES = ("rules.toml", "boilerplate.txt")


def corpus_grounds(workspace: Workspace) -> dict[str, str]:
    """Id of each corpus of the inventory -> SHA-256 of what vetting against it stands on now.

    That is its line of corpora.jsonl, the rules, the set phrases, and path, size and time of change of each of its
    files, where they lie on this machine. What lies elsewhere is not asked for.
    """
    from lacre.corpora.remote import is_address  # noqa: PLC0415 - keeps --help fast
    from lacre.digest import canonical, sha256  # noqa: PLC0415
    from lacre.jsonl import read_bytes  # noqa: PLC0415

    registry = workspace.registry
    rules = {name: sha256(read_bytes(registry / name)) for name in RULES if (registry / name).is_file()}
    grounds: dict[str, str] = {}
    for corpus in workspace.corpora().values():
        here = corpus.location is not None and not is_address(corpus.location)
        files = sorted(_files(workspace.root / str(corpus.location))) if here else []
        row = sha256(canonical(corpus))
        grounds[corpus.id] = sha256(canonical({"corpus": row, "rules": rules, "files": files}))
    return grounds


def _files(place: Path) -> Iterator[tuple[str, int, str]]:
    """Path, size and time of change of each file at a place: a file, a folder, or a pattern of them."""
    root = Path(place.anchor)
    for found in root.glob(str(place.relative_to(root))):
        for path in found.rglob("*") if found.is_dir() else (found,):
            if path.is_file():
                stat = path.stat()
                yield str(path), stat.st_size, str(stat.st_mtime_ns)
