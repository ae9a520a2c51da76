"""By index and by scan the same items drop: real corpora, every twelfth real item; they need LACRE_TEST_DATA."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
import pytest

from lacre.corpora.indexing import open_index
from lacre.overlap.winnow import item_grams
from lacre.registry.intake import candidates
from lacre.registry.rules import default_rules
from lacre.registry.verdicts import Finding
from lacre.vetting import indexed
from lacre.vetting.indexed import Lookup
from lacre.vetting.indexed_building import build
from lacre.vetting.indexed_portions import Sizes
from lacre.vetting.scan import listings
from lacre.vetting.vet import Vetting, vet

pytestmark = [pytest.mark.slow, pytest.mark.together]
RULES = default_rules().vetting


@pytest.fixture(scope="module")
def root() -> Path:
    named = os.environ.get("LACRE_TEST_DATA")
    if not named:
        pytest.skip("LACRE_TEST_DATA is not set: no real items and corpora here")
    return Path(named)


@pytest.fixture(scope="module")
def place(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of all real corpora, in blocks so small that most hold no item."""
    place = tmp_path_factory.mktemp("index") / "index"
    source = str(root / "corpora")
    with ThreadPoolExecutor(2) as executor:
        named = [(source, None, listings([source], None)[0])]
        build(place, named, executor=executor, sizes=Sizes(block=1 << 14))
    return place


@dataclass(frozen=True)
class Both:
    """One vetting by index, one by scan; the rarest sentences are chosen alike."""

    index: Vetting
    scan: Vetting


@cache
def both(root: Path, place: Path) -> Both:
    # Every item at once would read nearly every block, and take twenty minutes.
    items = candidates(root / "items" / "items.jsonl.gz").items[::12]
    with ThreadPoolExecutor(2) as executor:
        by_index = vet(items, [], RULES, executor=executor, lookup=Lookup.open([place], workers=2))
        by_scan = vet(items, [str(root / "corpora")], RULES, executor=executor)
    return Both(by_index, by_scan)


def runs(vetting: Vetting, least: int) -> list[Finding]:
    """Findings of so many words, but for the number of documents, and what tells of the text around a match.

    Of documents with shorter runs an index may miss some; blocks as small as these cut the text around short.
    """
    return [
        msgspec.structs.replace(finding, documents=0, snippet="", class_="copy")
        for finding in vetting.findings
        if finding.check == "overlap" and finding.words >= least
    ]


def test_the_index_takes_less_than_0_35_bytes_a_byte(root: Path, tmp_path: Path) -> None:
    source = str(root / "corpora")
    with ThreadPoolExecutor(2) as executor:
        build(tmp_path / "index", [(source, None, listings([source], None)[0])], executor=executor)
    index = open_index(tmp_path / "index")
    text = sum(record.text for record in index.manifest.segments)
    assert text > 50_000_000
    assert sum(record.size for record in index.manifest.segments) <= 0.35 * text


def test_findings_of_thirteen_words_are_the_same(root: Path, place: Path) -> None:
    found = both(root, place)
    assert len(runs(found.scan, 13)) > 300
    assert runs(found.index, 13) == runs(found.scan, 13)


def test_the_items_that_drop_by_words_in_a_row_are_the_same(root: Path, place: Path) -> None:
    found = both(root, place)
    by_run = [
        {
            item.verdict.item
            for item in vetting.items
            if any(judged.weight == "drop" and not judged.place.sentence for judged in item.judged)
        }
        for vetting in (found.index, found.scan)
    ]
    assert len(by_run[1]) > 200
    assert by_run[0] == by_run[1]


def test_the_index_lets_most_of_the_text_lie(root: Path, place: Path) -> None:
    items = candidates(root / "items" / "items.jsonl.gz").items[:20]
    index = open_index(place)
    from lacre.overlap.index import index_items  # noqa: PLC0415
    from lacre.vetting.presented import presented  # noqa: PLC0415

    table = index_items([presented(item) for item in items], min_words=5, min_bits=40, rare_min_words=8).table
    work = indexed.candidates(index, item_grams(table))
    blocks = sum(np.unique(job.blocks).size for job in work)
    assert 0 < blocks < 0.2 * sum(segment.facts.blocks for segment in index.segments)
