"""Cards of columns: the systems that are measured or that judge, each fact with its source (SPEC L5, L16, L21, B10)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import msgspec

from lacre.digest import sha256
from lacre.errors import Fault, InputError, RecordError
from lacre.jsonl import explained
from lacre.registry.card_settings import reserved_complaints
from lacre.registry.exams import Precision, is_address, is_dated
from lacre.registry.records import Record
from lacre.registry.settings import Settings

Dialect = Literal["openai", "anthropic", "gemini", "maritaca", "completions"]
Role = Literal["measured", "judge", "reference"]
Images = Literal["inline", "caption"]

OPERATIONAL = frozenset(
    {
        "key_env", "key_file", "concurrency", "requests_per_minute", "tokens_per_minute", "timeout",
        "endpoint", "price", "cutoff", "retention", "vendor_adds", "notes", "roles", "source", "read",
    }
)  # fmt: skip
"""Fields that may change in mid-run: none of them changes what a column is asked, or how it answers."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
_ENV = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LOOPBACK = re.compile(r"http://(127\.\d+\.\d+\.\d+|localhost|\[::1\])(:\d+)?(/.*)?")


class SourcedFact(Record):
    """What is known, where it was read, and on which day."""

    value: str
    source: str
    read: str


class Cutoff(Record):
    """The training cutoff that the vendor declares, as precise as ``precision`` says (SPEC L5)."""

    value: str
    precision: Precision
    source: str
    read: str


class Price(Record):
    """Money for a million tokens, decimals as text.

    Attributes:
        cached: input read from the vendor's cache; none when no price is known.
        cache_write: input written to that cache.
    """

    currency: Literal["USD", "BRL"]
    input: str
    output: str
    source: str
    read: str
    cached: str | None = None
    cache_write: str | None = None


class Exchange(Record):
    """Reais for one dollar, a decimal as text."""

    brl_per_usd: str
    source: str
    read: str


class Column(Record):
    """One column: what is asked, how, and what is known of it.

    Attributes:
        endpoint: base address; the dialect adds the rest.
        key_env, key_file: where the key is: an environment variable, or a file of mode 600. Never the key.
        cap_name, cap: name of the output cap in the request, and its value. The dialect has a usual name.
        effort_name, effort: name of the reasoning effort in the request, and its value.
        accepts: names of the settings that the model takes; what is not there is not sent.
        settings: settings sent as they are, dotted names for nested ones; each must be in ``accepts``.
        images: sent inline as data, or as their captions.
        timeout: seconds for one try, from the first byte sent to the last one read.
        vendor_adds: what the vendor adds to the message or does to it on its own.
        retention: what the vendor says that it keeps of what it is sent, and for how long: the text of its terms,
            the address where they stand, and the day on which they were read.
        source, read: where model, endpoint and dialect were read, and when.
    """

    id: str
    model: str
    vendor: str
    family: str
    dialect: Dialect
    endpoint: str
    roles: tuple[Role, ...] = ("measured",)
    key_env: str | None = None
    key_file: str | None = None
    cap_name: str | None = None
    cap: int | None = None
    effort_name: str | None = None
    effort: str | None = None
    accepts: tuple[str, ...] = ()
    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    images: Images = "caption"
    concurrency: int = 8
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    timeout: int = 600
    cutoff: Cutoff | None = None
    price: Price | None = None
    retention: SourcedFact | None = None
    vendor_adds: tuple[SourcedFact, ...] = ()
    source: str | None = None
    read: str | None = None
    notes: str = ""

    @property
    def is_local(self) -> bool:
        """Whether the column runs on this machine; such a card needs no source."""
        return _LOOPBACK.fullmatch(self.endpoint) is not None

    @property
    def completes(self) -> bool:
        """Whether the column goes on with a text instead of answering a message: it is for completion probes only."""
        return self.dialect == "completions"

    def asked(self) -> dict[str, Any]:
        """What decides how the column is asked: the card without its operational fields."""
        return {name: value for name, value in msgspec.to_builtins(self).items() if name not in OPERATIONAL}

    def setting(self) -> str:
        """The SHA-256 of :meth:`asked`: two cards that share it ask the same."""
        return sha256(msgspec.json.encode(self.asked(), order="deterministic"))


