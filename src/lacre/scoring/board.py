"""Every column's metrics, whole and by stratum: what a results page shows (SPEC L11, L13)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import msgspec
import numpy as np

from lacre.errors import InputError
from lacre.scoring.bootstrap import DRAWS
from lacre.scoring.calibration import BINS
from lacre.scoring.estimates import LEVEL
from lacre.scoring.intervals import Method
from lacre.scoring.metrics import THRESHOLDS, Metrics, metrics
from lacre.scoring.outcomes import Answer, by_column, items_of
from lacre.scoring.strata import places


class StratumMetrics(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One column's metrics in one stratum; ``small`` where it has fewer items than a stratum should.

    Each metric as :func:`lacre.scoring.metrics.metrics` defines it, over the stratum's answers. Source: SPEC L13.

    >>> answers = [Answer(column="m", item=i, score=1.0, fields={"area": "law", "layer": "base"}) for i in "ab"]
    >>> [row] = board(answers, rng=np.random.default_rng(1), by=["area", "layer"], smallest=3, draws=50).strata
    >>> row.name, row.metrics.counts.items, row.small
    ('law / base', 2, True)
    """

    column: str
    values: tuple[str, ...]
    small: bool
    metrics: Metrics

    @property
    def name(self) -> str:
        """The stratum's values in one text."""
        return " / ".join(self.values)


class Board(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The metrics of every column, sorted by name, and of its strata.

    Source: SPEC L11, L13; :func:`board` makes it.

    >>> answers = [Answer(column=c, item=i, score=1.0) for c, i in ("bq", "ar", "aq")]
    >>> found = board(answers, rng=np.random.default_rng(1), draws=50)
    >>> [each.column for each in found.columns], found.items, found.missing
    (['a', 'b'], 2, {'b': 1})

    Attributes:
        items: distinct items over all columns; ``missing``: how many of them each column does not answer.
        uneven: columns whose items do not all have the same number of runs.
        by: fields that strata are made of; ``smallest``: items below which one is small.
    """

    items: int
    missing: dict[str, int]
    uneven: tuple[str, ...]
    columns: tuple[Metrics, ...]
    by: tuple[str, ...]
    smallest: int
    strata: tuple[StratumMetrics, ...]


def board(
    answers: Sequence[Answer],
    *,
    rng: np.random.Generator,
    by: Sequence[str] = (),
    smallest: int = 0,
    draws: int = DRAWS,
    level: float = LEVEL,
    method: Method = "wilson",
    thresholds: Sequence[str] = THRESHOLDS,
    bins: int = BINS,
    on_progress: Callable[[int, int], None] | None = None,
) -> Board:
    """All metrics of all columns, whole and in every stratum of the fields ``by``.

    Each metric as :func:`lacre.scoring.metrics.metrics` defines it. Every column and every stratum is resampled
    from one seed that ``rng`` gives, so that one more column changes no other's interval. Source: SPEC L11, L13.

    >>> answers = [Answer(column="m", item=i, score=1.0, fields={"area": a}) for i, a in (("a", "x"), ("b", "y"))]
    >>> found = board(answers, rng=np.random.default_rng(1), by=["area"], smallest=5, draws=50)
    >>> [(row.name, row.small) for row in found.strata]
    [('x', True), ('y', True)]

    Args:
        on_progress: called with parts done and parts in all.

    Raises:
        InputError: no answers, a run given twice, or t outside [0, 1).
    """
    columns = by_column(answers)
    if not columns:
        raise InputError("answers", "there are none", "Give at least one")
    parts: list[tuple[str, tuple[str, ...], Sequence[Answer]]]
    parts = [(column, (), own) for column, own in columns.items()]
    parts += [
        (column, values, group) for column, own in columns.items() for values, group in _groups(own, by)
    ]
    seed = int(rng.integers(0, 2**63))
    measure = partial(metrics, draws=draws, level=level, method=method, thresholds=thresholds, bins=bins)
    found: list[Metrics] = []
    for done, (_, _, own) in enumerate(parts):
        if on_progress is not None:
            on_progress(done, len(parts))
        found.append(measure(own, rng=np.random.default_rng(seed)))
    every = len(items_of(answers))
    whole = found[: len(columns)]
    return Board(
        items=every,
        missing={each.column: every - each.counts.items for each in whole if each.counts.items < every},
        uneven=tuple(column for column, own in columns.items() if _is_uneven(own)),
        columns=tuple(whole),
        by=tuple(by),
        smallest=smallest,
        strata=tuple(
            StratumMetrics(column=column, values=values, small=each.counts.items < smallest, metrics=each)
            for (column, values, _), each in zip(parts[len(columns) :], found[len(columns) :], strict=True)
        ),
    )


def _groups(answers: Sequence[Answer], by: Sequence[str]) -> list[tuple[tuple[str, ...], list[Answer]]]:
    """The answers of each stratum, strata sorted."""
    if not by:
        return []
    groups: dict[tuple[str, ...], list[Answer]] = {}
    for answer in answers:
        for values in places(answer, by):
            groups.setdefault(values, []).append(answer)
    return sorted(groups.items())


def _is_uneven(answers: Sequence[Answer]) -> bool:
    return len(set(Counter(answer.item for answer in answers).values())) > 1
