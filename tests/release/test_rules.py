"""The rules of the ledger, as the verifier holds them: a key holder breaks each, lists and signs all anew."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.release.conftest import Story
from tests.release.making import played, release
from tests.release.resigning import faults, held, read, resigned, verified
from tests.rotation.making import items

from lacre.registry import ledger as ledgers
from lacre.registry.events import (
    BatchCommit,
    Event,
    Exposure,
    Freeze,
    Genesis,
    KeyAdd,
    KeyRetire,
    Open,
    Release,
    RunAbort,
    RunIntent,
    RunResult,
    Split,
    Supersede,
    Void,
    Waiver,
    event_name,
)
from lacre.release import verify as verifier
from lacre.release.verify import (
    ENVELOPE,
    LEDGER,
    STAMP,
    STEERING,
    Bench,
    Line,
    canonical,
    order_faults,
    over_exposed,
)
from lacre.rotation import exposure
from lacre.rotation.beacon import DrandRound, LotteryDraw, source_name
from lacre.rotation.drand import CHAINS
from lacre.rotation.history import History, history
from lacre.sealing.dsse import Statement, sign
from lacre.sealing.keys import SigningKey

Files = dict[str, bytes]
HASH = "12" * 32


@dataclass(frozen=True)
class Told:
    """What may be named in an event: ids with their commitments, and the last closing's randomness."""

    sealed: Sequence[tuple[str, str]]
    opened: Sequence[tuple[str, str]]
    void: tuple[str, str]
    used: Freeze
    due: str


def told_by(files: Files) -> Told:
    """What a release says."""
    ledger = ledgers.parse(files[LEDGER], LEDGER)
    events = [line.event for line in ledger.lines]
    rows = map(json.loads, files["registry/exemplo/private/commitments.jsonl"].splitlines())
    freezes = [event for event in events if isinstance(event, Freeze)]
    return Told(
        sealed=[(row["id"], row["commitment"]) for row in rows],
        opened=[(e.item, e.commitment) for e in events if isinstance(e, Open)],
        void=next((e.item, e.commitment) for e in events if isinstance(e, Void)),
        used=freezes[0],
        due=freezes[-1].due,
    )


def longer(files: Files, key: SigningKey, events: Sequence[Event], signer: SigningKey | None) -> Files:
    """A release with lines at the end of its ledger, whoever signs them, and all of it signed anew."""
    ledger = ledgers.parse(files[LEDGER], LEDGER)
    grown = ledgers.chained(ledger, events, at=ledger.lines[-1].at, signer=signer)
    head = {"lines": grown.size, "bytes": len(grown.content), "head": grown.head}
    return resigned({**files, LEDGER: grown.content}, key, ledger=head)


def supersede(old: tuple[str, str], new: tuple[str, str]) -> Supersede:
    return Supersede(
        benchmark="exemplo", item=old[0], commitment=old[1], by=new[0], by_commitment=new[1], reason="x"
    )


def void(item: tuple[str, str]) -> Void:
    return Void(benchmark="exemplo", item=item[0], commitment=item[1], reason="x")


def intent(run: str, column: str = "c1") -> RunIntent:
    return RunIntent(
        benchmark="exemplo", run=run, column=column, items=1, root=HASH, templates=HASH, round="exemplo/3"
    )


def shown(item: str, run: str, column: str = "c1") -> Exposure:
    return Exposure(benchmark="exemplo", run=run, column=column, items=(item,), terms="none")


def freeze(told: Told, **changes: object) -> Freeze:
    said = {
        "benchmark": "exemplo",
        "round": "exemplo/3",
        "freeze": HASH,
        "items": 1,
        "beacon": "draw 7",
        "due": told.due,
    }
    return Freeze(**(said | changes))  # type: ignore[arg-type]


