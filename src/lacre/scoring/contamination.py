"""What having read the items may have gained a column: with and without items seen, before and after (SPEC L5, L8).

Difference in differences: a column that does better on exams from before its cutoff may have read them, or those exams
may be easier. Columns whose cutoff precedes *both* sets have read neither: what they gain on the older one is how much
easier it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Literal, TypeAlias

import msgspec
import numpy as np

from lacre.errors import InputError
from lacre.scoring.bootstrap import DRAWS, percentile_interval, ratios, resampled_sums
from lacre.scoring.estimates import LEVEL, Estimate, Measured, Undefined
from lacre.scoring.intervals import Method
from lacre.scoring.metrics import Headline, metrics
from lacre.scoring.outcomes import Answer, by_column, items_of
from lacre.scoring.strata import SEEN, gap, item_values, side_of_cutoff

Verdict: TypeAlias = Literal["seen", "not_reproduced", "not_probed"]
"""What a probe made of an item."""

NOT_REPRODUCED, NOT_PROBED = "not reproduced", "not probed"
"""Strata beside :data:`~lacre.scoring.strata.SEEN`: what a column did not write down it may still have read."""


class SeenSplit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One column's metrics with and without the items that it has seen (SPEC L8).

    >>> answers = [Answer(column="m", item=i, score=s) for i, s in (("a", 1.0), ("b", 0.0), ("c", 1.0), ("d", 0.0))]
    >>> marks = {("m", "a"): "seen", ("m", "b"): "not_reproduced", ("m", "c"): "not_reproduced"}
    >>> [found] = with_and_without(answers, marks, rng=np.random.default_rng(1), draws=100)
    >>> found.seen, found.not_reproduced, found.not_probed, round(found.difference.value, 3)
    (1, 2, 1, 0.167)
    >>> found.without_mark
    1

    Attributes:
        items: those answered: seen, not reproduced, and not probed.
        without_mark: of those not probed, the ones that no probe asked for.
        everything, without: the headline over all items, and over those not seen; those that could not be probed stay.
        difference: mean value of all items less that without those seen; the interval is paired, by resampling items.
        ahead: mean value of the items seen less that of the others; they are other items, perhaps easier ones.
    """

    column: str
    items: int
    seen: int
    not_reproduced: int
    not_probed: int
    without_mark: int
    everything: Headline
    without: Headline
    difference: Measured
    ahead: Measured


