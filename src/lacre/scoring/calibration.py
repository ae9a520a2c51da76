"""Stated confidence against being right: ECE, Brier, reliability table, risk and coverage (SPEC L11, L12)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from lacre.errors import InputError
from lacre.scoring.bootstrap import DRAWS, percentile_interval, resamples
from lacre.scoring.estimates import LEVEL, Estimate, Interval, Measured, Undefined
from lacre.scoring.intervals import proportion
from lacre.scoring.outcomes import Answer, Outcome

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

BINS = 10
"""Bins of the published ECE (SPEC L11)."""

PLACES = 9
"""Decimal places that confidences are rounded to before they are binned: 0.1 + 0.2 belongs with 0.3."""

_UNIT = 10**PLACES
_CHANCE_DRAWS = 2_000


class Bin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of the reliability table: answers with a confidence in (lo, hi]; the first bin holds 0 too.

    ``conf_b = Σ c/n_b``, ``acc_b = Σ y/n_b``. Source: Guo et al. 2017, arXiv:1706.04599; SPEC L11.

    >>> low, high = reliability([0.0, 0.5], [0, 1], 2)
    >>> low.n, low.confidence, low.accuracy.value
    (2, 0.25, 0.5)
    >>> high.n, high.confidence, str(high.accuracy)
    (0, None, 'undefined: no answer states such a confidence')

    Attributes:
        confidence: mean stated confidence; none in an empty bin.
        accuracy: share correct, with its interval; undefined in an empty bin.
    """

    lo: float
    hi: float
    n: int
    confidence: float | None
    accuracy: Measured


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Answers with a confidence of at least ``confidence``: their share, and how many of them are wrong.

    At threshold c: ``coverage = #{c_i ≥ c}/T``, ``risk = #{wrong, c_i ≥ c}/#{c_i ≥ c}``.
    Source: El-Yaniv & Wiener 2010, JMLR 11:1605.

    >>> risk_coverage([0.9, 0.5, 0.1, 0.1], [1, 0, 1, 0])[1]
    CurvePoint(confidence=0.5, coverage=0.5, risk=0.5)
    """

    confidence: float
    coverage: float
    risk: float


class Calibration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="calibration"):
    """What stated confidence is worth.

    Formulas and papers stand at :func:`ece`, :func:`brier`, :func:`areas` and :func:`risk_coverage`; ``share`` is
    stated/attempted. Source: SPEC L11, L12.

    >>> answers = [Answer(column="m", item=i, outcome=Outcome.CORRECT, confidence=c)
    ...            for i, c in (("a", 0.5), ("b", None))]
    >>> found = calibration(answers, rng=np.random.default_rng(1), draws=50)
    >>> found.attempted, found.stated, found.share, found.brier.value
    (2, 1, 0.5, 0.25)

    Attributes:
        attempted: answers that are right or wrong; ``stated``: those that state a confidence; ``share``: of
            the two, to be shown wherever it is below 1.
        ece: with its interval; ``ece_by_chance`` is what a perfectly calibrated column with these very
            confidences would show on average, for ECE is never 0 on a sample.
        brier: mean of (confidence − correct)².
        aurc, e_aurc, augrc: areas under the risk-coverage curves; smaller is better.
        rule: how the bins were made, to be printed beside ECE.
    """

    attempted: int
    stated: int
    share: float
    ece: Measured
    ece_by_chance: float
    brier: Measured
    aurc: Measured
    e_aurc: Measured
    augrc: Measured
    bins: tuple[Bin, ...]
    curve: tuple[CurvePoint, ...]
    rule: str


class NoConfidence(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="no_confidence"
):
    """No attempted answer states a confidence, so that the column gets no ECE (SPEC L12); the reason.

    Source: SPEC L12.

    >>> calibration([Answer(column="m", item="a", outcome=Outcome.WRONG)], rng=np.random.default_rng(1))
    NoConfidence(attempted=1, reason='no confidence returned')
    """

    attempted: int
    reason: str


def bin_rule(bins: int = BINS) -> str:
    """The rule of the bins in words, printed beside ECE.

    Source: SPEC L11; ``index = ⌈bins·confidence⌉``, 1 for a confidence of 0.

    >>> bin_rule()
    '10 bins (lo, hi], 0 in the first, confidences rounded to 9 places'
    """
    return f"{bins} bins (lo, hi], 0 in the first, confidences rounded to {PLACES} places"


def bin_index(confidence: ArrayLike, bins: int = BINS, *, closed: str = "right") -> Ints:
    """The bin of each confidence, from 0: (lo, hi] with 0 in the first; ``closed="left"`` gives [lo, hi).

    ``⌈bins·c⌉ − 1`` (right) or ``⌊bins·c⌋`` (left), confidences and edges in whole billionths, so that no edge
    depends on how a float was made. Source: the (lo, hi] of Guo et al. 2017, arXiv:1706.04599, section 2.

    >>> bin_index([0.0, 0.1, 0.1 + 0.2, 0.95, 1.0]).tolist()
    [0, 0, 2, 9, 9]

    Raises:
        InputError: a confidence outside [0, 1] or not a number, no bins, or an unknown ``closed``.
    """
    if bins < 1 or closed not in ("left", "right"):
        raise InputError("bins", f"{bins}, closed {closed}", "Give at least 1, closed 'left' or 'right'")
    units = np.rint(_confidences(confidence) * _UNIT).astype(np.int64)
    # Edges are rounded likewise: 2/3 is an edge of three bins, and no float is 2/3.
    tops = np.rint(np.arange(1, bins + 1) * (_UNIT / bins)).astype(np.int64)
    found = np.searchsorted(tops, units, side="left" if closed == "right" else "right")
    clipped: Ints = np.clip(found, 0, bins - 1)
    return clipped


def ece(confidence: ArrayLike, correct: ArrayLike, bins: int = BINS, *, closed: str = "right") -> float:
    """Expected calibration error: ``Σ_b n_b/T · |acc_b − conf_b|``.

    Source: Naeini, Cooper & Hauskrecht 2015, AAAI 29; Guo et al. 2017, arXiv:1706.04599; SPEC L11.

    >>> round(ece([0.95, 0.93, 0.85], [1, 0, 1]), 4)
    0.3433

    Raises:
        InputError: nothing given, different lengths, or values outside their range.
    """
    stated, right = _pair(confidence, correct)
    gaps = np.bincount(bin_index(stated, bins, closed=closed), weights=right - stated, minlength=bins)
    return float(np.abs(gaps).sum() / stated.size)


def brier(confidence: ArrayLike, correct: ArrayLike) -> float:
    """The Brier score: mean of (confidence − correct)².

    Source: Brier 1950, Monthly Weather Review 78:1; SPEC L11.

    >>> round(brier([0.95, 0.85, 0.75, 0.35], [1, 0, 1, 0]), 4)
    0.2275

    Raises:
        InputError: nothing given, different lengths, or values outside their range.
    """
    stated, right = _pair(confidence, correct)
    return float(np.mean((stated - right) ** 2))


class Areas(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Areas under the risk-coverage curve, its excess over the best order, and the generalised one.

    ``AURC = 1/T Σ_k e_k/k``, E-AURC less the least AURC there can be, ``AUGRC = 1/T Σ_k e_k/T``; see :func:`areas`.
    Source: Geifman, Uziel & El-Yaniv 2019, arXiv:1805.08206; Traub et al. 2024, arXiv:2407.01032.

    >>> areas([0.9, 0.8], [1, 0]).e_aurc, areas([0.9, 0.8], [0, 1]).e_aurc
    (0.0, 0.5)
    """

    aurc: float
    e_aurc: float
    augrc: float


