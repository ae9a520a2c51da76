"""Results by stratum: any field of the answers, before or after a cutoff, seen or not (SPEC L5, L8, L13, B9)."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Literal, TypeAlias

import msgspec
import numpy as np
from scipy import special  # type: ignore[import-untyped]

from lacre.errors import InputError
from lacre.scoring.estimates import LEVEL, Estimate, Interval, Measured, Undefined
from lacre.scoring.intervals import clustered_mean, normal_quantile
from lacre.scoring.outcomes import Answer, items_of

Metric: TypeAlias = Callable[[Sequence[Answer]], Measured]
Side: TypeAlias = Literal["before", "after", "unknown"]

CUTOFF, SEEN = "cutoff", "seen"
"""Fields that :func:`with_cutoff` and :func:`lacre.scoring.contamination.with_marks` add."""

NOT_SAID = "(not said)"
"""The stratum of answers without the field."""

_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?")


class Stratum(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One value of the fields, and the metric there (SPEC L13).

    >>> Stratum(values=("law", "hard"), items=3, measured=Undefined(reason="none"), small=True).name
    'law / hard'

    Attributes:
        values: the value of each field.
        items: distinct items.
        small: whether they are fewer than a stratum should have; read the interval, not the point.
    """

    values: tuple[str, ...]
    items: int
    measured: Measured
    small: bool

    @property
    def name(self) -> str:
        """The values in one text.

        >>> Stratum(values=("law",), items=3, measured=Undefined(reason="none"), small=True).name
        'law'
        """
        return " / ".join(self.values)


