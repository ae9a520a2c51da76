"""A small workspace, and the files that the examples of the helps name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engine.server import Say, Server, always

from lacre import jsonl
from lacre.engine.classified import ClassifiedAnswer, extractions, rows
from lacre.registry import audits
from lacre.registry.items import Item, Part, Payload, Source
from lacre.registry.workspace import create_workspace
from lacre.scoring.outcomes import Outcome

MATRIX = """\
[axes]
area = ["direito", "saude"]
difficulty = ["facil", "dificil"]

[[cells]]
area = "direito"
difficulty = "dificil"
share = "0.25"

[[cells]]
area = "saude"
difficulty = "facil"
share = "0.75"
"""

QUESTIONS = """\
id;question;alternatives;key
q1;Quantas patas tem a aranha que mora atrás do espelho do corredor?;(A) Seis (B) Oito (C) Dez;b
q2;Que fruta a vizinha do terceiro andar deixou cair na escada ontem?;(A) Um caju (B) Uma manga;A
"""

VERDICTS = """\
item;judge;ana;rui;bia
q1;met;met;met;met
q2;not met;not met;not met;met
q3;met;met;not met;met
q4;not met;not met;not met;not met
q5;met;not met;;not met
"""

SCORES = """\
{"item": "r1", "who": "ana", "score": 7.5}
{"item": "r1", "who": "rui", "score": "8,0"}
{"item": "r2", "who": "ana", "score": 3}
{"item": "r2", "who": "rui", "score": 2.5}
{"item": "r3", "who": "ana", "score": 9}
{"item": "r3", "who": "rui", "score": 9.5}
"""


def item(id: str, **changes: object) -> Item:
    """An open item that keeps every rule."""
    values: dict[str, object] = {
        "id": id,
        "benchmark": "exemplo",
        "layer": "open",
        "cell": {"area": "saude", "difficulty": "facil"},
        "payload": Payload(
            kind="choice",
            stem="Qual destas xícaras o gato da farmácia derrubou de manhã?",
            options={"A": "A azul", "B": "A verde"},
            key="B",
        ),
        "source": Source(licence="CC BY 4.0"),
    }
    return Item(**(values | changes))  # type: ignore[arg-type]


COLUMNS = """\
[[columns]]
id = "local"
model = "local"
vendor = "Ninguém"
family = "nenhuma"
dialect = "openai"
endpoint = "{endpoint}"
cap = 100
"""

ANSWERS = """\
column,item,outcome,confidence
alfa,q1,C,0.9
alfa,q2,C,0.7
alfa,q3,E,0.8
alfa,q4,A,
beta,q1,C,0.6
beta,q2,E,0.9
beta,q3,E,0.5
beta,q4,C,0.95
"""

LETTERS = """\
model,id,pred,gold,area
alfa,q1,(b),B.,saude
alfa,q2,A,C,direito
"""


REPLIES = """\
column,item,answer,finish
alfa,q1,"A resposta correta é a letra B.\nConfiança: 90%",stop
alfa,q2,Não sei.,stop
beta,q1,"Fico entre A e B.",stop
beta,q2,Resposta: A,content_filter
gama,q1,Oito,stop
"""


@pytest.fixture(scope="session")
def column_server() -> Iterator[Server]:
    """A column that answers B to everything."""
    with Server(always(Say(text="Alternativa B.\nConfiança: 80"))) as server:
        yield server


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column_server: Server) -> Path:
    """A workspace with benchmark `exemplo`, two CSVs of questions, a folder of texts and one of leaks; we are in it."""
    root = tmp_path / "workspace"
    create_workspace(root, "exemplo")
    (root / "registry/exemplo/matrix.toml").write_text(MATRIX, encoding="utf-8")
    essay = Payload(
        kind="open",
        stem="Explique por que o relógio da praça atrasa no inverno.",
        parts=(Part(id="a", prompt="Dê a causa.", expected="O metal se contrai com o frio."),),
    )
    jsonl.write(
        root / "registry/exemplo/open/items.jsonl",
        [item("ex-01"), item("ex-02", payload=essay, cell={"area": "direito", "difficulty": "dificil"})],
    )
    (root / "questions.csv").write_text(QUESTIONS, encoding="utf-8")
    plain = QUESTIONS.replace("question;alternatives", "stem;options")
    (root / "items.csv").write_text(plain, encoding="utf-8")
    (root / "answers.csv").write_text(ANSWERS, encoding="utf-8")
    (root / "letters.csv").write_text(LETTERS, encoding="utf-8")
    (root / "replies.csv").write_text(REPLIES, encoding="utf-8")
    read = [
        ClassifiedAnswer(
            column="alfa",
            item=f"q{number}",
            repetition=1,
            sha256="0" * 64,
            letter="B",
            outcome=Outcome.CORRECT,
            rule="label",
        )
        for number in (1, 2)
    ]
    jsonl.write(root / "classified.jsonl", rows(read), composed=False)
    audit = audits.draw(extractions(read), seed=7, source="0" * 64, size=2)
    for each in audit.extractions:
        check = audits.Check(extraction=each.id, right="B", who="Ana", when="2025-01-01T00:00:00Z")
        audit = audits.add_check(audit, check)
    audits.write_audit(root / "audit.jsonl", audit)
    (root / "verdicts.csv").write_text(VERDICTS, encoding="utf-8")
    (root / "scores.jsonl").write_text(SCORES, encoding="utf-8")
    # The inventory that comes with the repository.
    inventory = Path(__file__).parents[2] / "registry" / "corpora.jsonl"
    (root / "registry" / "corpora.jsonl").write_bytes(inventory.read_bytes())
    (root / "corpus").mkdir()
    (root / "corpus" / "page.txt").write_text("A feira abre às seis e fecha ao meio-dia.\n", encoding="utf-8")
    (root / "leaks").mkdir()
    leak = "Quantas patas tem a aranha que mora atrás do espelho do corredor? Seis Oito Dez"
    (root / "leaks" / "page.txt").write_text(leak + "\n", encoding="utf-8")
    columns = COLUMNS.format(endpoint=column_server.endpoint("openai"))
    (root / "registry" / "columns.toml").write_text(columns, encoding="utf-8")
    monkeypatch.chdir(root)
    return root
