"""Two raters side by side: the confusion matrix, agreement by class, precision, recall and F1 (SPEC L20, I5, I8)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from lacre.errors import InputError
from lacre.scoring.estimates import LEVEL, Estimate, Interval, Measured, Undefined
from lacre.scoring.intervals import normal_quantile, wilson

Codes = NDArray[np.int64]
"""Ratings as places in the declared categories, -1 where there is none; shape (items,) or (items, raters)."""

Counts = NDArray[np.float64]


class Confusion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often each pair of categories was given; rows are the first rater's, columns the second's.

    >>> Confusion(categories=("no", "yes"), counts=((5, 5), (10, 80))).n
    100

    Attributes:
        unpaired: items that only one of the two rated, or neither: they are in no cell.

    Raises:
        InputError: the counts are not square, not those of the categories, or negative.
    """

    categories: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    unpaired: int = 0

    def __post_init__(self) -> None:
        """Refuse what is no confusion matrix."""
        size = len(self.categories)
        if len(self.counts) != size or any(len(row) != size for row in self.counts):
            raise InputError(
                "confusion matrix",
                f"is not {size} x {size}, for {size} categories",
                "Give a row and a column for each",
            )
        if any(count < 0 for row in self.counts for count in row):
            raise InputError("confusion matrix", "has a negative count", "Counts are of items")

    @property
    def n(self) -> int:
        """Items that both rated, the sum of all n_ij (SPEC L20).

        >>> Confusion(categories=("a", "b"), counts=((1, 2), (3, 4))).n
        10
        """
        return sum(map(sum, self.counts))

    @property
    def array(self) -> Counts:
        """The counts n_ij as floats, shape (categories, categories) (SPEC I5).

        >>> Confusion(categories=("a", "b"), counts=((1, 2), (3, 4))).array.sum(axis=1).tolist()
        [3.0, 7.0]
        """
        return np.array(self.counts, dtype=np.float64).reshape(len(self.categories), -1)

    @property
    def transposed(self) -> Confusion:
        """The same with the raters exchanged: n_ji in the place of n_ij (SPEC I5).

        >>> Confusion(categories=("a", "b"), counts=((1, 2), (3, 4))).transposed.counts
        ((1, 3), (2, 4))
        """
        return msgspec.structs.replace(self, counts=tuple(zip(*self.counts, strict=True)))


