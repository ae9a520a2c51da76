"""``lacre corpus``: the inventory, with what is not known called unknown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lacre.cli import run
from lacre.errors import Exit

Capture = pytest.CaptureFixture[str]


def test_the_list_says_what_is_not_known(workspace: Path, capsys: Capture) -> None:
    assert run(["corpus", "list"]) == Exit.CLEAN
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("\t") == ["corpus", "kind", "location", "size", "licence", "gated"]
    rows = {line.split("\t")[0]: line.split("\t") for line in lines[1:]}
    assert rows["aurora-pt"][2:4] == ["unknown", "unknown"]
    assert rows["fineweb-2-por-latn-removed"][2] == "hf://datasets/HuggingFaceFW/fineweb-2, por_Latn_removed"
    assert rows["gigaverbo"][3:] != ["unknown"] * 3


def test_one_kind_and_what_a_benchmark_requires(workspace: Path, capsys: Capture) -> None:
    assert run(["corpus", "list", "--kind", "retrieval", "--json"]) == Exit.CLEAN
    found = json.loads(capsys.readouterr().out)["corpora"]
    assert {corpus["kind"] for corpus in found} == {"retrieval"}
    with Path("registry/exemplo/benchmark.toml").open("a") as file:
        file.write('\n[vetting]\nrequired_corpora = ["gigaverbo", "c4"]\n')
    assert run(["corpus", "list", "--benchmark", "exemplo"]) == Exit.CLEAN
    assert [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()[1:]] == ["gigaverbo", "c4"]


def test_a_required_corpus_must_be_in_the_inventory(workspace: Path, capsys: Capture) -> None:
    with Path("registry/exemplo/benchmark.toml").open("a") as file:
        file.write('\n[vetting]\nrequired_corpora = ["nowhere"]\n')
    assert run(["corpus", "list", "--benchmark", "exemplo"]) == Exit.BAD_INPUT
    assert "required corpus 'nowhere' is not in corpora.jsonl" in capsys.readouterr().err


def test_every_fact_is_shown_with_its_source(workspace: Path, capsys: Capture) -> None:
    assert run(["corpus", "show", "fineweb-2-por-latn-removed"]) == Exit.CLEAN
    out = capsys.readouterr().out
    assert "documents\t417908539\thigh\tgithub:huggingface/fineweb-2@d0defb2" in out
    assert run(["corpus", "show", "gigaverbo-v2", "--json"]) == Exit.CLEAN
    facts = json.loads(capsys.readouterr().out)["facts"]
    assert facts["licence"].get("value") is None
    assert all(fact["source"] for fact in facts.values())


def test_a_slip_in_the_name_is_helped(workspace: Path, capsys: Capture) -> None:
    assert run(["corpus", "show", "fineweb2-por-latn"]) == Exit.BAD_INPUT
    assert "Did you mean fineweb-2-por-latn" in capsys.readouterr().err
