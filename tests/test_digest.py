"""Canonical JSON and Merkle trees, against the vectors of their RFCs and against plain definitions."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacre.digest import canonical, included, inclusion_proof, merkle_root

# Leaves and roots of the Certificate Transparency reference implementation
# (google/certificate-transparency, merkletree test vectors), as used by every RFC 6962 tree since.
LEAVES = [bytes.fromhex(text) for text in (
    "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f",
)]  # fmt: skip
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


@pytest.mark.parametrize("size", range(1, 9))
def test_roots_are_those_of_certificate_transparency(size: int) -> None:
    assert merkle_root(LEAVES[:size]) == ROOTS[size - 1]


def defined(leaves: list[bytes]) -> bytes:
    """RFC 6962, section 2.1, word for word."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    k = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\x01" + defined(leaves[:k]) + defined(leaves[k:])).digest()


@given(st.lists(st.binary(max_size=4), max_size=40))
def test_the_root_is_the_defined_one(leaves: list[bytes]) -> None:
    assert merkle_root(leaves) == defined(leaves).hex()


@given(st.lists(st.binary(max_size=4), min_size=1, max_size=40), st.integers(0))
def test_a_proof_shows_its_leaf_and_no_other(leaves: list[bytes], number: int) -> None:
    place, size, root = number % len(leaves), len(leaves), merkle_root(leaves)
    proof = inclusion_proof(leaves, place)
    assert included(leaves[place], place, size, proof, root)
    assert not included(leaves[place] + b"!", place, size, proof, root)
    assert not included(leaves[place], size, size, proof, root)
    assert not included(leaves[place], place, size, (*proof, root), root)
    if proof:
        assert not included(leaves[place], place, size, proof[:-1], root)
        assert not included(leaves[place], place, size, (root, *proof[1:]), root)


def test_there_is_no_proof_of_a_leaf_that_is_not_there() -> None:
    with pytest.raises(IndexError):
        inclusion_proof([b"a"], 1)


def test_canonical_json_is_that_of_the_rfc() -> None:
    # RFC 8785, section 3.2.2 and 3.2.3; floats aside, for payloads hold none.
    value = {
        "€": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew", "1": "One",
        "😀": "Emoji", "\x80": "Control", "ö": "Umlaut",
    }  # fmt: skip
    assert list(map(str, value)) != [key for key, _ in sorted(value.items())]
    text = canonical(value).decode()
    order = ["Carriage Return", "One", "Control", "Umlaut", "Euro Sign", "Emoji", "Hebrew"]
    assert [text.index(name) for name in order] == sorted(text.index(name) for name in order)
    assert canonical('€$\x0f\nA\'B"\\\\"/') == b'"\xe2\x82\xac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'
    with pytest.raises(ValueError, match=r"."):
        canonical(2**60)
