"""Approved boilerplate: each phrase with who answers for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lacre.errors import RecordError
from lacre.registry.boilerplate import Phrase, read_phrases
from lacre.registry.workspace import create_workspace

ROOT = Path(__file__).parents[2]


def test_phrases_come_with_who_and_when(tmp_path: Path) -> None:
    path = tmp_path / "boilerplate.txt"
    path.write_text(
        "# nota\n\nAssinale a alternativa correta.\tEquipe de revisão\t2026-03-31\n", encoding="utf-8"
    )
    assert read_phrases(path) == (
        Phrase(text="Assinale a alternativa correta.", who="Equipe de revisão", when="2026-03-31"),
    )


@pytest.mark.parametrize(
    "line",
    [
        "uma frase sem quem",
        "uma frase\tquem",
        "uma frase\t\t2026-03-31",
        "\tquem\t2026-03-31",
        "uma frase\tquem\tontem",
        "uma frase\tquem\t20260331",
        "uma frase\tquem\t2026-02-30",
        "uma frase\tquem\t2026-03-31\t",
        "uma frase\tquem\t2026-03-31\tpor quê\tmais",
    ],
)
def test_a_phrase_that_nobody_answers_for_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "boilerplate.txt"
    path.write_text(f"# nota\n{line}\n{line}\n", encoding="utf-8")
    with pytest.raises(RecordError) as caught:
        read_phrases(path)
    assert [fault.line for fault in caught.value.faults] == [2, 3]


def test_no_file_is_no_phrase_and_a_new_workspace_has_none(tmp_path: Path) -> None:
    assert read_phrases(tmp_path / "boilerplate.txt") == ()
    create_workspace(tmp_path / "w")
    assert read_phrases(tmp_path / "w" / "registry" / "boilerplate.txt") == ()
    assert read_phrases(ROOT / "registry" / "boilerplate.txt") == ()
