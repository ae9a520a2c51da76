"""The verifier's parts, each held against the program's own or a library's."""

from __future__ import annotations

import ast
import hashlib
import io
import json
import tarfile
from fractions import Fraction
from pathlib import Path

import pytest
import rfc8785
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.test_draw import tickets

from lacre import digest
from lacre.draw import Ticket, draw
from lacre.release import verify as verifier
from lacre.release.verify import L, Wrong, ed25519_signed, name_fault, read_sums, sums_bytes, tar_header
from lacre.rotation.drand import CHAINS
from lacre.sealing.keys import key_from

SEEDS = st.binary(min_size=32, max_size=32)


@settings(max_examples=60)
@given(SEEDS, st.binary(max_size=200))
def test_a_signature_of_cryptography_holds_and_any_changed_bit_of_it_does_not(
    seed: bytes, message: bytes
) -> None:
    key = key_from(seed)
    signature = key.sign(message)
    assert ed25519_signed(key.public.raw, message, signature)
    assert not ed25519_signed(key.public.raw, message + b"x", signature)
    place = hashlib.sha256(seed + message).digest()
    bit = int.from_bytes(place[:2], "big") % 512
    changed = bytearray(signature)
    changed[bit // 8] ^= 1 << bit % 8
    assert not ed25519_signed(key.public.raw, message, bytes(changed))
    assert not key.public.signed(message, bytes(changed))


def test_a_signature_with_another_number_of_the_same_meaning_is_refused() -> None:
    key = key_from(bytes(32))
    signature = key.sign(b"m")
    s = int.from_bytes(signature[32:], "little") + L
    assert not ed25519_signed(key.public.raw, b"m", signature[:32] + s.to_bytes(32, "little"))


@pytest.mark.parametrize(
    "key",
    [
        pytest.param((1).to_bytes(32, "little"), id="the neutral point"),
        pytest.param((2**255 - 20).to_bytes(32, "little"), id="order 2"),
        pytest.param(bytes(32), id="order 4"),
        pytest.param((2**255 - 19 + 1).to_bytes(32, "little"), id="a number past the field"),
        pytest.param(bytes([1]) + bytes(30) + bytes([128]), id="minus zero"),
        pytest.param((2).to_bytes(32, "little"), id="no point of the curve"),
        pytest.param(bytes(31), id="too short"),
    ],
)
def test_a_key_for_which_anybody_can_sign_or_that_is_none_is_refused(key: bytes) -> None:
    # R = the neutral point, S = 0: holds for every message under a key of small order.
    assert not ed25519_signed(key, b"m", (1).to_bytes(32, "little") + bytes(32))


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(PLAIN)
@example({"\U0001f600": 1, "\ufb33": 2, 'a\x7f\x1f\n"\\/': [{"\U00010000": 0, "\uffff": 0}]})
def test_canonical_json_is_that_of_rfc_8785(value: object) -> None:
    assert verifier.canonical(value) == rfc8785.dumps(value)  # type: ignore[arg-type]


@given(st.lists(st.binary(max_size=8), max_size=40))
def test_a_merkle_root_is_that_of_the_program(leaves: list[bytes]) -> None:
    assert verifier.merkle_root(leaves) == digest.merkle_root(leaves)


@settings(max_examples=60)
@given(tickets(must=True, groups=True), SEEDS, st.fractions(0, 1, max_denominator=7), st.integers(1, 4))
def test_a_draw_is_that_of_the_program(found: list[Ticket], seed: bytes, share: Fraction, cap: int) -> None:
    plain = [
        {"commitment": t.commitment, "cell": t.cell, "group": t.group, "age": t.age, "must": t.must}
        for t in found
    ]
    mine, theirs = verifier.draw(plain, seed, share, cap), draw(found, seed, share, age_cap=cap)
    assert (sorted(mine.opens), dict(mine.forced)) == (list(theirs.opens), dict(theirs.forced))
    assert [(c["cell"], c["opens"], c["carry"]) for c in mine.cells] == [
        (c.cell, c.opens, str(c.carry)) for c in theirs.cells
    ]


def test_the_chains_of_drand_are_those_of_the_program() -> None:
    assert {
        chain.hash: (chain.genesis, chain.period, chain.name) for chain in CHAINS.values()
    } == verifier.DRAND


NAMES = st.lists(st.from_regex(r"[A-Za-z0-9._][A-Za-z0-9._-]{0,30}", fullmatch=True), min_size=1, max_size=6)


@given(NAMES.map("/".join), st.integers(0, 8**11 - 1))
def test_a_tar_header_is_read_by_tarfile(name: str, size: int) -> None:
    try:
        header = tar_header(name, size)
    except Wrong:
        assert len(name) > 100
        return
    info = tarfile.TarInfo.frombuf(header, "ascii", "strict")
    assert (info.name, info.size, info.mode, info.mtime, info.uid, info.type) == (
        name.rstrip("/"),
        size,
        0o644,
        0,
        0,
        tarfile.REGTYPE,
    )


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("data/exemplo/open.jsonl", None),
        (".gitattributes", None),
        ("../up", "leads out of the release"),
        ("a/../b", "leads out of the release"),
        ("/etc/passwd", "leads out of the release"),
        ("a//b", "is not a plain name"),
        ("a/./b", "is not a plain name"),
        ("", "is not a plain name"),
        ("-rf", "is not a plain name"),
        ("ação.txt", "is not a plain name"),
        ("acao\u0301.txt", "is not a plain name"),
        ("a b", "is not a plain name"),
        ("a\nb", "is not a plain name"),
        ("a\\b", "is not a plain name"),
        ("C:x", "is not a plain name"),
    ],
)
def test_a_name_is_plain_or_refused(name: str, fault: str | None) -> None:
    assert name_fault(name) == fault


