"""Near-duplicates of new items: against the layers that exist, and each other (SPEC L7).

A pair is no verdict. A copy makes one of the two superfluous; a variant is for a person; items that share a
passage stay, but are split and rotated together. Copies whose keys contradict each other say that a source is not
to be trusted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from lacre.overlap.duplicates import Bounds, Kind, Likeness, compare_all
from lacre.registry.items import Candidate, Payload
from lacre.registry.records import Record
from lacre.registry.rules import DuplicateRules
from lacre.text import words
from lacre.vetting.presented import presented

Keys = Literal["agree", "conflict", "unknown"]

NEW = "new"
"""The set of the items in question; the sets they are compared to have other names."""


class Member(Record, omit_defaults=False):
    """One item in the set it came in, and the source it is told to come from."""

    set: str
    item: str
    source: str


class Pair(Record, omit_defaults=False):
    """Two items that are alike.

    Attributes:
        kind: ``copy``, ``variant`` (some word, number or symbol says something else) or ``passage``.
        question, options, body: similarity of the part, 0 to 1; none where there is nothing to compare.
        differences: places where the parts in common say something else.
        passage: words in a row that the bodies share, 0 when fewer than the rules ask for.
        keys: of copies, whether they name the same answer; ``unknown`` says why in ``keys_why``.
    """

    first: Member
    second: Member
    kind: Kind
    question: float | None
    options: float | None
    body: float | None
    differences: int
    passage: int
    keys: Keys
    keys_why: str


class Group(Record, omit_defaults=False):
    """Items that belong together, sorted; ``words`` in a row that all pairs in it share at least, 0 for copies."""

    members: tuple[Member, ...]
    words: int = 0


class KeyCheck(NamedTuple):
    """Whether two copies name the same answer, and why nobody can say."""

    keys: Keys
    why: str


class SourceCheck(Record, omit_defaults=False):
    """One source: its items, its copies of one item, and how many of these contradict each other.

    ``rejected``: any contradiction rejects it, for nobody can say which of the two keys is right, nor what the
    rest of its keys is worth.
    """

    source: str
    items: int
    copies: int
    agreeing: int
    contradictory: int
    unknown: int
    rejected: bool


class Duplicates(Record, omit_defaults=False):
    """All that was found, and what could not be compared.

    Attributes:
        items: how many items of each set were compared.
        pairs: copies and variants, sorted; passages stand in their groups.
        copies, passages: groups; items of a passage group are split and rotated together.
        sources: sources that have copies of one item in themselves, the rejected first.
        thin: items with too little text: only copies word for word are found of them.
        empty: items without any words: not compared.
        selves: items of the other sets that are the new items themselves, left out.
    """

    items: dict[str, int]
    pairs: tuple[Pair, ...]
    copies: tuple[Group, ...]
    passages: tuple[Group, ...]
    sources: tuple[SourceCheck, ...]
    thin: tuple[Member, ...]
    empty: tuple[Member, ...]
    selves: int

    @property
    def conflicts(self) -> tuple[Pair, ...]:
        """Copies of one item with different keys."""
        return tuple(pair for pair in self.pairs if pair.keys == "conflict")


def find_duplicates(
    new: Sequence[Candidate],
    others: Mapping[str, Sequence[Candidate]],
    rules: DuplicateRules,
    *,
    sources: Mapping[tuple[str, str], str] | None = None,
    phrases: Sequence[str] = (),
    on_progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> Duplicates:
    """Near-duplicates of ``new`` items among themselves and in the ``others``; those are not compared to each other.

    Args:
        others: sets of items by name, such as ``official``, ``open``, ``private``.
        sources: (set, item) -> its source; without it, the set is the source.
        phrases: approved boilerplate, which makes no shared passage.
        on_progress: called with pairs compared, and their number.
    """
    told = sources or {}
    itself = {_bytes(item) for item in new}
    entries: list[tuple[Member, Candidate]] = []
    selves = 0
    for name, items in ((NEW, new), *sorted(others.items())):
        for item in items:
            if name != NEW and _bytes(item) in itself:
                selves += 1
                continue
            entries.append((Member(set=name, item=item.id, source=told.get((name, item.id), name)), item))
    compared = compare_all(
        [presented(item) for _, item in entries],
        Bounds(rules.alike, rules.min_bits, rules.passage_words),
        phrases=phrases,
        wanted=lambda a, b: NEW in (entries[a][0].set, entries[b][0].set),
        on_progress=on_progress,
    )
    members = [member for member, _ in entries]
    pairs = [
        (likeness, _pair(likeness, members, [entries[n][1] for n in likeness[:2]]))
        for likeness in compared.pairs
    ]
    said = sorted((pair for _, pair in pairs if pair.kind != "passage"), key=_order)
    return Duplicates(
        items=dict(sorted(Counter(member.set for member in members).items())),
        pairs=tuple(said),
        copies=tuple(_groups(members, [found for found, _ in pairs if found.kind == "copy"])),
        passages=tuple(_groups(members, [found for found, _ in pairs if found.passage], passages=True)),
        sources=_sources(members, said),
        thin=tuple(members[number] for number in compared.thin),
        empty=tuple(members[number] for number in compared.empty),
        selves=selves,
    )


def _bytes(item: Candidate) -> bytes:
    """All that an item says, for telling whether two records are one."""
    return msgspec.json.encode(item, order="sorted")


def _order(pair: Pair) -> tuple[str, float, tuple[str, str], tuple[str, str]]:
    """Copies first, the most alike first, then by name."""
    likeness = [score for score in (pair.question, pair.options, pair.body) if score is not None]
    return pair.kind, -sum(likeness) / max(1, len(likeness)), *_names(pair)


def _names(pair: Pair) -> tuple[tuple[str, str], tuple[str, str]]:
    return (pair.first.set, pair.first.item), (pair.second.set, pair.second.item)


def _pair(found: Likeness, members: Sequence[Member], items: Sequence[Candidate]) -> Pair:
    keys, why = KeyCheck("unknown", "not copies of one item")
    if found.kind == "copy":
        keys, why = compare_keys(items[0].payload, items[1].payload, found.letters)
    return Pair(
        first=members[found.first],
        second=members[found.second],
        kind=found.kind,
        question=_rounded(found.question),
        options=_rounded(found.options),
        body=_rounded(found.body),
        differences=found.differences,
        passage=found.passage,
        keys=keys,
        keys_why=why,
    )


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 4)


def compare_keys(first: Payload, second: Payload, letters: Sequence[tuple[str, str]]) -> KeyCheck:
    """Whether two copies of one item name the same answer, by what the option says, not by its letter.

    ``letters``: letters of the first item's options -> those of the second that say the same. Options without
    words (images) are compared by letter. Expected answers of open items agree when they say the same words.

    >>> first = Payload(kind="choice", stem="?", options={"A": "sim", "B": "não"}, key="A")
    >>> second = Payload(kind="choice", stem="?", options={"A": "não", "B": "sim"}, key="A")
    >>> compare_keys(first, second, (("A", "B"), ("B", "A"))).keys
    'conflict'
    """
    if first.kind != second.kind:
        return KeyCheck("unknown", "one has options, the other none")
    if first.kind == "open":
        return _open_keys(first, second)
    if first.key is None or second.key is None:
        if first.key == second.key and first.expects == second.expects == "abstention":
            return KeyCheck("agree", "both expect an abstention")
        return KeyCheck("unknown", "one has no key")
    same = dict(letters)
    if first.key in same:
        agree = same[first.key] == second.key
    elif second.key in same.values():
        agree = False
    elif not _said(first, first.key) and not _said(second, second.key):
        agree = first.key == second.key
    else:
        return KeyCheck("unknown", "the option that the key names has no counterpart")
    return KeyCheck("agree", "") if agree else KeyCheck("conflict", "the keys name different options")


def _said(payload: Payload, letter: str) -> bool:
    return bool(words(payload.options.get(letter, "")))


def _open_keys(first: Payload, second: Payload) -> KeyCheck:
    one, other = (
        [
            word.folded
            for text in (payload.key or "", *(part.expected for part in payload.parts))
            for word in words(text)
        ]
        for payload in (first, second)
    )
    if not one or not other:
        return KeyCheck("unknown", "one has no expected answer")
    if one == other:
        return KeyCheck("agree", "")
    # Answers in other words may well say the same: that is for a person.
    return KeyCheck("unknown", "the expected answers are worded differently")


def _groups(members: Sequence[Member], found: Sequence[Likeness], *, passages: bool = False) -> list[Group]:
    """Items joined by the pairs, directly or through others; sorted."""
    leader = list(range(len(members)))

    def lead(number: int) -> int:
        while leader[number] != number:
            leader[number] = leader[leader[number]]
            number = leader[number]
        return number

    for pair in found:
        leader[lead(pair.second)] = lead(pair.first)
    joined: dict[int, set[int]] = defaultdict(set)
    words_in: dict[int, list[int]] = defaultdict(list)
    for pair in found:
        joined[lead(pair.first)] |= {pair.first, pair.second}
        words_in[lead(pair.first)].append(pair.passage)
    groups = [
        Group(
            members=tuple(sorted((members[number] for number in numbers), key=lambda m: (m.set, m.item))),
            words=min(words_in[head]) if passages else 0,
        )
        for head, numbers in joined.items()
    ]
    return sorted(groups, key=lambda group: (-len(group.members), [(m.set, m.item) for m in group.members]))


def _sources(members: Sequence[Member], pairs: Sequence[Pair]) -> tuple[SourceCheck, ...]:
    """The sources that hold copies of one item, the rejected first."""
    items = Counter(member.source for member in members)
    keys: dict[str, Counter[Keys]] = defaultdict(Counter)
    for pair in pairs:
        if pair.kind == "copy" and pair.first.source == pair.second.source:
            keys[pair.first.source][pair.keys] += 1
    checks = [
        SourceCheck(
            source=source,
            items=items[source],
            copies=sum(count.values()),
            agreeing=count["agree"],
            contradictory=count["conflict"],
            unknown=count["unknown"],
            rejected=count["conflict"] > 0,
        )
        for source, count in keys.items()
    ]
    return tuple(sorted(checks, key=lambda check: (not check.rejected, check.source)))
