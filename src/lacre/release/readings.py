"""Bytes as the texts that a reader may take them for: decoded, without escapes, without tags."""

from __future__ import annotations

import csv
import html
import re
import struct
from collections.abc import Iterator

import msgspec
import numpy as np

from lacre.corpora.decoding import Transcoder, whole_characters
from lacre.release.survey import unescape
from lacre.release.survey_kernel import Bytes, Places

WINDOW = 4 << 20
"""Bytes of text looked through together."""
OVERLAP = 4096
"""Bytes that two neighbouring windows share: more than any eight words."""

_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")
_UTF16 = (
    (re.compile(rb"(?:[\x09\x0a\x0d\x20-\xff][\x00-\x03]){12,}"), "utf-16-le"),
    (re.compile(rb"(?:[\x00-\x03][\x09\x0a\x0d\x20-\xff]){12,}"), "utf-16-be"),
)
_UTF32 = re.compile(rb"(?:[\x09\x0a\x0d\x20-\xff][\x00-\x03]\x00\x00){12,}")
_TIMES = 3  # layers of escapes


def windows(content: bytes) -> Iterator[bytes]:
    """A text in UTF-8, in windows that share a few kilobytes; what is in another encoding is read as that.

    Windows end behind a line feed where there is one.

    >>> [part.decode() for part in windows("ação".encode("utf-16"))]
    ['ação']
    """
    if content.startswith(_WIDE_MARKS) or b"\0" in content[:1024]:
        content = Transcoder().feed(content, last=True)
    start = 0
    while start < len(content):
        part = content[start : start + WINDOW]
        if len(part) == WINDOW:
            line = part.rfind(b"\n", WINDOW // 2) + 1
            part = part[:line] if line else part[: whole_characters(part)]
        yield valid(part)
        if start + len(part) >= len(content):
            return
        after = start + len(part)
        again = content.rfind(b"\n", max(start + 1, after - OVERLAP), after - 1) + 1
        start = again if again > start else max(start + 1, after - OVERLAP)


def valid(part: bytes) -> bytes:
    """Bytes as UTF-8; lines that are none are read as Windows-1252."""
    return part if is_utf8(part) else Transcoder().feed(part, last=True)


def is_utf8(part: bytes) -> bool:
    """Whether bytes are UTF-8, at several gigabytes a second."""
    import pyarrow as pa  # noqa: PLC0415 - keeps `import lacre` light

    offsets = pa.py_buffer(struct.pack("=qq", 0, len(part)))
    text = pa.LargeStringArray.from_buffers(1, offsets, pa.py_buffer(part))
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def is_records(part: bytes) -> bool:
    """Whether every line of a text is one JSON record."""
    if not part.startswith((b"{", b"[")):
        return False
    try:
        for line in part.split(b"\n"):
            if line:
                _RAW.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


_RAW = msgspec.json.Decoder(msgspec.Raw)


def hidden(content: bytes) -> Iterator[bytes]:
    """The stretches of UTF-16 and UTF-32 that stand in other bytes, in UTF-8."""
    if b"\0" not in content:
        return
    for pattern, encoding in _UTF16:
        for match in pattern.finditer(content):
            yield match[0].decode(encoding, "replace").encode("utf-8", "replace")
    for match in _UTF32.finditer(content):
        yield match[0].decode("utf-32-le", "replace").encode("utf-8", "replace")


SHORT_VALUES = 16
"""Mean bytes of a value and what parts it from the next, up to which values may be single words or parts of words."""
_SAMPLE = 1 << 16


def columns(content: bytes, *, table: bool) -> Iterator[bytes]:
    """Short values of one field, or column, one behind another: a text may be cut so that each record has one word.

    Joined as they are, and with blanks between them: parts of words bring their own. Values are short where there are
    many quotes or delimiters for the bytes; other files give nothing, for their texts are read where they stand.

    >>> [*columns(b'[{"n": 1, "t": "um"}, {"n": 2, "t": " dois"}]', table=False)]
    [b'um dois', b'um  dois']
    """
    sample = content[:_SAMPLE]
    marks = sample.count(b'"') // 2 if not table else sum(map(sample.count, (b",", b";", b"\t", b"\n")))
    if marks * SHORT_VALUES < len(sample):
        return
    fields: dict[object, list[str]] = {}
    if table:
        text = content.decode("utf-8", "replace").splitlines()
        delimiter = max(",;\t", key=text[0].count) if text else ","
        try:
            for row in csv.reader(text, delimiter=delimiter):
                for number, cell in enumerate(row):
                    fields.setdefault(number, []).append(cell)
        except csv.Error:  # a cell of more than 128 KiB is no word
            return
    else:
        for value in json_values(content):
            _gather(value, "", fields)
    joined = {between.join(v): None for v in fields.values() if len(v) > 1 for between in ("", " ")}
    yield from (text.encode("utf-8", "replace") for text in joined)


def _gather(value: object, name: str, fields: dict[object, list[str]]) -> None:
    """Take in the texts of a JSON value by the name of their field."""
    waiting = [(name, value)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, str):
            fields.setdefault(name, []).append(value)
            fields.setdefault(None, []).append(value)  # and all of them, whatever their fields
        elif isinstance(value, dict):
            waiting += reversed([(str(key), each) for key, each in value.items()])
        elif isinstance(value, list):
            waiting += reversed([(name, each) for each in value])


def is_json(content: bytes) -> bool:
    """Whether bytes are one JSON value."""
    try:
        msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def json_values(content: bytes) -> Iterator[object]:
    """The one value of a JSON text, or that of each line."""
    if is_json(content):
        yield msgspec.json.decode(content)
        return
    for line in content.split(b"\n"):
        if line.strip() and is_json(line):
            yield msgspec.json.decode(line)


_ENDS_LINE = re.compile(
    rb"</?(?:p|div|br|hr|li|ul|ol|dl|dt|dd|tr|td|th|table|h[1-6]|title|section|article|blockquote|pre|option|body|head"
    rb"|w:p|w:br|w:tab|w:cr|a:p|a:br|text:p|text:h|text:tab|row|c|si|text|tspan)\b[^<>]*>",
    re.IGNORECASE,
)
_HIDDEN_TEXT = re.compile(rb"<!--|-->|<!\[CDATA\[|\]\]>")
_TAG = re.compile(rb"</?[A-Za-z!?][^<>]*>")
_NAMED = re.compile(rb"&[A-Za-z]{2,12};")


def reread(content: Bytes, spans: Places) -> bytes:
    """Stretches of a text without their escapes and tags, one behind another; only those that read otherwise then.

    What stands in a comment or an attribute stays, for it is public too: the text is looked through as it is as well.
    """
    return b"\n\n".join(text for start, end in spans.tolist() for text in _plain(content[start:end]))


def _plain(raw: Bytes) -> Iterator[bytes]:
    before = raw.tobytes()
    text = before
    for _ in range(_TIMES):
        changed = unescape(np.frombuffer(text, np.uint8)).tobytes()
        if _NAMED.search(changed):
            changed = html.unescape(changed.decode("utf-8", "replace")).encode("utf-8", "replace")
        if changed == text:
            break
        text = changed
    if text != before:
        yield valid(text)
    if b"<" in text:
        joined = _TAG.sub(b"", _HIDDEN_TEXT.sub(b" ", _ENDS_LINE.sub(b"\n", text)))
        if joined != text:
            yield valid(joined)
