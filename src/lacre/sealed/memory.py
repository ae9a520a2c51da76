"""Has the vault remember how far a run's ledger and log have come, so that neither can go back unseen (SPEC X4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from lacre.engine.journal import Sink
from lacre.sealed.ground import Ground
from lacre.sealing.journal import bytes_of
from lacre.sealing.seen import LogSeen
from lacre.sealing.vault import Vault


class Log(Sink, Protocol):
    """A run's log in the vault, as far as the run uses it.

    Attributes:
        replies: how many are in it.
    """

    replies: int

    @property
    def seen(self) -> LogSeen:
        """How far it has come."""


@dataclass(slots=True)
class Memory:
    """Called before each block of items is shown and at the end of a session: at each reply it would cost too much.

    In between the log's own mark says how far it is, but for a power cut.
    """

    vault: Vault
    ground: Ground
    name: str
    log: Log

    def keep(self) -> None:
        """Remember how far both are now.

        Raises:
            InputError: the vault cannot be written. IntegrityError: the ledger is shorter than it was.
        """
        seen = self.log.seen
        with self.vault.change() as change:
            change.see(bytes_of(self.ground.ledger_path), self.ground.ledger_path)
            change.see_log(self.name, seen if seen.frames else None)
