"""Whether a private item stands in public already: opened at a closing, or in a public layer. Then it is none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from lacre.digest import sha256
from lacre.errors import RecordError
from lacre.jsonl import lines_of, read_bytes
from lacre.registry.items import Payload
from lacre.sealing.commitments import payload_bytes
from lacre.text import words

_PLACES = ("rounds/*/openings.jsonl", "open/*.jsonl", "official/*.jsonl")


class _Piece(msgspec.Struct, frozen=True, kw_only=True):
    """What openings and items of a public layer have in common."""

    id: str
    payload: Payload


@dataclass(frozen=True, slots=True)
class PublicTexts:
    """What a workspace has published of its items.

    Attributes:
        payloads: SHA-256 of a canonical payload -> where it stands. ``texts``: the same of the words alone.
    """

    payloads: Mapping[str, str]
    texts: Mapping[str, str]

    def place(self, payload: Payload) -> str | None:
        """Where a payload stands in public, its very bytes or its words; none when nowhere."""
        exact = self.payloads.get(sha256(payload_bytes(payload)))
        return exact or self.texts.get(text_digest(payload))


def public_texts(registry: Path) -> PublicTexts:
    """What all benchmarks of a registry have published: openings of closings, open and official items.

    Raises:
        RecordError: a file of them is damaged.

    >>> public_texts(Path("nowhere")).payloads
    {}
    """
    payloads: dict[str, str] = {}
    texts: dict[str, str] = {}
    for path in sorted(path for place in _PLACES for path in registry.glob(f"*/{place}")):
        lines = lines_of(read_bytes(path), _Piece)
        if lines.faults:
            raise RecordError(path, lines.faults)
        for _, piece in lines.records:
            where = f"item '{piece.id}' of {path.relative_to(registry)}"
            payloads.setdefault(sha256(payload_bytes(piece.payload)), where)
            texts.setdefault(text_digest(piece.payload), where)
    return PublicTexts(payloads, texts)


def text_digest(payload: Payload) -> str:
    """SHA-256 of the words of all that a reader sees, its passage too, in the order in which it stands.

    >>> text_digest(Payload(kind="open", stem="É só?")) == text_digest(Payload(kind="open", stem="E so", key="!"))
    True
    """
    parts = [payload.passage.text if payload.passage else "", payload.stem, *payload.options.values()]
    parts += [part.prompt for part in payload.parts]
    parts += [image.sha256 for image in payload.images]
    return sha256("\n".join(" ".join(word.folded for word in words(part)) for part in parts).encode())


def public_already(known: PublicTexts, payloads: Iterable[tuple[str, Payload]]) -> Iterator[tuple[str, str]]:
    """Ids of items that stand in public, and where."""
    for id, payload in payloads:
        if (where := known.place(payload)) is not None:
            yield id, where
