"""``lacre classify``: read answers by rule, and audit the letters that the rule reads."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lacre.cli.classify_audit import audit
from lacre.cli.classify_files import read_answers, reading
from lacre.cli.output import example, json_option, print_json, print_table, say
from lacre.errors import Exit, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from msgspec import Struct

    from lacre.engine.classified import ClassifiedAnswer, Tally

F = TypeVar("F", bound=Callable[..., Any])

_FILE = "file"


class _FileOrCommand(click.Group):
    """A group whose first argument may also be a file: ``lacre classify answers.jsonl``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give what names no command to the command for files."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [_FILE, *args]
        return super().parse_args(ctx, args)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The two ways to call it."""
        formatter.write_usage(ctx.command_path, "[OPTIONS] FILE")
        formatter.write_usage(ctx.command_path, "audit COMMAND ...")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options for files, then the commands."""
        self.commands[_FILE].format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


@click.group(
    cls=_FileOrCommand,
    epilog=example(
        "lacre classify replies.csv --items items.csv",
        "lacre classify replies.csv --items items.csv --out classified.jsonl",
        "lacre classify replies.csv --items items.csv --answers answers.jsonl --undecided E",
    ),
)
def classify() -> None:
    """Read each answer of FILE by rule: its letter, refusal or abstention, or why the rule cannot tell.

    FILE is JSONL, JSON, CSV, TSV or Parquet with columns item and answer (the text), and perhaps column,
    repetition, finish, options, key and expects. The rule abstains rather than guesses: what it leaves goes to
    the judges, with the reason. --out writes what it read as one record an answer, without the text, in the shape of
    a run's classified.jsonl; --answers writes what `lacre score` reads, once nothing is left or with --undecided.

    Exit code: 0 when the rule decided all, 1 when it left some, 2 for bad input.
    """


@classify.command(_FILE, hidden=True, epilog=example("lacre classify replies.csv --letters ABC"))
@click.argument("file", type=click.Path(path_type=Path))
@reading
@click.option(
    "--number", type=click.IntRange(1), metavar="N",
    help="The item's number in the message, where the message shows numbered examples before it.",
)  # fmt: skip
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write the records here."
)
@click.option(
    "--answers",
    "scores",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write what `lacre score` reads here.",
)
@click.option(
    "--undecided",
    type=click.Choice(["E", "F"]),
    help="Class, in --answers, of what the rule leaves, for want of judges.",
)
@json_option
def file_(
    *,
    file: Path,
    mapping: tuple[str, ...],
    items: Path | None,
    letters: str | None,
    number: int | None,
    out: Path | None,
    scores: Path | None,
    undecided: str | None,
    as_json: bool,
) -> int:
    """Read each answer of FILE by rule; `lacre classify --help` says more."""
    from lacre.engine.classified import classify_answers, rows, tallies  # noqa: PLC0415 - keeps --help fast

    if file.is_dir():
        raise InputError(file, "is a folder", "`lacre run answers` reads a run; name a file of answers")
    for place in (out, scores):
        _check_out(place, file)
    if out is not None and scores is not None and out.resolve() == scores.resolve():
        raise InputError(out, "is named by --out and by --answers", "Name two files")
    if undecided is not None and scores is None:
        raise InputError("--undecided", "is of --answers, which is not given", "Give --answers too")
    found = classify_answers(read_answers(file, mapping, items, letters), number=number)
    if out is not None:
        _write(out, rows(found))
    said = None if scores is None else _write_scores(scores, found, undecided)
    counts = tallies(found)
    if as_json:
        print_json({"columns": counts, "answers": found})
    else:
        _print_tallies(counts)
        _print_left(found, counts)
        if out is not None:
            say(f"{out}: {len(found):,} records.")
        if said is not None:
            say(said)
    return int(Exit.FINDING if any(each.undecided for each in found) else Exit.CLEAN)


def _write(path: Path, records: Sequence[Struct]) -> None:
    """Write records, whole or not at all."""
    from lacre import jsonl  # noqa: PLC0415 - keeps --help fast

    try:
        jsonl.write(path, records, composed=False)
    except OSError as error:
        raise InputError(path, f"cannot be written ({error.strerror})", "Name another place") from None


def _write_scores(path: Path, found: Sequence[ClassifiedAnswer], undecided: str | None) -> str:
    """Write what scoring reads, and say so; nothing while the rule leaves answers that have no class."""
    from lacre.engine.classified import scorable  # noqa: PLC0415 - keeps --help fast
    from lacre.scoring.outcomes import Outcome  # noqa: PLC0415

    left = sum(each.undecided is not None for each in found)
    if left and undecided is None:
        many = "1 answer is" if left == 1 else f"{left:,} answers are"
        return f"{path}: not written, for {many} left; --undecided says as what to count."
    answers = scorable(found, left=None if undecided is None else Outcome.of(undecided))
    _write(path, answers)
    return f"{path}: {len(answers):,} answers."


def _check_out(out: Path | None, file: Path) -> None:
    """Refuse a place for the records before anything is read."""
    if out is None:
        return
    if out.resolve() == file.resolve():
        raise InputError(out, "is the file of answers itself", "Name another file")
    if out.is_dir():
        raise InputError(out, "is a folder", "Name a file")


def _print_tallies(counts: Sequence[Tally]) -> None:
    from lacre.cli.answers import percent  # noqa: PLC0415 - keeps --help fast

    heads = ("column", "answers", "letters", "C", "E", "A", "R", "F", "left", "left to the judges")
    print_table(
        heads,
        [
            (
                each.column,
                each.answers,
                each.letters,
                *each.outcomes.values(),
                each.undecided,
                percent(each.left),
            )
            for each in counts
        ],
        right=heads[1:],
        whole=("column",),
    )


def _print_left(found: Sequence[ClassifiedAnswer], counts: Sequence[Tally]) -> None:
    sys.stdout.flush()
    why: dict[str, int] = {}
    for each in counts:
        for reason, count in each.why.items():
            why[reason] = why.get(reason, 0) + count
    for reason, count in sorted(why.items(), key=lambda pair: (-pair[1], pair[0])):
        say(f"{count:,} left: {reason}.")
    if unkeyed := sum(each.letter is not None and each.outcome is None for each in found):
        say(f"{unkeyed:,} letters stand without C or E, for no key is known.")


classify.add_command(audit)
