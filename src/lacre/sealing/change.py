"""A change of a vault, put together in the journal and then done whole, public files of the workspace included."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import msgspec

from lacre.digest import sha256
from lacre.errors import InputError, LacreError
from lacre.registry.items import Item, Payload
from lacre.registry.ledger import locked
from lacre.registry.records import Record
from lacre.registry.sealed_runs import resume_command
from lacre.sealing import ages
from lacre.sealing.commitments import NONCE_BYTES, Row, commit_bytes, payload_bytes
from lacre.sealing.contents import DOCUMENTS, INDEX, ITEMS, LOGS, Document, Entry, Index, Kept, Reader, Sealed
from lacre.sealing.journal import MEANWHILE, Intent, Move, Publication, bytes_of, digest_of, framed
from lacre.sealing.seen import LogSeen, ledger_seen, refuse_older
from lacre.text import words

if TYPE_CHECKING:
    from lacre.sealing.vault import Vault

LEDGER = "registry/ledger.jsonl"
"""The place of the ledger in a workspace."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
_DOCUMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}")


class Added(Record, omit_defaults=False):
    """What became of items that were to be added: the rows of the new ones, the ids of those there already."""

    rows: tuple[Row, ...]
    already: tuple[str, ...]


class Change:
    """What is to become of a vault; made by :meth:`lacre.sealing.vault.Vault.change`."""

    def __init__(self, vault: Vault, root: Path | None) -> None:
        self.vault = vault
        self.root = root
        index = vault.index
        self._secret = index.secret
        self._readers = index.readers
        self._recipients = [reader.recipient for reader in index.readers]
        self._entries = {entry.row.id: entry for entry in index.entries}
        self._documents = {kept.name: kept for kept in index.documents}
        self._ledger, self._logs = index.ledger, dict(index.logs)
        self._moves: dict[str, Move] = {}
        self._removals: set[str] = set()
        self._publications: dict[str, Publication] = {}
        self._written: dict[str, bytes] = {}
        self._staged = 0

    def add(self, items: Iterable[Item], batch: str, *, correcting: Row | None = None) -> Added:
        """Seal new private items, each under a fresh nonce, and return their public rows, sorted by id.

        An item that is there already, with the same payload, is passed over, so that a command that was cut
        short can be run again. An item that corrects another (``correcting``) stays in its group.

        Raises:
            LacreError: lists every item that cannot be added: not private, an id that is taken or unfit for a
                file's name, a payload that stands in the vault under another id.
        """
        known = _Known.of(self._entries.values())
        rows: list[Row] = []
        already: list[str] = []
        faults: list[str] = []
        for item in items:
            content = payload_bytes(item.payload)
            digest = sha256(content)
            if what := known.fault(item, digest):
                faults.append(str(InputError(f"item '{item.id}'", *what)))
            elif item.id in self._entries:
                already.append(item.id)
            elif not faults:  # else nothing will be kept
                group = known.group(item)
                if correcting is not None:
                    group = _kept_group(item, group, correcting)
                rows.append(self._seal_new(item, content, batch, group))
                known.learn(self._entries[item.id])
        if faults:
            raise LacreError("\n".join(faults))
        return Added(rows=tuple(sorted(rows, key=lambda row: row.id)), already=tuple(sorted(already)))

    def replace(self, item: Item) -> Row:
        """Seal an item anew with what stands outside its payload changed: its history, its source, its cell.

        Raises:
            InputError: no such item; or its payload differs, which would break the commitment.
        """
        entry = self._entry(item.id)
        sealed = self.vault.sealed(item.id)
        if payload_bytes(item.payload) != payload_bytes(sealed.item.payload):
            raise InputError(
                f"item '{item.id}'",
                "its payload is committed and cannot change",
                "Supersede it by a new item",
            )
        row = msgspec.structs.replace(entry.row, cell=item.cell)
        content = msgspec.structs.replace(sealed, secret=self._secret, item=item)
        digest = self._stage_record(f"{ITEMS}/{item.id}.age", content)
        self._entries[item.id] = msgspec.structs.replace(entry, row=row, digest=digest)
        return row

    def remove(self, id: str) -> None:
        """Take an item out, its nonce too: only once its opening is published, in this same change or before.

        Raises:
            InputError: no such item.
        """
        self._entry(id)
        del self._entries[id]
        self._remove(f"{ITEMS}/{id}.age")

    def keep(self, name: str, content: bytes) -> None:
        """Seal a document, such as findings or raw answers, in place of the one of this name, if any.

        Raises:
            ValueError: the name is not made of letters, digits and ``._/-``.
        """
        if not _DOCUMENT.fullmatch(name):
            raise ValueError(f"no name for a document: {name!r}")
        file = f"{sha256(name.encode())[:32]}.age"
        record = Document(secret=self._secret, name=name, content=content)
        digest = self._stage_record(f"{DOCUMENTS}/{file}", record)
        self._documents[name] = Kept(name=name, file=file, digest=digest)

    def forget(self, name: str) -> None:
        """Take a document out; it may be gone already."""
        kept = self._documents.pop(name, None)
        if kept is not None:
            self._remove(f"{DOCUMENTS}/{kept.file}")

    def publish(self, place: str, content: bytes) -> None:
        """Write a public file of the workspace as part of this change; ``place`` is relative to its root.

        Until the change is decided the bytes are sealed like all others.

        Raises:
            ValueError: the change has no workspace, or the place lies outside it.
            InputError: it is the ledger, and its lines on disk are not those that the new ones follow: another
                process wrote some since it was read, and they would be lost.
            IntegrityError: it is the ledger, and the vault saw a longer one, or another.
        """
        path = PurePosixPath(place)
        first = self._publications.get(place)
        if self.root is None or path.is_absolute() or ".." in path.parts or not path.parts:
            raise ValueError(f"no place in a workspace: {place!r}")
        if place == LEDGER:
            there = bytes_of(self.root / place)
            if not content.startswith(there):
                raise InputError(self.root / place, *MEANWHILE)
            if first is None:  # the second time it is what the first one gave
                refuse_older(self._ledger, there, self.root / place)
            self.see(content, self.root / place)
        before = first.before if first else digest_of(self.root / place)
        staged = first.staged if first else self._next()
        self.vault.journal.stage(staged, ages.seal(framed(content), self._before_and_after()))
        self._publications[place] = Publication(
            staged=staged, place=place, before=before, after=sha256(content)
        )
        self._written[place] = content

    def see(self, ledger: bytes, where: Path) -> None:
        """Remember how far a ledger has come, which nobody may go behind from now on.

        Raises:
            IntegrityError: the vault saw a longer one, or another.
        """
        refuse_older(self._ledger, ledger, where)
        self._ledger = ledger_seen(ledger)

    def see_log(self, name: str, seen: LogSeen | None) -> None:
        """Remember how far a log has come; none once it ended, and may go."""
        self._logs.pop(name, None)
        if seen is not None:
            self._logs[name] = seen

    def published(self, place: str) -> bytes:
        """A public file as it will be after this change: what was given, or what is there; empty if nothing."""
        if place in self._written or self.root is None:
            return self._written.get(place, b"")
        path = self.root / place
        return path.read_bytes() if path.exists() else b""

    def rekey(self, readers: Mapping[str, str]) -> None:
        """Seal everything anew for other readers, under a new secret. Must come first in a change.

        Raises:
            InputError: there is no reader, or a recipient is none, or given twice; or a sealed run is under way.
            ValueError: the change has begun.
        """
        if self._staged:
            raise ValueError("a change that rekeys begins with it")
        # A log is added to for hours: sealed for the old readers at its start and for the new ones at its end, it
        # would open to nobody.
        if logs := sorted((self.vault.folder / LOGS).glob("*")):
            name = logs[0].name.removesuffix(".log.age")
            raise InputError(
                logs[0], "a sealed run is under way", f"Finish it with `{resume_command(name)}`, then rekey"
            )
        self._readers = checked_readers(readers)
        self._recipients = [reader.recipient for reader in self._readers]
        self._secret = self.vault.random(32).hex()
        for id, entry in list(self._entries.items()):
            sealed = msgspec.structs.replace(self.vault.sealed(id), secret=self._secret)
            digest = self._stage_record(f"{ITEMS}/{id}.age", sealed)
            self._entries[id] = msgspec.structs.replace(entry, digest=digest)
        for name in list(self._documents):
            self.keep(name, self.vault.document(name) or b"")

    def commit(self) -> Index:
        """Do all of it, at the end of the block, and return the new index. Nothing asked for, nothing written."""
        old = self.vault.index
        index = Index(
            vault=old.vault,
            secret=self._secret,
            workspace=old.workspace,
            readers=self._readers,
            entries=tuple(self._entries[id] for id in sorted(self._entries)),
            documents=tuple(self._documents[name] for name in sorted(self._documents)),
            ledger=self._ledger,
            logs=self._logs,
        )
        if index == old and not (self._staged or self._removals):
            return old
        if index != old:
            self._stage_record(INDEX, index)
        intent = Intent(
            secrets=tuple(sorted({old.secret, self._secret})),
            moves=tuple(self._moves.values()),
            removals=tuple(sorted(self._removals)),
            publications=tuple(self._publications.values()),
            root=str(self.root.absolute()) if self.root else None,
        )
        journal = self.vault.journal
        with ExitStack() as stack:
            if self.root is not None:
                stack.enter_context(locked(self.root / LEDGER))
            journal.decide(intent, lambda content: ages.seal(content, self._before_and_after()))
            journal.carry_out(intent, self.vault.unseal)
        return index

    def _seal_new(self, item: Item, payload: bytes, batch: str, group: str | None) -> Row:
        nonce = self.vault.random(NONCE_BYTES)
        commitment = commit_bytes(payload, nonce)
        passage = passage_digest(item.payload)
        row = Row(
            id=item.id,
            cell=item.cell,
            batch=batch,
            commitment=commitment,
            group=group,
        )
        sealed = Sealed(secret=self._secret, nonce=nonce.hex(), commitment=commitment, batch=batch, item=item)
        file = self._stage_record(f"{ITEMS}/{item.id}.age", sealed)
        self._entries[item.id] = Entry(
            benchmark=item.benchmark, row=row, digest=file, payload=sha256(payload), passage=passage
        )
        return row

    def _entry(self, id: str) -> Entry:
        return self._entries[id] if id in self._entries else self.vault.entry(id)

    def _before_and_after(self) -> list[str]:
        """Those who could open the vault before, and those who can after: each of them can finish the change."""
        return sorted({*self._recipients, *self.vault.recipients})

    def _next(self) -> str:
        self._staged += 1
        return f"{self._staged:06d}"

    def _stage_record(self, place: str, record: Record) -> str:
        """Stage a sealed record for a place in the vault, and return the SHA-256 of its file."""
        content = ages.seal(msgspec.json.encode(record), self._recipients)
        before = self._moves.get(place)
        staged = before.staged if before else self._next()
        self.vault.journal.stage(staged, content)
        self._moves[place] = Move(staged=staged, place=place, digest=sha256(content))
        self._removals.discard(place)
        return self._moves[place].digest

    def _remove(self, place: str) -> None:
        move = self._moves.pop(place, None)
        if move is not None:
            self.vault.journal.unstage(move.staged)
        self._removals.add(place)


