"""Runs: every item to every column, resumable, each reply on disk before it counts (DESIGN section 8).

:class:`Run` is the loop alone. It reads and writes nothing but through what it is given:

- ``questions`` (:class:`~lacre.engine.plans.Questions`): what is asked, in the order in which they come;
- ``sink`` (:class:`~lacre.engine.journal.Sink`): where replies go, and where those of earlier sessions are read back;
- ``on_exposure``: told of every task before its first request of a session leaves; what it raises stops the run;
- ``record.unstored``: whether vendors are asked not to keep what they are sent;
- ``keys``, ``now``, ``patience``, ``budget``, ``on_progress``.

An ordinary run's folder and journal (:mod:`lacre.engine.folders`) are one use of it. No text of an item, an answer or a
key is in what it raises, logs or reports as progress. Afterwards :func:`~lacre.engine.journal.settled` and
:func:`~lacre.engine.folders.decided` make answers for scoring of any sink's lines, without a file.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import partial

import msgspec

from lacre.engine.budgets import Budget
from lacre.engine.client import Client, Halt, Patience
from lacre.engine.costs import Bill, in_dollars, reserve_for, total_dollars, worst_case
from lacre.engine.dialects import request_of
from lacre.engine.journal import Halted, Journal, Replied, SetAside, Sink, Task, entries
from lacre.engine.keys import Key
from lacre.engine.limits import GateClosedError, Pace
from lacre.engine.messages import Earlier, Message
from lacre.engine.owned import own_entries
from lacre.engine.plans import Chain, Questions, RunRecord, chains, compose
from lacre.engine.replies import Failed, Reply
from lacre.engine.reserves import Holds, Reserve
from lacre.engine.states import (
    ColumnState,
    Kind,
    Known,
    KnownTasks,
    RunState,
    kind_of,
    odd_end,
    over_cap,
    state,
    state_of,
)
from lacre.errors import LacreError
from lacre.registry.columns import Column, Exchange

__all__ = ["ColumnState", "Kind", "Progress", "Run", "RunState", "kind_of", "state_of"]

REJECTED_IN_A_ROW = 5
"""So many refused requests in a row are no fault of the items."""
UNREACHED_IN_A_ROW = 10
"""So many questions in a row without a connection: the network or the server is gone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """Where a run stands now. ``dollars`` is none where the cost is not known."""

    done: int
    expected: int
    kinds: Mapping[str, int]
    seconds: float
    fresh: int
    sweeping: bool
    dollars: Decimal | None


_SHARED: dict[Known, Known] = {}
"""One record for all tasks of which the same is known: there are few such records, and very many tasks."""


