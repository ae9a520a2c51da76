"""Audits of letter extraction: which were drawn, who checked them by hand, and the error rate (SPEC L15)."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from lacre import jsonl
from lacre.errors import Fault, InputError, RecordError
from lacre.registry.records import Record
from lacre.scoring.estimates import Measured
from lacre.scoring.intervals import proportion

SIZE = 100
"""Extractions that are checked by hand (SPEC L15)."""
NO_LETTER = "none"
"""What a check says where a reader cannot tell any letter."""

_DOMAIN = b"LACRE-AUDIT-v1\0"


class Extraction(Record, tag="extraction", tag_field="record"):
    """A letter that the rule read in one answer, and by which rule. ``sha256`` is of the answer's text."""

    id: str
    column: str
    item: str
    repetition: int
    letter: str
    rule: str
    sha256: str


class Drawing(Record, tag="drawing", tag_field="record"):
    """How an audit was drawn: from how many letters, of a source with this SHA-256, with which seed."""

    seed: int
    population: int
    source: str
    columns: tuple[str, ...]


class Check(Record, tag="check", tag_field="record"):
    """One reading by a person: the letter that the answer gives, ``none`` where no letter can be told."""

    extraction: str
    right: str
    who: str
    when: str
    note: str = ""


Entry: TypeAlias = Drawing | Extraction | Check


class Audit(Record, omit_defaults=False):
    """An audit as it stands in its file."""

    drawing: Drawing
    extractions: tuple[Extraction, ...]
    checks: tuple[Check, ...] = ()

    def find(self, id: str) -> Extraction | None:
        """The extraction of this id, none when there is none."""
        return next((each for each in self.extractions if each.id == id), None)

    def unchecked(self, who: str) -> tuple[Extraction, ...]:
        """The extractions that a person has not checked, in order."""
        done = {check.extraction for check in self.checks if check.who == who}
        return tuple(each for each in self.extractions if each.id not in done)


class WrongLetter(Record, omit_defaults=False):
    """An extraction that people read otherwise."""

    extraction: str
    column: str
    item: str
    rule: str
    letter: str
    right: str


class AuditReport(Record, omit_defaults=False):
    """What an audit found.

    Attributes:
        error: share of wrong letters among the settled ones, with Wilson's interval.
        exact: the same share with the interval of Clopper and Pearson.
        unchecked: extractions that nobody has checked.
        disputed: those on which people differ and no majority decides: a third person's to settle.
        readers: checks by each person.
        rules: settled extractions by rule, and how many of them were wrong.
    """

    population: int
    drawn: int
    settled: int
    wrong: tuple[WrongLetter, ...]
    error: Measured
    exact: Measured
    unchecked: tuple[str, ...]
    disputed: tuple[str, ...]
    readers: dict[str, int]
    rules: dict[str, tuple[int, int]]

    @property
    def complete(self) -> bool:
        """Whether every extraction is settled."""
        return not self.unchecked and not self.disputed


def draw(letters: Iterable[Extraction], *, seed: int, source: str, size: int = SIZE) -> Audit:
    """An audit of ``size`` extractions, or of all when there are fewer, drawn without replacement.

    Whoever has the same letters repeats it in any language: extractions in the order of SHA-256 of
    ``"LACRE-AUDIT-v1\\0" + seed + "\\0" + column + "\\0" + item + "\\0" + repetition``, numbers in decimal; the
    first ``size`` are drawn. The order of ``letters`` does not matter.

    Args:
        source: SHA-256 of what they were read from.

    Raises:
        InputError: there are no letters, or the size is below 1.
    """
    if size < 1:
        raise InputError("--size", f"{size} is below 1", f"LUA's rule asks for {SIZE}")
    ranked = sorted(letters, key=lambda each: _rank(seed, each))
    if not ranked:
        raise InputError("audit", "the rule read no letter there", "Classify answers to choice items first")
    width = len(str(size))
    return Audit(
        drawing=Drawing(
            seed=seed,
            population=len(ranked),
            source=source,
            columns=tuple(sorted({each.column for each in ranked})),
        ),
        extractions=tuple(
            msgspec.structs.replace(each, id=f"x{number:0{width}}")
            for number, each in enumerate(ranked[:size], 1)
        ),
    )


def _rank(seed: int, each: Extraction) -> bytes:
    parts = (str(seed), each.column, each.item, str(each.repetition))
    return hashlib.sha256(_DOMAIN + "\0".join(parts).encode()).digest()


