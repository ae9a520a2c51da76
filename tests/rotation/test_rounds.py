"""A benchmark's rounds from the first batch on: frozen, split, rotated, and audited by anybody (SPEC L2, L3)."""

from __future__ import annotations

import shutil
from datetime import timedelta
from fractions import Fraction
from math import ceil, floor
from pathlib import Path

import msgspec
import pytest
from tests.rotation.making import CELLS, CORPUS, files, items, lottery, stage
from tests.sealing.making import private

from lacre.errors import IncompleteError, InputError, RecordError
from lacre.registry import ledger as ledgers
from lacre.registry.events import Waiver
from lacre.registry.workspace import Workspace
from lacre.rotation.audit import audit
from lacre.rotation.beacon import LotteryDraw, instant
from lacre.rotation.freeze import freeze
from lacre.rotation.steps import freeze_round


def test_a_year_and_a_half_of_rounds_and_an_outsider_who_repeats_them(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(120), "2026-2")
    play.freeze()
    first = play.close()
    assert (first.opens, first.stays) == (48, 72)
    assert all(cell.opens == 12 for cell in first.cells)
    for number, batch in ((2, "2027-1"), (3, "2027-2")):
        frozen = play.freeze()
        play.add(items(36, prefix=f"r{number}-"), batch)
        record = play.close()
        assert record.opens == 36
        assert len(frozen.items) == 72
        assert len(play.public.rows) == 72

    outside = tmp_path / "outside"
    shutil.copytree(play.registry, outside / "registry")
    shutil.rmtree(play.vault_folder)
    found = audit(outside / "registry", "exemplo", play.rules, at=play.now, key=play.key.fingerprint)
    assert found.findings == ()
    assert [(r.round, r.standing, r.opened) for r in found.rounds] == [
        ("exemplo/1", "repeatable", 48),
        ("exemplo/2", "repeatable", 36),
        ("exemplo/3", "repeatable", 36),
    ]
    assert all("not shown unsteered" in r.why for r in found.rounds)


def test_what_opens_leaves_the_vault_and_joins_the_open_layer(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(10), "b1")
    before = {row.id: row for row in play.public.rows}
    play.freeze()
    play.close()
    opened = {o.id for o in play.public.openings(1)}
    assert len(opened) == 4
    with play.vault() as vault:
        assert {row.id for row in vault.rows()} == set(before) - opened == {r.id for r in play.public.rows}
    (play.registry / "exemplo/matrix.toml").write_text(MATRIX)
    public = Workspace(play.root).items("exemplo")
    assert {item.id for item in public} == opened
    assert {item.layer for item in public} == {"open"}


MATRIX = """\
[axes]
area = ["direito", "saude"]
difficulty = ["dificil", "facil"]
""" + "".join(
    f'[[cells]]\narea = "{c["area"]}"\ndifficulty = "{c["difficulty"]}"\nshare = "0.25"\n' for c in CELLS
)


def test_the_same_call_again_changes_no_byte(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(11), "b1")
    play.freeze()
    record = play.close()
    before = files(tmp_path)
    assert play.close(lottery(play.draws)) == record
    assert files(tmp_path) == before


