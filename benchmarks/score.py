"""Speed and memory of the paired bootstrap, against scipy's, for the same intervals in the same run: one JSON line.

21 columns x 1,068 items, all 210 pairs, 10,000 draws. Ours is the public call, from answers to intervals, with
the tests and ranks that come along; scipy's is ``scipy.stats.bootstrap`` on each pair's differences, percentile
method, from arrays that are ready. Seconds are of processor time, so that other work on the machine weighs less.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]

from lacre.scoring.bootstrap import DRAWS
from lacre.scoring.comparison import Comparison, compare
from lacre.scoring.estimates import Estimate, Interval
from lacre.scoring.outcomes import Answer, Outcome

Floats = NDArray[np.float64]


def made_up(columns: int, items: int, rng: np.random.Generator) -> Floats:
    """Right (1) and wrong (0) answers of shape (items, columns), from abilities and difficulties (Rasch)."""
    ability = rng.normal(0.5, 0.7, columns)
    difficulty = rng.normal(0.0, 1.0, items)
    chance = 1 / (1 + np.exp(difficulty[:, None] - ability))
    return (rng.random((items, columns)) < chance).astype(np.float64)


def as_answers(right: Floats) -> list[Answer]:
    """The same as answers."""
    return [
        Answer(
            column=f"c{column:02}",
            item=f"i{item:05}",
            outcome=Outcome.CORRECT if right[item, column] else Outcome.WRONG,
        )
        for item in range(right.shape[0])
        for column in range(right.shape[1])
    ]


def scipy_bounds(right: Floats, pairs: list[tuple[int, int]], draws: int) -> Floats:
    """Lower and upper bounds of every pair, of shape (pairs, 2)."""
    rng = np.random.default_rng(2)
    bounds = []
    for first, second in pairs:
        found = stats.bootstrap(
            (right[:, first] - right[:, second],),
            np.mean,
            n_resamples=draws,
            method="percentile",
            vectorized=True,
            rng=rng,
        )
        bounds.append(tuple(found.confidence_interval))
    return np.array(bounds)


def our_bounds(found: Comparison, pairs: list[tuple[int, int]]) -> Floats:
    """The same from ours: names give the pair, whichever way round it stands."""
    named = {(pair.first, pair.second): pair.difference for pair in found.pairs}
    bounds = []
    for first, second in pairs:
        names = (f"c{first:02}", f"c{second:02}")
        turned = names not in named
        difference = named[names[::-1] if turned else names]
        assert isinstance(difference, Estimate)
        interval = difference.interval
        assert isinstance(interval, Interval)
        bounds.append((-interval.hi, -interval.lo) if turned else (interval.lo, interval.hi))
    return np.array(bounds)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, default=21)
    parser.add_argument("--items", type=int, default=1068)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--times", type=int, default=3)
    arguments = parser.parse_args()
    right = made_up(arguments.columns, arguments.items, np.random.default_rng(0))
    answers = as_answers(right)
    pairs = list(combinations(range(arguments.columns), 2))
    ours, walls = [], []
    for _ in range(arguments.times):
        begun, wall = time.process_time(), time.perf_counter()
        found = compare(answers, rng=np.random.default_rng(1), draws=arguments.draws)
        ours.append(time.process_time() - begun)
        walls.append(time.perf_counter() - wall)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    begun, wall = time.process_time(), time.perf_counter()
    theirs = scipy_bounds(right, pairs, arguments.draws)
    scipy_seconds, scipy_wall = time.process_time() - begun, time.perf_counter() - wall
    # Both are quantiles of random draws: a bound's standard error is sqrt(q(1 - q)/draws)/density, and the
    # density of a normal at its 2.5 % point is 0.0584 in units of the standard error of the difference.
    errors = np.array([(right[:, a] - right[:, b]).std() for a, b in pairs]) / np.sqrt(arguments.items)
    monte_carlo = np.sqrt(2 * 0.025 * 0.975 / arguments.draws) / 0.0584 * errors
    gaps = np.abs(our_bounds(found, pairs) - theirs)
    print(
        json.dumps(
            {
                "columns": arguments.columns,
                "items": arguments.items,
                "pairs": len(pairs),
                "draws": arguments.draws,
                "seconds": round(min(ours), 3),
                "wall_seconds": round(min(walls), 3),
                "scipy_seconds": round(scipy_seconds, 1),
                "scipy_wall_seconds": round(scipy_wall, 1),
                "times_faster": round(scipy_seconds / min(ours), 1),
                "times_faster_wall": round(scipy_wall / min(walls), 1),
                "largest_gap_of_bounds": round(float(gaps.max()), 5),
                "largest_gap_in_monte_carlo_errors": round(float((gaps / monte_carlo[:, None]).max()), 2),
                "peak_megabytes": round(peak, 0),
            }
        )
    )


if __name__ == "__main__":
    main()
