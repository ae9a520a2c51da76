"""What a release says about itself to people and to programs: flat rows, licences, croissant.json, the card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from lacre.errors import InputError
from lacre.registry.ledger import Ledger
from lacre.registry.workspace import Workspace
from lacre.release.about import read_about
from lacre.release.canary import Canary, mark
from lacre.release.card import Card, Shown, card
from lacre.release.contents import Contents
from lacre.release.croissant import croissant
from lacre.release.flat import PUBLIC, flat_file, flat_files
from lacre.release.licences import licence_files, licence_words
from lacre.release.manifests import last_release
from lacre.release.packing import put
from lacre.release.places import CARD, CROISSANT, apart
from lacre.release.statement import Private
from lacre.rotation.beacon import instant
from lacre.rotation.calendar import months_later
from lacre.sealing.keys import SigningKey


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """What is to be built.

    Attributes:
        out: the folder that gets NAME and NAME.tar. ``at``: when the release is made.
        next_due: when the next one is due; none: as many months later as a round lasts.
    """

    name: str
    benchmarks: tuple[str, ...]
    out: Path
    at: datetime
    next_due: datetime | None = None
    runs: tuple[Path, ...] = ()
    results: tuple[Path, ...] = ()

    @property
    def folder(self) -> Path:
        """Where the release will be."""
        return self.out / self.name

    @property
    def tar(self) -> Path:
        """Where its tar will be."""
        return self.out / f"{self.name}.tar"


@dataclass(slots=True)
class Works:
    """A release in the making: what it is made from, its draft, and the hash of each file in it so far."""

    folder: Path
    canary: Canary
    workspace: Workspace
    order: Order
    contents: Contents
    ledger: Ledger
    signer: SigningKey
    program: Mapping[str, bytes]
    sums: dict[str, str] = field(default_factory=dict)
    unmarked: list[str] = field(default_factory=list)

    def add(self, name: str, content: bytes) -> None:
        """Write a file, marked with the canary where it can hold it; where it cannot, ``unmarked`` says why."""
        if not apart(name):
            try:
                content = mark(name, content, self.canary)
            except InputError as error:
                self.unmarked.append(str(error))
        self.sums[name] = put(self.folder, name, content)

    def keep(self, name: str, content: bytes) -> None:
        """Write a file as it is."""
        self.sums[name] = put(self.folder, name, content)


def describe(works: Works, sealed: Mapping[str, Private]) -> None:
    """Write the flat rows, the licences, croissant.json and the card."""
    workspace, order, contents = works.workspace, works.order, works.contents
    exams, about, at = workspace.exams(), read_about(workspace.registry), instant(order.at)
    rows: dict[str, int] = {}
    shown: list[Shown] = []
    for name in order.benchmarks:
        items = contents.items[name]
        for file, content in flat_files(items, exams, works.canary.text):
            works.add(file, content)
            rows[file] = content.count(b"\n")
        benchmark = workspace.benchmark(name)
        layers: dict[str, int] = {
            layer: rows[flat_file(name, layer)] for layer in PUBLIC if flat_file(name, layer) in rows
        }
        shown.append(Shown(name=name, title=benchmark.title, notes=benchmark.notes, layers=layers))
    licence = workspace.rules().layers.open_licence
    every = [item for name in order.benchmarks for item in contents.items[name]]
    for name, content in licence_files(every, exams, licence).items():
        works.add(name, content)
    words = licence_words(licence)
    digests = {file: works.sums[file] for file in rows}
    works.keep(
        CROISSANT,
        croissant(
            order.name,
            at=at,
            about=about,
            digests=digests,
            licences=sorted(set(words.values())),
            canary=works.canary.text,
        ),
    )
    previous = last_release(works.ledger)
    text = card(
        Card(
            release=order.name,
            at=at,
            about=about,
            benchmarks=tuple(shown),
            files=rows,
            licences=words,
            fingerprint=works.signer.fingerprint,
            next_due=next_due(order, workspace),
            previous=f"{previous.release}, package {previous.package}" if previous else None,
            canary=works.canary.text,
            runs=tuple(sorted(run.name for run in order.runs)),
        ),
        sealed,
    )
    works.add(CARD, text.encode())


def next_due(order: Order, workspace: Workspace) -> str:
    """When the next release is due: as ordered, else when the shortest round ends.

    Raises:
        InputError: that is not after the release itself.
    """
    rules = [workspace.benchmark(name).rules for name in order.benchmarks]
    due = order.next_due or min(months_later(order.at, each.rounds.months) for each in rules)
    if due <= order.at:
        raise InputError("--next-due", "is not after the release itself", "Give a later day")
    return instant(due)
