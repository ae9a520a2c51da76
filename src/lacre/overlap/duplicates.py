"""Near-duplicates among items: pairs that ask the same thing, say almost the same, or share a text.

An item is read in three parts: its *body* (what is given: passage, and the stem before its last sentence), its
*question* (the last sentence of the stem, and sub-questions) and its *options*. Two copies of one item often
differ in how much of the body they carry, so pairs are looked for on question and options, and on the whole.

Candidates come from MinHash signatures of word shingles under locality-sensitive hashing (Broder 1997; Leskovec,
Rajaraman and Ullman, Mining of Massive Datasets, chapter 3), and from runs of words in common; each is then
confirmed by aligning the parts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from lacre.overlap.differences import differing
from lacre.overlap.sheets import Field, Presented, Sheets, read_sheets
from lacre.text import sentences, words

Kind = Literal["copy", "variant", "passage"]

SHINGLE = 3  # words; exam options are short, and longer shingles would find none in them
PERMUTATIONS = 128
BANDS = (64, 2)
"""Bands and rows: a pair with Jaccard similarity s becomes a candidate with probability 1 - (1 - s²)^64: 0.998 at
0.3, 0.93 at 0.2. Confirming is cheap, so recall comes first."""
SEED = 1
CROWDED = 64  # items that share one run of words; past this, neighbours alone are compared
QUESTION_WORDS = 4  # "Assinale a opção correta." is a question; "Assinale." is not yet one

_LINK = re.compile(r"!\[[^\]]*\]\([^)]*\)|https?://\S+")


class Bounds(NamedTuple):
    """When two items are alike.

    Attributes:
        alike: similarity of a part, 0 to 1, from which it counts as the same.
        min_bits: information that the parts in common must carry, in bits, unless all words are equal.
        passage_words: words in a row in two bodies that make a shared passage.
    """

    alike: float
    min_bits: float
    passage_words: int


class Likeness(NamedTuple):
    """How two items are alike.

    Attributes:
        first, second: numbers of the items, the first the smaller.
        question, options, body: similarity of the part, 0 to 1; none when an item has nothing there to compare.
        differences: places at which the parts in common say something else: another word, number or symbol.
        letters: letters of the first item's options -> those of the second that say the same.
        passage: longest run of words in common in the bodies, when it makes a shared passage, else 0.
    """

    first: int
    second: int
    kind: Kind
    question: float | None
    options: float | None
    body: float | None
    differences: int
    letters: tuple[tuple[str, str], ...]
    passage: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """One item in parts, as texts; options by letter, those without words left out.

    ``bits`` is the information of question and options; ``folded`` the words of each part, joined without
    blanks, so that a word cut in two is no difference.
    """

    body: str
    question: str
    options: tuple[tuple[str, str], ...]
    bits: float
    folded_body: str
    folded_question: str
    folded_options: tuple[str, ...]

    @property
    def all_words(self) -> tuple[str, str, tuple[str, ...]]:
        """Every word; equal for items that say the same, whatever the order of their options."""
        return self.folded_body, self.folded_question, tuple(sorted(self.folded_options))


class Compared(NamedTuple):
    """The pairs found among items, and the items that say too little to be compared.

    ``thin`` are numbers of items with too little information: only copies word for word are found of them.
    ``empty`` are numbers of items without any word.
    """

    pairs: tuple[Likeness, ...]
    thin: tuple[int, ...]
    empty: tuple[int, ...]


def compare_all(
    items: Sequence[Presented],
    bounds: Bounds,
    *,
    wanted: Callable[[int, int], bool] = lambda _a, _b: True,
    on_progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> Compared:
    """All pairs of items that are alike, sorted, and what could not be compared.

    Args:
        wanted: whether a pair of numbers matters; others are not confirmed.
        on_progress: called with candidates confirmed, and their number.

    >>> def item(name: str, *texts: str) -> Presented:
    ...     return Presented(item=name, fields=tuple(Field(name=f"option:{n}" if n else "stem", text=text)
    ...         for n, text in zip(("", "A", "B"), texts)))
    >>> first = item("a", "Quantas patas tem a aranha do corredor?", "Seis patas.", "Oito patas.")
    >>> second = item("b", "QUANTAS PATAS TEM A ARANHA DO CORREDOR?", "Oito patas.", "Seis patas.")
    >>> pair, = compare_all([first, second], Bounds(0.85, 40.0, 20)).pairs
    >>> pair.kind, pair.letters
    ('copy', (('A', 'B'), ('B', 'A')))
    """
    sheets = read_sheets([_in_parts(item) for item in items])
    parts = [_parts(sheets, number) for number in range(len(items))]
    runs = _shared_runs(sheets, bounds.passage_words)
    chosen = sorted(pair for pair in candidates(sheets) | set(runs) if wanted(*pair))
    found: list[Likeness] = []
    for done, (a, b) in enumerate(chosen):
        if done % 4096 == 0:
            on_progress(done, len(chosen))
        likeness = compare(parts, a, b, bounds, passage=runs.get((a, b), 0))
        if likeness is not None:
            found.append(likeness)
    on_progress(len(chosen), len(chosen))
    blank = [number for number, part in enumerate(parts) if part.all_words == ("", "", ())]
    thin = [
        number
        for number, part in enumerate(parts)
        if part.bits < bounds.min_bits and part.all_words != ("", "", ())
    ]
    return Compared(tuple(found), tuple(thin), tuple(blank))


def _in_parts(item: Presented) -> Presented:
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


def _parts(sheets: Sheets, item: int) -> Parts:
    first = int(sheets.field_of_item[item])
    fields = sheets.fields[first : int(sheets.field_of_item[item + 1])]
    joined = [
        "".join(
            sheets.vocabulary[kind]
            for kind in sheets.kinds[sheets.bounds[first + k] : sheets.bounds[first + k + 1]].tolist()
        )
        for k in range(len(fields))
    ]
    said = [k for k in range(2, len(fields)) if joined[k]]
    return Parts(
        body=fields[0].text,
        question=fields[1].text,
        options=tuple((fields[k].name.removeprefix("option:"), fields[k].text) for k in said),
        bits=float(sheets.bits[sheets.bounds[first + 1] : sheets.bounds[first + len(fields)]].sum()),
        folded_body=joined[0],
        folded_question=joined[1],
        folded_options=tuple(joined[k] for k in said),
    )


def candidates(sheets: Sheets) -> set[tuple[int, int]]:
    """Pairs of items whose words look alike, by MinHash: on question and options, or on the whole."""
    shingles = _shingles(sheets)
    first = sheets.field_of_item[:-1]
    ends = sheets.word_of_field[sheets.field_of_item[1:]].tolist()
    found: set[tuple[int, int]] = set()
    for starts in (sheets.word_of_field[first + 1].tolist(), sheets.word_of_field[first].tolist()):
        found |= _alike(
            (number, np.unique(shingles[a:b]))
            for number, (a, b) in enumerate(zip(starts, ends, strict=True))
            if b > a
        )
    return found


def _shingles(sheets: Sheets) -> npt.NDArray[np.uint32]:
    """A hash for the shingle that begins at each word; at the end of a field it holds the words that remain."""
    size = sheets.hashes.size
    end = np.repeat(sheets.word_of_field[1:], np.diff(sheets.word_of_field))
    mixed = sheets.hashes.copy()
    start = np.repeat(sheets.word_of_field[:-1], np.diff(sheets.word_of_field))
    for ahead in range(1, SHINGLE):
        place = np.arange(size) + ahead
        inside = place < end
        following = np.where(inside, sheets.hashes[np.minimum(place, max(size - 1, 0))], np.uint64(0))
        mixed = mixed * np.uint64(0x9E3779B97F4A7C15) + following
    # A field's last words are part of its last whole shingle; they stand alone only in a shorter field.
    whole = (np.arange(size) + SHINGLE <= end) | (np.arange(size) == start)
    last = np.maximum.accumulate(np.where(whole, np.arange(size), 0))
    return (mixed[last] >> np.uint64(32)).astype(np.uint32)


def _alike(shingles: Iterable[tuple[int, npt.NDArray[np.uint32]]]) -> set[tuple[int, int]]:
    """Pairs of numbers whose sets of shingles fall into one bucket."""
    from datasketch import MinHash, MinHashLSH  # noqa: PLC0415 - heavy, and only duplicates need it

    index = MinHashLSH(num_perm=PERMUTATIONS, params=BANDS)
    blank = MinHash(num_perm=PERMUTATIONS, seed=SEED, hashfunc=int)
    found: set[tuple[int, int]] = set()
    for number, values in shingles:
        signature = blank.copy()
        signature.update_batch(values.tolist())
        found |= {(other, number) for other in index.query(signature)}
        index.insert(number, signature, check_duplication=False)
    return found


def _shared_runs(sheets: Sheets, least: int) -> dict[tuple[int, int], int]:
    """Pairs of items whose bodies share a run of at least ``least`` words, and how long the longest is."""
    firsts = sheets.field_of_item[:-1]
    starts, ends = sheets.word_of_field[firsts], sheets.word_of_field[firsts + 1]
    grams: dict[bytes, list[tuple[int, int]]] = defaultdict(list)
    bodies = [sheets.kinds[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
    for number, body in enumerate(bodies):
        seen: set[bytes] = set()
        content, width = body.tobytes(), body.itemsize
        for place in range(body.size - least + 1):
            gram = content[place * width : (place + least) * width]
            if gram not in seen:
                seen.add(gram)
                grams[gram].append((number, place))
    longest: dict[tuple[int, int], int] = {}
    for sharing in grams.values():
        for (a, at), (b, there) in _neighbours(sharing):
            # Inside a run that was measured already nothing longer begins.
            if at and there and bodies[a][at - 1] == bodies[b][there - 1]:
                continue
            length = _run_length(bodies[a][at:], bodies[b][there:])
            longest[a, b] = max(length, longest.get((a, b), 0))
    return longest


def _neighbours(sharing: Sequence[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Pairs of those who share a run; in a crowd, each with the next only: their group is the same."""
    if len(sharing) <= CROWDED:
        return iter(combinations(sharing, 2))
    return zip(sharing[:-1], sharing[1:], strict=True)


