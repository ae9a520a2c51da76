"""What an error of a server's is, in any dialect's shape: a refusal, a limit, a stopped column, or no answer.

Nothing of what is made here quotes the server: its messages may repeat the item or the key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True, kw_only=True, slots=True)
class _Error:
    """What an error says, in any dialect's shape: in its object, beside it, or without one.

    Attributes:
        codes: its codes, types and reasons, case folded. ``message``: its words.
        named: the parameter that it names. ``placed``: it names it as the place of the fault, whatever its words are.
        wait: the seconds of a Google ``RetryInfo``.
        page: the beginning of what is no JSON. It may be about anything: nothing but the key is looked for in it.
    """

    codes: frozenset[str] = frozenset()
    message: str = ""
    named: str | None = None
    placed: bool = False
    wait: float | None = None
    page: str = ""

    @property
    def about_the_key(self) -> bool:
        """Whether it says in words or codes that the key is at fault."""
        return any(_KEY.search(text) for text in (self.message, self.page, *self.codes))


def rejection(
    status: int, headers: Mapping[str, str], body: bytes, *, now: datetime, sent: Sequence[str]
) -> Reading:
    """The reading of an answer whose status is not 200.

    A 400 or 422 that is about the key stops the column, in whichever words it says so.
    """
    try:
        error = _error(msgspec.json.decode(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        error = _Error(page=body.decode("utf-8", "replace")[:MOST_WORDS])
    return _read(status, headers, error, now, sent, key_in_words=status in (400, 422))


def wrapped_rejection(
    headers: Mapping[str, str], value: dict[str, Any], *, now: datetime, sent: Sequence[str]
) -> Reading:
    """The reading of an error that came with status 200, as gateways wrap those of the system behind them.

    It is called what it is, and no status that nobody sent is named.
    """
    return _unwrapped(_read(_wrapped_status(value), headers, _error(value), now, sent, key_in_words=True))


def _read(
    status: int,
    headers: Mapping[str, str],
    error: _Error,
    now: datetime,
    sent: Sequence[str],
    *,
    key_in_words: bool,
) -> Reading:
    """The reading of an error by its status, its codes, the setting that it names and, where told to, its words."""
    codes, message = error.codes, error.message
    wait = asked_wait(headers, now)
    if wait is None:
        wait = error.wait
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
    if key_in_words and error.about_the_key:
        return Stopped(reason="key", detail=f"the key was refused (status {status})")
    if status in (408, 409, 425) or status >= 500:
        return Broken(cause="server", detail=f"the server answered with status {status}", wait=wait)
    parameter = _parameter(error, sent)
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


def _error(value: Any) -> _Error:
    """What the JSON of an error says."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, str):
        return _Error(message=value)
    if not isinstance(value, dict):
        return _Error()
    inner = value.get("error")
    codes, words = ({inner.casefold()}, [inner]) if isinstance(inner, str) else (set[str](), list[str]())
    named, placed, wait = None, False, None
    for place in (value, inner):
        if not isinstance(place, dict):
            continue
        codes |= _codes(place)
        words += [
            said for name in ("message", "detail", "details") if isinstance(said := place.get(name), str)
        ]
        if place is not value or not isinstance(inner, dict):
            # Mistral's message is an object; beside an error such a one may be an answer.
            words += [str(said) for said in (place.get("message"),) if said and not isinstance(said, str)]
        named = place.get("param", named)
        for detail in _details(place):
            codes |= _codes(detail)
            where = detail.get("loc")
            if isinstance(where, list) and where:
                # FastAPI: {"loc": ["body", "temperature"], "msg": ...}
                named, placed = str(where[-1]), True
            words.append(str(detail.get("msg") or ""))
            wait = _seconds(detail.get("retryDelay")) if wait is None else wait
    return _Error(
        codes=frozenset(codes),
        message=" ".join(filter(None, words)),
        named=named if isinstance(named, str) else None,
        placed=placed,
        wait=wait,
    )


def _details(place: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The objects that say more of an error."""
    for name in ("details", "detail"):
        several = place.get(name)
        yield from (one for one in (several if isinstance(several, list) else ()) if isinstance(one, dict))


def _codes(place: Mapping[str, Any]) -> set[str]:
    """The codes of an object, case folded; one of another's within it counts as its own."""
    inner = place.get("innererror")
    found = [place.get(name) for name in ("code", "type", "status", "reason")]
    if isinstance(inner, dict):
        found.append(inner.get("code"))
    return {str(code).casefold() for code in found if code is not None}


def _parameter(error: _Error, sent: Sequence[str]) -> str | None:
    """The setting that the server does not take; none when the fault is another."""
    codes, message, named = error.codes, error.message, error.named
    if "context_length_exceeded" in codes or _TOO_LONG.search(message):
        return None
    if codes & _PARAMETER_CODES and named:
        return _plain(named)
    if not (error.placed or _UNSUPPORTED.search(message)):
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


def _seconds(delay: object) -> float | None:
    """The seconds of a duration as Google writes it, such as ``37s``; none when it is no such thing."""
    number = re.fullmatch(r"(\d+(?:\.\d+)?)s", delay) if isinstance(delay, str) else None
    return float(number[1]) if number else None


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
