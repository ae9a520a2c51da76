"""Worked examples kept with the test data: agreement, sample sizes, plans. They need LACRE_TEST_DATA."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lacre.scoring.agreement import cohen_kappa, gwet_ac1
from lacre.scoring.confusion import Confusion, codes_of
from lacre.scoring.estimates import Estimate, Interval, Measured, Undefined
from lacre.scoring.icc import icc_2_1
from lacre.scoring.power import normal_items
from lacre.scoring.samples import sample_size

MINE = ("sample_size", "kappa", "ac1_raw", "ac1_table", "icc", "miller_n")


def cases() -> list[Any]:
    named = os.environ.get("LACRE_TEST_DATA")
    if not named:
        skip = pytest.mark.skip(reason="LACRE_TEST_DATA is not set: no worked examples here")
        return [pytest.param({}, marks=skip, id="worked examples")]
    golden = json.loads((Path(named) / "golden/stats_golden.json").read_text(encoding="utf-8"))
    return [pytest.param(case, id=case["id"]) for case in golden["cases"] if case["fn"] in MINE]


def bounds(measured: Measured) -> tuple[float, float]:
    assert isinstance(measured, Estimate)
    assert isinstance(measured.interval, Interval)
    return measured.interval.lo, measured.interval.hi


def table(counts: list[list[int]]) -> Confusion:
    return Confusion(
        categories=tuple(map(str, range(len(counts)))), counts=tuple(tuple(row) for row in counts)
    )


def computed(case: dict[str, Any]) -> dict[str, float | tuple[float, float] | None]:
    """The names of the worked example, with our values; none where we say undefined."""
    given = case["input"]
    match case["fn"]:
        case "sample_size":
            return {"ceil": sample_size(given["p"], given["E"])}
        case "miller_n":
            return {"n": normal_items(given["delta"], given["omega2"])}
        case "icc":
            found = icc_2_1(np.array(given["M"], dtype=float)).estimate
            assert isinstance(found, Estimate)
            return {"icc21": found.value, "icc21_ci": bounds(found)}
        case "kappa":
            agreement = cohen_kappa(table(given["tab"]))
        case "ac1_table":
            agreement = gwet_ac1(codes_of(table(given["tab"])), tuple(map(str, range(len(given["tab"])))))
        case "ac1_raw":
            place = {None: -1, **{name: code for code, name in enumerate(given["cats"])}}
            codes = np.array([[place[label] for label in row] for row in given["rows"]])
            agreement = gwet_ac1(codes, tuple(map(str, given["cats"])))
        case other:
            raise AssertionError(other)
    assert isinstance(agreement.observed, float)
    assert isinstance(agreement.expected, float)
    shares: dict[str, float | tuple[float, float] | None] = {
        "po": agreement.observed,
        "pa": agreement.observed,
        "pe": agreement.expected,
    }
    if isinstance(agreement.estimate, Undefined):
        return {**shares, "kappa": None}
    error = agreement.estimate.standard_error
    return {
        **shares,
        "kappa": agreement.estimate.value,
        "ac1": agreement.estimate.value,
        "se": error,
        "ase_fce1969": error,
        "ci": bounds(agreement.estimate),
    }


@pytest.mark.parametrize("case", cases())
def test_the_worked_example_comes_out(case: dict[str, Any]) -> None:
    mine = computed(case)
    compared = 0
    for name, expected in case["expected"].items():
        if name in mine:
            compared += 1
            if expected == "nan":
                assert mine[name] is None
            else:
                assert mine[name] == pytest.approx(
                    tuple(expected) if isinstance(expected, list) else expected, abs=case["tolerance"] + 1e-12
                )
    assert compared