BROKEN: dict[str, tuple[Callable[[Told], list[Event]], str]] = {
    "an item replaced twice": (
        lambda t: [supersede(t.sealed[0], t.sealed[1]), supersede(t.sealed[0], t.sealed[2])],
        "is replaced again",
    ),
    "one correction of two items": (
        lambda t: [supersede(t.sealed[0], t.sealed[2]), supersede(t.sealed[1], t.sealed[2])],
        "corrects another again",
    ),
    "a void item replaced": (lambda t: [supersede(t.void, t.sealed[0])], "made it void"),
    "corrections in a circle": (
        lambda t: [supersede(t.sealed[0], t.sealed[1]), supersede(t.sealed[1], t.sealed[0])],
        "go in a circle",
    ),
    "an item that corrects itself": (lambda t: [supersede(t.sealed[0], t.sealed[0])], "go in a circle"),
    "a correction that was open": (lambda t: [supersede(t.sealed[0], t.opened[0])], "is no new one"),
    "a correction of another cell": (
        lambda t: [supersede(t.sealed[0], t.sealed[1])],
        "is of another cell or batch",
    ),
    "an open item replaced": (lambda t: [supersede(t.opened[0], t.sealed[0])], "supersede of item"),
    "an open item made void": (lambda t: [void(t.opened[0])], "void of item"),
    "a batch sealed twice": (
        lambda _: [BatchCommit(benchmark="exemplo", batch="b1", items=1, root=HASH)],
        "batch 'b1' is that of line",
    ),
    "an item opened twice": (
        lambda t: [
            Open(benchmark="exemplo", round="exemplo/1", item=i, commitment=c, why="draw")
            for i, c in t.opened[:1]
        ],
        "is that of line",
    ),
    "an item opened outside a closing": (
        lambda t: [
            Open(benchmark="exemplo", round="exemplo/3", item=i, commitment=c, why="draw")
            for i, c in t.sealed[:1]
        ],
        "outside exemplo/3",
    ),
    "a run that begins twice": (lambda _: [intent("r1"), intent("r1")], "begins a second time"),
    "a showing in no run": (lambda t: [shown(t.sealed[0][0], "r1")], "which no line before it begins"),
    "a showing of another column": (
        lambda t: [intent("r1"), shown(t.sealed[0][0], "r1", "c2")],
        "which no line before it begins",
    ),
    "a showing of what nobody sealed": (
        lambda _: [intent("r1"), shown("nobody", "r1")],
        "'nobody' was shown to a column, and has no row",
    ),
    "randomness that another closing used": (
        lambda t: [freeze(t, beacon=t.used.beacon)],
        "froze exemplo/1 for it",
    ),
    "randomness that another benchmark used": (
        lambda t: [
            freeze(t, benchmark="outro", round="outro/1", freeze="ab" * 32, beacon="draw 9"),
            Split(
                benchmark="outro",
                round="outro/1",
                freeze="ab" * 32,
                randomness="00",
                seed=HASH,
                opened=0,
                kept=0,
                openings=HASH,
                draw=HASH,
                root=HASH,
            ),
            freeze(t, beacon="draw 9"),
        ],
        "carried out outro/1 with it",
    ),
    "a closing frozen out of order": (
        lambda t: [freeze(t, round="exemplo/5")],
        "freezes exemplo/5, when exemplo/3 was to come",
    ),
    "a freeze given up and lost": (lambda t: [freeze(t)], "given-up-1.freeze.dsse.json: is missing"),
}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("case", BROKEN)
def test_a_rule_of_the_ledger_broken_by_the_key_holder_is_found(story: Story, case: str) -> None:
    events, says = BROKEN[case]
    files, key = story.small(3), story.play.key
    outcome = verified(longer(files, key, events(told_by(files)), key), key.fingerprint)
    assert outcome.verdict == "failed"
    # Draws rest on the rows: where both are wrong, the one that is told says enough.
    found = faults(outcome) + _of_draws(longer(files, key, events(told_by(files)), key))
    assert any(says in fault for fault in found), found


def _of_draws(files: Files) -> list[str]:
    """What is wrong with the order of closings, whatever else is."""
    inspection = verifier.Inspection(held(files), None, (), lambda *_: None)
    inspection.run()
    ledger = inspection.ledger
    return (
        []
        if ledger is None
        else [f for b in inspection.benches for f in order_faults(inspection.tree, ledger, b)]
    )


