"""The rules of the three layers: what every item must have before it counts (SPEC L1)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from lacre.errors import Fault
from lacre.registry.exams import Exam, is_address, is_sha256
from lacre.registry.items import CAPABILITIES, Item, Payload
from lacre.registry.matrix import Matrix, cell_name
from lacre.registry.records import Record

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_DECIMAL = re.compile(r"\d+(\.\d+)?")
_LETTER = re.compile(r"[A-Z]")

# What is wrong, and what to do about it.
Complaint = tuple[str, str]


class Surroundings(Record):
    """What an item is checked against. What is none is not known, and not asked about.

    Attributes:
        open_licence: the licence every open item must carry.
        in_workspace: whether the items stand in a file of the workspace, where no private text may be.
        benchmark: the benchmark they must belong to.
        layer: the layer they must belong to, for the folder says so.
    """

    open_licence: str
    in_workspace: bool = False
    benchmark: str | None = None
    layer: str | None = None
    matrix: Matrix | None = None
    exams: Mapping[str, Exam] | None = None


def layer_faults(items: Sequence[tuple[int, Item]], around: Surroundings) -> list[Fault]:
    """All that is wrong with items, each given with its line; in order of lines, empty when all is well.

    Text of an item is never quoted: it may be private (X5).
    """
    faults: list[Fault] = []
    seen: dict[str, int] = {}
    for line, item in items:
        if item.id in seen:
            what = f"item '{item.id}' is already on line {seen[item.id]}"
            faults.append(Fault(line, what, "Give each item an id of its own"))
        seen.setdefault(item.id, line)
        faults.extend(
            Fault(line, f"item '{item.id}': {what}", todo) for what, todo in _complaints(item, around)
        )
    return faults


def _complaints(item: Item, around: Surroundings) -> Iterator[Complaint]:
    if not _ID.fullmatch(item.id):
        yield "the id is not made of letters without accents, digits, '.', '_' and '-'", "Give it a plain id"
    yield from _place_complaints(item, around)
    yield from _layer_complaints(item, around)
    yield from _payload_complaints(item.payload)
    if item.payload.kind == "choice":
        yield from _choice_complaints(item)
    else:
        yield from _open_complaints(item.payload)
    if is_decomposed(msgspec.to_builtins(item)):
        yield "its text is not in NFC", "Normalise the file to NFC, or import it with `lacre items import`"


def _place_complaints(item: Item, around: Surroundings) -> Iterator[Complaint]:
    if around.benchmark is not None and item.benchmark != around.benchmark:
        yield (
            f"benchmark '{item.benchmark}' is not {around.benchmark}",
            "Move it to its own benchmark's folder",
        )
    elif around.matrix is not None and cell_name(item.cell) not in around.matrix.names():
        yield (
            f"cell '{cell_name(item.cell)}' is none of the matrix",
            "Give it a cell of matrix.toml, or add the cell there",
        )
    if around.layer is not None and item.layer != around.layer:
        yield (
            f"layer '{item.layer}' stands in a file of the {around.layer} layer",
            "Move it, or correct its layer",
        )


def _layer_complaints(item: Item, around: Surroundings) -> Iterator[Complaint]:
    source = item.source
    if item.layer == "official":
        yield from _official_complaints(item, around)
        return
    if source.exam is not None:
        yield (
            f"an item of the {item.layer} layer comes from exam '{source.exam}'",
            "New items come from no exam",
        )
    if source.annulled:
        yield f"an item of the {item.layer} layer is annulled", "Only an exam's board annuls"
    if item.layer == "open" and source.licence != around.open_licence:
        yield (
            f"its licence is not {around.open_licence}",
            f'Write "licence":"{around.open_licence}" in its source',
        )
    if item.layer == "private" and around.in_workspace:
        yield (
            "private text stands in a file of the workspace",
            "Move it out, into the vault, and out of git's history if it was committed",
        )


def _official_complaints(item: Item, around: Surroundings) -> Iterator[Complaint]:
    source = item.source
    exam = None
    if source.exam is None:
        yield "an official item names no exam", "Write its exam's id in source.exam"
    elif around.exams is not None:
        exam = around.exams.get(source.exam)
        if exam is None:
            yield (
                f"exam '{source.exam}' is not in exams.jsonl",
                "Add it there, with its dates and their source",
            )
        elif exam.key_date is None:
            yield (
                f"exam '{source.exam}' has no final key yet",
                "Write key_date in exams.jsonl once the key is final",
            )
    if source.number is None:
        yield "an official item has no number", "Write its number in the booklet in source.number"
    if source.url is None and exam is None:
        yield "an official item has no booklet", "Write the booklet's address in source.url"
    if source.url is not None and not is_address(source.url):
        yield "source.url is not a web address", "Write it in full, with https://"


def _payload_complaints(payload: Payload) -> Iterator[Complaint]:
    if not payload.stem.strip():
        yield "the stem is empty", "Write what is asked"
    if payload.passage is not None and not payload.passage.text.strip():
        yield "the passage is empty", "Write it, or leave it out"
    for image in payload.images:
        if not is_sha256(image.sha256):
            yield (
                f"sha256 of image '{image.file}' is not 64 lower-case hex digits",
                "Write what sha256sum prints",
            )
    for tag in payload.capabilities:
        if tag not in CAPABILITIES:
            yield f"capability '{tag}' does not exist", f"There are: {', '.join(CAPABILITIES)}"
    if len(set(payload.capabilities)) < len(payload.capabilities):
        yield "a capability is given twice", "Keep one of the two"


def _choice_complaints(item: Item) -> Iterator[Complaint]:
    payload = item.payload
    letters = ", ".join(payload.options)
    if len(payload.options) < 2:
        yield "a choice item has fewer than two options", "Write its options, or make it an open item"
    if [letter for letter in payload.options if not _LETTER.fullmatch(letter)]:
        yield "an option's letter is not one of A to Z", "Name the options A, B, C ..."
    elif list(payload.options) != sorted(payload.options):
        yield "the options are not in the order of their letters", "Sort them"
    blank = [letter for letter, text in payload.options.items() if not text.strip()]
    if blank and not payload.images:
        yield f"no text in option {', '.join(blank)}", "Write it, or add the image it stands for"
    texts = [text.strip() for text in payload.options.values() if text.strip()]
    if len(set(texts)) < len(texts):
        yield "two options say the same", "Change one of the two"
    if item.source.annulled:
        if payload.key is not None:
            yield "an annulled item has a key", "Leave the key out, or take annulled out"
    elif payload.key is None and payload.expects != "abstention":
        yield "no key", f"Write one of {letters}" if letters else "Write its letter"
    elif payload.key is not None and payload.key not in payload.options:
        yield "the key is none of the letters", f"Write one of {letters}" if letters else "Write its letter"
    if payload.parts:
        yield "a choice item has parts", "Parts belong to open items"


def _open_complaints(payload: Payload) -> Iterator[Complaint]:
    if payload.options:
        yield "an open item has options", "Make it a choice item, or take them out"
    if not payload.parts and payload.key is None and payload.expects != "abstention":
        yield "an open item has no expected answer", "Write its parts, each with an expected answer"
    if payload.parts and payload.key is not None:
        yield "an open item has both parts and a key", "Write the expected answers in the parts"
    names = [part.id for part in payload.parts]
    if len(set(names)) < len(names):
        yield "two parts have the same id", "Name them a, b, c ..."
    for part in payload.parts:
        if not part.expected.strip():
            yield f"part '{part.id}' has no expected answer", "Write it"
        if not _DECIMAL.fullmatch(part.points):
            yield (
                f"points of part '{part.id}' are not a decimal such as \"2.5\"",
                "Write digits, with a point",
            )
        if any(not criterion.strip() for criterion in part.criteria):
            yield f"part '{part.id}' has an empty criterion", "Write it, or take it out"


def is_decomposed(value: Any) -> bool:
    """Whether any text in a value made of texts, lists and objects is not in NFC.

    >>> is_decomposed({"stem": ["c\\u0327a"]})
    True
    """
    if isinstance(value, str):
        return not unicodedata.is_normalized("NFC", value)
    if isinstance(value, dict):
        return any(is_decomposed(part) for pair in value.items() for part in pair)
    return isinstance(value, list | tuple) and any(map(is_decomposed, value))
