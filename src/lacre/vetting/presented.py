"""From an item's payload to the fields in which text is looked for."""

from __future__ import annotations

from collections.abc import Iterator

from lacre.overlap.sheets import Field, Presented
from lacre.registry.items import Candidate, Payload


def presented(item: Candidate) -> Presented:
    """The fields of an item in the order a reader meets them; expected answers and criteria last, as asides.

    >>> payload = Payload(kind="choice", stem="Quanto é um mais um?", options={"A": "Três.", "B": "Dois."})
    >>> [field.name for field in presented(Candidate(id="x", payload=payload)).fields]
    ['stem', 'option:A', 'option:B']
    """
    return Presented(item=item.id, fields=(*_seen(item.payload), *_asides(item.payload)))


def _seen(payload: Payload) -> Iterator[Field]:
    if payload.passage is not None:
        declared = payload.passage.source is not None
        yield Field(name="passage", text=payload.passage.text, own=not declared, prompt=not declared)
    yield Field(name="stem", text=payload.stem, prompt=True)
    for part in payload.parts:
        yield Field(name=f"part:{part.id}", text=part.prompt, prompt=True)
    for letter, text in payload.options.items():
        yield Field(name=f"option:{letter}", text=text, letter=letter)


def _asides(payload: Payload) -> Iterator[Field]:
    if payload.kind == "open" and payload.key:
        yield Field(name="key", text=payload.key, aside=True)
    for part in payload.parts:
        yield Field(name=f"expected:{part.id}", text=part.expected, aside=True)
        for number, criterion in enumerate(part.criteria, 1):
            yield Field(name=f"criterion:{part.id}.{number}", text=criterion, aside=True)


def answers(payload: Payload) -> frozenset[str]:
    """Names of the fields that give the answer away: the right option, the expected answers.

    >>> sorted(answers(Payload(kind="choice", stem="?", options={"A": "Três.", "B": "Quatro."}, key="B")))
    ['option:B']
    """
    if payload.kind == "choice":
        return frozenset({f"option:{payload.key}"} if payload.key else ())
    return frozenset({"key", *(f"expected:{part.id}" for part in payload.parts)})
