"""Near-duplicates among items: pairs that ask the same thing, say almost the same, or share a text.

An item is read in three parts: its *body* (what is given: passage, and the stem before its last sentence), its
*question* (the last sentence of the stem, and sub-questions) and its *options*. Two copies of one item often
differ in how much of the body they carry, so pairs are looked for on question and options, and on the whole.

Candidates come from MinHash signatures of word shingles under locality-sensitive hashing (Broder 1997; Leskovec,
Rajaraman and Ullman, Mining of Massive Datasets, chapter 3), and from runs of words in common; each is then
confirmed by aligning the parts.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, pairwise
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from lacre.overlap.differences import differing
from lacre.overlap.parts import Parts, in_parts, parts_of
from lacre.overlap.sheets import Presented, Sheets, read_sheets
from lacre.text import words

Kind = Literal["copy", "variant", "passage"]

SHINGLE = 3  # words; exam options are short, and longer shingles would find none in them
PERMUTATIONS = 128
BANDS = (64, 2)
"""Bands and rows: a pair with Jaccard similarity s becomes a candidate with probability 1 - (1 - s²)^64: 0.998 at
0.3, 0.93 at 0.2. Confirming is cheap, so recall comes first."""
SEED = 1
CROWDED = 64  # items that share one run of words; past this, neighbours alone are compared


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
    phrases: Sequence[str] = (),
    exhaustive: bool = False,
    wanted: Callable[[int, int], bool] = lambda _a, _b: True,
    on_progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> Compared:
    """All pairs of items that are alike, sorted, and what could not be compared.

    Args:
        phrases: approved boilerplate: a run of its words makes no shared passage.
        exhaustive: compare every pair, which takes the square of the time: to measure what the search misses.
        wanted: whether a pair of numbers matters; others are not confirmed.
        on_progress: called with candidates confirmed, and their number.

    >>> from lacre.overlap.sheets import Field
    >>> def item(name: str, *texts: str) -> Presented:
    ...     return Presented(item=name, fields=tuple(Field(name=f"option:{n}" if n else "stem", text=text)
    ...         for n, text in zip(("", "A", "B"), texts)))
    >>> first = item("a", "Quantas patas tem a aranha do corredor?", "Seis patas.", "Oito patas.")
    >>> second = item("b", "QUANTAS PATAS TEM A ARANHA DO CORREDOR?", "Oito patas.", "Seis patas.")
    >>> pair, = compare_all([first, second], Bounds(0.85, 40.0, 20)).pairs
    >>> pair.kind, pair.letters
    ('copy', (('A', 'B'), ('B', 'A')))
    """
    sheets = read_sheets([in_parts(item) for item in items])
    parts = [parts_of(sheets, number) for number in range(len(items))]
    runs = _shared_runs(sheets, bounds.passage_words, phrases)
    likely = (
        set(combinations(range(len(items)), 2))
        if exhaustive
        else candidates(sheets, TELLING * bounds.min_bits)
    )
    chosen = sorted(pair for pair in likely.union(runs) if wanted(*pair))
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


def candidates(sheets: Sheets, telling: float = math.inf) -> set[tuple[int, int]]:
    """Pairs of items whose words look alike, by MinHash: on question and options, on the whole, on the question.

    A question counts alone when it carries ``telling`` bits: thousands share "Assinale a alternativa correta".
    """
    shingles = _shingles(sheets)
    first = sheets.field_of_item[:-1]
    body, question, options = (sheets.word_of_field[first + k].tolist() for k in range(3))
    end = sheets.word_of_field[sheets.field_of_item[1:]].tolist()
    carried = np.concatenate([[0.0], np.cumsum(sheets.bits, dtype=np.float64)])
    alone = [b if carried[b] - carried[a] >= telling else a for a, b in zip(question, options, strict=True)]
    found: set[tuple[int, int]] = set()
    for starts, ends in ((question, end), (body, end), (question, alone)):
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
    # Heavy, and only duplicates need it; it has no types.
    from datasketch import MinHash, MinHashLSH  # type: ignore[import-untyped]  # noqa: PLC0415

    index = MinHashLSH(num_perm=PERMUTATIONS, params=BANDS)
    blank = MinHash(num_perm=PERMUTATIONS, seed=SEED, hashfunc=int)
    found: set[tuple[int, int]] = set()
    for number, values in shingles:
        signature = blank.copy()
        signature.update_batch(values.tolist())
        found |= {(other, number) for other in index.query(signature)}
        index.insert(number, signature, check_duplication=False)
    return found


def _shared_runs(sheets: Sheets, least: int, phrases: Sequence[str] = ()) -> dict[tuple[int, int], int]:
    """Pairs of items whose bodies share a run of at least ``least`` words, and how long the longest is."""
    bodies = _bodies(sheets, phrases)
    grams: dict[bytes, list[tuple[int, int]]] = defaultdict(list)
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


def _bodies(sheets: Sheets, phrases: Sequence[str]) -> list[npt.NDArray[np.int32]]:
    """The words of each body, as numbers; those of a phrase are no item's but its own, so that none shares them."""
    firsts = sheets.field_of_item[:-1]
    starts, ends = sheets.word_of_field[firsts].tolist(), sheets.word_of_field[firsts + 1].tolist()
    bodies = [sheets.kinds[a:b].copy() for a, b in zip(starts, ends, strict=True)]
    if not phrases:
        return bodies
    known = {word: kind for kind, word in enumerate(sheets.vocabulary)}
    for phrase in phrases:
        kinds = np.array([known.get(word.folded, -1) for word in words(phrase)], np.int32)
        if kinds.size == 0 or (kinds < 0).any():
            continue
        for number, body in enumerate(bodies):
            for place in np.flatnonzero(body[: max(0, body.size - kinds.size + 1)] == kinds[0]).tolist():
                if (body[place : place + kinds.size] == kinds).all():
                    body[place : place + kinds.size] = -1 - number
    return bodies


