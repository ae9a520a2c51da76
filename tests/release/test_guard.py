"""The guard finds private text in whatever it is wrapped, and is silent about what is public already."""

from __future__ import annotations

import base64
import bz2
import gzip
import html
import io
import json
import lzma
import os
import quopri
import random
import tarfile
import urllib.parse
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from tests.release.leaking import (
    JPEG_HEAD,
    OPTIONS,
    SECRET,
    SENTENCE,
    chunk,
    declared,
    jpeg,
    payload,
    pdf,
    pictured,
    png,
    quoting,
    sealed,
    watching,
)
from tests.sealing.making import empty_vault

from lacre.errors import Exit, InputError, IntegrityError
from lacre.registry.items import Candidate, Part, Payload
from lacre.release.guard import Inspection, LeakError, inspect, inspect_files, refuse
from lacre.release.guard_watch import EXCUSED, Exclusion, Excused, Watch, reviewers, watch
from lacre.release.readings import columns
from lacre.release.unpack import Budget, Unopened, pieces
from lacre.sealing.vault import open_vault

PICTURE = png(shade=7)
SEVEN = payload("Quanto pesa a sombra?", options={"A": "Nada", "B": "Tudo", "C": "Muito"})
THREE = payload("Dúvida?", options={"A": "Sempre", "B": "Jamais"})


