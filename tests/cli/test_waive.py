"""``lacre waive`` as a person meets it: by finding, by sheet, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from lacre.cli import run
from lacre.errors import Exit

Capture = pytest.CaptureFixture[str]
SAID = ("--reason", "só nós tínhamos a página", "--who", "Comissão de itens")
BAD_USE = 2


@pytest.fixture
def vetted(workspace: Path, capsys: Capture) -> Path:
    """The workspace with a vetting in which q1 drops."""
    assert run(["vet", "items.csv", "--corpus", "leaks", "--out", "vetting"]) == Exit.FINDING
    capsys.readouterr()
    return workspace


def verdicts(capsys: Capture) -> dict[str, str]:
    capsys.readouterr()
    run(["vet", "items.csv", "--corpus", "leaks", "--json"])
    return {v["item"]: v["verdict"] for v in json.loads(capsys.readouterr().out)["verdicts"]}


def test_a_waived_item_is_kept_until_its_text_changes(vetted: Path, capsys: Capture) -> None:
    assert verdicts(capsys)["q1"] == "drop"
    assert run(["waive", "q1", "--all", *SAID, "--when", "2031-05-02"]) == Exit.CLEAN
    out, err = capsys.readouterr()
    assert out.startswith("decision\titem\tfinding\treason\nwaived\tq1\tf")
    assert "waivers added" in err
    assert verdicts(capsys)["q1"] == "keep"
    items = (vetted / "items.csv").read_text(encoding="utf-8")
    (vetted / "items.csv").write_text(items.replace("Seis", "Sete"), encoding="utf-8")
    assert verdicts(capsys)["q1"] == "drop"
    assert run(["vet", "items.csv", "--corpus", "leaks"]) == Exit.FINDING
    assert "1 item with a void waiver" in capsys.readouterr().err


def test_waiving_twice_adds_nothing(vetted: Path, capsys: Capture) -> None:
    run(["waive", "q1", "--all", *SAID])
    capsys.readouterr()
    before = (vetted / "registry" / "waivers.jsonl").read_bytes()
    assert run(["waive", "q1", "--all", *SAID, "--json"]) == Exit.CLEAN
    result = json.loads(capsys.readouterr().out)
    assert (result["waivers"], result["known"] > 0) == ([], True)
    assert (vetted / "registry" / "waivers.jsonl").read_bytes() == before


def test_without_a_finding_the_command_lists_those_there_are(vetted: Path, capsys: Capture) -> None:
    assert run(["waive", "q1", *SAID]) == Exit.BAD_INPUT
    assert "has the findings f" in capsys.readouterr().err


def test_a_sheet_comes_back_as_waivers_and_revisions(vetted: Path, capsys: Capture) -> None:
    sheet = vetted / "vetting" / "decisions.csv"
    rows = list(csv.reader(io.StringIO(sheet.read_bytes().decode("utf-8-sig")), delimiter=";"))
    for row in rows[1:]:
        row[:2] = ["revise", "vazou"]
    text = io.StringIO()
    csv.writer(text, delimiter=";").writerows(rows)
    sheet.write_text(text.getvalue(), encoding="utf-8")
    assert run(["waive", "--sheet", str(sheet)]) == Exit.CLEAN
    out, err = capsys.readouterr()
    assert "revise\tq1\t\tvazou" in out
    assert "1 items to revise" in err
    assert not (vetted / "registry" / "waivers.jsonl").exists()


def test_waivers_can_be_kept_elsewhere(vetted: Path, capsys: Capture) -> None:
    elsewhere = vetted.parent / "vault" / "waivers.jsonl"
    assert run(["waive", "q1", "--all", *SAID, "--waivers", str(elsewhere)]) == Exit.CLEAN
    assert not (vetted / "registry" / "waivers.jsonl").exists()
    assert verdicts(capsys)["q1"] == "drop"
    assert run(["vet", "items.csv", "--corpus", "leaks", "--waivers", str(elsewhere)]) == Exit.CLEAN


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["q9", "--all", *SAID], "has no finding that weighs against 'q9'"),
        (["q1", "--all", "--who", "C"], "--reason: is missing"),
        (["q1", "--all", "--reason", "r"], "--who: is missing"),
        (["q1", "--all", *SAID, "--when", "ontem"], "'ontem' is no date"),
        (["q1", "--all", *SAID, "--vetting", "nada"], "no such file"),
        ([], "Give either ITEM or --sheet"),
        (["q1", "--sheet", "vetting/decisions.csv"], "Give either ITEM or --sheet"),
        (["--sheet", "vetting/decisions.csv", "--all"], "the sheet names its findings itself"),
        (["q1", "--all", "--finding", "f1", *SAID], "Give either --finding or --all"),
    ],
)
def test_what_is_not_clear_is_refused_and_nothing_written(
    vetted: Path, capsys: Capture, arguments: list[str], said: str
) -> None:
    assert run(["waive", *arguments]) in (Exit.BAD_INPUT, BAD_USE)
    assert said in capsys.readouterr().err
    assert not (vetted / "registry" / "waivers.jsonl").exists()


def test_outside_a_workspace_the_place_must_be_said(
    vetted: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(vetted.parent)
    assert run(["waive", "q1", "--all", *SAID, "--vetting", str(vetted / "vetting")]) == Exit.BAD_INPUT
    assert "--waivers" in capsys.readouterr().err
