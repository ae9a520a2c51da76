"""Which lines of a text must be looked at before it is called readable: a compiled loop that spares the others."""

# numba infers types; what it compiles a tracer cannot see, and the tests hold it to the definition instead.
# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from typing import Any

from numba import njit

UPRIGHT_LINES = 12
"""Lines of one letter each, one below the other, from which a text is upright."""


@njit(cache=True, nogil=True, boundscheck=False)
def mark(text: Any, marked: Any) -> bool:  # pragma: no cover - compiled
    """Set ``marked`` for each line of ``text`` that holds what unreadable text may be made of.

    Control characters, the first bytes of symbols, of private characters and of U+FFFD, the heads of glyph codes.
    Lines end as in :meth:`bytes.splitlines`. Returns whether :data:`UPRIGHT_LINES` neighbours are of one letter each.
    """
    line = 0
    solid = 0  # bytes of this line that are no blanks
    only = 0  # the last of them
    upright = 0
    found = False
    size = text.size
    for at in range(size + 1):
        byte = 0x0A if at == size else int(text[at])
        ahead = int(text[at + 1]) if at + 1 < size else 0
        if byte in (0x0A, 0x0D):
            if byte == 0x0D and ahead == 0x0A:
                continue
            alone = solid == 1 and (0x30 <= only <= 0x39 or 0x61 <= (only | 0x20) <= 0x7A)
            upright = upright + 1 if alone else 0
            found |= upright >= UPRIGHT_LINES
            line += 1
            solid = 0
            continue
        if byte == 0x20 or 0x09 <= byte <= 0x0C:
            continue
        solid += 1
        only = byte
        if byte >= 0x80:
            if (
                byte >= 0xEE
                or (byte == 0xC2 and ahead < 0xB7)
                or (byte == 0xE2 and ahead in (0x80, 0x88, 0x89))
                or byte in (0xCE, 0xCF)
            ):
                marked[line] = True
        elif (
            byte < 0x20
            or (byte == 0x28 and ahead == 0x63)
            or (byte == 0x2F and ahead in (0x67, 0x75, 0x43, 0x47))
        ):
            marked[line] = True
    return found
