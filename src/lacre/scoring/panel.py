"""All that can be said of a table of ratings: every pair of raters, and all of them together (SPEC L20)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import msgspec
import numpy as np

from lacre.errors import InputError
from lacre.scoring.agreement import (
    NO_PAIR,
    Agreement,
    Weighting,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
)
from lacre.scoring.confusion import (
    Classification,
    Codes,
    Confusion,
    classification,
    codes_of,
    confusion_of,
    encoded,
    rarer_category,
    specific_agreement,
)
from lacre.scoring.estimates import LEVEL, Measured, Undefined
from lacre.scoring.gates import Named
from lacre.scoring.icc import Icc, Scores, icc_2_1
from lacre.scoring.intervals import proportion
from lacre.scoring.krippendorff import DRAWS, Alpha, Scale, krippendorff_alpha

MANY = 100
"""More different scores than this are no categories: coefficients of categories are then undefined."""


class Pair(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two raters: their confusion matrix and every coefficient of it.

    Source: those of :mod:`lacre.scoring.agreement` and :mod:`~lacre.scoring.confusion`; SPEC L20.

    >>> labels = [("yes", "yes"), ("no", "no"), ("yes", "no"), ("no", "no")]
    >>> [pair] = measured_panel(labels, ("ana", "rui"), ("no", "yes"), rng=np.random.default_rng(0), draws=50).pairs
    >>> pair.observed.value, pair.kappa.estimate.value, pair.rarer.name
    (0.75, 0.5, 'yes')

    Attributes:
        weighted: kappa with linear and quadratic weights on ordered scales, with own weights where given.
        specific: specific agreement on each declared category.
        rarer: the one that matters most, on the category given least often.
        by_class: precision, recall and F1 of the second rater against the first.
    """

    first: str
    second: str
    table: Confusion
    observed: Measured
    kappa: Agreement
    weighted: dict[str, Agreement]
    ac1: Agreement
    specific: tuple[Named, ...]
    rarer: Named
    by_class: Classification