def _run_length(first: npt.NDArray[np.int32], second: npt.NDArray[np.int32]) -> int:
    size = min(first.size, second.size)
    apart = np.flatnonzero(first[:size] != second[:size])
    return int(apart[0]) if apart.size else size


def compare(parts: Sequence[Parts], a: int, b: int, bounds: Bounds, *, passage: int = 0) -> Likeness | None:
    """How items ``a`` and ``b`` are alike, none when they are not. ``passage``: words their bodies share in a row.

    - *copy*: the same question and options, in any order, and nothing in common says anything else; how much of
      the body each carries does not matter, but what both carry must agree.
    - *variant*: as a copy, but some word, number or symbol says something else; or the options are taken over
      under another question; or question and body under other options.
    - *passage*: the bodies share a run of words, and something else is asked.
    """
    first, second = parts[a], parts[b]
    matching = _match_options(first, second)
    question = _question(first, second, bounds.alike)
    body = _contained(first.folded_body, second.folded_body)
    kind: Kind | None = None
    differences = 0
    if first.all_words == second.all_words or _is_same(first, second, question, matching.score, body, bounds):
        pairs = [(first.question, second.question), *matching.texts]
        differences = sum(differing(one, other) for one, other in pairs)
        if body is not None:
            differences += differing(first.body, second.body, parts_of=True)
        kind = "variant" if differences else "copy"
    elif _is_taken_over(first, second, question, matching.score, body, bounds):
        kind = "variant"
        differences = max(1, sum(differing(one, other) for one, other in matching.texts))
    elif passage:
        kind = "passage"
    if kind is None:
        return None
    return Likeness(a, b, kind, question, matching.score, body, differences, matching.letters, passage)


