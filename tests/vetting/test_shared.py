"""Phrases that many items share: proposed, never approved."""

from __future__ import annotations

from tests.vetting.making import STEM, choice

from lacre.registry.items import Candidate, Passage, Payload
from lacre.vetting.shared import propose

PHRASE = "com base no quadro acima indique a única afirmação que traz a resposta certa"
WORDS = "um dois três quatro cinco seis sete oito nove dez onze doze".split()  # noqa: SIM905 - a list of words reads so


def items(count: int, phrase: str = PHRASE, repeated: int = 1) -> list[Candidate]:
    return [
        choice(
            f"q{k}", f"A caixa {word} ficou {word} dias no sol {word}. " + f"{phrase}: {word}? " * repeated
        )
        for k, word in enumerate(WORDS[:count])
    ]


def test_a_phrase_is_proposed_whole_with_how_many_items_have_it() -> None:
    found = propose(items(6))
    (phrase,) = found.phrases
    assert (phrase.text, phrase.words, phrase.items) == (PHRASE, 14, 6)
    assert phrase.examples == ("q0", "q1", "q2")


def test_fewer_items_or_words_than_asked_are_no_phrase() -> None:
    assert propose(items(5)).phrases == ()
    assert len(propose(items(5), least_items=5).phrases) == 1
    assert propose(items(6), least_words=15).phrases == ()


def test_one_item_that_repeats_itself_is_one_item() -> None:
    assert propose(items(3, repeated=4)).phrases == ()


def test_a_shorter_run_is_proposed_when_twice_as_many_have_it() -> None:
    end = "indique a única afirmação que traz a resposta certa"
    more = [
        choice(f"r{k}", f"O barco {word} partiu {word}. Depois {word} {end}")
        for k, word in enumerate(WORDS[:8])
    ]
    texts = {phrase.text: phrase.items for phrase in propose([*items(6), *more]).phrases}
    assert texts[PHRASE] == 6
    assert texts[end] == 14


def test_a_long_passage_that_items_share_is_a_source_and_no_phrase() -> None:
    passage = " ".join(f"palavra{k} comum{k}" for k in range(40))
    found = propose(items(7, phrase=passage))
    assert found.phrases == ()
    assert found.sources >= 1


def test_declared_passages_are_not_looked_at() -> None:
    quoted = [
        Candidate(
            id=f"q{k}",
            payload=Payload(
                kind="open", stem=f"{STEM} {word}", passage=Passage(text=PHRASE, source="Jornal")
            ),
        )
        for k, word in enumerate(WORDS[:7])
    ]
    assert PHRASE not in [phrase.text for phrase in propose(quoted).phrases]


def test_no_items_are_no_phrases() -> None:
    assert propose([]).phrases == ()