@dataclass(kw_only=True)
class Run:
    """A run under way.

    Attributes:
        questions: asked in the order in which they come.
        sink: open and held by the caller, who closes it.
        where, todo: what messages call the sink, and how to go on after one that it could not be written to.
        now: the time, for the journal.
        again: ask once more what had failed to the end in an earlier session.
        on_progress: called after every reply.
        on_exposure: called before the first request of a task leaves, in each session. A :class:`LacreError` that it
            raises stops the run before the request.
    """

    record: RunRecord
    questions: Questions
    cards: Sequence[Column]
    keys: Mapping[str, Key | None]
    sink: Sink
    now: Callable[[], datetime]
    patience: Patience = field(default_factory=Patience)
    budget: Decimal | None = None
    again: bool = False
    on_progress: Callable[[Progress], None] = lambda _: None
    on_exposure: Callable[[Task], None] = lambda _: None
    where: str = ""
    todo: str = "resume the run"

    def __post_init__(self) -> None:
        """Read what earlier sessions left."""
        self._known = KnownTasks(card.id for card in self.cards)
        self._halted: dict[str, Halted] = {}
        self._caps = {card.id: card.cap for card in self.cards}
        self._bills = {card.id: Bill(self.record.stage, card, self.record.exchange) for card in self.cards}
        self._streak: Counter[tuple[str, str]] = Counter()
        self._failed: dict[str, list[Chain]] = {card.id: [] for card in self.cards}
        self._clients: list[Client] = []
        self._owed = 0
        self._with_parts = set[str]()
        for question in self.questions:
            self._owed += len(question.parts) * self.record.repetitions.of(question)
            if question.payload.parts:
                self._with_parts.add(question.id)
        self._kinds: Counter[str] = Counter()
        self._fresh = 0
        self._sweeping = False
        self._begun = time.monotonic()
        spent = Decimal(0)
        holds = Holds()
        cards = {card.id: card for card in self.cards}
        where = self.where or f"journal of run {self.record.id}"
        for entry in own_entries(entries(self.sink.lines(), where), self.record, self.questions, where):
            if isinstance(entry, Replied) and entry.column in cards:
                self._count(entry, self._known.get(entry.task))
                self._note(entry, final=entry.sweep and not self.again)
                spent += _spent(cards[entry.column], entry, self.record.exchange)
            elif isinstance(entry, SetAside) and entry.column in cards:
                holds.add(entry)
                self._bills[entry.column].hold(entry)
        spent += sum((holds.dollars(id) for id in cards), Decimal(0))
        self._budget = Budget(self.budget, spent)
        self._journal = Journal(self.sink, where=where, todo=self.todo)
        self._reserves = {
            card.id: Reserve(
                card.id,
                holds.session(card.id),
                self._journal,
                step=card.concurrency // 4,
                now=self.now,
                room=self._budget.room,
            )
            for card in self.cards
        }

    def work(self) -> RunState:
        """Ask all that is still to be asked, and say how far the run is.

        Raises:
            IncompleteError: a reply could not be written.
            KeyboardInterrupt: it was interrupted; what came before is kept.
        """
        return asyncio.run(self._work())

    async def _work(self) -> RunState:
        self._begun = time.monotonic()
        try:
            async with asyncio.TaskGroup() as group:
                for card in self.cards:
                    group.create_task(self._column(card))
        except* LacreError as several:
            # One error is enough to say; the others are what it pulled down.
            raise _first(several) from None
        finally:
            await self._journal.close()
            # What just came to disk gives back what was set aside for it.
            await asyncio.sleep(0)
            for reserve in self._reserves.values():
                reserve.settle()
            await self._journal.close()
        return self.state()

    def state(self) -> RunState:
        """How far the run is now."""
        now = state(self._owed, self.cards, self._known, self._halted, budget_reached=self._budget.reached)
        if self._budget.limit is None:
            return now
        return msgspec.structs.replace(now, budget=f"{self._budget.limit:f}", spent=f"{self._budget.spent:f}")

    @property
    def under_way(self) -> int:
        """Requests without an answer yet; after an interrupt, those that were given up, and may be billed."""
        return sum(client.under_way for client in self._clients)

    async def _column(self, card: Column) -> None:
        """Ask one column everything, then sweep what failed."""
        pace = Pace(card.requests_per_minute, card.tokens_per_minute, clock=time.monotonic)
        client = Client(
            card, self.keys.get(card.id), patience=self.patience, pace=pace, unstored=self.record.unstored
        )
        self._clients.append(client)
        async with client:
            asker = _Asker(self, card, client, pace)
            await self._spread(asker, chains(self.questions, card.id, self.record.repetitions), sweep=False)
            # More than one round only for open items, whose later parts wait for the earlier ones.
            while self._failed[card.id] and not self._stopped(card.id):
                self._sweeping = True
                failed, self._failed[card.id] = self._failed[card.id], []
                await self._spread(asker, iter(failed), sweep=True)

    async def _spread(self, asker: _Asker, work: Iterator[Chain], *, sweep: bool) -> None:
        """Share chains out among as many workers as the card allows."""

        async def worker() -> None:
            hand = _Hand(asker)
            for chain in work:
                if self._stopped(asker.card.id):
                    break
                await self._chain(hand, chain, sweep=sweep)
            await hand.written()

        async with asyncio.TaskGroup() as group:
            for _ in range(asker.card.concurrency):
                group.create_task(worker())

    async def _chain(self, hand: _Hand, chain: Chain, *, sweep: bool) -> None:
        """Ask the parts of a chain that have no final reply, each with the answers to those before it."""
        earlier: list[Earlier] = []
        for part in chain.question.parts:
            task = chain.task(part)
            known = self._known.get(task)
            if known is None or (known.kind == "failed" and not known.final and sweep):
                if self._stopped(chain.column):
                    return
                known = await self._ask(hand, chain, task, earlier)
                if known is None:
                    return
            if known.kind == "failed" and not known.final:
                # The parts after it wait for the sweep, so that they see its answer if there is one.
                self._failed[chain.column].append(chain)
                return
            if part is not None:
                earlier.append(Earlier(part=part, answer=known.text if known.kind == "answered" else None))

    def _stopped(self, column: str) -> bool:
        """Whether nothing more is to be asked of a column."""
        return column in self._halted or self._budget.reached

    async def _ask(self, hand: _Hand, chain: Chain, task: Task, earlier: Sequence[Earlier]) -> Known | None:
        """Ask one task and have written down what came of it; none when the column was stopped."""
        asker = hand.asker
        part = next((p for p in chain.question.parts if p is not None and p.id == task.part), None)
        message = compose(self.record, asker.card, chain, part, earlier)
        self.on_exposure(task)
        try:
            found = await asker.ask(message)
        except GateClosedError:
            # Whoever is under way is let finish: what they cost is set aside already.
            return None
        when = self.now().isoformat(timespec="milliseconds")
        if isinstance(found.what, Halt):
            found.forget(self._reserves[asker.card.id])
            await self._halt(asker.card.id, found.what, when)
            return None
        before = self._known.get(task)
        entry = Replied(
            column=task.column,
            item=task.item,
            repetition=task.repetition,
            part=task.part,
            message=message.sha256,
            incomplete=any(one.answer is None for one in earlier),
            sweep=before is not None,
            when=when,
            reply=found.what,
            held=str(found.held) if found.held else None,
        )
        if (halt := self._too_many(asker.card.id, found.what)) is not None:
            found.forget(self._reserves[asker.card.id])
            await self._halt(asker.card.id, halt, when)
            return None
        known = self._note(entry, final=entry.sweep)
        on_disk = self._journal.add(entry)
        on_disk.add_done_callback(partial(found.told, self._reserves[asker.card.id]))
        await hand.write(self._counted(on_disk, entry, before))
        return known

    async def _counted(self, on_disk: asyncio.Future[None], entry: Replied, before: Known | None) -> None:
        """Count a reply once it is on disk."""
        await asyncio.shield(on_disk)
        self._count(entry, before)
        self._fresh += 1
        self.on_progress(self._progress())

    async def _halt(self, column: str, halt: Halt, when: str) -> None:
        """Stop a column, once."""
        if column in self._halted:
            return
        halted = Halted(
            column=column, when=when, reason=halt.reason, detail=halt.detail, parameter=halt.parameter
        )
        self._halted[column] = halted
        await asyncio.shield(self._journal.add(halted))

    def _too_many(self, column: str, reply: Reply) -> Halt | None:
        """A halt when one kind of failure comes so often in a row that it cannot be the items' fault."""
        rejected = isinstance(reply, Failed) and reply.cause == "rejected"
        unreached = isinstance(reply, Failed) and reply.delivery.status is None and not reply.delivery.lost
        for name, met, most, what in (
            ("requests", rejected, REJECTED_IN_A_ROW, "refused the last {} requests (status {})"),
            ("endpoint", unreached, UNREACHED_IN_A_ROW, "could not be reached for the last {} questions"),
        ):
            self._streak[column, name] = self._streak[column, name] + 1 if met else 0
            if self._streak[column, name] >= most:
                return Halt(reason=name, detail="the server " + what.format(most, reply.delivery.status))
        return None

    def _note(self, entry: Replied, *, final: bool) -> Known:
        """Keep what is needed of a reply: little, for there may be very many."""
        kind = kind_of(entry.reply)
        text = entry.reply.text if kind == "answered" and entry.item in self._with_parts else None  # type: ignore[union-attr]
        over = over_cap(entry.reply, self._caps[entry.column])
        known = Known(kind, final or kind != "failed", text, entry.incomplete, odd_end(entry.reply), over)
        if text is None:
            known = _SHARED.setdefault(known, known)
        self._known.put(entry.task, known)
        return known

    def _count(self, entry: Replied, before: Known | None) -> None:
        """Count a reply that is on disk; it may take the place of an earlier one."""
        if before is not None:
            self._kinds[before.kind] -= 1
        self._kinds[kind_of(entry.reply)] += 1
        self._bills[entry.column].add(entry)

    def _progress(self) -> Progress:
        return Progress(
            done=sum(self._kinds.values()),
            expected=self._owed * len(self.cards),
            kinds=dict(self._kinds),
            seconds=time.monotonic() - self._begun,
            fresh=self._fresh,
            sweeping=self._sweeping,
            dollars=total_dollars(self._bills),
        )


