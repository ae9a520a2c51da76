"""Everything inside a public file: members of archives in archives, metadata of images and documents, cells of tables.

Nothing is written anywhere: what is unpacked stays in memory, within bounds. What cannot be opened, or only in part,
comes out as :class:`Unopened`, never as silence.
"""

from __future__ import annotations

import bz2
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, NamedTuple, Protocol

from lacre.release.pictures import gif_texts, is_picture, jpeg_texts, png_texts, webp_texts
from lacre.release.portable import pdf_parts

MOST_DEPTH = 6  # archives in archives; honest ones have two or three
MOST_BYTES = 2 << 30  # unpacked bytes of one public file
MOST_MEMBER = 512 << 20  # unpacked bytes of one member, which is in memory whole
MOST_MEMBERS = 200_000


class Piece(NamedTuple):
    """Bytes to look through.

    Attributes:
        member: where they stand in the public file, ``a.zip/b.csv``; "" for the file itself.
        content: the bytes.
        whole: whether they are a file's own bytes, which may be those of a picture; else something said about it.
        text: whether they are text, in some encoding; else bytes in which text may stand.
    """

    member: str
    content: bytes
    whole: bool
    text: bool


class Unopened(NamedTuple):
    """Something that was not looked into, and why."""

    member: str
    reason: str


@dataclass
class Budget:
    """What may still be unpacked of one public file."""

    bytes: int = MOST_BYTES
    members: int = MOST_MEMBERS

    def take(self, size: int) -> bool:
        """Whether another member of this size may be looked at."""
        self.bytes -= size
        self.members -= 1
        return self.bytes >= 0 and self.members >= 0


class Refused(Exception):  # noqa: N818 - becomes an Unopened where the member's name is known
    """This cannot be opened, or only in part; the text says why."""


def pieces(content: bytes, member: str, budget: Budget, depth: int = 0) -> Iterator[Piece | Unopened]:
    """All that stands in ``content``: itself, then what it holds."""
    opener = _opener(content, member)
    text = opener is None and is_text(content)
    yield Piece(member, content, True, text)
    if opener is None:
        if not text and content:
            yield Unopened(member, _unknown(content))
        return
    if depth >= MOST_DEPTH:
        yield Unopened(member, f"nested more than {MOST_DEPTH} deep")
        return
    try:
        for part in opener(content):
            if not budget.take(len(part.content)):
                yield Unopened(member, "unpacks to more than the guard looks through")
                return
            name = "/".join(filter(None, (member, part.name)))
            if part.file:
                yield from pieces(part.content, name, budget, depth + 1)
            else:
                yield Piece(name, part.content, False, True)
    except Refused as refused:
        yield Unopened(member, str(refused))
    except (OSError, EOFError, ValueError, KeyError, NotImplementedError, RuntimeError, *_BROKEN):
        # Their messages may quote what they stumbled over.
        yield Unopened(member, "is damaged, or of a kind that cannot be opened")


_BROKEN = (zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)


class Part(NamedTuple):
    """A member of a container: its name, its bytes, and whether it is a file; else text about the container."""

    name: str
    content: bytes
    file: bool


Opener = Callable[[bytes], Iterator[Part]]

_CLOSED = (
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!", "rar"),
    (b"\x1f\x9d", "compress"),
    (b"\xd0\xcf\x11\xe0", "an old Office format"),
    (b"SQLite format 3\0", "SQLite"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"MSCF", "cab"),
    (b"age-encryption.org/", "age"),
    (b"-----BEGIN PGP MESSAGE", "PGP"),
)


def _unknown(content: bytes) -> str:
    known = next(
        (
            f"a format that the guard cannot open ({name})"
            for mark, name in _CLOSED
            if content.startswith(mark)
        ),
        "",
    )
    return known or "bytes of no format that the guard can open"


def _opener(content: bytes, member: str) -> Opener | None:
    """What opens these bytes, by how they begin; the name only decides between kinds of text."""
    for mark, opener in _OPENERS:
        if content.startswith(mark):
            return opener
    if content[257:262] == b"ustar" or (member.endswith(".tar") and len(content) >= 1024):
        return _tar
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return _picture(webp_texts)
    if b"%PDF-" in content[:1024]:
        return _pdf
    if zipfile.is_zipfile(io.BytesIO(content[-(1 << 20) :])) and not is_text(content):
        return _zip  # with something before it
    if any(content.startswith(mark) for mark, _ in _CLOSED):
        return _closed
    return None


def _closed(content: bytes) -> Iterator[Part]:
    raise Refused(_unknown(content))
    yield  # makes it an iterator, as all openers are


def _zip(content: bytes) -> Iterator[Part]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        # Whatever stands before the archive is passed over by those who open it.
        yield Part("", archive.comment + b"\n" + content[: min(4096, content.find(b"PK\x03\x04"))], False)
        for info in archive.infolist():
            name = info.filename
            yield Part("", name.encode("utf-8", "replace") + b"\n" + info.comment + b"\n" + info.extra, False)
            if info.is_dir():
                continue
            if info.flag_bits & 1:
                raise Refused("holds members under a password")
            with archive.open(info) as file:
                yield Part(name, _bounded(file), True)


