"""Evidence: few places are kept, all are counted; long documents, repeated ids, odd names."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from tests.vetting.making import FILLER, NINE, RULES, STEM, choice, folder, verdict, vet

from lacre import jsonl
from lacre.corpora.batches import OVERLAP
from lacre.corpora.readers import read
from lacre.corpora.sources import shards
from lacre.overlap.index import ItemIndex, index_items
from lacre.overlap.runs import Scratch, runs
from lacre.registry.verdicts import Finding
from lacre.vetting.evidence import KEPT, PLACES, REACH, Gathering, Place
from lacre.vetting.presented import presented


def lines(*records: dict[str, str]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def overlaps(findings: tuple[Finding, ...]) -> list[Finding]:
    return [finding for finding in findings if finding.check == "overlap"]


def test_evidence_is_kept_for_a_few_documents_and_all_are_counted(tmp_path: Path) -> None:
    pages = [{"id": f"p{number:02}", "text": f"{FILLER * number}{STEM}"} for number in range(12)]
    found = overlaps(vet([choice()], folder(tmp_path / "c", a_jsonl=lines(*pages))).findings)
    assert [finding.document for finding in found] == [f"p{number:02}" for number in range(KEPT)]
    assert {finding.documents for finding in found} == {12}


def test_the_best_documents_are_kept(tmp_path: Path) -> None:
    pages = [{"id": f"p{number:02}", "text": f"{NINE}. {FILLER}"} for number in range(12)]
    pages.append({"id": "zz", "text": STEM})
    found = overlaps(vet([choice()], folder(tmp_path / "c", a_jsonl=lines(*pages))).findings)
    assert found[0].document == "zz"
    assert (len(found), found[0].documents) == (KEPT, 13)


def test_a_document_that_repeats_an_item_keeps_a_few_places(tmp_path: Path) -> None:
    found = vet([choice()], folder(tmp_path / "c", a_txt=f"{STEM}\n\n" * 300))
    assert 0 < len(overlaps(found.findings)) <= PLACES
    assert {finding.documents for finding in found.findings} == {1}
    assert verdict(found).findings == len(found.findings)


def test_documents_that_share_an_id_are_two_documents(tmp_path: Path) -> None:
    pages = [{"id": "igual", "text": STEM}, {"id": "igual", "text": STEM}]
    found = overlaps(vet([choice()], folder(tmp_path / "c", a_jsonl=lines(*pages))).findings)
    assert [finding.documents for finding in found] == [2, 2]


@pytest.fixture(scope="module")
def index() -> ItemIndex:
    return index_items(
        [presented(choice())],
        min_words=RULES.short_min_words,
        min_bits=RULES.short_min_bits,
        rare_min_words=RULES.rare_min_words,
    )


def places(index: ItemIndex, path: Path, batch_bytes: int) -> list[Place]:
    (shard,) = shards(str(path)).shards
    gathering = Gathering(shard, index.sheets)
    for batch in read(shard, batch_bytes=batch_bytes):
        gathering.add(batch, runs(index, batch.text, Scratch.make(), align_from=RULES.rare_review).runs)
    found = gathering.found()
    return sorted(
        (place for documents in found.places.values() for listed in documents.values() for place in listed),
        key=lambda place: (place.sentence, place.start),
    )


PIECE = 16 << 10


@pytest.mark.parametrize("shift", range(0, 2 * OVERLAP, 173))
def test_a_match_anywhere_about_the_seam_of_two_pieces_is_found_once_at_its_bytes(
    tmp_path: Path, index: ItemIndex, shift: int
) -> None:
    before = (FILLER * 400).encode()[: PIECE - OVERLAP - 600 + shift].decode("utf-8", "ignore") + " "
    text = before + STEM + " " + FILLER * 300
    path = tmp_path / "long.txt"
    path.write_text(text, encoding="utf-8")
    start = len(before.encode())
    end = start + len(STEM.rstrip("?").encode())
    found = places(index, path, PIECE)
    assert [(place.start, place.end) for place in found if not place.sentence] == [(start, end)]
    assert [place.score for place in found if place.sentence] == [1.0]
    for place in found:
        assert text.encode()[place.start : place.end].decode() == place.excerpt.matched


def test_a_match_longer_than_what_two_pieces_share_is_one_match(tmp_path: Path) -> None:
    stem = " ".join(f"palavra{number}" for number in range(2000))
    before, after = FILLER * 60, FILLER * 300
    path = tmp_path / "long.txt"
    path.write_text(f"{before}{stem}. {after}", encoding="utf-8")
    long = index_items(
        [presented(choice(stem=stem))],
        min_words=RULES.short_min_words,
        min_bits=RULES.short_min_bits,
        rare_min_words=RULES.rare_min_words,
    )
    found = [place for place in places(long, path, PIECE) if not place.sentence]
    start = len(before.encode())
    assert [(p.start, p.end, p.first, p.last) for p in found] == [(start, start + len(stem), 0, 2000)]
    assert found[0].excerpt.matched == stem
    assert found[0].excerpt.after.startswith(". Na quinta-feira")


def test_matches_of_other_words_inside_a_long_match_do_not_hide_its_second_view(
    tmp_path: Path, index: ItemIndex
) -> None:
    path = tmp_path / "long.txt"
    path.write_text((FILLER + STEM + " " + NINE + ". ") * 200, encoding="utf-8")
    whole = places(index, path, 4 << 20)
    cut = places(index, path, PIECE)
    assert [(p.start, p.end, p.first, p.last) for p in cut] == [
        (p.start, p.end, p.first, p.last) for p in whole
    ]


def test_a_match_is_told_with_the_words_of_the_item_that_stand_near_it(tmp_path: Path) -> None:
    words = [f"palavra{number}" for number in range(60)]
    index = index_items(
        [presented(choice(stem=" ".join(words)))],
        min_words=RULES.short_min_words,
        min_bits=RULES.short_min_bits,
        rare_min_words=RULES.rare_min_words,
    )
    one, other = " ".join(words[:9]), " ".join(words[50:59])
    far = FILLER * (REACH // len(FILLER.encode()) + 2)
    first, second = (0, 9), (50, 59)
    for text, near in (
        (f"{one}. {other}", [(first, second), (first, second)]),
        (
            f"{one}. {other}. {far}{one}. {far}{other}",
            [(first, second), (first, second), (first,), (second,)],
        ),
    ):
        path = tmp_path / "near.txt"
        path.write_text(text, encoding="utf-8")
        assert [place.near for place in places(index, path, 4 << 20)] == near


def test_decomposed_names_of_files_and_ids_stay_as_they_are(tmp_path: Path) -> None:
    name, id = (unicodedata.normalize("NFD", text) for text in ("questão.txt", "questão-ç"))
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / name).write_text(FILLER + STEM, encoding="utf-8")
    found = vet([choice(id=id)], str(tmp_path / "c"))
    assert {finding.shard for finding in found.findings} == {name}
    assert {finding.item for finding in found.findings} == {id}
    line = jsonl.encode(found.findings[0], composed=False)
    assert json.loads(line)["shard"] == name
    assert json.loads(line)["item"] == id


FIELDS = (
    "item",
    "check",
    "corpus",
    "shard",
    "document",
    "bytes",
    "fields",
    "item_words",
    "words",
    "score",
    "coverage",
    "channel",
    "class",
    "documents",
    "snippet",
)


def test_a_finding_has_these_fields_in_this_order(tmp_path: Path) -> None:
    found = vet([choice()], folder(tmp_path / "c", a_txt=FILLER + STEM))
    assert {tuple(json.loads(jsonl.encode(finding))) for finding in found.findings} == {FIELDS}
    assert tuple(json.loads(jsonl.encode(verdict(found)))) == (
        "item",
        "verdict",
        "reasons",
        "longest_run",
        "coverage",
        "findings",
    )
