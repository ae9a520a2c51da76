"""``lacre index`` and ``lacre vet --index``: what they print, write, refuse, and how they end."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lacre.cli import run
from lacre.errors import Exit


@pytest.fixture
def index(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """An index of the folder of leaks."""
    assert run(["index", "build", "index", "--corpus", "leaks"]) == Exit.CLEAN
    capsys.readouterr()
    return workspace / "index"


def test_build_says_what_it_did_and_prints_what_the_index_holds(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["index", "build", "index", "--corpus", "corpus", "--corpus", "leaks"]) == Exit.CLEAN
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "corpus\tfiles\tdocuments\twords\tbytes\tunread_bytes"
    assert out.splitlines()[1].split("\t")[:3] == ["corpus", "1", "1"]
    assert "2 shards indexed." in err
    assert "1 segment, " in err
    assert "Runs found, by their words: 8: " in err


def test_the_figures_of_the_how_to_are_those_of_the_example(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    docs = Path(__file__).parents[2] / "docs"
    assert run(["index", "build", "index", "--corpus", str(docs / "example-corpus")]) == Exit.CLEAN
    out, err = capsys.readouterr()
    page = (docs / "how-to/index.md").read_text(encoding="utf-8")
    assert out.splitlines()[1].partition("\t")[2] in page
    # How many bytes it takes depends on how long the paths are.
    assert [line for line in err.splitlines() if line.partition(" MB of text: ")[0] not in page] == []


def test_info_as_json_has_every_figure(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["index", "info", "index", "--json"]) == Exit.CLEAN
    figures = json.loads(capsys.readouterr().out)
    assert figures["corpora"][0]["corpus"] == "leaks"
    assert figures["documents"] == 1
    assert figures["words"] == 15
    assert figures["index_bytes"] == sum(path.stat().st_size for path in (index / "segments").iterdir())
    assert figures["reach_of_runs"]["10"] == 1.0
    assert set(figures["reach_of_sentences_with_a_word_changed"]) == {"10", "14", "18", "22"}


def test_an_index_of_no_text_has_no_bytes_for_each(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty.txt").write_bytes(b"")
    assert run(["index", "build", "index", "--corpus", "empty.txt"]) == Exit.CLEAN
    assert "1 segment, 0 fingerprints, 0.0 MB for 0.0 MB of text.\n" in capsys.readouterr().err
    assert run(["index", "info", "index", "--json"]) == Exit.CLEAN
    assert json.loads(capsys.readouterr().out)["bytes_per_byte"] is None


def test_build_does_not_touch_an_index_and_add_needs_one(
    index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["index", "build", "index", "--corpus", "corpus"]) == Exit.BAD_INPUT
    assert "there is an index here already. Add to it with `lacre index add`." in capsys.readouterr().err
    assert run(["index", "add", "elsewhere", "--corpus", "corpus"]) == Exit.BAD_INPUT
    assert "there is no index here" in capsys.readouterr().err


def test_add_says_what_was_there_and_what_changed(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("leaks/page.txt").write_text("Outro texto, mais longo do que o que estava aqui.", encoding="utf-8")
    Path("leaks/more.txt").write_text("Um texto a mais.", encoding="utf-8")
    assert run(["index", "add", "index", "--corpus", "leaks"]) == Exit.CLEAN
    err = capsys.readouterr().err
    assert "2 shards indexed; 1 of them in the place of an older version." in err
    assert run(["index", "add", "index", "--corpus", "leaks"]) == Exit.CLEAN
    assert "0 shards indexed; 2 were there already." in capsys.readouterr().err


def test_files_that_two_corpora_hold_are_said_to_be_found_twice(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["index", "build", "index", "--corpus", "leaks", "--corpus", "leaks/page.txt"]) == Exit.CLEAN
    assert "2 shards indexed; 1 of them for another corpus too, and found twice." in capsys.readouterr().err


def test_what_was_left_out_is_said(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("corpus/table.xyz").write_bytes(bytes(range(256)))
    assert run(["index", "build", "index", "--corpus", "corpus"]) == Exit.CLEAN
    assert "corpus: 1 left out, the first table.xyz: not a format lacre reads" in capsys.readouterr().err


def test_check_tells_a_whole_index_from_a_damaged_one(
    index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["index", "check", "index"]) == Exit.CLEAN
    assert "whole and in order" in capsys.readouterr().err
    segment = index / "segments" / "0001.seg"
    content = bytearray(segment.read_bytes())
    content[80] ^= 255
    segment.write_bytes(content)
    assert run(["index", "check", "index"]) == Exit.INTEGRITY
    assert "its SHA-256 is" in capsys.readouterr().err
    assert run(["index", "check", "index", "--json"]) == Exit.INTEGRITY
    assert len(json.loads(capsys.readouterr().out)["faults"]) == 1


def test_check_names_sources_that_are_gone(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["index", "check", "index", "--sources"]) == Exit.CLEAN
    capsys.readouterr()
    shutil.rmtree("leaks")
    assert run(["index", "check", "index", "--sources"]) == Exit.FINDING
    assert "leaks/page.txt: No such file or directory" in capsys.readouterr().out
    assert run(["index", "check", "index", "--sources", "--json"]) == Exit.FINDING
    assert json.loads(capsys.readouterr().out)["gone"][0]["file"] == str(Path("leaks/page.txt").absolute())


def test_vet_by_index_drops_what_a_scan_drops(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["vet", "items.csv", "--index", "index", "--out", "by-index"]) == Exit.FINDING
    out, err = capsys.readouterr()
    assert out.splitlines()[1].startswith("q1\tdrop\t15 words in a row")
    assert "looked up in its index, which finds all runs of 10 words or more" in err
    assert run(["vet", "items.csv", "--corpus", "leaks", "--out", "by-scan"]) == Exit.FINDING
    findings = [Path(name, "findings.jsonl").read_text(encoding="utf-8") for name in ("by-index", "by-scan")]
    assert findings[0] == findings[1]


def test_vet_by_index_of_a_corpus_that_is_gone_says_so(
    index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree("leaks")
    assert run(["vet", "items.csv", "--index", "index"]) == Exit.INCOMPLETE
    out, err = capsys.readouterr()
    assert "indexed, source not at hand" in out
    assert "of text looked up in index; 1 file that may hold items not at hand." in err
    assert f"noticed: {Path('leaks/page.txt').absolute()}: indexed, source not at hand: No such file" in err


def test_indexes_named_twice_or_not_there_are_refused(
    index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["vet", "items.csv", "--index", "index", "--index", "./index"]) == Exit.BAD_INPUT
    assert "./index: this index is named twice." in capsys.readouterr().err.replace(
        "index: this", "./index: this"
    )
    assert run(["vet", "items.csv", "--index", "nowhere"]) == Exit.BAD_INPUT
    assert "there is no index here" in capsys.readouterr().err


def test_a_vetting_without_any_text_names_the_index_too(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["vet", "items.csv"]) == Exit.BAD_INPUT
    assert "--index DIR" in capsys.readouterr().err
