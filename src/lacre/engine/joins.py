"""Letters said together, so that none of them is the answer: "B ou C", "tanto A quanto B", "B, mas também D"."""

from __future__ import annotations

import re

from lacre.engine.forms import NOUN, ONE, STOP, is_letter
from lacre.engine.readable import Readable

_WITH = (
    r"(?:,|;|/|\\|&|\+|\||∪|∩|<|>|[-–—]*[>→⇒]|[-–—]|\be\b|\bou\b|\band\b|\bor\b|\be/ou\b|\bversus\b|\bvs\b\.?|\bquanto\b|\bpara\b"
    r"|,?\s*(?:\b(?:assim|bem)\s+como\b|\b(?:como|mas)\s+tambem\b|\bseguid[ao]\s+(?:de|d[ao]|por)\b|\balem\s+d[aeo]\b|\bjunto\s+com\b"
    r"|\bseja\b|\blogo\b|\bas\s+well\s+as\b))"
)
_JOINED = re.compile(
    rf"^[.)\]\"”]*\s*{_WITH}\s*(?:,\s*)?(?:tambem\s+)?(?:(?:a|o|as|the)\s+)?"
    rf"(?P<noun>{NOUN}s?\s+)?(?P<open>[(\"“]*)(?P<l>[a-z])(?P<close>[)\"”.]*)(?=\s*(?:[.,;:\n!?]|$|\b(?:e|ou|and|or|sao|estao|are|is|podem)\b))"
)
_JOINED_BEFORE = re.compile(rf"(?<!\w)[(\"“]?(?P<l>[A-Z])[)\"”.]{{0,2}}\s*{_WITH}\s*(?:[ao]\s+)?[(\"“]?$")
_JOINED_STOP = re.compile(r"^[.)\]]+\s*(?P<l>[A-Z])[.)\]]?\s*(?:\n|$)")
_OTHER = ONE.replace("P<l>", "P<k>").replace("P<noun>", "P<kind>")
_RIVAL = re.compile(
    rf"\b(?:ou|or|talvez|quem\s+sabe|perhaps|maybe|(?:tambem\s+)?pod(?:e|eria)\s+ser|(?:could|might)\s+(?:also\s+)?be"
    r"|alternativamente|alternatively|quando\s+muito|no\s+limite|tambem\s+(?:aceito|aceitaria|cabe|serve|vale|marcaria|considero)|mas\s+tambem|but\s+also)"
    rf"(?:\s*,?\s*(?:no\s+limite|quando\s+muito|talvez|tambem|also)\b)*\s*,?\s+{ONE}{STOP}"
    rf"|(?:\b(?:mas|embora|but|although|though|porem)\s+{_OTHER}"
    rf"|[.!;(\n][ ]?(?:[ao] )?(?P<short>{NOUN} )?[(\"“]?(?P<s>[a-z])[)\"”]?)"
    r"\s+(?:tambem|also|igualmente)\b(?!\s+(?:nao|not|(?:e|esta|is)\s+(?:incorre|errad|fals|wrong)))"
)
_GROUPS = (("l", "noun"), ("k", "kind"), ("s", "short"))


def joined(read: Readable, at: int, letters: frozenset[str]) -> bool:
    """Whether a letter is one of several said together: "B ou C", "D. e E.", "A, B e D".

    >>> from lacre.engine.readable import readable
    >>> [joined(readable(said), 0, frozenset("ABC")) for said in ("B ou C", "B assim como C", "B, pois C erra")]
    [True, True, False]
    """
    match = _JOINED.match(read.plain[at + 1 : at + 80])
    if match:
        other = at + 1 + match.start("l")
        letter = read.text[other]
        as_letter = match["open"] or match["noun"] or letter.isupper()
        if letter.upper() in letters and letter.upper() != read.text[at].upper() and as_letter:
            return True
    apart = _JOINED_STOP.match(read.text[at + 1 : at + 12])
    if apart and apart["l"] in letters and apart["l"] != read.text[at].upper():
        return True
    back = read.text[max(0, at - 40) : at]
    pair = _JOINED_BEFORE.search(back)
    return bool(pair and pair["l"] in letters and pair["l"] != read.text[at].upper())


def rival(read: Readable, chosen: str, start: int, letters: frozenset[str]) -> bool:
    """Whether another letter is held possible from a place on, after the chosen one: "Resposta: B (ou C)".

    >>> from lacre.engine.readable import readable
    >>> rival(readable("Resposta: B, mas a C também serve."), "B", 11, frozenset("ABC"))
    True
    """
    for match in _RIVAL.finditer(read.plain, start):
        name, kind = next(pair for pair in _GROUPS if match[pair[0]])
        at = match.start(name)
        letter = read.text[at].upper()
        if letter in letters and letter != chosen and is_letter(read, at, named=bool(match[kind])):
            return True
    return False
