"""Days from a key's publication to a run, as precise as the dates are (SPEC L5, L6)."""

from __future__ import annotations

import pytest
from tests.engine.making import card

from lacre.probe.freshness import Asking, Days, asking, days_between, freshness
from lacre.registry.columns import Cutoff
from lacre.registry.exams import Exam
from lacre.registry.items import Item, Payload, Source
from lacre.scoring.estimates import Undefined


def exam(id: str, date: str, key: str | None) -> Exam:
    precision = {4: "year", 7: "month", 10: "day"}
    return Exam(
        id=id,
        name="Exame",
        edition=id,
        exam_date=date,
        exam_precision=precision[len(date)],  # type: ignore[arg-type]
        booklet_url="https://example.org",
        source_url="https://example.org",
        source_date="2026-01-01",
        key_date=key,
        key_precision=precision[len(key)] if key else None,  # type: ignore[arg-type]
    )


def item(id: str, exam: str | None) -> Item:
    payload = Payload(kind="open", stem="Por quê?")
    return Item(id=id, benchmark="b", layer="official", cell={}, payload=payload, source=Source(exam=exam))


@pytest.mark.parametrize(
    ("key", "first", "last", "days"),
    [
        ("2026-03-01", "2026-03-31", "2026-03-31", Days(least=30, most=30)),
        ("2026-03-01", "2026-03-31", "2026-04-02", Days(least=30, most=32)),
        ("2026-03", "2026-04-30", "2026-04-30", Days(least=30, most=60)),
        ("2025", "2026-01-01", "2026-01-01", Days(least=1, most=365)),
        ("2026-03-31", "2026-03-01", "2026-03-01", Days(least=-30, most=-30)),
    ],
)
def test_days_are_a_span_where_a_date_is(key: str, first: str, last: str, days: Days) -> None:
    assert days_between(key, first, last) == days


def test_the_latest_exam_comes_first_and_every_column_has_its_row() -> None:
    exams = {
        each.id: each for each in (exam("velho", "2020-11", "2021-01-10"), exam("novo", "2025-11-09", None))
    }
    items = [item("a", "velho"), item("b", "novo"), item("c", "novo"), item("d", None), item("e", "outro")]
    askings = [
        Asking(column="m", first="2026-01-10", last="2026-01-11", cutoff="2024-06"),
        Asking(column="n", first="2026-02-01", last="2026-02-01"),
    ]
    found = freshness(items, exams, askings)
    assert [(row.exam, row.column, row.items, row.side) for row in found.rows] == [
        ("novo", "m", 2, "after"),
        ("novo", "n", 2, "unknown"),
        ("velho", "m", 1, "before"),
        ("velho", "n", 1, "unknown"),
    ]
    assert found.without_exam == 2
    assert isinstance(found.rows[0].days, Undefined)
    assert "final key" in found.rows[0].days.reason
    assert str(found.rows[2].days) == "1,826 to 1,827"


def test_when_a_column_was_asked_comes_from_its_replies() -> None:
    cutoff = Cutoff(value="2025", precision="year", source="https://example.org", read="2026-01-01")
    whens = ["2026-03-02T00:00:01.000+00:00", "2026-03-01T23:59:59.000+00:00"]
    found = asking(card("http://127.0.0.1:1/v1", cutoff=cutoff), whens)
    assert found == Asking(column="openai", first="2026-03-01", last="2026-03-02", cutoff="2025")
    assert asking(card("http://127.0.0.1:1/v1"), []) is None
