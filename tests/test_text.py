"""The rules of lacre-words-1 as tables of named cases, and the laws that hold on every text."""

from __future__ import annotations

import sys
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lacre.text import SEPARATOR, exact, fold, sentences, words

RULES: dict[str, tuple[str, list[str]]] = {
    "no text has no words": ("", []),
    "blanks and punctuation are no words": (" \t\n.,;—!?", []),
    "case folds": ("EXAME Exame exame", ["exame"] * 3),
    "sharp s folds to ss": ("Straße STRASSE", ["strasse", "strasse"]),
    "a Turkish dotted capital loses its dot": ("İstanbul", ["istanbul"]),
    "final sigma is sigma": ("ΟΔΟΣ οδος", ["οδοσ", "οδοσ"]),
    "accents drop": ("AÇÃO à é ô ü ñ", ["acao", "a", "e", "o", "u", "n"]),
    "decomposed accents drop": (unicodedata.normalize("NFD", "ação é"), ["acao", "e"]),
    "a mark without a letter is nothing": ("a \u0301 b", ["a", "b"]),
    "ligatures open": ("ﬁlosóﬁca eﬀeito oﬃcio ﬂuxo", ["filosofica", "effeito", "officio", "fluxo"]),
    "a spurious blank behind a ligature separates": ("Eiﬀ el", ["eiff", "el"]),
    "full width folds": ("ＡＢＣ１２", ["abc12"]),
    "a soft hyphen vanishes": ("tem\u00ad-se co\u00admum", ["tem", "se", "comum"]),
    "zero-width space vanishes": ("co\u200bmum", ["comum"]),
    "zero-width joiners vanish": ("co\u200c\u200dmum\u2060", ["comum"]),
    "direction marks vanish": ("\u200eco\u202amum\u202c", ["comum"]),
    "a byte-order mark vanishes": ("\ufeffO Podemos", ["o", "podemos"]),
    "a byte-order mark inside a word vanishes": ("Po\ufeffdemos", ["podemos"]),
    "a hyphen at a line break joins": ("contami-\nnação", ["contaminacao"]),
    "a hyphen at a CRLF line break joins": ("contami-\r\nnação", ["contaminacao"]),
    "a hyphen at an old Mac line break joins": ("contami-\rnação", ["contaminacao"]),
    "a hyphen at a line separator joins": ("contami-\u2028nação", ["contaminacao"]),
    "a hyphen at a paragraph separator joins": ("contami-\u2029nação", ["contaminacao"]),
    "a hyphen at a page break joins": ("contami-\fnação", ["contaminacao"]),
    "a hyphen at a line and page break joins": ("contami-\n\fnação", ["contaminacao"]),
    "a hyphen, a blank, a line break join": ("contami- \n  nação", ["contaminacao"]),
    "no-break spaces around the break join": ("contami-\u00a0\n\u00a0nação", ["contaminacao"]),
    "a soft hyphen at a line break joins": ("contami\u00ad\nnação", ["contaminacao"]),
    "U+2010 at a line break joins": ("contami\u2010\nnação", ["contaminacao"]),
    "a mark before the hyphen does not hide the letter": ("avo\u0301-\nzinha", ["avozinha"]),
    "a zero-width space before the hyphen does not hide the letter": ("co\u200b-\nmum", ["comum"]),
    "letters that open count by their last one": ("ﬁ-\nm", ["fim"]),
    "a hyphen at an empty line separates": ("contami-\n\nnação", ["contami", "nacao"]),
    "a double hyphen at a break keeps one": ("elegeu-\n-se", ["elegeu", "se"]),
    "a hyphen after a digit separates": ("1990-\nanos", ["1990", "anos"]),
    "a hyphen before a digit separates": ("covid-\n19", ["covid", "19"]),
    "a hyphen before a quotation mark separates": ("diz-\n“me", ["diz", "me"]),
    "a hyphen at the end of the text separates": ("contami-", ["contami"]),
    "a hyphen and a break at the end separate": ("contami-\n", ["contami"]),
    "a hyphen at the head is nothing": ("-\nnação", ["nacao"]),
    "a dash at a line break separates": ("contami–\nnação", ["contami", "nacao"]),
    "a no-break hyphen at a line break separates": ("contami\u2011\nnação", ["contami", "nacao"]),
    "a line break without a hyphen separates": ("contami\nnação", ["contami", "nacao"]),
    "a real hyphen separates": ("pré-requisito", ["pre", "requisito"]),
    "a real hyphen at a break joins too": ("ex-\nempregada", ["exempregada"]),
    "U+2010 separates": ("ex\u2010empregada", ["ex", "empregada"]),
    "numbers are words": ("50 mL 3x", ["50", "ml", "3x"]),
    "a decimal comma separates": ("4,10", ["4", "10"]),
    "money": ("R$ 700.000,00", ["r", "700", "000", "00"]),
    "percent": ("99%", ["99"]),
    "ordinal º": ("1º 2ª n.º", ["1o", "2a", "n", "o"]),
    "ordinal written as o": ("1o 2a", ["1o", "2a"]),
    "the degree sign reads as an ordinal": ("2° dia", ["2o", "dia"]),
    "a superscript is its digit": ("m² 10⁻³ isoglossas¹", ["m2", "10", "3", "isoglossas1"]),
    "a subscript is its digit": ("H₂O", ["h2o"]),
    "a fraction opens": ("1½ ¼", ["11", "2", "1", "4"]),
    "a numeral folds to its letters": ("Ⅳ ⅻ", ["iv", "xii"]),
    "a circled letter opens": ("Ⓐ ①", ["a", "1"]),
    "unit signs open": ("㎏ µm", ["kg", "μm"]),
    "Cyrillic look-alikes read as Latin": ("ТЕХТО recep\u04ab\u0430o", ["texto", "recepcao"]),
    "other Cyrillic stays": ("ж Ж", ["ж", "ж"]),
    "Greek stays": ("α β", ["α", "β"]),
    "an em dash separates": ("prova—final", ["prova", "final"]),
    "an en dash separates": ("2009–2023", ["2009", "2023"]),
    "guillemets separate": ("«sim»", ["sim"]),
    "curly quotes separate": ("“não”‘sim’", ["nao", "sim"]),
    "an apostrophe separates": ("d'água d’água", ["d", "agua", "d", "agua"]),
    "an underscore separates": ("a_b", ["a", "b"]),
    "a slash separates": ("e/ou", ["e", "ou"]),
    "a no-break space separates": ("art.\u00a084", ["art", "84"]),
    "a thin space separates": ("1\u2009000", ["1", "000"]),
    "U+FFFD separates": ("Seção\ufffdIII", ["secao", "iii"]),
    "C1 controls separate": ("pressa\u0096a", ["pressa", "a"]),
    "C0 controls separate": ("a\0b\x1fc", ["a", "b", "c"]),
    "a form feed separates": ("fim.\n\n\fDito", ["fim", "dito"]),
    "a private-use glyph separates": ("a\uf0b7b", ["a", "b"]),
    "an unassigned point separates": ("a\u0378b", ["a", "b"]),
    "CJK without blanks is one word": ("考試, 日本", ["考試", "日本"]),
    "half-width kana open": ("ｶﾞ", ["カ"]),
    "Hangul opens to its letters": (
        "한 \u1112\u1161\u11ab",
        [unicodedata.normalize("NFD", "한")] * 2,
    ),
    "Arabic digits are digits": ("٣", ["٣"]),
    "an emoji separates": ("sim👍não", ["sim", "nao"]),
    "a joined emoji is no word": ("👩\u200d👧 a", ["a"]),
    "tag characters vanish": ("si\U000e0061m", ["sim"]),
    "a variation selector vanishes": ("s\ufe0fim", ["sim"]),
    "mathematical letters fold": ("𝐀𝑏", ["ab"]),
    "superscript markup stays markup": ("10^{ -2}\u200b−2\u200b\u200b", ["10", "2", "2"]),
}


