"""Classes come from the texts and the fields, never from names of files; merged or moved, they stay."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.vetting.making import FILLER, STEM, choice, folder, vet

from lacre.registry.items import Candidate, Passage, Payload
from lacre.registry.verdicts import Finding

STATUTE = """\
CAPÍTULO II
Do Uso da Praça

Art. 12. A feira será instalada na praça central aos sábados, vedada a ocupação das calçadas de pedestres.

§ 1º O feirante deverá manter limpa a área de sua barraca durante todo o período de funcionamento.

§ 2º A licença será renovada a cada ano, mediante requerimento do interessado ao órgão municipal competente:

I - com prova de quitação das taxas devidas ao município no exercício anterior;

II - com laudo de vistoria da barraca e de seus equipamentos de cozinha.

Art. 13. O descumprimento do disposto nesta Lei sujeita o feirante a multa e à suspensão da licença.

Parágrafo único. A reincidência implicará a cassação definitiva da licença pelo órgão competente.

Art. 14. Esta Lei entra em vigor na data de sua publicação. (Incluído pela Lei nº 4.321, de 2019)
"""
NOVEL = (
    "A velha casa dormia sob a chuva fina, e nenhuma luz descia mais pela escada de pedra. Henriqueta contou os "
    "degraus com a ponta da bengala, um a um, como quem reza, e parou no sétimo, onde o irmão caíra no verão da "
    "seca. Ninguém lhe respondeu do fundo do corredor. Voltou então para a sala e acendeu a lamparina azul. "
)
LAW_ITEM = Candidate(
    id="q1",
    payload=Payload(
        kind="choice",
        stem=(
            "Rosaura, feirante licenciada, deixou restos de peixe na calçada e recebeu uma notificação. "
            "Considerando a lei da praça, assinale a afirmativa correta."
        ),
        options={
            "A": "O feirante deverá manter limpa a área de sua barraca durante todo o período de funcionamento.",
            "B": "A limpeza da calçada cabe somente ao comprador que comeu o peixe no local.",
            "C": "A notificação só valeria se fosse entregue no domingo seguinte à feira.",
        },
        key="A",
    ),
)
NOVEL_ITEM = Candidate(
    id="q1",
    payload=Payload(
        kind="choice",
        stem=(
            "Henriqueta contou os degraus com a ponta da bengala, um a um, como quem reza, e parou no sétimo, onde o "
            "irmão caíra no verão da seca.\n\nVIEIRA, L. **A casa da ladeira**. Recife: Garapa, 1931 (fragmento).\n\n"
            "A contagem dos degraus revela, na personagem, o peso de"
        ),
        options={"A": "uma dívida antiga com a vizinhança.", "B": "um luto que ainda não acabou de passar."},
        key="B",
    ),
)
NAME = "Associação Beneficente dos Pescadores Artesanais de Porto Fundo da Barra"
PHRASE = "Com base nas informações apresentadas no quadro acima, assinale a alternativa que traz a resposta"


def lettered(item: Candidate) -> str:
    options = " ".join(f"{letter}) {text}" for letter, text in item.payload.options.items())
    return f"{item.payload.stem} {options}"


def named(item_id: str, subject: str) -> Candidate:
    return choice(
        item_id, f"O {subject} da rua de trás fechou mais cedo na segunda-feira. {PHRASE}: {subject}?"
    )


MANY = [
    named(f"m{k}", word)
    for k, word in enumerate(("padeiro", "sapateiro", "barbeiro", "ferreiro", "leiteiro", "oleiro"))
]


def top(found: list[Finding]) -> str:
    return next(finding.class_ for finding in found if finding.item in ("q1", "m0"))


CASES = [
    pytest.param([LAW_ITEM], STATUTE, "statute", id="an option that quotes a law, in the law"),
    pytest.param([LAW_ITEM], lettered(LAW_ITEM), "copy", id="the item on a page of its own"),
    pytest.param(
        [LAW_ITEM], STATUTE + lettered(LAW_ITEM) + "\n\n" + STATUTE, "copy", id="the item pasted into the law"
    ),
    pytest.param(
        [LAW_ITEM],
        STATUTE.replace("limpa", "suja")
        + " ".join(LAW_ITEM.payload.stem.split()[:14])
        + ".\n\n"
        + STATUTE.replace("limpa", "suja"),
        "copy",
        id="the beginning of the item pasted into the law",
    ),
    pytest.param([NOVEL_ITEM], NOVEL * 4, "quotation", id="what the item quotes, in the novel"),
    pytest.param([NOVEL_ITEM], NOVEL + lettered(NOVEL_ITEM), "copy", id="what it quotes and what it asks"),
    pytest.param(
        [choice(stem=f"A {NAME} vendeu dois barcos. {STEM}")],
        FILLER + NAME + ". " + FILLER,
        "name",
        id="a long name",
    ),
    pytest.param(MANY, FILLER + PHRASE + ". " + FILLER, "boilerplate", id="what many items of the set share"),
    pytest.param(
        MANY[:1], FILLER + PHRASE + ". " + FILLER, "copy", id="the same words when one item has them"
    ),
    pytest.param([choice()], FILLER + STEM + FILLER, "copy", id="the item's own words"),
]


@pytest.mark.parametrize(("items", "text", "expected"), CASES)
def test_the_class_is_told_from_the_texts(
    tmp_path: Path, items: list[Candidate], text: str, expected: str
) -> None:
    assert top(list(vet(items, folder(tmp_path / "corpus", a_txt=text)).findings)) == expected


@pytest.mark.parametrize(("items", "text", "expected"), CASES)
def test_the_class_stays_when_files_are_renamed_and_merged(
    tmp_path: Path, items: list[Candidate], text: str, expected: str
) -> None:
    merged = "\n\n".join(
        [NOVEL.replace("Henriqueta", "Eulália").replace("contou", "esqueceu") * 60, text, FILLER * 80]
    )
    assert (
        top(list(vet(items, folder(tmp_path / "prova-de-direito", gabarito_md=merged)).findings)) == expected
    )


def test_a_class_softens_no_verdict(tmp_path: Path) -> None:
    for case in CASES:
        items, text, _ = case.values
        vetting = vet(items, folder(tmp_path / str(case.id), a_txt=text))  # type: ignore[arg-type]
        long = {f.item for f in vetting.findings if f.check == "overlap" and f.words >= 13}
        assert {v.item for v in vetting.verdicts if v.verdict == "drop"} >= long


def test_a_declared_passage_in_a_statute_is_a_quotation(tmp_path: Path) -> None:
    article = (
        "A feira será instalada na praça central aos sábados, vedada a ocupação das calçadas de pedestres."
    )
    item = Candidate(
        id="q1",
        payload=Payload(
            kind="open", stem=STEM, passage=Passage(text=article, source="Lei da praça, art. 12")
        ),
    )
    assert top(list(vet([item], folder(tmp_path / "c", a_txt=STATUTE)).findings)) == "quotation"


def test_a_source_line_found_alone_is_boilerplate(tmp_path: Path) -> None:
    line = "Disponível em: www.jornaldaserra.example. Acesso em: 3 maio 2030 (adaptado)."
    item = choice(stem=f"A neve não chegou ao vale. {line} {STEM}", key=None)
    text = FILLER + "Outro texto qualquer. " + line + " " + FILLER
    assert top(list(vet([item], folder(tmp_path / "c", a_txt=text)).findings)) == "boilerplate"
