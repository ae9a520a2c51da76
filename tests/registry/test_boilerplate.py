"""Approved boilerplate: each phrase with who answers for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lacre.errors import InputError, RecordError
from lacre.registry.boilerplate import Phrase, approve, read_phrases
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


def test_approving_adds_a_line_once_and_keeps_the_others(tmp_path: Path) -> None:
    path = tmp_path / "boilerplate.txt"
    path.write_bytes(b"# nota\numa frase antiga\tEquipe\t2026-03-31")
    phrase = Phrase(text="Assinale a\talternativa\n correta.", who="Comissão", when="2031-05-02", why="usual")
    assert approve(path, phrase)
    assert path.read_bytes().startswith(b"# nota\numa frase antiga\tEquipe\t2026-03-31\n")
    assert not approve(
        path, Phrase(text="ASSINALE A ALTERNATIVA CORRETA", who="x", when="2031-05-03", why="y")
    )
    assert [known.text for known in read_phrases(path)] == [
        "uma frase antiga",
        "Assinale a alternativa correta.",
    ]
    assert read_phrases(path)[1].why == "usual"


@pytest.mark.parametrize(
    "changes",
    [
        {"text": "duas palavras"},
        {"text": "# uma frase inteira"},
        {"who": " "},
        {"why": ""},
        {"when": "ontem"},
    ],
)
def test_what_nobody_answers_for_is_not_approved(tmp_path: Path, changes: dict[str, str]) -> None:
    phrase = {"text": "uma frase inteira", "who": "Comissão", "when": "2031-05-02", "why": "usual"} | changes
    with pytest.raises(InputError):
        approve(tmp_path / "b.txt", Phrase(**phrase))
    assert not (tmp_path / "b.txt").exists()
