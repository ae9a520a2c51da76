"""Sample sizes are those of the LUA rules to the digit (SPEC L13)."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from lacre.errors import InputError
from lacre.scoring.samples import exact, rare_events, reach, sample_size, sample_table

# The LUA rules, "Sample size": 95% interval for a proportion, n = 1.96^2 p(1 - p) / E^2.
LUA = {
    "50%": (1068, 385, 196),
    "80%": (683, 246, 126),
    "90%": (385, 139, 71),
    "95%": (203, 73, 38),
}


def test_the_table_is_that_of_the_rules() -> None:
    found = sample_table()
    assert found.margins == ("3%", "5%", "7%")
    assert dict(zip(found.accuracies, found.items, strict=True)) == LUA


@pytest.mark.parametrize("p", ["0.5", "0,5", "50%", "1/2", 0.5, Decimal("0.5"), Fraction(1, 2)])
@pytest.mark.parametrize("margin", ["0.03", "3%", 0.03, "3 %"])
def test_a_number_is_taken_as_it_is_written(p: str, margin: str) -> None:
    assert sample_size(p, margin) == 1068


def test_a_whole_number_is_not_rounded_up_by_floats() -> None:
    # 1.96^2 * 0.2 * 0.8 / 0.001^2 is 614656 on the dot; in floats it is 614656.0000000001.
    assert 1.96**2 * 0.2 * (1 - 0.2) / 0.001**2 > 614656
    assert sample_size("0.2", "0.001") == 614656
    assert sample_size(0.2, 0.001) == 614656


@given(st.fractions(Fraction(1, 50), Fraction(49, 50)), st.fractions(Fraction(1, 100), Fraction(1, 4)))
def test_it_is_the_smallest_that_keeps_the_margin(p: Fraction, margin: Fraction) -> None:
    n = sample_size(p, margin)
    z2 = Fraction(196, 100) ** 2
    assert z2 * p * (1 - p) / n <= margin**2
    assert n == 1 or z2 * p * (1 - p) / (n - 1) > margin**2


@pytest.mark.parametrize(
    ("p", "margin", "said"),
    [
        ("0", "0.03", "accuracy: 0 is not between 0 and 1"),
        ("1", "0.03", "accuracy: 1 is not between"),
        ("1.2", "0.03", "accuracy: 1.2 is not between"),
        ("0.5", "0", "margin: 0 is not between"),
        ("0.5", "3", "margin: 3 is not between 0 and 1. 3 points are 0.03"),
        ("half", "0.03", "accuracy: 'half' is no number"),
        (float("nan"), "0.03", "accuracy: 'nan' is no number"),
        ("1/0", "0.03", "accuracy: '1/0' is no number"),
    ],
)
def test_what_cannot_be_planned_is_refused(p: str, margin: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        sample_size(p, margin)


def test_another_z_may_be_given() -> None:
    assert sample_size("0.5", "0.03", z="2.5758") == 1843
    with pytest.raises(InputError, match="z: 0 is not above 0"):
        sample_size("0.5", "0.03", z="0")


def test_a_stratum_shows_the_interval_it_has() -> None:
    found = reach(60, "80%")
    # 48 of 60: R: prop.test(48, 60, correct = FALSE)$conf.int   # 0.6822 0.8817
    assert (found.interval.lo, found.interval.hi) == pytest.approx((0.6822, 0.8817), abs=6e-5)
    assert found.half_width == pytest.approx(1.96 * (0.8 * 0.2 / 60) ** 0.5)
    assert reach(1068, "0.5").half_width < 0.03
    assert reach(1067, "0.5").half_width > 0.03
    assert reach(100, "0.5", level=0.9).half_width == pytest.approx(stats.norm.ppf(0.95) * 0.05)


@pytest.mark.parametrize(("n", "p"), [(0, "0.5"), (-3, "0.5"), (10, "1.5"), (10, "x")])
def test_a_stratum_that_is_none_is_refused(n: int, p: str) -> None:
    with pytest.raises(InputError):
        reach(n, p)


@pytest.mark.parametrize("bound", ["1%", "0.1%", "5%", "1/3"])
def test_rare_events_need_what_the_binomial_says(bound: str) -> None:
    found = rare_events(bound)
    n = found.exact
    assert stats.binom.cdf(0, n, found.bound) <= 0.05
    assert stats.binom.cdf(0, n - 1, found.bound) > 0.05
    assert found.rule_of_three == -(-3 // exact(bound))
    # The rule asks for a few more, never for fewer.
    assert found.rule_of_three >= n


def test_rare_events_refuse_what_is_no_rate() -> None:
    for bound in ("0", "1", "2"):
        with pytest.raises(InputError, match="bound"):
            rare_events(bound)
