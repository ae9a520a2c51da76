"""``lacre corpus``: what is known about the public corpora that items are checked against."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import click

from lacre.cli.output import example, json_option, print_json, print_table, say
from lacre.errors import Exit, InputError, LacreError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lacre.registry.corpora import Corpus, Seen
    from lacre.registry.workspace import Workspace

UNKNOWN = "unknown"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
Kind = Literal["pretraining", "instruction", "retrieval", "news", "evaluation", "example"]
KINDS = get_args(Kind)


@click.group(epilog=example("lacre corpus list"))
def corpus() -> None:
    """List the public corpora of the inventory, show what is known about one, add one, look at one again."""


@corpus.command(
    "list",
    epilog=example("lacre corpus list --kind pretraining", "lacre corpus list --benchmark exemplo --json"),
)
@click.option(
    "--kind",
    type=click.Choice(KINDS),
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
    one = _named(_workspace().corpora(), name)
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


@corpus.command(
    epilog=example("lacre corpus add pages corpus --kind example --licence CC0 --source corpus/page.txt")
)
@click.argument("name", metavar="ID")
@click.argument("location")
@click.option("--kind", type=click.Choice(KINDS), default="pretraining", help="What it was made for.")
@click.option("--subset", help="Its part in Portuguese: the folder, or configuration, to read.")
@click.option("--column", help="Its text column; found when not given.")
@click.option("--licence", help="Its licence, where its card does not say it.")
@click.option("--source", help="Where the licence was read.")
@json_option
def add(
    *,
    name: str,
    location: str,
    kind: Kind,
    subset: str | None,
    column: str | None,
    licence: str | None,
    source: str | None,
    as_json: bool,
) -> int:
    """Look at the corpus at LOCATION and write it into registry/corpora.jsonl as ID.

    LOCATION is a path from the workspace's root, or an address: https://, s3://, hf://datasets/OWNER/NAME. What the
    look tells (bytes, columns, gated or not, revision) becomes facts with today's date; only lists and the head of
    one file are read.

    Exit code: 4 when it cannot be reached; nothing is written then.
    """
    from lacre.corpora.remote import refuse_secrets  # noqa: PLC0415 - keeps --help fast
    from lacre.registry.corpora import LICENCE, Corpus, Fact, with_seen, write_corpora  # noqa: PLC0415

    workspace = _workspace()
    known = workspace.corpora()
    if not _ID.fullmatch(name):
        raise InputError(
            f"corpus '{name}'",
            "is no id",
            "Write letters without accents, digits, dots, hyphens and underscores",
        )
    refuse_secrets(location)
    if name in known:
        raise InputError(
            f"corpus '{name}'", "is in the inventory already", f"`lacre corpus check {name}` looks again"
        )
    if (licence is None) != (source is None):
        raise InputError(
            "--licence", "a licence and where it was read go together", "Give --licence and --source"
        )
    today = _today()
    facts = {}
    if licence is not None and source is not None:
        facts[LICENCE] = Fact(source=source, confidence="high", value=licence, date=today)
    new = Corpus(
        id=name, location=location, kind=kind, subset=subset, column=column, licence=licence, facts=facts
    )
    look = _look(new, workspace, column)
    new = with_seen(new, look.seen, source=look.page, date=today)
    write_corpora(workspace.registry / "corpora.jsonl", [new])
    if as_json:
        print_json(new)
    else:
        print_table(LOOKED, [_looked(new, look.seen, "added")], right=("files", "size"), whole=("corpus",))
        say(f"Written to {workspace.registry / 'corpora.jsonl'}.")
    return int(Exit.CLEAN)


@corpus.command(epilog=example("lacre corpus add pages corpus --kind example", "lacre corpus check pages"))
@click.argument("names", nargs=-1, metavar="ID...")
@click.option("--benchmark", metavar="NAME", help="Look at those that this benchmark requires.")
@click.option(
    "--write", is_flag=True, help="Write what is new into registry/corpora.jsonl, with today's date."
)
@json_option
def check(*, names: tuple[str, ...], benchmark: str | None, write: bool, as_json: bool) -> int:
    """Look at corpora where they lie: can they be reached, and are they as the inventory has them?

    At an address a file counts as changed when its server gives it another tag or date; on disk, when its size or its
    columns are others.

    Exit code: 0 when all are as they were, 1 when one is not, 4 when one cannot be reached.
    """
    from lacre.registry.corpora import changes, with_seen, write_corpora  # noqa: PLC0415 - keeps --help fast

    workspace = _workspace()
    known = workspace.corpora()
    chosen = [*names, *(workspace.required_corpora(benchmark) if benchmark is not None else ())]
    if not chosen:
        raise InputError("lacre corpus check", "no corpus is named", "Name some, or say --benchmark NAME")
    rows: list[tuple[str, ...]] = []
    results: list[dict[str, object]] = []
    found: list[Corpus] = []
    code = Exit.CLEAN
    for one in (_named(known, name) for name in dict.fromkeys(chosen)):
        try:
            look = _look(one, workspace)
        except LacreError as error:
            rows.append((one.id, "", "", "", "", "", f"not reached: {_why(error)}"))
            results.append({"corpus": one.id, "state": "not reached", "why": _why(error)})
            code = Exit.COLUMN
            continue
        new = changes(one, look.seen)
        state = f"changed: {', '.join(new)}" if new else "as it was"
        rows.append(_looked(one, look.seen, state))
        results.append({"corpus": one.id, "state": state, "seen": look.seen, "changes": new})
        if new:
            found.append(with_seen(one, look.seen, source=look.page, date=_today()))
            code = max(code, Exit.FINDING)
    if write:
        write_corpora(workspace.registry / "corpora.jsonl", found)
    if as_json:
        print_json({"corpora": results})
    else:
        print_table(LOOKED, rows, right=("files", "size"), whole=("corpus",))
    return int(code)


LOOKED = ("corpus", "files", "size", "columns", "gated", "revision", "state")


class _Look(NamedTuple):
    """What was seen, and the page where a person sees it."""

    seen: Seen
    page: str


def _look(corpus: Corpus, workspace: Workspace, column: str | None = None) -> _Look:
    """Look at a corpus; refuse it when it has no such text column."""
    from lacre.corpora.looking import look_at, page_of  # noqa: PLC0415 - keeps --help fast
    from lacre.corpora.remote import is_address  # noqa: PLC0415
    from lacre.vetting.required import source_of  # noqa: PLC0415

    if corpus.location is None:
        raise InputError(f"corpus '{corpus.id}'", "nobody has said where it is", "Write its location")
    seen = look_at(source_of(corpus, workspace.root), column)
    at = corpus.location if not is_address(corpus.location) else page_of(corpus.location, seen.revision)
    return _Look(seen, at)


def _why(error: LacreError) -> str:
    """Why a corpus was not reached, without its place, which stands beside it."""
    return str(error).split(": ", 1)[-1].rstrip(".")


def _looked(corpus: Corpus, seen: Seen, state: str) -> tuple[str, ...]:
    return (
        corpus.id,
        f"{seen.files:,}",
        _bytes(seen.size),
        ",".join(seen.columns),
        "" if seen.gated is None else "yes" if seen.gated else "no",
        seen.revision[:12] if len(seen.revision) >= 40 else seen.revision,
        state,
    )


def _about(corpus: Corpus) -> str:
    """The size of a corpus of which somebody only says about how large it is."""
    from lacre.registry.corpora import SIZE  # noqa: PLC0415 - keeps --help fast

    fact = corpus.facts.get(SIZE)
    return (fact.value if fact is not None else None) or UNKNOWN


def _bytes(size: int | None) -> str:
    """Bytes in words.

    >>> _bytes(275_864_696_856), _bytes(1), _bytes(None)
    ('275.9 GB', '1 byte', 'unknown')
    """
    from lacre.report import words  # noqa: PLC0415 - keeps --help fast

    return UNKNOWN if size is None else words.size(size)[1].replace("\xa0", " ")


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _named(known: Mapping[str, Corpus], name: str) -> Corpus:
    if name not in known:
        from difflib import get_close_matches  # noqa: PLC0415

        near = get_close_matches(name, known, 3)
        todo = f"Did you mean {' or '.join(near)}?" if near else "`lacre corpus list` names them all"
        raise InputError(f"corpus '{name}'", "is not in registry/corpora.jsonl", todo)
    return known[name]


def _row(corpus: Corpus) -> tuple[str, ...]:
    return (
        corpus.id,
        corpus.kind,
        (corpus.location or UNKNOWN) + (f", {corpus.subset}" if corpus.subset else ""),
        _bytes(corpus.size) if corpus.size is not None else _about(corpus),
        corpus.licence or UNKNOWN,
        UNKNOWN if corpus.gated is None else "yes" if corpus.gated else "no",
    )


def _workspace() -> Workspace:
    from lacre.registry.workspace import Workspace  # noqa: PLC0415 - keeps --help fast

    return Workspace.find(Path.cwd())
