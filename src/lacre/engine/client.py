"""One question to one column: tries, waits, and what came of it. The only module that speaks HTTP.

No exception that leaves this module, and no line that is logged below it, holds a word of a message, of an answer or of
the key: what the HTTP library raises ends here, as a :class:`~lacre.engine.tries.Broken` in our own words.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import NoReturn, Self, TypeAlias, assert_never

import httpx2
import stamina

from lacre.engine.dialects import Request, key_header, sent_settings
from lacre.engine.keys import Key
from lacre.engine.limits import GateClosedError, Pace
from lacre.engine.readings import reading
from lacre.engine.replies import (
    TRANSIENT,
    Answered,
    Cause,
    Delivery,
    Failed,
    Refused,
    Reply,
    Truncated,
)
from lacre.engine.tries import Broken, Limited, Reading, Said, Stopped
from lacre.registry.columns import Column
from lacre.registry.records import Record

MOST_BYTES = 4 << 20
"""Bytes of an answer that are read; no answer of a model is as long as that."""

CONNECT_SECONDS = 15.0

# stamina tells of every retry through logging; without a handler of its own that would land on stderr.
logging.getLogger("stamina").addHandler(logging.NullHandler())
# It logs the headers of every answer, and a server may repeat there what it was asked.
logging.getLogger("httpcore2").setLevel(logging.WARNING)


SHORTEST_KEY = 8  # characters; no vendor's key is shorter, and a shorter one may be a word of the answer


class Patience(Record):
    """How often and how long to try.

    Attributes:
        attempts: tries for one question.
        first_wait, longest_wait: seconds between tries, doubled each time, with up to ``jitter`` more.
        limit_wait: seconds that one question may wait for rate limits in all; they take no try.
        blind_wait: seconds to wait at a 429 that says nothing, doubled each time.
    """

    attempts: int = 5
    first_wait: float = 0.5
    longest_wait: float = 30.0
    jitter: float = 1.0
    limit_wait: float = 900.0
    blind_wait: float = 2.0


class Halt(Record, tag="halt"):
    """The column is to be stopped, and why; nothing of the question or the key is in it."""

    reason: str
    detail: str
    parameter: str | None = None
    lost: int = 0
    """Tries before the one that stopped it, which may have been billed."""


Gate: TypeAlias = Callable[[], Awaitable[float]]
"""Waits for a turn before each request, and gives the seconds it took; raises to prevent the request."""


class TransientError(Exception):
    """A try that another may heal; it carries no text of the server's."""

    def __init__(self, broken: Broken) -> None:
        super().__init__(broken.cause)
        self.broken = broken


@dataclass(slots=True)
class _Tally:
    """What the tries of one question add up to."""

    attempts: int = 0
    lost: int = 0
    waited: float = 0.0
    latency: float = 0.0
    status: int | None = None
    model: str | None = None
    last: Broken | None = None

    def delivery(self) -> Delivery:
        """As it goes into the reply."""
        return Delivery(
            status=self.status,
            attempts=self.attempts,
            lost=self.lost,
            latency=round(self.latency, 4),
            waited=round(self.waited, 3),
            model=self.model,
        )


