"""A run as a whole: resumed, budgeted, paced, and with sub-questions that see the column's own answers."""

from __future__ import annotations

import asyncio
import hashlib
import sys
import tracemalloc
from collections import Counter
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.making import (
    HASTY,
    PRICE,
    card,
    datetime_of_tests,
    finished,
    journal,
    question,
    questions,
    record,
    replies,
    run,
    with_parts,
)
from tests.engine.server import Act, Limit, Reset, Say, Seen, Send, Server, always, in_turn
from tests.engine.server.__main__ import mixed

from lacre.engine.budgets import Budget, BudgetReachedError
from lacre.engine.costs import costs
from lacre.engine.journal import Halted, Replied, Task, entries
from lacre.engine.messages import NO_ANSWER
from lacre.engine.plans import Repetitions, check_questions, check_resumed, items_digest
from lacre.engine.replies import Answered, Failed
from lacre.engine.runs import Progress, Run, state_of
from lacre.engine.states import Kind, Known, KnownTasks
from lacre.errors import InputError, IntegrityError
from lacre.registry.columns import Exchange
from lacre.registry.items import Image


def settled(path: Path) -> set[tuple[object, ...]]:
    """What a journal says, without what depends on the clock; order aside."""
    last = {entry.task: entry for entry in replies(path)}
    return {
        (*task, entry.message, entry.incomplete, type(entry.reply), getattr(entry.reply, "text", ""))
        for task, entry in last.items()
    }


