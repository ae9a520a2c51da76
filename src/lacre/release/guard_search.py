"""Looking through the bytes of one public file for what is wanted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from lacre.overlap.kernel import PAD
from lacre.overlap.runs import Buffers, Scratch, word_runs
from lacre.overlap.sheets import wide
from lacre.registry.rules import GuardRules
from lacre.release.encoded import from_base64, from_hex
from lacre.release.guard_marks import (
    address,
    few,
    few_rows,
    is_cpf,
    is_table_of_results,
    line_about,
    linked,
    stretch,
)
from lacre.release.guard_wanted import Wanted, image_sha256
from lacre.release.pictures import is_picture
from lacre.release.readings import columns, hidden, is_json, is_records, json_values, reread, valid, windows
from lacre.release.survey import CPF, ELEVEN, ID, MAIL, encoded, short_runs, survey, unquote
from lacre.release.survey_kernel import Bytes, Places
from lacre.release.unpack import Budget, Unopened, is_text, may_open, pieces

TEXT, SHORT, IMAGE, NONCE = "text", "short item", "image", "nonce"
NAMED_ID, NAME, MAILED, TAXED = "id beside text", "reviewer's name", "e-mail address", "CPF"
SMALL, CLOSED = "too few items", "not opened"
KEY, RECORD = "secret key", "private record"
"""Kinds of hits."""

PROGRAM = "code/"  # where a release keeps the program, which nobody's review is about
MOST_DEPTH = 6  # encodings within encodings
LEAST_IMAGE = 64  # bytes; no picture is smaller
WHOLE = 64 << 20  # bytes of JSON that are read whole, where no line of it is a record
_HEX = re.compile(rb"[0-9A-Fa-f\s]+")
_SECRET_KEY = re.compile(
    rb"AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{40}|-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----\s+[A-Za-z0-9+/=\r\n]{40}"
)
_PRIVATE_LAYER = re.compile(rb'"layer"\s*:\s*"private"')
_PAYLOAD = re.compile(rb'"payload"\s*:\s*\{')
_LONG_HEX = re.compile(rb"(?:[0-9A-Fa-f]\s*){64,}")
_NONCE = 64  # hex digits


class Seen(NamedTuple):
    """Something found: in which member, of which item ("" for none), of what kind, and why it was not opened."""

    member: str
    item: str
    kind: str
    why: str = ""


class Search:
    """The search of one file. What it finds is in :attr:`seen`, each thing once, never with its text."""

    def __init__(self, wanted: Wanted, rules: GuardRules, scratch: Scratch) -> None:
        self.wanted = wanted
        self.rules = rules
        self.scratch = scratch
        self.seen: set[Seen] = set()
        self.members = 0
        self.linking = True
        self.is_program = False
        self.tells_private = False  # whether the present piece names the private layer
        self.budget = Budget()

    def file(self, name: str, content: bytes) -> None:
        """Look through a file: its name, its bytes, and all that it holds."""
        # The ledger names items beside reasons by design, and a program has its examples of people and ids. The text
        # of both is looked through as all text is.
        self.is_program = name.startswith(PROGRAM)
        self.linking = not self.is_program and name.rpartition("/")[2] != "ledger.jsonl"
        self.text(valid(name.encode("utf-8", "surrogateescape")), "", 0)
        self.open(content, "", name, 0)

    def is_private(self, name: str) -> bool:
        """Whether a name is itself a leak, so that no message may quote it."""
        apart = Search(self.wanted, self.rules, self.scratch)
        apart.text(valid(name.encode("utf-8", "surrogateescape")), "", 0)
        return any(seen.kind != MAILED for seen in apart.seen)

    def open(self, content: bytes, member: str, name: str, depth: int) -> None:
        """Look through bytes and what they hold. ``name``: by which the kind of text is told where bytes do not."""
        for piece in pieces(content, member, self.budget, depth):
            self.members += 1
            if isinstance(piece, Unopened):
                self.seen.add(Seen(piece.member, "", CLOSED, piece.reason))
                continue
            if piece.whole:
                self.image(piece.content, piece.member)
            if not piece.text:
                self.raw_nonces(piece.content, piece.member)
                continue
            self.tells_private = False
            for part in windows(piece.content):
                self.text(part, piece.member, depth, name=piece.member or name, whole=piece.content)
            for part in hidden(piece.content):
                self.text(part, piece.member, depth)
            if piece.whole:
                self.cells(piece.content, piece.member, piece.member or name)
            self.columns(piece.content, piece.member, piece.member or name)

    def columns(self, content: bytes, member: str, name: str) -> None:
        """Text that is cut into words, one to a record or a row."""
        table = name.lower().endswith((".csv", ".tsv"))
        if len(content) <= WHOLE and (table or content[:1] in (b"{", b"[")):
            for text in columns(content, table=table):
                self.words(np.frombuffer(text, np.uint8), member)

    def image(self, content: bytes, member: str) -> None:
        """Whether these bytes are those of a private image."""
        if self.wanted.images and len(content) >= LEAST_IMAGE:
            item = self.wanted.images.get(image_sha256(content))
            if item is not None:
                self.seen.add(Seen(member, item, IMAGE))

    def raw_nonces(self, content: bytes, member: str) -> None:
        """Whether 32 bytes in a row are a nonce."""
        if len(content) < 32 or not self.wanted.nonces:
            return
        eights = wide(np.frombuffer(content, np.uint8))
        for place in np.flatnonzero(np.isin(eights, self.wanted.beginnings)).tolist():
            item = self.wanted.nonces.get(content[place : place + 32])
            if item is not None:
                self.seen.add(Seen(member, item, NONCE))

    def text(self, part: bytes, member: str, depth: int, *, name: str = "", whole: bytes = b"") -> None:
        """Look through a text in UTF-8: as it is, without its escapes, and what it holds encoded."""
        content = np.frombuffer(part, np.uint8)
        found = survey(content, self.wanted.ids)
        self.marks(part, found.marks, member, name, whole)
        self.short_ids(part, member, name)
        self.structure(part, member)
        if found.escaped.size and is_records(part):
            # What the records say is their text: read as they stand, each escape would part two words.
            content = unquote(content)
            found = survey(content, self.wanted.ids)
            self.people(content.tobytes(), found.marks, member)
        self.words(content, member)
        self.decoded(content, encoded(content), member, depth)
        if found.escaped.size:
            again = np.frombuffer(reread(content, found.escaped), np.uint8)
            self.words(again, member)
            self.decoded(again, encoded(again), member, depth)
            self.people(again.tobytes(), survey(again, self.wanted.ids).marks, member)

    def words(self, content: Bytes, member: str) -> None:
        """Runs of eight words, short items, names."""
        pages = Buffers(content, np.array([0, content.size], np.int64))
        read = word_runs(self.wanted.index, pages, self.scratch)
        for run in read.runs:
            if self.wanted.is_secret(run):
                kind = SHORT if self.wanted.is_short(run.item) else TEXT
                self.seen.add(Seen(member, self.wanted.index.sheets.items[run.item].item, kind))
        if self.wanted.table.firsts.size:
            for number in short_runs(self.scratch.words[0][PAD : PAD + read.words], self.wanted.table):
                item = self.wanted.owners[number]
                if item is None and self.is_program:
                    continue
                self.seen.add(Seen(member, item or "", NAME if item is None else SHORT))

    def marks(self, part: bytes, marks: Places, member: str, name: str, whole: bytes) -> None:
        """Ids beside text, and people."""
        self.people(part, marks, member)
        if not self.linking:
            return
        names = self.wanted.index.sheets.items
        lines: dict[tuple[int, int], dict[str, int]] = {}
        for kind, start, end, number in marks.tolist():
            if kind == ID:
                lines.setdefault(line_about(part, start, end), {})[names[number].item] = start
        table = name.lower().endswith((".csv", ".tsv"))
        for (low, high), ids in lines.items():
            for item in self.linked(part[low:high], ids, table=table, whole=whole, part=part):
                self.seen.add(Seen(member, item, NAMED_ID))

    def linked(
        self, line: bytes, ids: dict[str, int], *, table: bool, whole: bytes, part: bytes
    ) -> Iterable[str]:
        """The ids that stand beside text: in their record where the text is made of records, else in their line."""
        record = line.strip().startswith((b"{", b"["))
        if not record and not table and whole[:1] in (b"{", b"[") and len(whole) <= WHOLE:
            record, line = is_json(whole), whole
        if record or table:
            return linked(line, ids.keys(), table=table)
        return [
            item
            for item, start in ids.items()
            if linked(stretch(part, start, start + len(item)), {item}, table=False)
        ]

    def structure(self, part: bytes, member: str) -> None:
        """Secret keys, and records that say of themselves that they are private: known without any vault."""
        if (b"AGE-SECRET-KEY-" in part or b"PRIVATE KEY--" in part) and _SECRET_KEY.search(part):
            self.seen.add(Seen(member, "", KEY))
        if b'"private"' not in part:
            return
        self.tells_private = True
        if b'"payload"' in part:
            for match in _PRIVATE_LAYER.finditer(part):
                low, high = line_about(part, match.start(), match.end())
                if _PAYLOAD.search(part, low, high):
                    self.seen.add(Seen(member, "", RECORD))
                    return

    def short_ids(self, part: bytes, member: str, name: str) -> None:
        """Ids too short to stand out in running text: as a value of a record, or a cell, only."""
        if not self.wanted.short_ids or not self.linking:
            return
        table = name.lower().endswith((".csv", ".tsv"))
        for line in part.split(b"\n"):
            if table or line.lstrip()[:1] in (b"{", b"["):
                for item in linked(line, self.wanted.short_ids, table=table):
                    self.seen.add(Seen(member, item, NAMED_ID))

    def people(self, part: bytes, marks: Places, member: str) -> None:
        """Addresses and CPFs."""
        if self.is_program:
            return
        public = self.wanted.public
        for kind, start, end, _ in marks.tolist():
            if kind == MAIL and address(part, start, public):
                self.seen.add(Seen(member, "", MAILED))
            elif (kind == CPF and is_cpf(part[start:end], public)) or (
                kind == ELEVEN
                and b"cpf" in part[max(0, start - 40) : start].lower()
                and is_cpf(part[start:end], public)
            ):
                self.seen.add(Seen(member, "", TAXED))

    def decoded(self, content: Bytes, runs: Places, member: str, depth: int) -> None:
        """What runs of base64 or hex digits stand for."""
        if depth >= MOST_DEPTH:
            if len(runs):
                self.seen.add(Seen(member, "", CLOSED, f"encoded more than {MOST_DEPTH} deep"))
            return
        texts: list[bytes] = []
        for start, end in runs.tolist():
            run = content[start:end].tobytes()
            for digits in _LONG_HEX.findall(run) if len(run) >= _NONCE else ():
                self.hex_nonces(digits, member)
            if _HEX.fullmatch(run):
                whole = from_hex(run)
                read: Iterator[bytes] | list[bytes] = [whole] if len(whole) != 32 else []
            else:
                read = from_base64(run)
            for plain in read:
                self.raw_nonces(plain, member)
                if may_open(plain):
                    self.open(plain, f"{member}/encoded".lstrip("/"), "", depth + 1)
                elif is_text(plain):
                    texts += [valid(plain), *hidden(plain)]
                elif not is_picture(plain):
                    self.image(plain, member)
        if texts:
            self.text(b"\n\n".join(texts), f"{member}/encoded".lstrip("/"), depth + 1)

    def hex_nonces(self, run: bytes, member: str) -> None:
        """Whether 64 hex digits in a row are a nonce."""
        digits = b"".join(run.split()).lower()
        for start in range(len(digits) - _NONCE + 1):
            item = self.wanted.nonces.get(from_hex(digits[start : start + _NONCE]))
            if item is not None:
                self.seen.add(Seen(member, item, NONCE))

    def cells(self, content: bytes, member: str, name: str) -> None:
        """Results that rest on too few private items."""
        table = name.lower().endswith((".csv", ".tsv"))
        if len(content) > WHOLE or not (is_table_of_results(content) if table else self.tells_private):
            return
        small = 0
        if table:
            small = few_rows(content.decode("utf-8", "replace").splitlines(), self.rules)
        elif content.lstrip()[:1] in (b"{", b"["):
            small = sum(few(value, self.rules) for value in json_values(content))
        if small:
            self.seen.add(Seen(member, "", SMALL))
