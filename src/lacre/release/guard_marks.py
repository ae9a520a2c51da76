"""What small marks in public text mean: an id beside text, an address, a CPF, a table of few items."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Set
from typing import Any

import msgspec

from lacre.registry.rules import GuardRules
from lacre.release.guard_wanted import MAIL

BESIDE_VALUE, BESIDE_LINE = 5, 8
"""Words in one value of a record, or in one line, that are text and no longer a row's labels."""

_ROW = ("cell", "canary", "commitment", "batch", "group")
"""Fields of a public row, which may have words of their own, and the canary."""

_LETTERED = re.compile(r"[^\W\d_]{2,}")
_HELD_OUT = re.compile(r"\b[0-9a-f]{16,}\b")
_SAFE = ("example.com", "example.org", "example.net", ".example", ".invalid", ".test", ".localhost")
_FILES = ("png", "jpg", "jpeg", "gif", "svg", "webp", "css", "js", "py", "md", "txt", "json", "html", "pdf")
_AROUND = 300  # bytes of a line without end that count as beside a mark


def text_words(text: str) -> int:
    """How many words of a text are words, not hashes, numbers or ids.

    >>> text_words("Quem viu aquela gaivota? 3f9a 1b"), text_words("n-01 n-02 ab12cd34ef56ab12cd34")
    (4, 0)
    """
    plain = _HELD_OUT.sub(" ", text)
    return sum(1 for word in plain.split() if _LETTERED.search(word) and not any(map(str.isdigit, word)))


def linked(line: bytes, ids: Set[str], *, table: bool) -> frozenset[str]:
    """The ids of a line that stand beside text. ``table``: whether the line is a row of a CSV.

    >>> sorted(linked(b'{"id":"p-1","cell":{"area":"a"}}', {"p-1"}, table=False))
    []
    >>> sorted(linked(b'{"id":"p-1","stem":"Quem viu a gaivota no farol?"}', {"p-1"}, table=False))
    ['p-1']
    """
    if line.lstrip()[:1] in (b"{", b"["):
        try:
            return frozenset(_in_record(msgspec.json.decode(line), ids))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
    text = line.decode("utf-8", "replace")
    if table:
        by = max(",;\t|", key=text.count)
        cells = _cells(text, by)
        here = frozenset(cell.strip() for cell in cells) & ids
        if here and any(text_words(cell) >= BESIDE_VALUE for cell in cells if "CANARY " not in cell):
            return here
        return frozenset()
    return frozenset(ids) if text_words(text) >= BESIDE_LINE else frozenset()


def _cells(line: str, by: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=by), [])
    except csv.Error:
        return line.split(by)


def _in_record(value: Any, ids: Set[str]) -> Iterator[str]:
    """The ids that stand in an object which says something else, or that are the name of something said."""
    if isinstance(value, list):
        for part in value:
            yield from _in_record(part, ids)
        return
    if not isinstance(value, dict):
        return
    here = {part for part in value.values() if isinstance(part, str) and part in ids}
    if here and any(_says(part) for name, part in value.items() if name not in _ROW):
        yield from here
    for name, part in value.items():
        if name in ids and _says(part):
            yield name
        yield from _in_record(part, ids)


def _says(value: Any) -> bool:
    if isinstance(value, str):
        return text_words(value) >= BESIDE_VALUE
    if isinstance(value, dict):
        return any(_says(part) for name, part in value.items() if name not in _ROW)
    return isinstance(value, list) and any(map(_says, value))


def line_about(content: bytes, start: int, end: int) -> tuple[int, int]:
    """[start, end) of the line that holds a mark; of a line without end, a stretch about the mark."""
    low = content.rfind(b"\n", 0, start) + 1
    high = content.find(b"\n", end)
    return low, high if high >= 0 else len(content)


def stretch(content: bytes, start: int, end: int) -> bytes:
    """A line as it is, or no more of it than stands near the mark."""
    low, high = line_about(content, start, end)
    return content[max(low, start - _AROUND) : min(high, end + _AROUND)]


