"""All of a change, or none of it: staged files, one sealed intent that decides, moves that can be done again.

1. every new file is written to the journal's folder, sealed, and synced;
2. the intent, the list of what is to be done, appears there by a rename: from here on the change has happened;
3. files are renamed to their places, public ones are unsealed and written to theirs, what must go goes;
4. the intent is removed: the commit.

A crash before 2 leaves files that mean nothing; after it, a list that anybody who can open the vault finishes.
The journal holds ciphertext only, and its intent proves that whoever wrote it could open the vault.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from lacre.digest import sha256
from lacre.errors import InputError, IntegrityError, sentence
from lacre.registry.events import Hash
from lacre.registry.records import Record
from lacre.sealing.disk import PUBLIC_MODE, Disk

FOLDER = "journal"
INTENT = "intent.age"
_DRAFT = "intent.part"
TOGETHER = 256  # files written at once, which is all that is held in memory
MEANWHILE = ("another process wrote it meanwhile", "Nothing was changed: run the same command again")
ABSENT = ""  # the digest of a file that is not there


class Move(Record):
    """A staged file, its place in the vault, and the SHA-256 of its bytes."""

    staged: str
    place: str
    digest: Hash


class Publication(Record):
    """A staged public file: its place in the workspace; SHA-256 of what it replaces (none: "") and of itself."""

    staged: str
    place: str
    before: str
    after: Hash


class Intent(Record):
    """What a change does. ``secrets``: the vault's, before and after. ``root``: the workspace of public files."""

    secrets: tuple[Hash, ...]
    moves: tuple[Move, ...] = ()
    removals: tuple[str, ...] = ()
    publications: tuple[Publication, ...] = ()
    root: str | None = None


class Recovery(Record, omit_defaults=False):
    """What opening the vault found of a change that was cut short: carried to its end, or undone, or nothing."""

    what: Literal["nothing", "finished", "undone"]
    files: int = 0


Unseal = Callable[[bytes, Path], bytes]
Seal = Callable[[bytes], bytes]