class _Hand:
    """One worker of a column. It asks the next question while its last reply goes to disk, never two ahead."""

    def __init__(self, asker: _Asker) -> None:
        self.asker = asker
        self._writing: asyncio.Task[None] | None = None

    async def write(self, work: Coroutine[None, None, None]) -> None:
        """Wait until the reply before this one is on disk; this one is on its way there."""
        before, self._writing = self._writing, asyncio.create_task(work)
        # Where the run ends by another error, nobody asks this one for its own.
        self._writing.add_done_callback(lambda task: task.cancelled() or task.exception())
        if before is not None:
            await before

    async def written(self) -> None:
        """Wait until the last reply is on disk.

        Raises:
            IncompleteError: it could not be written.
        """
        if self._writing is not None:
            await self._writing


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """What became of a question.

    Attributes:
        held: dollars of tries that told nothing, and may have been billed; ``lost`` of them.
        taken: dollars that were set aside for its tries, ``tries`` of them.
    """

    what: Reply | Halt
    held: Decimal
    lost: int
    taken: Decimal
    tries: int

    def told(self, reserve: Reserve, on_disk: asyncio.Future[None]) -> None:
        """Give all back once the reply, which tells of it, is on disk."""
        if not on_disk.cancelled() and on_disk.exception() is None:
            reserve.give(self.taken, self.tries)

    def forget(self, reserve: Reserve) -> None:
        """Give back what was not lost: no reply is written that would tell of the rest."""
        reserve.give(self.taken - self.held, self.tries - self.lost)


