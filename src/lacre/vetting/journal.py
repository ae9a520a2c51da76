"""The journal of a scan: one line for every shard that was read to its end, so that a scan can be taken up again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

import lacre
from lacre import jsonl, text
from lacre.digest import sha256
from lacre.engine.journal import FileSink, Sink
from lacre.errors import Fault, InputError, RecordError
from lacre.overlap.index import ItemIndex
from lacre.registry.items import Candidate
from lacre.registry.records import Record
from lacre.registry.rules import VettingRules
from lacre.vetting.shards import ShardResult

NAME = "vetting.journal"
"""The journal's file, in the folder of the results. It quotes the items, as they do."""


class Stamp(Record, tag="scan"):
    """What the lines of a journal hold for: these items, in this order, under these rules, by this program.

    ``sentences``: which sentence of each item is its rarest, which the frequencies of an index may change.
    """

    items: str
    rules: str
    sentences: str
    words: str
    version: str


class Line(Record, tag="shard"):
    """A shard that was read to its end."""

    key: str
    result: ShardResult


_DECODER: msgspec.json.Decoder[Stamp | Line] = msgspec.json.Decoder(Stamp | Line)


def stamp(items: Sequence[Candidate], rules: VettingRules, index: ItemIndex) -> Stamp:
    """The stamp of a scan of ``items``, of which ``index`` is made."""
    sentences = [None if s is None else (s.first, s.last) for s in index.sentences]
    return Stamp(
        items=sha256(msgspec.json.encode(items)),
        rules=sha256(msgspec.json.encode(rules)),
        sentences=sha256(msgspec.json.encode(sentences)),
        words=text.VERSION,
        version=lacre.__version__,
    )


class JournalFile:
    """A journal's file, made when the first line comes: a scan that reads nothing leaves nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sink: FileSink | None = FileSink(path) if path.exists() else None

    def append(self, lines: Sequence[bytes]) -> None:
        """Add lines; they are on disk when this returns.

        Raises:
            OSError: none of them is.
        """
        if self._sink is None:
            self._sink = FileSink(self.path)
        self._sink.append(lines)

    def lines(self) -> Iterator[bytes]:
        """The lines that are there, in order."""
        return self._sink.lines() if self._sink else iter(())

    def close(self) -> None:
        """Let go of the file."""
        if self._sink is not None:
            self._sink.close()


def is_begun(path: Path) -> bool:
    """Whether a journal at ``path`` holds any shard."""
    try:
        with path.open("rb") as file:
            return len(file.readlines(1 << 20)) > 1
    except OSError:
        return False


class Journal:
    """The journal of one scan, over whatever keeps its lines.

    Raises:
        InputError: it was written for other items or rules, or by another version.
    """

    def __init__(self, sink: Sink, ours: Stamp, on_trouble: Callable[[str], None] = lambda _: None) -> None:
        self._sink = sink
        self._where = getattr(sink, "path", "journal")
        self._on_trouble = on_trouble
        self._stamp: list[bytes] = []
        self._waiting: list[bytes] = []
        self._said = False
        self.added = 0
        first = next((entry for _, entry in self._entries()), None)
        if first is None:
            self._stamp.append(jsonl.encode(ours))
        elif first != ours:
            raise InputError(
                self._where,
                f"the unfinished vetting was of other {_difference(first, ours)}",
                "Vet what it was begun with, or remove this file and begin anew",
            )

    def results(self) -> Iterator[Line]:
        """The shards that are done. A line that is damaged is of no use, and said: its shard is read again."""
        damaged = []
        for number, entry in self._entries():
            if isinstance(entry, Line):
                yield entry
            elif entry is None:
                damaged.append(number)
        if damaged:
            one = len(damaged) == 1
            what = f"line {damaged[0]:,} is" if one else f"{len(damaged):,} lines are"
            self._on_trouble(
                f"{self._where}: {what} damaged: what {'it' if one else 'they'} held is read again"
            )

    def _entries(self) -> Iterator[tuple[int, Stamp | Line | None]]:
        """The lines by their numbers, none for one that is damaged.

        Raises:
            RecordError: the first is, so that nobody can tell what the others are of. Its text is not quoted.
        """
        for number, line in enumerate(self._sink.lines(), 1):
            entry = _entry(line)
            if entry is None and number == 1:
                todo = "Remove the file and begin anew"
                raise RecordError(self._where, [Fault(number, "is no line of a vetting's journal", todo)])
            yield number, entry

    def add(self, key: str, result: ShardResult) -> None:
        """Keep a shard. What cannot be written now is said once, and tried again with the next shard."""
        line = jsonl.encode(Line(key=key, result=result), composed=False)
        self.added += 1
        waiting = [line]
        try:
            # By itself first: where there is little room a small shard is kept though a large one was not.
            self._sink.append([*self._stamp, line])
            self._stamp.clear()
            waiting = []
            if self._waiting:
                self._sink.append(self._waiting)
                self._waiting.clear()
        except OSError as error:
            self._waiting += waiting
            if not self._said:
                self._said = True
                self._on_trouble(
                    f"{self._where}: cannot be written ({error.strerror}): the vetting goes on, and tries again after "
                    "each shard; if it is stopped before, what was not written is read again"
                )

    @property
    def unkept(self) -> int:
        """Shards that are done and could not be written."""
        return len(self._waiting)

    def close(self) -> None:
        """Let go of it."""
        self._sink.close()


def _entry(line: bytes) -> Stamp | Line | None:
    try:
        return _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _difference(first: Stamp | Line, ours: Stamp) -> str:
    if not isinstance(first, Stamp):
        return "kind"
    if first.items != ours.items:
        return "items"
    if first.rules != ours.rules:
        return "rules"
    if first.sentences != ours.sentences:
        return "rarest sentences, chosen by other indexes"
    return f"version: {first.version}, {first.words}"
