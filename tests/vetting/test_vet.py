"""The job as a whole: items in, three files out."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.vetting.making import FILLER, RULES, STEM, choice, folder, ruled, vet

from lacre.errors import InputError
from lacre.registry.items import Candidate, Payload
from lacre.vetting.vet import vet as vetted
from lacre.vetting.vet import write


def test_verdicts_are_sorted_by_id_and_findings_follow_them(tmp_path: Path) -> None:
    items = [choice(id=name) for name in ("b", "c", "a")]
    found = vet(items, folder(tmp_path / "c", a_txt=FILLER + STEM))
    assert [verdict.item for verdict in found.verdicts] == ["a", "b", "c"]
    assert [finding.item for finding in found.findings] == sorted(finding.item for finding in found.findings)
    assert [item.verdict.item for item in found.items] == ["b", "c", "a"]


def test_an_item_without_text_is_untestable_and_no_items_are_no_verdicts(tmp_path: Path) -> None:
    source = folder(tmp_path / "c", a_txt=FILLER)
    blank = Candidate(id="q1", payload=Payload(kind="open", stem=""))
    assert [verdict.verdict for verdict in vet([blank], source).verdicts] == ["untestable"]
    assert vet([], source).verdicts == ()


def test_rules_below_what_the_search_finds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="review_from is 5"):
        vet([choice()], folder(tmp_path / "c", a_txt=FILLER), rules=ruled(review_from=5))


def test_a_missing_corpus_is_noticed_before_anything_is_indexed(tmp_path: Path) -> None:
    source = folder(tmp_path / "c", a_txt=FILLER)
    with ThreadPoolExecutor(1) as executor, pytest.raises(InputError, match="no such file"):
        vetted(
            [choice()],
            [source, f"{source}x"],
            RULES,
            executor=executor,
            on_index=lambda: pytest.fail("indexed"),
        )


def test_the_same_vetting_writes_the_same_bytes(tmp_path: Path) -> None:
    source = folder(tmp_path / "c", a_txt=FILLER + STEM)
    for name in ("one", "two"):
        write(vet([choice()], source), "<p>página", tmp_path / name)
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == ["decisions.csv", "findings.jsonl", "verdicts.jsonl", "vetting.html"]
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert json.loads((tmp_path / "one" / "verdicts.jsonl").read_bytes())["verdict"] == "drop"


def test_what_was_there_stays_whole_when_one_file_cannot_be_written(tmp_path: Path) -> None:
    source = folder(tmp_path / "c", a_txt=FILLER + STEM)
    out = tmp_path / "out"
    write(vet([], source), "antes", out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    # A lone surrogate: the page cannot be encoded.
    with pytest.raises(UnicodeEncodeError):
        write(vet([choice()], source), "\ud800", out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
