"""A record that breaks its layer's rules is refused (SPEC L1)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from lacre.registry.exams import Exam
from lacre.registry.items import Expects, Image, Item, Part, Passage, Payload, Source
from lacre.registry.layers import Surroundings, is_decomposed, layer_faults
from lacre.registry.matrix import Cell, Matrix

MATRIX = Matrix(axes={"area": ("saude",)}, cells=(Cell(place={"area": "saude"}, share=1),))  # type: ignore[arg-type]
EXAM = Exam(
    id="prova-2024",
    name="Prova",
    edition="2024",
    exam_date="2024-11-03",
    exam_precision="day",
    key_date="2024-12-01",
    key_precision="day",
    booklet_url="https://example.org/b.pdf",
    source_url="https://example.org",
    source_date="2025-01-02",
)
UNFINISHED = msgspec.structs.replace(EXAM, id="prova-2025", key_date=None, key_precision=None)
AROUND = Surroundings(
    open_licence="CC BY 4.0",
    benchmark="b",
    matrix=MATRIX,
    exams={exam.id: exam for exam in (EXAM, UNFINISHED)},
)
CHOICE = Payload(kind="choice", stem="Onde fica o farol?", options={"A": "Na ilha", "B": "No morro"}, key="A")
OPEN = Payload(
    kind="open", stem="Explique o farol.", parts=(Part(id="a", prompt="Como?", expected="Com luz."),)
)
OFFICIAL = Source(exam="prova-2024", number="7", url="https://example.org/b.pdf")


def item(**changes: Any) -> Item:
    values: dict[str, Any] = {
        "id": "x-1",
        "benchmark": "b",
        "layer": "open",
        "cell": {"area": "saude"},
        "payload": CHOICE,
        "source": Source(licence="CC BY 4.0"),
    }
    return Item(**(values | changes))


def choice(**changes: Any) -> Item:
    return item(payload=msgspec.structs.replace(CHOICE, **changes))


def essay(**changes: Any) -> Item:
    return item(payload=msgspec.structs.replace(OPEN, **changes))


def part(**changes: Any) -> Item:
    return essay(parts=(msgspec.structs.replace(OPEN.parts[0], **changes),))


def official(**changes: Any) -> Item:
    return item(layer="official", source=msgspec.structs.replace(OFFICIAL, **changes))


def expecting(expects: Expects, **changes: Any) -> Item:
    return choice(expects=expects, **changes)


@pytest.mark.parametrize(
    "good",
    [
        pytest.param(item(), id="open choice"),
        pytest.param(item(payload=OPEN), id="open essay"),
        pytest.param(official(), id="official"),
        pytest.param(official(url=None), id="official, booklet from its exam"),
        pytest.param(item(layer="private", source=Source()), id="private, outside the workspace"),
        pytest.param(expecting("abstention", key=None), id="abstention without a key"),
        pytest.param(expecting("corrected_premise"), id="false premise with a key"),
        pytest.param(essay(parts=(), key="Com luz."), id="open with an expected answer and no parts"),
        pytest.param(essay(parts=(), expects="abstention"), id="open, abstention"),
        pytest.param(choice(passage=Passage(text="Era uma vez.")), id="passage"),
        pytest.param(choice(capabilities=("PRK", "BK")), id="capabilities"),
        pytest.param(
            choice(options={"A": "", "B": ""}, images=(Image(file="a.png", sha256="0" * 64),)),
            id="options are images",
        ),
        pytest.param(
            item(
                layer="official",
                payload=msgspec.structs.replace(CHOICE, key=None),
                source=msgspec.structs.replace(OFFICIAL, annulled=True),
            ),
            id="annulled",
        ),
        pytest.param(part(points="2.5", criteria=("Diz a luz.",)), id="points and criteria"),
    ],
)
def test_good_items_have_no_fault(good: Item) -> None:
    assert [fault.what for fault in layer_faults([(1, good)], AROUND)] == []


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (item(id="ação 1"), "the id is not made of letters without accents"),
        (item(id="-x"), "the id is not made of"),
        (item(id=""), "the id is not made of"),
        (item(benchmark="c"), "benchmark 'c' is not b"),
        (item(cell={"area": "artes"}), "cell 'area=artes' is none of the matrix"),
        (item(cell={}), "cell '' is none of the matrix"),
        (official(exam=None), "an official item names no exam"),
        (official(exam="outra"), "exam 'outra' is not in exams.jsonl"),
        (official(exam="prova-2025"), "exam 'prova-2025' has no final key yet"),
        (official(number=None), "an official item has no number"),
        (official(exam="outra", url=None), "an official item has no booklet"),
        (official(url="b.pdf"), "source.url is not a web address"),
        (official(annulled=True), "an annulled item has a key"),
        (item(source=Source(licence="MIT")), "its licence is not CC BY 4.0"),
        (item(source=Source()), "its licence is not CC BY 4.0"),
        (
            item(source=Source(licence="CC BY 4.0", exam="prova-2024")),
            "of the open layer comes from exam 'prova-2024'",
        ),
        (item(layer="private", source=Source(exam="prova-2024")), "of the private layer comes from exam"),
        (item(source=Source(licence="CC BY 4.0", annulled=True)), "of the open layer is annulled"),
        (choice(stem=" \n"), "the stem is empty"),
        (choice(passage=Passage(text=" ")), "the passage is empty"),
        (choice(images=(Image(file="a.png", sha256="ABC"),)), "sha256 of image 'a.png' is not 64"),
        (choice(capabilities=("PRK", "XX")), "capability 'XX' does not exist"),
        (choice(capabilities=("PRK", "PRK")), "a capability is given twice"),
        (choice(options={"A": "Na ilha"}), "fewer than two options"),
        (choice(options={}, key=None), "fewer than two options"),
        (choice(options={"a": "Na ilha", "b": "No morro"}), "an option's letter is not one of A to Z"),
        (choice(options={"B": "No morro", "A": "Na ilha"}), "not in the order of their letters"),
        (choice(options={"A": "Na ilha", "B": " "}), "no text in option B"),
        (choice(options={"A": "Na ilha", "B": "Na ilha "}), "two options say the same"),
        (choice(key=None), "no key"),
        (choice(key="C"), "the key is none of the letters"),
        (choice(key="a"), "the key is none of the letters"),
        (expecting("abstention", key="C"), "the key is none of the letters"),
        (choice(parts=OPEN.parts), "a choice item has parts"),
        (essay(options={"A": "x", "B": "y"}), "an open item has options"),
        (essay(parts=()), "an open item has no expected answer"),
        (essay(key="Com luz."), "an open item has both parts and a key"),
        (essay(parts=OPEN.parts * 2), "two parts have the same id"),
        (part(expected=" "), "part 'a' has no expected answer"),
        (part(points="2,5"), "points of part 'a' are not a decimal"),
        (part(points="1e3"), "points of part 'a' are not a decimal"),
        (part(criteria=("",)), "part 'a' has an empty criterion"),
        (choice(stem="Ac\u0327a\u0303o"), "its text is not in NFC"),
        (choice(options={"A": "c\u0327", "B": "d"}), "its text is not in NFC"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_break_of_a_rule_is_a_fault_that_says_what_to_do(bad: Item, said: str) -> None:
    faults = layer_faults([(4, bad)], AROUND)
    found = [fault for fault in faults if said in fault.what]
    assert found, [fault.what for fault in faults]
    assert found[0].line == 4
    assert found[0].todo


def test_private_text_may_not_be_in_the_workspace() -> None:
    private = item(
        layer="private", source=Source(), payload=msgspec.structs.replace(CHOICE, stem="MARCADOR", key="Z")
    )
    faults = layer_faults([(1, private)], msgspec.structs.replace(AROUND, in_workspace=True))
    assert any("private text stands in a file of the workspace" in fault.what for fault in faults)
    assert "MARCADOR" not in str([(fault.what, fault.todo) for fault in faults])


def test_the_folder_says_the_layer() -> None:
    (fault,) = layer_faults([(1, item())], msgspec.structs.replace(AROUND, layer="official"))
    assert "layer 'open' stands in a file of the official layer" in fault.what


def test_an_id_given_twice_names_both_lines() -> None:
    (fault,) = layer_faults([(1, item()), (3, item(id="x-2")), (7, item())], AROUND)
    assert (fault.line, fault.what) == (7, "item 'x-1' is already on line 1")


def test_what_is_not_known_is_not_asked_about() -> None:
    around = Surroundings(open_licence="CC BY 4.0")
    assert (
        layer_faults(
            [(1, item(benchmark="c", cell={})), (2, msgspec.structs.replace(official(), id="y"))], around
        )
        == []
    )


def test_all_faults_of_an_item_come_at_once() -> None:
    bad = item(id="ç", source=Source(), payload=msgspec.structs.replace(CHOICE, stem="", key=None))
    assert len(layer_faults([(1, bad)], AROUND)) == 4


@pytest.mark.parametrize(
    ("value", "expected"), [("ç", False), ("c\u0327", True), ({"c\u0327": 1}, True), (7, False)]
)
def test_decomposed_text_is_seen_anywhere(value: object, expected: bool) -> None:
    assert is_decomposed(value) is expected