@pytest.mark.parametrize(("text", "folded"), RULES.values(), ids=RULES.keys())
def test_the_words_are(text: str, folded: list[str]) -> None:
    assert [word.folded for word in words(text)] == folded


SPANS = {
    "accents stay in the span": ("É só.", ["É", "só"]),
    "marks inside stay, behind do not": ("e\u0301s e\u0301", ["e\u0301s", "e"]),
    "a joined word spans the break": ("a contami-\nnação b", ["a", "contami-\nnação", "b"]),
    "an invisible character inside stays": ("co\u00admum \u00adsim", ["co\u00admum", "sim"]),
    "one character gives two words the same place": ("½", ["½", "½"]),
}


@pytest.mark.parametrize(("text", "sources"), SPANS.values(), ids=SPANS.keys())
def test_the_words_were_read_from(text: str, sources: list[str]) -> None:
    assert [text[word.start : word.end] for word in words(text)] == sources


EXACT = {
    "case apart": ("Avô", "avô", True),
    "accents tell": ("avô", "avó", False),
    "an accent lost": ("avô", "avo", False),
    "decomposed": ("avo\u0302", "avô", True),
    "punctuation apart": ("a, «b»—c", "a b c", True),
    "hyphen at a line break": ("contami-\nnação", "contaminação", True),
    "soft hyphen": ("co\u00admum", "comum", True),
    "ligature": ("ﬁm", "fim", True),
    "ordinal": ("1ª", "1a", True),
    "cedilla": ("força", "forca", False),
    "tilde": ("não", "nao", False),
    "sharp s": ("Straße", "STRASSE", True),
    "digits tell": ("m2", "m3", False),
}