class CardFault(Record):
    """What is wrong with one card: its id when it has one, the line where it begins, what to do."""

    id: str | None
    line: int
    what: str
    todo: str


class Columns(Record):
    """A columns.toml: the good cards by id, the exchange rate where one was entered, and what is wrong with the others.

    Attributes:
        bad: every fault of every card that is not among ``columns``.
    """

    columns: dict[str, Column]
    exchange: Exchange | None = None
    bad: tuple[CardFault, ...] = ()

    def named(self, ids: Sequence[str]) -> tuple[Column, ...]:
        """The cards of these ids, in this order, each once.

        Raises:
            RecordError: an id is that of a bad card; all faults of such cards are listed.
            InputError: an id is no column; the ids there are get named.
        """
        self.refuse_bad(ids)
        for id in ids:
            if id not in self.columns:
                known = ", ".join(self.columns) or "none"
                raise InputError(f"column '{id}'", "is not in columns.toml", f"There are: {known}")
        return tuple(self.columns[id] for id in dict.fromkeys(ids))

    def refuse_bad(self, ids: Sequence[str]) -> None:
        """Refuse ids of bad cards.

        Raises:
            RecordError: there is one; all faults of such cards are listed.
        """
        if faults := [Fault(fault.line, fault.what, fault.todo) for fault in self.bad if fault.id in ids]:
            raise RecordError("columns.toml", faults)


def read_columns(path: Path, *, latest: date | None = None) -> Columns:
    """The cards of a columns.toml, all of them good; none where there is no such file.

    Raises:
        InputError: the file may not be read or is not TOML.
        RecordError: a card says what it may not, or states a fact without its source; every one is listed.
    """
    columns = usable_columns(path, latest=latest)
    if columns.bad:
        raise RecordError(path, [Fault(fault.line, fault.what, fault.todo) for fault in columns.bad])
    return columns


def default_columns_text() -> str:
    """The cards that come with the package; ``lacre init`` copies them into a workspace."""
    return files("lacre.registry").joinpath("columns.toml").read_text(encoding="utf-8")


def usable_columns(path: Path, *, latest: date | None = None) -> Columns:
    """The good cards of a columns.toml, and what is wrong with the others; none where there is no such file.

    ``latest`` is the latest day on which a fact can have been read; without it any day will do.

    Raises:
        InputError: the file may not be read or is not TOML.
        RecordError: a fault is in no card: an unknown part, or a bad exchange rate; those of the cards are listed too.
    """
    if not path.exists():
        return Columns(columns={})
    settings = Settings(path)
    faults: list[Fault] = [
        Fault(settings.line((name,)), f"'{name}' is no part of columns.toml", "There are: columns, exchange")
        for name in settings.values
        if name not in ("columns", "exchange")
    ]
    exchange = _exchange(settings, faults, latest)
    rows = settings.values.get("columns", [])
    if not isinstance(rows, list):
        faults.append(Fault(settings.line(("columns",)), "columns is no list of cards", "Write [[columns]]"))
        rows = []
    cards, bad = _cards(settings, rows, latest)
    if faults:
        faults += [Fault(fault.line, fault.what, fault.todo) for fault in bad]
        raise RecordError(path, sorted(faults, key=lambda fault: fault.line))
    return Columns(columns=cards, exchange=exchange, bad=tuple(bad))


