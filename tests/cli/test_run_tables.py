"""Progress of a run, on a terminal and off it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from lacre.cli.run_tables import Meter
from lacre.engine.runs import Progress


def progress(**changes: Any) -> Progress:
    values: dict[str, Any] = {
        "done": 300, "expected": 2_000, "kinds": {"answered": 290, "refused": 7, "failed": 3}, "seconds": 10.0,
        "fresh": 250, "sweeping": False, "dollars": Decimal("1.23456"),
    }  # fmt: skip
    return Progress(**(values | changes))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "300 of 2,000 replies, 25.0/s, 7 refused, 3 failed, US$ 1.2346, about 68 s left"),
        (
            {"dollars": None, "fresh": 10},
            "300 of 2,000 replies, 1.0/s, 7 refused, 3 failed, cost not known, about 28 min left",
        ),
        ({"fresh": 1, "kinds": {}}, "300 of 2,000 replies, 0.1/s, US$ 1.2346"),  # one reply tells no rate
        ({"sweeping": True}, "300 of 2,000 replies, 25.0/s, 7 refused, 3 failed, US$ 1.2346, asking again what failed"),
        ({"seconds": 0.0, "kinds": {}}, "300 of 2,000 replies, 0.0/s, US$ 1.2346"),
    ],
)  # fmt: skip
def test_progress_says_what_a_person_wants_to_know(
    changes: dict[str, Any], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Meter(live=False, clock=iter([0.0, 11.0]).__next__)(progress(**changes))
    assert capsys.readouterr().err == said + "\n"


def test_a_terminal_has_one_line_that_is_cleared(capsys: pytest.CaptureFixture[str]) -> None:
    meter = Meter(live=True, clock=iter([0.0, 0.01, 1.0]).__next__)
    meter(progress())
    assert capsys.readouterr().err == ""
    meter(progress())
    meter.close()
    meter.close()
    said = capsys.readouterr().err
    assert said.startswith("\r\x1b[K300 of 2,000")
    assert said.endswith("\r\x1b[K")
    assert said.count("\x1b[K") == 2
