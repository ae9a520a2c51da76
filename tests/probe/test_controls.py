"""Controls: which texts may be some, and how they are matched (SPEC X6)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.probe.texts import ALL, LIGHTHOUSE, TRAM

from lacre.probe.controls import Subject, fresh, matched


def subject(id: str, text: str, role: str = "control") -> Subject:
    return Subject(id=id, role=role, text=text)


def test_an_item_in_new_clothes_is_no_control_and_a_shared_sentence_does_not_make_it_one() -> None:
    item = subject("i", LIGHTHOUSE, "item")
    sentence = LIGHTHOUSE.split(". ")[0]
    pool = [
        subject("accents", LIGHTHOUSE.upper().replace("Ã", "A")),
        subject("longer", LIGHTHOUSE + " Comente."),
        subject("quotes", sentence + ". " + TRAM),
    ]
    found = fresh(pool, [item])
    assert ([each.id for each in found.controls], found.of_items, found.twins) == (["quotes"], 2, 0)


def test_texts_too_short_for_a_run_are_twins_only_where_they_are_the_same() -> None:
    pool = [subject("a", "Por quê?"), subject("b", "por que"), subject("c", "Por que não?")]
    found = fresh(pool, [subject("i", "Por quê?", "item")])
    assert ([each.id for each in found.controls], found.of_items, found.twins) == (["a", "c"], 0, 1)


@given(st.permutations(sorted(ALL)))
def test_the_order_of_a_pool_changes_nothing(order: list[str]) -> None:
    items = [subject("i", LIGHTHOUSE, "item")]
    pool = [subject(id, ALL[id]) for id in order]
    assert fresh(pool, items) == fresh(pool[::-1], items)
    kept = fresh(pool, items).controls
    assert matched(items, kept, 2) == matched(items, kept[::-1], 2)
