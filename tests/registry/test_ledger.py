"""The ledger: whatever is changed, removed, moved or torn is found and named."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacre.digest import sha256
from lacre.errors import InputError, IntegrityError
from lacre.registry.events import (
    BatchCommit,
    Event,
    Exposure,
    Genesis,
    Incident,
    KeyAdd,
    KeyRetire,
    RunAbort,
    Void,
    event_name,
)
from lacre.registry.ledger import (
    Ledger,
    active_keys,
    append,
    appended,
    chained,
    head,
    parse,
    prefix_fault,
    read,
)
from lacre.sealing.keyring import check_head, keyring, sign_head
from lacre.sealing.keys import key_from

AT = "2026-01-31T12:00:00Z"
KEY = key_from(bytes(32))
OTHER = key_from(bytes([1]) * 32)
GENESIS = Genesis(workspace="ab" * 32)
FIRST = KeyAdd(fingerprint=KEY.fingerprint, key=KEY.public.text, name="operator")


def grown(*events: str) -> Ledger:
    ledger = appended(Ledger((), b""), [GENESIS], at=AT)
    ledger = appended(ledger, [FIRST], at=AT, signer=KEY)
    return appended(ledger, [Incident(what=what) for what in events], at=AT)


def faults(content: bytes) -> str:
    with pytest.raises(IntegrityError) as caught:
        parse(content, "ledger.jsonl")
    return str(caught.value)


LEDGER = grown("um", "dois", "três")
LINES = LEDGER.content.splitlines(keepends=True)


def test_the_hash_of_a_line_is_what_sha256sum_prints_for_it() -> None:
    for line, before in zip(LEDGER.lines[1:], LINES, strict=False):
        assert line.prev == sha256(before)
    assert LEDGER.head == sha256(LINES[-1]) == head(LEDGER.content) == LEDGER.hash_of(5)
    assert LEDGER.hash_of(2) == sha256(LINES[1])
    assert LEDGER.lines[0].prev == head(b"") == "0" * 64


def test_append_writes_all_or_nothing_and_returns_the_head(tmp_path: Path) -> None:
    path = tmp_path / "registry/ledger.jsonl"
    append(path, GENESIS, at=AT)
    last = append(path, [Incident(what="um"), Incident(what="dois")], at=AT)
    assert read(path).head == last
    before = path.read_bytes()
    with pytest.raises(InputError, match="genesis is the first line"):
        append(path, [Incident(what="três"), GENESIS], at=AT)
    assert path.read_bytes() == before
    path.write_bytes(before[:-1])
    with pytest.raises(IntegrityError, match="is torn"):
        append(path, Incident(what="três"), at=AT)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (LEDGER.content.replace(b'"um"', b'"hum"'), "ledger.jsonl:3: was changed: line 4 names"),
        (b"".join([*LINES[:2], *LINES[3:]]), "ledger.jsonl:3: says it is line 4: line 3 was removed or moved"),
        (b"".join([*LINES[:1], *LINES[4:]]), "ledger.jsonl:2: says it is line 5: lines 2 to 4 were removed"),
        (b"".join(LINES[1:]), "ledger.jsonl:1: says it is line 2: line 1 was removed or moved"),
        (b"".join([*LINES[:2], LINES[3], LINES[2], LINES[4]]), "ledger.jsonl:4: says it is line 3, where 5 is due"),
        (b"".join([*LINES, LINES[4]]), "ledger.jsonl:6: says it is line 5, where 6 is due: it was moved or doubled"),
        (LEDGER.content[:-7], "ledger.jsonl:5: is torn"),
        (LEDGER.content[:-1], "ledger.jsonl:5: is torn"),
        (LEDGER.content.replace(b'{"at"', b'{ "at"', 1), "ledger.jsonl:1: was changed: it is not in canonical form"),
        (LEDGER.content.replace(b"dois", b"do\xffs"), "ledger.jsonl:4: was changed"),
        (LEDGER.content.replace(b"incident", b"accident", 1), "ledger.jsonl:3: was changed"),
        (b"\n" + LEDGER.content, "ledger.jsonl:1: was changed"),
        (LINES[0].replace(b"000", b"001", 1), "ledger.jsonl:1: names a line before it"),
        (LINES[0].replace(b"T12", b"-12", 1), "ledger.jsonl:1: was changed: its time"),
    ],
)  # fmt: skip
def test_tampering_is_named_by_its_line(content: bytes, said: str) -> None:
    assert content != LEDGER.content
    assert said in faults(content)


def test_a_key_that_nobody_signed_for_is_refused() -> None:
    unsigned = chained(chained(Ledger((), b""), [GENESIS], at=AT), [FIRST], at=AT)
    assert "ledger.jsonl:2: is a key_add that nobody signed" in faults(unsigned.content)


STEERING = [
    Void(benchmark="exemplo", item="p1", commitment="0" * 64, reason="x"),
    BatchCommit(benchmark="exemplo", batch="b1", items=1, root="0" * 64),
    Exposure(benchmark="exemplo", run="r1", column="alfa", items=("p1",), terms="x"),
    RunAbort(benchmark="exemplo", run="r1", intent="0" * 64, reason="x", replies=0),
]


@pytest.mark.parametrize("event", STEERING, ids=event_name)
def test_a_line_that_steers_draws_or_runs_is_signed_by_a_key_that_may(event: Event, tmp_path: Path) -> None:
    unsigned = chained(LEDGER, [event], at=AT)
    assert f"ledger.jsonl:6: is a {event_name(event)} that nobody signed" in faults(unsigned.content)
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(LEDGER.content)
    with pytest.raises(InputError, match=f"a {event_name(event)} must be signed, and no key is given"):
        append(path, event, at=AT)
    with pytest.raises(InputError, match=r"does not know it\. `lacre key list` names those that may"):
        append(path, event, at=AT, signer=OTHER)
    assert path.read_bytes() == LEDGER.content
    append(path, event, at=AT, signer=KEY)


def test_a_retired_key_writes_nothing_and_is_told_where_it_was_retired() -> None:
    second = KeyAdd(fingerprint=OTHER.fingerprint, key=OTHER.public.text, name="second")
    longer = appended(LEDGER, [second], at=AT, signer=KEY)
    longer = appended(longer, [KeyRetire(fingerprint=KEY.fingerprint, reason="lost")], at=AT, signer=OTHER)
    assert active_keys(longer.lines) == {OTHER.fingerprint: "second"}
    with pytest.raises(InputError, match="may not sign in ledger: line 7 retired it"):
        appended(longer, [Incident(what="!")], at=AT, signer=KEY)


def test_the_clock_may_not_go_backwards() -> None:
    with pytest.raises(InputError, match="before the last line's 2026-01-31T12:00:00Z"):
        appended(LEDGER, [Incident(what="antes")], at="2026-01-31T11:59:59Z")
    with pytest.raises(InputError, match="is not a time"):
        appended(LEDGER, [Incident(what="quando?")], at="ontem")


@given(place=st.integers(0, len(LEDGER.content) - 1), change=st.integers(1, 255))
def test_any_changed_byte_is_found(place: int, change: int) -> None:
    signed = sign_head(LEDGER, KEY)
    content = bytearray(LEDGER.content)
    content[place] ^= change
    with pytest.raises(IntegrityError):
        # The chain has every line but the last, the signed head that one too.
        check_head(signed, (changed := parse(bytes(content), "ledger")), keyring(changed), "head")


@given(place=st.integers(0), change=st.integers(1, 255))
def test_any_changed_byte_of_a_signed_head_is_found(place: int, change: int) -> None:
    signed = bytearray(sign_head(LEDGER, KEY))
    signed[place % len(signed)] ^= change
    with pytest.raises(IntegrityError):
        check_head(bytes(signed), LEDGER, keyring(LEDGER), "head")


@given(cut=st.integers(0, len(LEDGER.content) - 1))
def test_a_ledger_cut_short_is_found(cut: int) -> None:
    signed, ring = sign_head(LEDGER, KEY), keyring(LEDGER)
    with pytest.raises(IntegrityError):
        check_head(signed, parse(LEDGER.content[:cut], "ledger"), ring, "head")


def test_a_signed_head_still_holds_for_a_ledger_that_grew() -> None:
    signed = sign_head(LEDGER, KEY)
    longer = appended(LEDGER, [Incident(what="quatro")], at=AT)
    assert check_head(signed, longer, keyring(longer), "head").key == KEY.fingerprint
    assert prefix_fault(LEDGER.content, longer.content) is None


@pytest.mark.parametrize(
    ("newer", "line", "said"),
    [
        (grown("um", "duas", "três").content, 4, "is not what it was"),
        (grown("um").content, 4, "is gone: the older ledger has 5 lines, this one 3"),
        (b"", 1, "is gone"),
    ],
)
def test_a_ledger_that_is_no_prefix_of_its_successor_is_an_alarm(newer: bytes, line: int, said: str) -> None:
    fault = prefix_fault(LEDGER.content, newer)
    assert fault is not None
    assert (fault.line, said in fault.what) == (line, True)
    assert prefix_fault(b"a\nb", b"a\nbc\n") is not None


def _append(path: Path, name: str) -> None:
    for number in range(5):
        append(path, Incident(what=f"{name}{number}"), at=AT)


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    append(path, GENESIS, at=AT)
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=_append, args=(path, name)) for name in "abc"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert read(path).size == 1 + 3 * 5


def test_what_a_killed_process_had_half_written_goes_at_the_next_line(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    append(path, GENESIS, at=AT)
    left, other = tmp_path / ".ledger.jsonl.4711.part", tmp_path / ".other.jsonl.4711.part"
    for each in (left, other):
        each.write_bytes(b"half")
    append(path, Incident(what="a key was lost"), at=AT)
    assert sorted(each.name for each in tmp_path.iterdir()) == [other.name, path.name]
