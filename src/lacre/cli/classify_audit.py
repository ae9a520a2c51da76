"""``lacre classify audit``: a hundred of the letters that the rule read, checked by people (SPEC L15)."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lacre.cli.classify_files import read_answers, reading, run_answers
from lacre.cli.output import example, json_option, print_json, print_table, say
from lacre.errors import Exit, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lacre.engine.classified import ClassifiedAnswer
    from lacre.registry.audits import Audit, AuditReport, Extraction
    from lacre.registry.raw_answers import RawAnswer


F = TypeVar("F", bound="Callable[..., Any]")

_AUDIT = click.argument("file", metavar="AUDIT", type=click.Path(path_type=Path))


def _answers(what: str) -> Callable[[F], F]:
    """The ``--answers`` option, with what the file is for."""
    return click.option("--answers", type=click.Path(path_type=Path), metavar="FILE", help=what)


@click.group(epilog=example("lacre classify audit report audit.jsonl"))
def audit() -> None:
    """Check by hand a hundred of the letters that the rule read, and publish the error rate.

    `draw` takes them at random from what `lacre classify --out` wrote, by a seed; `record` takes down what a
    person reads, without showing her what the rule read; `report` gives the error rate with its intervals. Every
    command has --json.
    """


@audit.command(
    epilog=example(
        "lacre classify audit draw classified.jsonl --seed 7 --answers replies.csv --items items.csv --out drawn.jsonl"
    )
)
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
@_answers("The file of answers that SOURCE was read from; a run's folder has its own.")
@reading
@json_option
def draw(
    *,
    source: Path,
    seed: int,
    size: int,
    columns: tuple[str, ...],
    out: Path,
    force: bool,
    answers: Path | None,
    mapping: tuple[str, ...],
    items: Path | None,
    letters: str | None,
    as_json: bool,
) -> None:
    """Draw letters from SOURCE, what `lacre classify --out` wrote or the folder of a run, for people to check.

    Each letter is drawn with the SHA-256 of its answer's text, so that nobody checks another text than was read.
    """
    from lacre import jsonl  # noqa: PLC0415 - keeps --help fast
    from lacre.digest import sha256  # noqa: PLC0415
    from lacre.engine.classified import extractions  # noqa: PLC0415
    from lacre.registry import audits  # noqa: PLC0415

    if out.exists() and not force:
        raise InputError(out, "is there already, perhaps with checks", "Name another file, or say --force")
    place = source / "classified.jsonl" if source.is_dir() else source
    content = jsonl.read_bytes(place)
    if source.is_dir():
        texts = run_answers(source, None)
    elif answers is None:
        raise InputError("--answers", "is missing", "Name the file of answers that SOURCE was read from")
    else:
        texts = read_answers(answers, mapping, items, letters)
    records = _rows(place, texts)
    if columns:
        known = sorted({row.column for row in records})
        if unknown := [column for column in columns if column not in known]:
            raise InputError("--column", f"no column {unknown[0]}", f"There are: {', '.join(known)}")
        records = [row for row in records if row.column in columns]
    drawn = audits.draw(extractions(records), seed=seed, source=sha256(content), size=size)
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
@_AUDIT
@click.argument("extraction", required=False)
@click.option(
    "--right",
    metavar="LETTER|none",
    help="The letter that the answer gives; none where no letter can be told.",
)
@click.option("--who", required=True, metavar="NAME", help="Who read the answer.")
@click.option("--note", default="", metavar="TEXT", help="A remark, kept with the check.")
@_answers("The file of answers, to be shown them one by one.")
@reading
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
        recorded = _read_one_by_one(file, found, who, read_answers(answers, mapping, items, letters))
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
@_AUDIT
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


def _rows(place: Path, answers: Sequence[RawAnswer]) -> list[ClassifiedAnswer]:
    """What the rule read in choice items, by the records at ``place``, beside the texts that it read."""
    from lacre import jsonl  # noqa: PLC0415 - keeps --help fast
    from lacre.engine.classified import classified_answer  # noqa: PLC0415
    from lacre.engine.folders import Classified  # noqa: PLC0415

    texts = {(each.column, each.item, each.repetition): each for each in answers}
    records = [row for row in jsonl.read(place, Classified) if row.kind == "choice"]
    for row in records:
        if (row.column, row.item, row.repetition) not in texts:
            where = f"answer of {row.column} to {row.item}, repetition {row.repetition}"
            raise InputError(where, "is not in --answers", "Give the file that was classified")
    return [
        classified_answer(texts[row.column, row.item, row.repetition], row.classification) for row in records
    ]


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
