"""A completion probe against a real server: columns that memorise, and others that do anything else (SPEC L8, X6)."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from tests.engine.making import card
from tests.engine.server import Act, Say, Script, Seen, Send, always
from tests.probe.making import asked_of, found_by, probe_of, real_items
from tests.probe.memory import NEAR, Manner, Memory
from tests.probe.texts import made_up

from lacre.probe.completion import asked, famous, is_judgeable, subject_of
from lacre.probe.controls import Subject
from lacre.probe.cuts import CUTS, HALF, cut
from lacre.probe.findings import ColumnFindings, Found, find
from lacre.probe.marks import Threshold
from lacre.registry.columns import Cutoff
from lacre.registry.items import Item
from lacre.registry.workspace import Workspace
from lacre.scoring.estimates import Estimate, Undefined

ITEMS = made_up(30)
CONTROLS = made_up(120, first=1000)
PROSE = list(made_up(120, first=5000).values())


def verdicts(found: Found) -> dict[str, str]:
    return {mark.item: mark.verdict for mark in found.marks}


def only(found: Found) -> ColumnFindings:
    [column] = found.findings.columns
    return column


def value(measured: object) -> float:
    assert isinstance(measured, Estimate), measured
    return measured.value


def beginning(seen: Seen) -> str:
    """The text that a prompt sends out."""
    return seen.text.rpartition("\n\n")[2]


def test_what_is_held_is_marked_and_what_is_made_up_is_not(tmp_path: Path) -> None:
    ids = sorted(ITEMS)
    manners: dict[str, Manner] = dict.fromkeys(ids[:10], "verbatim")
    manners |= dict(zip(ids[10:16], NEAR, strict=True))
    manners |= dict.fromkeys(ids[16:22], "paraphrased")
    positive = famous()
    held: dict[str, Manner] = {ITEMS[id]: manner for id, manner in manners.items()}
    held |= {each.text: "verbatim" for each in positive}
    probe = probe_of(ITEMS, CONTROLS, famous=positive, cuts=CUTS)
    found = found_by(tmp_path / "journal.jsonl", probe, Memory(held, PROSE))
    told = verdicts(found)
    assert {id for id, verdict in told.items() if verdict == "seen"} == set(ids[:16])
    assert {told[id] for id in ids[16:]} == {"not_reproduced"}
    column = only(found)
    assert (column.seen, column.not_reproduced, column.not_probed) == (16, 14, {})
    assert value(column.false_positives) == 0.0
    assert column.controls == {"new": 120}
    assert value(column.power) == 1.0
    assert column.basis == "controls"
    assert isinstance(column.threshold, Threshold)
    assert column.threshold.controls + column.false_positives.n == 120
    assert column.p is not None
    assert column.p < 1e-6
    assert column.p_adjusted == column.p
    # What is held comes back at every cut, and without being asked for as well.
    marks = {mark.item: mark for mark in found.marks}
    assert all(marks[id].cuts == CUTS and marks[id].neutral for id in ids[:10])
    assert column.stable >= 14
    assert value(column.guided) == pytest.approx(0.0, abs=0.05)


PLAYERS: dict[str, Script] = {
    "copies the prompt": lambda seen: Say(text=seen.text),
    "copies the beginning": lambda seen: Say(text=beginning(seen)),
    "answers the question": always(
        Say(text="Alternativa B, porque o texto diz que o relojoeiro vendeu a moringa.")
    ),
    "says nothing": always(Say(text="...")),
    "repeats one phrase": always(Say(text="Assinale a alternativa correta. " * 40)),
}


@pytest.mark.untraced
@pytest.mark.parametrize("script", PLAYERS.values(), ids=PLAYERS)
def test_a_column_that_does_something_else_is_not_marked(script: Script, tmp_path: Path) -> None:
    found = found_by(tmp_path / "journal.jsonl", probe_of(ITEMS, made_up(20, first=1000)), script)
    assert set(verdicts(found).values()) == {"not_reproduced"}
    assert value(only(found).false_positives) == 0.0


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (Say(text="Desculpe, mas não posso ajudar com isso."), "refused"),
        (Say(text=None, finish="content_filter"), "refused"),
        (Say(text=None), "failed: empty"),
        (Say(text="", finish="length"), "failed: the cap was reached before any text"),
        (Send(status=200, body=b"<html></html>", kind="text/html"), "failed: not json"),
    ],
    ids=["refuses in words", "refuses by policy", "says nothing", "thinks to the end of its cap", "fails"],
)
def test_what_could_not_be_probed_is_counted_by_reason(act: Act, reason: str, tmp_path: Path) -> None:
    items = dict(list(ITEMS.items())[:4])
    found = found_by(tmp_path / "journal.jsonl", probe_of(items, made_up(4, first=1000)), always(act))
    assert {mark.reason for mark in found.marks} == {reason}
    column = only(found)
    assert column.not_probed == {reason: 4}
    assert column.controls_lost == {reason: 4}
    assert isinstance(column.rate, Undefined)
    assert isinstance(column.threshold, Undefined)
    assert column.p is None
    assert column.p_adjusted is None


def test_a_recitation_that_the_vendor_stops_is_counted_apart(tmp_path: Path) -> None:
    items = dict(list(ITEMS.items())[:3])
    found = found_by(
        tmp_path / "journal.jsonl",
        probe_of(items),
        always(Say(text=None, finish="RECITATION")),
        dialect="gemini",
    )
    assert only(found).not_probed == {"stopped as a recitation": 3}


def test_a_reply_that_the_cap_cut_is_judged_as_far_as_it_goes(tmp_path: Path) -> None:
    def script(seen: Seen) -> Act:
        start = beginning(seen)
        text = next((text for text in ITEMS.values() if text.startswith(start)), None)
        rest = "Não conheço esse texto." if text is None else text[len(start) :]
        return Say(text=" ".join(rest.split()[:16]), finish="length")

    found = found_by(tmp_path / "journal.jsonl", probe_of(ITEMS, made_up(20, first=1000)), script)
    assert set(verdicts(found).values()) == {"seen"}
    assert all(mark.run >= 14 for mark in found.marks)


def test_guessable_and_short_items_are_not_asked_for_and_are_counted(tmp_path: Path) -> None:
    items = {
        "curto": "Que cor tinha o gato da padaria?",
        "contas": "Um feirante vende mangas em sacos de pesos diferentes todo sábado de manhã cedo. Quantos?\n"
        + "\n".join(f"{letter}) {n} kg" for letter, n in zip("ABCDEFGH", range(12, 28, 2), strict=True)),
        **dict(list(ITEMS.items())[:2]),
    }
    probe = probe_of(items, made_up(4, first=1000))
    assert {each.subject.id for each in asked(probe) if each.subject.role == "item"} == set(list(ITEMS)[:2])
    found = found_by(tmp_path / "journal.jsonl", probe, always(Say(text="Nada disso.")))
    reasons = {mark.item: mark.reason for mark in found.marks}
    assert reasons["curto"] == "too short"
    assert reasons["contas"] == "guessable: enumeration or formula"
    assert sum(only(found).not_probed.values()) == 2


def test_without_new_items_shuffled_rests_set_the_threshold_and_that_is_said(tmp_path: Path) -> None:
    held: dict[str, Manner] = dict.fromkeys(list(ITEMS.values())[:20], "verbatim")
    found = found_by(tmp_path / "journal.jsonl", probe_of(ITEMS), Memory(held, PROSE))
    column = only(found)
    assert column.basis == "shuffled"
    assert column.seen == 20
    assert column.controls == {}
    assert isinstance(column.false_positives, Estimate)


def test_with_nothing_to_measure_it_by_nothing_is_marked(tmp_path: Path) -> None:
    [(id, text)] = list(ITEMS.items())[:1]
    found = found_by(tmp_path / "journal.jsonl", probe_of({id: text}), Memory({text: "verbatim"}, PROSE))
    [mark] = found.marks
    assert (mark.verdict, mark.reason) == ("not_probed", "no threshold: no control set it")
    assert mark.share == 1.0


def test_controls_that_come_back_take_the_threshold_away(tmp_path: Path) -> None:
    every = ITEMS | CONTROLS
    held: dict[str, Manner] = dict.fromkeys(every.values(), "verbatim")
    found = found_by(tmp_path / "journal.jsonl", probe_of(ITEMS, CONTROLS), Memory(held, PROSE))
    assert set(verdicts(found).values()) == {"not_probed"}
    assert "word for word" in found.marks[0].reason
    assert isinstance(only(found).shuffled, Undefined)


def test_items_after_the_cutoff_are_controls_and_no_claim_is_made_of_them(tmp_path: Path) -> None:
    dates = {id: "2025-11-09" if place >= 15 else "2019-11-03" for place, id in enumerate(sorted(ITEMS))}
    held: dict[str, Manner] = {ITEMS[id]: "verbatim" for id, day in dates.items() if day < "2020"}
    probe = probe_of(ITEMS)
    subjects = tuple(msgspec.structs.replace(each, published=dates[each.id]) for each in probe.subjects)
    probe = msgspec.structs.replace(probe, subjects=subjects)
    cutoff = Cutoff(value="2024-06", precision="month", source="https://example.org", read="2026-01-01")
    found = found_by(tmp_path / "journal.jsonl", probe, Memory(held, PROSE), cutoff=cutoff)
    column = only(found)
    assert column.controls == {"after the cutoff": 15}
    assert column.seen == 15
    assert column.p is not None
    assert column.p < 1e-3


def test_completion_mode_sends_the_beginning_alone(tmp_path: Path) -> None:
    sent: list[str] = []
    memory = Memory(dict.fromkeys(ITEMS.values(), "verbatim"), PROSE)

    def script(seen: Seen) -> Act:
        sent.append(seen.text)
        return memory(seen)

    probe = probe_of(ITEMS, made_up(20, first=1000), mode="completion", cuts=CUTS)
    found = found_by(tmp_path / "journal.jsonl", probe, script, dialect="completions")
    assert set(verdicts(found).values()) == {"seen"}
    assert only(found).stable == len(ITEMS)
    assert cut(next(iter(ITEMS.values())), HALF).beginning in sent
    assert not any("Continue" in text or "prova" in text for text in sent)
    assert isinstance(only(found).guided, Undefined)


@pytest.mark.untraced
def test_the_same_replies_give_the_same_findings(tmp_path: Path) -> None:
    probe = probe_of(ITEMS, CONTROLS)
    cards, replies = asked_of(tmp_path / "journal.jsonl", probe, Memory({}, PROSE))
    assert find("a", probe, cards, replies) == find(
        "a", probe, cards, dict(sorted(replies.items(), reverse=True))
    )


def test_a_reply_that_is_missing_is_said() -> None:
    probe = probe_of(dict(list(ITEMS.items())[:2]))
    found = find("a", probe, [card("http://127.0.0.1:1/v1")], {})
    assert {mark.reason for mark in found.marks} == {"the probe did not ask"}


def test_the_example_benchmark_can_be_probed(tmp_path: Path) -> None:
    place = Workspace(Path(__file__).parents[2])
    items: list[Item] = place.items("exemplo")
    exams = place.exams()
    official = [subject_of(i, exams, role="item") for i in items if i.layer == "official"]
    new = [subject_of(i, exams, role="control") for i in items if i.layer == "open"]
    assert all("Exame de Exemplo" in each.exam for each in official)
    held: dict[str, Manner] = dict.fromkeys([each.text for each in official[:4]], "greeting")
    probe = probe_of({}, subjects=(*official, *new))
    found = found_by(tmp_path / "journal.jsonl", probe, Memory(held, [each.text for each in new]))
    kept = {each.id for each in official[:4] if is_judgeable(each, ())}
    assert kept
    assert {mark.item for mark in found.marks if mark.verdict == "seen"} == kept
    assert value(only(found).false_positives) == 0.0


@pytest.mark.slow
def test_on_real_items_recall_and_false_positives_are_as_promised(tmp_path: Path) -> None:
    if "LACRE_TEST_DATA" not in os.environ:
        pytest.skip("LACRE_TEST_DATA is not set: no real items here")
    texts = real_items(Path(os.environ["LACRE_TEST_DATA"]), ("enem_api",))
    good = [id for id in sorted(texts) if is_judgeable(Subject(id=id, role="item", text=texts[id]), ())]
    items = {id: texts[id] for id in good[::17]}
    controls = {id: texts[id] for place, id in enumerate(good) if place % 17 and place % 6 == 0}
    cycle: tuple[Manner, ...] = ("verbatim", *NEAR, "paraphrased")
    manners = dict(zip(sorted(items)[::2], (cycle[n % len(cycle)] for n in range(len(items))), strict=False))
    held: dict[str, Manner] = {items[id]: manner for id, manner in manners.items()}
    found = found_by(
        tmp_path / "journal.jsonl", probe_of(items, controls), Memory(held, list(texts.values()))
    )
    seen = Counter(str(manners.get(mark.item)) for mark in found.marks if mark.verdict == "seen")
    of = Counter(manners.values())
    assert seen["verbatim"] >= 0.95 * of["verbatim"]
    assert sum(seen[manner] for manner in NEAR) >= 0.8 * sum(of[manner] for manner in NEAR)
    assert seen["paraphrased"] == 0
    assert value(only(found).false_positives) <= 0.01