def zipped(name: str, content: str | bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr(zipfile.ZipInfo(name), content, method)
    return out.getvalue()


def tarred(name: str, content: bytes, mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        info = tarfile.TarInfo(name)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def parquet(**columns: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def looked(content: bytes, name: str = "file", watch: Watch | None = None) -> Inspection:
    return inspect_files({name: content}, watch or watching())


def kinds(content: bytes, name: str = "file", watch: Watch | None = None) -> set[tuple[str, str]]:
    return {(hit.item, hit.kind) for hit in looked(content, name, watch).report.hits}


HIT = {("p-7d21f0", "text")}
RAW = SECRET.encode()
DOCX = f"<w:document><w:p><w:r><w:t>{SECRET[:20]}</w:t></w:r><w:r><w:t>{SECRET[20:]}</w:t></w:r></w:p></w:document>"

WRAPPED: dict[str, bytes] = {
    "in a prompt template": f"Responda com uma letra. {SENTENCE}. Pense antes.".encode(),
    "in a CSV inside a zip": zipped("tabelas/b.csv", f'id,texto\n1,"{SENTENCE}"\n'),
    "in a base64 field": json.dumps({"data": base64.b64encode(RAW).decode()}).encode(),
    "in a PNG's text": png(chunk(b"tEXt", b"Comment\0" + SECRET.encode("latin-1"))),
    "in a PNG's compressed text": png(chunk(b"zTXt", b"Comment\0\0" + zlib.compress(RAW))),
    "in a PNG's XMP": png(
        chunk(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(b"<x>" + RAW + b"</x>"))
    ),
    "behind a PNG": png() + RAW,
    "in a JPEG's comment": jpeg(b"\xfe", RAW),
    "in a JPEG's EXIF, in UTF-16": jpeg(b"\xe1", b"Exif\0\0" + SECRET.encode("utf-16-le")),
    "over two segments of a JPEG": jpeg(b"\xe1", RAW[:40], RAW[40:]),
    "behind a JPEG": jpeg(b"\xfe", b"x") + RAW,
    "in a GIF's comment": b"GIF89a\1\0\1\0\0\0\0\x21\xfe"
    + bytes([50])
    + RAW[:50]
    + bytes([len(RAW) - 50])
    + RAW[50:]
    + b"\0\x3b",
    "in a WebP's XMP": b"RIFF\0\0\0\0WEBPXMP " + len(RAW).to_bytes(4, "little") + RAW,
    "in a PDF's information": pdf(f"<< /Title ({SECRET}) >>".encode("cp1252")),
    "in a PDF's information, in UTF-16": pdf(
        b"<< /Title <" + (b"\xfe\xff" + SECRET.encode("utf-16-be")).hex().encode() + b"> >>"
    ),
    "in a PDF's page": pdf(
        b"<< >>", b"BT [(" + SECRET.encode("cp1252").replace(b"o", b"o) -20 (") + b")] TJ ET"
    ),
    "with JSON's escapes": json.dumps({"a": SECRET.replace(" ", "\n", 5)}).encode(),
    "in JSON within JSON within JSON": json.dumps(json.dumps(json.dumps({"a": SECRET}))).encode(),
    "in a JSONL among others": b'{"a":1}\n' + json.dumps({"a": "x\\n" + SECRET}).encode() + b"\n",
    "with Python's bytes": repr(RAW).encode(),
    "with octal escapes": "".join(f"\\{byte:03o}" if byte > 127 else chr(byte) for byte in RAW).encode(),
    "with braces in its escapes": "".join(
        f"\\u{{{ord(c):x}}}" if ord(c) > 127 else c for c in SECRET
    ).encode(),
    "with HTML's entities": html.escape(SECRET)
    .replace("í", "&iacute;")
    .replace("o", "&#111;")
    .replace("a", "&#x61;")
    .encode(),
    "with tags inside its words": b"<p>" + SECRET.replace("farol", "f<b>ar</b>ol").encode() + b"</p>",
    "percent-encoded": urllib.parse.quote_plus(SECRET).encode(),
    "percent-encoded in Windows-1252": urllib.parse.quote(SECRET, encoding="cp1252").encode(),
    "in quoted-printable": quopri.encodestring(RAW),
    "in UTF-16": SECRET.encode("utf-16"),
    "in UTF-16 without a mark": SECRET.encode("utf-16-be"),
    "in UTF-32": SECRET.encode("utf-32"),
    "in Windows-1252": SECRET.encode("cp1252"),
    "in decomposed letters and capitals": SECRET.upper().replace("Ã", "A\u0303").encode(),
    "hyphenated over lines": SECRET.replace("costureira", "cos-\nturei-\nra").encode(),
    "in gzip": gzip.compress(RAW),
    "in the second member of a gzip": gzip.compress(b"nada") + gzip.compress(RAW),
    "in the name in a gzip's head": b"\x1f\x8b\x08\x08\0\0\0\0\0\x03"
    + SECRET.encode("latin-1")
    + b"\0"
    + gzip.compress(b"x")[10:],
    "in bzip2": bz2.compress(RAW),
    "in xz": lzma.compress(RAW),
    "in Zstandard": zstandard.compress(RAW),
    "in a tar": tarred("a.txt", RAW),
    "in a name in a tar": tarred(f"{SENTENCE}.txt", b"x"),
    "in a zip in a tar in gzip": gzip.compress(tarred("a.zip", zipped("b.txt", RAW))),
    "in a stored zip": zipped("b.txt", RAW, zipfile.ZIP_STORED),
    "in a name in a zip": zipped(f"{SENTENCE}.txt", "x"),
    "before a zip": SECRET.encode("latin-1") + zipped("b.txt", b"x"),
    "in a word processor's file": zipped("word/document.xml", DOCX),
    "in Parquet": parquet(a=["x", SECRET], b=[1, 2]),
    "in a list in Parquet": parquet(a=[["x"], [SECRET]]),
    "in a dictionary in Parquet": parquet(a=pa.array(["x", SECRET, "x"]).dictionary_encode()),
    "in gzip in a cell of Parquet": parquet(a=[None, gzip.compress(RAW)]),
    "in base64 in an attribute": b'<a href="data:text/plain;base64,' + base64.b64encode(RAW) + b'">x</a>',
    "in wrapped base64 behind a head": b"Content-Transfer-Encoding: base64\n\n" + base64.encodebytes(RAW),
    "in base64 behind a word": b"data" + base64.b64encode(RAW),
    "in base64 of base64": base64.b64encode(base64.b64encode(RAW)),
    "in base64 of UTF-16": base64.b64encode(SECRET.encode("utf-16-le")),
    "in base64 of gzip": base64.b64encode(gzip.compress(RAW)),
    "in base64 for addresses": base64.urlsafe_b64encode(RAW),
    "in hex digits": RAW.hex().encode(),
}


def test_a_private_picture_in_a_pdf_is_found() -> None:
    picture = jpeg(b"\xfe", b"a picture of a gull" * 5)
    watch = watching(sealed("p-f16a", pictured(picture)))
    assert kinds(pdf(b"<< >>", packing=b"/DCTDecode", packed=picture), watch=watch) == {("p-f16a", "image")}
    assert kinds(pdf(b"<< >>", packing=b"/JPXDecode", packed=b"pixels"), watch=watch) == set()


@pytest.mark.parametrize(
    "information",
    [
        b"<< /Title (" + b"\xef\xbb\xbf" + RAW + b") >>",
        b"<< /Title ("
        + SECRET.encode("cp1252").replace(b"\xed", b"\\355").replace(b"lua", b"l\\\nua")
        + b") >>",
        b"<< /Title (a \\(b\\) (c) \\n" + SECRET.encode("cp1252") + b") >>",
        b"<< /Title <" + RAW.hex().encode()[:-1] + b"> >>",
    ],
)
def test_a_pdf_writes_its_strings_in_many_ways(information: bytes) -> None:
    assert kinds(pdf(information)) == HIT


@pytest.mark.parametrize(
    "content",
    [
        png(
            chunk(b"iTXt", b"Comment\0\0\0\0\0" + RAW), chunk(b"zTXt", b"C\0\0\x78nada"), chunk(b"zTXt", b"C")
        ),
        jpeg(b"\xfe", RAW)[:2] + b"\xff" + jpeg(b"\xfe", RAW)[2:],
        b"GIF89a\x21\xf9\x04\0\0\0\0\0\x21\x21" + b"\x3b" + RAW,
    ],
)
def test_odd_pictures_are_read_too(content: bytes) -> None:
    assert ("p-7d21f0", "text") in kinds(content)


@pytest.mark.parametrize("how", WRAPPED)
def test_a_private_sentence_is_found(how: str) -> None:
    assert kinds(WRAPPED[how]) >= HIT


def test_and_in_metadata_of_parquet() -> None:
    out = io.BytesIO()
    pq.write_table(pa.table({"a": [1]}, metadata={"note": SECRET}), out)
    assert kinds(out.getvalue()) == HIT


@pytest.mark.parametrize("start", range(0, 9, 3))
def test_any_eight_words_in_a_row_are_found_and_seven_are_not(start: int) -> None:
    words = SECRET.split()
    assert kinds(" ".join(["antes", *words[start : start + 8], "depois"]).encode()) == HIT
    assert kinds(" ".join(["antes", *words[start : start + 7], "depois"]).encode()) == set()


@given(st.binary(max_size=300), st.sampled_from(sorted(WRAPPED)))
def test_bytes_beside_it_hide_nothing(noise: bytes, how: str) -> None:
    both = zipped("a", noise) if noise else b""
    files: dict[str, Path | bytes] = {"a/noise.bin": noise, "b": WRAPPED[how], "c.zip": both}
    hits = inspect_files(files, watching()).report.hits
    assert {hit.file for hit in hits if hit.kind == "text"} == {"b"}


CRITERION = "Menciona que o metal do ponteiro encolhe de noite com o frio."


def test_every_field_of_an_item_is_private() -> None:
    expected = "O metal do ponteiro encolhe nas noites frias de julho na serra."
    essay = Payload(kind="open", stem="Explique o atraso do relógio.", parts=(
        Part(id="a", prompt="Dê a causa.", expected=expected, criteria=(CRITERION,)),
    ))  # fmt: skip
    watch = watching(sealed("p-e55a", essay))
    assert kinds(expected.encode(), watch=watch) == {("p-e55a", "text")}
    assert kinds(essay.parts[0].criteria[0].encode(), watch=watch) == {("p-e55a", "text")}
    joined = f"{SECRET.split()[-1]} {OPTIONS['A']} {OPTIONS['B']}".encode()
    assert kinds(joined) == HIT  # one word of the stem, then the options


@pytest.mark.parametrize(
    ("content", "text", "found"),
    [
        (SEVEN, "Quanto pesa a sombra? Nada, tudo, muito.", True),
        (SEVEN, "A: quanto pesa a sombra? (A) Nada (B) Tudo (C) Muito", True),
        (SEVEN, "Quanto pesa a sombra? Nada, tudo.", False),
        (THREE, "Dúvida? Sempre, jamais.", True),
        (THREE, "Duvida? A) Sempre B) Jamais", True),
        (THREE, "Dúvida? Sempre.", False),
    ],
)
def test_of_a_short_item_the_whole_is_looked_for(content: Payload, text: str, found: bool) -> None:
    watch = watching(sealed("p-5407", content))
    items = {item for item, _ in kinds(text.encode(), watch=watch)}
    assert items == ({"p-5407"} if found else set())


def test_an_item_of_two_words_is_named_as_not_looked_for() -> None:
    watch = watching(sealed("p-2", payload("Calcule.", options={"A": "", "B": "Um"})))
    report = looked(b"Calcule um", watch=watch).report
    assert (report.is_clean, report.unsearched) == (True, ("p-2",))


@pytest.mark.parametrize(
    "content",
    [
        PICTURE,
        zipped("fig/a.png", PICTURE, zipfile.ZIP_STORED),
        json.dumps({"image": base64.b64encode(PICTURE).decode()}).encode(),
        b'<img src="data:image/png;base64,' + base64.b64encode(PICTURE) + b'">',
        parquet(image=[PICTURE, None]),
        parquet(image=[{"bytes": PICTURE, "path": "a.png"}]),
        gzip.compress(tarred("a.png", PICTURE)),
        PICTURE.hex().encode(),
    ],
    ids=["plain", "zip", "json", "html", "parquet", "struct", "tar", "hex"],
)
def test_a_private_image_is_found(content: bytes) -> None:
    watch = watching(sealed("p-f16a", pictured(PICTURE)))
    assert ("p-f16a", "image") in kinds(content, watch=watch)
    assert kinds(png(shade=8), watch=watch) == set()


NONCE = bytes.fromhex(sealed().nonce)


@pytest.mark.parametrize(
    "content",
    [
        NONCE.hex().encode(),
        b"x" + NONCE.hex().upper().encode(),
        b"abcdef" + NONCE.hex().encode() + b"0123",
        base64.b64encode(NONCE),
        b'{"n":"' + base64.urlsafe_b64encode(NONCE).rstrip(b"=") + b'"}',
        base64.b64encode(b"a" + NONCE + b"b"),
        zipped("a", b"\0\1\2\3" * 20 + NONCE, zipfile.ZIP_STORED),
    ],
)
def test_a_nonce_is_found(content: bytes) -> None:
    assert ("p-7d21f0", "nonce") in kinds(content)


ASKING = ("quem", "pode", "dizer", "agora", "qual", "destas", "regras", "vale", "hoje", "aqui")
STATUTE = (
    "todo aquele que encontrar um guarda-chuva na praça deverá entregá-lo ao coreto até o pôr do sol, sob pena de "
    "multa de três moedas, salvo se chover no caminho e o dono consentir por escrito."
)


def test_a_hundred_items_that_quote_what_open_items_quote_are_clean() -> None:
    rng = random.Random(7)
    nouns = ["barco", "farol", "vila", "ponte", "moinho", "sino", "poço", "mirante", "coreto", "galpão"]
    statutes = [STATUTE.replace("guarda-chuva", noun).replace("coreto", noun[::-1]) for noun in nouns]

    def question(k: int) -> str:
        return " ".join(rng.choices(ASKING, k=6)) + f" {k}?"

    private = [sealed(f"p-{k:05x}", quoting(statutes[k % 10], question(k))) for k in range(100)]
    public = [
        Candidate(
            id=f"o-{k}", payload=quoting(statute, f"Pergunta aberta sobre a regra {k}, que ninguém mais faz?")
        )
        for k, statute in enumerate(statutes)
    ]
    lines = b"".join(
        json.dumps(
            {"id": one.id, "payload": {"stem": one.payload.stem, "options": one.payload.options}}
        ).encode()
        + b"\n"
        for one in public
    )
    files: dict[str, Path | bytes] = {"open/items.jsonl": lines, "flat.csv": lines.replace(b'"', b"'")}
    watch = watching(*private, published=public, phrases=tuple(OPTIONS.values()))
    assert inspect_files(files, watch).report.hits == ()
    bare = inspect_files(files, watching(*private)).report
    assert {hit.item for hit in bare.hits} == {one.item.id for one in private}


def test_what_the_open_item_does_not_quote_is_still_secret() -> None:
    public = Candidate(id="o-1", payload=quoting(STATUTE, "Certo ou errado?"))
    watch = watching(
        sealed(content=quoting(STATUTE, "Quem guardou a chave do moinho velho debaixo da pedra azul?")),
        published=(public,),
    )
    assert kinds(STATUTE.encode(), watch=watch) == set()
    assert kinds(b"Quem guardou a chave do moinho velho debaixo da pedra?", watch=watch) == HIT
    over = "o dono consentir por escrito. Quem guardou a chave do moinho"
    assert kinds(over.encode(), watch=watch) == HIT


def test_a_public_item_that_copies_a_whole_private_one_excuses_nothing() -> None:
    copy = Candidate(id="o-1", payload=payload())
    assert kinds(RAW, watch=watching(published=(copy,))) == HIT


def test_a_short_item_that_stands_in_a_public_one_is_no_leak() -> None:
    public = Candidate(id="o-1", payload=payload("Disse: dúvida? Sempre, jamais. E foi embora."))
    watch = watching(sealed("p-5407", THREE), published=(public,))
    assert kinds("Dúvida? Sempre, jamais.".encode(), watch=watch) == set()


def test_a_declared_passage_may_stand_in_public_and_the_question_may_not() -> None:
    watch = watching(sealed(content=declared(STATUTE)))
    assert kinds(STATUTE.encode(), watch=watch) == set()
    assert kinds(f"Quem estava com a razão? {OPTIONS['A']} {OPTIONS['B']}".encode(), watch=watch) == HIT
    excluded = looked(b"x", watch=watch).excluded
    assert excluded == (Exclusion(item="p-7d21f0", kind="passage", source="Constituição, art. 5º"),)


def test_boilerplate_counts_for_nothing() -> None:
    phrase = "Considerando o caso narrado, assinale a afirmativa correta."
    content = payload(f"O bode comeu o edital. {phrase}", options={"A": "Sim senhor", "B": "Não senhor"})
    text = f"O bode comeu o edital. {phrase}".encode()
    assert kinds(text, watch=watching(sealed(content=content))) == HIT
    watch = watching(sealed(content=content), phrases=(phrase,))
    assert kinds(text, watch=watch) == set()
    listed = [one for one in looked(b"", watch=watch).excluded if one.kind == "boilerplate"]
    assert [(one.source, one.last - one.first) for one in listed] == [(phrase, 8)]


@pytest.mark.parametrize(("commitment", "found"), [(sealed().commitment, False), ("0" * 64, True)])
def test_an_excuse_holds_for_the_text_it_was_given_for(commitment: str, found: bool) -> None:
    one = Excused(
        item="p-7d21f0", commitment=commitment, first=0, last=16, who="Ana", when="2026-01-31", why="x"
    )
    gone = Excused(item="p-gone", commitment="0" * 64, first=0, last=3, who="Ana", when="2026-01-31", why="x")
    assert (kinds(RAW, watch=watching(excused=(one, gone))) == HIT) is found


CLEAN_ROW = (
    '{"id":"p-7d21f0","cell":{"area":"Língua Portuguesa e suas muitas Literaturas"},"batch":"1","commitment":"'
    + "ab" * 32
    + '"}'
).encode()


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("commitments.jsonl", CLEAN_ROW, False),
        ("a.jsonl", b'{"id":"p-7d21f0","note":"aquela da gaivota que confundiu tudo"}', True),
        ("a.jsonl", b'{"rows":[{"item":"p-7d21f0","why":["aquela da gaivota que confundiu tudo"]}]}', True),
        ("a.json", b'{\n "p-7d21f0": {\n  "text": "aquela da gaivota que confundiu tudo"\n }\n}', True),
        ("a.json", b'{\n "rows": [\n  {"id": "p-7d21f0",\n   "cell": {"area": "a"}}\n ]\n}', False),
        ("a.jsonl", b'{"item":"p-7d21f0","verdict":"keep","classes":{"copy":1},"findings":1}', False),
        ("a.jsonl", b'{"item":"o-1","note":"aquela da gaivota que confundiu tudo"}', False),
        ("a.csv", b"id,nota\np-7d21f0,aquela da gaivota que confundiu tudo", True),
        ("a.csv", b"id,area\np-7d21f0,saude", False),
        ("a.csv", b'id,area\np-7d21f0,"saude', False),
        ("a.md", b"O item p-7d21f0 fala daquela gaivota que confundiu tudo na praia", True),
        ("a.md", b"| p-7d21f0 | saude | facil | " + b"ab" * 32 + b" |", False),
        ("a.md", b"p-7d21f0, p-aaaa00, p-aaaa01", False),
        ("ledger.jsonl", b'{"event":{"item":"p-7d21f0","reason":"duas respostas certas entre as de cima"}}', False),
        ("a.txt", b"xp-7d21f0 p-7d21f00 p-7d21f fala daquela gaivota que confundiu tudo na praia", False),
        ("a.bin", base64.b64encode(b'{"id":"p-7d21f0","note":"aquela da gaivota que confundiu tudo"}'), True),
    ],
)  # fmt: skip
def test_an_id_may_stand_in_a_public_row_and_not_beside_text(name: str, content: bytes, found: bool) -> None:
    assert kinds(content, name) == ({("p-7d21f0", "id beside text")} if found else set())


def test_short_and_wordy_ids_are_looked_for_where_they_are_a_whole_value() -> None:
    watch = watching(sealed("n1"), sealed("gaivota"))
    text = "isto aqui fala de umas coisas da praia"
    assert kinds(b'{"id":"n1","t":"%s"}' % text.encode(), "a.jsonl", watch) == {("n1", "id beside text")}
    assert kinds(f"id,t\nn1,{text}\n".encode(), "a.csv", watch) == {("n1", "id beside text")}
    assert kinds(f"n1 {text}".encode(), "a.txt", watch) == set()
    assert kinds(b'{"id":"gaivota","t":"%s"}' % text.encode(), "a.jsonl", watch) == {
        ("gaivota", "id beside text")
    }


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("escreva a ana.lima@escola.edu.br já", "e-mail address"),
        ("mailto:ANA@ESCOLA.BR", "e-mail address"),
        ("ana\\u0040escola.br", "e-mail address"),
        ("acesso@lua.example.br, ana@example.com, ana@teste.invalid, git@github.com, noreply@x.org", ""),
        ("figura@2x.png, @fulano, a@b, x@y.z1, actions/checkout@v4.1, @ sozinho", ""),
        ("público: bode@serra.com.br", ""),
        ("CPF 529.982.247-25", "CPF"),
        ("cpf: 52998224725", "CPF"),
        ("529.982.247-26, 111.111.111-11", ""),
        ("tel. 52998224725, 2026-11-30T12:00, 20261130123, 11987654321", ""),
        ("público: 390.533.447-05", ""),
        ("Revisado por MARIA DAS DORES Quadros.", "reviewer's name"),
        ("Maria das Flores Quadros, Dona Rosa", ""),
        ("AGE-SECRET-KEY-1" + "Q" * 58, "secret key"),
        ("-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n-----END", "secret key"),
        ("AGE-SECRET-KEY-1 begins every one; -----BEGIN PRIVATE KEY----- too", ""),
        ('{"id":"x","layer":"private","payload":{"kind":"open","stem":"?"}}', "private record"),
        ('{"id":"x","layer":"private","rows":3}', ""),
    ],
)  # fmt: skip
def test_people_and_keys_are_found_and_their_likes_are_not(text: str, kind: str) -> None:
    public = Candidate(
        id="o-1", payload=payload("Escreva a bode@serra.com.br, de CPF 390.533.447-05, hoje mesmo.")
    )
    watch = watching(published=(public,), reviewers=("Maria das Dores Quadros", "Rosa"))
    assert kinds(text.encode(), watch=watch) == ({("", kind)} if kind else set())
    assert looked(b"", watch=watch).report.unsearched_names == 1


