"""Bytes out of base64 and hex digits, at every place at which they may have been cut (RFC 4648)."""

from __future__ import annotations

import binascii
from collections.abc import Iterator

_BREAKS = bytes.maketrans(b"-_", b"+/")
_BLANKS = b" \t\r\n"


def from_base64(run: bytes) -> Iterator[bytes]:
    """What a run of base64 may stand for: read from each of its first four characters on.

    Characters glued to its beginning so do no harm; line breaks within are passed over, and the alphabet may be that
    of addresses.

    >>> next(from_base64(b"YcOnw6Nv")).decode()
    'ação'
    """
    plain = run.translate(_BREAKS, _BLANKS)
    for skip in range(min(4, len(plain))):
        rest = plain[skip:]
        if len(rest) % 4 == 1:
            rest = rest[:-1]
        yield binascii.a2b_base64(rest + b"=" * (-len(rest) % 4))


def from_hex(run: bytes) -> bytes:
    """The bytes of a run of hex digits, none when it holds anything else or half a byte.

    >>> from_hex(b"6e6f6e6365"), from_hex(b"nonce")
    (b'nonce', b'')
    """
    plain = run.translate(None, _BLANKS)
    try:
        return binascii.unhexlify(plain)
    except binascii.Error:
        return b""
