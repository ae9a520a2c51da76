"""Batches of the size asked for: small documents together, long ones in pieces that overlap."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np
import pyarrow as pa

from lacre.corpora.batches import OVERLAP, TextBatch, Unread

if TYPE_CHECKING:
    import numpy.typing as npt

SMALLEST_BATCH = 4 * OVERLAP
"""A batch must be long enough for pieces to move on by more than they overlap."""


class Documents(Sequence[str], ABC):
    """Names of documents, each made when it is asked for: most are not."""

    __slots__ = ()

    @abstractmethod
    def name(self, at: int) -> str:
        """The name of document ``at``, counted from 0."""

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        picked = range(len(self))[index]
        return self.name(picked) if isinstance(picked, int) else [self.name(at) for at in picked]


@dataclass(frozen=True, slots=True)
class Numbers(Documents):
    """Documents that have no id: their row or line numbers, counted from 1, or from where the prefix says.

    >>> list(Numbers(first=7, length=2))
    ['7', '8']
    """

    first: int
    length: int
    prefix: str = ""

    def __len__(self) -> int:
        return self.length

    def name(self, at: int) -> str:
        """Its number."""
        return f"{self.prefix}{self.first + at}"


@dataclass(frozen=True, slots=True)
class Ids(Documents):
    """Documents named by a column of ids, or by their number where that is null."""

    ids: pa.Array[Any]
    first: int
    prefix: str = ""

    def __len__(self) -> int:
        return len(self.ids)

    def name(self, at: int) -> str:
        """Its id; bytes that are not UTF-8 become U+FFFD."""
        try:
            name = self.ids[at].as_py()
        except UnicodeDecodeError:
            name = cast("Any", self.ids[at]).as_buffer().to_pybytes().decode(errors="replace")
        return f"{self.prefix}{self.first + at}" if name is None else str(name)


@dataclass(frozen=True, slots=True)
class Rows(Documents):
    """A run of another sequence of documents."""

    documents: Sequence[str]
    first: int
    length: int

    def __len__(self) -> int:
        return self.length

    def name(self, at: int) -> str:
        """As the other sequence has it."""
        return self.documents[self.first + at]


def offsets(text: pa.LargeStringArray) -> npt.NDArray[np.int64]:
    """Where each string of an array begins in its buffer, and where the last ends: bytes, shape (n + 1,)."""
    buffer = text.buffers()[1]
    if buffer is None or len(text) == 0:
        return np.zeros(len(text) + 1, np.int64)
    return np.frombuffer(cast("bytes", buffer), np.int64, len(text) + 1, 8 * text.offset)


def content(text: pa.LargeStringArray) -> pa.Buffer:
    """The bytes under an array of strings, of the strings before and after a slice too."""
    return text.buffers()[2] or pa.py_buffer(b"")


def strings(values: Sequence[bytes | str]) -> pa.LargeStringArray:
    """An array of strings; bytes must be UTF-8 already. A single one is not copied."""
    if len(values) == 1:
        only = values[0].encode() if isinstance(values[0], str) else values[0]
        return span(pa.py_buffer(only), 0, len(only))
    return pa.array(values, pa.large_string())


def span(text: pa.Buffer, start: int, end: int) -> pa.LargeStringArray:
    """An array of one string: a part of a buffer, which is not copied."""
    bounds = pa.py_buffer(np.array([start, end], np.int64).tobytes())
    return cast("pa.LargeStringArray", pa.Array.from_buffers(pa.large_string(), 1, [None, bounds, text]))


def without_nulls(text: pa.LargeStringArray) -> pa.LargeStringArray:
    """The same strings with "" for null: a slot that is null may hold bytes."""
    if not text.null_count:
        return text
    return cast("pa.LargeStringArray", cast("Any", text).fill_null(""))


def batch(
    texts: Sequence[bytes | str],
    documents: Sequence[str],
    *,
    unread: tuple[Unread, ...] = (),
    nulls: int = 0,
) -> TextBatch:
    """A batch of whole documents; half a surrogate pair, which JSON may hold, becomes U+FFFD, unread."""
    try:
        text = strings(texts)
    except UnicodeEncodeError:
        said: list[Unread] = []
        text = strings([_mended(value, name, said) for value, name in zip(texts, documents, strict=True)])
        unread = (*unread, *said)
    starts = np.zeros(len(texts), np.int64)
    return TextBatch(text=text, documents=documents, starts=starts, unread=unread, nulls=nulls)


_SURROGATE = re.compile("[\ud800-\udfff]")


def _mended(value: bytes | str, document: str, said: list[Unread]) -> bytes | str:
    if isinstance(value, bytes):
        return value
    mended, count = _SURROGATE.subn("\ufffd", value)
    if count:
        said.append(Unread(where=document, reason="half a surrogate pair", bytes=count))
    return mended


def nothing(*unread: Unread) -> TextBatch:
    """A batch without text, that says what was not read."""
    return batch([], [], unread=unread)


def sized(batches: Iterable[TextBatch], batch_bytes: int) -> Iterator[TextBatch]:
    """The same text in batches of ``batch_bytes`` or fewer. What was unread goes with the first of each.

    Law: the pieces of a document, each from the byte where the one before ends, are the document.
    """
    for given in batches:
        if len(given.text) == 0:
            if given.unread or given.nulls:
                yield given
            continue
        left = given
        for cut in _cut(given, batch_bytes):
            yield replace(cut, unread=left.unread, nulls=left.nulls)
            left = replace(left, unread=(), nulls=0)


def _cut(given: TextBatch, batch_bytes: int) -> Iterator[TextBatch]:
    bounds = offsets(given.text)
    if bounds[-1] - bounds[0] <= batch_bytes:
        yield given
        return
    row, rows = 0, len(given.text)
    while row < rows:
        last = int(np.searchsorted(bounds, bounds[row] + batch_bytes, side="right")) - 1
        if last > row:
            yield TextBatch(
                text=given.text.slice(row, last - row),
                documents=Rows(given.documents, row, last - row),
                starts=given.starts[row:last],
            )
            row = last
        else:
            yield from _pieces(given, row, batch_bytes)
            row += 1


def _pieces(given: TextBatch, row: int, batch_bytes: int) -> Iterator[TextBatch]:
    """One long document in pieces; none is copied."""
    bounds = offsets(given.text)
    whole = content(given.text).slice(int(bounds[row]), int(bounds[row + 1] - bounds[row]))
    view = memoryview(whole)
    start, base = 0, int(given.starts[row])
    while True:
        end = len(view) if len(view) - start <= batch_bytes else cut_before(view, start + batch_bytes)
        yield TextBatch(
            text=span(whole, start, end),
            documents=Rows(given.documents, row, 1),
            starts=np.array([base + start], np.int64),
        )
        if end == len(view):
            return
        start = cut_before(view, end - OVERLAP)


def cut_before(text: memoryview | bytes | bytearray, limit: int) -> int:
    """A place at ``limit`` or up to 1 KiB before it where UTF-8 text may be cut: after a space if there is
    one.

    >>> cut_before("uma ação".encode(), 6), cut_before("ação".encode(), 2)
    (4, 1)
    """
    window = bytes(text[max(0, limit - 1024) : limit])
    space = max(map(window.rfind, (b" ", b"\n", b"\t")))
    if space > 0:
        return limit - len(window) + space + 1
    while limit > 0 and text[limit] & 0xC0 == 0x80:
        limit -= 1
    return limit
