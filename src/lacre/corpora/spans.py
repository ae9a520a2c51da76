"""A range of bytes of a file of lines, cut at line ends: two neighbouring ranges hold every line once."""

from __future__ import annotations

from typing import IO

from lacre.corpora.batches import Unread


class SpanBytes:
    """The lines of a file that begin in ``[start, end)``, as bytes.

    Law: the spans that cover a file give its bytes, each once.
    """

    def __init__(self, file: IO[bytes], span: tuple[int, int]) -> None:
        self._file = file
        self._start, self._end = span
        self._position = self._start
        self._begun = False
        self._done = False
        self.damage: Unread | None = None

    def read(self, size: int) -> bytes:
        """The next bytes, about ``size`` of them; none at the end."""
        try:
            return self._next(size)
        except OSError as error:
            left = max(1, self._end - self._position)
            why = error.strerror or "cannot be read"
            self.damage = Unread(
                where=f"after byte {self._position:,}", reason=why, bytes=left, incomplete=True
            )
            return b""

    def _next(self, size: int) -> bytes:
        if not self._begun:
            self._begun = True
            self._skip_line_of_another(size)
        if self._done:
            return b""
        block = self._file.read(size)
        before, self._position = self._position, self._position + len(block)
        if not block or self._position < self._end:
            self._done = not block
            return block
        # The line in which the last byte stands is ours to its end.
        last = block.find(b"\n", max(0, self._end - 1 - before))
        if last >= 0:
            self._done = True
            block = block[: last + 1]
        return block

    def _skip_line_of_another(self, size: int) -> None:
        """Go to the first line that begins in the span: the one around its first byte begins before."""
        if self._start == 0:
            return
        self._position = self._start - 1
        self._file.seek(self._position)
        while block := self._file.read(min(size, 1 << 16)):
            end = block.find(b"\n") + 1
            self._position += end or len(block)
            if end:
                self._file.seek(self._position)
                self._done = self._position >= self._end
                return
        self._done = True

    def close(self) -> None:
        """Close the file below."""
        self._file.close()
