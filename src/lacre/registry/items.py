"""Items: the questions of a benchmark, in three layers (SPEC L1)."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from lacre.registry.records import Record

Layer = Literal["official", "open", "private"]
Expects = Literal["answer", "abstention", "corrected_premise"]

LAYERS: tuple[Layer, ...] = get_args(Layer)

CAPABILITIES = {
    "PRK": "prior knowledge",
    "TU": "text understanding",
    "IU": "image understanding",
    "MR": "mathematical reasoning",
    "BK": "Brazilian knowledge",
    "ML": "multilingualism",
}
"""Capability tags of BLUEX v2 (SPEC B5)."""


class Passage(Record):
    """A text the item quotes.

    ``source`` is the declared public source; without it the passage counts as the item's own words.
    """

    text: str
    source: str | None = None


class Part(Record):
    """One sub-question of an open item. ``points`` is a decimal as text, for payloads hold no floats."""

    id: str
    prompt: str
    expected: str
    points: str = "1"
    criteria: tuple[str, ...] = ()


class Image(Record):
    """An image of the item: file name, SHA-256 of its bytes, caption."""

    file: str
    sha256: str
    caption: str = ""


class Payload(Record):
    """What is committed and never changes: everything a reader of the item sees, and its key.

    Attributes:
        options: letter -> text, in order; an option that is an image has the text ``""``.
        key: the letter of a choice item; for an open item without parts, its expected answer.
        capabilities: of :data:`CAPABILITIES`.
    """

    kind: Literal["choice", "open"]
    stem: str
    passage: Passage | None = None
    options: dict[str, str] = msgspec.field(default_factory=dict)
    key: str | None = None
    parts: tuple[Part, ...] = ()
    images: tuple[Image, ...] = ()
    expects: Expects = "answer"
    looks_sensitive: bool = False
    capabilities: tuple[str, ...] = ()
    critical: bool = False


class Candidate(Record):
    """An item as far as vetting cares: its id and its text."""

    id: str
    payload: Payload


class Source(Record):
    """Where an item comes from: official ones, their exam and number; new ones, author group and licence.

    Attributes:
        url: the official booklet.
        written: who wrote a new item, and when, in the group's own words.
        annulled: the exam's board took the question out, so that it has no key.
    """

    exam: str | None = None
    number: str | None = None
    url: str | None = None
    licence: str | None = None
    written: str | None = None
    annulled: bool = False


class Change(Record):
    """One line of an item's history: who changed what, when (ISO date), and why."""

    when: str
    who: str
    what: str


class Item(Record):
    """One question with its place in the benchmark; layer, cell and source stand outside the payload."""

    id: str
    benchmark: str
    layer: Layer
    cell: dict[str, str]
    payload: Payload
    source: Source = Source()
    history: tuple[Change, ...] = ()
    canary: str | None = None