class Panel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of ratings, measured.

    Source: that of :func:`measured_panel`, which makes it; SPEC L20.

    >>> labels = [("yes", "yes"), ("no", "no"), ("yes", None)]
    >>> panel = measured_panel(labels, ("ana", "rui"), ("no", "yes"), rng=np.random.default_rng(0), draws=50)
    >>> panel.items, panel.ratings, len(panel.pairs), panel.icc
    (3, (3, 2), 1, None)

    Attributes:
        items: items of the table, rated or not.
        ratings: ratings given, for each rater.
        pairs: every two raters, in their order; none where scores are too many to be categories.
        fleiss, ac1: of all raters; for two they stand beside the pair's own.
        icc: on the interval scale only.
    """

    raters: tuple[str, ...]
    categories: tuple[str, ...]
    scale: Scale
    items: int
    ratings: tuple[int, ...]
    pairs: tuple[Pair, ...]
    fleiss: Agreement
    ac1: Agreement
    alpha: Alpha
    icc: Icc | None


def measured_panel(
    labels: Sequence[Sequence[str | None]],
    raters: Sequence[str],
    categories: Sequence[str],
    *,
    rng: np.random.Generator,
    scale: Scale = "nominal",
    weights: Sequence[Sequence[float]] | None = None,
    scores: Scores | None = None,
    draws: int = DRAWS,
    level: float = LEVEL,
) -> Panel:
    """Every coefficient of agreement of a table of ratings: of each pair of raters, and of all together.

    Source: those of :mod:`lacre.scoring.agreement`, :mod:`~lacre.scoring.krippendorff` and
    :mod:`~lacre.scoring.icc`; SPEC L20.

    >>> labels = [("yes", "yes"), ("no", "no"), ("yes", "no"), ("no", "no")]
    >>> panel = measured_panel(labels, ("ana", "rui"), ("no", "yes"), rng=np.random.default_rng(0))
    >>> panel.pairs[0].kappa.estimate.value, round(panel.alpha.estimate.value, 4)
    (0.5, 0.5333)

    Args:
        labels: shape (items, raters), none where missing.
        categories: all labels that could be given, in their order where the scale has one.
        scale: what distances between labels mean, for alpha and weighted kappa.
        weights: agreement weights of one's own for kappa, in the order of the categories.
        scores: the labels as numbers, NaN where missing, shape (items, raters); the interval scale needs them.

    Raises:
        InputError: a rater named twice, labels that are not declared, weights or scores that do not fit.
    """
    twice = sorted({name for name in raters if list(raters).count(name) > 1})
    if twice:
        raise InputError("raters", f"'{twice[0]}' is there twice", "Give each rater a name of their own")
    codes = encoded(labels, categories)
    if codes.size == 0:
        codes = codes.reshape(len(labels), len(raters))
    if codes.shape[1] != len(raters):
        raise InputError("labels", f"{codes.shape[1]} in a row for {len(raters)} raters", "Give one of each")
    if len(categories) > MANY:
        return _of_scores(
            codes, (tuple(raters), tuple(categories)), scale, scores, rng, draws=draws, level=level
        )
    pairs = tuple(
        _pair(codes[:, [one, other]], (raters[one], raters[other]), categories, scale, weights, level=level)
        for one, other in combinations(range(len(raters)), 2)
    )
    return Panel(
        raters=tuple(raters),
        categories=tuple(categories),
        scale=scale,
        items=len(codes),
        ratings=tuple(int(count) for count in (codes >= 0).sum(axis=0)),
        pairs=pairs,
        fleiss=fleiss_kappa(codes, categories, level=level),
        ac1=gwet_ac1(codes, categories, level=level),
        alpha=krippendorff_alpha(_distances(codes, scale, scores), scale, rng=rng, draws=draws, level=level),
        icc=icc_2_1(scores, level=level) if scale == "interval" and scores is not None else None,
    )


def _of_scores(
    codes: Codes,
    names: tuple[tuple[str, ...], tuple[str, ...]],
    scale: Scale,
    scores: Scores | None,
    rng: np.random.Generator,
    *,
    draws: int,
    level: float,
) -> Panel:
    """The panel where scores are too many to be categories: alpha and ICC alone."""
    raters, categories = names
    nothing = Undefined(reason=f"{len(categories):,} different scores are no categories", n=len(codes))
    none = Agreement(estimate=nothing, observed=nothing, expected=nothing)
    return Panel(
        raters=raters,
        categories=categories,
        scale=scale,
        items=len(codes),
        ratings=tuple(int(count) for count in (codes >= 0).sum(axis=0)),
        pairs=(),
        fleiss=none,
        ac1=none,
        alpha=krippendorff_alpha(_distances(codes, scale, scores), scale, rng=rng, draws=draws, level=level),
        icc=icc_2_1(scores, level=level) if scale == "interval" and scores is not None else None,
    )


def _distances(codes: Codes, scale: Scale, scores: Scores | None) -> Scores:
    """The ratings as numbers whose distances the scale gives a meaning."""
    if scale != "interval":
        return np.where(codes >= 0, codes, np.nan).astype(np.float64)
    if scores is None or scores.shape != codes.shape:
        raise InputError(
            "scores", "the interval scale needs one for each label", "Give the labels as numbers"
        )
    return scores


def _pair(
    codes: Codes,
    names: tuple[str, str],
    categories: Sequence[str],
    scale: Scale,
    weights: Sequence[Sequence[float]] | None,
    *,
    level: float,
) -> Pair:
    table = confusion_of(codes[:, 0], codes[:, 1], categories)
    weighted: dict[str, Agreement] = {}
    if scale != "nominal":
        kinds: tuple[Weighting, ...] = ("linear", "quadratic")
        weighted = {kind: cohen_kappa(table, weights=kind, level=level) for kind in kinds}
    if weights is not None:
        weighted["own"] = cohen_kappa(table, weights=weights, level=level)
    rarer = rarer_category(table)
    hits = sum(table.counts[code][code] for code in range(len(categories)))
    return Pair(
        first=names[0],
        second=names[1],
        table=table,
        observed=proportion(hits, table.n, level=level, empty=NO_PAIR),
        kappa=cohen_kappa(table, level=level),
        weighted=weighted,
        ac1=gwet_ac1(codes_of(table) if table.n else codes, categories, level=level),
        specific=tuple(
            Named(name=name, measured=specific_agreement(table, name, level=level)) for name in categories
        ),
        rarer=Named(name="", measured=rarer)
        if isinstance(rarer, Undefined)
        else Named(name=rarer, measured=specific_agreement(table, rarer, level=level)),
        by_class=classification(table, level=level),
    )
