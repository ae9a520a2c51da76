"""Made-up items and documents, written for these tests."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from lacre.registry.verdicts import Channel, Check, Class, Decision, Finding, Verdict
from lacre.report.vetting import CorpusRow, Evidence, Field, Gap, ItemRow, Thresholds, VettingPage, write

RULES = Thresholds(n=13, review_from=8, rare_min_words=8, rare_drop=0.9, rare_review=0.75, max_unread=0.001)

FEIRA = (
    "Dona Celeste vende pães de queijo na feira de sábado e guarda o troco numa lata azul que foi do avô. "
    "No fim da manhã, a lata tinha 84 reais e ela havia vendido 28 pães pelo mesmo preço. "
    "Quanto custava cada pão?"
)
FORO = (
    f"[resposta 3] kkk essa caiu na minha prova!\n\n{FEIRA}\n"
    "(A) 2 reais (B) 3 reais (C) 4 reais (D) 5 reais\n\nGabarito: B, é só dividir."
)
HORTA = (
    "A horta da escola fica entre o muro e a quadra, e por isso recebe sol apenas depois do meio-dia. "
    "Que hortaliça da lista cresce melhor com poucas horas de sol?"
)
BLOGUE = (
    "Semana de plantio! A HORTA DA ESCOLA FICA ENTRE O MURO E A QUADRA E POR ISSO RECEBE SOL SO DEPOIS DO "
    "MEIO-DIA, entao escolhemos alface e rucula."
)
LEI = (
    "A educação, direito de todos e dever do Estado e da família, será promovida e incentivada "
    "com a colaboração da sociedade"
)


def span(text: str, words: str, after: str = "") -> tuple[int, int]:
    """Where ``words`` first stand in ``text``, past ``after``."""
    start = text.index(words, text.index(after))
    return start, start + len(words)


def verdict(
    item: str,
    decision: Decision,
    *reasons: str,
    run: int = 0,
    coverage: float = 0.0,
    findings: int = 0,
) -> Verdict:
    """A verdict with little said."""
    return Verdict(
        item=item, verdict=decision, reasons=reasons, longest_run=run, coverage=coverage, findings=findings
    )


def finding(
    item: str,
    shard: str,
    *fields: str,
    words: int,
    coverage: float,
    check: Check = "overlap",
    corpus: str = "foruns",
    document: str = "0",
    score: float = 1.0,
    channel: Channel = "exact",
    class_: Class = "copy",
    documents: int = 1,
) -> Finding:
    """A finding in ``shard``."""
    return Finding(
        item=item,
        check=check,
        corpus=corpus,
        shard=shard,
        document=document,
        bytes=(1204, 1530),
        fields=fields,
        item_words=(0, words),
        words=words,
        score=score,
        coverage=coverage,
        channel=channel,
        class_=class_,
        documents=documents,
        snippet="",
    )


def leaked() -> ItemRow:
    """An item whose stem and options stand in a forum."""
    options = {"A": "2 reais", "B": "3 reais", "C": "4 reais", "D": "5 reais"}
    fields = (
        Field(name="stem", text=FEIRA),
        *(Field(name=f"option:{k}", text=v) for k, v in options.items()),
    )
    evidence = Evidence(
        finding=finding(
            "ex-3f9a",
            "matematica/topico-118.html",
            "stem",
            *(f"option:{k}" for k in options),
            words=53,
            coverage=1.0,
            documents=2,
        ),
        excerpt=FORO,
        item_marks=(("stem", 0, len(FEIRA)), *((f"option:{k}", 0, len(v)) for k, v in options.items())),
        document_marks=(span(FORO, FEIRA), *(span(FORO, v, after="custava") for v in options.values())),
    )
    again = Evidence(
        finding=finding("ex-3f9a", "matematica/topico-204.html", "stem", words=21, coverage=0.4, documents=2),
        excerpt="Lembram? " + FEIRA[:100] + ".. alguém tem o resto?",
        item_marks=(("stem", 0, 100),),
        document_marks=((9, 109),),
    )
    return ItemRow(
        verdict=verdict(
            "ex-3f9a",
            "drop",
            "53 words in a row stand in foruns, matematica/topico-118.html",
            run=53,
            coverage=1.0,
            findings=7,
        ),
        fields=fields,
        evidence=(again, evidence),
    )


def edited() -> ItemRow:
    """An item whose rarest sentence was found with small edits."""
    pieces = ("A HORTA DA ESCOLA FICA ENTRE O MURO E A QUADRA", "E POR ISSO RECEBE SOL", "DEPOIS DO MEIO-DIA")
    own = ("A horta da escola fica entre o muro e a quadra", "e por isso recebe sol", "depois do meio-dia")
    evidence = Evidence(
        finding=finding(
            "ex-71c0",
            "blogue/2019-03.md",
            "stem",
            words=19,
            coverage=0.61,
            check="rare_sentence",
            corpus="blogues",
            score=0.947,
            channel="folded",
        ),
        excerpt=BLOGUE,
        item_marks=tuple(("stem", *span(HORTA, piece)) for piece in own),
        document_marks=tuple(span(BLOGUE, piece) for piece in pieces),
    )
    return ItemRow(
        verdict=verdict(
            "ex-71c0", "drop", "its rarest sentence is 94 % alike", run=10, coverage=0.61, findings=1
        ),
        fields=(
            Field(name="stem", text=HORTA),
            Field(name="option:A", text="Alface"),
            Field(name="key", text="A"),
        ),
        evidence=(evidence,),
    )


def quoted() -> ItemRow:
    """An item that quotes a declared statute."""
    excerpt = f"Art. 205. {LEI}, visando ao pleno desenvolvimento da pessoa."
    return ItemRow(
        verdict=verdict("ex-a205", "review", "a declared quotation", run=20, coverage=0.5, findings=1),
        fields=(
            Field(name="passage", text=LEI + "."),
            Field(name="stem", text="Quem, além do Estado, responde pela educação segundo o texto?"),
        ),
        evidence=(
            Evidence(
                finding=finding(
                    "ex-a205",
                    "leis.jsonl.zst",
                    "passage",
                    words=20,
                    coverage=0.5,
                    corpus="leis",
                    document="cf-205",
                    class_="quotation",
                ),
                excerpt=excerpt,
                item_marks=(("passage", 0, len(LEI)),),
                document_marks=(span(excerpt, LEI),),
            ),
        ),
        reasons_pt=("citação declarada, 20 palavras",),
    )


def sample_page() -> VettingPage:
    """Every verdict once at least, a corpus cut short, and things not read."""
    return VettingPage(
        title="itens-novos.jsonl",
        created="2031-05-02",
        rules=RULES,
        corpora=(
            CorpusRow(name="foruns", shards=14, documents=2310, bytes=4_820_113),
            CorpusRow(
                name="blogues",
                shards=3,
                documents=411,
                bytes=912_400,
                incomplete=True,
                unread=(
                    Gap(
                        where="blogue/2020.jsonl.gz, after byte 81,920",
                        reason="the archive is cut short",
                        bytes=40_960,
                    ),
                    Gap(where="blogue/2021.jsonl, line 12", reason="not JSON", bytes=310),
                    Gap(where="blogue/2021.jsonl, line 40", reason="not JSON", bytes=95),
                ),
            ),
            CorpusRow(
                name="leis",
                shards=1,
                documents=88,
                bytes=301_007,
                unread=(
                    Gap(
                        where="anexo.pdf",
                        reason="not a format lacre reads; extract its text first",
                        bytes=77_001,
                    ),
                ),
            ),
        ),
        items=(
            ItemRow(
                verdict=verdict("ex-b001", "keep"),
                fields=(Field(name="stem", text="Texto que fica em casa"),),
            ),
            quoted(),
            ItemRow(
                verdict=verdict("ex-0c7e", "untestable", "7 words are too few"),
                fields=(Field(name="stem", text="Qual é o plural de cão?"), Field(name="key", text="cães")),
            ),
            edited(),
            ItemRow(
                verdict=verdict("ex-9d2d", "unknown", "blogues was not read to its end"),
                reasons_pt=("blogues não foi lido até o fim",),
            ),
            leaked(),
            *(ItemRow(verdict=verdict(f"ex-c{number:03}", "keep")) for number in range(6)),
        ),
    )


@pytest.fixture
def page() -> VettingPage:
    return sample_page()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real Chromium, the system's own; closed with its module, for its event loop keeps others from running."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not installed: run ./scripts/system-packages")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=program,
            args=["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield chromium
        chromium.close()


@pytest.fixture
def page_file(page: VettingPage, tmp_path: Path) -> Path:
    path = tmp_path / "vetting.html"
    write(page, path)
    return path
