"""``lacre classify``: read answers by rule, and audit the letters that the rule reads."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lacre.cli.output import example, json_option, print_json, print_table, say
from lacre.errors import Exit, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lacre.engine.classified import ClassifiedAnswer, Tally
    from lacre.registry.audits import Audit, AuditReport, Extraction
    from lacre.registry.items import Payload
    from lacre.registry.raw_answers import RawAnswer

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


_READING = (
    click.option(
        "--map", "mapping", multiple=True, metavar="FIELD=COLUMN,...",
        help="Names of the file's columns, such as item=id,answer=response,key=gold.",
    ),
    click.option(
        "--items", "items", type=click.Path(path_type=Path), metavar="FILE",
        help="The items, for their options and keys, where the rows do not hold them.",
    ),
    click.option("--letters", metavar="ABCDE", help="The options' letters, where their texts are not known."),
)  # fmt: skip


def _reading(function: F) -> F:
    """The options that say how answers are read."""
    for option in reversed(_READING):
        function = option(function)
    return function


@click.group(
    cls=_FileOrCommand,
    epilog=example(
        "lacre classify replies.csv --items items.csv",
        "lacre classify replies.csv --items items.csv --out classified.jsonl",
    ),
)
def classify() -> None:
    """Read each answer of FILE by rule: its letter, refusal or abstention, or why the rule cannot tell.

    FILE is JSONL, JSON, CSV, TSV or Parquet with columns item and answer (the text), and perhaps column,
    repetition, finish, options, key and expects. The rule abstains rather than guesses: what it leaves goes to
    the judges, with the reason. With --out every answer is written as one record, without its text; `lacre
    score` reads that file once nothing is left, or with --undecided.

    Exit code: 0 when the rule decided all, 1 when it left some, 2 for bad input.
    """


@classify.command(_FILE, hidden=True, epilog=example("lacre classify replies.csv --letters ABC"))
@click.argument("file", type=click.Path(path_type=Path))
@_reading
@click.option(
    "--number", type=click.IntRange(1), metavar="N",
    help="The item's number in the message, where the message shows numbered examples before it.",
)  # fmt: skip
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write the records here."
)
@click.option(
    "--undecided",
    type=click.Choice(["E", "F"]),
    help="Class, in --out, of what the rule leaves, for want of judges; none when not given.",
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
    undecided: str | None,
    as_json: bool,
) -> int:
    """Read each answer of FILE by rule; `lacre classify --help` says more."""
    from lacre import jsonl  # noqa: PLC0415 - keeps --help fast
    from lacre.engine.classified import classify_answers, tallies  # noqa: PLC0415

    if file.is_dir():
        raise InputError(file, "is a folder", "`lacre run answers` reads a run; name a file of answers")
    _check_out(out, file)
    found = classify_answers(_answers(file, mapping, items, letters), number=number)
    if out is not None:
        try:
            jsonl.write(out, _for_want_of_judges(found, undecided), composed=False)
        except OSError as error:
            raise InputError(out, f"cannot be written ({error.strerror})", "Name another place") from None
    counts = tallies(found)
    if as_json:
        print_json({"columns": counts, "answers": found})
    else:
        _print_tallies(counts)
        _print_left(found, counts)
        if out is not None:
            say(f"{out}: {len(found):,} records.")
    return int(Exit.FINDING if any(each.undecided for each in found) else Exit.CLEAN)


@classify.group(epilog=example("lacre classify audit report audit.jsonl"))
def audit() -> None:
    """Check by hand a hundred of the letters that the rule read, and publish the error rate.

    `draw` takes them at random from what `lacre classify --out` wrote, by a seed; `record` takes down what a
    person reads, without showing her what the rule read; `report` gives the error rate with its intervals. Every
    command has --json.
    """


@audit.command(epilog=example("lacre classify audit draw classified.jsonl --seed 7 --out drawn.jsonl"))
@click.argument("source", type=click.Path(path_type=Path))
@click.option(
    "--seed",
    type=click.IntRange(0),
    required=True,
    help="Published with the audit, so that anybody can draw it again.",
)
@click.option(
    "--size", type=click.IntRange(1), default=100, show_default=True, help="How many letters to check."
)
@click.option(
    "--column", "columns", multiple=True, metavar="ID", help="Only letters of this column; again for more."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="The audit's file.",
)
@click.option("--force", is_flag=True, help="Replace --out, and the checks in it, when it is there.")
@json_option
def draw(
    *, source: Path, seed: int, size: int, columns: tuple[str, ...], out: Path, force: bool, as_json: bool
) -> None:
    """Draw letters from SOURCE, what `lacre classify --out` wrote or the folder of a run, for people to check."""
    from lacre import jsonl  # noqa: PLC0415 - keeps --help fast
    from lacre.digest import sha256  # noqa: PLC0415
    from lacre.engine.classified import ClassifiedAnswer, extractions  # noqa: PLC0415
    from lacre.registry import audits  # noqa: PLC0415

    if out.exists() and not force:
        raise InputError(out, "is there already, perhaps with checks", "Name another file, or say --force")
    place = source / "classified.jsonl" if source.is_dir() else source
    content = jsonl.read_bytes(place)
    rows = _run_rows(source) if source.is_dir() else jsonl.read(place, ClassifiedAnswer)
    if columns:
        known = sorted({row.column for row in rows})
        if unknown := [column for column in columns if column not in known]:
            raise InputError("--column", f"no column {unknown[0]}", f"There are: {', '.join(known)}")
        rows = [row for row in rows if row.column in columns]
    drawn = audits.draw(extractions(rows), seed=seed, source=sha256(content), size=size)
    audits.write_audit(out, drawn)
    if as_json:
        print_json(drawn)
        return
    click.echo(f"{out}: {len(drawn.extractions)} of {drawn.drawing.population:,} letters, seed {seed}")
    if len(drawn.extractions) < size:
        say(f"There are no more than {len(drawn.extractions)} letters.")


@audit.command(
    epilog=example(
        "lacre classify audit record audit.jsonl x1 --right B --who Ana",
        "lacre classify audit record audit.jsonl x2 --right none --who Ana",
    )
)
@click.argument("file", metavar="AUDIT", type=click.Path(path_type=Path))
@click.argument("extraction", required=False)
@click.option(
    "--right",
    metavar="LETTER|none",
    help="The letter that the answer gives; none where no letter can be told.",
)
@click.option("--who", required=True, metavar="NAME", help="Who read the answer.")
@click.option("--note", default="", metavar="TEXT", help="A remark, kept with the check.")
@click.option(
    "--answers",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The file of answers, to be shown them one by one.",
)
@_reading
@json_option
def record(
    *,
    file: Path,
    extraction: str | None,
    right: str | None,
    who: str,
    note: str,
    answers: Path | None,
    mapping: tuple[str, ...],
    items: Path | None,
    letters: str | None,
    as_json: bool,
) -> None:
    """Take down what a person reads in drawn answers: one EXTRACTION, or with --answers all she has not read.

    What the rule read is not shown. Each check is on disk before the next answer is; stop with Ctrl-C and go
    on later. A later check of a person takes the place of her earlier one.
    """
    from lacre.registry.audits import Check, add_check, read_audit, write_audit  # noqa: PLC0415 - keeps --help fast

    found = read_audit(file)
    if extraction is not None:
        if right is None:
            raise InputError("--right", "is missing", "Say which letter the answer gives, or none")
        check = Check(extraction=extraction, right=_letter(right), who=who, when=_now(), note=note)
        found = add_check(found, check)
        write_audit(file, found)
        recorded = 1
    elif answers is not None:
        recorded = _read_one_by_one(file, found, who, _answers(answers, mapping, items, letters))
    else:
        raise InputError(
            "EXTRACTION", "is missing", "Name one, or give --answers to be shown them one by one"
        )
    left = len(read_audit(file).unchecked(who))
    if as_json:
        print_json({"recorded": recorded, "left": left})
        return
    click.echo(f"{file}: {recorded} recorded, {left} left for {who}")


@audit.command("report", epilog=example("lacre classify audit report audit.jsonl"))
@click.argument("file", metavar="AUDIT", type=click.Path(path_type=Path))
@json_option
def report_(file: Path, as_json: bool) -> int:
    """Say the error rate of letter extraction, with the intervals of Wilson and of Clopper and Pearson.

    Exit code: 0 when all is checked and right, 1 when letters are wrong, 5 when checks are missing or people
    differ.
    """
    from lacre.registry.audits import read_audit, report  # noqa: PLC0415 - keeps --help fast

    found = report(read_audit(file))
    if as_json:
        print_json(found)
    else:
        _print_report(found)
    if not found.complete:
        return int(Exit.INCOMPLETE)
    return int(Exit.FINDING if found.wrong else Exit.CLEAN)


def _answers(
    file: Path, mapping: Sequence[str], items: Path | None, letters: str | None
) -> tuple[RawAnswer, ...]:
    from lacre.registry.raw_answers import read_raw_answers  # noqa: PLC0415 - keeps --help fast

    if letters is not None:
        letters = letters.upper().replace(",", "").replace(" ", "")
        if not letters.isascii() or not letters.isalpha() or len(set(letters)) < len(letters):
            raise InputError("--letters", f"'{letters}' are no letters, each once", "Write them as ABCDE")
    if file.is_dir():
        return _run_answers(file, _items(items))
    return read_raw_answers(file, _mapping(mapping), items=_items(items), letters=letters)


def _run_rows(folder: Path) -> list[ClassifiedAnswer]:
    """What the rule read in the choice items of a run."""
    from lacre import jsonl  # noqa: PLC0415 - keeps --help fast
    from lacre.engine.classified import classified_answer  # noqa: PLC0415
    from lacre.engine.folders import Classified  # noqa: PLC0415

    texts = {(each.column, each.item, each.repetition): each for each in _run_answers(folder, None)}
    return [
        classified_answer(texts[row.column, row.item, row.repetition], row.classification)
        for row in jsonl.read(folder / "classified.jsonl", Classified)
        if row.kind == "choice"
    ]


def _run_answers(folder: Path, items: dict[str, Payload] | None) -> tuple[RawAnswer, ...]:
    """The texts of a run's whole replies, with the options of their items where these are known."""
    from lacre.engine.folders import RunFolder  # noqa: PLC0415 - keeps --help fast
    from lacre.engine.replies import Failed  # noqa: PLC0415
    from lacre.registry.raw_answers import RawAnswer  # noqa: PLC0415

    return tuple(
        RawAnswer(
            column=task.column,
            item=task.item,
            repetition=task.repetition,
            text="" if isinstance(entry.reply, Failed) else entry.reply.text,
            options=dict(items[task.item].options) if items and task.item in items else {},
        )
        for task, entry in RunFolder.open(folder).settled().items()
        if not task.part
    )


