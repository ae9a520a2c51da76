"""Vectors of 64 bytes do in compiled loops what their names say."""

# mypy: disable-error-code="untyped-decorator,call-arg,no-untyped-call"

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from lacre.lanes import LANES, copy_lanes, filled_lanes, ones, zeros_below

U = np.uint64


@njit
def copied(source: Any, at: Any, target: Any, to: Any) -> None:  # pragma: no cover - compiled
    copy_lanes(source, at, target, to)


@njit
def filled(source: Any, at: Any) -> Any:  # pragma: no cover - compiled
    return filled_lanes(source, at)


@njit
def counts(number: Any) -> Any:  # pragma: no cover - compiled
    return ones(number), zeros_below(number)


@given(st.binary(min_size=LANES, max_size=3 * LANES), st.data())
@settings(max_examples=50, deadline=None)
def test_sixty_four_bytes_go_from_anywhere_to_anywhere(content: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(content) - LANES))
    to = data.draw(st.integers(0, 20))
    target = np.full(LANES + 40, 7, np.uint8)
    copied(np.frombuffer(content, np.uint8), U(at), target, U(to))
    assert target[to : to + LANES].tobytes() == content[at : at + LANES]
    assert set(target[:to].tolist() + target[to + LANES :].tolist()) == {7}


@given(st.lists(st.sampled_from([0, 0, 1, 255]), min_size=LANES + 3, max_size=LANES + 3), st.integers(0, 3))
@settings(max_examples=50, deadline=None)
def test_the_first_lane_is_the_lowest_bit(content: list[int], at: int) -> None:
    mask = int(filled(np.array(content, np.uint8), U(at)))
    assert [mask >> k & 1 for k in range(LANES)] == [int(byte != 0) for byte in content[at : at + LANES]]


@given(st.integers(0, 2**64 - 1))
@settings(max_examples=50, deadline=None)
def test_bits_are_counted(number: int) -> None:
    set_bits, below = counts(U(number))
    assert set_bits == number.bit_count()
    assert below == (LANES if number == 0 else (number & -number).bit_length() - 1)
