"""Who reads the shards: threads of this process, processes of this machine, or the workers of a Dask cluster.

Whoever it is, a shard's result is the same, and so is the sum of them. The items' index is sent once to every worker.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import queue
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Protocol

import msgspec

from lacre.corpora.batches import Shard
from lacre.errors import LacreError
from lacre.overlap.index import ItemIndex
from lacre.vetting.progress import Tally
from lacre.vetting.shards import ShardResult, Stopped, scan_shard, unreached

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event

DEATHS = 3
"""Workers that may die over one shard before it is given up: a shard that kills its reader would kill them all."""


class Crew(Protocol):
    """Those who read shards past one index."""

    def begin(self, index: ItemIndex, align_from: float, tally: Tally) -> None:
        """Take the index, and count what is read in ``tally``."""

    def submit(self, shard: Shard) -> Future[ShardResult]:
        """The result of a shard, when there is one. A shard over which workers die has a ``failure``."""

    def abandon(self) -> None:
        """Stop: what is being read ends at its next batch, and nothing else begins."""


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """A shard that cannot be read as the person asked: the message for them. An exception may not survive a journey."""

    message: str


class Read(msgspec.Struct, frozen=True, tag="read"):
    """A shard that was read."""

    result: ShardResult


Answer = Read | Refused
_ANSWERS: msgspec.msgpack.Decoder[Answer] = msgspec.msgpack.Decoder(Answer)


def answer(index: ItemIndex, shard: Shard, align_from: float, is_stopped: Callable[[], bool]) -> bytes:
    """A shard's result, or the refusal, as bytes for the way back from another process."""
    given: Answer
    try:
        given = Read(scan_shard(index, shard, align_from, is_stopped=is_stopped))
    except LacreError as error:
        given = Refused(str(error))
    return msgspec.msgpack.encode(given)


def opened_answer(content: bytes, shard: Shard, tally: Tally) -> ShardResult:
    """The result in an answer, counted.

    Raises:
        LacreError: it is a refusal.
    """
    given = _ANSWERS.decode(content)
    match given:
        case Refused(message):
            raise LacreError(message)
        case Read(result):
            tally.add(result.reading.bytes, sum(part.documents for part in result.found))
            tally.done(shard, result.reading.bytes)
            return result


class Threads:
    """Threads of this process. The kernel lets go of the interpreter's lock, so that they work at the same time."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._stop = threading.Event()

    def begin(self, index: ItemIndex, align_from: float, tally: Tally) -> None:
        """Take the index."""
        self._index, self._align_from, self._tally = index, align_from, tally

    def submit(self, shard: Shard) -> Future[ShardResult]:
        """The result of a shard."""
        return self._executor.submit(self._work, shard)

    def _work(self, shard: Shard) -> ShardResult:
        result = scan_shard(
            self._index,
            shard,
            self._align_from,
            is_stopped=self._stop.is_set,
            on_batch=self._tally.add,
        )
        self._tally.done(shard, result.reading.bytes)
        return result

    def abandon(self) -> None:
        """Stop at the next batch."""
        self._stop.set()


class Processes:
    """Processes of this machine. One that dies costs the shard that it was reading, which another reads again.

    Nothing that is sent to them touches the disk. Use as a context: they end with it, and with this process.
    """

    def __init__(self, workers: int) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._stop: Event = self._context.Event()
        self._keepers = ThreadPoolExecutor(workers)
        self._idle: queue.SimpleQueue[ProcessPoolExecutor] = queue.SimpleQueue()
        self._workers = workers
        self._payload = b""

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self.abandon()
        self._keepers.shutdown(cancel_futures=True)
        while not self._idle.empty():
            self._idle.get().shutdown()

    def begin(self, index: ItemIndex, align_from: float, tally: Tally) -> None:
        """Take the index; every process gets it when it starts."""
        self._payload = pickle.dumps((index, align_from), pickle.HIGHEST_PROTOCOL)
        self._tally = tally
        for _ in range(self._workers):
            self._idle.put(self._started())

    def _started(self) -> ProcessPoolExecutor:
        """One worker. Each is a pool of its own: in a common pool the death of one ends the work of all."""
        return ProcessPoolExecutor(
            1, mp_context=self._context, initializer=_settle_in, initargs=(self._payload, self._stop)
        )

    def submit(self, shard: Shard) -> Future[ShardResult]:
        """The result of a shard."""
        return self._keepers.submit(self._work, shard)

    def _work(self, shard: Shard) -> ShardResult:
        for _ in range(DEATHS):
            worker = self._idle.get()
            try:
                content = worker.submit(_work, shard).result()
            except BrokenProcessPool:
                worker.shutdown(wait=False)
                if self._stop.is_set():
                    raise Stopped from None
                worker = self._started()
                continue
            finally:
                self._idle.put(worker)
            return opened_answer(content, shard, self._tally)
        return unreached(shard, f"{DEATHS} workers in a row died over it")

    def abandon(self) -> None:
        """Stop at the next batch."""
        self._stop.set()


class _Seat:
    """What a worker process holds."""

    index: ItemIndex
    align_from: float
    stop: Event


def _settle_in(payload: bytes, stop: Event) -> None:
    """Make a fresh process ready: it takes the index, leaves Ctrl-C to its parent, and ends when that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, daemon=True).start()
    _Seat.index, _Seat.align_from = pickle.loads(payload)  # noqa: S301 - from our own parent, by a pipe
    _Seat.stop = stop


def _follow_parent() -> None:
    """End with the parent, however it ends: a pool's worker would wait for its next task for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(shard: Shard) -> bytes:
    return answer(_Seat.index, shard, _Seat.align_from, _Seat.stop.is_set)
