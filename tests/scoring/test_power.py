"""Power of the exact McNemar test: every outcome summed, other programs, simulation (SPEC L13, L14)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]
from statsmodels.stats.contingency_tables import mcnemar  # type: ignore[import-untyped]

from lacre.errors import InputError
from lacre.scoring.estimates import Undefined
from lacre.scoring.power import (
    Paired,
    Plan,
    design_of_accuracies,
    design_of_difference,
    detectable_difference,
    mcnemar_items,
    mcnemar_power,
    normal_items,
    simulated_power,
)


def enumerated(n: int, design: Paired, alpha: float) -> float:
    """Power from every pair of discordant counts, with the p-values of statsmodels."""
    total = 0.0
    rest = 1 - design.discordance
    for b in range(n + 1):
        for c in range(n + 1 - b):
            if mcnemar([[0, b], [c, 0]], exact=True).pvalue <= alpha + 1e-12:
                chances = [design.first_only, design.second_only, rest]
                total += stats.multinomial.pmf([b, c, n - b - c], n, chances)
    return float(total)


@pytest.mark.parametrize(
    ("n", "first", "second", "level"),
    [
        (12, 0.5, 0.05, 0.95),
        (20, 0.3, 0.1, 0.95),
        (15, 0.6, 0.4, 0.9),
        (25, 0.25, 0.0, 0.95),
        (9, 0.9, 0.1, 0.99),
    ],
)
def test_it_is_the_sum_over_every_outcome(n: int, first: float, second: float, level: float) -> None:
    design = Paired(first_only=first, second_only=second)
    assert mcnemar_power(n, design, level=level) == pytest.approx(enumerated(n, design, 1 - level), abs=1e-10)


@pytest.mark.parametrize("n", [40, 300, 1068])
def test_it_is_what_simulated_runs_show(n: int) -> None:
    design = Paired(first_only=0.14, second_only=0.08)
    draws = 40_000
    power = mcnemar_power(n, design)
    seen = simulated_power(n, design, rng=np.random.default_rng(n), draws=draws)
    assert seen == pytest.approx(power, abs=4 * (power * (1 - power) / draws) ** 0.5)


def test_simulated_p_values_are_those_of_the_exact_test() -> None:
    rng = np.random.default_rng(0)
    design = Paired(first_only=0.3, second_only=0.1)
    cells = np.random.default_rng(0).multinomial(30, [0.3, 0.1, 0.6], size=500)
    found = np.mean([stats.binomtest(b, b + c).pvalue <= 0.05 if b + c else False for b, c, _ in cells])
    assert simulated_power(30, design, rng=rng, draws=500) == pytest.approx(found)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 400), st.floats(0.01, 0.5), st.floats(0.8, 0.99))
def test_without_a_difference_it_is_at_most_the_level_of_the_test(n: int, half: float, level: float) -> None:
    assert mcnemar_power(n, Paired(first_only=half, second_only=half), level=level) <= 1 - level + 1e-9


@given(st.integers(1, 300), st.floats(0, 0.5), st.floats(0, 0.5))
@settings(max_examples=60, deadline=None)
def test_which_column_is_first_does_not_matter(n: int, one: float, other: float) -> None:
    here = mcnemar_power(n, Paired(first_only=one, second_only=other))
    there = mcnemar_power(n, Paired(first_only=other, second_only=one))
    assert here == pytest.approx(there, abs=1e-9)


def test_columns_that_never_differ_show_nothing() -> None:
    assert mcnemar_power(1000, Paired(first_only=0, second_only=0)) == 0.0
    assert mcnemar_power(10, Paired(first_only=1, second_only=0)) == 1.0
    # Five discordant items can never be significant at 5 %, six can: 2 / 2^6 = 0.03125.
    assert mcnemar_power(5, Paired(first_only=1, second_only=0)) == 0.0
    assert mcnemar_power(6, Paired(first_only=1, second_only=0)) == 1.0


@pytest.mark.parametrize(("difference", "discordance"), [(0.1, 0.2), (0.2, 0.3), (0.15, 1.0), (0.04, 0.2)])
def test_planned_items_reach_the_power_and_fewer_do_not(difference: float, discordance: float) -> None:
    design = design_of_difference(difference, discordance)
    plan = mcnemar_items(design)
    assert isinstance(plan, Plan)
    after = [mcnemar_power(n, design) for n in range(plan.items, plan.items + 40)]
    assert min(after) >= 0.8
    assert mcnemar_power(plan.items - 1, design) < 0.8


def test_exact_plans_need_about_what_the_normal_formula_says() -> None:
    design = design_of_difference(0.04, 0.2)
    plan = mcnemar_items(design)
    assert isinstance(plan, Plan)
    normal = normal_items(0.04, design.variance)
    assert normal < plan.items < 1.1 * normal


def test_a_detectable_difference_has_the_power_and_a_smaller_one_has_not() -> None:
    found = detectable_difference(500, 0.25)
    assert isinstance(found, Plan)
    assert found.power >= 0.8
    smaller = design_of_difference(found.difference - 1e-4, 0.25)
    assert mcnemar_power(500, smaller) < 0.8


def test_what_cannot_be_found_is_undefined_with_the_reason() -> None:
    assert str(mcnemar_items(Paired(first_only=0.1, second_only=0.1))) == (
        "undefined: there is no difference to find"
    )
    few = detectable_difference(5, 0.2)
    assert isinstance(few, Undefined)
    assert "so few items" in few.reason
    far = mcnemar_items(design_of_difference(0.0001, 0.5), most=10_000)
    assert isinstance(far, Undefined)
    assert "more than 10,000 items" in far.reason


def test_miller_s_formula_is_as_published() -> None:
    # Miller 2024, section 5: difference 0.03, variance 1/9 of the differences, power 0.8, level 0.95.
    assert normal_items(0.03, 1 / 9) == 969
    assert normal_items(-0.03, 1 / 9) == 969


def test_designs_of_accuracies_keep_the_margins() -> None:
    design = design_of_accuracies(0.8, 0.7, 0.4)
    assert design.difference == pytest.approx(0.1)
    both = 0.8 - design.first_only
    spread = (0.8 * 0.2 * 0.7 * 0.3) ** 0.5
    assert (both - 0.56) / spread == pytest.approx(0.4)
    assert design_of_accuracies(0.8, 0.8, 1.0).discordance == pytest.approx(0, abs=1e-12)
    assert design_of_accuracies(1.0, 0.7, 0.0).discordance == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: design_of_accuracies(0.9, 0.5, 0.9), "correlation: 0.9 cannot be that of 0.9 and 0.5"),
        (lambda: design_of_accuracies(1.5, 0.5, 0.0), "first accuracy: 1.5"),
        (lambda: design_of_difference(0.3, 0.2), "difference: 0.3 is more than the share"),
        (lambda: design_of_difference(0.1, 1.2), "discordance: 1.2"),
        (lambda: design_of_difference(float("nan"), 0.2), "difference"),
        (lambda: Paired(first_only=0.7, second_only=0.6), "no chances of one item"),
        (lambda: Paired(first_only=-0.1, second_only=0.6), "no chances of one item"),
        (lambda: mcnemar_power(0, Paired(first_only=0.2, second_only=0.1)), "items: 0"),
        (lambda: mcnemar_power(10, Paired(first_only=0.2, second_only=0.1), level=1.0), "level"),
        (lambda: mcnemar_items(Paired(first_only=0.2, second_only=0.1), power=1.0), "power: 1.0"),
        (lambda: normal_items(0.0, 0.1), "difference: 0"),
        (lambda: normal_items(0.1, 0.0), "variance: 0"),
        (
            lambda: simulated_power(
                9, Paired(first_only=0.2, second_only=0.1), rng=np.random.default_rng(0), draws=0
            ),
            "draws: 0",
        ),
    ],
)
def test_what_is_no_design_is_refused(call: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        call()  # type: ignore[operator]


def test_large_plans_stay_quick() -> None:
    plan = mcnemar_items(design_of_difference(0.005, 0.2))
    assert isinstance(plan, Plan)
    assert plan.items == pytest.approx(normal_items(0.005, 0.2), rel=0.03)