GOOD = sums_bytes({"a.txt": "0" * 64, "b/c.txt": "1" * 64})


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(b"\xef\xbb\xbf" + GOOD, "byte order mark", id="BOM"),
        pytest.param(GOOD.replace(b"\n", b"\r\n"), "end as on Windows", id="CRLF"),
        pytest.param(GOOD[:-1], "unsorted or torn", id="torn"),
        pytest.param(b"", "empty", id="empty"),
        pytest.param(GOOD.replace(b"  a", b" *a"), ":1: was changed", id="binary mode"),
        pytest.param(b"".join(reversed(GOOD.splitlines(keepends=True))), "unsorted", id="unsorted"),
        pytest.param(GOOD + GOOD, "listed twice", id="twice"),
        pytest.param(sums_bytes({"SHA256SUMS": "0" * 64}), "may not be listed", id="lists itself"),
        pytest.param(sums_bytes({"a/../../b": "0" * 64}), "leads out", id="escape"),
        pytest.param(sums_bytes({"A.txt": "0" * 64, "a.txt": "0" * 64}), "differ in case only", id="case"),
        pytest.param(GOOD.replace(b"0" * 64, b"A" * 64), ":1: was changed", id="capitals"),
    ],
)
def test_a_manifest_has_one_form(content: bytes, says: str) -> None:
    with pytest.raises(Wrong, match=says):
        read_sums(content)


def test_a_manifest_reads_back_what_was_written() -> None:
    assert sums_bytes(read_sums(GOOD)) == GOOD


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b'{"a":1.5}', id="fraction"),
        pytest.param(b'{"a":NaN}', id="no number"),
        pytest.param(b'{"a":1,"a":1}', id="a name twice"),
        pytest.param(b'{"a": 1}', id="blanks"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b"[]", id="no object"),
        pytest.param(b"\xff", id="no UTF-8"),
        pytest.param(b'{"a":"\\ud800"}', id="half a pair"),
        pytest.param(b'{"a":' + b"9" * 5000 + b"}", id="a huge number"),
    ],
)
def test_json_that_is_not_canonical_is_refused(content: bytes) -> None:
    with pytest.raises(Wrong, match="was changed"):
        verifier.parsed(content, "a.json")


@pytest.mark.parametrize("text", [None, "", "AB", "AB==\n", "A===", "AR=="])
def test_base64_has_one_form(text: object) -> None:
    with pytest.raises(Wrong, match="not base64"):
        verifier.from_base64(text, "here")


def test_the_verifier_runs_on_older_pythons() -> None:

    ast.parse(Path(verifier.__file__).read_text(encoding="utf-8"), feature_version=(3, 9))


def test_a_tar_of_others_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "other.tar"
    with tarfile.open(path, "w") as tar:
        info = tarfile.TarInfo("a/b.txt")
        info.size, info.mtime = 2, 1_700_000_000
        tar.addfile(info, io.BytesIO(b"hi"))
    with pytest.raises(Wrong, match="unpack it into an empty folder"):
        verifier.tree_of(path)


def test_json_of_an_outcome_is_json(tmp_path: Path) -> None:
    outcome = verifier.verify(tmp_path / "nowhere")
    assert json.loads(json.dumps(verifier.as_json(outcome)))["verdict"] == "failed"
    assert outcome.exit_code == 3
