"""What a server's answer becomes: its reading, with the last word on keys, endings and errors that came as answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

import msgspec

from lacre.engine.bodies import Mended, mended
from lacre.engine.readings import Broken, Reading, Said, Stopped, reading
from lacre.registry.columns import Dialect
from lacre.registry.endings import ENDINGS

_KEY = re.compile(
    r"(?:api[ _-]?key|x-api-key|access[ _-]?token|bearer[ _-]?token|auth\w*[ _-]token)\b"
    r".{0,40}(?:not valid|invalid|incorrect|wrong|expired|revoked|missing|not found|not provided|disabled|leaked"
    r"|suspended|required|malformed|unknown|inv[aá]lid|expirad|incorret)"
    r"|(?:not valid|invalid|incorrect|wrong|expired|revoked|missing|unknown|valid|no|provide an?|your)"
    r"(?: \w+)? (?:api[ _-]?key|x-api-key|access[ _-]?token|bearer[ _-]?token|auth\w*[ _-]token)\b"
    r"|(?:invalid|missing|wrong|no|incorrect|bad) (?:auth\w*|credentials?)\b|could not (?:be )?authenticate"
    r"|authentication (?:failed|error|required)|unauthori[sz]ed|unauthenticated"
    r"|chave (?:da |de )?(?:api|acesso)?.{0,20}(?:inv[aá]lida|expirada|incorreta|revogada|ausente)",
    re.IGNORECASE,
)  # fmt: skip
_STATUS = re.compile(r" \(status \d+\)")


def heard(
    dialect: Dialect,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    now: datetime,
    sent: Sequence[str] = (),
) -> Reading:
    """What a server's answer becomes: as :func:`~lacre.engine.readings.reading`, and on top of it

    - half characters and impossible counts of tokens do not spoil an answer (:mod:`lacre.engine.bodies`);
    - a 400 or 422 that is about the key stops the column, in whichever words it says so;
    - an error that came with status 200 is called what it is, and no status that nobody sent is named;
    - every known word for an end has its row in :data:`~lacre.registry.endings.ENDINGS`.

    >>> body = b'{"error": {"message": "API key not valid. Please pass a valid API key."}}'
    >>> heard("gemini", 400, {}, body, now=datetime.min).reason
    'key'
    """
    whole = mended(dialect, body) if status == 200 else Mended(value=_loose(body), body=body)
    found = reading(dialect, status, headers, whole.body, now=now, sent=sent)
    wrapped = status == 200 and _is_error(whole.value)
    if (status in (400, 422) or wrapped) and _is_about_the_key(found, whole.value):
        found = Stopped(reason="key", detail=f"the key was refused (status {status})")
    if wrapped:
        return _unwrapped(found)
    if isinstance(found, Said | Broken):
        found = _ended(found)
        if whole.dropped:
            usage = msgspec.structs.replace(found.usage, dropped=whole.dropped)
            found = replace(found, usage=usage)
    return found


def _ended(found: Said | Broken) -> Said | Broken:
    """A reading as the word for its end makes it."""
    if isinstance(found, Broken) and found.cause != "empty":
        return found
    if isinstance(found, Said) and (found.kind == "refused" or found.finish == "stop"):
        return found
    ending = ENDINGS.get((found.raw_finish or "").casefold())
    text = found.text if isinstance(found, Said) else ""
    match ending:
        case "refused":
            return _said("refused", "content_filter", text, found)
        case "cap":
            return _said("truncated", "length", text, found)
        case "failed":
            return Broken(
                cause="server",
                detail="the server broke the answer off",
                raw_finish=found.raw_finish,
                finish="other",
                usage=found.usage,
                model=found.model,
            )
        case "cut" if text:
            return _said("truncated", "tool" if found.finish == "tool" else "other", text, found)
        case "whole" if text:
            return _said("answered", "stop", text, found)
        case _:
            return found


def _said(
    kind: Literal["answered", "refused", "truncated"],
    finish: Literal["stop", "length", "content_filter", "tool", "other"],
    text: str,
    found: Said | Broken,
) -> Said:
    return Said(
        kind=kind, text=text, finish=finish, raw_finish=found.raw_finish, usage=found.usage, model=found.model
    )


def _unwrapped(found: Reading) -> Reading:
    """A reading of an error that came with status 200, in words that name no status that was not sent."""
    match found:
        case Broken(cause="server"):
            return replace(found, detail="an error came in the place of an answer, with status 200")
        case Broken() | Stopped():
            return replace(found, detail=f"{_STATUS.sub('', found.detail)} (in an answer with status 200)")
        case _:
            return found


def _is_error(value: Any) -> bool:
    return isinstance(value, dict) and bool(value.get("error")) and not value.get("choices")


def _is_about_the_key(found: Reading, value: Any) -> bool:
    """Whether an error that is not yet told to be about quota, policy or rates says that the key is at fault."""
    if isinstance(found, Broken):
        return found.cause in ("rejected", "server") and _KEY.search(_words(value)) is not None
    return (
        isinstance(found, Stopped) and found.reason == "parameter" and _KEY.search(_words(value)) is not None
    )


def _words(value: Any) -> str:
    """The message of an error, in any dialect's shape."""
    if isinstance(value, list):
        value = value[0] if value else None
    if not isinstance(value, dict):
        return value if isinstance(value, str) else ""
    error = value.get("error", value)
    said = [error]
    for one in (value, error):
        if isinstance(one, dict):
            said += [one.get(name) for name in ("message", "detail", "code", "type")]
    return " ".join(one for one in said if isinstance(one, str))


def _loose(body: bytes) -> Any:
    """A body as JSON, or as text when it is none."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body.decode("utf-8", "replace")[:2000]