STEER: list[Callable[[Told], Event]] = [
    lambda _: BatchCommit(benchmark="exemplo", batch="b9", items=0, root=verifier.merkle_root([])),
    lambda t: void(t.sealed[0]),
    lambda t: supersede(t.sealed[0], t.sealed[1]),
    freeze,
    lambda _: Split(
        benchmark="exemplo", round="exemplo/3", freeze=HASH, randomness="00", seed=HASH, opened=0, kept=0,
        openings=HASH, draw=HASH, root=HASH,
    ),
    lambda _: intent("r1"),
    lambda t: shown(t.sealed[0][0], "r1"),
    lambda _: RunResult(benchmark="exemplo", run="r1", intent=HASH, answered=0, failed=0, scores=HASH),
    lambda _: RunAbort(benchmark="exemplo", run="r1", intent=HASH, reason="x", replies=0),
    lambda _: KeyRetire(fingerprint=HASH, reason="x"),
]  # fmt: skip


@pytest.mark.parametrize("make", STEER)
def test_a_line_that_steers_something_and_that_nobody_signed_is_found(
    story: Story, make: Callable[[Told], Event]
) -> None:
    files, key = story.small(3), story.play.key
    event = make(told_by(files))
    assert (
        f"is a {event_name(event)} that nobody signed"
        in faults(verified(longer(files, key, [event], None)))[0]
    )


def test_the_lines_that_must_be_signed_are_those_of_the_program() -> None:
    assert {kind.__struct_config__.tag for kind in ledgers.SIGNED} == STEERING
    assert set(ledgers.SIGNED) < set(get_args(Event))
    assert KeyAdd in ledgers.SIGNED


def test_randomness_has_the_name_that_the_program_gives_it() -> None:
    for chain in CHAINS.values():
        source = DrandRound(chain=chain.hash, round=9, due="2027-01-16T22:00:00Z")
        assert verifier.source_name({"kind": "drand", "chain": chain.hash, "round": 9}) == source_name(source)
    assert verifier.source_name({"kind": "lottery", "draw": 9}) == source_name(LotteryDraw(draw=9, due="x"))


def both(*events: Event) -> tuple[Bench, History]:
    """What the verifier and the program make of a ledger with these lines."""
    ledger = ledgers.chained(
        ledgers.Ledger((), b""), [Genesis(workspace=HASH), *events], at="2026-12-01T12:00:00Z"
    )
    bench = Bench("exemplo")
    lines = [
        Line(number, "", json.loads(line)["event"])
        for number, line in enumerate(ledger.content.splitlines(), 1)
    ]
    verifier._read_events(bench, verifier.Ledger(b"", lines, (), (), {}))
    return bench, history(ledger, "exemplo")


IDS, RUNS = st.sampled_from("abcd"), st.sampled_from(["r1", "r2"])
EVENTS = st.lists(
    st.one_of(
        st.builds(intent, RUNS, RUNS),
        st.builds(shown, IDS, RUNS, RUNS),
        st.builds(lambda old, new: supersede((old, HASH), (new, HASH)), IDS, IDS),
    ),
    max_size=12,
)


@given(events=EVENTS, line=st.integers(1, 14), cap=st.integers(0, 3))
def test_showings_are_counted_as_the_program_counts_them(events: list[Event], line: int, cap: int) -> None:
    bench, known = both(*events)
    assert over_exposed(bench, cap, line) == set(exposure.over_exposed(known, cap, before=line))


def test_who_stands_for_an_item_is_followed_to_the_end_and_never_in_a_circle() -> None:
    chain = both(supersede(("a", HASH), ("b", HASH)), supersede(("b", HASH), ("c", HASH)))[0]
    assert [chain.successor("a", line) for line in (2, 3, 4)] == ["a", "b", "c"]
    circle = both(supersede(("a", HASH), ("b", HASH)), supersede(("b", HASH), ("a", HASH)))[0]
    assert circle.successor("a", 9) == "a"