def test_a_run_that_is_done_asks_nothing_when_it_is_resumed(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Server(mixed) as server:
        one = card(server.endpoint("openai"))
        first = finished(path, questions(30), [one])
        asked, before = server.requests, path.read_bytes()
        again = finished(path, questions(30), [one])
        assert server.requests == asked
    assert path.read_bytes() == before
    assert first == again
    assert first.complete


@pytest.mark.parametrize("stop", [1, 7, 29])
def test_a_stopped_and_resumed_run_equals_an_undisturbed_one(stop: int, tmp_path: Path) -> None:
    asked = (*questions(30), with_parts())
    count = 0

    def revoked(seen: Seen) -> Act:
        nonlocal count
        count += 1
        return Send(status=401) if count > stop else mixed(seen)

    with Server(mixed) as server:
        one = card(server.endpoint("openai"))
        finished(tmp_path / "whole.jsonl", asked, [one])
        server.script = revoked
        broken = finished(tmp_path / "cut.jsonl", asked, [one])
        assert not broken.complete
        server.script = mixed
        assert finished(tmp_path / "cut.jsonl", asked, [one]).complete
    assert settled(tmp_path / "cut.jsonl") == settled(tmp_path / "whole.jsonl")
    answered = [e.task for e in replies(tmp_path / "cut.jsonl") if not isinstance(e.reply, Failed)]
    assert len(answered) == len(set(answered))


def test_what_failed_to_the_end_is_asked_again_only_when_told_to(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Server(always(Send(status=500))) as server:
        one = card(server.endpoint("openai"))
        finished(path, questions(2), [one])
        server.script = always(Say(text="B"))
        asked = server.requests
        assert finished(path, questions(2), [one]).columns[0].failed == 2
        assert server.requests == asked
        assert finished(path, questions(2), [one], again=True).columns[0].answered == 2
    assert state_of(record(questions(2), [one]), questions(2), iter(journal(path))).columns[0].answered == 2


def test_all_columns_get_the_same_message_and_only_their_own_settings(tmp_path: Path) -> None:
    with Server(always(Say())) as server:
        cards = [
            card(server.endpoint(dialect), dialect, accepts=("temperature",), settings={"temperature": 0})
            if dialect == "openai"
            else card(server.endpoint(dialect), dialect)
            for dialect in ("openai", "anthropic", "gemini", "maritaca")
        ]
        finished(tmp_path / "journal.jsonl", questions(1), cards)
    assert len({seen.text for seen in server.seen}) == 1
    assert len({entry.message for entry in replies(tmp_path / "journal.jsonl")}) == 1
    bodies = {seen.path: sorted(seen.body) for seen in server.seen}
    assert bodies == {
        "/v1/chat/completions": ["max_completion_tokens", "messages", "model", "temperature"],
        "/v1/messages": ["max_tokens", "messages", "model"],
        "/v1beta/models/modelo-1:generateContent": ["contents", "generationConfig"],
        "/api/chat/completions": ["max_tokens", "messages", "model"],
    }
    assert server.seen[0].text.rpartition("\n")[2].startswith("Na última linha")


def test_no_more_requests_are_under_way_than_the_card_allows(tmp_path: Path) -> None:
    with Server(always(Say()), latency=0.02) as server:
        finished(tmp_path / "journal.jsonl", questions(40), [card(server.endpoint("openai"), concurrency=3)])
        assert server.busiest == 3


def test_requests_keep_to_the_pace_of_the_card(tmp_path: Path) -> None:
    with Server(always(Say())) as server:
        slow = card(server.endpoint("openai"), requests_per_minute=600)
        going = run(tmp_path / "journal.jsonl", questions(6), [slow])
        seen: list[Progress] = []
        going.on_progress = seen.append
        going.work()
        going.sink.close()
    assert seen[-1].seconds >= 5 * 0.1 * 0.95
    assert (seen[-1].done, seen[-1].expected, seen[-1].fresh) == (6, 6, 6)


def test_a_rate_limit_pauses_the_whole_column(tmp_path: Path) -> None:
    times: list[float] = []
    count = 0

    def script(_: Seen) -> Act:
        nonlocal count
        count += 1
        times.append(asyncio.get_event_loop().time())
        return Limit({"retry-after-ms": "300"}) if count == 1 else Say()

    with Server(script) as server:
        finished(tmp_path / "journal.jsonl", questions(6), [card(server.endpoint("openai"), concurrency=2)])
    # One request was under way when the limit was met; all later ones waited.
    assert sum(later - times[0] < 0.29 for later in times[1:]) <= 1


def test_one_stopped_column_leaves_the_others_alone(tmp_path: Path) -> None:
    def script(seen: Seen) -> Act:
        return Send(status=403) if seen.shape == "anthropic" else Say()

    with Server(script) as server:
        cards = [card(server.endpoint(d), d) for d in ("openai", "anthropic")]
        state = finished(tmp_path / "journal.jsonl", questions(12), cards)
    assert not state.complete
    assert [column.done for column in state.columns] == [12, 0]
    assert len([e for e in journal(tmp_path / "journal.jsonl") if isinstance(e, Halted)]) == 1


def test_requests_refused_in_a_row_are_the_card_s_fault(tmp_path: Path) -> None:
    with Server(always(Send.json(400, {"error": {"message": "bad"}}))) as server:
        state = finished(
            tmp_path / "journal.jsonl", questions(30), [card(server.endpoint("openai"), concurrency=1)]
        )
    assert state.columns[0].halted.reason == "requests"
    assert state.columns[0].done == 4


def test_a_server_that_is_gone_stops_the_column_instead_of_failing_every_item(tmp_path: Path) -> None:
    with Server(always(Say())) as server:
        endpoint = server.endpoint("openai")
    state = finished(tmp_path / "journal.jsonl", questions(40), [card(endpoint)])
    assert state.columns[0].halted.reason == "endpoint"
    assert not state.complete


# Open items: sub-questions with the column's own earlier answers (SPEC B6).


def test_parts_carry_the_column_s_own_earlier_answers(tmp_path: Path) -> None:
    with Server(
        in_turn(Say(text="Resposta um"), Say(text="Resposta dois"), Say(text="Resposta três"))
    ) as server:
        finished(tmp_path / "journal.jsonl", [with_parts()], [card(server.endpoint("openai"))])
    first, second, third = (seen.text for seen in server.seen)
    assert "Sua resposta" not in first
    assert "a) Pergunta a sobre o farol.\nSua resposta: Resposta um\n\nb) Pergunta b" in second
    assert "Sua resposta: Resposta um" in third
    assert "Sua resposta: Resposta dois" in third
    assert not any(entry.incomplete for entry in replies(tmp_path / "journal.jsonl"))


@pytest.mark.parametrize("act", [Say(text=None, finish="content_filter"), Send(status=500)], ids=["R", "F"])
def test_a_missing_answer_is_said_and_the_context_marked(act: Act, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"

    def script(seen: Seen) -> Act:
        return Say(text="Pois é") if "b) Pergunta b" in seen.text else act

    with Server(script) as server:
        finished(path, [with_parts()], [card(server.endpoint("openai"))])
    last = {entry.part: entry for entry in replies(path)}
    assert [last[part].incomplete for part in "abc"] == [False, True, True]
    text = next(seen.text for seen in reversed(server.seen) if "c) Pergunta c" in seen.text)
    assert f"a) Pergunta a sobre o farol.\nSua resposta: {NO_ANSWER}" in text
    assert "b) Pergunta b sobre o farol.\nSua resposta: Pois é" in text


def test_parts_after_a_failed_one_wait_for_the_sweep_and_see_its_answer(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Server(in_turn(*[Reset()] * 5, Say(text="Enfim"), Say(text="Dois"))) as server:
        state = finished(path, [with_parts()], [card(server.endpoint("openai"))])
    assert state.complete
    assert state.columns[0].incomplete_context == 0
    assert [(e.part, e.sweep) for e in replies(path)] == [
        ("a", False),
        ("a", True),
        ("b", False),
        ("c", False),
    ]


def test_a_resumed_chain_still_knows_its_earlier_answers(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Server(in_turn(Say(text="Primeira"), Send(status=401))) as server:
        one = card(server.endpoint("openai"))
        assert not finished(path, [with_parts()], [one]).complete
        server.script = always(Say(text="Outra"))
        assert finished(path, [with_parts()], [one]).complete
    assert "Sua resposta: Primeira" in server.seen[-1].text


def test_open_items_are_asked_three_times(tmp_path: Path) -> None:
    asked = (question("q1"), question("q2", kind="open", options={}, key=None))
    with Server(always(Say())) as server:
        one = card(server.endpoint("openai"))
        going = run(tmp_path / "journal.jsonl", asked, [one])
        going.record = msgspec.structs.replace(going.record, repetitions=Repetitions())
        state = going.work()
        going.sink.close()
    assert [(e.item, e.repetition) for e in sorted(replies(tmp_path / "journal.jsonl"), key=lambda e: e.task)] == [
        ("q1", 1), ("q2", 1), ("q2", 2), ("q2", 3),
    ]  # fmt: skip
    assert state.complete


# Budget.


def priced(endpoint: str, **changes: Any) -> Any:
    return card(endpoint, price=PRICE, cap=50, **changes)


@pytest.mark.parametrize("budget", ["0.01", "0.015"])
def test_the_budget_is_never_exceeded_and_a_larger_one_goes_on(budget: str, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    asked = questions(40)
    with Server(always(Say(text="B" * 120))) as server:
        one = priced(server.endpoint("openai"))
        state = finished(path, asked, [one], budget=budget)
        assert state.budget_reached
        assert 0 < state.columns[0].done < 40
        [cost] = costs("answers", [one], None, journal(path))
        assert Decimal(cost.usd.value) <= Decimal(budget)  # type: ignore[union-attr]
        assert finished(path, asked, [one], budget="10").complete
    [cost] = costs("answers", [one], None, journal(path))
    assert cost.replies == 40


def test_what_may_have_been_billed_counts_against_the_budget_also_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Server(always(Reset())) as server:
        one = priced(server.endpoint("openai"), concurrency=1)
        state = finished(path, questions(40), [one], budget="0.1")
        assert state.budget_reached
        asked = server.requests
        again = finished(path, questions(40), [one], budget="0.1")
        assert again.budget_reached
        # At most what one question's tries could still fit in.
        assert server.requests - asked <= 5
    lost = sum(entry.reply.delivery.lost for entry in replies(path))
    assert lost > 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"price": None}, "has no price"), ({"cap": None}, "has no output cap")],
)
def test_a_budget_that_could_not_be_kept_is_refused(
    changes: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with Server(always(Say())) as server:
        one = msgspec.structs.replace(priced(server.endpoint("openai")), **changes)
        with pytest.raises(InputError, match=said):
            finished(tmp_path / "journal.jsonl", questions(2), [one], budget="1")
        assert server.requests == 0


def test_a_reservation_waits_for_others_to_give_back() -> None:
    async def scene() -> Decimal:
        budget = Budget(Decimal(10))
        await budget.reserve(Decimal(6))
        waiting = asyncio.create_task(budget.reserve(Decimal(6)))
        await asyncio.sleep(0)
        assert not waiting.done()
        await budget.settle(Decimal(6), Decimal(1))
        await waiting
        await budget.settle(Decimal(6), Decimal(6))
        with pytest.raises(BudgetReachedError):
            await budget.reserve(Decimal(4))
        return budget.spent

    assert asyncio.run(scene()) == 7


# Before anything is sent.


def test_nothing_to_ask_is_refused() -> None:
    with pytest.raises(InputError, match="no items"):
        check_questions((), [card("http://127.0.0.1:1")])


def test_an_image_without_a_caption_is_refused_for_a_column_that_gets_captions() -> None:
    image = Image(file="mapa.png", sha256="0" * 64)
    with pytest.raises(InputError, match=r"q1 \(mapa.png\)"):
        check_questions([question("q1", images=(image,))], [card("http://127.0.0.1:1")])


def test_other_items_than_those_it_began_with_are_refused() -> None:
    asked = questions(3)
    begun = record(asked, [card("http://127.0.0.1:1")])
    check_resumed(begun, asked)
    for other in (asked[:2], (*asked[:2], question("q0002", stem="Outra?"))):
        assert items_digest(other) != begun.items_sha256
        with pytest.raises(IntegrityError, match="not those that it began with"):
            check_resumed(begun, other)


# What may be written.


def test_to_digest_and_check_items_leaves_no_second_copy_of_their_texts() -> None:
    asked = questions(3)
    sizes = [sys.getsizeof(one.payload.stem) for one in asked]
    assert not asked[0].payload.stem.isascii()  # else it is its own UTF-8
    check_questions(asked, [card("http://127.0.0.1:1")])
    items_digest(asked)
    assert [sys.getsizeof(one.payload.stem) for one in asked] == sizes


@given(st.text(), st.dictionaries(st.text(), st.text(), max_size=3))
def test_the_digest_of_items_is_the_one_that_runs_there_are_began_with(
    text: str, options: dict[str, str]
) -> None:
    """It was made by msgspec's own encoder: another byte, and no run could be resumed."""
    one = question("q1", stem=text, options=options, key=text)
    leaf = hashlib.sha256(msgspec.json.encode(["q1", one.payload], order="deterministic")).hexdigest()
    assert items_digest([one]) == hashlib.sha256(leaf.encode() + b"\n").hexdigest()


TASKS = st.builds(
    Task,
    st.sampled_from(["a", "b"]),
    st.sampled_from(["q1", "q2"]),
    st.integers(1, 3),
    st.sampled_from(["", "a"]),
)
KNOWN = st.builds(Known, st.sampled_from(get_args(Kind)), st.booleans())


@given(st.lists(st.tuples(TASKS, KNOWN)))
def test_no_task_is_known_by_the_reply_of_another(told: list[tuple[Task, Known]]) -> None:
    known, oracle = KnownTasks(["a", "b"]), dict(told)
    for task, one in told:
        known.put(task, one)
    for column, item, repetition, part in product("ab", ("q1", "q2"), (1, 2, 3), ("", "a")):
        task = Task(column, item, repetition, part)
        assert known.get(task) == oracle.get(task)
    for column in "ab":
        of_column = [one for task, one in oracle.items() if task.column == column]
        assert Counter(known.of(column)) == Counter(of_column)


def test_what_is_known_of_a_task_takes_little_room() -> None:
    items, one, known = (
        [f"q{number:06}" for number in range(20_000)],
        Known("answered", True),
        KnownTasks(["a"]),
    )
    tracemalloc.start()
    try:
        for item in items:
            known.put(Task("a", item, 1), one)
        assert tracemalloc.get_traced_memory()[0] / len(items) < 64  # bytes
    finally:
        tracemalloc.stop()


def test_replies_go_where_the_sink_says() -> None:
    class Memory:
        def __init__(self) -> None:
            self.kept: list[bytes] = []

        def append(self, lines: Any) -> None:
            self.kept.extend(lines)

        def lines(self) -> Any:
            return iter(list(self.kept))

        def close(self) -> None:
            pass

    memory = Memory()
    with Server(always(Say(text="C"))) as server:
        asked, cards = questions(5), [card(server.endpoint("openai"))]
        going = Run(
            record=record(asked, cards), questions=asked, cards=cards, keys={}, sink=memory,
            now=datetime_of_tests, patience=HASTY,
        )  # fmt: skip
        assert going.work().complete
    kept = list(entries(memory.lines(), "memory"))
    assert len(kept) == 5
    assert all(isinstance(entry.reply, Answered) for entry in kept if isinstance(entry, Replied))


def test_costs_stand_in_dollars_and_reais(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Server(always(Say(text="B", cached=10, reasoning=7))) as server:
        one = priced(server.endpoint("openai"))
        finished(path, questions(4), [one])
    rate = Exchange(brl_per_usd="5", source="https://example.org", read="2026-01-01")
    [cost] = costs("answers", [one], rate, journal(path))
    tokens = [entry.reply.usage for entry in replies(path)]
    exact = sum(
        Decimal((u.input or 0) - 10) * 2 + 10 * Decimal("0.5") + (u.output or 0) * 10 for u in tokens
    ) / Decimal(1_000_000)
    assert cost.reasoning == 28
    assert cost.cached == 40
    assert Decimal(cost.usd.value) == exact  # type: ignore[union-attr]
    assert Decimal(cost.brl.value) == exact * 5  # type: ignore[union-attr]
    [bare] = costs("answers", [msgspec.structs.replace(one, price=None)], None, journal(path))
    assert str(bare.usd) == "undefined: its card has no price"