class _Known:
    """What stands in a vault already, by what new items are compared with."""

    def __init__(self) -> None:
        self.ids: dict[str, Entry] = {}
        self.payloads: dict[str, str] = {}
        self.groups: dict[str, str] = {}
        self.folded: dict[str, str] = {}

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> _Known:
        known = cls()
        for entry in entries:
            known.learn(entry)
        return known

    def learn(self, entry: Entry) -> None:
        id = entry.row.id
        self.ids[id] = entry
        self.payloads[entry.payload] = id
        self.folded[id.casefold()] = id
        if entry.passage:
            self.groups.setdefault(entry.passage, entry.row.group or id)

    def group(self, item: Item) -> str | None:
        """The group of an item: the first that quotes its passage; none without a passage."""
        passage = passage_digest(item.payload)
        return self.groups.get(passage, item.id) if passage else None

    def fault(self, item: Item, digest: str) -> tuple[str, str] | None:
        """Why an item cannot be added, and what to do; none when it can, or is there already."""
        if item.layer != "private":
            return f"is of the {item.layer} layer", "Only private items go into the vault"
        if not _ID.fullmatch(item.id):
            return "its id is no name for a file", "Use letters, digits, '.', '_' and '-', at most 120"
        there = self.ids.get(item.id)
        if there is not None:
            if (there.payload, there.benchmark, there.row.cell) != (digest, item.benchmark, item.cell):
                return "is in the vault already, and not the same", "Give the new one an id of its own"
            return None
        if item.id.casefold() in self.folded:
            return f"its id differs from '{self.folded[item.id.casefold()]}' only in case", "Choose another"
        if digest in self.payloads:
            return f"is the same as item '{self.payloads[digest]}' in the vault", "Keep one of the two"
        return None


