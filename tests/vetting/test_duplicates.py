"""Duplicates with their keys, groups and sources."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from lacre.registry.items import Candidate, Part, Passage, Payload
from lacre.registry.rules import default_rules
from lacre.registry.workspace import Workspace
from lacre.vetting.duplicates import Duplicates, Member, compare_keys, find_duplicates

RULES = default_rules().duplicates
STEM = (
    "Depois da enchente, o padeiro da vila mediu a altura da água no forno com um cabo de vassoura e anotou "
    "trinta e sete centímetros no caderno. Que parte do forno ficou seca?"
)
OPTIONS = {
    "A": "A boca de ferro fundido.",
    "B": "A chaminé de tijolos refratários.",
    "C": "O cinzeiro de baixo.",
}


def choice(
    id: str, key: str | None = "B", *, options: Mapping[str, str] = OPTIONS, stem: str = STEM
) -> Candidate:
    return Candidate(id=id, payload=Payload(kind="choice", stem=stem, options=dict(options), key=key))


def turned(id: str, key: str | None) -> Candidate:
    """The same item with its options the other way round."""
    texts = list(OPTIONS.values())[::-1]
    return choice(id, key, options=dict(zip("ABC", texts, strict=True)))


def found(*new: Candidate, **others: list[Candidate]) -> Duplicates:
    return find_duplicates(new, others, RULES)


@pytest.mark.parametrize(
    ("second", "keys", "why"),
    [
        (choice("q2", "B"), "agree", ""),
        (choice("q2", "C"), "conflict", "different options"),
        (turned("q2", "B"), "agree", ""),
        (turned("q2", "A"), "conflict", "different options"),
        (choice("q2", None), "unknown", "no key"),
    ],
)
def test_keys_are_compared_by_what_the_option_says(second: Candidate, keys: str, why: str) -> None:
    (pair,) = found(choice("q1"), second).pairs
    assert (pair.kind, pair.keys) == ("copy", keys)
    assert why in pair.keys_why


def test_the_key_of_an_image_is_compared_by_its_letter() -> None:
    blank = {"A": "", "B": "", "C": ""}
    first, second = (choice("q", key, options=blank).payload for key in ("A", "B"))
    assert compare_keys(first, first, ()).keys == "agree"
    assert compare_keys(first, second, ()).keys == "conflict"


def test_two_copies_that_expect_an_abstention_agree() -> None:
    silent = msgspec.structs.replace(choice("q", None).payload, expects="abstention")
    assert compare_keys(silent, silent, ()).keys == "agree"


def test_expected_answers_in_other_words_are_for_a_person() -> None:
    def essay(answer: str) -> Payload:
        return Payload(kind="open", stem=STEM, parts=(Part(id="a", prompt="Diga.", expected=answer),))

    assert compare_keys(essay("A chaminé."), essay("a chaminé"), ()).keys == "agree"
    assert compare_keys(essay("A chaminé."), essay("Só a chaminé ficou seca."), ()).keys == "unknown"
    assert compare_keys(essay("A chaminé."), choice("q").payload, ()).keys == "unknown"


def test_contradictory_copies_inside_one_source_reject_it_with_its_numbers() -> None:
    items = [choice("a1"), choice("a2", "C"), choice("b1"), choice("b2")]
    sources = {("new", item.id): item.id[0] for item in items}
    result = find_duplicates(items, {}, RULES, sources=sources)
    first, second = result.sources
    assert (first.source, first.rejected, first.items) == ("a", True, 2)
    assert (first.copies, first.agreeing, first.contradictory, first.unknown) == (1, 0, 1, 0)
    assert (second.source, second.rejected, second.agreeing) == ("b", False, 1)
    assert len(result.conflicts) == 3


def test_a_conflict_between_two_sources_rejects_neither() -> None:
    sources = {("new", "q1"): "one", ("new", "q2"): "two"}
    result = find_duplicates([choice("q1"), choice("q2", "C")], {}, RULES, sources=sources)
    assert len(result.conflicts) == 1
    assert result.sources == ()


def test_statements_that_differ_in_one_sign_contradict_nothing() -> None:
    options = {"A": "Verdadeiro", "B": "Falso"}
    stem = "Sobre o protocolo da vila: tachos pequenos têm diâmetro {} vinte centímetros. Julgue a frase: {}"
    said = "tachos com diâmetro {} vinte centímetros contam como pequenos para a cooperativa da vila."
    items = [
        choice(f"q{k}", key, options=options, stem=stem.format(sign, said.format(sign)))
        for k, (sign, key) in enumerate([("<", "A"), ("≥", "B")])
    ]
    (pair,) = found(*items).pairs
    assert (pair.kind, pair.keys) == ("variant", "unknown")


def test_new_items_are_compared_to_all_sets_and_the_sets_not_to_each_other() -> None:
    result = found(choice("q1"), official=[choice("o1"), choice("o2")], private=[choice("p1")])
    assert {(pair.first.item, pair.second.item) for pair in result.pairs} == {
        ("q1", "o1"),
        ("q1", "o2"),
        ("q1", "p1"),
    }
    assert result.items == {"new": 1, "official": 2, "private": 1}
    (group,) = result.copies
    assert [member.item for member in group.members] == ["q1", "o1", "o2", "p1"]


def test_an_item_that_stands_in_its_layer_already_is_no_copy_of_itself() -> None:
    result = found(choice("q1"), open=[choice("q1"), choice("q9")])
    assert result.selves == 1
    assert [pair.second.item for pair in result.pairs] == ["q9"]


def test_a_changed_item_is_compared_to_its_former_self() -> None:
    result = found(choice("q1", stem=STEM.replace("trinta", "vinte")), open=[choice("q1")])
    assert result.selves == 0
    (pair,) = result.pairs
    assert pair.kind == "variant"


def test_items_of_one_passage_form_a_group_even_when_two_are_copies() -> None:
    passage = Passage(
        text="O apito do trem " + " ".join(f"palavra{k}" for k in range(25)), source="Conto inédito"
    )
    items = [
        Candidate(id=f"q{k}", payload=Payload(kind="open", stem=stem, passage=passage, key="x"))
        for k, stem in enumerate(
            [
                "Que sentimento o trecho sugere ao leitor da serra gelada?",
                "Que sentimento o trecho sugere ao leitor da serra gelada?",
                "Em que lugar e hora se passa a cena com a mala?",
            ]
        )
    ]
    result = found(*items)
    (group,) = result.passages
    assert [member.item for member in group.members] == ["q0", "q1", "q2"]
    assert group.words == 29
    assert [pair.kind for pair in result.pairs] == ["copy"]


def test_nothing_found_is_said_with_what_was_compared() -> None:
    blank = Candidate(id="q2", payload=Payload(kind="open", stem="?"))
    result = found(choice("q1"), blank)
    assert (result.pairs, result.copies, result.passages, result.sources) == ((), (), (), ())
    assert result.empty == (Member(set="new", item="q2", source="new"),)


def test_no_text_of_an_item_is_in_the_result() -> None:
    result = found(choice("q1"), choice("q2"), private=[choice("p1", "C")])
    text = msgspec.json.encode(result).decode()
    assert "padeiro" not in text
    assert "chaminé" not in text


def test_the_same_items_in_any_order_give_the_same_pairs() -> None:
    items = [choice("q1"), choice("q2", "C"), turned("q3", "B"), choice("q4", stem=STEM + " Por quê?")]

    def names(result: Duplicates) -> set[tuple[frozenset[str], str, str]]:
        return {(frozenset({p.first.item, p.second.item}), p.kind, p.keys) for p in result.pairs}

    assert names(found(*items)) == names(found(*items[::-1]))


def test_the_example_has_one_near_duplicate_and_one_shared_passage() -> None:
    items = Workspace(Path(__file__).parents[2]).items("exemplo")
    layers = {
        layer: [Candidate(id=item.id, payload=item.payload) for item in items if item.layer == layer]
        for layer in ("official", "open")
    }
    result = find_duplicates(layers["open"], {"official": layers["official"]}, RULES)
    (pair,) = result.pairs
    assert (pair.second.item, pair.kind) == ("of-2026-4", "variant")
    (group,) = result.passages
    assert [member.item for member in group.members] == ["ex-3630", "ex-6d08"]