@pytest.mark.parametrize(("one", "other", "same"), EXACT.values(), ids=EXACT.keys())
def test_the_exact_channel_tells(one: str, other: str, same: bool) -> None:
    assert (exact(one) == exact(other)) is same


SENTENCES: dict[str, list[str]] = {
    "nothing": [],
    "one without a stop": ["Quanto é dois mais dois"],
    "two": ["O gato dormiu.", "O cão latiu."],
    "question and exclamation": ["Vem?", "Vou!", "Sim."],
    "question with exclamation": ["Vem?!", "Claro."],
    "article with ordinal": ["Leia o Art. 5.º da lei.", "Depois responda."],
    "article with number": ["Segundo o art. 7 da lei, cabe recurso."],
    "number sign": ["A súmula n. 331 e a n.º 90 valem.", "Fim."],
    "number at the end": ["São 12.", "Mais nenhum."],
    "doctor": ["O Dr. João saiu.", "A Dra. Ana ficou."],
    "professor": ["O prof. Lima e a prof.ª Sá leram.", "Bem."],
    "company": ["A Alfa Ltda. Comércio faliu."],
    "initials": ["J. S. Bach morreu.", "R. I. P. Sim."],
    "page": ["Veja a p. 12 e as pp. 13 a 15.", "Fim."],
    "lei ends a sentence": ["Isso está na lei.", "Portanto vale."],
    "lei before a number does not": ["Isso está na Lei. 8906 diz mais."],
    "month ends a sentence": ["Foi em mar.", "Depois parou."],
    "decimal number": ["Custa 3.5 ou 4,2 reais.", "Caro."],
    "thousands": ["Pagou R$ 1.000,00.", "Recebeu."],
    "web address": ["Veja www.exemplo.org agora.", "Sim."],
    "ellipsis before a capital": ["Ele pensou...", "Depois falou."],
    "ellipsis before a small letter": ["Ele disse... não sei.", "Sim."],
    "one-character ellipsis": ["Ele disse… não sei…", "Sim."],
    "stop inside quotes": ['Ele disse: "Vá."', "E foi."],
    "stop inside curly quotes": ["Disse: “Vá.”", "Ela foi."],
    "stop inside guillemets": ["Disse: «Vá!»", "Ela foi."],
    "stop in brackets": ["Fim (ou não.)", "Sim."],
    "question, then the sentence goes on": ['Perguntou "quem?" e saiu.', "Fim."],
    "dialogue dashes": ["— Você vem?", "— perguntou ele.", "— Vou."],
    "abbreviation before a small letter": ["Lei de 1988, art. quinto, inc. segundo.", "Fim."],
    "lettered options": ["Marque:\na) um.", "B) dois."],
    "a stop inside a word": ["O nó.dois segue."],
}


