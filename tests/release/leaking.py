"""Private items, and public files that they leak into, made for the tests."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Sequence

from lacre.registry.items import Candidate, Image, Item, Passage, Payload
from lacre.registry.rules import GuardRules
from lacre.release.guard_watch import Watch
from lacre.sealing.commitments import commit
from lacre.sealing.contents import Sealed

SECRET = "A gaivota míope confundiu o farol com a lua e pousou no varal da costureira de Itapoã."
"""The stem of the private item ``p-7d21f0``."""
SENTENCE = "confundiu o farol com a lua e pousou no varal da costureira"
OPTIONS = {"A": "Porque ventava muito.", "B": "Porque não enxergava de longe."}
RULES = GuardRules(smallest_cell=20, contacts=("acesso@lua.example.br",))


def payload(stem: str = SECRET, **changes: object) -> Payload:
    values: dict[str, object] = {"kind": "choice", "stem": stem, "options": OPTIONS, "key": "B"}
    return Payload(**(values | changes))  # type: ignore[arg-type]


def sealed(id: str = "p-7d21f0", content: Payload | None = None) -> Sealed:
    """A private item with a nonce of its own."""
    content = content or payload()
    nonce = hashlib.sha256(id.encode()).digest()
    item = Item(id=id, benchmark="exemplo", layer="private", cell={"area": "saude"}, payload=content)
    return Sealed(secret="0" * 64, nonce=nonce.hex(), commitment=commit(content, nonce), batch="1", item=item)


def watching(*items: Sealed, published: Sequence[Candidate] = (), **changes: object) -> Watch:
    values: dict[str, object] = {"items": items or (sealed(),), "published": tuple(published), "rules": RULES}
    return Watch(**(values | changes))  # type: ignore[arg-type]


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(*chunks: bytes, shade: int = 0) -> bytes:
    """A PNG of one pixel, with more chunks."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(bytes([0, shade])))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(chunks) + pixels + chunk(b"IEND", b"")


def pictured(content: bytes) -> Payload:
    """A payload with an image."""
    return payload(images=(Image(file="a.png", sha256=hashlib.sha256(content).hexdigest()),))


def quoting(statute: str, question: str) -> Payload:
    """A payload whose stem quotes a statute that it does not declare."""
    return payload(f"Segundo a lei, {statute} {question}")


def declared(statute: str) -> Payload:
    """A payload that declares what it quotes."""
    return payload("Quem estava com a razão?", passage=Passage(text=statute, source="Constituição, art. 5º"))


JPEG_HEAD = b"\xff\xd8\xff\xe0\x00\x04ab"


def jpeg(kind: bytes, *texts: bytes) -> bytes:
    """A JPEG, as far as its segments go."""
    segments = b"".join(b"\xff" + kind + struct.pack(">H", len(text) + 2) + text for text in texts)
    return JPEG_HEAD + segments + b"\xff\xda\x00\x02pixels\xff\xd9"


def pdf(
    information: bytes, page: bytes = b"", packing: bytes = b"/FlateDecode", packed: bytes = b""
) -> bytes:
    """A PDF of one page, as far as reading its text goes."""
    body = packed or zlib.compress(page)
    stream = b"2 0 obj\n<< /Length %d /Filter %s >>\nstream\n%s\nendstream endobj\n" % (
        len(body),
        packing,
        body,
    )
    return (
        b"%PDF-1.7\n1 0 obj\n" + information + b"\nendobj\n" + stream + b"trailer << /Info 1 0 R >>\n%%EOF\n"
    )
