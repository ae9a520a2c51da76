"""Files of answers: JSONL, JSON, CSV, TSV or Parquet, one answer a row, classed, scored or as letters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from lacre.errors import Fault, InputError, RecordError
from lacre.registry.records import Record
from lacre.registry.tables import Row, Table, read_table
from lacre.scoring.outcomes import Answer, Expects, Outcome

FIELDS = (
    "column",
    "item",
    "repetition",
    "outcome",
    "score",
    "answer",
    "key",
    "confidence",
    "expects",
    "looks_sensitive",
)
"""What a row may say of an answer; ``--map`` gives them the names of its columns."""

ANNULLED = frozenset({"anulada", "anulado", "nula", "annulled", "*", "x"})
"""Keys of questions that an exam board annulled, in lower case: no answer to them is right or wrong."""

_TEXT_FORMATS = (".csv", ".tsv", ".tab")
_PACKINGS = (".gz", ".zst", ".bz2", ".xz")
_LABEL = re.compile(r"[\W_]*(?:(?P<letter>[^\W\d_])|(?P<number>\d{1,2}))[\W_]*")
_DECIMAL = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
_FLOATED = re.compile(r"-?\d+\.0+")
_WHOLE = re.compile(r"\s*\d+(\.0*)?")
_YES = ("true", "1", "yes", "sim")
_NO = ("false", "0", "no", "não", "nao")


class ReadAnswers(Record, omit_defaults=False):
    """The answers of some files, and what was noticed while reading them.

    Attributes:
        unlettered: answers of each column that are neither empty nor an option, and the class they were given.
        empty: empty answers of each column, counted as failures (SPEC L10).
        correct_abstentions: answers called correct on items that expect an abstention: they count in C.
        recoded: lines that were not UTF-8 and were read as Windows-1252.
        annulled: rows left out, for their key says that the question was annulled (:data:`ANNULLED`).
        whole_ids: items written as 2.0 and read as 2.
    """

    answers: tuple[Answer, ...]
    unlettered: dict[str, int]
    unlettered_as: Outcome
    empty: dict[str, int]
    correct_abstentions: int = 0
    recoded: int = 0
    annulled: int = 0
    whole_ids: int = 0

    def remarks(self) -> tuple[str, ...]:
        """What a person should know about the files, one sentence each; empty when there is nothing to say."""
        letter = self.unlettered_as.letter
        said = (
            (
                self.unlettered,
                f"{_listed(self.unlettered)} hold no option and count as {letter} ({self.unlettered_as.value});"
                " --unlettered says otherwise",
            ),
            (self.empty, f"{_listed(self.empty)} are empty and count as F (failure)"),
            (
                self.correct_abstentions,
                f"{self.correct_abstentions:,} answers are called correct on items that expect an abstention;"
                " they count in C, and an abstention there would be A",
            ),
            (
                self.annulled,
                f"{self.annulled:,} answers are left out: their key says that the question was annulled",
            ),
            (self.whole_ids, f"{self.whole_ids:,} items are written like 2.0 and were read as 2"),
            (self.recoded, f"{self.recoded:,} lines were not UTF-8 and were read as Windows-1252"),
        )
        return tuple(sentence for there, sentence in said if there)


class RowError(ValueError):
    """A row that is no answer; the message says what is wrong and what to do."""


def read_answers(
    paths: Sequence[Path],
    mapping: Mapping[str, str] | None = None,
    *,
    keep: Sequence[str] = (),
    unlettered: Outcome = Outcome.WRONG,
) -> ReadAnswers:
    """The answers in ``paths``, each row one answer of one column to one item.

    A row says ``column`` (else the file's own name stands for it), ``item``, and one of: ``outcome`` (C, E, A,
    R, F or the English word), ``score`` (0 to 1), or ``answer`` with ``key`` (option letters or numbers, with
    punctuation around them or without). It may say ``repetition``, ``confidence``, ``expects`` and
    ``looks_sensitive``. An answer that holds no option becomes ``unlettered``; an empty one a failure.

    Args:
        mapping: fields and the columns that hold them (:func:`parse_answer_mapping`).
        keep: other columns to carry in :attr:`Answer.fields`; ``cell.area`` reaches into an object.

    Raises:
        InputError: a file is missing, damaged, empty, or lacks a column that is needed.
        RecordError: lists every bad line of the first file that has some.
    """
    taken: dict[tuple[str, str, int], str] = {}
    answers: list[Answer] = []
    unread: Counter[str] = Counter()
    empty: Counter[str] = Counter()
    recoded = annulled = whole_ids = 0
    for path in paths:
        table = read_table(path)
        if not table.rows and not table.faults:
            raise InputError(path, "no answers", "Give a file with at least one row")
        reader = _Reader(path, table, dict(mapping or {}), tuple(keep), unlettered)
        faults = list(table.faults)
        for row in table.rows:
            try:
                if reader.is_annulled(row):
                    annulled += 1
                    continue
                answers.append(_untaken(reader.answer(row), f"{path}:{row.line}", taken))
            except RowError as error:
                faults.append(Fault(row.line, str(error)))
        if faults:
            raise RecordError(path, sorted(faults, key=lambda fault: fault.line))
        unread += reader.unlettered
        empty += reader.empty
        recoded += table.recoded
        whole_ids += reader.whole_ids
    return ReadAnswers(
        answers=tuple(answers),
        unlettered=dict(sorted(unread.items())),
        unlettered_as=unlettered,
        empty=dict(sorted(empty.items())),
        correct_abstentions=sum(
            answer.outcome is Outcome.CORRECT and answer.expects == "abstention" for answer in answers
        ),
        recoded=recoded,
        annulled=annulled,
        whole_ids=whole_ids,
    )


def _untaken(answer: Answer, place: str, taken: dict[tuple[str, str, int], str]) -> Answer:
    """The answer, noted as taken; a RowError where its run has an answer already."""
    run = (answer.column, answer.item, answer.repetition)
    if run in taken:
        raise RowError(
            f"column '{run[0]}' answers item '{run[1]}', repetition {run[2]}, at {taken[run]} already."
            " Keep one, or number the runs in a column `repetition`"
        )
    taken[run] = place
    return answer


def parse_answer_mapping(texts: Iterable[str]) -> dict[str, str]:
    """Fields and the columns that hold them, from ``item=id,answer=pred``, once or repeated.

    >>> parse_answer_mapping(["item=id,answer=pred"])
    {'item': 'id', 'answer': 'pred'}

    Raises:
        InputError: a part is not field=column, or the field does not exist or is given twice.
    """
    mapping: dict[str, str] = {}
    for part in (part.strip() for text in texts for part in text.split(",")):
        field, equals, column = (piece.strip() for piece in part.partition("="))
        if not (field and equals and column):
            raise InputError("--map", f"'{part}' is not field=column", "Write --map item=id,answer=pred")
        if field not in FIELDS:
            raise InputError(
                "--map", f"'{field}' is no field of an answer", f"There are: {', '.join(FIELDS)}"
            )
        if field in mapping:
            raise InputError("--map", f"{field} is given twice", "Give it one column")
        mapping[field] = column
    return mapping


def option_label(text: str) -> str | None:
    """The option that a short answer names, without the punctuation around it; none when it names none.

    A letter in capitals, or a number of one or two digits. No sentence is searched for a letter here.

    >>> option_label("(b)"), option_label("D."), option_label("Não tenho certeza")
    ('B', 'D', None)
    """
    found = _LABEL.fullmatch(text.strip())
    if found is None:
        return None
    return found["letter"].upper() if found["letter"] else str(int(found["number"]))


class _Reader:
    """One file's rows as answers; counts what it had to decide."""

    def __init__(
        self,
        path: Path,
        table: Table,
        mapping: dict[str, str],
        keep: Sequence[str],
        unlettered: Outcome,
    ) -> None:
        columns = table.columns
        there = f"The columns are: {', '.join(columns) or 'none'}"
        for field, name in mapping.items():
            if name.partition(".")[0] not in columns and name not in columns:
                raise InputError(path, f"no column '{name}' (for {field})", there)
        for name in keep:
            if name.partition(".")[0] not in columns and name not in columns and "fields" not in columns:
                raise InputError(path, f"no column '{name}' to split by", there)
        self.names = {field: mapping.get(field, field) for field in FIELDS}
        has = {
            field
            for field, name in self.names.items()
            if name.partition(".")[0] in columns or name in columns
        }
        if "item" not in has:
            raise InputError(path, "no column 'item'", f"{there}. Name it with --map item=COLUMN")
        if not ({"outcome", "score"} & has or {"answer", "key"} <= has):
            raise InputError(
                path,
                "no column 'outcome' or 'score', nor 'answer' with 'key'",
                f"{there}. Name one with --map answer=COLUMN,key=COLUMN",
            )
        self.keep = keep
        self.as_text = _is_text(path)
        # A table program wrote a whole column of numbers as 2.0; beside 2.1 it would be a name of its own.
        ids = [str(_value(row, self.names["item"]) or "").strip() for row in table.rows]
        self.floated = self.as_text and all(_FLOATED.fullmatch(text) for text in ids if text)
        self.whole_ids = 0
        self.column = None if "column" in has else _stem(path)
        self.unlettered_as = unlettered
        self.unlettered: Counter[str] = Counter()
        self.empty: Counter[str] = Counter()

    def answer(self, row: Row) -> Answer:
        """The answer of one row; a RowError says what is wrong with it."""
        column = self.column or self._name(row, "column")
        outcome = self._outcome(row, column)
        return Answer(
            column=column,
            item=self._item(row),
            repetition=self._repetition(row),
            outcome=outcome,
            score=self._share(row, "score"),
            confidence=self._share(row, "confidence"),
            expects=self._expects(row),
            looks_sensitive=self._flag(row, "looks_sensitive"),
            fields={name: _shown(_kept(row, name)) for name in self.keep},
        )

    def _get(self, row: Row, field: str) -> Any:
        value = _value(row, self.names[field])
        return None if isinstance(value, str) and not value.strip() else value

    def _name(self, row: Row, field: str) -> str:
        value = self._get(row, field)
        if value is None or isinstance(value, dict | list):
            raise RowError(f"no {field}. Say whose answer it is, and to which item")
        return str(value).strip()

    def _item(self, row: Row) -> str:
        """The item's id; a whole number that was written as a float is read as whole."""
        value = self._get(row, "item")
        if isinstance(value, float) and value.is_integer():
            self.whole_ids += 1
            return str(int(value))
        name = self._name(row, "item")
        if not self.floated:
            return name
        self.whole_ids += 1
        return name.partition(".")[0]

    def is_annulled(self, row: Row) -> bool:
        """Whether the row's class would come from a key that says that the question was annulled."""
        key = self._get(row, "key")
        told = self._get(row, "outcome") is not None or self._get(row, "score") is not None
        return key is not None and not told and str(key).strip().casefold() in ANNULLED

    def _outcome(self, row: Row, column: str) -> Outcome | None:
        """The class: as written, or from answer and key; none where there is a score alone."""
        value = self._get(row, "outcome")
        self._refuse_contradiction(row)
        if value is not None:
            outcome = Outcome.of(str(value))
            if outcome is None:
                words = ", ".join(f"{known.letter} ({known.value})" for known in Outcome)
                raise RowError(f"outcome '{_short(value)}' is none of {words}")
            return outcome
        if self._get(row, "score") is not None:
            return None
        key = self._get(row, "key")
        if key is None:
            raise RowError(
                'neither outcome nor score nor key. Write {"item": ..., "outcome": ...}, or score, or answer and key'
            )
        right = option_label(str(key))
        if right is None:
            raise RowError(f"key '{_short(key)}' is no option letter or number. Correct it")
        given = self._get(row, "answer")
        if given is None:
            self.empty[column] += 1
            return Outcome.FAILURE
        label = option_label(str(given))
        if label is None or label.isdigit() != right.isdigit():
            self.unlettered[column] += 1
            return self.unlettered_as
        return Outcome.CORRECT if label == right else Outcome.WRONG

    def _refuse_contradiction(self, row: Row) -> None:
        """Refuse a row that says what the answer is worth in two ways that do not agree."""
        given, score = self._get(row, "outcome"), self._share(row, "score")
        key, text = self._get(row, "key"), self._get(row, "answer")
        if score is not None and key is not None and text is not None:
            raise RowError("score beside answer and key. Keep the one that counts")
        stated = None if given is None else Outcome.of(str(given))
        if stated is None or not stated.attempted:
            return
        if score in (0, 1) and (stated is Outcome.CORRECT) != (score == 1):
            raise RowError(f"outcome {stated.letter} and score {score:g} contradict each other. Keep one")
        right, label = (None if cell is None else option_label(str(cell)) for cell in (key, text))
        if right is None or label is None or right.isdigit() != label.isdigit():
            return
        if (stated is Outcome.CORRECT) != (label == right):
            raise RowError(
                f"outcome {stated.letter}, but answer '{_short(text)}' and key '{_short(key)}' say otherwise."
                " Keep what is right"
            )

    def _repetition(self, row: Row) -> int:
        value = self._get(row, "repetition")
        if value is None:
            return 1
        if isinstance(value, str) and self.as_text and _WHOLE.fullmatch(value.strip()):
            value = int(value.partition(".")[0])
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise RowError(f"repetition '{_short(value)}' is no whole number from 1. Count the runs from 1")
        return value

    def _share(self, row: Row, field: str) -> float | None:
        """A number in [0, 1], with decimal point or comma; in formats that have numbers, no text."""
        value = self._get(row, field)
        if value is None:
            return None
        if isinstance(value, str) and self.as_text and _DECIMAL.fullmatch(value.strip()):
            value = float(value.strip().replace(",", "."))
        if isinstance(value, str):
            raise RowError(
                f"{field} '{_short(value)}' is text. Write a number from 0 to 1, or leave it empty"
            )
        # Written so that NaN fails it too.
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise RowError(
                f"{field} '{_short(value)}' is no number from 0 to 1. Correct it, or leave it empty"
            )
        return float(value)

    def _expects(self, row: Row) -> Expects:
        value = self._get(row, "expects")
        for known in get_args(Expects):
            if value is None or value == known:
                return "answer" if value is None else known
        raise RowError(f"expects '{_short(value)}' is not {', '.join(get_args(Expects))}. Correct it")

    def _flag(self, row: Row, field: str) -> bool:
        value = self._get(row, field)
        text = str(value).strip().casefold()
        if value is None or text in _NO:
            return False
        if text in _YES:
            return True
        raise RowError(f"{field} '{_short(value)}' is neither true nor false. Correct it")


