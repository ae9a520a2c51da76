"""Reasons that a person gives and the ledger publishes for ever: one line of plain words."""

from __future__ import annotations

import unicodedata

from lacre.errors import InputError


def plain_reason(text: str, option: str = "--reason") -> str:
    """A reason as it is published, without blanks around it.

    >>> plain_reason(" the vendor withdrew the model ")
    'the vendor withdrew the model'

    Raises:
        InputError: it is empty, or has a line feed, an escape code or another character that is not seen.
    """
    stripped = text.strip()
    if not stripped:
        raise InputError(option, "is empty", "Say it in words that outsiders may read")
    if hidden := sorted({f"U+{ord(each):04X}" for each in stripped if _unseen(each)}):
        what = f"has characters that are no part of a line of text ({', '.join(hidden[:5])})"
        raise InputError(option, what, "Write one line of plain words: it is published for ever")
    return stripped


def _unseen(character: str) -> bool:
    """Whether a character is a control, a format mark, half of one, or parts lines or paragraphs (Unicode)."""
    kind = unicodedata.category(character)
    return kind[0] == "C" or kind in ("Zl", "Zp")