def _mapping(texts: Sequence[str]) -> dict[str, str]:
    """Fields and the columns that hold them."""
    found: dict[str, str] = {}
    for part in (part for text in texts for part in text.split(",")):
        field, equals, column = (piece.strip() for piece in part.partition("="))
        if not (field and equals and column):
            raise InputError("--map", f"'{part}' is not FIELD=COLUMN", "Write it as item=id,answer=response")
        if field in found:
            raise InputError("--map", f"field '{field}' is given twice", "Give it once")
        found[field] = column
    return found


def _items(path: Path | None) -> dict[str, Payload] | None:
    if path is None:
        return None
    from lacre.registry.intake import candidates  # noqa: PLC0415 - keeps --help fast

    return {item.id: item.payload for item in candidates(path).items}


def _for_want_of_judges(
    found: Sequence[ClassifiedAnswer], undecided: str | None
) -> Sequence[ClassifiedAnswer]:
    """The records, those that the rule left in the class that was asked for; the reason stays beside it."""
    if undecided is None:
        return found
    import msgspec  # noqa: PLC0415 - keeps --help fast

    from lacre.scoring.outcomes import Outcome  # noqa: PLC0415

    outcome = Outcome.of(undecided)
    return [msgspec.structs.replace(each, outcome=outcome) if each.undecided else each for each in found]


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