def test_the_program_may_have_its_examples_and_no_private_word() -> None:
    text = b"p-7d21f0 fala daquela gaivota que confundiu tudo na praia, ana@escola.br, 529.982.247-25, Ana de Souza"
    watch = watching(reviewers=("Ana de Souza",))
    assert kinds(tarred("a.py", text), "code/program.tar", watch) == set()
    assert len(kinds(tarred("a.py", text), "other/program.tar", watch)) == 4
    assert kinds(tarred("a.py", RAW), "code/program.tar", watch) == HIT


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("r.json", b'{"layer":"private","n":19,"accuracy":0.5}', True),
        ("r.json", b'{"layer":"private","n":20,"accuracy":0.5}', False),
        ("r.json", b'{"layer":"open","n":3,"accuracy":0.5}', False),
        ("r.json", b'{"layer":"private","cells":{"area=a":{"items":12,"root":{"lo":0.1}}}}', False),
        ("r.json", b'{"layer":"private","cells":{"area=a":{"items":12,"value":{"lo":0.1}}}}', True),
        ("r.json", b'{"layer":"private","cells":[{"items":12,"score":1}]}', True),
        ("r.json", b'{"private":{"n":5,"mean":1},"open":{"n":5,"mean":1}}', True),
        ("r.json", b'{"layer":"private","items":5,"root":"ab"}', False),
        (
            "r.jsonl",
            b'{"layer":"open","n":3,"accuracy":1}\n{"layer":"private","n":3,"accuracy":1}\nnot json\n',
            True,
        ),
        ("r.csv", b"layer,stratum,n,accuracy\nprivate,a,19,0.5\n", True),
        ("r.csv", b"layer;stratum;n;accuracy\nprivate;a;20;0,5\nopen;a;3;0,5\n", False),
        ("r.csv", b"layer,stratum,n\nprivate,a,19\n", False),
        ("r.md", b"private n accuracy 3", False),
    ],
)
def test_results_of_few_private_items_are_refused(name: str, content: bytes, found: bool) -> None:
    assert (("", "too few items") in kinds(content, name)) is found


