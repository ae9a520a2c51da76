"""SHA-256 of bytes and files, canonical JSON (RFC 8785), and Merkle trees (RFC 6962).

What is hashed is what is on disk, never a re-serialised copy; canonical JSON is for what has no file yet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

LEAF, NODE = b"\x00", b"\x01"  # RFC 6962, section 2.1: a leaf can never be taken for a node


def sha256(content: bytes) -> str:
    """The SHA-256 of ``content``, 64 lower-case hex digits (FIPS 180-4).

    >>> sha256(b"")[:16]
    'e3b0c44298fc1c14'
    """
    return hashlib.sha256(content).hexdigest()


def sha256_file(path: Path) -> str:
    """The SHA-256 of a file's bytes, read in blocks, as 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def canonical(value: object) -> bytes:
    """A record, or any value JSON can hold, as canonical JSON: one value, one sequence of bytes (RFC 8785).

    >>> canonical({"b": 1, "a": "ç"}).decode()
    '{"a":"ç","b":1}'

    Raises:
        ValueError: the value has no canonical form, such as an integer past 2**53 or half a surrogate pair.
    """
    import msgspec  # noqa: PLC0415 - `import lacre` stays light
    import rfc8785  # noqa: PLC0415

    return rfc8785.dumps(msgspec.to_builtins(value))


def is_canonical(value: object, content: bytes) -> bool:
    """Whether ``content`` is the canonical JSON of ``value``; not so where the value has none, or none in reach.

    >>> is_canonical({"a": 1}, b'{"a":1}'), is_canonical({"a": 2**60}, b'{"a":1152921504606846976}')
    (True, False)
    """
    try:
        return canonical(value) == content
    except (
        ValueError,
        RecursionError,
    ):  # a number too large, or nested past all reason: nobody wrote it here
        return False


def leaf_hash(leaf: bytes) -> bytes:
    """The hash of one leaf of a tree: 32 bytes (RFC 6962, section 2.1)."""
    return hashlib.sha256(LEAF + leaf).digest()


def merkle_root(leaves: Sequence[bytes]) -> str:
    """The root of the Merkle tree over ``leaves`` in their order, as 64 hex digits (RFC 6962, section 2.1).

    The root of no leaves is the SHA-256 of nothing.

    >>> merkle_root([]) == sha256(b"")
    True
    >>> merkle_root([b"a", b"b"]) == sha256(NODE + leaf_hash(b"a") + leaf_hash(b"b"))
    True
    """
    if not leaves:
        return sha256(b"")
    row = [leaf_hash(leaf) for leaf in leaves]
    while len(row) > 1:
        row = _parents(row)
    return row[0].hex()


def inclusion_proof(leaves: Sequence[bytes], place: int) -> tuple[str, ...]:
    """The audit path that proves leaf number ``place``, from 0, to be in the tree (RFC 6962, section 2.1.1).

    >>> proof = inclusion_proof([b"a", b"b", b"c"], 2)
    >>> included(b"c", 2, 3, proof, merkle_root([b"a", b"b", b"c"]))
    True

    Raises:
        IndexError: there is no such leaf.
    """
    return inclusion_proofs(leaves, [place])[0]


def inclusion_proofs(leaves: Sequence[bytes], places: Iterable[int]) -> list[tuple[str, ...]]:
    """The audit paths of several leaves, each as :func:`inclusion_proof` has it; the tree is hashed once for all.

    >>> inclusion_proofs([b"a", b"b", b"c"], [2, 0]) == [inclusion_proof([b"a", b"b", b"c"], n) for n in (2, 0)]
    True

    Raises:
        IndexError: there is no such leaf.
    """
    rows = [[leaf_hash(leaf) for leaf in leaves]]
    while len(rows[-1]) > 1:
        rows.append(_parents(rows[-1]))
    paths: list[tuple[str, ...]] = []
    for place in places:
        if not 0 <= place < len(leaves):
            raise IndexError(place)
        above = ((row, place >> level ^ 1) for level, row in enumerate(rows))
        paths.append(tuple(row[beside].hex() for row, beside in above if beside < len(row)))
    return paths


def included(leaf: bytes, place: int, size: int, proof: Sequence[str], root: str) -> bool:
    """Whether ``proof`` shows that ``leaf`` is number ``place`` of ``size`` leaves (RFC 9162, section 2.1.3.2)."""
    if not 0 <= place < size:
        return False
    node, last, path = leaf_hash(leaf), size - 1, list(proof)
    while last:
        # The last node of an odd row has nothing beside it and goes up as it is.
        if place % 2 or place < last:
            if not path:
                return False
            beside = bytes.fromhex(path.pop(0))
            pair = beside + node if place % 2 else node + beside
            node = hashlib.sha256(NODE + pair).digest()
        place, last = place // 2, last // 2
    return not path and node.hex() == root


def _parents(row: Sequence[bytes]) -> list[bytes]:
    """The row above; the last of an odd row goes up alone, which is RFC 6962's split at a power of two."""
    above = [hashlib.sha256(NODE + row[i] + row[i + 1]).digest() for i in range(0, len(row) - 1, 2)]
    return [*above, row[-1]] if len(row) % 2 else above
