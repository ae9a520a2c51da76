"""What the commands of a run stand on: its questions, its record, its keys, and what is refused before it begins."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from lacre import __version__
from lacre.cli.column import read_workspace_columns
from lacre.cli.output import say
from lacre.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lacre.engine.folders import RunFolder
    from lacre.engine.keys import Key
    from lacre.engine.plans import Question, RunRecord
    from lacre.registry.columns import Column, Exchange
    from lacre.registry.rules import RunRules


def ready(
    cards: Sequence[Column], record: RunRecord, questions: Sequence[Question], budget: Decimal | None
) -> dict[str, Key | None]:
    """The keys, after everything that can be refused before the first request has been."""
    from lacre.engine.budgets import refuse_budget  # noqa: PLC0415
    from lacre.engine.keys import read_key  # noqa: PLC0415

    refuse_budget(budget, record, cards, questions[:1])
    return {card.id: read_key(card, os.environ) for card in cards}


def record_of(
    name: str,
    source: str,
    cards: Sequence[Column],
    questions: Sequence[Question],
    *,
    now: datetime,
    exchange: Exchange | None,
    budget: Decimal | None,
    filtered: bool,
) -> RunRecord:
    """The record of a new run, with the templates and rules of the workspace."""
    from lacre.engine.messages import read_templates  # noqa: PLC0415
    from lacre.engine.plans import Repetitions, RunRecord, items_digest  # noqa: PLC0415
    from lacre.registry.workspace import Workspace  # noqa: PLC0415

    rules = run_rules()
    templates = read_templates(Workspace.find(Path.cwd()).registry / "templates")
    return RunRecord(
        id=name,
        stage="answers",
        source=str(Path(source).absolute()) if is_file(source) else source,
        created=now.isoformat(timespec="seconds"),
        version=__version__,
        columns=tuple(cards),
        templates=tuple(templates.values()),
        items=len(questions),
        items_sha256=items_digest(questions),
        repetitions=Repetitions(choice=rules.choice_runs, open=rules.open_runs),
        asked=tuple(question.id for question in questions) if filtered else None,
        exchange=exchange,
        budget=None if budget is None else str(budget),
    )


def renewed(folder: RunFolder, record: RunRecord) -> RunRecord:
    """The record with today's cards, where they still ask the same or nothing was answered yet."""
    import msgspec  # noqa: PLC0415

    from lacre.engine.journal import Replied  # noqa: PLC0415

    today = read_workspace_columns([card.id for card in record.columns]).columns
    answered = {entry.column for entry in folder.entries() if isinstance(entry, Replied)}
    cards: list[Column] = []
    for card in record.columns:
        new = today.get(card.id, card)
        if new.setting() != card.setting() and card.id in answered:
            changed = sorted(name for name, value in new.asked().items() if card.asked().get(name) != value)
            raise InputError(
                f"column '{card.id}'",
                f"its card asks otherwise than when this run began ({', '.join(changed)})",
                "Restore it, or start another run: answers under two settings make no score",
            )
        cards.append(new)
    renewed = msgspec.structs.replace(record, columns=tuple(cards))
    if renewed != record:
        folder.write(renewed)
    return renewed


def is_file(source: str) -> bool:
    """Whether a source names a file of items, not a benchmark.

    >>> is_file("exemplo"), is_file("exemplo.csv"), is_file("a/b")
    (False, True, True)
    """
    return "/" in source or Path(source).suffix != "" or Path(source).is_file()


def questions_of_source(source: str) -> tuple[Question, ...]:
    """The questions of a benchmark of the workspace, or of a file of items."""
    from lacre.engine.plans import Question, questions_of  # noqa: PLC0415
    from lacre.registry.intake import candidates  # noqa: PLC0415
    from lacre.registry.workspace import Workspace  # noqa: PLC0415

    if not is_file(source):
        workspace = Workspace.find(Path.cwd())
        workspace.benchmark(source)
        return questions_of(workspace.items(source), workspace.registry / source)
    path = Path(source)
    _check_shape(path)
    imported = candidates(path)
    for remark in imported.remarks():
        say(f"{path}: {remark}.")
    return tuple(
        Question(id=item.id, payload=item.payload, images=path.parent)
        for item in sorted(imported.items, key=lambda item: item.id)
    )


