"""Verdicts: precedence, what a declared passage excuses, short items, classes, fields, snippets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.vetting.making import (
    FILLER,
    LAW,
    NINE,
    OPTIONS,
    STEM,
    choice,
    folder,
    quoting,
    ruled,
    verdict,
    vet,
)

from lacre.registry.items import Candidate, Part, Payload
from lacre.registry.verdicts import Finding
from lacre.vetting.verdicts import LONGEST_SNIPPET

SHORT = Candidate(id="q1", payload=Payload(kind="open", stem="Quem descobriu o astato radioativo?"))
TOO_SHORT = Candidate(id="q1", payload=Payload(kind="open", stem="Qual é a capital?"))
PLAIN = Candidate(id="q1", payload=Payload(kind="open", stem="O que é que é?"))
COPY, NEAR, CLEAN = FILLER + STEM, FILLER + NINE + " com a mão. " + FILLER, FILLER
BROKEN = b'{"text": "' + b"a" * 10 + b'"}\n{"text": \n' * 30


@pytest.mark.parametrize(
    ("item", "text", "unread", "expected"),
    [
        pytest.param(choice(), COPY, False, "drop", id="drop alone"),
        pytest.param(choice(), COPY, True, "drop", id="drop before unknown"),
        pytest.param(choice(), COPY + "\n\n" + NEAR, False, "drop", id="drop before review"),
        pytest.param(SHORT, FILLER + SHORT.payload.stem, False, "drop", id="short item found whole"),
        pytest.param(choice(), NEAR, True, "unknown", id="unknown before review"),
        pytest.param(TOO_SHORT, CLEAN, True, "unknown", id="unknown before untestable"),
        pytest.param(choice(), CLEAN, True, "unknown", id="unknown before keep"),
        pytest.param(choice(), NEAR, False, "review", id="review before keep"),
        pytest.param(TOO_SHORT, CLEAN, False, "untestable", id="too few words"),
        pytest.param(PLAIN, CLEAN, False, "untestable", id="says too little"),
        pytest.param(SHORT, CLEAN, False, "keep", id="short item not found"),
        pytest.param(choice(), CLEAN, False, "keep", id="nothing found"),
    ],
)
def test_the_first_reason_in_the_order_of_precedence_decides(
    tmp_path: Path, item: Candidate, text: str, unread: bool, expected: str
) -> None:
    source = folder(tmp_path / "corpus", a_txt=text, **({"b_jsonl": BROKEN} if unread else {}))
    found = verdict(vet([item], source))
    assert found.verdict == expected
    assert bool(found.reasons) == (expected != "keep")


def test_a_drop_says_beside_it_what_was_not_read(tmp_path: Path) -> None:
    source = folder(tmp_path / "corpus", a_txt=COPY, b_jsonl=BROKEN)
    assert "unreadable" in verdict(vet([choice()], source)).reasons[-1]


@pytest.mark.parametrize(
    ("item", "text", "expected", "fields", "classes"),
    [
        pytest.param(quoting(), LAW, "review", ("passage",), "quotation", id="inside a declared passage"),
        pytest.param(quoting(None), LAW, "drop", ("passage",), "statute", id="inside an undeclared passage"),
        pytest.param(
            quoting(), f"{LAW} {NINE}.", "review", ("passage",), "quotation", id="passage, then other words"
        ),
        pytest.param(
            quoting(), f"{LAW} {STEM}", "drop", ("passage", "stem"), "copy", id="passage and whole stem"
        ),
        pytest.param(
            quoting(),
            f"{LAW} {' '.join(STEM.split()[:6])} e mais nada",
            "review",
            ("passage", "stem"),
            "statute",
            id="passage and six words of the stem",
        ),
    ],
)
def test_a_declared_passage_excuses_only_itself(
    tmp_path: Path, item: Candidate, text: str, *, expected: str, fields: tuple[str, ...], classes: str
) -> None:
    vetting = vet([item], folder(tmp_path / "corpus", a_txt=FILLER + text))
    assert verdict(vetting).verdict == expected
    first = next(finding for finding in vetting.findings if finding.check == "overlap")
    assert (first.fields, first.class_) == (fields, classes)


def test_a_run_across_passage_and_stem_says_how_much_is_the_items_own(tmp_path: Path) -> None:
    text = f"{LAW} {' '.join(STEM.split()[:6])} e mais nada"
    reasons = verdict(vet([quoting()], folder(tmp_path / "corpus", a_txt=text))).reasons
    assert "6 in a row the item's own" in reasons[0]


SET_PHRASE = (
    "Considerando o texto acima, assinale a alternativa que responde corretamente ao que foi perguntado"
)


@pytest.mark.parametrize(
    ("phrases", "text", "expected"),
    [
        pytest.param([], SET_PHRASE, "drop", id="not approved"),
        pytest.param([SET_PHRASE], SET_PHRASE, "keep", id="approved"),
        pytest.param([SET_PHRASE.upper() + "."], SET_PHRASE, "keep", id="approved in other case"),
        pytest.param([SET_PHRASE], f"{SET_PHRASE}. {STEM}", "drop", id="approved, own words leak too"),
        pytest.param(
            [SET_PHRASE],
            f"{SET_PHRASE}. {' '.join(STEM.split()[:9])} e mais nada",
            "review",
            id="approved, nine own words behind it",
        ),
        pytest.param(["alternativa que responde"], SET_PHRASE, "keep", id="approved words cut the run"),
        pytest.param(["palavras que não estão no item"], SET_PHRASE, "drop", id="other phrase"),
    ],
)
def test_approved_boilerplate_is_no_leak_and_excuses_nothing_else(
    tmp_path: Path, phrases: list[str], text: str, expected: str
) -> None:
    item = choice(stem=f"{SET_PHRASE}. {STEM}")
    vetting = vet([item], folder(tmp_path / "corpus", a_txt=FILLER + text + " Fim."), phrases=phrases)
    assert verdict(vetting).verdict == expected


def test_a_match_of_nothing_but_boilerplate_is_shown_and_called_so(tmp_path: Path) -> None:
    item = choice(stem=f"{SET_PHRASE}. {STEM}")
    vetting = vet([item], folder(tmp_path / "corpus", a_txt=FILLER + SET_PHRASE), phrases=[SET_PHRASE])
    assert [finding.class_ for finding in vetting.findings] == ["boilerplate"]
    assert "boilerplate" in verdict(vetting).reasons[0]


def findings(tmp_path: Path, item: Candidate, text: str) -> list[Finding]:
    return [f for f in vet([item], folder(tmp_path / "corpus", a_txt=text)).findings if f.check == "overlap"]


LETTERED = " ".join(f"{letter}) {text}" for letter, text in OPTIONS.items())
PARTS = Candidate(
    id="q1",
    payload=Payload(
        kind="open",
        stem=STEM,
        parts=(
            Part(
                id="a",
                prompt="Diga por quê.",
                expected="Porque a chaminé fica acima do nível que a água alcançou.",
            ),
        ),
    ),
)
ESSAY = Candidate(
    id="q1",
    payload=Payload(
        kind="open", stem=STEM, key="A chaminé, que fica acima do nível que a água alcançou na cheia."
    ),
)


@pytest.mark.parametrize(
    ("item", "text", "fields"),
    [
        pytest.param(choice(), STEM, ("stem",), id="stem alone"),
        pytest.param(
            choice(),
            f"{STEM} {LETTERED}",
            ("stem", "option:A", "option:B", "option:C", "key"),
            id="all, with the key",
        ),
        pytest.param(
            choice(key="C"),
            f"{STEM} A) {OPTIONS['A']} B) {OPTIONS['B']}",
            ("stem", "option:A", "option:B"),
            id="two options, not the key",
        ),
        pytest.param(
            choice(),
            f"{STEM} A) {OPTIONS['A']} B) A chaminé de barro",
            ("stem", "option:A", "option:B"),
            id="the key's first words are not the key",
        ),
        pytest.param(
            choice(key=None), f"{STEM} {LETTERED}", ("stem", "option:A", "option:B", "option:C"), id="no key"
        ),
        pytest.param(
            PARTS, PARTS.payload.parts[0].expected, ("expected:a", "key"), id="expected answer of a part"
        ),
        pytest.param(ESSAY, str(ESSAY.payload.key), ("key",), id="expected answer"),
    ],
)
def test_the_fields_of_a_finding_name_the_key_when_the_answer_leaked(
    tmp_path: Path, item: Candidate, text: str, fields: tuple[str, ...]
) -> None:
    assert findings(tmp_path, item, FILLER + text + " Fim.")[0].fields == fields


def test_a_run_of_letterless_noise_or_seven_words_is_no_finding(tmp_path: Path) -> None:
    seven = " ".join(STEM.split()[:7])
    assert (
        verdict(vet([choice()], folder(tmp_path / "corpus", a_txt=f"{seven} e ponto. {FILLER}"))).verdict
        == "keep"
    )


def test_accents_tell_the_channels_apart(tmp_path: Path) -> None:
    bare = STEM.translate(str.maketrans("áéíóúâêôãõç", "aeiouaeoaoc"))
    assert findings(tmp_path / "1", choice(), FILLER + STEM)[0].channel == "exact"
    assert findings(tmp_path / "2", choice(), FILLER + bare.upper())[0].channel == "folded"


def test_the_snippet_marks_the_match_and_a_long_one_loses_its_middle(tmp_path: Path) -> None:
    stem = " ".join(f"palavra{number} singular{number}" for number in range(200)) + "?"
    text = f"antes disto vinha outra coisa {stem} e depois vinha mais"
    snippet = findings(tmp_path, choice(stem=stem), text)[0].snippet
    before, matched, after = re.fullmatch(r"(.*)⟦(.*)⟧(.*)", snippet).groups()  # type: ignore[union-attr]
    assert "outra coisa" in before
    assert "depois vinha" in after
    assert "[…]" in matched
    assert len(matched) <= LONGEST_SNIPPET + 10
    assert matched.startswith("palavra0")
    assert matched.endswith("singular199")


def test_a_benchmark_s_own_thresholds_hold(tmp_path: Path) -> None:
    source = folder(tmp_path / "corpus", a_txt=NEAR)
    assert verdict(vet([choice()], source, rules=ruled(n=9))).verdict == "drop"
    assert verdict(vet([choice()], source, rules=ruled(review_from=11))).verdict == "keep"


def test_reasons_are_said_once_each(tmp_path: Path) -> None:
    text = "\n\n".join([COPY] * 5)
    reasons = verdict(vet([choice()], folder(tmp_path / "corpus", a_txt=text))).reasons
    assert len(reasons) == len(set(reasons))