def _is_same(
    first: Parts, second: Parts, question: float | None, options: float | None, body: float | None, bounds: Bounds
) -> bool:
    """Whether two items are one, edited at most."""
    if question is None or question < bounds.alike or min(first.bits, second.bits) < bounds.min_bits:
        return False
    if options is not None and options < bounds.alike:
        return False
    if body is None:
        # A question alone must say more: "Qual é a resposta correta?" stands under anything.
        return options is not None or min(first.bits, second.bits) >= 2 * bounds.min_bits
    return body >= (bounds.alike if options is None else HALF)


HALF = 0.5  # bodies carried over only in part, between items whose question and options agree


def _is_taken_over(
    first: Parts, second: Parts, question: float | None, options: float | None, body: float | None, bounds: Bounds
) -> bool:
    """Whether one item reuses the options, or the question with its body, of the other."""
    if options is not None and options >= bounds.alike:
        said = min(sum(map(len, part.folded_options)) for part in (first, second))
        return said >= OPTIONS_LETTERS or (question is not None and question >= HALF and said >= OPTIONS_LETTERS / 4)
    asked = question is not None and question >= bounds.alike
    given = body is not None and body >= bounds.alike
    return asked and given and options is not None


OPTIONS_LETTERS = 100  # some fifteen words: nobody writes them twice by chance


