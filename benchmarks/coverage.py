"""How often each interval holds the truth, as Markdown tables for docs/explanation/scoring.md.

Proportions, differences and paired bootstraps are summed exactly over every outcome (the bootstrap in the limit of
many draws); what has no such sum is simulated, with the number of repetitions and its error beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]

from lacre.scoring.bootstrap import percentile_interval, resampled_sums
from lacre.scoring.calibration import bin_index, ece
from lacre.scoring.estimates import Estimate, Interval
from lacre.scoring.intervals import (
    JEFFREYS,
    beta_posterior,
    clopper_pearson,
    clustered_mean,
    newcombe_bounds,
    wilson,
)

Floats = NDArray[np.float64]

P = (0.05, 0.2, 0.5, 0.8, 0.95)
N = (30, 200, 1068)
HAIR = 1e-12  # the truth and a bound may be one number, computed in two ways


def table(names: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    head = list(names)
    lines = [head, ["---:"] * len(head), *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def percent(share: float) -> str:
    """A share in percent; outside 93 to 97 in bold."""
    text = f"{100 * share:.1f}"
    return text if 0.93 <= share <= 0.97 else f"**{text}**"


def wald(x: int, n: int) -> Interval:
    """The textbook interval, which lacre does not offer."""
    p = x / n
    reach = 1.959964 * np.sqrt(p * (1 - p) / n)
    return Interval(lo=p - reach, hi=p + reach, method="Wald")


def bootstrap_limit(x: int, n: int) -> Interval:
    """The percentile bootstrap of a proportion with draws without end: quantiles of binomial(n, x/n)/n."""
    lo, hi = stats.binom.ppf([0.025, 0.975], n, x / n) / n
    return Interval(lo=float(lo), hi=float(hi), method="percentile")


def of_proportion(make: Callable[[int, int], Interval], n: int, p: float) -> float:
    """Exact coverage of an interval of a proportion."""
    found = [make(x, n) for x in range(n + 1)]
    holds = np.array([interval.lo - HAIR <= p <= interval.hi + HAIR for interval in found])
    return float(stats.binom.pmf(np.arange(n + 1), n, p)[holds].sum())


def of_newcombe(n: int, p1: float, p2: float) -> float:
    """Exact coverage of Newcombe's interval, both groups of n."""
    counts: Floats = np.arange(n + 1.0)
    first, second = np.meshgrid(counts, counts, indexing="ij")
    found = newcombe_bounds(first, np.full_like(first, n), second, np.full_like(first, n))
    chances = np.outer(stats.binom.pmf(counts, n, p1), stats.binom.pmf(counts, n, p2))
    return float(chances[(found.lo - HAIR <= p1 - p2) & (p1 - p2 <= found.hi + HAIR)].sum())