def test_two_machines_write_the_same_bytes(tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        play = stage(tmp_path / name)
        play.add(items(23), "b1")
        play.freeze(forced={"p0003": "leak"})
        play.close()
        found.append(files(play.registry))
    assert found[0] == found[1]


def test_randomness_that_is_due_is_refused(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(3), "b1")
    with pytest.raises(InputError, match="is due since 2026-12-01T12:00:00Z, so it could be known"):
        play.freeze(hours=0)


def test_a_closing_is_frozen_once(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(3), "b1")
    play.freeze()
    with pytest.raises(InputError, match="exemplo/1: was frozen at 2026-12-01T12:00:00Z, for draw 101"):
        play.freeze()


def test_a_freeze_whose_randomness_never_came_is_given_up_in_public(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(6), "b1")
    with pytest.raises(InputError, match="no freeze waits to be given up"):
        play.freeze(again="o sorteio foi cancelado")
    play.freeze()
    play.now += timedelta(days=9)
    with pytest.raises(InputError, match="--again: is empty"):
        play.freeze(again="")
    play.freeze(again="o sorteio foi cancelado")
    play.close()
    found = play.audit()
    assert [(r.standing, r.opened) for r in found.rounds] == [("failed", len(play.public.openings(1)))]
    assert [f.what for f in found.findings] == [
        "it was frozen 2 times, on lines 4, 5: the draw could be picked among them"
    ]
    assert (play.public.folder(1) / "given-up-1.freeze.dsse.json").is_file()


def test_a_draw_waits_for_its_randomness(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(3), "b1")
    play.freeze(hours=48)
    with pytest.raises(
        IncompleteError, match="draw 101 of the Loteria Federal: is not out before 2026-12-03"
    ):
        play.close()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (lottery(102), "holds draw 102, frozen was 101"),
        (lottery(101, ["1"] * 5), "does not hold five tickets"),
        (lottery(101, ["012345"] * 4), "does not hold five tickets"),
        (b"{}", "missing required field `numero`"),
        (b"\xff", "--beacon-file"),
        (b"", "--beacon-file"),
    ],
)
def test_a_file_without_that_randomness_is_refused(content: bytes, said: str, tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(3), "b1")
    play.freeze()
    before = files(tmp_path)
    with pytest.raises(InputError, match=said):
        play.close(content or b" ")
    assert files(tmp_path) == before


def test_items_that_vetting_does_not_keep_are_refused_by_name(tmp_path: Path) -> None:
    play = stage(tmp_path)
    done = play.add(items(5), "b1", vetted=False)
    play.vet(done.rows[:2])
    play.vet(done.rows[2:3], "review")
    play.vet(done.rows[3:4], corpus="another")
    with pytest.raises(RecordError) as caught:
        play.freeze()
    said = str(caught.value).splitlines()
    assert len(said) == 3
    assert "commitments.jsonl:3: item 'p0002': review against corpus-a" in said[0]
    assert "item 'p0003': its present text was not vetted against corpus-a" in said[1]
    assert "item 'p0004'" in said[2]


def test_items_are_vetted_again_each_round(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(5), "b1")
    play.freeze()
    play.close()
    source = LotteryDraw(draw=1, due=instant(play.now + timedelta(days=1)))
    with (
        play.vault() as vault,
        pytest.raises(RecordError, match="was not vetted against corpus-a in this round"),
    ):
        freeze_round(
            vault,
            play.root,
            "exemplo",
            play.rules,
            source,
            now=play.now,
            required=[CORPUS],
            signer=play.key,
        )
    assert len(play.freeze().items) == 3


def test_a_waiver_in_the_ledger_stands_in_for_keep(tmp_path: Path) -> None:
    play = stage(tmp_path)
    done = play.add(items(2), "b1", vetted=False)
    play.vet(done.rows[:1])
    play.vet(done.rows[1:], "drop")
    waiver = Waiver(
        benchmark="exemplo",
        item=done.rows[1].id,
        digest=done.rows[1].commitment,
        verdict="drop",
        who="revisão",
        reason="citação da lei",
        corpora=(CORPUS,),
    )
    ledgers.append(play.registry / "ledger.jsonl", waiver, at=instant(play.now))  # nobody signed it
    with pytest.raises(RecordError, match="item 'p0001': drop against corpus-a"):
        play.freeze()
    ledgers.append(play.registry / "ledger.jsonl", waiver, at=instant(play.now), signer=play.key)
    assert play.freeze().waived == ("p0001",)
    assert play.audit().findings == ()


def test_a_benchmark_without_required_corpora_is_not_frozen(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(2), "b1")
    source = LotteryDraw(draw=1, due=instant(play.now + timedelta(days=1)))
    with pytest.raises(InputError, match="names no required corpora"):
        freeze(play.public, play.rules, source, now=play.now, required=[], checks={})


def test_nothing_to_freeze_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no private items to freeze"):
        stage(tmp_path).freeze()


