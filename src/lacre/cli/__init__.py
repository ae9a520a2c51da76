"""The command line: one module per noun, loaded when it is called. :func:`main` is the error boundary."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import click
from click.shell_completion import shell_complete

from lacre import __version__
from lacre.cli.output import escaped, example, say
from lacre.errors import Exit, LacreError, remedy

NOUNS = {
    "agreement": "lacre.cli.agreement:agreement",
    "boilerplate": "lacre.cli.boilerplate:boilerplate",
    "canary": "lacre.cli.canary:canary",
    "classify": "lacre.cli.classify:classify",
    "column": "lacre.cli.column:column",
    "compare": "lacre.cli.compare:compare",
    "corpus": "lacre.cli.corpus:corpus",
    "duplicates": "lacre.cli.duplicates:duplicates",
    "exposure": "lacre.cli.exposure:exposure",
    "index": "lacre.cli.index:index",
    "guard": "lacre.cli.guard:guard",
    "init": "lacre.cli.init:init",
    "items": "lacre.cli.items:items",
    "key": "lacre.cli.key:key",
    "ledger": "lacre.cli.ledger:ledger",
    "power": "lacre.cli.power:power",
    "probe": "lacre.cli.probe:probe",
    "release": "lacre.cli.release:release",
    "round": "lacre.cli.round:round",
    "run": "lacre.cli.runs:run",
    "sample-size": "lacre.cli.sample_size:sample_size",
    "score": "lacre.cli.score:score",
    "vault": "lacre.cli.vault:vault",
    "vet": "lacre.cli.vet:vet",
    "waive": "lacre.cli.waive:waive",
}
"""Nouns, and where each command lives. Their modules import what is heavy inside the command."""

_COMPLETE = "_LACRE_COMPLETE"  # set by the shell: `eval "$(_LACRE_COMPLETE=bash_source lacre)"`
_PIPE_CLOSED = 141  # 128 + SIGPIPE, as shells report it


class LazyGroup(click.Group):
    """A group whose commands are imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click gives it
        """The nouns, sorted."""
        return sorted(NOUNS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        """The command of a noun, none when there is no such noun."""
        if cmd_name not in NOUNS:
            return None
        module, _, name = NOUNS[cmd_name].partition(":")
        command = getattr(import_module(module), name)
        assert isinstance(command, click.Command)
        return command


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=example("lacre items check"),
)
@click.version_option(__version__, prog_name="lacre")
def command() -> None:
    """Keep a benchmark honest: vet its items against public text before they count.

    \b
    Exit codes: 0 clean, 1 finding, 2 bad input, 3 integrity, 4 column or network,
    5 incomplete, 130 interrupted.
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit. The only place that catches :class:`lacre.errors.LacreError`."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; errors become one clear line each on stderr, which steers no terminal.

    Does what ``click.Command.main`` does, except that a closed pipe does not end with the code of a finding.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character gets its number instead of a broken table.
            stream.reconfigure(errors="backslashreplace")
    if wish := os.environ.get(_COMPLETE):
        return shell_complete(command, {}, "lacre", _COMPLETE, wish)
    try:
        with command.make_context("lacre", words) as context:
            outcome = command.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        click.echo(escaped(shown.getvalue()), nl=False, err=True)
        return error.exit_code
    except LacreError as error:
        for line in str(error).split("\n"):
            say(f"lacre: {line}")
        return int(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        # The line feed ends the terminal's own ^C.
        click.echo("\nlacre: interrupted.", err=True)
        return int(Exit.INTERRUPTED)
    except BrokenPipeError:
        # Whoever read us has gone; the interpreter's own flush at exit must not complain about it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_CLOSED
    except OSError as error:
        # A full disk or a lost device under the result; the flush at exit must not fail over it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        where = error.filename or "the result"
        what = error.strerror or type(error).__name__
        say(f"lacre: {where}: {what}. {remedy(error)}, or write somewhere else.")
        return int(Exit.BAD_INPUT)
    return outcome if isinstance(outcome, int) else int(Exit.CLEAN)
