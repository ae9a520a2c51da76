"""How long a server asks us to wait."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_DURATION = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_RESETS = (
    "x-ratelimit-reset-requests",
    "x-ratelimit-reset-tokens",
    "anthropic-ratelimit-requests-reset",
    "anthropic-ratelimit-tokens-reset",
    "anthropic-ratelimit-input-tokens-reset",
    "anthropic-ratelimit-output-tokens-reset",
    "x-ratelimit-reset",
)


def asked_wait(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds that the headers of a 429 or 503 ask for, none when they ask for none; never negative.

    ``retry-after-ms`` comes first, then ``retry-after`` (seconds, or an HTTP date: RFC 9110, 10.2.3), then
    the latest of the ``ratelimit-reset`` family (durations such as ``6m0s``, or times) whose remaining count
    is nought or not told. Names are given in lower case.

    >>> asked_wait({"retry-after": "Sun, 29 Nov 2026 12:00:30 GMT"}, datetime(2026, 11, 29, 12, tzinfo=UTC))
    30.0
    >>> asked_wait({"x-ratelimit-reset-requests": "1m0.5s"}, datetime(2026, 11, 29, tzinfo=UTC))
    60.5
    """
    if (milliseconds := _number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    after = headers.get("retry-after", "").strip()
    if after and (seconds := _seconds(after, now, plain=True)) is not None:
        return seconds
    waits = [
        seconds
        for name in _RESETS
        if name in headers
        and _spent(headers, name)
        and (seconds := _seconds(headers[name].strip(), now, plain=True)) is not None
    ]
    return max(waits, default=None)


def _spent(headers: Mapping[str, str], reset: str) -> bool:
    """Whether the limit that ``reset`` tells of may be the one we ran into."""
    left = _number(headers.get(reset.replace("reset", "remaining"), ""))
    return left is None or left <= 0


def _seconds(text: str, now: datetime, *, plain: bool) -> float | None:
    """Seconds from a number, a duration, an HTTP date or an ISO time."""
    if plain and (number := _number(text)) is not None:
        # Some servers send the time of the reset as seconds since 1970.
        return max(0.0, number - now.timestamp()) if number > 1e9 else number
    parts = list(_DURATION.finditer(text))
    if parts and "".join(part[0] for part in parts) == text:
        return sum(float(part["number"]) * _SECONDS[part["unit"]] for part in parts)
    moment = _moment(text)
    return None if moment is None else max(0.0, (moment - now).total_seconds())


def _moment(text: str) -> datetime | None:
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            moment = read(text)
        except ValueError:
            continue
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return None


def _number(text: str) -> float | None:
    """A plain number that is not negative."""
    return float(text) if re.fullmatch(r"\s*\d+(\.\d+)?\s*", text) else None
