"""What pictures say beside their pixels: comments, EXIF, XMP, profiles."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

PNG, JPEG, GIF = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8"

_PIXELS = (b"IDAT", b"PLTE", b"tRNS", b"fdAT", b"IHDR")
_MOST = 64 << 20  # unpacked bytes of one chunk
_FAR = 4096  # bytes that may stand behind a picture's end before they are a file of their own


def is_picture(content: bytes) -> bool:
    """Whether bytes begin as PNG, JPEG, GIF or WebP do."""
    return content.startswith((PNG, JPEG, GIF)) or (content[:4] == b"RIFF" and content[8:12] == b"WEBP")


def png_texts(content: bytes) -> Iterator[bytes]:
    """What the chunks of a PNG say, those in zlib unpacked (PNG, third edition, sections 11.3 and 5.3).

    Raises:
        ValueError: it is cut short, or a chunk unpacks to too much.
    """
    at = len(PNG)
    while at + 12 <= len(content):
        size = int.from_bytes(content[at : at + 4], "big")
        kind, body = content[at + 4 : at + 8], content[at + 8 : at + 8 + size]
        if len(body) < size:
            break
        at += size + 12
        if kind == b"IEND":
            yield content[at:]
            return
        if kind in _PIXELS:
            continue
        yield body
        if kind in (b"zTXt", b"iTXt", b"iCCP"):
            yield from _inflated(body)
    raise ValueError("PNG")


def _inflated(body: bytes) -> Iterator[bytes]:
    """What stands compressed in a chunk, behind its keyword and one to a few more fields."""
    start = body.find(b"\0")
    while 0 <= start < len(body):
        # Every zlib stream of a PNG begins with a byte of 8 in its lower half (RFC 1950).
        if body[start + 1 : start + 2] and body[start + 1] & 15 == 8:
            decoder = zlib.decompressobj()
            try:
                text = decoder.decompress(body[start + 1 :], _MOST)
            except zlib.error:
                text = b""
            if text:
                if not decoder.eof:
                    raise ValueError("PNG")
                yield text
                return
        start = body.find(b"\0", start + 1)


def jpeg_texts(content: bytes) -> Iterator[bytes]:
    """What the application and comment segments of a JPEG say (ITU-T T.81, annex B), and what stands behind its end.

    Raises:
        ValueError: it is cut short.
    """
    at = 2
    told: list[bytes] = []
    while at + 4 <= len(content) and content[at] == 0xFF:
        kind = content[at + 1]
        if kind == 0xFF:
            at += 1
            continue
        if kind == 0xDA:
            end = content.rfind(b"\xff\xd9")
            if end < 0:
                break
            yield from told
            # One text may be spread over several segments.
            yield b"".join(told)
            yield content[end + 2 :]
            return
        size = int.from_bytes(content[at + 2 : at + 4], "big")
        if 0xE0 <= kind <= 0xEF or kind == 0xFE:
            told.append(content[at + 4 : at + 2 + size])
        at += 2 + size
    raise ValueError("JPEG")


def gif_texts(content: bytes) -> Iterator[bytes]:
    """What the extensions of a GIF say, their blocks joined (GIF89a, sections 24 to 26); not where they begin."""
    at = content.find(b"\x21")
    while 0 <= at < len(content) - 2:
        if content[at + 1] in (0xFE, 0xFF, 0x01):
            k = at + 2
            blocks: list[bytes] = []
            while k < len(content) and content[k]:
                blocks.append(content[k + 1 : k + 1 + content[k]])
                k += 1 + content[k]
            yield b"".join(blocks)
        at = content.find(b"\x21", at + 1)
    yield content[content.rfind(b"\x3b") + 1 :]


def webp_texts(content: bytes) -> Iterator[bytes]:
    """What the chunks of a WebP say but for its pixels (WebP container specification)."""
    at = 12
    while at + 8 <= len(content):
        kind, (size,) = content[at : at + 4], struct.unpack("<I", content[at + 4 : at + 8])
        if kind not in (b"VP8 ", b"VP8L", b"ALPH", b"ANMF"):
            yield content[at + 8 : at + 8 + size]
        at += 8 + size + size % 2
