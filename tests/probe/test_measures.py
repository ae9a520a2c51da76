"""How much of the rest stands in a reply: what changes it, and what must not (SPEC L8)."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.probe.texts import ALL, BAKERY, LIGHTHOUSE, TRAM

from lacre.errors import InputError
from lacre.probe.cuts import HALF, MOST_REST, cut, text_of
from lacre.probe.marks import RUN, candidate
from lacre.probe.measures import Measures, measure
from lacre.probe.telling import LEAST_TELLING, telling
from lacre.registry.items import Part, Passage, Payload

GREETING = "Claro, com prazer! Segue o trecho que falta:\n\n"


def held(text: str, reply: str, percent: int = HALF) -> Measures:
    half = cut(text, percent)
    return measure(half, telling(half), reply)


class Told(NamedTuple):
    """A text and its rest, for replies made of them."""

    text: str
    rest: str


def rest_of(text: str, percent: int = HALF) -> str:
    return text[len(cut(text, percent).beginning) :].strip()


@pytest.mark.parametrize("percent", [40, 50, 60])
@pytest.mark.parametrize("text", ALL.values(), ids=ALL)
def test_the_rest_word_for_word_is_all_of_it(text: str, percent: int) -> None:
    found = held(text, rest_of(text, percent), percent)
    assert (found.share, found.recall, found.similarity, found.exact) == (1.0, 1.0, 1.0, True)
    assert found.run == found.judged == len(cut(text, percent).rest)


@pytest.mark.parametrize("text", ALL.values(), ids=ALL)
@pytest.mark.parametrize(
    "told",
    [
        pytest.param(lambda t: GREETING + t.rest, id="a greeting before it"),
        pytest.param(lambda t: t.rest + "\n\nEspero ter ajudado com a questão!", id="a word after it"),
        pytest.param(lambda t: t.text, id="the beginning said again"),
        pytest.param(lambda t: GREETING + t.text, id="a greeting and the beginning"),
        pytest.param(lambda t: unicodedata.normalize("NFD", t.rest), id="decomposed accents"),
        pytest.param(lambda t: t.rest.upper(), id="capitals"),
        pytest.param(lambda t: t.rest.replace(" ", "  \n"), id="other white space"),
        pytest.param(lambda t: t.rest.replace(",", "").replace(".", ""), id="no punctuation"),
        pytest.param(lambda t: t.rest.replace("que", "q\u00adue"), id="soft hyphens"),
        pytest.param(lambda t: f"**{t.rest}**", id="bold"),
    ],
)
def test_how_it_is_told_does_not_matter(text: str, told: Callable[[Told], str]) -> None:
    found = held(text, told(Told(text, rest_of(text))))
    assert found.share == 1.0
    assert found.run == len(cut(text, HALF).rest)


@given(st.sampled_from(sorted(ALL)), st.integers(0, 60))
def test_an_end_that_comes_early_is_judged_on_its_length(name: str, words: int) -> None:
    said = rest_of(ALL[name]).split()[:words]
    found = held(ALL[name], " ".join(said))
    if found.telling_run >= LEAST_TELLING:
        assert found.share == 1.0
    assert candidate(found) == (found.telling_run >= RUN)


@given(
    st.lists(
        st.sampled_from(["zebra", "quimono", "xerife", "yoga", "kart", "jipe", "vatapá", "umbu"]), max_size=40
    )
)
def test_words_that_have_nothing_to_do_with_it_add_nothing(noise: list[str]) -> None:
    before = held(LIGHTHOUSE, rest_of(LIGHTHOUSE))
    after = held(LIGHTHOUSE, " ".join(noise) + " " + rest_of(LIGHTHOUSE))
    assert (after.share, after.run, after.exact) == (before.share, before.run, before.exact)
    assert held(LIGHTHOUSE, " ".join(noise)).share == 0.0


@given(st.text(max_size=300), st.sampled_from(sorted(ALL)))
def test_measures_stay_in_their_range_whatever_comes(reply: str, name: str) -> None:
    found = held(ALL[name], reply)
    assert 0 <= found.share <= 1
    assert 0 <= found.similarity <= 1
    assert 0 <= found.recall <= 1
    assert found.telling_run <= found.run <= found.judged
    assert not candidate(found) or found.telling_run >= RUN


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("the beginning alone", cut(LIGHTHOUSE, HALF).beginning),
        ("the whole prompt", f"Continue o texto abaixo.\n\n{cut(LIGHTHOUSE, HALF).beginning}"),
        ("an answer", "A alternativa correta é a letra B, porque a luz se conhece pelo ritmo e nunca pelo tamanho."),
        ("another text", TRAM),
        ("a summary", "O velho explica ao sobrinho que a luz pequena basta, pois os barcos reconhecem o ritmo."),
        ("nothing", "..."),
    ],
)  # fmt: skip
def test_what_is_no_recall_is_no_candidate(name: str, reply: str) -> None:
    assert not candidate(held(LIGHTHOUSE, reply)), name


def test_a_few_edits_leave_it_almost_verbatim_and_many_do_not() -> None:
    said = rest_of(BAKERY).split()

    def edited(every: int) -> Measures:
        return held(
            BAKERY, " ".join("isto" if place % every == every - 1 else w for place, w in enumerate(said))
        )

    assert candidate(edited(12))
    assert not candidate(edited(4))
    assert edited(4).share == 0.0
    assert edited(12).share > 0.7


def test_a_long_reply_is_read_only_so_far() -> None:
    far = "palavra " * 600 + rest_of(LIGHTHOUSE)
    assert held(LIGHTHOUSE, far).share == 0.0
    echoed = "palavra " * 600 + LIGHTHOUSE
    assert held(LIGHTHOUSE, echoed).share == 1.0


@pytest.mark.parametrize("filler", ["a ", " ", "*", "A) ", "> \n", "a**"], ids=repr)
def test_megabytes_are_read_as_fast_as_a_page(filler: str) -> None:
    began = time.process_time()
    found = held(LIGHTHOUSE, rest_of(LIGHTHOUSE) + "\n" + filler * (3_000_000 // len(filler)))
    assert time.process_time() - began < 2
    assert found.share == 1.0


def test_a_reply_that_goes_round_in_circles_takes_no_longer() -> None:
    text = " ".join(ALL.values())
    begun = time.process_time()
    for word in ("a", "que", "a que os", "o velho"):
        assert held(text, f"{word} " * 5000).share == 0.0
    assert time.process_time() - begun < 5


def test_a_cut_parts_words_at_white_space_and_keeps_all_of_them() -> None:
    for percent in range(10, 91):
        half = cut(BAKERY, percent)
        assert BAKERY.startswith(half.beginning)
        rest = BAKERY[len(half.beginning) :]
        assert not rest or rest[0].isspace()
        assert not half.beginning.endswith("erva")


@pytest.mark.parametrize("percent", [0, 100, -3])
def test_a_cut_that_is_none_is_refused(percent: int) -> None:
    with pytest.raises(InputError, match="not between 0 and 100"):
        cut(BAKERY, percent)


def test_an_option_keeps_its_letter_when_the_cut_comes_before_it() -> None:
    text = "Que bicho dormia nos trilhos?\nA) O gato\nB) O cão da vizinha do terceiro andar\nC) A vaca"
    half = cut(text, 44)
    assert half.beginning.endswith("A) O gato")
    assert half.rest[:2] == ("o", "cao")


def test_a_long_rest_is_judged_to_its_limit() -> None:
    half = cut(" ".join(ALL.values()) * 3, 40)
    assert len(half.rest) == len(half.spelt) == MOST_REST


def test_an_item_reads_as_its_booklet() -> None:
    open_item = Payload(
        kind="open",
        stem="Explique. ![figura](https://example.org/a.png)",
        passage=Passage(text="Era uma vez."),
        parts=(Part(id="a", prompt="Por quê?", expected="Segredo."),),
        key="Segredo.",
    )
    assert text_of(open_item).split() == ["Era", "uma", "vez.", "Explique.", "a)", "Por", "quê?"]
    assert "Segredo" not in text_of(open_item)


@pytest.mark.parametrize(
    "shape",
    [
        "{}) {}\n",
        "({}) {}\n",
        "{}. {}\n",
        "- **{})** {}\n",
        "**{}.** {}\n",
        "{}: {}\n",
        "({}) {} ",
        "{}) {} ",
    ],
)
def test_how_options_are_lettered_does_not_matter(shape: str) -> None:
    options = {
        "A": "o sineiro da matriz vendeu",
        "B": "duas moringas sem alça",
        "C": "um bandolim rachado",
        "D": "lampiões de mesa baratos",
    }
    stem = (
        "Quando a feira acabou, a rezadeira contou nos dedos tudo o que ninguém quis comprar naquele dia:\n"
    )
    booklet = stem + "\n".join(f"{letter}) {text}" for letter, text in options.items())
    told = "".join(shape.format(letter, text) for letter, text in options.items())
    assert held(booklet, "dia:\n" + told).share == 1.0


def test_options_that_repeat_each_other_are_no_echo_of_the_beginning() -> None:
    text = (
        "O condutor quis saber quem devia ao armazém. Diz a caderneta que\n"
        "A) a rezadeira prometeu pagar as moringas até o dia da procissão, se vender antes a cabra malhada.\n"
        "B) o sineiro prometeu pagar as moringas até o dia da procissão, pois ganhou na rifa um bandolim de lei.\n"
        "C) ninguém prometeu pagar as moringas até o dia da procissão, e o dono as trocou por fumo de corda."
    )
    for percent in range(30, 71, 2):
        assert held(text, rest_of(text, percent), percent).exact
