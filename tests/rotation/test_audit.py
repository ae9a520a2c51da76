"""An insider who steers a draw, or changes what was published, is named by anybody who audits (SPEC L3)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from tests.rotation.making import BEGIN, CELLS, Stage, items, lottery, stage
from tests.sealing.making import private

from lacre.digest import sha256
from lacre.registry import ledger as ledgers
from lacre.registry.events import BatchCommit, Event, Freeze, Open, Split, Supersede, Void
from lacre.rotation.audit import Audit, StampCheck, audit
from lacre.rotation.beacon import LotteryDraw, instant
from lacre.rotation.public import ledger_path
from lacre.rotation.records import (
    DRAW_FILE,
    FREEZE_FILE,
    OPENINGS_FILE,
    STAMP_FILE,
    Frozen,
    Opened,
    freeze_statement,
    frozen_from,
    lines_bytes,
)
from lacre.sealing import dsse
from lacre.sealing.batches import rows_bytes
from lacre.sealing.commitments import rows_root


def stamped_at(when: datetime) -> StampCheck:
    """An authority that says the same of every stamp."""
    return lambda *_: when


def said(found: Audit) -> str:
    return "\n".join(f"{f.round} {f.where}: {f.what}" for f in found.findings)


def rewrite(play: Stage, edit: Callable[[int, Event], Event | None]) -> None:
    """The ledger written anew by somebody who holds the key: events changed or left out, all lines signed again."""
    path = ledger_path(play.registry)
    old = ledgers.read(path)
    new = ledgers.parse(b"", path)
    for line in old.lines:
        event = edit(line.seq, line.event)
        if event is not None:
            signer = play.key if line.sig else None
            new = ledgers.appended(new, [event], at=line.at, signer=signer)
    path.write_bytes(new.content)


def with_freeze(play: Stage, number: int, edit: Callable[[Frozen], Frozen]) -> None:
    """A freeze signed again with other content, and the ledger made to name it."""
    path = play.public.folder(number) / FREEZE_FILE
    claim = dsse.verify(path.read_bytes(), {play.key.fingerprint: play.key.public}, path).statement
    frozen = edit(frozen_from(claim, path))
    claim = freeze_statement(frozen, b"")
    old = sha256(path.read_bytes())
    content = dsse.sign(claim, play.key)
    path.write_bytes(content)
    rewrite(
        play,
        lambda _, event: (
            msgspec.structs.replace(event, freeze=sha256(content))
            if isinstance(event, (Freeze, Split)) and event.freeze == old
            else event
        ),
    )


def test_honest_rounds_have_no_findings(finished: Stage) -> None:
    found = finished.audit()
    assert found.findings == ()
    assert [r.standing for r in found.rounds] == ["repeatable", "repeatable", "frozen"]
    assert found.rounds[0].reasons["leak"] == 1
    assert found.rounds[0].voided == 1
    assert found.trusted
    said_of = "compare draw 101 with what Caixa published, and that it took place after 2026-12-01T12:00:00Z"
    assert f"exemplo/1: nothing signs the Loteria Federal: {said_of}" in found.notes
    assert "exemplo/1: 1 of 11 items (9%) were made to open whatever the draw said: 1 for leak" in found.notes
    assert found.rounds[0].forced == 1


def test_without_a_key_from_elsewhere_it_is_integrity_only(finished: Stage) -> None:
    found = audit(finished.registry, "exemplo", finished.rules, at=finished.now)
    assert not found.trusted
    assert any("integrity only" in note for note in found.notes)
    other = audit(finished.registry, "exemplo", finished.rules, at=finished.now, key="0" * 64)
    assert "its first key is" in said(other)


def test_a_stamp_shows_that_a_freeze_existed_in_time_and_what_is_left_to_check(play: Stage) -> None:
    for number in (1, 2):
        (play.public.folder(number) / STAMP_FILE).write_bytes(b"stamp")
    found = play.audit(stamped=stamped_at(BEGIN))
    assert [r.standing for r in found.rounds] == ["stamped", "stamped", "frozen"]
    assert found.rounds[0].why == (
        "repeated, and stamped in time; it may be one of several that were; still to check: that draw 101 of the "
        "Loteria Federal took place after 2026-12-01T12:00:00Z, with this result: number and date at Caixa"
    )
    unchecked = play.audit()
    assert "its time stamp was not checked" in unchecked.rounds[0].why


def test_an_insider_who_freezes_after_the_randomness_is_known_is_named_by_the_stamp(play: Stage) -> None:
    (play.public.folder(2) / STAMP_FILE).write_bytes(b"stamp")
    found = play.audit(stamped=stamped_at(datetime(2027, 12, 1, tzinfo=UTC)))
    assert "whoever froze it could know the draw" in said(found)
    assert [r.standing for r in found.rounds] == ["repeatable", "failed", "frozen"]


def test_a_backdated_freeze_without_a_stamp_is_never_called_shown(play: Stage) -> None:
    assert {r.standing for r in play.audit().rounds} == {"repeatable", "frozen"}


def test_an_insider_who_freezes_late_by_the_ledger_s_own_clock_is_named(play: Stage) -> None:
    def late(_: int, event: Event) -> Event:
        if isinstance(event, Freeze) and event.round == "exemplo/2":
            return msgspec.structs.replace(event, due="2026-12-02T00:00:00Z")
        return event

    with_freeze(
        play,
        2,
        lambda frozen: msgspec.structs.replace(
            frozen, source=LotteryDraw(draw=102, due="2026-12-02T00:00:00Z")
        ),
    )
    rewrite(play, late)
    assert "exemplo/2 registry/ledger.jsonl: line" in said(play.audit())
    assert "when its randomness was out since 2026-12-02T00:00:00Z" in said(play.audit())


def test_an_insider_who_grinds_heads_is_named(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(8), "b1")
    play.freeze()
    path = ledger_path(play.registry)
    (freeze,) = (line.event for line in ledgers.read(path).lines if isinstance(line.event, Freeze))
    for _ in range(3):
        ledgers.append(path, freeze, at=instant(play.now), signer=play.key)
    assert "frozen 4 times, on lines 4, 5, 6, 7: the draw could be picked among them" in said(play.audit())


def test_a_freeze_made_on_another_head_is_named(play: Stage) -> None:
    with_freeze(play, 2, lambda frozen: msgspec.structs.replace(frozen, head="1" * 64))
    assert "it was made on another ledger" in said(play.audit())


def test_an_insider_who_voids_50_of_200_is_counted_and_shown(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(200), "b1")
    play.void([f"p{n:04d}" for n in range(50)])
    play.freeze()
    assert "50 of 200 sealed items (25%) are void, and open at the next closing" in play.audit().notes
    play.close()
    found = play.audit()
    assert found.findings == ()
    assert "exemplo/1: 50 of 200 items (25%) were made void before it" in found.notes
    assert (found.rounds[0].voided, found.rounds[0].reasons["void"]) == (50, 50)


def test_an_insider_who_voids_after_the_freeze_is_named_with_every_id(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(40), "b1")
    play.void(["p0000"])
    play.freeze()
    play.void(["p0009", "p0003"])
    late = "were made void after its freeze, when the draw could be known: p0003, p0009"
    found = play.audit()
    assert f"exemplo/1: items (2) {late}" in found.notes
    assert (found.rounds[0].voided, found.rounds[0].voided_after) == (1, ("p0003", "p0009"))
    play.close()
    play.void([next(row.id for row in play.public.private)])
    play.freeze()
    found = play.audit()
    assert found.findings == ()
    assert f"exemplo/1: 2 of 40 items (5%) {late}" in found.notes
    assert "exemplo/1: 1 of 40 items (2%) were made void before it" in found.notes
    assert not any(note.startswith("exemplo/2: ") for note in found.notes)
    assert [closing.voided_after for closing in found.rounds] == [("p0003", "p0009"), ()]


def test_void_items_that_a_freeze_hides_are_named(play: Stage) -> None:
    with_freeze(play, 1, lambda frozen: msgspec.structs.replace(frozen, leaving=()))
    found = said(play.audit())
    assert "item 'p0001' was void by then, and is frozen as neither" in found
    assert "item 'p0001' was opened, and the draw keeps it" in found


def test_an_insider_who_swaps_two_items_is_named(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(12), "b1")
    play.freeze()
    with play.vault() as vault:
        openings = {row.id: vault.opening(row.id) for row in vault.rows()}
    play.close()
    folder = play.public.folder(1)
    opened = play.public.openings(1)
    out = next(o for o in opened if o.why == "draw")
    kept = next(row for row in play.public.rows if row.cell == out.cell)
    swapped = Opened(
        id=kept.id,
        cell=kept.cell,
        batch=kept.batch,
        commitment=kept.commitment,
        why="draw",
        nonce=openings[kept.id].nonce,
        payload=openings[kept.id].payload,
    )
    forged = sorted([*(o for o in opened if o != out), swapped], key=lambda o: o.id)
    rows = [*(row for row in play.public.rows if row != kept), out.row]
    (folder / OPENINGS_FILE).write_bytes(lines_bytes(forged))
    play.public.commitments.write_bytes(rows_bytes(rows))

    def swap(_: int, event: Event) -> Event:
        if isinstance(event, Open) and event.item == out.id:
            return msgspec.structs.replace(event, item=kept.id, commitment=kept.commitment)
        if isinstance(event, Split):
            digest = sha256((folder / OPENINGS_FILE).read_bytes())
            return msgspec.structs.replace(event, openings=digest, root=rows_root(rows))
        return event

    rewrite(play, swap)
    found = said(play.audit())
    assert f"item '{out.id}' was drawn to open (draw), and was not opened" in found
    assert f"item '{kept.id}' was opened, and the draw keeps it" in found


def relabelled(play: Stage) -> tuple[str, bytes]:
    rows = list(play.public.rows)
    other = next(cell for cell in CELLS if cell != rows[0].cell)
    rows[0] = msgspec.structs.replace(rows[0], cell=other)
    return rows[0].id, rows_bytes(rows)


def test_an_insider_who_relabels_a_cell_after_the_freeze_is_named(play: Stage) -> None:
    id, content = relabelled(play)
    play.public.commitments.write_bytes(content)
    found = said(play.audit())
    assert f"private/commitments.jsonl: item '{id}' has cell" in found
    assert "and was frozen with" in found
    assert "the rows of batch 'b" in found


def test_a_relabelled_cell_with_the_ledger_rewritten_to_match_is_named(play: Stage) -> None:
    id, content = relabelled(play)
    play.public.commitments.write_bytes(content)
    rows = [*play.public.rows, *(o.row for n in (1, 2) for o in play.public.openings(n))]

    def agree(_: int, event: Event) -> Event:
        if isinstance(event, BatchCommit):
            root = rows_root([row for row in rows if row.batch == event.batch])
            return msgspec.structs.replace(event, root=root)
        return event

    rewrite(play, agree)
    assert f"item '{id}' has cell" in said(play.audit())


@pytest.mark.parametrize(
    ("what", "edit", "says"),
    [
        (
            "an item left out",
            lambda f: msgspec.structs.replace(f, items=f.items[1:]),
            "was private then, and was left out",
        ),
        (
            "an age made smaller",
            lambda f: msgspec.structs.replace(
                f, items=(msgspec.structs.replace(f.items[0], age=0), *f.items[1:])
            ),
            "age 0, where the ledger counts",
        ),
        (
            "another commitment",
            lambda f: msgspec.structs.replace(
                f, items=(msgspec.structs.replace(f.items[0], commitment="2" * 64), *f.items[1:])
            ),
            "and was frozen with 2222",
        ),
        (
            "an item twice",
            lambda f: msgspec.structs.replace(f, items=(f.items[0], *f.items)),
            "it names an item twice",
        ),
        (
            "a group made up",
            lambda f: msgspec.structs.replace(
                f, items=(msgspec.structs.replace(f.items[0], group="g"), *f.items[1:])
            ),
            "was frozen with g",
        ),
        (
            "another randomness",
            lambda f: msgspec.structs.replace(f, source=LotteryDraw(draw=7, due=f.source.due)),
            "does not say what line",
        ),
        ("another time", lambda f: msgspec.structs.replace(f, at=instant(BEGIN)), "does not say what line"),
        (
            "another workspace",
            lambda f: msgspec.structs.replace(f, workspace="3" * 64),
            "of another workspace",
        ),
    ],
)
def test_a_freeze_that_is_not_what_the_ledger_allows_is_named(
    what: str, edit: Callable[[Frozen], Frozen], says: str, play: Stage
) -> None:
    with_freeze(play, 3, edit)
    found = play.audit()
    assert says in said(found)
    assert found.rounds[2].standing == "failed"


def test_a_freeze_on_other_rules_than_those_it_names_is_named(play: Stage) -> None:
    vetting = msgspec.structs.replace(play.rules.vetting, required_corpora=("corpus-b",))
    play.rules = msgspec.structs.replace(play.rules, vetting=vetting)
    with_freeze(play, 3, lambda f: msgspec.structs.replace(f, share="1/10", age_cap=9))
    found = said(play.audit())
    assert (
        "exemplo/3 registry/exemplo/rounds/0003/freeze.dsse.json: its share is 1/10; the rules say 1/2, and"
        in found
    )
    assert "its age cap is 9; the rules say 3, and have not changed since" in found
    assert "its items were not vetted against corpus-b; the rules require it" in found
    path = play.registry / "rules.toml"
    path.write_bytes(path.read_bytes() + b"# another edition\n")
    later = play.audit()
    assert "exemplo/3: its share is 1/10; the rules say 1/2" in later.notes
    assert "its share" not in said(later)


def test_what_was_slipped_into_the_open_layer_is_named(play: Stage) -> None:
    path = play.registry / "exemplo/open/closing-0001.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    other = json.loads(lines[0]) | {"id": "never-sealed"}
    path.write_text("".join([lines[0], *lines, json.dumps(other) + "\n"]))
    found = said(play.audit())
    assert "item 'never-sealed' stands there, and was not opened to go on as an open item" in found
    assert f"item '{json.loads(lines[0])['id']}' stands there 2 times" in found


def test_a_freeze_that_was_never_logged_is_named(play: Stage) -> None:
    shutil.copytree(play.public.folder(1), play.public.folder(9))
    assert "rounds/0009: is of a closing that the ledger does not know" in said(play.audit())


@pytest.mark.parametrize("name", [FREEZE_FILE, DRAW_FILE, OPENINGS_FILE, "randomness.json"])
def test_a_file_that_was_taken_away_is_named(name: str, play: Stage) -> None:
    (play.public.folder(1) / name).unlink()
    assert name in said(play.audit())


def test_other_randomness_is_named(play: Stage) -> None:
    path = play.public.folder(2) / "randomness.json"
    path.write_bytes(lottery(102, ["55555"] * 5))
    found = said(play.audit())
    assert "randomness.json: was changed" in found
    assert "its randomness is" in found


@pytest.mark.parametrize(
    ("what", "change", "says"),
    [
        ("another text", {"stem": "Outra pergunta?"}, "is not the one that was opened"),
        ("gone", None, "was opened, and is not there"),
    ],
)
def test_an_open_item_that_is_not_the_opened_one_is_named(
    what: str, change: dict[str, str] | None, says: str, play: Stage
) -> None:
    path = play.registry / "exemplo/open/closing-0001.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    if change is None:
        lines.pop()
    else:
        lines[0]["payload"] |= change
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert says in said(play.audit())


def test_an_opened_item_that_stays_among_the_sealed_is_named(play: Stage) -> None:
    opened = play.public.openings(1)[0].row
    play.public.commitments.write_bytes(rows_bytes([*play.public.rows, opened]))
    found = said(play.audit())
    assert f"item '{opened.id}' was opened, and still stands among the sealed ones" in found
    assert "stands there, and in" in found


def test_an_opening_that_does_not_open_its_commitment_is_named(play: Stage) -> None:
    path = play.public.folder(1) / OPENINGS_FILE
    opened = play.public.openings(1)
    opened[0] = msgspec.structs.replace(opened[0], nonce="0" * 64)
    path.write_bytes(lines_bytes(opened))
    rewrite(
        play,
        lambda _, e: (
            msgspec.structs.replace(e, openings=sha256(path.read_bytes()))
            if isinstance(e, Split) and e.round == "exemplo/1"
            else e
        ),
    )
    assert "line 1: item 'p0001' is not the one that was committed to" in said(play.audit())


def test_lines_left_out_of_a_ledger_that_was_signed_anew_are_named(play: Stage) -> None:
    first = next(
        line.seq for line in ledgers.read(ledger_path(play.registry)).lines if isinstance(line.event, Open)
    )
    rewrite(play, lambda seq, event: None if seq == first else event)
    assert "opened in the openings and not in the ledger" in said(play.audit())


def test_nothing_at_all_is_audited_without_complaint(tmp_path: Path) -> None:
    found = stage(tmp_path).audit()
    assert (found.findings, found.rounds) == ((), ())


def changed(kind: type, nth: int, **changes: object) -> Callable[[int, Event], Event]:
    """Changes the ``nth`` event of a kind, from 0."""
    seen = iter(range(1000))

    def edit(_: int, event: Event) -> Event:
        if isinstance(event, kind) and next(seen) == nth:
            return msgspec.structs.replace(event, **changes)
        return event

    return edit


@pytest.mark.parametrize(
    ("kind", "nth", "changes", "says"),
    [
        (Split, 1, {"round": "exemplo/7"}, "carries out exemplo/7, when exemplo/2 was to come"),
        (Split, 1, {"freeze": "0" * 64}, "carries out a freeze that no line before it names"),
        (Split, 1, {"seed": "0" * 64}, "its seed is 0000"),
        (Split, 1, {"randomness": "00"}, "its randomness is 00"),
        (Split, 1, {"opened": 99}, "says 99 items opened"),
        (Split, 1, {"kept": 99}, "the rows that stayed sealed are not the 99 it names"),
        (Split, 1, {"root": "0" * 64}, "the rows that stayed sealed are not the"),
        (Split, 0, {"draw": "0" * 64}, "rounds/0001/draw.json: was changed"),
        (Open, 0, {"round": "exemplo/2"}, "opens item 'p0001' outside exemplo/2"),
        (Open, 0, {"why": "draw"}, "item 'p0001' is opened with another commitment or reason"),
        (Freeze, 2, {"round": "exemplo/9"}, "freezes exemplo/9, when exemplo/3 was to come"),
        (Freeze, 0, {"due": "2026-12-25T00:00:00Z"}, "before its randomness, due 2026-12-25T00:00:00Z"),
        (Freeze, 0, {"items": 3}, "it does not say what line"),
        (Freeze, 2, {"freeze": "0" * 64}, "rounds/0003/freeze.dsse.json: was changed"),
        (Void, 0, {"commitment": "0" * 64}, "item 'p0001' has not the commitment of line"),
        (Void, 0, {"item": "nobody"}, "void of item 'nobody', which has no row"),
        (BatchCommit, 0, {"items": 5}, "batch 'b1' has 12 items; line 3 of the ledger sealed 5"),
        (BatchCommit, 0, {"batch": "b9"}, "of batch 'b1', which the ledger does not know"),
        (BatchCommit, 0, {"root": "0" * 64}, "the rows of batch 'b1' are not those that line 3"),
    ],
)
def test_a_line_that_was_changed_by_who_holds_the_key_is_named(
    kind: type, nth: int, changes: dict[str, object], says: str, play: Stage
) -> None:
    rewrite(play, changed(kind, nth, **changes))
    assert says in said(play.audit())


@pytest.fixture
def corrected(tmp_path: Path) -> Stage:
    """Four items, one of them corrected and neither opened."""
    play = stage(tmp_path)
    play.add(items(4), "b1")
    play.supersede("p0000", private("p0000b", cell=CELLS[0]))
    assert play.audit().findings == ()
    return play


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"by_commitment": "0" * 64}, "item 'p0000b' has not the commitment of line 4"),
        ({"commitment": "0" * 64}, "item 'p0000' has not the commitment of line 4"),
        ({"by": "nobody"}, "item 'nobody', of line 4 of the ledger, has no row"),
    ],
)
def test_a_correction_that_is_not_the_logged_one_is_named(
    changes: dict[str, object], says: str, corrected: Stage
) -> None:
    rewrite(corrected, changed(Supersede, 0, **changes))
    assert says in said(corrected.audit())


def test_a_correction_that_moves_to_another_cell_is_named(corrected: Stage) -> None:
    rows = [
        msgspec.structs.replace(row, cell=CELLS[1]) if row.id == "p0000b" else row
        for row in corrected.public.rows
    ]
    corrected.public.commitments.write_bytes(rows_bytes(rows))
    assert "item 'p0000b' corrects 'p0000', and is of another cell, batch or group" in said(corrected.audit())


def test_two_items_with_one_commitment_and_an_unsorted_file_are_named(corrected: Stage) -> None:
    rows = list(corrected.public.rows)
    twin = msgspec.structs.replace(rows[1], commitment=rows[2].commitment)
    corrected.public.commitments.write_bytes(lines_bytes([*rows[2:], twin, rows[0]]))
    found = said(corrected.audit())
    assert "have one commitment" in found
    assert "is not sorted by id" in found


def forgetful(play: Stage) -> None:
    """The vault as an insider makes it, who rewrites the ledger: it saw none before."""
    with play.vault() as vault:
        vault.index = msgspec.structs.replace(vault.index, ledger=None)
        with vault.change() as change:
            change.keep("nothing", b"")


def test_an_item_replaced_after_the_freeze_by_hand_is_told_with_its_correction(corrected: Stage) -> None:
    path = ledger_path(corrected.registry)
    (replaced,) = (line.event for line in ledgers.read(path).lines if isinstance(line.event, Supersede))
    rewrite(corrected, lambda _, event: None if event == replaced else event)
    rows = corrected.public.rows
    corrected.public.commitments.write_bytes(rows_bytes([row for row in rows if row.id != "p0000b"]))
    forgetful(corrected)
    corrected.freeze()
    ledgers.append(path, replaced, at=instant(corrected.now), signer=corrected.key)
    corrected.public.commitments.write_bytes(rows_bytes(rows))
    what = "were replaced after its freeze, which holds none of the corrections: p0000 by p0000b"
    assert f"exemplo/1: items (1) {what}" in corrected.audit().notes