class ClassScores(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One category: how well the second rater (rated) finds what the first (reference) calls so (SPEC I8).

    >>> table = Confusion(categories=("a", "b"), counts=((3, 1), (0, 4)))
    >>> scores = classification(table).classes[0]
    >>> scores.support, scores.given, scores.recall.value
    (4, 3, 0.75)

    Attributes:
        support: items of this category by the reference.
        given: items of this category by the other.
    """

    category: str
    support: int
    given: int
    precision: Measured
    recall: Measured
    f1: Measured


class Classification(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Precision, recall and F1 of every category, and their macro average (SPEC I8).

    >>> classification(Confusion(categories=("a", "b", "c"), counts=((3, 0, 0), (0, 4, 0), (0, 0, 0)))).absent
    ('c',)

    Attributes:
        absent: declared categories that neither used; they are in no average.
    """

    accuracy: Measured
    macro_f1: Measured
    classes: tuple[ClassScores, ...]
    absent: tuple[str, ...]


def refuse_categories(categories: Sequence[str]) -> None:
    """Refuse categories that are none, or given twice: what a rater may say is declared (SPEC L20).

    >>> refuse_categories(("no", "yes"))

    Raises:
        InputError: there is none, or one is given twice.
    """
    if not categories:
        raise InputError("categories", "none are declared", "Name every label that a rater may give")
    twice = sorted({name for name in categories if list(categories).count(name) > 1})
    if twice:
        raise InputError("categories", f"'{twice[0]}' is declared twice", "Name each label once")


def refuse_codes(codes: Codes, size: int) -> None:
    """Refuse codes that are places of no declared category (SPEC L20).

    >>> refuse_codes(np.array([0, 1, -1]), 2)

    Raises:
        InputError: a code at or above the number of categories, or below -1.
    """
    if codes.size and (int(codes.max()) >= size or int(codes.min()) < -1):
        wrong = int(codes.max()) if int(codes.max()) >= size else int(codes.min())
        raise InputError(
            "codes", f"{wrong} is no place among {size} categories", "Declare every label; -1 is for none"
        )


def encoded(labels: Sequence[Sequence[str | None]], categories: Sequence[str]) -> Codes:
    """Ratings as places in ``categories``: shape (items, raters), -1 where a rater gave none (SPEC L20).

    >>> encoded([("yes", "no"), ("yes", None)], ("no", "yes")).tolist()
    [[1, 0], [1, -1]]

    Raises:
        InputError: a label that is not declared (all such labels are named), rows of different lengths, or
            categories as :func:`refuse_categories` refuses.
    """
    refuse_categories(categories)
    place: dict[str | None, int] = {None: -1, **{name: code for code, name in enumerate(categories)}}
    unknown = sorted({label for row in labels for label in row if label is not None and label not in place})
    if unknown:
        named = ", ".join(f"'{label}'" for label in unknown)
        raise InputError("labels", f"{named} not among the categories", f"Declared: {', '.join(categories)}")
    widths = {len(row) for row in labels}
    if len(widths) > 1:
        raise InputError("labels", "items have different numbers of raters", "Put none where one is missing")
    codes = [[place[label] for label in row] for row in labels]
    return np.array(codes, dtype=np.int64).reshape(len(labels), max(widths, default=0))


def confusion(
    first: Sequence[str | None], second: Sequence[str | None], categories: Sequence[str]
) -> Confusion:
    """The confusion matrix of two raters' labels, item by item; none where a rater gave no label.

    n_ij is the number of items that the first calls i and the second j. Source: SPEC I5, L20.

    >>> confusion(["a", "b", "b", None], ["a", "a", "b", "b"], ("a", "b"))
    Confusion(categories=('a', 'b'), counts=((1, 0), (1, 1)), unpaired=1)

    Raises:
        InputError: the two are of different lengths, or as :func:`encoded`.
    """
    if len(first) != len(second):
        raise InputError("labels", f"{len(first)} and {len(second)} of them", "Give one of each per item")
    codes = encoded(list(zip(first, second, strict=True)), categories).reshape(-1, 2)
    return confusion_of(codes[:, 0], codes[:, 1], categories)


def confusion_of(first: Codes, second: Codes, categories: Sequence[str]) -> Confusion:
    """The confusion matrix of two columns of :func:`encoded`: n_ij = number of items with codes i and j (SPEC I5).

    >>> confusion_of(np.array([0, 1, -1]), np.array([0, 0, 0]), ("a", "b")).counts
    ((1, 0), (1, 0))
    """
    size = len(categories)
    refuse_codes(first, size)
    refuse_codes(second, size)
    both = (first >= 0) & (second >= 0)
    cells = np.bincount(first[both] * size + second[both], minlength=size * size).reshape(size, size)
    return Confusion(
        categories=tuple(categories),
        counts=tuple(tuple(int(count) for count in row) for row in cells),
        unpaired=int((~both).sum()),
    )


def specific_agreement(table: Confusion, category: str, *, level: float = LEVEL) -> Measured:
    r"""Specific agreement on one category: when one rater gives it, how often the other does too.

    2 n_cc / (n_c. + n_.c). With a = n_cc and d items that only one of the two calls c, that is 2f / (1 + f)
    for the proportion f = a / (a + d): Wilson's bounds of f, put through the same curve, are the interval.
    ``n`` is a + d. For two categories these are positive and negative agreement.

    Source: Cicchetti and Feinstein 1990, J Clin Epidemiol 43:551-558; SPEC L20.

    >>> table = Confusion(categories=("no", "yes"), counts=((5, 5), (10, 80)))
    >>> round(specific_agreement(table, "no").value, 4)
    0.4

    Raises:
        InputError: the category is not declared.
    """
    if category not in table.categories:
        raise InputError("category", f"'{category}' is not declared", f"There are: {table.categories}")
    code = table.categories.index(category)
    both = table.counts[code][code]
    either = sum(table.counts[code]) + sum(row[code] for row in table.counts) - both
    if either == 0:
        return Undefined(reason=f"neither rater gave '{category}'")
    share = wilson(both, either, level=level)
    return Estimate(
        value=_specific(both / either),
        interval=Interval(
            lo=_specific(share.lo),
            hi=_specific(share.hi),
            level=level,
            method="Wilson, transformed",
        ),
        n=either,
        method=f"specific agreement on '{category}'",
    )


def _specific(share: float) -> float:
    return 2 * share / (1 + share)


def rarer_category(table: Confusion) -> str | Undefined:
    """The category that the two raters together gave least often, among those that either gave.

    The least n_c. + n_.c above 0; on a tie the category that is declared first. Source: SPEC L20.

    >>> rarer_category(Confusion(categories=("no", "yes"), counts=((5, 5), (10, 80))))
    'no'
    """
    given = [
        (sum(row) + sum(other[code] for other in table.counts), code) for code, row in enumerate(table.counts)
    ]
    used = [pair for pair in given if pair[0]]
    if not used:
        return Undefined(reason="no item was rated by both")
    if len(used) == 1:
        return Undefined(reason=f"both raters gave '{table.categories[used[0][1]]}' to every item", n=table.n)
    return table.categories[min(used)[1]]


def classification(table: Confusion, *, level: float = LEVEL) -> Classification:
    """Precision, recall and F1 of the columns of ``table`` against its rows, with macro-F1.

    Precision n_cc / n_.c and recall n_cc / n_c. with Wilson's interval; F1 = 2 n_cc / (n_c. + n_.c), with the
    interval of :func:`specific_agreement`, which it equals. Macro-F1 is the mean over the categories that
    either rater used; its variance is the delta method on the multinomial cells. F1 does not change when the
    raters are exchanged; precision and recall change places.

    Source: Takahashi et al. 2022, Applied Intelligence 52:4961-4972 (interval of macro-F1); SPEC I8.

    >>> scores = classification(Confusion(categories=("no", "yes"), counts=((5, 5), (10, 80))))
    >>> round(scores.macro_f1.value, 4), round(scores.classes[0].precision.value, 4)
    (0.6571, 0.3333)
    """
    hits = sum(table.counts[code][code] for code in range(len(table.categories)))
    classes = tuple(_class_scores(table, code, level) for code in range(len(table.categories)))
    return Classification(
        accuracy=_proportion(hits, table.n, "accuracy", "no item was rated by both", level),
        macro_f1=_macro_f1(table, level),
        classes=classes,
        absent=tuple(scores.category for scores in classes if not scores.support + scores.given),
    )


def _class_scores(table: Confusion, code: int, level: float) -> ClassScores:
    name = table.categories[code]
    both = table.counts[code][code]
    support = sum(table.counts[code])
    given = sum(row[code] for row in table.counts)
    f1 = specific_agreement(table, name, level=level)
    return ClassScores(
        category=name,
        support=support,
        given=given,
        precision=_proportion(both, given, "precision", f"'{name}' was never given", level),
        recall=_proportion(both, support, "recall", f"the reference never gave '{name}'", level),
        f1=msgspec.structs.replace(f1, method="F1") if isinstance(f1, Estimate) else f1,
    )


def _proportion(hits: int, n: int, method: str, reason: str, level: float) -> Measured:
    if n == 0:
        return Undefined(reason=reason)
    return Estimate(value=hits / n, interval=wilson(hits, n, level=level), n=n, method=method)


def _macro_f1(table: Confusion, level: float) -> Measured:
    counts = table.array
    if table.n == 0:
        return Undefined(reason="no item was rated by both")
    share = counts / table.n
    sums = share.sum(axis=1) + share.sum(axis=0)
    used = np.flatnonzero(sums)
    f1 = 2 * np.diag(share)[used] / sums[used]
    # The derivative of the mean of F1 by each cell.
    slope = np.zeros_like(share)
    for code, score in zip(used, f1, strict=True):
        slope[code, :] -= score / sums[code]
        slope[:, code] -= score / sums[code]
        slope[code, code] += 2 / sums[code]
    slope /= len(used)
    variance = float((share * slope**2).sum() - (share * slope).sum() ** 2) / table.n
    error = max(variance, 0.0) ** 0.5
    value = float(f1.mean())
    interval: Interval | Undefined = Undefined(reason=_without_spread(f1), n=table.n)
    known = error > 1e-7  # less is rounding
    if known:
        half = normal_quantile(level) * error
        interval = Interval(
            lo=max(value - half, 0.0), hi=min(value + half, 1.0), level=level, method="delta method, normal"
        )
    return Estimate(
        value=value,
        interval=interval,
        n=table.n,
        method=f"macro-F1 over {len(used)} categories",
        standard_error=error if known else None,
    )


def _without_spread(f1: Counts) -> str:
    """Why the delta method gives macro-F1 no error."""
    if bool((f1 >= 1).all()):
        return "no disagreement to estimate it from"
    if not f1.any():
        return "no item agrees, so every F1 is 0 and the standard error says nothing"
    if bool(np.isin(f1, (0.0, 1.0)).all()):
        return "every F1 is 0 or 1, so the standard error is 0 and says nothing"
    return "the standard error is 0 though items disagree, and says nothing"


def codes_of(table: Confusion) -> Codes:
    """The ratings that a confusion matrix counts, one row for each item that both rated: shape (n, 2) (SPEC L20).

    >>> codes_of(Confusion(categories=("a", "b"), counts=((1, 0), (1, 0)))).tolist()
    [[0, 0], [1, 0]]
    """
    rows, columns = np.indices((len(table.categories),) * 2).reshape(2, -1)
    times = np.array(table.counts, dtype=np.int64).reshape(-1)
    return np.stack([np.repeat(rows, times), np.repeat(columns, times)], axis=1).astype(np.int64)


def consensus(codes: Codes) -> Codes:
    """The label that more than half of an item's ratings give, -1 where there is none: shape (items,).

    A tie, or no rating at all, has no consensus: a third person decides it (SPEC L19).

    >>> consensus(np.array([[0, 0, 1], [0, 1, -1], [1, -1, -1]])).tolist()
    [0, -1, 1]
    """
    if codes.size == 0:
        return np.full(len(codes), -1, dtype=np.int64)
    counts = np.stack([(codes == code).sum(axis=1) for code in range(max(int(codes.max()) + 1, 1))], axis=1)
    given = counts.sum(axis=1)
    return np.where(2 * counts.max(axis=1) > given, counts.argmax(axis=1), -1).astype(np.int64)