def areas(confidence: ArrayLike, correct: ArrayLike) -> Areas:
    """AURC, E-AURC and AUGRC; answers of one confidence count as in random order, so that order never matters.

    With the T answers by falling confidence and e_k wrong among the first k: ``AURC = 1/T Σ_k e_k/k``,
    ``AUGRC = 1/T Σ_k e_k/T``, and E-AURC is AURC less that of the order with all wrong answers last.
    Source: Geifman, Uziel & El-Yaniv 2019, arXiv:1805.08206; Traub et al. 2024, arXiv:2407.01032.

    >>> found = areas([0.9, 0.8, 0.7, 0.6], [1, 1, 0, 1])
    >>> round(found.aurc, 4), round(found.e_aurc, 4), found.augrc
    (0.1458, 0.0833, 0.125)

    Raises:
        InputError: nothing given, different lengths, or values outside their range.
    """
    stated, right = _pair(confidence, correct)
    order = _Order.of(stated)
    found = order.areas(np.ones((1, stated.size)), 1 - right)
    return Areas(aurc=float(found[0, 0]), e_aurc=float(found[1, 0]), augrc=float(found[2, 0]))


def calibration(
    answers: Sequence[Answer],
    *,
    rng: np.random.Generator,
    draws: int = DRAWS,
    level: float = LEVEL,
    bins: int = BINS,
) -> Calibration | NoConfidence:
    """Calibration over the attempted answers that state a confidence, or why there is none (SPEC L11, L12).

    Intervals resample items, each with all its runs: percentile ones, except ECE's, which is reflected about
    the estimate, ``[2·ECE − q_hi, 2·ECE − q_lo]`` cut at 0, since resampling adds the bias that the sample
    already has (Davison & Hinkley 1997, section 5.2). Where both bounds would be one number there is none.

    >>> answers = [Answer(column="m", item=i, outcome=Outcome.CORRECT, confidence=0.8) for i in "ab"]
    >>> round(calibration(answers, rng=np.random.default_rng(1), draws=50).ece.value, 4)
    0.2

    Raises:
        InputError: no bins or draws.
    """
    attempted = [answer for answer in answers if answer.outcome is not None and answer.outcome.attempted]
    stating = [answer for answer in attempted if answer.confidence is not None]
    if not stating:
        reason = "no confidence returned" if attempted else "no answer was attempted"
        return NoConfidence(attempted=len(attempted), reason=reason)
    # Items by falling confidence, so that resamples of single runs need no reordering.
    stating.sort(
        key=lambda answer: (-round(answer.confidence or 0.0, PLACES), answer.item, answer.repetition)
    )
    stated = np.array([answer.confidence for answer in stating], np.float64)
    right = np.array([answer.outcome is Outcome.CORRECT for answer in stating], np.float64)
    numbers: dict[str, int] = {}
    items = np.array([numbers.setdefault(answer.item, len(numbers)) for answer in stating], np.int64)
    drawn = _resampled(stated, right, items, rng=rng, draws=draws, bins=bins)
    units = len(numbers)
    measured = {
        name: Estimate(
            value=value,
            interval=_interval(name, value, drawn[name], level, units),
            n=len(stating),
            method=name,
        )
        for name, value in _points(stated, right, bins).items()
    }
    return Calibration(
        attempted=len(attempted),
        stated=len(stating),
        share=len(stating) / len(attempted),
        ece_by_chance=_by_chance(stated, bins, rng),
        bins=reliability(stated, right, bins, level=level),
        curve=risk_coverage(stated, right),
        rule=bin_rule(bins),
        **measured,
    )


