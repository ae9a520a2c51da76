"""Real snippets that break text matching, one named test for each: found whole, or broken where it is said.

Each item is the clean text of a snippet between two sentences of ours; the corpus has the snippet as it is. What
can be mended is one run from end to end. What cannot breaks the run there, and both halves are found.
The snippets stay in the test data; without it these tests skip.
"""

from __future__ import annotations

import html
import json
import os
import re
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from lacre.registry.items import Candidate, Payload
from lacre.registry.rules import default_rules
from lacre.text import words
from lacre.vetting.vet import Vetting, vet

HEAD = "A fanfarra do colégio São José ensaiou três marchas novas antes do desfile"
TAIL = "e o maestro guardou as partituras dentro do baú amarelo da sacristia"

Clean = Callable[[str], str]


class Case(NamedTuple):
    """What a careful writer has where the corpus has the snippet, and whether the run stays whole."""

    clean: Clean
    whole: bool = True
    suffix: str = "txt"
    encoding: str = "utf-8"
    reverse: bool = False  # the item is the dirty one


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def without(*characters: str) -> Clean:
    return lambda text: "".join(c for c in text if c not in characters)


def swapped(old: str, new: str) -> Clean:
    """Characters of ``old`` for those of ``new``; each of ``old`` must be there."""

    def clean(text: str) -> str:
        assert any(c in text for c in old)
        table: dict[str, str | int | None] = dict(zip(old, new, strict=True))
        return text.translate(str.maketrans(table))

    return clean


def mended(pattern: str, new: str) -> Clean:
    def clean(text: str) -> str:
        result, count = re.subn(pattern, new, text)
        assert count, pattern
        return result

    return clean


def same(text: str) -> str:
    return text


def page_text(text: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>|^[^<>]*>|<[^<>]*$", " ", text))


# By category and number; a test holds the table to the file.
CASES: dict[str, Case] = {
    "nfd_decomposed-0": Case(nfc),
    "nfd_decomposed-1": Case(nfc),
    "nfd_file_names-0": Case(nfc),
    "cyrillic_homoglyph-0": Case(swapped("ҫо", "ço")),
    "cyrillic_homoglyph-1": Case(swapped("ТЕХО", "TEXO")),
    "zero_width-0": Case(without("\u200b")),
    "bom_inside_text-0": Case(without("\ufeff")),
    "soft_hyphen-0": Case(without("\u00ad")),
    "soft_hyphen-1": Case(without("\u00ad")),
    "ligature-0": Case(lambda text: unicodedata.normalize("NFKC", text)),
    "ligature_plus_space-0": Case(mended(r"ﬀ ", "ff"), whole=False),
    "nbsp-0": Case(swapped("\u00a0", " ")),
    "fffd_as_space-0": Case(swapped("\ufffd", " ")),
    "form_feed-0": Case(swapped("\f", " ")),
    "c1_control-0": Case(mended("[\x80-\x9f]", "—")),
    "hyphen_line_break-0": Case(mended(r"(?<=\w)-\s*\n(?=\w)", "")),
    "double_hyphen_break-0": Case(lambda text: mended(r"(?<=\w)-\n(?=\w)", "")(mended(r"-\n-", "-")(text))),
    "real_hyphen_at_break-0": Case(mended(r"(?<=\w)-\n(?=\w)", "-")),
    "lost_hyphen-0": Case(mended(r"(?<=am)(?=me\b)", "-")),
    "split_first_letter-0": Case(mended(r"(?<=\W)e  (?=\w)", "e"), reverse=True),
    "doubled_watermark-0": Case(mended(r"(\d)\1(\d)\2(?=//|::)", r"\1\2"), whole=False),
    "page_footer_in_question-0": Case(mended(r"(?s)(?<=\.) \d.*", ""), whole=False),
    "page_header_in_option-0": Case(mended(r"(?s)(?<=\.) X.*", ""), whole=False),
    "private_use_glyph-0": Case(mended("[\ue000-\uf8ff]", " ")),
    "two_columns_interleaved-0": Case(same),
    "broken_tounicode-0": Case(mended(r"\n\S*[^\w\s.,][^\n]*", ""), whole=False),
    "vertical_watermark-0": Case(lambda _: "", whole=False),
    "html_entity-0": Case(page_text, suffix="html"),
    "html_code_in_item-0": Case(same),
    "markdown_image-0": Case(mended(r"!\[\]\(\S*", ""), whole=False),
    "caret_exponent-0": Case(mended(r"\^\{\s*(-\d)\s*\}[\u200b−\d]*", r"\1"), whole=False),
    "superscript-0": Case(lambda text: unicodedata.normalize("NFKC", text).replace("*", "")),
    "money-0": Case(mended(r"(?<=\d)\.(?=\d)", " ")),
    "ordinal-0": Case(swapped("ª", "a")),
    "ordinal_plain_o-0": Case(mended(r"(?<=\d)o\b", "º")),
    "degree_for_ordinal-0": Case(swapped("°", "º")),
    "curly_quotes-0": Case(swapped("“", '"')),
    "glued_footnote_word-0": Case(mended(r"\bé(?=q)", "é "), whole=False),
    "tokenised_corpus-0": Case(mended(r" [OBI](?:-\w+)?\n", " "), whole=False),
    "replacement_in_item-0": Case(swapped("\ufffd?", "” "), reverse=True),
    "undeclared_latin1-0": Case(same, encoding="latin-1"),
    "mojibake_legit-0": Case(same),
    "uppercase_mixed-0": Case(str.casefold),
    "spanish_english_items-0": Case(mended(r"-{5,}", "—")),
    "wrong_key_extraction-0": Case(mended(r"[^\w\s:]", "")),
}
DOUBLED = "doubled_letter_bullet-0"


@cache
def snippets(root: Path) -> dict[str, str]:
    """The snippets by category and number, as a reader of their file sees them."""
    found: dict[str, str] = {}
    for line in (root / "edge_cases.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        number = sum(name.rpartition("-")[0] == case["category"] for name in found)
        found[f"{case['category']}-{number}"] = unescaped(case["snippet"])
    return found


def unescaped(raw: str) -> str:
    """A piece of a JSON file as the text it stands for; other text is left as it is."""
    return re.sub(
        r"\\(?:u([0-9a-fA-F]{4})|([n\"]))",
        lambda m: chr(int(m[1], 16)) if m[1] else {"n": "\n", '"': '"'}[m[2]],
        raw,
    )


@pytest.fixture(scope="module")
def root() -> Path:
    named = os.environ.get("LACRE_TEST_DATA")
    if not named:
        pytest.skip("LACRE_TEST_DATA is not set: no edge cases here")
    return Path(named)


def vetted(folder: Path, payload: Payload, content: bytes, suffix: str = "txt") -> Vetting:
    (folder / f"corpus.{suffix}").write_bytes(content)
    with ThreadPoolExecutor(1) as executor:
        return vet(
            [Candidate(id="item", payload=payload)],
            [str(folder / f"corpus.{suffix}")],
            default_rules().vetting,
            executor=executor,
        )


def runs_of(vetting: Vetting) -> list[tuple[int, int]]:
    return sorted(finding.item_words for finding in vetting.findings if finding.check == "overlap")


def size(text: str) -> int:
    return len(words(text))


def test_every_edge_case_has_its_test(root: Path) -> None:
    assert set(snippets(root)) == {*CASES, DOUBLED}


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.whole])
def test_mended_and_found_whole(root: Path, tmp_path: Path, name: str) -> None:
    case, snippet = CASES[name], snippets(root)[name]
    dirty, clean = f"{HEAD} {snippet} {TAIL}", f"{HEAD} {case.clean(snippet)} {TAIL}"
    item, document = (dirty, clean) if case.reverse else (clean, dirty)
    vetting = vetted(tmp_path, Payload(kind="open", stem=item), document.encode(case.encoding), case.suffix)
    assert runs_of(vetting) == [(0, size(item))]
    assert vetting.verdicts[0].verdict == "drop"
    assert size(case.clean(snippet)) > 0


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.whole])
def test_not_mended_but_found_on_either_side(root: Path, tmp_path: Path, name: str) -> None:
    case, snippet = CASES[name], snippets(root)[name]
    item = f"{HEAD} {case.clean(snippet)} {TAIL}"
    vetting = vetted(tmp_path, Payload(kind="open", stem=item), f"{HEAD} {snippet} {TAIL}".encode())
    found = runs_of(vetting)
    assert len(found) >= 2
    assert found[0][0] == 0
    assert found[0][1] >= size(HEAD)
    assert found[-1][0] <= size(item) - size(TAIL)
    assert found[-1][1] == size(item)
    assert vetting.verdicts[0].verdict == "drop"


