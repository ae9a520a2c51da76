"""Commitments: what `sha256sum` prints for their bytes, canonical whatever the payload, opened by one item only."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacre.digest import canonical, included, inclusion_proof
from lacre.registry.items import Image, Part, Passage, Payload
from lacre.sealing.commitments import Opening, Row, commit, opens, payload_bytes, row_bytes, rows_root

TEXT = st.text(max_size=12)
PAYLOADS = st.builds(
    Payload,
    kind=st.sampled_from(["choice", "open"]),
    stem=TEXT,
    passage=st.none() | st.builds(Passage, text=TEXT, source=st.none() | TEXT),
    options=st.dictionaries(st.sampled_from("ABCDE") | TEXT, TEXT, max_size=4),
    key=st.none() | TEXT,
    parts=st.lists(st.builds(Part, id=TEXT, prompt=TEXT, expected=TEXT), max_size=2).map(tuple),
    images=st.lists(st.builds(Image, file=TEXT, sha256=TEXT), max_size=1).map(tuple),
    critical=st.booleans(),
)
ITEM = Payload(kind="choice", stem="Que ave é esta?", options={"A": "Ema", "B": "Garça"}, key="B")


@given(PAYLOADS)
def test_the_bytes_of_a_payload_are_canonical(payload: Payload) -> None:
    assert payload_bytes(payload) == canonical(payload)
    assert msgspec.json.decode(payload_bytes(payload), type=Payload) == payload


@given(PAYLOADS, PAYLOADS, st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
def test_an_opening_opens_one_commitment(one: Payload, two: Payload, nonce: bytes, other: bytes) -> None:
    commitment = commit(one, nonce)
    assert opens(Opening(id="x", nonce=nonce.hex(), payload=one), commitment)
    assert opens(Opening(id="x", nonce=nonce.hex(), payload=two), commitment) == (one == two)
    assert opens(Opening(id="x", nonce=other.hex(), payload=one), commitment) == (nonce == other)


# The bytes are written out by hand; the last payload holds every kind of character that JSON escapes, or does not.
VECTORS = [
    (bytes(32), b'{"key":"!","kind":"open","stem":"?"}', Payload(kind="open", stem="?", key="!")),
    (
        bytes(range(32)),
        '{"key":"B","kind":"choice","options":{"A":"Ema","B":"Garça"},"stem":"Que ave é esta?"}'.encode(),
        ITEM,
    ),
    (
        b"\xff" * 32,
        b'{"key":"\\u0000\\b\\t\\n\\f\\r\\u001f\\"\\\\/\x7f","kind":"open","stem":"\xe2\x80\xa8"}',
        Payload(kind="open", stem="\u2028", key='\0\b\t\n\f\r\x1f"\\/\x7f'),
    ),
]


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="needs the sha256sum command")
@pytest.mark.parametrize(("nonce", "content", "payload"), VECTORS)
def test_sha256sum_prints_the_commitment(
    nonce: bytes, content: bytes, payload: Payload, tmp_path: Path
) -> None:
    file = tmp_path / "opened"
    file.write_bytes(b"LACRE-ITEM-v1\0" + nonce + content)
    printed = subprocess.run(["sha256sum", str(file)], capture_output=True, text=True, check=True).stdout
    assert printed.split()[0] == commit(payload, nonce)


def test_a_nonce_has_32_bytes() -> None:
    with pytest.raises(ValueError, match="32 bytes, not 31"):
        commit(ITEM, bytes(31))


def test_the_root_fixes_every_field_of_every_row() -> None:
    rows = [Row(id=f"p{n}", cell={"a": "x"}, batch="1", commitment=f"{n:064x}") for n in range(5)]
    root = rows_root(rows)
    assert rows_root(reversed(rows)) == root
    for change in (
        {"id": "q"},
        {"cell": {"a": "y"}},
        {"batch": "2"},
        {"commitment": "f" * 64},
        {"group": "g"},
    ):
        changed = msgspec.structs.replace(rows[2], **change)
        assert rows_root([*rows[:2], changed, *rows[3:]]) != root
    leaves = [row_bytes(row) for row in rows]
    assert included(leaves[3], 3, 5, inclusion_proof(leaves, 3), root)
