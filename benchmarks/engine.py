"""Speed and memory of the engine: one JSON line, every figure from this one run.

A local server answers after a fixed latency. The same requests go through a bare httpx2 loop, which writes
nothing and retries nothing, and through a whole run with its synced journal. Rates are requests per second of
wall time, the better of ``--times``; the ideal is connections divided by latency. Ratios are what to quote.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx2

from lacre.engine.dialects import request_of
from lacre.engine.journal import FileSink
from lacre.engine.messages import read_templates
from lacre.engine.plans import Chain, Question, Repetitions, RunRecord, compose, items_digest
from lacre.engine.runs import Run
from lacre.registry.columns import Column
from lacre.registry.items import Payload

CONNECTIONS = 64


@contextmanager
def server(latency: float) -> Iterator[str]:
    """The address of a server in a process of its own; ``latency`` in milliseconds."""
    command = [sys.executable, "-m", "tests.engine.server", "--latency", str(latency), "--answer", "Letra B."]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            yield child.stdout.readline().strip()
        finally:
            child.terminate()


def questions(count: int) -> tuple[Question, ...]:
    """Made-up items of the length of an exam's."""
    stem = "Considere o texto sobre a feira e diga qual das afirmações o resume melhor. " * 6
    options = {letter: f"Afirmação {letter} sobre a feira da praça." for letter in "ABCDE"}
    return tuple(
        Question(
            id=f"q{number:06}",
            payload=Payload(kind="choice", stem=f"{number}. {stem}", options=options, key="B"),
        )
        for number in range(count)
    )


def column(address: str) -> Column:
    """The card of the local server."""
    return Column(
        id="local", model="local", vendor="local", family="local", dialect="openai",
        endpoint=f"{address}/v1", cap=100, concurrency=CONNECTIONS, timeout=60,
    )  # fmt: skip


def record(asked: tuple[Question, ...], card: Column) -> RunRecord:
    """A run over these questions."""
    return RunRecord(
        id="bench", stage="answers", source="bench", created="", version="0", columns=(card,),
        templates=tuple(read_templates(None).values()), items=len(asked), items_sha256=items_digest(asked),
        repetitions=Repetitions(),
    )  # fmt: skip


def engine(asked: tuple[Question, ...], card: Column, folder: Path) -> float:
    """Requests per second of a whole run."""
    sink = FileSink(folder / "journal.jsonl")
    run = Run(
        record=record(asked, card), questions=asked, cards=[card], keys={}, sink=sink,
        now=lambda: datetime.now(UTC),
    )  # fmt: skip
    begun = time.perf_counter()
    state = run.work()
    took = time.perf_counter() - begun
    sink.close()
    assert state.columns[0].answered == len(asked)
    return len(asked) / took


def bare(asked: tuple[Question, ...], card: Column) -> float:
    """Requests per second of a loop that only sends and receives."""
    begun_record = record(asked, card)
    requests = [
        request_of(
            card, compose(begun_record, card, Chain(column="local", question=one, repetition=1), None, ())
        )
        for one in asked
    ]

    async def work() -> float:
        limits = httpx2.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS)
        async with httpx2.AsyncClient(limits=limits, timeout=60, verify=False) as client:
            rest = iter(requests)

            async def worker() -> None:
                for request in rest:
                    answer = await client.post(request.url, content=request.body, headers=request.headers)
                    assert answer.status_code == 200

            begun = time.perf_counter()
            await asyncio.gather(*(worker() for _ in range(CONNECTIONS)))
            return len(requests) / (time.perf_counter() - begun)

    return asyncio.run(work())


def measured(latency: float, count: int, times: int) -> dict[str, float | None]:
    """Both, turn by turn against one server, the better of each."""
    asked = questions(count)
    loop = run = 0.0
    with server(latency) as address, tempfile.TemporaryDirectory() as name:
        card = column(address)
        for turn in range(times):
            loop = max(loop, bare(asked, card))
            folder = Path(name) / str(turn)
            run = max(run, engine(asked, card, folder))
    ideal = CONNECTIONS / (latency / 1000) if latency else None
    return {
        "bare": round(loop, 1),
        "engine": round(run, 1),
        "engine_over_bare": round(run / loop, 3),
        "ideal": None if ideal is None else round(ideal, 1),
        "engine_over_ideal": None if ideal is None else round(run / ideal, 3),
    }


def peak(count: int) -> float:
    """Megabytes that a run over so many items adds at its peak to what the items themselves take."""
    code = (
        "import sys, tempfile\n"
        "from pathlib import Path\n"
        "from benchmarks.engine import column, engine, questions, resident\n"
        "asked = questions(int(sys.argv[2]))\n"
        "before = resident('VmRSS')\n"
        "with tempfile.TemporaryDirectory() as name:\n"
        "    engine(asked, column(sys.argv[1]), Path(name))\n"
        "print(resident('VmHWM') - before)\n"
    )
    with server(0) as address:
        done = subprocess.run(
            [sys.executable, "-c", code, address, str(count)], capture_output=True, text=True, check=True
        )
    return float(done.stdout)


def resident(name: str) -> float:
    """A figure of this process's memory, in megabytes."""
    status = Path("/proc/self/status").read_text(encoding="ascii").split("\n")
    return next(int(line.split()[1]) for line in status if line.startswith(name)) / 1e3


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=2_000)
    parser.add_argument("--times", type=int, default=2)
    parser.add_argument("--latency", type=float, nargs="*", default=[0, 200, 2_000], help="milliseconds")
    parser.add_argument("--items", type=int, nargs=2, default=[2_000, 20_000], help="for the memory figures")
    arguments = parser.parse_args()
    result: dict[str, object] = {"requests": arguments.requests, "connections": CONNECTIONS}
    for latency in arguments.latency:
        times = 1 if latency >= 1_000 else arguments.times
        result[f"{latency:g}_ms"] = measured(latency, arguments.requests, times)
    small, large = (peak(count) for count in arguments.items)
    result["added_megabytes"] = {
        f"{n}_items": round(m, 1) for n, m in zip(arguments.items, (small, large), strict=True)
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
