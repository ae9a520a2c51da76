"""Garbled text is found, and text in any language or notation is not taken for it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from lacre.corpora.batches import TextBatch
from lacre.corpora.garbled import CONTROLS, GLYPH_CODES, LOST, SYMBOLS, UPRIGHT, garbled
from lacre.corpora.pieces import batch, strings
from lacre.corpora.readers import read
from lacre.corpora.sources import shards

PROSE = """O tribunal decidiu que a servidora tinha direito à licença, porque a lei em vigor na data do pedido
não exigia outra condição além do tempo de serviço. O recurso do município foi negado por unanimidade, e a
sentença passou a valer desde então para todos os que estavam na mesma situação, sem novo pedido.
"""
_WRONG = str.maketrans("aeiorstuçãn", "Üêî†£§•¶*+ü")
SHIFTED = PROSE.translate(_WRONG)
CODED = "".join(f"(cid:{ord(letter) % 97})" if letter != "\n" else "\n" for letter in PROSE)
SLASHED = "".join(f"/g{ord(letter)}" if letter != "\n" else "\n" for letter in PROSE)
HOLED = "".join("\ufffd" if letter in "áàãâéêíóôõúç" else letter for letter in PROSE)
PRIVATE = "".join(chr(0xE000 + ord(letter)) if letter.isalpha() else letter for letter in PROSE)
STANDING = "\n".join("PROVA CADERNO AZUL RASCUNHO INSCRITO".replace(" ", "")) + "\n"


def share(text: str) -> float:
    given = batch([text], ["d"])
    return sum(span.end - span.start for span in garbled(given)) / len(text.encode())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (SHIFTED, SYMBOLS),
        (CODED, GLYPH_CODES),
        (SLASHED, GLYPH_CODES),
        (HOLED, LOST),
        (PRIVATE, CONTROLS),
        (STANDING, UPRIGHT),
    ],
    ids=["symbols", "cid", "slash", "holes", "private", "upright"],
)
def test_garbled_text_is_found_with_its_reason(text: str, reason: str) -> None:
    found = garbled(batch([text * 40], ["d"]))
    assert {span.reason for span in found} == {reason}
    assert sum(span.end - span.start for span in found) > 0.9 * len((text * 40).encode())


def test_the_span_is_of_the_document_and_not_of_the_piece() -> None:
    clean = PROSE * 40
    text = clean + SHIFTED * 40 + clean
    piece = TextBatch(text=strings([text]), documents=["d"], starts=np.array([1000], np.int64))
    found = garbled(piece)
    first, last = len(clean.encode()) + 1000, len((clean + SHIFTED * 40).encode()) + 1000
    assert {span.document for span in found} == {"d"}
    assert found[0].start == first
    assert found[-1].end == last


def test_a_garbled_document_among_clean_ones_is_named() -> None:
    texts = [PROSE * 30, SHIFTED * 30, PROSE * 30]
    given = batch(texts, ["a", "b", "c"])
    assert {span.document for span in garbled(given)} == {"b"}
    sliced = TextBatch(text=given.text.slice(1, 2), documents=["b", "c"], starts=given.starts[1:])
    assert [(span.document, span.start) for span in garbled(sliced)][:1] == [("b", 0)]


CLEAN = {
    "Portuguese": PROSE,
    "Portuguese in capitals": PROSE.upper(),
    "law": "Art. 5º § 1º A 2ª Vara, nos termos dos §§ 2º e 3º, c/c §único, dirá. (Lei nº 9.868/99)\n",
    "money": "R$ 1.250,00 | R$ 700.000,00 | £ 12 | ¥ 300 | US$ 4,5 | € 7 | 12¢ | ± 3%\n",
    "English": "It’s “quoted” — the plaintiff’s claim… was dismissed; 17 U.S.C. § 107, § 108(a)–(c).\n",
    "Spanish": "¿Dónde está el niño? ¡Qué vergüenza! El año pasado según él, «mañana» será otro día.\n",
    "French": "L’été où naquit l’œuvre, çà et là, « être ou ne pas être » : voilà la question.\n",
    "German": "Größe, Übermut und Straße; „Bürger“ müßten über Öl und Äpfel verfügen.\n",
    "Polish": "Zażółć gęślą jaźń, źdźbło trawy i świeży śnieg; łódź płynie.\n",
    "Greek": "Η ζωή εν τάφω και το φως της ημέρας, όπως έγραψε ο ποιητής.\n",
    "Russian": "В начале было слово, и слово было у человека; «так говорили».\n",
    "Chinese": "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心。\n",
    "Arabic": "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق.\n",
    "source code": "    if (a[i] != b[i]) { return (f(x, g(y)) / 2) + h(z); } // (a) (b) path/to/file.c\n",
    "Lisp": "(defun f (x) (cond ((null x) nil) (t (cons (car x) (f (cdr x))))))\n",
    "addresses": "https://exemplo.org/a/b/c/g12/g13/d?x=1 /usr/share/doc/g1/e/f/ http://a/b/c/d\n",
    "formulas": "∫ f(x) dx = F(b) − F(a); √(a² + b²) ≤ |a| + |b|; ∑ xᵢ ≈ 3,1; α ∈ ℝ; x ≠ y; Δt → 0\n",
    "Markdown": "| a | b |\n|---|---|\n| **x** | `y` |\n\n* item [elo](http://x/y)\n",
    "bullets": "• primeiro item da lista\n• segundo item; † nota ‡ outra nota\n",
    "footnotes": "Silva†, Souza‡ e Lima† são da mesma universidade, segundo o registro oficial de autores.\n",
    "answer key": "\n".join("ABCDE" * 5) + "\n",
    "digits in a column": "\n".join("1234567890" * 3) + "\n",
    "spaces as U+FFFD": "Seção\ufffdIII\ufffd–\ufffdDa\ufffdsucessão\ufffddefinitiva\ufffdde\ufffdbens\n",
    "a lost quotation mark": "por meio de representantes eleitos ou diretamente\ufffd?. Muitos autores\n",
    "cp1252 dashes as C1": "se a escrevesse em outras condições \x97 isto é, sem pressa \x97 a novela\n",
    "dialogue": "— Não — disse ele. — «Vamos» — “já”, respondeu ‘ela’…\n",
    "phonetics": "[ˈkazɐ] [ˈpɔɾtu] [ʒɐˈnejɾu]\n",
    "emoji": "Que dia lindo! 😀😀 🎉 vamos 🇧🇷\n",
}


@pytest.mark.parametrize("name", CLEAN)
def test_text_of_any_kind_is_not_called_garbled(name: str) -> None:
    assert share(CLEAN[name] * (20_000 // len(CLEAN[name]))) < 0.001


TEST_DATA = os.environ.get("LACRE_TEST_DATA")


@pytest.mark.skipif(TEST_DATA is None, reason="LACRE_TEST_DATA is not set")
@pytest.mark.parametrize(
    ("folder", "part", "least", "most"),
    [
        ("clean", "", 0.0, 0.001),
        ("law", "", 0.0, 0.001),
        ("contaminated", "", 0.0, 0.001),
        ("pdf_extracted", "oab37", 0.0, 0.001),
        ("pdf_extracted", "D1_CD2", 0.8, 1.0),
        ("pdf_extracted", "D2_CD7", 0.35, 1.0),
    ],
)
def test_real_corpora_are_garbled_where_they_are(folder: str, part: str, least: float, most: float) -> None:
    for shard in shards(str(Path(str(TEST_DATA)) / "corpora" / folder)).shards:
        if part not in shard.path:
            continue
        size = bad = 0
        for given in read(shard):
            size += sum(len(str(text).encode()) for text in given.text.to_pylist())
            bad += sum(span.end - span.start for span in garbled(given))
        assert least <= bad / size <= most, shard.path