def address(content: bytes, at: int, public: Set[bytes]) -> bool:
    """Whether the ``@`` at a place is that of an e-mail address which may not go out.

    >>> address(b"ana@escola.br", 3, set()), address(b"ana@example.com", 3, set())
    (True, False)
    """
    low = at
    while low > 0 and at - low < 64 and re.match(rb"[A-Za-z0-9._%+-]", content[low - 1 : low]):
        low -= 1
    match = MAIL.match(content, low, at + 256)
    if match is None:
        return False
    mail = match[0].lower()
    local, _, domain = mail.decode("ascii").partition("@")
    ending = domain.rpartition(".")[2]
    return not (
        mail in public
        or local in ("git", "noreply")
        or ending in _FILES
        or any(
            domain == safe.lstrip(".") or domain.endswith(safe if safe[0] == "." else "." + safe)
            for safe in _SAFE
        )
    )


def is_cpf(text: bytes, public: Set[bytes]) -> bool:
    """Whether a text has the eleven digits of a CPF, its check digits right, and may not go out.

    Eleven times the same digit passes the check and is nobody's (Receita Federal).

    >>> is_cpf(b"529.982.247-25", set()), is_cpf(b"529.982.247-26", set()), is_cpf(b"111.111.111-11", set())
    (True, False, False)
    """
    digits = [byte - 48 for byte in text if 48 <= byte < 58]
    if len(digits) != 11 or len(set(digits)) == 1 or text in public:
        return False
    for size in (9, 10):
        total = sum(digit * weight for digit, weight in zip(digits, range(size + 1, 1, -1), strict=False))
        if total * 10 % 11 % 10 != digits[size]:
            return False
    return True


_PRIVATE = ("private", "privada", "sealed")
"""How a result, or what it stands in, says that it is of private items."""
_COUNTS = ("n", "items", "count", "total")
_FIGURES = (
    "accuracy",
    "value",
    "score",
    "mean",
    "correct",
    "estimate",
    "abstention",
    "outcomes",
    "penalised",
    "lo",
    "error",
)


def is_table_of_results(content: bytes) -> bool:
    """Whether the names of a table's columns are those of results: no other table need be taken apart.

    >>> is_table_of_results(b"layer,n,accuracy\\nprivate,3,0.5"), is_table_of_results(b"id,stem\\nx,privada")
    (True, False)
    """
    head = content.partition(b"\n")[0].decode("utf-8", "replace").lower()
    names = {name.strip(' "\r') for name in re.split(r"[,;\t|]", head)}
    return not names.isdisjoint(_COUNTS) and not names.isdisjoint(_FIGURES)


def few(value: Any, rules: GuardRules, private: bool = False) -> int:
    """How many results in a value rest on too few private items.

    A result is an object with a count and a figure; it is of private items where it, or what it stands in, has a
    layer, or a name, that says so.

    >>> rules = GuardRules(smallest_cell=20, contacts=())
    >>> few({"layer": "private", "strata": [{"n": 19, "accuracy": 0.5}, {"n": 20, "accuracy": 0.5}]}, rules)
    1
    """
    if isinstance(value, list):
        return sum(few(part, rules, private) for part in value)
    if not isinstance(value, dict):
        return 0
    private = private or _is_private(value.values()) or any(_is_private([name]) for name in value)
    if isinstance(value.get("layer"), str) and value["layer"] != "private":
        private = False
    counts = [value[name] for name in _COUNTS if isinstance(value.get(name), int | float)]
    small = private and any(0 < count < rules.smallest_cell for count in counts)
    here = int(small and any(name.lower() in _FIGURES for name in value))
    return here + sum(
        few(part, rules, private and name not in ("open", "official")) for name, part in value.items()
    )


def few_rows(lines: Iterable[str], rules: GuardRules) -> int:
    """As :func:`few`, for the rows of a CSV."""
    told = list(lines)
    by = max(",;\t|", key=told[0].count) if told else ","
    rows = [_cells(line, by) for line in told]
    names = [name.strip().lower() for name in rows[0]] if rows else []
    return sum(few(dict(zip(names, map(_number, row), strict=False)), rules) for row in rows[1:])


def _number(cell: str) -> str | float:
    try:
        return float(cell.replace(",", "."))
    except ValueError:
        return cell.strip()


def _is_private(values: Iterable[Any]) -> bool:
    return any(isinstance(value, str) and value.strip().lower() in _PRIVATE for value in values)
