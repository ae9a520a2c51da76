"""Scans: the order of work does not show, a fault stops all, what was not read is counted."""

from __future__ import annotations

import gzip
import json
import random
import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.vetting.making import FILLER, RULES, STEM, choice, folder, ruled, verdict, vet

from lacre.errors import InputError
from lacre.vetting.progress import Progress
from lacre.vetting.readings import NAMED
from lacre.vetting.scan import listings
from lacre.vetting.vet import vet as vetted


class Backwards(Executor):
    """An executor that does its work in the reverse order, in one thread."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Future[Any], Any, tuple[Any, ...]]] = []
        self.lock = threading.Lock()

    def submit(self, fn: Any, /, *args: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        with self.lock:
            self.waiting.append((future, fn, args))
        if len(self.waiting) == 12:
            threading.Thread(target=self.work).start()
        return future

    def work(self) -> None:
        for future, fn, args in reversed(self.waiting):
            future.set_result(fn(*args))


@pytest.fixture
def many(tmp_path: Path) -> str:
    """Twelve files, in each of which the item leaks, and where something cannot be read."""
    for number in range(12):
        pages = [{"id": f"p{k}", "text": FILLER * k + STEM} for k in range(number % 4 + 1)]
        text = "".join(json.dumps(page) + "\n" for page in pages) + '{"text": \n'
        folder(tmp_path / "c", **{f"f{number:02}_jsonl": text})
    return str(tmp_path / "c")


def test_the_order_of_work_and_the_number_of_threads_do_not_show(many: str) -> None:
    alone = vet([choice()], many, workers=1)
    for executor in (ThreadPoolExecutor(7), Backwards()):
        other = vetted([choice()], [many], RULES, executor=executor)
        assert other.findings == alone.findings
        assert other.verdicts == alone.verdicts
        assert other.corpora == alone.corpora


def test_the_order_of_the_items_does_not_show(many: str) -> None:
    items = [choice(id=f"q{number}", stem=STEM if number % 2 else FILLER) for number in range(6)]
    forth, back = vet(items, many), vet(items[::-1], many)
    assert (forth.verdicts, forth.findings) == (back.verdicts, back.findings)


def test_a_fault_in_one_shard_stops_the_others_and_is_raised(tmp_path: Path) -> None:
    source = folder(tmp_path / "c", a_jsonl='{"text": "um"}\n', b_jsonl='{"text": "dois"}\n')
    items = [choice()]

    def spoil() -> None:
        (tmp_path / "c" / "b.jsonl").write_text('{"corpo": 1}\n')

    with ThreadPoolExecutor(1) as executor, pytest.raises(InputError, match=r"b\.jsonl"):
        vetted(items, [source], RULES, executor=executor, on_index=spoil)


def test_a_corpus_that_goes_away_while_it_is_read_is_unknown_and_named(tmp_path: Path) -> None:
    source = folder(tmp_path / "c", a_txt=FILLER, b_txt=FILLER)
    with ThreadPoolExecutor(1) as executor:
        found = vetted(
            [choice()], [source], RULES, executor=executor, on_index=(tmp_path / "c" / "b.txt").unlink
        )
    assert verdict(found).verdict == "unknown"
    assert found.corpora[0].incomplete == ("b.txt",)
    assert "b.txt was not read to its end" in verdict(found).reasons[0]


def test_bytes_and_documents_are_those_of_the_corpus(tmp_path: Path) -> None:
    texts = [FILLER, "", STEM]
    text = "".join(json.dumps({"text": part}) + "\n" for part in texts) + '{"text": null}\n'
    (reading,) = vet([choice()], folder(tmp_path / "c", a_jsonl=text)).corpora
    assert (reading.shards, reading.documents, reading.nulls) == (1, 4, 1)
    assert reading.bytes == sum(len(part.encode()) for part in texts)
    assert (reading.unread_bytes, reading.unread_share) == (0, 0.0)


def test_an_empty_text_counts_no_bytes(tmp_path: Path) -> None:
    (reading,) = vet([choice()], folder(tmp_path / "c", a_txt="")).corpora
    assert reading.bytes == 0


def test_unread_places_past_the_named_ones_are_counted(tmp_path: Path) -> None:
    text = ("{bad\n" + json.dumps({"text": FILLER}) + "\n") * (NAMED + 50)
    (reading,) = vet([choice()], folder(tmp_path / "c", a_jsonl=text)).corpora
    assert len(reading.unread) == NAMED
    assert reading.unread_places == NAMED + 50
    assert reading.unread_bytes > sum(gap.bytes for gap in reading.unread)


@pytest.mark.parametrize(("allowed", "expected"), [(0.5, "keep"), (0.001, "unknown")])
def test_garbled_text_above_the_share_allowed_makes_unknown_below_it_stands_beside(
    tmp_path: Path, allowed: float, expected: str
) -> None:
    garbled = "\x03\x11\x02\x1d\x07\x0e " * 400
    source = folder(tmp_path / "c", a_txt=FILLER * 200 + garbled)
    found = vet([choice()], source, rules=ruled(max_unread=allowed))
    assert verdict(found).verdict == expected
    assert "garbled" in found.corpora[0].unread[0].reason
    assert 0.001 < found.corpora[0].unread_share < 0.5


@pytest.mark.parametrize("name", ["c", "c/", "./c", "c/../c"])
def test_a_corpus_named_twice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    folder(tmp_path / "c", a_txt=FILLER)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="named twice"):
        listings(["c", name], None)


def test_corpora_that_overlap_are_both_read_and_the_second_says_so(tmp_path: Path) -> None:
    source = folder(tmp_path / "c", a_txt=FILLER + STEM, b_txt=FILLER)
    found = vet([choice()], source, f"{source}/a.txt")
    assert [reading.documents for reading in found.corpora] == [2, 1]
    assert [gap.reason for gap in found.corpora[1].unread] == [f"read for {source} too"]
    assert found.corpora[1].unread_bytes == 0
    assert {finding.corpus for finding in found.findings} == {source, f"{source}/a.txt"}


def test_the_items_and_what_was_written_about_them_are_no_corpus(tmp_path: Path) -> None:
    source = folder(tmp_path / "c", a_txt=FILLER, items_csv=f"id,text\nq1,{STEM}\n")
    folder(tmp_path / "c" / "out", vetting_html=STEM)
    apart = [tmp_path / "c" / "items.csv", tmp_path / "c" / "out"]
    found = vet([choice()], source, apart=apart)
    assert verdict(found).verdict == "keep"
    assert [gap.where for gap in found.corpora[0].unread] == ["items.csv", "out/vetting.html"]
    with pytest.raises(InputError, match="nothing but the items"):
        vet([choice()], f"{source}/items.csv", apart=apart)


def test_progress_rises_to_all_of_it(many: str) -> None:
    seen: list[Progress] = []
    with ThreadPoolExecutor(2) as executor:
        vetted([choice()], [many], RULES, executor=executor, on_progress=seen.append)
    shares = [progress.share for progress in seen]
    assert all(0 <= share <= 1 for share in shares)
    assert (seen[-1].share, seen[-1].shards, seen[-1].of_shards) == (1.0, 12, 12)
    assert [p.text for p in seen] == sorted(p.text for p in seen)


def test_a_broken_end_is_named_however_much_else_is_bad(tmp_path: Path) -> None:
    text = "{bad\n" * (NAMED + 50) + json.dumps({"text": FILLER}) + "\n"
    packed = gzip.compress(text.encode() + random.Random(1).randbytes(4000).hex().encode() * 9)
    (reading,) = vet([choice()], folder(tmp_path / "c", **{"a.jsonl_gz": packed[:-900]})).corpora
    assert reading.incomplete == ("a.jsonl.gz",)
    assert any(gap.incomplete for gap in reading.unread)
    assert len(reading.unread) == NAMED


def test_one_file_without_a_text_column_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Um texto qualquer sobre canoas e pescaria no litoral.")
    (tmp_path / "b.jsonl").write_text('{"messages": [{"content": "Outro texto"}]}\n')
    (listing,) = listings([str(tmp_path)], None)
    assert [shard.path for shard in listing.shards] == ["a.txt"]
    (gap,) = listing.left_out
    assert gap.where == "b.jsonl"
    assert gap.incomplete


def test_a_column_that_no_file_has_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Um texto qualquer sobre canoas e pescaria no litoral.")
    (tmp_path / "b.jsonl").write_text('{"text": "Outro texto"}\n')
    with pytest.raises(InputError, match="no column 'corpo'"):
        listings([str(tmp_path)], "corpo")


def test_what_an_earlier_vetting_wrote_is_no_corpus(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / "verdicts.jsonl").write_text('{"item":"a","verdict":"drop"}\n')
    (old / "findings.jsonl").write_text('{"item":"a","check":"overlap"}\n')
    (old / "vetting.html").write_text('<!doctype html>\n<meta name="generator" content="lacre">')
    (old / "decisions.csv").write_text("item;decision\n")
    (tmp_path / "findings.jsonl").write_text('{"text": "notas de campo"}\n')
    (listing,) = listings([str(tmp_path)], None)
    assert [shard.path for shard in listing.shards] == ["findings.jsonl"]
    assert len(listing.left_out) == 4