class Matching(NamedTuple):
    """Options put side by side: their similarity (none when one item has none), letters and texts."""

    score: float | None
    letters: tuple[tuple[str, str], ...]
    texts: tuple[tuple[str, str], ...]


def _match_options(first: Parts, second: Parts) -> Matching:
    """The options of two items matched in pairs, the most alike first; each is used once."""
    from rapidfuzz.distance import Indel  # noqa: PLC0415 - only duplicates need it

    ones, others = first.folded_options, second.folded_options
    if not ones or not others:
        return Matching(None, (), ())
    if sorted(ones) == sorted(others) and len(set(ones)) == len(ones):
        place = {text: k for k, text in enumerate(others)}
        scored = [(1.0, k, place[text]) for k, text in enumerate(ones)]
    else:
        scored = sorted(
            ((Indel.normalized_similarity(x, y), k, m) for k, x in enumerate(ones) for m, y in enumerate(others)),
            key=lambda entry: (-entry[0], entry[1] != entry[2], entry[1], entry[2]),
        )
    used: dict[int, int] = {}
    total = 0.0
    for score, k, m in scored:
        if k not in used and m not in used.values():
            used[k] = m
            total += score * (len(ones[k]) + len(others[m]))
    pairs = sorted(used.items())
    return Matching(
        total / (sum(map(len, ones)) + sum(map(len, others))),
        tuple((first.options[k][0], second.options[m][0]) for k, m in pairs),
        tuple((first.options[k][1], second.options[m][1]) for k, m in pairs),
    )


def _question(first: Parts, second: Parts, alike: float) -> float | None:
    """Similarity of the questions; where the stems were cut into sentences differently, of each in the other."""
    from rapidfuzz.distance import Indel  # noqa: PLC0415

    one, other = first.folded_question, second.folded_question
    if not one or not other:
        return None
    score = Indel.normalized_similarity(one, other)
    if score >= alike or score < HALF / 2:
        return score
    inside = (
        _inside(one, second.folded_body + other),
        _inside(other, first.folded_body + one),
    )
    return max(score, min(inside))


def _inside(short: str, long: str) -> float:
    """How well ``short`` stands inside ``long``, 0 to 1; 0 when it is the longer of the two."""
    from rapidfuzz import fuzz  # noqa: PLC0415

    return fuzz.partial_ratio(short, long) / 100 if len(short) <= len(long) else 0.0


def _contained(first: str, second: str) -> float | None:
    """How well the shorter of two bodies stands inside the longer; none when one says almost nothing."""
    short, long = sorted((first, second), key=len)
    return _inside(short, long) if len(short) >= BODY_LETTERS else None


BODY_LETTERS = 30  # about six words
