"""Commitments to private items: salted, so that they cannot be guessed; openable by anybody (SPEC X3)."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from lacre.digest import canonical, merkle_root
from lacre.registry.events import Hash
from lacre.registry.items import Payload
from lacre.registry.records import Record

PREFIX = b"LACRE-ITEM-v1\x00"
NONCE_BYTES = 32


class Row(Record):
    """What the public sees of a private item (SPEC L1): a line of ``private/commitments.jsonl``.

    Attributes:
        cell: the place in the matrix, so that outsiders can repeat the draw.
        batch: the batch it was written in, which tells its age.
        group: items that share a passage have the same group and move together; a bare label, no text.
    """

    id: str
    cell: dict[str, str]
    batch: str
    commitment: Hash
    group: str | None = None


class Opening(Record):
    """What opens a commitment: the nonce, as 64 hex digits, and the payload."""

    id: str
    nonce: Hash
    payload: Payload


def payload_bytes(payload: Payload | Mapping[str, Any]) -> bytes:
    """The canonical bytes of a payload (RFC 8785), which is what a commitment is about.

    >>> payload_bytes(Payload(kind="open", stem="Por quê?", key="Porque sim."))
    b'{"key":"Porque sim.","kind":"open","stem":"Por qu\\xc3\\xaa?"}'
    """
    if isinstance(payload, Payload) and all(map(str.isascii, payload.options)):
        # The same bytes, forty times faster: a payload has neither numbers nor, then, names beyond ASCII.
        return msgspec.json.encode(payload, order="sorted")
    return canonical(payload)


def commit(payload: Payload | Mapping[str, Any], nonce: bytes) -> str:
    """The commitment SHA-256("LACRE-ITEM-v1\\\\0" || nonce || JCS(payload)), as 64 hex digits.

    ``nonce``: 32 random bytes, used for this payload alone and kept as secret as it. A plain hash of an exam
    item could be guessed from a template.

    >>> commit(Payload(kind="open", stem="?", key="!"), bytes(32))[:16]
    '47c4dc8cba226ebd'

    Raises:
        ValueError: the nonce is not 32 bytes.
    """
    return commit_bytes(payload_bytes(payload), nonce)


def commit_bytes(content: bytes, nonce: bytes) -> str:
    """As :func:`commit`, for a payload whose canonical bytes are at hand."""
    if len(nonce) != NONCE_BYTES:
        raise ValueError(f"a nonce has {NONCE_BYTES} bytes, not {len(nonce)}")
    return hashlib.sha256(PREFIX + nonce + content).hexdigest()


def opens(opening: Opening, commitment: str) -> bool:
    """Whether an opening is that of a commitment: the item is the one that was committed to."""
    return hmac.compare_digest(commit(opening.payload, bytes.fromhex(opening.nonce)), commitment)


def row_bytes(row: Row) -> bytes:
    """A row as a leaf of the tree: canonical JSON, so that cell and batch are as fixed as the commitment."""
    return _row_bytes(row.id, row.batch, row.commitment, row.group, tuple(row.cell.items()))


# A rotation and an audit take the roots of the same rows several times over.
@lru_cache(maxsize=1 << 15)
def _row_bytes(
    id: str, batch: str, commitment: str, group: str | None, cell: tuple[tuple[str, str], ...]
) -> bytes:
    return canonical(Row(id=id, cell=dict(cell), batch=batch, commitment=commitment, group=group))


def rows_root(rows: Iterable[Row]) -> str:
    """The RFC 6962 Merkle root over rows sorted by id, as 64 hex digits."""
    return merkle_root([row_bytes(row) for row in sorted(rows, key=lambda row: row.id)])