def bomb(layers: int) -> bytes:
    content = bytes(1 << 20)
    for _ in range(layers):
        content = gzip.compress(content)
    return content


def encoded(content: bytes, layers: int) -> bytes:
    for _ in range(layers):
        content = base64.b64encode(content)
    return content


def locked() -> bytes:
    content = bytearray(zipped("a.txt", b"x"))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


UNOPENED: dict[str, bytes] = {
    "nested too deep": bomb(8),
    "encoded too deep": encoded(b"x" * 40, 9),
    "under a password": locked(),
    "cut short": gzip.compress(b"x" * 5000)[:-9],
    "cut short in xz": lzma.compress(b"x" * 5000)[:-9],
    "a PDF with a stream cut short": pdf(b"<< >>", packed=zlib.compress(bytes(range(256)))[:-9]),
    "damaged": b"\x28\xb5\x2f\xfdnada",
    "a damaged zip": b"PK\x03\x04nada",
    "a damaged tar": tarred("a", b"x")[:700],
    "bytes behind a tar's end": tarred("a", b"x") + b"x" * 512,
    "7z": b"7z\xbc\xaf\x27\x1cnada",
    "SQLite": b"SQLite format 3\0nada",
    "of no known format": bytes(range(256)),
    "damaged Parquet": b"PAR1nadaPAR1",
    "a torn PNG": png()[:-9],
    "a PNG whose text is cut short": png(chunk(b"zTXt", b"C\0\0" + zlib.compress(b"x" * 500)[:-9])),
    "a torn JPEG": JPEG_HEAD,
    "a locked PDF": pdf(b"<< /Encrypt 1 0 R >>"),
    "a PDF with text in glyphs": pdf(b"<< /Encoding /Identity-H >>"),
    "a PDF packed strangely": pdf(b"<< >>", b"x", b"/LZWDecode"),
    "a damaged stream in a PDF": pdf(b"<< >>", b"x", b"/FlateDecode", packed=b"nada"),
}


