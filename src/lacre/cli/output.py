"""What commands print: results on stdout as a table or as JSON, and the example that ends each help."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

WIDEST_WHOLE = 24  # characters that a column may insist on


def example(*commands: str) -> str:
    """The end of a command's help; a test runs every command in it. A line may go on after a backslash."""
    return "\b\nExample:\n" + "\n".join(f"  {command}" for command in commands)


def json_option(function: F) -> F:
    """The ``--json`` option that every command has, as argument ``as_json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(function)


_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Control characters but for tab and line feed; marks that turn the direction of writing (Unicode UAX 9) or are not
seen; halves of characters. A terminal obeys them, and shows something else than was written."""


def escaped(text: str) -> str:
    """A text of a column, an item or a file as it may go on a terminal: what would steer it is seen instead.

    Tabs and line feeds stay; an ending of lines with a carriage return becomes one without.

    >>> escaped("C\\x1b[2K\\u202eD"), escaped("a\\r\\nb")
    ('C\\\\x1b[2K\\\\u202eD', 'a\\nb')
    """
    return _STEERING.sub(_number, text.replace("\r\n", "\n"))


def _number(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_number(match: re.Match[str]) -> str:
    """The same character in JSON's own writing."""
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


def print_json(result: object) -> None:
    """Print a record, or a list or object of records, as indented JSON in UTF-8 with a line feed.

    Characters that would steer a terminal are written as JSON's escapes: the value is the same.
    """
    import msgspec  # noqa: PLC0415 - only where something is printed

    sys.stdout.flush()
    text = msgspec.json.format(msgspec.json.encode(result), indent=2).decode()
    sys.stdout.write(_STEERING.sub(_json_number, text) + "\n")


def print_table(
    names: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    right: Sequence[str] = (),
    whole: Sequence[str] = (),
    styles: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Print a table: ruled on a terminal, else columns parted by tabs, so that `cut` and `sort` can read it.

    ``right`` names the columns of figures, ``whole`` those that a narrow terminal folds last; ``styles``
    gives rich's style for cells with just that text. Colour only on a terminal, not when NO_COLOR is set.
    """
    if not sys.stdout.isatty():
        for row in (names, *rows):
            sys.stdout.write("\t".join(_one_line(cell) for cell in row) + "\n")
        return
    from rich.box import SIMPLE  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415 - only on a terminal
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(header_style="bold", box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    for place, name in enumerate(names):
        width = max((len(_one_line(row[place])) for row in rows), default=0) if name in whole else 0
        table.add_column(
            name,
            justify="right" if name in right else "left",
            overflow="fold",
            min_width=min(width, WIDEST_WHOLE),
        )
    for row in rows:
        # Text, for brackets in an id are no markup.
        table.add_row(*(Text(line, styles.get(line, "")) for line in map(_one_line, row)))
    Console().print(table)


def quoted(path: object) -> str:
    """A path or word as a shell takes it, for a command that a message gives.

    >>> quoted("runs/março 2")
    "'runs/março 2'"
    """
    return shlex.quote(str(path))


def say(text: str) -> None:
    """Print a remark on stderr, out of the result's way."""
    click.echo(escaped(text), err=True)


class LiveLine:
    """Progress on stderr: one line that renews itself on a terminal; elsewhere each line stays, below the last."""

    def __init__(self, live: bool) -> None:
        self.live = live
        self.drawn = False

    def show(self, text: str) -> None:
        """Show where the work stands, cut to the width of the terminal."""
        if not self.live:
            say(text)
            return
        width = shutil.get_terminal_size().columns
        sys.stderr.write(f"\r\x1b[K{text[: width - 1]}")
        sys.stderr.flush()
        self.drawn = True

    def close(self) -> None:
        """Clear the live line, so that what follows starts on a clean one."""
        if self.drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self.drawn = False


def _one_line(cell: object) -> str:
    # A file may be called anything: its name must not steer the terminal.
    return "".join(c if c.isprintable() else "\ufffd" for c in " ".join(str(cell).split()))
