"""Columns against each other on the items they share: paired, with ties, ranks and claims (SPEC L14)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Literal, TypeAlias, assert_never

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from lacre.errors import InputError
from lacre.scoring.bootstrap import (
    DRAWS,
    NO_SPREAD,
    percentile_interval,
    percentile_intervals,
    ratios,
    resampled_sums,
)
from lacre.scoring.estimates import LEVEL, Estimate, Interval, Measured, Undefined
from lacre.scoring.intervals import newcombe_paired, proportion
from lacre.scoring.metrics import penalty, resampled_ratio
from lacre.scoring.outcomes import Answer, Outcome, Tally, by_column, tally
from lacre.scoring.significance import McNemar, SignFlip, holm, mcnemar, sign_flips

Floats: TypeAlias = NDArray[np.float64]
Name = Literal["accuracy", "error_when_attempted", "mean_score", "penalised"]

_PLACES = 12


class Pair(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One column against another: first minus second on the same items.

    Source: SPEC L14; the tests are those of :mod:`lacre.scoring.significance`.

    >>> answers = [Answer(column=c, item=i, outcome=Outcome.of(o))
    ...            for c, given in (("a", "CEE"), ("b", "CCE")) for i, o in zip("xyz", given)]
    >>> [pair] = compare(answers, rng=np.random.default_rng(1), draws=50).pairs
    >>> pair.first, pair.second, round(pair.difference.value, 4), pair.tie, pair.test.p
    ('b', 'a', 0.3333, True, 1.0)

    Attributes:
        difference: of the metric, N counting failures; ``tie`` follows its interval by the closed rule
            lo ≤ 0 ≤ hi, and is none where the difference or its interval is undefined: nothing is decided
            then. Columns with the same value on every item tie.
        difference_without_failures: where failures leave each column's own denominator; ``tie_without_failures``
            likewise. Both are none for a metric whose denominator is not N.
        test: exact McNemar; the sign-flip test where differences are not 0 or 1; or why there is none.
        p_holm: the test's p adjusted for all pairs by Holm.
    """

    first: str
    second: str
    difference: Measured
    tie: bool | None
    difference_without_failures: Measured | None
    tie_without_failures: bool | None
    test: McNemar | SignFlip | Undefined
    p_holm: float | None


