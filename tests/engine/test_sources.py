"""A run with a sink and questions of the caller's own: nothing of it is on disk, and no word of it leaks."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.engine.making import HASTY, card, datetime_of_tests, question, questions, record
from tests.engine.server import Act, Drop, Reset, Say, Seen, Send, Server, always, in_turn

from lacre.digest import sha256
from lacre.engine.folders import decided
from lacre.engine.journal import Task, entries, settled
from lacre.engine.messages import load_images
from lacre.engine.plans import Question, Questions, check_questions, check_resumed
from lacre.engine.runs import Run
from lacre.errors import IncompleteError, InputError, IntegrityError, LacreError
from lacre.registry.columns import Column
from lacre.registry.items import Image
from lacre.scoring.outcomes import Outcome

SECRET = "berimbau-de-vidro-4471"
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20


class Veiled:
    """A sink that keeps its lines in memory, each byte turned over."""

    def __init__(self, fault: Exception | None = None, after: int = 0) -> None:
        self.kept: list[bytes] = []
        self.fault, self.after = fault, after

    def append(self, lines: Sequence[bytes]) -> None:
        if self.fault is not None and len(self.kept) >= self.after:
            raise self.fault
        self.kept.extend(bytes(byte ^ 0xFF for byte in line) for line in lines)

    def lines(self) -> Iterator[bytes]:
        return (bytes(byte ^ 0xFF for byte in line) for line in self.kept)

    def close(self) -> None:
        raise AssertionError("whoever opened a sink closes it")


class OneByOne:
    """Questions that are made when their turn comes."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Question]:
        return (question(f"q{number}", stem=f"{SECRET} {number}?") for number in self.numbers)


def asked(questions: Questions, one: Column, sink: Veiled, **changes: Any) -> Run:
    return Run(
        record=msgspec.structs.replace(record((), [one]), **changes.pop("record", {})),
        questions=questions,
        cards=[one],
        keys={},
        sink=sink,
        now=datetime_of_tests,
        patience=HASTY,
        **changes,
    )


def test_questions_are_asked_in_the_order_in_which_they_come() -> None:
    order = [5, 1, 4, 2, 3]
    with Server(always(Say())) as server:
        one = card(server.endpoint("openai"), concurrency=1)
        assert asked(OneByOne(order), one, Veiled()).work().complete
    assert [int(seen.text.split(SECRET)[1].split("?")[0]) for seen in server.seen] == order


def test_a_run_is_resumed_from_any_sink_and_in_any_order() -> None:
    sink = Veiled()
    with Server(in_turn(Say(), Say(), Send(status=401))) as server:
        one = card(server.endpoint("openai"), concurrency=1)
        assert not asked(OneByOne([1, 2, 3, 4]), one, sink).work().complete
        server.script = always(Say(text="B"))
        server.seen.clear()
        assert asked(OneByOne([4, 3, 2, 1]), one, sink).work().complete
        assert len(server.seen) == 2
    begun = record(tuple(OneByOne([1, 2, 3, 4])), [one])
    check_resumed(begun, OneByOne([4, 3, 2, 1]))
    with pytest.raises(IntegrityError, match="not those that it began with"):
        check_resumed(begun, OneByOne([1, 2, 3]))
    replies = settled(entries(sink.lines(), "sink"))
    found = decided(replies, OneByOne([1, 2, 3, 4]))
    outcomes = [answer.outcome for answer in found.answers["choice"]]
    assert outcomes == [Outcome.WRONG, Outcome.WRONG, Outcome.CORRECT, Outcome.CORRECT]


def test_every_exposure_is_told_before_its_request_leaves() -> None:
    told: list[Task] = []
    sent: list[int] = []

    def script(_: Seen) -> Act:
        sent.append(len(told))
        return Say()

    with Server(script) as server:
        one = card(server.endpoint("openai"), concurrency=1)
        asked(OneByOne([2, 1]), one, Veiled(), on_exposure=told.append).work()
    assert told == [Task("openai", "q2", 1), Task("openai", "q1", 1)]
    assert sent == [1, 2]


def test_an_exposure_that_cannot_be_told_prevents_the_request() -> None:
    def refuse(_: Task) -> None:
        raise IncompleteError("the ledger is full")

    with Server(always(Say())) as server:
        going = asked(OneByOne([1]), card(server.endpoint("openai")), Veiled(), on_exposure=refuse)
        with pytest.raises(IncompleteError, match="the ledger is full"):
            going.work()
        assert server.requests == 0


@pytest.mark.parametrize(
    ("dialect", "said"), [("openai", False), ("anthropic", None), ("gemini", None), ("maritaca", None)]
)
def test_vendors_are_asked_not_to_keep_anything_where_the_dialect_knows_how(
    dialect: str, said: bool | None
) -> None:
    with Server(always(Say())) as server:
        # No setting of the card undoes it.
        settings: dict[str, Any] = (
            {"accepts": ("store",), "settings": {"store": True}} if dialect == "openai" else {}
        )
        one = card(server.endpoint(dialect), dialect, **settings)
        asked(OneByOne([1]), one, Veiled(), record={"unstored": True}).work()
    assert server.seen[0].body.get("store") is said


