"""Items shown to columns more often than the rules allow open at the next closing, and the audit sees to it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rotation.making import CELLS, Stage, items, stage
from tests.rotation.test_audit import said, with_freeze
from tests.sealing.making import private

from lacre.registry import ledger as ledgers
from lacre.registry.events import Event, Exposure, RunIntent, Supersede
from lacre.registry.matrix import Matrix, read_matrix
from lacre.rotation.beacon import instant
from lacre.rotation.exposure import exposures, must_open, over_exposed, showings
from lacre.rotation.history import Entry, History
from lacre.rotation.plan import plan
from lacre.rotation.public import ledger_path


def event(run: str, column: str, *shown: str) -> Exposure:
    return Exposure(benchmark="exemplo", run=run, column=column, items=shown, terms="30 days")


def intent(run: str, column: str) -> RunIntent:
    return RunIntent(benchmark="exemplo", run=run, column=column, items=1, root="0" * 64, templates="0" * 64)


def told(*events: Exposure, begun: bool = True) -> History:
    """A history of showings; their runs began, each once, unless said otherwise."""
    known = History("exemplo")
    if begun:
        names = dict.fromkeys(each.run for each in events)
        known.intents = [Entry(n - len(names), "", intent(run, "alfa")) for n, run in enumerate(names)]
    known.exposures = [Entry(n, f"2026-01-{n:02d}T00:00:00Z", each) for n, each in enumerate(events, 1)]
    return known


@pytest.fixture
def play(tmp_path: Path) -> Stage:
    """Eight items, and a cap of two showings."""
    play = stage(tmp_path)
    play.add(items(8), "b1")
    rounds = msgspec.structs.replace(play.rules.rounds, exposure_cap=2)
    play.rules = msgspec.structs.replace(play.rules, rounds=rounds)
    return play


def show(play: Stage, *events: Exposure) -> None:
    """Log showings; the first of a run comes after its intent."""
    begun = {run.event.run for run in play.public.history.intents}
    lines: list[Event] = []
    for each in events:
        if each.run not in begun:
            lines.append(intent(each.run, each.column))
        begun.add(each.run)
        lines.append(each)
    ledgers.append(ledger_path(play.registry), lines, at=instant(play.now), signer=play.key)


def matrix(play: Stage) -> Matrix:
    return read_matrix(play.registry / "exemplo/matrix.toml")


def test_a_run_that_was_resumed_shows_an_item_once() -> None:
    known = told(event("r1", "alfa", "p1", "p2"), event("r1", "alfa", "p1"), event("r2", "alfa", "p1"))
    found = exposures(known, 1)
    assert [(each.item, each.times) for each in found.items] == [("p1", 2), ("p2", 1)]
    (first, _) = found.seen
    assert (first.first, first.last, first.runs) == (
        "2026-01-01T00:00:00Z",
        "2026-01-03T00:00:00Z",
        ("r1", "r2"),
    )
    assert found.over == ("p1",)


def test_a_run_is_told_by_its_intent_and_not_by_its_name() -> None:
    known = told(*[event("r1", "alfa", "p1")] * 4, begun=False)
    assert [each.times for each in exposures(known, 3).items] == [4]
    known.intents = [Entry(0, "", intent("r1", "alfa")), Entry(3, "", intent("r1", "alfa"))]
    assert [each.times for each in exposures(known, 3).items] == [2]


def test_a_name_used_again_and_showings_of_runs_that_never_began_are_named(play: Stage) -> None:
    path, at = ledger_path(play.registry), instant(play.now)
    ledgers.append(path, event("r0", "alfa", "p0001"), at=at, signer=play.key)
    show(play, event("r1", "alfa", "p0003"), event("r1", "beta", "p0003"))
    ledgers.append(path, intent("r1", "alfa"), at=at, signer=play.key)
    found = said(play.audit())
    assert "line 4: shows items in run 'r0' of column 'alfa', which no line before it begins" in found
    assert "line 7: shows items in run 'r1' of column 'beta', which no line before it begins" in found
    assert "line 8: run 'r1' begins a second time" in found


def test_a_correction_was_shown_as_often_as_what_it_corrects() -> None:
    known = told(event("r1", "alfa", "p1"), event("r2", "alfa", "p1b"), event("r3", "beta", "p1c"))
    for line, old, new in ((2, "p1", "p1b"), (3, "p1b", "p1c")):
        fixed = Supersede(
            benchmark="exemplo", item=old, commitment="0" * 64, by=new, by_commitment="1" * 64, reason="x"
        )
        known.supersedes[old] = known.corrections[new] = Entry(line, "2026-01-09T00:00:00Z", fixed)
    assert {item: len(shown) for item, shown in showings(known).items()} == {"p1": 1, "p1b": 2, "p1c": 3}
    assert must_open(known, 2) == ("p1c",)
    assert over_exposed(known, 0) == ()
    circle = msgspec.structs.replace(known.corrections["p1b"].event, item="p1c", by="p1")
    known.corrections["p1"] = Entry(4, "2026-01-09T00:00:00Z", circle)
    assert len(showings(known)["p1"]) == 3


@given(
    lines=st.lists(
        st.tuples(
            st.sampled_from(["r1", "r2", "r3"]), st.sampled_from("ab"), st.sets(st.sampled_from("xyz"))
        ),
        max_size=8,
    ),
    cap=st.integers(1, 4),
)
def test_the_figures_are_those_of_counting_by_hand(lines: list[tuple[str, str, set[str]]], cap: int) -> None:
    known = told(*(event(run, column, *sorted(shown)) for run, column, shown in lines))
    found = exposures(known, cap)
    once = {(run, column, item) for run, column, shown in lines for item in shown}
    assert {each.item: each.times for each in found.items} == {
        item: sum(i == item for *_, i in once) for item in {i for *_, i in once}
    }
    assert sum(each.times for each in found.columns) == sum(each.times for each in found.seen) == len(once)
    assert set(found.over) == {each.item for each in found.items if each.times > cap}
    before = len(lines) // 2 + 1
    assert (
        over_exposed(known, cap, before=before)
        == exposures(told(*(entry.event for entry in known.exposures[: before - 1])), cap).over
    )


def test_what_is_over_the_cap_opens_at_the_next_closing_for_exposure(play: Stage) -> None:
    for run in ("r1", "r2", "r3"):
        show(play, event(run, "alfa", "p0003", "p0004"))
    show(play, event("r4", "beta", "p0000"))
    before = plan(play.public, play.rules, matrix(play), None)
    frozen = play.freeze(forced={"p0004": "leak"})
    assert {item.id: item.must for item in frozen.items if item.must} == {
        "p0003": "exposure",
        "p0004": "leak",
    }
    assert frozen.exposure_cap == 2
    after = plan(play.public, play.rules, matrix(play), frozen)
    forced = [(cell.cell, cell.forced) for cell in after.cells]
    assert forced == [(cell.cell, cell.forced) for cell in before.cells]
    assert sum(number for _, number in forced) == 2
    record = play.close()
    assert record.forced == {"exposure": 1, "leak": 1}
    assert {o.id: o.why for o in play.public.openings(1)}["p0003"] == "exposure"
    assert play.audit().findings == ()
    assert must_open(play.public.history, 2) == ()


def test_an_insider_who_keeps_an_over_exposed_item_back_is_named(play: Stage) -> None:
    for run in ("r1", "r2", "r3"):
        show(play, event(run, "alfa", "p0003"))
    frozen = play.freeze()
    with_freeze(
        play,
        1,
        lambda f: msgspec.structs.replace(
            f, items=tuple(msgspec.structs.replace(item, must=None) for item in frozen.items)
        ),
    )
    assert "item 'p0003' was shown to columns more than 2 times by then, and need not open" in said(
        play.audit()
    )


def test_a_cap_that_is_not_the_rules_is_named(play: Stage) -> None:
    play.freeze()
    with_freeze(play, 1, lambda f: msgspec.structs.replace(f, exposure_cap=0, age_cap=9))
    found = said(play.audit())
    assert "its exposure cap is 0; the rules say 2, and have not changed since" in found
    assert "its age cap is 9; the rules say 3, and have not changed since" in found


def test_showings_after_the_freeze_count_for_the_next_one(play: Stage) -> None:
    play.freeze()
    for run in ("r1", "r2", "r3"):
        show(play, event(run, "alfa", *(f"p{n:04d}" for n in range(8))))
    assert play.audit().findings == ()
    play.close()
    assert play.audit().findings == ()
    left = {row.id for row in play.public.private}
    frozen = play.freeze()
    assert {item.id for item in frozen.items if item.must == "exposure"} == left


def test_an_item_that_nobody_sealed_cannot_have_been_shown(play: Stage) -> None:
    show(play, event("r1", "alfa", "p0003", "nobody"))
    assert "line 5: item 'nobody' was shown to a column, and has no row" in said(play.audit())


def test_a_corrected_item_carries_its_showings_into_the_freeze(play: Stage) -> None:
    for run in ("r1", "r2", "r3"):
        show(play, event(run, "alfa", "p0000"))
    play.supersede("p0000", private("p0000b", cell=CELLS[0]))
    assert {item.id: item.must for item in play.freeze().items if item.must} == {"p0000b": "exposure"}
    play.close()
    assert {o.id: o.why for o in play.public.openings(1)}["p0000"] == "supersede"
    assert play.audit().findings == ()


@pytest.mark.parametrize("place", ["rules.toml", "exemplo/matrix.toml", "exemplo/benchmark.toml"])
def test_a_rule_file_that_changed_since_the_last_freeze_is_noted(place: str, play: Stage) -> None:
    frozen = play.freeze()
    assert set(frozen.settings) >= {"rules.toml", "exemplo/benchmark.toml", "exemplo/matrix.toml"}
    path = play.registry / place
    path.write_bytes(path.read_bytes() + b"# x\n")
    found = play.audit()
    assert found.findings == ()
    assert f"exemplo/1: not what they were when it was frozen: {place}" in found.notes
    play.close()
    play.freeze()
    assert not any("not what they were" in note for note in play.audit().notes)