def _tar(content: bytes) -> Iterator[Part]:
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
        for info in archive:
            said = "\n".join(
                (info.name, info.linkname, info.uname, info.gname, *map(str, info.pax_headers.values()))
            )
            yield Part("", said.encode("utf-8", "replace"), False)
            file = archive.extractfile(info) if info.isreg() else None
            if file is not None:
                yield Part(info.name, _bounded(file), True)
        if content[archive.offset :].strip(b"\0"):
            raise Refused("holds bytes behind its end")


def _bounded(file: IO[bytes]) -> bytes:
    """All that a member holds.

    Raises:
        Refused: it is more than one member may be.
    """
    content = file.read(MOST_MEMBER + 1)
    if len(content) > MOST_MEMBER:
        raise Refused("unpacks to more than the guard looks through")
    return content


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


def _stream(new: Callable[[], _Decoder]) -> Opener:
    """An opener of one member behind another; bytes behind the last are refused, unless they are zeros."""

    def opened(content: bytes) -> Iterator[Part]:
        out: list[bytes] = []
        size, rest = 0, content
        while rest.strip(b"\0"):
            decoder = new()
            out.append(decoder.decompress(rest, MOST_MEMBER + 1 - size))
            size += len(out[-1])
            if size > MOST_MEMBER:
                raise Refused("unpacks to more than the guard looks through")
            if not decoder.eof:
                raise Refused("is cut short")
            rest = decoder.unused_data
        # A name and a comment may stand in the head.
        yield Part("", content[:1024], False)
        yield Part("", b"".join(out), True)

    return opened


def _zst(content: bytes) -> Iterator[Part]:
    import zstandard  # noqa: PLC0415 - keeps `import lacre` light

    out: list[bytes] = []
    size, rest = 0, content
    try:
        while rest:
            decoder = zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()
            at = 0
            # In small steps, for each may unpack to thousands of times its size.
            while not decoder.eof and at < len(rest):
                out.append(decoder.decompress(rest[at : at + _STEP]))
                at += _STEP
                size += len(out[-1])
                if size > MOST_MEMBER:
                    raise Refused("unpacks to more than the guard looks through")
            if not decoder.eof:
                raise Refused("is cut short")
            rest = decoder.unused_data + rest[at:]
    except zstandard.ZstdError:
        raise Refused("is damaged") from None
    yield Part("", b"".join(out), True)


_STEP = 4096


def _parquet(content: bytes) -> Iterator[Part]:
    import pyarrow as pa  # noqa: PLC0415 - keeps `import lacre` light

    from lacre.release.columns import parquet_cells  # noqa: PLC0415

    try:
        for cells in parquet_cells(io.BytesIO(content)):
            whole = cells.content.tobytes()
            if is_text(whole.replace(b"\0", b"\n")):
                yield Part(cells.column, whole.replace(b"\0", b"\n"), False)
            else:
                for number, cell in enumerate(cells.cells):
                    yield Part(f"{cells.column}[{cells.row + number}]", cell, True)
    except pa.ArrowException:
        raise Refused("is damaged, or under a key") from None


def _picture(texts: Callable[[bytes], Iterator[bytes]]) -> Opener:
    return lambda content: (Part("metadata", text, False) for text in texts(content))


def _pdf(content: bytes) -> Iterator[Part]:
    yield Part("", content, False)
    for part in pdf_parts(content):
        if part.reason:
            raise Refused(part.reason)
        yield Part(part.name, part.content, part.file)


_OPENERS: tuple[tuple[bytes, Opener], ...] = (
    (b"PK\x03\x04", _zip),
    (b"PK\x05\x06", _zip),
    (b"\x1f\x8b", _stream(lambda: zlib.decompressobj(wbits=31))),
    (b"BZh", _stream(bz2.BZ2Decompressor)),
    (b"\xfd7zXZ\0", _stream(lzma.LZMADecompressor)),
    (b"\x28\xb5\x2f\xfd", _zst),
    (b"PAR1", _parquet),
    (b"\x89PNG\r\n\x1a\n", _picture(png_texts)),
    (b"\xff\xd8\xff", _picture(jpeg_texts)),
    (b"GIF8", _picture(gif_texts)),
)
"""What opens a container, by its first bytes."""


def may_open(content: bytes) -> bool:
    """Whether bytes begin as something that holds others: worth unpacking where they came out of base64."""
    return (
        is_picture(content)
        or any(content.startswith(mark) for mark, _ in (*_OPENERS, *_CLOSED))
        or content.startswith(b"%PDF-")
    )


_CONTROL = bytes(k for k in range(32) if k not in b"\t\n\r\f\x1b\v") + b"\x7f"
SAMPLE, EVERY = 1 << 14, 1 << 18
"""Bytes looked at to tell text from other bytes, and how far apart."""


def is_text(content: bytes) -> bool:
    """Whether bytes are text in some encoding: hardly any control characters, but for the zeros of UTF-16 and UTF-32.

    >>> is_text("ação".encode("utf-16-le")), is_text(bytes(range(256)))
    (True, False)
    """
    for start in range(0, len(content), EVERY):
        part = content[start : start + SAMPLE]
        zeros = part.count(0)
        control = len(part) - len(part.translate(None, _CONTROL)) - zeros
        if control > len(part) // 200 or (zeros and not _is_wide(part, zeros)):
            return False
    return True


def _is_wide(head: bytes, zeros: int) -> bool:
    """Whether zeros stand where UTF-16 or UTF-32 has them: at every other place, or at three of four."""
    half = max(head[::2].count(0), head[1::2].count(0))
    return zeros > len(head) * 0.3 and half >= zeros * 0.6
