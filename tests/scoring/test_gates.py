"""The gates of publication decide on the point, and say what stands beside it (SPEC L20)."""

from __future__ import annotations

import numpy as np
import pytest

from lacre.errors import InputError
from lacre.scoring.confusion import Confusion
from lacre.scoring.estimates import Estimate, Interval, Undefined
from lacre.scoring.gates import Kind, Minimums, gate

LUA = Minimums(
    binary_kappa=0.70,
    critical_kappa=0.80,
    continuous_icc=0.75,
    judge_kappa=0.70,
    prevalence=0.90,
    judge_verdicts=200,
)


def pair(*counts: tuple[int, ...]) -> Confusion:
    return Confusion(categories=("no", "yes", "none")[: len(counts)], counts=counts)


@pytest.mark.parametrize(
    ("kind", "counts", "statistic", "passes"),
    [
        # kappa 0.70 on the dot: p_o 0.85, p_e 0.50.
        pytest.param("binary", ((425, 75), (75, 425)), "Cohen's kappa", True, id="binary at the minimum"),
        pytest.param("binary", ((424, 76), (75, 425)), "Cohen's kappa", False, id="binary just below"),
        # kappa 0.80 on the dot.
        pytest.param("critical", ((45, 5), (5, 45)), "Cohen's kappa", True, id="critical at the minimum"),
        pytest.param("critical", ((44, 6), (5, 45)), "Cohen's kappa", False, id="critical just below"),
        # 90 % of the ratings on the dot: kappa still decides.
        pytest.param("critical", ((85, 5), (5, 5)), "Cohen's kappa", False, id="critical at 90 %"),
        pytest.param("critical", ((88, 4), (5, 3)), "Gwet's AC1", True, id="critical above 90 %"),
        pytest.param("critical", ((3, 5), (4, 88)), "Gwet's AC1", True, id="the other class prevails"),
        pytest.param("critical", ((810, 95), (95, 0)), "Gwet's AC1", False, id="AC1 below the minimum"),
        # AC1 is for critical failures only.
        pytest.param("binary", ((88, 4), (5, 3)), "Cohen's kappa", False, id="binary above 90 %"),
        pytest.param("judge", ((95, 5), (5, 95)), "Cohen's kappa", True, id="judge on 200"),
        pytest.param("judge", ((95, 5), (4, 95)), "Cohen's kappa", False, id="judge on 199"),
        pytest.param("judge", ((70, 30), (30, 170)), "Cohen's kappa", False, id="judge below"),
        pytest.param(
            "judge", ((90, 5, 0), (5, 90, 5), (0, 5, 50)), "Cohen's kappa", True, id="judge of three classes"
        ),
    ],
)
def test_the_point_decides(
    kind: Kind, counts: tuple[tuple[int, ...], ...], statistic: str, passes: bool
) -> None:
    found = gate(kind, pair(*counts), LUA)
    assert found.statistic == statistic
    assert found.passes is passes
    assert found.n == sum(map(sum, counts))
    assert found.reason
    assert found.why


def test_a_lower_bound_below_the_minimum_is_a_warning_and_no_more() -> None:
    found = gate("binary", pair((46, 4), (6, 44)), LUA)
    assert found.passes
    assert isinstance(found.estimate, Estimate)
    assert isinstance(found.estimate.interval, Interval)
    assert found.estimate.interval.lo < 0.7
    assert any("lower bound" in warning for warning in found.warnings)
    sure = gate("binary", pair((4600, 100), (100, 4400)), LUA)
    assert sure.passes
    assert sure.warnings == ()


def test_too_few_verdicts_of_a_judge_are_named_with_their_kappa() -> None:
    found = gate("judge", pair((50, 0), (0, 50)), LUA)
    assert found.reason == "100 verdicts, and at least 200 are needed (Cohen's kappa 1.000)"
    assert found.consequence == "the metric is judged by humans only, or not published"


def test_what_is_undefined_does_not_pass() -> None:
    found = gate("binary", pair((50, 0), (0, 0)), LUA)
    assert not found.passes
    assert isinstance(found.estimate, Undefined)
    assert found.reason.startswith("Cohen's kappa is undefined: both raters gave 'no' to every item")
    nothing = gate("judge", pair((0, 0), (0, 0)), LUA)
    assert (nothing.passes, nothing.n, nothing.prevalence) == (False, 0, None)


def test_a_critical_failure_that_never_occurs_is_gated_by_ac1() -> None:
    found = gate("critical", pair((300, 0), (0, 0)), LUA)
    assert (found.statistic, found.passes, found.prevalence) == ("Gwet's AC1", True, 1.0)


def test_prevalence_brings_a_warning_and_what_to_read_beside() -> None:
    found = gate("binary", pair((88, 4), (5, 3)), LUA)
    assert found.prevalence == pytest.approx((92 + 93) / 200)
    assert any("read AC1" in warning for warning in found.warnings)
    beside = {named.name: named.measured for named in found.beside}
    assert list(beside) == ["observed agreement", "Gwet's AC1", "agreement on the rarer category"]
    rarer = beside["agreement on the rarer category"]
    assert isinstance(rarer, Estimate)
    assert rarer.value == pytest.approx(6 / 15)
    judged = gate("judge", pair((95, 5), (5, 95)), LUA)
    assert [named.name for named in judged.beside][-1] == "macro-F1"
    swapped = gate("critical", pair((88, 4), (5, 3)), LUA)
    assert [named.name for named in swapped.beside][1] == "Cohen's kappa"


@pytest.mark.parametrize(("noise", "passes"), [(0.2, True), (1.5, False)])
def test_scores_are_gated_by_icc(noise: float, passes: bool) -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(60, 1)) + rng.normal(scale=noise, size=(60, 2))
    scores[3, 1] = np.nan
    found = gate("continuous", scores, LUA)
    assert (found.statistic, found.passes, found.n) == ("ICC(2,1)", passes, 59)
    assert (found.prevalence, found.beside) == (None, ())


@pytest.mark.parametrize(
    ("kind", "ratings", "said"),
    [
        ("continuous", pair((1, 0), (0, 1)), "needs scores, not labels"),
        ("binary", np.zeros((3, 2)), "needs labels, not scores"),
        ("binary", pair((1, 0, 0), (0, 1, 0), (0, 0, 1)), "3 categories are declared"),
        ("critical", pair((1, 0, 0), (0, 1, 0), (0, 0, 1)), "3 categories are declared"),
    ],
)
def test_what_a_gate_is_not_for_is_refused(kind: Kind, ratings: Confusion, said: str) -> None:
    with pytest.raises(InputError, match=said):
        gate(kind, ratings, LUA)


def test_a_benchmark_s_own_minimum_is_the_one_that_counts() -> None:
    strict = Minimums(
        binary_kappa=0.9,
        critical_kappa=0.9,
        continuous_icc=0.9,
        judge_kappa=0.9,
        prevalence=0.95,
        judge_verdicts=10,
    )
    counts = pair((46, 4), (4, 46))
    assert gate("binary", counts, LUA).passes
    assert not gate("binary", counts, strict).passes
    assert gate("critical", pair((88, 4), (5, 3)), strict).statistic == "Cohen's kappa"