def test_forced_items_open_and_what_is_no_item_is_refused(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(12), "b1")
    with pytest.raises(InputError, match="no private items: nobody"):
        play.freeze(forced={"nobody": "leak"})
    play.freeze(forced={"p0000": "leak", "p0004": "exposure", "p0008": "defect"})
    record = play.close()
    assert record.forced == {"defect": 1, "exposure": 1, "leak": 1}
    cell = next(c for c in record.cells if c.forced)
    assert (cell.items, cell.opens, cell.carry) == (3, 3, "9/5")
    whys = {o.id: o.why for o in play.public.openings(1)}
    assert (whys["p0000"], whys["p0004"], whys["p0008"]) == ("leak", "exposure", "defect")
    opened = (play.registry / "exemplo/open/closing-0001.jsonl").read_text()
    assert "p0000" in opened
    assert "p0008" not in opened
    assert play.audit().findings == ()


def test_what_is_carried_over_adds_up_over_the_rounds(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(12), "b1")
    play.freeze(forced={"p0000": "leak", "p0004": "leak"})
    first = play.close()
    play.freeze()
    second = play.close()
    for cell in second.cells:
        before = next(c for c in first.cells if c.cell == cell.cell)
        assert Fraction(second.carried[cell.cell]) == Fraction(before.carry) + Fraction(cell.carry)


def test_items_at_the_age_cap_open_whatever_the_draw_says(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(40), "b1")
    for _ in range(3):
        play.freeze()
        play.close()
    survivors = {row.id for row in play.public.rows}
    assert len(survivors) == 6  # 40, 24, 12, 6
    frozen = play.freeze()
    assert {item.age for item in frozen.items} == {3}
    assert play.close().forced == {"age": 6}
    assert play.public.rows == ()
    assert play.audit().findings == ()


def test_a_batch_that_comes_after_the_freeze_is_a_round_younger(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(10), "b1")
    play.freeze()
    play.add(items(10, prefix="q"), "b2")
    play.close()
    ages = {item.id[0]: item.age for item in play.freeze().items}
    assert ages == {"p": 1, "q": 0}


def test_items_of_one_passage_move_together(tmp_path: Path) -> None:
    play = stage(tmp_path)
    passages = dict.fromkeys(range(3), "O vento sul varre a restinga.") | dict.fromkeys(
        range(3, 9), "A maré de sizígia cobre o cais."
    )
    play.add(items(30, passages=passages), "b1")
    frozen = play.freeze()
    assert len({item.group for item in frozen.items if item.group}) == 2
    play.close()
    opened = {o.id for o in play.public.openings(1)}
    for group in (range(3), range(3, 9)):
        assert len({f"p{n:04d}" in opened for n in group}) == 1
    assert play.audit().findings == ()


def test_void_items_are_in_no_draw_and_open_at_the_next_closing(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(20), "b1")
    assert play.void(["p0001", "p0002"]) == 2
    frozen = play.freeze()
    assert len(frozen.items) == 18
    play.void(["p0003"])
    record = play.close()
    whys = {o.id: o.why for o in play.public.openings(1)}
    assert (whys["p0001"], whys["p0002"]) == ("void", "void")
    assert record.left == {"void": 2}
    opened = (play.registry / "exemplo/open/closing-0001.jsonl").read_text()
    assert not any(name in opened for name in ("p0001", "p0002", "p0003"))
    found = play.audit()
    assert found.findings == ()
    assert "exemplo/1: 2 of 20 items (10%) were made void before it" in found.notes
    late = "were made void after its freeze, when the draw could be known: p0003"
    assert f"exemplo/1: 1 of 20 items (5%) {late}" in found.notes


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        (["p0000", "p0000x"], "item 'p0000x' is no private item"),
        (["p0001"], "item 'p0001' is void already"),
    ],
)
def test_what_cannot_be_void_is_refused(ids: list[str], said: str, tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(5), "b1")
    play.void(["p0001"])
    before = files(play.registry)
    with pytest.raises(RecordError, match=said):
        play.void(ids)
    with pytest.raises(InputError, match="--reason"):
        play.void(["p0002"], " ")
    assert files(play.registry) == before


def test_a_corrected_item_keeps_cell_batch_and_age_and_the_old_one_opens_with_it(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(8), "b1")
    play.freeze()
    play.close()
    old = play.public.rows[0]
    new = private(f"{old.id}b", cell=old.cell)
    row = play.supersede(old.id, new)
    assert (row.cell, row.batch) == (old.cell, old.batch)
    before = files(tmp_path)
    assert play.supersede(old.id, new, vetted=False) == row
    assert files(tmp_path) == before
    frozen = play.freeze(forced={new.id: "leak"})
    assert [(left.id, left.why, left.after) for left in frozen.leaving] == [(old.id, "supersede", new.id)]
    assert next(item.age for item in frozen.items if item.id == new.id) == 1
    play.close()
    whys = {o.id: o.why for o in play.public.openings(2)}
    assert (whys[old.id], whys[new.id]) == ("supersede", "leak")
    assert play.audit().findings == ()


