"""Where things stand in a release, and which of its files cannot hold the canary."""

from __future__ import annotations

from fnmatch import fnmatchcase

from lacre.release.verify import ENVELOPE, KEY, LEDGER, STAMP, SUMS

CARD, DICTIONARY, CROISSANT, CODE, VERIFIER, GIT = (
    "README.md",
    "dictionary.md",
    "croissant.json",
    "code.json",
    "verify.py",
    ".gitattributes",
)

APART: dict[str, str] = {
    SUMS: "it is the list of hashes",
    ENVELOPE: "it is the signature",
    STAMP: "it is the time stamp",
    KEY: "it is a key",
    VERIFIER: "it is the same program in every release",
    "code/*": "it is program code, which never holds the canary",
    LEDGER: "each line is fixed by the next",
    "registry/*/private/commitments.jsonl": "its rows are fixed by the ledger, and hold no text",
    "registry/*/private/runs/*.json": "it is fixed by the ledger, and holds counts only",
    "registry/*/private/tables/*.json": "it is fixed by the ledger, and holds ids only",
    "registry/*/rounds/*/*freeze.dsse.json": "it is signed, and holds no text",
    "registry/*/rounds/*/freeze.tsr": "it is a time stamp",
    "registry/*/rounds/*/draw.json": "it is fixed by the ledger, and holds no text",
    "registry/*/rounds/*/randomness.json": "it is fixed by the ledger, and holds no text",
    "registry/corpora.jsonl": "it says where others' texts are, and holds nothing of the benchmark",
    "registry/templates/*": "it is sent to columns as it is, and its hash is recorded",
    "previous/*": "it is part of an earlier release",
}
"""Patterns of names that cannot hold the canary, each with the reason; images of items are the other such files."""


def apart(name: str) -> str | None:
    """Why a file of a release cannot hold the canary; none when it must.

    >>> apart("registry/templates/choice.txt"), apart("README.md")
    ('it is sent to columns as it is, and its hash is recorded', None)
    """
    return next((why for pattern, why in APART.items() if fnmatchcase(name, pattern)), None)
