"""Pairs of items that are one, almost one, or share a passage; and what is no such pair."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lacre.overlap.differences import differing
from lacre.overlap.duplicates import Bounds, Likeness, candidates, compare_all
from lacre.overlap.sheets import Field, Presented, read_sheets

BOUNDS = Bounds(alike=0.85, min_bits=40.0, passage_words=20)
CASE = (
    "Na oficina de bicicletas de Ouro Miúdo, a dona Leocádia conserta por semana dezoito rodas empenadas, troca "
    "nove correntes e ainda remenda as câmaras que os entregadores trazem furadas no fim da tarde de sábado."
)
ASKED = "Quantas correntes a dona da oficina troca em quatro semanas de trabalho?"
OPTIONS = ("Trinta e seis correntes.", "Setenta e duas correntes.", "Nove correntes.", "Dezoito correntes.")
OTHERS = ("Um martelo de borracha.", "Uma lima chata.", "Um jogo de chaves.", "Uma bomba de ar manual.")


def item(
    stem: str, options: Sequence[str] = OPTIONS, name: str = "x", passage: str | None = None
) -> Presented:
    given = [Field(name="passage", text=passage)] if passage else []
    lettered = [
        Field(name=f"option:{letter}", text=text) for letter, text in zip("ABCDE", options, strict=False)
    ]
    return Presented(item=name, fields=(*given, Field(name="stem", text=stem), *lettered))


def pair(first: Presented, second: Presented, bounds: Bounds = BOUNDS) -> Likeness | None:
    pairs = compare_all([first, second], bounds).pairs
    return pairs[0] if pairs else None


WHOLE = item(f"{CASE} {ASKED}")


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(item(f"{CASE} {ASKED}"), id="the same"),
        pytest.param(item(f"{CASE} {ASKED}".upper(), [text.upper() for text in OPTIONS]), id="upper case"),
        pytest.param(item(f"{CASE} {ASKED}", OPTIONS[::-1]), id="options in another order"),
        pytest.param(item(ASKED), id="without what is given"),
        pytest.param(item(f"{CASE}\n\n{ASKED}".replace("semana", "sema-\nna")), id="broken lines"),
        pytest.param(
            item(f"![](https://example.org/x.png)\n\n{CASE} (adaptado)\n\n{ASKED}"), id="a link and a note"
        ),
        pytest.param(item(f"{CASE} {ASKED}".replace("correntes", "correntse")), id="a misprint"),
        pytest.param(item(ASKED, passage=CASE), id="the case as a passage"),
        pytest.param(
            item(f"{CASE} {ASKED}", ["T  rinta e seis correntes.", *OPTIONS[1:]]), id="a letter cut off"
        ),
        pytest.param(
            item(f"{CASE} {ASKED}", [*OPTIONS[:3], OPTIONS[3] + " MATEMÁTICA"]), id="a heading run on"
        ),
    ],
)
def test_an_item_and_its_copy(other: Presented) -> None:
    found = pair(WHOLE, other)
    assert found is not None
    if "MATEMÁTICA" not in other.fields[-1].text:
        assert (found.kind, found.differences) == ("copy", 0)
    else:
        assert found.kind == "variant"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("quatro semanas", "cinco semanas"),
        ("nove correntes", "doze correntes"),
        ("Quantas correntes a dona", "Quantas correntes a dona não"),
        ("Dezoito correntes", "Vinte correntes"),
    ],
)
def test_an_item_that_says_something_else_is_a_variant(old: str, new: str) -> None:
    stem, options = f"{CASE} {ASKED}", [text.replace(old, new) for text in OPTIONS]
    found = pair(WHOLE, item(stem.replace(old, new), options))
    assert found is not None
    assert (found.kind, found.differences > 0) == ("variant", True)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("microadenomas com diâmetro <10 mm", "microadenomas com diâmetro ≤10 mm"),
        ("com x ≥ 3", "com x ≤ 3"),
        ("doença subdiagnosticada", "doença superdiagnosticada"),
        ("incluindo o íleo", "excluindo o íleo"),
        ("teste direto", "teste indireto"),
        ("duas horas antes", "uma hora antes"),
        ("uma temperatura de -3 graus", "uma temperatura de 3 graus"),
    ],
)
def test_a_small_change_of_sense_is_a_difference(one: str, other: str) -> None:
    assert differing(one, other) > 0
    assert differing(other, one) > 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A república é laica.", "A REPÚBLICA, É LAICA"),
        ("contaminação", "contami-\nnação"),
        ("república federativa", "repúbilca federativa"),
        ("evidenciar", "e videnciar"),
        ("a) mão", "a) mao"),
        ("", ""),
    ],
)
def test_typing_is_no_difference(one: str, other: str) -> None:
    assert differing(one, other) == 0


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        (WHOLE, item("Quantas patas tem a aranha que mora no espelho?", OTHERS), "nothing in common"),
        (
            item(f"{CASE} Assinale a alternativa correta."),
            item("O rio que corta a vila nasce na serra. Assinale a alternativa correta.", OTHERS),
            "a question that stands under anything",
        ),
        (
            item("Quanto é isso?", ["1", "2", "3"]),
            item("Quanto é aquilo?", ["1", "2", "3"]),
            "too little text",
        ),
        (
            item(
                "O tanque da fazenda enche em duas horas com a torneira aberta. Quanto tempo resta?",
                ["1", "2", "3"],
            ),
            item(
                "O trem da serra parte às nove horas da estação velha da vila. Quanto tempo resta?",
                ["1", "2", "3"],
            ),
            "one short question and options under two cases",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_items_that_are_not_alike(first: Presented, second: Presented, why: str) -> None:
    assert pair(first, second) is None, why


def test_the_smallest_items_are_copies_only_word_for_word() -> None:
    tiny = [
        item("Quanto é?", ["1", "2"], "a"),
        item("quanto É", ["2", "1"], "b"),
        item("Quanto era?", ["1", "2"], "c"),
    ]
    compared = compare_all(tiny, BOUNDS)
    assert [(found.first, found.second, found.kind) for found in compared.pairs] == [(0, 1, "copy")]
    assert {0, 1} <= set(compared.thin)


def test_items_without_words_are_counted_and_match_nothing() -> None:
    compared = compare_all([item("", []), item("— …", []), WHOLE], BOUNDS)
    assert (compared.pairs, compared.empty) == ((), (0, 1))


def test_items_on_one_case_share_a_passage_and_nothing_else() -> None:
    found = pair(WHOLE, item(f"{CASE} Que ferramenta falta na parede da oficina da dona Leocádia?", OTHERS))
    assert found is not None
    assert (found.kind, found.passage) == ("passage", 35)


def test_approved_boilerplate_is_no_shared_passage() -> None:
    first, second = WHOLE, item(f"{CASE} Que ferramenta falta na parede da oficina?", OTHERS)
    assert compare_all([first, second], BOUNDS, phrases=[CASE]).pairs == ()
    assert compare_all([first, second], BOUNDS, phrases=["outra frase que ninguém usa"]).pairs != ()


def test_options_taken_over_under_another_question_are_a_variant() -> None:
    long = [f"{text} contadas e embrulhadas em papel pardo na bancada." for text in OPTIONS]
    found = pair(
        item(f"{CASE} {ASKED}", long),
        item("O caderno de encomendas de março traz que quantidade de peças?", long),
    )
    assert found is not None
    assert (found.kind, found.options) == ("variant", 1.0)


def test_a_crowd_on_one_passage_is_one_chain() -> None:
    crowd = [
        item(f"{CASE} Que peça número {k} falta?", [f"peça {k} a", f"peça {k} b"], str(k)) for k in range(80)
    ]
    pairs = compare_all(crowd, BOUNDS).pairs
    joined = {0}
    for found in sorted(pairs):
        if found.first in joined or found.second in joined:
            joined |= {found.first, found.second}
    assert joined == set(range(80))


WORDS = "casa rio pedra vento lua barco milho serra ponte lenha tacho cerca fumo palha couro sino".split()  # noqa: SIM905


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(WORDS), min_size=6, max_size=14), min_size=2, max_size=6), st.randoms()
)
def test_the_order_of_items_and_options_changes_no_pair(
    texts: list[list[str]], chance: random.Random
) -> None:
    items = [
        item(" ".join(text), [" ".join(text[:2]), " ".join(text[2:])], str(k)) for k, text in enumerate(texts)
    ]
    items += items[:1]
    order = list(range(len(items)))
    chance.shuffle(order)

    def named(arranged: Sequence[Presented], numbers: Sequence[int]) -> set[tuple[frozenset[int], str]]:
        found = compare_all(arranged, BOUNDS).pairs
        return {(frozenset({numbers[one.first], numbers[one.second]}), one.kind) for one in found}

    assert named(items, range(len(items))) == named([items[k] for k in order], order)


@pytest.mark.slow
@pytest.mark.skipif("LACRE_TEST_DATA" not in os.environ, reason="LACRE_TEST_DATA is not set")
def test_no_pair_of_one_exam_in_two_collections_is_missed() -> None:
    from lacre.registry.intake import candidates as read  # noqa: PLC0415
    from lacre.registry.tables import read_table  # noqa: PLC0415
    from lacre.vetting.presented import presented  # noqa: PLC0415

    path = Path(os.environ["LACRE_TEST_DATA"]) / "items" / "items.jsonl.gz"
    edition = {
        str(row.values["id"]): str(row.values["source"])
        for row in read_table(path).rows
        if row.values["exam"] == "ENEM 2022"
    }
    items = [presented(one) for one in read(path).items if one.id in edition]
    side = [edition[one.item] for one in items]
    wanted = {(a, b) for a, b in combinations(range(len(items)), 2) if side[a] != side[b]}
    found = {(one.first, one.second): one for one in compare_all(items, BOUNDS).pairs}
    whole = compare_all(items, BOUNDS, exhaustive=True).pairs
    alike = {(one.first, one.second) for one in whole if one.kind != "passage"} & wanted
    assert len(alike) == 171
    assert alike <= found.keys()


def test_candidates_are_the_same_each_time() -> None:
    sheets = read_sheets([WHOLE, item(f"{CASE} {ASKED}"), item("Outra pergunta qualquer da vila?", OTHERS)])
    assert candidates(sheets) == candidates(sheets) == {(0, 1)}
