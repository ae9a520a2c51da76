"""How an option's letter is written: the words before it, the signs around it, and when a character is one.

All patterns run on text without accents, in lower case.
"""

from __future__ import annotations

import re

from lacre.engine.readable import BOXED, Readable

NOUN = r"(?:alternativa|letra|opcao|option|alternative|letter|choice|item|assertiva)"
RIGHT = (
    r"(?:corret[ao]|cert[ao]|adequad[ao]|apropriad[ao]|verdadeir[ao]|escolhid[ao]|final|definitiv[ao]|coerente"
    r"|plausivel|provavel|proxim[ao]|indicad[ao]|complet[ao]|best|correct|right|chosen|likely|accurate|appropriate)"
)
RIGHTS = rf"(?:\s+(?:(?:a|the)\s+)?(?:(?:mais|melhor|most|unica)\s+)?{RIGHT}(?:\s+e\s+{RIGHT})?)"
IS = r"(?:e|eh|seria|seja|sera|deve\s+ser|deveria\s+ser|so\s+pode\s+ser|is|es|est|ist|would\s+be|must\s+be|should\s+be)"
LINK = rf"(?:\s*(?::|=|->|=>|→|—|–|-)\s*|\s+{IS}\s*:?\s+|\s+{IS}\s*:\s*)"
THE = r"(?:(?:a|o|the|como)\s+|(?:claramente|portanto|realmente)\s*,?\s+){0,3}"
OPEN = rf"[\"'“”‘’«(\[{BOXED}\s]*"
LETTER = r"(?P<l>[a-z])(?!\w)"
CLOSE = r"[\"'“”‘’»)\]]*"
ONE = rf"{THE}(?P<noun>{NOUN}{RIGHTS}?\s*:?\s+(?:(?:e\s+)?(?:a|o)\s+)?)?{OPEN}{LETTER}{CLOSE}"
ABOUT = (
    r"(?:\s+(?:a|da|para\s+a|desta|dessa|to|for|of)\s+(?:(?:the|this|sua)\s+)?"
    r"(?:\w+\s+)?(?:questao|pergunta|question)(?:\s+\d+)?)?"
)

STOP = r"(?=\s*(?:[.!;:\n]|$|,\s*(?:e\s+nao|nao|pois|porque|ja\s+que|uma\s+vez)|\s(?:pois|porque|ja\s+que|because)\b))"

_LINE_ENDS = re.compile(r"[.]?[ \t]*(?:\n|$)")
_AFTER_BARE = re.compile(
    r"^(?:\s*(?:[.,;:!?)\]\"”»\n]|$|[-–—]\s|\()|\s+(?:pois|porque|ja\s+que|uma\s+vez|visto|dado|por\b|because|since|as\b|que\b"
    r"|e\s+nao|e\s+a\s+|e\s+o\s+|esta|is\b|seria))"
)


def is_letter(read: Readable, at: int, *, named: bool) -> bool:
    """Whether the character at a place is an option's letter, not part of a word, an article or a unit.

    ``named``: the word "alternativa", "letra" ... stands right before it.

    >>> from lacre.engine.readable import readable
    >>> is_letter(readable("A energia"), 0, named=False), is_letter(readable("B, pois"), 0, named=False)
    (False, True)
    """
    text = read.text
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if before in ("'", "‘") and after in ("'", "’") and not text[max(0, at - 2) : at - 1].isalnum():
        return text[at].isupper() or named
    if before.isalnum() or after.isalnum() or after in ("'", "’", "°", "_") or before in ("'", "’", "_"):
        return False
    if after in "-–/" and after and text[at + 2 : at + 3].isalnum() and not named:
        return False
    closed = after in (")", "]", '"', "”", "'", ".")
    enclosed = before == BOXED or (before in ("(", "[", '"', "“", "'") and closed)
    if enclosed or after == ")":
        return True
    if text[at].isupper():
        return named or text[at] not in "AEO" or bool(_AFTER_BARE.match(read.plain[at + 1 :]))
    if not named:
        # A small letter is an article or a variable, unless it is all the line says.
        return bool(_LINE_ENDS.match(text, at + 1)) and text[at] not in "ao"
    return bool(_AFTER_BARE.match(read.plain[at + 1 :]))
