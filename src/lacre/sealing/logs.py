"""Logs inside the vault: lines that are added while a sealed run works, each sealed and on disk before it counts.

A log is a file of frames: 8 bytes of length, 32 of SHA-256, 8 that check these, then an age file. Inside it stand the
vault's secret, the log's name, the frame's number and the hash of the frame before, so that frames can be neither made
by an outsider nor moved, left out or taken from another log; only the last ones can go missing, which is what a crash
may do, too. A frame that a crash cut short never counted: it is taken away when the log is opened, and ``torn`` says
how much it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from lacre import jsonl
from lacre.digest import sha256
from lacre.errors import InputError, IntegrityError, sentence
from lacre.registry.events import Hash, Text
from lacre.registry.records import Record
from lacre.sealing.contents import LOGS
from lacre.sealing.vault import Vault

SUFFIX = ".log.age"
_LENGTH, _DIGEST, _CHECK = 8, 32, 8
_HEAD = _LENGTH + _DIGEST + _CHECK
_START = "0" * 64
_RESTORE = "Restore it from a backup of the vault"


class Frame(Record, omit_defaults=False):
    """The content of one frame: whole lines, each with its line end."""

    secret: Hash
    log: Text
    number: int
    previous: Hash
    lines: tuple[bytes, ...]


def log_names(vault: Vault) -> tuple[str, ...]:
    """The names of the logs of a vault, sorted."""
    folder = vault.folder / LOGS
    return tuple(sorted(path.name.removesuffix(SUFFIX) for path in folder.glob(f"*{SUFFIX}")))


def log_path(vault: Vault, name: str) -> Path:
    """Where a log lies."""
    return vault.folder / LOGS / f"{name}{SUFFIX}"


class SealedLog:
    """A log of an open vault, to add to and to read back. Needs the vault's lock, which whoever opened it holds.

    Raises:
        InputError: the log cannot be written.
        IntegrityError: a frame is damaged, moved or missing.
    """

    def __init__(self, vault: Vault, name: str) -> None:
        self._vault, self._name = vault, name
        self.path = log_path(vault, name)
        try:
            vault.disk.make_folder(self.path.parent)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
            jsonl.sync_folder(self.path.parent)
            self._size, self.torn = self._settle()
        except OSError as error:
            raise InputError(
                self.path, f"cannot be written ({error.strerror})", "Make room, or mend the folder"
            ) from None
        self._number, self._last = 0, _START
        for frame, digest in self._frames():
            self._number, self._last = frame.number, digest

    def append(self, lines: Sequence[bytes]) -> None:
        """Add lines, each with its line end; they are on disk when this returns, or none of them is.

        Raises:
            OSError: they could not be written.
        """
        frame = Frame(
            secret=self._vault.index.secret,
            log=self._name,
            number=self._number + 1,
            previous=self._last,
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
        self._number, self._last, self._size = frame.number, digest, size

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

    def _settle(self) -> tuple[int, int]:
        """Take a torn frame away: the bytes that stay, and those that went."""
        size = os.fstat(self._file).st_size
        end = 0
        while (head := os.pread(self._file, _HEAD, end)) and len(head) == _HEAD:
            length = int.from_bytes(head[:_LENGTH], "big")
            # Without a check of its own, a changed length would pass for a frame that was cut short, and what
            # follows it would be thrown away.
            if head != _head(length, head[_LENGTH : _LENGTH + _DIGEST].hex()):
                raise self._damaged("the head of a frame is damaged")
            if end + _HEAD + length > size:
                break
            end += _HEAD + length
        if end < size:
            os.ftruncate(self._file, end)
            os.fsync(self._file)
        return end, size - end

    def _frames(self) -> Iterator[tuple[Frame, str]]:
        """The frames with their hashes, checked one against the other."""
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

    def _damaged(self, what: str) -> IntegrityError:
        return IntegrityError(sentence(self.path, what, _RESTORE))


def _head(length: int, digest: str) -> bytes:
    """What stands before a frame: the length of its age file, the SHA-256 of that, and eight bytes that check both."""
    told = length.to_bytes(_LENGTH, "big") + bytes.fromhex(digest)
    return told + bytes.fromhex(sha256(told))[:_CHECK]
