"""What a run costs: tokens, dollars and reais, for each stage and column (SPEC B10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TypeAlias

from lacre.engine.dialects import Request
from lacre.engine.journal import Entry, Replied, SetAside
from lacre.engine.replies import Failed, Usage
from lacre.engine.reserves import Holds
from lacre.errors import InputError
from lacre.registry.columns import Column, Exchange, Price
from lacre.registry.records import Record
from lacre.scoring.estimates import Undefined

MILLION = Decimal(1_000_000)

HIDDEN_TOKENS = 2_000
"""Tokens that a vendor may add to a message on its own (system prompts, image markers), for the worst case."""


_TOKENS = ("input", "cached", "output", "reasoning")


class Amount(Record, tag="amount", omit_defaults=False):
    """Money, exact, as decimal text."""

    value: str
    currency: str


Money: TypeAlias = Amount | Undefined
Count: TypeAlias = int | Undefined


class Cost(Record, omit_defaults=False):
    """What one column cost in one stage.

    Attributes:
        replies: replies, failed ones and those asked again among them.
        unknown: replies whose tokens nobody told.
        dropped: replies that told something that is no count of tokens; it was left out, and they have no price.
        lost: attempts that may have been billed though no answer came; after a kill, as many as there may have been.
        input, cached, output, reasoning: tokens; undefined, with the reason, where a reply did not tell its own.
        held: dollars that a budget holds for attempts that told nothing, beside ``usd``.
        usd, brl: undefined, with the reason, where a price, a rate or the tokens are not known.
    """

    stage: str
    column: str
    replies: int
    unknown: int
    dropped: int
    lost: int
    input: Count
    cached: Count
    output: Count
    reasoning: Count
    usd: Money
    brl: Money
    held: Money


def price_of(usage: Usage, price: Price) -> Decimal | Undefined:
    """What these tokens cost in the price's currency; undefined when tokens or a price they need are unknown.

    >>> price = Price(currency="USD", input="2", output="10", source="https://a.b", read="2026-01-01")
    >>> price_of(Usage(input=1000, output=100), price)
    Decimal('0.003')
    """
    if usage.dropped:
        return Undefined(reason="the column told tokens that are no counts")
    if usage.input is None or usage.output is None:
        return Undefined(reason="the column did not tell its tokens")
    cached, written = usage.cached or 0, usage.cache_written or 0
    if cached and price.cached is None:
        return Undefined(reason="its card has no price for cached input")
    if written and price.cache_write is None:
        return Undefined(reason="its card has no price for writing to the cache")
    total = (usage.input - cached - written) * Decimal(price.input) + usage.output * Decimal(price.output)
    total += cached * Decimal(price.cached or 0) + written * Decimal(price.cache_write or 0)
    return total / MILLION


class Bill:
    """Adds up what a column costs, reply by reply."""

    def __init__(self, stage: str, card: Column, exchange: Exchange | None) -> None:
        self.stage = stage
        self.card = card
        self.exchange = exchange
        self._counts = {"replies": 0, "unknown": 0, "dropped": 0, "lost": 0}
        self._tokens = dict.fromkeys(_TOKENS, 0)
        self._untold = dict.fromkeys(_TOKENS, 0)
        self._money = Decimal(0)
        self._undefined: str | None = None if card.price else "its card has no price"
        self._holds = Holds()
        self._held = Decimal(0)

    def add(self, reply: Replied) -> None:
        """Add one reply."""
        self._held += Decimal(reply.held or 0)
        usage, delivery = reply.reply.usage, reply.reply.delivery
        self._counts["replies"] += 1
        self._counts["lost"] += delivery.lost
        self._counts["dropped"] += usage.dropped > 0
        # What a failed reply may have cost all the same stands under `lost`.
        failed = isinstance(reply.reply, Failed)
        for name in _TOKENS:
            told = getattr(usage, name)
            self._tokens[name] += told or 0
            self._untold[name] += told is None and not failed
        if usage.input is None or usage.output is None:
            if failed:
                return
            self._counts["unknown"] += 1
        if self.card.price is None:
            return
        price = price_of(usage, self.card.price)
        if isinstance(price, Undefined):
            self._undefined = self._undefined or price.reason
        else:
            self._money += price

    def hold(self, entry: SetAside) -> None:
        """Take what is set aside for requests without a reply."""
        self._holds.add(entry)

    def total(self) -> Cost:
        """The cost so far."""
        return Cost(
            stage=self.stage,
            column=self.card.id,
            replies=self._counts["replies"],
            unknown=self._counts["unknown"],
            dropped=self._counts["dropped"],
            lost=self._counts["lost"] + self._holds.requests(self.card.id),
            input=self._told("input"),
            cached=self._told("cached"),
            output=self._told("output"),
            reasoning=self._told("reasoning"),
            usd=self._in("USD"),
            brl=self._in("BRL"),
            held=self._all_held(),
        )

    def _told(self, name: str) -> Count:
        untold, told = self._untold[name], self._tokens[name]
        if not untold:
            return told
        rest = f"; the others told {told:,}" if untold < self._counts["replies"] else ""
        return Undefined(
            reason=f"{untold:,} replies did not tell theirs{rest}", n=self._counts["replies"] - untold
        )

    def _all_held(self) -> Money:
        if self.card.price is None:
            return Undefined(reason="its card has no price", n=self._counts["replies"])
        return Amount(value=_money(self._held + self._holds.dollars(self.card.id)), currency="USD")

    def _in(self, currency: str) -> Money:
        if self._undefined is not None or self.card.price is None:
            return Undefined(reason=self._undefined or "its card has no price", n=self._counts["replies"])
        rate = _rate(self.card.price.currency, currency, self.exchange)
        if rate is None:
            return Undefined(reason="no exchange rate was given", n=self._counts["replies"])
        return Amount(value=_money(self._money * rate), currency=currency)


def _money(value: Decimal) -> str:
    """A sum, exact, without an exponent and without zeros at its end.

    >>> _money(Decimal("0.00014600")), _money(Decimal(20))
    ('0.000146', '20')
    """
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _rate(have: str, want: str, exchange: Exchange | None) -> Decimal | None:
    if have == want:
        return Decimal(1)
    if exchange is None:
        return None
    reais = Decimal(exchange.brl_per_usd)
    return reais if want == "BRL" else 1 / reais


def costs(
    stage: str, cards: Iterable[Column], exchange: Exchange | None, journal: Iterable[Entry]
) -> tuple[Cost, ...]:
    """What each column cost; replies that a later one replaced count too, for they were paid."""
    bills = {card.id: Bill(stage, card, exchange) for card in cards}
    for entry in journal:
        if isinstance(entry, Replied) and entry.column in bills:
            bills[entry.column].add(entry)
        elif isinstance(entry, SetAside) and entry.column in bills:
            bills[entry.column].hold(entry)
    return tuple(bill.total() for bill in bills.values())


def worst_case(card: Column, request: Request, exchange: Exchange | None) -> Decimal:
    """The most dollars that one request can cost: no token is shorter than a byte, and the cap is reached.

    Raises:
        InputError: the card has no price or no cap, or its price is in reais and no rate was given.
    """
    where, todo = (
        f"column '{card.id}'",
        "Complete its card, or run without a budget (`--budget none` where one began with it)",
    )
    if card.price is None:
        raise InputError(where, "has no price, so that no budget could be kept", todo)
    if request.cap is None:
        raise InputError(where, "has no output cap, so that no budget could be kept", todo)
    rate = _rate(card.price.currency, "USD", exchange)
    if rate is None:
        raise InputError(
            where, "has its price in reais, and no exchange rate was given", "Give --brl-per-usd"
        )
    dearest = max(Decimal(card.price.input), Decimal(card.price.cache_write or 0))
    tokens = len(request.body) + HIDDEN_TOKENS
    return (tokens * dearest + request.cap * Decimal(card.price.output)) / MILLION * rate


def reserve_for(card: Column, request: Request, exchange: Exchange | None) -> Decimal | None:
    """The most dollars that one request can cost (:func:`worst_case`), none when nobody knows."""
    if card.price is None or request.cap is None or _rate(card.price.currency, "USD", exchange) is None:
        return None
    return worst_case(card, request, exchange)


def in_dollars(usage: Usage, card: Column, exchange: Exchange | None) -> Decimal | None:
    """What a reply cost in dollars, none when that is not known."""
    if card.price is None:
        return None
    price = price_of(usage, card.price)
    rate = _rate(card.price.currency, "USD", exchange)
    return None if isinstance(price, Undefined) or rate is None else price * rate


def total_dollars(bills: Mapping[str, Bill]) -> Decimal | None:
    """What all columns cost together in dollars, none when that is not known of one."""
    sums = [bill.total().usd for bill in bills.values()]
    if any(isinstance(money, Undefined) for money in sums):
        return None
    return sum((Decimal(money.value) for money in sums if isinstance(money, Amount)), Decimal(0))
