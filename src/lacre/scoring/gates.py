"""The gates of publication: which agreement a metric must reach before it goes out (SPEC L20)."""

from __future__ import annotations

from typing import Literal, TypeAlias, assert_never

import msgspec

from lacre.errors import InputError
from lacre.scoring.agreement import cohen_kappa, gwet_ac1
from lacre.scoring.confusion import (
    Confusion,
    classification,
    codes_of,
    rarer_category,
    specific_agreement,
)
from lacre.scoring.estimates import LEVEL, Estimate, Measured, Undefined
from lacre.scoring.icc import Scores, icc_2_1
from lacre.scoring.intervals import proportion

Kind: TypeAlias = Literal["binary", "critical", "continuous", "judge"]

ROUNDING = 1e-9
"""A point this near its minimum has reached it: what is missing is rounding."""


class Minimums(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What each kind of metric must reach; the values are those of ``[gates]`` in rules.toml (SPEC L20).

    >>> Minimums(binary_kappa=0.7, critical_kappa=0.8, continuous_icc=0.75, judge_kappa=0.7,
    ...          prevalence=0.9, judge_verdicts=200).judge_verdicts
    200

    Attributes:
        binary_kappa, critical_kappa, continuous_icc, judge_kappa: lowest point value that passes.
        prevalence: share of the most frequent category above which kappa is no fair judge.
        judge_verdicts: verdicts that a judge's gate needs.
    """

    binary_kappa: float
    critical_kappa: float
    continuous_icc: float
    judge_kappa: float
    prevalence: float
    judge_verdicts: int


class Named(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A number that has its name even when it is undefined.

    >>> str(Named(name="Cohen's kappa", measured=Undefined(reason="there is only one rater")).measured)
    'undefined: there is only one rater'
    """

    name: str
    measured: Measured


class Gate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a gate decided, on what, and what stands beside it (SPEC L20); :func:`gate` makes it.

    >>> lua = Minimums(binary_kappa=0.7, critical_kappa=0.8, continuous_icc=0.75, judge_kappa=0.7,
    ...                prevalence=0.9, judge_verdicts=200)
    >>> found = gate("binary", Confusion(categories=("no", "yes"), counts=((45, 5), (10, 40))), lua)
    >>> found.passes, found.reason
    (True, "Cohen's kappa 0.700 reaches 0.70")
    >>> found.warnings
    ('the lower bound 0.561 is below 0.70: other items might not pass',)

    Attributes:
        statistic, why: the coefficient that decides, and why that one.
        estimate: its point, on which the gate decides, and its interval, on which it does not.
        n: items that both rated.
        reason: why it passes or not.
        prevalence: share of the most frequent category among all ratings; none for scores.
        warnings: what a reader must know though the gate does not ask it.
        beside: other coefficients on the same ratings.
        consequence: what follows for the metric.
    """

    kind: Kind
    statistic: str
    why: str
    minimum: float
    estimate: Measured
    n: int
    passes: bool
    reason: str
    prevalence: float | None
    warnings: tuple[str, ...]
    beside: tuple[Named, ...]
    consequence: str


class _Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The coefficient that decides."""

    statistic: str
    why: str
    minimum: float
    estimate: Measured
    n: int


def gate(kind: Kind, ratings: Confusion | Scores, minimums: Minimums, *, level: float = LEVEL) -> Gate:
    """Whether a metric may be published, by the agreement behind it (SPEC L20).

    - ``binary``: a criterion met or not, two humans: Cohen's kappa.
    - ``critical``: a critical failure or none, two humans: Cohen's kappa; Gwet's AC1 in its place where one
      category makes up more than ``minimums.prevalence`` of all ratings, for kappa falls there whatever the
      raters do.
    - ``continuous``: scores (items, raters), NaN where missing: ICC(2,1).
    - ``judge``: rows are the human consensus, columns the automatic judge: Cohen's kappa, on at least
      ``minimums.judge_verdicts`` items.

    The point value decides. A lower bound below the minimum is a warning. What is undefined does not pass.

    Source: the LUA rules; Feinstein and Cicchetti 1990, J Clin Epidemiol 43:543-549 (why prevalence matters).

    >>> lua = Minimums(binary_kappa=0.7, critical_kappa=0.8, continuous_icc=0.75, judge_kappa=0.7,
    ...                prevalence=0.9, judge_verdicts=200)
    >>> found = gate("critical", Confusion(categories=("no", "yes"), counts=((180, 4), (4, 2))), lua)
    >>> found.statistic, round(found.estimate.value, 3), found.passes
    ("Gwet's AC1", 0.955, True)

    Raises:
        InputError: scores where labels are needed or the other way, or not two categories where a criterion
            is binary.
    """
    prevalence: float | None = None
    beside: tuple[Named, ...] = ()
    if isinstance(ratings, Confusion):
        table = _checked(kind, ratings)
        prevalence = _prevalence(table)
        choice = _of_labels(kind, table, minimums, prevalence, level)
        beside = _beside(kind, table, choice.statistic, level)
    else:
        if kind != "continuous":
            raise InputError(f"gate '{kind}'", "needs labels, not scores", "Give a confusion matrix")
        found = icc_2_1(ratings, level=level)
        choice = _Choice(
            statistic="ICC(2,1)",
            why="scores are continuous",
            minimum=minimums.continuous_icc,
            estimate=found.estimate,
            n=found.items,
        )
    needed = minimums.judge_verdicts if kind == "judge" else 0
    passes, reason = _decision(choice, needed)
    return Gate(
        kind=kind,
        statistic=choice.statistic,
        why=choice.why,
        minimum=choice.minimum,
        estimate=choice.estimate,
        n=choice.n,
        passes=passes,
        reason=reason,
        prevalence=prevalence,
        warnings=_warnings(kind, choice, prevalence, minimums),
        beside=beside,
        consequence=_consequence(kind, passes),
    )


def _checked(kind: Kind, table: Confusion) -> Confusion:
    if kind == "continuous":
        raise InputError("gate 'continuous'", "needs scores, not labels", "Give an array of scores")
    if kind in ("binary", "critical") and len(table.categories) != 2:
        raise InputError(
            f"gate '{kind}'",
            f"{len(table.categories)} categories are declared",
            "A criterion is met or not: two",
        )
    return table


def _prevalence(table: Confusion) -> float | None:
    """The share of the most frequent category among the ratings of both."""
    if table.n == 0:
        return None
    counts = table.array
    return float((counts.sum(axis=0) + counts.sum(axis=1)).max()) / (2 * table.n)


def _of_labels(
    kind: Kind, table: Confusion, minimums: Minimums, prevalence: float | None, level: float
) -> _Choice:
    skewed = prevalence is not None and prevalence > minimums.prevalence
    if kind == "critical" and skewed:
        return _Choice(
            statistic="Gwet's AC1",
            why=f"one category makes up {prevalence:.1%} of the ratings, more than {minimums.prevalence:.0%}",
            minimum=minimums.critical_kappa,
            estimate=gwet_ac1(codes_of(table), table.categories, level=level).estimate,
            n=table.n,
        )
    match kind:
        case "binary":
            minimum, why = minimums.binary_kappa, "a binary criterion between humans"
        case "critical":
            minimum = minimums.critical_kappa
            why = f"a critical failure between humans, no category above {minimums.prevalence:.0%}"
        case "judge":
            minimum, why = minimums.judge_kappa, "an automatic judge against the human consensus"
        case "continuous":  # refused above
            raise AssertionError(kind)
        case _:
            assert_never(kind)
    estimate = cohen_kappa(table, level=level).estimate
    return _Choice(statistic="Cohen's kappa", why=why, minimum=minimum, estimate=estimate, n=table.n)


def _decision(choice: _Choice, needed: int) -> tuple[bool, str]:
    """Whether the gate opens, and why."""
    match choice.estimate:
        case Undefined(reason=reason):
            return False, f"{choice.statistic} is undefined: {reason}"
        case Estimate(value=value) if choice.n < needed:
            return (
                False,
                f"{choice.n} verdicts, and at least {needed} are needed ({choice.statistic} {value:.3f})",
            )
        case Estimate(value=value):
            reached = value >= choice.minimum - ROUNDING
            verb = "reaches" if reached else "is below"
            return reached, f"{choice.statistic} {value:.3f} {verb} {choice.minimum:.2f}"


def _warnings(kind: Kind, choice: _Choice, prevalence: float | None, minimums: Minimums) -> tuple[str, ...]:
    said: list[str] = []
    if isinstance(choice.estimate, Estimate):
        interval = choice.estimate.interval
        if isinstance(interval, Undefined):
            said.append(f"no interval: {interval.reason}")
        elif interval.lo < choice.minimum - ROUNDING:
            said.append(
                f"the lower bound {interval.lo:.3f} is below {choice.minimum:.2f}: other items might not pass"
            )
    if kind != "critical" and prevalence is not None and prevalence > minimums.prevalence:
        said.append(
            f"one category makes up {prevalence:.1%} of the ratings: kappa is low there whatever the raters do; "
            "read AC1 and the agreement on the rarer category beside it"
        )
    return tuple(said)


def _beside(kind: Kind, table: Confusion, statistic: str, level: float) -> tuple[Named, ...]:
    """Coefficients to read with the one that decides."""
    hits = sum(table.counts[code][code] for code in range(len(table.categories)))
    rarer = rarer_category(table)
    if statistic == "Gwet's AC1":
        other = Named(name="Cohen's kappa", measured=cohen_kappa(table, level=level).estimate)
    else:
        ac1 = gwet_ac1(codes_of(table), table.categories, level=level)
        other = Named(name="Gwet's AC1", measured=ac1.estimate)
    found = [
        Named(
            name="observed agreement",
            measured=proportion(hits, table.n, level=level, empty="no item was rated by both"),
        ),
        other,
        Named(
            name="agreement on the rarer category",
            measured=rarer if isinstance(rarer, Undefined) else specific_agreement(table, rarer, level=level),
        ),
    ]
    if kind == "judge":
        found.append(Named(name="macro-F1", measured=classification(table, level=level).macro_f1))
    return tuple(found)


def _consequence(kind: Kind, passes: bool) -> str:
    if passes:
        return "may be published"
    return "the metric is judged by humans only, or not published" if kind == "judge" else "not published"
