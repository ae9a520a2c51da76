"""Ten harmless changes of one item in a corpus all drop it, in every form; other words do not."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lacre.registry.items import Candidate, Payload
from lacre.registry.rules import default_rules
from lacre.registry.verdicts import Finding, Verdict
from lacre.vetting.vet import vet

STEM = (
    "A cooperativa de São Simão não pôde inaugurar o secador de café antes da estação chuvosa. "
    "Qual decisão da diretoria — segundo o órgão fiscalizador — evitou que a produção fosse perdida?"
)
ITEM = Candidate(id="cafe", payload=Payload(kind="open", stem=STEM, key="Alugar um galpão seco."))
BEFORE = "O boletim de ontem tratou de outros assuntos da região.\n\n"
AFTER = "\n\nA previsão do tempo para amanhã é de sol entre nuvens.\n"


def hyphenated(text: str) -> str:
    """Long words cut by a hyphen at the end of a line, as in a narrow column."""
    return re.sub(r"\b(\w{4})(\w{4,})", "\\1-\n\\2", text)


def hard_spaces(text: str) -> str:
    return re.sub(r"(\w{3})(\w{3})", "\\1\u00ad\\2", text).replace(" ", "\u00a0")


def entities(text: str) -> str:
    return "".join(f"&{html.entities.codepoint2name[ord(c)]};" if ord(c) > 127 else c for c in text)


HARMLESS: dict[str, Callable[[str], str]] = {
    "unchanged": lambda text: text,
    "upper case": str.upper,
    "NFD": lambda text: unicodedata.normalize("NFD", text),
    "guillemets": lambda text: f"«{text.replace('secador de café', '«secador de café»')}»",
    "em dash": lambda text: text.replace(". ", "—").replace(" da ", " — da "),
    "hyphen at a line break": hyphenated,
    "accents lost": lambda text: "".join(
        c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c)
    ),
    "no-break space and soft hyphen": hard_spaces,
    "one word a line": lambda text: "\n".join(text.split()),
    "mojibake": lambda text: text.encode().decode("cp1252"),
    "HTML entities": entities,
}

HARMFUL: dict[str, Callable[[str], str]] = {
    "every fifth word changed": lambda text: " ".join(
        "outrora" if k % 5 == 2 else word for k, word in enumerate(text.split())
    ),
    "other text on the same subject": lambda _: (
        "O secador de café da cooperativa ficou pronto depois das chuvas, e a diretoria pediu desculpas aos "
        "sócios que perderam parte da produção."
    ),
    "words in another order": lambda text: " ".join(reversed(text.split())),
    "nothing of it": lambda _: "",
}


def as_txt(text: str) -> bytes:
    return text.encode()


def as_jsonl(text: str) -> bytes:
    return b"".join(json.dumps({"text": t}).encode() + b"\n" for t in ("Outro documento.", text, ""))


def as_html(text: str) -> bytes:
    # Entities of the text are the page's own; what the page itself would escape is escaped.
    safe = text.replace("<", "&lt;").replace(">", "&gt;")
    return (
        f'<!doctype html><meta charset="utf-8"><title>Boletim</title><p>{safe[:80]}<b>{safe[80:]}</b></p>'
    ).encode()


FORMS: dict[str, Callable[[str], bytes]] = {"txt": as_txt, "jsonl": as_jsonl, "html": as_html}


def vetted(folder: Path, name: str, content: bytes) -> tuple[Verdict, tuple[Finding, ...]]:
    (folder / name).write_bytes(content)
    with ThreadPoolExecutor(1) as executor:
        done = vet([ITEM], [str(folder / name)], default_rules().vetting, executor=executor)
    return done.verdicts[0], done.findings


def test_the_item_has_thirty_words() -> None:
    assert len(STEM.replace("—", " ").split()) == 30


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("change", HARMLESS.values(), ids=HARMLESS.keys())
def test_a_harmless_change_does_not_hide_the_item(
    tmp_path: Path, form: str, change: Callable[[str], str]
) -> None:
    text = BEFORE + change(STEM) + AFTER
    verdict, findings = vetted(tmp_path, f"corpus.{form}", FORMS[form](text))
    assert verdict.verdict == "drop"
    # All of it is found as one run, not only some words.
    assert verdict.longest_run == 30
    assert verdict.coverage == 1.0
    assert findings[0].fields == ("stem",)
    assert findings[0].check == "overlap"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("change", HARMFUL.values(), ids=HARMFUL.keys())
def test_other_words_do_not_drop_the_item(tmp_path: Path, form: str, change: Callable[[str], str]) -> None:
    text = BEFORE + change(STEM) + AFTER
    verdict, _ = vetted(tmp_path, f"corpus.{form}", FORMS[form](text))
    assert verdict.verdict == "keep"
    assert verdict.longest_run == 0


@pytest.mark.parametrize(
    ("change", "channel"), [("upper case", "exact"), ("NFD", "exact"), ("accents lost", "folded")]
)
def test_the_channel_says_whether_accents_agree(tmp_path: Path, change: str, channel: str) -> None:
    _, findings = vetted(tmp_path, "corpus.txt", (BEFORE + HARMLESS[change](STEM) + AFTER).encode())
    assert {finding.channel for finding in findings} == {channel}


@pytest.mark.parametrize("change", HARMLESS.values(), ids=HARMLESS.keys())
def test_the_bytes_of_a_finding_are_those_of_the_text_in_the_document(
    tmp_path: Path, change: Callable[[str], str]
) -> None:
    shown = change(STEM)
    document = (BEFORE + shown + AFTER).encode()
    _, findings = vetted(tmp_path, "corpus.txt", document)
    start, end = next(finding.bytes for finding in findings if finding.check == "overlap")
    matched = document[start:end].decode()
    assert matched in shown
    assert len(matched) >= len(shown) - 6  # quotation marks and the like at either end


@pytest.mark.parametrize("first", ["guillemets", "em dash", "one word a line", "hyphen at a line break"])
@pytest.mark.parametrize(
    "second",
    ["upper case", "NFD", "accents lost", "no-break space and soft hyphen", "mojibake", "HTML entities"],
)
def test_two_harmless_changes_at_once_do_not_hide_the_item(tmp_path: Path, first: str, second: str) -> None:
    text = HARMLESS[second](HARMLESS[first](STEM))
    assert vetted(tmp_path, "corpus.txt", text.encode())[0].verdict == "drop"
