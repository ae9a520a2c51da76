"""One changed byte, or anything else in the place of a public file, is a finding that names it; never a crash."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rotation.making import CELLS, Stage, files, lasting, stage
from tests.rotation.test_audit import said
from tests.sealing.making import private

from lacre.errors import IntegrityError, LacreError

PUBLIC = (
    "ledger.jsonl",
    "exemplo/private/commitments.jsonl",
    "exemplo/rounds/0001/freeze.dsse.json",
    "exemplo/rounds/0001/randomness.json",
    "exemplo/rounds/0001/draw.json",
    "exemplo/rounds/0001/openings.jsonl",
    "exemplo/rounds/0002/freeze.dsse.json",
    "exemplo/rounds/0002/openings.jsonl",
    "exemplo/rounds/0003/freeze.dsse.json",
)


def names_a_change(play: Stage, name: str, place: int, value: int) -> None:
    """One byte of a public file changes; the audit fails, and names the file; the byte is put back."""
    path = play.registry / name
    whole = path.read_bytes()
    changed = bytearray(whole)
    changed[place % len(whole)] = value
    if bytes(changed) == whole:
        return
    path.write_bytes(changed)
    try:
        named = said(play.audit())
    except IntegrityError as error:
        named = str(error)
    path.write_bytes(whole)
    assert Path(name).name in named, (name, place, value)


@pytest.mark.parametrize("name", PUBLIC)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 1 << 20), value=st.integers(0, 255))
def test_any_changed_byte_is_named(name: str, play: Stage, place: int, value: int) -> None:
    names_a_change(play, name, place, value)


# Every byte takes nine minutes: LACRE_EVERY_BYTE=1 tries them all. 41 is prime to the widths of hashes and rows;
# each file begins at another byte, and so do the lines of one file.
STRIDE = 1 if os.environ.get("LACRE_EVERY_BYTE") else 41


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLIC)
def test_bytes_all_over_a_file_that_change_are_named(name: str, play: Stage) -> None:
    content = (play.registry / name).read_bytes()
    for place in range(PUBLIC.index(name) % STRIDE, len(content), STRIDE):
        names_a_change(play, name, place, content[place] ^ 1)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """One of each kind of line and file, and as little else as may be: no second item where one will do."""
    play = lasting(stage(tmp_path_factory.mktemp("small")))
    play.add([private("a", cell=CELLS[0]), private("b", cell=CELLS[0]), private("c", cell=CELLS[0])], "1")
    play.void(["a"])
    play.freeze(forced={"b": "leak"})
    play.close()
    play.supersede("c", private("d", cell=CELLS[0]))
    play.freeze()
    play.freeze(again="o sorteio não houve")
    return play


EVERY = (
    "ledger.jsonl",
    "exemplo/private/commitments.jsonl",
    "exemplo/rounds/0001/draw.json",
    "exemplo/rounds/0001/freeze.dsse.json",
    "exemplo/rounds/0001/openings.jsonl",
    "exemplo/rounds/0001/randomness.json",
    "exemplo/rounds/0002/freeze.dsse.json",
    "exemplo/rounds/0002/given-up-1.freeze.dsse.json",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_every_single_byte_that_changes_is_named(name: str, small: Stage) -> None:
    folders = ("exemplo/private", "exemplo/rounds")
    assert set(EVERY) - {"ledger.jsonl"} == {
        f"{folder}/{path}" for folder in folders for path in files(small.registry / folder)
    }
    content = (small.registry / name).read_bytes()
    for place, byte in enumerate(content):
        names_a_change(small, name, place, byte ^ 1)


def test_a_freeze_that_was_given_up_stays_and_stays_what_it_was(small: Stage) -> None:
    path = small.public.folder(2) / "given-up-1.freeze.dsse.json"
    whole = path.read_bytes()
    assert "given-up" not in said(small.audit())
    path.unlink()
    assert "exemplo/2 registry/exemplo/rounds/0002/given-up-1.freeze.dsse.json: is missing" in said(
        small.audit()
    )
    path.write_bytes(whole)


HOSTILE = {
    "nothing": b"",
    "no file": None,
    "a folder": ...,
    "no text": bytes(range(128, 256)),
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "null": b"null\n",
    "a number": b"1e999\n",
    "an empty object": b"{}\n",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_file_in_any_place_is_a_finding_and_never_a_crash(what: str, small: Stage) -> None:
    content = HOSTILE[what]
    for name in EVERY:
        path = small.registry / name
        whole = path.read_bytes()
        path.unlink()
        if content is ...:
            path.mkdir()
        elif isinstance(content, bytes):
            path.write_bytes(content)
        try:
            assert small.audit().findings, (name, what)
        except LacreError as error:
            assert Path(name).name in str(error), (name, what)  # noqa: PT017 - either is an answer
        if path.is_dir():
            path.rmdir()
        path.write_bytes(whole)


@pytest.mark.parametrize("number", ["1" + "0" * 40, "9007199254740993", "-1", "1.5", "1e400"])
def test_a_number_that_no_json_should_hold_is_a_finding(number: str, small: Stage) -> None:
    path = small.registry / "exemplo/rounds/0001/draw.json"
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"opens":', b'"opens":' + number.encode() + b',"x":', 1))
    assert "draw.json" in said(small.audit())
    path.write_bytes(whole.replace(b'"stays":1', b'"stays":' + number.encode(), 1))
    assert path.read_bytes() != whole
    assert "draw.json" in said(small.audit())
    path.write_bytes(whole)