def test_doubled_letters_of_a_bubble_sheet_are_option_letters(root: Path, tmp_path: Path) -> None:
    snippet = snippets(root)[DOUBLED]
    stem, first, second = re.split(r" AA | BB ", snippet)
    payload = Payload(kind="choice", stem=f"{HEAD} {stem}", options={"A": first, "B": f"{second} {TAIL}"})
    vetting = vetted(tmp_path, payload, f"{HEAD} {snippet} {TAIL}".encode())
    assert runs_of(vetting) == [(0, size(f"{HEAD} {stem} {first} {second} {TAIL}"))]
    assert vetting.findings[0].fields == ("stem", "option:A", "option:B")


STEM = "O texto desta questão não está em lugar nenhum da página, que ninguém consegue ler"


def test_a_page_of_glyph_codes_is_called_unreadable_and_the_item_unknown(root: Path, tmp_path: Path) -> None:
    page = f"{HEAD}.\n" + f"{snippets(root)['broken_tounicode-0']}\n" * 100
    vetting = vetted(tmp_path, Payload(kind="open", stem=STEM), page.encode())
    assert vetting.verdicts[0].verdict == "unknown"
    assert any("symbols instead of letters" in gap.reason for gap in vetting.corpora[0].unread)


def test_a_watermark_down_the_page_hides_no_text_and_makes_nothing_unknown(
    root: Path, tmp_path: Path
) -> None:
    # Its few letters stand beside the text, in the place of none.
    page = f"{HEAD}.\n" + f"{snippets(root)['vertical_watermark-0']}\n" * 100
    assert vetted(tmp_path, Payload(kind="open", stem=STEM), page.encode()).verdicts[0].verdict == "keep"


def test_two_columns_on_one_line_leave_the_lines_of_each_column(root: Path, tmp_path: Path) -> None:
    left = [HEAD, *snippets(root)["two_columns_interleaved-0"].strip().split("\n"), TAIL]
    page = "\n".join(f"{line:<90}{'outra coluna da prova':>30}" for line in left)
    item = " ".join(left)
    vetting = vetted(tmp_path, Payload(kind="open", stem=item), page.encode())
    found = runs_of(vetting)
    assert found[0] == (0, size(HEAD))
    assert found[-1] == (size(item) - size(TAIL), size(item))


def test_text_about_mojibake_is_not_repaired(root: Path, tmp_path: Path) -> None:
    snippet = snippets(root)["mojibake_legit-0"]
    vetting = vetted(
        tmp_path, Payload(kind="open", stem=f"{HEAD} {snippet} {TAIL}"), f"{HEAD} {snippet} {TAIL}".encode()
    )
    assert {finding.channel for finding in vetting.findings} == {"exact"}