def _points(stated: Floats, right: Floats, bins: int) -> dict[str, float]:
    """Every statistic by name."""
    found = areas(stated, right)
    return {
        "ece": ece(stated, right, bins),
        "brier": brier(stated, right),
        "aurc": found.aurc,
        "e_aurc": found.e_aurc,
        "augrc": found.augrc,
    }


def reliability(
    confidence: ArrayLike, correct: ArrayLike, bins: int = BINS, *, level: float = LEVEL
) -> tuple[Bin, ...]:
    """The reliability table: for each bin its mean confidence and its accuracy with Wilson's interval.

    ``conf_b = Σ c/n_b``, ``acc_b = Σ y/n_b``. Source: Guo et al. 2017, arXiv:1706.04599.

    >>> [bin.n for bin in reliability([0.2, 0.9], [0, 1], 2)]
    [1, 1]

    Raises:
        InputError: nothing given, different lengths, or values outside their range.
    """
    stated, right = _pair(confidence, correct)
    places = bin_index(stated, bins)
    rows = []
    for place in range(bins):
        here = places == place
        n, x = int(here.sum()), int(right[here].sum())
        rows.append(
            Bin(
                lo=place / bins,
                hi=(place + 1) / bins,
                n=n,
                confidence=float(stated[here].mean()) if n else None,
                accuracy=proportion(x, n, level=level, empty="no answer states such a confidence"),
            )
        )
    return tuple(rows)


