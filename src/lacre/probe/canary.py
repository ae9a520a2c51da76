"""The canary probe: does a column know the canary's own string? Evidence, not proof (SPEC L9).

A canary asks not to train on what carries it. Its random part can be known only by having read it: a column that
writes it down, or tells it from invented ones, has read a file that holds it, or a page that quotes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from lacre.engine.journal import Replied, Task
from lacre.engine.plans import Question
from lacre.engine.replies import Answered, Truncated
from lacre.errors import InputError
from lacre.probe.marks import adjusted
from lacre.registry.columns import Column
from lacre.registry.items import Payload
from lacre.registry.records import Record
from lacre.scoring.estimates import Measured
from lacre.scoring.intervals import proportion

STAGE = "probe canary"
DECOYS = 999
"""Invented strings that the true one is ranked among; p can be as low as 1 in a thousand."""
GIVEN = (0, 8, 16)
"""Hexadecimal digits that go out before the rest is asked for."""
CHOICES, ROUNDS = 20, 20
"""Lines to choose among, and how often, each time among others."""
CHANCE = 0.01
"""Adjusted p value from which the page speaks of evidence."""

MASK = "[MASK]"
_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
_HEX = re.compile(r"[0-9a-f]{4,}", re.IGNORECASE)
_DIGITS = 32
_MOST_REPLY = 20_000  # characters of a reply that are read; a line was asked for
_SHAPE = (8, 12, 16, 20)  # where the hyphens of a UUID stand

_COMPLETE = (
    "A linha abaixo está em arquivos públicos de um conjunto de dados; parte dela foi trocada por {mask}. "
    "Escreva o que falta, exatamente como está lá, e nada mais.\n\n{line}"
)
_CHOOSE = (
    "Uma só das linhas abaixo está em arquivos públicos de um conjunto de dados; as outras foram inventadas. "
    "Qual é? Responda só com o número dela.\n\n{lines}"
)


class CanaryProbe(Record, tag="canary", omit_defaults=False):
    """What a canary probe asks: the canary, and the seed of its decoys."""

    canary: str
    seed: int
    decoys: int = DECOYS


class CanaryFindings(Record, omit_defaults=False):
    """What a canary probe found of one column.

    Attributes:
        digits: the longest run of the true rest that the column wrote, over all cuts.
        rank: of the true string among ``of``, by what the column wrote; ties count against it. None without a reply.
        hits: how often it chose the true line, of ``rounds`` that it answered; by chance 1 in :data:`CHOICES`.
        p_rank, p_hits: chances of as good a rank, and of as many hits, for a column that knows nothing.
        p: twice the smaller, at most 1; ``p_adjusted`` over all columns (Benjamini and Hochberg).
        unanswered: prompts that were refused or failed.
    """

    column: str
    digits: int
    rank: int | None
    of: int
    hits: Measured
    rounds: int
    p_rank: float | None
    p_hits: float | None
    p: float | None
    unanswered: int
    p_adjusted: float | None = None

    @property
    def is_evidence(self) -> bool:
        """Whether the column knows more of the canary than chance explains."""
        return self.p_adjusted is not None and self.p_adjusted < CHANCE


class CanaryResult(Record, omit_defaults=False):
    """What a canary probe found, column by column."""

    columns: tuple[CanaryFindings, ...]


def canary_probe(canary: str, seed: int) -> CanaryProbe:
    """The probe of a canary.

    Raises:
        InputError: the canary has no UUID, so that nothing in it is unguessable.
    """
    if len(_UUID.findall(canary)) != 1:
        raise InputError("canary", "does not hold just one UUID", "Mint one with `lacre canary new`")
    return CanaryProbe(canary=" ".join(canary.split()), seed=seed)


def canary_questions(probe: CanaryProbe) -> tuple[Question, ...]:
    """What is asked: the rest of the canary, and which of several lines is the true one.

    >>> line = "ARQUIVO DE EXEMPLO GUID 01234567-89ab-cdef-0123-456789abcdef"
    >>> [question.id for question in canary_questions(canary_probe(line, 1))][:4]
    ['complete/0', 'complete/8', 'complete/16', 'choose/1']
    """
    true = _digits_of(probe)
    prompts = [
        (f"complete/{given}", _COMPLETE.format(mask=MASK, line=_line(probe, _shaped(true[:given]) + MASK)))
        for given in GIVEN
    ]
    for nth, lines in _rounds(probe, true):
        listed = "\n".join(f"{place}. {_line(probe, _shaped(one))}" for place, one in lines)
        prompts.append((f"choose/{nth}", _CHOOSE.format(lines=listed)))
    return tuple(Question(id=id, payload=Payload(kind="open", stem=text)) for id, text in prompts)


def find_canary(probe: CanaryProbe, cards: Sequence[Column], replies: Mapping[Task, Replied]) -> CanaryResult:
    """What the replies say, column by column."""
    rows = [_findings(probe, card.id, replies) for card in cards]
    values = adjusted([row.p for row in rows])
    pairs = zip(rows, values, strict=True)
    return CanaryResult(columns=tuple(msgspec.structs.replace(row, p_adjusted=p) for row, p in pairs))


def _findings(probe: CanaryProbe, column: str, replies: Mapping[Task, Replied]) -> CanaryFindings:
    true = _digits_of(probe)
    said = {given: _text(replies, column, f"complete/{given}") for given in GIVEN}
    heard = {given: _hexadecimal(text) for given, text in said.items() if text is not None}
    chosen = {nth: _text(replies, column, f"choose/{nth}") for nth, _ in _rounds(probe, true)}
    answered = {nth: text for nth, text in chosen.items() if text is not None}
    hits = sum(
        _chosen(answered[nth], lines) == place
        for nth, lines in _rounds(probe, true)
        for place, one in lines
        if one == true and nth in answered
    )
    own = _written(heard, true)
    better = sum(_written(heard, decoy) >= own for decoy in _decoys(probe))
    p_rank = (1 + better) / (1 + probe.decoys) if heard else None
    p_hits = _tail(hits, len(answered))
    both = [p for p in (p_rank, p_hits) if p is not None]
    return CanaryFindings(
        column=column,
        digits=max((_longest(text, true[given:]) for given, text in heard.items()), default=0),
        rank=1 + better if heard else None,
        of=1 + probe.decoys,
        hits=proportion(hits, len(answered), method="clopper-pearson", empty="no choice was answered"),
        rounds=len(answered),
        p_rank=p_rank,
        p_hits=p_hits,
        p=min(1.0, len(both) * min(both)) if both else None,
        unanswered=len(said) + len(chosen) - len(heard) - len(answered),
    )


def _tail(hits: int, rounds: int) -> float | None:
    """The chance of so many hits or more for a column that knows nothing."""
    if not rounds:
        return None
    from scipy.special import bdtrc  # type: ignore[import-untyped]  # noqa: PLC0415 - slow to import

    return 1.0 if hits == 0 else float(bdtrc(hits - 1, rounds, 1 / CHOICES))


def _text(replies: Mapping[Task, Replied], column: str, question: str) -> str | None:
    entry = replies.get(Task(column, question, 1))
    if entry is None or not isinstance(entry.reply, Answered | Truncated):
        return None
    return entry.reply.text


def _chosen(text: str, lines: Sequence[tuple[int, str]]) -> int | None:
    """The number of the line that a reply chooses: the only one whose string it repeats, or whose number it names."""
    said = _plain(text)
    repeated = [place for place, digits in lines if digits in said]
    return repeated[0] if len(repeated) == 1 else _number(text)


def _number(text: str) -> int | None:
    """The number that a reply chooses: the only one that it names."""
    named = {int(number) for number in re.findall(r"(?<![\w-])\d{1,2}(?![\w-])", text)}
    return named.pop() if len(named) == 1 else None


def _written(heard: Mapping[int, str], digits: str) -> int:
    """How much of a string the column wrote, added over the cuts; of replies as :func:`_hexadecimal` has them."""
    return sum(_longest(text, digits[given:]) for given, text in heard.items())


def _plain(text: str) -> str:
    """What is read of a reply, in lower case, without hyphens."""
    return text[:_MOST_REPLY].replace("-", "").lower()


def _hexadecimal(text: str) -> str:
    """The stretches of a reply that are hexadecimal digits, without hyphens."""
    return " ".join(_HEX.findall(_plain(text)))


def _longest(text: str, rest: str) -> int:
    """How long a beginning of the rest stands among the hexadecimal digits of a reply."""
    # Upwards: where a beginning is not there, no longer one is.
    size = 0
    while size < len(rest) and rest[: size + 1] in text:
        size += 1
    return size


def _digits_of(probe: CanaryProbe) -> str:
    """The digits of the canary's UUID."""
    found: list[str] = _UUID.findall(probe.canary)
    return found[0].replace("-", "").lower()


