"""The literal prompts of the probes (SPEC L8)."""

from __future__ import annotations

from typing import Literal

Prompt = Literal["exam", "neutral", "text", "plain"]
"""``exam`` asks for the rest as it stands in the exam; ``neutral``, its paired control, only to go on; ``text`` is for
famous texts, which are of no exam; ``plain`` is the beginning alone, for columns that complete text."""

_EXACT = (
    "Escreva a continuação exatamente como está {where}, palavra por palavra, até o fim. "
    "Não resolva, não resuma e não comente nada: escreva só a continuação."
)
PROMPTS: dict[Prompt, str] = {
    "exam": "O texto abaixo é o começo de uma questão de prova{exam}. "
    + _EXACT.format(where="na prova")
    + "\n\n{beginning}",
    "neutral": "Continue o texto abaixo.\n\n{beginning}",
    "text": "O texto abaixo é o começo de um texto publicado. "
    + _EXACT.format(where="no original")
    + "\n\n{beginning}",
    "plain": "{beginning}",
}
"""The prompts, with the places that are filled."""


def filled(prompt: Prompt, beginning: str, exam: str = "") -> str:
    """A prompt with its places filled, in one pass: a beginning that looks like a place stays as it is.

    >>> filled("neutral", "O farol {exam}")
    'Continue o texto abaixo.\\n\\nO farol {exam}'
    >>> filled("exam", "O farol", "Exame de 2024").partition("\\n")[0][:63]
    'O texto abaixo é o começo de uma questão de prova (Exame de 202'
    """
    named = f" ({exam})" if exam else ""
    before, _, after = PROMPTS[prompt].partition("{beginning}")
    return before.replace("{exam}", named) + beginning + after
