"""Odd shapes of answers, without a network: gateways, old servers, half-filled objects."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from lacre.engine.readings import reading
from lacre.engine.tries import Broken, Limited, Reading, Said, Stopped
from lacre.registry.columns import Dialect

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def read(dialect: Dialect, status: int, value: Any, sent: tuple[str, ...] = (), **headers: str) -> Reading:
    body = value if isinstance(value, bytes) else msgspec.json.encode(value)
    return reading(dialect, status, headers, body, now=NOW, sent=sent)


def test_google_says_in_the_body_how_long_to_wait() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"}]
    error = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": details}}
    assert read("gemini", 429, error) == Limited(wait=37)
    assert read("gemini", 429, [error]) == Limited(wait=37)
    assert read("gemini", 429, error["error"]) == Limited(wait=37)
    assert read("gemini", 429, b"") == Limited(wait=None)


@pytest.mark.parametrize(
    ("status", "value", "expected"),
    [
        (200, {"error": {"code": 429, "message": "slow"}}, Limited),
        (200, {"error": {"code": 401, "message": "no"}}, Stopped),
        (200, {"error": "odd"}, Broken),
        (200, {"error": {"code": "content_filter"}, "choices": []}, Broken),
        (200, {"choices": [{"message": None, "finish_reason": None}]}, Broken),
        (200, {"choices": [{"message": {"content": "A"}}]}, Said),
        (200, {"choices": [{"text": "A"}]}, Broken),
        (200, {"choices": "A"}, Broken),
        (200, b"null", Broken),
        (200, b"", Broken),
        (204, b"", Broken),
        (400, "plain text", Broken),
        (400, b"\xff", Broken),
        (400, {"error": "model_not_found"}, Stopped),
        (400, {"error": {"type": "authentication_error"}}, Stopped),
        (403, {"error": {"code": "content_policy_violation"}}, Said),
        (413, {"error": {"message": "request too large"}}, Broken),
        (422, {"detail": "odd"}, Broken),
        (503, b"<html>", Broken),
    ],
)
def test_odd_answers_become_something_known(status: int, value: Any, expected: type) -> None:
    assert isinstance(read("openai", status, value), expected)


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ("Unsupported parameter: 'max_tokens' is not supported with this model.", "max_tokens"),
        ("Unrecognized request argument supplied: top_k", None),  # never sent: a word of the message
        ("`temperature` may only be set to 1 when thinking is enabled", "temperature"),
        ("Unsupported value: 'temperature' does not support 0.2 with this model.", "temperature"),
        ("Invalid value at 'generation_config.temperature'", "generationConfig.temperature"),
    ],
)
def test_the_setting_at_fault_is_named(message: str, named: str | None) -> None:
    sent = (named or "temperature",)
    found = read("openai", 400, {"error": {"message": message}}, sent)
    assert isinstance(found, Stopped)
    assert (found.reason, found.parameter) == ("parameter", named)


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens, however you requested max_tokens 9000",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "Could not process image",
        "messages: text content blocks must be non-empty",
    ],
)
def test_what_is_no_setting_s_fault_fails_one_question_only(message: str) -> None:
    found = read("anthropic", 400, {"error": {"message": message}}, ("max_tokens",))
    assert isinstance(found, Broken)
    assert found.cause == "rejected"


def test_a_reading_quotes_nothing_of_an_error() -> None:
    secret = "sk-planted-key and the words of an item"
    for status in (400, 401, 403, 404, 418, 429, 500):
        for value in ({"error": {"message": secret, "param": "temperature"}}, {"detail": secret}, secret):
            assert "planted" not in repr(read("openai", status, value, ("temperature",)))
            assert "words" not in repr(read("openai", status, value, ("temperature",)))


def test_a_name_that_was_not_sent_is_not_repeated() -> None:
    error = {"error": {"code": "unknown_parameter", "param": "a b\x1b[31m" + "x" * 99, "message": ""}}
    found = read("openai", 400, error)
    assert isinstance(found, Stopped)
    assert found.parameter is None
    assert "xxx" not in found.detail


def test_a_wait_before_another_try_is_kept() -> None:
    found = reading("openai", 503, {"retry-after": "4"}, b"", now=NOW)
    assert isinstance(found, Broken)
    assert found.wait == 4
