"""The canary: one fixed line in every public file, which asks not to train on it and can be searched for (SPEC L9).

The line stands in ``canary/canary.toml`` of a workspace and nowhere in the code: whoever copies the code copies
no canary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from uuid import UUID

import msgspec

from lacre.errors import InputError
from lacre.jsonl import explained, read_bytes, write_bytes
from lacre.registry.records import Record
from lacre.registry.settings import Settings
from lacre.release.canary_places import holds, placed, taken

FILE = Path("canary", "canary.toml")
"""Where a workspace keeps it."""

APART = ("ledger.jsonl", "SHA256SUMS", "*.dsse.json", "*.tsr", "verify.py")
"""Files that cannot hold it, for their bytes are promised elsewhere; the default of ``apart``."""

_TEXT = "CANARY {uuid} {name}: benchmark data, do not train on this; dados de teste, favor nao usar em treino"
# What can stand as it is in JSON, CSV, XML, a comment and a PNG: no character that any of them escapes.
_PLAIN = re.compile(r"[A-Za-z0-9 .,;:()_-]+")


class Canary(Record):
    """The canary of a workspace.

    Attributes:
        text: the line as it is placed, ASCII; it holds ``uuid``, by which it is found.
        minted: when it was made (ISO date); empty where a release is asked, which does not say.
        apart: patterns of file names, without folders, that cannot hold it.
    """

    text: str
    uuid: str
    minted: str
    apart: tuple[str, ...] = APART

    @property
    def file(self) -> str:
        """The name of the file that is nothing but the canary."""
        return f"CANARY-{self.uuid}.txt"

    @property
    def line(self) -> bytes:
        """The canary as a line; the content of :attr:`file`."""
        return self.text.encode() + b"\n"


def mint(uuid: UUID, name: str, minted: str) -> Canary:
    """A new canary for the benchmarks of ``name``. ``uuid``: a random one; ``minted``: an ISO date.

    >>> mint(UUID(int=7), "Exemplo", "2026-01-31").file
    'CANARY-00000000-0000-0000-0000-000000000007.txt'

    Raises:
        InputError: the name has characters that some format would escape.
    """
    canary = Canary(text=_TEXT.format(uuid=uuid, name=name), uuid=str(uuid), minted=minted)
    _refuse(canary, f"name '{name}'")
    return canary


def read_canary(root: Path) -> Canary:
    """The canary of the workspace, or of the release, in ``root``.

    Raises:
        InputError: there is none, or it could not be placed or found as it is.
    """
    path = root / FILE
    if not path.exists():
        released = sorted(root.glob("CANARY-*.txt"))
        if len(released) == 1:
            return _of_release(released[0])
        raise InputError(path, "there is no canary", "Make one with `lacre canary new`")
    try:
        canary = msgspec.convert(Settings(path).values, Canary)
    except msgspec.ValidationError as error:
        raise InputError(path, explained(error, Canary), "Correct it, or restore it from git") from None
    _refuse(canary, path)
    return canary


def _of_release(path: Path) -> Canary:
    """The canary of a release: a file with nothing else."""
    try:
        text = read_bytes(path).decode("ascii").removesuffix("\n")
    except UnicodeDecodeError:
        text = ""
    canary = Canary(text=text, uuid=path.stem.removeprefix("CANARY-"), minted="")
    _refuse(canary, path)
    return canary


def write_canary(root: Path, canary: Canary) -> Path:
    """Write a new canary to the workspace in ``root``, and return where.

    Raises:
        InputError: there is one already. A second one would leave old files without a canary that is looked for.
    """
    path = root / FILE
    if path.exists():
        raise InputError(path, "there is a canary already", "Keep it: one canary, for ever")
    apart = ", ".join(f'"{pattern}"' for pattern in canary.apart)
    write_bytes(
        path, _TOML.format(text=canary.text, uuid=canary.uuid, minted=canary.minted, apart=apart).encode()
    )
    return path


_TOML = """\
# The canary: one fixed line in every public file (L9). Never changed: old releases hold it.
text = "{text}"
uuid = "{uuid}"
minted = "{minted}"
# Files that cannot hold it, for their bytes are promised elsewhere.
apart = [{apart}]
"""


def _refuse(canary: Canary, where: str | Path) -> None:
    todo = "Use letters without accents, digits, spaces and . , ; : ( ) _ -"
    if not _PLAIN.fullmatch(canary.text) or "--" in canary.text or canary.text != canary.text.strip():
        raise InputError(where, "the canary has characters that some format would change", todo)
    try:
        right = str(UUID(canary.uuid)) == canary.uuid
    except ValueError:
        right = False
    if not right or canary.uuid not in canary.text:
        raise InputError(where, "the canary's text does not hold its uuid", "Restore the file from git")


def mark(name: str, content: bytes, canary: Canary) -> bytes:
    """The content of a file of this name with the canary in it.

    A field in each record of JSONL and CSV, in the object (or each object of the list) of JSON; a comment in
    Markdown, HTML, SVG, XML, TOML, YAML and source code; a text chunk in PNG, a comment in JPEG and PDF, metadata
    in Parquet; a last line in plain text. What holds it already stays as it is. Every other byte stays, except
    in Parquet, which is written anew.

    >>> canary = mint(UUID(int=7), "Exemplo", "2026-01-31")
    >>> mark("a.py", b"x = 1\\n", canary).decode().split("CANARY")[0]
    'x = 1\\n# '

    Raises:
        InputError: the format has no place for it, or the content is not of that format.
    """
    return placed(name, content, canary.text)


def strip(name: str, content: bytes, canary: Canary) -> bytes:
    """The content without the canary, as it was before :func:`mark`: what may stand in a prompt.

    >>> canary = mint(UUID(int=7), "Exemplo", "2026-01-31")
    >>> strip("a.jsonl", mark("a.jsonl", b'{"id":"x"}\\n', canary), canary)
    b'{"id":"x"}\\n'

    Raises:
        InputError: it still stands in what is left, where :func:`mark` would not have put it.
    """
    left = taken(name, content, canary.text)
    if canary.uuid.encode() in left:
        raise InputError(name, "holds the canary in a place that is not its own", "Take it out by hand")
    return left


def missing(folder: Path, canary: Canary, apart: Sequence[str] = ()) -> tuple[Path, ...]:
    """The files below ``folder`` without the canary, or with a record without it, relative to it and sorted.

    ``apart``: patterns of file names to leave out, besides the canary's own.

    Raises:
        InputError: a file cannot be read.
    """
    left_out = (*canary.apart, *apart)
    return tuple(
        path.relative_to(folder)
        for path in _files(folder)
        if not any(fnmatchcase(path.name, pattern) for pattern in left_out)
        and not holds(path.name, read_bytes(path), canary.text)
    )


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())
