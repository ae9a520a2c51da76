"""The draw can be repeated by anybody, keeps its quotas, and favours no item (SPEC L2, L3)."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from fractions import Fraction
from math import ceil, floor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lacre.draw import Drawn, Ticket, draw, seed_of
from lacre.errors import InputError

HALF = Fraction(1, 2)
SHARES = st.sampled_from([Fraction(2, 5), HALF, Fraction(0), Fraction(1), Fraction(1, 3)])
# A busy machine is no reason to fail.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
SEEDS = st.binary(min_size=32, max_size=32)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@st.composite
def tickets(draw_: st.DrawFn, *, must: bool = False, groups: bool = False) -> list[Ticket]:
    size = draw_(st.integers(0, 60))
    cells = draw_(st.integers(1, 8))
    made = []
    for number in range(size):
        made.append(
            Ticket(
                commitment=digest(f"{number}"),
                cell=f"cell={draw_(st.integers(1, cells))}",
                group=draw_(st.sampled_from([None, None, "p1", "p2", "p3"])) if groups else None,
                age=draw_(st.integers(0, 4)) if must else 0,
                must=draw_(st.sampled_from([None, None, None, "leak", "defect"])) if must else None,
            )
        )
    return made


def by_cell(items: list[Ticket], drawn: Drawn) -> dict[str, tuple[int, int, int]]:
    """Items, forced and opened in each cell, counted anew from the commitments."""
    number = Counter(t.cell for t in items)
    forced = Counter(t.cell for t in items if t.commitment in drawn.forced)
    opened = Counter(t.cell for t in items if t.commitment in drawn.opens)
    return {cell: (number[cell], forced[cell], opened[cell]) for cell in number}


def test_the_golden_vector_for_other_implementations() -> None:
    items = [
        Ticket(commitment=hashlib.sha256(b"item%d" % n).hexdigest(), cell=f"cell{n % 3}") for n in range(10)
    ]
    opens = draw(items, bytes(32), HALF).opens
    assert digest("\n".join(opens)) == "016958ce765c8c2e8d79bd8a3c91670064f16460aa7ebaaa7999ea8b39171a14"


def test_the_seed_is_what_sha256sum_says() -> None:
    head = "ab" * 32
    written = b"LACRE-DRAW-v1\0" + b"exemplo/3" + b"\0" + bytes([0xAB]) * 32 + b"\x07\x08"
    assert seed_of("exemplo/3", head, b"\x07\x08") == hashlib.sha256(written).digest()


@CALM
@given(tickets(), SEEDS, SHARES)
def test_each_cell_and_the_whole_open_the_floor_or_the_ceiling(
    items: list[Ticket], seed: bytes, share: Fraction
) -> None:
    drawn = draw(items, seed, share)
    for number, _, opened in by_cell(items, drawn).values():
        assert floor(share * number) <= opened <= ceil(share * number)
    assert floor(share * len(items)) <= len(drawn.opens) <= ceil(share * len(items))


@CALM
@given(tickets(must=True, groups=True), SEEDS, SHARES, st.randoms())
def test_the_order_of_the_tickets_does_not_matter(
    items: list[Ticket], seed: bytes, share: Fraction, shuffler: random.Random
) -> None:
    first = draw(items, seed, share, age_cap=3)
    shuffled = list(items)
    shuffler.shuffle(shuffled)
    assert draw(shuffled, seed, share, age_cap=3) == first


@CALM
@given(tickets(must=True), SEEDS, SHARES)
def test_what_must_open_opens_and_counts_against_the_quota(
    items: list[Ticket], seed: bytes, share: Fraction
) -> None:
    drawn = draw(items, seed, share, age_cap=3)
    assert set(drawn.forced) == {t.commitment for t in items if t.must is not None or t.age >= 3}
    assert set(drawn.forced) <= set(drawn.opens)
    for number, forced, opened in by_cell(items, drawn).values():
        assert opened in {max(forced, floor(share * number)), max(forced, ceil(share * number))}


@CALM
@given(tickets(must=True, groups=True), SEEDS, SHARES)
def test_items_of_one_passage_share_their_fate(items: list[Ticket], seed: bytes, share: Fraction) -> None:
    drawn = draw(items, seed, share, age_cap=3)
    for group in ("p1", "p2", "p3"):
        fates = {t.commitment in drawn.opens for t in items if t.group == group}
        assert len(fates) <= 1


@CALM
@given(tickets(must=True, groups=True), SEEDS, SHARES)
def test_a_cell_leaves_its_quota_only_where_no_single_item_could_restore_it(
    items: list[Ticket], seed: bytes, share: Fraction
) -> None:
    drawn = draw(items, seed, share, age_cap=3)
    for cell in drawn.cells:
        if cell.opens > ceil(cell.quota):
            assert cell.drawn == 0
        if cell.opens < floor(cell.quota):
            sizes = Counter(t.group for t in items)
            staying = [t for t in items if t.cell == cell.cell and t.commitment not in drawn.opens]
            assert all(t.group is not None and sizes[t.group] > 1 for t in staying)


@CALM
@given(tickets(must=True, groups=True), SEEDS, SHARES)
def test_the_counts_of_the_cells_are_those_of_the_items(
    items: list[Ticket], seed: bytes, share: Fraction
) -> None:
    drawn = draw(items, seed, share, age_cap=3)
    counted = by_cell(items, drawn)
    assert {c.cell: (c.items, c.forced, c.opens) for c in drawn.cells} == counted
    assert all(c.stays == c.items - c.opens and c.carry == c.opens - share * c.items for c in drawn.cells)
    assert list(drawn.opens) == sorted(set(drawn.opens))


@pytest.mark.parametrize(
    ("share", "sizes"), [(HALF, [1] * 7), (Fraction(2, 5), [1, 2, 3, 6]), (HALF, [3, 5, 1])]
)
def test_every_item_has_the_same_chance(share: Fraction, sizes: list[int]) -> None:
    items = [
        Ticket(commitment=digest(f"{cell}.{n}"), cell=f"cell={cell}")
        for cell, size in enumerate(sizes)
        for n in range(size)
    ]
    times = 1000
    opened: Counter[str] = Counter()
    for number in range(times):
        opened.update(draw(items, hashlib.sha256(b"%d" % number).digest(), share).opens)
    # Five standard deviations of a proportion: the seeds are fixed, so this never flickers.
    margin = 5 * (float(share) * (1 - float(share)) / times) ** 0.5
    assert all(abs(opened[t.commitment] / times - share) < margin for t in items)


def test_every_item_has_the_same_chance_when_some_share_passages() -> None:
    groups = {0: "a", 1: "a", 2: "b", 3: "b", 4: "b", 5: "c", 6: "c"}
    items = [Ticket(commitment=digest(f"{n}"), cell=f"cell={n % 2}", group=groups.get(n)) for n in range(24)]
    times = 1000
    opened: Counter[str] = Counter()
    for number in range(times):
        opened.update(draw(items, hashlib.sha256(b"%d" % number).digest(), HALF).opens)
    margin = 5 * (0.25 / times) ** 0.5
    assert all(abs(opened[t.commitment] / times - 0.5) < margin for t in items)


@pytest.mark.parametrize(
    ("what", "items", "opens"),
    [
        ("nothing at all", [], 0),
        ("one cell of one item that must open", [("a", "leak", 0)], 1),
        ("all of a cell must open", [("a", "leak", 0)] * 4, 4),
        ("three of four must open", [("a", "leak", 0)] * 3 + [("a", None, 0)], 3),
        ("one of four at the cap", [("a", None, 3)] + [("a", None, 0)] * 3, 2),
        ("more than half at the cap", [("a", None, 3)] * 3 + [("a", None, 1)] * 2, 3),
        ("older than the cap", [("a", None, 9)] * 2, 2),
    ],
)
def test_named_cases_of_a_half(what: str, items: list[tuple[str, str | None, int]], opens: int) -> None:
    made = [
        Ticket(commitment=digest(f"{n}"), cell=cell, must=must, age=age)
        for n, (cell, must, age) in enumerate(items)
    ]
    assert len(draw(made, bytes(32), HALF, age_cap=3).opens) == opens


def test_reasons_are_named_and_a_passage_follows_its_item() -> None:
    items = [
        Ticket(commitment="1" * 64, cell="a", must="leak", group="p"),
        Ticket(commitment="2" * 64, cell="b", group="p"),
        Ticket(commitment="3" * 64, cell="a", age=3),
        Ticket(commitment="4" * 64, cell="b"),
    ]
    drawn = draw(items, bytes(32), Fraction(0), age_cap=3)
    assert drawn.forced == {"1" * 64: "leak", "2" * 64: "passage", "3" * 64: "age"}
    assert drawn.opens == tuple(drawn.forced)


@pytest.mark.parametrize("share", [Fraction(-1, 2), Fraction(3, 2)])
def test_a_share_that_is_none_is_refused(share: Fraction) -> None:
    with pytest.raises(InputError, match="not between 0 and 1"):
        draw([], bytes(32), share)


def test_an_item_given_twice_is_refused() -> None:
    twice = Ticket(commitment="1" * 64, cell="a")
    with pytest.raises(InputError, match="comes twice"):
        draw([twice, twice], bytes(32), HALF)
