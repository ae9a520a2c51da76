"""What an error of a server's is, in any dialect's shape: a refusal, a limit, a stopped column, or no answer.

Nothing of what is made here quotes the server: its messages may repeat the item or the key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec

from lacre.engine.replies import Usage
from lacre.engine.tries import Broken, Limited, Reading, Said, Stopped
from lacre.engine.waits import asked_wait

_POLICY_CODES = frozenset(
    {
        "content_filter", "content_policy_violation", "responsibleaipolicyviolation", "moderation_blocked",
        "invalid_prompt", "content_policy", "safety",
    }
)  # fmt: skip
_POLICY_WORDS = re.compile(r"content filtering policy|content management policy|usage polic", re.IGNORECASE)
_QUOTA_CODES = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_credits"}
)
_QUOTA_WORDS = re.compile(
    r"credit balance is too low|insufficient (?:quota|credits|balance|funds)", re.IGNORECASE
)
_KEY_CODES = frozenset({"invalid_api_key", "api_key_invalid", "authentication_error", "permission_error"})
_TOO_LONG = re.compile(r"context[ _](?:length|window)|too (?:long|many tokens)|exceeds? the maximum", re.I)
_PARAMETER_CODES = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter"})
_UNSUPPORTED = re.compile(
    r"unsupported|not supported|não (?:é )?suportad|does not support|unrecogni[sz]ed|unknown|not permitted"
    r"|extra inputs|deprecated|only be set|must be|maximum|invalid|cannot|out of range|not allowed",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(?:parameter|argument|argument supplied|name|field|value|keyword)s?:? ?[\"'`]([\w.]{1,60})[\"'`]"
    r"|^([\w.]{1,60}): Extra inputs are not permitted"
    r"|Unrecognized request argument supplied: ([\w.]{1,60})",
    re.IGNORECASE,
)
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


MOST_WORDS = 2000
"""Characters of an error that is no JSON in which words about the key are looked for."""


def rejection(
    status: int, headers: Mapping[str, str], body: bytes, *, now: datetime, sent: Sequence[str]
) -> Reading:
    """The reading of an answer whose status is not 200.

    A 400 or 422 that is about the key stops the column, in whichever words it says so.
    """
    value: Any
    try:
        value = words = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # Words that are no JSON may be a page about anything: nothing but the key is looked for in them.
        value, words = None, body.decode("utf-8", "replace")[:MOST_WORDS]
    found = _by_codes(status, headers, value, now, sent)
    if status in (400, 422) and _is_about_the_key(found, words):
        return Stopped(reason="key", detail=f"the key was refused (status {status})")
    return found


def wrapped_rejection(
    headers: Mapping[str, str], value: dict[str, Any], *, now: datetime, sent: Sequence[str]
) -> Reading:
    """The reading of an error that came with status 200, as gateways wrap those of the system behind them.

    It is called what it is, and no status that nobody sent is named.
    """
    found = _by_codes(_wrapped_status(value), headers, value, now, sent)
    if _is_about_the_key(found, value):
        found = Stopped(reason="key", detail="the key was refused")
    return _unwrapped(found)


def _by_codes(
    status: int, headers: Mapping[str, str], value: Any, now: datetime, sent: Sequence[str]
) -> Reading:
    """The reading of an error by its status, its codes and the setting that it names."""
    codes, message, named = _error_parts(value)
    wait = asked_wait(headers, now)
    if wait is None:
        wait = _retry_info(value)
    if codes & _QUOTA_CODES or status == 402 or (status in (400, 403) and _QUOTA_WORDS.search(message)):
        return Stopped(reason="quota", detail=f"no quota or credit is left (status {status})")
    if status in (400, 403) and (codes & _POLICY_CODES or _POLICY_WORDS.search(message)):
        raw = min(codes & _POLICY_CODES, default="content policy")
        return Said(kind="refused", text="", finish="content_filter", raw_finish=raw, usage=Usage())
    if status in (401, 403) or (status == 400 and codes & _KEY_CODES):
        return Stopped(reason="key", detail=f"the key was refused (status {status})")
    if status == 429:
        return Limited(wait=wait)
    if status in (404, 405) or 300 <= status < 400 or "model_not_found" in codes:
        return Stopped(
            reason="endpoint" if status != 404 and "model_not_found" not in codes else "model",
            detail=f"the server knows no such model or address (status {status})",
        )
    if status in (408, 409, 425) or status >= 500:
        return Broken(cause="server", detail=f"the server answered with status {status}", wait=wait)
    parameter = _parameter(codes, message, named, sent)
    if parameter is not None:
        # A name that was not sent is no setting of the card's: it may be a word of the message.
        mine = next((name for name in sent if parameter in (name, name.rpartition(".")[2])), None)
        what = (
            f"'{mine}' as the card gives it"
            if mine
            else "a part of the request that is no setting of the card"
        )
        return Stopped(
            reason="parameter",
            detail=f"the server does not take {what} (status {status})",
            parameter=mine,
        )
    return Broken(cause="rejected", detail=f"the server refused this request (status {status})")


def _error_parts(value: Any) -> tuple[set[str], str, str | None]:
    """The codes of an error, its message, and the parameter that it names, in any dialect's shape."""
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return set(), value if isinstance(value, str) else "", None
    error = value.get("error", value)
    if isinstance(error, str):
        return {error.casefold()}, f"{error} {value.get('message', '')}", None
    if not isinstance(error, dict):
        return set(), "", None
    codes = {
        str(part).casefold()
        for part in (error.get("code"), error.get("type"), error.get("status"))
        if part is not None
    }
    inner = error.get("innererror")
    if isinstance(inner, dict) and inner.get("code"):
        codes.add(str(inner["code"]).casefold())
    message, named = str(error.get("message") or ""), error.get("param")
    details = error.get("details", error.get("detail"))
    if isinstance(details, str):
        message = f"{message} {details}"
    for detail in details if isinstance(details, list) else ():
        if not isinstance(detail, dict):
            continue
        if detail.get("reason"):
            codes.add(str(detail["reason"]).casefold())
        where = detail.get("loc")
        if isinstance(where, list) and where:
            # FastAPI: {"loc": ["body", "temperature"], "msg": ...}
            named, message = str(where[-1]), f"{message} {detail.get('msg', '')} invalid"
    return codes, message, named if isinstance(named, str) else None


