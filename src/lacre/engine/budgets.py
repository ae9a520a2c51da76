"""A budget that is stopped before, not after, it is exceeded."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from decimal import ROUND_UP, Decimal

from lacre.engine.costs import worst_case
from lacre.engine.limits import GateClosedError
from lacre.engine.plans import Question, RunRecord, first_request
from lacre.errors import InputError
from lacre.registry.columns import Column


class BudgetReachedError(GateClosedError):
    """The next request could exceed the budget, and nothing under way can free any of it."""


def refuse_budget(
    budget: Decimal | None,
    record: RunRecord,
    cards: Sequence[Column],
    questions: Iterable[Question],
    *,
    rounded: bool = False,
) -> None:
    """Refuse a budget that one request to a column could exceed, before anything is written or sent.

    Args:
        questions: those whose first requests it must allow; each is open for its turn only.
        rounded: tell what such a request may cost in one figure only, for its length is its text's.

    Raises:
        InputError: it is too small, or nobody can know what a request to a column may cost.
    """
    if budget is None:
        return
    worst = dict[str, Decimal]()
    for question in questions:
        for card in cards:
            cost = worst_case(card, first_request(record, card, question), record.exchange)
            worst[card.id] = max(cost, worst.get(card.id, cost))
    for id, cost in worst.items():
        if cost > budget:
            told = f"{_one_figure(cost):f}" if rounded else f"{cost:.4f}"
            raise InputError(
                "--budget",
                f"{budget} dollars allow no request: one to column '{id}' may cost up to US$ {told}",
                "Give more, or leave it out" if rounded else "Give more, or see the requests with --dry-run",
            )


def _one_figure(amount: Decimal) -> Decimal:
    """An amount rounded up to its first figure.

    >>> f"{_one_figure(Decimal('0.0234')):f} {_one_figure(Decimal('96')):f}"
    '0.03 100'
    """
    return amount.quantize(Decimal(1).scaleb(amount.adjusted()), rounding=ROUND_UP) if amount else amount


class Budget:
    """Dollars that may be spent; every request reserves its worst case, and gives back what it did not cost.

    ``limit`` none: no limit, and nothing is reserved.
    """

    def __init__(self, limit: Decimal | None, spent: Decimal = Decimal(0)) -> None:
        self.limit = limit
        self.spent = spent
        self._reserved = Decimal(0)
        self._changed = asyncio.Condition()
        self.reached = False

    def room(self) -> Decimal | None:
        """Dollars that are not spent, those set aside for requests under way among them; none without a limit."""
        return None if self.limit is None else self.limit - self.spent

    async def reserve(self, worst: Decimal) -> None:
        """Set the worst case of one request aside, or wait until others have given some back.

        Raises:
            BudgetReachedError: no request under way could make room for it.
        """
        if self.limit is None:
            return
        async with self._changed:
            while self.spent + self._reserved + worst > self.limit:
                if self.reached or self._reserved == 0:
                    self.reached = True
                    self._changed.notify_all()
                    raise BudgetReachedError
                await self._changed.wait()
            self._reserved += worst

    async def settle(self, reserved: Decimal, cost: Decimal) -> None:
        """Give back what was set aside for a request, and count what it cost; less than nothing corrects."""
        if self.limit is None:
            return
        async with self._changed:
            self._reserved -= reserved
            self.spent += cost
            self._changed.notify_all()