def test_what_a_freeze_says_of_waivers_showings_and_corrections_is_held_to_the_ledger() -> None:
    waiver = Waiver(
        benchmark="exemplo", item="b", digest=HASH, verdict="drop", who="Ana", reason="x", corpora=()
    )
    events: list[Event] = [shown("a", "r1"), waiver, supersede(("c", HASH), ("d", HASH))]
    bench = both(*events)[0]
    assert bench.waivers == [], "nobody signed it"
    frozen = {
        "exposure_cap": 0,
        "items": [{"id": "a", "commitment": HASH}, {"id": "b", "commitment": HASH}],
        "waived": ["b"],
        "leaving": [{"id": "c", "why": "supersede", "after": "x"}],
    }
    told = " ".join(verifier._frozen_faults(bench, frozen, 9, "f"))
    assert "'b' is said to be waived, and no signed line" in told
    assert "'c' is frozen as corrected by 'x', which is not so" in told
    assert "too often" not in told
    bench.shown.append(Line(3, "", bench.shown[0].event))
    told = " ".join(verifier._frozen_faults(bench, {**frozen, "exposure_cap": 1}, 9, "f"))
    assert "'a' was shown to columns too often by then, and need not open" in told


def test_a_correction_that_left_its_passage_is_a_note_and_one_that_joined_another_a_fault() -> None:
    bench = both(supersede(("a", HASH), ("b", HASH)))[0]
    old = {"id": "a", "cell": {}, "batch": "b1", "group": "g1"}
    bench.rows = {"a": old, "b": {"id": "b", "cell": {}, "batch": "b1"}}
    assert [*verifier.replaced_faults(bench)] == []
    assert ["drawn alone" in note for note in verifier.left_passages(bench)] == [True]
    bench.rows["b"]["group"] = "g2"
    assert ["of another passage" in fault for fault in verifier.replaced_faults(bench)] == [True]
    bench.rows["b"] |= {"group": "g1", "batch": "b2"}
    assert ["another cell or batch" in fault for fault in verifier.replaced_faults(bench)] == [True]
    bench.rows["b"]["batch"] = "b1"
    assert [*verifier.replaced_faults(bench), *verifier.left_passages(bench)] == []


OPEN = "registry/exemplo/open/closing-0001.jsonl"


def test_an_open_item_twice_or_of_another_layer_and_a_folder_of_no_closing_are_found(story: Story) -> None:
    files, key = story.small(2), story.play.key
    first, *rest = files[OPEN].splitlines(keepends=True)
    assert any(
        "stands there twice" in fault
        for fault in faults(verified(resigned({**files, OPEN: first + files[OPEN]}, key)))
    )
    moved = canonical({**json.loads(first), "benchmark": "outro"}) + b"\n" + b"".join(rest)
    assert any(
        "of another layer or benchmark" in fault
        for fault in faults(verified(resigned({**files, OPEN: moved}, key)))
    )
    stray = {**files, "registry/exemplo/rounds/0009/x.json": b"{}"}
    assert any(
        "0009: is of a closing that the ledger does not know" in f
        for f in faults(verified(resigned(stray, key)))
    )


def test_what_the_ledger_says_of_benchmarks_that_are_not_in_a_release_is_a_note(story: Story) -> None:
    outcome = verified(resigned(story.small(2), story.play.key, benchmarks={}))
    assert any("also speaks of 'exemplo', of which nothing was checked" in note for note in outcome.notes)


def test_a_freeze_that_was_given_up_travels_along_and_is_held_to_its_line(tmp_path: Path) -> None:
    play = played(tmp_path)
    play.add(items(8), "b1")
    play.freeze()
    play.freeze(again="o sorteio foi adiado")
    play.close()
    built = release(play, "exemplo-1")
    files = read(Path(built.folder))
    name = "registry/exemplo/rounds/0001/given-up-1.freeze.dsse.json"
    assert name in files
    outcome = verified(files, play.key.fingerprint)
    assert outcome.verdict == "authentic"
    assert any("was frozen 2 times" in note for note in outcome.notes)
    for changed in (resigned(files, play.key, without=[name]), resigned({**files, name: b"{}"}, play.key)):
        assert any("is missing, or is not the freeze of line" in fault for fault in faults(verified(changed)))


DATA = "data/exemplo/open.jsonl"


