"""Audits of letter extraction: the draw can be repeated, checks are kept, the error rate is right."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacre.errors import InputError, RecordError
from lacre.registry.audits import (
    Audit,
    Check,
    Extraction,
    add_check,
    draw,
    read_audit,
    report,
    write_audit,
)
from lacre.scoring.estimates import Estimate, Interval, Undefined

LETTERS = tuple(
    Extraction(
        id="", column=f"c{n % 3}", item=f"q{n}", repetition=1, letter="B", rule="label", sha256="0" * 64
    )
    for n in range(250)
)


def check(id: str, right: str, who: str = "Ana") -> Check:
    return Check(extraction=id, right=right, who=who, when="2025-01-01T00:00:00Z")


def checked(audit: Audit, *checks: Check) -> Audit:
    for each in checks:
        audit = add_check(audit, each)
    return audit


def test_a_hundred_are_drawn_in_the_order_of_a_hash_that_anybody_can_compute() -> None:
    audit = draw(LETTERS, seed=7, source="s")
    ranked = sorted(
        LETTERS,
        key=lambda e: hashlib.sha256(f"LACRE-AUDIT-v1\0{7}\0{e.column}\0{e.item}\0{1}".encode()).digest(),
    )
    assert [each.item for each in audit.extractions] == [each.item for each in ranked[:100]]
    assert (audit.extractions[0].id, audit.extractions[-1].id) == ("x001", "x100")
    assert audit.drawing.population == 250


@given(st.permutations(LETTERS[:40]), st.integers(0, 5))
def test_the_order_of_the_letters_does_not_matter(letters: list[Extraction], seed: int) -> None:
    assert draw(letters, seed=seed, source="s", size=10) == draw(LETTERS[:40], seed=seed, source="s", size=10)


def test_another_seed_draws_others_and_few_letters_are_all_drawn() -> None:
    first, second = (draw(LETTERS, seed=seed, source="s").extractions for seed in (1, 2))
    assert {each.item for each in first} != {each.item for each in second}
    assert len(draw(LETTERS[:5], seed=1, source="s").extractions) == 5


def test_no_letters_and_no_size_are_refused() -> None:
    with pytest.raises(InputError, match="no letter"):
        draw((), seed=1, source="s")
    with pytest.raises(InputError, match="below 1"):
        draw(LETTERS, seed=1, source="s", size=0)


def test_an_audit_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    audit = checked(draw(LETTERS, seed=1, source="s", size=3), check("x1", "B"), check("x2", "none"))
    write_audit(tmp_path / "a.jsonl", audit)
    assert read_audit(tmp_path / "a.jsonl") == audit


DAMAGED = {
    "no drawing": (lambda lines: lines[1:], InputError, "is no audit"),
    "no extraction": (lambda lines: lines[:1], InputError, "is no audit"),
    "not JSON": (lambda lines: [*lines, b"{"], RecordError, ":5:"),
    "twice": (lambda lines: [*lines, lines[1]], RecordError, "there twice"),
    "a check of nothing": (
        lambda lines: [*lines, b'{"record":"check","extraction":"x9","right":"B","who":"Ana","when":""}'],
        RecordError,
        "'x9' was not drawn",
    ),
}


@pytest.mark.parametrize(("damage", "error", "what"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_audit_is_refused(tmp_path: Path, damage, error, what) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "a.jsonl"
    write_audit(path, draw(LETTERS, seed=1, source="s", size=3))
    path.write_bytes(b"\n".join(damage(path.read_bytes().splitlines())))
    with pytest.raises(error, match=what):
        read_audit(path)


REFUSED = {
    "no such extraction": (check("x9", "B"), "was not drawn"),
    "no letter": (check("x1", "BB"), "is no letter"),
    "small letter": (check("x1", "b"), "is no letter"),
    "no option": (check("x1", "Q"), "no option of the item"),
    "no name": (check("x1", "B", who=" "), "no name"),
}


@pytest.mark.parametrize(("wrong", "what"), REFUSED.values(), ids=REFUSED)
def test_a_check_that_says_nothing_is_refused(wrong: Check, what: str) -> None:
    with pytest.raises(InputError, match=what):
        add_check(draw(LETTERS, seed=1, source="s", size=3), wrong, letters=("A", "B"))


def test_the_error_rate_is_over_what_is_settled_with_both_intervals() -> None:
    audit = draw(LETTERS, seed=1, source="s", size=20)
    said = [check(each.id, "B") for each in audit.extractions]
    said[3] = check(audit.extractions[3].id, "C")
    found = report(checked(audit, *said))
    assert found.complete
    assert isinstance(found.error, Estimate)
    assert isinstance(found.exact, Estimate)
    assert (found.error.value, found.error.n) == (0.05, 20)
    # Wilson and Clopper-Pearson for 1 of 20: R, binom::binom.confint(1, 20, methods = c("wilson", "exact")).
    for estimate, lo, hi in ((found.error, 0.00888, 0.23613), (found.exact, 0.00127, 0.24873)):
        assert isinstance(estimate.interval, Interval)
        assert (estimate.interval.lo, estimate.interval.hi) == pytest.approx((lo, hi), abs=2e-5)
    assert [(each.extraction, each.letter, each.right) for each in found.wrong] == [("x04", "B", "C")]
    assert found.rules == {"label": (20, 1)}


def test_without_checks_the_rate_is_undefined_and_all_is_open() -> None:
    found = report(draw(LETTERS, seed=1, source="s", size=3))
    assert isinstance(found.error, Undefined)
    assert found.unchecked == ("x1", "x2", "x3")
    assert not found.complete


def test_no_letter_where_the_rule_read_one_is_an_error() -> None:
    found = report(checked(draw(LETTERS, seed=1, source="s", size=1), check("x1", "none")))
    assert len(found.wrong) == 1


def test_people_who_differ_leave_it_open_until_a_third_settles_it() -> None:
    audit = checked(draw(LETTERS, seed=1, source="s", size=1), check("x1", "B"), check("x1", "C", who="Bia"))
    assert report(audit).disputed == ("x1",)
    assert report(audit).settled == 0
    settled = report(checked(audit, check("x1", "B", who="Caio")))
    assert settled.disputed == ()
    assert settled.wrong == ()
    assert settled.readers == {"Ana": 1, "Bia": 1, "Caio": 1}


def test_a_later_check_of_a_person_takes_the_place_of_the_earlier_one() -> None:
    audit = checked(draw(LETTERS, seed=1, source="s", size=1), check("x1", "C"), check("x1", "B"))
    assert report(audit).wrong == ()
    assert len(audit.checks) == 2
    assert audit.unchecked("Ana") == ()
    assert len(audit.unchecked("Bia")) == 1
