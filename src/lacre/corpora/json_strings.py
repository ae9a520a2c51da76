"""JSON strings as they stand in a file, to an Arrow array: a compiled loop that takes the escapes out."""

# numba infers types; what it compiles a tracer cannot see, and the tests hold it to Python's own decoder instead.
# mypy: disable-error-code="untyped-decorator,no-untyped-call,call-arg,var-annotated"

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit, types
from numba.extending import intrinsic

from lacre.lanes import LANES, bits, equal, loaded, stored, zeros_below
from lacre.overlap.kernel import put

if TYPE_CHECKING:
    import msgspec

U = np.uint64
_LANES, _ZERO, _ONE = U(LANES), U(0), U(1)


def _short_escapes() -> npt.NDArray[np.uint8]:
    """What stands for a backslash and this byte; 0 for none."""
    table = np.zeros(256, np.uint8)
    for sign, meant in zip(b'"\\/bfnrt', b'"\\/\b\f\n\r\t', strict=True):
        table[sign] = meant
    return table


def _hex_digits() -> npt.NDArray[np.uint8]:
    """The value of each hex digit; 255 for what is none."""
    table = np.full(256, 255, np.uint8)
    for digits in (b"0123456789abcdef", b"0123456789ABCDEF"):
        table[np.frombuffer(digits, np.uint8)] = np.arange(16)
    return table


_SHORT = _short_escapes()
_HEX = _hex_digits()


@intrinsic
def _copy_and_find(typing_context: Any, source: Any, at: Any, target: Any, to: Any) -> Any:  # noqa: ARG001 - numba gives it
    """Copy the 64 bytes ``source[at:]`` to ``target[to:]``; returns which of them are backslashes."""

    def code(  # pragma: no cover - runs while compiling
        context: Any,
        builder: Any,
        signature: Any,  # noqa: ARG001 - as above
        arguments: Any,
    ) -> Any:
        lanes = loaded(context, builder, source, arguments[0], arguments[1])
        stored(context, builder, lanes, target, arguments[2], arguments[3])
        return bits(builder, equal(builder, lanes, 0x5C))

    return types.uint64(source, at, target, to), code


@njit(cache=True, nogil=True, boundscheck=False)
def _four_digits(raw: Any, at: Any) -> Any:  # pragma: no cover - compiled
    """The number that four hex digits write; more than 0xFFFF where they are none."""
    number = np.uint32(0)
    for k in range(4):
        digit = np.uint32(_HEX[raw[at + U(k)]])
        if digit > 15:
            return np.uint32(0x10000)
        number = number << np.uint32(4) | digit
    return number


@njit(cache=True, nogil=True, boundscheck=False)
def _unescaped(
    raw: Any, bounds: Any, out: Any, offsets: Any, is_null: Any
) -> Any:  # pragma: no cover - compiled
    """The strings ``raw[bounds[k]:bounds[k + 1]]``, quotes and all, without quotes and escapes in ``out``.

    ``null`` is marked. Returns false when one is anything else, or holds half a surrogate pair. Both ``raw`` and
    ``out`` need room for 64 bytes more.
    """
    q = _ZERO
    for k in range(bounds.size - 1):
        offsets[k] = q
        at, end = U(bounds[k]), U(bounds[k + 1])
        if raw[at] == 0x6E:  # n
            is_null[k] = True
            continue
        if raw[at] != 0x22:
            return False
        at += _ONE
        end -= _ONE
        while at < end:
            escapes = _copy_and_find(raw, at, out, q)
            plain = min(zeros_below(escapes), end - at)
            at += plain
            q += plain
            if plain == _LANES or at == end:
                continue
            sign = raw[at + _ONE]
            short = _SHORT[sign]
            if short != 0:
                out[q] = short
                q += _ONE
                at += U(2)
                continue
            if sign != 0x75 or end - at < U(6):  # u
                return False
            point = _four_digits(raw, at + U(2))
            at += U(6)
            if 0xD800 <= point < 0xDC00 and end - at >= U(6) and raw[at] == 0x5C and raw[at + _ONE] == 0x75:
                low = _four_digits(raw, at + U(2))
                if not 0xDC00 <= low < 0xE000:
                    return False
                point = (
                    np.uint32(0x10000)
                    + (point - np.uint32(0xD800) << np.uint32(10))
                    + (low - np.uint32(0xDC00))
                )
                at += U(6)
            elif point > 0xFFFF or 0xD800 <= point < 0xE000:
                return False
            q = put(point, out, q)
    offsets[bounds.size - 1] = q
    return True


@njit(cache=True, nogil=True)
def _count(content: Any, byte: Any) -> Any:  # pragma: no cover - compiled
    found = 0
    for at in range(content.size):
        found += content[at] == byte
    return found


def line_ends(block: bytes) -> int:
    r"""How many line feeds a block holds.

    >>> line_ends(b"a\nb\n")
    2
    """
    return int(_count(np.frombuffer(block, np.uint8), np.uint8(0x0A)))


def _buffer(values: npt.NDArray[Any]) -> pa.Buffer:
    return pa.py_buffer(cast("bytes", values))


def strings_of(raws: Sequence[msgspec.Raw | bytes]) -> pa.LargeStringArray | None:
    r"""JSON values as they are written, strings and nulls, as an array; None when one is something else.

    They must be JSON, which msgspec sees to. Whether the bytes are UTF-8 is for the caller to look at. None too where a
    string holds half a surrogate pair, which no Arrow array may.

    >>> strings_of([rb'"a\u00e7\u00e3o"', b"null"]).to_pylist()
    ['ação', None]
    """
    bounds = np.zeros(len(raws) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, raws), np.int64, len(raws)), out=bounds[1:])
    raw = np.frombuffer(b"".join([*raws, bytes(LANES)]), np.uint8)
    out = np.empty(raw.size, np.uint8)
    offsets = np.empty(len(raws) + 1, np.int64)
    is_null = np.zeros(len(raws), np.bool_)
    if not _unescaped(raw, bounds, out, offsets, is_null):
        return None
    valid = pa.array(~is_null).buffers()[1] if is_null.any() else None
    found = pa.Array.from_buffers(pa.large_string(), len(raws), [valid, _buffer(offsets), _buffer(out)])
    return cast("pa.LargeStringArray", found)