class _Asker:
    """Asks one column within its pace and the run's budget."""

    def __init__(self, run: Run, card: Column, client: Client, pace: Pace) -> None:
        self._run = run
        self.card = card
        self._client = client
        self._pace = pace

    async def ask(self, message: Message) -> _Found:
        """What became of the message, with the dollars held for attempts that told nothing.

        Raises:
            GateClosedError: it could exceed the budget, or the column was stopped meanwhile.
        """
        budget = self._run._budget
        request = request_of(self.card, message, unstored=self._run.record.unstored)
        exchange = self._run.record.exchange
        limited = budget.limit is not None
        # What may be billed is set aside without a budget, too: the next session may have one.
        known = (
            worst_case(self.card, request, exchange) if limited else reserve_for(self.card, request, exchange)
        )
        worst = known or Decimal(0)
        guess = len(request.body) // 3 + (request.cap or 0)
        reserved = counted = held = cost = taken = Decimal(0)
        tries = lost = 0

        async def gate() -> float:
            nonlocal reserved, counted, taken, tries
            waited = await self._pace.admit(guess)
            if self.card.id in self._run._halted:
                # It was stopped while this one waited for its turn.
                raise GateClosedError
            # A try before this one counts in full until the end tells: nobody may wait for what it holds.
            await budget.settle(reserved, reserved)
            counted, reserved = counted + reserved, Decimal(0)
            await budget.reserve(worst)
            reserved = worst
            if worst:
                await self._run._reserves[self.card.id].take(worst)
                taken, tries = taken + worst, tries + 1
            return waited

        try:
            reply = await self._client.ask(request, gate)
            if isinstance(reply, Halt):
                lost, told = reply.lost, None
            else:
                told = in_dollars(reply.usage, self.card, exchange)
                untold = told is None and not isinstance(reply, Failed) and reply.delivery.status == 200
                lost = reply.delivery.lost + untold
                if reply.usage.input is not None and reply.usage.output is not None:
                    self._pace.correct(guess, reply.usage.input + reply.usage.output)
            held = lost * worst
            cost = (told or Decimal(0)) + held
            return _Found(what=reply, held=held, lost=lost if worst else 0, taken=taken, tries=tries)
        finally:
            await budget.settle(reserved, cost - counted)


def _spent(card: Column, entry: Replied, exchange: Exchange | None) -> Decimal:
    """The dollars that a reply of an earlier session cost, and those held for what nobody told."""
    return (in_dollars(entry.reply.usage, card, exchange) or Decimal(0)) + Decimal(entry.held or 0)


def _first(several: BaseExceptionGroup[LacreError]) -> LacreError:
    """One error out of a group of groups."""
    error = several.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
