"""`lacre exposure` as a person meets it: who was shown what, and what must open for it. Only ids are printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.round_stage import shown, staged

from lacre.cli import run
from lacre.errors import Exit


def test_who_was_shown_what_by_item_by_column_and_by_both(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play = staged(workspace)
    shown(play, {"alfa": 2, "beta": 1})
    shown(play, {"beta": 1}, ["pr-05"])  # the run that showed pr-00 and pr-01, resumed
    assert run(["exposure"]) == Exit.CLEAN
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        "item\ttimes\tcolumns\tlast\tstanding",
        "pr-00\t3\talfa, beta\t2020-01-01T12:00:00Z\tprivate",
        "pr-01\t3\talfa, beta\t2020-01-01T12:00:00Z\tprivate",
        "pr-05\t1\tbeta\t2020-01-01T12:00:00Z\tprivate",
    ]
    assert "exemplo: 3 items shown to 2 columns; the cap is 60." in printed.err
    assert run(["exposure", "--by", "column"]) == Exit.CLEAN
    assert capsys.readouterr().out.splitlines()[1:] == [
        "alfa\t2\t4\t2020-01-01T12:00:00Z",
        "beta\t3\t3\t2020-01-01T12:00:00Z",
    ]
    assert run(["exposure", "--by", "both", "--item", "pr-00"]) == Exit.CLEAN
    assert capsys.readouterr().out.splitlines()[1:] == [
        "pr-00\talfa\t2\t2020-01-01T12:00:00Z\t2020-01-01T12:00:00Z\talfa-0, alfa-1",
        "pr-00\tbeta\t1\t2020-01-01T12:00:00Z\t2020-01-01T12:00:00Z\tbeta-0",
    ]


def test_an_item_over_the_cap_is_a_finding(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play = staged(workspace)
    shown(play, {"alfa": 61}, ["pr-00", "pr-02"])
    shown(play, {"beta": 60}, ["pr-01"])
    play.void(["pr-02"])
    assert run(["exposure", "--over", "--json"]) == Exit.FINDING
    found = json.loads(capsys.readouterr().out)
    assert (found["over"], found["cap"]) == (["pr-00"], 60)
    assert [(each["item"], each["times"], each["over"]) for each in found["items"]] == [("pr-00", 61, True)]
    assert [(each["column"], each["items"]) for each in found["columns"]] == [("alfa", 1)]
    assert run(["exposure"]) == Exit.FINDING
    printed = capsys.readouterr()
    assert "pr-00\t61\talfa\t2020-01-01T12:00:00Z\tover the cap" in printed.out
    assert "pr-02\t61\talfa\t2020-01-01T12:00:00Z\tno longer private" in printed.out
    assert "1 item over it: the next freeze makes them open, for exposure." in printed.err
    assert run(["round", "status"]) == Exit.CLEAN
    assert "1 item over the exposure cap, open at the next closing: pr-00." in capsys.readouterr().err


def test_nothing_shown_and_no_cap_are_said(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play = staged(workspace)
    rules = workspace / "registry/rules.toml"
    rules.write_text(rules.read_text(encoding="utf-8").replace("exposure_cap = 60", "exposure_cap = 0"))
    assert run(["exposure"]) == Exit.CLEAN
    assert "exemplo: 0 items shown to 0 columns; there is no cap." in capsys.readouterr().err
    assert run(["exposure", "--item", "pr-00"]) == Exit.BAD_INPUT
    assert "--item pr-00: was shown to no column" in capsys.readouterr().err
    shown(play, {"alfa": 100})
    assert run(["exposure"]) == Exit.CLEAN
