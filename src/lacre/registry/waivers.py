"""Waivers: a person answers for a match, so that it no longer drops the item it was found in (SPEC L7).

One event a line, only ever added to. A waiver holds for one finding of one text: when a word of the item
changes, its payload has another SHA-256, and the waiver is void.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from lacre import digest, jsonl
from lacre.errors import Fault, RecordError
from lacre.registry.boilerplate import is_date
from lacre.registry.items import Payload
from lacre.registry.records import Record
from lacre.registry.verdicts import Finding

FILE = "waivers.jsonl"
"""Where a workspace keeps them, in its registry."""


class Waiver(Record, omit_defaults=False):
    """One match that a person answers for.

    Attributes:
        item: id of the item; ``payload_sha256``: of its payload, see :func:`payload_sha256`.
        finding: see :func:`finding_id`.
        documents: in how many documents of that corpus the item was found when the person decided; it holds
            while they are no more.
        reason, who, when: why, who answers for it, and the ISO date.
    """

    event: Literal["waiver"] = "waiver"
    item: str
    payload_sha256: str
    finding: str
    documents: int
    reason: str
    who: str
    when: str


def payload_sha256(payload: Payload) -> str:
    """The SHA-256 of a payload's canonical JSON (RFC 8785), 64 hex digits. Defaults are left out.

    >>> payload_sha256(Payload(kind="open", stem="Por quê?"))[:8]
    '583fac2a'
    """
    return digest.sha256(digest.canonical(payload))


def finding_id(finding: Finding) -> str:
    """The name of a finding: ``f`` and 16 hex digits over what was found, and where.

    The same match has the same name in every run over the same documents, wherever the corpus is kept: of its
    name only the last part counts.
    """
    parts = (
        finding.item,
        finding.check,
        Path(finding.corpus).name,
        finding.shard,
        finding.document,
        *map(str, (*finding.bytes, *finding.item_words)),
    )
    # Lengths before the parts: no two places give the same text. Names of files may hold half a character.
    told = "".join(f"{len(part)}:{part}" for part in parts)
    return "f" + digest.sha256(told.encode("utf-8", "surrogatepass"))[:16]


def read_waivers(path: Path) -> tuple[Waiver, ...]:
    """The waivers of a file, in its order; none where there is no such file.

    Raises:
        InputError: the file may not be read.
        RecordError: a line is no waiver, or lacks what a waiver needs; every one is listed.
    """
    if not path.exists():
        return ()
    lines = jsonl.read_lines(path, Waiver)
    faults = [*lines.faults, *(fault for line, waiver in lines.records for fault in _faults(line, waiver))]
    if faults:
        raise RecordError(path, sorted(faults, key=lambda fault: fault.line))
    return tuple(waiver for _, waiver in lines.records)


def _faults(line: int, waiver: Waiver) -> Iterable[Fault]:
    for name in ("item", "payload_sha256", "finding", "reason", "who"):
        if not getattr(waiver, name).strip():
            yield Fault(line, f"the waiver has no {name}", "A waiver without it excuses nothing")
    if not is_date(waiver.when):
        yield Fault(line, f"'{waiver.when}' is no date", "Write it as 2026-03-31")


def add_waivers(path: Path, waivers: Sequence[Waiver]) -> tuple[Waiver, ...]:
    """Add waivers behind those of a file, all or none, and return those that were not there yet.

    The lines that are there keep their bytes.

    Raises:
        RecordError: the file, or one of the new waivers, is not in order; nothing is written then.
    """
    known = {(w.item, w.payload_sha256, w.finding, w.documents) for w in read_waivers(path)}
    new = []
    for waiver in waivers:
        key = (waiver.item, waiver.payload_sha256, waiver.finding, waiver.documents)
        if key not in known:
            known.add(key)
            new.append(waiver)
    faults = [fault for number, waiver in enumerate(new, 1) for fault in _faults(number, waiver)]
    if faults:
        raise RecordError(path, faults)
    if new:
        before = path.read_bytes() if path.exists() else b""
        if before and not before.endswith(b"\n"):
            before += b"\n"
        jsonl.write_bytes(path, before + b"".join(map(jsonl.encode, new)))
    return tuple(new)