class Client:
    """The connections to one column, with its key, its pace and its patience."""

    def __init__(
        self,
        card: Column,
        key: Key | None,
        *,
        patience: Patience,
        pace: Pace,
        unstored: bool = False,
    ) -> None:
        self.card = card
        self.under_way = 0
        """Requests that were sent and have no answer yet; after an interrupt, those that were given up."""
        self._headers = key_header(card.dialect, key)
        self._secret = key.reveal().encode() if key is not None else b""
        self._patience = patience
        self._pace = pace
        self._sent = tuple(sent_settings(card, unstored=unstored))
        # Certificates take longer to load than a local server to answer; without TLS none is used.
        self._verify = httpx2.create_ssl_context() if card.endpoint.startswith("https://") else False
        self._all: list[httpx2.AsyncClient] = []
        self._idle: list[httpx2.AsyncClient] = []

    async def __aenter__(self) -> Self:
        """The client itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close its connections."""
        for connection in self._all:
            await connection.aclose()

    async def ask(self, request: Request, gate: Gate) -> Reply | Halt:
        """What became of a question, after all tries; a halt when the column is to be stopped."""
        tally = _Tally()
        patience = self._patience
        outcome: Reading | None = None
        try:
            async for attempt in stamina.retry_context(
                on=_another_try,
                attempts=patience.attempts,
                timeout=None,
                wait_initial=patience.first_wait,
                wait_max=patience.longest_wait,
                wait_jitter=patience.jitter,
            ):
                with attempt:
                    outcome = await self._try(request, gate, tally)
        except TransientError as error:
            outcome = error.broken
        assert outcome is not None
        return _reply(outcome, tally)

    async def _try(self, request: Request, gate: Gate, tally: _Tally) -> Reading:
        """One try; rate limits are waited for within it.

        Raises:
            TransientError: another try may heal it.
        """
        patience = self._patience
        limits = 0
        limited = 0.0
        while True:
            try:
                tally.waited += await gate()
            except GateClosedError:
                if tally.last is None:
                    raise
                # What was sent before may have been billed: it must not be forgotten.
                return tally.last
            found = await self._send(request, tally)
            if not isinstance(found, Limited):
                break
            wait = found.wait if found.wait is not None else patience.blind_wait * 2**limits
            limits += 1
            if limited + wait > patience.limit_wait:
                return Stopped(reason="wait", detail=f"its rate limit asks for a wait of {wait:.0f} seconds")
            # A server that says "0" is not to be hammered.
            wait = max(wait, min(0.05, patience.blind_wait))
            self._pace.pause(wait)
            limited += wait
        if isinstance(found, Broken) and found.cause in TRANSIENT:
            if found.wait is not None:
                found_wait = min(found.wait, patience.limit_wait)
                self._pace.pause(found_wait)
            tally.last = found
            raise TransientError(found)
        return found

    async def _send(self, request: Request, tally: _Tally) -> Reading:
        """Send once, and read what comes, within the time of one try."""
        tally.attempts += 1
        tally.status = None
        # Not in a `finally`: what an interrupt cuts off stays counted, for it may be billed.
        self.under_way += 1
        begun = time.perf_counter()
        found: Reading
        try:
            async with asyncio.timeout(self.card.timeout):
                found = await self._exchange(request, tally)
        except TimeoutError:
            found = Broken(cause="timeout", detail=f"no whole answer within {self.card.timeout} seconds")
        except httpx2.TimeoutException as error:
            lost_in = "connection" if isinstance(error, httpx2.ConnectTimeout) else "answer"
            found = Broken(cause="timeout", detail=f"no {lost_in} in time")
        except httpx2.ConnectError:
            found = Broken(cause="connection", detail="no connection could be made")
        except httpx2.InvalidURL:
            found = Stopped(reason="endpoint", detail="the endpoint on its card is no address")
        except httpx2.HTTPError as error:
            found = Broken(cause="connection", detail=f"the connection broke ({type(error).__name__})")
        self.under_way -= 1
        tally.latency = time.perf_counter() - begun
        if isinstance(found, Broken) and _maybe_billed(found, tally.status):
            tally.lost += 1
        if isinstance(found, Said | Broken):
            tally.model = found.model
        return found

    def _connection(self) -> httpx2.AsyncClient:
        """A client that nobody uses now, for one connection: a shared pool polls all its idle ones each time."""
        if self._idle:
            return self._idle.pop()
        made = httpx2.AsyncClient(
            timeout=httpx2.Timeout(self.card.timeout, connect=CONNECT_SECONDS),
            limits=httpx2.Limits(max_connections=1, max_keepalive_connections=1),
            follow_redirects=False,
            verify=self._verify,
        )
        self._all.append(made)
        return made

    async def _exchange(self, request: Request, tally: _Tally) -> Reading:
        """One request and its answer, on a connection of its own."""
        connection = self._connection()
        try:
            return await self._transfer(connection, request, tally)
        finally:
            self._idle.append(connection)

    async def _transfer(self, connection: httpx2.AsyncClient, request: Request, tally: _Tally) -> Reading:
        async with connection.stream(
            "POST", request.url, headers={**request.headers, **self._headers}, content=request.body
        ) as response:
            tally.status = response.status_code
            body = bytearray()
            # Closed by us also where it is not read to its end, or the collector would close it at some later time.
            async with aclosing(response.aiter_bytes()) as pieces:
                async for piece in pieces:
                    body += piece
                    if len(body) > MOST_BYTES:
                        what = f"the answer is longer than {MOST_BYTES >> 20} MB"
                        return Broken(cause="too_large", detail=what)
            return reading(
                self.card.dialect,
                response.status_code,
                response.headers,
                self._without_key(bytes(body)),
                now=datetime.now(UTC),
                sent=self._sent,
            )

    def _without_key(self, body: bytes) -> bytes:
        """An answer with our own key struck out, should the server have sent it back: replies go to disk."""
        if len(self._secret) < SHORTEST_KEY or self._secret not in body:
            return body
        return body.replace(self._secret, b"[key struck out]")


def _another_try(error: Exception) -> bool:
    return isinstance(error, TransientError)


_NEVER_BILLED: frozenset[Cause] = frozenset({"server", "rejected"})


def _maybe_billed(broken: Broken, status: int | None) -> bool:
    """Whether an attempt without an answer may have cost money all the same."""
    if broken.usage.output is not None or broken.cause in _NEVER_BILLED:
        return False
    return not (status is None and broken.detail == "no connection could be made")


def _reply(found: Reading, tally: _Tally) -> Reply | Halt:
    """A reading with its delivery, as the record that goes into the journal."""
    delivery = tally.delivery()
    match found:
        case Said(kind="refused"):
            return Refused(
                text=found.text, finish=found.finish, raw_finish=found.raw_finish, delivery=delivery,
                usage=found.usage,
            )  # fmt: skip
        case Said(kind="truncated"):
            return Truncated(
                text=found.text, finish=found.finish, raw_finish=found.raw_finish, delivery=delivery,
                usage=found.usage,
            )  # fmt: skip
        case Said():
            return Answered(
                text=found.text, finish=found.finish, raw_finish=found.raw_finish, delivery=delivery,
                usage=found.usage,
            )  # fmt: skip
        case Broken():
            return Failed(
                cause=found.cause, detail=found.detail, delivery=delivery, finish=found.finish,
                raw_finish=found.raw_finish, usage=found.usage,
            )  # fmt: skip
        case Stopped():
            return Halt(reason=found.reason, detail=found.detail, parameter=found.parameter, lost=tally.lost)
        case Limited():
            _unreachable()
        case _:
            assert_never(found)


def _unreachable() -> NoReturn:
    raise AssertionError("a rate limit is waited for, never a reply")