def test_a_vendor_that_does_not_know_the_word_stops_the_column_and_is_told_nothing_more() -> None:
    error = {"error": {"message": "Unrecognized request argument supplied: store"}}
    with Server(always(Send.json(400, error))) as server:
        one = card(server.endpoint("openai"), concurrency=1)
        state = asked(OneByOne([1, 2]), one, Veiled(), record={"unstored": True}).work()
        assert server.requests == 1
    assert state.columns[0].halted is not None
    assert state.columns[0].halted.parameter == "store"


def test_images_that_are_in_no_folder_are_given_as_bytes_and_never_named() -> None:
    image = Image(file=f"{SECRET}.png", sha256=sha256(PNG), caption="")
    payload = question("q1", images=(image,)).payload
    [part] = load_images(payload, {f"{SECRET}.png": PNG})
    assert part.media == "image/png"
    for pictures in ({}, {f"{SECRET}.png": b"x"}):
        with pytest.raises(LacreError) as caught:
            load_images(payload, pictures)
        assert SECRET not in str(caught.value)


def test_half_a_character_is_refused_before_anything_is_sent() -> None:
    broken = question("q7", stem=f"{SECRET} \ud83d?")
    with pytest.raises(InputError, match=r"item q7: holds half a character.*1 items do") as caught:
        check_questions((broken,), [card("http://127.0.0.1:1")])
    assert SECRET not in str(caught.value)


SILENT: dict[str, Act] = {
    "a reset": Reset(),
    "a closed connection": Drop(),
    "no HTTP at all": Send(body=b"x", headers={"content-encoding": "gzip"}),
    "the prompt repeated in an error": Send.json(500, {"error": {"message": SECRET}}),
    "the prompt repeated in a 400": Send.json(400, {"error": {"message": f"unknown field '{SECRET}'"}}),
    "the prompt repeated in HTML": Send(body=f"<p>{SECRET}".encode(), kind="text/html"),
    "a redirect to the prompt": Send(status=302, headers={"location": f"/{SECRET}"}),
}


@pytest.mark.parametrize("act", SILENT.values(), ids=SILENT)
def test_no_word_of_a_message_is_logged_or_kept_in_a_failure(
    act: Act, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    sink = Veiled()
    with Server(always(act)) as server:
        asked(OneByOne([1, 2]), card(server.endpoint("openai")), sink).work()
        assert SECRET in server.seen[0].text
    assert SECRET not in caplog.text
    assert SECRET.encode() not in b"".join(sink.lines())


def chained(error: BaseException) -> list[BaseException]:
    """An error and all that hang on it, each once."""
    found: dict[int, BaseException] = {}
    rest: list[BaseException | None] = [error]
    while rest:
        one = rest.pop()
        if one is None or id(one) in found:
            continue
        found[id(one)] = one
        rest += [one.__cause__, one.__context__]
        rest += one.exceptions if isinstance(one, BaseExceptionGroup) else ()
    return list(found.values())


@pytest.mark.parametrize(
    ("fault", "kind", "said"),
    [
        (OSError(28, "No space left on device"), IncompleteError, "could not be written"),
        (IntegrityError("the vault was touched"), IntegrityError, "the vault was touched"),
        (ZeroDivisionError("a fault of the sink's code"), ZeroDivisionError, "a fault"),
    ],
)
def test_a_sink_that_fails_stops_the_run_and_shows_no_line(
    fault: Exception, kind: type[Exception], said: str
) -> None:
    sink = Veiled(fault, after=2)
    with Server(always(Say(text=SECRET))) as server:
        going = asked(OneByOne(range(40)), card(server.endpoint("openai")), sink)
        with pytest.raises(kind, match=said) as caught:
            going.work()
        assert server.requests < 40
    for error in chained(caught.value):
        assert SECRET not in repr(error) + repr(getattr(error, "object", b"")) + repr(error.args)
    assert len(list(entries(sink.lines(), "sink"))) == len(sink.kept)


def test_a_damaged_line_is_no_part_of_the_error() -> None:
    with pytest.raises(LacreError) as caught:
        list(entries([f'{{"type":"reply","x":"{SECRET}\xff"}}\n'.encode("latin-1")], "sink"))
    for error in chained(caught.value):
        assert SECRET not in repr(error) + repr(getattr(error, "object", b""))


def test_a_run_writes_no_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Server(always(Say())) as server:
        asked(questions(3), card(server.endpoint("openai")), Veiled()).work()
    assert not list(tmp_path.rglob("*"))