@pytest.mark.parametrize("what", UNOPENED)
def test_what_cannot_be_opened_is_refused(what: str) -> None:
    report = looked(UNOPENED[what]).report
    assert {hit.kind for hit in report.hits} == {"not opened"}
    with pytest.raises(LeakError, match="another format"):
        refuse(report)


@pytest.mark.slow
def test_a_bomb_is_refused_before_it_fills_the_memory() -> None:
    packed = zlib.compressobj(wbits=31)
    content = b"".join([*(packed.compress(bytes(1 << 24)) for _ in range(33)), packed.flush()])
    assert "more than the guard looks through" in looked(content).report.hits[0].why


@pytest.mark.parametrize("budget", [Budget(members=1), Budget(bytes=2)])
def test_too_many_members_and_too_many_bytes_are_refused(budget: Budget) -> None:
    found = list(pieces(zipped("a", b"xyz"), "", budget))
    assert Unopened("", "unpacks to more than the guard looks through") in found


def test_a_folder_is_looked_through_with_all_that_is_hidden_in_it(tmp_path: Path) -> None:
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden/.a").write_bytes(RAW)
    (tmp_path / "clean.txt").write_text("nada")
    (tmp_path / "link").symlink_to("clean.txt")
    (tmp_path / "folder-link").symlink_to(".hidden")
    os.mkfifo(tmp_path / "pipe")
    report = inspect(tmp_path, watching()).report
    assert [(hit.file, hit.kind, hit.why) for hit in report.hits] == [
        (".hidden/.a", "text", ""),
        ("folder-link", "not opened", "cannot be read (a link)"),
        ("link", "not opened", "cannot be read (a link)"),
        ("pipe", "not opened", "cannot be read (no regular file)"),
    ]
    assert (report.files, report.items) == (5, 1)
    with pytest.raises(InputError, match="is no folder"):
        inspect(tmp_path / "clean.txt", watching())