def _neighbours(sharing: Sequence[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Pairs of those who share a run; in a crowd, each with the next only: their group is the same."""
    if len(sharing) <= CROWDED:
        return iter(combinations(sharing, 2))
    return pairwise(sharing)


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
    same = first.folded_question == second.folded_question and first.all_words == second.all_words
    asked = _asked(first, second)
    if not same and not passage and asked < FAR and _other_options(first, second):
        return None
    question = _question(first, second, closer=asked >= FAR)
    close = question is not None and question >= bounds.alike
    matching = _match_options(first, second, closer=close)
    related = question is not None and question >= RELATED
    body = _contained(first, second) if same or related else None
    scores = _Scores(question, matching.score, body)
    kind: Kind | None = None
    differences = 0
    if same or (close and _is_same(first, second, scores, bounds)):
        pairs = [(first.question, second.question), *matching.texts]
        differences = sum(differing(one, other) for one, other in pairs)
        if body is not None:
            differences += differing(first.body, second.body, parts_of=True)
        kind = "variant" if differences else "copy"
    elif _is_taken_over(first, second, scores, bounds):
        kind = "variant"
        differences = max(1, sum(differing(one, other) for one, other in matching.texts))
    elif passage:
        kind = "passage"
    if kind is None:
        return None
    return Likeness(a, b, kind, question, matching.score, body, differences, matching.letters, passage)


FAR = 0.5  # share of the words of a question that the other item must hold, or a closer look is a waste
FAR_OPTIONS = 0.7  # similarity of all options, in letters; any two texts in one language have some 0.5


def _asked(first: Parts, second: Parts) -> float:
    """The share of the words of each question that the other item holds: the lesser, or one that is too little."""
    share = 1.0
    for one, other in ((first, second), (second, first)):
        held = one.question_words & other.question_words | one.question_words & other.body_words
        share = min(share, len(held) / max(1, len(one.question_words)))
        if share < FAR:
            break
    return share


def _other_options(first: Parts, second: Parts) -> bool:
    """Whether a glance says that the options are not alike, or are too few words to be taken over."""
    from rapidfuzz.distance import Indel  # noqa: PLC0415 - only duplicates need it

    one, other = first.folded_sorted, second.folded_sorted
    if min(len(one), len(other)) < OPTIONS_LETTERS / 4:
        return True
    return Indel.normalized_similarity(one, other, score_cutoff=FAR_OPTIONS) == 0.0


class _Scores(NamedTuple):
    """Similarity of each part, none where there is nothing to compare."""

    question: float | None
    options: float | None
    body: float | None


def _is_same(first: Parts, second: Parts, scores: _Scores, bounds: Bounds) -> bool:
    """Whether two items with one question are one item, edited at most."""
    _, options, body = scores
    bits = min(first.bits, second.bits)
    if bits < bounds.min_bits or (options is not None and options < bounds.alike):
        return False
    if body is None:
        # A question alone must say more: "Qual é a resposta correta?" stands under anything.
        return options is not None or bits >= 2 * bounds.min_bits
    return body >= (bounds.alike if options is None else HALF)


HALF = 0.5  # bodies carried over only in part, between items whose question and options agree


def _is_taken_over(first: Parts, second: Parts, scores: _Scores, bounds: Bounds) -> bool:
    """Whether one item reuses the options, or the question with its body, of the other."""
    question, options, body = scores
    if options is not None and options >= bounds.alike:
        said = min(len(first.folded_sorted), len(second.folded_sorted))
        related = question is not None and question >= RELATED and (body is None or body >= HALF)
        return said >= OPTIONS_LETTERS or (related and said >= OPTIONS_LETTERS / 4)
    if question is None or question < bounds.alike:
        return False
    if body is None:
        return (
            question >= NEARLY and min(first.question_bits, second.question_bits) >= TELLING * bounds.min_bits
        )
    return body >= bounds.alike


TELLING = 3  # times the least information: a question that is nobody else's, even without what is given
NEARLY = 0.95  # "Sobre X, assinale a correta" and "Sobre Y, ..." are 0.85 alike, and ask different things
OPTIONS_LETTERS = 100  # some fifteen words: nobody writes them twice by chance
RELATED = 0.65  # questions in other words about the same thing; any two questions have some 0.5


class Matching(NamedTuple):
    """Options put side by side: their similarity (none when one item has none), letters and texts."""

    score: float | None
    letters: tuple[tuple[str, str], ...]
    texts: tuple[tuple[str, str], ...]


def _match_options(first: Parts, second: Parts, *, closer: bool) -> Matching:
    """The options of two items matched in pairs, the most alike first; each is used once.

    With ``closer``, the score is that of all options in one where this is more: a booklet's text may run on into
    the last option, or two options into one.
    """
    from rapidfuzz import fuzz  # noqa: PLC0415 - only duplicates need it
    from rapidfuzz.distance import Indel  # noqa: PLC0415

    ones, others = first.folded_options, second.folded_options
    if not ones or not others:
        return Matching(None, (), ())
    if sorted(ones) == sorted(others) and len(set(ones)) == len(ones):
        place = {text: k for k, text in enumerate(others)}
        scored = [(1.0, k, place[text]) for k, text in enumerate(ones)]
    else:
        scored = sorted(
            (
                (Indel.normalized_similarity(x, y), k, m)
                for k, x in enumerate(ones)
                for m, y in enumerate(others)
            ),
            key=lambda entry: (-entry[0], entry[1] != entry[2], entry[1], entry[2]),
        )
    used: dict[int, int] = {}
    total = 0.0
    for score, k, m in scored:
        if k not in used and m not in used.values():
            used[k] = m
            total += score * (len(ones[k]) + len(others[m]))
    pairs = sorted(used.items())
    score = total / (sum(map(len, ones)) + sum(map(len, others)))
    if closer and score < 1.0:
        short, long = sorted(("".join(ones), "".join(others)), key=len)
        if len(short) >= OPTIONS_LETTERS / 4:
            score = max(score, fuzz.partial_ratio(short, long) / 100)
    return Matching(
        score,
        tuple((first.options[k][0], second.options[m][0]) for k, m in pairs),
        tuple((first.options[k][1], second.options[m][1]) for k, m in pairs),
    )


def _question(first: Parts, second: Parts, *, closer: bool) -> float | None:
    """Similarity of the questions; with ``closer``, of each in the other item where that is more.

    One stem may have been cut into sentences in another place than the other.
    """
    from rapidfuzz import fuzz  # noqa: PLC0415 - only duplicates need it
    from rapidfuzz.distance import Indel  # noqa: PLC0415

    one, other = first.folded_question, second.folded_question
    if not one or not other:
        return None
    score = Indel.normalized_similarity(one, other)
    if not closer or score == 1.0:
        return score
    inside = [
        fuzz.partial_ratio(short, long) / 100 if len(short) <= len(long) else 0.0
        # No further back than the sentence is long: a question is made of words of the passage that it asks about.
        for short, long in (
            (one, second.folded_body[-len(one) :] + other),
            (other, first.folded_body[-len(other) :] + one),
        )
    ]
    return max(score, min(inside))


def _contained(first: Parts, second: Parts) -> float | None:
    """How well the shorter of two bodies stands inside the longer, in words; none when one says almost nothing."""
    from rapidfuzz import fuzz  # noqa: PLC0415

    short, long = sorted((first.coded_body, second.coded_body), key=len)
    return fuzz.partial_ratio(short, long) / 100 if len(short) >= BODY_WORDS else None


BODY_WORDS = 6
