"""By hand: ``python -m tests.engine.server``. Answers the example benchmark in all five classes.

It prints its address, then serves until it is interrupted. What it answers depends on the message alone, so
that two runs get the same answers.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import os
import re
import sys

from tests.engine.server.acts import Act, Limit, Say, Script, Seen, Send, always
from tests.engine.server.wire import Server

_OPTION = re.compile(r"^([A-Z])\) ", re.MULTILINE)


def mixed(seen: Seen) -> Act:
    """Letters, abstentions, refusals and failures, by the digest of the message."""
    digest = hashlib.sha256(seen.text.encode()).digest()
    letters = _OPTION.findall(seen.text)
    kind, pick = digest[0] % 12, digest[1]
    confidence = f"\nConfiança: {digest[2] % 101}"
    if kind == 0:
        return Say(text="Não sei." + confidence)
    if kind == 1:
        return Say(
            text=None, finish={"anthropic": "refusal", "gemini": "SAFETY"}.get(seen.shape, "content_filter")
        )
    if kind == 2:
        return Send(status=200, body=b"<html>502</html>", kind="text/html")
    if not letters:
        return Say(text="Porque a lei assim o diz, e o costume também." + confidence)
    return Say(text=f"Alternativa {letters[pick % len(letters)]}." + confidence, reasoning=digest[3])


def limited(script: Script, every: int) -> Script:
    """``script``, with a rate limit on every so many requests."""
    count = 0

    def choose(seen: Seen) -> Act:
        nonlocal count
        count += 1
        return Limit({"retry-after-ms": "100"}) if count % every == 0 else script(seen)

    return choose


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="milliseconds")
    parser.add_argument("--answer", help="the same text for every question")
    parser.add_argument("--limit-every", type=int, default=0, help="a 429 on every so many requests")
    arguments = parser.parse_args()
    script: Script = mixed if arguments.answer is None else always(Say(text=arguments.answer))
    if arguments.limit_every:
        script = limited(script, arguments.limit_every)
    server = Server(script, latency=arguments.latency / 1000, port=arguments.port, keep=False)

    async def serve() -> None:
        task = asyncio.create_task(server.serve())
        while not server.port and not task.done():
            await asyncio.sleep(0.01)
        if task.done():
            await task
        print(server.url, flush=True)
        await task

    try:
        asyncio.run(serve())
    except OSError as error:
        taken = os.strerror(error.errno or 0)
        sys.exit(f"port {arguments.port}: {taken}. Choose another, or leave --port out for a free one.")
    except KeyboardInterrupt:
        print(f"{server.requests} requests")


if __name__ == "__main__":
    main()
