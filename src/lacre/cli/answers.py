"""What ``lacre score`` and ``lacre compare`` share: the options that say how answers are read, and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lacre.cli.output import say
from lacre.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lacre.scoring.estimates import Measured
    from lacre.scoring.outcomes import Answer

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path)),
    click.option(
        "--map", "mapping", multiple=True, metavar="FIELD=COLUMN,...",
        help="Names of the file's columns, such as item=id,answer=pred,key=gold.",
    ),
    click.option(
        "--only", "only", multiple=True, metavar="COLUMN", help="Only this column; again for more of them."
    ),
    click.option(
        "--unlettered", type=click.Choice(["E", "A", "R", "F"]), default="E", show_default=True,
        help="Class of an answer that is beside a key and names no option.",
    ),
    click.option(
        "--threshold", type=float, metavar="SCORE",
        help="Score from which an open-ended answer is C, else E; scores have no class without it.",
    ),
    click.option("--level", type=float, default=0.95, show_default=True, help="Level of the intervals."),
    click.option(
        "--draws", type=click.IntRange(100), default=10_000, show_default=True, help="Resamples of items."
    ),
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the resamples."),
)  # fmt: skip


def reading_options(function: F) -> F:
    """The files and options that both commands have."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def read(
    files: Sequence[Path],
    mapping: Sequence[str],
    only: Sequence[str],
    *,
    unlettered: str,
    threshold: float | None,
    keep: Sequence[str] = (),
) -> tuple[Answer, ...]:
    """The answers of the files, with remarks on stderr."""
    from lacre.registry.answers import parse_answer_mapping, read_answers  # noqa: PLC0415 - keeps --help fast
    from lacre.scoring.outcomes import Outcome, classed  # noqa: PLC0415

    outcome = Outcome.of(unlettered)
    assert outcome is not None
    found = read_answers(files, parse_answer_mapping(mapping), keep=keep, unlettered=outcome)
    for remark in found.remarks():
        say(f"{remark}.")
    answers = found.answers
    if only:
        known = sorted({answer.column for answer in answers})
        if unknown := [column for column in only if column not in known]:
            raise InputError("--only", f"no column {', '.join(unknown)}", f"There are: {', '.join(known)}")
        answers = tuple(answer for answer in answers if answer.column in only)
    return answers if threshold is None else classed(answers, threshold)


def write_figure(path: Path, draw: Callable[[], bytes]) -> None:
    """Write a figure, whole or not at all, and say where it is."""
    from lacre import jsonl  # noqa: PLC0415 - keeps --help fast

    if path.suffix.lower() != ".svg":
        raise InputError(path, "is no name for an SVG", "Give --plot a name that ends in .svg")
    try:
        jsonl.write_bytes(path, draw())
    except OSError as error:
        raise InputError(path, f"cannot be written ({error.strerror})", "Name another place") from None
    say(f"{path}: written.")


def check_figure(path: Path | None) -> None:
    """Refuse a place for a figure before anything is computed."""
    if path is None:
        return
    if path.suffix.lower() != ".svg":
        raise InputError(path, "is no name for an SVG", "Give --plot a name that ends in .svg")
    if path.is_dir():
        raise InputError(path, "is a folder", "Name a file that ends in .svg")
    if not path.parent.is_dir():
        raise InputError(path, f"there is no folder {path.parent}", "Make it, or name another place")


def percent(measured: Measured) -> str:
    """A rate as a table shows it: ``71.5% [64.9, 77.3]``; one-sided bounds as ``0.0% [≤ 1.5]``.

    >>> from lacre.scoring.intervals import proportion
    >>> percent(proportion(3, 4))
    '75.0% [30.1, 95.4]'
    """
    return _shown(measured, 100, 1, "%")


def plain(measured: Measured, *, places: int = 3) -> str:
    """A number as a table shows it: ``0.228 [0.101, 0.355]``.

    >>> from lacre.scoring.estimates import Undefined
    >>> plain(Undefined(reason="no answer was attempted"))
    'undefined: no answer was attempted'
    """
    return _shown(measured, 1, places, "")


def _shown(measured: Measured, scale: int, places: int, unit: str) -> str:
    from lacre.scoring.estimates import Undefined  # noqa: PLC0415 - keeps --help fast

    if isinstance(measured, Undefined):
        return str(measured)
    text = f"{scale * measured.value:.{places}f}{unit}"
    interval = measured.interval
    if isinstance(interval, Undefined):
        return f"{text} [no interval: {interval.reason}]"
    if interval.one_sided:
        return f"{text} [≤ {scale * interval.hi:.{places}f}]"
    return f"{text} [{scale * interval.lo:.{places}f}, {scale * interval.hi:.{places}f}]"


def listed(counts: Mapping[str, int]) -> str:
    """Counts with their names, for a remark.

    >>> listed({"a": 2, "b": 1})
    'a 2, b 1'
    """
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())
