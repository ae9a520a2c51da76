"""The request that a card and a message make, in each dialect, byte for byte as it is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

import msgspec

from lacre.engine.keys import Key
from lacre.engine.messages import ImagePart, Message, TextPart
from lacre.registry.columns import Column, Dialect
from lacre.registry.records import Record

ANTHROPIC_VERSION = "2023-06-01"
"""The version of the Messages API, which every request names (Anthropic, API reference, "Versions")."""

CAP_NAMES: Mapping[Dialect, str] = {
    "openai": "max_completion_tokens",
    "anthropic": "max_tokens",
    "gemini": "generationConfig.maxOutputTokens",
    "maritaca": "max_tokens",
    "completions": "max_tokens",
}
"""What a dialect calls the output cap, where the card does not say otherwise."""


UNSTORED: Mapping[Dialect, tuple[str, bool]] = {"openai": ("store", False)}
"""How a dialect asks the vendor not to keep an exchange (OpenAI, Chat Completions, "store"); others have no such word,
and what they keep is a matter of the retention terms on the card."""


class Request(Record):
    """One request, whole but for its key, which is added when it is sent.

    Attributes:
        cap: the most tokens that it lets the column write, none when nothing in the body says so.
    """

    url: str
    headers: dict[str, str]
    body: bytes
    cap: int | None = None


def request_of(card: Column, message: Message, *, unstored: bool = False) -> Request:
    """The request that puts a message to a column. Every column gets the same message and its card's settings.

    ``unstored`` asks the vendor not to keep the exchange, where the dialect knows how (:data:`UNSTORED`).

    >>> from lacre.engine.messages import Message, TextPart
    >>> card = Column(id="m", model="m-1", vendor="v", family="f", dialect="openai",
    ...               endpoint="http://127.0.0.1:80/v1", cap=9)
    >>> request_of(card, Message(parts=(TextPart(text="Oi"),))).body
    b'{"model":"m-1","messages":[{"role":"user","content":"Oi"}],"max_completion_tokens":9}'
    """
    base = card.endpoint.rstrip("/")
    headers = {"content-type": "application/json", "accept": "application/json"}
    body: dict[str, Any]
    match card.dialect:
        case "openai" | "maritaca":
            url = f"{base}/chat/completions"
            body = {"model": card.model, "messages": [{"role": "user", "content": _openai_content(message)}]}
        case "completions":
            # A text to go on with, and no turns: OpenAI's older endpoint, which servers of base models have.
            url = f"{base}/completions"
            body = {"model": card.model, "prompt": message.text}
        case "anthropic":
            url = f"{base}/v1/messages"
            headers["anthropic-version"] = ANTHROPIC_VERSION
            content = [_anthropic_part(part) for part in message.parts]
            body = {"model": card.model, "messages": [{"role": "user", "content": content}]}
        case "gemini":
            url = f"{base}/v1beta/models/{card.model}:generateContent"
            body = {"contents": [{"role": "user", "parts": [_gemini_part(part) for part in message.parts]}]}
        case _:
            assert_never(card.dialect)
    for name, value in sent_settings(card, unstored=unstored).items():
        _put(body, name, value)
    return Request(url=url, headers=headers, body=msgspec.json.encode(body), cap=_cap_in(body, card))


def sent_settings(card: Column, *, unstored: bool = False) -> dict[str, Any]:
    """The settings that a card's requests carry: output cap, reasoning effort, and the rest, by dotted name."""
    sent: dict[str, Any] = {}
    if card.cap is not None:
        sent[card.cap_name or CAP_NAMES[card.dialect]] = card.cap
    if card.effort_name is not None:
        sent[card.effort_name] = card.effort
    sent |= card.settings
    if unstored and card.dialect in UNSTORED:
        # Last, so that no card's setting undoes it.
        name, value = UNSTORED[card.dialect]
        sent[name] = value
    return sent


def _cap_in(body: Mapping[str, Any], card: Column) -> int | None:
    """The output cap that a body carries: what is sent counts, not what the card meant to send."""
    value: Any = body
    for name in (card.cap_name or CAP_NAMES[card.dialect]).split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, int) else None


def key_header(dialect: Dialect, key: Key | None) -> dict[str, str]:
    """The header that carries the key; none without a key."""
    if key is None:
        return {}
    match dialect:
        case "openai" | "maritaca" | "completions":
            return {"authorization": f"Bearer {key.reveal()}"}
        case "anthropic":
            return {"x-api-key": key.reveal()}
        case "gemini":
            return {"x-goog-api-key": key.reveal()}
        case _:
            assert_never(dialect)


def shown_headers(card: Column) -> dict[str, str]:
    """The key's header as a dry run shows it: the name of the place where the key is."""
    place = f"${card.key_env}" if card.key_env else card.key_file
    return key_header(card.dialect, Key(place, place) if place else None)


def _openai_content(message: Message) -> Any:
    if message.is_plain:
        return message.text
    return [
        {"type": "text", "text": part.text}
        if isinstance(part, TextPart)
        else {"type": "image_url", "image_url": {"url": f"data:{part.media};base64,{part.base64}"}}
        for part in message.parts
    ]


def _anthropic_part(part: TextPart | ImagePart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    source = {"type": "base64", "media_type": part.media, "data": part.base64}
    return {"type": "image", "source": source}


def _gemini_part(part: TextPart | ImagePart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"text": part.text}
    return {"inlineData": {"mimeType": part.media, "data": part.base64}}


def _put(body: dict[str, Any], name: str, value: Any) -> None:
    """Set a dotted name in nested objects."""
    *above, last = name.split(".")
    for key in above:
        body = body.setdefault(key, {})
    body[last] = value
