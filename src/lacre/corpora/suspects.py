"""Which lines of a text must be looked at before it is called readable: a compiled loop that spares the others."""

# numba infers types; what it compiles a tracer cannot see, and the tests hold it to the definition instead.
# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from typing import Any

from numba import njit

UPRIGHT_LINES = 12
"""Lines of one letter each, one below the other, from which a text is upright."""

SPACES_OF_LOST = 3
"""Where U+FFFD stands for letters there are so many spaces for each: where it stands for spaces, most are gone."""


@njit(cache=True, nogil=True, boundscheck=False)
def mark(text: Any, marked: Any) -> bool:  # pragma: no cover - compiled
    """Set ``marked`` for each line of ``text`` that holds as much as unreadable text must hold, of one kind or other.

    Two heads of glyph codes; two symbols; three control or private characters; two U+FFFD, between spaces enough for
    them not to stand for spaces. Lines end as in :meth:`bytes.splitlines`. Returns whether :data:`UPRIGHT_LINES`
    neighbours are of one letter each.
    """
    line = 0
    solid = 0  # bytes of this line that are no blanks
    only = 0  # the last of them
    codes = symbols = hidden = lost = spaces = 0  # of this line
    upright = 0
    found = False
    size = text.size
    for at in range(size + 1):
        byte = 0x0A if at == size else int(text[at])
        ahead = int(text[at + 1]) if at + 1 < size else 0
        third = int(text[at + 2]) if at + 2 < size else 0
        if byte in (0x0A, 0x0D):
            if byte == 0x0D and ahead == 0x0A:
                continue
            is_lost = lost >= 2 and spaces >= SPACES_OF_LOST * lost
            marked[line] = codes >= 2 or symbols >= 2 or hidden >= 3 or is_lost
            alone = solid == 1 and (0x30 <= only <= 0x39 or 0x61 <= (only | 0x20) <= 0x7A)
            upright = upright + 1 if alone else 0
            found |= upright >= UPRIGHT_LINES
            line += 1
            solid = codes = symbols = hidden = lost = spaces = 0
            continue
        if byte == 0x20 or 0x09 <= byte <= 0x0C:
            spaces += byte == 0x20
            continue
        solid += 1
        only = byte
        if byte >= 0x80:
            lost += byte == 0xEF and ahead == 0xBF and third == 0xBD
            hidden += byte == 0xEE or (byte == 0xEF and ahead <= 0xA3) or (byte == 0xC2 and ahead <= 0x9F)
            # Not the quotation marks, dashes, ordinals and hard blanks that stand beside them in Unicode.
            symbols += (
                (byte == 0xC2 and (0xA2 <= ahead <= 0xA7 or ahead in (0xAC, 0xB1, 0xB6)))
                or (byte == 0xE2 and (ahead in (0x88, 0x89) or (ahead == 0x80 and 0xA0 <= third <= 0xA2)))
                or byte in (0xCE, 0xCF)
            )
        elif byte < 0x20:
            hidden += 1
        elif byte == 0x28:
            codes += ahead == 0x63
        elif byte == 0x2F:
            codes += ahead in (0x67, 0x75, 0x43, 0x47)
    return found
