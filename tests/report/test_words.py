"""Both languages, and the numbers they share."""

from __future__ import annotations

from typing import get_args

import pytest

from lacre.registry.verdicts import Channel, Check, Class, Decision, Finding, Verdict
from lacre.report import words
from lacre.report.page import Evidence, ItemRow, Thresholds

RULES = Thresholds(n=13, review_from=8, rare_min_words=8, rare_drop=0.9, rare_review=0.75, max_unread=0.001)


@pytest.mark.parametrize(
    ("table", "names"),
    [
        (words.VERDICTS, Decision),
        (words.CLASSES, Class),
        (words.CHANNELS, Channel),
    ],
)
def test_every_case_has_its_words(table: dict[str, object], names: object) -> None:
    assert set(table) == set(get_args(names))


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0%"),
        (1e-9, "<1%"),
        (0.29, "29%"),
        (0.57, "57%"),
        (0.5, "50%"),
        (0.9999, "99%"),
        (1.0, "100%"),
        (1, "100%"),
    ],
)
def test_a_share_is_cut_and_never_rounded_up_to_all(share: float, text: str) -> None:
    assert words.percent(share) == text


@pytest.mark.parametrize(
    ("count", "pt", "en"),
    [
        (0, "0 bytes", "0 bytes"),
        (1, "1 byte", "1 byte"),
        (999, "999 bytes", "999 bytes"),
        (1000, "1,0 kB", "1.0 kB"),
        (999_949, "999,9 kB", "999.9 kB"),
        (999_960, "1,0 MB", "1.0 MB"),
        (8_499_358, "8,5 MB", "8.5 MB"),
        (100 * 10**9, "100,0 GB", "100.0 GB"),
        (3 * 10**12, "3,0 TB", "3.0 TB"),
    ],
)
def test_sizes_have_a_comma_in_portuguese_and_a_point_in_english(count: int, pt: str, en: str) -> None:
    assert words.size(count) == (pt.replace(" ", "\xa0"), en.replace(" ", "\xa0"))


@pytest.mark.parametrize(
    ("name", "label", "pair"),
    [
        ("stem", "", ("enunciado", "stem")),
        ("option:C", "", ("alternativa C", "option C")),
        ("part:b", "", ("parte b", "part b")),
        ("expected:b", "", ("resposta esperada b", "expected answer b")),
        ("caption:1", "Legenda 1", ("Legenda 1", "Legenda 1")),
        ("caption:1", "", ("caption:1", "caption:1")),
    ],
)
def test_fields_are_called(name: str, label: str, pair: tuple[str, str]) -> None:
    assert words.field_label(name, label) == pair


def row(verdict: Decision, *reasons: str, pt: tuple[str, ...] = ()) -> ItemRow:
    found = Verdict(item="ex-1", verdict=verdict, reasons=reasons, longest_run=0, coverage=0.0, findings=0)
    return ItemRow(verdict=found, reasons_pt=pt)


@pytest.mark.parametrize("verdict", get_args(Decision))
def test_every_verdict_has_a_reason_in_both_languages_even_when_none_is_given(verdict: Decision) -> None:
    assert all(words.reason(row(verdict), None, RULES))


def test_given_reasons_come_before_the_pages_own_words() -> None:
    assert words.reason(row("unknown", "cut short", pt=("cortado",)), None, RULES) == ("cortado", "cut short")
    assert words.reason(row("drop", "a waiver was withdrawn"), None, RULES) == (
        ("a waiver was withdrawn",) * 2
    )


def finding(check: Check, words_: int, class_: Class = "copy", score: float = 1.0) -> Finding:
    return Finding(
        item="ex-1",
        check=check,
        corpus="foruns",
        shard="a.txt",
        document="0",
        bytes=(0, 9),
        fields=("stem",),
        item_words=(0, words_),
        words=words_,
        score=score,
        coverage=0.5,
        channel="folded",
        class_=class_,
        documents=1,
        snippet="",
    )


@pytest.mark.parametrize(
    ("verdict", "found", "pt", "en"),
    [
        pytest.param(
            "drop",
            finding("overlap", 1200),
            "1\u202f200 palavras seguidas iguais, classe: cópia.",
            "1\u202f200 words in a row in common, class: copy.",
            id="a long run",
        ),
        pytest.param(
            "review",
            finding("overlap", 9),
            "9 palavras seguidas iguais, classe: cópia, menos que 13.",
            "9 words in a row in common, class: copy, fewer than 13.",
            id="a short run",
        ),
        pytest.param(
            "review",
            finding("overlap", 1),
            "1 palavra igual, classe: cópia, menos que 13.",
            "1 word in common, class: copy, fewer than 13.",
            id="one word",
        ),
        pytest.param(
            "review",
            finding("overlap", 40, "quotation"),
            "40 palavras seguidas iguais, classe: citação, em parte fora das palavras próprias do item.",
            "40 words in a row in common, class: quotation, in part not the item's own words.",
            id="a declared quotation",
        ),
        pytest.param(
            "drop",
            finding("rare_sentence", 11, score=0.999),
            "Frase mais rara, 99% igual (11 palavras), classe: cópia.",
            "Rarest sentence, 99% alike (11 words), class: copy.",
            id="the rarest sentence",
        ),
    ],
)
def test_the_page_words_the_reason_from_the_deciding_finding(
    verdict: Decision, found: Finding, pt: str, en: str
) -> None:
    evidence = Evidence(finding=found, excerpt="", weight=verdict)
    assert words.reason(row(verdict), evidence, RULES) == (pt, en)


def test_a_kept_item_with_a_waived_finding_says_so() -> None:
    evidence = Evidence(finding=finding("overlap", 20), excerpt="", weight="keep", waived=True)
    pt, _ = words.reason(row("keep"), evidence, RULES)
    assert pt == "20 palavras seguidas iguais, dispensado por quem responde por isso."


def test_the_caption_says_the_rest_in_both_languages() -> None:
    pt, en = words.caption(finding("overlap", 14))
    assert pt == (
        "enunciado · 14 palavras · cobre 50% do item · coincidência sem contar os acentos · "
        "classe: cópia · em 1 documento deste corpus · bytes 0 a 9"
    )
    assert en == (
        "stem · 14 words · covers 50% of the item · accents set aside · "
        "class: copy · in 1 document of this corpus · bytes 0 to 9"
    )
