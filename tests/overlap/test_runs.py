"""Runs: what is in common is found, exactly, wherever it stands; what is not, is not."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.overlap.building import (
    filler,
    found,
    index_of,
    item,
    longest_run,
    made_up,
    matched,
    overlaps,
)

from lacre.overlap.index import ItemIndex
from lacre.overlap.runs import Run
from lacre.overlap.sheets import Presented
from lacre.overlap.variants import VARIANTS, lost
from lacre.text import words

SEEDS = st.integers(0, 2**32)


def made_item(chance: random.Random, name: str) -> Presented:
    """An item of made-up words: perhaps a passage, a stem, options some of which are empty, an aside."""
    options = [" ".join(made_up(chance, chance.randint(0, 6))) for _ in range(chance.choice([0, 0, 4, 5]))]
    return item(
        " ".join(made_up(chance, chance.randint(13, 30))),
        options,
        name=name,
        passage=" ".join(made_up(chance, 20)) if chance.random() < 0.3 else None,
        asides=[" ".join(made_up(chance, 20))] if chance.random() < 0.3 else [],
    )


LETTERS: dict[str, Callable[[str], str]] = {
    "no letters": lambda _: "",
    "A)": lambda letter: f"{letter}) ",
    "(a)": lambda letter: f"({letter.lower()}) ",
    "AA": lambda letter: f"{letter}{letter} ",
}


def rendered(shown: Presented, first: int, last: int, style: Callable[[str], str]) -> str:
    """Presented words [first, last) of an item as a page would show them."""
    shows, at = "", 0
    for field in shown.fields:
        if field.letter and first < at < last:
            shows += style(field.letter)
        for word in field.text.split():
            shows += f"{word} " if first <= at < last else ""
            at += 1
    return shows.strip()


def size_of(shown: Presented) -> int:
    return sum(len(field.text.split()) for field in shown.fields if not field.aside)


def planted(
    seed: int, least: int, most: int, style: str = "no letters"
) -> tuple[ItemIndex, int, tuple[int, int], str, str]:
    """Items, and a document that holds one run of ``least`` to ``most`` words of one of them."""
    chance = random.Random(seed)
    items = [made_item(chance, f"i{k}") for k in range(chance.randint(1, 5))]
    which = chance.randrange(len(items))
    size = min(chance.randint(least, most), size_of(items[which]))
    first = chance.randint(0, size_of(items[which]) - size)
    run = rendered(items[which], first, first + size, LETTERS[style])
    document = f"{filler(chance)} {run} {filler(chance)}"
    return index_of(*items), which, (first, first + size), run, document


@pytest.mark.untraced
@pytest.mark.parametrize("style", ["no letters", "A)", "(a)"])
@given(seed=SEEDS)
@settings(max_examples=60, deadline=None)
def test_every_run_of_eight_words_is_found_exactly(style: str, seed: int) -> None:
    index, which, words_of_run, run, document = planted(seed, 8, 40, style)
    assert [(r.item, r.first, r.last, matched(document, r)) for r in overlaps(index, document)] == [
        (which, *words_of_run, run)
    ]


@given(seed=SEEDS)
@settings(max_examples=60, deadline=None)
def test_every_run_of_thirteen_words_is_found_behind_doubled_letters(seed: int) -> None:
    index, which, words_of_run, run, document = planted(seed, 13, 40, "AA")
    assert [(r.item, r.first, r.last, matched(document, r)) for r in overlaps(index, document)] == [
        (which, *words_of_run, run)
    ]


@given(seed=SEEDS)
@settings(max_examples=60, deadline=None)
def test_no_run_under_eight_words_is_found(seed: int) -> None:
    index, _, _, _, document = planted(seed, 1, 7)
    assert found(index, document) == []


@given(seed=SEEDS)
@settings(max_examples=40, deadline=None)
def test_a_changed_word_ends_a_run(seed: int) -> None:
    chance = random.Random(seed)
    written = made_up(chance, 40)
    wrong = chance.randrange(40)
    document = " ".join([*written[:wrong], "kwonk", *written[wrong + 1 :]])
    got = [(run.first, run.last) for run in overlaps(index_of(item(" ".join(written))), document)]
    assert got == [span for span in [(0, wrong), (wrong + 1, 40)] if span[1] - span[0] >= 8]


@pytest.mark.untraced
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.__name__)
@pytest.mark.parametrize("style", ["A)", "(a)"])
@given(seed=SEEDS)
@settings(max_examples=40, deadline=None)
def test_every_run_of_thirteen_words_is_found_in_a_variant(
    style: str, variant: Callable[[str], str], seed: int
) -> None:
    index, which, words_of_run, run, document = planted(seed, 13, 40, style)
    kept = "".join(character if character.isascii() else variant(character) for character in document)
    got = overlaps(index, kept)
    assert [(r.item, r.first, r.last) for r in got] == [(which, *words_of_run)]
    changed = "".join(character if character.isascii() else variant(character) for character in run)
    assert [w.folded for w in words(matched(kept, got[0]))] == [w.folded for w in words(changed)]


SHORT = ["é", "à", "às", "há", "só", "dá", "vê", "lê", "nós"]


@given(seed=SEEDS)
@settings(max_examples=100, deadline=None)
def test_runs_of_thirteen_are_found_though_words_that_are_one_accented_letter_are_lost(seed: int) -> None:
    chance = random.Random(seed)
    # Portuguese as written: every fourth word or so is short, and a few of those are a lone accented letter.
    written = [chance.choice(SHORT) if chance.random() < 0.3 else made_up(chance, 1)[0] for _ in range(40)]
    first = chance.randint(0, 27)
    plain = written[first : first + 13]
    document = (
        "kwonk " + " ".join("".join(c if c.isascii() else lost(c) for c in w) for w in plain) + " kwonk"
    )
    if sum(len(w) == 1 for w in plain) <= 3:
        got = overlaps(index_of(item(" ".join(written))), document)
        kept = [k for k, w in enumerate(plain) if not all(not c.isascii() for c in w)]
        assert len(got) == 1
        assert got[0].first <= first + kept[0]
        assert got[0].last >= first + kept[-1] + 1


@pytest.mark.parametrize(
    "wrong", ["{0}{1}", "{0}-\n{1}", "{0} {1}", "{0}- {1}", "{0}\u2011{1}", "{0}\u00ad{1}"]
)
@given(seed=SEEDS)
@settings(max_examples=30, deadline=None)
def test_a_compound_joined_or_split_does_not_hide_a_run_of_thirteen(wrong: str, seed: int) -> None:
    chance = random.Random(seed)
    written = made_up(chance, 30)
    at = chance.randint(0, 11)
    stem = (
        " ".join(written[: 9 + at]) + f" {written[9 + at]}-{written[10 + at]} " + " ".join(written[11 + at :])
    )
    shown = [*written[9 : 9 + at], wrong.format(written[9 + at], written[10 + at]), *written[11 + at : 22]]
    document = f"kwonk {' '.join(shown)} kwonk"
    got = overlaps(index_of(item(stem)), document)
    assert [(r.first, r.last) for r in got] == [(9, 22)]
    assert matched(document, got[0]) == " ".join(shown)


@pytest.mark.parametrize("right", ["{0}{1}", "{0} {1}"])
@given(seed=SEEDS)
@settings(max_examples=30, deadline=None)
def test_an_item_joined_by_a_line_break_is_found_joined_and_split(right: str, seed: int) -> None:
    chance = random.Random(seed)
    written = made_up(chance, 30)
    stem = " ".join(written[:15]) + f" {written[15]}-\n{written[16]} " + " ".join(written[17:])
    document = " ".join([*written[8:15], right.format(written[15], written[16]), *written[17:23]])
    assert [(r.first, r.last) for r in overlaps(index_of(item(stem)), document)] == [(8, 22)]


def test_two_compounds_near_each_other_may_both_be_joined() -> None:
    written = made_up(random.Random(1), 24)
    stem = [
        *written[:6],
        f"{written[6]}-{written[7]}",
        *written[8:12],
        f"{written[12]}-{written[13]}",
        *written[14:],
    ]
    document = " ".join(stem).replace("-", "")
    run = overlaps(index_of(item(" ".join(stem))), document)[0]
    assert run.last - run.first >= 13


def test_a_first_letter_cut_off_in_the_item_is_found_whole() -> None:
    written = made_up(random.Random(2), 20)
    item_text = f"e  {written[0][1:]} " + " ".join(written[1:])
    document = " ".join([f"e{written[0][1:]}", *written[1:]])
    assert [(r.first, r.last) for r in overlaps(index_of(item("x", [item_text])), document)] == [(1, 22)]


@pytest.mark.parametrize("count", [8, 13, 40])
def test_a_run_without_a_letter_never_counts(count: int) -> None:
    numbers = " ".join(str(k) for k in range(100, 100 + count))
    index = index_of(item(f"{' '.join(made_up(random.Random(3), 10))} {numbers}"))
    assert found(index, f"kwonk {numbers} kwonk") == []
    assert len(overlaps(index, f"{index.sheets.source(9)} {numbers}")) == 1


@pytest.mark.parametrize("size", range(5, 13))
def test_a_short_item_is_found_whole(size: int) -> None:
    written = made_up(random.Random(size), size)
    stem, options = " ".join(written[: size - 3]), written[size - 3 :]
    index = index_of(item(stem, options))
    shown = [
        " ".join(written),
        f"{stem} A) {options[0]} B) {options[1]} C) {options[2]}",
        f"{stem}\na. {options[0]};\nb. {options[1]};\nc. {options[2]}.",
    ]
    for document in shown:
        got = overlaps(index, f"kwonk {document} kwonk")
        assert [(r.first, r.last) for r in got] == [(0, size)], document


@pytest.mark.parametrize("size", range(5, 9))
def test_a_short_item_is_not_found_in_part(size: int) -> None:
    written = made_up(random.Random(size), size)
    index = index_of(item(" ".join(written)))
    assert overlaps(index, " ".join(written[1:])) == []
    assert overlaps(index, " ".join(written[:-1])) == []


def test_a_short_stem_is_found_though_all_its_options_are_images() -> None:
    for size in range(5, 9):
        written = " ".join(made_up(random.Random(size), size))
        index = index_of(item("x y z", name="before"), item(written, [""] * 5))
        for document in (written, f"kwonk {written} A) B) C) D) E) kwonk", f"{written} kwonk"):
            assert [(r.item, r.first, r.last) for r in overlaps(index, document)] == [(1, 0, size)]


EMPTY = {
    "before the words, with letters": ("", ["", "{all}"], "A) B) {all}", (0, 20)),
    "before the words, without": ("", ["", "{all}"], "{all}", (0, 20)),
    "two before the words": ("", ["", "", "{all}"], "A) B) C) {all}", (0, 20)),
    "behind the words": ("{all}", ["", "", ""], "{all} A) B) C)", (0, 20)),
    "between words": ("{head}", ["", "{tail}"], "{head} A) B) {tail}", (0, 20)),
    "between words, without letters": ("{head}", ["", "{tail}"], "{head} {tail}", (0, 20)),
}


@pytest.mark.parametrize(("stem", "options", "document", "span"), EMPTY.values(), ids=EMPTY.keys())
def test_options_without_words_are_counted_as_none(
    stem: str, options: list[str], document: str, span: tuple[int, int]
) -> None:
    written = made_up(random.Random(9), 20)
    texts = {"all": " ".join(written), "head": " ".join(written[:6]), "tail": " ".join(written[6:])}
    before = item(" ".join(made_up(random.Random(10), 6)), name="before")
    shown = item(stem.format(**texts), [option.format(**texts) for option in options])
    page = f"kwonk {document.format(**texts)} kwonk"
    got = overlaps(index_of(before, shown), page)
    assert [(r.item, r.first, r.last) for r in got] == [(1, *span)]


@pytest.mark.parametrize(
    ("stem", "reason"),
    [
        ("", "too short: 0 words, 5 needed"),
        ("Quanto é dois mais", "too short: 4 words, 5 needed"),
        ("o que é que há", "says too little"),
        ("1 2 3 4", "too short"),
        ("a " * 32_001, "too long: more than 32,000 words"),
    ],
)
def test_an_item_that_says_too_little_or_too_much_is_untestable(stem: str, reason: str) -> None:
    index = index_of(item(stem), min_bits=40.0)
    assert index.untestable[0].startswith(reason)
    assert found(index, f"kwonk {stem[:500]} kwonk") == []


def test_twelve_words_need_information_and_thirteen_do_not() -> None:
    twelve, thirteen = "de " * 12, "de " * 13
    index = index_of(item(twelve), item(thirteen), min_bits=100.0)
    assert index.untestable[0].startswith("says too little")
    assert index.untestable[1] == ""


def test_expected_answers_are_found_each_alone() -> None:
    written = made_up(random.Random(4), 60)
    index = index_of(item(" ".join(written[:20]), asides=[" ".join(written[20:40]), " ".join(written[40:])]))
    assert [(r.first, r.last) for r in overlaps(index, " ".join(written[22:35]))] == [(22, 35)]
    # No reader sees the question and its answer in a row: words of both are no run, but whole runs are told as one.
    assert [(r.first, r.last) for r in overlaps(index, " ".join(written))] == [(0, 60)]
    assert overlaps(index, " ".join(written[14:26])) == []


def test_a_compound_near_an_answer_does_not_join_the_question_to_it() -> None:
    written = made_up(random.Random(4), 30)
    stem = " ".join([*written[:18], f"{written[18]}-{written[19]}"])
    index = index_of(item(stem, asides=[" ".join(written[20:])]))
    joined = " ".join([*written[14:18], written[18] + written[19], *written[20:24]])
    assert overlaps(index, joined) == []
    answer = index_of(item(" ".join(written[:12]), asides=[" ".join(written[12:18]) + f" {stem}"]))
    assert [(r.first, r.last) for r in overlaps(answer, joined.replace(written[20], "kwonk"))] == []
    whole = " ".join([*written[8:18], written[18] + written[19]])
    assert [(r.first, r.last) for r in overlaps(answer, whole)] == [(26, 38)]


def test_items_that_share_a_text_are_all_found() -> None:
    shared = " ".join(made_up(random.Random(5), 20))
    items = [item(f"{shared} {' '.join(made_up(random.Random(k), 3))}", name=f"i{k}") for k in range(2_000)]
    assert [(r.item, r.first, r.last) for r in overlaps(index_of(*items), shared)] == [
        (k, 0, 20) for k in range(2_000)
    ]


def test_a_document_that_repeats_an_item_ten_thousand_times_is_found_ten_thousand_times() -> None:
    text = " ".join(made_up(random.Random(6), 20))
    got = overlaps(index_of(item(text)), f"{text} kwonk\n" * 10_000)
    assert [(r.start, r.first, r.last) for r in got] == [
        (k * (len(text.encode()) + 7), 0, 20) for k in range(10_000)
    ]


def test_a_text_of_one_word_over_and_over_ends() -> None:
    got = overlaps(index_of(item("tra " * 300)), "tra " * 3_000)
    assert got
    assert max(r.last - r.first for r in got) == 300


def test_no_items_no_documents_and_empty_documents_find_nothing() -> None:
    nothing: list[Run] = []
    assert found(index_of(), "um texto qualquer") == nothing
    assert found(index_of(item("")), "um texto qualquer", "") == nothing
    index = index_of(item(" ".join(made_up(random.Random(7), 20))))
    assert found(index) == nothing
    assert found(index, "", "", "") == nothing


def test_runs_stop_at_the_edges_of_a_document() -> None:
    written = made_up(random.Random(8), 20)
    index = index_of(item(" ".join(written)))
    halves = " ".join(written[:7]), " ".join(written[7:14])
    assert found(index, *halves) == []
    assert [(r.document, r.first, r.last) for r in overlaps(index, "", " ".join(written[:9]), halves[1])] == [
        (1, 0, 9)
    ]


TOKENS = st.sampled_from(["ba", "ce", "di", "1", "a", "b"])
PHRASES = st.lists(TOKENS, max_size=10).map(" ".join)


@pytest.mark.untraced
@given(
    stem=st.lists(TOKENS, min_size=5, max_size=16).map(" ".join),
    options=st.lists(PHRASES, max_size=3),
    asides=st.lists(PHRASES, max_size=1),
    document=st.lists(TOKENS, max_size=40).map(" ".join),
    copied=st.booleans(),
)
@settings(max_examples=400, deadline=None)
def test_the_longest_run_is_that_of_the_plain_search(
    stem: str, options: list[str], asides: list[str], document: str, copied: bool
) -> None:
    shown = item(stem, options, asides=asides)
    document = f"{document} {stem} {' '.join(options)}" if copied else document
    longest = max((run.last - run.first for run in overlaps(index_of(shown), document)), default=0)
    plain = max(longest_run(shown, document, letters) for letters in (0, 1))
    if options:
        # Runs with and without letters that overlap are told as one.
        assert longest >= plain
    else:
        assert longest == plain


@given(seed=SEEDS)
@settings(max_examples=30, deadline=None)
def test_the_order_of_items_changes_nothing_but_their_numbers(seed: int) -> None:
    chance = random.Random(seed)
    items = [made_item(chance, f"i{k}") for k in range(5)]
    document = " ".join(rendered(shown, 3, 20, LETTERS["A)"]) + " kwonk" for shown in items)
    forth = {items[r.item].item: r._replace(item=0) for r in found(index_of(*items), document)}
    back = {items[4 - r.item].item: r._replace(item=0) for r in found(index_of(*items[::-1]), document)}
    assert forth == back
    assert len(forth) == 5