class Before(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One column before and after its declared cutoff (SPEC L5): items of each side, and what the older ones gain it.

    >>> answers = [Answer(column="m", item=i, score=1.0) for i in "ab"]
    >>> [found] = before_and_after(answers, {"a": "2023-11-05"}, {"m": "2024-06"})
    >>> found.before, found.after, found.unknown, str(found.gain)
    (1, 0, 1, 'undefined: no item is of after the cutoff')
    """

    column: str
    cutoff: str | None
    before: int
    after: int
    unknown: int
    gain: Gain | Undefined


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


def with_marks(answers: Iterable[Answer], marks: Mapping[tuple[str, str], Verdict]) -> tuple[Answer, ...]:
    """The same answers with the field ``seen``: seen, not reproduced, or not probed (SPEC L8).

    An answer to a part of an item, ``item#part``, has the mark of the item.

    >>> answers = [Answer(column="m", item=i, score=1.0) for i in ("a#1", "b", "c")]
    >>> marks = {("m", "a"): "seen", ("m", "b"): "not_reproduced"}
    >>> [answer.fields["seen"] for answer in with_marks(answers, marks)]
    ['seen', 'not reproduced', 'not probed']

    Args:
        marks: the verdict of a probe on each column and item; those that are not there were not probed.
    """
    return tuple(
        msgspec.structs.replace(
            answer, fields={**answer.fields, SEEN: _verdict(answer, marks).replace("_", " ")}
        )
        for answer in answers
    )


def _verdict(answer: Answer, marks: Mapping[tuple[str, str], Verdict]) -> Verdict:
    return _marked(answer, marks) or "not_probed"


def _marked(answer: Answer, marks: Mapping[tuple[str, str], Verdict]) -> Verdict | None:
    """The verdict of the answer's item, or of the item that it is a part of; none without a mark."""
    item, _, part = answer.item.rpartition("#")
    of_whole = marks.get((answer.column, item)) if part and item else None
    return marks.get((answer.column, answer.item)) or of_whole


def with_and_without(
    answers: Iterable[Answer],
    marks: Mapping[tuple[str, str], Verdict],
    *,
    rng: np.random.Generator,
    draws: int = DRAWS,
    level: float = LEVEL,
    method: Method = "wilson",
) -> tuple[SeenSplit, ...]:
    """The metrics of every column with and without the items that it has seen, columns sorted.

    ``d = mean over all items - mean over those not seen``, both on the same resample of the items, so that the
    interval counts what they share. Source: Efron and Tibshirani 1993, chapter 6; SPEC L8, L14.

    >>> answers = [Answer(column="m", item=i, score=1.0) for i in "ab"]
    >>> str(with_and_without(answers, {}, rng=np.random.default_rng(1), draws=100)[0].difference)
    'undefined: no item was seen'
    """
    seed = int(rng.integers(0, 2**63))
    measure = partial(_split, draws=draws, level=level, method=method)
    return tuple(
        measure(own, {answer.item: _marked(answer, marks) for answer in own}, seed)
        for own in by_column(answers).values()
    )


def _split(
    own: Sequence[Answer],
    marked: Mapping[str, Verdict | None],
    seed: int,
    *,
    draws: int,
    level: float,
    method: Method,
) -> SeenSplit:
    """One column's metrics with and without the items that it has seen; everything from one seed."""
    verdicts: dict[str, Verdict] = {item: verdict or "not_probed" for item, verdict in marked.items()}
    left = [answer for answer in own if verdicts[answer.item] != "seen"]
    measure = partial(metrics, draws=draws, level=level, method=method)
    groups: dict[Verdict, list[float]] = {"seen": [], "not_reproduced": [], "not_probed": []}
    values = {item: runs[0] for item, runs in item_values(own).items()}
    for item, value in values.items():
        groups[verdicts[item]].append(value)
    seen = groups["seen"]
    unseen = [value for item, value in values.items() if verdicts[item] != "seen"]
    lone = _neither(seen, len(values))
    nothing = Headline(accuracy=lone, error_when_attempted=lone, abstention=lone)
    return SeenSplit(
        column=own[0].column,
        items=len(values),
        seen=len(seen),
        not_reproduced=len(groups["not_reproduced"]),
        not_probed=len(groups["not_probed"]),
        without_mark=sum(verdict is None for verdict in marked.values()),
        everything=measure(own, rng=np.random.default_rng(seed)).headline,
        without=measure(left, rng=np.random.default_rng(seed)).headline if left else nothing,
        difference=_paired(seen, unseen, np.random.default_rng(seed), draws=draws, level=level),
        ahead=gap(seen, unseen, level=level) if seen and unseen else lone,
    )


def _neither(seen: Sequence[float], n: int) -> Undefined:
    return Undefined(reason="every item was seen" if seen else "no item was seen", n=n)


def _paired(
    seen: Sequence[float], unseen: Sequence[float], rng: np.random.Generator, *, draws: int, level: float
) -> Measured:
    """The mean of all less the mean of those not seen, with the interval of paired resamples."""
    n = len(seen) + len(unseen)
    if not seen or not unseen:
        return _neither(seen, n)
    values = np.array([*seen, *unseen], np.float64)
    kept = np.array([0.0] * len(seen) + [1.0] * len(unseen))
    sums = resampled_sums(np.column_stack([values, np.ones(n), values * kept, kept]), rng, draws)
    drawn = ratios(sums[:, 0], sums[:, 1]) - ratios(sums[:, 2], sums[:, 3])
    return Estimate(
        value=float(values.mean() - np.mean(unseen)),
        interval=percentile_interval(np.round(drawn, 12), level=level),
        n=n,
        method="all items less those not seen",
    )


def before_and_after(
    answers: Iterable[Answer],
    published: Mapping[str, str | None],
    cutoffs: Mapping[str, str | None],
    *,
    level: float = LEVEL,
) -> tuple[Before, ...]:
    """For every column, how many items are of before and after its cutoff, and the difference in differences.

    An answer to a part of an item, ``item#part``, has the date of the item. Columns sorted. Source: SPEC L5;
    :func:`difference_in_differences`.

    >>> answers = [Answer(column=c, item=i, score=float(c == "m" and i in "ab")) for c in "mr" for i in "abcd"]
    >>> dates = {"a": "2023-01-01", "b": "2023-01-01", "c": "2025-01-01", "d": "2025-01-01"}
    >>> found = before_and_after(answers, dates, {"m": "2024-06", "r": "2022-01"})
    >>> found[0].gain.estimate.value, found[0].gain.references
    (1.0, ('r',))

    Args:
        published: the date of each item, where it is known.
        cutoffs: the declared cutoff of each column, where it is known.
    """
    given = list(answers)
    found = []
    for column, own in by_column(given).items():
        dates = {item: _date(item, published) for item in items_of(own)}
        sides = {item: side_of_cutoff(day, cutoffs.get(column)) for item, day in dates.items()}
        older, newer = ([item for item, side in sides.items() if side == on] for on in ("before", "after"))
        gain: Gain | Undefined
        if older and newer:
            others = references(
                {name: cutoffs.get(name) for name in by_column(given)},
                [dates[item] for item in (*older, *newer)],
                apart={column},
            )
            gain = difference_in_differences(given, column, others, older, newer, level=level)
        else:
            gain = Undefined(reason=_one_sided(cutoffs.get(column), older, newer), n=len(older) + len(newer))
        found.append(
            Before(
                column=column,
                cutoff=cutoffs.get(column),
                before=len(older),
                after=len(newer),
                unknown=len(sides) - len(older) - len(newer),
                gain=gain,
            )
        )
    return tuple(found)


def _one_sided(cutoff: str | None, older: Sequence[str], newer: Sequence[str]) -> str:
    if cutoff is None:
        return "no cutoff is declared"
    if not older and not newer:
        return "no item's date tells its side of the cutoff"
    return f"no item is of {'after' if older else 'before'} the cutoff"


def _date(item: str, published: Mapping[str, str | None]) -> str | None:
    return published.get(item) or published.get(item.rpartition("#")[0])


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
