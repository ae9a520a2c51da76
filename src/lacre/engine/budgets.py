"""A budget that is stopped before, not after, it is exceeded."""

from __future__ import annotations

import asyncio
from decimal import Decimal

from lacre.engine.limits import GateClosedError


class BudgetReachedError(GateClosedError):
    """The next request could exceed the budget, and nothing under way can free any of it."""


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
