"""Signed statements: OpenSSL agrees, and no byte of an envelope can change unseen."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacre.errors import IntegrityError
from lacre.sealing.dsse import pae, sign, statement, verify
from lacre.sealing.keys import key_from, read_public_key, write_key

KEY = key_from(bytes([5]) * 32)
KEYS = {KEY.fingerprint: KEY.public}
CLAIM = statement({"b.txt": "b" * 64, "a.txt": "a" * 64}, "urn:example:1", {"round": 1, "cells": ["ção"]})
ENVELOPE = sign(CLAIM, KEY)


def test_what_was_signed_comes_back() -> None:
    signed = verify(ENVELOPE, KEYS, "e.json")
    assert (signed.statement, signed.key) == (CLAIM, KEY.fingerprint)
    assert (
        json.loads(base64.b64decode(json.loads(ENVELOPE)["payload"]))["_type"]
        == "https://in-toto.io/Statement/v1"
    )


@given(place=st.integers(0, len(ENVELOPE) - 1), change=st.integers(1, 255))
def test_any_changed_byte_is_found(place: int, change: int) -> None:
    content = bytearray(ENVELOPE)
    content[place] ^= change
    with pytest.raises(IntegrityError, match=r"e\.json: "):
        verify(bytes(content), KEYS, "e.json")


@pytest.mark.parametrize("content", [b"", ENVELOPE[:-1], ENVELOPE + b"\n", b" " + ENVELOPE])
def test_other_forms_of_the_same_envelope_are_refused(content: bytes) -> None:
    with pytest.raises(IntegrityError):
        verify(content, KEYS, "e.json")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the openssl command")
def test_openssl_agrees(tmp_path: Path) -> None:
    write_key(tmp_path / "key", KEY)
    assert read_public_key(tmp_path / "key.pub") == KEY.public
    envelope = json.loads(ENVELOPE)
    (tmp_path / "message").write_bytes(pae(base64.b64decode(envelope["payload"])))
    (tmp_path / "sig").write_bytes(base64.b64decode(envelope["signatures"][0]["sig"]))
    check = [
        "openssl",
        "pkeyutl",
        "-verify",
        "-pubin",
        "-inkey",
        "key.pub",
        "-rawin",
        "-in",
        "message",
        "-sigfile",
        "sig",
    ]
    assert subprocess.run(check, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    (tmp_path / "message").write_bytes(b"else")
    assert subprocess.run(check, cwd=tmp_path, capture_output=True, check=False).returncode != 0