def _parameter(codes: set[str], message: str, named: str | None, sent: Sequence[str]) -> str | None:
    """The setting that the server does not take; none when the fault is another."""
    if "context_length_exceeded" in codes or _TOO_LONG.search(message):
        return None
    if codes & _PARAMETER_CODES and named:
        return _plain(named)
    if not _UNSUPPORTED.search(message):
        return None
    for name in sent:
        last = name.rpartition(".")[2]
        if named in (name, last) or re.search(rf"(?<!\w){re.escape(last)}(?!\w)", message):
            return name
    found = _NAMED.search(message)
    if found and (
        "unsupported" in message.casefold() or "unknown" in message.casefold() or found[2] or found[3]
    ):
        return _plain(next(group for group in found.groups() if group))
    return None


def _plain(name: str) -> str:
    """A name out of a server's message, of which nothing but a name may go on."""
    return re.sub(r"[^\w.\[\]-]", "", name)[:60]


def _retry_info(value: Any) -> float | None:
    """The delay in a Google ``RetryInfo``, in seconds."""
    if isinstance(value, list) and value:
        value = value[0]
    error = value.get("error") if isinstance(value, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and isinstance(delay := detail.get("retryDelay"), str):
            number = re.fullmatch(r"(\d+(?:\.\d+)?)s", delay)
            return float(number[1]) if number else None
    return None


def _wrapped_status(value: dict[str, Any]) -> int:
    error = value["error"]
    code = error.get("code") if isinstance(error, dict) else None
    return int(code) if isinstance(code, int) and 300 <= code < 600 else 500


def _unwrapped(found: Reading) -> Reading:
    """A reading of an error that came with status 200, in words that name no status that was not sent."""
    match found:
        case Broken(cause="server"):
            return replace(found, detail="an error came in the place of an answer, with status 200")
        case Broken() | Stopped():
            return replace(found, detail=f"{_STATUS.sub('', found.detail)} (in an answer with status 200)")
        case _:
            return found


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