def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    hits = inspect_files({"gone": tmp_path / "gone"}, watching()).report.hits
    assert [(hit.kind, hit.why) for hit in hits] == [
        ("not opened", "cannot be read (No such file or directory)")
    ]


def test_no_message_quotes_what_was_found() -> None:
    name = f"pasta/{SENTENCE}.txt"
    files: dict[str, Path | bytes] = {name: RAW, "a.zip": zipped(f"{SENTENCE}.csv", RAW), "b\x1b.txt": RAW}
    found = inspect_files(files, watching())
    with pytest.raises(LeakError) as caught:
        refuse(found.report)
    said = str(caught.value) + repr(found.report) + json.dumps([hit.said for hit in found.report.hits])
    assert "costureira" not in said
    assert "gaivota" not in said
    assert "private name, SHA-256" in said
    assert "\x1b" not in str(caught.value)
    assert caught.value.exit_code == Exit.FINDING
    assert [hit.item for hit in found.report.hits if hit.kind == "text"] == ["p-7d21f0"] * len(
        found.report.hits
    )


def test_a_long_text_is_looked_through_across_its_windows() -> None:
    filler = "Nada de novo na praia hoje. " * 150_000
    for cut in (4 << 20, (4 << 20) - 30):
        text = (filler[:cut] + SECRET + filler[:100]).encode()
        assert kinds(text) == HIT
    one_word = b"x" * (5 << 20) + b" " + RAW
    assert kinds(one_word) == HIT


