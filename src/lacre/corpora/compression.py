"""Bytes of a location, unpacked as they are asked for: memory is bounded whatever the compression."""

from __future__ import annotations

import bz2
import lzma
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol, cast

from lacre.corpora.batches import Shard, Unread
from lacre.corpora.remote import is_address, open_address
from lacre.corpora.spans import SpanBytes

if TYPE_CHECKING:
    import io
    from collections.abc import Callable

INPUT_BYTES = 256 << 10
"""Compressed bytes read at a time."""

READ_BYTES = 1 << 20
"""Unpacked bytes asked for at a time."""

LARGEST_WINDOW = 1 << 31
"""Window of ``zstd --long=31``, which large public dumps use."""


def opened(location: str, size: int | None = None) -> IO[bytes]:
    """The bytes at a location, from the first: the one place where a location is opened.

    ``size``: bytes of the file, where they are known; it saves asking a server.

    Raises:
        OSError: it is not there, or may not be read.
        Unreachable: it is at an address that cannot be reached.
    """
    if is_address(location):
        return open_address(location, size or None)
    return Path(location).open("rb")


class Unpacked(Protocol):
    """Unpacked bytes of a file. A damaged file ends early, and ``damage`` then says where and why."""

    damage: Unread | None

    def read(self, size: int) -> bytes:
        """The next ``size`` bytes or fewer; none at the end."""
        ...

    def close(self) -> None:
        """Close the file below."""
        ...


def unpacked(shard: Shard) -> Unpacked:
    """The unpacked bytes of a shard's file. Joined members and frames are read to the last one.

    Raises:
        OSError: it is not there, or may not be read.
    """
    file = opened(shard.location, shard.size)
    if shard.span is not None:
        return SpanBytes(file, shard.span)
    if shard.compression is None:
        return _Plain(file, shard.size)
    if shard.compression == "zst":
        return _Zstandard(file, shard)
    return _Members(file, shard.size, _DECODERS[shard.compression])


def _damage(position: int, reason: str, left: int) -> Unread:
    return Unread(where=f"after byte {position:,}", reason=reason, bytes=max(left, 1), incomplete=True)


CUT_SHORT = "the archive is cut short"
BROKEN = "the archive is damaged"


class _Plain:
    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self._size = size
        self._position = 0
        self.damage: Unread | None = None

    def read(self, size: int) -> bytes:
        try:
            block = self._file.read(size)
        except OSError as error:
            self.damage = _damage(
                self._position, error.strerror or "cannot be read", self._size - self._position
            )
            return b""
        self._position += len(block)
        return block

    def close(self) -> None:
        self._file.close()


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


class _Members:
    """gzip, bzip2 and xz: a file is one member after another."""

    def __init__(self, file: IO[bytes], size: int, decoder: Callable[[], _Decoder]) -> None:
        self._file = file
        self._size = size
        self._new = decoder
        self._decoder = decoder()
        self._input = b""
        self._fresh = True  # nothing of the present member has been read
        self._first = True
        self._position = 0
        self.damage: Unread | None = None

    def read(self, size: int) -> bytes:
        blocks: list[bytes] = []
        wanted = size
        while wanted and self.damage is None:
            try:
                block = self._step(wanted)
            except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
                self._stop(f"{BROKEN}: {error}")
                break
            if block is None:
                break
            blocks.append(block)
            wanted -= len(block)
            self._position += len(block)
        return blocks[0] if len(blocks) == 1 else b"".join(blocks)

    def _step(self, wanted: int) -> bytes | None:
        """Some bytes, perhaps none yet; None at the end."""
        if self._decoder.eof:
            self._input = self._decoder.unused_data or self._input
            self._decoder, self._fresh, self._first = self._new(), True, False
        if not self._input and self._hungry():
            self._input = self._file.read(INPUT_BYTES)
            if not self._input:
                if not self._fresh or (self._first and self._size):
                    self._stop(CUT_SHORT)
                return None
        if self._fresh and not self._first:
            # Writers pad archives with zeros, which are no member.
            self._input = self._input.lstrip(b"\0")
            if not self._input:
                return b""
        self._fresh = False
        given, self._input = self._input, b""
        block = self._decoder.decompress(given, wanted)
        self._input = getattr(self._decoder, "unconsumed_tail", b"")
        return block

    def _hungry(self) -> bool:
        return getattr(self._decoder, "needs_input", True)

    def _stop(self, reason: str) -> None:
        left = self._size - self._file.tell() + len(self._input)
        self.damage = _damage(self._position, reason, left)

    def close(self) -> None:
        self._file.close()


def _gzip() -> _Decoder:
    return zlib.decompressobj(wbits=31)


_DECODERS: dict[str, Callable[[], _Decoder]] = {
    "gz": _gzip,
    "bz2": bz2.BZ2Decompressor,
    "xz": lzma.LZMADecompressor,
}


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...
    def close(self) -> None: ...


class _Zstandard:
    """Zstandard: Arrow's stream tells a frame that is cut short, but then keeps back what it had unpacked.

    So the first failure changes over to python-zstandard, which hands out all there is, and the failure is
    said when that has come to its end.
    """

    def __init__(self, file: IO[bytes], shard: Shard) -> None:
        import pyarrow as pa  # noqa: PLC0415

        self._file = file
        self._shard = shard
        self._stream: _Readable = pa.CompressedInputStream(
            pa.PythonFile(cast("io.IOBase", file), mode="r"), "zstd"
        )
        self._position = 0
        self._failure: str | None = None
        self.damage: Unread | None = None

    def read(self, size: int) -> bytes:
        if self.damage is not None:
            return b""
        if self._failure is None:
            try:
                block = self._stream.read(size)
            except OSError as error:
                self._change_over(str(error))
            else:
                self._position += len(block)
                return block
        return self._rest(size)

    def _change_over(self, failure: str) -> None:
        import zstandard  # noqa: PLC0415

        self._failure = failure
        # Arrow owns the file now and may have closed it.
        self._file = opened(self._shard.location, self._shard.size)
        decoder = zstandard.ZstdDecompressor(max_window_size=LARGEST_WINDOW)
        self._stream = decoder.stream_reader(self._file, read_across_frames=True)
        skip = self._position
        while skip:
            skip -= len(self._stream.read(min(skip, READ_BYTES)))

    def _rest(self, size: int) -> bytes:
        import zstandard  # noqa: PLC0415

        failure = self._failure or ""
        try:
            block = self._stream.read(size)
        except zstandard.ZstdError as error:
            block, failure = b"", str(error)
        self._position += len(block)
        if not block and "too much memory" not in failure:
            reason = CUT_SHORT if "Truncated" in failure else f"{BROKEN}: {failure}"
            self.damage = _damage(self._position, reason, self._shard.size - self._file.tell())
        return block

    def close(self) -> None:
        self._stream.close()
        self._file.close()
