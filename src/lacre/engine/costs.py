"""What a run costs: tokens, dollars and reais, for each stage and column (SPEC B10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TypeAlias

from lacre.engine.dialects import Request
from lacre.engine.journal import Entry, Replied
from lacre.engine.replies import Failed, Usage
from lacre.errors import InputError
from lacre.registry.columns import Column, Exchange, Price
from lacre.registry.records import Record
from lacre.scoring.estimates import Undefined

MILLION = Decimal(1_000_000)

HIDDEN_TOKENS = 2_000
"""Tokens that a vendor may add to a message on its own (system prompts, image markers), for the worst case."""


class Amount(Record, tag="amount", omit_defaults=False):
    """Money, exact, as decimal text."""

    value: str
    currency: str


Money: TypeAlias = Amount | Undefined


class Cost(Record, omit_defaults=False):
    """What one column cost in one stage.

    Attributes:
        replies: replies, failed ones and those asked again among them.
        unknown: replies whose tokens nobody told.
        dropped: replies that told something that is no count of tokens; it was left out, and they have no price.
        lost: attempts that may have been billed though no answer came.
        usd, brl: undefined, with the reason, where a price, a rate or the tokens are not known.
    """

    stage: str
    column: str
    replies: int
    unknown: int
    dropped: int
    lost: int
    input: int
    cached: int
    output: int
    reasoning: int
    usd: Money
    brl: Money


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
        self._tokens = {"input": 0, "cached": 0, "output": 0, "reasoning": 0}
        self._money = Decimal(0)
        self._undefined: str | None = None if card.price else "its card has no price"

    def add(self, reply: Replied) -> None:
        """Add one reply."""
        usage, delivery = reply.reply.usage, reply.reply.delivery
        self._counts["replies"] += 1
        self._counts["lost"] += delivery.lost
        self._counts["dropped"] += usage.dropped > 0
        for name in self._tokens:
            self._tokens[name] += getattr(usage, name) or 0
        if usage.input is None or usage.output is None:
            # What a failed reply may have cost all the same stands under `lost`.
            if isinstance(reply.reply, Failed):
                return
            self._counts["unknown"] += 1
        if self.card.price is None:
            return
        price = price_of(usage, self.card.price)
        if isinstance(price, Undefined):
            self._undefined = self._undefined or price.reason
        else:
            self._money += price

    def total(self) -> Cost:
        """The cost so far."""
        return Cost(
            stage=self.stage,
            column=self.card.id,
            replies=self._counts["replies"],
            unknown=self._counts["unknown"],
            dropped=self._counts["dropped"],
            lost=self._counts["lost"],
            input=self._tokens["input"],
            cached=self._tokens["cached"],
            output=self._tokens["output"],
            reasoning=self._tokens["reasoning"],
            usd=self._in("USD"),
            brl=self._in("BRL"),
        )

    def _in(self, currency: str) -> Money:
        if self._undefined is not None or self.card.price is None:
            return Undefined(reason=self._undefined or "its card has no price", n=self._counts["replies"])
        rate = _rate(self.card.price.currency, currency, self.exchange)
        if rate is None:
            return Undefined(reason="no exchange rate was given", n=self._counts["replies"])
        return Amount(value=_money(self._money * rate), currency=currency)


def _money(value: Decimal) -> str:
    """A sum to a hundredth of a cent."""
    return str(value.quantize(Decimal("0.0001")))


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
    return tuple(bill.total() for bill in bills.values())


def worst_case(card: Column, request: Request, exchange: Exchange | None) -> Decimal:
    """The most dollars that one request can cost: no token is shorter than a byte, and the cap is reached.

    Raises:
        InputError: the card has no price or no cap, or its price is in reais and no rate was given.
    """
    where, todo = f"column '{card.id}'", "Complete its card, or run without --budget"
    if card.price is None:
        raise InputError(where, "has no price, so that no budget could be kept", todo)
    if card.cap is None:
        raise InputError(where, "has no output cap, so that no budget could be kept", todo)
    rate = _rate(card.price.currency, "USD", exchange)
    if rate is None:
        raise InputError(
            where, "has its price in reais, and no exchange rate was given", "Give --brl-per-usd"
        )
    dearest = max(Decimal(card.price.input), Decimal(card.price.cache_write or 0))
    tokens = len(request.body) + HIDDEN_TOKENS
    return (tokens * dearest + card.cap * Decimal(card.price.output)) / MILLION * rate


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
