"""The ground that the commands of `lacre release` stand on: a workspace ready to be released, and two releases."""

from __future__ import annotations

from pathlib import Path

from tests.cli.round_stage import staged
from tests.release.making import ready, release
from tests.rotation.making import Stage


def released(root: Path, closings: int = 1) -> Stage:
    """As :func:`tests.cli.round_stage.staged`, with `releases/first` before the last thing and `releases/second`."""
    play = staged(root, closings)
    ready(root)
    release(play, "first", out=Path("releases"))
    play.freeze()
    release(play, "second", out=Path("releases"))
    return play


def prepare_release(names: tuple[str, ...], root: Path) -> None:
    """What the example of a command needs."""
    if names[:1] == ("release",):
        released(root)
