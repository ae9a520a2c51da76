"""Phrases that are exam language, not content, each with who approved it and when."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from datetime import date
from pathlib import Path

from lacre.errors import Fault, InputError, RecordError
from lacre.jsonl import read_bytes, write_bytes
from lacre.registry.records import Record
from lacre.text import words


class Phrase(Record):
    """One approved phrase: who answers for it, when (ISO date), and why, which old files do not say."""

    text: str
    who: str
    when: str
    why: str = ""


def read_phrases(path: Path) -> tuple[Phrase, ...]:
    """The phrases of a ``boilerplate.txt``; none where there is no such file.

    A line is the phrase, who approved it, when and perhaps why, with tabs between; ``#`` begins a note.

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
        if len(parts) not in (3, 4) or not all(parts):
            faults.append(
                Fault(number, "is not phrase, who, when and why", "Part them with tabs; none may be empty")
            )
        elif not is_date(parts[2]):
            faults.append(Fault(number, f"'{parts[2]}' is no date", "Write it as 2026-03-31"))
        else:
            phrases.append(Phrase(**dict(zip(("text", "who", "when", "why"), parts, strict=False))))
    if faults:
        raise RecordError(path, faults)
    return tuple(phrases)


LEAST_WORDS = 3
"""Words of a phrase; a shorter one would cut every match to pieces."""


def approve(path: Path, phrase: Phrase) -> bool:
    """Add a phrase behind those of a file, and whether it was new: the same words are approved once.

    Line feeds and tabs in it become blanks. The lines that are there keep their bytes.

    Raises:
        InputError: the phrase has fewer than :data:`LEAST_WORDS` words, says not who and why, or has no date.
        RecordError: the file is not in order; nothing is written then.
    """
    parts = [" ".join(part.split()) for part in (phrase.text, phrase.who, phrase.when, phrase.why)]
    folded = _folded(parts[0])
    if len(folded) < LEAST_WORDS or parts[0].startswith("#"):
        raise InputError(
            f"phrase '{parts[0]}'",
            f"is no phrase of {LEAST_WORDS} words or more",
            "Give it whole, as exams write it",
        )
    for name, part in zip(("who", "when", "why"), parts[1:], strict=True):
        if not part:
            raise InputError(f"phrase '{parts[0]}'", f"has no {name}", "Somebody must answer for it")
    if not is_date(parts[2]):
        raise InputError(f"phrase '{parts[0]}'", f"'{parts[2]}' is no date", "Write it as 2026-03-31")
    if is_known([known.text for known in read_phrases(path)], parts[0]):
        return False
    before = read_bytes(path) if path.exists() else b""
    if before and not before.endswith(b"\n"):
        before += b"\n"
    write_bytes(path, before + unicodedata.normalize("NFC", "\t".join(parts)).encode() + b"\n")
    return True


def is_known(phrases: Iterable[str], text: str) -> bool:
    """Whether a text has the words of one of the phrases; case, accents and punctuation do not count.

    >>> is_known(["Assinale a alternativa correta."], "ASSINALE A ALTERNATIVA CORRETA:")
    True
    """
    return _folded(text) in map(_folded, phrases)


def _folded(text: str) -> tuple[str, ...]:
    return tuple(word.folded for word in words(text))


def is_date(text: str) -> bool:
    """Whether a text is an ISO date.

    >>> is_date("2026-03-31"), is_date("31/03/2026")
    (True, False)
    """
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
