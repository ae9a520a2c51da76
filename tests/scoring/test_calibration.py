"""Calibration: the bin rule, hand-worked values, other programs, laws, and columns without confidence."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss  # type: ignore[import-untyped]

from lacre.errors import InputError
from lacre.scoring.calibration import (
    Calibration,
    NoConfidence,
    areas,
    bin_index,
    bin_rule,
    brier,
    calibration,
    ece,
    reliability,
    risk_coverage,
)
from lacre.scoring.estimates import Estimate, Interval, Undefined
from lacre.scoring.outcomes import Answer, Outcome

pairs = st.lists(st.tuples(st.integers(0, 20).map(lambda n: n / 20), st.booleans()), min_size=1, max_size=40)


def run(rows: list[tuple[str, float | None]], draws: int = 300) -> Calibration | NoConfidence:
    given = [
        Answer(column="m", item=f"i{n:03}", outcome=Outcome.of(letter), confidence=confidence)
        for n, (letter, confidence) in enumerate(rows)
    ]
    return calibration(given, rng=np.random.default_rng(1), draws=draws)


# By hand: bins .9-1 (2 answers, accuracy .5, confidence .94), .8-.9 (1, 1, .85), .7-.8 (2, .5, .735),
# .3-.4 (2, .5, .335), .1-.2 (1, 0, .15). Python, netcal: ECE(10).measure(c, y) -> 0.2475
def test_ece_by_hand() -> None:
    confidence = [0.95, 0.93, 0.85, 0.75, 0.72, 0.35, 0.32, 0.15]
    assert ece(confidence, [1, 0, 1, 1, 0, 0, 1, 0]) == pytest.approx(0.2475, abs=1e-12)


# Python, torchmetrics (bins [lo, hi)): 0.358333. By hand with (lo, hi]: bins .9-1 {.95}, .8-.9 {.9, .85},
# .5-.6 {.6, .55}, .1-.2 {.2}: (.05 + |1 - 1.75| + |1 - 1.15| + .2)/6 = 0.191667
def test_which_end_a_bin_holds_matters_and_both_rules_are_exact() -> None:
    confidence, right = [0.95, 0.9, 0.85, 0.6, 0.55, 0.2], [1, 1, 0, 1, 0, 0]
    assert ece(confidence, right, closed="left") == pytest.approx(0.358333, abs=1e-6)
    assert ece(confidence, right) == pytest.approx(0.191667, abs=1e-6)


@pytest.mark.parametrize("bins", [1, 3, 7, 10, 15, 100])
def test_edges_belong_to_the_bin_below_and_0_to_the_first(bins: int) -> None:
    edges = [k / bins for k in range(bins + 1)]
    assert bin_index(edges, bins).tolist() == [0, *range(bins)]
    assert bin_index([0.0, 1.0], bins, closed="left").tolist() == [0, bins - 1]


def test_how_a_float_was_made_does_not_move_it_across_an_edge() -> None:
    assert 0.1 + 0.2 > 0.3
    assert bin_index([0.1 + 0.2, 0.3, 0.7 + 0.1 + 0.1, 0.9]).tolist() == [2, 2, 8, 8]


# By hand: (.0025 + .7225 + .0625 + .1225)/4
def test_brier_by_hand() -> None:
    assert brier([0.95, 0.85, 0.75, 0.35], [1, 0, 1, 0]) == pytest.approx(0.2275, abs=1e-12)


@settings(deadline=None)
@given(pairs)
def test_brier_agrees_with_scikit_learn(rows: list[tuple[float, bool]]) -> None:
    confidence, right = [c for c, _ in rows], [int(y) for _, y in rows]
    theirs = brier_score_loss(right, confidence, pos_label=1, labels=[0, 1])
    assert brier(confidence, right) == pytest.approx(theirs, abs=1e-12)


# By hand: risks 0, 0, 1/3, 1/4; the best order has 0, 0, 0, 1/4; generalised risks 0, 0, 1/4, 1/4.
def test_areas_by_hand() -> None:
    found = areas([0.9, 0.8, 0.7, 0.6], [1, 1, 0, 1])
    assert found.aurc == pytest.approx((1 / 3 + 1 / 4) / 4)
    assert found.e_aurc == pytest.approx(1 / 12)
    assert found.augrc == pytest.approx(0.125)


def test_equal_confidences_count_as_in_random_order() -> None:
    right = [1, 0, 0, 1, 1]
    found = areas([0.9, 0.5, 0.5, 0.5, 0.1], right)
    aurcs, augrcs = [], []
    for middle in permutations(right[1:4]):
        errors = np.cumsum([1 - y for y in (right[0], *middle, right[4])])
        aurcs.append(np.mean(errors / np.arange(1, 6)))
        augrcs.append(np.mean(errors / 5))
    assert found.aurc == pytest.approx(np.mean(aurcs))
    assert found.augrc == pytest.approx(np.mean(augrcs))


@settings(deadline=None)
@given(pairs, st.randoms())
def test_no_statistic_depends_on_the_order_of_answers(rows: list[tuple[float, bool]], random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    for make in (ece, brier, lambda c, y: areas(c, y).aurc, lambda c, y: areas(c, y).augrc):
        first, second = (make([c for c, _ in each], [int(y) for _, y in each]) for each in (rows, shuffled))
        assert first == pytest.approx(second, abs=1e-12)


@settings(deadline=None)
@given(pairs)
def test_the_excess_area_is_never_negative_and_0_for_the_best_order(rows: list[tuple[float, bool]]) -> None:
    right = [int(y) for _, y in rows]
    assert areas([c for c, _ in rows], right).e_aurc >= -1e-12
    best = np.linspace(1, 0, len(right))
    assert areas(best, sorted(right, reverse=True)).e_aurc == pytest.approx(0, abs=1e-12)


def test_the_curve_has_a_point_for_each_confidence() -> None:
    found = risk_coverage([0.9, 0.9, 0.5, 0.1], [1, 0, 1, 0])
    assert [(p.confidence, p.coverage, p.risk) for p in found] == [
        (0.9, 0.5, 0.5),
        (0.5, 0.75, pytest.approx(1 / 3)),
        (0.1, 1.0, 0.5),
    ]


def test_the_table_counts_every_answer_and_empty_bins_are_undefined() -> None:
    rows = reliability([0.05, 0.95, 0.95], [0, 1, 0])
    assert sum(row.n for row in rows) == 3
    assert len(rows) == 10
    assert isinstance(rows[4].accuracy, Undefined)
    assert rows[4].confidence is None
    assert isinstance(rows[9].accuracy, Estimate)
    assert rows[9].accuracy.value == 0.5


def test_no_confidence_is_a_result_of_its_own() -> None:
    assert run([("C", None), ("E", None)]) == NoConfidence(attempted=2, reason="no confidence returned")
    assert run([("A", 0.9), ("F", None)]) == NoConfidence(attempted=0, reason="no answer was attempted")


def test_only_attempted_answers_that_state_a_confidence_count_and_their_share_is_said() -> None:
    found = run([("C", 0.8), ("E", 0.6), ("A", 0.9), ("R", 0.9), ("F", 0.9), ("C", None)])
    assert isinstance(found, Calibration)
    assert (found.attempted, found.stated) == (3, 2)
    assert found.share == pytest.approx(2 / 3)
    assert isinstance(found.brier, Estimate)
    assert found.brier.value == pytest.approx((0.04 + 0.36) / 2)
    assert found.brier.n == 2
    assert found.rule == bin_rule(10)


def test_every_statistic_has_an_interval_that_is_near_it() -> None:
    rng = np.random.default_rng(2)
    stated = np.round(rng.uniform(0.3, 1, 300), 2)
    found = run([("C" if rng.random() < c**2 else "E", float(c)) for c in stated], draws=2000)
    assert isinstance(found, Calibration)
    for measured in (found.ece, found.brier, found.aurc, found.e_aurc, found.augrc):
        assert isinstance(measured, Estimate)
        assert isinstance(measured.interval, Interval)
        assert measured.interval.lo < measured.value < measured.interval.hi
        assert measured.interval.hi - measured.interval.lo < 0.2
    assert isinstance(found.ece, Estimate)
    assert isinstance(found.ece.interval, Interval)
    assert found.ece.interval.method.startswith("reflected")


def test_resampled_areas_are_those_of_the_resampled_answers() -> None:
    from lacre.scoring.calibration import _Order  # noqa: PLC0415

    rng = np.random.default_rng(3)
    stated = np.round(rng.random(30), 1)
    right = (rng.random(30) < 0.6).astype(float)
    weights = rng.multinomial(30, np.full(30, 1 / 30)).astype(float)
    found = _Order.of(stated).areas(weights[None, :], 1 - right)[:, 0]
    picked = np.repeat(np.arange(30), weights.astype(int))
    expected = areas(stated[picked], right[picked])
    assert found.tolist() == pytest.approx([expected.aurc, expected.e_aurc, expected.augrc])


def test_several_runs_of_an_item_are_resampled_together() -> None:
    given = [
        Answer(
            column="m", item=f"i{item}", repetition=run, outcome=Outcome.of("CE"[item % 2]), confidence=0.7
        )
        for item in range(20)
        for run in (1, 2, 3)
    ]
    once = [answer for answer in given if answer.repetition == 1]
    whole, single = (calibration(each, rng=np.random.default_rng(1), draws=500) for each in (given, once))
    assert isinstance(whole, Calibration)
    assert isinstance(single, Calibration)
    assert isinstance(whole.brier, Estimate)
    assert isinstance(single.brier, Estimate)
    # Runs that repeat themselves tell nothing new: the interval must not shrink.
    assert isinstance(whole.brier.interval, Interval)
    assert isinstance(single.brier.interval, Interval)
    assert whole.brier.interval.lo == pytest.approx(single.brier.interval.lo, abs=1e-12)
    assert whole.brier.interval.hi == pytest.approx(single.brier.interval.hi, abs=1e-12)
    assert whole.stated == 60


def test_one_item_has_no_interval() -> None:
    found = run([("C", 0.8)])
    assert isinstance(found, Calibration)
    assert isinstance(found.ece, Estimate)
    assert isinstance(found.ece.interval, Undefined)


def test_answers_that_are_all_alike_have_no_interval() -> None:
    found = run([("C", 0.8)] * 20)
    assert isinstance(found, Calibration)
    for measured in (found.ece, found.brier, found.aurc, found.e_aurc, found.augrc):
        assert isinstance(measured, Estimate)
        assert isinstance(measured.interval, Undefined)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("CE"), st.sampled_from([0.0, 0.5, 0.9, 1.0])), min_size=2, max_size=8)
)
def test_no_interval_of_calibration_is_a_point(answers: list[tuple[str, float | None]]) -> None:
    found = run(answers)
    assert isinstance(found, Calibration)
    for measured in (found.ece, found.brier, found.aurc, found.e_aurc, found.augrc):
        assert isinstance(measured, Estimate)
        if isinstance(measured.interval, Interval):
            assert measured.interval.lo < measured.interval.hi


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000))
def test_what_chance_alone_gives_is_the_mean_ece_of_a_calibrated_column(seed: int) -> None:
    rng = np.random.default_rng(seed)
    stated = np.round(rng.uniform(0.2, 1, 50), 1)
    found = calibration(
        [
            Answer(column="m", item=f"i{n}", outcome=Outcome.CORRECT, confidence=float(c))
            for n, c in enumerate(stated)
        ],
        rng=np.random.default_rng(1),
        draws=100,
    )
    assert isinstance(found, Calibration)
    simulated = np.mean([ece(stated, (rng.random(50) < stated).astype(float)) for _ in range(400)])
    assert found.ece_by_chance == pytest.approx(simulated, abs=0.012)


@pytest.mark.parametrize(
    ("confidence", "right", "said"),
    [
        ([1.1], [1], "outside"),
        ([-0.1], [1], "outside"),
        ([math.nan], [1], "outside"),
        (["0.9"], [1], "not a number"),
        ([0.9], ["yes"], "no number"),
        ([0.9], [0.5], "neither 0 nor 1"),
        ([0.9], [math.nan], "neither 0 nor 1"),
        ([0.9, 0.8], [1], "2 of them for 1"),
        ([], [], "there is none"),
    ],
)
def test_bad_input_is_refused(confidence: Any, right: Any, said: str) -> None:
    for make in (ece, brier, areas, reliability, risk_coverage):
        with pytest.raises(InputError, match=said):
            make(confidence, right)


def test_no_bins_and_unknown_ends_are_refused() -> None:
    with pytest.raises(InputError, match="bins"):
        ece([0.5], [1], 0)
    with pytest.raises(InputError, match="bins"):
        ece([0.5], [1], closed="both")
