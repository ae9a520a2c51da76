"""What kind of text a match is. A class explains; it never softens a verdict by itself."""

from __future__ import annotations

import re

from lacre.registry.verdicts import Class

# The language of Brazilian statutes: "Art. 5º", "§ 2º", "inciso IV", "caput", "Lei nº 8.906", "Parágrafo único".
_STATUTE = re.compile(
    r"(?i)\b(?:art(?:igo)?s?\b\.?\s*\d+|§+\s*\d+|inciso\s+[ivxlc]+\b|caput\b|par[áa]grafo\s+[úu]nico"
    r"|(?:lei|decreto(?:-lei)?|emenda constitucional|medida provis[óo]ria)\s+(?:complementar\s+)?n[.º°o]*\s*\d)"
)


def class_of(matched: str, *, own_words: int) -> Class:
    """The class of a match: a quotation where only a declared passage matches, a statute by its wording, else a copy.

    >>> class_of("Art. 5º Todos são iguais perante a lei, sem distinção", own_words=9)
    'statute'
    """
    if own_words == 0:
        return "quotation"
    if _STATUTE.search(matched):
        return "statute"
    return "copy"
