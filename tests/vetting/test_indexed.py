"""Indexes of corpora: what a scan drops an index drops, on the same evidence; kills lose nothing; nothing is kept in
silence that an index cannot test."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.overlap.building import filler, made_up
from tests.vetting.making import FILLER, LAW, NINE, OPTIONS, RULES, STEM, choice, folder, quoting, verdict

from lacre.corpora.indexing import (
    BUILDING,
    MANIFEST,
    SEGMENTS,
    Manifest,
    absence,
    checked,
    open_index,
    read_manifest,
)
from lacre.errors import InputError, IntegrityError
from lacre.registry.items import Candidate, Payload
from lacre.registry.verdicts import Finding
from lacre.report.compose import page_of
from lacre.report.vetting import render
from lacre.vetting.indexed import Lookup
from lacre.vetting.indexed_building import Built, build
from lacre.vetting.indexed_portions import Building, Sizes
from lacre.vetting.progress import Progress
from lacre.vetting.scan import listings
from lacre.vetting.vet import Vetting
from lacre.vetting.vet import vet as vetted
from lacre.vetting.watch import Desk, answer, state

SMALL = 1 << 14
"""The smallest blocks, so that a test has many."""


def built(
    place: Path,
    *sources: str,
    segment: int = 1 << 30,
    block: int = SMALL,
    portion: int = 64 << 20,
    spill: int = 1 << 26,
    column: str | None = None,
    on_progress: Callable[[Building], None] = lambda _: None,
) -> Built:
    """Build the index of sources, or add to it."""
    named = [
        (source, column, listing)
        for source, listing in zip(sources, listings(sources, column, [place]), strict=True)
    ]
    with ThreadPoolExecutor(2) as executor:
        return build(
            place,
            named,
            executor=executor,
            on_progress=on_progress,
            sizes=Sizes(portion=portion, block=block, spill=spill, segment=segment),
        )


def by_index(
    items: Sequence[Candidate],
    *places: Path,
    sources: Sequence[str] = (),
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Vetting:
    """A vetting by indexes, and by a scan of the other sources."""
    lookup = Lookup.open(places, workers=2)
    with ThreadPoolExecutor(1) as executor:
        return vetted(items, sources, RULES, executor=executor, lookup=lookup, on_progress=on_progress)


def by_scan(items: Sequence[Candidate], *sources: str) -> Vetting:
    with ThreadPoolExecutor(2) as executor:
        return vetted(items, sources, RULES, executor=executor)


def long_runs(vetting: Vetting) -> list[Finding]:
    """Findings of ten words or more, without the number of documents, of which an index may not know all."""
    return [
        msgspec.structs.replace(finding, documents=0)
        for finding in vetting.findings
        if finding.check == "overlap" and finding.words >= 10
    ]


def files_of(place: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(place)): path.read_bytes()
        for path in sorted(place.rglob("*"))
        if path.is_file() and path.name != "lock"
    }


def corpus_of(chance: random.Random, root: Path, items: Sequence[Candidate]) -> str:
    """A corpus of files of several kinds in which parts of items stand here and there."""
    root.mkdir()

    def document() -> str:
        parts = [filler(chance, 60)]
        for _ in range(chance.choice([0, 0, 1, 2])):
            words = chance.choice(items).payload.stem.split()
            size = chance.choice([7, 8, 9, 10, 12, 13, 20, 60])
            first = chance.randint(0, max(0, len(words) - size))
            parts += [" ".join(words[first : first + size]), filler(chance, 3_000)]
        return " ".join(parts)

    (root / "a.txt").write_text(" ".join(document() for _ in range(12)), encoding="utf-8")
    (root / "b.jsonl").write_bytes(
        b"".join(msgspec.json.encode({"id": f"b{k}", "text": document()}) + b"\n" for k in range(40))
    )
    rows = pa.table({"text": [document() for _ in range(40)]})
    pq.write_table(rows, root / "c.parquet", row_group_size=7)
    (root / "d.txt").write_text(filler(chance, 5_000), encoding="utf-8")
    return str(root)


def made_items(chance: random.Random, count: int) -> list[Candidate]:
    return [
        Candidate(
            id=f"i{k}", payload=Payload(kind="open", stem=" ".join(made_up(chance, chance.randint(13, 50))))
        )
        for k in range(count)
    ]


@given(seed=st.integers(0, 2**32), segment_bytes=st.sampled_from([1, 40_000, 1 << 30]))
@settings(max_examples=8, deadline=None)
def test_an_index_finds_what_a_scan_finds_from_ten_words_on(
    tmp_path_factory: pytest.TempPathFactory, seed: int, segment_bytes: int
) -> None:
    chance = random.Random(seed)
    items = made_items(chance, 12)
    root = tmp_path_factory.mktemp("index")
    source = corpus_of(chance, root / "corpus", items)
    built(root / "index", source, segment=segment_bytes)
    assert list(checked(root / "index")) == []
    indexed, scanned = by_index(items, root / "index"), by_scan(items, source)
    assert long_runs(indexed) == long_runs(scanned)
    drops = [{v.item for v in vetting.verdicts if v.verdict == "drop"} for vetting in (indexed, scanned)]
    assert drops[0] <= drops[1]
    by_run = {f.item for f in scanned.findings if f.check == "overlap" and f.words >= RULES.n}
    assert by_run <= drops[0]


def test_only_what_may_hold_an_item_is_read_again(tmp_path: Path) -> None:
    source = folder(
        tmp_path / "corpus",
        leak_txt=FILLER * 40 + STEM + " " + FILLER * 40,
        **{f"other{k}_txt": FILLER * 400 for k in range(9)},
    )
    built(tmp_path / "index", source)
    seen: list[Progress] = []
    vetting = by_index([choice()], tmp_path / "index", on_progress=seen.append)
    assert verdict(vetting).verdict == "drop"
    assert seen[-1].shards == seen[-1].of_shards == 1
    assert 0 < seen[-1].text < 2 * SMALL + 10_000
    assert vetting.corpora[0].documents == 10
    assert "looked up in its index" in vetting.corpora[0].unread[0].reason


def test_of_a_parquet_file_only_the_row_groups_that_may_hold_an_item_are_read(tmp_path: Path) -> None:
    texts = [f"linha {k} " + FILLER for k in range(100)]
    texts[57] = f"{FILLER} {STEM}"
    texts[58] = ""
    (tmp_path / "corpus").mkdir()
    pq.write_table(pa.table({"id": [f"d{k}" for k in range(100)], "text": texts}), tmp_path / "corpus/x.parquet",
                   row_group_size=10)  # fmt: skip
    source = str(tmp_path / "corpus")
    built(tmp_path / "index", source)
    indexed = by_index([choice()], tmp_path / "index")
    assert long_runs(indexed) == long_runs(by_scan([choice()], source))
    assert indexed.findings[0].document == "d57"


def test_an_addition_is_a_new_segment_and_touches_no_other(tmp_path: Path) -> None:
    place = tmp_path / "index"
    one = folder(tmp_path / "one", a_txt=FILLER * 50)
    other = folder(tmp_path / "other", b_txt=f"{FILLER} {STEM}")
    built(place, one)
    before = files_of(place)
    assert verdict(by_index([choice()], place)).verdict == "keep"
    assert built(place, other).new == 1
    after = files_of(place)
    assert {name: after[name] for name in before if name != MANIFEST} == {
        name: content for name, content in before.items() if name != MANIFEST
    }
    vetting = by_index([choice()], place)
    assert verdict(vetting).verdict == "drop"
    assert [reading.corpus for reading in vetting.corpora] == [one, other]


def test_what_is_indexed_already_is_not_read_again(tmp_path: Path) -> None:
    source = folder(tmp_path / "corpus", a_txt=FILLER, b_txt=FILLER)
    built(tmp_path / "index", source)
    before = files_of(tmp_path / "index")
    again = built(tmp_path / "index", source)
    assert (again.new, again.same, again.changed) == (0, 2, 0)
    assert files_of(tmp_path / "index") == before


def test_a_file_that_changed_is_indexed_anew_and_its_old_text_no_longer_counts(tmp_path: Path) -> None:
    source = folder(tmp_path / "corpus", a_txt=f"{FILLER} {STEM}", b_txt=FILLER)
    built(tmp_path / "index", source)
    assert verdict(by_index([choice()], tmp_path / "index")).verdict == "drop"
    folder(tmp_path / "corpus", a_txt=f"{FILLER} {LAW}")
    again = built(tmp_path / "index", source)
    assert (again.new, again.same, again.changed) == (1, 1, 1)
    vetting = by_index([choice()], tmp_path / "index")
    assert verdict(vetting).verdict == "keep"
    assert vetting.corpora[0].documents == 2
    law = [Candidate(id="q1", payload=Payload(kind="open", stem=LAW))]
    assert verdict(by_index(law, tmp_path / "index")).verdict == "drop"
    index = open_index(tmp_path / "index")
    assert [source.shard.path for source in index.sources()] == ["b.txt", "a.txt"]


def test_the_same_corpus_gives_the_same_bytes_whatever_is_done_first(tmp_path: Path) -> None:
    chance = random.Random(5)
    source = corpus_of(chance, tmp_path / "corpus", made_items(chance, 4))
    for name in ("one", "other"):
        built(tmp_path / name, source)
    assert files_of(tmp_path / "one") == files_of(tmp_path / "other")


# Sources that are gone


def test_a_match_whose_source_is_gone_says_so_and_is_unknown(tmp_path: Path) -> None:
    source = folder(tmp_path / "corpus", a_txt=f"{FILLER} {STEM}")
    built(tmp_path / "index", source)
    (tmp_path / "corpus/a.txt").unlink()
    vetting = by_index([choice(), quoting(None, FILLER).__class__(id="q2", payload=Payload(kind="open", stem="x"))],
                       tmp_path / "index")  # fmt: skip
    one = verdict(vetting)
    assert one.verdict == "unknown"
    (reason,) = one.reasons
    assert re.fullmatch(
        r"8 words in a row or more, of [23]\d met in pieces, indexed, source not at hand, in .*: a.txt",
        reason,
    )
    assert (one.longest_run, one.findings) == (8, 1)
    finding = vetting.findings[0]
    assert finding.snippet == "⟦indexed, source not at hand⟧"
    assert (finding.shard, finding.document, finding.documents) == ("a.txt", "a.txt", 1)
    assert finding.coverage == one.coverage < 0.3
    assert any("source not at hand: No such file" in gap.reason for gap in vetting.corpora[0].unread)
    assert "source not at hand" in render(page_of(vetting, "items"))


def test_pieces_in_several_files_that_are_gone_are_never_taken_for_a_run(tmp_path: Path) -> None:
    words = STEM.split()
    pieces = {
        f"{name}_txt": " ".join(words[first : first + 10]) for name, first in (("a", 0), ("b", 3), ("c", 7))
    }
    source = folder(tmp_path / "corpus", **pieces)
    built(tmp_path / "index", source)
    assert verdict(by_index([choice()], tmp_path / "index")).verdict == "review"
    shutil.move(source, tmp_path / "elsewhere")
    vetting = by_index([choice()], tmp_path / "index")
    assert verdict(vetting).verdict == "unknown"
    (finding,) = vetting.findings
    assert finding.shard == finding.document == "one of these 3 files: a.txt, b.txt, c.txt"
    assert (finding.documents, finding.words >= RULES.n) == (1, True)
    assert verdict(vetting).longest_run == 8


def test_pieces_in_several_documents_of_a_file_that_is_gone_are_never_taken_for_a_run(tmp_path: Path) -> None:
    words = STEM.split()
    lines = [{"text": " ".join(words[first : first + 10])} for first in (0, 3, 7)]
    source = folder(
        tmp_path / "corpus", a_jsonl=b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    )
    built(tmp_path / "index", source)
    (tmp_path / "corpus/a.jsonl").unlink()
    vetting = by_index([choice()], tmp_path / "index")
    assert verdict(vetting).verdict == "unknown"
    (finding,) = vetting.findings
    assert (finding.shard, finding.document, finding.documents) == ("a.jsonl", "one of 1 to 3", 1)


def test_many_files_that_are_gone_are_named_in_part_and_counted(tmp_path: Path) -> None:
    source = folder(tmp_path / "corpus", **{f"f{k}_txt": f"{FILLER} {k}" for k in range(8)}, g_txt=STEM)
    built(tmp_path / "index", source)
    shutil.rmtree(source)
    finding = by_index([choice()], tmp_path / "index").findings[0]
    assert finding.shard.startswith("one of these 9 files: f0.txt, f1.txt, ")
    assert finding.shard.endswith(" and 4 more")


def test_the_old_text_of_a_file_is_not_laid_on_another_that_is_gone(tmp_path: Path) -> None:
    source = folder(tmp_path / "corpus", a_txt=STEM, b_txt=FILLER)
    built(tmp_path / "index", source)
    folder(tmp_path / "corpus", a_txt=LAW)
    built(tmp_path / "index", source)
    assert verdict(by_index([choice()], tmp_path / "index")).verdict == "keep"
    (tmp_path / "corpus/b.txt").unlink()
    vetting = by_index([choice()], tmp_path / "index")
    assert verdict(vetting).verdict == "unknown"
    assert vetting.findings[0].shard == "b.txt; or a file indexed beside it"


def test_what_nobody_can_look_at_pushes_out_nothing_that_was_seen(tmp_path: Path) -> None:
    words = STEM.split()
    texts = {f"gone{k}_txt": f"{STEM} {FILLER * 200} {k}" for k in range(9)}
    source = folder(tmp_path / "corpus", seen_txt=f"{FILLER * 200} {' '.join(words[:13])}", **texts)
    built(tmp_path / "index", source)
    for path in (tmp_path / "corpus").glob("gone*"):
        path.unlink()
    vetting = by_index([choice()], tmp_path / "index")
    one = verdict(vetting)
    assert one.verdict == "drop"
    assert one.longest_run == 13
    assert one.reasons[0].startswith("13 words in a row in ")
    assert any("source not at hand" in reason for reason in one.reasons[1:])


@pytest.mark.parametrize("how", ["gone", "longer", "other bytes"])
def test_fewer_words_whose_source_is_not_at_hand_are_unknown_never_keep(tmp_path: Path, how: str) -> None:
    words = STEM.split()
    source = folder(tmp_path / "corpus", a_txt=f"{FILLER} {' '.join(words[3:13])} {FILLER}")
    built(tmp_path / "index", source)
    path = tmp_path / "corpus/a.txt"
    if how == "gone":
        path.unlink()
    elif how == "longer":
        path.write_text(path.read_text(encoding="utf-8") + "x", encoding="utf-8")
    else:
        path.write_text(path.read_text(encoding="utf-8")[::-1], encoding="utf-8")
        os.utime(path, ns=(1, 1))
    vetting = by_index([choice()], tmp_path / "index")
    one = verdict(vetting)
    assert one.verdict == "unknown"
    assert "source not at hand" in one.reasons[0]


def test_a_file_that_was_only_touched_is_still_at_hand(tmp_path: Path) -> None:
    source = folder(tmp_path / "corpus", a_txt=f"{FILLER} {STEM}")
    built(tmp_path / "index", source)
    os.utime(tmp_path / "corpus/a.txt", ns=(1, 1))
    vetting = by_index([choice()], tmp_path / "index")
    assert vetting.findings[0].snippet.startswith("ninguém") or "⟦Depois" in vetting.findings[0].snippet


def test_boilerplate_whose_source_is_gone_is_boilerplate_still(tmp_path: Path) -> None:
    source = folder(tmp_path / "corpus", a_txt=f"{FILLER} {STEM}")
    built(tmp_path / "index", source)
    (tmp_path / "corpus/a.txt").unlink()
    lookup = Lookup.open([tmp_path / "index"])
    with ThreadPoolExecutor(1) as executor:
        vetting = vetted([choice()], [], RULES, executor=executor, lookup=lookup, phrases=[STEM])
    assert verdict(vetting).verdict == "keep"


def test_boilerplate_whose_source_is_gone_excuses_no_other_words(tmp_path: Path) -> None:
    words = STEM.split()
    text = f"{' '.join(words[:16])} {FILLER} {' '.join(words[18:])}"
    source = folder(tmp_path / "corpus", a_txt=text)
    built(tmp_path / "index", source)
    (tmp_path / "corpus/a.txt").unlink()
    lookup = Lookup.open([tmp_path / "index"])
    with ThreadPoolExecutor(1) as executor:
        vetting = vetted(
            [choice()], [], RULES, executor=executor, lookup=lookup, phrases=[" ".join(words[:16])]
        )
    assert verdict(vetting).verdict == "unknown"


def test_what_was_unread_when_it_was_indexed_makes_verdicts_unknown(tmp_path: Path) -> None:
    broken = b'{"text": "um"}\n' + b"not json" * 900 + b"\n"
    source = folder(tmp_path / "corpus", a_txt=FILLER * 20, b_jsonl=broken)
    built(tmp_path / "index", source)
    vetting = by_index([choice()], tmp_path / "index")
    assert verdict(vetting).verdict == "unknown"
    assert vetting.corpora[0].unread_bytes == by_scan([choice()], source).corpora[0].unread_bytes > 0


# What an index cannot test


@pytest.mark.parametrize(
    ("stem", "expected"),
    [
        ("Quem plantou a jabuticabeira assombrada?", "untestable"),
        ("Quem plantou a jabuticabeira assombrada do cemitério velho ontem?", "untestable"),
        ("Quem plantou a jabuticabeira assombrada do cemitério velho de Itaquera ontem?", "keep"),
    ],
)
def test_an_item_too_short_for_an_index_is_untestable_never_kept_in_silence(
    tmp_path: Path, stem: str, expected: str
) -> None:
    source = folder(tmp_path / "corpus", a_txt=FILLER)
    built(tmp_path / "index", source)
    items = [Candidate(id="q1", payload=Payload(kind="open", stem=stem))]
    one = verdict(by_index(items, tmp_path / "index"))
    assert one.verdict == expected
    assert expected == "keep" or "too short for an index" in one.reasons[0]
    assert verdict(by_scan(items, source)).verdict == "keep"


def test_a_short_item_that_stands_there_whole_is_dropped(tmp_path: Path) -> None:
    stem = "Quem plantou a jabuticabeira assombrada do cemitério velho de Itaquera?"
    source = folder(tmp_path / "corpus", a_txt=f"{FILLER} {stem} {FILLER}")
    built(tmp_path / "index", source)
    items = [Candidate(id="q1", payload=Payload(kind="open", stem=stem))]
    assert verdict(by_index(items, tmp_path / "index")).verdict == "drop"


def test_an_index_and_a_scan_work_together_and_nothing_is_found_twice(tmp_path: Path) -> None:
    one = folder(tmp_path / "one", a_txt=f"{FILLER} {STEM}")
    other = folder(tmp_path / "other", b_txt=f"{FILLER} {NINE} {FILLER}")
    built(tmp_path / "index", one, other)
    vetting = by_index([choice()], tmp_path / "index", sources=[other])
    assert sorted(reading.corpus for reading in vetting.corpora) == sorted([one, other])
    assert len({(f.corpus, f.bytes, f.check) for f in vetting.findings}) == len(vetting.findings)
    assert {f.corpus for f in vetting.findings} == {one, other}
    twice = by_index([choice()], tmp_path / "index", tmp_path / "index")
    assert [reading.corpus for reading in twice.corpora] == [one, other]


def test_text_that_a_scan_no_longer_finds_is_looked_up_still_and_the_scan_says_what_it_read(
    tmp_path: Path,
) -> None:
    source = folder(tmp_path / "corpus", a_txt=f"{FILLER} {STEM}", b_txt=FILLER)
    built(tmp_path / "index", source)
    whole = by_index([choice()], tmp_path / "index", sources=[source])
    assert verdict(whole).verdict == "drop"
    assert [reading.corpus for reading in whole.corpora] == [source]
    assert "2 of its files are read here, and not looked up in it" in whole.corpora[0].unread[-1].reason
    (tmp_path / "corpus/a.txt").unlink()
    vetting = by_index([choice()], tmp_path / "index", sources=[source])
    assert verdict(vetting).verdict == "unknown"
    scanned, looked_up = vetting.corpora
    assert "1 of its files is read here" in scanned.unread[-1].reason
    assert (looked_up.documents, looked_up.gone, looked_up.index) == (1, 1, str(tmp_path / "index"))


def test_a_scanned_file_that_has_changed_counts_as_it_is_now(tmp_path: Path) -> None:
    source = folder(tmp_path / "corpus", a_txt=f"{FILLER} {STEM}", b_txt=FILLER)
    built(tmp_path / "index", source)
    folder(tmp_path / "corpus", a_txt=LAW)
    assert verdict(by_index([choice()], tmp_path / "index", sources=[source])).verdict == "keep"


def test_a_short_item_is_testable_where_a_scan_reads_all_that_the_index_holds(tmp_path: Path) -> None:
    short = [
        Candidate(
            id="q1",
            payload=Payload(kind="open", stem="Quem plantou a jabuticabeira assombrada do cemitério?"),
        )
    ]
    one = folder(tmp_path / "one", a_txt=FILLER)
    other = folder(tmp_path / "other", b_txt=FILLER)
    built(tmp_path / "index", one, other)
    assert verdict(by_index(short, tmp_path / "index", sources=[one, other])).verdict == "keep"
    assert verdict(by_index(short, tmp_path / "index", sources=[one])).verdict == "untestable"


def test_a_second_index_of_a_corpus_is_looked_up_where_it_holds_another_text(tmp_path: Path) -> None:
    source = folder(tmp_path / "corpus", a_txt=FILLER)
    built(tmp_path / "old", source)
    folder(tmp_path / "corpus", a_txt=FILLER, b_txt=STEM)
    built(tmp_path / "new", source)
    assert verdict(by_index([choice()], tmp_path / "old", tmp_path / "new")).verdict == "drop"


def test_an_index_is_of_use_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder(tmp_path / "corpus", a_txt=f"{FILLER} {STEM}")
    monkeypatch.chdir(tmp_path)
    built(Path("index"), "corpus")
    assert built(Path("index"), "corpus").same == 1
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    vetting = by_index([choice()], tmp_path / "index")
    assert (vetting.findings[0].corpus, vetting.findings[0].shard) == ("corpus", "a.txt")
    assert verdict(vetting).verdict == "drop"


def test_an_index_with_paths_as_they_were_given_says_from_where_it_looked(tmp_path: Path) -> None:
    built(tmp_path / "index", folder(tmp_path / "corpus", a_txt=FILLER))
    (source,) = open_index(tmp_path / "index").sources()
    old = msgspec.structs.replace(
        source, shard=msgspec.structs.replace(source.shard, location="nowhere/a.txt")
    )
    assert (
        absence(old) == f"No such file or directory, as seen from {Path.cwd()}: go where the index was built"
    )


@pytest.mark.parametrize(
    "texts", [{"a_txt": ""}, {"a_txt": "", "b_txt": STEM}, {"a_txt": "", "b_txt": "", "c_txt": STEM}]
)
def test_a_corpus_that_begins_with_an_empty_file_is_indexed(tmp_path: Path, texts: dict[str, str]) -> None:
    source = folder(tmp_path / "corpus", **texts)
    built(tmp_path / "index", source)
    assert len(list(open_index(tmp_path / "index").sources())) == len(texts)
    assert list(checked(tmp_path / "index")) == []
    assert verdict(by_index([choice()], tmp_path / "index")).verdict == ("drop" if len(texts) > 1 else "keep")


def test_an_index_inside_a_corpus_is_left_out_by_name(tmp_path: Path) -> None:
    source = folder(tmp_path / "corpus", a_txt=FILLER)
    built(tmp_path / "corpus/index", source)
    vetting = by_scan([choice()], source)
    assert verdict(vetting).verdict == "keep"
    assert vetting.corpora[0].unread_bytes == 0
    assert [(gap.where, gap.reason) for gap in vetting.corpora[0].unread] == [
        ("index/", "an index that lacre made")
    ]
    assert built(tmp_path / "corpus/index", source).same == 1
    (tmp_path / "corpus/index/manifest.json").unlink()
    (tmp_path / "corpus/index/building").mkdir()
    assert by_scan([choice()], source).corpora[0].documents == 1
    folder(tmp_path / "corpus/segments", b_txt=STEM)
    folder(tmp_path / "corpus", **{"manifest_json": "[]"})
    assert verdict(by_scan([choice()], source)).verdict == "drop"


def test_files_that_two_corpora_hold_are_counted(tmp_path: Path) -> None:
    whole = folder(tmp_path / "corpus", a_txt=FILLER)
    part = folder(tmp_path / "corpus/part", b_txt=STEM)
    assert built(tmp_path / "index", whole, part).shared == 1
    assert built(tmp_path / "other", whole).shared == 0
    assert built(tmp_path / "other", part).shared == 1


def test_the_words_of_the_index_choose_the_rarest_sentence(tmp_path: Path) -> None:
    # In general "jabuticaba" is rare and "pênalti" less so; in this text it is the other way round.
    fruit = "A jabuticaba caiu madura sobre o telhado quente da jabuticaba alheia."
    goal = "O pênalti entrou devagar no canto esquerdo daquele gol sem rede."
    items = [Candidate(id="q1", payload=Payload(kind="open", stem=f"{fruit} {goal}"))]
    source = folder(
        tmp_path / "corpus", a_txt="jabuticaba madura telhado alheia quente caiu sobre " * 400_000
    )
    built(tmp_path / "index", source, block=4 << 20)
    lookup = Lookup.open([tmp_path / "index"])
    from lacre.overlap.index import index_items  # noqa: PLC0415
    from lacre.vetting.presented import presented  # noqa: PLC0415

    chosen = [
        index_items(
            [presented(item) for item in items], min_words=5, min_bits=0, rare_min_words=8, rarity=rarity
        ).sentences[0]
        for rarity in (None, lookup.rarity)
    ]
    assert chosen[0] is not None
    assert chosen[1] is not None
    assert "jabuticaba" in chosen[0].folded
    assert "penalti" in chosen[1].folded


# Kills


@contextmanager
def dying(at: int, place: Path) -> Iterator[None]:
    """In a child: die, as of kill -9, at file operation number ``at`` of those below ``place``."""
    left = at

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if event not in ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir"):
            return
        if str(place) in str(arguments[0]):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    yield


def killed(at: int, place: Path, work: Callable[[], object]) -> bool:
    """Whether a child that does ``work`` was killed at that operation, rather than done before it."""
    child = os.fork()
    if child == 0:
        try:
            with dying(at, place):
                work()
        except BaseException:  # noqa: BLE001 - the child may not run the tests' own code
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL), "the work itself failed"
    return code != 0


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # fork beside threads: the child only writes files
def test_killed_anywhere_an_index_is_what_it_was_and_the_same_command_finishes_it(tmp_path: Path) -> None:
    one = folder(tmp_path / "one", **{f"a{k}_txt": f"{FILLER} {k}" for k in range(3)})
    other = folder(tmp_path / "other", b_txt=f"{FILLER} {STEM}", c_txt=LAW)
    place = tmp_path / "index"
    built(tmp_path / "start", one)
    built(tmp_path / "undisturbed", one)
    built(tmp_path / "undisturbed", other, segment=1)
    expected = files_of(tmp_path / "undisturbed")
    old = files_of(tmp_path / "start")
    at = 0
    while True:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(tmp_path / "start", place)
        if not killed(at, place, lambda: built(place, other, segment=1)):
            break
        manifest = read_manifest(place)
        now = files_of(place)
        if now[MANIFEST] == old[MANIFEST]:
            assert {name: now[name] for name in old} == old, f"operation {at}"
            assert [record.file for record in manifest.segments] == ["0001.seg"]
        else:
            assert now[MANIFEST] == expected[MANIFEST], f"operation {at}"
        assert list(checked(place)) == [], f"operation {at}"
        built(place, other, segment=1)
        assert files_of(place) == expected, f"operation {at}"
        at += 1
    assert at > 20
    assert files_of(place) == expected


def test_killed_while_it_reads_a_build_goes_on_without_reading_again_what_it_has(tmp_path: Path) -> None:
    chance = random.Random(2)
    source = folder(tmp_path / "corpus", **{f"f{k}_txt": " ".join(made_up(chance, 3_000)) for k in range(40)})
    place = tmp_path / "index"
    here, there = os.pipe()
    child = os.fork()
    if child == 0:

        def stopping(now: Building) -> None:
            if now.portions == 2:
                os.write(there, b"x")
                time.sleep(600)  # until it is killed, however late that is

        try:
            built(place, source, portion=1, on_progress=stopping)
        except BaseException:  # noqa: BLE001 - the child may not run the tests' own code
            os._exit(1)
        os._exit(0)
    os.close(there)
    assert os.read(here, 1) == b"x"
    os.close(here)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with pytest.raises(InputError, match="not finished"):
        open_index(place)
    built(place, source, portion=1)
    built(tmp_path / "undisturbed", source, portion=1)
    assert files_of(place) == files_of(tmp_path / "undisturbed")


def test_portions_that_are_done_are_not_read_again(tmp_path: Path) -> None:
    source = folder(tmp_path / "corpus", a_txt=FILLER * 300, b_txt=FILLER * 300, c_txt=FILLER * 300)
    place = tmp_path / "index"

    def interrupt(now: Building) -> None:
        if now.portions == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        built(place, source, portion=1, on_progress=interrupt)
    done = {path.name for path in (place / BUILDING).glob("*.portion")}
    assert len(done) >= 2
    seen: list[Building] = []
    built(place, source, portion=1, on_progress=seen.append)
    assert seen[-1].text <= 2 * len(FILLER.encode()) * 300
    assert seen[-1].portions == seen[-1].of_portions == 3
    built(tmp_path / "undisturbed", source)
    one, other = open_index(place), open_index(tmp_path / "undisturbed")
    assert one.words == other.words


def test_a_run_that_does_not_fit_in_memory_is_written_in_several(tmp_path: Path) -> None:
    chance = random.Random(3)
    items = made_items(chance, 6)
    source = corpus_of(chance, tmp_path / "corpus", items)
    built(tmp_path / "whole", source)
    built(tmp_path / "spilled", source, spill=500)
    whole, spilled = (open_index(tmp_path / name) for name in ("whole", "spilled"))
    values = [[v.tolist() for v in index.segments[0].packed.values()] for index in (whole, spilled)]
    assert values[0] == values[1]


# Faults


def test_two_builds_at_once_are_refused(tmp_path: Path) -> None:
    source = folder(tmp_path / "corpus", a_txt=FILLER)
    refused: list[str] = []

    def again(_: Building) -> None:
        try:
            built(tmp_path / "index", source)
        except InputError as error:
            refused.append(str(error))

    built(tmp_path / "index", source, on_progress=again)
    assert refused
    assert "another process is building" in refused[0]


def test_a_folder_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    source = folder(tmp_path / "corpus", a_txt=FILLER)
    with pytest.raises(InputError, match="holds something else"):
        built(Path(folder(tmp_path / "full", b_txt=FILLER)), source)
    with pytest.raises(InputError, match="is not a folder"):
        built(tmp_path / "full/b.txt", source)


def test_what_is_no_index_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no index here"):
        open_index(tmp_path)
    (tmp_path / MANIFEST).write_text("{", encoding="utf-8")
    with pytest.raises(IntegrityError, match=r"is damaged\. Build the index again"):
        open_index(tmp_path)
    (tmp_path / MANIFEST).write_text('{"format": "lacre-index-2"}, "segments": 3}', encoding="utf-8")
    with pytest.raises(IntegrityError, match=r"is damaged\. Build the index again"):
        open_index(tmp_path)


def test_an_index_of_another_version_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text('{"format": "lacre-index-1", "of": "old"}', encoding="utf-8")
    with pytest.raises(
        IntegrityError, match="'lacre-index-1', made by another version; this lacre reads 'lacre-index-2'"
    ):
        open_index(tmp_path)


def test_damage_is_found_and_named(tmp_path: Path) -> None:
    source = folder(tmp_path / "corpus", a_txt=FILLER * 20)
    place = tmp_path / "index"
    built(place, source)
    segment = place / SEGMENTS / "0001.seg"
    whole = segment.read_bytes()
    changed = bytearray(whole)
    changed[70] ^= 1
    segment.write_bytes(changed)
    assert "SHA-256" in next(checked(place))
    segment.write_bytes(whole[:-1])
    with pytest.raises(IntegrityError, match="damaged or cut short"):
        open_index(place)
    segment.write_bytes(whole.replace(b'"gram":8', b'"gram":9'))
    with pytest.raises(IntegrityError, match="made in another way"):
        open_index(place)
    segment.write_bytes(whole.replace(b'"compression"', b'"compressXon"'))
    with pytest.raises(
        IntegrityError, match="does not say what it holds: it is damaged, or of another version"
    ):
        open_index(place)
    segment.unlink()
    assert "cannot be read" in next(checked(place))


def test_a_manifest_that_promises_another_file_is_an_integrity_fault(tmp_path: Path) -> None:
    source = folder(tmp_path / "corpus", a_txt=FILLER * 20)
    place = tmp_path / "index"
    built(place, source)
    manifest = read_manifest(place)
    record = msgspec.structs.replace(manifest.segments[0], size=1)
    forged = Manifest(segments=(record,), corpora=manifest.corpora)
    (place / MANIFEST).write_bytes(msgspec.json.encode(forged))
    with pytest.raises(IntegrityError, match="not what the manifest says"):
        open_index(place)
    assert "not what the manifest says" in next(checked(place))


def test_options_and_asides_are_looked_up_too(tmp_path: Path) -> None:
    text = f"{FILLER} {' '.join(f'{letter}) {text}' for letter, text in OPTIONS.items())} {FILLER}"
    source = folder(tmp_path / "corpus", a_txt=text)
    built(tmp_path / "index", source)
    vetting = by_index([choice()], tmp_path / "index")
    assert "option:B" in vetting.findings[0].fields


# While writing


def test_only_items_that_are_new_or_changed_are_vetted_again(tmp_path: Path) -> None:
    source = folder(tmp_path / "corpus", a_txt=f"{FILLER} {STEM}")
    built(tmp_path / "index", source)
    desk = Desk(lookup=Lookup.open([tmp_path / "index"]), rules=RULES)
    desk.warm()
    other = choice(
        "q2", stem="Por que o relógio da torre da matriz bate treze vezes nas noites de lua cheia?"
    )
    assert [one.verdict.item for one in desk.renewed([choice(), other])] == ["q1", "q2"]
    assert desk.renewed([choice(), other]) == []
    changed = choice("q2", stem=STEM)
    assert [one.verdict.verdict for one in desk.renewed([changed])] == ["drop"]
    assert set(desk.known) == {"q2"}
    assert desk.renewed([]) == []
    assert answer(desk.vetted([changed])[0]).findings[0].corpus == source


def test_what_was_met_is_told_before_it_is_read_again(tmp_path: Path) -> None:
    source = folder(tmp_path / "corpus", a_txt=f"{FILLER} {STEM}", b_txt=FILLER)
    built(tmp_path / "index", source)
    told: list[tuple[list[str], int]] = []
    lookup = Lookup(
        indexes=Lookup.open([tmp_path / "index"]).indexes,
        on_met=lambda items, shards: told.append((list(items), shards)),
    )
    desk = Desk(lookup=lookup, rules=RULES)
    desk.vetted(
        [choice("a"), choice("b", stem="Outra pergunta que não está em parte alguma deste mundo tão vasto?")]
    )
    desk.vetted(
        [
            Candidate(
                id="c",
                payload=Payload(kind="open", stem="Nada disto está em lugar nenhum, nem aqui nem ali."),
            )
        ]
    )
    assert told[0][0] == ["a"]
    assert told[0][1] >= 1
    assert told[1] == ([], 0)


def test_the_state_of_a_file_changes_with_it(tmp_path: Path) -> None:
    path = tmp_path / "x"
    assert state(path) is None
    path.write_text("a", encoding="utf-8")
    before = state(path)
    assert before is not None
    path.write_text("ab", encoding="utf-8")
    assert state(path) != before


def test_an_interrupt_while_reading_again_ends_it(tmp_path: Path) -> None:
    source = folder(tmp_path / "corpus", a_txt=f"{FILLER} {STEM}")
    built(tmp_path / "index", source)

    def interrupt(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        by_index([choice()], tmp_path / "index", on_progress=interrupt)


def test_text_that_breaks_off_when_it_is_read_again_is_not_at_hand(tmp_path: Path) -> None:
    import gzip  # noqa: PLC0415

    (tmp_path / "corpus").mkdir()
    path = tmp_path / "corpus/a.txt.gz"
    path.write_bytes(gzip.compress((FILLER + STEM + " " + FILLER * 400).encode()))
    built(tmp_path / "index", str(tmp_path / "corpus"))
    status = path.stat()
    content = bytearray(path.read_bytes())
    content[30:] = bytes(len(content) - 30)
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    vetting = by_index([choice()], tmp_path / "index")
    assert verdict(vetting).verdict == "unknown"
    assert "source not at hand" in verdict(vetting).reasons[0]
