"""How far a scan is, counted over all workers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

from lacre.corpora.batches import Shard
from lacre.corpora.sources import Listing

PACKED = 3.5  # bytes of text in a compressed byte, until the first shards tell better


class Progress(NamedTuple):
    """How far a scan is: shards done and in all, bytes of text, matches, share done about, 0 to 1."""

    shards: int
    of_shards: int
    text: int
    matches: int
    share: float


class Tally:
    """Progress counted over all workers. ``on_progress`` is called by one of them at a time."""

    def __init__(self, found: Sequence[Listing], on_progress: Callable[[Progress], None]) -> None:
        every = [shard for listing in found for shard in listing.shards]
        self.lock = threading.Lock()
        self.now = Progress(0, len(every), 0, 0, 0.0)
        self.expected = sum(map(expected, every))
        self.done_expected = 0.0  # of the shards that are done: what was expected, and what came
        self.done_text = 0
        self.on_progress = on_progress

    def add(self, text: int, matches: int) -> None:
        """Count a batch: its bytes of text, its matches."""
        with self.lock:
            now = self.now
            self._show(now._replace(text=now.text + text, matches=now.matches + matches))

    def done(self, shard: Shard, text: int) -> None:
        """Count a shard that was read, and its bytes of text, which were added already."""
        with self.lock:
            self.done_expected += expected(shard)
            self.done_text += text
            self._show(self.now._replace(shards=self.now.shards + 1))

    def kept(self, shard: Shard, text: int) -> None:
        """Count a shard that an earlier scan had read."""
        with self.lock:
            self.now = self.now._replace(text=self.now.text + text)
        self.done(shard, text)

    def again(self, shard: Shard, text: int) -> None:
        """Take back a shard that will be read once more, and its bytes of text."""
        with self.lock:
            self.done_expected -= expected(shard)
            self.done_text -= text
            self.now = self.now._replace(text=self.now.text - text, shards=self.now.shards - 1)

    def _show(self, now: Progress) -> None:
        self.now = now._replace(share=self._share(now))
        self.on_progress(self.now)

    def _share(self, now: Progress) -> float:
        if now.shards == now.of_shards or not self.expected:
            return 1.0
        rate = self.done_text / self.done_expected if self.done_text else 1.0
        running = (now.text - self.done_text) / rate
        return min(0.99, (self.done_expected + running) / self.expected)


def expected(shard: Shard) -> float:
    """Bytes of text that a shard may hold."""
    if shard.span is not None:
        return shard.span[1] - shard.span[0]
    if shard.unpacked is not None:
        return shard.unpacked
    return shard.size * (PACKED if shard.compression or shard.format == "parquet" else 1.0)
