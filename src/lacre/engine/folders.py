"""The folder of a run: its record, its journal, and what the rule read in the replies.

:func:`decided` needs no folder: it makes answers for scoring of replies from any sink.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from lacre import jsonl
from lacre.engine.classify import Classification, classify_reply
from lacre.engine.journal import Entry, FileSink, Replied, Task, entries, read_journal, settled
from lacre.engine.plans import Question, Questions, RunRecord
from lacre.errors import IncompleteError, InputError, remedy
from lacre.registry.records import Record
from lacre.scoring.outcomes import Answer, Outcome

Undecided = Literal["wrong", "failure"]


class Classified(Record, omit_defaults=False):
    """What the rule read in the reply to one task."""

    column: str
    item: str
    repetition: int
    part: str
    kind: str
    classification: Classification


class Written(Record, omit_defaults=False):
    """What became of a run's replies.

    Attributes:
        answers: files of answers that were written, one for each kind of item whose replies are all decided.
        replaced, removed: those that an earlier call had left: written anew, and taken away.
        decided, undecided: replies by kind of item.
        forced: undecided ones that were written as ``undecided`` said, for want of judges.
        rows: answers in the files, by kind of item.
        wholly_failed: columns whose every reply is of class F by the rule: they were not measured at all.
    """

    answers: tuple[str, ...]
    decided: dict[str, int]
    undecided: dict[str, int]
    forced: int = 0
    replaced: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    rows: dict[str, int] = msgspec.field(default_factory=dict)
    wholly_failed: tuple[str, ...] = ()


class RunFolder:
    """Where a run lives. Nothing is kept in memory: every call reads what is on disk now."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.record_path = path / "run.json"
        self.journal_path = path / "journal.jsonl"

    @classmethod
    def create(cls, path: Path, record: RunRecord) -> RunFolder:
        """A folder for a new run, with its record.

        Raises:
            InputError: there is something there already, or it cannot be made.
        """
        folder = cls(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
            taken = any(path.iterdir())
        except OSError as error:
            raise InputError(path, f"cannot be made ({error.strerror})", "Choose another folder") from None
        if taken:
            raise InputError(
                path, "is not empty", "Go on with `lacre run resume`, or choose another folder with --out"
            )
        folder.write(record)
        return folder

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """The folder of a run that is there.

        Raises:
            InputError: it is no run's folder.
        """
        folder = cls(path)
        if not folder.record_path.is_file():
            raise InputError(
                path, "is not the folder of a run", "Name the one that `lacre run start` printed"
            )
        return folder

    def write(self, record: RunRecord) -> None:
        """Write the record, whole or not at all.

        Raises:
            InputError: the disk is full, or the like.
        """
        content = msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"
        try:
            jsonl.write_bytes(self.record_path, content)
        except OSError as error:
            what = f"cannot be written ({error.strerror})"
            raise InputError(self.record_path, what, remedy(error)) from None

    def record(self) -> RunRecord:
        """The record of the run.

        Raises:
            InputError: it is damaged.
        """
        try:
            return msgspec.json.decode(jsonl.read_bytes(self.record_path), type=RunRecord)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(self.record_path, f"is damaged: {error}", "Restore it from a copy") from None

    def sink(self) -> FileSink:
        """The journal, held for writing."""
        return FileSink(self.journal_path)

    def entries(self) -> Iterator[Entry]:
        """The entries of the journal; none before the first."""
        return read_journal(self.journal_path) if self.journal_path.exists() else entries((), "journal")

    def settled(self) -> dict[Task, Replied]:
        """The reply that holds for each task."""
        return settled(self.entries())


def classified(replies: Mapping[Task, Replied], questions: Iterable[Question]) -> Iterator[Classified]:
    """What the rule reads in each reply, in the order of column, item, repetition and part."""
    asked = {question.id: question for question in questions}
    for task in sorted(replies):
        question = asked[task.item]
        payload = question.payload
        yield Classified(
            column=task.column,
            item=task.item,
            repetition=task.repetition,
            part=task.part,
            kind=payload.kind,
            classification=classify_reply(
                replies[task].reply,
                payload.options if payload.kind == "choice" else {},
                key=payload.key if payload.kind == "choice" else None,
                expects=payload.expects,
            ),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Decided:
    """What the rule made of the replies of a run.

    Attributes:
        rows: what it read in each.
        answers: those with an outcome, by kind of item.
        counts, left: replies that it decided, and that it could not, by kind of item.
        forced: of ``left``, those that were given the outcome that the caller said.
    """

    rows: tuple[Classified, ...]
    answers: Mapping[str, tuple[Answer, ...]]
    counts: Mapping[str, int]
    left: Mapping[str, int]
    forced: int

    @property
    def whole(self) -> tuple[str, ...]:
        """The kinds of item whose every reply has an outcome: only those may be scored."""
        return tuple(kind for kind in self.answers if self.forced or not self.left.get(kind))

    @property
    def wholly_failed(self) -> tuple[str, ...]:
        """Columns whose every reply the rule found to be of class F, sorted."""
        all_failed: dict[str, bool] = {}
        for row in self.rows:
            failed = row.classification.outcome is Outcome.FAILURE
            all_failed[row.column] = all_failed.get(row.column, True) and failed
        return tuple(sorted(column for column, failed in all_failed.items() if failed))


def decided(
    replies: Mapping[Task, Replied], questions: Questions, *, undecided: Undecided | None = None
) -> Decided:
    """What the rule makes of the replies of a complete run; ``undecided`` says what the rest is to count as."""
    fields = {question.id: question for question in questions}
    rows = tuple(classified(replies, questions))
    counts, left = Counter[str](), Counter[str]()
    answers: dict[str, list[Answer]] = {}
    forced = 0
    for row in rows:
        outcome = row.classification.outcome
        (left if outcome is None else counts)[row.kind] += 1
        if outcome is None and undecided is not None:
            outcome = Outcome.WRONG if undecided == "wrong" else Outcome.FAILURE
            forced += 1
        if outcome is not None:
            answers.setdefault(row.kind, []).append(_answer(row, outcome, fields[row.item]))
    return Decided(
        rows=rows,
        answers={kind: tuple(of_kind) for kind, of_kind in answers.items()},
        counts=dict(counts),
        left=dict(left),
        forced=forced,
    )


def write_answers(
    folder: RunFolder, questions: Sequence[Question], *, complete: bool, undecided: Undecided | None = None
) -> Written:
    """Classify the replies of a complete run, and write what scoring reads.

    ``classified.jsonl`` has every reply. ``answers-choice.jsonl`` and ``answers-open.jsonl`` are written where
    every reply of that kind is decided; else the judges must come first, unless ``undecided`` says what the
    rest is to count as.

    Raises:
        IncompleteError: the run is not complete; nothing is written.
        InputError: the disk is full, or the like.
    """
    if not complete:
        raise IncompleteError(
            f"{folder.path}: the run is not complete, so that there is nothing to score. "
            f"Go on with: lacre run resume {shlex.quote(str(folder.path))}"
        )
    found = decided(folder.settled(), questions, undecided=undecided)
    names = found.whole
    places = {kind: folder.path / f"answers-{kind}.jsonl" for kind in ("choice", "open")}
    before = {kind for kind, path in places.items() if path.exists()}
    try:
        jsonl.write(folder.path / "classified.jsonl", found.rows, composed=False)
        for kind, path in places.items():
            if kind in names:
                jsonl.write(path, found.answers[kind], composed=False)
            else:
                # One of an earlier call would be taken for this one's.
                path.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            folder.path,
            f"the answers could not be written ({error.strerror})",
            f"{remedy(error)}, then: lacre run answers {shlex.quote(str(folder.path))}",
        ) from None
    return Written(
        answers=tuple(str(places[kind]) for kind in sorted(names)),
        replaced=tuple(str(places[kind]) for kind in sorted(before & {*names})),
        removed=tuple(str(places[kind]) for kind in sorted(before - {*names})),
        rows={kind: len(found.answers[kind]) for kind in sorted(names)},
        wholly_failed=found.wholly_failed,
        decided=dict(found.counts),
        undecided=dict(found.left),
        forced=found.forced,
    )


def _answer(row: Classified, outcome: Outcome, question: Question) -> Answer:
    return Answer(
        column=row.column,
        item=f"{row.item}#{row.part}" if row.part else row.item,
        repetition=row.repetition,
        outcome=outcome,
        confidence=row.classification.confidence,
        expects=question.payload.expects,
        looks_sensitive=question.payload.looks_sensitive,
        fields=dict(question.fields),
    )
