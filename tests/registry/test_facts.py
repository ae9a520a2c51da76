"""No fact about an exam or a corpus without its source and date (SPEC L5, L6)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from lacre.registry.corpora import Corpus, Fact, corpus_faults
from lacre.registry.exams import Exam, exam_faults, is_dated

EXAM: dict[str, Any] = {
    "id": "e",
    "name": "Prova",
    "edition": "2024",
    "exam_date": "2024-11",
    "exam_precision": "month",
    "booklet_url": "https://example.org/b.pdf",
    "source_url": "https://example.org",
    "source_date": "2025-01-02",
}


def exam(**changes: Any) -> Exam:
    return msgspec.convert(EXAM | changes, Exam)


@pytest.mark.parametrize(
    ("text", "precision", "dated"),
    [
        ("2024-02-29", "day", True),
        ("2023-02-29", "day", False),
        ("2024-11", "month", True),
        ("2024-13", "month", False),
        ("2024", "year", True),
        ("2024", "day", False),
        ("2024-11-03", "year", False),
        ("20241103", "day", False),
        ("0000", "year", False),
    ],
)
def test_a_date_is_written_as_precisely_as_it_is_known(text: str, precision: Any, dated: bool) -> None:
    assert is_dated(text, precision) is dated


def test_good_exams_have_no_fault() -> None:
    assert exam_faults([(1, exam()), (2, exam(id="f", key_date="2024", key_precision="year"))]) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"exam_date": "2024-11-03"}, "exam_date '2024-11-03' is not a date with the precision of a month"),
        ({"key_date": "2024"}, "key_date and key_precision go together"),
        ({"key_date": "soon", "key_precision": "day"}, "key_date 'soon' is not a date"),
        ({"source_date": "2025"}, "source_date '2025' is not a date with the precision of a day"),
        ({"booklet_sha256": "A" * 64}, "booklet_sha256 is not 64 lower-case hex digits"),
        ({"booklet_url": "b.pdf"}, "booklet_url is not a web address"),
        ({"source_url": ""}, "source_url is not a web address"),
    ],
)
def test_a_fault_of_an_exam_says_what_to_do(changes: dict[str, Any], said: str) -> None:
    (fault,) = exam_faults([(5, exam(**changes))])
    assert fault.line == 5
    assert said in fault.what
    assert fault.todo


def test_two_exams_with_one_id_are_refused() -> None:
    (fault,) = exam_faults([(1, exam()), (2, exam())])
    assert fault.what == "exam 'e' is already on line 1"


FACT = Fact(source="https://example.org/card", confidence="high", value="7")


def test_good_corpora_have_no_fault() -> None:
    assert (
        corpus_faults([(1, Corpus(id="c", location="https://example.org/c", facts={"documents": FACT}))])
        == []
    )


@pytest.mark.parametrize(
    ("corpus", "said"),
    [
        (Corpus(id="c", location=" "), "has no location"),
        (Corpus(id="c", location="x", size=-1), "has a negative size"),
        (
            Corpus(id="c", location="x", facts={"n": msgspec.structs.replace(FACT, source="")}),
            "fact 'n' of corpus 'c' has no source",
        ),
    ],
)
def test_a_fault_of_a_corpus_says_what_to_do(corpus: Corpus, said: str) -> None:
    (fault,) = corpus_faults([(3, corpus)])
    assert (fault.line, said in fault.what) == (3, True)
    assert fault.todo


def test_two_corpora_with_one_id_are_refused() -> None:
    corpus = Corpus(id="c", location="x")
    (fault,) = corpus_faults([(1, corpus), (2, corpus)])
    assert fault.what == "corpus 'c' is already on line 1"
