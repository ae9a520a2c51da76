"""Looks for planted words in files, in every form in which they could have been written."""

from __future__ import annotations

import base64
import gzip
import json
import urllib.parse
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path


def forms(marker: str) -> list[bytes]:
    """A marker as it is, in base64 at every offset, URL-encoded, in UTF-16, and as JSON and Python escape it."""
    plain = marker.encode()
    found = [plain, marker.encode("utf-16-le"), marker.encode("utf-16-be")]
    for shift in range(3):
        # The middle of the base64 of a text does not depend on what stands around it.
        found.append(base64.b64encode(b" " * shift + plain)[4:-4])
        found.append(base64.urlsafe_b64encode(b" " * shift + plain)[4:-4])
    found.append(urllib.parse.quote(marker).encode())
    found.append(urllib.parse.quote_plus(marker).encode())
    found.append(json.dumps(marker)[1:-1].encode())
    found.append(repr(plain)[2:-1].encode())
    return list(dict.fromkeys(found))


def contents(content: bytes) -> Iterator[bytes]:
    """Some bytes, and what is inside every gzip or zlib stream in them."""
    yield content
    place = content.find(b"\x1f\x8b\x08")
    while place >= 0:
        # A member may be torn: what comes out of it counts all the same.
        yield _inflated(content[place:])
        place = content.find(b"\x1f\x8b\x08", place + 1)


def _inflated(content: bytes) -> bytes:
    stream, found = zlib.decompressobj(wbits=31), bytearray()
    try:
        for byte in content:
            found += stream.decompress(bytes((byte,)))
            if stream.eof:
                break
    except zlib.error:
        pass
    return bytes(found)


def hits(places: Iterable[Path], markers: Iterable[str]) -> list[Path]:
    """Files, in these folders, in which a marker stands in any form; names of files count, too."""
    wanted = [form for marker in markers for form in forms(marker)]
    return [
        path
        for place in places
        for path in sorted(place.rglob("*"))
        if any(form in str(path).encode() for form in wanted)
        or (
            path.is_file()
            and any(form in inside for inside in contents(path.read_bytes()) for form in wanted)
        )
    ]


def selftest(folder: Path, marker: str) -> int:
    """How many of the forms, each in a file of its own, are found."""
    told = [*forms(marker), gzip.compress(marker.encode()), b"xx" + gzip.compress(marker.encode())[:-4]]
    folder.mkdir()
    for number, content in enumerate(told):
        (folder / str(number)).write_bytes(b"before " + content + b" after")
    assert len(hits([folder], [marker])) == len(told)
    return len(told)
