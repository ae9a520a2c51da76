"""Whether bytes are UTF-8 (RFC 3629): a compiled loop that looks at 64 at once."""

# numba infers types; what it compiles a tracer cannot see, and the tests hold it to Python's own codecs instead.
# mypy: disable-error-code="untyped-decorator,no-untyped-call,var-annotated,call-arg"

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic

from lacre.corpora.pieces import content as bytes_of
from lacre.corpora.pieces import offsets
from lacre.lanes import LANES, bits, equal, loaded, within

if TYPE_CHECKING:
    import pyarrow as pa

U = np.uint64
_LANES, _ZERO, _ONE = U(LANES), U(0), U(1)
_INTS = 64


@intrinsic
def _sequence_lanes(typing_context: Any, source: Any, at: Any) -> Any:  # noqa: ARG001 - numba gives it
    """Of the 64 bytes ``source[at:]`` and the next: continuations, first bytes of two, three, four, and faults.

    A fault is a byte that UTF-8 never has, or a first one whose second makes it too long, a surrogate or past Unicode.
    Reads 65 bytes.
    """

    def code(  # pragma: no cover - runs while compiling
        context: Any, builder: Any, signature: Any, arguments: Any
    ) -> Any:
        lanes = loaded(context, builder, source, *arguments)
        behind = builder.add(arguments[1], ir.Constant(ir.IntType(_INTS), 1))
        following = loaded(context, builder, source, arguments[0], behind)
        faults = builder.or_(within(builder, lanes, 0xC0, 0xC1), within(builder, lanes, 0xF5, 0xFF))
        for first, low, high in (
            (0xE0, 0x80, 0x9F),
            (0xED, 0xA0, 0xBF),
            (0xF0, 0x80, 0x8F),
            (0xF4, 0x90, 0xBF),
        ):
            wrong = builder.and_(equal(builder, lanes, first), within(builder, following, low, high))
            faults = builder.or_(faults, wrong)
        masks = [
            within(builder, lanes, 0x80, 0xBF),
            within(builder, lanes, 0xC2, 0xDF),
            within(builder, lanes, 0xE0, 0xEF),
            within(builder, lanes, 0xF0, 0xF4),
            faults,
        ]
        return context.make_tuple(builder, signature.return_type, [bits(builder, mask) for mask in masks])

    return types.UniTuple(types.uint64, 5)(source, at), code


@njit(cache=True, nogil=True, boundscheck=False)
def _are_sequences(content: Any, first: Any, last: Any) -> Any:  # pragma: no cover - compiled
    """Whether ``content[first:last]`` is UTF-8; 65 bytes behind ``last`` may be read."""
    at = U(first)
    end = U(last)
    # What must be continuations because of the bytes before.
    owed = _ZERO
    while at < end:
        continuations, twos, threes, fours, faults = _sequence_lanes(content, at)
        if end - at < _LANES:
            inside = (_ONE << end - at) - _ONE
            continuations &= inside
            twos &= inside
            threes &= inside
            fours &= inside
            faults &= inside
        leads = twos | threes | fours
        more = threes | fours
        owing = owed | leads << _ONE | more << U(2) | fours << U(3)
        if end - at < _LANES:
            # A sequence that the end cuts owes bytes beyond it.
            return faults == _ZERO and owing == continuations
        if faults != _ZERO or owing != continuations:
            return False
        owed = leads >> U(63) | more >> U(62) | fours >> U(61)
        at += _LANES
    return owed == _ZERO


def is_utf8(content: npt.NDArray[np.uint8]) -> bool:
    """Whether bytes are UTF-8, shape (n,).

    >>> is_utf8(np.frombuffer("ação".encode(), np.uint8)), is_utf8(np.frombuffer(b"a\\xe7\\xe3o", np.uint8))
    (True, False)
    """
    # The last bytes are looked at in a copy with room behind it: of what lies behind a buffer nothing is known.
    whole = max(0, content.size - 3 * LANES)
    while whole and content[whole] & 0xC0 == 0x80:
        whole -= 1
    tail = np.zeros(content.size - whole + 2 * LANES, np.uint8)
    tail[: content.size - whole] = content[whole:]
    return bool(_are_sequences(content, 0, whole)) and bool(_are_sequences(tail, 0, content.size - whole))


def all_utf8(text: pa.LargeStringArray) -> bool:
    """Whether every string of an array without nulls is UTF-8; Arrow takes whatever bytes a file holds."""
    bounds = offsets(text)
    first, last = int(bounds[0]), int(bounds[-1])
    content = np.frombuffer(cast("bytes", bytes_of(text)), np.uint8)[first:last]
    if not is_utf8(content):
        return False
    # All together are: so is each, when none begins in the middle of a character.
    begins = bounds[:-1][bounds[:-1] < last] - first
    return not bool(((content[begins] & 0xC0) == 0x80).any())
