"""The ground that the commands of sealed runs stand on: a vault of private items, a column with terms, a round."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec
from tests.sealed.making import TERMS, open_scores, sealing_at

EXAMPLES = ("sealed", "abort", "open-scores", "check-scores")


def prepare_sealed(names: tuple[str, ...], root: Path, endpoint: str) -> None:
    """What the example of a command on sealed runs needs."""
    if names[:1] != ("run",) or names[1:2] == () or names[1] not in EXAMPLES:
        return
    sealed = sealing_at(root, endpoint, 10)
    if names[1] == "abort":
        # The name that the example gives has this time in it.
        sealed.play.now = datetime(2026, 1, 16, 11, 59, 59, tzinfo=UTC)
        terms = msgspec.structs.replace(TERMS, read="2026-01-01")
        sealed.begin(card=msgspec.structs.replace(sealed.column, retention=terms))
        return
    sealed.run()
    if names[1] in ("open-scores", "check-scores"):
        sealed.close()
    if names[1] == "check-scores":
        open_scores(sealed)
