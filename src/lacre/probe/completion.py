"""The completion probe: what is asked of a column, and the record that fixes it (SPEC L8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Literal

import msgspec

from lacre.digest import sha256
from lacre.engine.messages import Template, stripped
from lacre.engine.plans import Question
from lacre.probe.controls import Subject
from lacre.probe.cuts import HALF, Cut, cut, text_of
from lacre.probe.prompts import PROMPTS, Prompt, filled
from lacre.probe.telling import Telling, telling
from lacre.registry.exams import Exam
from lacre.registry.items import Item, Payload
from lacre.registry.records import Record
from lacre.registry.waivers import payload_sha256

Mode = Literal["chat", "completion"]
STAGE = "probe completion"

WHOLE = "{{stem}}"
"""The template of a probe's messages: the prompt, as it is, is the whole message."""


class Probe(Record, tag="completion", omit_defaults=False):
    """What a completion probe asks, beside the run's own record; everything that marks are made of.

    Attributes:
        benchmark, layer: whose items they are.
        mode: ``chat`` asks in words; ``completion`` sends the beginning alone.
        cuts: percent of each item that goes out; :data:`~lacre.probe.cuts.HALF` decides.
        phrases: approved boilerplate, in folded words.
        prompts: the literal prompts.
        subjects: items, controls and famous texts; all public.
        controls_source: where the controls are from; ``pool`` and the rest: see :class:`Balance`.
    """

    benchmark: str
    layer: str
    mode: Mode
    cuts: tuple[int, ...]
    phrases: tuple[tuple[str, ...], ...]
    prompts: dict[str, str]
    subjects: tuple[Subject, ...]
    controls_source: str
    pool: int
    same_group: int

    def of(self, role: str) -> tuple[Subject, ...]:
        """The subjects of a role, in order."""
        return tuple(each for each in self.subjects if each.role == role)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One prompt about one subject."""

    subject: Subject
    prompt: Prompt
    percent: int
    phrases: tuple[tuple[str, ...], ...]

    @property
    def id(self) -> str:
        """The id of its question in the journal."""
        return f"{self.subject.role}/{self.subject.id}/{self.prompt}-{self.percent}"

    @cached_property
    def cut(self) -> Cut:
        """Its subject, cut."""
        return cut(self.subject.text, self.percent)

    @cached_property
    def telling(self) -> Telling:
        """Which words of the rest tell something."""
        return telling(self.cut, self.phrases)

    @property
    def question(self) -> Question:
        """As the engine asks it."""
        text = filled(self.prompt, self.cut.beginning, self.subject.exam)
        return Question(id=self.id, payload=Payload(kind="open", stem=text))


def whole_template() -> Template:
    """The template whose message is the prompt as it is.

    >>> whole_template().text
    '{{stem}}'
    """
    return Template(name="open", text=WHOLE, sha256=sha256(WHOLE.encode()))


def asked(probe: Probe) -> tuple[Asked, ...]:
    """All prompts of a probe, in order; a rest that tells too little is not asked for.

    An item is asked for at every cut, and once more, neutrally, at half. Controls and famous texts are asked for as
    items are, at half.
    """
    found = []
    for subject in probe.subjects:
        prompts = [
            Asked(subject=subject, prompt=prompt, percent=percent, phrases=probe.phrases)
            for prompt, percent in _prompts(probe, subject.role)
        ]
        # The first is the cut that decides: without it the others would tell nothing.
        if not prompts[0].telling.why_not:
            found += [each for each in prompts if not each.telling.why_not]
    return tuple(found)


def _prompts(probe: Probe, role: str) -> Iterator[tuple[Prompt, int]]:
    first: Prompt = "plain" if probe.mode == "completion" else "text" if role == "famous" else "exam"
    yield first, HALF
    if role == "item":
        for percent in probe.cuts:
            if percent != HALF:
                yield first, percent
        if probe.mode == "chat":
            yield "neutral", HALF


def subject_of(item: Item, exams: Mapping[str, Exam], *, role: str) -> Subject:
    """An item as a subject; its group is its value on the first axis of the matrix.

    >>> payload = Payload(kind="open", stem="Por que o farol apagou?")
    >>> item = Item(id="a", benchmark="b", layer="open", cell={"area": "mar"}, payload=payload)
    >>> subject_of(item, {}, role="control").group
    'mar'
    """
    exam = exams.get(item.source.exam or "")
    values = [value for _, value in sorted(item.cell.items())]
    text = text_of(item.payload)
    if item.canary:
        text = text.replace(item.canary, "").strip()
    named = "" if exam is None else f"{exam.name} {exam.edition}"
    if exam is not None and item.source.number:
        named += f", questão {item.source.number}"
    return Subject(
        id=item.id,
        role=role,
        text=text,
        group=values[0] if values else "",
        exam=named,
        published=exam.exam_date if exam else None,
        payload_sha256=payload_sha256(stripped(item.payload, item.canary)),
    )


def is_judgeable(subject: Subject, phrases: Sequence[Sequence[str]]) -> bool:
    """Whether half of a text can be asked for, and its rest judged."""
    return not telling(cut(subject.text, HALF), phrases).why_not


class Famous(Record):
    """A text that every column is likely to have read: in the public domain, with its author and source."""

    id: str
    title: str
    author: str
    year: str
    source: str
    text: str


def famous() -> tuple[Subject, ...]:
    """The positive control: famous texts in Portuguese, in the public domain, that come with the package.

    >>> [each.id for each in famous()][:2]
    ['camoes-soneto', 'cancao-do-exilio']
    """
    content = files("lacre.probe").joinpath("famous.jsonl").read_bytes()
    rows = [msgspec.json.decode(line, type=Famous) for line in content.splitlines() if line.strip()]
    return tuple(Subject(id=row.id, role="famous", text=row.text) for row in rows)


def prompts_of(mode: Mode) -> dict[str, str]:
    """The literal prompts that a mode uses, for the record.

    >>> prompts_of("completion")
    {'plain': '{beginning}'}
    """
    if mode == "completion":
        return {"plain": PROMPTS["plain"]}
    return {name: PROMPTS[name] for name in ("exam", "neutral", "text")}
