"""What stands in a PDF: its streams unpacked, its strings read, its pages' text as far as it is written in letters."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import NamedTuple

_STREAM = re.compile(rb">>\s*stream\r?\n")
_HEAD = 4096  # bytes before a stream in which its dictionary stands
_FILTER = re.compile(rb"/(ASCIIHexDecode|ASCII85Decode|LZWDecode|RunLengthDecode|Crypt)\b")
_PIXELS = re.compile(rb"/(DCTDecode|JPXDecode|CCITTFaxDecode|JBIG2Decode)\b")
_TEXT = re.compile(
    rb"\((?:[^()\\]|\\.|\((?:[^()\\]|\\.){0,2000}\)){0,8000}\)|<[0-9A-Fa-f\s]+>|T[jJdDm*]|ET|'|\"", re.DOTALL
)
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|\r?\n|.)", re.DOTALL)
_MOST = 256 << 20


class Found(NamedTuple):
    """A part of a PDF: its name, its bytes, whether they are a file's; or else why it cannot be read."""

    name: str
    content: bytes
    file: bool
    reason: str = ""


def pdf_parts(content: bytes) -> Iterator[Found]:
    """The strings outside streams, then each stream; a PDF whose text cannot be read says so (ISO 32000-1)."""
    if b"/Encrypt" in content:
        yield Found("", b"", False, "is under a password")
        return
    yield Found("strings", _strings(content), False)
    glyphs = False
    for number, match in enumerate(_STREAM.finditer(content), 1):
        end = content.find(b"endstream", match.end())
        body = content[match.end() : end if end >= 0 else len(content)]
        name = f"stream {number}"
        before = content[max(0, match.start() - _HEAD) : match.start()]
        head = before[before.rfind(b"obj") + 1 :]
        if _FILTER.search(head):
            yield Found(name, b"", False, "has a stream packed in a way that the guard cannot open")
            return
        if _PIXELS.search(head):
            yield Found(name, body.rstrip(b"\r\n"), b"DCT" in head)
            continue
        if b"/FlateDecode" in head or b"/Fl " in head:
            decoder = zlib.decompressobj()
            body = decoder.decompress(body, _MOST)
            if not decoder.eof:
                yield Found(name, b"", False, "has a stream that is cut short, or unpacks to too much")
                return
        yield Found(name, body, False)
        yield Found(name, _strings(body), False)
        glyphs = glyphs or b"/Identity-H" in body
    if glyphs or b"/Identity-H" in content:
        yield Found("", b"", False, "has text in numbers of glyphs, which the guard cannot read")


def _strings(content: bytes) -> bytes:
    """The strings of a stretch of PDF, in UTF-8; those of one line of text joined."""
    out: list[str] = []
    for match in _TEXT.finditer(content):
        token = match[0]
        if token.startswith(b"("):
            out.append(_decoded(_ESCAPE.sub(_unescaped, token[1:-1])))
        elif token.startswith(b"<"):
            digits = b"".join(token[1:-1].split())
            out.append(_decoded(bytes.fromhex((digits + b"0" * (len(digits) % 2)).decode())))
        elif token not in (b"Tj", b"TJ"):
            out.append(" ")
        else:
            out.append("\u2060")  # vanishes from words: one may go on in the next string
    return "".join(out).encode("utf-8", "replace")


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = match[1]
    if code.isdigit():
        return bytes([int(code, 8) & 255])
    return {b"n": b"\n", b"r": b"\n", b"t": b"\t", b"b": b"", b"f": b"", b"\n": b"", b"\r\n": b""}.get(
        code, code
    )


def _decoded(content: bytes) -> str:
    if content.startswith(b"\xfe\xff"):
        return content[2:].decode("utf-16-be", "replace")
    if content.startswith(b"\xef\xbb\xbf"):
        return content[3:].decode("utf-8", "replace")
    return content.decode("cp1252", "replace")
