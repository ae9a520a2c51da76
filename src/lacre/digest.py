"""SHA-256 of bytes and files. What is hashed is what is on disk, never a re-serialised copy."""

from __future__ import annotations

import hashlib
from pathlib import Path


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