def test_an_old_version_stays_sealed_as_long_as_its_correction(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(1), "b1")
    play.supersede("p0000", private("p0000b", cell=CELLS[0]))
    play.supersede("p0000b", private("p0000c", cell=CELLS[0]))
    play.freeze()
    record = play.close()
    opened = {o.id for o in play.public.openings(1)} if record.opens else set()
    assert opened in (set(), {"p0000", "p0000b", "p0000c"})
    play.void([row.id for row in play.public.private])
    if not opened:
        play.add(items(1, prefix="q"), "b2")
        play.freeze()
        play.close()
        assert {o.id: o.why for o in play.public.openings(2)} | {"q0000": "x"} == {
            "p0000": "supersede",
            "p0000b": "supersede",
            "p0000c": "void",
            "q0000": "x",
        }
    assert play.audit().findings == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": "p0000"}, "has an id that is taken"),
        ({"id": "p0001"}, "has an id that is taken"),
        ({"cell": CELLS[1]}, "is of cell"),
        ({"benchmark": "outro"}, "is no private item of exemplo"),
        ({"layer": "open"}, "is no private item of exemplo"),
    ],
)
def test_a_correction_may_not_move_an_item(change: dict[str, object], said: str, tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(3), "b1")
    new = msgspec.structs.replace(private("new", cell=CELLS[0]), **change)
    with pytest.raises(InputError, match=said):
        play.supersede("p0000", new)


def test_reasons_that_are_published_are_one_line_and_quote_no_private_item(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(3), "b1")
    new = private("new", "Que barco voltou ontem de longe?", cell=CELLS[0])
    before = (play.root / "registry/ledger.jsonl").read_bytes()
    with pytest.raises(InputError, match=r"--reason: has characters .* \(U\+000A\)"):
        play.void(["p0001"], reason="duas respostas\ncertas")
    with pytest.raises(InputError, match=r"--reason: has characters .* \(U\+001B\)"):
        play.supersede("p0000", new, reason="\x1b[31m vírgula")
    with pytest.raises(InputError, match="--reason: quotes private item 'p0000'"):
        play.supersede("p0000", new, reason=f"dizia: {items(1)[0].payload.stem}")
    with pytest.raises(InputError, match="--reason: quotes the new text of a private item"):
        play.supersede("p0000", new, reason=f"diz agora: {new.payload.stem}")
    assert (play.root / "registry/ledger.jsonl").read_bytes() == before


def test_a_frozen_item_is_not_replaced(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(3), "b1")
    play.freeze()
    with pytest.raises(InputError, match="exemplo/1 is frozen"):
        play.supersede("p0000", private("new", cell=CELLS[0]))


def test_the_clock_may_not_go_backwards(tmp_path: Path) -> None:
    play = stage(tmp_path)
    play.add(items(3), "b1")
    play.now -= timedelta(hours=1)
    before = files(tmp_path)
    with pytest.raises(InputError, match="before the last line's"):
        play.freeze()
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("what", "count", "forced"),
    [
        ("one item", 1, 0),
        ("an odd number", 7, 0),
        ("one item in each cell", 4, 0),
        ("one forced of one", 1, 1),
        ("more than half forced", 8, 6),
        ("all forced", 5, 5),
    ],
)
def test_odd_sizes_keep_the_laws_of_floor_and_ceiling(
    what: str, count: int, forced: int, tmp_path: Path
) -> None:
    play = stage(tmp_path)
    play.add(items(count), "b1")
    play.freeze(forced={f"p{n:04d}": "leak" for n in range(forced)})
    record = play.close()
    for cell in record.cells:
        quota = Fraction(cell.quota)
        assert cell.opens in {max(cell.forced, floor(quota)), max(cell.forced, ceil(quota))}
    assert record.opens + record.stays == count
    assert play.audit().findings == ()
