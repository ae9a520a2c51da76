"""Replies that go on to other questions: which stretch answers the item.

A base model invents the next question after its answer; then what comes first counts. A chat model that was shown
examples answers them all; then the stretch of the item's own number counts, or the one that quotes its options.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from lacre.engine.readable import Readable

_WORD = r"(?:questao|question|pergunta|exercicio|problema|item)"
_ORDINALS = {
    word: number
    for number, words in enumerate(
        (
            "primeira first",
            "segunda second",
            "terceira third",
            "quarta fourth",
            "quinta fifth",
            "sexta sixth",
        ),
        1,
    )
    for word in words.split()
}
_ORDINAL = "|".join(_ORDINALS)
_HEADER = re.compile(
    rf"(?:^|\n)[^\w\n]*{_WORD}\s*(?:n[.ºo°]*\s*)?(?P<n>\d+)\b[^\w\n]*(?:\n|$|[:.)–—-])"
    rf"|(?:^|\n)[^\w\n]*a\s+questao\s+(?P<q>\d+)\b"
    rf"|(?:^|\n|(?<=[.:!?]\s))[ \t]{{0,80}}"
    rf"(?:(?:(?:(?:a|the)\s+)?(?:correct\s+)?(?:resposta|answer)(?:\s+(?:corret|cert)a)?\s+)?"
    rf"(?:para|for|da|to)\s+)(?:(?:a|the)\s+)?(?:{_WORD}\s+(?P<m>\d+)|(?P<o>{_ORDINAL})\s+{_WORD})\b"
    # What a template writes before each question; a model that writes it begins another one.
    r"|(?:^|\n)[^\w\n]*(?P<t>enunciado|cabecalho|human|user|usuario|pergunta|question|q)\s*:"
    r"|(?:^|\n)[ \t]*(?P<s>#{2,}|-{3,}|={3,})[ \t]*(?=\n)"
)


class Stretch(NamedTuple):
    """A stretch of a reply, and the number of the question that it says it answers; none before the first."""

    number: int | None
    read: Readable


def stretches(read: Readable) -> list[Stretch]:
    """The reply cut where another question begins; what stands before the first comes first.

    >>> from lacre.engine.readable import readable
    >>> [(s.number, s.read.text.strip()) for s in stretches(readable("C\\n\\nQuestão 5:\\nResposta: B"))]
    [(None, 'C'), (5, 'Resposta: B')]
    """
    cuts: list[tuple[int, int, int | None]] = []
    for match in _HEADER.finditer(read.plain):
        if match["s"] or match["t"]:
            cuts.append((match.start(), match.end(), None))
        else:
            own = int(match["n"] or match["q"] or match["m"] or _ORDINALS[match["o"]])
            # "Resposta para a questão 4 é D": the words that name the question also bring the answer.
            cuts.append((match.start(), match.end() if match["n"] else match.start(), own))
    if not cuts:
        return [Stretch(None, read)]
    found = [Stretch(None, read.part(0, cuts[0][0]))]
    number: int | None = None
    for place, (_, begin, named) in enumerate(cuts):
        number = named if named is not None else number
        end = cuts[place + 1][0] if place + 1 < len(cuts) else len(read.text)
        found.append(Stretch(number, read.part(begin, end)))
    return found
