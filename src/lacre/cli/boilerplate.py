"""``lacre boilerplate``: find phrases that exams share, approve them, list them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import click

from lacre.cli.output import example, json_option, print_json, print_table, say

SHOWN = 40  # phrases on a terminal; a pipe and --json get them all


@click.group(epilog=example("lacre boilerplate list"))
def boilerplate() -> None:
    """Phrases that are exam language, not content: propose, approve, list.

    An approved phrase no longer counts as an item's own words. That many texts hold it never excuses a match:
    a person approves each phrase, and answers for it.
    """


@boilerplate.command(epilog=example("lacre boilerplate propose items.csv --items 2 --words 4"))
@click.argument("items", type=click.Path(path_type=Path))
@click.option(
    "--items", "least_items", type=click.IntRange(2), default=6, show_default=True, metavar="N",
    help="How many items must share a phrase.",
)  # fmt: skip
@click.option(
    "--words", "least_words", type=click.IntRange(3), default=8, show_default=True, metavar="N",
    help="How many words a phrase has at least.",
)  # fmt: skip
@click.option(
    "--map", "mapping", multiple=True, metavar="FIELD=COLUMN,...",
    help="Names of the columns of a plain items file, such as stem=question; join with +.",
)  # fmt: skip
@json_option
def propose(
    *, items: Path, least_items: int, least_words: int, mapping: tuple[str, ...], as_json: bool
) -> None:
    """List the runs of words that many of ITEMS share, the most shared first. Nothing is approved by it.

    Runs of more than 40 words are sources that several items quote, not phrases; they are counted only.
    Phrases that are approved already are left out.
    """
    import sys  # noqa: PLC0415

    from lacre.registry.boilerplate import is_known  # noqa: PLC0415 - keeps --help fast
    from lacre.registry.intake import candidates, parse_mapping  # noqa: PLC0415
    from lacre.vetting.shared import propose as proposed  # noqa: PLC0415

    found = proposed(
        candidates(items, parse_mapping(mapping)).items, least_words=least_words, least_items=least_items
    )
    known = _approved()
    phrases = [phrase for phrase in found.phrases if not is_known(known, phrase.text)]
    if as_json:
        print_json({"phrases": [phrase._asdict() for phrase in phrases], "sources": found.sources})
        return
    shown = phrases[:SHOWN] if sys.stdout.isatty() else phrases
    rows = [(p.items, p.words, p.text, ", ".join(p.examples)) for p in shown]
    print_table(("items", "words", "phrase", "for example in"), rows, right=("items", "words"))
    sys.stdout.flush()
    if len(shown) < len(phrases):
        say(f"... and {len(phrases) - len(shown):,} more; a pipe or --json gives them all.")
    say(
        f"{len(phrases):,} phrases shared by {least_items} items or more; {found.sources:,} longer runs are "
        'sources that items quote. Approve one with `lacre boilerplate approve "..." --who ... --why ...`.'
    )


@boilerplate.command(
    epilog=example(
        'lacre boilerplate approve "Assinale a alternativa correta." \\\n'
        '    --who "Review board" --why "Every exam asks so"'
    )
)
@click.argument("phrase")
@click.option("--who", required=True, metavar="NAME", help="Who answers for it.")
@click.option("--why", required=True, metavar="TEXT", help="Why it is exam language, not content.")
@click.option("--when", metavar="DATE", help="When it was approved, as 2026-03-31; today when not given.")
@json_option
def approve(phrase: str, who: str, why: str, when: str | None, as_json: bool) -> None:
    """Approve PHRASE: its words no longer count as an item's own, in this workspace."""
    from lacre.registry.boilerplate import Phrase, approve  # noqa: PLC0415 - keeps --help fast
    from lacre.registry.workspace import Workspace  # noqa: PLC0415

    path = Workspace.find(Path.cwd()).boilerplate
    new = approve(path, Phrase(text=phrase, who=who, why=why, when=when or date.today().isoformat()))
    if as_json:
        print_json({"file": str(path), "phrase": phrase, "new": new})
        return
    click.echo(f"{path}: {'approved' if new else 'approved already'}: {phrase}")


@boilerplate.command("list", epilog=example("lacre boilerplate list"))
@json_option
def list_(as_json: bool) -> None:
    """List the approved phrases: who answers for each, since when, and why."""
    from lacre.registry.boilerplate import read_phrases  # noqa: PLC0415 - keeps --help fast
    from lacre.registry.workspace import Workspace  # noqa: PLC0415

    phrases = read_phrases(Workspace.find(Path.cwd()).boilerplate)
    if as_json:
        print_json({"phrases": phrases})
        return
    print_table(("phrase", "who", "when", "why"), [(p.text, p.who, p.when, p.why) for p in phrases])
    if not phrases:
        say("No phrase is approved yet.")


def _approved() -> tuple[str, ...]:
    """The approved phrases of the workspace we are in, if we are in one."""
    from lacre.registry.boilerplate import read_phrases  # noqa: PLC0415
    from lacre.registry.workspace import Workspace  # noqa: PLC0415

    workspace = Workspace.search(Path.cwd())
    return tuple(phrase.text for phrase in read_phrases(workspace.boilerplate)) if workspace else ()