class Rank(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A column's value on the shared items, and the ranks it can have, 1 being the best.

    Source: SPEC L14.

    >>> answers = [Answer(column=c, item="q", outcome=Outcome.CORRECT) for c in "ab"]
    >>> ranks = compare(answers, rng=np.random.default_rng(1), draws=50).ranks
    >>> [(rank.column, rank.best, rank.worst) for rank in ranks]
    [('a', 1, 2), ('b', 1, 2)]

    Attributes:
        value: with the interval that `lacre score` gives it: Wilson's for a proportion of single runs, else
            that of the resamples that the pairs share.
        best, worst: 1 + columns that beat it, and k − columns it beats, by the tie rule.
        best_holm, worst_holm: the same by p_holm ≤ 1 − level: what may be claimed of all columns at once.
    """

    column: str
    value: Measured
    best: int
    worst: int
    best_holm: int
    worst_holm: int


class Comparison(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All pairs of columns on the items that every one of them answered.

    Source: SPEC L14; :func:`compare` makes it.

    >>> answers = [Answer(column=c, item=i, outcome=Outcome.CORRECT) for c, i in ("aq", "ar", "bq")]
    >>> found = compare(answers, rng=np.random.default_rng(1), draws=50)
    >>> found.items, found.left_out
    (1, {'a': 1, 'b': 0})

    Attributes:
        metric: the name of the metric, with t where it is penalised.
        items: how many items all columns share.
        left_out: of each column, items that some other column lacks: never in silence.
        ranks: columns from best to worst value. ``pairs``: in the same order, the better one first.
    """

    metric: str
    items: int
    left_out: dict[str, int]
    draws: int
    level: float
    ranks: tuple[Rank, ...]
    pairs: tuple[Pair, ...]


def is_tie(interval: Interval) -> bool:
    """Whether the interval of a difference contains zero, bounds included: lo ≤ 0 ≤ hi (SPEC L14).

    >>> is_tie(Interval(lo=0.0, hi=0.1, method="any"))
    True
    """
    return interval.contains(0.0)


def paired_difference(
    first: ArrayLike,
    second: ArrayLike,
    *,
    rng: np.random.Generator,
    draws: int = DRAWS,
    level: float = LEVEL,
) -> Measured:
    """The mean of first minus second over the same items, with the paired percentile bootstrap over items.

    ``d̄ = 1/n Σ_i (a_i − b_i)``, items resampled with their pair. Where no item differs the interval is [0, 0], a
    tie; where all differ alike, and not by 0, there is none. Source: Efron & Tibshirani 1993,
    An Introduction to the Bootstrap, chapters 6 and 13; SPEC L14.

    >>> paired_difference([1, 1, 0], [1, 0, 0], rng=np.random.default_rng(1), draws=50).n
    3

    Raises:
        InputError: different lengths, or a value that is no finite number.
    """
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise InputError("pairs", f"{a.size} values against {b.size}", "Give both on the same items")
    if not a.size:
        return Undefined(reason="there are no items in common", n=0)
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise InputError("pairs", "a value is no finite number", "Correct it")
    interval: Interval | Undefined = Interval(lo=0.0, hi=0.0, level=level, method="no item differs")
    if (a != b).any():
        sums = resampled_sums((a - b)[:, None], rng, draws)[:, 0]
        interval = percentile_interval(
            np.round(sums / a.size, 12), level=level, of="paired bootstrap by item"
        )
    return Estimate(
        value=float((a - b).mean()),
        interval=interval,
        n=a.size,
        method="paired difference of means",
    )


def compare(
    answers: Sequence[Answer],
    *,
    rng: np.random.Generator,
    metric: Name = "accuracy",
    t: str = "0.5",
    draws: int = DRAWS,
    level: float = LEVEL,
) -> Comparison:
    """Every pair of columns, on the items that all columns answered (SPEC L14).

    One set of resamples of the items serves all pairs and all columns; with several runs of an item, its mean
    is resampled, for the item is the cluster. ``t`` is the threshold of the penalised score.

    >>> answers = [
    ...     Answer(column=c, item=i, outcome=Outcome.of(o))
    ...     for c, letters in (("a", "CCCE"), ("b", "CEEE")) for i, o in zip("wxyz", letters)
    ... ]
    >>> found = compare(answers, rng=np.random.default_rng(1), draws=200)
    >>> found.pairs[0].difference.value, found.pairs[0].tie
    (0.5, True)

    Raises:
        InputError: fewer than two columns, no item in common, a run given twice, or answers with a score and
            no class for a metric that needs classes.
    """
    columns = by_column(answers)
    if len(columns) < 2:
        raise InputError("compare", f"{len(columns)} columns", "Give the answers of at least two")
    shared = set.intersection(*({answer.item for answer in own} for own in columns.values()))
    if not shared:
        raise InputError(
            "compare", "no item was answered by every column", "Compare columns that share items"
        )
    left_out = {column: len({answer.item for answer in own} - shared) for column, own in columns.items()}
    tallies = [tally([answer for answer in own if answer.item in shared]) for own in columns.values()]
    parts = _Parts.of(tallies, metric, t)
    return _compared(
        parts, tuple(columns), left_out, f"penalised {t}" if metric == "penalised" else metric,
        rng=rng, draws=draws, level=level,
    )  # fmt: skip


class _Parts(msgspec.Struct, frozen=True, kw_only=True):
    """Numerators and denominators of shape (items, columns): the metric is Σ numerator / Σ denominator.

    Attributes:
        without: the denominators less failures; none where the metric's denominator is not N.
        sign: −1 where less is better.
        single: whether every column answers every item once, and every value is 0 or 1.
        binary: whether every item adds 0 or 1 of 1, however often it ran: pairs of items then have four counts.
        proportions: of each column, whether it is a share (each run adds 0 or 1 to both); ``once``: whether
            the column answers every item once.
    """

    numerator: Floats
    denominator: Floats
    without: Floats | None
    sign: int
    single: bool
    binary: bool
    proportions: tuple[bool, ...]
    once: tuple[bool, ...]

    @classmethod
    def of(cls, tallies: Sequence[Tally], metric: Name, t: str) -> _Parts:
        """The parts of ``metric`` for these columns."""
        top, bottom = _METRIC_PARTS[metric]
        if metric != "mean_score":
            loose = [counted.column for counted in tallies if counted.unclassed.any()]
            if loose:
                raise InputError(
                    "compare",
                    f"answers of {', '.join(loose)} have a score and no class",
                    "Set a threshold, or compare by mean_score",
                )
        cost = float(penalty(t)) if metric == "penalised" else 0.0
        numerator = np.column_stack([top(counted, cost) / counted.runs for counted in tallies])
        denominator = np.column_stack([bottom(counted) / counted.runs for counted in tallies])
        failed = np.column_stack([counted.of(Outcome.FAILURE) / counted.runs for counted in tallies])
        binary = bool((denominator == 1).all()) and bool(np.isin(numerator, (0.0, 1.0)).all())
        once = tuple(bool((counted.runs == 1).all()) for counted in tallies)
        return cls(
            numerator=numerator,
            denominator=denominator,
            without=denominator - failed if metric != "error_when_attempted" else None,
            sign=-1 if metric == "error_when_attempted" else 1,
            single=binary and all(once),
            binary=binary,
            proportions=tuple(_is_share(counted, metric, cost) for counted in tallies),
            once=once,
        )


def _is_share(counted: Tally, metric: Name, cost: float) -> bool:
    """Whether the metric is a proportion of this column's runs, as `lacre score` has it."""
    match metric:
        case "accuracy" | "error_when_attempted":
            return True
        case "penalised":
            return cost == 0
        case "mean_score":
            right = counted.of(Outcome.CORRECT)
            return not counted.unclassed.any() and np.array_equal(counted.values, right)
        case _:
            assert_never(metric)


_METRIC_PARTS: Mapping[Name, tuple[Callable[[Tally, float], Floats], Callable[[Tally], Floats]]] = {
    "accuracy": (lambda c, _: _float(c.of(Outcome.CORRECT)), lambda c: _float(c.runs)),
    "error_when_attempted": (
        lambda c, _: _float(c.of(Outcome.WRONG)),
        lambda c: _float(c.of(Outcome.CORRECT, Outcome.WRONG)),
    ),
    "mean_score": (lambda c, _: c.values, lambda c: _float(c.runs)),
    "penalised": (
        lambda c, cost: c.of(Outcome.CORRECT) - cost * c.of(Outcome.WRONG),
        lambda c: _float(c.runs),
    ),
}


def _float(counts: NDArray[np.int64]) -> Floats:
    return counts.astype(np.float64)


class _Ratios(msgspec.Struct, frozen=True, kw_only=True):
    """A metric of every column: on the items as they are (columns), and in every resample (draws, columns)."""

    points: Floats
    drawn: Floats


def _resampled(parts: _Parts, rng: np.random.Generator, draws: int) -> tuple[_Ratios, _Ratios | None]:
    """The metric, and the metric without failures, from one set of resamples."""
    width = parts.numerator.shape[1]
    blocks = [parts.numerator, parts.denominator, *([] if parts.without is None else [parts.without])]
    stacked = np.hstack(blocks)
    sums, totals = resampled_sums(stacked, rng, draws), stacked.sum(axis=0)

    def over(block: int) -> _Ratios:
        here = slice(block * width, (block + 1) * width)
        return _Ratios(
            points=ratios(totals[:width], totals[here]), drawn=ratios(sums[:, :width], sums[:, here])
        )

    return over(1), None if parts.without is None else over(2)


def _compared(
    parts: _Parts,
    columns: Sequence[str],
    left_out: dict[str, int],
    metric: str,
    *,
    rng: np.random.Generator,
    draws: int,
    level: float,
) -> Comparison:
    """All pairs and ranks from one set of resamples."""
    items, width = parts.numerator.shape
    found, fair = _resampled(parts, rng, draws)
    # Best first; columns without a value last; names break what is left.
    order = sorted(
        range(width), key=lambda place: (_key(float(found.points[place]), parts.sign), columns[place])
    )
    places = [(order[i], order[j]) for i, j in combinations(range(width), 2)]
    gaps = _differences(found, places, level, items, parts.numerator == 1 if parts.binary else None)
    fair_gaps: Sequence[Measured | None] = [None] * len(places)
    if fair is not None:
        unfailed = parts.without is not None and np.array_equal(parts.without, parts.denominator)
        fair_gaps = gaps if unfailed else _differences(fair, places, level, items)
    tests = _tests(parts, places, rng, draws)
    pairs = tuple(
        Pair(
            first=columns[first],
            second=columns[second],
            difference=gap,
            tie=_tie(gap),
            difference_without_failures=fair_gap,
            tie_without_failures=None if fair_gap is None else _tie(fair_gap),
            test=test,
            p_holm=adjusted,
        )
        for (first, second), gap, fair_gap, test, adjusted in zip(
            places, gaps, fair_gaps, tests, _adjusted(tests), strict=True
        )
    )
    return Comparison(
        metric=metric,
        items=items,
        left_out=left_out,
        draws=draws,
        level=level,
        ranks=_ranks(columns, _values(found, parts, order, level), pairs, parts.sign, alpha=1 - level),
        pairs=pairs,
    )


def _key(point: float, sign: int) -> float:
    return float("inf") if np.isnan(point) else -sign * point


_NO_VALUE = "a column has nothing in the denominator"


def _values(found: _Ratios, parts: _Parts, order: Sequence[int], level: float) -> dict[int, Measured]:
    """The metric of every column, in this order, with the interval that the column has alone."""
    values: dict[int, Measured] = {}
    for place in order:
        point = float(found.points[place])
        top, bottom = parts.numerator[:, place], parts.denominator[:, place]
        share = parts.proportions[place]
        if np.isnan(point):
            values[place] = Undefined(reason=_NO_VALUE, n=0)
        elif share and parts.once[place]:
            values[place] = proportion(round(top.sum()), round(bottom.sum()), level=level)
        else:
            drawn = found.drawn[:, place]
            values[place] = resampled_ratio(point, top, bottom, drawn, share=share, level=level)
    return values


def _differences(
    found: _Ratios,
    pairs: Sequence[tuple[int, int]],
    level: float,
    items: int,
    right: NDArray[np.bool_] | None = None,
) -> list[Measured]:
    """First minus second for every pair, with the interval over the shared resamples.

    Where no resample differs, items that are ``right`` or not (items, columns) are judged by their counts.
    """
    firsts, seconds = (list(places) for places in zip(*pairs, strict=True))
    # Rounded again: the difference of two rounded ratios must be 0 where the ratios are equal.
    values = np.round(found.points[firsts] - found.points[seconds], _PLACES)
    gaps = np.round(found.drawn[:, firsts] - found.drawn[:, seconds], _PLACES)
    intervals = percentile_intervals(gaps, level=level, of="paired bootstrap by item")
    if right is not None:
        intervals = [
            _by_counts(right[:, first], right[:, second], level)
            if isinstance(interval, Undefined) and interval.reason == NO_SPREAD
            else interval
            for (first, second), interval in zip(pairs, intervals, strict=True)
        ]
    return [
        Undefined(reason=_NO_VALUE, n=0)
        if np.isnan(value)
        else Estimate(value=float(value), interval=interval, n=items, method="paired difference")
        for value, interval in zip(values, intervals, strict=True)
    ]


def _by_counts(first: NDArray[np.bool_], second: NDArray[np.bool_], level: float) -> Interval | Undefined:
    """Newcombe's paired interval; none where it excludes zero on fewer items than the exact test would."""
    alone, other = int((first & ~second).sum()), int((second & ~first).sum())
    found = newcombe_paired(int((first & second).sum()), alone, other, int((~first & ~second).sum()), level)
    if not is_tie(found) and mcnemar(alone, other).p > 1 - level:
        return Undefined(reason=f"{first.size} items that all differ alike are too few to tell", n=first.size)
    return found


def _tie(difference: Measured) -> bool | None:
    if isinstance(difference, Undefined):
        return None
    if isinstance(difference.interval, Undefined):
        # No resample differs from 0 only where no item does: such columns tie, on these items.
        return True if difference.value == 0 and difference.interval.reason == NO_SPREAD else None
    return is_tie(difference.interval)


def _tests(
    parts: _Parts, pairs: Sequence[tuple[int, int]], rng: np.random.Generator, draws: int
) -> list[McNemar | SignFlip | Undefined]:
    """The test of every pair: exact McNemar where values are 0 or 1, else sign flips shared by all pairs."""
    if parts.single:
        right = parts.numerator == 1
        return [
            mcnemar(int((right[:, a] & ~right[:, b]).sum()), int((right[:, b] & ~right[:, a]).sum()))
            for a, b in pairs
        ]
    if not (parts.denominator == 1).all():
        reason = "the denominators differ between columns, so that items do not pair"
        return [Undefined(reason=reason, n=0) for _ in pairs]
    return list(sign_flips(parts.numerator, pairs, rng=rng, draws=draws))


def _adjusted(tests: Sequence[McNemar | SignFlip | Undefined]) -> list[float | None]:
    """Holm over the pairs that have a p value."""
    tested = [place for place, test in enumerate(tests) if not isinstance(test, Undefined)]
    adjusted: list[float | None] = [None] * len(tests)
    values = [test.p for test in tests if not isinstance(test, Undefined)]
    for place, value in zip(tested, holm(values), strict=True):
        adjusted[place] = float(value)
    return adjusted


def _ranks(
    columns: Sequence[str],
    values: Mapping[int, Measured],
    pairs: Sequence[Pair],
    sign: int,
    *,
    alpha: float,
) -> tuple[Rank, ...]:
    """The ranks that each column can have: by the tie rule, then by Holm."""
    better = dict.fromkeys(columns, 0)
    worse, better_holm, worse_holm = dict(better), dict(better), dict(better)
    for pair in pairs:
        if isinstance(pair.difference, Undefined) or not pair.difference.value:
            continue
        ahead = sign * pair.difference.value > 0
        winner, loser = (pair.first, pair.second) if ahead else (pair.second, pair.first)
        if pair.tie is False:
            better[loser] += 1
            worse[winner] += 1
        if pair.p_holm is not None and pair.p_holm <= alpha:
            better_holm[loser] += 1
            worse_holm[winner] += 1
    total = len(columns)
    return tuple(
        Rank(
            column=columns[place],
            value=value,
            best=1 + better[columns[place]],
            worst=total - worse[columns[place]],
            best_holm=1 + better_holm[columns[place]],
            worst_holm=total - worse_holm[columns[place]],
        )
        for place, value in values.items()
    )
