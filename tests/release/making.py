"""A workspace that can be released, its rounds and releases by a clock of our own."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from tests.rotation.making import Stage, stage

from lacre import jsonl
from lacre.registry.exams import Exam
from lacre.registry.items import Item, Part, Passage, Payload, Source
from lacre.registry.rules import default_rules_text
from lacre.release.build import Built, build
from lacre.release.canary import mint, write_canary
from lacre.release.contents import Contents
from lacre.release.describe import Order

ABOUT = """\
publisher = "Equipe do Exemplo"
url = "https://example.org/exemplo"
contact = "equipe@example.org"
access = "Write to the address below, and say what you want to run."
citation = "Equipe do Exemplo (2026). Exemplo."
"""
MATRIX = """\
[axes]
area = ["direito", "saude"]
difficulty = ["dificil", "facil"]

[[cells]]
area = "direito"
difficulty = "dificil"
share = "0.25"

[[cells]]
area = "direito"
difficulty = "facil"
share = "0.25"

[[cells]]
area = "saude"
difficulty = "dificil"
share = "0.25"

[[cells]]
area = "saude"
difficulty = "facil"
share = "0.25"
"""
EXAM = Exam(
    id="prova-2025",
    name="Prova de Exemplo",
    edition="2025",
    exam_date="2025-03-09",
    exam_precision="day",
    booklet_url="https://example.org/caderno.pdf",
    source_url="https://example.org/prova",
    source_date="2026-05-02",
    key_date="2025-04",
    key_precision="month",
)
HERE, THERE = {"area": "saude", "difficulty": "facil"}, {"area": "direito", "difficulty": "dificil"}


def public_items() -> tuple[list[Item], list[Item]]:
    """Official and open items that differ as much as records allow."""
    official = [
        Item(
            id="of-1",
            benchmark="exemplo",
            layer="official",
            cell=THERE,
            payload=Payload(
                kind="choice",
                stem="Em que dia a barca deixa o porto?",
                options={"A": "Na terça", "B": "Na quinta", "C": "No sábado"},
                key="C",
                capabilities=("TU",),
            ),
            source=Source(exam=EXAM.id, number="7"),
        )
    ]
    opened = [
        Item(
            id="ab-1",
            benchmark="exemplo",
            layer="open",
            cell=HERE,
            payload=Payload(
                kind="choice",
                stem="Qual xícara o gato da farmácia derrubou?",
                options={"A": "A azul", "B": "A verde"},
                key="B",
                passage=Passage(text="O gato passeia pelo balcão às dez.", source="https://example.org/gato"),
            ),
            source=Source(licence="CC BY 4.0", written="equipe"),
        ),
        Item(
            id="ab-2",
            benchmark="exemplo",
            layer="open",
            cell=HERE,
            payload=Payload(
                kind="open",
                stem="Explique por que o relógio da praça atrasa no inverno.",
                parts=(
                    Part(
                        id="a",
                        prompt="Dê a causa.",
                        expected="O metal se contrai com o frio.",
                        points="2.5",
                        criteria=("Fala do metal", "Fala do frio"),
                    ),
                ),
            ),
            source=Source(licence="CC BY 4.0", written="equipe"),
        ),
    ]
    return official, opened


def passed(folder: Path, contents: Contents) -> int:
    """A guard that has nothing to look for: what it must find is tested where it is made."""
    return 0


def ready(root: Path) -> None:
    """What a release needs besides the private items: public ones, an exam, a canary, who releases."""
    registry = root / "registry"
    official, opened = public_items()
    (registry / "rules.toml").write_text(default_rules_text(), encoding="utf-8")
    (registry / "exemplo/matrix.toml").write_text(MATRIX, encoding="utf-8")
    (registry / "release.toml").write_text(ABOUT, encoding="utf-8")
    jsonl.write(registry / "exams.jsonl", [EXAM])
    jsonl.write(registry / "exemplo/official/items.jsonl", official)
    jsonl.write(registry / "exemplo/open/items.jsonl", opened)
    write_canary(root, mint(UUID(int=7), "Exemplo", "2026-01-31"))


def played(folder: Path) -> Stage:
    """A workspace that is ready to be released, without private items yet."""
    play = stage(folder)
    ready(play.root)
    return play


PROGRAM = {
    "lacre-0.1.0/lacre/__init__.py": b'"""Stands for the program, which would take long to hash so often."""\n'
}


def release(
    play: Stage, name: str, *, program: Mapping[str, bytes] | None = PROGRAM, **changes: object
) -> Built:
    """A release of the workspace into `releases` beside it, an hour after the last thing that happened."""
    play.now += timedelta(hours=1)
    order = {
        "name": name,
        "benchmarks": ("exemplo",),
        "out": play.root.parent / "releases",
        "at": play.now,
    } | changes
    return build(play.root, Order(**order), play.key, passed, program=program)  # type: ignore[arg-type]
