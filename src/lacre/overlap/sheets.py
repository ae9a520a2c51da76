"""Sheets: the items' texts cut into words, all items in one set of flat arrays.

A *field* is one text of an item (stem, an option, the passage, an expected answer). The *sheet* of an item is
its fields in the order in which a reader sees them, then those that a reader does not see ("asides": expected
answers, criteria). Words are numbered through the sheet; option letters are no words of their own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from lacre.overlap.information import bits
from lacre.overlap.kernel import C1, C2, C3, GROWTH, word_spans
from lacre.overlap.table import LETTER, code, fold_table
from lacre.text import words

Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]


class Field(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One text of an item.

    Attributes:
        name: ``passage``, ``stem``, ``option:A``, ``part:a``, ``expected:a`` ...
        text: as written.
        letter: the letter a reader sees before an option, or none.
        own: the item's own words; false for a passage with a declared public source.
        aside: not part of what is presented (expected answers, criteria).
        prompt: part of what is asked, from which the rarest sentence is taken.
    """

    name: str
    text: str
    letter: str | None = None
    own: bool = True
    aside: bool = False
    prompt: bool = False


class Presented(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An item as far as overlap cares: its id and its fields in order, asides last."""

    item: str
    fields: tuple[Field, ...]


class TextWords(NamedTuple):
    """Words of several texts: first word of each text, shape (texts + 1,); mixed hash, byte span in its text."""

    firsts: Places
    hashes: Words
    starts: Places
    ends: Places


@dataclass(frozen=True, kw_only=True, slots=True)
class Sheets:
    """The words of all items, flat.

    Attributes:
        items: the items, in order; ``fields``: all their fields, in order.
        field_of_item: first field of each item, shape (items + 1,).
        word_of_field: first word of each field, shape (fields + 1,).
        hashes: mixed word hashes, shape (words,); ``starts``, ``ends``: byte spans inside the field's UTF-8 text.
        bits: information of each word.
        lettered: whether the word has a letter.
        kinds: number of each word in the vocabulary; ``vocabulary``: its folded form.
        bounds: ``word_of_field`` as a list, in which single look-ups are ten times faster.
    """

    items: Sequence[Presented]
    fields: Sequence[Field]
    field_of_item: Places
    word_of_field: Places
    hashes: Words
    starts: Places
    ends: Places
    bits: npt.NDArray[np.float32]
    lettered: npt.NDArray[np.bool_]
    kinds: npt.NDArray[np.int32]
    vocabulary: Sequence[str]
    bounds: Sequence[int]

    def words_of(self, item: int) -> tuple[int, int]:
        """[first, one past last) word of an item."""
        fields = self.field_of_item
        return int(self.word_of_field[fields[item]]), int(self.word_of_field[fields[item + 1]])

    def presented(self, item: int) -> tuple[int, int]:
        """[first, one past last) word of what a reader sees of an item: asides left out."""
        first, last = int(self.field_of_item[item]), int(self.field_of_item[item + 1])
        while last > first and self.fields[last - 1].aside:
            last -= 1
        return self.bounds[first], self.bounds[last]

    def part(self, first: int, last: int) -> Sheets:
        """The sheets of items [first, last) alone, numbered from 0."""
        fields = slice(int(self.field_of_item[first]), int(self.field_of_item[last]))
        words = slice(int(self.word_of_field[fields.start]), int(self.word_of_field[fields.stop]))
        word_of_field = self.word_of_field[fields.start : fields.stop + 1] - words.start
        return Sheets(
            items=self.items[first:last],
            fields=self.fields[fields],
            field_of_item=self.field_of_item[first : last + 1] - fields.start,
            word_of_field=word_of_field,
            bounds=word_of_field.tolist(),
            hashes=self.hashes[words],
            starts=self.starts[words],
            ends=self.ends[words],
            bits=self.bits[words],
            lettered=self.lettered[words],
            kinds=self.kinds[words],
            vocabulary=self.vocabulary,
        )

    def field_at(self, word: int) -> int:
        """The field that holds a word."""
        return bisect_right(self.bounds, word) - 1

    def source(self, word: int) -> str:
        """A word as written."""
        text = self.fields[self.field_at(word)].text.encode()
        return text[int(self.starts[word]) : int(self.ends[word])].decode()

    def folded(self, word: int) -> str:
        """A word in the folded channel."""
        return self.vocabulary[int(self.kinds[word])]


def words_of_texts(texts: Sequence[bytes]) -> TextWords:
    """The words of many texts. Each text is read alone: no word and no hyphen joins two texts."""
    sizes = np.array([len(text) for text in texts], np.int64)
    return words_of_buffer(
        np.frombuffer(b"".join(texts), np.uint8), np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    )


def words_of_buffer(buffer: npt.NDArray[np.uint8], offsets: Places) -> TextWords:
    """The words of texts that stand in one buffer, at ``offsets`` of shape (texts + 1,)."""
    _, entries, parts = fold_table()
    room = 2 * int(offsets[-1] - offsets[0]) + 128
    # Room for the worst case, which the system only hands out where words are written.
    out, starts, ends = np.empty(room, np.uint64), np.empty(room, np.int64), np.empty(room, np.int64)
    letters = np.empty(GROWTH * int(np.diff(offsets).max(initial=0)) + 128, np.uint8)
    firsts = np.empty(offsets.size, np.int64)
    count = word_spans(buffer, offsets, entries, parts, letters, wide(letters), out, starts, ends, firsts)
    return TextWords(firsts, out[:count].copy(), starts[:count].copy(), ends[:count].copy())


def wide(content: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """The eight bytes from each byte of a buffer as one number, in place; shape (bytes - 7,).

    >>> int(wide(np.array([1, 2, 0, 0, 0, 0, 0, 0, 9], np.uint8))[0])
    513
    """
    size = max(0, content.size - 7)
    return np.ndarray((size,), np.uint64, buffer=content if size else b"", strides=(1,))


def word_hash(folded: str) -> int:
    """The kernel's hash of one folded word, in plain Python.

    >>> word_hash("a") == word_hash("b")
    False
    """
    content = folded.encode()
    size = len(content)
    first = int.from_bytes(content[:8], "little")
    if size <= 8:
        h = (first * _C1 ^ size * _C3) % 2**64
        return h ^ h >> 32
    h = _stirred(first ^ _C1, int.from_bytes(content[-8:], "little") ^ _C2) ^ size * _C3 % 2**64
    for k in range(8, size - 8, 8):
        h = _stirred(h ^ int.from_bytes(content[k : k + 8], "little"), _C1)
    return h


def _stirred(one: int, other: int) -> int:
    product = one * other
    return (product ^ product >> 64) % 2**64


_C1, _C2, _C3 = int(C1), int(C2), int(C3)


def read_sheets(items: Sequence[Presented]) -> Sheets:
    """The sheets of ``items``: every field cut into words, each word with its information in bits."""
    fields = [field for item in items for field in item.fields]
    texts = [field.text.encode() for field in fields]
    word_of_field, hashes, starts, ends = words_of_texts(texts)
    _, first, which = np.unique(hashes, return_index=True, return_inverse=True)
    owner = np.searchsorted(word_of_field, first, side="right") - 1
    sources = [
        texts[field][start:end].decode()
        for field, start, end in zip(
            owner.tolist(), starts[first].tolist(), ends[first].tolist(), strict=True
        )
    ]
    vocabulary = ["".join(word.folded for word in words(source)) for source in sources]
    lettered = [any(code(character) & LETTER for character in word) for word in vocabulary]
    return Sheets(
        items=items,
        fields=fields,
        field_of_item=np.concatenate([[0], np.cumsum([len(item.fields) for item in items])]).astype(np.int64),
        word_of_field=word_of_field,
        bounds=word_of_field.tolist(),
        hashes=hashes,
        starts=starts,
        ends=ends,
        bits=np.array(bits(sources), np.float32)[which],
        lettered=np.array(lettered, np.bool_)[which],
        kinds=which.astype(np.int32),
        vocabulary=vocabulary,
    )
