"""The options of ``lacre vet`` that have to do with indexes, and the indexes they name, opened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lacre.errors import InputError

if TYPE_CHECKING:
    from lacre.vetting.indexed import Lookup

F = TypeVar("F", bound=Callable[..., Any])


def index_options(function: F) -> F:
    """``--index``, ``--watch`` and ``--stdin``, as arguments ``indexes``, ``watch`` and ``stdin``."""
    for option in reversed(
        (
            click.option(
                "--index",
                "indexes",
                multiple=True,
                type=click.Path(path_type=Path, file_okay=False),
                metavar="DIR",
                help="An index of public text, from `lacre index build`; what it names is read again. "
                "Give it again for more.",
            ),
            click.option(
                "--watch",
                type=click.Path(path_type=Path, dir_okay=False),
                metavar="FILE",
                help="Vet this file of items in the indexes now and after each save, until interrupted.",
            ),
            click.option(
                "--stdin",
                is_flag=True,
                help="Vet items from standard input in the indexes: one JSON object a line in, one verdict a line out.",
            ),
        )
    ):
        function = option(function)
    return function


def opened(indexes: Sequence[Path], *, workers: int) -> Lookup | None:
    """The indexes, opened; none when none was named.

    Raises:
        InputError: there is none in a folder, or one is named twice.
        IntegrityError: one is damaged.
    """
    from lacre.vetting.indexed import Lookup  # noqa: PLC0415 - keeps --help fast

    if not indexes:
        return None
    places = [folder.resolve() for folder in indexes]
    for number, place in enumerate(places):
        if place in places[:number]:
            raise InputError(indexes[number], "this index is named twice", "Name it once")
    return Lookup.open(indexes, workers=workers)


def refuse_besides(
    watch: Path | None, *, stdin: bool, indexes: Sequence[Path], given: Sequence[object]
) -> None:
    """Refuse what cannot be answered for while items are written.

    Raises:
        InputError: --watch and --stdin at once, or anything in ``given`` besides one of them, or no index.
    """
    name = "--stdin" if watch is None else "--watch"
    if watch is not None and stdin:
        raise InputError("--watch", "does not go with --stdin", "Give one of the two")
    if any(one is not None for one in given):
        raise InputError(
            name,
            "looks its items up in indexes, and writes no files",
            "Leave ITEMS, --vault, --corpus, --required and --out out",
        )
    if not indexes:
        raise InputError(name, "needs an index", "Give --index DIR; `lacre index build` makes one")