def of_paired(n: int, first: float, second: float) -> float:
    """Coverage of the paired percentile bootstrap in the limit of many draws.

    Of n items, the first column alone gets each right with chance ``first``, the second with ``second``. Outcomes
    with a chance below 1e-10 are left out.
    """
    b, c = (part.ravel() for part in np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij"))
    possible = b + c <= n
    b, c = b[possible], c[possible]
    chances = stats.multinomial.pmf(
        np.column_stack([b, c, n - b - c]), n, [first, second, 1 - first - second]
    )
    likely = chances > 1e-10
    b, c, chances = b[likely], c[likely], chances[likely]
    size = 2 * n + 1
    angles = 2j * np.pi * np.arange(size) / size
    total = 0.0
    for start in range(0, len(b), 4000):
        here = slice(start, start + 4000)
        q1, q2 = b[here, None] / n, c[here, None] / n
        wave = (1 - q1 - q2 + q1 * np.exp(-angles) + q2 * np.exp(angles)) ** n
        # Distribution of the resampled sum, shifted so that -n comes first.
        below = np.cumsum(np.roll(np.fft.ifft(wave, axis=1).real, n, axis=1), axis=1)
        lo = (below < 0.025).sum(axis=1) - n
        hi = (below < 0.975).sum(axis=1) - n
        truth = n * (first - second)
        total += float(chances[here][(lo - 1e-9 <= truth) & (truth <= hi + 1e-9)].sum())
    return total


def of_clusters(groups: int, repetitions: int, rng: np.random.Generator) -> tuple[float, float]:
    """Simulated coverage of the cluster bootstrap and of the clustered standard error: three runs an item.

    Items' own chances are Beta(2, 1): runs of one item are alike, correlated by 1/4.
    """
    holds = np.zeros(2)
    for _ in range(repetitions):
        chance = rng.beta(2, 1, groups)
        runs = (rng.random((groups, 3)) < chance[:, None]).astype(np.float64)
        drawn = resampled_sums(runs.mean(axis=1)[:, None], rng, 1000)[:, 0] / groups
        by_draws = percentile_interval(drawn)
        by_error = clustered_mean(runs.tolist())
        assert isinstance(by_draws, Interval)
        assert isinstance(by_error, Estimate)
        assert isinstance(by_error.interval, Interval)
        holds += [by_draws.contains(2 / 3), by_error.interval.contains(2 / 3)]
    first, second = holds / repetitions
    return float(first), float(second)


def of_ece(
    n: int, chance: Callable[[Floats], Floats], repetitions: int, rng: np.random.Generator
) -> list[float]:
    """The true binned ECE, the mean estimate, and simulated coverage of the percentile and reflected intervals."""
    levels: Floats = np.round(np.linspace(0.5, 1.0, 11), 2)
    truth = np.abs(np.bincount(bin_index(levels), weights=chance(levels) - levels, minlength=10)).sum() / 11
    holds, total = np.zeros(2), 0.0
    for _ in range(repetitions):
        stated = rng.choice(levels, n)
        right = (rng.random(n) < chance(stated)).astype(np.float64)
        point = ece(stated, right)
        total += point
        gaps = np.eye(10)[bin_index(stated)] * (right - stated)[:, None]
        drawn = np.abs(resampled_sums(gaps, rng, 1000)).sum(axis=1) / n
        found = percentile_interval(drawn)
        assert isinstance(found, Interval)
        lo, hi = max(0.0, 2 * point - found.hi), max(0.0, 2 * point - found.lo)
        holds += [found.contains(truth), lo - HAIR <= truth <= hi + HAIR]
    return [float(truth), total / repetitions, *(holds / repetitions).tolist()]


def main() -> None:
    """Print the tables."""
    methods: dict[str, Callable[[int, int], Interval]] = {
        "Wilson": wilson,
        "Clopper-Pearson": clopper_pearson,
        "Beta, uniform": beta_posterior,
        "Beta, Jeffreys": lambda x, n: beta_posterior(x, n, prior=JEFFREYS),
        "percentile bootstrap": bootstrap_limit,
        "Wald": wald,
    }
    rows = [
        [name, str(n), *(percent(of_proportion(make, n, p)) for p in P)]
        for name, make in methods.items()
        for n in N
    ]
    print(table(("interval", "n", *(f"p = {p}" for p in P)), rows), end="\n\n")
    rows = [[str(n), str(p), *(percent(of_newcombe(n, p, q)) for q in P)] for n in N for p in P]
    print(table(("n each", "p1", *(f"p2 = {p}" for p in P)), rows), end="\n\n")
    designs = ((0.02, 0.02), (0.05, 0.05), (0.1, 0.1), (0.15, 0.1), (0.25, 0.2))
    rows = [[str(n), *(percent(of_paired(n, *design)) for design in designs)] for n in N]
    print(table(("n", *(f"{a:.0%} / {b:.0%}" for a, b in designs)), rows), end="\n\n")
    rng = np.random.default_rng(0)
    rows = [[str(groups), *map(percent, of_clusters(groups, 4000, rng))] for groups in (10, 30, 200)]
    print(table(("items, three runs each", "cluster bootstrap", "clustered error, t"), rows), end="\n\n")
    columns: dict[str, Callable[[Floats], Floats]] = {
        "calibrated": lambda c: c,
        "0.05 too sure": lambda c: c - 0.05,
        "far too sure (c³)": lambda c: c**3,
    }
    rows = []
    for name, chance in columns.items():
        for n in N:
            truth, mean, by_percentile, reflected = of_ece(n, chance, 2000, rng)
            rows.append(
                [name, str(n), f"{truth:.3f}", f"{mean:.3f}", percent(by_percentile), percent(reflected)]
            )
    print(table(("column", "n", "true ECE", "mean estimate", "percentile", "reflected"), rows))


if __name__ == "__main__":
    main()
