"""Sixty-four bytes at once in compiled loops: vectors of LLVM's own kind, of which it makes what the machine has.

A loop that uses these is compiled once and kept beside its own file. Who changes something here must remove what was
kept (``__pycache__``): numba looks for changes in the file of the loop only.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

LANES = 64
"""Bytes in a vector: as many as a uint64 has bits."""

_BYTES = ir.VectorType(ir.IntType(8), LANES)
_MASK = ir.IntType(LANES)


def each(value: int) -> Any:
    """A vector with the same byte in every lane."""
    return ir.Constant(_BYTES, [value] * LANES)


def bits(builder: Any, truths: Any) -> Any:
    """The truth of every lane as a uint64, the first lane the lowest bit."""
    return builder.bitcast(truths, _MASK)


def equal(builder: Any, lanes: Any, value: int) -> Any:
    """In which lanes this byte stands."""
    return builder.icmp_unsigned("==", lanes, each(value))


def within(builder: Any, lanes: Any, low: int, high: int) -> Any:
    """In which lanes a byte of [low, high] stands."""
    return builder.icmp_unsigned("<=", builder.sub(lanes, each(low)), each(high - low))


def loaded(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    """The 64 bytes from ``at`` of an array of bytes; ``kind`` is its type in numba."""
    lanes = builder.load(_address(context, builder, kind, array, at))
    lanes.align = 1
    return lanes


def stored(  # noqa: PLR0917 - as LLVM's own builders take them
    context: Any, builder: Any, lanes: Any, kind: Any, array: Any, at: Any
) -> None:
    """Write a vector to an array of bytes."""
    builder.store(lanes, _address(context, builder, kind, array, at)).align = 1


def _address(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), _BYTES.as_pointer())


# What follows is called from compiled loops. Places are uint64, and nothing is checked: the arrays need room.


@intrinsic
def copy_lanes(typing_context: Any, source: Any, at: Any, target: Any, to: Any) -> Any:  # noqa: ARG001 - numba gives it
    """Copy the 64 bytes ``source[at:]`` to ``target[to:]``."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001 - as above
        lanes = loaded(context, builder, source, arguments[0], arguments[1])
        stored(context, builder, lanes, target, arguments[2], arguments[3])
        return context.get_dummy_value()

    return types.void(source, at, target, to), code


@intrinsic
def filled_lanes(typing_context: Any, source: Any, at: Any) -> Any:  # noqa: ARG001 - as above
    """Which of the 64 bytes ``source[at:]`` are not zero."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001 - as above
        lanes = loaded(context, builder, source, arguments[0], arguments[1])
        return bits(builder, builder.icmp_unsigned("!=", lanes, each(0)))

    return types.uint64(source, at), code


@intrinsic
def ones(typing_context: Any, number: Any) -> Any:  # noqa: ARG001 - as above
    """How many bits of a uint64 are set."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001 - as above
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), code


@intrinsic
def zeros_below(typing_context: Any, number: Any) -> Any:  # noqa: ARG001 - as above
    """How many zero bits of a uint64 stand below the lowest one; 64 when there is none."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001 - as above
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), code
