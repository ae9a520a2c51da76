"""Items, documents and the slow, plain search that the index must agree with."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache

import pyarrow as pa

from lacre.overlap.index import ItemIndex, index_items
from lacre.overlap.runs import Run, Scratch, runs
from lacre.overlap.sheets import Field, Presented
from lacre.text import words

_SYLLABLES = "ba,ce,di,fo,gu,la,me,ni,po,ru,sa,te,vi,xo,zu,ção,nhã,lê,fí,mó,rú,cá"
SYLLABLES = tuple(_SYLLABLES.split(","))
FILLER = ["kwonk", "kwirl", "kwump", "kwast", "kwelt", "kwyx"]


def item(
    stem: str,
    options: Sequence[str] = (),
    *,
    name: str = "item",
    passage: str | None = None,
    own: bool = True,
    asides: Sequence[str] = (),
) -> Presented:
    """An item as its fields: passage, stem, options lettered from A, asides."""
    fields = [] if passage is None else [Field(name="passage", text=passage, own=own, prompt=own)]
    fields.append(Field(name="stem", text=stem, prompt=True))
    fields += [
        Field(name=f"option:{letter}", text=text, letter=letter)
        for letter, text in zip("ABCDEFGH", options, strict=False)
    ]
    fields += [Field(name=f"expected:{k}", text=text, aside=True) for k, text in enumerate(asides)]
    return Presented(item=name, fields=tuple(fields))


def index_of(
    *items: Presented, min_words: int = 5, min_bits: float = 0, rare_min_words: int = 8
) -> ItemIndex:
    return index_items(items, min_words=min_words, min_bits=min_bits, rare_min_words=rare_min_words)


def found(index: ItemIndex, *documents: str, align_from: float = 0.75) -> list[Run]:
    """Everything found, rarest sentences included."""
    text = pa.array(documents, pa.large_string())
    return runs(index, text, Scratch.make(), align_from=align_from).runs


def overlaps(index: ItemIndex, *documents: str) -> list[Run]:
    return [run for run in found(index, *documents) if not run.sentence]


def sentences_found(index: ItemIndex, *documents: str, align_from: float = 0.75) -> list[Run]:
    return [run for run in found(index, *documents, align_from=align_from) if run.sentence]


def matched(document: str, run: Run) -> str:
    return document.encode()[run.start : run.end].decode()


def made_up(chance: random.Random, count: int) -> list[str]:
    """Words that no other text has, some with accents."""
    return ["".join(chance.choices(SYLLABLES, k=chance.randint(3, 5))) for _ in range(count)]


def filler(chance: random.Random, most: int = 30) -> str:
    return " ".join(chance.choices(FILLER, k=chance.randint(0, most)))


@lru_cache(maxsize=1 << 16)
def folded(text: str) -> tuple[str, ...]:
    return tuple(word.folded for word in words(text))


def sequences(shown: Presented, letters: int) -> list[list[tuple[str, bool]]]:
    """The item as presented and each aside: (folded word, whether it counts), with letters, doubled, or none."""
    presented: list[tuple[str, bool]] = []
    alone: list[list[tuple[str, bool]]] = []
    for field in shown.fields:
        of_field = [(word, True) for word in folded(field.text)]
        if field.aside:
            alone.append(of_field)
            continue
        if field.letter and letters:
            presented.append((field.letter.lower() * letters, False))
        presented += of_field
    return [presented, *alone]


def longest_run(shown: Presented, document: str, letters: int) -> int:
    """The most item words in a row that the document has, with a letter among them; 0 below the least."""
    least = min(8, len([1 for _, counts in sequences(shown, 0)[0] if counts]))
    read = folded(document)
    best = 0
    for sequence in sequences(shown, letters):
        for begin in range(len(sequence)):
            for at in range(len(read)):
                size = 0
                while (
                    begin + size < len(sequence)
                    and at + size < len(read)
                    and sequence[begin + size][0] == read[at + size]
                ):
                    size += 1
                covered = [word for word, counts in sequence[begin : begin + size] if counts]
                if len(covered) >= least and any(any(c.isalpha() for c in word) for word in covered):
                    best = max(best, len(covered))
    return best