def _cards(
    settings: Settings, rows: Sequence[Any], latest: date | None
) -> tuple[dict[str, Column], list[CardFault]]:
    """The good cards by id, and all that is wrong with the others, by line."""
    cards: dict[str, Column] = {}
    bad: list[CardFault] = []
    seen: set[str] = set()
    for nth, row in enumerate(rows, 1):
        line = settings.line(("columns",), nth)
        try:
            card = msgspec.convert(row, Column)
        except msgspec.ValidationError as error:
            id = row.get("id") if isinstance(row, dict) else None
            id = id if isinstance(id, str) else None
            # "column ''" would name nothing.
            whose = f"column '{id}': " if id else ""
            bad.append(
                CardFault(id=id, line=line, what=whose + explained(error, Column), todo="Correct this card")
            )
            seen.add(id or "")
            continue
        found = [
            CardFault(id=card.id, line=line, what=f"column '{card.id}': {what}", todo=todo)
            for what, todo in (*_complaints(card), *_unread(card, latest))
        ]
        if card.id in seen:
            what = f"column '{card.id}' is there already"
            found.append(CardFault(id=card.id, line=line, what=what, todo="Keep one of the two"))
        seen.add(card.id)
        bad.extend(found)
        cards[card.id] = card
    # Of two cards with one id, nobody can tell which is meant.
    refused = {fault.id for fault in bad}
    good = {id: card for id, card in cards.items() if id not in refused}
    return good, sorted(bad, key=lambda fault: fault.line)


def is_amount(text: str) -> bool:
    """Whether a text is an amount of money, or a rate: a finite decimal that is not negative.

    >>> is_amount("0.15"), is_amount("-1"), is_amount("NaN"), is_amount("0,15")
    (True, False, False, False)
    """
    try:
        number = Decimal(text)
    except InvalidOperation:
        return False
    return number.is_finite() and number >= 0


def _exchange(settings: Settings, faults: list[Fault], latest: date | None) -> Exchange | None:
    value = settings.values.get("exchange")
    if value is None:
        return None
    line = settings.line(("exchange",))
    try:
        exchange = msgspec.convert(value, Exchange)
    except msgspec.ValidationError as error:
        faults.append(Fault(line, f"exchange: {explained(error, Exchange)}", "Correct it"))
        return None
    if not is_amount(exchange.brl_per_usd) or not Decimal(exchange.brl_per_usd):
        faults.append(Fault(line, "brl_per_usd is not a rate", 'Write it as "5.43"'))
    complaints = (*_unsourced(exchange), *_not_yet(exchange.read, latest))
    faults.extend(Fault(line, f"exchange: {what}", todo) for what, todo in complaints)
    return exchange


Complaint = tuple[str, str]


def _complaints(card: Column) -> Iterator[Complaint]:
    """All that is wrong with one card."""
    if not _ID.fullmatch(card.id):
        yield "the id is not made of letters, digits, '.', '_' and '-'", "Give it a plain id"
    for name in ("model", "vendor", "family"):
        if not getattr(card, name).strip():
            yield f"{name} is empty", "Say it: families decide who may judge whom (L16)"
    if not is_address(card.endpoint):
        yield "endpoint is not a web address", "Write it in full, with https://"
    elif (extra := _beside_the_address(card.endpoint)) is not None:
        # Not quoted: it may be a key.
        yield f"endpoint holds {extra}", "Write the bare address; a key goes into key_env or key_file"
    elif card.endpoint.startswith("http://") and not card.is_local:
        yield "endpoint is not encrypted", "Write https://: a key must not travel in the open"
    if card.key_env is not None and not _ENV.fullmatch(card.key_env):
        # A key pasted by mistake must not reach the screen.
        yield "key_env is not the name of an environment variable", "Name the variable, never write the key"
    if card.key_env is not None and card.key_file is not None:
        yield "key_env and key_file are both given", "Keep one of the two"
    yield from _setting_complaints(card)
    for name in ("cap", "concurrency", "requests_per_minute", "tokens_per_minute", "timeout"):
        value = getattr(card, name)
        if value is not None and value < 1:
            yield f"{name} is below 1", "Give a whole number above 0, or leave it out"
    yield from _fact_complaints(card)


