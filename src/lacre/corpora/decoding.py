"""Bytes of unknown encoding to UTF-8, block by block; what had to be guessed or given up is said."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from typing import NamedTuple

from lacre.corpora.batches import Unread

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_LETTERS = frozenset("ªºçÇãÃõÕáÁéÉíÍóÓúÚâÂêÊôÔàÀüÜñÑäÄöÖëËïÏèÈìÌòÒùÙîÎûÛß§°“”‘’–—…•«»€\u00a0\u00ad¿¡·²³½¼¾×±")
GUESSED = "not UTF-8: read as Windows-1252"
NOT_UTF8 = "not UTF-8"
_MULTIBYTE = re.compile(rb"[\xc2-\xf4][\x80-\xbf]")
_HIGH = re.compile(rb"[\x80-\xff]+")


class Transcoder:
    """Turns the blocks of a text into UTF-8, whole characters only.

    UTF-8, UTF-16 and UTF-32 are told by their mark, UTF-16 by its zeros too; otherwise the declared encoding;
    otherwise UTF-8, where a line that is not UTF-8 is read as Windows-1252 if that makes letters of it, and
    has its bad bytes replaced by U+FFFD if not.

    >>> Transcoder().feed("ação".encode("cp1252"), last=True).decode()
    'ação'
    """

    def __init__(self, sniff: Callable[[bytes], str | None] | None = None) -> None:
        self._sniff = sniff
        self._decoder: codecs.IncrementalDecoder | None = None
        self._kept = b""
        self._begun = False
        self._position = 0
        self._said = False
        self._unread: list[Unread] = []

    def unread(self) -> tuple[Unread, ...]:
        """What was guessed or given up since it was last asked."""
        said, self._unread = tuple(self._unread), []
        return said

    def feed(self, block: bytes, *, last: bool = False) -> bytes:
        """The next bytes as UTF-8; characters cut by the end of the block come with the next."""
        if not self._begun:
            block = self._begin(block)
        if self._decoder is not None:
            return self._decoded(block, last)
        block = self._kept + block
        whole = len(block) if last else whole_characters(block)
        block, self._kept = block[:whole], block[whole:]
        try:
            block.decode()
        except UnicodeDecodeError:
            block = self._mended(block)
        self._position += len(block)
        return block

    def _begin(self, block: bytes) -> bytes:
        self._begun = True
        encoding = _wide(block[:1024]) or (self._sniff(block) if self._sniff else None)
        for mark, name in _MARKS:
            if block.startswith(mark):
                block, encoding = block[len(mark) :], name
                break
        if encoding and codecs.lookup(encoding).name not in {"utf-8", "ascii"}:
            self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        return block

    def _decoded(self, block: bytes, last: bool) -> bytes:
        assert self._decoder is not None
        text = self._decoder.decode(block, last)
        if "\ufffd" in text and "\ufffd".encode() not in block:
            self._say("bytes that are not of the declared encoding", text.count("\ufffd"))
        # Half of a surrogate pair can be neither read nor written.
        read = text.encode("utf-8", "replace")
        self._position += len(read)
        return read

    def _mended(self, block: bytes) -> bytes:
        found = mended(block)
        if found.is_guessed and not self._said:
            self._said = True
            self._say(GUESSED, 0)
        for size in found.bad:
            self._say(NOT_UTF8, size)
        return found.text

    def _say(self, reason: str, size: int) -> None:
        self._unread.append(Unread(where=f"after byte {self._position:,}", reason=reason, bytes=size))


class Mended(NamedTuple):
    """Text that was not UTF-8, as UTF-8: whether some of it was read as Windows-1252, and for each line that could not
    be how many bytes of it became U+FFFD."""

    text: bytes
    is_guessed: bool
    bad: tuple[int, ...]


def mended(block: bytes) -> Mended:
    """Bytes as UTF-8, by the one rule for all formats: a line is read as Windows-1252 if that makes letters of it.

    >>> mended("ação".encode("cp1252")).text.decode(), mended("ação ".encode() + bytes([255])).bad
    ('ação', (1,))
    """
    # Nothing of it is UTF-8: all of it is in Windows-1252.
    lines = [block] if not _MULTIBYTE.search(block) and _plausible(block) else block.split(b"\n")
    is_guessed, bad = False, []
    for at, line in enumerate(lines):
        try:
            line.decode()
        except UnicodeDecodeError:
            if _plausible(line):
                is_guessed = True
                lines[at] = line.decode("cp1252").encode()
                continue
            lines[at] = line.decode(errors="replace").encode()
            bad.append(max(1, lines[at].count(b"\xef\xbf\xbd") - line.count(b"\xef\xbf\xbd")))
    return Mended(b"\n".join(lines), is_guessed, tuple(bad))


def _wide(head: bytes) -> str | None:
    """UTF-16 that has no mark: every other byte of Latin text is zero there."""
    most = len(head) * 0.3
    if head[1::2].count(0) > most and head[::2].count(0) == 0:
        return "utf-16-le"
    if head[::2].count(0) > most and head[1::2].count(0) == 0:
        return "utf-16-be"
    return None


def whole_characters(block: bytes) -> int:
    """How many bytes of a block are whole UTF-8 characters: a character cut by its end stays out.

    >>> whole_characters("ação".encode()[:2]), whole_characters(b"abc")
    (1, 3)
    """
    for back in range(1, min(3, len(block)) + 1):
        byte = block[-back]
        if byte & 0xC0 == 0x80:
            continue
        needed = 2 if byte & 0xE0 == 0xC0 else 3 if byte & 0xF0 == 0xE0 else 4 if byte & 0xF8 == 0xF0 else 1
        return len(block) - back if needed > back else len(block)
    return len(block)


def _plausible(line: bytes) -> bool:
    """Whether Windows-1252 makes ordinary text of a line: few high bytes, nearly all letters or quotes."""
    high = b"".join(_HIGH.findall(line))
    if len(high) > max(3, len(line) * 0.3):
        return False
    try:
        read = high.decode("cp1252")
    except UnicodeDecodeError:
        return False
    return sum(character in _LETTERS for character in read) >= len(read) * 0.9
