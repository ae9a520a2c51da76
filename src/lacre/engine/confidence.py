"""The confidence that a reply states in its last line (SPEC L12)."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from lacre.engine.readable import Readable, readable, structured
from lacre.registry.records import Record

NOT_STATED = "the last line states no confidence"

_LABEL = re.compile(r"\b(?:(?:nivel|grau|indice)\s+de\s+)?(?:confianca|confidence|certeza)\b(?:\s+level)?")
_ASIDE = re.compile(r"^\s*\([^()]*\)")
_LEAD = re.compile(
    r"^(?:[\s:=~≈|]|[-–—]\s|\b(?:de|e|is|of|em|cerca|aproximadamente|about|around|approximately)\b)+"
)
_NUMBER = r"(?P<sign>[-−–]?)(?P<number>\d+(?:[.,]\d+)?|[.,]\d+)"
_SCALE = r"(?:\s*(?P<percent>%|por\s?cento\b|percent\b)|\s*(?:/|\bde\b|\bem\b|\bout\s+of\b)\s*(?P<of>\d+)\b)?"
_VALUE = re.compile(rf"^{_NUMBER}{_SCALE}(?P<after>.*)$")
_BARE = re.compile(rf"^{_NUMBER}{_SCALE}(?P<after>[.]?)$")
_TRAILING = re.compile(
    rf"(?<![\w.,]){_NUMBER}\s*(?P<percent>%|por\s?cento|percent)\s*(?:de\s+)?(?:confianca|certeza|confidence|confident)"
    r"(?P<of>(?!))?(?P<after>)"
)
_BOUND = re.compile(
    r"^(?:[<>≥≤]|mais\b|menos\b|acima\b|abaixo\b|entre\b|ate\b|over\b|under\b|above\b|below\b|between\b|up to\b)"
)
_QUOTES = "\"'“”‘’[]() \t"
_KEYS = ("confianca", "confidence", "certeza", "nivel_de_confianca", "confidence_level")


class Confidence(Record, omit_defaults=False):
    """What a reply says of its own certainty.

    Attributes:
        value: in [0, 1]; none where nothing that counts was stated.
        missing: why there is none.
        start, end: the stretch of the reply that states it, none where none does.
    """

    value: float | None
    missing: str | None = None
    start: int | None = None
    end: int | None = None


class _Stated(NamedTuple):
    """Words that state a confidence, from where to where in the readable text."""

    said: str
    start: int
    end: int


def confidence(reply: str) -> Confidence:
    r"""The confidence in the last line of ``reply``, in [0, 1].

    A percentage, a share with a decimal comma or point, or so many out of 10 or 100; 0 counts. A whole number
    without a sign is a percentage, for a message asks for one. Words ("alta"), ranges, bounds and values out
    of range are no confidence, and the record says which it was (SPEC L12).

    >>> [confidence(f"C\nConfiança: {said}").value for said in ("85%", "0,85", "7/10", "90", "0", "alta")]
    [0.85, 0.85, 0.7, 0.9, 0.0, None]
    >>> confidence("C\nConfiança: 120%").missing
    'the last line states 120%, which is not between 0 and 1'
    """
    fields = structured(reply)
    if fields is not None:
        return _of_fields(fields)
    read = readable(reply)
    stated = _stated(read)
    if stated is None:
        return Confidence(value=None, missing=NOT_STATED)
    start, end = read.places[stated.start], read.places[stated.end]
    value, missing = _valued(stated.said)
    return Confidence(value=value, missing=missing, start=start, end=end)


def without_confidence(reply: str, stated: Confidence) -> str:
    r"""The reply with blanks in the place of its statement of confidence, so that nothing else moves.

    >>> reply = "B\nConfiança: 85%"
    >>> without_confidence(reply, confidence(reply)).rstrip()
    'B'
    """
    if stated.start is None or stated.end is None:
        return reply
    return reply[: stated.start] + " " * (stated.end - stated.start) + reply[stated.end :]


def _stated(read: Readable) -> _Stated | None:
    """The statement in the last line that says anything; none when there is none."""
    end = len(read.text.rstrip())
    start = read.text.rfind("\n", 0, end) + 1
    line = read.plain[start:end]
    if found := _TRAILING.search(line):
        return _Stated(found[0], start + found.start(), end)
    labels = list(_LABEL.finditer(line))
    if labels:
        rest = _ASIDE.sub("", line[labels[-1].end() :])
        said = _LEAD.sub("", rest).strip()
        # "Não tenho certeza." names it and states nothing.
        if re.match(r"\s*[:=]", rest) or _VALUE.match(said.strip(_QUOTES)):
            return _Stated(said, start + labels[-1].start(), end)
        return None
    bare = _BARE.match(line.strip())
    # Without a name it must look like one, and not be the whole answer.
    if bare and read.text[:start].strip() and (bare["percent"] or bare["of"] or _is_share(bare["number"])):
        return _Stated(line.strip(), start, end)
    return None


def _is_share(number: str) -> bool:
    return not number.isdecimal() and float(number.replace(",", ".")) <= 1


def _valued(said: str) -> tuple[float | None, str | None]:
    """The value of a statement, or why it has none."""
    said = said.strip(_QUOTES)
    if _BOUND.match(said):
        return None, "the last line states a bound or a range, not a number"
    found = _VALUE.match(said)
    if found is None:
        return None, "the last line states its confidence in words"
    if re.search(r"\d", found["after"]):
        return None, "the last line states more than one number"
    value = _share(found)
    if value is None or not 0 <= value <= 1:
        written = said[: found.start("after")].strip()
        return None, f"the last line states {written}, which is not between 0 and 1"
    return value, None


def _share(found: re.Match[str]) -> float | None:
    """The number on the scale from 0 to 1; none when it is so many out of nothing."""
    number = float(found["number"].replace(",", ".")) * (-1 if found["sign"] else 1)
    if found["of"]:
        return number / int(found["of"]) if int(found["of"]) else None
    if found["percent"] or not _is_share(found["number"]):
        return number / 100
    return number


def _of_fields(fields: dict[str, Any]) -> Confidence:
    """The confidence that a JSON reply states in a field of that name."""
    said = next((fields[name] for name in _KEYS if name in fields), None)
    if isinstance(said, bool) or not isinstance(said, int | float | str):
        return Confidence(value=None, missing="the reply is JSON without a confidence")
    value, missing = _valued(_LEAD.sub("", str(said).lower()))
    return Confidence(value=value, missing=missing)
