"""A reply as its reader sees it: thinking, markup and look-alike letters gone, every character's place kept."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

BOXED = "\u25a3"
"""Stands where ``\\boxed{`` stood: what follows is an answer."""

# Thinking aloud is no answer. An opening tag that never closes leaves nothing after it; a closing tag
# that was never opened (templates eat the first one) leaves nothing before it.
_THINKING = re.compile(
    r"<(think|thinking|thought|reasoning|reflection)>.*?(?:</\1>|\Z)"
    r"|\[THINK\].*?(?:\[/THINK\]|\Z)|<\|(?:think|begin_of_thought)\|>.*?(?:<\|/?(?:think|end_of_thought)\|>|\Z)"
    r"|\A(?:(?!<(?:think|thinking|thought|reasoning|reflection)>).)*</(?:think|thinking|thought|reasoning)>",
    re.DOTALL | re.IGNORECASE,
)
_BREAK = re.compile(r"<br\s*/?>|</(?:p|div|li|tr)>", re.IGNORECASE)
# What is struck out is not said.
_STRUCK = re.compile(r"~~(?=\S)[^~\n]{1,2000}~~|<(del|s|strike)>[^<]{0,2000}</\1>", re.IGNORECASE)
_BOX = re.compile(r"\\f?boxed\s*\{")
_MARKUP = re.compile(
    r"\*{1,3}|_{2,3}|`{1,3}(?:json|text)?|~~|\$+|\\[()\[\]]"
    r"|\\(?:text|mathrm|mathbf|textbf|mathit|operatorname|displaystyle)\b\s*"
    r"|</?(?:b|strong|i|em|u|p|div|span|li|ul|ol|td|tr|table)\b[^<>]*>|</?(?:answer|resposta)\s*>"
    r"|^[ \t]*(?:>[ \t]*|#{1,6}[ \t]+(?=\S))",
    re.MULTILINE | re.IGNORECASE,
)
_DROPPED = frozenset("{}\u200b\u200c\u200d\u2060\ufeff\u00ad\r\ufe0f")

# Letters that look like A, B, C, E ...: Cyrillic and Greek capitals and the small ones of an "a)".
_LOOKALIKES = dict(zip("АВСЕНКМОРТХасеорхΑΒΕΗΙΚΜΝΟΡΤΧ", "ABCEHKMOPTXaceopxABEHIKMNOPTX", strict=True))


class Readable(NamedTuple):
    """The text to be read.

    Attributes:
        text: one character for each character read.
        plain: the same without accents and in lower case, character by character.
        places: where each character stands in the reply, and last where the reply ends.
    """

    text: str
    plain: str
    places: tuple[int, ...]

    def stripped(self) -> Readable:
        """It without the blanks around it."""
        start = len(self.text) - len(self.text.lstrip())
        return self.part(start, max(start, len(self.text.rstrip())))

    def part(self, start: int, end: int) -> Readable:
        """A stretch of it, with its places."""
        return Readable(self.text[start:end], self.plain[start:end], self.places[start : end + 1])


def readable(reply: str) -> Readable:
    r"""What a reader sees of ``reply``, with the place of every character.

    >>> readable("<think>A?</think>**Resposta:** $\\boxed{\\text{С}}$").text
    '\nResposta: ▣C'
    """
    kept: list[str] = []
    places: list[int] = []
    position = 0
    for start, end, instead in _cuts(reply):
        _read(reply, position, start, kept, places)
        if instead:
            kept.append(instead)
            places.append(start)
        position = end
    _read(reply, position, len(reply), kept, places)
    text = "".join(kept)
    return Readable(text, "".join(map(_plain, text)), (*places, len(reply)))


def _cuts(reply: str) -> list[tuple[int, int, str]]:
    """Stretches of the reply to leave out, in order and apart, each with what stands instead."""
    found = [(m.start(), m.end(), "\n") for m in _THINKING.finditer(reply)]
    found += [(m.start(), m.end(), "") for m in _STRUCK.finditer(reply)]
    found += [(m.start(), m.end(), "\n") for m in _BREAK.finditer(reply)]
    found += [(m.start(), m.end(), BOXED) for m in _BOX.finditer(reply)]
    found += [(m.start(), m.end(), "") for m in _MARKUP.finditer(reply)]
    apart: list[tuple[int, int, str]] = []
    for cut in sorted(found, key=lambda cut: (cut[0], -cut[1])):
        if not apart or cut[0] >= apart[-1][1]:
            apart.append(cut)
    return apart


def _read(reply: str, start: int, end: int, kept: list[str], places: list[int]) -> None:
    """Read a stretch: marks join the letter before them, strange spaces are spaces, look-alikes are letters."""
    for position in range(start, end):
        character = reply[position]
        if character in _DROPPED:
            continue
        if unicodedata.combining(character) and kept:
            joined = unicodedata.normalize("NFC", kept[-1] + character)
            kept[-1] = joined if len(joined) == 1 else kept[-1]
            continue
        kept.append(_character(character))
        places.append(position)


@lru_cache(maxsize=4096)
def _character(character: str) -> str:
    """The letter that a look-alike, circled or wide one stands for; a plain space for a strange one."""
    if character in _LOOKALIKES:
        return _LOOKALIKES[character]
    if character.isspace() and character != "\n":
        return " "
    if character in "\u2028\u2029":
        return "\n"
    for first in (0x24B6, 0x1F130, 0x1F150, 0x1F170):  # circled, squared, and both in negative
        if first <= ord(character) < first + 26:
            return chr(ord("A") + ord(character) - first)
    if 0x1D400 <= ord(character) < 0x1D7FF:  # mathematical bold, italic ...
        return unicodedata.normalize("NFKC", character)
    wide = unicodedata.normalize("NFKC", character)
    return wide if "\uff01" <= character <= "\uff5e" and len(wide) == 1 else character


@lru_cache(maxsize=4096)
def _plain(character: str) -> str:
    """One character without its accent, in lower case."""
    if not character.isalpha():
        return character  # "≠" must not lose its stroke
    opened = unicodedata.normalize("NFD", character)[0].lower()
    return opened if len(opened) == 1 else character


_END = re.compile(r"(?<=[.!?…])[\"”’»)\]]*\s+(?=\S)|\n+")


def sentences(text: str) -> list[tuple[int, int]]:
    """The [start, end) of the sentences and lines of a reply; "C. texto" is not cut after the letter.

    >>> reply = "Logo, a C. Certo? Sim."
    >>> [reply[a:b] for a, b in sentences(reply)]
    ['Logo, a C. Certo?', 'Sim.']
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _END.finditer(text):
        before = text[max(0, match.start() - 3) : match.start()]
        if "\n" not in match[0] and re.search(r"(?:^|[\s(\"“])\w\.$", before):
            continue
        if text[start : match.start()].strip():
            spans.append((start, match.start()))
        start = match.end()
    if text[start:].strip():
        spans.append((start, len(text)))
    return spans


_INVISIBLE = " \t\r\n\u200b\u2060\ufeff"
_FENCE = re.compile(r"^\s*```(?:json)?\s*|\s*```\s*$")


def structured(reply: str) -> dict[str, Any] | None:
    r"""The JSON object that a reply consists of, bare or in a code fence, names without accents; else none.

    >>> structured('```json\n{"Opção": "B"}\n```')
    {'opcao': 'B'}
    """
    bare = _FENCE.sub("", reply.strip(_INVISIBLE)).strip(_INVISIBLE)
    if not (bare.startswith("{") and bare.endswith("}")):
        return None
    try:
        found = msgspec.json.decode(bare, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return None
    return {"".join(map(_plain, unicodedata.normalize("NFC", name))): value for name, value in found.items()}