@pytest.mark.parametrize("expected", SENTENCES.values(), ids=SENTENCES.keys())
@pytest.mark.parametrize("gap", [" ", "\n", "  \n "], ids=["blank", "line", "blanks"])
def test_the_sentences_are(expected: list[str], gap: str) -> None:
    text = gap.join(expected)
    assert [text[a:b] for a, b in sentences(text)] == expected


@pytest.mark.parametrize(
    "gap", ["\n\n", "\n \t\n", "\r\n\r\n", "\r\n \r\n", "\r\r", "\n\u00a0\n", "\n\n\n\n", "\n\n\f"]
)
def test_an_empty_line_always_ends_a_sentence(gap: str) -> None:
    text = f"conforme o art.{gap}cinco da lei"
    assert [text[a:b] for a, b in sentences(text)] == ["conforme o art.", "cinco da lei"]


@pytest.mark.parametrize("gap", ["\n", "\r\n", "\r", "\f"])
def test_a_line_break_alone_ends_no_sentence(gap: str) -> None:
    assert len(sentences(f"conforme o{gap}artigo cinco")) == 1


TEXTS = st.text(
    st.one_of(
        st.sampled_from("aeA1 -\n\r\t\f.\u00ad\u00a0\u200b\u0301\u2010\u2011ﬁ½ºÇã°Т한—?\u2028"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=40,
)


@given(TEXTS)
@settings(deadline=None)
def test_composed_and_decomposed_text_has_the_same_words(text: str) -> None:
    composed, decomposed = unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)
    assert [w.folded for w in words(composed)] == [w.folded for w in words(decomposed)]


@given(TEXTS)
@settings(deadline=None)
def test_words_rise_inside_the_text_and_fold_to_themselves(text: str) -> None:
    reached = 0
    for word in words(text):
        assert word.folded
        assert SEPARATOR not in word.folded
        assert reached <= word.start < word.end <= len(text)
        reached = word.start
        assert [w.folded for w in words(word.folded)] == [word.folded]


@given(TEXTS, TEXTS)
@settings(deadline=None)
def test_a_full_stop_between_two_texts_keeps_their_words_apart(one: str, other: str) -> None:
    # A stop behind a hyphen, or before a line break, forbids the join that the texts had alone: none has one.
    both = words(f"{one}.{other}")
    alone = [*words(one), *((w.folded, w.start + len(one) + 1, w.end + len(one) + 1) for w in words(other))]
    assert both == alone


@given(TEXTS)
@settings(deadline=None)
def test_case_does_not_change_words(text: str) -> None:
    # Upper case makes no one character of many: folding both reads the same.
    assert [w.folded for w in words(text.casefold())] == [w.folded for w in words(text)]


@given(TEXTS)
@settings(deadline=None)
def test_the_exact_form_is_stable_and_silent_about_blanks(text: str) -> None:
    form = exact(text)
    assert exact(form) == form
    assert exact(f" {text}\n—") == form
    assert exact(unicodedata.normalize("NFD", text)) == exact(unicodedata.normalize("NFC", text))


@given(TEXTS)
@settings(deadline=None)
def test_sentences_cover_all_but_white_space_once(text: str) -> None:
    spans = sentences(text)
    reached = 0
    for start, end in spans:
        assert reached <= start < end
        assert text[reached:start].strip() == ""
        assert text[start:end] == text[start:end].strip()
        reached = end
    assert text[reached:].strip() == ""


def test_every_character_folds_to_letters_and_digits_or_a_separator() -> None:
    for point in range(sys.maxunicode + 1):
        for part in fold(chr(point)):
            assert part == SEPARATOR or unicodedata.category(part)[0] in "LN", hex(point)


@pytest.mark.parametrize("text", ["." * 100_000 + "a", "…" * 100_000, "\n" * 100_000, "a. " * 50_000])
def test_sentences_take_time_in_proportion_to_the_text(text: str) -> None:
    begun = time.process_time()
    sentences(text)
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("text", ["a" + "\u00ad" * 50_000, "a" + "\u0301-" * 50_000, "a-" + " " * 50_000])
def test_words_take_time_in_proportion_to_the_text(text: str) -> None:
    begun = time.process_time()
    words(text)
    assert time.process_time() - begun < 5
