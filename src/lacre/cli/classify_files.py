"""Files of answers, and the options that say how they are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lacre.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lacre.registry.items import Payload
    from lacre.registry.raw_answers import RawAnswer

F = TypeVar("F", bound=Callable[..., Any])

_READING = (
    click.option(
        "--map", "mapping", multiple=True, metavar="FIELD=COLUMN,...",
        help="Names of the file's columns, such as item=id,answer=response,key=gold.",
    ),
    click.option(
        "--items", "items", type=click.Path(path_type=Path), metavar="FILE",
        help="The items, for their options and keys, where the rows do not hold them.",
    ),
    click.option("--letters", metavar="ABCDE", help="The options' letters, where their texts are not known."),
)  # fmt: skip


def reading(function: F) -> F:
    """The options that say how answers are read."""
    for option in reversed(_READING):
        function = option(function)
    return function


def read_answers(
    file: Path, mapping: Sequence[str], items: Path | None, letters: str | None
) -> tuple[RawAnswer, ...]:
    """The answers of a file, or of the folder of a run, as the options say that they are read."""
    from lacre.registry.raw_answers import read_raw_answers  # noqa: PLC0415 - keeps --help fast

    if letters is not None:
        letters = letters.upper().replace(",", "").replace(" ", "")
        if not letters.isascii() or not letters.isalpha() or len(set(letters)) < len(letters):
            raise InputError("--letters", f"'{letters}' are no letters, each once", "Write them as ABCDE")
    if file.is_dir():
        return run_answers(file, _items(items))
    return read_raw_answers(file, _mapping(mapping), items=_items(items), letters=letters)


def run_answers(folder: Path, items: dict[str, Payload] | None) -> tuple[RawAnswer, ...]:
    """The texts of a run's whole replies, with the options of their items where these are known."""
    from lacre.engine.folders import RunFolder  # noqa: PLC0415 - keeps --help fast
    from lacre.engine.replies import Failed  # noqa: PLC0415
    from lacre.registry.raw_answers import RawAnswer  # noqa: PLC0415

    return tuple(
        RawAnswer(
            column=task.column,
            item=task.item,
            repetition=task.repetition,
            text="" if isinstance(entry.reply, Failed) else entry.reply.text,
            options=dict(items[task.item].options) if items and task.item in items else {},
        )
        for task, entry in RunFolder.open(folder).settled().items()
        if not task.part
    )


def _mapping(texts: Sequence[str]) -> dict[str, str]:
    """Fields and the columns that hold them."""
    found: dict[str, str] = {}
    for part in (part for text in texts for part in text.split(",")):
        field, equals, column = (piece.strip() for piece in part.partition("="))
        if not (field and equals and column):
            raise InputError("--map", f"'{part}' is not FIELD=COLUMN", "Write it as item=id,answer=response")
        if field in found:
            raise InputError("--map", f"field '{field}' is given twice", "Give it once")
        found[field] = column
    return found


def _items(path: Path | None) -> dict[str, Payload] | None:
    if path is None:
        return None
    from lacre.registry.intake import candidates  # noqa: PLC0415 - keeps --help fast

    return {item.id: item.payload for item in candidates(path).items}
