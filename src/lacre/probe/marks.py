"""The mark *seen*: the threshold that half of the controls set, and the error rate on the others (SPEC L8, X6)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lacre.digest import sha256
from lacre.probe.measures import Measures
from lacre.registry.records import Record
from lacre.scoring.estimates import Measured, Undefined
from lacre.scoring.intervals import proportion
from lacre.scoring.significance import benjamini_hochberg

RUN = 8
"""Telling words in a row that a mark needs: as many as send an item to a person in vetting (SPEC L7)."""
FLOOR = 0.5
"""Share of the telling words that must be reproduced whatever the controls say: less is not "almost verbatim" (L8)."""
MOST_MARKED = 0.01
"""Share of the controls that set the threshold of which it may mark no more (SPEC X6)."""


class Threshold(Record, tag="threshold", omit_defaults=False):
    """What a reply must exceed to be a mark.

    >>> Threshold(share=0.5, controls=300, marked=2, highest=0.71).share
    0.5

    Attributes:
        share: the share that must be exceeded.
        controls: those that set it; ``marked``: those of them that it marks all the same.
        highest: the highest share among them, of those with a run of :data:`RUN` words.
    """

    share: float
    controls: int
    marked: int
    highest: float


def sets_threshold(control: str) -> bool:
    """Whether a control is of the half that sets the threshold; the other half measures its error rate.

    The half is the first bit of SHA-256 over the id, so that neither the run, nor the column, nor other controls
    change it, and nobody chooses.

    >>> [sets_threshold(f"c{number}") for number in range(6)]
    [True, False, False, True, False, False]
    """
    return int(sha256(b"lacre-control-1\0" + control.encode())[0], 16) < 8


def candidate(found: Measures) -> bool:
    """Whether a reply has what every mark needs: a run of :data:`RUN` telling words, and more than :data:`FLOOR`."""
    return found.telling_run >= RUN and found.share > FLOOR


def is_marked(found: Measures, threshold: Threshold) -> bool:
    """Whether a reply is a mark.

    >>> from lacre.probe.measures import Measures
    >>> found = Measures(run=9, telling_run=9, share=0.6, similarity=1, recall=1, exact=False, judged=15, produced=9)
    >>> is_marked(found, Threshold(share=0.5, controls=9, marked=0, highest=0.0))
    True
    """
    return candidate(found) and found.share > threshold.share


def threshold(controls: Sequence[Measures], *, most: float = MOST_MARKED) -> Threshold | Undefined:
    """The lowest share, not below :data:`FLOOR`, that at most ``most`` of these controls exceed.

    Undefined without controls, and where controls reproduced word for word leave none.

    >>> from lacre.probe.measures import Measures
    >>> threshold([])
    Undefined(reason='no control set it', n=0)
    """
    if not controls:
        return Undefined(reason="no control set it", n=0)
    shares = sorted((found.share for found in controls if found.telling_run >= RUN), reverse=True)
    allowed = math.floor(most * len(controls))
    share = max(FLOOR, shares[allowed] if len(shares) > allowed else 0.0)
    if share >= 1:
        reason = f"more than {most:.0%} of the controls that set it are reproduced word for word"
        return Undefined(reason=reason, n=len(controls))
    marked = sum(each > share for each in shares)
    return Threshold(share=share, controls=len(controls), marked=marked, highest=max(shares, default=0.0))


def error_rate(controls: Sequence[Measures], found: Threshold | Undefined) -> Measured:
    """The share of controls marked, of those that did not set the threshold, with the exact interval.

    Source: Clopper and Pearson 1934, Biometrika 26:404; SPEC X6.

    >>> str(error_rate([], Threshold(share=0.5, controls=9, marked=0, highest=0.0)))
    'undefined: no control is left to measure it'
    """
    if isinstance(found, Undefined):
        return Undefined(reason=found.reason, n=len(controls))
    marked = sum(is_marked(each, found) for each in controls)
    empty = "no control is left to measure it"
    return proportion(marked, len(controls), method="clopper-pearson", empty=empty)


def adjusted(p: Sequence[float | None]) -> list[float | None]:
    """P values adjusted over all columns for the false discovery rate; where there is none, none.

    Source: Benjamini and Hochberg 1995, JRSS B 57:289.

    >>> adjusted([0.01, None, 0.04])
    [0.02, None, 0.04]
    """
    there = iter(benjamini_hochberg([value for value in p if value is not None]).tolist())
    return [None if value is None else next(there) for value in p]


def claim(seen: int, items: int, false: int, controls: int) -> float | None:
    """The chance of so many marks or more among the items if items were marked no more often than controls.

    Fisher's exact test, one-sided, which counts that the error rate is itself measured; none without items or
    controls. Source: Fisher 1935, JRSS 98:39.

    >>> round(claim(12, 100, 1, 200), 6)
    1.1e-05
    """
    if not items or not controls:
        return None
    drawn = seen + false
    whole = _log_choose(items + controls, drawn)
    tail = (
        math.exp(_log_choose(items, x) + _log_choose(controls, drawn - x) - whole)
        for x in range(max(seen, drawn - controls), min(items, drawn) + 1)
    )
    return min(1.0, math.fsum(tail))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