def _setting_complaints(card: Column) -> Iterator[Complaint]:
    if (card.effort is None) != (card.effort_name is None):
        yield "effort and effort_name go together", "Give both, or neither"
    if card.dialect == "anthropic" and card.cap is None:
        yield "has no cap", "The anthropic dialect refuses a request without one"
    if card.completes and card.images == "inline":
        yield (
            "sends images, and the completions dialect has none",
            'Write images = "caption", or leave it out',
        )
    for name in (*card.accepts, *card.settings, card.cap_name or "x", card.effort_name or "x"):
        if not _NAME.fullmatch(name):
            yield f"'{name}' is no name of a setting", "Write temperature, or generationConfig.temperature"
    for name in card.settings:
        if name not in card.accepts:
            yield (
                f"setting '{name}' is not among those it accepts",
                "Add it to accepts if the vendor says so, or take it out",
            )
    yield from reserved_complaints(card)


def _beside_the_address(endpoint: str) -> str | None:
    """What an address holds that is none of it: the dialect adds its path at the end, and keys stand elsewhere."""
    if "?" in endpoint or "#" in endpoint:
        return "a query or a fragment"
    if "@" in endpoint.partition("://")[2].partition("/")[0]:
        return "a name or a password"
    return None


def _fact_complaints(card: Column) -> Iterator[Complaint]:
    if card.source is None and not card.is_local:
        yield "has no source", "Say where model, endpoint and dialect were read; no source, no fact"
    elif card.source is not None:
        yield from _source_complaints("", card.source, card.read or "")
    facts: list[tuple[str, Cutoff | Price | SourcedFact]] = [
        (name, fact)
        for name, fact in (("cutoff", card.cutoff), ("price", card.price), ("retention", card.retention))
        if fact is not None
    ]
    facts.extend(("vendor_adds", fact) for fact in card.vendor_adds)
    for name, fact in facts:
        for what, todo in _unsourced(fact):
            yield f"{name}: {what}", todo
    if card.cutoff is not None and not is_dated(card.cutoff.value, card.cutoff.precision):
        yield (
            f"cutoff '{card.cutoff.value}' is not a date with the precision of a {card.cutoff.precision}",
            "Write 2026-01-31, 2026-01 or 2026, and say which in precision",
        )
    if card.price is not None:
        for name in ("input", "output", "cached", "cache_write"):
            amount = getattr(card.price, name)
            if amount is not None and not is_amount(amount):
                yield f"price.{name} is not an amount", 'Write it as "0.15", for a million tokens'


def _unread(card: Column, latest: date | None) -> Iterator[Complaint]:
    """Facts that were read on a day that has not come."""
    facts = (card.cutoff, card.price, card.retention, *card.vendor_adds)
    days = {card.read, *(fact.read for fact in facts if fact is not None)}
    for day in sorted(day for day in days if day is not None):
        yield from _not_yet(day, latest)


def _not_yet(day: str, latest: date | None) -> Iterator[Complaint]:
    if latest is not None and is_dated(day, "day") and day > latest.isoformat():
        yield f"read = '{day}' has not come yet", "Write the day on which the page was read"


def _unsourced(fact: Cutoff | Price | SourcedFact | Exchange) -> Iterator[Complaint]:
    yield from _source_complaints("", fact.source, fact.read)


def _source_complaints(name: str, source: str, read: str) -> Iterator[Complaint]:
    if not is_address(source):
        yield f"{name}source is not a web address", "Say where it was read; no source, no fact"
    if not is_dated(read, "day"):
        yield f"{name}read is not a day", "Say when it was read, as 2026-03-31"


def card_summary(card: Column) -> Mapping[str, str]:
    """What a list shows of a card, all as text; what is not known is said so."""
    return {
        "column": card.id,
        "model": card.model,
        "vendor": card.vendor,
        "family": card.family,
        "dialect": card.dialect,
        "roles": ", ".join(card.roles),
        "cutoff": card.cutoff.value if card.cutoff else "not known",
        "price": (
            f"{card.price.input} / {card.price.output} {card.price.currency}" if card.price else "not known"
        ),
    }
