"""The server itself: HTTP/1.1 over asyncio streams, in a thread of its own."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self, assert_never

import msgspec
from tests.engine.server.acts import Act, Drop, Hang, Limit, Reset, Say, Script, Seen, Send, Trickle, answer


class Server:
    """A scripted server on a free port of 127.0.0.1, as a context manager.

    ``seen`` holds what came in, in order; ``busiest`` the most requests that were under way at one time.
    """

    def __init__(self, script: Script, *, latency: float = 0.0, port: int = 0, keep: bool = True) -> None:
        self.script = script
        self.latency = latency
        self.seen: list[Seen] = []
        self.requests = 0
        self.busiest = self._busy = 0
        self._port = port
        self._keep = keep
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._open: set[asyncio.Task[None]] = set()
        self.port = 0

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return f"http://127.0.0.1:{self.port}"

    def endpoint(self, dialect: str) -> str:
        """The endpoint that a card of this dialect names."""
        return self.url + {"openai": "/v1", "completions": "/v1", "maritaca": "/api"}.get(dialect, "")

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self.serve())
        self._loop.close()

    async def serve(self) -> None:
        """Serve until told to stop."""
        self._stop = asyncio.Event()
        server = await asyncio.start_server(
            self._connection, "127.0.0.1", self._port, limit=1 << 24, backlog=512
        )
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while (seen := await _request(reader)) is not None:
                    self._busy += 1
                    self.requests += 1
                    self.busiest = max(self.busiest, self._busy)
                    try:
                        if not await self._respond(seen, writer):
                            break
                    finally:
                        self._busy -= 1
        finally:
            self._open.discard(task)
            writer.close()

    async def _respond(self, seen: Seen, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether the connection stays."""
        if self._keep:
            self.seen.append(seen)
        act = self.script(seen)
        if self.latency:
            await asyncio.sleep(self.latency)
        return await _perform(act, seen, writer)


async def _perform(act: Act, seen: Seen, writer: asyncio.StreamWriter) -> bool:
    match act:
        case Say():
            await _write(writer, Send(body=answer(seen, act)))
        case Send():
            await _write(writer, act)
            return act.length is None
        case Limit():
            body = msgspec.json.encode({"error": {"type": "rate_limit_error", "message": "slow down"}})
            await _write(writer, Send(status=429, headers=act.headers, body=body))
        case Hang():
            await asyncio.sleep(act.seconds)
            return False
        case Trickle():
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % act.bytes)
            for _ in range(act.bytes):
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(act.pause)
        case Reset():
            connection = writer.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        case Drop():
            return False
        case _:
            assert_never(act)
    return True


async def _request(reader: asyncio.StreamReader) -> Seen | None:
    """The next request of a connection, none at its end."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    headers: Mapping[str, str] = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in lines if line)
    }
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    return Seen(
        path=first.split(" ")[1], headers=headers, body=msgspec.json.decode(raw) if raw else None, raw=raw
    )


async def _write(writer: asyncio.StreamWriter, send: Send) -> None:
    length = len(send.body) if send.length is None else send.length
    lines = [
        f"HTTP/1.1 {send.status} Whatever",
        f"content-type: {send.kind}",
        f"content-length: {length}",
        *(f"{name}: {value}" for name, value in send.headers.items()),
    ]
    writer.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + send.body)
    await writer.drain()
