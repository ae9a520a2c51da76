"""Phrases that are exam language, not content, each with who approved it and when."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from lacre.errors import Fault, RecordError
from lacre.jsonl import read_bytes
from lacre.registry.records import Record


class Phrase(Record):
    """One approved phrase. ``when`` is an ISO date."""

    text: str
    who: str
    when: str


def read_phrases(path: Path) -> tuple[Phrase, ...]:
    """The phrases of a ``boilerplate.txt``; none where there is no such file.

    A line is the phrase, who approved it, and when, with tabs between; ``#`` begins a note.

    Raises:
        InputError: the file may not be read.
        RecordError: a line lacks a part, or its date is none; every one is listed.
    """
    if not path.exists():
        return ()
    phrases: list[Phrase] = []
    faults: list[Fault] = []
    for number, line in enumerate(read_bytes(path).decode(errors="replace").split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split("\t")]
        if len(parts) != 3 or not all(parts):
            faults.append(
                Fault(number, "is not phrase, who and when", "Part the three with tabs; none may be empty")
            )
        elif not _is_date(parts[2]):
            faults.append(Fault(number, f"'{parts[2]}' is no date", "Write it as 2026-03-31"))
        else:
            phrases.append(Phrase(text=parts[0], who=parts[1], when=parts[2]))
    if faults:
        raise RecordError(path, faults)
    return tuple(phrases)


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
