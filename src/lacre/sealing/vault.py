"""The vault: private items and what is known about them, one age file each, outside any git work tree (SPEC X5).

::

    vault.json     which vault this is, and of which workspace
    index.age      what the vault holds, and who can open it
    items/         one file for each item
    documents/     findings, raw answers: whatever quotes an item
    logs/          replies of sealed runs, added to while they work
    marks/         how far each log has come
    journal/       a change under way; empty otherwise
    lock
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from lacre.digest import canonical, sha256
from lacre.errors import InputError, IntegrityError, remedy, sentence
from lacre.sealing import ages
from lacre.sealing.ages import Identity
from lacre.sealing.change import Change, checked_readers
from lacre.sealing.commitments import Opening, Row, commit
from lacre.sealing.contents import DOCUMENTS, INDEX, ITEMS, Document, Entry, Header, Index, Reader, Sealed
from lacre.sealing.disk import Disk
from lacre.sealing.journal import FOLDER as JOURNAL
from lacre.sealing.journal import Intent, Journal, Recovery
from lacre.sealing.keys import refuse_git

T = TypeVar("T")
S = TypeVar("S", Sealed, Document)
Random = Callable[[int], bytes]
"""Gives that many random bytes, which nobody can guess."""

HEADER, LOCK = "vault.json", "lock"
_DRAFT = "vault.part"
_RESTORE = "Restore it from a backup of the vault"


def create_vault(
    folder: Path,
    readers: Mapping[str, str],
    *,
    workspace: str | None,
    random: Random = secrets.token_bytes,
    disk: Disk | None = None,
) -> Header:
    """Make an empty vault that ``readers`` (name -> age recipient) can open, bound to a workspace.

    Raises:
        InputError: the folder is not empty or lies in a git work tree, there is no reader, or a recipient is
            none, or given twice.
    """
    disk = disk or Disk()
    refuse_git(folder)
    known = checked_readers(readers)
    if folder.exists() and not _makeable(folder):
        raise InputError(folder, "is there already and is not empty", "Choose another folder")
    header = Header(vault=random(32).hex(), workspace=workspace)
    index = Index(vault=header.vault, secret=random(32).hex(), workspace=workspace, readers=known)
    try:
        for place in (folder, folder / ITEMS, folder / DOCUMENTS, folder / JOURNAL):
            disk.make_folder(place)
            place.chmod(0o700)
        sealed = ages.seal(msgspec.json.encode(index), [reader.recipient for reader in known])
        for name, content in ((LOCK, b""), (INDEX, sealed), (_DRAFT, canonical(header) + b"\n")):
            disk.write(folder / name, content)
            disk.sync([folder / name])
        # The header last: without it the folder is no vault.
        disk.rename(folder / _DRAFT, folder / HEADER)
        disk.sync_folder(folder)
    except OSError as error:
        raise _unwritten(folder, error) from None
    return header


@contextmanager
def open_vault(
    folder: Path,
    identity: Identity,
    *,
    workspace: str | None = None,
    random: Random = secrets.token_bytes,
    disk: Disk | None = None,
) -> Iterator[Vault]:
    """The vault in ``folder``, held against other processes until the block ends.

    A change that was cut short is finished or undone first: see ``recovered``. ``workspace``: that of the
    ledger at hand; a vault that is bound to another is refused.

    Raises:
        InputError: there is no vault, another process has it, the identity cannot open it, or it belongs to
            another workspace.
        IntegrityError: its header or index is damaged or is that of another vault.
    """
    header = _header(folder)
    refuse_git(folder)
    if workspace is not None and header.workspace not in (None, workspace):
        raise _foreign(folder)
    with _held(folder):
        vault = Vault(folder, identity, header, random=random, disk=disk or Disk())
        vault.load()
        yield vault


class Vault:
    """An open vault. Reads what is on disk when asked; changes only through :meth:`change`."""

    def __init__(
        self, folder: Path, identity: Identity, header: Header, *, random: Random, disk: Disk
    ) -> None:
        self.folder = folder
        self.identity = identity
        self.header = header
        self.random = random
        self.disk = disk
        self.journal = Journal(folder, disk)
        self.recovered = Recovery(what="nothing")

    def load(self) -> None:
        """Read the index, after finishing or undoing what a crash left."""
        self._read_index()
        try:
            self.recovered = self.journal.recover(self.unseal, self._own)
        except OSError as error:
            raise _unwritten(self.folder, error, f"{remedy(error)}, then run `lacre vault check`") from None
        if self.recovered.what == "finished":
            self._read_index()

    @property
    def workspace(self) -> str | None:
        """The number of the workspace it belongs to."""
        return self.header.workspace

    @property
    def readers(self) -> tuple[Reader, ...]:
        """Who can open it."""
        return self.index.readers

    @property
    def recipients(self) -> list[str]:
        """The age recipients that everything is sealed for."""
        return [reader.recipient for reader in self.index.readers]

    def entries(self, benchmark: str | None = None) -> tuple[Entry, ...]:
        """What the index says of the items, of one benchmark or of all, sorted by id."""
        return tuple(e for e in self.index.entries if benchmark in (None, e.benchmark))

    def rows(self, benchmark: str | None = None) -> tuple[Row, ...]:
        """The public rows of the items, of one benchmark or of all, sorted by id."""
        return tuple(entry.row for entry in self.entries(benchmark))

    def items(self, benchmark: str | None = None) -> Iterator[Sealed]:
        """The items with their nonces, each checked as :meth:`sealed` does, sorted by id."""
        return (self._opened(entry) for entry in self.entries(benchmark))

    def sealed(self, id: str) -> Sealed:
        """One item with its nonce. Its id, its file and its commitment are checked against each other.

        Raises:
            InputError: no such item. IntegrityError: its file is missing, damaged, or another's.
        """
        return self._opened(self.entry(id))

    def nonce(self, id: str) -> bytes:
        """The 32 bytes that open an item's commitment; errors as :meth:`sealed`."""
        return bytes.fromhex(self.sealed(id).nonce)

    def opening(self, id: str) -> Opening:
        """What is published when an item opens; errors as :meth:`sealed`."""
        return self.sealed(id).opening

    def entry(self, id: str) -> Entry:
        """What the index says of an item.

        Raises:
            InputError: no such item.
        """
        found = self._by_id.get(id)
        if found is None:
            raise InputError(self.folder, f"no item '{id}' in the vault", "`lacre vault list` names them all")
        return found

    def holds(self, id: str) -> bool:
        """Whether there is an item of this id."""
        return id in self._by_id

    def documents(self) -> tuple[str, ...]:
        """The names of the documents, sorted."""
        return tuple(kept.name for kept in self.index.documents)

    def document(self, name: str) -> bytes | None:
        """The bytes of a document, none when there is none of this name.

        Raises:
            IntegrityError: its file is missing, damaged, or another's.
        """
        kept = next((kept for kept in self.index.documents if kept.name == name), None)
        if kept is None:
            return None
        place = self.folder / DOCUMENTS / kept.file
        content = self._bytes(place)
        document = self._record(content, place, Document)
        if document.name != name:
            raise IntegrityError(sentence(place, "holds another document", _RESTORE))
        _refuse_copy(content, kept.digest, place)
        return document.content

    @contextmanager
    def change(self, root: Path | None = None) -> Iterator[Change]:
        """A change: nothing of it happens unless the block ends well, and then all of it does.

        ``root``: the workspace, where the change publishes files too.
        The ledger is locked while it is written: do not hold its lock around this block.

        Raises:
            InputError: the disk is full, or cannot be written. What was there still is, unless the error says
                that the change was decided: then it is finished when the vault is next opened.
        """
        change = Change(self, root)
        try:
            yield change
            # Not read again from disk: whoever rekeys a vault may have no key to it any more.
            self._adopt(change.commit())
        except OSError as error:
            raise self._given_up(error) from None
        finally:
            # Of a change that was decided nothing is undone.
            with suppress(OSError):
                self.journal.undo()

    def unseal(self, content: bytes, where: Path) -> bytes:
        """The plaintext of one of the vault's files."""
        return ages.unseal(content, self.identity, where)

    def seal(self, content: bytes) -> bytes:
        """An age file for all who can open the vault."""
        return ages.seal(content, self.recipients)

    def _given_up(self, error: OSError) -> InputError:
        todo = f"Nothing was changed. {remedy(error)}, and run again"
        if self.journal.decided:
            todo = f"The change was decided. {remedy(error)}; `lacre vault check` will finish it"
        return _unwritten(self.folder, error, todo)

    def _read_index(self) -> None:
        place = self.folder / INDEX
        try:
            content = place.read_bytes()
        except OSError as error:
            raise IntegrityError(sentence(place, f"cannot be read ({error.strerror})", _RESTORE)) from None
        try:
            plaintext = self.unseal(content, place)
        except IntegrityError as error:
            if "not sealed for this identity" not in str(error):
                raise
            raise InputError(
                self.folder,
                f"does not open with this identity ({self.identity.recipient[:16]}...)",
                "Give the identity of one of its readers",
            ) from None
        index = _decoded(plaintext, Index, place)
        if (index.vault, index.workspace) != (self.header.vault, self.header.workspace):
            raise IntegrityError(sentence(place, "is the index of another vault", _RESTORE))
        self._adopt(index)

    def _adopt(self, index: Index) -> None:
        self.index = index
        self._by_id = {entry.row.id: entry for entry in index.entries}

    def _own(self, intent: Intent) -> Intent:
        if self.index.secret not in intent.secrets:
            raise IntegrityError(
                sentence(self.folder / JOURNAL, "holds the intent of another vault", "Move it away")
            )
        return intent

    def _opened(self, entry: Entry) -> Sealed:
        row = entry.row
        place = self.folder / ITEMS / f"{row.id}.age"
        content = self._bytes(place)
        sealed = self._record(content, place, Sealed)
        if sealed.item.id != row.id:
            what = f"holds item '{sealed.item.id}': two files were swapped"
            raise IntegrityError(sentence(place, what, "Give each file its own name back"))
        if (
            not sealed.commitment
            == row.commitment
            == commit(sealed.item.payload, bytes.fromhex(sealed.nonce))
        ):
            raise IntegrityError(sentence(place, "is not the item that was committed to", _RESTORE))
        _refuse_copy(content, entry.digest, place)
        return sealed

    def _bytes(self, place: Path) -> bytes:
        try:
            return place.read_bytes()
        except FileNotFoundError:
            raise IntegrityError(sentence(place, "is missing", _RESTORE)) from None
        except OSError as error:
            raise IntegrityError(sentence(place, f"cannot be read ({error.strerror})", _RESTORE)) from None

    def _record(self, content: bytes, place: Path, kind: type[S]) -> S:
        """The record of a file that this vault sealed, or else an error that says what is wrong with it."""
        record = _decoded(self.unseal(content, place), kind, place)
        if record.secret != self.index.secret:
            raise IntegrityError(sentence(place, "was not sealed by this vault", _RESTORE))
        return record


