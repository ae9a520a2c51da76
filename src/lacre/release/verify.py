#!/usr/bin/env python3
"""Verify a release of a lacre benchmark. One file, Python 3.9 or newer, standard library only.

    python3 -I verify.py [DIR|TAR] [--key FINGERPRINT] [--previous DIR|TAR] [--json]

It reads a release and needs nothing else: no package, no network, no trust in whoever made it. Without DIR or TAR
it verifies the folder that it stands in. Exit codes: 0 authentic, 1 integrity only (nothing says whose it is),
2 wrong usage, 3 something does not hold.

This file travels inside every release, and whoever made a false release could have changed it there: take it from a
release that you trust already, or from lacre's own repository. It is longer than lacre's other modules because it
must stand alone; read it from the bottom up, or as the numbered sections go:

    1 Ed25519    2 canonical JSON and Merkle trees    3 folders and tars    4 manifest    5 envelopes
    6 ledger     7 one benchmark's private items      8 draws               9 earlier releases
    10 all checks, in order                           11 the command
"""

from __future__ import annotations

import argparse
import base64
import gc
import hashlib
import hmac
import json
import os
import re
import stat
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from pathlib import Path
from typing import Any, Union

SUMS, ENVELOPE, STAMP, LEDGER, KEY = (
    "SHA256SUMS",
    "release.dsse.json",
    "release.tsr",
    "registry/ledger.jsonl",
    "key.pem",
)
UNLISTED = (SUMS, ENVELOPE, STAMP)
"""The files that SHA256SUMS cannot list: itself, what signs it, and what stamps that."""

RELEASE, FREEZE = "urn:lacre:release:1", "urn:lacre:freeze:1"
STATEMENT, PAYLOAD_TYPE = "https://in-toto.io/Statement/v1", "application/vnd.in-toto+json"

MOST_PARSED = 1 << 30  # bytes of a file that is read whole; what is only hashed may be of any size
MOST_ENVELOPE = 1 << 26
MOST_STAMP = 1 << 20
BLOCK = 1 << 20
NOTHING = "0" * 64
UTC = timezone.utc  # noqa: UP017 - Python 3.9 has no datetime.UTC

Json = dict[str, Any]
Place = Union[str, Path]  # noqa: UP007 - Python 3.9 evaluates this line


class Wrong(Exception):  # noqa: N818 - it is said as it is: something is wrong
    """Something does not hold; the message says where and what."""


