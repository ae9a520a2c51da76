"""Refuses to publish a person's words that quote what the vault holds: the ledger keeps them for ever (SPEC X5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lacre.errors import InputError
from lacre.registry.items import Payload
from lacre.sealing.vault import Vault
from lacre.text import words

QUOTED = 4
"""So many words in a row are a quotation. Few, for to say it otherwise costs nothing; the guard of releases takes 8."""


def refuse_quotes(
    vault: Vault,
    text: str,
    option: str = "--reason",
    *,
    replies: Iterable[str] = (),
    others: Iterable[Payload] = (),
) -> None:
    """Refuse a text that shares :data:`QUOTED` words in a row with a private item or a reply, or holds a whole field.

    A field is whole from two words on: a key of one word cannot be told from a word that everybody uses.

    Raises:
        InputError: it does; the item is named and no word of it. IntegrityError: an item's file is damaged.
    """
    said = _folded(text)
    todo = "Say it in other words: it is published for ever"
    for sealed in vault.items():
        if any(quotes(said, field) for field in fields(sealed.item.payload)):
            raise InputError(option, f"quotes private item '{sealed.item.id}'", todo)
    if any(quotes(said, field) for payload in others for field in fields(payload)):
        raise InputError(option, "quotes the new text of a private item", todo)
    if any(quotes(said, reply) for reply in replies):
        raise InputError(option, "quotes a reply of the column to a private item", todo)


def quotes(said: Sequence[str], field: str) -> bool:
    """Whether some folded words quote a text.

    >>> said = ["lost", "the", "red", "lamp", "of", "the", "port"]
    >>> quotes(said, "Who lit the red lamp of old?"), quotes(said, "Red lamp"), quotes(said, "port")
    (True, True, False)
    """
    there = _folded(field)
    size = min(QUOTED, len(there))
    if size < 2:
        return False
    runs = {tuple(said[at : at + size]) for at in range(len(said) - size + 1)}
    return any(tuple(there[at : at + size]) in runs for at in range(len(there) - size + 1))


def fields(payload: Payload) -> Iterator[str]:
    """All texts of an item, its key and criteria among them."""
    yield payload.stem
    if payload.passage is not None:
        yield payload.passage.text
    yield from payload.options.values()
    yield payload.key or ""
    for part in payload.parts:
        yield from (part.prompt, part.expected, *part.criteria)
    for image in payload.images:
        yield from (image.caption, image.file)


def _folded(text: str) -> list[str]:
    return [word.folded for word in words(text)]
