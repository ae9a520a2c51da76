"""``lacre init``: make a workspace."""

from __future__ import annotations

from pathlib import Path

import click

from lacre.cli.output import example, json_option, print_json


@click.command(epilog=example("lacre init my-benchmarks --benchmark history"))
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--benchmark", metavar="NAME", help="Make this benchmark in it too, with a first matrix to edit."
)
@json_option
def init(folder: Path, benchmark: str | None, as_json: bool) -> None:
    """Make a workspace in FOLDER: the registry with the shared rules, cards of columns and messages, ready for items.

    Prints the files it made. A registry that is there already is never touched.
    """
    from lacre.engine.messages import default_templates  # noqa: PLC0415 - keeps --help fast
    from lacre.registry.workspace import create_workspace  # noqa: PLC0415

    templates = {f"templates/{name}": text for name, text in default_templates().items()}
    made = create_workspace(folder, benchmark, more=templates)
    if as_json:
        print_json({"workspace": str(folder), "files": [path.as_posix() for path in made]})
        return
    for path in made:
        click.echo(folder / path)
