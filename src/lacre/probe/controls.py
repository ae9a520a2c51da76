"""Controls: texts that no column can have seen, matched in subject and length (SPEC X6)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from lacre.registry.records import Record
from lacre.text import words


class Subject(Record, omit_defaults=False):
    """A text that is probed.

    Attributes:
        role: an item of the layer, a control, or a famous text (the positive control).
        group: what it is about, as far as the registry says: controls are matched within it.
        exam: how the prompt names the exam; a control has the name of the exam of the item that it is matched to.
        published: the exam's date, as precise as it is known.
        payload_sha256: of an item's payload, without its canary.
    """

    id: str
    role: str
    text: str
    group: str = ""
    exam: str = ""
    published: str | None = None
    payload_sha256: str = ""


class Balance(Record, omit_defaults=False):
    """How alike items and their controls are.

    Attributes:
        controls: how many were chosen, of ``pool`` that there were.
        same_group: those matched within the group of their item.
        item_words, control_words: mean length.
    """

    controls: int
    pool: int
    same_group: int
    item_words: float
    control_words: float


class Matched(Record, omit_defaults=False):
    """The controls that were chosen, and how alike they are to the items."""

    controls: tuple[Subject, ...]
    balance: Balance


def matched(items: Sequence[Subject], pool: Sequence[Subject], most: int) -> Matched:
    """At most ``most`` controls out of a pool: for each item the nearest in length, of its group if any is left.

    Each control is used once. Order: items by id, round after round, so that the same texts give the same controls.

    >>> items = [Subject(id="i", role="item", text="um dois três", group="a", exam="Prova de 2024")]
    >>> pool = [Subject(id=n, role="control", text=t, group=g) for n, t, g in (("c", "um", "b"), ("d", "um dois", "a"))]
    >>> [(each.id, each.exam) for each in matched(items, pool, 1).controls]
    [('d', 'Prova de 2024')]
    """
    sizes = {each.id: len(words(each.text)) for each in pool}
    wanted = {each.id: len(words(each.text)) for each in items}
    left = sorted(pool, key=lambda each: (sizes[each.id], each.id))
    groups: dict[str, list[Subject]] = {}
    for each in left:
        groups.setdefault(each.group, []).append(each)
    chosen: list[Subject] = []
    same = 0
    ordered = sorted(items, key=lambda each: each.id)
    turn = 0
    while ordered and left and len(chosen) < most:
        item = ordered[turn % len(ordered)]
        turn += 1
        own = groups.get(item.group) or []
        found = _nearest(own or left, wanted[item.id], sizes)
        same += bool(own)
        for rows in (left, groups[found.group]):
            rows.remove(found)
        chosen.append(
            Subject(id=found.id, role="control", text=found.text, group=found.group, exam=item.exam)
        )
    balance = Balance(
        controls=len(chosen),
        pool=len(pool),
        same_group=same,
        item_words=_mean(list(wanted.values())),
        control_words=_mean([sizes[each.id] for each in chosen]),
    )
    return Matched(controls=tuple(sorted(chosen, key=lambda each: each.id)), balance=balance)


class Fresh(Record, omit_defaults=False):
    """Controls that may be some, and how many were left out.

    Attributes:
        of_items: those of whose runs of eight words more than half stand in an item that is no control: they may well
            have been seen with it.
        twins: those of the same words as another control: they would count twice.
    """

    controls: tuple[Subject, ...]
    of_items: int
    twins: int


def fresh(pool: Iterable[Subject], items: Iterable[Subject]) -> Fresh:
    """The subjects of a pool, by id, without those that are an item in new clothes, or another control again.

    >>> text = "o gato do condutor dormia sobre os trilhos depois do almoço"
    >>> pool = [Subject(id=id, role="control", text=text) for id in "cd"]
    >>> fresh(pool, []).twins, fresh(pool, [Subject(id="i", role="item", text=text + " farto")]).of_items
    (1, 2)
    """
    known: set[int] = set()
    for item in items:
        known |= _grams(item.text)
    kept: list[Subject] = []
    texts: set[tuple[str, ...]] = set()
    of_items = twins = 0
    for each in sorted(pool, key=lambda each: each.id):
        grams = _grams(each.text)
        said = tuple(word.folded for word in words(each.text))
        if grams and 2 * len(grams & known) > len(grams):
            of_items += 1
        elif said in texts:
            twins += 1
        else:
            kept.append(each)
            texts.add(said)
    return Fresh(controls=tuple(kept), of_items=of_items, twins=twins)


def _nearest(rows: Sequence[Subject], size: int, sizes: dict[str, int]) -> Subject:
    """The row nearest in length, of rows sorted by it; the shorter of two as near."""
    place = bisect_left(rows, size, key=lambda each: sizes[each.id])
    beside = rows[max(0, place - 1) : place + 1]
    return min(beside, key=lambda each: abs(sizes[each.id] - size))


def _mean(values: Sequence[int]) -> float:
    return sum(values) / len(values) if values else 0.0


def shuffled(subjects: Sequence[Subject]) -> tuple[tuple[str, str], ...]:
    """Pairs of ids: whose reply is held against the rest of whose text; of one group, and nearest in length.

    They cost no request. Texts that share a passage are not paired: a reply to one may well hold words of the other.

    >>> texts = {"a": "um dois", "b": "três", "c": "dez onze doze"}
    >>> shuffled([Subject(id=id, role="item", text=text) for id, text in texts.items()])
    (('a', 'c'), ('b', 'a'), ('c', 'b'))
    """
    rows = sorted(subjects, key=lambda each: (each.group, len(each.text), each.id))
    grams = {each.id: _grams(each.text) for each in rows}
    pairs: list[tuple[str, str]] = []
    for place, each in enumerate(rows):
        for step in range(1, min(len(rows), _TRIES + 1)):
            other = rows[(place + step) % len(rows)]
            if grams[each.id].isdisjoint(grams[other.id]):
                pairs.append((each.id, other.id))
                break
    return tuple(sorted(pairs))


_GRAM, _TRIES = 8, 12  # words in a row that make a shared passage; neighbours that are tried


def _grams(text: str) -> frozenset[int]:
    said = [word.folded for word in words(text)]
    return frozenset(hash(tuple(said[place : place + _GRAM])) for place in range(len(said) - _GRAM + 1))
