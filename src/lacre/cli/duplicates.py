"""``lacre duplicates``: items that are alike, share a passage, or contradict each other."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lacre.cli.output import LiveLine, example, json_option, print_json, print_table, say
from lacre.errors import Exit, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lacre.registry.items import Candidate
    from lacre.registry.rules import DuplicateRules
    from lacre.vetting.duplicates import Duplicates, Group, Member, Pair

SHOWN = 40  # pairs and groups on a terminal; a pipe and --json get them all
NAMED = 6  # items of a group named on a terminal
COLOURS = {"copy": "bold red", "variant": "yellow", "conflict": "bold red"}


@click.command(
    epilog=example(
        "lacre duplicates items.csv",
        "lacre duplicates items.csv --against registry/exemplo/open/items.jsonl --json",
    )
)
@click.argument("items", type=click.Path(path_type=Path))
@click.option(
    "--against", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
    help="More items, such as the private ones, to compare to; give it again for more.",
)  # fmt: skip
@click.option(
    "--benchmark",
    metavar="NAME",
    help="Compare to the official and open items of this benchmark, by its rules.",
)
@click.option(
    "--source", "source_column", metavar="COLUMN",
    help="Column that says where an item comes from, in plain files; else the exam, else the file.",
)  # fmt: skip
@click.option(
    "--map", "mapping", multiple=True, metavar="FIELD=COLUMN,...",
    help="Names of the columns of plain files, such as stem=question; join with +.",
)  # fmt: skip
@click.option(
    "--key-index", type=click.IntRange(0, 1), help="Keys are numbers that count the options from 0 or 1."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write all that was found as JSON.",
)
@json_option
def duplicates(
    *,
    items: Path,
    against: tuple[Path, ...],
    benchmark: str | None,
    source_column: str | None,
    mapping: tuple[str, ...],
    key_index: int | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Say which of ITEMS are near-duplicates of each other, or of items that exist already.

    Copies say the same, whatever the order of their options. Variants say almost the same: a number, a negation, a
    word was changed; a person looks. Items that share a passage belong together: the draw moves them as one. Copies
    of one item with different keys are a conflict, and one inside a single source rejects that source.

    Nothing of the items' text is printed or written, only ids and figures.

    Exit code: 0 when there are no copies or variants, 1 when there are, 2 for bad input.
    """
    from lacre.jsonl import write_bytes  # noqa: PLC0415 - keeps --help fast
    from lacre.registry.intake import candidates, parse_mapping  # noqa: PLC0415
    from lacre.vetting.duplicates import NEW, find_duplicates  # noqa: PLC0415

    ground = _ground(benchmark)
    columns = parse_mapping(mapping)
    files = {NEW: items, **_named(against, ground.sets)}
    sets: dict[str, Sequence[Candidate]] = {}
    sources: dict[tuple[str, str], str] = dict(ground.sources)
    for name, path in files.items():
        imported = candidates(path, columns, key_index=key_index)
        for remark in imported.remarks():
            say(f"{path}: {remark}.")
        sets[name] = imported.items
        sources |= {(name, item): source for item, source in _sources(path, source_column).items()}
    new = sets.pop(NEW)
    meter = _Meter(sys.stderr.isatty())
    found = find_duplicates(
        new, {**ground.sets, **sets}, ground.rules, sources=sources, phrases=ground.phrases, on_progress=meter
    )
    meter.close()
    if out is not None:
        import msgspec  # noqa: PLC0415

        try:
            write_bytes(out, msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
        except OSError as error:
            raise InputError(out, f"cannot be written ({error.strerror})", "Name another file") from None
    if as_json:
        print_json(found)
    else:
        _print(found)
    bad = found.pairs or any(check.rejected for check in found.sources)
    return int(Exit.FINDING if bad else Exit.CLEAN)


class _Ground:
    """The rules that hold, approved boilerplate, and the items of the benchmark asked for."""

    def __init__(self, rules: DuplicateRules, phrases: Sequence[str]) -> None:
        self.rules = rules
        self.phrases = phrases
        self.sets: dict[str, Sequence[Candidate]] = {}
        self.sources: dict[tuple[str, str], str] = {}


def _ground(benchmark: str | None) -> _Ground:
    from lacre.registry.boilerplate import read_phrases  # noqa: PLC0415
    from lacre.registry.items import Candidate  # noqa: PLC0415
    from lacre.registry.rules import default_rules  # noqa: PLC0415
    from lacre.registry.workspace import Workspace  # noqa: PLC0415

    workspace = Workspace.search(Path.cwd())
    if workspace is None:
        if benchmark is not None:
            raise InputError(
                "--benchmark", "there is no workspace here", "Go to one, or make one with `lacre init`"
            )
        return _Ground(default_rules().duplicates, ())
    rules = workspace.benchmark(benchmark).rules if benchmark is not None else workspace.rules()
    ground = _Ground(rules.duplicates, [phrase.text for phrase in read_phrases(workspace.boilerplate)])
    for item in workspace.items(benchmark) if benchmark is not None else ():
        ground.sets[item.layer] = [
            *ground.sets.get(item.layer, ()),
            Candidate(id=item.id, payload=item.payload),
        ]
        ground.sources[item.layer, item.id] = item.source.exam or item.layer
    return ground


def _named(paths: Sequence[Path], taken: Mapping[str, object]) -> dict[str, Path]:
    """The files to compare to, by name.

    Raises:
        InputError: one is named twice.
    """
    named: dict[str, Path] = {}
    for path in paths:
        if str(path) in named or str(path) in taken:
            raise InputError("--against", f"{path} is named twice", "Name each file once")
        named[str(path)] = path
    return named


def _sources(path: Path, column: str | None) -> dict[str, str]:
    """Where each item of a file comes from, by id: its exam in records, the column asked for in plain rows.

    Raises:
        InputError: a plain file has no such column.
    """
    from lacre.registry.tables import read_table  # noqa: PLC0415

    table = read_table(path)
    if "payload" in table.columns:
        exams = ((str(row.values["id"]), (row.values.get("source") or {}).get("exam")) for row in table.rows)
        return {item: str(exam) for item, exam in exams if exam}
    if column is None:
        return {}
    if column not in table.columns:
        raise InputError(path, f"no column '{column}'", f"The columns are: {', '.join(table.columns)}")
    return {str(row.values.get("id")): str(row.values.get(column)) for row in table.rows}


def _print(found: Duplicates) -> None:
    whole = not sys.stdout.isatty()
    rows = list(_rows(found))
    shown = rows if whole else rows[:SHOWN]
    print_table(
        ("what", "items", "alike", "keys", "why"), shown, right=("alike",), whole=("what",), styles=COLOURS
    )
    sys.stdout.flush()
    if len(shown) < len(rows):
        say(f"... and {len(rows) - len(shown):,} more lines; a pipe, --out or --json gives them all.")
    for line in _summary(found):
        say(line)


def _rows(found: Duplicates) -> Iterator[tuple[str, ...]]:
    """Conflicts first, then copies, variants, groups that share a passage."""
    pairs = sorted(found.pairs, key=lambda pair: pair.keys != "conflict")
    for pair in pairs:
        yield pair.kind, f"{_name(pair.first)} = {_name(pair.second)}", _alike(pair), _keys(pair), _why(pair)
    for group in found.passages:
        yield "passage", _members(group), "", "", f"share {group.words} words in a row"


def _alike(pair: Pair) -> str:
    """The least similarity of the parts that were compared."""
    scores = [score for score in (pair.question, pair.options, pair.body) if score is not None]
    return f"{min(scores):.0%}" if scores else ""


def _keys(pair: Pair) -> str:
    return "" if pair.kind != "copy" else pair.keys


def _why(pair: Pair) -> str:
    if pair.kind == "variant":
        places = "place" if pair.differences == 1 else "places"
        return f"says something else in {pair.differences} {places}"
    return pair.keys_why


def _name(member: Member) -> str:
    from lacre.vetting.duplicates import NEW  # noqa: PLC0415

    return member.item if member.set == NEW else f"{member.item} ({member.set})"


def _members(group: Group) -> str:
    names = [_name(member) for member in group.members]
    if sys.stdout.isatty() and len(names) > NAMED:
        return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"
    return ", ".join(names)


def _summary(found: Duplicates) -> Iterator[str]:
    for check in found.sources:
        if check.rejected:
            yield (
                f"source {check.source}: rejected: {check.contradictory} of {check.copies} pairs of copies among its"
                f" {check.items:,} items name different keys ({check.agreeing} agree, {check.unknown} unknown)."
            )
    if found.selves:
        yield f"{found.selves:,} items of the other sets are the new items themselves, and were left out."
    if found.thin:
        yield f"{len(found.thin):,} items say too little: only copies word for word are found of them."
    if found.empty:
        yield f"{len(found.empty):,} items have no words and were not compared: {_few(found.empty)}."
    counts = [sum(pair.kind == kind for pair in found.pairs) for kind in ("copy", "variant")]
    compared = " and ".join(
        f"{count:,} {name}" for name, count in sorted(found.items.items(), key=_new_first)
    )
    yield (
        f"{compared} items: {counts[0]:,} pairs of copies, {counts[1]:,} of variants,"
        f" {len(found.conflicts):,} with conflicting keys; {len(found.passages):,} groups share a passage."
    )


def _few(members: Sequence[Member]) -> str:
    names = [_name(member) for member in members[:NAMED]]
    return ", ".join(names) + (f" and {len(members) - NAMED} more" if len(members) > NAMED else "")


def _new_first(entry: tuple[str, int]) -> tuple[bool, str]:
    return entry[0] != "new", entry[0]


class _Meter:
    """Progress on a terminal, nothing elsewhere but the start."""

    def __init__(self, live: bool) -> None:
        self.line = LiveLine(live)

    def __call__(self, done: int, of: int) -> None:
        if self.line.live and of:
            self.line.show(f"Comparing {done:,} of {of:,} pairs ...")

    def close(self) -> None:
        """Clear the line."""
        self.line.close()
