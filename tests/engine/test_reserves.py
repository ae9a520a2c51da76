"""What may have been billed without a reply: counted after Ctrl-C and a kill, given back when a reply tells."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.engine.making import PRICE, card, datetime_of_tests, journal, questions, record, replies, run
from tests.engine.server import Act, Hang, Say, Seen, Send, Server, always, in_turn

from lacre.engine.costs import costs
from lacre.engine.journal import FileSink, Replied, SetAside
from lacre.engine.owned import own_entries
from lacre.engine.plans import Question
from lacre.engine.runs import Run, state_of
from lacre.errors import RecordError
from lacre.registry.columns import Column


class Watched:
    """A sink in memory that notes how many requests the server had seen when each batch was on disk."""

    def __init__(self, server: Server, kept: Sequence[bytes] = ()) -> None:
        self.server = server
        self.kept = list(kept)
        self.batches: list[tuple[int, int]] = []

    def append(self, lines: Sequence[bytes]) -> None:
        self.kept.extend(lines)
        self.batches.append((len(self.kept), self.server.requests))

    def lines(self) -> Iterator[bytes]:
        return iter(list(self.kept))

    def close(self) -> None:
        """Nothing is held."""


def spent(asked: Sequence[Question], one: Column, lines: Sequence[bytes], server: Server) -> Decimal:
    """Dollars that a session counts as spent when it begins on these lines."""
    going = Run(
        record=record(asked, [one]),
        questions=asked,
        cards=[one],
        keys={},
        sink=Watched(server, lines),
        now=datetime_of_tests,
        budget=Decimal(1000),
    )
    return Decimal(going.state().spent or "nothing")


@pytest.mark.parametrize("concurrency", [1, 3, 16])
@pytest.mark.parametrize("budget", [None, "5"])
def test_whenever_it_is_killed_what_was_sent_counts_as_spent(concurrency: int, budget: str | None) -> None:
    asked = questions(30)
    with Server(always(Say()), latency=0.005) as server:
        one = card(server.endpoint("openai"), price=PRICE, concurrency=concurrency)
        sink = Watched(server)
        going = Run(
            record=record(asked, [one]), questions=asked, cards=[one], keys={}, sink=sink,
            now=datetime_of_tests, budget=Decimal(budget) if budget else None,
        )  # fmt: skip
        assert going.work().complete
        each = spent(asked, one, sink.kept, server) / 30
        assert each > 0
        before = 0
        for lines, seen in sink.batches:
            # Killed while this batch was being written: of it nothing is there.
            assert spent(asked, one, sink.kept[:before], server) >= (seen - concurrency) * each
            if before:
                assert spent(asked, one, sink.kept[:before], server) >= seen * each
            before = lines


def test_nothing_is_sent_before_it_is_set_aside() -> None:
    with Server(always(Say())) as server:
        one = card(server.endpoint("openai"), price=PRICE)
        sink = Watched(server)
        Run(
            record=record(questions(3), [one]), questions=questions(3), cards=[one], keys={}, sink=sink,
            now=datetime_of_tests,
        ).work()  # fmt: skip
    assert sink.batches[0] == (1, 0)
    assert b"set_aside" in sink.kept[0]


def test_a_run_that_ends_in_peace_holds_nothing_and_needs_few_lines(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Server(always(Say())) as server:
        one = card(server.endpoint("openai"), price=PRICE)
        going = run(path, questions(40), [one])
        assert going.work().complete
        going.sink.close()
    aside = [entry for entry in journal(path) if isinstance(entry, SetAside)]
    assert (aside[-1].dollars, aside[-1].requests) == ("0", 0)
    assert len(aside) < 12
    [cost] = costs("answers", [one], None, journal(path))
    assert cost.lost == 0


def test_a_column_without_a_price_needs_no_such_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Server(always(Say())) as server:
        going = run(path, questions(4), [card(server.endpoint("openai"))])
        going.work()
        going.sink.close()
    assert all(isinstance(entry, Replied) for entry in journal(path))


def test_what_was_given_up_counts_in_the_next_session_and_only_once(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"

    def script(seen: Seen) -> Act:
        return Say() if "q0000" in seen.text else Hang()

    def stop(_: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    with Server(script) as server:
        one = card(server.endpoint("openai"), price=PRICE, concurrency=4)
        going = run(path, questions(8), [one], budget="1", on_progress=stop)
        with pytest.raises(KeyboardInterrupt):
            going.work()
        going.sink.close()
        given_up = server.requests - 1
        assert given_up >= 3
        [last] = [entry for entry in journal(path) if isinstance(entry, SetAside)][-1:]
        assert last.requests == given_up
        [cost] = costs("answers", [one], None, journal(path))
        assert cost.lost == given_up
        told = Decimal(cost.usd.value)  # type: ignore[union-attr]
        server.script = always(Say())
        again = run(path, questions(8), [one], budget="1")
        assert Decimal(again.state().spent or "") == told + Decimal(last.dollars)
        assert again.work().complete
        again.sink.close()
    final = Decimal(again.state().spent or "")
    assert final == pytest.approx(told * 8 + Decimal(last.dollars), rel=Decimal("0.01"))
    assert [entry.session for entry in journal(path) if isinstance(entry, SetAside)][-1] == 2


def test_tries_before_a_column_was_stopped_stay_counted(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Server(
        in_turn(Send(status=200, body=b"<html>"), Send.json(401, {"error": {"message": "no"}}))
    ) as server:
        one = card(server.endpoint("openai"), price=PRICE, concurrency=1)
        going = run(path, questions(3), [one], budget="1")
        assert going.work().columns[0].halted is not None
        going.sink.close()
    [last] = [entry for entry in journal(path) if isinstance(entry, SetAside)][-1:]
    assert last.requests == 1
    assert Decimal(last.dollars) > 0
    assert replies(path) == []


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"item": "q0009"}, "question"),
        ({"repetition": 2}, "question"),
        ({"repetition": 0}, "question"),
        ({"part": "a"}, "question"),
        ({"column": "another"}, "column"),
    ],
)
def test_a_line_about_nothing_that_is_asked_is_refused_with_its_place(
    changes: dict[str, Any], what: str, tmp_path: Path
) -> None:
    import msgspec  # noqa: PLC0415

    path = tmp_path / "journal.jsonl"
    asked = questions(2)
    with Server(always(Say())) as server:
        one = card(server.endpoint("openai"))
        going = run(path, asked, [one])
        going.work()
        going.sink.close()
    lines = [*replies(path), msgspec.structs.replace(replies(path)[0], **changes)]
    with pytest.raises(RecordError, match=f"here:3: is about a {what} that this run does not ask"):
        list(own_entries(lines, record(asked, [one]), asked, "here"))
    with pytest.raises(RecordError, match=":3: is about"):
        state_of(record(asked, [one]), asked, lines)
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    sink = FileSink(path)
    with pytest.raises(RecordError, match=":3: is about"):
        Run(
            record=record(asked, [one]),
            questions=asked,
            cards=[one],
            keys={},
            sink=sink,
            now=datetime_of_tests,
        )
    sink.close()