def _check_shape(path: Path) -> None:
    """Refuse a file whose rows are no items at all, once and with the shape of one that is.

    Raises:
        InputError: it lacks a column that every item needs.
    """
    from lacre.registry.tables import read_table  # noqa: PLC0415

    columns = read_table(path).columns
    if "id" in columns and {"stem", "payload"} & set(columns):
        return
    there = f"its rows have {', '.join(columns[:8])}" if columns else "its rows have no named columns"
    raise InputError(
        path,
        f"is no file of items: {there}",
        'Write rows such as {"id": "q1", "stem": "...", "options": {"A": "...", "B": "..."}, "key": "A"}, or a table '
        "with these columns",
    )


def chosen(
    questions: Sequence[Question], layer: str | None, kind: str | None, items: Sequence[str]
) -> tuple[Question, ...]:
    """The questions of a layer, of a kind, and of these ids, as far as they are given.

    Raises:
        InputError: an id is no question's.
    """
    ids = {question.id for question in questions}
    if missing := [id for id in items if id not in ids]:
        raise InputError("--item", f"no such item: {', '.join(missing)}", "List them with `lacre items list`")
    return tuple(
        question
        for question in questions
        if (layer is None or question.fields.get("layer") == layer)
        and (kind is None or question.payload.kind == kind)
        and (not items or question.id in items)
    )


def asked_by(record: RunRecord) -> tuple[Question, ...]:
    """The questions of a run that is there."""
    questions = questions_of_source(record.source)
    if record.asked is None:
        return questions
    return tuple(question for question in questions if question.id in set(record.asked))


def checked_questions(record: RunRecord) -> tuple[Question, ...]:
    """The questions of a run that is there: those that it began with.

    Raises:
        IntegrityError: an item came, went or changed.
    """
    from lacre.engine.plans import check_resumed  # noqa: PLC0415

    questions = asked_by(record)
    check_resumed(record, questions)
    return questions


def refuse_probe(folder: Path, record: RunRecord) -> None:
    """Refuse the folder of a probe where a run's is asked for.

    Raises:
        InputError: it is a probe's.
    """
    if record.stage.startswith("probe "):
        raise InputError(
            folder,
            "is a probe, not a run",
            f"Use `lacre probe resume {folder}` or `lacre probe report {folder}`",
        )


def run_rules() -> RunRules:
    """The rules of the workspace for runs."""
    from lacre.registry.workspace import Workspace  # noqa: PLC0415

    return Workspace.find(Path.cwd()).rules().run


def exchange_given(rate: str | None) -> Exchange | None:
    """The exchange rate of the command line; none when it gives none.

    Raises:
        InputError: it is no rate.
    """
    from lacre.registry.columns import Exchange, is_amount  # noqa: PLC0415

    if rate is None:
        return None
    if not is_amount(rate) or not Decimal(rate):
        raise InputError("--brl-per-usd", f"'{rate}' is not a rate", "Write it as 5.43")
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    return Exchange(brl_per_usd=rate, source="given on the command line", read=today)


def dollars(text: str | None) -> Decimal | None:
    """A budget in dollars; none without one.

    >>> dollars("12.50")
    Decimal('12.50')

    Raises:
        InputError: it is no amount.
    """
    from lacre.registry.columns import is_amount  # noqa: PLC0415

    if text is None:
        return None
    if not is_amount(text):
        raise InputError("--budget", f"'{text}' is not an amount", "Write dollars as 12.50")
    return Decimal(text)


def budget_of(given: str | None, begun: str | None) -> Decimal | None:
    """The budget of a run that goes on: the one given now, or else the one it began with; ``none`` lifts it.

    >>> budget_of(None, "12.50"), budget_of("20", "12.50"), budget_of("none", "12.50")
    (Decimal('12.50'), Decimal('20'), None)

    Raises:
        InputError: it is no amount.
    """
    return None if given == "none" else dollars(begun if given is None else given)
