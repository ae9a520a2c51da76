"""What two texts that look alike say differently: other words, numbers, symbols; not typing, accents or breaks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lacre.text import words

# Signs that carry meaning in a formula or a bound; punctuation does not.
_SIGN = re.compile(r"[<>≤≥≠=≈±×÷+%∈∉⊂∪∩→↔¬∧∨−]|(?<![\w-])-(?=\d)")
_NEGATION = frozenset("nao nunca nem sem jamais nenhum nenhuma exceto salvo incorreta incorreto falsa falso".split())
SAME_WORD = 0.75  # letters in common of a word and its misprint: "difundi" and "difundir"


def tokens(text: str) -> list[str]:
    """The folded words of a text and its signs, in order.

    >>> tokens("Diâmetro ≤10 mm; não -3")
    ['diametro', '≤', '10', 'mm', 'nao', '-', '3']
    """
    placed = [(word.start, word.folded) for word in words(text)]
    placed += [(sign.start(), sign[0]) for sign in _SIGN.finditer(text)]
    return [token for _, token in sorted(placed)]


def differing(first: str, second: str, *, parts_of: bool = False) -> int:
    """The number of places where two texts say something else, each an edit that is more than a misprint.

    With ``parts_of``, one text may hold what the other leaves out: only a change, a number or a negation counts.

    >>> differing("São 10 mm, não 12.", "SAO 10 mm , nao 12"), differing("≤ 10 mm", "≥ 10 mm")
    (0, 1)
    >>> differing("A rua alagou.", "A rua não alagou."), differing("(adaptado) A rua", "A rua", parts_of=True)
    (1, 0)
    """
    one, other = tokens(first), tokens(second)
    if one == other:
        return 0
    return sum(_means_more(one[a:b], other[c:d], parts_of) for a, b, c, d in _edits(one, other))


def _edits(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Stretches [a, b) of one text that stand where [c, d) stands in the other, in order."""
    from rapidfuzz.distance import Levenshtein  # noqa: PLC0415

    edits: list[tuple[int, int, int, int]] = []
    for tag, a, b, c, d in Levenshtein.opcodes(one, other):
        if tag == "equal":
            continue
        if edits and edits[-1][1] == a and edits[-1][3] == c:
            a, c = edits.pop()[0::2]
        edits.append((a, b, c, d))
    return edits


def _means_more(gone: Sequence[str], come: Sequence[str], parts_of: bool) -> bool:
    """Whether an edit changes what is said."""
    from rapidfuzz.distance import Indel  # noqa: PLC0415

    before, after = "".join(gone), "".join(come)
    if before == after:
        return False
    if not gone or not come:
        left = (*gone, *come)
        if parts_of:
            return len(left) == 1 and left[0] in _NEGATION
        return any(len(token) > 1 or not token.isalpha() for token in left)
    if parts_of and max(len(before), len(after)) > 2 * min(len(before), len(after)):
        return False
    if _NEGATION & {*gone} != _NEGATION & {*come} or _marks(gone) != _marks(come):
        return True
    return Indel.normalized_similarity(before, after) < SAME_WORD


def _marks(side: Sequence[str]) -> list[str]:
    """Numbers and signs, in order."""
    return [token for token in side if not token.isalpha()]
