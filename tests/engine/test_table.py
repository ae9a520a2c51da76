"""Every row of the table of server answers, in every dialect in which it exists, over a real connection."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.engine.making import card, finished, journal, questions, replies
from tests.engine.server import Act, Drop, Hang, Limit, Reset, Say, Send, Server, always, in_turn

from lacre.engine.client import MOST_BYTES, Client, Halt, Patience
from lacre.engine.dialects import Request
from lacre.engine.limits import Pace
from lacre.engine.replies import Answered, Failed, Refused, Reply, Truncated
from lacre.engine.runs import RunState

DIALECTS = ("openai", "anthropic", "gemini", "maritaca", "completions")
HTML = Send(body=b"<html><h1>Bad Gateway</h1></html>", kind="text/html")


def outcome(act: Act, dialect: str, folder: Path, **changes: Any) -> Reply:
    """What one question becomes when the server always does the same."""
    with Server(always(act)) as server:
        one = card(server.endpoint(dialect), dialect, **changes)
        state = finished(folder / "journal.jsonl", questions(1), [one])
    assert state.complete
    return replies(folder / "journal.jsonl")[-1].reply


def error(code_: int, /, **parts: Any) -> Send:
    return Send.json(code_, {"error": {"message": "", **parts}})


REFUSALS: Mapping[str, tuple[Act, tuple[str, ...], str]] = {
    "message.refusal": (
        Say(text=None, extra={"choices": [{"message": {"refusal": "Não posso."}, "finish_reason": "stop"}]}),
        ("openai", "maritaca"),
        "stop",
    ),
    "finish_reason content_filter": (
        Say(text=None, finish="content_filter"), ("openai", "maritaca", "completions"), "content_filter",
    ),
    "content_filter after some text": (
        Say(text="A resp", finish="content_filter"), ("openai", "maritaca"), "content_filter",
    ),
    "stop_reason refusal": (Say(text=None, finish="refusal"), ("anthropic",), "refusal"),
    "prompt blocked": (
        Send.json(200, {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {}}),
        ("gemini",),
        "PROHIBITED_CONTENT",
    ),
    **{
        f"finishReason {reason}": (Say(text=None, finish=reason), ("gemini",), reason)
        for reason in ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII")
    },
    "400 content_filter": (error(400, code="content_filter"), ("openai", "maritaca"), "content_filter"),
    "400 content_policy_violation": (
        error(400, code="content_policy_violation"), ("openai", "maritaca"), "content_policy_violation",
    ),
    "400 with an inner code": (
        error(400, code="bad_request", innererror={"code": "ResponsibleAIPolicyViolation"}),
        ("openai",),
        "responsibleaipolicyviolation",
    ),
    "400 output blocked": (
        error(400, type="invalid_request_error", message="Output blocked by content filtering policy"),
        ("anthropic",),
        "content policy",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("act", "dialect", "raw"),
    [
        pytest.param(act, dialect, raw, id=f"{name} [{dialect}]")
        for name, (act, dialects, raw) in REFUSALS.items()
        for dialect in dialects
    ],
)
def test_a_policy_refusal_is_refused(act: Act, dialect: str, raw: str, tmp_path: Path) -> None:
    reply = outcome(act, dialect, tmp_path)
    assert isinstance(reply, Refused)
    assert reply.raw_finish == raw
    assert reply.delivery.attempts == 1


FAILURES: Mapping[str, tuple[Act, tuple[str, ...], str, int]] = {
    "empty content": (Say(text=""), DIALECTS, "empty", 1),
    "null content": (Say(text=None), DIALECTS, "empty", 1),
    "blank content": (Say(text=" \n"), DIALECTS, "empty", 1),
    "choices []": (Say(extra={"choices": []}), ("openai", "maritaca", "completions"), "no_choices", 1),
    "choices null": (Say(extra={"choices": None}), ("openai", "maritaca", "completions"), "no_choices", 1),
    "candidates []": (Say(extra={"candidates": []}), ("gemini",), "no_choices", 1),
    "HTML with status 200": (HTML, DIALECTS, "not_json", 5),
    "JSON of another shape": (Send(body=b'{"hello": "world"}'), ("anthropic", "gemini"), "unreadable", 5),
    "a JSON list": (Send(body=b"[1]"), DIALECTS, "unreadable", 5),
    "JSON nested past all reason": (Send(body=b"[" * 200_000), DIALECTS, "not_json", 5),
    "half a JSON": (Send(body=b'{"choices": [{"mess'), DIALECTS, "not_json", 5),
    "invalid UTF-8": (Send(body=b'{"choices": "\xff\xfe"}'), DIALECTS, "not_text", 5),
    "500": (Send(status=500, body=b"oops"), DIALECTS, "server", 5),
    "502 with HTML": (Send(status=502, body=b"<html>"), DIALECTS, "server", 5),
    "529 overloaded": (error(529, type="overloaded_error"), ("anthropic",), "server", 5),
    "an error in a 200": (Send.json(200, {"error": {"code": 503, "message": "x"}}), ("openai",), "server", 5),
    "a reset": (Reset(), DIALECTS, "connection", 5),
    "a closed connection": (Drop(), DIALECTS, "connection", 5),
    "a body shorter than promised": (Send(body=b"{}", length=500), DIALECTS, "connection", 5),
    "10 MB": (Send(body=b" " * 10_000_000), DIALECTS, "too_large", 5),
    "400 too long": (
        error(400, code="context_length_exceeded", message="maximum context length"),
        ("openai",), "rejected", 1,
    ),
    "400 prompt is too long": (
        error(400, type="invalid_request_error", message="prompt is too long: 210000 tokens > 200000 maximum"),
        ("anthropic",), "rejected", 1,
    ),
    "400 for no known reason": (error(400, message="bad"), DIALECTS, "rejected", 1),
}  # fmt: skip


@pytest.mark.parametrize(
    ("act", "dialect", "cause", "attempts"),
    [
        pytest.param(act, dialect, cause, attempts, id=f"{name} [{dialect}]")
        for name, (act, dialects, cause, attempts) in FAILURES.items()
        for dialect in dialects
    ],
)
def test_a_technical_failure_is_failed_and_swept_once(
    act: Act, dialect: str, cause: str, attempts: int, tmp_path: Path
) -> None:
    reply = outcome(act, dialect, tmp_path)
    assert isinstance(reply, Failed)
    assert reply.cause == cause
    assert reply.delivery.attempts == attempts
    first, second = replies(tmp_path / "journal.jsonl")
    assert (first.sweep, second.sweep) == (False, True)


def test_a_reader_that_stops_at_the_most_bytes_is_closed_and_not_left_to_the_collector() -> None:
    left: list[str] = []

    async def ask(server: Server) -> Reply | Halt:
        first, last = sys.get_asyncgen_hooks()
        assert last is not None

        def collected(generator: AsyncGenerator[object, object]) -> None:
            left.append(repr(generator))
            last(generator)

        sys.set_asyncgen_hooks(first, collected)
        pace = Pace(None, None, clock=time.monotonic)
        async with Client(
            card(server.endpoint("openai")), None, patience=Patience(attempts=1), pace=pace
        ) as client:
            request = Request(url=server.endpoint("openai"), headers={}, body=b"{}", cap=None)
            return await client.ask(request, lambda: asyncio.sleep(0, 0.0))

    with Server(always(Send(body=b" " * (MOST_BYTES + 100_000)))) as server:
        reply = asyncio.run(ask(server))
    assert isinstance(reply, Failed)
    assert reply.cause == "too_large"
    # What the HTTP library opens within it is the library's own.
    assert not [each for each in left if "Response.aiter_bytes" in each]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_hang_is_a_timeout(dialect: str, tmp_path: Path) -> None:
    with Server(always(Hang(2))) as server:
        one = card(server.endpoint(dialect), dialect, timeout=1)
        patience = {"attempts": 1}
        state = _hasty(tmp_path, one, patience)
    reply = replies(tmp_path / "journal.jsonl")[-1].reply
    assert state.complete
    assert isinstance(reply, Failed)
    assert (reply.cause, reply.delivery.lost) == ("timeout", 1)


def _hasty(folder: Path, one: Any, patience: Mapping[str, Any]) -> RunState:
    state = finished(folder / "journal.jsonl", questions(1), [one], patience=Patience(**patience))
    assert isinstance(state, RunState)
    return state


LENGTH = {
    **dict.fromkeys(("openai", "maritaca", "completions"), "length"),
    "anthropic": "max_tokens",
    "gemini": "MAX_TOKENS",
}


@pytest.mark.parametrize("text", [None, "A alternativa certa"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_cap_makes_it_truncated_and_it_is_not_swept(
    dialect: str, text: str | None, tmp_path: Path
) -> None:
    reply = outcome(Say(text=text, finish=LENGTH[dialect]), dialect, tmp_path)
    assert isinstance(reply, Truncated)
    assert (reply.text, reply.finish, reply.raw_finish) == (text or "", "length", LENGTH[dialect])
    assert len(replies(tmp_path / "journal.jsonl")) == 1


STOPS: Mapping[str, tuple[Act, tuple[str, ...], str, str | None]] = {
    "401": (error(401, code="invalid_api_key"), DIALECTS, "key", None),
    "403": (error(403, message="forbidden"), DIALECTS, "key", None),
    "400 API_KEY_INVALID": (
        error(400, status="INVALID_ARGUMENT", details=[{"reason": "API_KEY_INVALID"}]), ("gemini",), "key", None,
    ),
    "429 insufficient_quota": (error(429, code="insufficient_quota"), ("openai", "maritaca"), "quota", None),
    "402": (error(402, message="pay"), ("openai", "maritaca"), "quota", None),
    "400 no credit": (
        error(400, type="invalid_request_error", message="Your credit balance is too low"),
        ("anthropic",), "quota", None,
    ),
    "unsupported_parameter": (
        error(400, code="unsupported_parameter", param="max_tokens", message="Unsupported parameter"),
        ("openai",), "parameter", None,  # it is not what was sent
    ),
    "unsupported value": (
        error(400, code="unsupported_value", param="temperature", message="does not support 0"),
        ("openai",), "parameter", "temperature",
    ),
    "extra inputs": (
        error(400, type="invalid_request_error", message="temperature: Extra inputs are not permitted"),
        ("anthropic",), "parameter", "temperature",
    ),
    "cap too high": (
        error(400, type="invalid_request_error",
              message="max_tokens: 300 > 128, which is the maximum allowed number of output tokens"),
        ("anthropic",), "parameter", "max_tokens",
    ),
    "unknown name": (
        error(400, status="INVALID_ARGUMENT",
              message='Invalid JSON payload received. Unknown name "topZ" at \'generation_config\''),
        ("gemini",), "parameter", None,
    ),
    "422 of a web framework": (
        Send.json(422, {"detail": [{"loc": ["body", "temperature"], "msg": "not allowed"}]}),
        ("maritaca",), "parameter", "temperature",
    ),
    "404": (error(404, code="model_not_found"), DIALECTS, "model", None),
    "a redirect": (Send(status=308, headers={"location": "/x"}), DIALECTS, "endpoint", None),
}  # fmt: skip


@pytest.mark.parametrize(
    ("act", "dialect", "reason", "parameter"),
    [
        pytest.param(act, dialect, reason, parameter, id=f"{name} [{dialect}]")
        for name, (act, dialects, reason, parameter) in STOPS.items()
        for dialect in dialects
    ],
)
def test_the_column_is_stopped_at_once_and_what_is_done_is_kept(
    act: Act, dialect: str, reason: str, parameter: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "journal.jsonl"
    with Server(in_turn(Say(), Say(), act)) as server:
        one = card(
            server.endpoint(dialect),
            dialect,
            concurrency=1,
            accepts=("temperature",),
            settings={"temperature": 0},
        )
        state = finished(path, questions(9), [one])
        assert server.requests == 3
    assert not state.complete
    [column] = state.columns
    assert (column.answered, column.done) == (2, 2)
    assert (column.halted.reason, column.halted.parameter) == (reason, parameter)
    assert [type(entry.reply) for entry in replies(path)] == [Answered, Answered]
    assert len(journal(path)) == 3


WAITS = {
    "retry-after-ms": {"retry-after-ms": "60"},
    "Retry-After seconds": {"Retry-After": "0.06"},
    "reset duration": {"x-ratelimit-reset-requests": "60ms", "x-ratelimit-remaining-requests": "0"},
    "nothing": {},
}


@pytest.mark.parametrize("headers", WAITS.values(), ids=WAITS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_rate_limit_is_waited_for_and_takes_no_try(
    dialect: str, headers: Mapping[str, str], tmp_path: Path
) -> None:
    with Server(in_turn(*[Limit(headers)] * 7, Say(text="B"))) as server:
        finished(tmp_path / "journal.jsonl", questions(1), [card(server.endpoint(dialect), dialect)])
        assert server.requests == 8
    [entry] = replies(tmp_path / "journal.jsonl")
    assert isinstance(entry.reply, Answered)
    if headers:
        assert 7 * 0.059 <= entry.reply.delivery.waited < 7 * 0.2


def test_a_limit_that_asks_for_longer_than_we_wait_stops_the_column(tmp_path: Path) -> None:
    with Server(always(Limit({"retry-after": "86400"}))) as server:
        state = finished(tmp_path / "journal.jsonl", questions(3), [card(server.endpoint("openai"))])
    assert state.columns[0].halted.reason == "wait"
    assert state.columns[0].done == 0


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_short_trouble_is_healed_by_another_try(dialect: str, tmp_path: Path) -> None:
    with Server(in_turn(Reset(), Send(status=503), HTML, Say(text="C"))) as server:
        finished(tmp_path / "journal.jsonl", questions(1), [card(server.endpoint(dialect), dialect)])
    [entry] = replies(tmp_path / "journal.jsonl")
    assert isinstance(entry.reply, Answered)
    assert (entry.reply.text, entry.reply.delivery.attempts) == ("C", 4)


def test_a_longer_trouble_is_healed_by_the_sweep(tmp_path: Path) -> None:
    with Server(in_turn(*[Send(status=500)] * 5, Say(text="A"))) as server:
        state = finished(
            tmp_path / "journal.jsonl", questions(3), [card(server.endpoint("openai"), concurrency=1)]
        )
    assert state.complete
    assert (state.columns[0].answered, state.columns[0].failed) == (3, 0)
    assert [entry.sweep for entry in replies(tmp_path / "journal.jsonl")] == [False, False, False, True]


USAGE = {
    "openai": {"input": 100, "output": 30, "cached": 40, "reasoning": 20},
    "anthropic": {"input": 100, "output": 30, "cached": 40, "cache_written": 10},
    "gemini": {"input": 100, "output": 30, "cached": 40, "reasoning": 20},
}
TOLD: Mapping[str, Mapping[str, Any]] = {
    "openai": {
        "usage": {
            "prompt_tokens": 100, "completion_tokens": 30, "prompt_tokens_details": {"cached_tokens": 40},
            "completion_tokens_details": {"reasoning_tokens": 20},
        }
    },
    "anthropic": {
        "usage": {
            "input_tokens": 50, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 10,
            "output_tokens": 30,
        }
    },
    "gemini": {
        "usageMetadata": {
            "promptTokenCount": 100, "candidatesTokenCount": 10, "thoughtsTokenCount": 20,
            "cachedContentTokenCount": 40,
        }
    },
}  # fmt: skip


@pytest.mark.parametrize("dialect", USAGE)
def test_tokens_mean_the_same_in_every_dialect(dialect: str, tmp_path: Path) -> None:
    reply = outcome(Say(extra=TOLD[dialect]), dialect, tmp_path)
    told = {name: getattr(reply.usage, name) for name in USAGE[dialect]}
    assert told == USAGE[dialect]
    assert reply.delivery.model == "modelo-1"


def test_thoughts_are_no_part_of_an_answer(tmp_path: Path) -> None:
    parts = [{"text": "Talvez B? ", "thought": True}, {"text": "Letra C"}]
    extra = {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}
    reply = outcome(Say(extra=extra), "gemini", tmp_path)
    assert isinstance(reply, Answered)
    assert reply.text == "Letra C"


def test_content_in_parts_is_joined(tmp_path: Path) -> None:
    content = [
        {"type": "text", "text": "Letra "},
        {"type": "thinking", "thinking": "x"},
        {"type": "text", "text": "A"},
    ]
    extra = {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}
    reply = outcome(Say(extra=extra), "openai", tmp_path)
    assert isinstance(reply, Answered)
    assert reply.text == "Letra A"