def _letter(text: str) -> str:
    """A letter or ``none`` as people write them."""
    from lacre.registry.audits import NO_LETTER  # noqa: PLC0415 - keeps --help fast

    said = text.strip().strip("().").strip()
    return NO_LETTER if said.casefold() in (NO_LETTER, "nenhuma", "-") else said.upper()


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _read_one_by_one(file: Path, found: Audit, who: str, answers: Sequence[RawAnswer]) -> int:
    """Show a person each answer she has not read, and keep what she says at once; how many she said."""
    from lacre.registry.audits import Check, add_check, write_audit  # noqa: PLC0415 - keeps --help fast

    texts = {(each.column, each.item, each.repetition): each for each in answers}
    todo = [(each, _text_of(each, texts)) for each in found.unchecked(who)]
    recorded = 0
    for place, (each, answer) in enumerate(todo, 1):
        _show(each, answer, place, len(todo))
        while True:
            try:
                said = click.prompt(
                    "Letter (none: no letter can be told; empty: later)", default="", show_default=False
                )
            except click.Abort:
                say("")
                return recorded
            if not said.strip():
                break
            check = Check(extraction=each.id, right=_letter(said), who=who, when=_now())
            try:
                found = add_check(found, check, letters=tuple(answer.options))
            except InputError as error:
                say(str(error))
                continue
            write_audit(file, found)
            recorded += 1
            break
    return recorded


