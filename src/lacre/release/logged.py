"""The ledger's lines about a release."""

from __future__ import annotations

from lacre.registry import ledger as ledgers
from lacre.registry.events import Release as ReleaseEvent
from lacre.registry.ledger import Ledger
from lacre.release.statement import Release
from lacre.sealing.keys import SigningKey


def with_release(ledger: Ledger, statement: Release, package: str, signer: SigningKey) -> Ledger:
    """The ledger with a signed line for each benchmark of a release; ``package``: the hash of its SHA256SUMS."""
    events = [
        ReleaseEvent(
            benchmark=name,
            release=statement.release,
            package=package,
            root=sealed.root,
            previous=statement.previous.package if statement.previous else None,
        )
        for name, sealed in sorted(statement.benchmarks.items())
    ]
    return ledgers.appended(ledger, events, at=statement.at, signer=signer)
