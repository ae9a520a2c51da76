"""`lacre power`: power, items, or the smallest difference, by what is given."""

from __future__ import annotations

import json

import pytest

from lacre.cli import run
from lacre.errors import Exit


def plans(options: list[str], capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    assert run(["power", *options, "--json"]) == Exit.CLEAN
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)["plans"]
    return found


def test_items_alone_give_the_smallest_difference_for_usual_shares(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["power", "--items", "1068"]) == Exit.CLEAN
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "discordant\titems\tdifference\tpower"
    assert lines[3] == "20.0%\t1,068\t+3.91%\t0.800"
    assert len(lines) == 6


def test_a_difference_alone_gives_the_items(capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = plans(["--difference", "4%", "--discordant", "0.2"], capsys)
    assert found["plan"]["items"] == 1021  # type: ignore[index]


def test_both_give_the_power_and_a_simulation_agrees(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--items", "1068", "--difference", "4%", "--discordant", "20%", "--simulate", "20000"]
    (found,) = plans(options, capsys)
    assert found["plan"]["power"] == pytest.approx(0.818, abs=5e-4)  # type: ignore[index]
    assert found["simulated_power"] == pytest.approx(0.818, abs=0.012)


def test_accuracies_and_their_correlation_make_a_design(capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = plans(["--items", "1068", "--accuracy", "80%,75%", "--correlation", "0.5"], capsys)
    assert found["discordance"] == pytest.approx(0.1768, abs=5e-5)
    (same,) = plans(["--accuracy", "0.8,0.8", "--correlation", "0.5"], capsys)
    assert same["plan"] == {"type": "undefined", "reason": "there is no difference to find", "n": 0}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "neither items nor a difference"),
        (["--difference", "30%", "--discordant", "20%"], "0.3 is more than the share of items"),
        (["--difference", "x"], "'x' is no number"),
        (["--accuracy", "0.8,0.7"], "goes with --correlation"),
        (["--accuracy", "0.8", "--correlation", "0.1"], "goes with --correlation"),
        (["--accuracy", "0.9,0.5", "--correlation", "0.9"], "cannot be that of 0.9 and 0.5"),
        (["--items", "100", "--power", "1.5"], "power: 1.5 is not between 0 and 1"),
        (["--items", "100", "--level", "0"], "level: 0.0 is not between 0 and 1"),
    ],
)
def test_bad_input_gets_one_line(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["power", *options]) == Exit.BAD_INPUT
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""