def _value(row: Row, name: str) -> Any:
    """The value of a column, or the one nested in it under a dotted name; none where there is none."""
    if name in row.values:
        return row.values[name]
    value: Any = row.values
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _kept(row: Row, name: str) -> Any:
    """The value of a column to split by; answers that lacre wrote keep theirs in ``fields``."""
    value = _value(row, name)
    return _value(row, f"fields.{name}") if value is None else value


def _shown(value: Any) -> str:
    """A value to split by, as text: an object as ``axis=value/axis=value``, a list parted by ``;``."""
    if isinstance(value, dict):
        return "/".join(f"{axis}={_shown(part)}" for axis, part in sorted(value.items()))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ";".join(map(_shown, value))
    return "" if value is None else str(value).strip()


def _is_text(path: Path) -> bool:
    """Whether the format writes numbers as text, as CSV does."""
    return Path(_plain(path)).suffix.lower() not in (".jsonl", ".ndjson", ".json", ".parquet")


def _plain(path: Path) -> str:
    return path.stem if path.suffix.lower() in _PACKINGS else path.name


def _stem(path: Path) -> str:
    """A file's name without its format."""
    name = Path(_plain(path))
    known = (*_TEXT_FORMATS, ".jsonl", ".ndjson", ".json", ".parquet")
    return name.stem if name.suffix.lower() in known else name.name


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 40 else text[:39] + "…"


def _listed(counts: Mapping[str, int]) -> str:
    """Counts with their columns: ``12 answers (m1 9, m2 3)``."""
    total = sum(counts.values())
    return f"{total:,} answers ({', '.join(f'{name} {count:,}' for name, count in counts.items())})"
