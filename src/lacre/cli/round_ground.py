"""What every command of ``lacre round`` stands on: the workspace, its benchmark, the vault, the key, the time."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from lacre.errors import InputError

if TYPE_CHECKING:
    from lacre.registry.items import Item
    from lacre.registry.matrix import Matrix
    from lacre.registry.rules import Benchmark, Rules
    from lacre.registry.workspace import Workspace
    from lacre.rotation.public import Public

BENCHMARK = click.option(
    "--benchmark", metavar="NAME", help="Which one, where the workspace has more than one."
)
KEY = click.option(
    "--key", "key_file", required=True, type=click.Path(path_type=Path), metavar="FILE",
    help="The key that signs, as `lacre key new` made it.",
)  # fmt: skip
VAULT = click.option(
    "--vault", "folder", required=True, type=click.Path(path_type=Path), metavar="DIR",
    help="The vault with the private items.",
)  # fmt: skip


class Ground(NamedTuple):
    """The workspace we are in, and the benchmark asked for."""

    workspace: Workspace
    benchmark: Benchmark

    @property
    def root(self) -> Path:
        """The folder of the workspace."""
        return self.workspace.root

    @property
    def name(self) -> str:
        """The benchmark's name."""
        return self.benchmark.name

    @property
    def rules(self) -> Rules:
        """The rules that hold for it."""
        return self.benchmark.rules

    @property
    def required(self) -> tuple[str, ...]:
        """Ids of the corpora that its items must be kept against."""
        return self.workspace.required_corpora(self.name)

    def matrix(self) -> Matrix:
        """Its matrix."""
        return self.workspace.matrix(self.name)

    def public(self) -> Public:
        """Its public files, as they are now."""
        from lacre.rotation.public import read_public  # noqa: PLC0415 - keeps --help fast

        return read_public(self.workspace.registry, self.name)

    def folder(self, number: int) -> Path:
        """The folder of a closing, as seen from here where it is below."""
        from lacre.rotation.records import round_folder  # noqa: PLC0415 - keeps --help fast

        folder = round_folder(self.workspace.registry, self.name, number)
        return folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder


def ground_of(benchmark: str | None) -> Ground:
    """The workspace we are in, with the benchmark named, or its only one.

    Raises:
        InputError: we are in no workspace, or it has several benchmarks and none was named.
    """
    from lacre.registry.workspace import Workspace  # noqa: PLC0415 - keeps --help fast

    workspace = Workspace.find(Path.cwd())
    names = workspace.benchmarks()
    if benchmark is None and len(names) != 1:
        what = f"has {len(names)} benchmarks" if names else "has no benchmark yet"
        todo = f"Say --benchmark: {', '.join(names)}" if names else "Write registry/NAME/benchmark.toml"
        raise InputError(workspace.registry, what, todo)
    return Ground(workspace, workspace.benchmark(benchmark if benchmark is not None else names[0]))


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


def moment_of(text: str, option: str = "--due") -> datetime:
    """The time that a person wrote after an option, with its zone.

    Raises:
        InputError: it is none, or says no zone.
    """
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"{option} {text}", "is no time", "Write it as 2027-01-16T19:00-03:00") from None
    if when.tzinfo is None:
        raise InputError(f"{option} {text}", "says no time zone", "End it with Z or -03:00")
    return when


def one_item(path: Path, ground: Ground, old: str, maps: tuple[str, ...], key_index: str | None) -> Item:
    """The one private item of a file outside the workspace, checked against its layer's rules.

    The file is what ``lacre vault add`` takes; a plain row that names no cell has that of the item ``old``.

    Raises:
        InputError: the file holds another number of items.
        RecordError: the item breaks the rules.
    """
    import msgspec  # noqa: PLC0415 - keeps --help fast

    from lacre.registry.intake import Origin, import_items, parse_mapping  # noqa: PLC0415
    from lacre.registry.items import Source  # noqa: PLC0415

    if ground.workspace.holds(path):
        raise InputError(path, "private text may not be in the workspace", "Move it out")
    around = msgspec.structs.replace(ground.workspace.surroundings(ground.name), layer="private")
    origin = Origin(
        benchmark=ground.name,
        layer="private",
        source=Source(),
        cell=next((row.cell for row in ground.public().rows if row.id == old), {}),
        axes=tuple(around.matrix.axes) if around.matrix else (),
    )
    brought = import_items(
        path, origin, around, parse_mapping(maps), key_index=int(key_index) if key_index else None
    )
    if len(brought.items) != 1:
        raise InputError(path, f"holds {len(brought.items)} items", "Give one item, the corrected one")
    return brought.items[0]
