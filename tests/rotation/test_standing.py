"""What may be said of a closing, case by case: never more than was proved."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lacre.rotation.beacon import LotteryDraw, Randomness, Source, named
from lacre.rotation.standing import standing

DRAND = named("drand:quicknet:1", None)
LOTTERY = LotteryDraw(draw=5900, due="2027-01-16T22:00:00Z")
PROVED, BARE = Randomness(value=b"x", proved=True), Randomness(value=b"x", proved=False, note="not checked.")
BEFORE = datetime(2023, 8, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("source", "randomness", "noted", "stamped_at", "says"),
    [
        (DRAND, PROVED, True, None, "shown"),
        (DRAND, PROVED, True, BEFORE, "shown"),
        (DRAND, PROVED, False, BEFORE, "stamped"),
        (DRAND, PROVED, False, None, "repeatable"),
        (DRAND, BARE, True, BEFORE, "noted"),
        (DRAND, BARE, False, BEFORE, "stamped"),
        (LOTTERY, BARE, True, BEFORE, "noted"),
        (LOTTERY, BARE, False, BEFORE, "stamped"),
        (LOTTERY, BARE, False, None, "repeatable"),
        (DRAND, None, True, BEFORE, "frozen"),
    ],
)
def test_no_more_is_said_than_was_proved(
    source: Source, randomness: Randomness | None, noted: bool, stamped_at: datetime | None, says: str
) -> None:
    found, why = standing(
        carried_out=randomness is not None,
        failed=False,
        noted=noted,
        stamped_at=stamped_at,
        has_stamp=stamped_at is not None,
        source=source,
        randomness=randomness,
    )
    assert found == says
    unproved = randomness is BARE and found in ("noted", "stamped")
    assert ("still to check" in why) == unproved
