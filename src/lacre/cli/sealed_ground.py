"""What the commands on sealed runs stand on: workspace, rounds and vault, brought together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import click

from lacre.cli.holding import IDENTITY, opened, signing_key
from lacre.cli.round_ground import Ground as Place
from lacre.errors import InputError

if TYPE_CHECKING:
    from lacre.registry.ledger import Ledger, Signer
    from lacre.registry.sealed_runs import SealedRun
    from lacre.rotation.public import Public
    from lacre.sealed.ground import Ground
    from lacre.sealed.protection import Shield
    from lacre.sealed.starting import UnderWay
    from lacre.sealing.vault import Vault

F = TypeVar("F", bound=Callable[..., Any])

VAULT = click.option(
    "--vault", type=click.Path(path_type=Path), metavar="DIR", help="Of a sealed run: the vault."
)
KEY = click.option(
    "--key", "key_file", type=click.Path(path_type=Path), metavar="FILE",
    help="Of a sealed run: the key that signs its lines in the ledger.",
)  # fmt: skip
ALLOW_SWAP = click.option(
    "--allow-swap", is_flag=True, help="Work on private text though memory may be written to disk."
)


UNDECIDED = click.option(
    "--undecided", type=click.Choice(["wrong", "failure"]),
    help="Of a sealed run: what an answer counts as that the rule cannot read, for want of judges.",
)  # fmt: skip


class Means(NamedTuple):
    """What a sealed run is worked with: the options of :func:`sealed_options`."""

    folder: Path
    identity: Path | None
    key_file: Path
    allow_swap: bool
    undecided: Literal["wrong", "failure"] | None


def sealed_options(function: F) -> F:
    """The options of a sealed run, which only it takes."""
    for option in (ALLOW_SWAP, UNDECIDED, KEY, IDENTITY, VAULT):
        function = option(function)
    return function


def means_of(
    *,
    vault: Path | None,
    identity: Path | None,
    key_file: Path | None,
    allow_swap: bool,
    undecided: Literal["wrong", "failure"] | None,
) -> Means:
    """The options of a sealed run, all that it needs among them.

    Raises:
        InputError: the vault or the key is not given.
    """
    if vault is None:
        raise InputError(
            "--vault", "is not given", "A sealed run takes its items from there, and keeps replies there"
        )
    if key_file is None:
        raise InputError("--key", "is not given", "A sealed run signs what it writes into the ledger")
    return Means(vault, identity, key_file, allow_swap, undecided)


def refuse_sealed(**means: object) -> None:
    """Refuse options of sealed runs where the run is none.

    Raises:
        InputError: one is given.
    """
    if given := [name for name, value in means.items() if value]:
        option = "--" + given[0].removesuffix("_file").replace("_", "-")
        raise InputError(
            option, "is for sealed runs", "Say --sealed at the start and --vault later, or leave it out"
        )


def refuse_open(**options: object) -> None:
    """Refuse options of open runs where the run is sealed: they would choose items, or show or write their text.

    Raises:
        InputError: one is given.
    """
    if given := [name for name, value in options.items() if value]:
        option = "--" + given[0].replace("_", "-")
        raise InputError(option, "is not for sealed runs", "Every private item is asked, and none is shown")


def refuse_sealed_name(folder: Path, todo: str) -> None:
    """Refuse the name of a sealed run where the folder of an open one is asked for.

    Args:
        todo: what to do with a sealed run instead; ``{}`` stands for its name.

    Raises:
        InputError: there is no such folder, and the ledger of the workspace knows a sealed run of this name.
    """
    from lacre.cli.holding import ledger_of  # noqa: PLC0415 - keeps --help fast
    from lacre.registry.ledger import read  # noqa: PLC0415
    from lacre.registry.sealed_runs import sealed_runs  # noqa: PLC0415
    from lacre.registry.workspace import Workspace  # noqa: PLC0415

    workspace = Workspace.search(Path.cwd())
    if folder.exists() or workspace is None:
        return
    ledger = read(ledger_of(workspace))
    if any(str(folder) in sealed_runs(ledger, name) for name in workspace.benchmarks()):
        raise InputError(f"run '{folder}'", "is a sealed run", todo.format(folder))


@contextmanager
def standing(place: Place, shield: Shield, means: Means) -> Iterator[tuple[Vault, Ground]]:
    """The vault, open, and the ground of sealed runs; logs of runs that ended are gone."""
    from lacre.sealed.ending import tidy  # noqa: PLC0415 - keeps --help fast
    from lacre.sealed.protection import refuse_swap  # noqa: PLC0415
    from lacre.sealing.seen import refuse_older  # noqa: PLC0415

    refuse_swap(allowed=means.allow_swap)
    signer = signing_key(means.key_file)
    with opened(means.folder, means.identity, place.workspace) as vault:
        shield.key = bytes.fromhex(vault.index.secret)
        ground = _ground(place, signer)
        # First of all: a ledger without a run's end, or without the run, would have its log kept, or asked anew.
        refuse_older(vault.index.ledger, ground.ledger().content, ground.ledger_path)
        tidy(vault, ground.runs())
        yield vault, ground


def under_way(vault: Vault, ground: Ground, name: str) -> UnderWay:
    """A run that began and did not end.

    Raises:
        InputError: there is none of this name, or it ended.
    """
    from lacre.sealed.starting import UnderWay, kept_run  # noqa: PLC0415 - keeps --help fast

    run = ground.runs().get(name)
    if run is None:
        raise InputError(f"run '{name}'", "is no sealed run of this benchmark", "See `lacre run sealed`")
    if run.ends:
        raise InputError(f"run '{name}'", f"is over: it was {run.standing}", "Wait for the next round")
    return UnderWay(vault, ground, kept_run(vault, name), run)


def run_named(name: str) -> tuple[Place, SealedRun]:
    """The benchmark and the run of a name, from the ledger of the workspace that we are in.

    Raises:
        InputError: there is none.
    """
    from lacre.cli.holding import ledger_of  # noqa: PLC0415 - keeps --help fast
    from lacre.registry.ledger import read  # noqa: PLC0415
    from lacre.registry.sealed_runs import sealed_runs  # noqa: PLC0415
    from lacre.registry.workspace import Workspace  # noqa: PLC0415

    workspace = Workspace.find(Path.cwd())
    ledger: Ledger = read(ledger_of(workspace))
    for benchmark in workspace.benchmarks():
        if (run := sealed_runs(ledger, benchmark).get(name)) is not None:
            return Place(workspace, workspace.benchmark(benchmark)), run
    raise InputError(f"run '{name}'", "is no sealed run of this workspace", "See `lacre run sealed`")


def _ground(place: Place, signer: Signer) -> Ground:
    from lacre.sealed.ground import Ground  # noqa: PLC0415 - keeps --help fast

    public = place.public()
    return Ground(
        root=place.root,
        benchmark=place.name,
        round=public.history.next_round,
        rules=place.rules,
        rows=public.private,
        bound=_bound(place, public),
        signer=signer,
    )


def _bound(place: Place, public: Public) -> frozenset[str]:
    """Items that may open at the next closing whatever the draw says.

    These are the old ones, those that share a passage, those that a freeze already forces, and those that the round's
    runs could show too often: one run of each card is reckoned with, a bad card's too, for it may be mended in time.
    """
    from lacre.cli.column import latest_day  # noqa: PLC0415 - keeps --help fast
    from lacre.registry.columns import usable_columns  # noqa: PLC0415
    from lacre.rotation.closing import pending  # noqa: PLC0415
    from lacre.rotation.exposure import showings  # noqa: PLC0415

    rules, known = place.rules.rounds, public.history
    columns = usable_columns(place.workspace.registry / "columns.toml", latest=latest_day())
    cards = len(columns.columns) + len({fault.line for fault in columns.bad})
    shown = showings(known)
    forced = set[str]()
    if known.pending is not None:
        forced = {item.id for item in pending(public).frozen.items if item.must is not None}
    return frozenset(
        row.id
        for row in public.private
        if row.id in forced
        or row.group is not None
        or known.age(row.batch) >= rules.age_cap
        or (rules.exposure_cap and len(shown.get(row.id, {})) + cards > rules.exposure_cap)
    )
