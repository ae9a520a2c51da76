"""The files of a probe: marks and folders (SPEC L8)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.probe.making import probe_of
from tests.probe.texts import ALL

from lacre.errors import InputError, RecordError
from lacre.probe.findings import Shares
from lacre.probe.folders import FILE, ProbeFolder, questions_of
from lacre.registry.seen import Mark, held, read_marks, write_marks
from lacre.report.probe_plots import probe_plot


def test_marks_come_back_as_they_were_written_sorted(tmp_path: Path) -> None:
    marks = [
        Mark(
            column="m",
            item="b",
            verdict="seen",
            run=9,
            share=0.75,
            judged=12,
            cuts=(50,),
            cuts_judged=(40, 50),
        ),
        Mark(column="m", item="a", verdict="not_probed", reason="refused"),
    ]
    path = tmp_path / "marks.jsonl"
    write_marks(path, marks)
    assert list(read_marks([path])) == [("m", "a"), ("m", "b")]
    assert list(read_marks([path]).values()) == marks[::-1]
    write_marks(tmp_path / "again.jsonl", marks[::-1])
    assert (tmp_path / "again.jsonl").read_bytes() == path.read_bytes()


def test_marks_are_held_against_the_texts_of_today() -> None:
    marks = {
        ("m", id): Mark(column="m", item=id, verdict="seen", payload_sha256=digest)
        for id, digest in (("same", "1"), ("edited", "2"), ("gone", "3"), ("old", ""), ("twin", "4"))
    }
    found = held(marks, {"same": ["1"], "edited": ["9"], "old": ["5"], "twin": ["0", "4"]})
    assert sorted(item for _, item in found.verdicts) == ["gone", "old", "same", "twin"]
    assert (found.other_texts, found.unchecked) == ((("m", "edited"),), 2)


def test_two_marks_for_one_item_and_lines_that_are_none_are_all_named(tmp_path: Path) -> None:
    path = tmp_path / "marks.jsonl"
    good = '{"column":"m","item":"a","verdict":"seen"}\n'
    path.write_text(good + "nothing\n" + good, encoding="utf-8")
    with pytest.raises(RecordError) as error:
        read_marks([path])
    assert "marks.jsonl:2" in str(error.value)
    path.write_text(good + good, encoding="utf-8")
    with pytest.raises(RecordError, match="a mark for item 'a' already"):
        read_marks([path])


def test_marks_that_cannot_be_written_say_so(tmp_path: Path) -> None:
    (tmp_path / "marks.jsonl").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_marks(tmp_path / "marks.jsonl", [])


def test_a_folder_that_is_no_probe_or_is_damaged_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not the folder of a probe"):
        ProbeFolder.open(tmp_path)
    (tmp_path / FILE).write_text("{}", encoding="utf-8")
    (tmp_path / "run.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="is damaged"):
        ProbeFolder.open(tmp_path).probe()
    (tmp_path / "taken").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        ProbeFolder.open(tmp_path).write("taken", {})


def test_the_questions_of_a_probe_are_its_prompts() -> None:
    questions = questions_of(probe_of(ALL))
    assert len(questions) == 2 * len(ALL)
    assert questions[0].id == "item/bonde/exam-50"
    assert questions[1].payload.stem.startswith("Continue o texto abaixo.\n\n")


def test_the_figure_has_the_same_bytes_each_time_and_stands_without_a_threshold() -> None:
    full = Shares(column="m$1", items=(0.0, 0.9, 1.0), controls=(0.1, 0.0), famous=(1.0,), threshold=0.5)
    none = Shares(column="n", items=(), controls=(), famous=(), threshold=None)
    drawn = probe_plot([full, none])
    assert drawn == probe_plot([full, none])
    assert drawn.startswith(b"<?xml")
    assert b"share of telling words reproduced" in drawn
    assert probe_plot([]).startswith(b"<?xml")
