"""What requests may have cost of which the journal has no reply: it must survive a kill, for it may be billed.

A line for every request would double the journal, and each would wait for the disk. Instead a column sets dollars aside
for many requests at once: a line (:class:`~lacre.engine.journal.SetAside`) is on disk before the first request that it
covers leaves, and a larger one takes its place when more is under way than it covers. At the end of a session the
last line says what stayed without a reply: nothing, or what Ctrl-C gave up. After a kill no such line is there, and the
whole sum counts as spent: never too little, and at most what was ever under way at once and a quarter of the column's
connections more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal

from lacre.engine.journal import Journal, SetAside


class Holds:
    """What the sessions of columns left set aside: the last line of a session is the one that counts."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, int], SetAside] = {}

    def add(self, entry: SetAside) -> None:
        """Take a line, in the order of the journal."""
        self._last[entry.column, entry.session] = entry

    def session(self, column: str) -> int:
        """The number of a column's next session, from 1."""
        return 1 + max((session for name, session in self._last if name == column), default=0)

    def dollars(self, column: str) -> Decimal:
        """Dollars that requests of a column may have cost besides those of which a reply tells.

        >>> holds = Holds()
        >>> line = SetAside(column="m", session=1, when="2026", dollars="0.50", requests=4)
        >>> holds.add(line)
        >>> holds.dollars("m"), holds.requests("m"), holds.session("m")
        (Decimal('0.50'), 4, 2)
        """
        return sum(
            (Decimal(entry.dollars) for entry in self._last.values() if entry.column == column), Decimal(0)
        )

    def requests(self, column: str) -> int:
        """How many such requests there are at most."""
        return sum(entry.requests for entry in self._last.values() if entry.column == column)


class Reserve:
    """What one column's requests of this session may cost until their replies are on disk.

    Args:
        session: its number; lines of a session take the place of each other.
        step: how many requests more than are under way a line covers, so that not each needs one of its own.
        room: dollars that the budget leaves, none without one: no more can be under way.
    """

    def __init__(
        self,
        column: str,
        session: int,
        journal: Journal,
        *,
        step: int,
        now: Callable[[], datetime],
        room: Callable[[], Decimal | None],
    ) -> None:
        self.column = column
        self.session = session
        self.dollars = Decimal(0)
        self.requests = 0
        self._covered = Decimal(0)
        self._journal = journal
        self._step = step
        self._now = now
        self._room = room
        self._one = asyncio.Lock()

    async def take(self, worst: Decimal) -> None:
        """Set the worst case of a request aside; it is on disk when this returns, and the request may leave.

        Raises:
            IncompleteError: it could not be written.
        """
        self.dollars += worst
        self.requests += 1
        if self.dollars <= self._covered:
            return
        try:
            async with self._one:
                # All that begin together are covered by one line.
                await asyncio.sleep(0)
                if self.dollars > self._covered:
                    await self._cover(worst)
        except BaseException:
            self.give(worst, 1)
            raise

    async def _cover(self, worst: Decimal) -> None:
        """Write a line that covers what is under way, and some more."""
        sum_ = self.dollars + self._step * worst
        if (room := self._room()) is not None:
            sum_ = max(self.dollars, min(sum_, room))
        await asyncio.shield(self._journal.add(self._line(sum_, self.requests + self._step)))
        self._covered = sum_

    def give(self, dollars: Decimal, requests: int) -> None:
        """Give back what was set aside: a reply on disk tells of it, or it never left."""
        self.dollars -= dollars
        self.requests -= requests

    def settle(self) -> None:
        """Add the line that says what stayed without a reply, if one of this session is there."""
        if self._covered:
            # What is rounded in the sums is no money.
            left = self.dollars if self.requests else Decimal(0)
            self._journal.add(self._line(left, self.requests))

    def _line(self, dollars: Decimal, requests: int) -> SetAside:
        return SetAside(
            column=self.column,
            session=self.session,
            when=self._now().isoformat(timespec="milliseconds"),
            dollars=f"{dollars:f}",
            requests=requests,
        )
