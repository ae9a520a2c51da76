"""How long a server asks us to wait, and how a column keeps its pace."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from lacre.engine.limits import Pace
from lacre.engine.waits import asked_wait

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "60"}, 1.5),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after": format_datetime(NOW + timedelta(seconds=90), usegmt=True)}, 90),
        ({"retry-after": format_datetime(NOW - timedelta(seconds=90), usegmt=True)}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"x-ratelimit-reset-requests": "1s"}, 1),
        ({"x-ratelimit-reset-tokens": "6m0s"}, 360),
        ({"x-ratelimit-reset-tokens": "1h2m3.5s"}, 3723.5),
        ({"x-ratelimit-reset-requests": "250ms"}, 0.25),
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "9s"}, 9),
        (
            {
                "x-ratelimit-reset-requests": "1s", "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-tokens": "9s", "x-ratelimit-remaining-tokens": "5000",
            },
            1,
        ),
        ({"anthropic-ratelimit-requests-reset": "2026-03-01T12:00:20Z"}, 20),
        ({"x-ratelimit-reset": str(int(NOW.timestamp()) + 30)}, 30),
    ],
)  # fmt: skip
def test_what_the_headers_ask_for(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_wait(headers, NOW) == seconds


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def test_requests_are_spread_evenly() -> None:
    clock = Clock()

    async def scene() -> list[float]:
        pace = Pace(60, None, clock=clock, sleep=clock.sleep)
        moments = []
        for _ in range(4):
            await pace.admit(0)
            moments.append(clock.now - 100)
        return moments

    assert asyncio.run(scene()) == [0, 1, 2, 3]


def test_tokens_come_from_a_bucket_that_is_put_right_afterwards() -> None:
    clock = Clock()

    async def scene() -> None:
        pace = Pace(None, 600, clock=clock, sleep=clock.sleep)
        assert await pace.admit(500) == 0
        assert await pace.admit(200) == pytest.approx(10)
        pace.correct(200, 100)
        assert await pace.admit(100) == 0
        # More than a minute's worth goes when the bucket is full, instead of never.
        assert await pace.admit(6000) == pytest.approx(60)

    asyncio.run(scene())


def test_a_pause_holds_everybody_back() -> None:
    clock = Clock()

    async def scene() -> float:
        pace = Pace(None, None, clock=clock, sleep=clock.sleep)
        pace.pause(5)
        pace.pause(3)
        return await pace.admit(1)

    assert asyncio.run(scene()) == 5