@pytest.mark.parametrize(
    "changes",
    [
        {"stem": "Outra pergunta?"},
        {"key": "A"},
        {"options": [{"letter": "A", "text": "x"}]},
        {"cell": []},
        {"passage": "Outro texto."},
        {"id": "of-9"},
        {"parts": [{"id": "a", "prompt": "x", "expected": None}]},
        {"options": 1},
    ],
)
def test_a_row_that_people_load_and_that_is_not_the_item_is_found(
    story: Story, changes: dict[str, object]
) -> None:
    files, key = story.small(2), story.play.key
    first, *rest = files[DATA].splitlines(keepends=True)
    changed = json.dumps({**json.loads(first), **changes}).encode() + b"\n" + b"".join(rest)
    found = faults(verified(resigned({**files, DATA: changed}, key)))
    assert found
    assert all(fault.startswith(DATA) for fault in found), found
    twice = resigned({**files, DATA: first + files[DATA]}, key)
    assert any("an item stands there twice" in fault for fault in faults(verified(twice)))
    assert faults(verified(resigned(files, key, without=[DATA])))


def test_a_release_that_nobody_signed_in_the_ledger_or_two_of_one_name_are_found(story: Story) -> None:
    files, key = story.small(2), story.play.key
    event = Release(benchmark="exemplo", release="exemplo-1", package=HASH, root=HASH)
    for signer in (key, None):
        told = faults(verified(longer(files, key, [event], signer)))
        assert "names a release that nobody signed, or one name for two releases" in told[0]


def test_what_people_decided_about_a_draw_is_told(tmp_path: Path) -> None:
    play = played(tmp_path)
    play.add(items(8), "b1")
    play.freeze(forced={"p0001": "leak"})
    play.void(["p0002"])
    play.close()
    notes = " ".join(verified(read(Path(release(play, "r1").folder))).notes)
    assert "exemplo/1: 1 of 8 items were made to open whatever the draw said: 1 for leak" in notes
    assert "exemplo/1: made void after it was frozen, when its draw could be known: p0002" in notes
    frozen = {
        "round": "exemplo/1",
        "items": [],
        "waived": ["a", "b"],
        "settings": {"rules.toml": HASH, "x": HASH},
    }
    content = sign(Statement(subject=(), predicate_type=verifier.FREEZE, predicate=frozen), play.key)
    bench = Bench("exemplo", splits=[Line(9, "", {"freeze": HASH})])
    sums = verifier.sums_bytes({"registry/rules.toml": HASH})
    tree = held({f"{bench.folder(1)}/freeze.dsse.json": content, verifier.SUMS: sums})
    assert [*verifier.human_notes(tree, bench, 1)] == [
        "exemplo/1: 2 items not kept by vetting; people answer for them",
        "exemplo/1: not in here as they were when it was frozen: x",
    ]


def der(body: bytes) -> bytes:
    """Bytes as one DER sequence."""
    return b"\x30\x82" + len(body).to_bytes(2, "big") + body


def test_what_is_called_a_time_stamp_and_is_none_is_found(story: Story) -> None:
    files = story.small(2)
    digest = hashlib.sha512(files[ENVELOPE]).digest()
    good = verified({**files, STAMP: der(digest + b"x" * 300)})
    assert good.verdict == "integrity only"
    assert any("who made it was not checked" in note for note in good.notes)
    for stamp in (b"", b"0", b"stamp", der(b"x" * 300), der(digest + b"x" * 300) + b"more", digest):
        told = faults(verified({**files, STAMP: stamp}))
        assert told == [f"{STAMP}: is no time stamp of {ENVELOPE}"]
    assert (
        "more than such a file can have"
        in faults(verified({**files, STAMP: der(digest) + bytes(1 << 20)}))[0]
    )
    left = {name: content for name, content in files.items() if name != ENVELOPE}
    assert "release.dsse.json: is missing" in faults(verified({**left, STAMP: der(digest)}))[0]


def test_a_release_is_not_made_before_its_own_ledger_ends(story: Story) -> None:
    files, key = story.small(2), story.play.key
    told = faults(verified(resigned(files, key, at="2020-01-01T00:00:00Z")))
    assert told == ["release.dsse.json: says that it was made before the last line of its ledger"]
    older = f"previous/exemplo-1/{ENVELOPE}"
    claim = json.loads(base64.b64decode(json.loads(files[older])["payload"]))
    again = Statement(
        subject=claim["subject"],
        predicate_type=verifier.RELEASE,
        predicate={**claim["predicate"], "at": "2020-01-01T00:00:00Z"},
    )
    told = faults(verified(resigned({**files, older: sign(again, key)}, key)))
    assert "is not the release that line" in told[0]
