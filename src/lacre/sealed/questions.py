"""The questions of a sealed run: out of the vault one by one, in an order that nobody outside can know."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lacre.engine.messages import stripped
from lacre.engine.plans import Question
from lacre.sealing.vault import Vault


@dataclass(frozen=True, slots=True)
class SealedQuestions:
    """Items of an open vault as the engine asks them, each opened when its turn comes.

    Attributes:
        ids: in the order in which they are asked.
    """

    vault: Vault
    ids: tuple[str, ...]

    def __len__(self) -> int:
        """How many there are."""
        return len(self.ids)

    def __iter__(self) -> Iterator[Question]:
        """Each once, in their order.

        Raises:
            InputError: an item is no longer in the vault. IntegrityError: its file is damaged.
        """
        return (self.question(id) for id in self.ids)

    def question(self, id: str) -> Question:
        """One of them; errors as when all are gone through. Images are not in the vault: an item has captions."""
        item = self.vault.sealed(id).item
        return Question(
            id=id,
            payload=stripped(item.payload, item.canary),
            images={},
            fields={"layer": item.layer, **item.cell},
        )


def shuffled(ids: Sequence[str], seed: bytes) -> tuple[str, ...]:
    """Ids in an order that the seed decides, whatever order they come in.

    >>> shuffled(["a", "b", "c"], b"x") == shuffled(["c", "b", "a"], b"x")
    True
    """
    return tuple(sorted(ids, key=lambda id: hmac.digest(seed, id.encode(), hashlib.sha256)))
