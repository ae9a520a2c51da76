"""What a column's card calls, whatever its id and its labels: by it a column has one run in a round (SPEC X4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from lacre.digest import sha256
from lacre.registry.columns import Column, Images

_PORTS = {"http": 80, "https": 443}
_HERE = ("localhost", "::1")


class Called(msgspec.Struct, frozen=True, kw_only=True):
    """The system that answers, and the settings that a customer controls (SPEC L21).

    Attributes:
        server: host, port and path of the endpoint.
        settings: all that is sent beside the cap, the reasoning effort among it, as canonical JSON of dotted names.
    """

    model: str
    server: tuple[str, int | None, str]
    cap: int | None
    settings: bytes
    images: Images


def called(card: Column) -> Called:
    """What a card calls.

    Two cards that share it ask one system in one way: they differ in their labels, in how its address or a setting's
    name is spelt, or in the pace.

    >>> from lacre.registry.columns import Column
    >>> here = Column(id="a", model="m", vendor="v", family="f", dialect="openai", endpoint="http://localhost:80/v1/")
    >>> there = Column(id="b", model="m", vendor="w", family="g", dialect="openai", endpoint="http://127.0.0.1/v1")
    >>> called(here) == called(there)
    True
    """
    return Called(
        model=card.model.strip().casefold(),
        server=_server(card.endpoint),
        cap=card.cap,
        settings=msgspec.json.encode(_settings(card), order="deterministic"),
        images=card.images,
    )


def fixed(card: Column) -> dict[str, Any]:
    """What the intent of a sealed run fixes of its card: all that decides how the column is asked, and where.

    An open run may move to another address, for its folder says which. Of a sealed run the ledger's hash is all that
    is public: it must not stand for a server that gave half of the answers.
    """
    return card.asked() | {"endpoint": card.endpoint}


def card_digest(card: Column) -> str:
    """The SHA-256 of :func:`fixed`, as JSON with sorted names: what an intent signs of a card."""
    return sha256(msgspec.json.encode(fixed(card), order="deterministic"))


def _settings(card: Column) -> dict[str, Any]:
    effort = {} if card.effort_name is None else {card.effort_name: card.effort}
    return dict(_dotted(effort | card.settings))


def _dotted(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """What settings send, by dotted names: whether an object is written whole or by its parts is only spelling."""
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _dotted(value, f"{above}{name}.")
        else:
            yield above + name, value


def _server(endpoint: str) -> tuple[str, int | None, str]:
    parts = urlsplit(endpoint)
    host = (parts.hostname or "").rstrip(".")
    if host in _HERE or host.startswith("127."):
        host = "127.0.0.1"
    return host, parts.port or _PORTS.get(parts.scheme), parts.path.strip("/")
