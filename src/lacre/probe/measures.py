"""How much of the rest of an item stands in a reply, word by word (SPEC L8)."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from rapidfuzz import fuzz
from rapidfuzz.distance import LCSseq

from lacre.probe.cuts import Cut, folded
from lacre.probe.telling import LEAST_TELLING, Telling
from lacre.registry.records import Record

BLOCK = 4
"""Words of a common run that count towards the share; shorter ones any two texts on one subject have."""
ECHO = 6
"""Words of the end of the beginning that show where a reply that repeats it goes on."""
MOST_REPLY = 5_000
"""Words of a reply in which the beginning is looked for."""
MOST_CHARACTERS = 60_000
"""Characters of a reply that are read: by then it has long left the item, and megabytes would take a while."""
LEAD, REACH = 100, 3
"""Words before the rest that are read, and how many times its length: beyond that a reply has long left the item."""


class Measures(Record, omit_defaults=False):
    """How much of the rest stands in one reply. All on folded words, so that case, accents and hyphens fall away.

    >>> Measures(run=0, telling_run=0, share=0.0, similarity=0.0, recall=0.0, exact=False, judged=12, produced=3).share
    0.0

    Attributes:
        run: words of the longest run in common.
        telling_run: telling words in the telling-richest common run.
        share: of the telling words held against the reply, those in common runs of :data:`BLOCK` words or more.
        similarity: 1 less the normalised edit distance, of the best aligned stretches.
        recall: ROUGE-L recall: the longest common subsequence over the words held against the reply (Lin 2004).
        exact: all the words held against the reply, in one run.
        judged: words of the rest held against the reply: as many as it is long.
        produced: words of the reply, from where it takes the item up.
    """

    run: int
    telling_run: int
    share: float
    similarity: float
    recall: float
    exact: bool
    judged: int
    produced: int


class _Block(NamedTuple):
    """A run in common: where it begins in the rest and in the reply, and its words."""

    rest: int
    reply: int
    size: int


def measure(found: Cut, told: Telling, reply: str) -> Measures:
    """How much of the rest of a cut stands in a reply.

    Words before the continuation (a greeting, the beginning said again) do not count against it; nor does an end
    that comes early, for only as much of the rest as the reply is long is held against it, and at least
    :data:`~lacre.probe.telling.LEAST_TELLING` telling words.

    >>> from lacre.probe.cuts import cut
    >>> from lacre.probe.telling import telling
    >>> text = ("O faroleiro da ilha guardava seis lanternas verdes, e toda noite de neblina acendia apenas a "
    ...         "menor delas, porque o sobrinho temia clarões grandes sobre as pedras.")
    >>> half = cut(text, 50)
    >>> found = measure(half, telling(half), "Claro! APENAS a menor delas, porque o sobrinho temia clarões grandes")
    >>> found.run, found.share, found.exact
    (10, 1.0, True)
    """
    said = [word.folded for word in folded(reply[:MOST_CHARACTERS])[:MOST_REPLY]]
    whole = _held(found, told, said)
    after = _after_echo(said, found.given)
    if after is None:
        return whole
    # The end of the beginning may also stand in the rest itself, where options repeat each other.
    return max(whole, _held(found, told, after), key=lambda each: (each.share, each.telling_run))


def _held(found: Cut, told: Telling, said: list[str]) -> Measures:
    """How much of the rest of a cut stands in the words of a reply."""
    said = said[: LEAD + REACH * len(found.rest)]
    every = _blocks(found.rest, said)
    start = min((block.reply for block in every if block.size >= BLOCK), default=0)
    said = said[start:]
    judged = _judged(told.flags, len(said))
    rest = found.rest[:judged]
    blocks = [
        _Block(a, b - start, min(size, judged - a)) for a, b, size in every if a < judged and b >= start
    ]
    runs = [sum(told.flags[block.rest : block.rest + block.size]) for block in blocks if block.size >= BLOCK]
    weight = sum(told.flags[:judged])
    run = max((block.size for block in blocks), default=0)
    coded_rest, coded_reply = _coded(rest, said[: 2 * judged])
    return Measures(
        run=run,
        telling_run=max(runs, default=0),
        share=sum(runs) / weight if weight else 0.0,
        similarity=fuzz.partial_ratio(coded_rest, coded_reply) / 100 if said else 0.0,
        recall=LCSseq.similarity(coded_rest, coded_reply) / judged if judged else 0.0,
        exact=bool(judged) and run == judged,
        judged=judged,
        produced=len(said),
    )


def _judged(flags: Sequence[bool], produced: int) -> int:
    """Words of the rest that are held against a reply of this length."""
    told = 0
    for place, flag in enumerate(flags):
        told += flag
        if told >= LEAST_TELLING and place + 1 >= produced:
            return place + 1
    return len(flags)


def _after_echo(said: list[str], given: Sequence[str]) -> list[str] | None:
    """A reply after the beginning that it repeats; none where it does not repeat it."""
    tail = list(given[-ECHO:])
    for place in range(len(said) - len(tail) + 1):
        if said[place : place + len(tail)] == tail:
            return said[place + len(tail) :]
    return None


def _blocks(rest: Sequence[str], said: Sequence[str]) -> list[_Block]:
    """The runs in common, longest first taken, in the order of both (Ratcliff and Metzener 1988)."""
    matcher = SequenceMatcher(None, rest, said, autojunk=False)
    return [_Block(*block) for block in matcher.get_matching_blocks() if block.size]


def _coded(first: Sequence[str], second: Sequence[str]) -> tuple[str, str]:
    """Both as texts with one character for each word, so that words are compared as characters are."""
    # The private planes: no surrogates among them, and more places than two texts have words.
    codes: dict[str, str] = {}
    for word in (*first, *second):
        codes.setdefault(word, chr(0xF0000 + len(codes)))
    return "".join(codes[word] for word in first), "".join(codes[word] for word in second)
