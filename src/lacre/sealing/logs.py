"""Logs inside the vault: lines that are added while a sealed run works, each sealed and on disk before it counts.

A log is a file of frames: 8 bytes of length, 32 of SHA-256, 8 that check these, then an age file. Inside it stand the
vault's secret, the log's name, the frame's number and the hash of the frame before, so that frames can be neither made
by an outsider nor moved, left out or taken from another log; only the last ones can go missing. A mark beside the log
says how many there were (:mod:`lacre.sealing.marks`), and so does the vault's index now and then: a log with fewer, or
none, has lost some. A frame that a crash cut short never counted: it is taken away when the log is opened, and ``torn``
says how much it was.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from lacre import jsonl
from lacre.digest import sha256
from lacre.errors import InputError, IntegrityError, remedy, sentence
from lacre.registry.events import Hash, Text
from lacre.registry.records import Record
from lacre.registry.sealed_runs import abort_command
from lacre.sealing.contents import LOGS
from lacre.sealing.marks import Mark, furthest, mark_names, mark_path
from lacre.sealing.seen import LogSeen
from lacre.sealing.vault import Vault

SUFFIX = ".log.age"
_LENGTH, _DIGEST, _CHECK = 8, 32, 8
_HEAD = _LENGTH + _DIGEST + _CHECK
_START = "0" * 64


class Frame(Record, omit_defaults=False):
    """The content of one frame: whole lines, each with its line end."""

    secret: Hash
    log: Text
    number: int
    previous: Hash
    lines: tuple[bytes, ...]


def log_names(vault: Vault) -> tuple[str, ...]:
    """The names of the logs of a vault, sorted: those that are there."""
    folder = vault.folder / LOGS
    return tuple(sorted(path.name.removesuffix(SUFFIX) for path in folder.glob(f"*{SUFFIX}")))


def known_logs(vault: Vault) -> tuple[str, ...]:
    """The names of the logs that a vault has, or knows that it should have, sorted."""
    return tuple(sorted({*log_names(vault), *mark_names(vault), *vault.index.logs}))


def remove_logs(vault: Vault, names: Sequence[str]) -> None:
    """Remove logs whose lines stand elsewhere, each after its mark: cut short, it is not missed."""
    for name in names:
        vault.disk.remove(mark_path(vault, name))
        vault.disk.remove(log_path(vault, name))
    for folder in sorted({path(vault, name).parent for name in names for path in (mark_path, log_path)}):
        if folder.exists():
            vault.disk.sync_folder(folder)


def log_path(vault: Vault, name: str) -> Path:
    """Where a log lies."""
    return vault.folder / LOGS / f"{name}{SUFFIX}"


class Head(NamedTuple):
    """The last frame of a log: its number, 0 where there is none, and its hash."""

    number: int
    digest: str


class SealedLog:
    """A log of an open vault, to add to and to read back. Needs the vault's lock, which whoever opened it holds.

    Attributes:
        head: the last frame. ``replies``: how many are in it, by whoever adds to it.
        torn: bytes of a frame that a crash had cut short, and that were taken away.
        lossy: read as far as frames hold, and change nothing: for a run that is given up. ``lost``: what is wrong.

    Raises:
        InputError: the log cannot be written.
        IntegrityError: a frame is damaged, moved or missing, or the vault saw more of them; not where it is lossy.
    """

    def __init__(self, vault: Vault, name: str, *, lossy: bool = False) -> None:
        self._vault, self._name = vault, name
        self.path = log_path(vault, name)
        self.lossy = lossy
        self.lost: str | None = None
        self.head = Head(0, _START)
        self._mark: Mark | None = None
        seen = furthest(vault, name)
        self.replies = seen.replies if seen else 0
        if seen is not None and not self.path.exists():
            self._lose(self._damaged(f"is missing, and {seen.replies:,} replies at least were in it"))
        try:
            vault.disk.make_folder(self.path.parent)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise self._unwritten(error) from None
        try:
            jsonl.sync_folder(self.path.parent)
            self._size, self.torn = self._settle()
            self._read(seen)
            if not lossy:
                self._mark = Mark(vault, name, self.seen)
        except OSError as error:
            os.close(self._file)
            raise self._unwritten(error) from None
        except BaseException:
            os.close(self._file)
            raise

    @property
    def seen(self) -> LogSeen:
        """How far it has come."""
        # In this order: what is counted meanwhile is in the frames.
        replies, head = self.replies, self.head
        return LogSeen(frames=head.number, digest=head.digest, replies=replies)

    def append(self, lines: Sequence[bytes]) -> None:
        """Add lines, each with its line end; they are on disk when this returns, or none of them is.

        Raises:
            OSError: they could not be written.
        """
        frame = Frame(
            secret=self._vault.index.secret,
            log=self._name,
            number=self.head.number + 1,
            previous=self.head.digest,
            lines=tuple(lines),
        )
        content = self._vault.seal(msgspec.json.encode(frame))
        digest = sha256(content)
        framed = memoryview(_head(len(content), digest) + content)
        size = self._size + len(framed)
        try:
            while framed:
                framed = framed[os.write(self._file, framed) :]
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, self._size)
            raise
        self._size = size
        # In one step: another thread may look at it.
        self.head = Head(frame.number, digest)
        if self._mark is not None:
            self._mark.write(self.seen)

    def lines(self) -> Iterator[bytes]:
        """The lines that are there, in order.

        Raises:
            IntegrityError: a frame is damaged, moved or missing.
        """
        for frame, _ in self._frames():
            yield from frame.lines

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)
        if self._mark is not None:
            self._mark.close()

    def _read(self, seen: LogSeen | None) -> None:
        """Go through all frames, and see that none is missing of those that the vault saw."""
        known = False
        for frame, digest in self._frames():
            self.head = Head(frame.number, digest)
            known = known or (seen is not None and self.head == (seen.frames, seen.digest))
        if seen is not None and not known and self.lost is None:
            what = f"has {self.head.number} of at least {seen.frames} frames"
            if self.head.number >= seen.frames:
                what = f"is another than the vault saw from frame {seen.frames} back"
            self._lose(self._damaged(f"{what}; {seen.replies:,} replies at least were in it"))

    def _lose(self, error: IntegrityError) -> None:
        """Raise an error, or note it where what is lost may be."""
        if not self.lossy:
            raise error
        self.lost = str(error)

    def _settle(self) -> tuple[int, int]:
        """Take a torn frame away: the bytes that stay, and those that went. A lossy log keeps it on disk."""
        size = os.fstat(self._file).st_size
        end = 0
        while (head := os.pread(self._file, _HEAD, end)) and len(head) == _HEAD:
            length = int.from_bytes(head[:_LENGTH], "big")
            # Without a check of its own, a changed length would pass for a frame that was cut short, and what
            # follows it would be thrown away.
            if head != _head(length, head[_LENGTH : _LENGTH + _DIGEST].hex()):
                self._lose(self._damaged("the head of a frame is damaged"))
                return end, 0
            if end + _HEAD + length > size:
                break
            end += _HEAD + length
        if end < size and not self.lossy:
            os.ftruncate(self._file, end)
            os.fsync(self._file)
        return end, size - end

    def _frames(self) -> Iterator[tuple[Frame, str]]:
        """The frames with their hashes, checked one against the other; of a lossy log, up to the first that is bad."""
        try:
            yield from self._checked()
        except IntegrityError as error:
            self._lose(error)

    def _checked(self) -> Iterator[tuple[Frame, str]]:
        place, number, last = 0, 0, _START
        while place < self._size:
            head = os.pread(self._file, _HEAD, place)
            length = int.from_bytes(head[:_LENGTH], "big")
            content = os.pread(self._file, length, place + _HEAD)
            digest = sha256(content)
            if digest != head[_LENGTH : _LENGTH + _DIGEST].hex():
                raise self._damaged(f"frame {number + 1} is damaged")
            frame = self._opened(content, number + 1)
            if (frame.secret, frame.log, frame.number, frame.previous) != (
                self._vault.index.secret,
                self._name,
                number + 1,
                last,
            ):
                raise self._damaged(f"frame {number + 1} is not the one that was written there")
            yield frame, digest
            place, number, last = place + _HEAD + length, number + 1, digest

    def _opened(self, content: bytes, number: int) -> Frame:
        plain = self._vault.unseal(content, self.path)
        frame: Frame | None = None
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            frame = msgspec.json.decode(plain, type=Frame)
        if frame is None:
            # Raised out here: the decoder's own error would carry the plaintext along.
            raise self._damaged(f"frame {number} holds no lines")
        return frame

    def _unwritten(self, error: OSError) -> InputError:
        what = f"cannot be written ({error.strerror})"
        if error.errno == errno.ELOOP:
            return InputError(self.path, "is a link", "Put the file itself there: a vault is in one place")
        return InputError(self.path, what, f"{remedy(error)}, or mend the folder")

    def _damaged(self, what: str) -> IntegrityError:
        todo = f"without one its run can only be given up, with `{abort_command(self._name)}`"
        return IntegrityError(sentence(self.path, what, f"Restore it from a backup of the vault; {todo}"))


def _head(length: int, digest: str) -> bytes:
    """What stands before a frame: the length of its age file, the SHA-256 of that, and eight bytes that check both."""
    told = length.to_bytes(_LENGTH, "big") + bytes.fromhex(digest)
    return told + bytes.fromhex(sha256(told))[:_CHECK]
