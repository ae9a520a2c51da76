"""Agreement beyond chance on categories: Cohen's kappa, plain and weighted, Gwet's AC1, Fleiss' kappa (SPEC L20).

Ratings come as :func:`lacre.scoring.confusion.encoded` makes them. Categories are declared: what a rater might
have said counts, not only what was said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped]

from lacre.errors import InputError
from lacre.scoring.confusion import Codes, Confusion, Counts, refuse_codes
from lacre.scoring.estimates import LEVEL, Estimate, Interval, Measured, Undefined
from lacre.scoring.intervals import normal_quantile, wilson

Weighting: TypeAlias = Literal["none", "linear", "quadratic"]
Weights: TypeAlias = NDArray[np.float64]

NO_PAIR = "no item was rated by two raters"
ONE_RATER = "there is only one rater"
NOISE = 1e-7
"""A standard error below this is rounding: the square root of what a variance loses."""
NOTHING_AGREES = "no item agrees, so the standard error is 0 and says nothing"
SURE = "Wilson's bound of the observed agreement, for no item disagrees"


class Agreement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A coefficient of agreement beyond chance, (observed - expected) / (1 - expected), with its parts (SPEC L20).

    >>> found = cohen_kappa(Confusion(categories=("a", "b"), counts=((4, 1), (1, 4))))
    >>> round(found.observed, 2), round(found.expected, 2), found.left_out
    (0.8, 0.5, 0)

    Attributes:
        estimate: the coefficient; its ``standard_error`` is the one for intervals (not under the null).
        observed: share of agreement that was seen, weighted where the coefficient is.
        expected: share of agreement that chance would give.
        null_error: standard error under the hypothesis that raters agree by chance only; none where the
            coefficient has none.
        p_value: two-sided, of that hypothesis, from estimate / null_error.
        left_out: items that could not count: too few ratings.
    """

    estimate: Measured
    observed: float | Undefined
    expected: float | Undefined
    null_error: float | None = None
    p_value: float | None = None
    left_out: int = 0


def weight_matrix(size: int, weighting: Weighting) -> Weights:
    """Agreement weights for ordered categories: 1 on the diagonal, 0 for the two ends.

    Linear 1 - |i - j| / (q - 1); quadratic 1 - (i - j)^2 / (q - 1)^2; none gives the identity. Categories
    stand at equal distances in their declared order.

    Source: Cicchetti and Allison 1971; Fleiss and Cohen 1973, EPM 33:613-619.

    >>> weight_matrix(3, "quadratic")[0].tolist()
    [1.0, 0.75, 0.0]
    """
    if weighting == "none" or size == 1:
        return np.eye(size)
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size))) / (size - 1)
    return np.asarray(1.0 - (apart if weighting == "linear" else apart**2), dtype=np.float64)


def checked_weights(weights: Sequence[Sequence[float]] | Weights, size: int) -> Weights:
    """A person's own agreement weights w_ij as an array, shape (size, size): 1 agrees, 0 does not.

    Source: Cohen 1968, Psychol Bull 70:213-220.

    >>> checked_weights([[1, 0.5], [0.5, 1]], 2).tolist()
    [[1.0, 0.5], [0.5, 1.0]]

    Raises:
        InputError: not square or not of that size, not 1 on the diagonal, or outside [0, 1].
    """
    if len(weights) != size or any(len(row) != size for row in weights):
        raise InputError(
            "weights",
            f"are not {size} x {size}",
            f"Give a row and a column for each of the {size} categories",
        )
    array = np.array(weights, dtype=np.float64)
    # Written so that NaN fails it too.
    if not bool(((array >= 0) & (array <= 1)).all()):
        raise InputError("weights", "are not all from 0 to 1", "1 is full agreement, 0 none")
    if not bool((np.diag(array) == 1).all()):
        raise InputError("weights", "are not 1 on the diagonal", "The same label is full agreement")
    return array


