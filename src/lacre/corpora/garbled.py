"""Text that is there but cannot be read: broken PDF text layers, lost letters, glyph codes (SPEC B1, L7)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import msgspec
import numpy as np

from lacre.corpora.pieces import content, offsets
from lacre.corpora.suspects import SPACES_OF_LOST, UPRIGHT_LINES, mark

if TYPE_CHECKING:
    import numpy.typing as npt

    from lacre.corpora.batches import TextBatch

GLYPH_CODES = "glyph codes instead of letters"
SYMBOLS = "symbols instead of letters"
LOST = "letters lost"
CONTROLS = "control or private characters instead of letters"
UPRIGHT = "one letter a line"


class Garbled(msgspec.Struct, frozen=True):
    """A part of a document that cannot be read.

    Attributes:
        document: as in the batch.
        start: first byte, in the document's UTF-8 text.
        end: one past the last byte.
        reason: why it cannot be read.
    """

    document: str
    start: int
    end: int
    reason: str


WINDOW = 4096
STRIDE = 512
LOOK = 8
"""Of every 512 bytes 8 are looked at, and the 64 of a window of 4 kB judged together, which makes it cheap.
A window with a suspect mix of bytes is read line by line. Garbled text under about 2 kB, alone in clean text,
can be missed."""

PART = 256 * WINDOW
"""Bytes judged at a time: larger arrays go back to the system and cost four times as much."""

_SUSPECT: tuple[tuple[bytes, int], ...] = (
    (b"():", 11),  # (cid:12)
    (b"/", 6),  # /g76
    (b"\xc2\xe2", 3),  # first byte of § £ ¶ ¢ ± † •, but of “ ” º too
    (b"\xee\xef", 2),  # first byte of U+FFFD and of private characters
    (b"\n", 16),
    (bytes([*range(1, 9), *range(14, 32)]), 3),
)


def _packed() -> tuple[npt.NDArray[np.uint64], np.uint64, np.uint64]:
    """A counter of eight bits for each class: what a byte adds; what makes its top bit say "too many"."""
    adds = np.zeros(256, np.uint64)
    bias = top = 0
    for field, (members, most) in enumerate(_SUSPECT):
        for byte in members:
            adds[byte] += np.uint64(1 << 8 * field)
        bias |= (128 - most) << 8 * field
        top |= 128 << 8 * field
    return adds, np.uint64(bias), np.uint64(top)


_ADDS, _BIAS, _TOP = _packed()


def garbled(batch: TextBatch) -> list[Garbled]:
    """The parts of a batch that cannot be read, whole lines, in order; nearly free where the text is clean.

    What two pieces of a document share is judged in both.
    """
    bounds = offsets(batch.text)
    first, last = int(bounds[0]), int(bounds[-1])
    if first == last:
        return []
    text = content(batch.text)
    suspect = _windows(np.frombuffer(cast("bytes", text), np.uint8)[first:last])
    for window in np.flatnonzero(suspect):
        start = first + int(window) * WINDOW
        suspect[window] = _dense(bytes(memoryview(text)[start : min(start + WINDOW, last)]))
    if not suspect.any():
        return []
    found: list[Garbled] = []
    for start, end in _regions(suspect, last - first):
        rows = range(
            int(np.searchsorted(bounds, first + start, side="right")) - 1,
            int(np.searchsorted(bounds, first + end, side="left")),
        )
        for row in rows:
            low, high = int(bounds[row]), int(bounds[row + 1])
            piece = memoryview(text)[low:high]
            begin, stop = max(first + start - low, 0), min(first + end - low, high - low)
            shift = int(batch.starts[row])
            for span in _spans(bytes(piece[begin:stop])):
                at = shift + begin
                found.append(Garbled(batch.documents[row], at + span.start, at + span.end, span.reason))
    return found


def _windows(text: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Which windows of a text have a suspect mix of bytes; the last window may be a part of one."""
    whole = len(text) // WINDOW * WINDOW
    rest = np.zeros(WINDOW, np.uint8)
    rest[: len(text) - whole] = text[whole:]
    parts = [text[start : min(start + PART, whole)] for start in range(0, whole, PART)]
    counters = np.concatenate([_counted(part) for part in (*parts, rest)])
    return np.asarray((counters + _BIAS) & _TOP != 0, np.bool_)


