"""The licence of each layer, in words, as files of a release (SPEC L22)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files

from lacre.registry.exams import Exam
from lacre.registry.items import Item

ADDRESSES = {"CC BY 4.0": "https://creativecommons.org/licenses/by/4.0/legalcode"}
CODE = "Apache License 2.0"


def licence_files(items: Iterable[Item], exams: Mapping[str, Exam], open_licence: str) -> dict[str, bytes]:
    """LICENSE files by name: of the official and the open layer, and of the code."""
    return {
        "LICENSE-official.txt": _official(items, exams).encode(),
        "LICENSE-open.txt": _open(open_licence).encode(),
        "LICENSE-code.txt": files("lacre.release").joinpath("LICENSE-code.txt").read_bytes(),
    }


def licence_words(open_licence: str) -> dict[str, str]:
    """The licences, layer by layer, for a table."""
    return {
        "official items": "as their exam boards publish them, see LICENSE-official.txt",
        "open items, answers, results": open_licence,
        "commitments, ledger, closings": open_licence,
        "code": CODE,
    }


def _official(items: Iterable[Item], exams: Mapping[str, Exam]) -> str:
    known: dict[str, set[str]] = {}
    for item in items:
        if item.layer == "official" and item.source.exam is not None:
            known.setdefault(item.source.exam, set()).add(item.source.licence or "as the board publishes it")
    lines = [
        "Official items are questions of public exams. Their rights are those of the exam's board; this release",
        "repeats them to measure language models, with the address of each official booklet.",
        "",
    ]
    for id in sorted(known):
        exam = exams[id]
        lines += [f"{exam.name} {exam.edition} ({exam.exam_date})", f"  booklet: {exam.booklet_url}"]
        lines += [f"  licence: {', '.join(sorted(known[id]))}", ""]
    return "\n".join(lines if known else [*lines, "This release holds none.", ""])


def _open(licence: str) -> str:
    address = f"\n{ADDRESSES[licence]}\n" if licence in ADDRESSES else ""
    return (
        f"Open items, the items that opened, raw answers to public items, results, commitments, closings and ledger\n"
        f"are licensed under {licence}.\n{address}"
    )
