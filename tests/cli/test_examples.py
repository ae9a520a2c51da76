"""Every command's help ends with an example that works."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tests.cli.guard_stage import prepare_guard
from tests.cli.held_stage import prepare_held
from tests.cli.release_stage import prepare_release
from tests.cli.round_stage import prepare
from tests.cli.sealed_stage import prepare_sealed
from tests.engine.server import Server

from lacre.cli import command, run
from lacre.errors import Exit


def commands(group: click.Command, names: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield names
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            below = group.get_command(context, name)
            assert below is not None
            yield from commands(below, (*names, name))


NAMES = list(commands(command))
ALL = [pytest.param(names, id=" ".join(("lacre", *names))) for names in NAMES]
# A group prints nothing but its help.
LEAVES = [
    pytest.param(names, id=" ".join(("lacre", *names)))
    for names in NAMES
    if not any(other[: len(names)] == names for other in NAMES if other != names)
]


def examples(names: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert run([*names, "--help"]) == Exit.CLEAN
    _, _, end = capsys.readouterr().out.partition("Example:")
    return [line.strip() for line in end.replace("\\\n", "").splitlines() if line.strip()]


@pytest.mark.parametrize("names", ALL)
def test_the_help_ends_with_examples_that_work(
    names: tuple[str, ...],
    workspace: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    column_server: Server,
) -> None:
    found = examples(names, capsys)
    prepare(names, workspace)
    prepare_held(names, workspace, monkeypatch)
    prepare_sealed(names, workspace, column_server.endpoint("openai"))
    prepare_release(names, workspace)
    prepare_guard(names, workspace)
    assert found, "the help ends without an Example: block"
    for line in found:
        program, *arguments = shlex.split(line)
        assert program == "lacre"
        # A finding is a result too; bad input, or anything worse, is not what an example shows.
        assert run(arguments) in (Exit.CLEAN, Exit.FINDING), capsys.readouterr().err


@pytest.mark.parametrize("names", LEAVES)
def test_every_command_has_json(names: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*names, "--help"]) == Exit.CLEAN
    assert "--json" in capsys.readouterr().out
