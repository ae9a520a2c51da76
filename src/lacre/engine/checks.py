"""One harmless call to a column, to see whether its card is right."""

from __future__ import annotations

import asyncio
import time
from typing import Literal, assert_never

from lacre.engine.client import Client, Halt, Patience
from lacre.engine.dialects import request_of
from lacre.engine.keys import Key
from lacre.engine.limits import Pace
from lacre.engine.messages import Message, TextPart
from lacre.engine.replies import Answered, Failed, Refused, Reply, Truncated
from lacre.registry.columns import Column
from lacre.registry.records import Record

QUESTION = "Responda apenas com a palavra: pronto"
"""The question that every check sends; no item is in it."""


class Checked(Record, omit_defaults=False):
    """What one call showed.

    Attributes:
        status: ``ok``, ``differs`` (it answered, and something is not as the card says), or ``failed``.
        why: what went wrong, in our words; none when it answered.
        reason, parameter: why the column would be stopped, in one word, and the setting at fault.
        model: the model that the answer names.
        remarks: what a person should look at.
    """

    column: str
    status: Literal["ok", "differs", "failed"]
    why: str | None = None
    reason: str | None = None
    parameter: str | None = None
    model: str | None = None
    finish: str | None = None
    tokens: int | None = None
    seconds: float | None = None
    remarks: tuple[str, ...] = ()


def check_column(card: Column, key: Key | None, patience: Patience | None = None) -> Checked:
    """What one call to a column shows of its card."""
    return asyncio.run(_check(card, key, patience or Patience(attempts=2, limit_wait=60.0)))


async def _check(card: Column, key: Key | None, patience: Patience) -> Checked:
    pace = Pace(card.requests_per_minute, card.tokens_per_minute, clock=time.monotonic)
    request = request_of(card, Message(parts=(TextPart(text=QUESTION),)))
    async with Client(card, key, patience=patience, pace=pace) as client:
        found = await client.ask(request, lambda: pace.admit(len(request.body)))
    return checked(card, found)


def checked(card: Column, found: Reply | Halt) -> Checked:
    """What a reply to the question shows."""
    match found:
        case Halt():
            return Checked(
                column=card.id,
                status="failed",
                why=found.detail,
                reason=found.reason,
                parameter=found.parameter,
            )
        case Failed():
            return Checked(column=card.id, status="failed", why=found.detail, seconds=found.delivery.latency)
        case Answered() | Refused() | Truncated():
            remarks = _remarks(card, found)
            return Checked(
                column=card.id,
                status="differs" if remarks else "ok",
                model=found.delivery.model,
                finish=found.raw_finish,
                tokens=found.usage.output,
                seconds=found.delivery.latency,
                remarks=remarks,
            )
        case _:
            assert_never(found)


def _remarks(card: Column, reply: Answered | Refused | Truncated) -> tuple[str, ...]:
    said: list[str] = []
    named = reply.delivery.model
    if named is not None and not _same_model(card.model, named):
        said.append(f"the answer names the model {named}, the card {card.model}")
    if reply.usage.input is None or reply.usage.output is None:
        said.append("it tells no tokens, so that its cost cannot be known")
    if isinstance(reply, Refused):
        said.append("it refused a harmless question")
    if isinstance(reply, Truncated) and reply.finish != "length":
        said.append(f"it did not come to an end of its own ({reply.raw_finish})")
    elif isinstance(reply, Truncated):
        said.append("the output cap cut a one-word answer: raise cap, or lower the effort")
    if isinstance(reply, Answered) and reply.finish in ("none", "other"):
        said.append(f"it ended for an unknown reason ({reply.raw_finish})")
    if card.cap is not None and reply.usage.output is not None and reply.usage.output > card.cap:
        said.append(f"it wrote {reply.usage.output} tokens, more than the cap of {card.cap}")
    return tuple(said)


def _same_model(asked: str, named: str) -> bool:
    """Whether the answer's model is the one asked for, or a dated version or path of it.

    >>> _same_model("gpt-5", "gpt-5-2025-08-07"), _same_model("m-1", "models/m-1"), _same_model("m-1", "m-2")
    (True, True, False)
    """
    asked, named = asked.casefold(), named.casefold()
    short = named.rpartition("/")[2]
    return short == asked.rpartition("/")[2] or short.startswith(f"{asked}-") or named == asked
