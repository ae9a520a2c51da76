"""HTML and XML: the text of a page, streamed, so that a dump of many gigabytes is read like a page."""

from __future__ import annotations

import codecs
import html
import re
from collections.abc import Iterator

from lacre.corpora.batches import Shard, TextBatch, Unread
from lacre.corpora.decoding import Transcoder
from lacre.corpora.prose import decoded, streamed

UNCLOSED_LIMIT = 8 << 20
"""How far the end of a comment, a script or a tag is looked for; what has none by then is left unread."""

_INLINE = frozenset(
    b"a abbr acronym b bdi bdo big cite code data del dfn em font hi i ins kbd label mark nobr q rp rt ruby s"
    b" samp small span strike strong sub sup time tt u var wbr".split()
)
_HIDDEN = frozenset([b"script", b"style", b"template"])

# Quantifiers are possessive, so that no page can make the search slow.
_TOKEN = re.compile(
    rb"<!--|<!\[CDATA\["
    rb"|</?(?P<name>[a-z][^\s<>/]*+)(?:[^<>\"']|\"[^\"<]*+\"|'[^'<]*+')*+>"
    rb"|</?(?P<torn>[a-z][^\s<>/]*+)[^<>]*+>"
    rb"|<[!?][^<>]*+>",
    re.IGNORECASE,
)
_OPENING = re.compile(rb"<(?:[!?/a-z]|\Z)", re.IGNORECASE)
_DECLARED = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([\w:.-]+)""", re.IGNORECASE)
_ENTITY_CUT = re.compile(rb"&[#\w]{0,32}\Z")

TAG_LIMIT = 64 << 10
"""The longest tag that may be cut by the end of a block; a longer one is text with a ``<`` in it."""


def read_markup(shard: Shard, batch_bytes: int) -> Iterator[TextBatch]:
    """The text of a page: its title and body, navigation too; scripts, styles, templates and comments are
    dropped.

    Entities are decoded, elements that are not part of a line end it. The charset is that of the byte order
    mark, the XML declaration or the meta element; otherwise UTF-8, or Windows-1252 where it is not.
    """
    transcoder = Transcoder(sniff=declared)
    yield from streamed(_text(decoded(shard, transcoder)), shard.path, batch_bytes)


def declared(head: bytes) -> str | None:
    """The encoding that the head of a page declares, if it is one that is known.

    >>> declared(b'<meta charset="iso-8859-1">'), declared(b"<?xml version='1.0' encoding='klingon'?>")
    ('cp1252', None)
    """
    found = _DECLARED.search(head[:4096])
    if found is None:
        return None
    try:
        name = codecs.lookup(found.group(1).decode("ascii", "replace")).name
    except LookupError:
        return None
    # What is named Latin-1 or ASCII is Windows-1252 (WHATWG Encoding, section 4.2); and a page whose
    # declaration could be read as bytes is not UTF-16.
    if name in {"iso8859-1", "ascii"}:
        return "cp1252"
    return None if name.startswith("utf-16") else name


def _text(blocks: Iterator[bytes | Unread]) -> Iterator[bytes | Unread]:
    """The text between the tags, a block at a time."""
    waiting = b""
    position = 0
    for block in blocks:
        if isinstance(block, Unread):
            yield block
            continue
        waiting += block
        text, end = page_text(waiting, last=False)
        yield text
        position, waiting = position + end, waiting[end:]
        if len(waiting) > UNCLOSED_LIMIT:
            yield _unclosed(position, len(waiting))
            position, waiting = position + len(waiting), b""
    text, end = page_text(waiting)
    yield text
    if end < len(waiting):
        yield _unclosed(position + end, len(waiting) - end)


def _unclosed(position: int, size: int) -> Unread:
    return Unread(where=f"after byte {position:,}", reason="a comment or script without end", bytes=size)


def page_text(page: bytes, *, last: bool = True) -> tuple[bytes, int]:
    """The text of a page, or of a part of it that is not the last, in UTF-8, and how many bytes of it were
    read.

    >>> page_text("<p>Ação &amp; <b>re</b>ação<script>x</script><br>fim".encode())[0].decode()
    'Ação & reação\\n\\nfim'
    """
    parts: list[bytes] = []
    place = 0
    while token := _TOKEN.search(page, place):
        start = token.start()
        parts.append(page[place:start])
        end = _end(page, token)
        if end < 0:
            return _unescaped(parts), start
        name = token["name"] or token["torn"]
        if name is None:
            if page.startswith(b"<![CDATA[", start):
                parts.append(page[start + 9 : end - 3].replace(b"&", b"&amp;"))
        elif name.lower() not in _INLINE and (start or place):
            parts.append(b"\n")
        place = end
    end = len(page) if last else _settled(page, place)
    parts.append(page[place:end])
    return _unescaped(parts), end


def _end(page: bytes, token: re.Match[bytes]) -> int:
    """Where a token ends: a comment or a script with all that is in it; -1 if its end is not there."""
    start = token.start()
    if page.startswith(b"<!--", start):
        return _after(page, b"-->", start + 4)
    if page.startswith(b"<![CDATA[", start):
        return _after(page, b"]]>", start + 9)
    name = (token["name"] or token["torn"] or b"").lower()
    if name not in _HIDDEN or page.startswith(b"</", start) or page.endswith(b"/>", start, token.end()):
        return token.end()
    closing = re.compile(rb"</%b\s*>" % name, re.IGNORECASE).search(page, token.end())
    return closing.end() if closing else -1


def _after(page: bytes, mark: bytes, start: int) -> int:
    found = page.find(mark, start)
    return found + len(mark) if found >= 0 else -1


def _settled(page: bytes, place: int) -> int:
    """How much of a part can be read before the next comes: up to a tag or an entity that its end cuts."""
    opening = _OPENING.search(page, max(place, len(page) - TAG_LIMIT))
    if opening:
        return opening.start()
    cut = _ENTITY_CUT.search(page, max(place, len(page) - 40))
    return cut.start() if cut else len(page)


def _unescaped(parts: list[bytes]) -> bytes:
    text = b"".join(parts)
    if b"&" not in text:
        return text
    # A numeric entity may name half a surrogate pair, which is no text.
    return html.unescape(text.decode()).encode("utf-8", "replace")