def cohen_kappa(
    table: Confusion,
    *,
    weights: Weighting | Sequence[Sequence[float]] | Weights = "none",
    level: float = LEVEL,
) -> Agreement:
    """Cohen's kappa of two raters, (p_o - p_e) / (1 - p_e), plain or weighted.

    p_o = sum w_ij p_ij, p_e = sum w_ij p_i. p_.j, with w the identity when weights are "none"; linear and
    quadratic weights as :func:`weight_matrix`, own ones as :func:`checked_weights`. The standard error is that of
    Fleiss, Cohen and Everitt, the interval kappa plus or minus z times it, cut at -1 and 1. Where no item
    disagrees that error is 0 and says nothing: the lower bound is then Wilson's lower bound of p_o, taken
    through the same formula. Where it is 0 though items disagree there is no interval.
    Undefined when p_e = 1: both raters gave one category only.

    Source: Cohen 1960, EPM 20:37-46; Cohen 1968, Psychol Bull 70:213-220; Fleiss, Cohen and Everitt 1969,
    Psychol Bull 72:323-327; SPEC L20.

    >>> kappa = cohen_kappa(Confusion(categories=("no", "yes"), counts=((5, 5), (10, 80))))
    >>> round(kappa.estimate.value, 4), round(kappa.observed, 2)
    (0.3182, 0.85)
    >>> str(cohen_kappa(Confusion(categories=("no", "yes"), counts=((0, 0), (0, 9)))).estimate)
    "undefined: both raters gave 'yes' to every item, so chance agrees always"

    Raises:
        InputError: own weights that are not what they must be.
    """
    size = len(table.categories)
    agree = weight_matrix(size, weights) if isinstance(weights, str) else checked_weights(weights, size)
    method = f"Cohen's kappa{_weighting(weights)}"
    n = table.n
    if n == 0:
        nothing = Undefined(reason=NO_PAIR)
        return Agreement(estimate=nothing, observed=nothing, expected=nothing, left_out=table.unpaired)
    share = table.array / n
    rows, columns = share.sum(axis=1), share.sum(axis=0)
    observed = float((agree * share).sum())
    expected = float(rows @ agree @ columns)
    if expected >= 1 - 1e-12:
        return Agreement(
            estimate=Undefined(reason=_certain(table), n=n),
            observed=observed,
            expected=expected,
            left_out=table.unpaired,
        )
    kappa = (observed - expected) / (1 - expected)
    error, null_error = _kappa_errors(share, agree, kappa, expected, n)
    interval: Interval | Undefined
    if observed >= 1 - 1e-12:
        interval = _sure(expected, n, level)
    elif error > NOISE:
        interval = _around(kappa, normal_quantile(level) * error, level, "Fleiss-Cohen-Everitt 1969, normal")
    else:
        interval = Undefined(reason=_without_spread(rows, columns, observed, table.categories), n=n)
    return Agreement(
        estimate=Estimate(
            value=kappa,
            interval=interval,
            n=n,
            method=method,
            standard_error=None if isinstance(interval, Undefined) else error,
        ),
        observed=observed,
        expected=expected,
        null_error=null_error,
        p_value=_p_value(kappa, null_error),
        left_out=table.unpaired,
    )


def _weighting(weights: Weighting | Sequence[Sequence[float]] | Weights) -> str:
    """How the weights are named after the coefficient's name."""
    if not isinstance(weights, str):
        return ", own weights"
    return "" if weights == "none" else f", {weights} weights"


def _certain(table: Confusion) -> str:
    """Why chance agrees always: one category for both, or weights that call different categories equal."""
    given = [name for name, row in zip(table.categories, table.counts, strict=True) if sum(row)]
    if len(given) == 1:
        return f"both raters gave '{given[0]}' to every item, so chance agrees always"
    return "the weights call all labels that were given equal, so chance agrees always"


def _without_spread(
    rows: NDArray[np.float64], columns: NDArray[np.float64], observed: float, categories: Sequence[str]
) -> str:
    """Why a standard error is 0 though items disagree."""
    for which, share in (("first", rows), ("second", columns)):
        if share.max() >= 1 - NOISE:
            only = categories[int(share.argmax())]
            return (
                f"the {which} rater gave '{only}' to every item, so the standard error is 0 and says nothing"
            )
    if observed <= NOISE:
        return NOTHING_AGREES
    return "the standard error is 0 though items disagree, and says nothing"


def _kappa_errors(
    share: Counts, agree: Weights, kappa: float, expected: float, n: int
) -> tuple[float, float]:
    """The standard errors of kappa, for intervals and under the null."""
    rows, columns = share.sum(axis=1), share.sum(axis=0)
    # Mean weight of each row category over the other rater's categories, and the same for columns.
    mean = (agree @ columns)[:, None] + (rows @ agree)[None, :]
    spread = (share * (agree - mean * (1 - kappa)) ** 2).sum() - (kappa - expected * (1 - kappa)) ** 2
    null = (np.outer(rows, columns) * (agree - mean) ** 2).sum() - expected**2
    scale = n * (1 - expected) ** 2
    # Rounding may leave a hair below zero.
    return float(max(spread, 0.0) / scale) ** 0.5, float(max(null, 0.0) / scale) ** 0.5