def _kept_group(new: Item, group: str | None, old: Row) -> str | None:
    """The group of a correction: that of what it corrects, whose draw it takes over.

    Raises:
        InputError: it quotes a passage of other items, or any where the old one had none: it would have to open with
            others than the old one.
    """
    if group in (None, old.group) or (group == new.id and old.group is not None):
        return old.group
    raise InputError(
        f"item '{new.id}'",
        f"quotes another passage than '{old.id}', with which other items go",
        "Void the old one, and add the new one with the next batch",
    )


def passage_digest(payload: Payload) -> str:
    """What tells items that share a passage: SHA-256 of its words, empty without a passage. For the vault only.

    >>> passage_digest(Payload(kind="open", stem="?", key="!"))
    ''
    """
    if payload.passage is None:
        return ""
    return sha256(" ".join(word.folded for word in words(payload.passage.text)).encode())


def checked_readers(readers: Mapping[str, str]) -> tuple[Reader, ...]:
    """Who shall open a vault, name -> age recipient, checked and sorted by name.

    Raises:
        InputError: there is none, or a recipient is none, or given twice.
    """
    known = tuple(Reader(name=name, recipient=ages.recipient(text)) for name, text in sorted(readers.items()))
    if not known:
        raise InputError("recipients", "nobody could open the vault", "Give at least one")
    if len({reader.recipient for reader in known}) < len(known):
        raise InputError("recipients", "one is given twice", "Each reader needs an identity of their own")
    return known
