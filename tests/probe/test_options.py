"""Masked options: what is masked, and a column that knows them (Deng et al. 2023)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.engine.server import Act, Say, Seen, always
from tests.probe.making import asked_of

from lacre.probe.options import MASK, Masked, OptionsProbe, find_options, masked, options_questions
from lacre.registry.items import Item, Passage, Payload
from lacre.scoring.estimates import Estimate, Undefined

WRONG = (
    "Porque o gato do condutor dormia sobre os trilhos.",
    "Devido à greve das costureiras do bairro vizinho.",
    "Graças ao apito quebrado da velha locomotiva azul.",
)


def item(id: str, **changes: object) -> Item:
    values: dict[str, object] = {
        "kind": "choice",
        "stem": f"Por que parou o bonde número {id}?",
        "options": {
            "A": "Por falta de luz.",
            **dict(zip("BCD", (f"{text} {id}" for text in WRONG), strict=True)),
        },
        "key": "A",
    }
    return Item(id=id, benchmark="b", layer="official", cell={}, payload=Payload(**(values | changes)))  # type: ignore[arg-type]


def probe(items: int, controls: int) -> OptionsProbe:
    made = [masked(item(f"i{n}"), "item") for n in range(items)]
    made += [masked(item(f"c{n}"), "control") for n in range(controls)]
    return OptionsProbe(
        benchmark="b", layer="official", masked=tuple(m for m in made if isinstance(m, Masked)), left_out={}
    )


def test_a_column_that_has_read_the_items_is_told_from_one_that_has_not(tmp_path: Path) -> None:
    asked = probe(40, 60)
    held = {one.text: " ".join(one.hidden) for one in asked.masked if one.role == "item"}

    def script(seen: Seen) -> Act:
        text = next((hidden for text, hidden in held.items() if text in seen.text), None)
        return Say(text=f"B) {text.capitalize()}." if text else "Porque a ponte estava fechada para obras.")

    cards, replies = asked_of(tmp_path / "journal.jsonl", asked, script)
    [row] = find_options(asked, cards, replies).columns
    assert row.exact == 40
    assert len(row.guessed) == 40
    assert isinstance(row.control_rate, Estimate)
    assert (row.control_rate.value, row.control_rate.n) == (0.0, 60)
    assert isinstance(row.excess, Estimate)
    assert row.excess.value == 1.0
    assert row.p is not None
    assert row.p < 1e-9
    assert row.p_adjusted == row.p


@pytest.mark.parametrize("text", ["A", "[MASK]", "Por falta de luz.", "Não posso ajudar com isso."])
def test_what_is_not_the_option_is_no_hit(text: str, tmp_path: Path) -> None:
    asked = probe(5, 5)
    cards, replies = asked_of(tmp_path / "journal.jsonl", asked, always(Say(text=text)))
    [row] = find_options(asked, cards, replies).columns
    assert (row.exact, row.p) == (0, 1.0)


def test_refusals_are_counted_and_nothing_is_claimed(tmp_path: Path) -> None:
    asked = probe(5, 5)
    cards, replies = asked_of(
        tmp_path / "journal.jsonl", asked, always(Say(text=None, finish="content_filter"))
    )
    [row] = find_options(asked, cards, replies).columns
    assert row.unanswered == 5
    assert isinstance(row.rate, Undefined)
    assert row.p is None


def test_the_key_is_never_masked_and_the_choice_is_always_the_same() -> None:
    letters = set()
    for number in range(60):
        found = masked(item(f"q{number}"), "item")
        assert isinstance(found, Masked)
        assert found == masked(item(f"q{number}"), "item")
        assert found.letter != "A"
        assert found.text.count(MASK) == 1
        letters.add(found.letter)
    assert letters == set("BCD")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"kind": "open", "options": {}, "key": None}, "no choice item with a key"),
        ({"key": None}, "no choice item with a key"),
        ({"options": {"A": "Azul", "B": "Roxo", "C": "Verde"}}, "no wrong option that could not be guessed"),
        (
            {"options": {"A": "Por falta de luz.", "B": "O bonde número parou por que"}},
            "no wrong option that could not be guessed",
        ),
        ({"options": {"A": "1", "B": "10 20 30 40", "C": "20 30 40 50"}}, "no wrong option that could not be guessed"),
    ],
    ids=["open", "annulled", "short", "repeats the stem", "figures"],
)  # fmt: skip
def test_items_without_an_option_to_mask_say_why(changes: dict[str, object], why: str) -> None:
    assert masked(item("q", **changes), "item") == why


def test_a_passage_goes_out_with_the_item() -> None:
    found = masked(item("q", passage=Passage(text="Era uma vez um bonde.")), "item")
    assert isinstance(found, Masked)
    assert found.text.startswith("Era uma vez um bonde.")
    [question] = options_questions(OptionsProbe(benchmark="b", layer="open", masked=(found,), left_out={}))
    assert found.text in question.payload.stem
