"""The journal of a run: one line for every reply, on disk before it counts; and where its lines go.

Where they go is the caller's choice. A run is given a :class:`Sink`, opened and held by whoever made it, and uses three
functions of it: ``lines()`` once, before the first question, to read back what earlier sessions left; ``append()`` for
every batch of lines, which must be safe when it returns; and nothing else (who opened it closes it). A line is one
:class:`Entry` in JSON with its line end, and holds the column's text: a sink that must hide it encrypts whole lines.
:class:`FileSink` is the sink of an ordinary run's folder; :func:`settled` reads any sink's lines back.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

import msgspec

from lacre import jsonl
from lacre.engine.replies import Reply
from lacre.errors import Fault, IncompleteError, InputError, LacreError, RecordError, remedy, sentence
from lacre.registry.records import Record


class Task(NamedTuple):
    """One question to one column; ``part`` of an open item, "" when it has none; repetitions from 1."""

    column: str
    item: str
    repetition: int
    part: str = ""


class Replied(Record, tag="reply"):
    """What became of one task. A later line for the same task takes the place of an earlier one.

    Attributes:
        message: the SHA-256 of the message.
        incomplete: an earlier part of the item has no answer of the column's own.
        sweep: asked again at the end, for it had failed.
        when: UTC, ISO 8601.
        held: dollars that the budget holds for attempts that told no tokens.
    """

    column: str
    item: str
    repetition: int
    message: str
    when: str
    reply: Reply
    part: str = ""
    incomplete: bool = False
    sweep: bool = False
    held: str | None = None

    @property
    def task(self) -> Task:
        """Which question this answers."""
        return Task(self.column, self.item, self.repetition, self.part)


class Halted(Record, tag="halt"):
    """A column was stopped: nothing more was asked of it until somebody resumed the run."""

    column: str
    when: str
    reason: str
    detail: str
    parameter: str | None = None


class SetAside(Record, tag="set_aside"):
    """What requests of a column may cost besides those of which a reply tells. The last line of a session counts.

    Attributes:
        session: which session of the column on this run, from 1.
        dollars, requests: at most so much, for at most so many requests.
    """

    column: str
    session: int
    when: str
    dollars: str
    requests: int


Entry: TypeAlias = Replied | Halted | SetAside

_DECODER: msgspec.json.Decoder[Entry] = msgspec.json.Decoder(Entry)


class Sink(Protocol):
    """Where the lines of a journal go: a file of the run's folder, or the vault for a sealed run.

    ``append`` is called in a thread of its own, never by two at a time. None of its errors may quote a line.
    """

    def append(self, lines: Sequence[bytes]) -> None:
        """Add lines, each with its line end; they are on disk when this returns.

        Raises:
            OSError: they are not, and none of them is; the run stops with a clear line and can be resumed.
            LacreError: likewise, with a line of its own.
        """

    def lines(self) -> Iterator[bytes]:
        """The lines that are there, in order, as they were added."""

    def close(self) -> None:
        """Let go of it."""


class FileSink:
    """A journal in a file, held by one process at a time.

    A line that a crash cut short was never counted: it is taken away when the file is opened, and
    ``torn`` says how many bytes it had.

    Raises:
        InputError: the file cannot be written, or another process holds it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise InputError(
                path, f"cannot be written ({error.strerror})", "Choose a folder that can"
            ) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise InputError(
                path, "another process works on this run", "Wait for it, or stop it first"
            ) from None
        self.torn = self._trim()
        self._size = os.fstat(self._file).st_size
        jsonl.sync_folder(path.parent)

    def append(self, lines: Sequence[bytes]) -> None:
        """Add lines; they are on disk when this returns."""
        content = memoryview(b"".join(lines))
        try:
            while content:
                content = content[os.write(self._file, content) :]
            os.fsync(self._file)
        except OSError:
            # What was half written was never counted; without this the next line would hang on it.
            os.ftruncate(self._file, self._size)
            raise
        self._size = os.fstat(self._file).st_size

    def lines(self) -> Iterator[bytes]:
        """The lines that are there, in order."""
        return _lines(self.path)

    def close(self) -> None:
        """Let go of the file, and of the lock on it."""
        os.close(self._file)

    def _trim(self) -> int:
        """Take a line without an end away; its bytes."""
        size = os.fstat(self._file).st_size
        end = size
        while end:
            start = max(0, end - (1 << 16))
            block = os.pread(self._file, end - start, start)
            if (found := block.rfind(b"\n")) >= 0:
                end = start + found + 1
                break
            end = start
        if end < size:
            os.ftruncate(self._file, end)
            os.fsync(self._file)
        return size - end


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield line


