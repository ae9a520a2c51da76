"""Plain text, Markdown and source code: one document a file, in pieces, at any size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import numpy as np

from lacre.corpora.batches import OVERLAP, Shard, TextBatch, Unread
from lacre.corpora.compression import READ_BYTES, unpacked
from lacre.corpora.decoding import Transcoder
from lacre.corpora.pieces import cut_before, nothing, strings


def read_prose(shard: Shard, batch_bytes: int) -> Iterator[TextBatch]:
    """The text of a file, named by its path, in pieces of ``batch_bytes`` or fewer."""
    yield from streamed(decoded(shard, Transcoder()), shard.path, batch_bytes)


def decoded(shard: Shard, transcoder: Transcoder) -> Iterator[bytes | Unread]:
    """A file's text as UTF-8, a block at a time, and what was not read of it."""
    with closing(unpacked(shard)) as stream:
        while block := stream.read(READ_BYTES):
            yield transcoder.feed(block)
            yield from transcoder.unread()
        yield transcoder.feed(b"", last=True)
        yield from transcoder.unread()
        if stream.damage:
            yield stream.damage


def streamed(blocks: Iterator[bytes | Unread], document: str, batch_bytes: int) -> Iterator[TextBatch]:
    """One document that comes in blocks of UTF-8, in pieces; the document is never whole in memory."""
    waiting = bytearray()
    start = 0
    fresh = False  # the bytes waiting hold more than the overlap with the last piece
    for block in blocks:
        if isinstance(block, Unread):
            yield nothing(block)
            continue
        waiting += block
        fresh = fresh or bool(block)
        while len(waiting) > batch_bytes:
            end = cut_before(waiting, batch_bytes)
            yield _piece(bytes(waiting[:end]), document, start)
            again = cut_before(waiting, end - OVERLAP)
            del waiting[:again]
            start += again
    if fresh and waiting:
        yield _piece(bytes(waiting), document, start)


def _piece(text: bytes, document: str, start: int) -> TextBatch:
    return TextBatch(text=strings([text]), documents=[document], starts=np.array([start], np.int64))