def test_the_same_folder_gives_the_same_report_whatever_the_order_of_files() -> None:
    files: dict[str, Path | bytes] = {f"f{k}": content for k, content in enumerate(WRAPPED.values())}
    seen: list[tuple[int, int]] = []
    report = inspect_files(files, watching(), lambda done, every: seen.append((done, every))).report
    assert inspect_files(dict(reversed(files.items())), watching()).report == report
    assert seen[-1] == (report.bytes, report.bytes)
    refuse(inspect_files({"a": b"nada"}, watching()).report)


def test_reviewers_are_told_from_the_registry_and_those_who_sign_are_not(tmp_path: Path) -> None:
    (tmp_path / "b/open").mkdir(parents=True)
    (tmp_path / "b/open/items.jsonl").write_text('{"history":[{"who":"Ana de Lima"}]}\n')
    (tmp_path / "audit.jsonl").write_text(
        '{"checks":[{"who":" Rui Prado "},{"who":3}],"who":""}\n{"who":\n[1]\n'
    )
    (tmp_path / "verdicts.jsonl").write_text('{"rater":"Bia Leal","name":"Caio"}\n{"rater":"Davi Reis"}\n')
    (tmp_path / "waivers.jsonl").write_text('{"who":"Davi Reis"}\n')
    (tmp_path / "ledger.jsonl").write_text('{"event":{"name":"Eva Nunes"}}\n')
    assert reviewers(tmp_path) == {"Rui Prado", "Bia Leal"}


