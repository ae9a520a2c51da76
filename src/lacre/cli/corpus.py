"""``lacre corpus``: what is known about the public corpora that items are checked against."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lacre.cli.output import example, json_option, print_json, print_table, say
from lacre.errors import InputError

if TYPE_CHECKING:
    from lacre.registry.corpora import Corpus
    from lacre.registry.workspace import Workspace

UNKNOWN = "unknown"


@click.group(epilog=example("lacre corpus list"))
def corpus() -> None:
    """List the public corpora of the inventory, and show what is known about one, with its sources."""


@corpus.command(
    "list",
    epilog=example("lacre corpus list --kind pretraining", "lacre corpus list --benchmark exemplo --json"),
)
@click.option(
    "--kind",
    type=click.Choice(["pretraining", "instruction", "retrieval", "news", "evaluation", "example"]),
    help="Only corpora made for this.",
)
@click.option("--benchmark", metavar="NAME", help="Only those that this benchmark requires.")
@json_option
def list_(kind: str | None, benchmark: str | None, as_json: bool) -> None:
    """List the corpora of registry/corpora.jsonl: what for, where, how large, under which licence.

    What nobody knows is called unknown.
    """
    workspace = _workspace()
    found = workspace.corpora()
    if benchmark is not None:
        names = workspace.required_corpora(benchmark)
        found = {name: found[name] for name in names}
    chosen = [corpus for corpus in found.values() if kind in (None, corpus.kind)]
    if as_json:
        print_json({"corpora": chosen})
        return
    print_table(
        ("corpus", "kind", "location", "size", "licence", "gated"),
        [_row(corpus) for corpus in chosen],
        right=("size",),
        whole=("corpus",),
    )
    say(f"{len(chosen)} corpora.")


@corpus.command(epilog=example("lacre corpus show fineweb-2-por-latn-removed"))
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show all that is known about the corpus NAME: each fact with its source, and how sure it is."""
    found = _workspace().corpora()
    if name not in found:
        from difflib import get_close_matches  # noqa: PLC0415

        near = get_close_matches(name, found, 3)
        todo = f"Did you mean {' or '.join(near)}?" if near else "`lacre corpus list` names them all"
        raise InputError(f"corpus '{name}'", "is not in registry/corpora.jsonl", todo)
    one = found[name]
    if as_json:
        print_json(one)
        return
    click.echo(f"{one.id}: {one.kind}, {one.location or 'location unknown'}")
    for label, value in (("subset", one.subset), ("text column", one.column), ("notes", one.notes or None)):
        if value is not None:
            click.echo(f"{label}: {value}")
    print_table(
        ("fact", "value", "confidence", "source", "date"),
        [
            (fact, about.value or UNKNOWN, about.confidence, about.source, about.date or UNKNOWN)
            for fact, about in one.facts.items()
        ],
        whole=("fact",),
    )


def _row(corpus: Corpus) -> tuple[str, ...]:
    from lacre.report.words import size  # noqa: PLC0415 - keeps --help fast

    return (
        corpus.id,
        corpus.kind,
        (corpus.location or UNKNOWN) + (f", {corpus.subset}" if corpus.subset else ""),
        UNKNOWN if corpus.size is None else size(corpus.size)[1].replace("\xa0", " "),
        corpus.licence or UNKNOWN,
        UNKNOWN if corpus.gated is None else "yes" if corpus.gated else "no",
    )


def _workspace() -> Workspace:
    from lacre.registry.workspace import Workspace  # noqa: PLC0415 - keeps --help fast

    return Workspace.find(Path.cwd())