def risk_coverage(confidence: ArrayLike, correct: ArrayLike) -> tuple[CurvePoint, ...]:
    """The curve of risk (share wrong) over coverage, one point for each distinct confidence, falling.

    At threshold c: ``coverage = #{c_i ≥ c}/T``, ``risk = #{wrong, c_i ≥ c}/#{c_i ≥ c}``.
    Source: El-Yaniv & Wiener 2010, JMLR 11:1605.

    >>> [(point.coverage, point.risk) for point in risk_coverage([0.9, 0.5], [1, 0])]
    [(0.5, 0.0), (1.0, 0.5)]

    Raises:
        InputError: nothing given, different lengths, or values outside their range.
    """
    stated, right = _pair(confidence, correct)
    order = _Order.of(stated)
    kept = np.cumsum(order.grouped(np.ones((1, stated.size))))
    wrong = np.cumsum(order.grouped((1 - right)[None, :]))
    return tuple(
        CurvePoint(confidence=float(c), coverage=float(k / stated.size), risk=float(w / k))
        for c, k, w in zip(order.levels, kept, wrong, strict=True)
    )


class _Order(msgspec.Struct, frozen=True, kw_only=True):
    """Answers by falling confidence, equal confidences together.

    Attributes:
        order: places of the answers in that order; ``starts``: where each group begins in it.
        levels: the confidence of each group.
    """

    order: Ints
    starts: Ints
    levels: Floats

    @classmethod
    def of(cls, confidence: Floats) -> _Order:
        """The order of these confidences, rounded as for the bins."""
        rounded = np.round(confidence, PLACES)
        order = np.argsort(-rounded, kind="stable")
        falling = rounded[order]
        starts = np.flatnonzero(np.r_[True, falling[1:] != falling[:-1]])
        return cls(order=order, starts=starts, levels=falling[starts])

    def grouped(self, values: Floats) -> Floats:
        """Sums over each group, of shape (draws, groups), for values of shape (draws, answers)."""
        falling = values if _counts_up(self.order) else values[:, self.order]
        whole = self.starts.size == self.order.size
        return falling if whole else np.add.reduceat(falling, self.starts, axis=1)

    def areas(self, weights: Floats, wrong: Floats) -> Floats:
        """AURC, E-AURC and AUGRC, of shape (3, draws), for how often each answer counts in each draw.

        A group of w answers, e of them wrong, after k answers with b wrong, adds the sum over m = 1 ... w of
        (b + e·m/w)/(k + m): its expected risk in random order, by harmonic numbers.
        """
        size = self.grouped(weights)
        bad = self.grouped(weights * wrong)
        after = np.cumsum(size, axis=1)
        before = after - size
        worse = np.cumsum(bad, axis=1) - bad
        total, errors = after[:, -1], bad.sum(axis=1)
        harmonic = _harmonic(int(total.max()))
        step = np.divide(bad, size, out=np.zeros_like(bad), where=size > 0)
        spans = harmonic[after.astype(np.int64)] - harmonic[before.astype(np.int64)]
        aurc = (step * size + (worse - step * before) * spans).sum(axis=1) / total
        augrc = (size * worse + bad * (size + 1) / 2).sum(axis=1) / total**2
        # The best order has every wrong answer last: after k right ones, risks 1/(k+1), 2/(k+2), ...
        right = total - errors
        last = harmonic[total.astype(np.int64)] - harmonic[right.astype(np.int64)]
        best = (errors - right * last) / total
        return np.stack([aurc, aurc - best, augrc])