def test_a_vault_whose_documents_are_of_no_known_form_is_refused(tmp_path: Path) -> None:
    identity = empty_vault(tmp_path / "vault", workspace=None)
    with open_vault(tmp_path / "vault", identity) as vault:
        assert watch(vault, None).items == ()
        with vault.change() as change:
            change.keep(EXCUSED, b'{"item":3}\n')
        with pytest.raises(IntegrityError, match="of no known form"):
            watch(vault, None)


WORDS = SECRET.split()
TOKENS = [part for word in WORDS for part in ((f" {word[:3]}", word[3:]) if len(word) > 3 else (f" {word}",))]
CUT: dict[str, tuple[str, str]] = {
    "one word a record": ("a.jsonl", "".join(json.dumps({"t": word}) + "\n" for word in WORDS)),
    "parts of words, with numbers": ("a.json", json.dumps([{"token": t, "p": -0.5} for t in TOKENS])),
    "one word a field": ("a.json", json.dumps({f"k{n}": word for n, word in enumerate(WORDS)})),
    "one word a row": ("a.csv", "\n".join(f"{n};{word}" for n, word in enumerate(WORDS))),
}


@pytest.mark.parametrize("name", CUT)
def test_a_text_that_is_cut_into_words_one_to_a_record_or_a_row_is_found(name: str) -> None:
    file, text = CUT[name]
    assert kinds(text.encode(), file) == HIT
    assert kinds(zipped(file, text)) == HIT


def test_long_cells_and_empty_tables_are_not_read_by_columns() -> None:
    long = "a" * 200_000
    assert [*columns(b"", table=True)] == [*columns(b"[1]", table=False)] == []
    assert [*columns(f"{long};b\n".encode(), table=True)] == []
    assert [*columns(b",".join([b"a"] * 40_000) + b"," + long.encode(), table=True)] == []