def read_journal(path: Path) -> Iterator[Entry]:
    """The entries of a journal file, read without holding it; a line that is being written is left out.

    Raises:
        InputError: the file is missing or may not be read.
        RecordError: a line is no entry; the first one is named.
    """
    if not path.exists():
        raise InputError(path, "no such file", "Check the path of the run")
    return entries(_lines(path), path)


def entries(lines: Iterable[bytes], where: str | Path) -> Iterator[Entry]:
    """The entries of a journal's lines.

    Raises:
        RecordError: a line is no entry. Its text is not quoted.
    """
    for number, line in enumerate(lines, 1):
        entry = _entry(line)
        if entry is None:
            # Raised out here: an error that hangs on the decoder's would carry the line along.
            raise RecordError(
                where, [Fault(number, "is no entry of a journal", "Restore the file from a copy")]
            )
        yield entry


def _entry(line: bytes) -> Entry | None:
    try:
        return _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def settled(journal: Iterable[Entry]) -> dict[Task, Replied]:
    """The reply that holds for each task: the last one."""
    return {entry.task: entry for entry in journal if isinstance(entry, Replied)}


class Journal:
    """Adds entries to a sink; those that wait at the same time share one write and one sync.

    ``where`` names the sink in a message, ``todo`` says how to go on after one.
    """

    def __init__(self, sink: Sink, *, where: str = "journal", todo: str = "resume the run") -> None:
        self._sink = sink
        self._where = where
        self._todo = todo
        self._waiting: list[tuple[bytes, asyncio.Future[None]]] = []
        self._writer: asyncio.Task[None] | None = None

    def add(self, entry: Entry) -> asyncio.Future[None]:
        """Take an entry, and give what is done when it is on disk.

        The entry is taken before this returns, so that a reply that came is written even when the run is being
        interrupted or another reply could not be written; :meth:`close` sees to it. Await the future shielded.

        Raises:
            IncompleteError: (the future) the disk is full, or the like. What was added before is kept.
            LacreError: (the future) the sink's own.
        """
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((jsonl.encode(entry, composed=False), done))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())
        return done

    async def close(self) -> None:
        """Write what still waits."""
        while self._writer is not None and not self._writer.done():
            await asyncio.shield(self._writer)
        if self._writer is not None:
            self._writer.result()

    async def _write(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                await asyncio.to_thread(self._sink.append, [line for line, _ in batch])
            except (OSError, LacreError) as error:
                for _, done in batch:
                    if not done.done():
                        done.set_exception(self._unwritten(error) if isinstance(error, OSError) else error)
                        # Whoever waited may have been cancelled; the error is the run's all the same.
                        done.exception()
                continue
            except BaseException:
                # A fault of the sink's own code: nobody may wait for ever, and close() raises it.
                for _, done in (*batch, *self._waiting):
                    done.cancel()
                self._waiting = []
                raise
            for _, done in batch:
                if not done.done():
                    done.set_result(None)

    def _unwritten(self, error: OSError) -> IncompleteError:
        what = f"a reply could not be written ({error.strerror}). What was written before is kept"
        return IncompleteError(sentence(self._where, what, f"{remedy(error)}, then {self._todo}"))
