"""``lacre corpus``: the inventory, with what is not known called unknown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.corpora.serving import SHA, Files, Server, in_place_of_the_hub
from tests.corpora.test_hub_and_s3 import PAGES

from lacre.cli import run
from lacre.errors import Exit

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A stand-in for the Hub, with a dataset."""
    with in_place_of_the_hub(monkeypatch) as server:
        server.site.files = dict(PAGES)
        yield server


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


def test_a_corpus_is_looked_at_and_written_with_source_and_date(workspace: Path, capsys: Capture) -> None:
    before = Path("registry/corpora.jsonl").read_bytes().splitlines()
    licence = ["--licence", "CC0", "--source", "https://example.org/card"]
    assert run(["corpus", "add", "pages", "corpus", "--kind", "news", *licence, "--json"]) == Exit.CLEAN
    added = json.loads(capsys.readouterr().out)
    assert (added["id"], added["kind"], added["licence"]) == ("pages", "news", "CC0")
    assert added["size"] == sum(path.stat().st_size for path in Path("corpus").iterdir())
    assert added["facts"]["bytes to download"]["source"] == "corpus"
    assert added["facts"]["licence"]["source"] == "https://example.org/card"
    assert all(len(fact["date"]) == 10 for fact in added["facts"].values())
    # The other lines are as they were, byte for byte, and the file stays sorted.
    after = Path("registry/corpora.jsonl").read_bytes().splitlines()
    assert [line for line in after if not line.startswith(b'{"id":"pages"')] == before
    assert [json.loads(line)["id"] for line in after] == sorted(json.loads(line)["id"] for line in after)
    assert run(["corpus", "check", "pages"]) == Exit.CLEAN
    assert capsys.readouterr().out.splitlines()[1].endswith("as it was")


def test_what_changed_since_is_named_and_written_when_asked(workspace: Path, capsys: Capture) -> None:
    assert run(["corpus", "add", "pages", "corpus"]) == Exit.CLEAN
    Path("corpus/rows.jsonl").write_text('{"id": 1, "text": "um"}\n')
    assert run(["corpus", "check", "pages"]) == Exit.FINDING
    out = capsys.readouterr().out
    assert "changed: bytes to download, columns" in out
    assert "id,text" in out
    assert run(["corpus", "check", "pages", "--write", "--json"]) == Exit.FINDING
    (result,) = json.loads(capsys.readouterr().out)["corpora"]
    assert result["changes"] == ["bytes to download", "columns"]
    assert run(["corpus", "check", "pages"]) == Exit.CLEAN


def test_a_dataset_is_looked_at_where_it_lies(hub: Server, workspace: Path, capsys: Capture) -> None:
    address = "hf://datasets/someone/pages"
    assert run(["corpus", "add", "pages", address, "--subset", "por_Latn", "--json"]) == Exit.CLEAN
    added = json.loads(capsys.readouterr().out)
    facts = {name: fact["value"] for name, fact in added["facts"].items()}
    assert facts["revision"] == SHA
    assert (facts["gated"], facts["columns"], facts["licence"]) == ("no", "id,text", "cc-by-4.0")
    assert added["gated"] is False
    assert added["facts"]["revision"]["source"] == f"https://huggingface.co/datasets/someone/pages/tree/{SHA}"
    assert run(["corpus", "check", "pages"]) == Exit.CLEAN
    # What was added can be required, and is read at that revision.
    with Path("registry/exemplo/benchmark.toml").open("a") as file:
        file.write('\n[vetting]\nrequired_corpora = ["pages"]\n')
    capsys.readouterr()
    assert run(["vet", "items.csv", "--required", "--json"]) == Exit.CLEAN
    (reading,) = json.loads(capsys.readouterr().out)["corpora"]
    assert (reading["corpus"], reading["revision"], reading["documents"]) == (f"{address}#por_Latn", SHA, 100)


def test_what_cannot_be_reached_is_named_and_nothing_is_written(
    hub: Server, workspace: Path, capsys: Capture
) -> None:
    before = Path("registry/corpora.jsonl").read_bytes()
    assert run(["corpus", "add", "closed", "hf://datasets/someone/gated"]) == Exit.COLUMN
    assert "consent (HTTP 401)" in capsys.readouterr().err
    assert Path("registry/corpora.jsonl").read_bytes() == before
    assert run(["corpus", "check", "aurora-pt", "c4"]) == Exit.COLUMN
    out = capsys.readouterr().out
    assert "not reached: nobody has said where it is" in out
    assert "not reached: not found" in out
    assert run(["corpus", "check", "aurora-pt", "--json"]) == Exit.COLUMN
    assert json.loads(capsys.readouterr().out)["corpora"][0]["state"] == "not reached"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add", "c4", "corpus"), "corpus 'c4': is in the inventory already"),
        (("add", "new", "corpus", "--licence", "CC0"), "a licence and where it was read go together"),
        (("add", "new", "no/such"), "no such file or folder"),
        (("add", "Bad Id", "corpus"), "corpus 'Bad Id': is no id"),
        (("add", "table", "table.jsonl", "--column", "nope"), "nope"),
        (("add", "page", "corpus", "--column", "text"), "has no columns"),
        (("check",), "no corpus is named"),
        (("check", "c44"), "Did you mean c4"),
    ],
)
def test_what_makes_no_sense_is_refused(
    workspace: Path, capsys: Capture, arguments: tuple[str, ...], said: str
) -> None:
    Path("table.jsonl").write_text('{"id": "1", "text": "Um texto."}\n', encoding="utf-8")
    before = Path("registry/corpora.jsonl").read_bytes()
    assert run(["corpus", *arguments]) == Exit.BAD_INPUT
    assert Path("registry/corpora.jsonl").read_bytes() == before
    assert said in capsys.readouterr().err


def test_a_file_at_an_address_that_changed_within_its_size_is_not_as_it_was(
    workspace: Path, capsys: Capture
) -> None:
    with Server(Files) as server:
        server.site.files = {"/a.txt": b"um texto"}
        assert run(["corpus", "add", "page", f"{server.url}/a.txt"]) == Exit.CLEAN
        assert run(["corpus", "check", "page"]) == Exit.CLEAN
        assert "as it was" in capsys.readouterr().out
        server.site.files = {"/a.txt": b"outro tx"}
        assert run(["corpus", "check", "page"]) == Exit.FINDING
        assert "changed: revision" in capsys.readouterr().out


def test_the_list_rounds_and_says_about_how_large_a_corpus_is(workspace: Path, capsys: Capture) -> None:
    assert run(["corpus", "list"]) == Exit.CLEAN
    rows = {line.split("\t")[0]: line.split("\t") for line in capsys.readouterr().out.splitlines()}
    assert rows["fineweb-2-por-latn"][3] == "275.9 GB"
    assert rows["classicc-pt"][3] == "about 165 GB"
