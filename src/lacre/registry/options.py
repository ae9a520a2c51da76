"""Options and keys as people write them: lists, objects, lettered text; letters, labels, texts, indices."""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any, NamedTuple

import msgspec

_LABELS = ("label", "letter", "letra", "id", "key", "option", "alternativa")
_TEXTS = ("text", "texto", "value", "content", "conteudo", "conteúdo", "description")
# Marks of a lettered list, the safest first; `{}` is the letter.
_MARKS = (r"\({}\)", r"{}\)", r"{}\.(?!\w)", r"{}\s*[-–—](?=\s)", r"{}:")
_ANNULLED = re.compile(r"anulad[ao]s?|anulou-se|annulled", re.IGNORECASE)
_LETTER = re.compile(r"(?:(?:letra|alternativa|opção|opcao)\s+)?[(\[]?([A-Z])[)\].:]*", re.IGNORECASE)
_FORMS = "Write a list, an object letter -> text, or text such as '(A) ... (B) ...'"


class OptionsError(ValueError):
    """Options in a form that is not understood; the message says what is wrong and what to do."""


class Options(NamedTuple):
    """Options by letter, and the letter that each label of the source stands for."""

    texts: dict[str, str]
    labels: dict[str, str]


NO_OPTIONS = Options({}, {})


