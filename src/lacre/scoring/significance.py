"""Tests of paired differences, and p values adjusted where there are many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special  # type: ignore[import-untyped]

from lacre.errors import InputError
from lacre.scoring.bootstrap import DRAWS

Floats: TypeAlias = NDArray[np.float64]


class McNemar(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="mcnemar"):
    """McNemar's test of two columns that answer the same items once each.

    With b and c for the two counts and n = b + c: ``p = min(1, 2·P(X ≤ min(b, c)))``, X binomial(n, 1/2), and
    ``χ² = (b − c)²/n``, corrected ``(|b − c| − 1)²/n``.
    Source: McNemar 1947, Psychometrika 12:153; Agresti 2002, Categorical Data Analysis, section 10.1.

    >>> test = mcnemar(1, 7)
    >>> round(test.p, 4), test.chi2, test.chi2_corrected
    (0.0703, 4.5, 3.125)

    Attributes:
        only_first, only_second: items that count for just one of the two: that it alone gets right (or, where
            errors are compared, wrong).
        p: exact and two-sided.
        chi2, chi2_corrected: the statistic without and with continuity correction; none without discordance.
    """

    only_first: int
    only_second: int
    p: float
    chi2: float | None
    chi2_corrected: float | None


class SignFlip(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="sign_flip"):
    """The paired randomisation test, for differences that are not whole; ``p`` is two-sided.

    ``p = (1 + #{|Σ ±d_i| ≥ |Σ d_i|}) / (1 + draws)``, 1 where no item differs.
    Source: Fisher 1935, The Design of Experiments, section 21; Phipson & Smyth 2010, SAGMB 9:39, for the 1s.

    >>> sign_flips(np.array([[0.5, 0.5], [0.25, 0.25]]), [(0, 1)], rng=np.random.default_rng(1), draws=99)
    [SignFlip(p=1.0, draws=99)]
    """

    p: float
    draws: int


def mcnemar(only_first: int, only_second: int) -> McNemar:
    """McNemar's test from the items that just one of two columns gets right.

    With b and c of them, n = b + c: ``p = min(1, 2·P(X ≤ min(b, c)))``, X binomial(n, 1/2), and 1 when n = 0;
    ``χ² = (b − c)²/n``; corrected ``(|b − c| − 1)²/n``.
    Source: McNemar 1947, Psychometrika 12:153; Agresti 2002, Categorical Data Analysis, section 10.1.

    >>> test = mcnemar(86, 150)
    >>> round(test.chi2, 2), round(test.p, 7)
    (17.36, 3.72e-05)

    Raises:
        InputError: a negative count.
    """
    if only_first < 0 or only_second < 0:
        raise InputError("McNemar", f"{only_first} and {only_second} are no counts", "Give counts from 0")
    n = only_first + only_second
    gap = abs(only_first - only_second)
    return McNemar(
        only_first=only_first,
        only_second=only_second,
        p=min(1.0, 2 * float(special.bdtr(min(only_first, only_second), n, 0.5))) if n else 1.0,
        chi2=gap**2 / n if n else None,
        chi2_corrected=max(0, gap - 1) ** 2 / n if n else None,
    )


def holm(p: ArrayLike) -> Floats:
    """P values adjusted by Holm: of m sorted ones the i-th becomes max over j ≤ i of min(1, (m − j + 1)·p_j).

    Source: Holm 1979, Scandinavian Journal of Statistics 6:65.

    >>> holm([0.01, 0.04, 0.03, 0.005]).round(4).tolist()
    [0.03, 0.06, 0.06, 0.02]

    Raises:
        InputError: a value outside [0, 1].
    """
    values = _p_values(p)
    order = np.argsort(values, kind="stable")
    steps = np.arange(values.size, 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps * values[order]))
    return adjusted


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """P values adjusted for the false discovery rate: the i-th of m becomes min over j ≥ i of m·p_j/j.

    Source: Benjamini & Hochberg 1995, JRSS B 57:289.

    >>> benjamini_hochberg([0.01, 0.04, 0.03, 0.005]).round(4).tolist()
    [0.02, 0.04, 0.04, 0.02]

    Raises:
        InputError: a value outside [0, 1].
    """
    values = _p_values(p)
    order = np.argsort(values, kind="stable")[::-1]
    steps = values.size / np.arange(values.size, 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(steps * values[order]))
    return adjusted


def sign_flips(
    values: Floats, pairs: Sequence[tuple[int, int]], *, rng: np.random.Generator, draws: int = DRAWS
) -> list[SignFlip]:
    """The paired randomisation test of pairs of columns of ``values``, of shape (items, columns).

    Under the hypothesis that a pair's columns may be swapped on any item: ``p = (1 + #{|Σ ±d_i| ≥ |Σ d_i|}) /
    (1 + draws)``, with the same random signs for all pairs.
    Source: Fisher 1935, The Design of Experiments, section 21; Phipson & Smyth 2010, SAGMB 9:39, for the 1s.

    >>> [test] = sign_flips(np.array([[1.0, 0.0]] * 12), [(0, 1)], rng=np.random.default_rng(1), draws=999)
    >>> test.p < 0.01
    True
    """
    firsts, seconds = (list(places) for places in zip(*pairs, strict=True))
    gaps = values[:, firsts] - values[:, seconds]
    # A hair below, so that rounding does not part sums that are equal.
    observed = np.abs(gaps.sum(axis=0)) - 1e-9
    reached = np.zeros(len(pairs), np.int64)
    rows = max(1, (1 << 21) // len(values))
    for start in range(0, draws, rows):
        signs = rng.integers(0, 2, size=(min(rows, draws - start), len(values)), dtype=np.int8)
        sums = (2.0 * signs - 1.0) @ gaps
        reached += (np.abs(sums) >= observed).sum(axis=0)
    return [SignFlip(p=float((1 + times) / (1 + draws)), draws=draws) for times in reached]


def _p_values(p: ArrayLike) -> Floats:
    values = np.asarray(p, np.float64)
    # Written so that NaN fails it too.
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise InputError("p values", "one is outside [0, 1], or not a number", "Correct it")
    return values
