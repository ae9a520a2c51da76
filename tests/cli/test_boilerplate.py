"""``lacre boilerplate``: propose, approve, list; what is approved counts, what is proposed does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lacre.cli import run
from lacre.errors import Exit

Capture = pytest.CaptureFixture[str]
PHRASE = "com base no quadro acima indique a única afirmação que traz a resposta certa"
WORDS = ("um", "dois", "três", "quatro", "cinco", "seis")
APPROVE = [
    "boilerplate",
    "approve",
    PHRASE,
    "--who",
    "Comissão",
    "--why",
    "toda prova diz",
    "--when",
    "2031-05-02",
]


@pytest.fixture
def here(workspace: Path) -> Path:
    rows = "".join(
        f"p{k},A caixa {word} ficou {word} dias no sol {word}. {PHRASE}\n" for k, word in enumerate(WORDS)
    )
    (workspace / "p.csv").write_text("id,stem\n" + rows, encoding="utf-8")
    (workspace / "leaks" / "page.txt").write_text(f"Outro assunto. {PHRASE}. Fim.\n", encoding="utf-8")
    return workspace


def test_a_proposal_changes_no_verdict_and_an_approval_does(here: Path, capsys: Capture) -> None:
    assert run(["boilerplate", "propose", "p.csv"]) == Exit.CLEAN
    out, err = capsys.readouterr()
    assert out.splitlines()[1] == f"6\t14\t{PHRASE}\tp0, p1, p2"
    assert "1 phrases shared by 6 items or more" in err
    assert run(["vet", "p.csv", "--corpus", "leaks"]) == Exit.FINDING
    assert "6 drop" in capsys.readouterr().err
    assert run(APPROVE) == Exit.CLEAN
    assert run(["vet", "p.csv", "--corpus", "leaks"]) == Exit.CLEAN
    capsys.readouterr()
    assert run(["boilerplate", "propose", "p.csv", "--json"]) == Exit.CLEAN
    assert json.loads(capsys.readouterr().out) == {"phrases": [], "sources": 0}


def test_what_is_approved_is_listed_with_who_and_why(here: Path, capsys: Capture) -> None:
    assert run(["boilerplate", "list"]) == Exit.CLEAN
    assert "No phrase is approved yet" in capsys.readouterr().err
    run(APPROVE)
    assert "approved: com base" in capsys.readouterr().out
    run([*APPROVE, "--json"])
    assert json.loads(capsys.readouterr().out)["new"] is False
    run(["boilerplate", "list"])
    assert capsys.readouterr().out.splitlines()[1] == f"{PHRASE}\tComissão\t2031-05-02\ttoda prova diz"


def test_a_phrase_of_two_words_is_refused(here: Path, capsys: Capture) -> None:
    assert run(["boilerplate", "approve", "de acordo", "--who", "C", "--why", "w"]) == Exit.BAD_INPUT
    assert "is no phrase of 3 words or more" in capsys.readouterr().err
