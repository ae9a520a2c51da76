"""Has the vault remember how far a run's ledger and log have come, so that neither can go back unseen (SPEC X4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from lacre.engine.journal import Sink
from lacre.sealed.ground import Ground
from lacre.sealing.journal import bytes_of
from lacre.sealing.logs import Head
from lacre.sealing.seen import LogSeen
from lacre.sealing.vault import Vault


class Log(Sink, Protocol):
    """A run's log in the vault, as far as the run uses it."""

    @property
    def head(self) -> Head:
        """Its last frame."""


@dataclass(slots=True)
class Memory:
    """Called before each block of items is shown and at the end of a session: at each reply it would cost too much.

    Attributes:
        replies: how many are on disk.
    """

    vault: Vault
    ground: Ground
    name: str
    log: Log
    replies: int = 0

    def keep(self) -> None:
        """Remember how far both are now.

        Raises:
            InputError: the vault cannot be written. IntegrityError: the ledger is shorter than it was.
        """
        # In this order: what is counted meanwhile is in the frames.
        replies, head = self.replies, self.log.head
        seen = LogSeen(frames=head.number, digest=head.digest, replies=replies) if head.number else None
        with self.vault.change() as change:
            change.see(bytes_of(self.ground.ledger_path), self.ground.ledger_path)
            change.see_log(self.name, seen)
