"""``lacre vet --required``: the benchmark's corpora, and those that could not be reached."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lacre import jsonl
from lacre.cli import run
from lacre.errors import Exit
from lacre.registry.corpora import Corpus

Capture = pytest.CaptureFixture[str]
LEAK = "Quantas patas tem a aranha que mora atrás do espelho do corredor? Seis Oito Dez"


@pytest.fixture
def inventory(workspace: Path) -> Path:
    """The workspace with corpora here, elsewhere and nowhere."""
    (workspace / "rows.jsonl").write_text(json.dumps({"corpo": LEAK, "resumo": "Nada."}) + "\n")
    jsonl.write(
        workspace / "registry/corpora.jsonl",
        [
            Corpus(id="away", location="gopher://someone/corpus"),
            Corpus(id="gone", location="texts/that/were/moved"),
            Corpus(id="here", location="corpus"),
            Corpus(id="nowhere"),
            Corpus(id="rows", location="rows.jsonl", column="corpo"),
        ],
    )
    return workspace


def require(*ids: str) -> None:
    with Path("registry/exemplo/benchmark.toml").open("a") as file:
        file.write(f"\n[vetting]\nrequired_corpora = {json.dumps(ids)}\n")


def vet(*arguments: str) -> int:
    return run(["vet", "items.csv", *arguments])


def test_what_is_at_hand_is_read(inventory: Path, capsys: Capture) -> None:
    require("here")
    assert vet("--required") == Exit.CLEAN
    out, err = capsys.readouterr()
    assert out.count("keep") == 2
    assert "corpus: 1 document" in err


def test_the_text_column_of_the_inventory_holds(inventory: Path, capsys: Capture) -> None:
    require("rows")
    assert vet("--required", "--benchmark", "exemplo") == Exit.FINDING
    assert "q1\tdrop" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("id", "said"),
    [
        ("away", "away: not reached: gopher://someone/corpus: gopher:// cannot be read here"),
        ("gone", "gone: not reached: texts/that/were/moved: nothing is there"),
        ("nowhere", "nowhere: not reached: location unknown: nobody has said where it is"),
    ],
)
def test_what_could_not_be_reached_is_named_and_makes_verdicts_unknown(
    inventory: Path, capsys: Capture, id: str, said: str
) -> None:
    require("here", id)
    assert vet("--required", "--out", "out") == Exit.INCOMPLETE
    out, err = capsys.readouterr()
    assert said in err
    assert out.count("\tunknown\t") == 2
    verdicts = [json.loads(line) for line in Path("out/verdicts.jsonl").read_text().splitlines()]
    assert all(verdict["reasons"][0].startswith(f"{id}: not reached") for verdict in verdicts)
    assert id in Path("out/vetting.html").read_text()


def test_nothing_reached_is_a_result_too(inventory: Path, capsys: Capture) -> None:
    require("away", "nowhere")
    assert vet("--required", "--json") == Exit.INCOMPLETE
    result = json.loads(capsys.readouterr().out)
    assert [corpus["corpus"] for corpus in result["corpora"]] == ["away", "nowhere"]
    assert result["counts"]["unknown"] == 2


def test_a_leak_that_was_found_drops_whatever_else_was_not_reached(inventory: Path, capsys: Capture) -> None:
    require("away")
    assert vet("--required", "--corpus", "leaks") == Exit.INCOMPLETE
    rows = dict(line.split("\t")[:2] for line in capsys.readouterr().out.splitlines()[1:])
    assert rows == {"q1": "drop", "q2": "unknown"}


def test_it_works_from_a_folder_below(inventory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("here")
    monkeypatch.chdir(inventory / "registry")
    assert run(["vet", "../items.csv", "--required"]) == Exit.CLEAN


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--corpus: no text to search. Give --corpus SRC, --index DIR, or --required."),
        (["--required"], "benchmark 'exemplo' requires no corpora"),
        (["--required", "--benchmark", "none"], "no benchmark 'none'"),
    ],
)
def test_asking_for_nothing_is_refused(
    inventory: Path, capsys: Capture, arguments: list[str], said: str
) -> None:
    assert vet(*arguments) == Exit.BAD_INPUT
    assert said in capsys.readouterr().err