class Strata(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All strata of some fields, sorted by their values (SPEC L5, L13).

    >>> by_fields([Answer(column="m", item="a", score=1.0, fields={"area": "law"})], ["area"], smallest=20).not_said
    0

    Attributes:
        smallest: items below which a stratum is small.
        not_said: answers that lack a field; they are in a stratum of that name.
    """

    fields: tuple[str, ...]
    strata: tuple[Stratum, ...]
    smallest: int
    not_said: int


def mean_value(answers: Sequence[Answer], *, level: float = LEVEL) -> Measured:
    """The mean of the answers' values over items, the item as the cluster of its runs.

    A correct answer counts 1, a scored one its score, all else 0 (SPEC L10, L21). Source:
    :func:`lacre.scoring.intervals.clustered_mean`.

    >>> mean_value([Answer(column="m", item=i, score=s) for i, s in (("a", 1.0), ("b", 0.0))]).value
    0.5
    """
    return clustered_mean(list(item_values(answers, runs=True).values()), level=level)


def item_values(answers: Sequence[Answer], *, runs: bool = False) -> dict[str, list[float]]:
    """The value of each item's runs, items sorted; without ``runs``, their mean alone (SPEC L21).

    >>> item_values([Answer(column="m", item="a", repetition=r, score=s) for r, s in ((1, 1.0), (2, 0.0))])
    {'a': [0.5]}
    """
    found: dict[str, list[float]] = {}
    for answer in sorted(answers, key=lambda answer: (answer.item, answer.repetition)):
        found.setdefault(answer.item, []).append(answer.value)
    return found if runs else {item: [sum(values) / len(values)] for item, values in found.items()}


def by_fields(
    answers: Iterable[Answer], fields: Sequence[str], metric: Metric = mean_value, *, smallest: int
) -> Strata:
    """A metric in every stratum of one or more fields (cell, subject, capability, layer, images ...).

    Answers without a field are a stratum of their own, never left out. A field that holds several values, parted
    by ``;`` (capabilities), puts the answer in each of their strata, so that strata may overlap.

    Source: SPEC L5, L13, B9.

    >>> answers = [Answer(column="m", item=i, score=s, fields={"area": a})
    ...            for i, s, a in (("a", 1.0, "law"), ("b", 0.0, "law"), ("c", 1.0, "health"))]
    >>> [(s.name, s.items, s.measured.value, s.small) for s in by_fields(answers, ["area"], smallest=2).strata]
    [('health', 1, 1.0, True), ('law', 2, 0.5, False)]

    Args:
        metric: any function from answers to a measured number, such as those of ``scoring.metrics``.
        smallest: items below which a stratum is flagged as small.

    Raises:
        InputError: no field is named, or no answer has one of them.
    """
    given = list(answers)
    if not fields:
        raise InputError("strata", "no field is named", "Name one, such as subject")
    for field in fields:
        if given and not any(field in answer.fields for answer in given):
            known = ", ".join(sorted({name for answer in given for name in answer.fields})) or "none"
            raise InputError(f"field '{field}'", "no answer has it", f"There are: {known}")
    groups: dict[tuple[str, ...], list[Answer]] = {}
    for answer in given:
        for values in places(answer, fields):
            groups.setdefault(values, []).append(answer)
    strata = [_stratum(values, group, metric, smallest) for values, group in sorted(groups.items())]
    return Strata(
        fields=tuple(fields),
        strata=tuple(strata),
        smallest=smallest,
        not_said=sum(any(not answer.fields.get(field) for field in fields) for answer in given),
    )


def places(answer: Answer, fields: Sequence[str]) -> list[tuple[str, ...]]:
    """The strata that an answer is in: one, or several where a field holds values parted by ``;``.

    Source: SPEC L13, B9.

    >>> places(Answer(column="m", item="a", score=1.0, fields={"tag": "TU; MR"}), ["tag"])
    [('TU',), ('MR',)]
    """
    found: list[tuple[str, ...]] = [()]
    for field in fields:
        values = [part.strip() for part in answer.fields.get(field, "").split(";") if part.strip()]
        found = [(*place, value) for place in found for value in dict.fromkeys(values or [NOT_SAID])]
    return found


def _stratum(values: tuple[str, ...], group: Sequence[Answer], metric: Metric, smallest: int) -> Stratum:
    items = len(items_of(group))
    return Stratum(values=values, items=items, measured=metric(group), small=items < smallest)


def span(text: str, name: str = "date") -> tuple[date, date]:
    """The first and the last day that a date may mean: a day, a month or a year (SPEC L5).

    >>> [day.isoformat() for day in span("2024-02")]
    ['2024-02-01', '2024-02-29']

    Raises:
        InputError: it is no date.
    """
    refused = InputError(name, f"'{text}' is no date", "Write 2024-11-03, 2024-11 or 2024")
    found = _DATE.fullmatch(text.strip())
    if found is None:
        raise refused
    year, month, day = (None if part is None else int(part) for part in found.groups())
    try:
        assert year is not None
        first = date(year, 1 if month is None else month, 1 if day is None else day)
        last_month = 12 if month is None else month
        last_day = calendar.monthrange(year, last_month)[1] if day is None else day
        return first, date(year, last_month, last_day)
    except ValueError:
        raise refused from None


def side_of_cutoff(published: str | None, cutoff: str | None) -> Side:
    """Whether something published on a date can have been read before a declared training cutoff.

    Both may be a day, a month or a year, and mean any day of it: "before" when the last day of publication is no
    later than the first day of the cutoff, "after" when the first day of publication is later than the last day
    of the cutoff, "unknown" otherwise, and when either is missing. An exam of the cutoff's own month is therefore
    unknown unless both days are known; an exam of the cutoff's own day is before.

    Source: SPEC L5.

    >>> side_of_cutoff("2024-11-03", "2024-06"), side_of_cutoff("2024-06-10", "2024-06")
    ('after', 'unknown')
    >>> side_of_cutoff("2023", "2024-01-01"), side_of_cutoff("2024-11-03", None)
    ('before', 'unknown')

    Raises:
        InputError: one of the two is no date.
    """
    if not published or not cutoff:
        return "unknown"
    first, last = span(published, "published")
    opens, closes = span(cutoff, "cutoff")
    if last <= opens:
        return "before"
    return "after" if first > closes else "unknown"


def with_cutoff(
    answers: Iterable[Answer], published: Mapping[str, str | None], cutoffs: Mapping[str, str | None]
) -> tuple[Answer, ...]:
    """The same answers with the field ``cutoff``: before, after or unknown (SPEC L5).

    >>> answer = Answer(column="m", item="a", score=1.0)
    >>> with_cutoff([answer], {"a": "2024-11-03"}, {"m": "2024-06"})[0].fields
    {'cutoff': 'after'}

    Args:
        published: the exam date of each item; an item that is not there has none.
        cutoffs: the declared training cutoff of each column, likewise.

    Raises:
        InputError: a date that is none.
    """
    return tuple(
        _with(answer, CUTOFF, side_of_cutoff(published.get(answer.item), cutoffs.get(answer.column)))
        for answer in answers
    )


def _with(answer: Answer, field: str, value: str) -> Answer:
    return msgspec.structs.replace(answer, fields={**answer.fields, field: value})


def gap(first: Sequence[float], second: Sequence[float], *, level: float = LEVEL) -> Measured:
    """The mean of one group of items less that of another, with Welch's interval.

    For strata of different items (before and after a cutoff, with and without images); one value for each item.
    SE^2 = s1^2 / n1 + s2^2 / n2, Student's t with Welch's degrees of freedom. ``n`` counts both groups.

    Source: Welch 1947, Biometrika 34:28-35; SPEC L5, B9.

    >>> found = gap([1, 1, 0, 1], [0, 1, 0, 0])
    >>> found.value, round(found.interval.lo, 3), round(found.interval.hi, 3)
    (0.5, -0.365, 1.365)

    Raises:
        InputError: a value that is no finite number, or a level outside (0, 1).
    """
    normal_quantile(level)
    groups = [np.asarray(values, dtype=np.float64) for values in (first, second)]
    if not all(bool(np.isfinite(values).all()) for values in groups):
        raise InputError("values", "one is no finite number", "Correct it, or leave the item out")
    n = sum(map(len, groups))
    for values, name in zip(groups, ("first", "second"), strict=True):
        if len(values) == 0:
            return Undefined(reason=f"the {name} group has no items", n=n)
    value = float(groups[0].mean() - groups[1].mean())
    method = "difference of means"
    if min(map(len, groups)) < 2:
        lone = Undefined(reason="a group of one item has no spread", n=n)
        return Estimate(value=value, interval=lone, n=n, method=method)
    parts = [float(values.var(ddof=1)) / len(values) for values in groups]
    error = sum(parts) ** 0.5
    if error == 0:
        flat = Undefined(reason="no item of either group differs from the others there", n=n)
        return Estimate(value=value, interval=flat, n=n, method=method, standard_error=0.0)
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(values) - 1) for part, values in zip(parts, groups, strict=True)
    )
    half = float(special.stdtrit(freedom, (1 + level) / 2)) * error
    interval = Interval(lo=value - half, hi=value + half, level=level, method="Welch, Student's t")
    return Estimate(value=value, interval=interval, n=n, method=method, standard_error=error)
