"""The completions dialect: a text goes out as it is, and its continuation comes back."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.engine.making import card, questions
from tests.engine.server import Say, Send, Server, always

from lacre.engine.checks import check_column
from lacre.engine.dialects import request_of
from lacre.engine.messages import Message, TextPart
from lacre.engine.plans import check_questions
from lacre.engine.readings import reading
from lacre.engine.tries import Broken, Said
from lacre.errors import InputError


def read(body: bytes) -> Any:
    return reading("completions", 200, {}, body, now=datetime(2026, 1, 1, tzinfo=UTC))


def test_a_request_holds_the_text_alone() -> None:
    one = card("http://127.0.0.1:1/v1/", "completions", accepts=("temperature",), settings={"temperature": 0})
    request = request_of(one, Message(parts=(TextPart(text="O farol da "),)), unstored=True)
    assert request.url == "http://127.0.0.1:1/v1/completions"
    assert request.body == b'{"model":"modelo-1","prompt":"O farol da ","max_tokens":100,"temperature":0}'


@pytest.mark.parametrize(
    ("finish", "kind", "said"),
    [("stop", "answered", "stop"), ("length", "truncated", "length"), ("content_filter", "refused", "content_filter")],
)  # fmt: skip
def test_text_finish_and_tokens_are_read(finish: str, kind: str, said: str) -> None:
    body = (
        f'{{"model":"m","choices":[{{"text":" ilha","finish_reason":"{finish}"}}],'
        '"usage":{"prompt_tokens":3,"completion_tokens":1}}'
    )
    found = read(body.encode())
    assert isinstance(found, Said)
    assert (found.text, found.kind, found.finish, found.raw_finish) == (" ilha", kind, said, finish)
    assert (found.usage.input, found.usage.output, found.model) == (3, 1, "m")


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        (b'{"choices":[{"message":{"content":"B"},"finish_reason":"stop"}]}', "unreadable"),
        (b'{"choices":[{"text":null,"finish_reason":"stop"}]}', "empty"),
        (b'{"choices":[{"text":7}]}', "unreadable"),
        (b'{"choices":[]}', "no_choices"),
        (b'{"choices":["B"]}', "unreadable"),
    ],
)
def test_an_answer_of_another_shape_is_no_empty_one(body: bytes, cause: str) -> None:
    found = read(body)
    assert isinstance(found, Broken)
    assert found.cause == cause


def test_a_card_is_checked_as_any_other() -> None:
    with Server(always(Say(text=" pronto"))) as server:
        found = check_column(card(server.endpoint("completions"), "completions"), None)
        assert [seen.path for seen in server.seen] == ["/v1/completions"]
    assert found.status == "ok"
    with Server(always(Send(status=404))) as server:
        assert check_column(card(server.endpoint("completions"), "completions"), None).status == "failed"


def test_no_run_asks_a_column_that_only_goes_on_with_texts(tmp_path: Path) -> None:
    cards = [card("http://127.0.0.1:1/v1"), card("http://127.0.0.1:1/v1", "completions")]
    with pytest.raises(InputError, match="column 'completions': goes on with a text and answers no question"):
        check_questions(questions(1), cards)
