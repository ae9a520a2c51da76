"""The last word on a server's answer: keys, endings, errors with status 200, and bodies that are almost right."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.making import PRICE, card, finished, questions, replies
from tests.engine.server import Say, Send, Server, always

from lacre.engine.bodies import Mended, mended
from lacre.engine.costs import costs, price_of
from lacre.engine.readings import reading
from lacre.engine.replies import Answered, Failed, Refused, Reply, Truncated
from lacre.engine.runs import RunState
from lacre.engine.tries import Broken, Limited, Reading, Said, Stopped
from lacre.registry.columns import Dialect
from lacre.registry.endings import ENDINGS
from lacre.registry.raw_answers import read_raw_answers
from lacre.scoring.estimates import Undefined

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DIALECTS: tuple[Dialect, ...] = ("openai", "anthropic", "gemini", "maritaca", "completions")


def read(dialect: Dialect, status: int, value: Any, sent: tuple[str, ...] = ()) -> Reading:
    body = value if isinstance(value, bytes) else msgspec.json.encode(value)
    return reading(dialect, status, {}, body, now=NOW, sent=sent)


def one(send: Say | Send, dialect: str, folder: Path, **changes: Any) -> tuple[Reply, RunState]:
    """The reply to one question by a server that always does the same, over a real connection."""
    path = folder / "journal.jsonl"
    with Server(always(send)) as server:
        state = finished(path, questions(1), [card(server.endpoint(dialect), dialect, **changes)])
    return replies(path)[-1].reply, state


# Keys.

ABOUT_THE_KEY = [
    "API key not valid. Please pass a valid API key.",
    "API key expired. Please renew the API key.",
    "API Key not found. Please pass a valid API key.",
    "Incorrect API key provided: sk-abc***. You can find your API key at ...",
    "Invalid API key",
    "You didn't provide an API key.",
    "Your API key was reported as leaked. Please use another API key.",
    "Missing bearer token",
    "x-api-key header is required",
    "invalid x-api-key",
    "Invalid authentication credentials",
    "Authentication failed",
    "Unauthorized",
    "Chave de API inválida",
    "A chave da API foi revogada",
]


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("message", ABOUT_THE_KEY)
def test_a_400_about_the_key_stops_the_column_in_any_words(
    message: str, dialect: Dialect, status: int
) -> None:
    shapes: list[Any] = [
        {"error": {"message": message}}, [{"error": {"message": message}}], {"error": message},
        {"detail": message}, {"message": message},
    ]  # fmt: skip
    for shape in (*shapes, message):
        found = read(dialect, status, shape, ("temperature", "max_tokens"))
        assert isinstance(found, Stopped), shape
        assert found.reason == "key"
        assert found.detail == f"the key was refused (status {status})"


@pytest.mark.parametrize("status", [200, 400, 422])
@pytest.mark.parametrize(
    "error",
    [
        {"code": "Unauthorized"}, {"type": "unauthenticated"}, {"status": "UNAUTHENTICATED"},
        {"details": [{"reason": "unauthenticated"}]}, {"detail": [{"msg": "Invalid API key"}]},
        {"details": "Invalid API key"},
    ],
)  # fmt: skip
def test_a_key_at_fault_is_heard_in_codes_and_details_as_in_the_message(
    error: dict[str, Any], status: int
) -> None:
    shapes: list[Any] = [{"error": error}, {"error": {"param": None}, **error}]
    if status != 200:
        shapes += [error, [{"error": error}]]
    for shape in shapes:
        found = read("openai", status, shape)
        assert isinstance(found, Stopped), shape
        assert found.reason == "key"


@pytest.mark.parametrize(
    "error",
    [
        {"message": "Unsupported value: 'temperature'"},
        {"detail": "temperature is not supported"},
        {"message": {"detail": [{"loc": ["body", "temperature"], "msg": "Extra inputs are not permitted"}]}},
        {"detail": [{"loc": ["body", "temperature"], "msg": "Input should be less than 2"}]},
        {"details": [{"loc": ["body", "temperature"], "msg": "Input should be less than 2"}]},
        {"code": "unsupported_parameter", "param": "temperature"},
    ],
)
def test_a_setting_at_fault_is_heard_in_every_shape(error: dict[str, Any]) -> None:
    for shape in (error, [error], {"error": error}, [{"error": error}]):
        found = read("openai", 422, shape, ("temperature", "max_tokens"))
        assert isinstance(found, Stopped), shape
        assert (found.reason, found.parameter) == ("parameter", "temperature")


def test_the_words_of_an_answer_beside_an_error_are_not_the_error_s() -> None:
    beside = {"error": {"message": "overloaded"}, "message": {"content": "Invalid API key"}}
    assert isinstance(read("openai", 400, beside), Broken)
    assert isinstance(read("openai", 200, beside), Broken)


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens must be at most 4096 tokens",
        "Invalid token id in logit_bias",
        "Unknown name \"key\" at 'contents'",
        "Could not process image",
        "messages: text content blocks must be non-empty",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "Invalid value for 'model'",
        "the keyboard of the item is invalid",
    ],
)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_400_about_something_else_is_not_the_key_s_fault(message: str, dialect: Dialect) -> None:
    found = read(dialect, 400, {"error": {"message": message}}, ("max_tokens",))
    assert not (isinstance(found, Stopped) and found.reason == "key")


def test_policy_and_quota_come_before_the_key() -> None:
    policy = {"error": {"code": "content_filter", "message": "invalid api key"}}
    assert isinstance(read("openai", 400, policy), Said)
    quota = {"error": {"message": "Your credit balance is too low; your api key is disabled"}}
    found = read("anthropic", 400, quota)
    assert isinstance(found, Stopped)
    assert found.reason == "quota"


def test_gemini_s_bare_400_stops_the_column_at_its_first_question(tmp_path: Path) -> None:
    error = {"error": {"code": 400, "message": ABOUT_THE_KEY[0], "status": "INVALID_ARGUMENT"}}
    with Server(always(Send.json(400, error))) as server:
        column = card(server.endpoint("gemini"), "gemini", concurrency=1)
        state = finished(tmp_path / "journal.jsonl", questions(9), [column])
        assert server.requests == 1
    assert state.columns[0].halted.reason == "key"


# Errors with status 200.


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        ({"message": "x"}, Broken, "an error came in the place of an answer, with status 200"),
        ({"message": "x", "code": 503}, Broken, "an error came in the place of an answer, with status 200"),
        (
            {"message": "x", "code": 400},
            Broken,
            "the server refused this request (in an answer with status 200)",
        ),
        ({"message": "x", "code": 401}, Stopped, "the key was refused (in an answer with status 200)"),
        ("Invalid API key", Stopped, "the key was refused (in an answer with status 200)"),
        (
            {"code": "insufficient_quota"},
            Stopped,
            "no quota or credit is left (in an answer with status 200)",
        ),
        ({"code": 404}, Stopped, "the server knows no such model or address (in an answer with status 200)"),
    ],
)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_error_with_status_200_names_no_status_that_nobody_sent(
    error: Any, kind: type, said: str, dialect: Dialect
) -> None:
    found = read(dialect, 200, {"error": error})
    assert isinstance(found, Broken | Stopped)
    assert (type(found), found.detail) == (kind, said)


def test_a_rate_limit_or_a_refusal_with_status_200_stays_one() -> None:
    assert read("openai", 200, {"error": {"code": 429}}) == Limited(wait=None)
    assert isinstance(read("openai", 200, {"error": {"code": 400, "type": "content_filter"}}), Said)


def test_what_the_journal_says_of_an_error_with_status_200(tmp_path: Path) -> None:
    reply, state = one(Send.json(200, {"error": {"message": "op-errin200"}}), "openai", tmp_path)
    assert isinstance(reply, Failed)
    assert "500" not in reply.detail
    assert (reply.cause, reply.delivery.status, reply.delivery.attempts) == ("server", 200, 5)
    assert state.complete


# Endings.

SAME_FOR_ALL: list[tuple[str, str | None, type[Reply], str]] = [
    ("pause_turn", "Letra A", Truncated, "other"),
    ("pause_turn", None, Failed, "other"),
    ("MALFORMED_FUNCTION_CALL", "Letra A", Truncated, "other"),
    ("MALFORMED_FUNCTION_CALL", None, Failed, "other"),
    ("UNEXPECTED_TOOL_CALL", "Letra A", Truncated, "other"),
    ("OTHER", "Letra A", Truncated, "other"),
    ("OTHER", None, Failed, "other"),
    ("LANGUAGE", "Letra A", Truncated, "other"),
    ("LANGUAGE", None, Failed, "other"),
    ("RECITATION", "Letra A", Refused, "content_filter"),
    ("RECITATION", None, Refused, "content_filter"),
    ("MODEL_ARMOR", None, Refused, "content_filter"),
    ("safety", "Letra A", Refused, "content_filter"),
    ("model_length", "Letra A", Truncated, "length"),
    ("model_context_window_exceeded", None, Truncated, "length"),
    ("insufficient_system_resource", "Letra A", Failed, "other"),
    ("error", None, Failed, "other"),
    ("abort", "Letra A", Failed, "other"),
    ("END_TURN", "Letra A", Answered, "stop"),
    ("whim", "Letra A", Answered, "other"),
    ("whim", None, Failed, "other"),
]


@pytest.mark.parametrize("row", SAME_FOR_ALL, ids=lambda row: f"{row[0]} {row[1]}")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_word_for_an_end_means_the_same_in_every_dialect(
    row: tuple[str, str | None, type[Reply], str], dialect: str, tmp_path: Path
) -> None:
    raw, text, kind, finish = row
    reply, _ = one(Say(text=text, finish=raw), dialect, tmp_path)
    assert isinstance(reply, kind)
    assert reply.raw_finish == raw
    # Where a dialect has a word of its own for a call of a tool, its finish says so.
    assert reply.finish in (finish, "tool")
    assert isinstance(reply, Failed) or reply.text == (text or "")


@pytest.mark.parametrize(
    ("dialect", "raw"), [("openai", "tool_calls"), ("openai", "function_call"), ("anthropic", "tool_use")]
)
def test_a_call_of_a_tool_that_nobody_gave_is_no_end_of_an_answer(
    dialect: str, raw: str, tmp_path: Path
) -> None:
    reply, _ = one(Say(text="Vou procurar.", finish=raw), dialect, tmp_path)
    assert isinstance(reply, Truncated)
    assert (reply.finish, reply.raw_finish) == ("tool", raw)


def test_an_answer_that_was_broken_off_is_tried_again(tmp_path: Path) -> None:
    reply, _ = one(Say(text="A", finish="insufficient_system_resource"), "openai", tmp_path)
    assert isinstance(reply, Failed)
    assert (reply.cause, reply.delivery.attempts) == ("server", 5)


def test_an_unknown_word_is_kept_and_counted(tmp_path: Path) -> None:
    reply, state = one(Say(text="Letra A", finish="whim"), "openai", tmp_path)
    assert isinstance(reply, Answered)
    assert state.columns[0].unknown_ends == {"whim": 1}


def test_no_word_at_all_is_counted_too(tmp_path: Path) -> None:
    reply, state = one(Say(text="Letra A", finish=None), "openai", tmp_path)
    assert isinstance(reply, Answered)
    assert state.columns[0].unknown_ends == {"(none)": 1}


def test_every_word_is_written_in_lower_case_and_once() -> None:
    assert all(word == word.casefold() for word in ENDINGS)


@pytest.mark.parametrize(
    ("word", "kind"),
    [("pause_turn", "truncated"), ("MALFORMED_FUNCTION_CALL", "truncated"), ("end_turn", "answered"),
     ("abort", "failed"), ("SAFETY", "refused"), ("", "answered"), ("truncated", "truncated")],
)  # fmt: skip
def test_a_file_of_answers_may_use_the_same_words(word: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text(f"item,answer,finish\nq1,A,{word}\n", "utf-8")
    [answer] = read_raw_answers(path, letters="AB")
    assert answer.ending == kind


def test_every_known_word_stands_in_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs/explanation/engine.md").read_text("utf-8").casefold()
    assert [word for word in ENDINGS if f"`{word}`" not in page] == []


# Bodies that are almost right.


@pytest.mark.parametrize("dialect", DIALECTS)
def test_half_a_character_does_not_spoil_an_answer(dialect: str, tmp_path: Path) -> None:
    with Server(always(Say(text="@@"))) as server:
        column = card(server.endpoint(dialect), dialect)
        server.script = lambda seen: Send(body=_said_in(seen.shape))
        finished(tmp_path / "journal.jsonl", questions(1), [column])
    reply = replies(tmp_path / "journal.jsonl")[-1].reply
    assert isinstance(reply, Answered)
    assert reply.text == "Letra A \ufffd\U0001f600"


def _said_in(shape: str) -> bytes:
    text = r"Letra A \ud83d\ud83d\ude00"
    return {
        "anthropic": f'{{"content":[{{"type":"text","text":"{text}"}}],"stop_reason":"end_turn"}}',
        "gemini": f'{{"candidates":[{{"content":{{"parts":[{{"text":"{text}"}}]}},"finishReason":"STOP"}}]}}',
        "openai": f'{{"choices":[{{"message":{{"content":"{text}"}},"finish_reason":"stop"}}]}}',
        "completions": f'{{"choices":[{{"text":"{text}","finish_reason":"stop"}}]}}',
    }[shape].encode()


NAMES = {
    "openai": ("usage", "prompt_tokens", "completion_tokens"),
    "maritaca": ("usage", "prompt_tokens", "completion_tokens"),
    "completions": ("usage", "prompt_tokens", "completion_tokens"),
    "anthropic": ("usage", "input_tokens", "output_tokens"),
    "gemini": ("usageMetadata", "promptTokenCount", "candidatesTokenCount"),
}
ANSWERS = {
    "openai": '"choices":[{"message":{"content":"B"},"finish_reason":"stop"}]',
    "maritaca": '"choices":[{"message":{"content":"B"},"finish_reason":"stop"}]',
    "completions": '"choices":[{"text":"B","finish_reason":"stop"}]',
    "anthropic": '"content":[{"type":"text","text":"B"}],"stop_reason":"end_turn"',
    "gemini": '"candidates":[{"content":{"parts":[{"text":"B"}]},"finishReason":"STOP"}]',
}


@pytest.mark.parametrize(
    "bad", ["NaN", "Infinity", "-Infinity", "1e999", "-3", '"12"', "1.5", "true", "[]", "1e30"]
)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_count_that_is_none_is_dropped_and_counted(dialect: Dialect, bad: str) -> None:
    usage, first, second = NAMES[dialect]
    body = f'{{{ANSWERS[dialect]},"{usage}":{{"{first}":{bad},"{second}":4}}}}'
    found = read(dialect, 200, body.encode())
    assert isinstance(found, Said)
    assert (found.text, found.usage.input, found.usage.output, found.usage.dropped) == ("B", None, 4, 1)


@pytest.mark.parametrize("bad", ["[]", '"many"', "7", "NaN"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_usage_of_no_shape_is_dropped_and_the_answer_kept(dialect: Dialect, bad: str) -> None:
    found = read(dialect, 200, f'{{{ANSWERS[dialect]},"{NAMES[dialect][0]}":{bad}}}'.encode())
    assert isinstance(found, Said)
    assert (found.text, found.usage.dropped) == ("B", 1)


@pytest.mark.parametrize(
    ("dialect", "usage"),
    [
        (
            "openai",
            {"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 9}},
        ),
        ("openai", {"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": 3}),
        ("maritaca", {"prompt_tokens": 5, "completion_tokens": 1, "completion_tokens_details": "x"}),
        ("anthropic", {"input_tokens": 5, "output_tokens": 1, "output_tokens_details": []}),
        ("gemini", {"promptTokenCount": 5, "candidatesTokenCount": 1, "cachedContentTokenCount": 6}),
    ],
)
def test_a_part_that_cannot_be_is_dropped_and_the_rest_kept(dialect: Dialect, usage: Any) -> None:
    body = f'{{{ANSWERS[dialect]},"{NAMES[dialect][0]}":{json.dumps(usage)}}}'
    found = read(dialect, 200, body.encode())
    assert isinstance(found, Said)
    assert (found.usage.input, found.usage.output, found.usage.cached, found.usage.dropped) == (5, 1, None, 1)


def test_whole_counts_written_as_decimals_are_counts() -> None:
    usage = {"prompt_tokens": 5.0, "completion_tokens": 1, "prompt_tokens_details": None}
    found = read("openai", 200, f'{{{ANSWERS["openai"]},"usage":{json.dumps(usage)}}}'.encode())
    assert isinstance(found, Said)
    assert (found.usage.input, found.usage.output, found.usage.dropped) == (5, 1, 0)


def test_an_answer_with_a_broken_count_has_no_price_and_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    extra = {"usage": {"prompt_tokens": -1, "completion_tokens": 4}}
    with Server(always(Say(text="B", extra=extra))) as server:
        column = card(server.endpoint("openai"), price=PRICE)
        finished(path, questions(3), [column])
    [cost] = costs("answers", [column], None, replies(path))
    assert (cost.dropped, cost.unknown, cost.output) == (3, 3, 12)
    assert isinstance(cost.usd, Undefined)
    assert "no counts" in str(price_of(replies(path)[0].reply.usage, PRICE))


@pytest.mark.parametrize("body", [b"", b"\xff", b"<html>", b"[" * 100_000, b'{"a":' * 50_000, b"9" * 5000])
def test_what_is_no_json_is_no_answer(body: bytes) -> None:
    assert mended("openai", body) is None
    found = read("openai", 200, body)
    assert isinstance(found, Broken)
    assert found.cause == ("not_text" if body == b"\xff" else "not_json")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    value=VALUES,
    usage=st.dictionaries(
        st.sampled_from(["prompt_tokens", "completion_tokens", "prompt_tokens_details"]), VALUES
    ),
)
def test_any_json_is_mended_into_json_that_needs_no_mending(value: Any, usage: Any) -> None:
    body = json.dumps({"x": value, "usage": usage}).encode()
    once = mended("openai", body)
    assert once is not None
    # Neither half characters nor numbers that JSON does not have are left.
    written = json.dumps(once.value, ensure_ascii=False, allow_nan=False).encode()
    assert mended("openai", written) == Mended(value=once.value)


@given(text=st.text(st.characters(codec=None, categories=None)))
def test_text_with_half_characters_comes_through_otherwise_whole(text: str) -> None:
    body = json.dumps({"choices": [{"message": {"content": text + "."}, "finish_reason": "stop"}]}).encode()
    found = read("openai", 200, body)
    assert isinstance(found, Said)
    assert found.text.replace("\ufffd", "") == "".join(
        one
        for one in (text + ".").encode("utf-16", "surrogatepass").decode("utf-16", "ignore")
        if one != "\ufffd"
    )
