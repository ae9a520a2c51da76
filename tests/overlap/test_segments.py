"""Packed segments hold what was put in, in order, and a gram is found in them as in a plain list."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lacre.errors import IntegrityError
from lacre.overlap.kernel import BLOCK_BITS
from lacre.overlap.sections import open_sections, sha256_of, write_sections
from lacre.overlap.segments import Packed, Packing
from lacre.overlap.winnow import Values, run_of

MASK = np.uint64((1 << BLOCK_BITS) - 1)


def packed(*runs: tuple[Values, int], blocks: int) -> Packed:
    packing = Packing(runs=[(run_of(values), base) for values, base in runs], blocks=blocks)
    tails = np.concatenate(list(packing.tails()))
    return Packed(packing.size, packing.low_bits, packing.block_bits, tails, packing.heads, packing.samples)


def fingerprints(pairs: Sequence[tuple[int, int]]) -> Values:
    return np.array([h << BLOCK_BITS | block for h, block in pairs], np.uint64)


HASHES = st.one_of(st.integers(0, 2**44 - 1), st.integers(0, 20), st.just(2**44 - 1))


@pytest.mark.untraced
@given(
    st.lists(st.tuples(HASHES, st.integers(0, 4)), max_size=300),
    st.lists(st.tuples(HASHES, st.integers(0, 2)), max_size=300),
    st.lists(HASHES, max_size=50),
)
@settings(deadline=None, max_examples=60)
def test_what_is_packed_is_found_and_nothing_else(
    one: list[tuple[int, int]], other: list[tuple[int, int]], asked: list[int]
) -> None:
    segment = packed((fingerprints(one), 0), (fingerprints(other), 5), blocks=8)
    everything = sorted({*one, *((h, block + 5) for h, block in other)})
    assert segment.fits()
    assert segment.size == len(everything)
    values = np.concatenate([np.zeros(0, np.uint64), *segment.values(at_once=7)])
    assert values.tolist() == fingerprints(everything).tolist()
    assert segment.is_sorted()
    queries = sorted({*asked, *(h for h, _ in everything)})
    hits = segment.look_up(fingerprints([(h, 0) for h in queries]))
    found = [(queries[k], b) for k, b in zip(hits.which.tolist(), hits.blocks.tolist(), strict=True)]
    assert found == everything


def test_large_segments_agree_with_a_plain_list() -> None:
    chance = np.random.default_rng(7)
    values = chance.integers(0, 2**44, 400_000, dtype=np.uint64) << np.uint64(BLOCK_BITS)
    values |= chance.integers(0, 900, values.size, dtype=np.uint64)
    segment = packed((values[:150_000], 0), (values[150_000:], 0), blocks=900)
    assert np.array_equal(np.concatenate(list(segment.values())), np.unique(values))
    bits = 8 * (segment.tails.nbytes + segment.heads.nbytes + segment.samples.nbytes) / segment.size
    assert bits < 41, "26 of the hash, 10 of the block, and some two or three of unary code"


def test_a_gram_in_more_blocks_than_there_is_room_for_is_found_in_all() -> None:
    values = fingerprints([(5, block) for block in range(20_000)])
    segment = packed((values, 0), blocks=20_000)
    assert segment.look_up(fingerprints([(5, 0)])).blocks.tolist() == list(range(20_000))


@pytest.mark.parametrize("array", ["tails", "heads", "samples"])
def test_damage_never_leads_outside_and_shows_when_it_is_looked_for(array: str) -> None:
    chance = np.random.default_rng(3)
    values = chance.integers(0, 2**63, 3_000, dtype=np.uint64) & ~MASK
    segment = packed((values, 0), blocks=1)
    queries = np.unique(values)
    for _ in range(40):
        content = getattr(segment, array).copy()
        content[chance.integers(0, content.size, 3)] = chance.integers(0, 2**63, 3, dtype=np.uint64)
        damaged = segment._replace(**{array: content})
        damaged.look_up(queries)
        if array != "samples":
            whole = np.array_equal(content[: content.size - 5], getattr(segment, array)[: content.size - 5])
            assert not damaged.is_sorted() or whole or array == "tails"


def test_fewer_fingerprints_than_are_promised_are_no_segment() -> None:
    segment = packed((fingerprints([(1, 0), (2, 0), (3, 0)]), 0), blocks=1)
    assert not segment._replace(size=2).is_sorted()
    assert not segment._replace(size=4).is_sorted()
    assert not segment._replace(samples=segment.samples[:-1]).fits()
    empty_heads = np.zeros_like(segment.heads)
    assert not segment._replace(heads=empty_heads).is_sorted()
    assert list(segment._replace(heads=empty_heads).values())
    assert segment._replace(heads=empty_heads).look_up(fingerprints([(1, 0)])).blocks.size == 0


class Facts(msgspec.Struct, frozen=True):
    name: str


def written(path: Path, **arrays: Any) -> str:
    pieces = {name: [np.array(values, np.uint64)] for name, values in arrays.items()}
    return write_sections(path, pieces, lambda: Facts("um")).sha256


def test_arrays_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "x"
    assert written(path, one=[1, 2, 3], none=[]) == sha256_of(path)
    opened = open_sections(path, Facts)
    assert opened.facts == Facts("um")
    assert {name: array.tolist() for name, array in opened.arrays.items()} == {"one": [1, 2, 3], "none": []}


def test_what_is_no_file_of_arrays_is_said(tmp_path: Path) -> None:
    path = tmp_path / "x"
    written(path, one=list(range(100)))
    whole = path.read_bytes()
    cases = {
        "cut short": [whole[:20], b""],
        "damaged or cut": [whole[:-3], b"X" + whole[1:], whole[:-8] + b"\xff" * 8],
        "does not say": [whole.replace(b'"facts"', b'"fakts"'), whole.replace(b'"um"', b"1234")],
        "shorter than": [whole.replace(b'"size":100', b'"size":999')],
    }
    for said, contents in cases.items():
        for content in contents:
            path.write_bytes(content)
            with pytest.raises(IntegrityError, match=said):
                open_sections(path, Facts)
    with pytest.raises(IntegrityError, match="cannot be read"):
        open_sections(tmp_path / "missing", Facts)
