"""How often the intervals of agreement hold the true value: the table of docs/explanation/agreement.md.

``python tests/scoring/test_agreement_coverage.py`` prints it. Two raters label items of which a share ``p`` is
"yes"; each errs with chance ``e``, independently. The true value is that of the cells' probabilities.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from lacre.scoring.agreement import cohen_kappa, gwet_ac1
from lacre.scoring.confusion import Confusion, classification, codes_of, specific_agreement
from lacre.scoring.estimates import Estimate, Interval, Measured
from lacre.scoring.krippendorff import krippendorff_alpha

YES_NO = ("no", "yes")
DRAWS = 2000
BOOT = 500

Statistic = Callable[[Confusion, np.random.Generator], Measured]


def alpha(table: Confusion, rng: np.random.Generator) -> Measured:
    return krippendorff_alpha(codes_of(table).astype(float), "nominal", rng=rng, draws=BOOT).estimate


STATISTICS: dict[str, Statistic] = {
    "kappa": lambda table, _: cohen_kappa(table).estimate,
    "AC1": lambda table, _: gwet_ac1(codes_of(table), YES_NO).estimate,
    "alpha": alpha,
    "agreement on yes": lambda table, _: specific_agreement(table, "yes"),
    "macro-F1": lambda table, _: classification(table).macro_f1,
}

SETTINGS = [(p, e, n) for p, e in ((0.5, 0.1), (0.2, 0.1), (0.05, 0.03)) for n in (30, 100, 200, 1000)]


def cells(p: float, e: float) -> np.ndarray:
    """Chances of (first, second) labels: no-no, no-yes, yes-no, yes-yes."""
    yes = p * np.array([e * e, e * (1 - e), e * (1 - e), (1 - e) ** 2])
    no = (1 - p) * np.array([(1 - e) ** 2, e * (1 - e), e * (1 - e), e * e])
    return np.asarray(yes + no)


def truth(name: str, p: float, e: float) -> float:
    (a, b), (c, d) = cells(p, e).reshape(2, 2)
    yes = (b + 2 * d + c) / 2
    chance = yes**2 + (1 - yes) ** 2
    seen = a + d
    f_no, f_yes = 2 * a / (2 * a + b + c), 2 * d / (2 * d + b + c)
    return float(
        {
            "kappa": (seen - chance) / (1 - chance),
            "AC1": (seen - 2 * yes * (1 - yes)) / (1 - 2 * yes * (1 - yes)),
            "alpha": (seen - chance) / (1 - chance),
            "agreement on yes": f_yes,
            "macro-F1": (f_no + f_yes) / 2,
        }[name]
    )


def coverage(name: str, p: float, e: float, n: int, draws: int = DRAWS) -> tuple[float, float]:
    """The share of samples whose interval holds the truth, and the share that have no interval."""
    rng = np.random.default_rng(20)
    held = none = 0
    for sample in rng.multinomial(n, cells(p, e), size=draws).tolist():
        found = STATISTICS[name](
            Confusion(categories=YES_NO, counts=((sample[0], sample[1]), (sample[2], sample[3]))), rng
        )
        if isinstance(found, Estimate) and isinstance(found.interval, Interval):
            held += found.interval.contains(truth(name, p, e))
        else:
            none += 1
    return held / max(draws - none, 1), none / draws


@pytest.mark.slow
@pytest.mark.parametrize("name", list(STATISTICS))
@pytest.mark.parametrize("n", [200, 1000])
def test_intervals_hold_the_truth_where_classes_are_even(name: str, n: int) -> None:
    held, none = coverage(name, 0.5, 0.1, n, draws=1000)
    assert none == 0
    assert 0.92 < held < 0.975


@pytest.mark.slow
def test_what_the_docs_warn_of_is_so() -> None:
    # Thirty items of which one or two are "yes": kappa's normal interval holds the truth far less than 95 %.
    held, none = coverage("kappa", 0.05, 0.03, 30, draws=1000)
    assert held < 0.9
    assert none > 0


if __name__ == "__main__":
    print("| yes | errors | items | " + " | ".join(STATISTICS) + " |")
    print("|---:|---:|---:|" + "---:|" * len(STATISTICS))
    for p, e, n in SETTINGS:
        shown = []
        for name in STATISTICS:
            held, none = coverage(name, p, e, n)
            shown.append(f"{held:.1%}" + (f" ({none:.1%} none)" if none else ""))
        print(f"| {p:.0%} | {e:.0%} | {n:,} | " + " | ".join(shown) + " |")

    from test_icc import covered  # type: ignore[import-not-found]

    print()
    print("| items | raters | missing | ICC(2,1) |")
    print("|---:|---:|---:|---:|")
    for items, raters, gone in (
        (20, 2, 0.0), (100, 2, 0.0), (20, 4, 0.0), (100, 4, 0.0), (20, 4, 0.3), (100, 4, 0.3), (100, 8, 0.6)
    ):  # fmt: skip
        share = covered(np.random.default_rng(20), items, raters, gone, 4000)
        print(f"| {items} | {raters} | {gone:.0%} | {share:.1%} |")
