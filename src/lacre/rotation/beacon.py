"""Public randomness that a freeze names before it exists: a drand round, or a draw of the Loteria Federal."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, TypeVar, assert_never

import msgspec

from lacre.errors import InputError, IntegrityError
from lacre.jsonl import explained
from lacre.registry.records import Record
from lacre.rotation import drand

T = TypeVar("T", bound=msgspec.Struct)

_LOTTERY_PRIZES = 5
_TICKET = re.compile(r"0?\d{5}")


class DrandRound(Record, tag_field="kind", tag="drand"):
    """A round of a drand chain. ``chain``: the chain's hash; ``due``: when it is published, ISO in UTC."""

    chain: str
    round: Annotated[int, msgspec.Meta(ge=1, lt=drand.MOST_ROUNDS)]
    due: str


class LotteryDraw(Record, tag_field="kind", tag="loteria-federal"):
    """A draw of Brazil's Loteria Federal, by its number; ``due``: when it is announced for, ISO in UTC."""

    draw: int
    due: str


Source = DrandRound | LotteryDraw
"""What a freeze may name."""


class LotteryResult(msgspec.Struct, frozen=True, kw_only=True):
    """A result as Caixa's service gives it: the draw's number, its five tickets from the first prize down."""

    draw: int = msgspec.field(name="numero")
    tickets: tuple[str, ...] = msgspec.field(name="dezenasSorteadasOrdemSorteio")


class Randomness(Record):
    """Randomness that has come out: its bytes, and whether a signature proved that they are the source's."""

    value: bytes
    proved: bool
    note: str = ""


def named(text: str, due: datetime | None) -> Source:
    """The source that a person named: ``drand:quicknet:1234``, ``drand:quicknet`` or ``loteria-federal:5900``.

    Without its number, the drand round is the first one at ``due`` or later.

    Raises:
        InputError: there is no such source, or it needs a time.

    >>> named("drand:quicknet:1", None).due
    '2023-08-23T15:09:27Z'
    """
    kind, _, rest = text.partition(":")
    if kind == "drand":
        return _drand(text, rest, due)
    if kind != "loteria-federal" or not rest.isdecimal() or not rest.isascii() or int(rest) < 1:
        raise InputError(
            f"randomness '{text}'",
            "is none that we know",
            "Write drand:quicknet:ROUND, or loteria-federal:DRAW with --due",
        )
    if due is None:
        raise InputError("loteria-federal", "its hour is not known", "Give --due 2027-01-16T19:00-03:00")
    return LotteryDraw(draw=int(rest), due=instant(due))


def _drand(text: str, rest: str, due: datetime | None) -> DrandRound:
    name, _, number = rest.partition(":")
    chain = drand.CHAINS.get(name) or next((c for c in drand.CHAINS.values() if c.hash == name), None)
    if chain is None:
        known = ", ".join(sorted(drand.CHAINS))
        raise InputError(f"randomness '{text}'", f"no drand chain '{name}'", f"There are: {known}")
    if number:
        if not (number.isascii() and number.isdecimal() and 0 < int(number) < drand.MOST_ROUNDS):
            raise InputError(f"randomness '{text}'", f"'{number}' is no round", "Give its number")
        if due is not None:
            raise InputError("--due", "a drand round has its own hour", "Leave out --due, or the round")
        return DrandRound(chain=chain.hash, round=int(number), due=instant(chain.due(int(number))))
    if due is None:
        raise InputError(
            f"randomness '{text}'", "names no round", "Give its number, or --due for the first one then"
        )
    number_then = chain.round_from(due)
    return DrandRound(chain=chain.hash, round=number_then, due=instant(chain.due(number_then)))


def instant(when: datetime) -> str:
    """A time as records hold it: ISO, UTC, whole seconds.

    >>> from datetime import timedelta, timezone
    >>> instant(datetime(2027, 1, 16, 19, tzinfo=timezone(timedelta(hours=-3))))
    '2027-01-16T22:00:00Z'

    Raises:
        InputError: the time says no zone.
    """
    if when.tzinfo is None:
        raise InputError(f"time '{when.isoformat()}'", "says no time zone", "End it with Z or -03:00")
    return when.astimezone(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")


def moment(text: str) -> datetime:
    """The time that a record holds; the inverse of :func:`instant`.

    Raises:
        IntegrityError: it is no such time.
    """
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        when = None
    if when is None or when.tzinfo is None:
        raise IntegrityError(f"time '{text}': is not an ISO time with its zone. Records are never edited.")
    return when


def source_due(source: Source) -> datetime:
    """When the source comes out. A drand round's hour follows from its number, whatever is written beside it."""
    if isinstance(source, DrandRound):
        return _chain(source).due(source.round)
    return moment(source.due)


def source_name(source: Source) -> str:
    """The source in words.

    >>> source_name(LotteryDraw(draw=5900, due="2027-01-16T22:00:00Z"))
    'draw 5900 of the Loteria Federal'
    """
    match source:
        case DrandRound():
            return f"drand {_chain(source).name} round {source.round}"
        case LotteryDraw():
            return f"draw {source.draw} of the Loteria Federal"
        case _:
            assert_never(source)


def come_out(source: Source, content: bytes, where: str) -> Randomness:
    """The randomness of ``source`` from the file that holds it, checked as far as it can be.

    Raises:
        InputError: the file is not a result of that kind, or not of that round or draw.
        IntegrityError: its signature or its randomness is wrong.
    """
    match source:
        case DrandRound():
            return _drand_out(source, content, where)
        case LotteryDraw():
            return _lottery_out(source, content, where)
        case _:
            assert_never(source)


def _drand_out(source: DrandRound, content: bytes, where: str) -> Randomness:
    beacon = _decoded(content, drand.Beacon, where, "Save what https://api.drand.sh gives for the round")
    if beacon.round != source.round:
        raise InputError(where, f"holds round {beacon.round}, frozen was {source.round}", "Fetch that round")
    value = beacon.value()
    try:
        drand.verify(beacon, _chain(source))
    except drand.UncheckedError as unchecked:
        return Randomness(value=value, proved=False, note=str(unchecked))
    return Randomness(value=value, proved=True)


def _lottery_out(source: LotteryDraw, content: bytes, where: str) -> Randomness:
    result = _decoded(
        content,
        LotteryResult,
        where,
        'Write {"numero":5900,"dezenasSorteadasOrdemSorteio":["012345", ...]}, first prize first',
    )
    if result.draw != source.draw:
        raise InputError(
            where, f"holds draw {result.draw}, frozen was {source.draw}", "Give that draw's result"
        )
    if len(result.tickets) != _LOTTERY_PRIZES or not all(map(_TICKET.fullmatch, result.tickets)):
        raise InputError(where, "does not hold five tickets of five digits", "Copy them from Caixa's page")
    tickets = ",".join(f"{int(ticket):05d}" for ticket in result.tickets)
    return Randomness(
        value=f"{result.draw}:{tickets}".encode(),
        proved=False,
        note=f"nothing signs the Loteria Federal: compare draw {result.draw} with what Caixa published",
    )


def _decoded(content: bytes, kind: type[T], where: str, todo: str) -> T:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        what = explained(error, kind) if isinstance(error, msgspec.DecodeError) else "is not UTF-8"
        raise InputError(where, what, todo) from None
    except RecursionError:
        raise InputError(where, "is nested too deep", todo) from None


def _chain(source: DrandRound) -> drand.Chain:
    found = next((chain for chain in drand.CHAINS.values() if chain.hash == source.chain), None)
    if found is None:
        raise IntegrityError(f"drand chain {source.chain}: is none that we know. Records are never edited.")
    return found