class Journal:
    """The journal of a vault at ``folder``."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self.vault = folder
        self.folder = folder / FOLDER
        self.disk = disk
        self._passed = False
        self._waiting: dict[str, bytes] = {}

    def stage(self, name: str, content: bytes) -> None:
        """Write a file of the change to come, now or with others soon; :meth:`decide` writes and syncs them all."""
        self._waiting[name] = content
        if len(self._waiting) >= TOGETHER:
            self._write()

    def unstage(self, name: str) -> None:
        """Drop what was staged under a name: the change will not need it after all."""
        if self._waiting.pop(name, None) is None:
            self.disk.remove(self.folder / name)

    def _write(self) -> None:
        self.disk.write_all({self.folder / name: content for name, content in self._waiting.items()})
        self._waiting.clear()

    def decide(self, intent: Intent, seal: Seal) -> None:
        """Sync what was staged and make the intent appear: the change has happened when this returns.

        Raises:
            InputError: a public file is not what the change found when it began.
        """
        self._refuse_changed(intent, decided=False)
        self._write()
        staged = [move.staged for move in intent.moves] + [part.staged for part in intent.publications]
        self.disk.sync([self.folder / name for name in staged])
        draft = self.folder / _DRAFT
        self.disk.write(draft, seal(msgspec.json.encode(intent)))
        self.disk.sync([draft])
        self.disk.sync_folder(self.folder)
        # Again, as late as may be: whoever does not know our lock, such as git, may have written since.
        self._refuse_changed(intent, decided=False)
        self.disk.rename(draft, self.folder / INTENT)
        self._passed = True
        self.disk.sync_folder(self.folder)

    def carry_out(self, intent: Intent, unseal: Unseal, *, again: bool = False) -> int:
        """Do what the intent says, or the rest of it (``again``), and commit. Returns the number of files.

        Raises:
            IntegrityError: a staged file is missing or changed, or a public file is neither what it was nor
                what it should become; nothing is overwritten then, and the intent stays.
        """
        self._refuse_changed(intent, decided=True)
        for move in intent.moves:
            self._move(move, again)
        self.disk.remove_all([self.vault / place for place in intent.removals])
        for folder in sorted({(self.vault / p).parent for p in _places(intent)}):
            self.disk.sync_folder(folder)
        for publication in intent.publications:
            self._publish(publication, intent.root, unseal)
        self._clear([publication.staged for publication in intent.publications])
        self.disk.remove(self.folder / INTENT)
        self.disk.sync_folder(self.folder)
        self._passed = False
        return len(intent.moves) + len(intent.removals) + len(intent.publications)

    def recover(self, unseal: Unseal, check: Callable[[Intent], Intent]) -> Recovery:
        """Finish a change that was decided, undo one that was not. ``check`` refuses intents of others."""
        left = sorted(path.name for path in self.folder.iterdir())
        if not left:
            return Recovery(what="nothing")
        if INTENT not in left:
            self._clear(left)
            return Recovery(what="undone", files=len(left))
        path = self.folder / INTENT
        try:
            intent = msgspec.json.decode(unseal(path.read_bytes(), path), type=Intent)
        except msgspec.DecodeError:
            raise IntegrityError(
                sentence(path, "is no intent of this vault", "Move it away, then run `lacre vault check`")
            ) from None
        files = self.carry_out(check(intent), unseal, again=True)
        self._clear(sorted(path.name for path in self.folder.iterdir()))
        return Recovery(what="finished", files=files)

    @property
    def decided(self) -> bool:
        """Whether a change was decided, by this process or by one that was cut short."""
        return self._passed or (self.folder / INTENT).exists()

    def undo(self) -> None:
        """Remove all that was staged, as long as nothing was decided."""
        self._waiting.clear()
        if not self.decided:
            self._clear([path.name for path in self.folder.iterdir()])

    def _clear(self, names: Sequence[str]) -> None:
        for name in names:
            self.disk.remove(self.folder / name)

    def _move(self, move: Move, again: bool) -> None:
        staged, place = self.folder / move.staged, self.vault / move.place
        if again:
            source = staged if staged.exists() else place
            if not source.exists() or sha256(source.read_bytes()) != move.digest:
                what = "is missing or is not what the change had staged"
                raise IntegrityError(sentence(source, what, "Restore the vault from a backup"))
            if source == place:
                return
        self.disk.rename(staged, place)

    def _refuse_changed(self, intent: Intent, *, decided: bool) -> None:
        places = [(Path(intent.root or "") / part.place, part) for part in intent.publications]
        changed = [place for place, part in places if digest_of(place) not in (part.before, part.after)]
        if changed and not decided:
            raise InputError(changed[0], *MEANWHILE)
        if changed:
            what = "was changed while a change of the vault was under way"
            todo = "Put it back as it was (git can), then run `lacre vault check`"
            raise IntegrityError("\n".join(sentence(place, what, todo) for place in changed))

    def _publish(self, publication: Publication, root: str | None, unseal: Unseal) -> None:
        staged, place = self.folder / publication.staged, Path(root or "") / publication.place
        if digest_of(place) == publication.after:
            return
        content = unframed(unseal(staged.read_bytes(), staged))
        if sha256(content) != publication.after:
            what = "is not what the change had staged"
            raise IntegrityError(sentence(staged, what, "Restore the vault from a backup"))
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = place.with_name(f".{place.name}.part")
        self.disk.write(draft, content, PUBLIC_MODE)
        self.disk.sync([draft])
        self.disk.rename(draft, place)
        self.disk.sync_folder(place.parent)


def framed(content: bytes) -> bytes:
    """A public file as it is staged: its length in eight bytes, then its bytes; padding may follow.

    >>> unframed(framed(b"a\\n") + b"   ")
    b'a\\n'
    """
    return len(content).to_bytes(8) + content


def unframed(content: bytes) -> bytes:
    """The bytes of a public file as it was staged, without the padding."""
    return content[8 : 8 + int.from_bytes(content[:8])]


def digest_of(path: Path) -> str:
    """The SHA-256 of a file, :data:`ABSENT` when there is none."""
    return sha256(path.read_bytes()) if path.exists() else ABSENT


def bytes_of(path: Path) -> bytes:
    """The bytes of a file, none when there is none."""
    return path.read_bytes() if path.exists() else b""


def _places(intent: Intent) -> list[str]:
    return [*(move.place for move in intent.moves), *intent.removals]
