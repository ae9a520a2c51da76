"""The inventory of public corpora: every fact has a source, and the unknown stays unknown (SPEC L7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from lacre.errors import InputError
from lacre.registry.corpora import Corpus, Fact, corpus_faults
from lacre.registry.workspace import Workspace, create_workspace

ROOT = Path(__file__).parents[2]


def inventory() -> dict[str, Corpus]:
    return Workspace(ROOT).corpora()


def test_the_inventory_keeps_its_rules() -> None:
    corpora = inventory()
    assert list(corpora) == sorted(corpora)
    assert len(corpora) > 80


def test_what_fineweb_removed_is_in_it() -> None:
    removed = inventory()["fineweb-2-por-latn-removed"]
    assert (removed.location, removed.subset) == ("hf://datasets/HuggingFaceFW/fineweb-2", "por_Latn_removed")
    assert removed.facts["documents"].value == "417908539"


def test_a_fact_that_nobody_knows_has_no_value_but_says_where_one_looked() -> None:
    unknown = [
        fact for corpus in inventory().values() for fact in corpus.facts.values() if fact.value is None
    ]
    assert unknown
    assert all(fact.source for fact in unknown)
    vague = {"unknown", "not established", "-", "?", ""}
    assert not [
        fact for corpus in inventory().values() for fact in corpus.facts.values() if fact.value in vague
    ]


def test_a_field_never_says_more_than_its_fact() -> None:
    for corpus in inventory().values():
        if corpus.size is not None:
            sizes = [corpus.facts.get(name) for name in ("bytes to download", "bytes of parquet")]
            assert str(corpus.size) in [fact.value for fact in sizes if fact]
        if corpus.gated is not None:
            assert corpus.facts["gated"].value
        if corpus.licence is not None:
            assert corpus.licence == corpus.facts["licence"].value


def test_a_corpus_may_be_somewhere_unknown_but_not_nowhere() -> None:
    assert corpus_faults([(1, Corpus(id="c"))]) == []
    (fault,) = corpus_faults([(1, Corpus(id="c", location=" "))])
    assert "no location" in fault.what
    (fault,) = corpus_faults([(1, Corpus(id="c", facts={"n": Fact(source=" ", confidence="low")}))])
    assert "no source" in fault.what


def test_the_required_corpora_of_a_benchmark_are_those_of_its_rules(tmp_path: Path) -> None:
    create_workspace(tmp_path, "b")
    workspace = Workspace(tmp_path)
    assert workspace.required_corpora("b") == ()
    (tmp_path / "registry/corpora.jsonl").write_text('{"id":"c"}\n{"id":"d"}\n')
    with (tmp_path / "registry/b/benchmark.toml").open("a") as file:
        file.write('\n[vetting]\nrequired_corpora = ["d"]\n')
    assert workspace.required_corpora("b") == ("d",)
    (tmp_path / "registry/corpora.jsonl").write_text('{"id":"c"}\n')
    with pytest.raises(InputError, match=r"required corpus 'd' is not in corpora\.jsonl"):
        workspace.required_corpora("b")
