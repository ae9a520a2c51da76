"""Insiders who hold the key and know the program: what they steer is refused, or named, or counted in public."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from tests.rotation.making import BEGIN, CELLS, CORPUS, Stage, items, lottery, stage
from tests.rotation.test_audit import changed, rewrite, said, stamped_at
from tests.sealing.making import private

from lacre import jsonl
from lacre.digest import sha256
from lacre.errors import InputError, IntegrityError, LacreError
from lacre.registry import ledger as ledgers
from lacre.registry.events import Event, Freeze, Open, Supersede, Void
from lacre.registry.items import Item
from lacre.rotation.audit import audit
from lacre.rotation.beacon import LotteryDraw, Source, instant, named
from lacre.rotation.public import ledger_path
from lacre.rotation.records import FREEZE_FILE, STAMP_FILE
from lacre.rotation.standing import Noted, read_witness
from lacre.rotation.steps import freeze_round, waive_items
from lacre.sealing.batches import rows_bytes
from lacre.sealing.commitments import Row
from lacre.sealing.keys import SigningKey, key_from


@pytest.fixture
def play(tmp_path: Path) -> Stage:
    play = stage(tmp_path)
    play.add(items(12), "b1")
    return play


def frozen_for(play: Stage, source: Source, signer: SigningKey | None = None) -> str:
    """Freeze for some randomness, and give the hash of the file."""
    if play.public.history.closed:
        play.vet(play.public.private)
    with play.vault() as vault:
        frozen = freeze_round(
            vault,
            play.root,
            "exemplo",
            play.rules,
            source,
            now=play.now,
            required=[CORPUS],
            signer=signer or play.key,
        )
    return sha256((play.public.folder(frozen.number) / FREEZE_FILE).read_bytes())


def add_line(play: Stage, event: Event) -> None:
    """A signed line that no command would write."""
    ledgers.append(ledger_path(play.registry), event, at=instant(play.now), signer=play.key)


def replaced(play: Stage, old: str, new: str) -> Row:
    """A correction that was made without any check: its row, its line, its text in the vault."""
    public = play.public
    known = {row.id: row for row in public.rows}
    before = known[old]
    if new not in known:
        with play.vault() as vault, vault.change(play.root) as change:
            (row,) = change.add([private(new, cell=before.cell)], before.batch).rows
            change.publish("registry/exemplo/private/commitments.jsonl", rows_bytes([*public.rows, row]))
        known[new] = row
    add_line(
        play,
        Supersede(
            benchmark="exemplo",
            item=old,
            commitment=before.commitment,
            by=new,
            by_commitment=known[new].commitment,
            reason="x",
        ),
    )
    play.vet([known[new]])
    return known[new]


def refused(play: Stage, says: str) -> None:
    """Nothing is frozen on what the audit objects to, and nothing changes."""
    before = ledger_path(play.registry).read_bytes()
    with pytest.raises(LacreError, match=says):
        play.freeze()
    assert ledger_path(play.registry).read_bytes() == before


def test_corrections_in_a_circle_are_named_and_nothing_is_built_on_them(play: Stage) -> None:
    play.supersede("p0000", private("q1", cell=CELLS[0]))
    replaced(play, "q1", "q2")
    replaced(play, "q2", "q1")
    assert "line 6: item 'q1' is no new one: the corrections go in a circle" in said(play.audit())
    refused(play, "the corrections go in a circle")


def test_an_item_that_is_replaced_again_and_the_items_smuggled_in_by_it_are_named(play: Stage) -> None:
    play.supersede("p0000", private("q1", cell=CELLS[0]))
    replaced(play, "p0000", "q2")
    assert "line 5: item 'p0000' is replaced again; line 4 replaced it already" in said(play.audit())
    refused(play, "is replaced again")


def test_one_correction_of_two_items_is_named(play: Stage) -> None:
    play.supersede("p0000", private("q1", cell=CELLS[0]))
    replaced(play, "p0004", "q1")
    assert "line 5: item 'q1' corrects another again; line 4 made it already" in said(play.audit())


def test_a_void_item_that_is_replaced_is_named(play: Stage) -> None:
    play.void(["p0000"])
    replaced(play, "p0000", "q1")
    assert "line 5: item 'p0000' is replaced, and line 4 made it void" in said(play.audit())


def test_an_opened_item_that_comes_back_as_a_correction_is_named(play: Stage) -> None:
    play.freeze()
    play.close()
    opened = play.public.openings(1)[0]
    old = play.public.rows[0]
    event = Supersede(
        benchmark="exemplo",
        item=old.id,
        commitment=old.commitment,
        by=opened.id,
        by_commitment=opened.commitment,
        reason="x",
    )
    add_line(play, event)
    assert f"item '{opened.id}' is no new one: line" in said(play.audit())


PASSAGE = "Um texto comum que os dois itens citam por inteiro, e que tem palavras de sobra para ser passagem."


def test_a_correction_stays_in_the_group_of_what_it_corrects(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(
        items(8, passages={0: PASSAGE, 4: PASSAGE, 2: "Outro trecho, de outro lugar, sobre outra coisa."}),
        "b1",
    )
    groups = {row.id: row.group for row in play.public.rows if row.group}
    assert groups == {"p0000": "p0000", "p0004": "p0000", "p0002": "p0002"}
    comma = private("q4", cell=CELLS[0], passage=PASSAGE.replace("texto", "excerto"))
    assert play.supersede("p0004", comma).group == "p0000"
    assert play.supersede("p0002", private("q2", cell=CELLS[2])).group == "p0002"
    with pytest.raises(
        InputError, match="'q1': quotes another passage than 'p0001', with which other items go"
    ):
        play.supersede("p0001", private("q1", cell=CELLS[1], passage="Um trecho que ninguém mais cita."))
    with pytest.raises(InputError, match="quotes another passage than 'q2'"):
        play.supersede("q2", private("q9", cell=CELLS[2], passage=PASSAGE))
    play.freeze()
    play.close()
    assert play.audit().findings == ()


def test_a_key_that_the_ledger_does_not_know_freezes_nothing(play: Stage) -> None:
    source = LotteryDraw(draw=101, due=instant(play.now + timedelta(hours=24)))
    before = ledger_path(play.registry).read_bytes()
    with pytest.raises(InputError, match="this ledger does not know it"):
        frozen_for(play, source, key_from(bytes([1]) * 32))
    assert ledger_path(play.registry).read_bytes() == before
    assert not play.public.folder(1).exists()


def test_an_unsigned_line_is_obeyed_by_nobody(play: Stage) -> None:
    path = ledger_path(play.registry)
    row = play.public.rows[3]
    void = Void(benchmark="exemplo", item=row.id, commitment=row.commitment, reason="forged")
    path.write_bytes(ledgers.chained(ledgers.read(path), [void], at=instant(play.now)).content)
    for step in (play.audit, play.freeze, lambda: play.void(["p0000"])):
        with pytest.raises(IntegrityError, match=r"ledger.jsonl:4: is a void that nobody signed"):
            step()


def test_an_unsigned_opening_outside_a_closing_is_named_and_built_on_by_nobody(play: Stage) -> None:
    row = play.public.rows[3]
    opened = Open(benchmark="exemplo", round="exemplo/1", item=row.id, commitment=row.commitment, why="draw")
    ledgers.append(ledger_path(play.registry), opened, at=instant(play.now))
    assert "line 4 opens item 'p0003' outside exemplo/1" in said(play.audit())
    refused(play, "opens item 'p0003' outside exemplo/1")


def test_randomness_that_decided_a_closing_decides_no_other(play: Stage) -> None:
    play.freeze()
    play.close()
    play.draws -= 1
    refused(
        play, "draw 101 of the Loteria Federal: may be known already: line 4 of the ledger froze exemplo/1"
    )
    play.draws += 1
    play.freeze()
    rewrite(play, changed(Freeze, 1, beacon="draw 101 of the Loteria Federal"))
    what = "freezes it for draw 101 of the Loteria Federal, which could be known: line 4 of the ledger froze exemplo/1"
    assert what in said(play.audit())


def test_randomness_that_another_benchmark_drew_with_is_known(play: Stage) -> None:
    play.freeze()
    play.close()
    public = play.public
    other = msgspec.structs.replace(
        public.history.freezes[0].event, benchmark="outro", round="outro/1", freeze="1" * 64
    )
    other = msgspec.structs.replace(other, beacon="draw 102 of the Loteria Federal")
    add_line(play, other)
    frozen_only = play.public
    split = msgspec.structs.replace(
        public.history.splits[0].event, benchmark="outro", round="outro/1", freeze="1" * 64
    )
    add_line(play, split)
    refused(
        play,
        "draw 102 of the Loteria Federal: may be known already: line [0-9]+ of the ledger carried out outro/1",
    )
    assert frozen_only.ledger.size + 1 == play.public.ledger.size


def stamps(play: Stage, *numbers: int) -> None:
    for number in numbers:
        (play.public.folder(number) / STAMP_FILE).write_bytes(b"stamp")


def test_only_what_was_noted_before_the_hour_is_called_shown_and_never_a_lottery(play: Stage) -> None:
    play.freeze()
    digest = sha256((play.public.folder(1) / FREEZE_FILE).read_bytes())
    copy = ledger_path(play.registry).read_bytes()
    play.close()
    stamps(play, 1)
    for noted in (Noted(published=(digest,)), Noted(witnesses=(("copy", copy),))):
        (first,) = play.audit(noted=noted, stamped=stamped_at(BEGIN)).rounds
        assert first.standing == "noted"
        assert (
            "still to check: that draw 101 of the Loteria Federal took place after you noted it" in first.why
        )


def test_a_copy_that_was_taken_after_the_draw_vouches_for_nothing(play: Stage) -> None:
    play.freeze()
    play.close()
    copy = ledger_path(play.registry).read_bytes()
    assert play.audit(noted=Noted(witnesses=(("copy", copy),))).rounds[0].standing == "repeatable"


def test_a_freeze_that_took_the_place_of_the_noted_one_is_named(play: Stage, tmp_path: Path) -> None:
    play.freeze()
    copy = ledger_path(play.registry).read_bytes()
    assert "no line freezes 0000" in said(play.audit(noted=Noted(published=("0" * 64,))))
    rewrite(play, changed(Freeze, 0, due="2026-12-02T13:00:00Z"))
    found = said(play.audit(noted=Noted(witnesses=(("copy", copy),))))
    assert "registry/ledger.jsonl: line 4 is not what it was, by the copy copy" in found
    assert read_witness(play.registry) == read_witness(play.root) == read_witness(ledger_path(play.registry))
    with pytest.raises(InputError, match="holds no ledger"):
        read_witness(tmp_path / "nowhere")


def drand_round(play: Stage) -> tuple[Stage, str, bytes]:
    """A closing frozen for a round of drand, whose signature was made up."""
    source = named("drand:quicknet", play.now + timedelta(hours=2))
    digest = frozen_for(play, source)
    assert not isinstance(source, LotteryDraw)
    return play, digest, json.dumps({"round": source.round, "signature": "00" * 48}).encode()


def test_a_drand_round_whose_signature_was_not_checked_is_never_called_shown(
    play: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    play, digest, forged = drand_round(play)
    with monkeypatch.context() as without:
        for name in [name for name in sys.modules if name.partition(".")[0] == "py_ecc"]:
            without.setitem(sys.modules, name, None)
        without.setitem(sys.modules, "py_ecc", None)
        play.close(forged)
        (first,) = play.audit(noted=Noted(published=(digest,))).rounds
    assert first.standing == "noted"
    assert "still to check" in first.why
    assert play.audit(noted=Noted(published=(digest,))).rounds[0].standing == "failed"


def test_a_draw_that_nobody_carries_out_is_noted_and_then_named(play: Stage) -> None:
    play.freeze(hours=1)
    what = "its randomness is out since 2026-12-01T13:00:00Z, and the draw is not carried out"
    assert not any("carried out" in note for note in play.audit().notes)
    play.now += timedelta(days=2)
    found = play.audit()
    assert f"exemplo/1: {what}" in found.notes
    assert found.findings == ()
    play.now += timedelta(days=14)
    found = play.audit()
    assert f"exemplo/1 registry/exemplo/rounds/0001: {what}; the rules give it 14 days" in said(found)
    assert found.rounds[0].standing == "failed"


def test_people_who_decide_a_draw_by_what_they_force_are_counted_in_public(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(40), "b1")
    play.freeze(forced={f"p{n:04d}": "leak" for n in range(16)})
    play.close()
    found = play.audit()
    assert found.findings == ()
    assert found.rounds[0].forced == 16
    assert (
        "exemplo/1: 16 of 40 items (40%) were made to open whatever the draw said: 16 for leak" in found.notes
    )
    assert any("in 4 of 4 cells what was made to open fills all that opens" in note for note in found.notes)


def test_items_that_stand_by_a_waiver_are_counted_in_public(play: Stage) -> None:
    play.vet(play.public.private, verdict="drop")
    with play.vault() as vault:
        waive_items(
            vault,
            play.root,
            "exemplo",
            items=[row.id for row in play.public.private],
            corpora=[],
            who="Ana",
            reason="x",
            now=play.now,
            signer=play.key,
        )
    play.freeze()
    play.close()
    found = play.audit()
    assert found.rounds[0].waived == 12
    assert any(
        "12 of 12 items (100%) were not kept by vetting, and stand by a waiver" in n for n in found.notes
    )


def with_words(item: Item, id: str, stem: str | None = None) -> Item:
    """A private item with the text of another."""
    payload = item.payload if stem is None else msgspec.structs.replace(item.payload, stem=stem)
    return private(id, cell=item.cell, payload=payload)


def test_a_text_that_is_public_is_sealed_corrected_and_frozen_by_nobody(play: Stage) -> None:
    play.freeze()
    play.close()
    (opened, *_) = jsonl.read(play.registry / "exemplo/open/closing-0001.jsonl", Item)
    left = play.public.private[0]
    louder = opened.payload.stem.upper().replace("?", " ?!")
    for new in (with_words(opened, "zz"), with_words(opened, "zz", louder)):
        with pytest.raises(
            LacreError, match=f"item 'zz': is public: it is the same as item '{opened.id}' of exemplo"
        ):
            play.add([new], "b2")
        with pytest.raises(LacreError, match="is public"):
            play.supersede(left.id, msgspec.structs.replace(new, cell=left.cell))
    assert "zz" not in {row.id for row in play.public.rows}
    with play.vault() as vault:
        text = vault.sealed(left.id).item
    official = play.registry / "exemplo/official/prova.jsonl"
    jsonl.write(official, [msgspec.structs.replace(text, id="of-1", layer="official")])
    refused(
        play, f"item '{left.id}': is public: it is the same as item 'of-1' of exemplo/official/prova.jsonl"
    )
    play.void([left.id])
    play.freeze()


@pytest.mark.parametrize(
    "edit",
    [
        lambda row: msgspec.structs.replace(row, cell=CELLS[1]),
        lambda row: msgspec.structs.replace(row, batch="b2"),
        lambda row: msgspec.structs.replace(row, group="g"),
        lambda row: msgspec.structs.replace(row, commitment="0" * 64),
    ],
    ids=["cell", "batch", "group", "commitment"],
)
def test_a_row_that_is_not_the_frozen_one_opens_nothing(edit, play: Stage) -> None:  # type: ignore[no-untyped-def]
    play.freeze()
    rows = [edit(row) if row.id == "p0000" else row for row in play.public.rows]
    play.public.commitments.write_bytes(rows_bytes(rows))
    before = {path: path.read_bytes() for path in play.root.rglob("*") if path.is_file()}
    with pytest.raises(IntegrityError, match=r"item 'p0000'"):
        play.close()
    assert {path: path.read_bytes() for path in play.root.rglob("*") if path.is_file()} == before
    with play.vault() as vault:
        assert len(vault.rows()) == 12


@pytest.mark.parametrize(("name", "value"), [("layer", "official"), ("benchmark", "outro"), ("id", "other")])
def test_an_open_item_under_another_name_is_named(name: str, value: str, play: Stage) -> None:
    play.freeze()
    play.close()
    path = play.registry / "exemplo/open/closing-0001.jsonl"
    first, *rest = path.read_text().splitlines(keepends=True)
    path.write_text("".join([json.dumps(json.loads(first) | {name: value}) + "\n", *rest]))
    assert "registry/exemplo/open/closing-0001.jsonl: item" in said(play.audit())


def test_a_stamp_that_was_not_looked_at_proves_nothing(play: Stage) -> None:
    play.freeze()
    play.close(lottery(101))
    stamps(play, 1)
    found = audit(play.registry, "exemplo", play.rules, at=play.now)
    assert found.rounds[0].standing == "repeatable"
    assert "was not checked" in found.rounds[0].why
