"""Whether the lines of a journal are about what a run asks: others would make it look complete, or fail elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from lacre.engine.journal import Entry, Replied
from lacre.engine.plans import Question, RunRecord
from lacre.errors import Fault, RecordError


def own_entries(
    journal: Iterable[Entry], record: RunRecord, questions: Iterable[Question], where: str | Path
) -> Iterator[Entry]:
    """The entries of a journal, each of them about a column and a question of this run.

    Raises:
        RecordError: one is not; the first is named by its line, and nothing of it is quoted.
    """
    columns = {card.id for card in record.columns}
    asked: dict[str, tuple[int, frozenset[str]]] | None = None
    for number, entry in enumerate(journal, 1):
        if entry.column not in columns:
            raise _foreign(where, number, "column")
        if isinstance(entry, Replied):
            if asked is None:
                # Not before there is a reply: a run that begins has none to hold them against.
                asked = _asked(record, questions)
            times, parts = asked.get(entry.item, (0, frozenset[str]()))
            if not 1 <= entry.repetition <= times or entry.part not in parts:
                raise _foreign(where, number, "question")
        yield entry


def _asked(record: RunRecord, questions: Iterable[Question]) -> dict[str, tuple[int, frozenset[str]]]:
    """How often each item is asked, and its parts; one tuple for all items that are alike."""
    shared: dict[tuple[int, frozenset[str]], tuple[int, frozenset[str]]] = {}
    found = {}
    for question in questions:
        parts = frozenset(part.id if part else "" for part in question.parts)
        one = (record.repetitions.of(question), parts)
        found[question.id] = shared.setdefault(one, one)
    return found


def _foreign(where: str | Path, number: int, what: str) -> RecordError:
    fault = Fault(
        number, f"is about a {what} that this run does not ask", "Restore the file from a copy, or begin anew"
    )
    return RecordError(where, [fault])
