"""The randomness that a freeze names: sources, hours, and results that are not what was named."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from tests.rotation.test_drand import DEFAULT, QUICKNET

from lacre.errors import InputError, IntegrityError
from lacre.rotation.beacon import (
    DrandRound,
    LotteryDraw,
    come_out,
    instant,
    moment,
    named,
    source_due,
    source_name,
)
from lacre.rotation.drand import CHAINS, Beacon

NOON = datetime(2027, 1, 16, 12, tzinfo=UTC)


def test_a_drand_round_is_named_with_its_hour() -> None:
    found = named("drand:quicknet:657413", None)
    assert isinstance(found, DrandRound)
    assert found.chain == CHAINS["quicknet"].hash
    assert found.due == instant(CHAINS["quicknet"].due(657413))
    assert source_name(found) == "drand quicknet round 657413"
    assert named(f"drand:{CHAINS['quicknet'].hash}:657413", None) == found


@pytest.mark.parametrize("name", sorted(CHAINS))
def test_the_first_drand_round_after_an_hour_is_found(name: str) -> None:
    found = named(f"drand:{name}", NOON)
    assert isinstance(found, DrandRound)
    chain = CHAINS[name]
    assert chain.due(found.round) >= NOON > chain.due(found.round - 1)


def test_a_lottery_draw_takes_its_hour_from_who_names_it() -> None:
    brasilia = timezone(timedelta(hours=-3))
    found = named("loteria-federal:5900", datetime(2027, 1, 16, 19, tzinfo=brasilia))
    assert found == LotteryDraw(draw=5900, due="2027-01-16T22:00:00Z")
    assert source_due(found) == datetime(2027, 1, 16, 22, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "due", "said"),
    [
        ("", NOON, "is none that we know"),
        ("dice", NOON, "is none that we know"),
        ("drand", NOON, "no drand chain ''"),
        ("drand:slownet:1", None, "no drand chain 'slownet'. There are: default, quicknet"),
        ("drand:quicknet", None, "names no round"),
        ("drand:quicknet:0", None, "is no round"),
        ("drand:quicknet:-1", None, "is no round"),
        ("drand:quicknet:²", None, "is no round"),
        ("drand:quicknet:99999999999", None, "is no round"),
        ("drand:quicknet:1", NOON, "has its own hour"),
        ("loteria-federal:5900", None, "its hour is not known"),
        ("loteria-federal:0", NOON, "is none that we know"),
        ("loteria-federal:x", NOON, "is none that we know"),
        ("loteria-federal:5900", NOON.replace(tzinfo=None), "says no time zone"),
    ],
)
def test_what_names_no_randomness_is_refused(text: str, due: datetime | None, said: str) -> None:
    with pytest.raises(InputError, match=said.replace("?", r"\?")):
        named(text, due)


def beacon_file(beacon: Beacon, **changes: object) -> bytes:
    return json.dumps(
        {
            "round": beacon.round,
            "randomness": beacon.randomness,
            "signature": beacon.signature,
            "previous_signature": beacon.previous_signature,
            "served_by": "somebody",
            **changes,
        }
    ).encode()


@pytest.mark.parametrize(("name", "beacon"), [("quicknet", QUICKNET), ("default", DEFAULT)])
def test_a_drand_file_gives_its_randomness_and_is_proved(name: str, beacon: Beacon) -> None:
    source = named(f"drand:{name}:{beacon.round}", None)
    found = come_out(source, beacon_file(beacon), "f")
    assert (found.value.hex(), found.proved) == (beacon.randomness, True)


@pytest.mark.parametrize(
    ("content", "error", "said"),
    [
        (beacon_file(QUICKNET, round=5), InputError, "holds round 5, frozen was 657413"),
        (beacon_file(QUICKNET, randomness="00" * 32), IntegrityError, "not the SHA-256 of its signature"),
        (beacon_file(QUICKNET, randomness=None, signature="b7" * 48), IntegrityError, "drand round 657413"),
        (beacon_file(QUICKNET, signature="xyz"), IntegrityError, "is not hex"),
        (b'{"round": "x"}', InputError, "Expected `int`"),
        (b"[]", InputError, "Expected `object`"),
        (b"", InputError, "truncated"),
    ],
)
def test_a_drand_file_that_is_not_that_round_is_refused(
    content: bytes, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        come_out(named("drand:quicknet:657413", None), content, "f")


def test_lottery_tickets_with_and_without_their_leading_zero_are_the_same() -> None:
    source = LotteryDraw(draw=5900, due=instant(NOON))
    long = {
        "numero": 5900,
        "dezenasSorteadasOrdemSorteio": ["012345", "067890", "000001", "099999", "000000"],
    }
    short = {"numero": 5900, "dezenasSorteadasOrdemSorteio": ["12345", "67890", "00001", "99999", "00000"]}
    first, second = (come_out(source, json.dumps(f).encode(), "f") for f in (long, short))
    assert first.value == second.value == b"5900:12345,67890,00001,99999,00000"
    assert not first.proved
    assert "compare draw 5900 with what Caixa published" in first.note


def test_an_hour_is_read_back_as_it_was_written() -> None:
    assert moment(instant(NOON)) == NOON
    for text in ("2027-01-16", "2027-01-16T12:00:00", "noon"):
        with pytest.raises(IntegrityError, match="is not an ISO time"):
            moment(text)


def test_a_chain_that_is_not_known_is_an_alarm() -> None:
    with pytest.raises(IntegrityError, match="none that we know"):
        source_due(DrandRound(chain="0" * 64, round=1, due=instant(NOON)))
