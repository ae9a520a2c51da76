"""What commands print: results on stdout as a table or as JSON, and the example that ends each help."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def example(*commands: str) -> str:
    """The end of a command's help; a test runs every command in it. A line may go on after a backslash."""
    return "\b\nExample:\n" + "\n".join(f"  {command}" for command in commands)


def json_option(function: F) -> F:
    """The ``--json`` option that every command has, as argument ``as_json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(function)


def print_json(result: object) -> None:
    """Print a record, or a list or object of records, as indented JSON in UTF-8 with a line feed."""
    import msgspec  # noqa: PLC0415 - only where something is printed

    sys.stdout.flush()
    text = msgspec.json.format(msgspec.json.encode(result), indent=2).decode()
    sys.stdout.write(text + "\n")


def print_table(names: Sequence[str], rows: Sequence[Sequence[object]], *, right: Sequence[str] = ()) -> None:
    """Print a table: ruled on a terminal, else columns parted by tabs, so that `cut` and `sort` can read it.

    ``right`` names the columns of figures. Colour only on a terminal, and not when NO_COLOR is set.
    """
    if not sys.stdout.isatty():
        for row in (names, *rows):
            sys.stdout.write("\t".join(_one_line(cell) for cell in row) + "\n")
        return
    from rich.box import SIMPLE  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415 - only on a terminal
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(header_style="bold", box=SIMPLE)
    for name in names:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        # Text, for brackets in an id are no markup.
        table.add_row(*(Text(_one_line(cell)) for cell in row))
    Console().print(table)


def say(text: str) -> None:
    """Print a remark on stderr, out of the result's way."""
    click.echo(text, err=True)


def _one_line(cell: object) -> str:
    return " ".join(str(cell).split())
