"""Options that several commands have, each written once, and what is asked of options as such."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

F = TypeVar("F", bound=Callable[..., Any])


def together(options: Iterable[Callable[[F], F]]) -> Callable[[F], F]:
    """One decorator for several options, which the help lists in their order."""
    several = list(options)

    def decorate(function: F) -> F:
        for option in reversed(several):
            function = option(function)
        return function

    return decorate


def plot_option(function: F) -> F:
    """The ``--plot`` option, as argument ``plot``."""
    what = "Write a figure there as well."
    return click.option("--plot", type=click.Path(path_type=Path), metavar="FILE.svg", help=what)(function)


def given(option: str) -> bool:
    """Whether the command that runs was given an option, by the name of its argument, be it with its default."""
    return click.get_current_context().get_parameter_source(option) is not ParameterSource.DEFAULT
