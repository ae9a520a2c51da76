"""Cards, questions and runs for the engine's tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from lacre.engine.client import Patience
from lacre.engine.journal import Entry, FileSink, Replied, read_journal
from lacre.engine.keys import Key
from lacre.engine.messages import read_templates
from lacre.engine.plans import Question, Repetitions, RunRecord, items_digest
from lacre.engine.runs import Run
from lacre.registry.columns import Column, Price
from lacre.registry.items import Part, Payload

HASTY = Patience(first_wait=0.001, longest_wait=0.002, jitter=0.0, limit_wait=2.0, blind_wait=0.002)
SOURCE = "https://example.org/prices"
PRICE = Price(currency="USD", input="2", output="10", cached="0.5", source=SOURCE, read="2026-01-01")


def card(endpoint: str, dialect: str = "openai", **changes: Any) -> Column:
    values: dict[str, Any] = {
        "id": dialect,
        "model": "modelo-1",
        "vendor": "Vendedor",
        "family": "familia",
        "dialect": dialect,
        "endpoint": endpoint,
        "cap": 100,
        "timeout": 5,
        "concurrency": 4,
    }
    return Column(**(values | changes))


def question(id: str, **changes: Any) -> Question:
    values: dict[str, Any] = {
        "kind": "choice",
        "stem": f"Que cor tinha o guarda-chuva número {id}?",
        "options": {"A": "Verde", "B": "Roxo", "C": "Cinza"},
        "key": "B",
    }
    return Question(id=id, payload=Payload(**(values | changes)))


def questions(count: int) -> tuple[Question, ...]:
    return tuple(question(f"q{number:04}") for number in range(count))


def with_parts(id: str = "aberta") -> Question:
    parts = tuple(
        Part(id=letter, prompt=f"Pergunta {letter} sobre o farol.", expected="-") for letter in "abc"
    )
    return question(id, kind="open", options={}, key=None, parts=parts)


def record(
    asked: Sequence[Question], cards: Sequence[Column], repetitions: Repetitions | None = None
) -> RunRecord:
    return RunRecord(
        id="prova",
        stage="answers",
        source="prova",
        created="2026-01-01T00:00:00+00:00",
        version="0",
        columns=tuple(cards),
        templates=tuple(read_templates(None).values()),
        items=len(asked),
        items_sha256=items_digest(asked),
        repetitions=repetitions or Repetitions(open=1),
    )


def datetime_of_tests() -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC)


def run(
    path: Path,
    asked: Sequence[Question],
    cards: Sequence[Column],
    *,
    keys: Mapping[str, Key | None] | None = None,
    patience: Patience = HASTY,
    budget: str | None = None,
    **changes: Any,
) -> Run:
    """A run with its journal at ``path``."""
    return Run(
        record=record(asked, cards),
        questions=asked,
        cards=cards,
        keys=keys or {},
        sink=FileSink(path),
        now=datetime_of_tests,
        patience=patience,
        budget=Decimal(budget) if budget else None,
        **changes,
    )


def finished(path: Path, asked: Sequence[Question], cards: Sequence[Column], **changes: Any) -> Any:
    """The state of a run that went to its end, with the journal closed."""
    going = run(path, asked, cards, **changes)
    try:
        return going.work()
    finally:
        going.sink.close()


def replies(path: Path) -> list[Replied]:
    return [entry for entry in read_journal(path) if isinstance(entry, Replied)]


def journal(path: Path) -> list[Entry]:
    return list(read_journal(path))
