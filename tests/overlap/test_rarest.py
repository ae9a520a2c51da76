"""The rarest sentence: chosen from the item's own prompt, found changed, not found in other words."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.overlap.building import filler, index_of, item, made_up, matched, overlaps, sentences_found

from lacre.overlap.index import ItemIndex
from lacre.overlap.rarest import LONGEST, align
from lacre.overlap.runs import Run

COMMON = "Leia o texto com atenção e marque a resposta certa entre as que estão abaixo."
RARE = (
    "O alambique clandestino de Serapião Quixaba destilava cachaça azulada enquanto o escrivão contava "
    "moedas enferrujadas na varanda do cartório."
)
PROMPT = f"{COMMON} {RARE} O que aconteceu depois disso?"
AROUND = "Conta-se ainda hoje. {} Ninguém sabe ao certo o que houve depois."
DROP = 0.9  # the default of rules.toml


def sentence_of(index: ItemIndex, number: int = 0) -> str | None:
    sentence = index.sentences[number]
    return None if sentence is None else sentence.folded


def the_one(found: list[Run]) -> Run:
    assert len(found) == 1
    return found[0]


def test_the_rarest_sentence_is_that_with_the_most_information() -> None:
    sentence = sentence_of(index_of(item(PROMPT)))
    assert sentence is not None
    assert sentence.startswith("o alambique clandestino")
    assert sentence.endswith("do cartorio")


def test_it_does_not_come_from_a_declared_passage() -> None:
    stem = "O narrador do trecho descreve o escrivão e o destilador de que maneira?"
    declared = index_of(item(stem, passage=RARE, own=False))
    assert sentence_of(declared) == "o narrador do trecho descreve o escrivao e o destilador de que maneira"
    assert sentences_found(declared, RARE) == []


def test_it_comes_from_an_undeclared_passage() -> None:
    sentence = sentence_of(index_of(item("O narrador descreve quem e de que maneira?", passage=RARE)))
    assert sentence is not None
    assert sentence.startswith("o alambique")


def test_a_short_prompt_is_taken_with_its_options() -> None:
    options = ["Alambique clandestino", "Cartório enferrujado", "Escrivão azulado"]
    assert sentence_of(index_of(item("Assinale o certo:", options))) == (
        "assinale o certo alambique clandestino cartorio enferrujado escrivao azulado"
    )
    assert sentence_of(index_of(item("Assinale:", options[:2]))) is None


def test_options_behind_a_declared_passage_are_still_the_items_own() -> None:
    options = ["Alambique clandestino", "Cartório enferrujado", "Escrivão azulado"]
    index = index_of(item("Assinale o certo:", options, passage=RARE, own=False))
    assert sentence_of(index) == (
        "assinale o certo alambique clandestino cartorio enferrujado escrivao azulado"
    )


def test_a_long_list_without_stops_is_cut_to_its_most_informative_stretch() -> None:
    listed = f"{'de novo ' * 30} {RARE[:-1]} {'outra vez ' * 30}"
    sentence = sentence_of(index_of(item(listed)))
    assert sentence is not None
    assert len(sentence.split()) == LONGEST
    assert "serapiao quixaba" in sentence


@pytest.mark.parametrize("least", [8, 19, 20])
def test_it_has_the_words_that_the_rules_ask_for(least: int) -> None:
    size = len((sentence_of(index_of(item(RARE), rare_min_words=8)) or "").split())
    assert size == 19
    assert (sentence_of(index_of(item(RARE), rare_min_words=least)) is None) is (least > size)


CHANGED = {
    "unchanged": (RARE, 1.0),
    "upper case": (RARE.upper(), 1.0),
    "accents lost": (RARE.replace("ç", "c").replace("ã", "a").replace("ó", "o"), 1.0),
    "one word changed": (RARE.replace("contava", "somava"), DROP),
    "two words changed": (RARE.replace("contava", "somava").replace("varanda", "sacada"), DROP),
    "one word left out": (RARE.replace("azulada ", ""), DROP),
    "one word put in": (RARE.replace("cachaça", "muita cachaça"), DROP),
    "OCR reads rn for m": (RARE.replace("m", "rn"), DROP),
    "words glued": (RARE.replace("na varanda", "navaranda"), DROP),
    "blanks inside a word": (RARE.replace("enferrujadas", "enfer rujadas"), DROP),
}  # fmt: skip


@pytest.mark.parametrize(("shown", "least"), CHANGED.values(), ids=CHANGED.keys())
def test_the_sentence_is_found(shown: str, least: float) -> None:
    document = AROUND.format(shown)
    run = the_one(sentences_found(index_of(item(PROMPT)), document))
    assert run.score >= least
    assert (run.first, run.last) == (15, 34)
    assert len(set(matched(document, run).split()) & set(shown[:-1].split())) >= len(shown.split()) - 2


def test_one_character_in_25_read_wrongly_seldom_hides_it() -> None:
    index = index_of(item(PROMPT))
    seen = 0
    for seed in range(100):
        chance = random.Random(seed)
        noisy = "".join(
            chance.choice("abcdeilmnorst") if c.isalpha() and chance.random() < 1 / 25 else c for c in RARE
        )
        seen += any(run.score >= DROP for run in sentences_found(index, AROUND.format(noisy)))
    # What hides it: no five words in a row without an error, in a sentence of nineteen long words.
    assert seen >= 85


OTHER = {
    "word order changed": " ".join(RARE[:-1].split()[::-1]),
    "halves swapped": " ".join([*RARE[:-1].split()[10:], *RARE[:-1].split()[:10]]),
    "every third word changed": " ".join("outro" if k % 3 == 0 else w for k, w in enumerate(RARE.split())),
    "other text with the same name": "Serapião Quixaba destilava cachaça e outras coisas em sua casa no campo.",
    "nothing in common": "A reunião do conselho terminou tarde e todos foram para casa de táxi.",
}


@pytest.mark.parametrize("shown", OTHER.values(), ids=OTHER.keys())
def test_other_words_do_not_drop(shown: str) -> None:
    found = sentences_found(index_of(item(PROMPT)), AROUND.format(shown))
    assert all(run.score < DROP for run in found)


def test_it_is_found_where_only_the_alignment_can_find_it() -> None:
    # No eight words in a row are left; one seed of five is.
    shown = RARE
    for old, new in [("clandestino", "clandestjno"), ("azulada", "azuIada"), ("moedas", "rnoedas")]:
        shown = shown.replace(old, new)
    index = index_of(item(PROMPT))
    document = AROUND.format(shown)
    assert overlaps(index, document) == []
    assert the_one(sentences_found(index, document)).score >= DROP


def test_without_five_words_in_a_row_it_is_not_found() -> None:
    # The reach of the search, stated: a seed of five words must be whole.
    broken = " ".join(f"{w}x" if k % 4 == 0 else w for k, w in enumerate(RARE[:-1].split()))
    assert sentences_found(index_of(item(PROMPT)), AROUND.format(broken), align_from=0.0) == []


def test_noisy_copies_in_a_document_are_each_found_once() -> None:
    noisy = [RARE.replace("contava", word) for word in ("somava", "somou", "gastava")]
    document = " Depois: ".join(noisy)
    found = sentences_found(index_of(item(PROMPT)), document)
    assert len(found) == 3
    spans = sorted((run.start, run.end) for run in found)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))


def test_a_whole_copy_stands_for_the_noisy_ones_of_its_document() -> None:
    document = f"{RARE.replace('contava', 'somava')} Depois: {RARE}"
    run = the_one(sentences_found(index_of(item(PROMPT)), document))
    assert run.score == 1
    assert matched(document, run) == RARE[:-1]


@pytest.mark.parametrize("place", ["head", "end", "alone"])
def test_the_sentence_at_the_edge_of_a_document_is_found(place: str) -> None:
    noisy = RARE.replace("contava", "somava")[:-1]
    document = {"head": f"{noisy} e fim", "end": f"assim {noisy}", "alone": noisy}[place]
    assert the_one(sentences_found(index_of(item(PROMPT)), document)).score >= DROP


def test_a_sentence_cut_by_the_edge_of_a_document_is_scored_as_it_stands() -> None:
    words = RARE[:-1].split()
    found = sentences_found(index_of(item(PROMPT)), " ".join(words[:10]))
    assert all(run.score < DROP for run in found)


def test_nothing_is_kept_under_the_score_asked_for() -> None:
    document = AROUND.format(RARE.replace("contava", "somava"))
    index = index_of(item(PROMPT))
    score = the_one(sentences_found(index, document, align_from=0.5)).score
    assert sentences_found(index, document, align_from=score) != []
    assert sentences_found(index, document, align_from=score + 0.001) == []


@given(seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_a_sentence_with_one_word_changed_is_found_wherever_it_stands(seed: int) -> None:
    chance = random.Random(seed)
    rare = made_up(chance, chance.randint(14, 30))
    index = index_of(item(" ".join(rare).capitalize() + ". E agora?"))
    wrong = chance.randrange(len(rare))
    shown = " ".join([*rare[:wrong], "kwonk", *rare[wrong + 1 :]])
    document = f"{filler(chance)} {shown} {filler(chance)}"
    run = the_one(sentences_found(index, document))
    assert run.score >= DROP
    assert (run.first, run.last) == (0, len(rare))


@pytest.mark.parametrize(
    ("sentence", "stretch", "score"),
    [
        ("a b c", "a b c", 1.0),
        ("a b c", "x a b c y", 1.0),
        ("a b c", "", 0.0),
        ("abcd", "abxd", 0.75),
        ("abcdef", "abc", 2 / 3),
    ],
)
def test_the_alignment_scores_two_m_over_t(sentence: str, stretch: str, score: float) -> None:
    assert align(sentence, stretch).score == pytest.approx(score, abs=0.01)


@pytest.mark.parametrize(
    "stem",
    [
        "![](https://exemplo.test/2021/3f0c8ec0-de44-43da-a545.jpg) O grilo cantou no varal a noite inteira.",
        "O grilo cantou no varal a noite inteira. https://exemplo.test/paginas/3f0c8ec0/de44/43da/a545/967701e6128f",
        "O grilo cantou no varal a noite inteira (www.exemplo.test/x-y-z-3f0c8ec0-de44-43da-a545-967701).",
    ],
    ids=["image", "address", "in brackets"],
)
def test_an_address_is_no_sentence(stem: str) -> None:
    assert sentence_of(index_of(item(stem))) == "o grilo cantou no varal a noite inteira"
