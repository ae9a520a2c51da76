"""Everything a vault should be, looked at: each fault one line that names the file."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

from lacre.errors import IntegrityError, LacreError, sentence
from lacre.registry.records import Record
from lacre.sealing.contents import DOCUMENTS, INDEX, ITEMS, LOGS, MARKS
from lacre.sealing.disk import FILE_MODE, FOLDER_MODE
from lacre.sealing.journal import FOLDER as JOURNAL
from lacre.sealing.journal import Recovery
from lacre.sealing.logs import SealedLog, known_logs, log_names, log_path
from lacre.sealing.marks import mark_names, mark_path
from lacre.sealing.vault import HEADER, LOCK, Vault


class Inspection(Record, omit_defaults=False):
    """What was looked at, what a crash had left, and what is wrong; empty ``faults`` when nothing is."""

    items: int
    documents: int
    recovered: Recovery
    faults: tuple[str, ...]


def inspect(vault: Vault, on_item: Callable[[int], None] = lambda _: None) -> Inspection:
    """Open every file of a vault and check it against the index; changes nothing.

    ``on_item`` is called with the number of items done.
    """
    faults: list[str] = []
    for number, entry in enumerate(vault.entries(), 1):
        try:
            vault.sealed(entry.row.id)
        except IntegrityError as error:
            faults.append(str(error))
        on_item(number)
    for name in vault.documents():
        try:
            vault.document(name)
        except IntegrityError as error:
            faults.append(str(error))
    for name in known_logs(vault):
        faults += _log_faults(vault, name)
    faults += _strangers(vault)
    faults += _modes(vault.folder)
    return Inspection(
        items=len(vault.entries()),
        documents=len(vault.documents()),
        recovered=vault.recovered,
        faults=tuple(faults),
    )


def _strangers(vault: Vault) -> list[str]:
    """Files that the index does not know: they are named, and left where they are."""
    files = {kept.file for kept in vault.index.documents}
    known = {
        vault.folder: {HEADER, INDEX, ITEMS, DOCUMENTS, JOURNAL, LOCK, LOGS, MARKS},
        vault.folder / ITEMS: {f"{entry.row.id}.age" for entry in vault.entries()},
        vault.folder / DOCUMENTS: files,
        vault.folder / JOURNAL: set[str](),
        vault.folder / MARKS: {mark_path(vault, name).name for name in mark_names(vault)},
        vault.folder / LOGS: {log_path(vault, name).name for name in log_names(vault)},
    }
    strangers = [
        path
        for folder, names in known.items()
        if folder.is_dir()
        for path in folder.iterdir()
        if path.name not in names
    ]
    todo = "The index does not know it: find out whose it is, and move it out"
    return [sentence(path, "does not belong here", todo) for path in sorted(strangers)]


def _log_faults(vault: Vault, name: str) -> list[str]:
    """What is wrong with a log; a frame that a crash cut short is taken away, for it never counted."""
    try:
        log = SealedLog(vault, name)
    except LacreError as error:
        return [str(error)]
    log.close()
    return []


def _modes(folder: Path) -> list[str]:
    """Files and folders that others than their owner have a right on."""
    said = []
    for path in sorted([folder, *folder.rglob("*")]):
        mode = stat.S_IMODE(path.stat().st_mode)
        due = FOLDER_MODE if path.is_dir() else FILE_MODE
        if mode & 0o077:
            said.append(sentence(path, f"is open to others (mode {mode:o})", f"Run `chmod {due:o} {path}`"))
    return said
