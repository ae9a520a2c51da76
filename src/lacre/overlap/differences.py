"""What two texts that look alike say differently: other words, numbers, symbols; not typing, accents or breaks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lacre.overlap.information import is_known
from lacre.text import words

# Signs that carry meaning in a formula or a bound; punctuation does not.
_SIGN = re.compile(r"[<>≤≥≠=≈±×÷+%∈∉⊂∪∩→↔¬∧∨−]|(?<![\w-])-(?=\d)")
_NEGATION = frozenset(
    ("nao", "nunca", "nem", "sem", "jamais", "nenhum", "nenhuma", "exceto", "salvo", "incorreta", "incorreto")
)


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
    for step in Levenshtein.opcodes(one, other):
        if step.tag == "equal":
            continue
        begun = (step.src_start, step.dest_start)
        if edits and (edits[-1][1], edits[-1][3]) == begun:
            last = edits.pop()
            begun = (last[0], last[2])
        edits.append((begun[0], step.src_end, begun[1], step.dest_end))
    return edits


def _means_more(gone: Sequence[str], come: Sequence[str], parts_of: bool) -> bool:
    """Whether an edit changes what is said."""
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
    return not _is_misprint(before, after)


def _is_misprint(before: str, after: str) -> bool:
    """Whether one of two words is a slip for the other: few letters apart, and no word of the language.

    "Incluindo" and "excluindo" are two letters apart, but both are words: that is a change of sense.

    >>> _is_misprint("republica", "repubilca"), _is_misprint("incluindo", "excluindo")
    (True, False)
    """
    from rapidfuzz.distance import OSA  # noqa: PLC0415 - only duplicates need it

    if is_known(before) and is_known(after):
        return False
    apart = OSA.distance(before, after, score_cutoff=SLIPS)
    return apart <= SLIPS and SLIP_LETTERS * apart <= max(len(before), len(after))


SLIPS = 2  # letters that a misprint gets wrong
SLIP_LETTERS = 4  # letters that a word must have for each of them


def _marks(side: Sequence[str]) -> list[str]:
    """Numbers and signs, in order."""
    return [token for token in side if not token.isalpha()]
