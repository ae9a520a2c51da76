"""Difference in differences: what an older set gains a column beyond its age (SPEC L5, L8).

A column that does better on exams from before its cutoff may have read them, or those exams may be easier. Columns
whose cutoff precedes *both* sets have read neither: what they gain on the older one is how much easier it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from lacre.errors import InputError
from lacre.scoring.estimates import LEVEL, Estimate, Measured, Undefined
from lacre.scoring.outcomes import Answer, by_column
from lacre.scoring.strata import gap, item_values, side_of_cutoff


class Gain(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a column gains on the older set, beyond what the reference columns gain (SPEC L5).

    >>> nothing = Undefined(reason="no column's cutoff precedes both sets")
    >>> str(Gain(column="m", estimate=nothing, own=nothing, of_references=nothing, references=(),
    ...          older=0, newer=0, left_out=0).estimate)
    "undefined: no column's cutoff precedes both sets"

    Attributes:
        estimate: the difference in differences.
        own: the column's mean on the older set less that on the newer one.
        of_references: the same for the mean of the reference columns.
        references: the columns that it was measured against.
        older, newer: items used of each set.
        left_out: items of the sets that some of these columns did not answer.
    """

    column: str
    estimate: Measured
    own: Measured
    of_references: Measured
    references: tuple[str, ...]
    older: int
    newer: int
    left_out: int


def references(
    cutoffs: Mapping[str, str | None], published: Iterable[str | None], *, apart: Collection[str] = ()
) -> tuple[str, ...]:
    """The columns whose cutoff precedes everything that was published, sorted.

    A column without a cutoff, or with one too imprecise to tell, is none; nor is any where a date is missing.

    Source: SPEC L5; :func:`lacre.scoring.strata.side_of_cutoff`.

    >>> references({"old": "2021-06", "new": "2024", "silent": None}, ["2022-11-13", "2023-11-05"])
    ('old',)

    Args:
        published: the dates of both sets.
        apart: columns that are not to be references, such as the one that is measured.

    Raises:
        InputError: a date that is none.
    """
    dates = set(published)
    return tuple(
        sorted(
            column
            for column, cutoff in cutoffs.items()
            if column not in apart and dates and all(side_of_cutoff(day, cutoff) == "after" for day in dates)
        )
    )


def difference_in_differences(
    answers: Iterable[Answer],
    column: str,
    compared: Sequence[str],
    older: Collection[str],
    newer: Collection[str],
    *,
    level: float = LEVEL,
) -> Gain:
    """How much more a column gains on the older items than the reference columns do.

    With x_ci the mean value of column c on item i over its runs, and r_i the mean of x over the references,
    the estimate is mean over older items of (x_ci - r_i) less the mean over newer items of the same: each item is
    its own control, so that its difficulty falls out. The interval is Welch's over these per-item differences: it is
    for other items like these, with these reference columns.

    Source: Card and Krueger 1994, AER 84:772-793 (the design); Welch 1947; SPEC L5.

    >>> values = {"m": (1, 1, 0, 1, 0, 0), "r": (1, 0, 0, 1, 0, 0)}
    >>> answers = [Answer(column=c, item=f"q{i}", score=float(v)) for c in values for i, v in enumerate(values[c])]
    >>> found = difference_in_differences(answers, "m", ["r"], ["q0", "q1", "q2"], ["q3", "q4", "q5"])
    >>> round(found.own.value, 3), round(found.of_references.value, 3), round(found.estimate.value, 3)
    (0.333, 0.0, 0.333)

    Args:
        answers: of the column and the references, at least.
        compared: the reference columns, as :func:`references` finds them.
        older, newer: the ids of the items of each set.

    Raises:
        InputError: an item in both sets, the column among its references, a column without answers, or a run given
            twice.
    """
    shared = sorted(set(older) & set(newer))
    if shared:
        raise InputError("sets", f"item '{shared[0]}' is in both", "Each item is in one")
    if column in compared:
        raise InputError(column, "is among its own references", "Take it out")
    given = by_column(answers)
    missing = [name for name in (column, *compared) if name not in given]
    if missing:
        raise InputError(missing[0], "has no answers", f"There are: {', '.join(given) or 'none'}")
    own = _means(given[column])
    others = [_means(given[name]) for name in compared]
    usable = set(own).intersection(*others)
    sets = [sorted(set(part) & usable) for part in (older, newer)]
    left_out = len(set(older)) + len(set(newer)) - sum(map(len, sets))
    return _gain(column, tuple(compared), (own, others), sets, left_out, level=level)


def _gain(
    column: str,
    compared: tuple[str, ...],
    values: tuple[Mapping[str, float], Sequence[Mapping[str, float]]],
    sets: Sequence[Sequence[str]],
    left_out: int,
    *,
    level: float,
) -> Gain:
    own, others = values
    mine = gap(*([own[item] for item in part] for part in sets), level=level)
    theirs: Measured = Undefined(reason="no column's cutoff precedes both sets", n=sum(map(len, sets)))
    estimate = theirs
    if others:
        means = [{item: sum(x[item] for x in others) / len(others) for item in part} for part in sets]
        theirs = gap(*(list(mean.values()) for mean in means), level=level)
        estimate = gap(
            *([own[item] - mean[item] for item in part] for part, mean in zip(sets, means, strict=True)),
            level=level,
        )
        if isinstance(estimate, Estimate):
            estimate = msgspec.structs.replace(estimate, method="difference in differences")
    return Gain(
        column=column,
        estimate=estimate,
        own=mine,
        of_references=theirs,
        references=compared,
        older=len(sets[0]),
        newer=len(sets[1]),
        left_out=left_out,
    )


def _means(answers: Sequence[Answer]) -> dict[str, float]:
    return {item: values[0] for item, values in item_values(answers).items()}