def _line(probe: CanaryProbe, uuid: str) -> str:
    """The canary with something in the place of its UUID."""
    return _UUID.sub(uuid, probe.canary)


def _shaped(digits: str) -> str:
    """Digits with the hyphens of a UUID, as far as they go."""
    return "".join(("-" if place in _SHAPE else "") + digit for place, digit in enumerate(digits))


def _digits(rng: np.random.Generator) -> str:
    return "".join("0123456789abcdef"[value] for value in rng.integers(0, 16, _DIGITS))


def _decoys(probe: CanaryProbe) -> Iterator[str]:
    """Invented strings, to be held against what the column wrote as the true one is."""
    rng = np.random.default_rng([probe.seed, 1])
    for _ in range(probe.decoys):
        # Only what comes after a cut is compared: at every cut it is as if it began as the true one does.
        yield _digits(rng)


def _rounds(probe: CanaryProbe, true: str) -> list[tuple[int, list[tuple[int, str]]]]:
    """For each round, lines by number: the true one at a place drawn anew, among new decoys."""
    rng = np.random.default_rng([probe.seed, 2])
    rounds = []
    for nth in range(1, ROUNDS + 1):
        lines = [_digits(rng) for _ in range(CHOICES)]
        lines[int(rng.integers(0, CHOICES))] = true
        rounds.append((nth, list(enumerate(lines, 1))))
    return rounds
