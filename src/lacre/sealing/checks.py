"""What vetting said of private items, kept in the vault: per item and corpus, the latest (SPEC L7)."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from lacre.errors import InputError
from lacre.registry.events import Hash
from lacre.registry.records import Record
from lacre.registry.verdicts import Decision
from lacre.sealing.change import Change
from lacre.sealing.vault import Vault

CHECKS = "vetting/checks.jsonl"
FINDINGS = "vetting/findings.jsonl"
PAGE = "vetting/vetting.html"
"""The vault's documents of the latest vetting."""


class Check(Record, omit_defaults=False):
    """One item against one corpus. The commitment says which text it was, so a changed item counts as unvetted.

    Attributes:
        classes: class of match -> number of findings. ``at``: when, UTC.
        ground: SHA-256 of what it stands on: the corpus's line and files, the rules, the set phrases; "" for a corpus
            outside the inventory.
    """

    item: str
    commitment: Hash
    corpus: str
    verdict: Decision
    classes: dict[str, int]
    findings: int
    at: str
    ground: str = ""


def read_checks(vault: Vault) -> tuple[Check, ...]:
    """All checks kept in a vault, by item and corpus; empty when nothing was vetted."""
    content = vault.document(CHECKS) or b""
    return tuple(msgspec.json.decode(line, type=Check) for line in content.splitlines())


def keep_checks(change: Change, checks: Iterable[Check]) -> None:
    """Keep checks; one of the same text and corpus takes the place of the older one.

    Raises:
        InputError: one is older than the one whose place it would take.
    """
    latest = {(check.item, check.commitment, check.corpus): check for check in read_checks(change.vault)}
    for check in checks:
        key = (check.item, check.commitment, check.corpus)
        if key in latest and check.at < latest[key].at:
            raise InputError(
                change.vault.folder,
                f"item '{check.item}' was vetted against {check.corpus} at {latest[key].at}, after {check.at}",
                "Set the clock right, and run again",
            )
        latest[key] = check
    lines = [msgspec.json.encode(latest[key]) + b"\n" for key in sorted(latest)]
    change.keep(CHECKS, b"".join(lines))


def verdicts_by_corpus(checks: Iterable[Check]) -> dict[str, dict[str, Decision]]:
    """Commitment -> corpus -> the latest verdict."""
    found: dict[str, dict[str, Decision]] = {}
    for check in checks:
        found.setdefault(check.commitment, {})[check.corpus] = check.verdict
    return found