def parse_options(value: Any) -> Options | None:
    """Options in any usual form, none when the item has no options column or an empty cell: an open item.

    A list of texts (none is an option that is an image); an object letter -> text; a list of objects with a
    label and a text; an object of two lists, ``text`` and ``label``; any of these as JSON or as Python writes
    it; text such as ``(A) um (B) dois``, or ``a)``, ``A.``, ``A -``, ``A:`` each on a line, or simply a line
    each. An option that repeats its own letter loses it.

    >>> parse_options("a) um\\nb) dois").texts
    {'A': 'um', 'B': 'dois'}
    >>> parse_options({"text": ["um", "dois"], "label": ["1", "2"]})
    Options(texts={'A': 'um', 'B': 'dois'}, labels={'1': 'A', '2': 'B'})

    Raises:
        OptionsError: the form is not understood.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, str):
        value = _unquoted(value)
    if isinstance(value, Mapping):
        pairs = _pairs_of_object(value)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        pairs = _pairs_of_list(value)
    else:
        raise OptionsError(f"options are neither text, a list nor an object. {_FORMS}")
    return _lettered(pairs)


def columns_as_options(texts: Sequence[Any]) -> Options | None:
    """Options that stand in a column each; empty ones at the end do not exist."""
    kept = _without_empty_end([(None, _text(text)) for text in texts])
    return _lettered(kept) if any(text for _, text in kept) else None


def _unquoted(text: str) -> Any:
    """The value written in a text: JSON, a Python list or object, a lettered text, or lines."""
    if text.lstrip()[:1] in ("[", "{"):
        try:
            return msgspec.json.decode(text)
        except msgspec.DecodeError:
            pass
        try:
            return ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            pass
    found = lettered_text(text)
    if found:
        return found
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) < 2:
        raise OptionsError(f"options are one text without letters. {_FORMS}")
    return lines


def lettered_text(text: str) -> dict[str, str]:
    """Options of a text such as ``(A) um (B) dois``; empty when it is not lettered from A on.

    >>> lettered_text("A. um\\nB. dois (b) e meio")
    {'A': 'um', 'B': 'dois (b) e meio'}
    """
    text = text.strip()
    for start in (r"(?:^|\n)[ \t]*", r"(?:^|(?<=\s))"):
        for mark in _MARKS if "\\n" in start else _MARKS[:2]:
            for letters in (ascii_uppercase, ascii_uppercase.lower()):
                found = _marked(text, start + mark, letters)
                if len(found) > 1:
                    return found
    return {}


def _marked(text: str, pattern: str, letters: str) -> dict[str, str]:
    """The texts between marks that follow each other from the first letter, which must open the text."""
    marks: list[re.Match[str]] = []
    for letter in letters:
        mark = re.compile(pattern.format(letter)).search(text, marks[-1].end() if marks else 0)
        if mark is None or (not marks and mark.start() > 0):
            break
        marks.append(mark)
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return {
        letter.upper(): text[mark.end() : end].strip()
        for letter, mark, end in zip(letters, marks, ends, strict=False)
    }


_Pair = tuple[str | None, str]


def _pairs_of_object(value: Mapping[Any, Any]) -> list[_Pair]:
    names = {str(name).lower(): name for name in value}
    texts = next((value[names[name]] for name in (*_TEXTS, "texts", "choices") if name in names), None)
    if isinstance(texts, Sequence) and not isinstance(texts, str):
        labels = next(
            (value[names[name]] for name in (*_LABELS, "labels") if name in names), [None] * len(texts)
        )
        if len(labels) != len(texts):
            raise OptionsError(f"{len(labels)} labels for {len(texts)} options. Give each option its label")
        return [
            (None if label is None else str(label), _text(text))
            for label, text in zip(labels, texts, strict=True)
        ]
    # A table with a column for each letter writes the ones an item does not have as none.
    return _without_empty_end([(str(label), _text(text)) for label, text in value.items()])


def _pairs_of_list(value: Sequence[Any]) -> list[_Pair]:
    pairs: list[_Pair] = []
    for option in value:
        if not isinstance(option, Mapping):
            pairs.append((None, _text(option)))
            continue
        names = {str(name).lower(): name for name in option}
        text = next((option[names[name]] for name in _TEXTS if name in names), None)
        label = next((option[names[name]] for name in _LABELS if name in names), None)
        if label is None and text is None and len(option) == 1:
            label, text = next(iter(option.items()))
        elif not any(name in names for name in _TEXTS):
            raise OptionsError("an option has no text. Call it 'text', and its letter 'label'")
        pairs.append((None if label is None else str(label), _text(text)))
    return pairs


def _without_empty_end(pairs: list[_Pair]) -> list[_Pair]:
    if not any(text for _, text in pairs):
        return pairs
    while not pairs[-1][1]:
        pairs = pairs[:-1]
    return pairs


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, int | float):
        return str(value)
    raise OptionsError(f"an option is neither text nor a number. {_FORMS}")


def _lettered(pairs: Sequence[_Pair]) -> Options:
    """Options under their letters: their own labels when these are letters, else A, B, C ... in order."""
    if len(pairs) > len(ascii_uppercase):
        raise OptionsError(f"{len(pairs)} options. lacre knows the letters A to Z")
    own = [_LETTER.fullmatch((label or "").strip()) for label, _ in pairs]
    letters = [found[1].upper() for found in own if found]
    if len(letters) != len(pairs):
        letters = list(ascii_uppercase[: len(pairs)])
    elif len(set(letters)) < len(letters):
        raise OptionsError("two options have the same letter. Give each its own")
    labels = {
        label.strip().casefold(): letter
        for letter, (label, _) in zip(letters, pairs, strict=True)
        if label is not None
    }
    texts = dict(sorted((letter, text) for letter, (_, text) in zip(letters, pairs, strict=True)))
    return Options(_without_own_letters(texts), labels)


def _without_own_letters(texts: dict[str, str]) -> dict[str, str]:
    """Options without the letter they repeat: "A) um" and "A  um" under A become "um".

    A bracket is taken for a letter in one option alone; a full stop, a dash or two spaces only when most
    options have them, for an option may begin with the article "A" or with "E. coli".
    """
    loose = {
        letter: found
        for letter, text in texts.items()
        if (found := re.match(rf"{letter}(?:\s*[.:–—-]\s+|[ \t]{{2,}}|\t|\s*\n)", text, re.IGNORECASE))
    }
    if len(loose) < 2 or 2 * len(loose) <= sum(map(bool, texts.values())):
        loose = {}
    stripped: dict[str, str] = {}
    for letter, text in texts.items():
        found = re.match(rf"\(?{letter}\)\s*", text, re.IGNORECASE) or loose.get(letter)
        stripped[letter] = text[found.end() :] if found else text
    return stripped


class Key(NamedTuple):
    """A key: its letter, or that the item was annulled, or what is wrong with it and what to do."""

    letter: str | None = None
    annulled: bool = False
    problem: str | None = None


NO_KEY = Key()


def parse_key(value: Any, options: Options, *, first_index: int | None = None) -> Key:
    """The key of a choice item: a letter in any case, a label, the text of an option, or an index.

    ``first_index`` is the number of the first option, 0 or 1; without it a number is no index. The key's own
    text is never quoted in the problem: it may be private.

    >>> parse_key("b)", parse_options(["um", "dois"])).letter
    'B'
    >>> parse_key("DOIS", parse_options(["um", "dois"])).letter
    'B'
    >>> parse_key(1, parse_options(["um", "dois"]), first_index=0).letter
    'B'
    >>> parse_key("Anulada", parse_options(["um", "dois"])).annulled
    True
    """
    written = "" if value is None else str(value).strip()
    if not written:
        return Key(problem="no key. Write the letter of the right option")
    if _ANNULLED.fullmatch(written):
        return Key(annulled=True)
    if first_index is not None and written.lstrip("-").isdecimal():
        place = int(written) - first_index
        letters = list(options.texts)
        if 0 <= place < len(letters):
            return Key(letter=letters[place])
        return Key(problem=f"key {written} is no index of {len(letters)} options counted from {first_index}")
    if written.casefold() in options.labels:
        return Key(letter=options.labels[written.casefold()])
    letter = _LETTER.fullmatch(written)
    if letter and letter[1].upper() in options.texts:
        return Key(letter=letter[1].upper())
    same = [name for name, text in options.texts.items() if text and _folded(text) == _folded(written)]
    if len(same) == 1:
        return Key(letter=same[0])
    if written.isdecimal():
        return Key(
            problem="the key is a number. If it counts the options, say --key-index 0 or --key-index 1"
        )
    known = ", ".join(options.texts) or "no options"
    return Key(
        problem=f"the key is none of the letters ({known}), nor the text of one option. Correct the key"
    )


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