def gwet_ac1(codes: Codes, categories: Sequence[str], *, level: float = LEVEL) -> Agreement:
    """Gwet's AC1 of two or more raters, some ratings missing, (p_a - p_e) / (1 - p_e).

    p_a is the mean, over items with two ratings or more, of the share of pairs of raters that agree; with
    pi_k the mean share of category k over all rated items, p_e = sum pi_k (1 - pi_k) / (q - 1). Steady where
    one category prevails and kappa is not. The variance is Gwet's linearisation over items (divisor n - 1, no
    finite population), the interval Student's t with n - 1 degrees of freedom, cut at -1 and 1. Where no item
    disagrees, the lower bound is Wilson's of p_a, taken through the same formula.

    Source: Gwet 2008, Br J Math Stat Psychol 61:29-48; Gwet 2014, Handbook of Inter-Rater Reliability;
    SPEC L20.

    >>> table = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [80, 10, 5, 5], axis=0)
    >>> round(gwet_ac1(table, ("no", "yes")).estimate.value, 3)
    0.808

    Args:
        codes: shape (items, raters), -1 where a rating is missing.
    """
    counts = _per_item(codes, len(categories))
    rated = counts[counts.sum(axis=1) >= 1]
    size = len(categories)
    if refused := _refusal(codes, counts, categories):
        return _undefined(refused, len(counts), counts)
    ratings = rated.sum(axis=1)
    pairs = ratings >= 2
    n, paired = len(rated), int(pairs.sum())
    share = (rated / ratings[:, None]).mean(axis=0)
    expected = float((share * (1 - share)).sum() / (size - 1))
    agreeing = _agreeing(rated)
    observed = float(agreeing[pairs].mean())
    value = (observed - expected) / (1 - expected)
    own = np.where(pairs, n / paired * (agreeing - expected) / (1 - expected), 0.0)
    chance = (rated @ (1 - share)) / ratings / (size - 1)
    linear = own - 2 * (1 - value) * (chance - expected) / (1 - expected)
    return _linearised("Gwet's AC1", value, linear, (observed, expected), len(counts) - paired, level=level)


def fleiss_kappa(codes: Codes, categories: Sequence[str], *, level: float = LEVEL) -> Agreement:
    """Fleiss' kappa of two or more raters, over the items that all of them rated.

    p_o is the mean share of agreeing pairs of raters on an item, p_e = sum p_k^2 with p_k the share of category k
    among all ratings. It takes the raters as exchangeable: with two it is Scott's pi. Items with a missing
    rating are left out and counted; Krippendorff's alpha uses them. The standard error is Gwet's linearisation
    over items, the interval Student's t; ``null_error`` is Fleiss, Nee and Landis'. Where no item disagrees,
    as :func:`gwet_ac1`. Undefined when all ratings are one category.

    Source: Fleiss 1971, Psychol Bull 76:378-382; Fleiss, Nee and Landis 1979, Psychol Bull 86:974-977;
    Gwet 2014.

    >>> codes = np.array([[0, 0, 0], [1, 1, 1], [0, 1, 1], [1, 1, 1]])
    >>> round(fleiss_kappa(codes, ("no", "yes")).estimate.value, 4)
    0.625
    """
    everything = _per_item(codes, len(categories))
    raters = codes.shape[1] if codes.ndim == 2 else 0
    counts = everything[everything.sum(axis=1) == raters]
    left_out = len(everything) - len(counts)
    if refused := _refusal(codes, everything, categories):
        return _undefined(refused, left_out, everything)
    if len(counts) == 0:
        return _undefined("no item was rated by all raters", left_out, counts)
    share = counts.sum(axis=0) / counts.sum()
    expected = float((share**2).sum())
    agreeing = _agreeing(counts)
    observed = float(agreeing.mean())
    if expected >= 1 - 1e-12:
        only = categories[int(share.argmax())]
        return Agreement(
            estimate=Undefined(
                reason=f"every rating is '{only}', so chance agrees always",
                n=len(counts),
            ),
            observed=observed,
            expected=expected,
            left_out=left_out,
        )
    value = (observed - expected) / (1 - expected)
    linear = (agreeing - expected) / (1 - expected)
    linear -= 2 * (1 - value) * (counts @ share / raters - expected) / (1 - expected)
    found = _linearised("Fleiss' kappa", value, linear, (observed, expected), left_out, level=level)
    null_error = _fleiss_null_error(share, len(counts), raters)
    return msgspec.structs.replace(found, null_error=null_error, p_value=_p_value(value, null_error))


