"""What the guard watches for: private items, and what of them is public already (SPEC L22, X5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from lacre.errors import IntegrityError, sentence
from lacre.registry.boilerplate import read_phrases
from lacre.registry.items import Candidate
from lacre.registry.records import Record
from lacre.registry.rules import GuardRules, default_rules
from lacre.registry.workspace import PUBLIC_LAYERS, Workspace
from lacre.sealing.change import Change
from lacre.sealing.contents import Sealed
from lacre.sealing.vault import Vault

R = TypeVar("R", bound=Record)

EXCUSED = "guard/excused.jsonl"
"""The vault's document of runs that a person answers for."""
EXCLUDED = "guard/excluded.jsonl"
"""The vault's document of what the last guard left out, and why."""
REVIEWERS = "guard/reviewers.txt"
"""The vault's document of names that may stand in no release, one a line."""


class Excused(Record):
    """Words of a private item that may stand in public, for which a person answers.

    Attributes:
        commitment: of the text that it is about; void when that changes.
        first, last: words [first, last) of the item's own text, numbered from 0, declared passages left out.
        who, when, why: who answers for it, the ISO date, the reason.
    """

    item: str
    commitment: str
    first: int
    last: int
    who: str
    when: str
    why: str


class Exclusion(Record):
    """Words [first, last) of a private item that the guard left out, and what they stand in already.

    Attributes:
        kind: ``passage`` (declared, all its words: ``first`` and ``last`` are 0), ``boilerplate``, ``published`` or
            ``excused``.
        source: id of the public item, the phrase, or who answers for it.
    """

    item: str
    kind: str
    source: str
    first: int = 0
    last: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Watch:
    """What to watch for, and what is no leak.

    Attributes:
        items: private items with their nonces.
        published: public items: official, open, opened.
        phrases: approved boilerplate. ``excused``: of the vault.
        reviewers: names that may not stand in a release.
        rules: the size of cells, and addresses that may go out.
    """

    items: tuple[Sealed, ...] = ()
    published: tuple[Candidate, ...] = ()
    phrases: tuple[str, ...] = ()
    excused: tuple[Excused, ...] = ()
    reviewers: tuple[str, ...] = ()
    rules: GuardRules


def watch(vault: Vault | None, workspace: Workspace | None) -> Watch:
    """What a vault and a workspace ask to watch for. Without a vault no private item is known.

    Raises:
        RecordError: a file of public items breaks its rules.
        IntegrityError: the vault is damaged.
    """
    published = tuple(_published(workspace)) if workspace else ()
    public = {candidate.id for candidate in published}
    kept = (vault.document(REVIEWERS) or b"").decode(errors="replace") if vault else ""
    names = {line.strip() for line in kept.splitlines() if line.strip()}
    return Watch(
        items=tuple(sealed for sealed in vault.items() if sealed.item.id not in public) if vault else (),
        published=published,
        phrases=tuple(phrase.text for phrase in read_phrases(workspace.boilerplate)) if workspace else (),
        excused=read_excused(vault) if vault else (),
        reviewers=tuple(sorted(names | (reviewers(workspace.registry) if workspace else set()))),
        rules=workspace.rules().guard if workspace else default_rules().guard,
    )


def _published(workspace: Workspace) -> Iterator[Candidate]:
    for name in workspace.benchmarks():
        for item in workspace.items(name):
            yield Candidate(id=item.id, payload=item.payload)


_PEOPLE = ("who", "rater", "reviewer", "annotator", "revisor", "avaliador")
"""Fields that name a person who reviewed something."""
_SIGNED = ("ledger.jsonl", "waivers.jsonl")
"""Files whose signers answer in public, by design."""


def reviewers(registry: Path) -> set[str]:
    """Names of people who reviewed, as the files of a registry tell them.

    Who signed a waiver or approved a phrase answers for it in public, and is left out; so is who is named in the
    ledger, and in the history of a public item, which is public itself.
    """
    public = {phrase.who for phrase in read_phrases(registry / "boilerplate.txt")}
    found: set[str] = set()
    for path in sorted(registry.rglob("*.jsonl")):
        if path.parent.name in PUBLIC_LAYERS:
            continue
        (public if path.name in _SIGNED else found).update(_people(path))
    return found - public


def _people(path: Path) -> Iterator[str]:
    for line in path.read_bytes().split(b"\n"):
        if not any(field.encode() in line for field in (*_PEOPLE, "name")):
            continue
        try:
            record = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue  # whose file it is says what is wrong with it
        yield from _named(record, (*_PEOPLE, "name") if path.name in _SIGNED else _PEOPLE)


def _named(value: Any, fields: Sequence[str]) -> Iterator[str]:
    if isinstance(value, dict):
        for name, part in value.items():
            if name in fields and isinstance(part, str) and part.strip():
                yield part.strip()
            else:
                yield from _named(part, fields)
    elif isinstance(value, list):
        for part in value:
            yield from _named(part, fields)


def read_excused(vault: Vault) -> tuple[Excused, ...]:
    """The runs of a vault that somebody answers for, by item and place."""
    return _records(vault, EXCUSED, Excused)


def read_excluded(vault: Vault) -> tuple[Exclusion, ...]:
    """What the last guard left out, by item and place."""
    return _records(vault, EXCLUDED, Exclusion)


def _records(vault: Vault, name: str, kind: type[R]) -> tuple[R, ...]:
    try:
        return tuple(
            msgspec.json.decode(line, type=kind)
            for line in (vault.document(name) or b"").splitlines()
            if line
        )
    except msgspec.DecodeError:
        raise IntegrityError(
            sentence(vault.folder, f"its document {name} is of no known form", "Use the lacre that wrote it")
        ) from None


def keep_excused(change: Change, excused: Iterable[Excused]) -> None:
    """Keep runs in the vault in the place of those that are there."""
    ordered: list[Excused] = sorted(excused, key=_place)
    _keep(change, EXCUSED, ordered)


def keep_excluded(change: Change, excluded: Iterable[Exclusion]) -> None:
    """Keep what a guard left out in the place of what the one before left out."""
    ordered: list[Exclusion] = sorted(excluded, key=_place)
    _keep(change, EXCLUDED, ordered)


def _place(one: Excused | Exclusion) -> tuple[str, int, int, bytes]:
    return one.item, one.first, one.last, msgspec.json.encode(one)


def _keep(change: Change, name: str, records: Iterable[Record]) -> None:
    change.keep(name, b"".join(msgspec.json.encode(record) + b"\n" for record in records))