# 1 Ed25519 (RFC 8032, section 5.1). Only public data is handled, so nothing need take constant time.

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT_OF_MINUS_1 = pow(2, (P - 1) // 4, P)
Point = tuple[int, int, int, int]  # extended coordinates X, Y, Z, T: x = X/Z, y = Y/Z, xy = T/Z
NEUTRAL: Point = (0, 1, 1, 0)


def _add(p: Point, q: Point) -> Point:
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def _double(p: Point) -> Point:
    a, b, c = p[0] * p[0] % P, p[1] * p[1] % P, 2 * p[2] * p[2] % P
    h = a + b
    e, g = h - (p[0] + p[1]) ** 2 % P, a - b
    f = c + g
    return e * f % P, g * h % P, f * g % P, e * h % P


def _is_neutral(p: Point) -> bool:
    return p[0] % P == 0 and (p[1] - p[2]) % P == 0


def _decompressed(content: bytes) -> Point | None:
    """The point of 32 bytes, none when there is none; a second way to write a point is refused."""
    y = int.from_bytes(content, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT_OF_MINUS_1 % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


def _compressed(p: Point) -> bytes:
    inverse = pow(p[2], P - 2, P)
    x, y = p[0] * inverse % P, p[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _base_point() -> Point:
    found = _decompressed((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))
    assert found is not None
    return found


BASE = _base_point()


def ed25519_signed(key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether ``key`` (32 bytes) made ``signature`` (64 bytes) over ``message``.

    Strict: one way to write each number and point, and no key of small order, for which anybody can sign.

    >>> key = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    >>> signature = bytes.fromhex(
    ...     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
    ...     "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b")
    >>> ed25519_signed(key, b"", signature), ed25519_signed(key, b"!", signature)  # RFC 8032, 7.1, test 1
    (True, False)
    """
    if len(key) != 32 or len(signature) != 64:
        return False
    a, s = _decompressed(key), int.from_bytes(signature[32:], "little")
    if a is None or s >= L or _is_neutral(_double(_double(_double(a)))):
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    # R must be sB - hA: both multiples are added up bit by bit, from the highest (Straus).
    minus_a: Point = (P - a[0], a[1], a[2], P - a[3])
    sums = (NEUTRAL, BASE, minus_a, _add(BASE, minus_a))
    r = NEUTRAL
    for bit in range(max(s.bit_length(), h.bit_length()) - 1, -1, -1):
        r = _double(r)
        which = (s >> bit & 1) | (h >> bit & 1) << 1
        if which:
            r = _add(r, sums[which])
    return _compressed(r) == signature[:32]


# 2 Canonical JSON (RFC 8785, without fractions) and Merkle trees (RFC 6962, section 2.1).


def sha256(content: bytes) -> str:
    """The SHA-256 of some bytes, as 64 hex digits."""
    return hashlib.sha256(content).hexdigest()


def canonical(value: object) -> bytes:
    """The one way to write a value as JSON; records hold no fractions, so numbers are whole.

    >>> canonical({"b": 1, "a": "ç"}).decode()
    '{"a":"ç","b":1}'
    """
    content = _ENCODER.encode(value).encode()
    if not content.isascii() and any(lead in content for lead in _PAST_FFFF):
        # RFC 8785 sorts names by their UTF-16 units, which differs from Python's order past U+FFFF only.
        content = json.dumps(_sorted(value), ensure_ascii=False, separators=(",", ":")).encode()
    return content


_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))
_PAST_FFFF = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")
"""How characters past U+FFFF begin in UTF-8."""


def _sorted(value: object) -> object:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value, key=lambda key: key.encode("utf-16-be"))}
    return [_sorted(part) for part in value] if isinstance(value, list) else value


def _no_fraction(text: str) -> float:
    raise ValueError(f"{text} is no whole number")


_DECODER = json.JSONDecoder(parse_float=_no_fraction, parse_constant=_no_fraction)


def parsed(content: bytes, where: str, *, strict: bool = True) -> Json:
    """The object that canonical JSON holds; not ``strict``: in whatever way it is written.

    Raises:
        Wrong: it is none, or is written in another way than the canonical one.
    """
    try:
        value = _DECODER.decode(content.decode())
        same = not strict or canonical(value) == content
    except (ValueError, RecursionError):
        raise Wrong(f"{where}: was changed: it is no JSON of a release") from None
    if not isinstance(value, dict):
        raise Wrong(f"{where}: was changed: it is no JSON object")
    if not same:
        raise Wrong(f"{where}: was changed: it is not in canonical form")
    return value


def json_lines(content: bytes) -> Iterator[Json]:
    """The values of JSON lines, in whatever way they are written; decoded at once, which is quicker than line by line.

    >>> list(json_lines(b'{"a": 1}\\n'))
    [{'a': 1}]
    """
    return (json.loads(line) for line in content.decode().split("\n") if line)


def merkle_root(leaves: Sequence[bytes]) -> str:
    """The root of the Merkle tree over leaves in their order, as 64 hex digits."""
    if not leaves:
        return sha256(b"")
    row = [hashlib.sha256(b"\0" + leaf).digest() for leaf in leaves]
    while len(row) > 1:
        above = [hashlib.sha256(b"\1" + row[i] + row[i + 1]).digest() for i in range(0, len(row) - 1, 2)]
        row = above + row[-1:] if len(row) % 2 else above
    return row[0].hex()


def from_base64(text: object, where: str) -> bytes:
    """The bytes of base64, written in the one way that is accepted.

    Raises:
        Wrong: it is none.
    """
    try:
        content = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError:
        content = b""
    if not content or base64.b64encode(content).decode() != text:
        raise Wrong(f"{where}: was changed: it is not base64")
    return content


# 3 Where a release stands: a folder, or the uncompressed tar of one. Nothing is ever unpacked.

_PART = re.compile(r"[A-Za-z0-9._][A-Za-z0-9._-]*")


def name_fault(name: str) -> str | None:
    """What is wrong with a file's name; none when it is plain: letters without accents, digits, ``. _ - /``.

    >>> name_fault("data/exemplo/open.jsonl")
    >>> name_fault("../key"), name_fault("a//b")
    ('leads out of the release', 'is not a plain name')
    """
    parts = name.split("/")
    if ".." in parts or name.startswith("/"):
        return "leads out of the release"
    if "." in parts or not all(map(_PART.fullmatch, parts)):
        return "is not a plain name"
    return None


def collisions(names: Iterable[str]) -> list[str]:
    """Names that some systems would take for one another, each said in a sentence."""
    taken: dict[str, str] = {}
    said = set()
    for name in names:
        parts = name.split("/")
        for end in range(1, len(parts) + 1):
            path = "/".join(parts[:end])
            first = taken.setdefault(path.lower(), path)
            if first != path:
                said.add(f"'{first}' and '{path}' differ in case only")
    return sorted(said)


@dataclass(frozen=True)
class Piece:
    """Where the bytes of one file are: a file on disk, from an offset on."""

    path: Path
    offset: int
    size: int

    def blocks(self) -> Iterator[memoryview]:
        """The bytes, block by block: a file of any size takes one block of memory.

        Raises:
            Wrong: there are fewer or more than there were, or they cannot be read.
        """
        room = memoryview(bytearray(min(BLOCK, self.size) or 1))
        left = self.size
        try:
            # O_NOFOLLOW: the name was no link when it was looked at, and must not have become one.
            handle = os.open(
                self.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
            )
            with os.fdopen(handle, "rb", buffering=0) as file:
                file.seek(self.offset)
                while left:
                    count = file.readinto(room[: min(left, len(room))])
                    if not count:
                        raise Wrong(f"{self.path.name}: ended {left} bytes early")
                    left -= count
                    yield room[:count]
        except OSError as error:
            raise Wrong(f"{self.path.name}: cannot be read ({error.strerror})") from None

    def sha256(self) -> str:
        """The SHA-256 of the bytes. Hashing lets other threads run."""
        digest = hashlib.sha256()
        for block in self.blocks():
            digest.update(block)
        return digest.hexdigest()

    def content(self, most: int, where: str) -> bytes:
        """All the bytes.

        Raises:
            Wrong: they are more than ``most``.
        """
        if self.size > most:
            raise Wrong(f"{where}: has {self.size} bytes, more than such a file can have")
        return b"".join(bytes(block) for block in self.blocks())


@dataclass(frozen=True)
class Tree:
    """The files of a release by name, and what is wrong with its names: then no file of it is read."""

    where: str
    files: Mapping[str, Piece]
    faults: tuple[str, ...]

    def read(self, name: str, most: int = MOST_PARSED) -> bytes:
        """The bytes of a file.

        Raises:
            Wrong: it is missing, or has more than ``most`` bytes.
        """
        if name not in self.files:
            raise Wrong(f"{name}: is missing")
        return self.files[name].content(most, name)


def tree_of(place: Place) -> Tree:
    """The files of a folder or a tar.

    Raises:
        Wrong: there is neither, or it cannot be read.
    """
    path = Path(place)
    try:
        if path.is_dir():
            return _folder(path)
        if path.is_file():
            return _tar(path)
    except OSError as error:
        raise Wrong(f"{path}: cannot be read ({error.strerror})") from None
    raise Wrong(f"{path}: is no folder and no tar")


def _folder(root: Path) -> Tree:
    files: dict[str, Piece] = {}
    faults: list[str] = []
    waiting = [(root, "")]
    while waiting:
        folder, above = waiting.pop()
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        if not entries and above:
            faults.append(f"{above[:-1]}: is an empty folder, which no release has")
        for entry in entries:
            name = above + entry.name
            shown = name.encode("ascii", "backslashreplace").decode()
            fault = name_fault(name)
            found = entry.stat(follow_symlinks=False)
            if fault:
                faults.append(f"{shown}: {fault}")
            elif stat.S_ISLNK(found.st_mode):
                faults.append(f"{shown}: is a symbolic link")
            elif stat.S_ISDIR(found.st_mode):
                waiting.append((Path(entry.path), name + "/"))
            elif stat.S_ISREG(found.st_mode):
                files[name] = Piece(Path(entry.path), 0, found.st_size)
            else:
                faults.append(f"{shown}: is no ordinary file")
    return Tree(str(root), files, tuple(sorted(faults + collisions(sorted(files)))))


def tar_header(name: str, size: int) -> bytes:
    """The header of a file in the tar of a release: 512 bytes that name and size determine (POSIX ustar).

    Raises:
        Wrong: the name has more than 100 characters after its last fitting slash.
    """
    prefix = ""
    if len(name) > 100:
        cut = name.rfind("/", 0, 156)
        prefix, name = name[: max(cut, 0)], name[cut + 1 :]
    if len(name) > 100 or size >= 8**11:
        raise Wrong(f"{name}: has too long a name, or too many bytes, for a tar")
    head = name.encode().ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2
    head += b"%011o\0%011o\0" % (size, 0)
    tail = (
        b"0"
        + b"\0" * 100
        + b"ustar\x0000"
        + b"\0" * 64
        + b"0000000\0" * 2
        + prefix.encode().ljust(155, b"\0")
    )
    tail += b"\0" * 12
    total = sum(head) + sum(tail) + 8 * 32  # while it is summed up, the sum itself counts as blanks
    return head + b"%06o\0 " % total + tail


TAR_END = 1024  # zero bytes


def _tar(path: Path) -> Tree:
    """The files of a tar that lacre wrote: each header must be the only one that name and size allow."""
    files: dict[str, Piece] = {}
    faults: list[str] = []
    top, last, end = None, "", path.stat().st_size
    with path.open("rb") as file:
        while True:
            header = file.read(512)
            if len(header) < 512:
                raise Wrong(f"{path.name}: is truncated: a tar ends with {TAR_END} zero bytes")
            if header == b"\0" * 512:
                if file.read() != b"\0" * (TAR_END - 512):
                    raise Wrong(f"{path.name}: is truncated, or something follows the tar's end")
                break
            name, size = _header_says(header, path)
            begin = file.tell()
            blocks = -(-size // 512) * 512
            if begin + blocks > end:
                raise Wrong(f"{path.name}: is truncated inside '{name}'")
            file.seek(begin + size)
            if file.read(blocks - size).strip(b"\0"):
                raise Wrong(f"{path.name}: something stands in the gap after '{name}'")
            head, _, inside = name.partition("/")
            top = head if top is None else top
            if name_fault(name) or not inside or head != top:
                fault = name_fault(name) or "stands outside the release's folder"
                faults.append(f"{name.encode('ascii', 'backslashreplace').decode()}: {fault}")
            if name <= last:
                faults.append(f"{inside}: comes twice, or out of order")
            last = name
            files[inside] = Piece(path, begin, size)
    return Tree(str(path), files, tuple(sorted(faults + collisions(sorted(files)))))


def _header_says(header: bytes, path: Path) -> tuple[str, int]:
    """Name and size of a header."""
    try:
        name, prefix = (header[a:b].rstrip(b"\0").decode("ascii") for a, b in ((0, 100), (345, 500)))
        name, size = (f"{prefix}/{name}" if prefix else name), int(header[124:135], 8)
        same = tar_header(name, size) == header
    except (ValueError, Wrong):
        same, name, size = False, "?", 0
    if not same:
        raise Wrong(
            f"{path.name}: is not a tar as lacre writes it, or was changed; "
            "if others packed it, unpack it into an empty folder and verify that"
        )
    return name, size


# 4 The manifest: SHA256SUMS, as `sha256sum -c` reads it.

_SUM = re.compile(r"([0-9a-f]{64})  (\S+)")


def sums_bytes(sums: Mapping[str, str]) -> bytes:
    """The bytes of a SHA256SUMS: name -> hash, sorted by name.

    >>> sums_bytes({"a": "0" * 64}) == b"0" * 64 + b"  a\\n"
    True
    """
    return "".join(f"{sums[name]}  {name}\n" for name in sorted(sums)).encode()


def read_sums(content: bytes, where: str = SUMS) -> dict[str, str]:
    """The hashes of a SHA256SUMS by name.

    Raises:
        Wrong: it is not in the one form that a release has.
    """
    if content.startswith(b"\xef\xbb\xbf"):
        raise Wrong(f"{where}: was changed: it begins with a byte order mark")
    if b"\r" in content:
        raise Wrong(f"{where}: was changed: its lines end as on Windows")
    sums: dict[str, str] = {}
    for number, line in enumerate(content.decode("ascii", "replace").split("\n")[:-1], 1):
        found = _SUM.fullmatch(line)
        if found is None:
            raise Wrong(f"{where}:{number}: was changed: it is no hash and name")
        fault = name_fault(found[2])
        if fault or found[2] in UNLISTED or found[2] in sums:
            raise Wrong(f"{where}:{number}: '{found[2]}' {fault or 'may not be listed, or is listed twice'}")
        sums[found[2]] = found[1]
    if not sums or sums_bytes(sums) != content:
        raise Wrong(f"{where}: was changed: it is empty, unsorted or torn")
    clash = collisions(sorted(sums))
    if clash:
        raise Wrong(f"{where}: {clash[0]}")
    return sums


class Hashing:
    """The hashing of the listed files, several at a time, while the main thread goes on to other checks."""

    def __init__(self, tree: Tree, sums: Mapping[str, str], most: int) -> None:
        """Begin. ``most``: bytes that a file can have at most; what has more is not read."""
        self._sizes = {name: tree.files[name].size for name in sorted(set(sums) & set(tree.files))}
        self._threads = ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1))

        def good(name: str) -> bool:
            try:
                return self._sizes[name] <= most and tree.files[name].sha256() == sums[name]
            except Wrong:
                return False

        self._good = {name: self._threads.submit(good, name) for name in self._sizes}

    def differing(self, progress: Callable[[int, int], None]) -> list[str]:
        """The listed files whose bytes are not those of the manifest, sorted; waits for all of them."""
        total, done, wrong = sum(self._sizes.values()), 0, []
        for name, good in self._good.items():
            if not good.result():
                wrong.append(name)
            done += self._sizes[name]
            progress(done, total)
        self._threads.shutdown()
        return wrong


# 5 Envelopes: an in-toto Statement in a DSSE envelope, one Ed25519 signature.


@dataclass(frozen=True)
class Claim:
    """What an envelope claims, before its signature is looked at."""

    where: str
    payload: bytes
    kind: str
    subjects: Mapping[str, str]
    predicate: Json
    keyid: str
    signature: bytes

    def refuse_forged(self, key: bytes) -> None:
        """Return when ``key`` signed it.

        Raises:
            Wrong: it did not.
        """
        kind = PAYLOAD_TYPE.encode()
        signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(self.payload), self.payload)
        if not ed25519_signed(key, signed, self.signature):
            raise Wrong(f"{self.where}: was changed: key {self.keyid[:16]}... did not sign this")


def claim_of(content: bytes, where: str) -> Claim:
    """The claim of an envelope's file.

    Raises:
        Wrong: it is no such envelope, or not in the one form that is accepted.
    """
    if not content.endswith(b"\n"):
        raise Wrong(f"{where}: was changed: it does not end with a line feed")
    envelope = parsed(content[:-1], where)
    try:
        (signature,) = envelope["signatures"]
        payload = from_base64(envelope["payload"], where)
        statement = parsed(payload, f"{where}, its statement")
        subjects = {each["name"]: each["digest"]["sha256"] for each in statement["subject"]}
        predicate, kind = statement["predicate"], statement["predicateType"]
        # Whatever else stands in one of them would be signed, and mean nothing to anybody.
        plain = {"_type": STATEMENT, "predicateType": kind, "predicate": predicate}
        plain["subject"] = [{"name": name, "digest": {"sha256": subjects[name]}} for name in sorted(subjects)]
        whole = {"payload": envelope["payload"], "payloadType": PAYLOAD_TYPE, "signatures": [signature]}
        found = Claim(
            where,
            payload,
            kind,
            subjects,
            predicate,
            str(signature["keyid"]),
            from_base64(signature["sig"], where),
        )
        good = (envelope, statement) == (whole, plain) and set(signature) == {"keyid", "sig"}
    except (KeyError, TypeError, ValueError, AttributeError):
        raise Wrong(f"{where}: was changed: it is no signed statement") from None
    if not good or not isinstance(predicate, dict):
        raise Wrong(f"{where}: was changed: it is no signed statement")
    return found


def is_stamp_of(stamp: bytes, content: bytes) -> bool:
    """Whether a file has the form of an answer of RFC 3161 that names this content; no signature is looked at.

    The stamp is the one file that nothing lists or signs for us: this keeps it from being a hiding place for others.

    >>> is_stamp_of(b"\\x30\\x20" + hashlib.sha256(b"x").digest(), b"x"), is_stamp_of(b"anything", b"x")
    (True, False)
    """
    if stamp[:1] != b"\x30" or len(stamp) < 2:
        return False
    # The length of one DER sequence: a byte, or as many bytes as the first says.
    more = stamp[1] - 0x80 if stamp[1] > 0x80 else 0
    length = int.from_bytes(stamp[2 : 2 + more], "big") if more else stamp[1]
    names = any(hashlib.new(kind, content).digest() in stamp for kind in ("sha256", "sha384", "sha512"))
    return names and len(stamp) == 2 + more + length


# 6 The ledger: a chain of lines, each with the hash of the one before, some of them signed.


@dataclass(frozen=True)
class Key:
    """A signing key: its raw bytes, its name, and the lines from and up to which it may sign."""

    raw: bytes
    name: str
    added: int
    by: str
    retired: int | None = None

    def holds(self, line: int) -> bool:
        """Whether it may sign line number ``line``; the line that retires it is still its own."""
        return self.added <= line and (self.retired is None or line <= self.retired)

    def active(self, lines: int) -> bool:
        """Whether it may sign for a ledger of ``lines`` lines."""
        return self.added <= lines and (self.retired is None or lines < self.retired)


@dataclass(frozen=True)
class Line:
    """One line: its number, when, the event, and whether somebody signed it."""

    seq: int
    at: str
    event: Json
    signed: bool = False


STEERING = {
    "key_add", "key_retire", "batch_commit", "supersede", "void", "freeze", "split",
    "run_intent", "run_result", "run_abort", "exposure",
}  # fmt: skip
"""Events that mean nothing without a signature: they say who may sign, or steer a draw or a run."""


@dataclass(frozen=True)
class Ledger:
    """A ledger whose chain and signatures hold. ``hashes`` and ``ends``: of each line, by number; 0 is before all."""

    content: bytes
    lines: Sequence[Line]
    hashes: Sequence[str]
    ends: Sequence[int]
    keys: Mapping[str, Key]

    def prefix(self, lines: int) -> bytes:
        """The bytes of the first ``lines`` lines."""
        return self.content[: self.ends[lines]]

    def key(self, fingerprint: str, where: str, *, line: int = 0, lines: int = 0) -> Key:
        """A key that may sign line number ``line``, or for a ledger of ``lines`` lines.

        Raises:
            Wrong: there is none, or it may not.
        """
        key = self.keys.get(fingerprint)
        if key is None:
            raise Wrong(f"{where}: is signed by key {fingerprint[:16]}..., which the ledger does not name")
        if not (key.holds(line) if line else key.active(lines)):
            gone = f"retired it on line {key.retired}" if key.retired else f"adds it on line {key.added} only"
            raise Wrong(f"{where}: is signed by key {fingerprint[:16]}... ('{key.name}'); the ledger {gone}")
        return key

    def releases(self) -> dict[str, tuple[int, Json]]:
        """The releases that it names, in order: name -> number of the line, event.

        Raises:
            Wrong: nobody signed a line about one, or two have one name.
        """
        found: dict[str, tuple[int, Json]] = {}
        for line in self.lines:
            if line.event["type"] != "release":
                continue
            first = found.setdefault(str(line.event.get("release")), (line.seq, line.event))
            # A release of several benchmarks has a line for each, all with one package.
            if not line.signed or line.event["package"] != first[1]["package"]:
                raise Wrong(
                    f"{LEDGER}:{line.seq}: names a release that nobody signed, or one name for two releases"
                )
        return found


_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_LINE_FIELDS = ({"seq", "prev", "at", "event"}, {"seq", "prev", "at", "event", "by", "sig"})


def read_ledger(content: bytes, where: str = LEDGER) -> Ledger:
    """The ledger in ``content``, every link and every signature checked.

    Raises:
        Wrong: the first line that does not hold.
    """
    texts = content.split(b"\n")
    if texts.pop():
        raise Wrong(f"{where}: is torn: its last line has no end")
    lines: list[Line] = []
    hashes, ends = [NOTHING], [0]
    keys: dict[str, Key] = {}
    for number, text in enumerate(texts, 1):
        place = f"{where}:{number}"
        raw = parsed(text, place)
        event = raw.get("event")
        if (
            set(raw) not in _LINE_FIELDS
            or not isinstance(event, dict)
            or not isinstance(event.get("type"), str)
        ):
            raise Wrong(f"{place}: was changed: it is no line of a ledger")
        if raw["seq"] != number or raw["prev"] != hashes[-1]:
            raise Wrong(
                f"{place}: does not follow the line before: one of them was changed, moved or removed"
            )
        at = raw["at"]
        if not isinstance(at, str) or not _TIME.fullmatch(at) or (lines and at < lines[-1].at):
            raise Wrong(f"{place}: its time is none, or before that of the line before")
        if (event["type"] == "genesis") != (number == 1):
            raise Wrong(f"{place}: genesis is the first line, and no other")
        _signed_line(raw, event, keys, place)
        lines.append(Line(number, at, event, "sig" in raw))
        hashes.append(sha256(text + b"\n"))
        ends.append(ends[-1] + len(text) + 1)
    if not lines:
        raise Wrong(f"{where}: is empty")
    return Ledger(content, lines, hashes, ends, keys)


def _signed_line(raw: Json, event: Json, keys: dict[str, Key], place: str) -> None:
    """Check the signature of a line, and take in the key that it adds or retires."""
    kind, number, by = event["type"], raw["seq"], raw.get("by")
    added = None
    if kind == "key_add":
        added = from_base64(event.get("key"), place)
        if len(added) != 32 or sha256(added) != event.get("fingerprint") or event["fingerprint"] in keys:
            raise Wrong(
                f"{place}: adds no key, one that was there before, or one that is not its fingerprint's"
            )
    if by is not None:
        first = added if not keys and added is not None and sha256(added) == by else None
        key = keys.get(by)
        if first is None and (key is None or not key.holds(number)):
            raise Wrong(f"{place}: is signed by key {str(by)[:16]}..., which may not sign there")
        message = b"LACRE-LINE-v1\0" + canonical({name: raw[name] for name in raw if name != "sig"})
        signer = first if first is not None else key.raw if key is not None else b""
        if not ed25519_signed(signer, message, from_base64(raw["sig"], place)):
            raise Wrong(f"{place}: was changed: key {str(by)[:16]}... did not sign it")
    elif kind in STEERING:
        raise Wrong(f"{place}: is a {kind} that nobody signed")
    if added is not None:
        keys[event["fingerprint"]] = Key(added, str(event.get("name")), number, str(by))
    if kind == "key_retire":
        old = keys.get(event.get("fingerprint", ""))
        if old is None or old.retired is not None:
            raise Wrong(f"{place}: retires a key that is not active")
        keys[event["fingerprint"]] = Key(old.raw, old.name, old.added, old.by, number)


def descends(ledger: Ledger, key: str, trusted: str) -> bool:
    """Whether ``key`` is the trusted one, or was let in by it, or by one that it let in."""
    seen: set[str] = set()
    while key not in seen and key in ledger.keys:
        if key == trusted:
            return True
        seen.add(key)
        key = ledger.keys[key].by
    return False


# 7 One benchmark's private items: its lines in the ledger, its rows, its openings.


@dataclass
class Bench:
    """What the ledger and the files say of one benchmark.

    Attributes:
        batches, voids, supersedes, corrections, opened: by batch or item, each with the number of its line; the
            first where there are more, which is a fault.
        freezes, splits, replaced, shown, begun, waivers: lines about freezes, draws, corrections, showings, runs
            and signed waivers, in order. ``again``: what is wrong with lines that say a thing a second time.
        sealed: rows that stand in the list of commitments; ``openings``: what opened, by closing; ``rows``: all.
        public: items of files of the open layer that were read already.
        leaves: each row in canonical form, by id, as a leaf of the tree.
    """

    name: str
    batches: dict[str, tuple[int, Json]] = field(default_factory=dict)
    voids: dict[str, tuple[int, Json]] = field(default_factory=dict)
    supersedes: dict[str, tuple[int, Json]] = field(default_factory=dict)
    corrections: dict[str, tuple[int, Json]] = field(default_factory=dict)
    opened: dict[str, tuple[int, Json]] = field(default_factory=dict)
    freezes: list[Line] = field(default_factory=list)
    splits: list[Line] = field(default_factory=list)
    replaced: list[Line] = field(default_factory=list)
    shown: list[Line] = field(default_factory=list)
    begun: list[Line] = field(default_factory=list)
    waivers: list[Line] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    public: dict[str, list[Json]] = field(default_factory=dict)
    sealed: dict[str, Json] = field(default_factory=dict)
    openings: dict[int, list[Json]] = field(default_factory=dict)
    rows: dict[str, Json] = field(default_factory=dict)
    leaves: dict[str, bytes] = field(default_factory=dict)

    def folder(self, number: int) -> str:
        """The folder of a closing's files."""
        return f"registry/{self.name}/rounds/{number:04d}"

    def standing(self, line: int) -> dict[str, Json]:
        """Rows that were sealed and not opened when the ledger had fewer than ``line`` lines, by id."""
        found = {}
        for id, row in self.rows.items():
            made = (self.corrections.get(id) or self.batches.get(row["batch"]) or (line, {}))[0]
            opened = self.opened.get(id)
            if made < line and (opened is None or opened[0] >= line):
                found[id] = row
        return found

    def age(self, batch: str, line: int) -> int:
        """Closings carried out before ``line`` that a batch was frozen for and stayed private through."""
        committed = self.batches[batch][0]
        frozen = {each.event["freeze"]: each.seq for each in self.freezes}
        return sum(
            1
            for split in self.splits
            if split.seq < line and frozen.get(split.event["freeze"], 0) > committed
        )

    def successor(self, item: str, line: int) -> str:
        """The item that stood for another when the ledger had fewer than ``line`` lines."""
        seen = {item}
        while item in self.supersedes and self.supersedes[item][0] < line:
            item = self.supersedes[item][1]["by"]
            if item in seen:  # a circle, which is a fault of its own
                break
            seen.add(item)
        return item

    def root(self, ids: Iterable[str]) -> str:
        """The Merkle root over some rows, sorted by id."""
        return merkle_root([self.leaves[id] for id in sorted(ids)])


def commitments(bench: str) -> str:
    """The name of a benchmark's list of commitments."""
    return f"registry/{bench}/private/commitments.jsonl"


ROW = ("id", "cell", "batch", "commitment", "group")
"""The fields of a public row."""


def cell_name(place: Mapping[str, str]) -> str:
    """The name of a cell: its axes in the order of the alphabet."""
    return "/".join(f"{axis}={place[axis]}" for axis in sorted(place))


def read_rows(content: bytes, where: str) -> dict[str, Json]:
    """The rows of a list of commitments, by id.

    Raises:
        Wrong: a line is no row, or they are not sorted.
    """
    rows: dict[str, Json] = {}
    last = ""
    for number, text in enumerate(content.split(b"\n")[:-1], 1):
        row = parsed(text, f"{where}:{number}")
        if not {"id", "cell", "batch", "commitment"} <= set(row) or not isinstance(row["cell"], dict):
            raise Wrong(f"{where}:{number}: is no row")
        if row["id"] <= last:
            raise Wrong(f"{where}:{number}: item '{row['id']}' is out of order")
        last = row["id"]
        rows[last] = row
    if content and not content.endswith(b"\n"):
        raise Wrong(f"{where}: is torn: its last line has no end")
    return rows


def read_bench(tree: Tree, ledger: Ledger, name: str) -> Bench:
    """One benchmark, from the ledger and the files of the release.

    Raises:
        Wrong: a file is missing, or holds something else than it must.
    """
    bench = Bench(name)
    _read_events(bench, ledger)
    if commitments(name) in tree.files:
        content = tree.read(commitments(name))
        bench.sealed = read_rows(content, commitments(name))
        # Each line is its row in canonical form: that was checked.
        bench.leaves = dict(zip(bench.sealed, content.split(b"\n")))  # noqa: B905 - Python 3.9
    bench.rows = dict(bench.sealed)
    for number, split in enumerate(bench.splits, 1):
        where = f"{bench.folder(number)}/openings.jsonl"
        plain, opened = _unmarked(tree.read(where), where)
        if sha256(plain) != split.event["openings"]:
            raise Wrong(f"{where}: is not the file that line {split.seq} of the ledger names")
        bench.openings[number] = opened
        for each in opened:
            if each["id"] in bench.rows:
                raise Wrong(f"{where}: item '{each['id']}' stands elsewhere too")
            row = {key: each[key] for key in ROW if key in each}
            bench.rows[each["id"]], bench.leaves[each["id"]] = row, canonical(row)
    return bench


def _read_events(bench: Bench, ledger: Ledger) -> None:
    """Take in the lines that are about a benchmark."""
    by_item = {"void": bench.voids, "supersede": bench.supersedes, "open": bench.opened}
    in_order = {
        "freeze": bench.freezes, "split": bench.splits, "supersede": bench.replaced, "exposure": bench.shown,
        "run_intent": bench.begun, "waiver": bench.waivers,
    }  # fmt: skip
    for line in ledger.lines:
        event = line.event
        if event.get("benchmark") != bench.name:
            continue
        kind = event["type"]
        if kind == "batch_commit":
            first, what = bench.batches.setdefault(event["batch"], (line.seq, event)), "batch"
        elif kind in by_item:
            first, what = by_item[kind].setdefault(event["item"], (line.seq, event)), "item"
        else:
            first, what = (line.seq, event), ""
        # A second void says nothing new; of corrections see replaced_faults.
        if first[0] != line.seq and kind in ("batch_commit", "open"):
            bench.again.append(
                f"line {line.seq} of the ledger: {what} '{event[what]}' is that of line {first[0]}"
            )
        if kind == "supersede":
            bench.corrections.setdefault(event["by"], (line.seq, event))
        if kind in in_order and (kind != "waiver" or line.signed):
            in_order[kind].append(line)


def _unmarked(content: bytes, where: str) -> tuple[bytes, list[Json]]:
    """Openings as the ledger knows them: a release adds its canary to each, which is taken out here."""
    plain, opened = [], []
    for number, line in enumerate(content.split(b"\n")[:-1], 1):
        # Not strict: the ledger has the hash of what is left, which holds its form too.
        each, text = parsed(line, f"{where}:{number}", strict=False), line
        if "canary" in each:
            # Quotes inside texts are escaped, so what is found is the field; elsewhere the hash would not hold.
            text = line.replace(b'"canary":' + canonical(each.pop("canary")) + b",", b"", 1)
        if not {"id", "cell", "batch", "commitment", "nonce", "payload", "why"} <= set(each):
            raise Wrong(f"{where}:{number}: is no opening")
        # Kept beside the record, for writing every payload anew takes as long as all the rest.
        each["payload bytes"] = _payload_bytes(text, each["payload"])
        plain.append(text + b"\n")
        opened.append(each)
    return b"".join(plain), opened


def _payload_bytes(text: bytes, payload: object) -> bytes:
    """The payload in canonical form: as it stands in the line where that is plain, which is quicker than writing it."""
    begin, end = text.find(b'"payload":'), text.rfind(b',"why":')
    if text.count(b'"payload":') == 1 and begin < end:
        return text[begin + len(b'"payload":') : end]
    return canonical(payload)


def row_faults(bench: Bench) -> Iterator[str]:
    """What does not hold about rows: batches that are not those sealed, and lines about other items."""
    by_batch: dict[str, list[Json]] = defaultdict(list)
    for id, row in bench.rows.items():
        if id not in bench.corrections:
            by_batch[row["batch"]].append(row)
        if row["batch"] not in bench.batches:
            yield f"item '{id}' is of batch '{row['batch']}', which the ledger does not know"
    for name, (line, event) in bench.batches.items():
        rows = by_batch.get(name, [])
        if (len(rows), bench.root(row["id"] for row in rows)) != (event["items"], event["root"]):
            yield f"the rows of batch '{name}' are not the {event['items']} that line {line} of the ledger sealed"
    for id in sorted(set(bench.sealed) & set(bench.opened)):
        yield f"item '{id}' was opened, and still stands among the sealed ones"
    twice = Counter(row["commitment"] for row in bench.rows.values())
    if len(twice) < len(bench.rows):
        yield "two items have one commitment"
    for entries, key in (
        (bench.voids, "commitment"),
        (bench.supersedes, "commitment"),
        (bench.corrections, "by_commitment"),
        (bench.opened, "commitment"),
    ):
        for id, (line, event) in entries.items():
            if bench.rows.get(id, {}).get("commitment") != event.get(key):
                yield f"item '{id}' has not the commitment of line {line} of the ledger"
    yield from bench.again
    yield from replaced_faults(bench)
    yield from shown_faults(bench)


def replaced_faults(bench: Bench) -> Iterator[str]:
    """Items replaced twice, when void or open, or by one that is no new item or is of another place; late voids."""
    by_item: dict[str, int] = {}
    by_new: dict[str, int] = {}
    for each in bench.replaced:
        old, new, at = each.event["item"], each.event["by"], f"line {each.seq} of the ledger"
        if by_item.setdefault(old, each.seq) != each.seq:
            yield f"{at}: item '{old}' is replaced again; line {by_item[old]} replaced it already"
        if by_new.setdefault(new, each.seq) != each.seq:
            yield f"{at}: item '{new}' corrects another again; line {by_new[new]} made it already"
        if old in bench.voids and bench.voids[old][0] < each.seq:
            yield f"{at}: item '{old}' is replaced, and line {bench.voids[old][0]} made it void"
        if new in by_item or new == old:
            yield f"{at}: item '{new}' is no new one: the corrections go in a circle"
        if new in bench.opened and bench.opened[new][0] < each.seq:
            yield f"{at}: item '{new}' is no new one: line {bench.opened[new][0]} opened it"
    for new, (_, event) in bench.corrections.items():
        row, was = bench.rows.get(new), bench.rows.get(event["item"])
        if row and was and (row["cell"], row["batch"]) != (was["cell"], was["batch"]):
            yield f"item '{new}' corrects '{was['id']}', and is of another cell or batch"
        # Left without a passage it is drawn alone. Lacre refuses that, but did not always: see left_passages.
        elif row and was and row.get("group") not in (None, was.get("group")):
            yield f"item '{new}' corrects '{was['id']}', and is of another passage"
    for what, entries in (("void", bench.voids), ("supersede", bench.supersedes)):
        for id, (line, _) in entries.items():
            if id in bench.opened and bench.opened[id][0] < line:
                yield f"line {line} of the ledger: {what} of item '{id}', which line {bench.opened[id][0]} opened"


def left_passages(bench: Bench) -> Iterator[str]:
    """Corrections that stand alone, where what they correct is of a passage: to know, for old releases have some."""
    for new, (_, event) in bench.corrections.items():
        row, was = bench.rows.get(new), bench.rows.get(event["item"])
        if row and was and was.get("group") and not row.get("group"):
            yield f"item '{new}' corrects '{was['id']}', and is drawn alone, not with the items of its passage"


def shown_faults(bench: Bench) -> Iterator[str]:
    """Items shown to columns that nobody sealed, or in runs that never began; runs that take a name again."""
    begun: dict[str, Line] = {}
    for run in bench.begun:
        if begun.setdefault(run.event["run"], run) is not run:
            yield f"line {run.seq} of the ledger: run '{run.event['run']}' begins a second time"
    for shown in bench.shown:
        event, run = shown.event, begun.get(shown.event["run"], shown)
        if run.seq >= shown.seq or run.event["column"] != event["column"]:
            yield (
                f"line {shown.seq} of the ledger: shows items in run '{event['run']}' of column "
                f"'{event['column']}', which no line before it begins"
            )
        for id in sorted(set(event["items"]) - set(bench.rows)):
            yield f"line {shown.seq} of the ledger: item '{id}' was shown to a column, and has no row"


def over_exposed(bench: Bench, cap: int, line: int) -> set[str]:
    """Items shown in more than ``cap`` runs by lines before ``line``: a correction as often as what it corrects."""
    runs: dict[str, set[tuple[int, str]]] = defaultdict(set)
    for shown in bench.shown:
        if shown.seq < line:
            name = shown.event["run"]
            began = [run.seq for run in bench.begun if run.event["run"] == name and run.seq < shown.seq]
            for id in shown.event["items"]:
                runs[id].add((began[-1] if began else shown.seq, shown.event["column"]))
    own = {id: frozenset(seen) for id, seen in runs.items()}
    for new in bench.corrections:
        id, past = new, {new}
        while id in bench.corrections and bench.corrections[id][0] < line:
            id = bench.corrections[id][1]["item"]
            if id in past:  # a circle, which is a fault of its own
                break
            past.add(id)
            runs[new] |= own.get(id, frozenset())
    return {id for id, seen in runs.items() if cap and len(seen) > cap}


def opening_faults(bench: Bench) -> Iterator[str]:
    """Openings that do not open the commitment, or that the ledger tells otherwise."""
    for number, opened in bench.openings.items():
        where = f"{bench.folder(number)}/openings.jsonl"
        for each in opened:
            nonce = each["nonce"]
            good = isinstance(nonce, str) and len(nonce) == 64 and not set(nonce) - set("0123456789abcdef")
            content = b"LACRE-ITEM-v1\0" + (bytes.fromhex(nonce) if good else b"") + each["payload bytes"]
            if not good or sha256(content) != each["commitment"]:
                yield f"{where}: item '{each['id']}' is not the one that was committed to"
        name = f"{bench.name}/{number}"
        logged = {item: event for item, (_, event) in bench.opened.items() if event["round"] == name}
        said = {each["id"]: each["why"] for each in opened}
        if {item: event["why"] for item, event in logged.items()} != said:
            yield f"{where}: the ledger opens other items at {name}, or for other reasons"


def open_layer_faults(bench: Bench, tree: Tree) -> Iterator[str]:
    """Items that opened and do not stand in the open layer as they were opened."""
    for number, opened in bench.openings.items():
        where = f"registry/{bench.name}/open/closing-{number:04d}.jsonl"
        try:
            # Kept, for the rows that people load are held to them.
            lines = bench.public[where] = list(json_lines(tree.read(where)))
            items = {item["id"]: item for item in lines}
        except (ValueError, KeyError, TypeError):
            yield f"{where}: holds something else than items"
            continue
        if len(items) < len(lines):
            yield f"{where}: an item stands there twice"
        for each in opened:
            if each["why"] in ("defect", "void", "supersede") or each["id"] in bench.voids:
                continue
            item = items.pop(each["id"], None)
            if item is None or (item["payload"], item["cell"]) != (each["payload"], each["cell"]):
                yield f"{where}: item '{each['id']}' is missing, or not the one that was opened"
            elif (item["layer"], item["benchmark"]) != ("open", bench.name):
                yield f"{where}: item '{each['id']}' is said to be of another layer or benchmark"
        for id in sorted(items):
            yield f"{where}: item '{id}' was not opened at that closing"


def flat_faults(bench: Bench, tree: Tree) -> Iterator[str]:
    """Rows in ``data/``, which people load, that say something else than the items in ``registry/``."""
    for layer in ("official", "open"):
        where, folder = f"data/{bench.name}/{layer}.jsonl", f"registry/{bench.name}/{layer}/"
        names = [n for n in tree.files if n.startswith(folder) and n.endswith(".jsonl") and n.count("/") == 3]
        try:
            items = [item for name in names for item in _items_of(bench, tree, name)]
            told = {item["id"]: item for item in items}
            said, count, other = set(), 0, []
            for row in json_lines(tree.read(where)) if where in tree.files else ():
                count += 1
                said.add(row["id"])
                if row["id"] not in told or _row_says(row) != _item_says(told[row["id"]]):
                    other.append(row["id"])
        except (ValueError, KeyError, TypeError, AttributeError):
            yield f"{where}: holds something else than rows of items, or {folder} something else than items"
            continue
        if len(said) < count or len(told) < len(items):
            yield f"{where}, or {folder}: an item stands there twice"
        for id in sorted({*other, *(id for id in told if id not in said)}):
            yield f"{where}: item '{id}' is not what {folder} says"


def _items_of(bench: Bench, tree: Tree, name: str) -> list[Json]:
    """The items of a file, which may have been read before."""
    return bench.public.pop(name, None) or list(json_lines(tree.read(name)))


def _item_says(item: Json) -> tuple[object, ...]:
    """What is asked and expected, by an item."""
    payload = item["payload"]
    parts = [(part["id"], part["prompt"], part.get("expected") or None) for part in payload.get("parts", ())]
    return (
        payload["stem"], payload.get("options") or {}, payload.get("key"), item["cell"], parts,
        (payload.get("passage") or {}).get("text"), [image["sha256"] for image in payload.get("images", ())],
    )  # fmt: skip


def _row_says(row: Json) -> tuple[object, ...]:
    """What is asked and expected, by a row."""
    return (
        row["stem"], {option["letter"]: option["text"] for option in row["options"]}, row["key"],
        {place["axis"]: place["value"] for place in row["cell"]},
        [(part["id"], part["prompt"], part["expected"] or None) for part in row["parts"]],
        row["passage"], [image["sha256"] for image in row["images"]],
    )  # fmt: skip


# 8 The draws, done again. lacre's docs/explanation/rotation.md says why each step is as it is.

DRAND = {
    "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971": (1692803367, 3, "quicknet"),
    "8990e7a9aaed2ffed73dbd7092123d6f289930540d7651336225dc172e51b2ce": (1595431050, 30, "default"),
}
"""Chains of drand: hash -> Unix time of the first round, seconds between rounds, name."""


def source_name(source: Json) -> str:
    """The randomness in words, as the ledger has it.

    >>> source_name({"kind": "loteria-federal", "draw": 5900})
    'draw 5900 of the Loteria Federal'
    """
    if source["kind"] == "drand":
        return f"drand {DRAND[source['chain']][2]} round {source['round']}"
    return f"draw {source['draw']} of the Loteria Federal"


def order_faults(tree: Tree, ledger: Ledger, bench: Bench) -> Iterator[str]:
    """Closings out of order or frozen for randomness that was used; openings and folders outside any closing."""
    for line in bench.freezes:
        coming = f"{bench.name}/{1 + sum(split.seq < line.seq for split in bench.splits)}"
        if line.event["round"] != coming:
            yield f"{LEDGER}:{line.seq}: freezes {line.event['round']}, when {coming} was to come"
        used = _used_before(ledger, bench.name, line)
        if used:
            beacon = line.event["beacon"]
            yield f"{LEDGER}:{line.seq}: freezes {line.event['round']} for {beacon}, which could be known: {used}"
    window, before = {}, 0
    for split in bench.splits:
        window[split.event["round"]], before = (before, split.seq), split.seq
    for id, (number, event) in bench.opened.items():
        after, until = window.get(event["round"], (0, 0))
        if not after < number < until:
            yield f"{LEDGER}:{number}: opens item '{id}' outside {event['round']}"
    yield from _given_up_faults(tree, bench)
    known = {bench.folder(int(line.event["round"].rpartition("/")[2])) for line in bench.freezes}
    there = {
        "/".join(name.split("/")[:4])
        for name in tree.files
        if name.startswith(f"registry/{bench.name}/rounds/")
    }
    for folder in sorted(there - known):
        yield f"{folder}: is of a closing that the ledger does not know"


def _used_before(ledger: Ledger, bench: str, own: Line) -> str | None:
    """Where a line before ``own`` used its randomness: a closing frozen for it, or another's draw made with it."""
    waiting: dict[str, str] = {}
    for line in ledger.lines[: own.seq - 1]:
        event = line.event
        if event["type"] == "freeze" and event["beacon"] == own.event["beacon"]:
            if event["benchmark"] != bench:
                waiting[event["freeze"]] = event["round"]
            elif event["round"] != own.event["round"]:
                return f"line {line.seq} froze {event['round']} for it"
        elif event["type"] == "split" and event["freeze"] in waiting:
            return f"line {line.seq} carried out {event['round']} with it"
    return None


def _given_up_faults(tree: Tree, bench: Bench) -> Iterator[str]:
    """Freezes that were given up, whose files are gone or changed: they stay, so that all can see what was dropped."""
    seen: Counter[str] = Counter()
    last = {line.event["round"]: line.seq for line in bench.freezes}
    for line in bench.freezes:
        name = line.event["round"]
        seen[name] += 1
        if line.seq == last[name]:
            continue
        where = f"{bench.folder(int(name.rpartition('/')[2]))}/given-up-{seen[name]}.freeze.dsse.json"
        if where not in tree.files or sha256(tree.read(where)) != line.event["freeze"]:
            yield f"{where}: is missing, or is not the freeze of line {line.seq} of the ledger"


def randomness_of(source: Json, content: bytes, where: str) -> bytes:
    """The randomness that a freeze named, from the file that holds it. No drand signature is checked here.

    Raises:
        Wrong: the file holds something else.
    """
    try:
        result = json.loads(content)
        if source["kind"] == "drand":
            value = hashlib.sha256(bytes.fromhex(result["signature"])).digest()
            said = result.get("randomness", value.hex()).lower()
            good = result["round"] == source["round"] and said == value.hex()
        else:
            tickets = result["dezenasSorteadasOrdemSorteio"]
            value = f"{source['draw']}:{','.join(f'{int(ticket):05d}' for ticket in tickets)}".encode()
            good = result["numero"] == source["draw"] and len(tickets) == 5
    except (ValueError, KeyError, TypeError, AttributeError):
        good, value = False, b""
    if not good:
        raise Wrong(f"{where}: does not hold the randomness that was frozen")
    return value


def due_of(source: Json, where: str) -> str:
    """When the randomness came out; that of a drand round follows from its number.

    Raises:
        Wrong: it is of a chain that is not known, or is said to come out at another time.
    """
    if source["kind"] == "drand":
        if source["chain"] not in DRAND:
            raise Wrong(f"{where}: names a drand chain that is not known")
        genesis, period, _ = DRAND[source["chain"]]
        when = datetime.fromtimestamp(genesis, UTC) + timedelta(seconds=period * (source["round"] - 1))
        if source["due"] != when.isoformat().replace("+00:00", "Z"):
            raise Wrong(f"{where}: says another hour for its drand round than {when.isoformat()}")
    return str(source["due"])


@dataclass(frozen=True)
class Drawn:
    """What a draw opens: commitments, those that had to with the reason, and its table of cells."""

    opens: set[str]
    forced: Mapping[str, str]
    cells: Sequence[Json]


def draw(items: Sequence[Json], seed: bytes, share: Fraction, age_cap: int) -> Drawn:
    """The draw over frozen items: what must open, then passages, then single items, by HMAC-SHA256 under the seed."""

    def prf(*parts: str) -> bytes:
        return hmac.digest(seed, "\0".join(parts).encode(), "sha256")

    def mark(name: str) -> Fraction:
        return Fraction(int.from_bytes(prf(name)[:16], "big"), 1 << 128)

    ordered = sorted(items, key=lambda item: str(item["commitment"]))
    must = {
        i["commitment"]: i.get("must") or "age"
        for i in ordered
        if i.get("must") or i.get("age", 0) >= age_cap
    }
    groups = {i.get("group") for i in ordered if i["commitment"] in must} - {None}
    forced = {
        i["commitment"]: must.get(i["commitment"], "passage")
        for i in ordered
        if i["commitment"] in must or i.get("group") in groups
    }
    count = Counter(i["cell"] for i in ordered)
    compelled = Counter(i["cell"] for i in ordered if i["commitment"] in forced)
    quotas, reached, at = {cell: int(share * n) for cell, n in count.items()}, Fraction(0), mark("u")
    for cell in sorted(count, key=lambda cell: (prf("cell", cell), cell)):
        reached += share * count[cell] - quotas[cell]
        if reached > at:
            quotas[cell] += 1
            at += 1
    free = [i for i in ordered if i["commitment"] not in forced]
    rates = {
        cell: max(Fraction(0), (share * n - compelled[cell]) / (n - compelled[cell]))
        for cell, n in count.items()
        if n > compelled[cell]
    }
    together = _passages(free, rates, prf, mark("v"))
    grouped = Counter(i["cell"] for i in together)
    opens = set(forced) | {i["commitment"] for i in together}
    sizes = Counter(i.get("group") for i in free if i.get("group"))
    single: dict[str, list[str]] = defaultdict(list)
    for i in free:
        if sizes[i.get("group")] < 2:
            single[i["cell"]].append(i["commitment"])
    cells = []
    for cell in sorted(count):
        room = max(0, quotas[cell] - compelled[cell] - grouped[cell])
        drawn = sorted(single[cell], key=lambda commitment: prf("item", commitment))[:room]
        opens.update(drawn)
        out = compelled[cell] + grouped[cell] + len(drawn)
        cells.append(
            {
                "cell": cell,
                "items": count[cell],
                "quota": str(share * count[cell]),
                "forced": compelled[cell],
                "grouped": grouped[cell],
                "drawn": len(drawn),
                "opens": out,
                "stays": count[cell] - out,
                "carry": str(out - share * count[cell]),
            }
        )
    return Drawn(opens, forced, cells)


def _passages(
    free: Sequence[Json], rates: Mapping[str, Fraction], prf: Callable[..., bytes], at: Fraction
) -> list[Json]:
    """The items of passages that open together: systematic sampling, passages of the same cells side by side.

    ``rates``: by cell, the chance that is left for an item that need not open.
    """
    by_group: dict[str, list[Json]] = defaultdict(list)
    for item in free:
        if item.get("group"):
            by_group[item["group"]].append(item)

    def place(bundle: list[Json]) -> tuple[bytes, bytes]:
        return prf("cells", *sorted(i["cell"] for i in bundle)), prf("group", bundle[0]["commitment"])

    opened: list[Json] = []
    reached = Fraction(0)
    for bundle in sorted((b for b in by_group.values() if len(b) > 1), key=place):
        reached += sum((rates[i["cell"]] for i in bundle), Fraction(0)) / len(bundle)
        if reached > at:
            opened += bundle
            at += 1
    return opened


def reasons_of(frozen: Json, drawn: Drawn) -> dict[str, str]:
    """Every item that opens, and why: drawn, forced, void, or replaced by one that opens."""
    reasons = {
        i["id"]: drawn.forced.get(i["commitment"], "draw")
        for i in frozen["items"]
        if i["commitment"] in drawn.opens
    }
    left = frozen.get("leaving", [])
    voids = {each["id"] for each in left if each["why"] == "void"}
    for each in left:
        if each["why"] == "void" or each.get("after") in reasons or each.get("after") in voids:
            reasons[each["id"]] = each["why"]
    return reasons


def closing_faults(tree: Tree, ledger: Ledger, bench: Bench, number: int) -> Iterator[str]:
    """What does not hold about one closing: its freeze, and its draw once that was carried out.

    Raises:
        Wrong: a file is missing, or says something that cannot be followed.
    """
    name, folder = f"{bench.name}/{number}", bench.folder(number)
    split = bench.splits[number - 1] if number <= len(bench.splits) else None
    freezes = [line for line in bench.freezes if line.event["round"] == name]
    carried = [line for line in freezes if split is None or line.event["freeze"] == split.event["freeze"]]
    if not carried or (split is not None and split.event["round"] != name):
        raise Wrong(f"{LEDGER}: carries out {name} out of order, or without a freeze")
    line, where = carried[-1], f"{folder}/freeze.dsse.json"
    content = tree.read(where)
    if sha256(content) != line.event["freeze"]:
        raise Wrong(f"{where}: is not the file that line {line.seq} of the ledger names")
    claim = claim_of(content, where)
    claim.refuse_forged(ledger.key(claim.keyid, where, line=line.seq).raw)
    frozen = claim.predicate
    before = line.seq - 1
    if (
        claim.kind != FREEZE
        or claim.subjects != {"ledger.jsonl": sha256(ledger.prefix(before))}
        or (frozen["round"], frozen["lines"], frozen["head"]) != (name, before, ledger.hashes[before])
        or frozen["workspace"] != ledger.lines[0].event["workspace"]
    ):
        yield f"{where}: was made for another closing, or on another ledger than the {before} lines before it"
    due = due_of(frozen["source"], where)
    said = (
        frozen["benchmark"],
        frozen["round"],
        frozen["at"],
        source_name(frozen["source"]),
        len(frozen["items"]),
    )
    event = line.event
    if said != (event["benchmark"], event["round"], line.at, event["beacon"], event["items"]):
        yield f"{where}: does not say what line {line.seq} of the ledger says of it"
    if line.at >= due or line.event["due"] != due:
        yield f"{where}: was frozen at {line.at}, and its randomness came out at {due}"
    yield from _frozen_faults(bench, frozen, line.seq, where)
    if split is not None:
        if split.at < due or split.seq < line.seq:
            yield f"{LEDGER}:{split.seq}: carries {name} out before its randomness came out"
        yield from _draw_faults(tree, bench, frozen, split, sha256(content))


def _frozen_faults(bench: Bench, frozen: Json, line: int, where: str) -> Iterator[str]:
    """Items that were left out of a freeze or slipped in, or that are not now what they were then."""
    standing = bench.standing(line)
    out = {
        id: why
        for id in standing
        for why, gone in (("supersede", bench.supersedes), ("void", bench.voids))
        if id in gone and gone[id][0] < line
    }
    due = {id: row for id, row in standing.items() if id not in out}
    if Counter(i["id"] for i in frozen["items"]) != Counter(list(due)):
        yield f"{where}: its items are not the {len(due)} that were private then"
    if {i["id"]: i["why"] for i in frozen.get("leaving", [])} != out:
        yield f"{where}: does not name the {len(out)} void and replaced items of then"
    waived = {each.event["digest"] for each in bench.waivers if each.seq < line}
    said_waived = set(frozen.get("waived", ()))
    over = over_exposed(bench, frozen.get("exposure_cap", 0), line)
    for item in frozen["items"]:
        if item["id"] in said_waived and item["commitment"] not in waived:
            yield f"{where}: item '{item['id']}' is said to be waived, and no signed line of the ledger waives it"
        if item["id"] in over and not item.get("must"):
            yield f"{where}: item '{item['id']}' was shown to columns too often by then, and need not open"
    for left in frozen.get("leaving", ()):
        if left["why"] == "supersede" and left.get("after") != bench.successor(left["id"], line):
            yield f"{where}: item '{left['id']}' is frozen as corrected by '{left.get('after')}', which is not so"
    ages = {name: bench.age(name, line) for name in bench.batches}
    cells: dict[tuple[tuple[str, str], ...], str] = {}  # there are few, and many items in each
    for item in (*frozen["items"], *frozen.get("leaving", [])):
        row = bench.rows.get(item["id"])
        if row is None:
            continue  # counted above
        place = tuple(row["cell"].items())
        cell = cells.get(place) or cells.setdefault(place, cell_name(row["cell"]))
        said = (item["cell"], item["batch"], item["commitment"], item.get("group"))
        if said != (cell, row["batch"], row["commitment"], row.get("group")):
            yield f"{where}: item '{item['id']}' is not now what it was when it was frozen"
        elif "why" not in item and item.get("age", 0) != ages[row["batch"]]:
            yield f"{where}: item '{item['id']}' has another age than the ledger counts"


def _draw_faults(tree: Tree, bench: Bench, frozen: Json, split: Line, freeze: str) -> Iterator[str]:
    """What does not hold about a draw that was carried out: randomness, seed, counts, and what opened."""
    number = int(frozen["round"].rpartition("/")[2])
    folder, event = bench.folder(number), split.event
    where, told_in = f"{folder}/randomness.json", f"{folder}/draw.json"
    beacon, content = tree.read(where), tree.read(told_in)
    record = parsed(content[:-1], told_in)
    if sha256(content) != event["draw"] or sha256(beacon) != record["randomness_file"]:
        yield f"{told_in}: is not the file that line {split.seq} of the ledger names, or {where} is another"
    stamp = f"{folder}/freeze.tsr"
    if record.get("stamp_file") and (
        stamp not in tree.files or sha256(tree.read(stamp)) != record["stamp_file"]
    ):
        yield f"{stamp}: is missing, or is not the stamp that the draw names"
    randomness = randomness_of(frozen["source"], beacon, where)
    seed = hashlib.sha256(
        b"LACRE-DRAW-v1\0" + frozen["round"].encode() + b"\0" + bytes.fromhex(frozen["head"]) + randomness
    ).digest()
    if (event["seed"], event["randomness"], event["freeze"]) != (seed.hex(), randomness.hex(), freeze):
        yield f"{LEDGER}:{split.seq}: its seed, randomness or freeze is not what the files give"
    drawn = draw(frozen["items"], seed, Fraction(frozen["share"]), frozen["age_cap"])
    reasons = reasons_of(frozen, drawn)
    opened = {each["id"]: each["why"] for each in bench.openings[number]}
    for id in sorted(set(reasons) ^ set(opened)):
        yield f"{folder}/openings.jsonl: item '{id}' was " + (
            "not opened, and the draw opens it" if id in reasons else "opened, and the draw keeps it"
        )
    if opened != reasons and set(opened) == set(reasons):
        yield f"{folder}/openings.jsonl: gives other reasons than the draw"
    carried: dict[str, Fraction] = {}
    if number > 1:
        last = f"{bench.folder(number - 1)}/draw.json"
        carried = {
            cell: Fraction(text) for cell, text in parsed(tree.read(last)[:-1], last)["carried"].items()
        }
    for cell in drawn.cells:
        carried[cell["cell"]] = carried.get(cell["cell"], Fraction(0)) + Fraction(cell["carry"])
    again = {
        "round": frozen["round"],
        "freeze": freeze,
        "head": frozen["head"],
        "randomness": randomness.hex(),
        "seed": seed.hex(),
        "share": frozen["share"],
        "opens": len(drawn.opens),
        "stays": len(frozen["items"]) - len(drawn.opens),
        "forced": dict(Counter(drawn.forced.values())),
        "left": dict(Counter(why for why in reasons.values() if why in ("void", "supersede"))),
        "cells": list(drawn.cells),
        "carried": {cell: str(carry) for cell, carry in carried.items()},
    }
    for key, value in again.items():
        if record.get(key) != value:
            yield f"{told_in}: its {key} is not what the draw gives"
    kept = [id for id in bench.standing(split.seq) if id not in opened]
    if (event["opened"], event["kept"], event["root"]) != (len(opened), len(kept), bench.root(kept)):
        yield f"{LEDGER}:{split.seq}: what opened and what stayed sealed is not what it says"


def human_notes(tree: Tree, bench: Bench, number: int) -> Iterator[str]:
    """What people decided about a draw that was carried out, before it and after its freeze."""
    frozen = claim_of(tree.read(f"{bench.folder(number)}/freeze.dsse.json"), bench.name).predicate
    name, must = frozen["round"], Counter(item["must"] for item in frozen["items"] if item.get("must"))
    if must:
        why = ", ".join(f"{count} for {reason}" for reason, count in sorted(must.items()))
        size = len(frozen["items"])
        yield f"{name}: {sum(must.values())} of {size} items were made to open whatever the draw said: {why}"
    if frozen.get("waived"):
        yield f"{name}: {number_of(len(frozen['waived']), 'item')} not kept by vetting; people answer for them"
    split = bench.splits[number - 1]
    froze = [line.seq for line in bench.freezes if line.event["freeze"] == split.event["freeze"]]
    settings = frozen.get("settings", {}) if number == len(bench.splits) else {}
    sums = read_sums(tree.read(SUMS)) if settings else {}
    other = sorted(place for place, digest in settings.items() if sums.get(f"registry/{place}") != digest)
    if other:
        yield f"{name}: not in here as they were when it was frozen: {', '.join(other)}"
    late = sorted(id for id, (line, _) in bench.voids.items() if froze and froze[0] < line < split.seq)
    if late:
        yield f"{name}: made void after it was frozen, when its draw could be known: {', '.join(late)}"


# 9 Earlier releases: each is named by the ledger of the next, and its list of commitments travels along.


@dataclass(frozen=True)
class Earlier:
    """An earlier release: its name, the hash of its SHA256SUMS, its claim, and its lists of commitments."""

    name: str
    package: str
    claim: Claim
    lists: Mapping[str, Mapping[str, Json]]


def earlier_releases(tree: Tree, ledger: Ledger) -> list[Earlier]:
    """The releases before this one, oldest first, each checked against the ledger.

    Raises:
        Wrong: one is missing, or is not what the ledger says.
    """
    found: list[Earlier] = []
    for name, (line, event) in ledger.releases().items():
        where = f"previous/{name}"
        content = tree.read(f"{where}/{SUMS}")
        sums, package = read_sums(content, f"{where}/{SUMS}"), sha256(content)
        claim = claim_of(tree.read(f"{where}/{ENVELOPE}", MOST_ENVELOPE), f"{where}/{ENVELOPE}")
        refuse_other_release(claim, ledger, package, name)
        said = claim.predicate["previous"]
        before = {"release": found[-1].name, "package": found[-1].package} if found else None
        if (
            package != event["package"]
            or claim.predicate["at"] != ledger.lines[line - 1].at
            or said != before
            or claim.predicate["ledger"]["lines"] >= line
        ):
            raise Wrong(f"{where}: is not the release that line {line} of the ledger names")
        lists = {}
        for bench in sorted(claim.predicate["benchmarks"]):
            list_at = f"{where}/commitments/{bench}.jsonl"
            if commitments(bench) in sums:
                content = tree.read(list_at)
                if sha256(content) != sums[commitments(bench)]:
                    raise Wrong(f"{list_at}: is not the list of release {name}")
                lists[bench] = read_rows(content, list_at)
        found.append(Earlier(name, package, claim, lists))
    return found


def refuse_other_release(claim: Claim, ledger: Ledger, package: str, name: str | None) -> None:
    """Return when a claim is that of a release with this package, signed by a key of the ledger as it was then.

    Raises:
        Wrong: it is not.
    """
    try:
        said = claim.predicate["ledger"]
        lines = said["lines"]
        if not isinstance(lines, int) or not 0 < lines < len(ledger.hashes):
            raise Wrong(
                f"{claim.where}: was signed over {lines} lines of the ledger, which has {len(ledger.lines)}"
            )
        if claim.kind != RELEASE or claim.subjects != {SUMS: package}:
            raise Wrong(f"{claim.where}: signs another {SUMS} than this one")
        claim.refuse_forged(ledger.key(claim.keyid, claim.where, lines=lines).raw)
        if said != {"lines": lines, "bytes": ledger.ends[lines], "head": ledger.hashes[lines]}:
            raise Wrong(f"{claim.where}: was signed over another ledger than this one's first {lines} lines")
        if name is not None and claim.predicate["release"] != name:
            raise Wrong(f"{claim.where}: is release '{claim.predicate['release']}', not '{name}'")
    except (KeyError, TypeError):
        raise Wrong(f"{claim.where}: is not the statement of a release") from None


def list_faults(bench: Bench, earlier: Sequence[Earlier]) -> Iterator[str]:
    """Lists of commitments of earlier releases that are not the rows that were sealed then."""
    for release in earlier:
        if bench.name not in release.claim.predicate["benchmarks"]:
            continue
        then = bench.standing(release.claim.predicate["ledger"]["lines"] + 1)
        told = release.lists.get(bench.name, {})
        for id in sorted(set(then) | set(told)):
            if then.get(id) != told.get(id):
                yield f"item '{id}' is not what release {release.name} committed to"


def checked_against(bench: Bench, earlier: Sequence[Earlier]) -> str:
    """Where the openings' commitments were first published, in words."""
    counts: Counter[str] = Counter()
    for opened in bench.openings.values():
        for each in opened:
            first = next((r.name for r in earlier if each["id"] in r.lists.get(bench.name, {})), None)
            counts[f"release {first}" if first else "the ledger alone, before any release"] += 1
    return ", ".join(f"{number} first committed to in {where}" for where, number in sorted(counts.items()))


# 10 All checks, in order.


@dataclass(frozen=True)
class Check:
    """One check: ``ok``, ``failed``, or ``not done`` because one before it failed; what was found, in a sentence."""

    name: str
    status: str
    says: str
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What a verification found.

    Attributes:
        package: the hash of SHA256SUMS, which names the release; ``key``: fingerprint of who signed it.
        verdict: ``authentic``, ``integrity only`` or ``failed``.
        proved, unproved: in sentences; ``notes``: what to know though nothing is wrong with it.
    """

    where: str
    release: str | None
    package: str | None
    key: str | None
    checks: tuple[Check, ...]
    verdict: str
    proved: tuple[str, ...]
    unproved: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """0 authentic, 1 integrity only, 3 failed."""
        return {"authentic": 0, "integrity only": 1, "failed": 3}[self.verdict]


CHECKS = {
    "names": "names",
    "manifest": "manifest",
    "all_files": "files",
    "read_ledger": "ledger",
    "signature": "signature",
    "chain": "earlier",
    "rows": "commitments",
    "openings": "openings",
    "draws": "draws",
    "trust_key": "key",
    "trust_previous": "previous",
}
"""What each check is called, by the function that makes it, in the order in which they are told."""
NAMES = tuple(CHECKS.values())
_LONGEST_LIST = 20


def number_of(count: int, noun: str) -> str:
    """A number with its noun.

    >>> number_of(1, "draw"), number_of(2, "batch")
    ('1 draw', '2 batches')
    """
    ending = "" if count == 1 else "es" if noun.endswith("ch") else "s"
    return f"{count} {noun}{ending}"


class Inspection:
    """The checks of one release: each runs where those it rests on held."""

    def __init__(
        self, tree: Tree, key: str | None, previous: Sequence[Tree], progress: Callable[[int, int], None]
    ) -> None:
        self.tree, self.fingerprint, self.trees, self.progress = tree, key, previous, progress
        self.checks: list[Check] = []
        self.notes: list[str] = []
        self.sums: dict[str, str] = {}
        self.hashing: Hashing | None = None
        self.package = ""
        self.claim: Claim | None = None
        self.ledger: Ledger | None = None
        self.earlier: list[Earlier] = []
        self.benches: list[Bench] = []
        self.trusted = False

    def run(self) -> None:
        """All checks. Names come first: nothing is read while one of them is wrong."""
        steps = (
            self.names, self.manifest, self.read_ledger, self.signature, self.chain, self.rows, self.openings,
            self.draws,
        )  # fmt: skip
        for step in steps:
            name = CHECKS[step.__name__]
            if all(check.status == "ok" for check in self.checks):
                self.check(name, step)
            else:
                self.checks.append(Check(name, "not done", "rests on what failed above"))
        if self.ledger is not None and self.claim is not None:
            if self.fingerprint is not None:
                self.check("key", self.trust_key)
            if self.trees:
                self.check("previous", self.trust_previous)
        if self.hashing is not None:
            # One changed file is no reason to look at nothing else: what is parsed is held by other hashes too.
            self.check("files", self.all_files)
        else:
            self.checks.append(Check("files", "not done", "rests on what failed above"))
        self.checks.sort(key=lambda check: NAMES.index(check.name))

    def check(self, name: str, step: Callable[[], tuple[str, Iterable[str]]]) -> None:
        """Run one check, and note what it found; what cannot be followed is a fault like any other."""
        try:
            says, found = step()
            faults = tuple(found)
        except Wrong as wrong:
            says, faults = "", (str(wrong),)
        except (
            KeyError,
            TypeError,
            ValueError,
            IndexError,
            AttributeError,
            RecursionError,
            ZeroDivisionError,
        ) as error:
            says, faults = "", (f"a record is not as it must be ({type(error).__name__}: {error})",)
        self.checks.append(Check(name, "failed" if faults else "ok", says, faults))

    @property
    def held(self) -> bool:
        """Whether every check so far held."""
        return all(check.status == "ok" for check in self.checks)

    def names(self) -> tuple[str, Iterable[str]]:
        """Every name is plain, nothing is a link, no two names can be taken for one another."""
        return (
            f"{number_of(len(self.tree.files), 'file')}, each an ordinary file with a plain name",
            self.tree.faults,
        )

    def manifest(self) -> tuple[str, Iterable[str]]:
        """SHA256SUMS is the one that the statement names, and lists every file but itself and what signs it."""
        content = self.tree.read(SUMS)
        self.package, self.sums = sha256(content), read_sums(content)
        here = set(self.tree.files)
        faults = [f"{name}: is missing" for name in sorted({*self.sums, ENVELOPE} - here)]
        faults += [f"{name}: is not in {SUMS}" for name in sorted(here - set(self.sums) - set(UNLISTED))]
        if ENVELOPE in here:
            self.claim = claim_of(self.tree.read(ENVELOPE, MOST_ENVELOPE), ENVELOPE)
            if self.claim.subjects != {SUMS: self.package}:
                faults.append(f"{SUMS}: was changed: the statement in {ENVELOPE} names another")
        if STAMP in here:
            if not is_stamp_of(self.tree.read(STAMP, MOST_STAMP), self.tree.read(ENVELOPE, MOST_ENVELOPE)):
                faults.append(f"{STAMP}: is no time stamp of {ENVELOPE}")
            self.notes.append(
                f"{STAMP} names {ENVELOPE}; who made it was not checked: see the README for `openssl ts`"
            )
        if self.claim is not None and not faults:
            self.hashing = Hashing(self.tree, self.sums, int(self.claim.predicate["package"]["bytes"]))
        beside = ", ".join(name for name in UNLISTED if name in here)
        says = f"{SUMS} lists {number_of(len(self.sums), 'file')}: all but {beside}; package {self.package}"
        return says, faults

    def all_files(self) -> tuple[str, Iterable[str]]:
        """Every listed file has the hash of its line."""
        said = self._claim().predicate["package"]
        size = sum(self.tree.files[name].size for name in self.sums)
        wrong = self.hashing.differing(self.progress) if self.hashing is not None else []
        faults = [f"{name}: is not the file that {SUMS} lists" for name in wrong]
        if said != {"files": len(self.sums), "bytes": size}:
            faults.append(f"there are {size} bytes in {len(self.sums)} files; the statement says {said}")
        return f"{size} bytes, and each file has the SHA-256 of its line", faults

    def read_ledger(self) -> tuple[str, Iterable[str]]:
        """The ledger's chain and its signatures hold."""
        content = self.tree.read(LEDGER)
        # What is not listed by its hash is not parsed.
        if sha256(content) != self.sums.get(LEDGER):
            raise Wrong(f"{LEDGER}: is not the file that {SUMS} lists")
        self.ledger = read_ledger(content)
        signed = sum(b'"sig":' in line for line in content.splitlines())
        return f"{len(self.ledger.lines)} lines, each naming the one before; {signed} are signed", ()

    def signature(self) -> tuple[str, Iterable[str]]:
        """The statement is signed by a key that the ledger lets sign, over this manifest and this ledger."""
        ledger = self._ledger()
        claim = self._claim()
        refuse_other_release(claim, ledger, self.package, None)
        if claim.predicate["ledger"]["lines"] != len(ledger.lines):
            raise Wrong(f"{LEDGER}: is not the one that was signed: lines were added")
        if claim.predicate["at"] < ledger.lines[-1].at:
            raise Wrong(f"{ENVELOPE}: says that it was made before the last line of its ledger")
        key = ledger.keys[claim.keyid]
        body = b"".join(
            line for line in self.tree.read(KEY).splitlines() if b"-" not in line and b" " not in line
        )
        if base64.b64decode(body)[-32:] != key.raw:
            raise Wrong(f"{KEY}: is not the key that signed")
        due = claim.predicate["next_due"]
        if due is not None:
            self.notes.append(f"the next release is due on {due[:10]}: from then on, ask for a newer one")
        return f"release {claim.predicate['release']}, signed by '{key.name}', key {claim.keyid}", ()

    def chain(self) -> tuple[str, Iterable[str]]:
        """The ledger names every release before this one, and each of them is what it says."""
        ledger = self._ledger()
        self.earlier = earlier_releases(self.tree, ledger)
        last = self.earlier[-1] if self.earlier else None
        expected = {"release": last.name, "package": last.package} if last else None
        if self._claim().predicate["previous"] != expected:
            raise Wrong(f"{ENVELOPE}: names another previous release than the ledger")
        stray = {n.split("/")[1] for n in self.tree.files if n.startswith("previous/")} - {
            r.name for r in self.earlier
        }
        faults = [f"previous/{name}: is a release that the ledger does not name" for name in sorted(stray)]
        return (
            f"{number_of(len(self.earlier), 'earlier release')}, each named by the ledger with its hash",
            faults,
        )

    def rows(self) -> tuple[str, Iterable[str]]:
        """What is private is what was committed to: batches, earlier lists, and the counts that were signed."""
        ledger, faults = self._ledger(), []
        for name, signed in sorted(self._claim().predicate["benchmarks"].items()):
            bench = read_bench(self.tree, ledger, name)
            self.benches.append(bench)
            self.notes += left_passages(bench)
            faults += [
                f"{name}: {fault}" for fault in (*row_faults(bench), *list_faults(bench, self.earlier))
            ]
            cells = Counter(cell_name(row["cell"]) for row in bench.sealed.values())
            found = {
                "closings": len(bench.splits),
                "private": len(bench.sealed),
                "cells": dict(cells),
                "root": bench.root(bench.sealed),
            }
            if found != signed:
                faults.append(
                    f"{name}: its sealed items are not the {signed.get('private')} that were signed"
                )
        others = {str(line.event["benchmark"]) for line in ledger.lines if line.event.get("benchmark")}
        for name in sorted(others - {bench.name for bench in self.benches}):
            self.notes.append(
                f"the ledger also speaks of '{name}', of which nothing was checked: it is not in here"
            )
        sealed = sum(len(bench.sealed) for bench in self.benches)
        batches = sum(len(bench.batches) for bench in self.benches)
        said = f"{number_of(sealed, 'sealed item')}, {number_of(batches, 'batch')}"
        return f"{said}; counts per cell and Merkle roots are those signed", faults

    def openings(self) -> tuple[str, Iterable[str]]:
        """Every opened item is the one that was committed to, and stands in the open layer as it was opened."""
        faults = [
            fault
            for b in self.benches
            for fault in (*opening_faults(b), *open_layer_faults(b, self.tree), *flat_faults(b, self.tree))
        ]
        opened = sum(len(items) for bench in self.benches for items in bench.openings.values())
        told = "; ".join(filter(None, (checked_against(bench, self.earlier) for bench in self.benches)))
        return f"{number_of(opened, 'opened item')} checked against what was committed to" + (
            f": {told}" if told else ""
        ), faults

    def draws(self) -> tuple[str, Iterable[str]]:
        """Every draw was repeated, from the freeze and the public randomness."""
        faults: list[str] = []
        done, waiting = 0, 0
        for bench in self.benches:
            faults += order_faults(self.tree, self._ledger(), bench)
            rounds = {line.event["round"] for line in bench.freezes} | {
                line.event["round"] for line in bench.splits
            }
            for name in sorted(rounds):
                number = int(name.rpartition("/")[2])
                try:
                    faults += closing_faults(self.tree, self._ledger(), bench, number)
                    if number <= len(bench.splits):
                        self.notes += human_notes(self.tree, bench, number)
                except Wrong as wrong:
                    faults.append(str(wrong))
                times = sum(line.event["round"] == name for line in bench.freezes)
                if times > 1:
                    self.notes.append(f"{name} was frozen {times} times: its draw could be picked among them")
                if number > len(bench.splits):
                    waiting += 1
                    continue
                done += 1
                if f"{bench.folder(number)}/freeze.tsr" not in self.tree.files:
                    self.notes.append(
                        f"{name}: no time stamp, so nothing shows that it was frozen before its draw"
                    )
        frozen = f"; {waiting} frozen and not drawn yet" if waiting else ""
        return f"{number_of(done, 'draw')} repeated, with the same result{frozen}", faults

    def trust_key(self) -> tuple[str, Iterable[str]]:
        """The signing key is the one that the reader trusts, or was let in by it."""
        wanted, keyid = str(self.fingerprint).lower(), self._claim().keyid
        if not descends(self._ledger(), keyid, wanted):
            raise Wrong(f"signed by key {keyid}, which is not {wanted} and was not let in by it")
        self.trusted = True
        return (
            "signed by" if keyid == wanted else "signed by a key let in by"
        ) + " the key that you trust", ()

    def trust_previous(self) -> tuple[str, Iterable[str]]:
        """Each release that the reader trusts is this one, or one before it in an unbroken line."""
        known = {self.package, *(release.package for release in self.earlier)}
        said = []
        for tree in self.trees:
            if tree.faults:
                raise Wrong(f"{tree.where}: {tree.faults[0]}")
            content = tree.read(SUMS)
            sums, older = read_sums(content, f"{tree.where}/{SUMS}"), tree.read(LEDGER)
            if sha256(older) != sums.get(LEDGER):
                raise Wrong(f"{tree.where}: its ledger is not the one that its {SUMS} lists")
            if not self._ledger().content.startswith(older):
                newer = older.startswith(self._ledger().content)
                what = (
                    "is newer than this release: an old one was put in its place"
                    if newer
                    else (
                        "has a ledger that this one's does not begin with: history was rewritten, or it is another's"
                    )
                )
                raise Wrong(f"{tree.where}: {what}")
            if sha256(content) not in known:
                raise Wrong(f"{tree.where}: is no release that this one's ledger names")
            said.append(tree.where)
        self.trusted = True
        return f"goes on from {', '.join(said)}, which you trust", ()

    def _ledger(self) -> Ledger:
        if self.ledger is None:
            raise Wrong(f"{LEDGER}: was not read")
        return self.ledger

    def _claim(self) -> Claim:
        if self.claim is None:
            raise Wrong(f"{ENVELOPE}: was not read")
        return self.claim

    def outcome(self) -> Outcome:
        """What all checks come to."""
        verdict = "failed" if not self.held else "authentic" if self.trusted else "integrity only"
        held = {check.name for check in self.checks if check.status == "ok"}
        return Outcome(
            where=self.tree.where,
            release=str(self.claim.predicate.get("release")) if self.claim and "signature" in held else None,
            package=self.package or None,
            key=self.claim.keyid if self.claim and "signature" in held else None,
            checks=tuple(self.checks),
            verdict=verdict,
            proved=tuple(self._proved(held)) if verdict != "failed" else (),
            unproved=tuple(self._unproved(verdict)),
            notes=tuple(self.notes) if verdict != "failed" else (),
        )

    def _proved(self, held: set[str]) -> Iterator[str]:
        who = "the holder of the key that you trust" if self.trusted else "whoever holds the key inside"
        yield f"Every byte is as {who} released it (files, manifest, signature)."
        yield "The ledger was not rewritten since the releases it names (ledger, earlier)."
        if any(bench.rows for bench in self.benches):
            yield (
                "The sealed items were fixed when the ledger says, and what opened is what was sealed"
                " (commitments, openings)."
            )
        if any(bench.splits for bench in self.benches):
            yield "Nobody chose what opened once the freeze was signed: the draw gives the same items (draws)."
        if "previous" in held:
            yield "It is not older than the release that you trust (previous)."

    def _unproved(self, verdict: str) -> Iterator[str]:
        if verdict == "failed":
            yield "Nothing: trust no file of it until each failure is explained."
            return
        if not self.trusted:
            yield (
                "Whose it is: the key and this program came with it. Give --key FINGERPRINT, or --previous with a"
                " release that you trust."
            )
        if "previous" not in {check.name for check in self.checks}:
            yield "That there is no newer release."
        yield "That whoever holds the key is honest, or that runs which were never logged did not happen."
        if any(bench.splits for bench in self.benches):
            yield (
                "That the share and the caps of a freeze are those of the rules: `lacre round audit` compares them."
            )
            yield (
                "The randomness itself: compare it with what drand or Caixa published, and time stamps with"
                " `openssl ts -verify`."
            )


def _silent(done: int, total: int) -> None:
    """Progress that nobody watches."""


def verify(
    place: Place,
    *,
    key: str | None = None,
    previous: Sequence[Place] = (),
    progress: Callable[[int, int], None] = _silent,
) -> Outcome:
    """Everything that can be checked about a release in a folder or a tar.

    Args:
        key: fingerprint of the key that must have signed, or have let in the one that did.
        previous: releases that are trusted; this one must go on from each of them.
        progress: told the bytes that were hashed, and all there are.
    """
    try:
        tree, trusted = tree_of(place), [tree_of(each) for each in previous]
    except Wrong as wrong:
        inspection = Inspection(Tree(str(place), {}, (str(wrong),)), None, (), progress)
        inspection.check("names", inspection.names)
        return inspection.outcome()
    inspection = Inspection(tree, key, trusted, progress)
    collecting = gc.isenabled()
    gc.disable()  # nothing here goes in circles, and millions of records would be looked through again and again
    try:
        inspection.run()
    finally:
        if collecting:
            gc.enable()
    return inspection.outcome()


# 11 The command.


def told(outcome: Outcome) -> str:
    """An outcome as lines for people: one for each check, then what is proved and what is not."""
    lines = [f"{outcome.where}"]
    for check in outcome.checks:
        lines.append(
            f"  {'FAILED' if check.status == 'failed' else check.status:<9}{check.name:<13}{check.says}".rstrip()
        )
        lines += [f"{'':11}{fault}" for fault in check.faults[:_LONGEST_LIST]]
        if len(check.faults) > _LONGEST_LIST:
            lines.append(f"{'':11}and {len(check.faults) - _LONGEST_LIST} more")
    for title, sentences in (
        ("Proved", outcome.proved),
        ("Not proved", outcome.unproved),
        ("Note", outcome.notes),
    ):
        lines += ["", f"{title}:"] * bool(sentences) + [f"  {sentence}" for sentence in sentences]
    return "\n".join([*lines, "", outcome.verdict if outcome.verdict != "failed" else "FAILED"])


def as_json(outcome: Outcome) -> Json:
    """An outcome as JSON."""
    plain = {name: getattr(outcome, name) for name in outcome.__dataclass_fields__ if name != "checks"}
    plain["checks"] = [
        {"name": c.name, "status": c.status, "says": c.says, "faults": list(c.faults)} for c in outcome.checks
    ]
    return plain


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify what the command line names, and print what was found."""
    parser = argparse.ArgumentParser(
        prog="verify.py",
        description="Verify a release: exit 0 authentic, 1 integrity only, 3 something does not hold.",
    )
    here = Path(__file__).resolve().parent
    parser.add_argument(
        "place", nargs="?", default=here, metavar="DIR|TAR", help="the release; this folder if not given"
    )
    parser.add_argument(
        "--key", metavar="FINGERPRINT", help="who must have signed: 64 hex digits, known from elsewhere"
    )
    parser.add_argument(
        "--previous",
        action="append",
        default=[],
        metavar="DIR|TAR",
        help="a release that you trust; again for more",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    chosen = parser.parse_args(arguments)
    if chosen.key is not None and not re.fullmatch("[0-9a-fA-F]{64}", chosen.key):
        parser.error("--key: a fingerprint has 64 hex digits")
    outcome = verify(chosen.place, key=chosen.key, previous=chosen.previous)
    sys.stdout.write(
        json.dumps(as_json(outcome), indent=2, ensure_ascii=False) if chosen.json else told(outcome)
    )
    sys.stdout.write("\n")
    return outcome.exit_code


if __name__ == "__main__":
    sys.exit(main())
