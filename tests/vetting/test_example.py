"""The example benchmark leaks as its LEAKS.md says, file by file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.vetting.making import vet

from lacre.registry.intake import candidates
from lacre.vetting.vet import Vetting

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "docs" / "example-corpus"
EXEMPLO = ROOT / "registry" / "exemplo"
ROW = re.compile(
    r"^\| (?P<item>ex-\w+) \| `(?P<file>[^`]+)`(?:, (?:document `(?P<id>[^`]+)`|row (?P<row>\d+)))? "
    r"\| (?P<way>.*) \| (?P<verdict>\w+) \|$",
    re.MULTILINE,
)


class Leak(NamedTuple):
    """One row of LEAKS.md."""

    item: str
    file: str
    document: str
    way: str
    verdict: str


LEAKS = [
    Leak(row["item"], row["file"], row["id"] or row["row"] or row["file"], row["way"], row["verdict"])
    for row in ROW.finditer((EXEMPLO / "LEAKS.md").read_text(encoding="utf-8"))
]


@pytest.fixture(scope="module")
def vetting() -> Vetting:
    return vet(candidates(EXEMPLO / "open" / "items.jsonl").items, str(CORPUS))


def test_every_row_of_the_table_was_understood() -> None:
    text = (EXEMPLO / "LEAKS.md").read_text(encoding="utf-8")
    assert len(LEAKS) == text.count("\n| ex-") > 0


@pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: leak.item)
def test_a_leak_is_found_where_and_as_the_table_says(vetting: Vetting, leak: Leak) -> None:
    verdict = next(verdict for verdict in vetting.verdicts if verdict.item == leak.item)
    assert verdict.verdict == leak.verdict
    found = [finding for finding in vetting.findings if finding.item == leak.item]
    assert {(finding.shard, finding.document) for finding in found} == {(leak.file, leak.document)}
    if words := re.search(r"(\d+) words in common", leak.way):
        assert verdict.longest_run == int(words[1])
    if "no run of 13 words" in leak.way:
        assert verdict.longest_run < 13
    if "without accents" in leak.way:
        assert {finding.channel for finding in found} == {"folded"}
    if "no word of the item's own" in leak.way:
        assert {finding.fields for finding in found} == {("passage",)}
        assert {finding.class_ for finding in found} == {"quotation"}
    if leak.way.startswith("stem only"):
        assert {name for finding in found for name in finding.fields} <= {"stem", "passage"}
    if "expected answer" in leak.way:
        assert any(name.startswith("expected:") for finding in found for name in finding.fields)
        assert any("key" in finding.fields for finding in found)
    if "all options" in leak.way or "lettered options" in leak.way:
        assert verdict.coverage == 1.0


def test_all_other_items_share_nothing_with_the_corpus(vetting: Vetting) -> None:
    leaking = {leak.item for leak in LEAKS}
    others = [verdict for verdict in vetting.verdicts if verdict.item not in leaking]
    assert len(others) == 52 - len(LEAKS)
    assert {(verdict.verdict, verdict.findings) for verdict in others} == {("keep", 0)}


def test_the_whole_corpus_is_read(vetting: Vetting) -> None:
    (reading,) = vetting.corpora
    assert (reading.unread_bytes, reading.incomplete) == (0, ())
    assert reading.shards == sum(path.is_file() for path in CORPUS.rglob("*"))
