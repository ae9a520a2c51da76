"""What the verifier prints and refuses, each part by itself."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.release.conftest import Story
from tests.release.resigning import faults, resigned, verified

from lacre.registry import ledger as ledgers
from lacre.registry.events import Freeze, Genesis, Incident, KeyAdd, KeyRetire
from lacre.release import verify as verifier
from lacre.release.verify import (
    LEDGER,
    Wrong,
    canonical,
    due_of,
    main,
    randomness_of,
    read_ledger,
    read_rows,
    told,
)
from lacre.rotation.drand import CHAINS
from lacre.sealing.keys import key_from

KEY, OTHER = key_from(bytes(32)), key_from(bytes([9]) * 32)
AT = "2026-12-01T12:00:00Z"


def test_the_command_prints_one_line_a_check_and_the_verdict_last(
    story: Story, capsys: pytest.CaptureFixture[str]
) -> None:
    place, key = str(story.folder(2)), story.play.key.fingerprint
    assert main([place, "--key", key, "--previous", str(story.folder(1))]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines[1:12]] == list(verifier.NAMES)
    assert lines[-1] == "authentic"
    assert main([place, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["verdict"] == "integrity only"
    with pytest.raises(SystemExit):
        main([place, "--key", "abc"])
    assert "64 hex digits" in capsys.readouterr().err


def test_a_long_list_of_faults_is_cut_for_people_and_whole_in_json(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"a {number}").write_bytes(b"")
    outcome = verifier.verify(tmp_path)
    assert "and 10 more" in told(outcome)
    assert len(verifier.as_json(outcome)["checks"][0]["faults"]) == 30
    assert [check.status for check in outcome.checks[1:]] == ["not done"] * 8


QUICK = CHAINS["quicknet"]
DRAND = {"kind": "drand", "chain": QUICK.hash, "round": 1, "due": "2023-08-23T15:09:27Z"}


def test_randomness_of_drand_is_the_hash_of_its_signature() -> None:
    value = randomness_of(DRAND, b'{"round":1,"signature":"00ff"}', "r")
    assert len(value) == 32
    told_value = json.dumps({"round": 1, "signature": "00ff", "randomness": value.hex().upper()})
    assert randomness_of(DRAND, told_value.encode(), "r") == value
    assert due_of(DRAND, "f") == DRAND["due"]


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b'{"round":2,"signature":"00"}',
        b'{"round":1,"signature":"xy"}',
        b'{"round":1,"signature":"00","randomness":"00"}',
        b"[]",
    ],
)
def test_other_randomness_is_refused(content: bytes) -> None:
    with pytest.raises(Wrong, match="does not hold the randomness"):
        randomness_of(DRAND, content, "r")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"chain": "00" * 32}, "not known"),
        ({"due": "2026-01-01T00:00:00Z"}, "another hour"),
        ({"round": 2}, "another hour"),
    ],
)
def test_a_drand_round_has_its_hour(changes: dict[str, object], says: str) -> None:
    with pytest.raises(Wrong, match=says):
        due_of({**DRAND, **changes}, "f")


def founded() -> ledgers.Ledger:
    added = KeyAdd(fingerprint=KEY.fingerprint, key=KEY.public.text, name="equipe")
    ledger = ledgers.appended(ledgers.Ledger((), b""), [Genesis(workspace="ab" * 32)], at=AT)
    return ledgers.appended(ledger, [added], at=AT, signer=KEY)


def rewritten(ledger: ledgers.Ledger, change: Callable[[dict[str, Any]], object]) -> bytes:
    """The ledger with its last line changed, in canonical form."""
    lines = ledger.content.splitlines()
    line = json.loads(lines[-1])
    change(line)
    return b"".join(each + b"\n" for each in (*lines[:-1], canonical(line)))


LINES: list[tuple[str, Callable[[dict[str, Any]], object], str]] = [
    ("number", lambda line: line.update(seq=9), "does not follow"),
    ("link", lambda line: line.update(prev="0" * 64), "does not follow"),
    ("time", lambda line: line.update(at="ontem"), "its time is none"),
    ("earlier", lambda line: line.update(at="2020-01-01T00:00:00Z"), "its time is none"),
    ("second genesis", lambda line: line["event"].update(type="genesis"), "genesis is the first"),
    ("no key", lambda line: line["event"].update(key="AAAA"), "adds no key"),
    ("another's fingerprint", lambda line: line["event"].update(fingerprint="0" * 64), "adds no key"),
    ("unsigned", lambda line: (line.pop("by"), line.pop("sig")), "nobody signed"),
    ("signed by none", lambda line: line.update(by="0" * 64), "may not sign"),
    (
        "another signature",
        lambda line: line.update(sig=base64.b64encode(bytes(64)).decode()),
        "did not sign it",
    ),
    ("half signed", lambda line: line.pop("sig"), "no line of a ledger"),
    ("no event", lambda line: line.update(event=1), "no line of a ledger"),
]


@pytest.mark.parametrize(("change", "says"), [pytest.param(*each[1:], id=each[0]) for each in LINES])
def test_a_line_that_does_not_hold_is_named(change: Callable[[dict[str, Any]], object], says: str) -> None:
    with pytest.raises(Wrong, match=f"^{LEDGER}:2: .*{says}"):
        read_ledger(rewritten(founded(), change))


def test_a_key_is_added_once_and_retired_once() -> None:
    ledger = founded()
    again = KeyAdd(fingerprint=KEY.fingerprint, key=KEY.public.text, name="outra vez")
    with pytest.raises(Wrong, match="there before"):
        read_ledger(ledgers.appended(ledger, [again], at=AT, signer=KEY).content)
    gone = KeyRetire(fingerprint=OTHER.fingerprint, reason="nunca houve")
    with pytest.raises(Wrong, match="retires a key that is not active"):
        read_ledger(ledgers.appended(ledger, [gone], at=AT, signer=KEY).content)
    signed = ledgers.appended(ledger, [Incident(what="luz")], at=AT, signer=KEY)
    assert len(read_ledger(signed.content).lines) == 3


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            b'{"batch":"b","cell":{},"commitment":"0","id":"b"}\n{"batch":"b","cell":{},"commitment":"0","id":"a"}\n',
            "out of order",
        ),
        (b'{"batch":"b","cell":{},"commitment":"0","id":"b"}', "torn"),
        (b'{"batch":"b","cell":1,"commitment":"0","id":"b"}\n', "is no row"),
    ],
)
def test_a_list_of_rows_is_whole_and_sorted(content: bytes, says: str) -> None:
    with pytest.raises(Wrong, match=says):
        read_rows(content, "rows")


def with_ledger(story: Story, number: int, *events: object) -> list[str]:
    """What is found when the key holder adds lines and signs all anew."""
    files = story.small(number)
    ledger = ledgers.parse(files[LEDGER], LEDGER)
    longer = ledgers.appended(ledger, events, at=ledger.lines[-1].at, signer=story.play.key)  # type: ignore[arg-type]
    head = {"lines": longer.size, "bytes": len(longer.content), "head": longer.head}
    return faults(verified(resigned({**files, LEDGER: longer.content}, story.play.key, ledger=head)))


def test_a_closing_that_was_frozen_twice_is_noted_and_one_without_a_file_refused(story: Story) -> None:
    last = ledgers.parse(story.small(3)[LEDGER], LEDGER).lines[-1].event
    assert isinstance(last, Freeze)
    assert any("is not the file that line" in fault for fault in with_ledger(story, 3, Freeze(
        benchmark="exemplo", round=last.round, freeze="0" * 64, items=1, beacon=last.beacon, due=last.due
    )))  # fmt: skip
    assert any("rounds/0009/freeze.dsse.json" in fault for fault in with_ledger(story, 3, Freeze(
        benchmark="exemplo", round="exemplo/9", freeze="0" * 64, items=1, beacon=last.beacon, due=last.due
    )))  # fmt: skip