def write_audit(path: Path, audit: Audit) -> None:
    """Write an audit, whole or not at all: the drawing, the extractions, then the checks as they came."""
    entries: tuple[Entry, ...] = (audit.drawing, *audit.extractions, *audit.checks)
    jsonl.write(path, entries)


def read_audit(path: Path) -> Audit:
    """The audit in a file.

    Raises:
        InputError: the file is missing or is no audit.
        RecordError: lists every bad line.
    """
    lines: jsonl.Lines[Entry] = jsonl.read_lines(path, Entry)  # type: ignore[arg-type]
    faults = list(lines.faults)
    drawings: list[Drawing] = []
    extractions: dict[str, Extraction] = {}
    checks: list[Check] = []
    for number, entry in lines.records:
        match entry:
            case Drawing():
                drawings.append(entry)
            case Extraction():
                if entry.id in extractions:
                    faults.append(Fault(number, f"extraction '{entry.id}' is there twice", "Keep one"))
                extractions[entry.id] = entry
            case Check():
                if entry.extraction not in extractions:
                    faults.append(
                        Fault(number, f"extraction '{entry.extraction}' was not drawn", "Take the check out")
                    )
                checks.append(entry)
    if faults:
        raise RecordError(path, sorted(faults, key=lambda fault: fault.line))
    if len(drawings) != 1 or not extractions:
        raise InputError(path, "is no audit", "Draw one with `lacre classify audit draw`")
    return Audit(drawing=drawings[0], extractions=tuple(extractions.values()), checks=tuple(checks))


def add_check(audit: Audit, check: Check, letters: Sequence[str] | None = None) -> Audit:
    """The audit with one more check. A later check of a person takes the place of her earlier one.

    Raises:
        InputError: no such extraction, no name, or no letter of the item.
    """
    if audit.find(check.extraction) is None:
        raise InputError(
            f"extraction '{check.extraction}'",
            "was not drawn",
            f"There are: {audit.extractions[0].id} to {audit.extractions[-1].id}",
        )
    if not check.who.strip():
        raise InputError("--who", "no name", "Say who read the answer")
    if check.right != NO_LETTER and not (
        len(check.right) == 1 and check.right.isascii() and check.right.isupper()
    ):
        raise InputError("--right", f"'{check.right}' is no letter", f"Give a letter, or {NO_LETTER}")
    if letters and check.right != NO_LETTER and check.right not in letters:
        raise InputError(
            "--right", f"{check.right} is no option of the item", f"There are: {', '.join(letters)}"
        )
    return Audit(drawing=audit.drawing, extractions=audit.extractions, checks=(*audit.checks, check))


def report(audit: Audit) -> AuditReport:
    """What the checks say: the error rate over the extractions that are settled, and what is open.

    An extraction is settled when those who checked it agree, or more of them agree than differ. It is wrong when
    they read another letter, or none.
    """
    votes = _votes(audit)
    settled: dict[str, str] = {}
    disputed: list[str] = []
    for each in audit.extractions:
        ranked = Counter(votes.get(each.id, {}).values()).most_common(2)
        if len(ranked) == 1 or (len(ranked) == 2 and ranked[0][1] > ranked[1][1]):
            settled[each.id] = ranked[0][0]
        elif ranked:
            disputed.append(each.id)
    done = [each for each in audit.extractions if each.id in settled]
    wrong = tuple(
        WrongLetter(
            extraction=each.id,
            column=each.column,
            item=each.item,
            rule=each.rule,
            letter=each.letter,
            right=settled[each.id],
        )
        for each in done
        if settled[each.id] != each.letter
    )
    empty = "no extraction is settled yet"
    missed = {each.extraction for each in wrong}
    rules = Counter(each.rule for each in done)
    errors = Counter(each.rule for each in done if each.id in missed)
    return AuditReport(
        population=audit.drawing.population,
        drawn=len(audit.extractions),
        settled=len(done),
        wrong=wrong,
        error=proportion(len(wrong), len(done), empty=empty),
        exact=proportion(len(wrong), len(done), method="clopper-pearson", empty=empty),
        unchecked=tuple(each.id for each in audit.extractions if each.id not in votes),
        disputed=tuple(disputed),
        readers=dict(sorted(Counter(who for each in votes.values() for who in each).items())),
        rules={rule: (rules[rule], errors[rule]) for rule in sorted(rules)},
    )


def _votes(audit: Audit) -> dict[str, dict[str, str]]:
    """The letter that each person read last, by extraction."""
    votes: dict[str, dict[str, str]] = {}
    for check in audit.checks:
        votes.setdefault(check.extraction, {})[check.who] = check.right
    return votes