def _counted(text: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """How many bytes of each class are seen in each window, packed."""
    seen = text.reshape(-1, WINDOW // STRIDE, STRIDE)[:, :, :LOOK]
    # take is ten times faster with indices of the machine's own width.
    counters = _ADDS.take(seen.astype(np.intp).reshape(len(seen), -1)).sum(axis=1, dtype=np.uint64)
    return np.asarray(counters, np.uint64)


# After a letter, a character that is none, in UTF-8; or a code; or a letter alone on its line. Every branch
# begins with a literal, so that the search skips to the next.
_ODD = re.compile(
    rb"\xc2[\x80-\x9f\xa2-\xa7\xac\xb1\xb6](?<=[A-Za-z\x80-\xbf]..)"
    rb"|\xe2(?:\x80[\xa0-\xa2]|[\x88\x89].)(?<=[A-Za-z\x80-\xbf]...)"
    rb"|\xee|\xef[\x80-\xa3\xbf]"
    rb"|\(cid:\d|/g\d+/|/[GCu]\w+/|\n\w[ \r]*(?=\n)",
    re.DOTALL,
)


def _dense(window: bytes) -> bool:
    """Whether a suspect window, quotations or a table perhaps, has enough in it to be read line by line."""
    return len(_ODD.findall(window)) + len(_CONTROL.findall(window)) >= 6


def _regions(suspect: npt.NDArray[np.bool_], size: int) -> Iterator[tuple[int, int]]:
    """Runs of suspect windows, each with a window on both sides."""
    wide = suspect.copy()
    wide[1:] |= suspect[:-1]
    wide[:-1] |= suspect[1:]
    edges = np.flatnonzero(np.diff(np.concatenate(([False], wide, [False])).astype(np.int8)))
    for start, end in edges.reshape(-1, 2):
        yield int(start) * WINDOW, min(int(end) * WINDOW, size)


class _Span(msgspec.Struct):
    start: int
    end: int
    reason: str


def _spans(text: bytes) -> list[_Span]:
    """The unreadable lines of a text, neighbours joined."""
    lines = text.splitlines(keepends=True)
    marked = np.zeros(len(lines) + 1, np.bool_)
    is_upright = mark(np.frombuffer(text, np.uint8), marked)
    reasons: list[str | None] = [None] * len(lines)
    for at in np.flatnonzero(marked).tolist():
        reasons[at] = _reason(lines[at])
    if is_upright:
        _upright(lines, reasons)
    if not any(reasons):
        return []
    _neighbours(lines, reasons)
    spans: list[_Span] = []
    at = 0
    for line, reason in zip(lines, reasons, strict=True):
        if reason:
            if spans and spans[-1].end == at and spans[-1].reason == reason:
                spans[-1].end = at + len(line)
            else:
                spans.append(_Span(at, at + len(line), reason))
        at += len(line)
    return spans


_CODE = re.compile(rb"\(cid:\d{1,5}\)|/g\d{1,4}(?!\w)|/uni[0-9A-F]{4}(?!\w)|/[CG]\d{1,3}(?=/[CG]\d|\s|\Z)")
_CODE_HEADS = (b"(cid:", b"/g", b"/uni", b"/C", b"/G")
# Quotation marks, º, ª, a • between spaces, a § before a figure are ordinary: what touches letters counts.
_SYMBOL = "[†‡¶£§¢±¤¦¬•¥∞≠≤≥∂∑∏π∫Ω√∆]"
_TOUCHING = re.compile(rf"[^\W\d_]{_SYMBOL}|{_SYMBOL}[^\W\d_]")
_INSIDE = re.compile(rf"[^\W\d_]{_SYMBOL}+[^\W\d_]")
_KINDS = re.compile(_SYMBOL)
_HIDDEN = re.compile("[\x01-\x08\x0e-\x1f\x80-\x9f\ue000-\uf8ff]")
_ANY = re.compile(f"{_SYMBOL}|{_HIDDEN.pattern}|\ufffd")
_HOLE = re.compile("(?<=[a-zà-ÿ])\ufffd+(?=[a-zà-ÿ])")


def _reason(line: bytes) -> str | None:
    """Why a line cannot be read, or None if it can."""
    # Looking for five words is faster than one pattern that begins with any of them.
    codes = _CODE.findall(line) if any(head in line for head in _CODE_HEADS) else []
    if codes:
        bare = len(line.strip())
        if len(codes) >= 2 and sum(map(len, codes)) >= bare * 0.3:
            return GLYPH_CODES
    if line.isascii() and not _CONTROL.search(line):
        return None
    text = line.decode(errors="replace")
    if not _ANY.search(text):
        return None
    words = text.split()
    if _symbols(text, words):
        return SYMBOLS
    hidden = len(_HIDDEN.findall(text))
    if hidden >= 3 and hidden >= len("".join(words)) * 0.15:
        return CONTROLS
    holes = len(_HOLE.findall(text))
    if holes >= 2 and holes >= len(words) * 0.1 and _broken(text):
        return LOST
    return None


def _symbols(text: str, words: list[str]) -> bool:
    """Whether symbols stand for letters: in two words or more, of two kinds, and between letters twice."""
    # Cheapest first: most lines that come here have no symbol at all.
    if len(set(_KINDS.findall(text))) < 2 or len(_INSIDE.findall(text)) < 2:
        return False
    bad = sum(_TOUCHING.search(word) is not None for word in words)
    return bad >= 2 and bad >= len(words) * 0.3


_CONTROL = re.compile(rb"[\x01-\x08\x0e-\x1f]")


def _broken(text: str) -> bool:
    """Whether U+FFFD stands for letters: where it stands for spaces, most spaces of the line are gone."""
    return text.count(" ") >= SPACES_OF_LOST * text.count("\ufffd")


def _upright(lines: list[bytes], reasons: list[str | None]) -> None:
    """Mark runs of a dozen lines of one letter each; columns of an answer key (A to E) are not such."""
    start = 0
    while start < len(lines):
        end = start
        letters = set()
        while end < len(lines) and len(letter := lines[end].strip()) == 1 and letter.isalnum():
            letters.add(letter.upper())
            end += 1
        if (
            end - start >= UPRIGHT_LINES
            and len({letter for letter in letters if letter.isalpha()} - _KEY) >= 3
        ):
            reasons[start:end] = [UPRIGHT] * (end - start)
        start = max(end, start + 1)


_KEY = {b"A", b"B", b"C", b"D", b"E", b"X", b"V", b"F", b"S", b"N"}


def _neighbours(lines: list[bytes], reasons: list[str | None]) -> None:
    """Beside an unreadable line less proof is enough: one code, or a few symbols that touch letters."""
    given = list(reasons)
    for at, reason in enumerate(given):
        if reason is not None:
            continue
        beside = next(
            (given[near] for near in (at - 1, at + 1) if 0 <= near < len(given) and given[near]), None
        )
        if (beside == GLYPH_CODES and _CODE.search(lines[at])) or (
            beside == LOST and _HOLE.search(lines[at].decode(errors="replace"))
        ):
            reasons[at] = beside
        elif beside == SYMBOLS and not lines[at].isascii():
            text = lines[at].decode(errors="replace")
            words = text.split()
            bad = sum(_TOUCHING.search(word) is not None for word in words)
            if bad and bad >= len(words) * 0.2:
                reasons[at] = beside
