"""The journal: whole lines, one owner, torn ends, shared syncs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from lacre.engine.journal import Entry, FileSink, Halted, Journal, Replied, entries, read_journal
from lacre.engine.replies import Answered, Delivery
from lacre.errors import IncompleteError, InputError, RecordError


def replied(number: int) -> Replied:
    delivery = Delivery(status=200, attempts=1, latency=0.5)
    reply = Answered(text="Ação\n\u0063\u0327", finish="stop", raw_finish="stop", delivery=delivery)
    return Replied(column="c", item=f"q{number}", repetition=1, message="0", when="2026", reply=reply)


def write(sink: FileSink, *added: Entry) -> None:
    async def work() -> None:
        journal = Journal(sink)
        await asyncio.gather(*(journal.add(entry) for entry in added))
        await journal.close()

    asyncio.run(work())


def test_what_is_written_is_read_and_text_stays_as_it_came(tmp_path: Path) -> None:
    path = tmp_path / "a" / "journal.jsonl"
    sink = FileSink(path)
    halted = Halted(column="c", when="2026", reason="key", detail="the key was refused")
    write(sink, replied(1), halted, replied(2))
    sink.close()
    assert list(read_journal(path)) == [replied(1), halted, replied(2)]


def test_entries_that_wait_together_share_a_sync() -> None:
    class Counting:
        def __init__(self) -> None:
            self.batches: list[int] = []

        def append(self, lines: Sequence[bytes]) -> None:
            self.batches.append(len(lines))

        def lines(self) -> Iterator[bytes]:
            return iter(())

        def close(self) -> None: ...

    sink = Counting()

    async def work() -> None:
        journal = Journal(sink)
        await asyncio.gather(*(journal.add(replied(number)) for number in range(100)))

    asyncio.run(work())
    assert sum(sink.batches) == 100
    assert len(sink.batches) < 10


@pytest.mark.parametrize("torn", [1, 30, 100_000])
def test_a_torn_end_is_taken_away_and_told(torn: int, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    sink = FileSink(path)
    write(sink, replied(1))
    sink.close()
    whole = path.read_bytes()
    path.write_bytes(whole + b"x" * torn)
    assert list(read_journal(path)) == [replied(1)]
    sink = FileSink(path)
    assert sink.torn == torn
    write(sink, replied(2))
    sink.close()
    assert list(read_journal(path)) == [replied(1), replied(2)]


def test_a_journal_has_one_owner(tmp_path: Path) -> None:
    sink = FileSink(tmp_path / "journal.jsonl")
    with pytest.raises(InputError, match="another process"):
        FileSink(tmp_path / "journal.jsonl")
    sink.close()
    FileSink(tmp_path / "journal.jsonl").close()


def test_a_write_that_fails_is_told_to_all_who_wait_and_later_ones_can_succeed() -> None:
    class Full:
        def __init__(self) -> None:
            self.full = True
            self.kept: list[bytes] = []

        def append(self, lines: Sequence[bytes]) -> None:
            if self.full:
                raise OSError(28, "No space left on device")
            self.kept.extend(lines)

        def lines(self) -> Iterator[bytes]:
            return iter(self.kept)

        def close(self) -> None: ...

    sink = Full()

    async def work() -> list[BaseException | None]:
        journal = Journal(sink)
        failed = await asyncio.gather(
            *(journal.add(replied(number)) for number in range(3)), return_exceptions=True
        )
        sink.full = False
        await journal.add(replied(9))
        return failed

    failed = asyncio.run(work())
    assert all(isinstance(error, IncompleteError) and "No space left" in str(error) for error in failed)
    assert list(entries(sink.lines(), "sink")) == [replied(9)]


def test_a_damaged_line_is_named_and_not_quoted(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"type":"reply","secret":"palavra"}\n')
    with pytest.raises(RecordError, match=r"journal\.jsonl:1: is no entry") as raised:
        list(read_journal(path))
    assert "palavra" not in str(raised.value)
    with pytest.raises(InputError, match="no such file"):
        read_journal(tmp_path / "none").__next__()


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        FileSink(tmp_path / "file" / "journal.jsonl")


def test_a_reply_that_came_is_written_though_nobody_waits_for_it_any_more(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    sink = FileSink(path)

    async def work() -> None:
        journal = Journal(sink)

        async def worker() -> None:
            journal.add(replied(1))
            await asyncio.shield(journal.add(replied(2)))

        task = asyncio.create_task(worker())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await journal.close()

    asyncio.run(work())
    sink.close()
    assert list(read_journal(path)) == [replied(1), replied(2)]
