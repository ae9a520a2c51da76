"""Says in the ledger which items a column is about to be shown, before they leave (SPEC X5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from lacre.engine.journal import Task
from lacre.errors import IncompleteError, InputError, remedy, sentence
from lacre.registry import ledger as ledgers
from lacre.registry.events import Exposure
from lacre.registry.sealed_runs import resume_command
from lacre.sealed.ground import Ground, instant
from lacre.sealed.memory import Memory

AT_ONCE = 64
"""Items that one line names: an item counts as shown a little before it is, and the ledger stays short."""


class Exposer:
    """Called before each request. Items that no line names yet are named first, the next ones of the order with them.

    An item counts as shown once it may have been sent: what is written and then not sent counts all the same.
    """

    def __init__(
        self,
        ground: Ground,
        run: str,
        column: str,
        terms: str,
        *,
        order: Sequence[str],
        shown: frozenset[str],
        now: Callable[[], datetime],
        memory: Memory,
    ) -> None:
        self._ground, self._run, self._column, self._terms, self._now = ground, run, column, terms, now
        self._memory = memory
        self._left = [item for item in order if item not in shown]

    def __call__(self, task: Task) -> None:
        """See to it that the ledger names the item of a task.

        Raises:
            IncompleteError: the ledger or the vault cannot be written.
            IntegrityError: the ledger's chain does not hold, or it is shorter than the vault saw it.
        """
        if task.item not in self._left:
            return
        first = self._left.index(task.item)
        block = self._left[first : first + AT_ONCE]
        event = Exposure(
            benchmark=self._ground.benchmark,
            run=self._run,
            column=self._column,
            items=tuple(sorted(block)),
            terms=self._terms,
        )
        place = self._ground.ledger_path
        try:
            ledgers.append(place, event, at=instant(self._now()), signer=self._ground.signer)
        except OSError as error:
            todo = f"{remedy(error)}, then go on with `{resume_command(self._run)}`"
            what = f"cannot be written ({error.strerror}), so nothing more is sent"
            raise IncompleteError(sentence(place, what, todo)) from None
        try:
            self._memory.keep()
        except InputError as error:
            raise IncompleteError(
                f"{error} Nothing more is sent. Go on with `{resume_command(self._run)}`."
            ) from None
        del self._left[first : first + AT_ONCE]