def _counts_up(places: Ints) -> bool:
    """Whether places are 0, 1, 2 ..., so that taking by them changes nothing."""
    return bool((places == np.arange(places.size)).all())


@lru_cache(maxsize=4)
def _harmonic(last: int) -> Floats:
    """Harmonic numbers H(0) ... H(last)."""
    return np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, last + 1))])


def _resampled(
    stated: Floats, right: Floats, items: Ints, *, rng: np.random.Generator, draws: int, bins: int
) -> dict[str, Floats]:
    """Every statistic in every resample of items, by name."""
    order = _Order.of(stated)
    member = np.eye(bins)[bin_index(stated, bins)]
    gaps = member * (right - stated)[:, None]
    squares = (stated - right) ** 2
    blocks: list[Floats] = []
    for block in resamples(rng, int(items.max()) + 1, draws):
        weights = block if _counts_up(items) else block[:, items]
        total = weights.sum(axis=1)
        errors = np.abs(weights @ gaps).sum(axis=1) / total
        blocks.append(np.vstack([errors, (weights @ squares) / total, order.areas(weights, 1 - right)]))
    return dict(zip(("ece", "brier", "aurc", "e_aurc", "augrc"), np.hstack(blocks), strict=True))


def _interval(name: str, value: float, drawn: Floats, level: float, units: int) -> Interval | Undefined:
    """The interval of one statistic; none where one item shows no spread."""
    if units == 1:
        return Undefined(reason="one item shows no spread between items", n=1)
    found = percentile_interval(drawn, level=level)
    if name != "ece" or isinstance(found, Undefined):
        return found
    lo, hi = max(0.0, 2 * value - found.hi), max(0.0, 2 * value - found.lo)
    if hi <= lo:
        return Undefined(
            reason="every resample is more than twice the value, so nothing is left above 0", n=units
        )
    return Interval(
        lo=lo,
        hi=hi,
        level=level,
        method=found.method.replace("percentile", "reflected"),
    )


def _by_chance(stated: Floats, bins: int, rng: np.random.Generator) -> float:
    """Mean ECE of columns that are right exactly as often as they state."""
    member = np.eye(bins)[bin_index(stated, bins)]
    rows = max(1, 1_000_000 // stated.size)
    sums = 0.0
    for start in range(0, _CHANCE_DRAWS, rows):
        here = min(rows, _CHANCE_DRAWS - start)
        lucky = rng.random((here, stated.size)) < stated
        sums += float(np.abs((lucky - stated) @ member).sum())
    return sums / stated.size / _CHANCE_DRAWS


def _pair(confidence: ArrayLike, correct: ArrayLike) -> tuple[Floats, Floats]:
    """Both as arrays of one length."""
    stated = _confidences(confidence)
    try:
        right = np.asarray(correct, np.float64)
    except (TypeError, ValueError):
        raise InputError("correct", "holds what is no number", "Give 0 or 1") from None
    if stated.shape != right.shape or stated.ndim != 1:
        raise InputError("confidence", f"{stated.size} of them for {right.size} answers", "Give one for each")
    if not stated.size:
        raise InputError("confidence", "there is none", "Give at least one answer")
    if not np.isin(right, (0.0, 1.0)).all():
        raise InputError("correct", "holds what is neither 0 nor 1", "Give 0 or 1")
    return stated, right


def _confidences(confidence: ArrayLike) -> Floats:
    """Confidences as numbers in [0, 1]."""
    given = np.asarray(confidence)
    if given.dtype.kind not in "fiub":
        raise InputError("confidence", "is not a number", "Give numbers from 0 to 1")
    stated = given.astype(np.float64)
    # Written so that NaN fails it too.
    if not ((stated >= 0) & (stated <= 1)).all():
        raise InputError("confidence", "outside [0, 1], or not a number", "Give numbers from 0 to 1")
    return stated
