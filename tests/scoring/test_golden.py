"""Published worked examples of the test data, case by case; they need LACRE_TEST_DATA."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lacre.scoring.calibration import areas, brier, ece
from lacre.scoring.comparison import is_tie, paired_difference
from lacre.scoring.estimates import Estimate, Interval, Measured
from lacre.scoring.intervals import (
    clopper_pearson,
    clustered_mean,
    newcombe,
    rule_of_three,
    upper_bound_at_zero,
    wilson,
)
from lacre.scoring.metrics import penalised_score
from lacre.scoring.significance import benjamini_hochberg, holm, mcnemar

DATA = os.environ.get("LACRE_TEST_DATA")


def bounds(interval: object) -> list[float]:
    assert isinstance(interval, Interval)
    return [interval.lo, interval.hi]


def known(measured: Measured) -> Estimate:
    assert isinstance(measured, Estimate)
    return measured


def of_newcombe(given: dict[str, Any]) -> dict[str, Any]:
    found = known(newcombe(given["x1"], given["n1"], given["x2"], given["n2"]))
    return {"diff": found.value, "ci": bounds(found.interval)}


def of_mcnemar(given: dict[str, Any]) -> dict[str, Any]:
    b, c, n = given["b"], given["c"], given["n"]
    found = mcnemar(c, b)
    gaps = known(clustered_mean([[-1.0]] * b + [[1.0]] * c + [[0.0]] * (n - b - c), corrected=False))
    return {
        "chi2": found.chi2,
        "chi2_cc": found.chi2_corrected,
        "p_exact": found.p,
        "diff": gaps.value,
        "se": gaps.standard_error,
    }


def of_paired(given: dict[str, Any]) -> dict[str, Any]:
    rng = np.random.default_rng(given.get("seed", 0))
    zeros = [0.0] * len(given["d"])
    found = known(paired_difference(given["d"], zeros, rng=rng, draws=given.get("B", 10_000)))
    assert isinstance(found.interval, Interval)
    return {"diff": found.value, "ci": bounds(found.interval), "tie": is_tie(found.interval)}


def of_clusters(given: dict[str, Any]) -> dict[str, Any]:
    runs = given["X"]
    mean = known(clustered_mean(runs)).value
    return {
        "mean": mean,
        "se_cluster": known(clustered_mean(runs, corrected=False)).standard_error,
        "se_cluster_corrected": known(clustered_mean(runs)).standard_error,
        "se_naive": (mean * (1 - mean) / sum(map(len, runs))) ** 0.5,
    }


CASES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "wilson": lambda g: bounds(wilson(g["x"], g["n"])),
    "clopper": lambda g: bounds(clopper_pearson(g["x"], g["n"])),
    "rule3": lambda g: {
        "approx": rule_of_three(g["n"]).hi,
        "exact_one_sided": upper_bound_at_zero(g["n"]).hi,
    },
    "newcombe_diff": of_newcombe,
    "holm": lambda g: holm(g["p"]).tolist(),
    "bh": lambda g: benjamini_hochberg(g["p"]).tolist(),
    "brier": lambda g: brier(g["c"], g["y"]),
    "ece": lambda g: ece(g["c"], g["y"], closed=g.get("closed", "right")),
    "mcnemar": of_mcnemar,
    "paired_bootstrap": of_paired,
    "cluster_se": of_clusters,
    "penalised": lambda g: float(penalised_score(g["C"], g["E_"], g["N"], g["t"])),
    "aurc": lambda g: {name: getattr(areas(g["c"], g["y"]), name) for name in ("aurc", "e_aurc", "augrc")},
}


@pytest.mark.skipif(DATA is None, reason="LACRE_TEST_DATA is not set: no worked examples here")
@pytest.mark.parametrize("function", sorted(CASES))
def test_worked_examples_come_out_as_published(function: str) -> None:
    cases = json.loads((Path(str(DATA)) / "golden" / "stats_golden.json").read_text(encoding="utf-8"))[
        "cases"
    ]
    mine = [case for case in cases if case["fn"] == function]
    assert mine, f"no case of {function}"
    for case in mine:
        found, expected, within = CASES[function](case["input"]), case["expected"], case["tolerance"]
        if not isinstance(expected, dict):
            found, expected = {"value": found}, {"value": expected}
        for name, value in expected.items():
            assert found[name] == pytest.approx(value, rel=0, abs=within), (case["id"], name)
