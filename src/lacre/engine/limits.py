"""A column's pace: requests and tokens per minute, and a pause for all when its server asks for one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]

_MINUTE = 60.0


class GateClosedError(Exception):
    """No more requests are to be sent."""


class Pace:
    """Lets requests through one by one, as fast as the card allows.

    Requests are spread evenly; tokens come from a bucket that holds one minute's worth and refills evenly,
    so that no minute sees more than twice the limit. ``clock`` counts seconds and never goes back.
    """

    def __init__(
        self, requests: int | None, tokens: int | None, *, clock: Clock, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._gap = _MINUTE / requests if requests else 0.0
        self._tokens = float(tokens) if tokens else None
        self._left = self._tokens or 0.0
        self._clock = clock
        self._sleep = sleep
        self._next = self._filled = clock()
        self._resume_at = self._next

    def pause(self, seconds: float) -> None:
        """Hold every request of the column back for so long: the limit that one met, all would meet."""
        self._resume_at = max(self._resume_at, self._clock() + seconds)

    async def admit(self, tokens: int) -> float:
        """Wait for a turn, for about so many tokens; the seconds that it took."""
        begun = now = self._clock()
        if self._gap:
            turn = max(now, self._next)
            self._next = turn + self._gap
            await self._until(turn)
        while self._tokens is not None:
            self._refill()
            # A message larger than a minute's worth goes when the bucket is full: it would wait for ever.
            need = min(float(tokens), self._tokens)
            if self._left >= need:
                self._left -= tokens
                break
            await self._sleep((need - self._left) * _MINUTE / self._tokens)
        while (now := self._clock()) < self._resume_at:
            await self._sleep(self._resume_at - now)
        return now - begun

    def correct(self, guessed: int, used: int) -> None:
        """Put right what was guessed before the reply told."""
        if self._tokens is not None:
            self._left = min(self._tokens, self._left + guessed - used)

    def _refill(self) -> None:
        assert self._tokens is not None
        now = self._clock()
        self._left = min(self._tokens, self._left + (now - self._filled) * self._tokens / _MINUTE)
        self._filled = now

    async def _until(self, moment: float) -> None:
        while (now := self._clock()) < moment:
            await self._sleep(moment - now)
