"""`lacre sample-size` prints the table of the LUA rules to the digit (SPEC L13)."""

from __future__ import annotations

import json

import pytest

from lacre.cli import run
from lacre.errors import Exit

# As the LUA rules print it.
LUA = """\
accuracy\t±3%\t±5%\t±7%
50% (worst case)\t1,068\t385\t196
80%\t683\t246\t126
90%\t385\t139\t71
95%\t203\t73\t38
"""


@pytest.mark.parametrize("options", [["--table"], []])
def test_the_table_is_that_of_the_rules(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sample-size", *options]) == Exit.CLEAN
    assert capsys.readouterr().out == LUA


def test_json_has_the_same_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sample-size", "--table", "--json"]) == Exit.CLEAN
    assert json.loads(capsys.readouterr().out)["items"] == [
        [1068, 385, 196],
        [683, 246, 126],
        [385, 139, 71],
        [203, 73, 38],
    ]


def test_other_accuracies_and_margins_make_other_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sample-size", "--accuracy", "0.85", "--margin", "0.04,2%"]) == Exit.CLEAN
    assert capsys.readouterr().out == "accuracy\t±0.04\t±2%\n0.85\t307\t1,225\n"


def test_a_stratum_s_interval_and_rare_events(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sample-size", "--items", "60", "--accuracy", "80%"]) == Exit.CLEAN
    assert capsys.readouterr().out.splitlines()[1] == "60\t80.0%\t10.12%\t68.22%\t88.17%"
    assert run(["sample-size", "--rare", "1%", "--json"]) == Exit.CLEAN
    assert json.loads(capsys.readouterr().out)["rare"][0] == {
        "bound": 0.01,
        "level": 0.95,
        "rule_of_three": 300,
        "exact": 299,
    }


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--items", "60", "--margin", "3%"], "more than one question at once"),
        (["--items", "60", "--rare", "1%"], "more than one question at once"),
        (["--table", "--accuracy", "80%"], "is the table of the rules, without --accuracy"),
        (["--items", "sixty"], "'sixty' is no number of items"),
        (["--items", "0"], "0 is below 1"),
        (["--accuracy", "100%"], "accuracy: 100% is not between 0 and 1"),
        (["--margin", "3"], "margin: 3 is not between 0 and 1"),
    ],
)
def test_bad_input_gets_one_line(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sample-size", *options]) == Exit.BAD_INPUT
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""
