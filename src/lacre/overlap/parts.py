"""Items read in parts: what is given, what is asked, what may be answered."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lacre.overlap.sheets import Field, Presented, Sheets
from lacre.text import sentences, words

QUESTION_WORDS = 4  # "Assinale a opção correta." is a question; "Assinale." is not yet one

_LINK = re.compile(r"!\[[^\]]*\]\([^)]*\)|https?://\S+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """One item in parts, as texts; options by letter, those without words left out.

    Attributes:
        bits: information of question and options; ``question_bits`` that of the question.
        folded_body, folded_question, folded_options, folded_sorted: the words of each part joined without blanks,
            so that a word cut in two is no difference; the last, all options in the order of the alphabet.
        question_words, body_words: numbers of the words in the vocabulary.
        coded_body: a character for each word.
    """

    body: str
    question: str
    options: tuple[tuple[str, str], ...]
    bits: float
    question_bits: float
    folded_body: str
    folded_question: str
    folded_options: tuple[str, ...]
    folded_sorted: str
    question_words: frozenset[int]
    body_words: frozenset[int]
    coded_body: str

    @property
    def all_words(self) -> tuple[str, str, tuple[str, ...]]:
        """Every word; equal for items that say the same, whatever the order of their options."""
        return self.folded_body, self.folded_question, tuple(sorted(self.folded_options))


def in_parts(item: Presented) -> Presented:
    """The item with the fields ``body``, ``question``, and its options; links to files left out."""
    body: list[str] = []
    question: list[str] = []
    options: list[Field] = []
    for field in item.fields:
        text = _LINK.sub(" ", field.text)
        if field.aside:
            continue
        if field.name.startswith("option:"):
            options.append(Field(name=field.name, text=text))
        elif field.name == "stem":
            before, asked = _split(text)
            body.append(before)
            question.append(asked)
        elif field.name.startswith("part:"):
            question.append(text)
        else:
            body.append(text)
    asked_fields = (
        Field(name="body", text="\n\n".join(filter(None, body))),
        Field(name="question", text="\n\n".join(filter(None, question))),
    )
    return Presented(item=item.item, fields=(*asked_fields, *options))


def _split(stem: str) -> tuple[str, str]:
    """A stem as what is given, and what is asked: its last sentence, with those before it while it is short."""
    spans = sentences(stem)
    for start, _ in reversed(spans):
        if len(words(stem[start:])) >= QUESTION_WORDS:
            return stem[:start].rstrip(), stem[start:]
    return "", stem


def parts_of(sheets: Sheets, item: int) -> Parts:
    """The parts of one item of sheets that were read from items :func:`in_parts`."""
    first = int(sheets.field_of_item[item])
    fields = sheets.fields[first : int(sheets.field_of_item[item + 1])]
    kinds = [
        sheets.kinds[sheets.bounds[first + k] : sheets.bounds[first + k + 1]].tolist()
        for k in range(len(fields))
    ]
    joined = ["".join(sheets.vocabulary[kind] for kind in field) for field in kinds]
    said = [k for k in range(2, len(fields)) if joined[k]]
    return Parts(
        body=fields[0].text,
        question=fields[1].text,
        options=tuple((fields[k].name.removeprefix("option:"), fields[k].text) for k in said),
        bits=float(sheets.bits[sheets.bounds[first + 1] : sheets.bounds[first + len(fields)]].sum()),
        question_bits=float(sheets.bits[sheets.bounds[first + 1] : sheets.bounds[first + 2]].sum()),
        folded_body=joined[0],
        folded_question=joined[1],
        folded_options=tuple(joined[k] for k in said),
        folded_sorted="".join(sorted(joined[k] for k in said)),
        question_words=frozenset(kinds[1]),
        body_words=frozenset(kinds[0]),
        coded_body="".join(map(_coded, kinds[0])),
    )


def _coded(kind: int) -> str:
    """One character for a word, so that texts can be aligned word by word; surrogates are no characters."""
    return chr(kind if kind < FIRST_SURROGATE else kind + SURROGATES)


FIRST_SURROGATE, SURROGATES = 0xD800, 0x800
