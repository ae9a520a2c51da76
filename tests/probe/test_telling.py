"""Rests that anybody could guess are recognised, and are "could not be probed" (SPEC L8)."""

from __future__ import annotations

import pytest
from tests.probe.texts import ALL

from lacre.probe.cuts import HALF, cut
from lacre.probe.telling import telling

GUESSABLE = {
    "figures": (
        "Um feirante vende caixas de manga e de caju em sacos de pesos diferentes todo sábado. Quantos quilos?\n"
        "A) 12 kg\nB) 14 kg\nC) 16 kg\nD) 18 kg\nE) 20 kg",
        "guessable: enumeration or formula",
    ),
    "numerals": (
        "Leia com atenção as cinco afirmativas do quadro sobre o ofício antigo do faroleiro e diga quais valem.\n"
        "A) I e II.\nB) I e III.\nC) II e III.\nD) I, II e III.\nE) III, IV e V.",
        "guessable: enumeration or formula",
    ),
    "a formula": (
        "A área do telhado do velho moinho da serra, em função da altura, se escreve com qual destas expressões?\n"
        "x² + 2x + 1 = 3x² - 4y + 12z; 2x + 3y = 7; 5x² - 3 = 0; y = 4x + 2; z = 9 - 3x",
        "guessable: enumeration or formula",
    ),
    "options that repeat the stem": (
        "O gato do condutor dormia sobre os trilhos do bonde amarelo depois do almoço de domingo. Quem dormia?\n"
        "A) o gato do condutor dormia sobre os trilhos\nB) sobre os trilhos do bonde amarelo depois do almoço",
        "guessable: repeats what was given",
    ),
    "exam language": (
        "Sobre o velho costume das lanternas verdes, os seis barcos e a neblina espessa da ilha do faroleiro.\n"
        "De acordo com o texto, assinale a alternativa correta. De acordo com o texto, é correto afirmar que.",
        "guessable: boilerplate",
    ),
    "too short": ("Que cor tinha o gato?\nA) Azul\nB) Roxo", "too short"),
    "nothing": ("", "too short"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "why"), GUESSABLE.values(), ids=GUESSABLE)
def test_a_guessable_rest_says_why(text: str, why: str) -> None:
    assert telling(cut(text, HALF)).why_not == why


def test_small_words_alone_carry_too_little() -> None:
    text = "O faroleiro da ilha guardava seis lanternas verdes no porão. " + " ".join(
        ["de", "que", "para", "não", "com", "uma", "os", "do", "da", "em"]
    )
    found = telling(cut(text, HALF))
    assert found.count >= 10
    assert found.why_not == "guessable: little information"


@pytest.mark.parametrize("text", ALL.values(), ids=ALL)
def test_prose_tells_something(text: str) -> None:
    found = telling(cut(text, HALF))
    assert not found.why_not
    assert found.count > 0.8 * len(found.flags)


def test_approved_phrases_tell_nothing() -> None:
    text = next(iter(ALL.values()))
    half = cut(text, HALF)
    phrase = half.rest[4:12]
    with_it = telling(half, (phrase,))
    assert not any(with_it.flags[4:12])
    assert with_it.count < telling(half).count


def test_an_article_is_a_word_in_a_sentence_and_a_letter_in_a_list() -> None:
    prose = telling(
        cut("O gato do condutor dormia sobre os trilhos e a dona olhou o bicho com um desdém antigo", 40)
    )
    assert all(prose.flags)
    row = cut("Ligue cada figura do quadro com a letra que a nomeia: x a y e z o w a k", 60)
    assert not any(telling(row).flags[-8:])
