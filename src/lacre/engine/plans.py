"""What a run is to ask: questions, repetitions, parts, and the record that fixes them (SPEC L21, B6).

Where the questions come from is the caller's choice: a run is given :class:`Questions`, and asks each column in the
order in which they come. A tuple of :class:`Question` is one; a sealed run gives its own, which may open an item when
its turn comes. :func:`items_digest` does not depend on the order, so that a run may be resumed in another one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec

from lacre.engine.dialects import Request, request_of
from lacre.engine.journal import Task
from lacre.engine.messages import (
    Earlier,
    Message,
    Pictures,
    Template,
    TemplateName,
    choice_message,
    load_images,
    open_message,
    part_message,
    stripped,
    uncaptioned,
)
from lacre.errors import InputError, IntegrityError
from lacre.registry.columns import Column, Exchange
from lacre.registry.items import Item, Part, Payload
from lacre.registry.records import Record


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """An item as the engine asks it.

    Attributes:
        images: the folder in which the files of its images are, or their bytes by file name.
        fields: what results may be split by: layer, the axes of the matrix.
    """

    id: str
    payload: Payload
    images: Pictures = Path()
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[Part | None, ...]:
        """Its sub-questions in order; one none for an item that has none."""
        return self.payload.parts or (None,)


class Questions(Protocol):
    """Where questions come from: how many there are, and each in its turn.

    They are gone through several times, once for each column among others, and come in the same order each time.
    """

    def __len__(self) -> int:
        """How many there are."""

    def __iter__(self) -> Iterator[Question]:
        """Each once, in the order in which they are to be asked."""


class Repetitions(Record):
    """How often an item is asked, by its kind (L21)."""

    choice: int = 1
    open: int = 3

    def of(self, question: Question) -> int:
        """How often this one is asked."""
        return self.choice if question.payload.kind == "choice" else self.open


class RunRecord(Record, omit_defaults=False):
    """What a run is, written before its first question and changed only where a card was corrected.

    Attributes:
        columns: the cards as they were, without keys.
        templates: the literal messages, with the SHA-256 of their files.
        items, items_sha256: how many, and the digest of their ids and payloads.
        unstored: vendors are asked not to keep what they are sent, where their dialect knows how to say it.
        budget: dollars, as decimal text; none without a limit.
    """

    id: str
    stage: str
    source: str
    created: str
    version: str
    columns: tuple[Column, ...]
    templates: tuple[Template, ...]
    items: int
    items_sha256: str
    repetitions: Repetitions
    asked: tuple[str, ...] | None = None
    exchange: Exchange | None = None
    budget: str | None = None
    unstored: bool = False

    def template(self, name: TemplateName) -> Template:
        """The template of this name."""
        return next(template for template in self.templates if template.name == name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Chain:
    """One item to one column, once: its parts are asked one after the other."""

    column: str
    question: Question
    repetition: int

    def task(self, part: Part | None) -> Task:
        """The task of one of its parts."""
        return Task(self.column, self.question.id, self.repetition, part.id if part else "")


def questions_of(items: Sequence[Item], folder: Path) -> tuple[Question, ...]:
    """The questions of items, sorted by id, canaries taken out; ``folder`` holds their images."""
    return tuple(
        Question(
            id=item.id,
            payload=stripped(item.payload, item.canary),
            images=folder / item.layer,
            fields={"layer": item.layer, **item.cell},
        )
        for item in sorted(items, key=lambda item: item.id)
    )


def chains(questions: Questions, column: str, repetitions: Repetitions) -> Iterator[Chain]:
    """All that a column is asked, in order; made one by one, so that memory does not grow with the items."""
    for question in questions:
        for repetition in range(1, repetitions.of(question) + 1):
            yield Chain(column=column, question=question, repetition=repetition)


def expected(questions: Iterable[Question], repetitions: Repetitions) -> int:
    """How many replies one column owes."""
    return sum(len(question.parts) * repetitions.of(question) for question in questions)


def items_digest(questions: Iterable[Question]) -> str:
    """The SHA-256 of all ids and payloads, sorted by id: it tells whether a run still asks what it asked before."""
    # Digests alone are kept: of a sealed run, no two items need be open at a time.
    leaves = {
        question.id: hashlib.sha256(_encoded([question.id, question.payload])).digest()
        for question in questions
    }
    digest = hashlib.sha256()
    for _, leaf in sorted(leaves.items()):
        digest.update(leaf.hex().encode() + b"\n")
    return digest.hexdigest()


def _encoded(value: object) -> bytes:
    """The JSON of what items are made of: the bytes that msgspec writes, which runs there are were digested from.

    It would leave every text that is not ASCII twice in memory, as UTF-8 within the text, for as long as it lives.
    """
    plain = msgspec.to_builtins(value, order="deterministic")
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()


def compose(
    record: RunRecord, card: Column, chain: Chain, part: Part | None, earlier: Sequence[Earlier]
) -> Message:
    """The message for one task: what its template makes of the item."""
    payload = chain.question.payload
    images = load_images(payload, chain.question.images) if _inline(card, payload) else None
    if payload.kind == "choice":
        return choice_message(record.template("choice"), payload, images)
    if part is None:
        return open_message(record.template("open"), payload, images)
    return part_message(record.template("part"), payload, part, earlier, images)


def first_request(record: RunRecord, card: Column, question: Question) -> Request:
    """The request that puts a question, or its first part, to a column."""
    chain = Chain(column=card.id, question=question, repetition=1)
    return request_of(card, compose(record, card, chain, question.parts[0], ()), unstored=record.unstored)


def _inline(card: Column, payload: Payload) -> bool:
    return card.images == "inline" and bool(payload.images)


def check_questions(questions: Questions, cards: Sequence[Column]) -> None:
    """Refuse what could not be asked, before anything is.

    Raises:
        InputError: there is no item, a column completes text, or an image lacks the caption or the file that a
            column needs; the first of them is named, and how many there are.
        IntegrityError: an image is not the one that its item names.
    """
    if not len(questions):
        raise InputError("run", "there are no items to ask", "Check the benchmark, the layer and --item")
    for card in cards:
        if card.completes:
            raise InputError(
                f"column '{card.id}'",
                "goes on with a text and answers no question (dialect completions)",
                "Write a card in a chat dialect for runs; this one is for `lacre probe completion --mode completion`",
            )
        bare = [
            f"{question.id} ({file})"
            for question in questions
            for file in uncaptioned(question.payload, card.images)
        ]
        if bare:
            raise InputError(
                f"column '{card.id}'",
                f"gets captions, and {len(bare)} images have none: {', '.join(bare[:5])}",
                'Write captions, or set images = "inline" if the model sees images',
            )
    if broken := [question.id for question in questions if not _encodable(question.payload)]:
        raise InputError(
            f"item {broken[0]}",
            f"holds half a character (a lone surrogate), which cannot be sent; {len(broken)} items do",
            "Write the text anew",
        )
    if any(card.images == "inline" for card in cards):
        for question in questions:
            load_images(question.payload, question.images)


def _encodable(payload: Payload) -> bool:
    try:
        _encoded(payload)
    except UnicodeEncodeError:
        return False
    return True


def check_resumed(record: RunRecord, questions: Iterable[Question]) -> None:
    """Refuse to go on with other items than those that the run began with.

    Raises:
        IntegrityError: an item came, went or changed.
    """
    if items_digest(questions) != record.items_sha256:
        raise IntegrityError(
            f"run {record.id}: the items are not those that it began with. "
            "Restore them, or start another run: answers to different texts make no score."
        )