def _text_of(each: Extraction, texts: Mapping[tuple[str, str, int], RawAnswer]) -> RawAnswer:
    """The answer that was classified, refused when it is not there or is another text now."""
    answer = texts.get((each.column, each.item, each.repetition))
    where = f"answer of {each.column} to {each.item}, repetition {each.repetition}"
    if answer is None:
        raise InputError(where, "is not in --answers", "Give the file that was classified")
    if answer.sha256 != each.sha256:
        raise InputError(where, "is another text than was classified", "Give the file that was classified")
    return answer


def _show(each: Extraction, answer: RawAnswer, place: int, of: int) -> None:
    click.echo(f"\n--- {place} of {of}: {each.id}, item {each.item} ---")
    for letter, text in answer.options.items():
        if text:
            click.echo(f"  {letter}) {_harmless(text)}")
    click.echo(_harmless(answer.text))


def _harmless(text: str) -> str:
    """Text that cannot steer the terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def _print_report(found: AuditReport) -> None:
    from lacre.cli.answers import percent  # noqa: PLC0415 - keeps --help fast

    print_table(
        ("measure", "value"),
        [
            ("letters read by the rule", f"{found.population:,}"),
            ("drawn", f"{found.drawn:,}"),
            ("settled by hand", f"{found.settled:,}"),
            ("wrong", f"{len(found.wrong):,}"),
            ("error rate, Wilson", percent(found.error)),
            ("error rate, Clopper-Pearson", percent(found.exact)),
            ("not checked", f"{len(found.unchecked):,}"),
            ("people differ", f"{len(found.disputed):,}"),
        ],
        right=("value",),
    )
    sys.stdout.flush()
    for each in found.wrong:
        say(
            f"{each.extraction}: {each.column}, item {each.item}: read {each.letter} by '{each.rule}', is {each.right}."
        )
    for name in found.disputed:
        say(f"{name}: people differ; a third one settles it.")
    if found.readers:
        say(f"Read by {', '.join(f'{who} ({count})' for who, count in found.readers.items())}.")