def _makeable(folder: Path) -> bool:
    """Whether a vault can be made in a folder: it is empty, or holds what an interrupted making left."""
    left = {INDEX, ITEMS, DOCUMENTS, JOURNAL, LOCK, _DRAFT}
    return folder.is_dir() and all(
        path.name in left and not (path.is_dir() and any(path.iterdir())) for path in folder.iterdir()
    )


def _header(folder: Path) -> Header:
    place = folder / HEADER
    try:
        content = place.read_bytes()
    except OSError:
        raise InputError(
            folder, "is no vault", "Make one with `lacre vault init`, or name its folder"
        ) from None
    header = _decoded(content, Header, place)
    if header.format != "lacre-vault-1":
        raise InputError(place, f"format '{header.format}' is not known", "Use the lacre that made it")
    return header


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Holds the vault against every other process."""
    with ExitStack() as stack:
        try:
            handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(folder, "another process has the vault", "Wait until it is done") from None
        except OSError as error:
            raise InputError(
                folder, f"cannot be locked ({error.strerror})", "Check its permissions"
            ) from None
        yield


def _decoded(content: bytes, kind: type[T], place: Path) -> T:
    """A record. What is wrong is told by field, never by value."""
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        missing = re.search(r"missing required field `(\w+)`", str(error))
        what = f"holds no {missing[1]}" if missing else f"holds no {kind.__name__.lower()}"
        raise IntegrityError(sentence(place, what, _RESTORE)) from None


def _refuse_copy(content: bytes, digest: str, place: Path) -> None:
    if sha256(content) != digest:
        raise IntegrityError(sentence(place, "is an older or a newer copy of what should be there", _RESTORE))


def _foreign(folder: Path) -> InputError:
    return InputError(
        folder, "is the vault of another workspace", "Go to its workspace, or name another vault"
    )


def _unwritten(folder: Path, error: OSError, todo: str = "") -> InputError:
    todo = todo or f"{remedy(error)}, or choose another place"
    return InputError(folder, f"the vault could not be written ({error.strerror})", todo)
