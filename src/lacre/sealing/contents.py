"""The records inside a vault's age files. Each holds the vault's secret, so that no outsider can make one."""

from __future__ import annotations

import msgspec

from lacre.registry.events import Hash, Text
from lacre.registry.items import Item
from lacre.registry.records import Record
from lacre.sealing.commitments import Opening, Row
from lacre.sealing.seen import LedgerSeen, LogSeen

INDEX, ITEMS, DOCUMENTS = "index.age", "items", "documents"  # places in the vault
LOGS, MARKS = "logs", "marks"


class Header(Record, omit_defaults=False):
    """``vault.json``, the one file that is not sealed: which vault this is, and of which workspace."""

    vault: Hash
    workspace: Hash | None
    format: str = "lacre-vault-1"


class Reader(Record):
    """Somebody who can open the vault: a name, such as operator, custodian or recovery, and an age recipient."""

    name: Text
    recipient: Text


class Entry(Record):
    """What the index says of one item.

    Attributes:
        digest: SHA-256 of the item's age file, so that a change is seen without opening it.
        payload: SHA-256 of the payload's canonical bytes, so that no item is added twice.
        passage: SHA-256 of the passage's words, empty without one: items that share one move together.
    """

    benchmark: str
    row: Row
    digest: Hash
    payload: Hash
    passage: str = ""


class Kept(Record):
    """What the index says of one document: its name, its file, and the SHA-256 of that."""

    name: str
    file: str
    digest: Hash


class Index(Record):
    """``index.age``: everything the vault holds, sealed. Entries are sorted by id, documents by name.

    Attributes:
        ledger: the ledger as the vault last saw it. ``logs``: likewise the logs of runs that did not end, by name.
    """

    vault: Hash
    secret: Hash
    workspace: Hash | None
    readers: tuple[Reader, ...]
    entries: tuple[Entry, ...] = ()
    documents: tuple[Kept, ...] = ()
    ledger: LedgerSeen | None = None
    logs: dict[str, LogSeen] = msgspec.field(default_factory=dict)


class Sealed(Record):
    """The content of one item's file: the item, and the nonce that opens its commitment."""

    secret: Hash
    nonce: Hash
    commitment: Hash
    batch: str
    item: Item

    @property
    def opening(self) -> Opening:
        """What opens the item's commitment."""
        return Opening(id=self.item.id, nonce=self.nonce, payload=self.item.payload)


class Document(Record):
    """The content of one document: its name, and its bytes (in base64 in the file)."""

    secret: Hash
    name: str
    content: bytes