def _fleiss_null_error(share: NDArray[np.float64], n: int, raters: int) -> float:
    """The standard error when raters agree by chance only (Fleiss, Nee and Landis 1979)."""
    spread = share * (1 - share)
    total = float(spread.sum())
    inner = total**2 - float((spread * (1 - 2 * share)).sum())
    return float((2 * max(inner, 0.0) / (n * raters * (raters - 1))) ** 0.5 / total)


def _per_item(codes: Codes, size: int) -> Counts:
    """How many raters gave each category to each item: shape (items, categories)."""
    if codes.ndim != 2:
        return np.zeros((0, size))
    refuse_codes(codes, size)
    counts = np.zeros((len(codes), size))
    items, raters = np.nonzero(codes >= 0)
    np.add.at(counts, (items, codes[items, raters]), 1)
    return counts


def _agreeing(counts: Counts) -> NDArray[np.float64]:
    """The share of pairs of ratings of each item that agree, 0 for items with a single rating."""
    ratings = counts.sum(axis=1)
    pairs = ratings * (ratings - 1)
    return np.asarray((counts * (counts - 1)).sum(axis=1) / np.where(pairs, pairs, 1), dtype=np.float64)


def _refusal(codes: Codes, counts: Counts, categories: Sequence[str]) -> str:
    """Why there can be no coefficient, empty when there can."""
    if codes.ndim != 2 or not (codes >= 0).any():
        return "there are no ratings"
    if int((codes >= 0).any(axis=0).sum()) < 2:
        return ONE_RATER
    if not bool((counts.sum(axis=1) >= 2).any()):
        return NO_PAIR
    if len(categories) < 2:
        return f"only one category is declared: all ratings are '{categories[0]}'"
    return ""


def _undefined(reason: str, left_out: int, counts: Counts) -> Agreement:
    """No coefficient; n counts the items that two raters rated."""
    nothing = Undefined(reason=reason, n=int((counts.sum(axis=1) >= 2).sum()))
    return Agreement(estimate=nothing, observed=nothing, expected=nothing, left_out=left_out)


def _linearised(
    method: str,
    value: float,
    linear: NDArray[np.float64],
    shares: tuple[float, float],
    left_out: int,
    *,
    level: float,
) -> Agreement:
    """A coefficient with the variance of its linearisation over items; ``shares`` are observed and expected."""
    n = len(linear)
    observed, expected = shares
    error: float | None = None
    interval: Interval | Undefined = Undefined(reason="one item has no spread", n=n)
    if n > 1:
        error = float(((linear - value) ** 2).sum() / (n * (n - 1))) ** 0.5
        half = float(special.stdtrit(n - 1, (1 + level) / 2)) * error
        interval = _around(value, half, level, "Gwet's linearisation over items, Student's t")
        if error <= NOISE and observed < 1:
            alike = "every item agrees to the same degree, so the standard error is 0 and says nothing"
            interval, error = Undefined(reason=alike if observed > NOISE else NOTHING_AGREES, n=n), None
    if observed >= 1:
        interval = _sure(expected, n, level)
    return Agreement(
        estimate=Estimate(value=value, interval=interval, n=n, method=method, standard_error=error),
        observed=observed,
        expected=expected,
        left_out=left_out,
    )


def _around(value: float, half: float, level: float, method: str) -> Interval:
    return Interval(lo=max(value - half, -1.0), hi=min(value + half, 1.0), level=level, method=method)


def _sure(expected: float, n: int, level: float) -> Interval:
    """The interval where no item disagrees: its observed agreement may still be less than 1."""
    lowest = wilson(n, n, level=level).lo
    return Interval(lo=max((lowest - expected) / (1 - expected), -1.0), hi=1.0, level=level, method=SURE)


def _p_value(value: float, error: float) -> float | None:
    """Two-sided, from the normal distribution; none when the error is 0."""
    return float(2 * special.ndtr(-abs(value) / error)) if error > NOISE else None
