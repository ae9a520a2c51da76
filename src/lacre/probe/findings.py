"""What a completion probe found: marks of every item and column, and how far they may be believed (SPEC L8, X6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

import msgspec

from lacre.engine.journal import Replied, Task
from lacre.engine.phrases import phrase
from lacre.engine.readable import readable
from lacre.engine.replies import Answered, Failed, Refused, Reply, Truncated
from lacre.probe.completion import Asked, Probe, asked
from lacre.probe.controls import Subject, shuffled
from lacre.probe.cuts import HALF, cut
from lacre.probe.marks import (
    Threshold,
    adjusted,
    candidate,
    claim,
    error_rate,
    is_marked,
    sets_threshold,
    threshold,
)
from lacre.probe.measures import MOST_CHARACTERS, Measures, measure
from lacre.probe.telling import telling
from lacre.registry.columns import Column
from lacre.registry.records import Record
from lacre.registry.seen import Mark
from lacre.scoring.estimates import LEVEL, Measured, Undefined
from lacre.scoring.intervals import clustered_mean, proportion
from lacre.scoring.outcomes import Outcome
from lacre.scoring.strata import Side, side_of_cutoff
from lacre.text import words

NO_PROMPT = "the probe did not ask"

Key: TypeAlias = tuple[str, str, str, int]
"""Role and id of a subject, prompt, percent."""


class ColumnFindings(Record, omit_defaults=False):
    """What a probe found of one column.

    Attributes:
        items, seen, not_reproduced: items of the layer; ``not_probed``: those that could not be, by reason.
        stable: of those seen, the ones that every other cut that could be judged reproduces too.
        rate: seen, of the items that could be judged.
        basis: what set the threshold and measured the error rate: ``controls``, or ``shuffled`` where there are none.
        controls: those judged, by kind: ``new`` items, items ``after the cutoff``.
        controls_lost: those that could not be judged, by reason.
        false_positives: the share of controls marked, of those that did not set the threshold (X6).
        cutoff: the column's declared cutoff; none where there is none.
        sides: items before and after it, and those of which nothing tells it: a date is
            missing or imprecise, or no cutoff is declared. Only those after it are controls.
        shuffled: the share of replies marked when held against another item's rest.
        power: the share of famous texts marked; ``famous_lost``: those that could not be judged, by reason.
        guided: how much larger the share is when the exam is asked for than when nobody asks for one, on items.
        p: chance of as many marks if items were marked as often as controls; ``p_adjusted`` over all columns.
    """

    column: str
    items: int
    seen: int
    stable: int
    not_reproduced: int
    not_probed: dict[str, int]
    rate: Measured
    basis: str
    threshold: Threshold | Undefined
    controls: dict[str, int]
    controls_lost: dict[str, int]
    cutoff: str | None
    sides: dict[str, int]
    false_positives: Measured
    shuffled: Measured
    power: Measured
    famous_lost: dict[str, int]
    guided: Measured
    p: float | None
    p_adjusted: float | None = None


class Findings(Record, omit_defaults=False):
    """What a probe found, column by column.

    Attributes:
        level: level of the intervals.
        pool, same_group: controls that there were, and those matched in subject.
        item_words, control_words: mean length of items, and of their controls.
    """

    probe: str
    benchmark: str
    layer: str
    mode: str
    columns: tuple[ColumnFindings, ...]
    controls_source: str
    pool: int
    same_group: int
    item_words: float
    control_words: float
    level: float = LEVEL


@dataclass(frozen=True, kw_only=True)
class Shares:
    """The share of telling words that a column reproduced of each text that could be judged, for a figure.

    Attributes:
        items, controls, famous: controls are those that did not set the threshold.
        threshold: what a share must exceed; none where there is none.
    """

    column: str
    items: tuple[float, ...]
    controls: tuple[float, ...]
    famous: tuple[float, ...]
    threshold: float | None


@dataclass(frozen=True, kw_only=True)
class Found:
    """Findings, the marks that they count, and the shares that these rest on."""

    findings: Findings
    marks: tuple[Mark, ...]
    shares: tuple[Shares, ...]


@dataclass(frozen=True, kw_only=True)
class _Judged:
    """One reply held against its rest; ``why_not`` where it could not be."""

    measures: Measures | None
    why_not: str = ""


def find(run: str, probe: Probe, cards: Sequence[Column], replies: Mapping[Task, Replied]) -> Found:
    """Everything that the replies of a complete probe say.

    Args:
        run: the id of the run.
        cards: the columns that were asked.
        replies: the reply that holds for each task.
    """
    prompts = asked(probe)
    found = [_Reading(run, probe, prompts, card, replies) for card in cards]
    rows = [reading.findings() for reading in found]
    values = adjusted([row.p for row in rows])
    rows = [msgspec.structs.replace(row, p_adjusted=p) for row, p in zip(rows, values, strict=True)]
    items, controls = probe.of("item"), probe.of("control")
    return Found(
        findings=Findings(
            probe=run,
            benchmark=probe.benchmark,
            layer=probe.layer,
            mode=probe.mode,
            columns=tuple(rows),
            controls_source=probe.controls_source,
            pool=probe.pool,
            same_group=probe.same_group,
            item_words=_mean_words(items),
            control_words=_mean_words(controls),
        ),
        marks=tuple(mark for reading in found for mark in reading.marks()),
        shares=tuple(reading.shares() for reading in found),
    )


def _mean_words(subjects: Sequence[Subject]) -> float:
    return sum(len(words(each.text)) for each in subjects) / len(subjects) if subjects else 0.0


class _Reading:
    """One column's replies, judged."""

    def __init__(
        self,
        run: str,
        probe: Probe,
        prompts: Sequence[Asked],
        card: Column,
        replies: Mapping[Task, Replied],
    ) -> None:
        self.run, self.probe, self.card = run, probe, card
        self.texts: dict[Key, Reply] = {}
        self.judged: dict[Key, _Judged] = {}
        for each in prompts:
            entry = replies.get(Task(card.id, each.id, 1))
            if entry is not None:
                key = (each.subject.role, each.subject.id, each.prompt, each.percent)
                self.texts[key], self.judged[key] = entry.reply, _judge(each, entry.reply)
        self.first = "plain" if probe.mode == "completion" else "exam"
        self.held = self._controls()
        self.shuffles = self._shuffled()
        self.basis = "controls" if self.held else "shuffled"
        base = self.held if self.held else self.shuffles
        self.setting = [found for id, found in base.items() if sets_threshold(id)]
        self.measuring = [found for id, found in base.items() if not sets_threshold(id)]
        self.threshold = threshold(self.setting)

    def _side(self, subject: Subject) -> Side:
        """On which side of the column's declared cutoff an item came out, where the dates tell it."""
        return side_of_cutoff(subject.published, self._cutoff)

    @property
    def _cutoff(self) -> str | None:
        return self.card.cutoff.value if self.card.cutoff else None

    def _after(self, subject: Subject) -> bool:
        """Whether an item came out after the column's declared cutoff: it cannot have been read."""
        return self._side(subject) == "after"

    def _controls(self) -> dict[str, Measures]:
        """The controls that could be judged: new items, and items after the cutoff."""
        found = {}
        for subject in (*self.probe.of("control"), *filter(self._after, self.probe.of("item"))):
            judged = self.judged.get((subject.role, subject.id, self.first, HALF))
            if judged is not None and judged.measures is not None:
                found[subject.id] = judged.measures
        return found

    def _shuffled(self) -> dict[str, Measures]:
        """Each item's reply held against the rest of another item, by the pair's ids."""
        items = {each.id: each for each in self.probe.of("item")}
        found = {}
        for one, other in shuffled(self.probe.of("item")):
            key = ("item", one, self.first, HALF)
            rest = cut(items[other].text, HALF)
            told = telling(rest, self.probe.phrases)
            judged, reply = self.judged.get(key), self.texts.get(key)
            if judged is None or judged.measures is None or told.why_not:
                continue
            if isinstance(reply, Answered | Truncated):
                found[f"{one} {other}"] = measure(rest, told, reply.text)
        return found

    def marks(self) -> list[Mark]:
        """The mark of every item of the layer."""
        return [self._mark(subject) for subject in self.probe.of("item")]

    def _mark(self, subject: Subject) -> Mark:
        key = ("item", subject.id, self.first, HALF)
        judged = self.judged.get(key)
        if judged is None or judged.measures is None:
            return Mark(
                column=self.card.id,
                item=subject.id,
                verdict="not_probed",
                reason=judged.why_not if judged else _why_not(subject, self.probe),
                probe=self.run,
                payload_sha256=subject.payload_sha256,
            )
        found = judged.measures
        seen = self._is_seen(found)
        undecided = isinstance(self.threshold, Undefined) and candidate(found)
        cuts = [
            (percent, at.measures)
            for percent in sorted({HALF, *self.probe.cuts})
            if (at := self.judged.get((*key[:3], percent))) is not None and at.measures is not None
        ]
        neutral = self.judged.get((*key[:2], "neutral", HALF))
        return Mark(
            column=self.card.id,
            item=subject.id,
            verdict="not_probed" if undecided else "seen" if seen else "not_reproduced",
            reason=f"no threshold: {self.threshold.reason}"
            if undecided and isinstance(self.threshold, Undefined)
            else "",
            run=found.run,
            share=round(found.share, 4),
            similarity=round(found.similarity, 4),
            recall=round(found.recall, 4),
            exact=found.exact,
            judged=found.judged,
            cuts=tuple(percent for percent, at in cuts if self._is_seen(at)),
            cuts_judged=tuple(percent for percent, _ in cuts),
            neutral=None if neutral is None or neutral.measures is None else self._is_seen(neutral.measures),
            probe=self.run,
            payload_sha256=subject.payload_sha256,
        )

    def _is_seen(self, found: Measures) -> bool:
        return isinstance(self.threshold, Threshold) and is_marked(found, self.threshold)

    def findings(self) -> ColumnFindings:
        """What they add up to."""
        marks = self.marks()
        verdicts = Counter(mark.verdict for mark in marks)
        judged = verdicts["seen"] + verdicts["not_reproduced"]
        seen = [mark for mark in marks if mark.verdict == "seen"]
        kinds, lost = self._kinds()
        false = sum(map(self._is_seen, self.measuring))
        # Items that count as controls are in no claim about items.
        after = {each.id for each in self.probe.of("item") if self._after(each)}
        claimed = [mark for mark in marks if mark.item not in after and mark.verdict != "not_probed"]
        defined = isinstance(self.threshold, Threshold)
        return ColumnFindings(
            column=self.card.id,
            items=len(marks),
            seen=verdicts["seen"],
            stable=sum(mark.cuts == mark.cuts_judged for mark in seen),
            not_reproduced=verdicts["not_reproduced"],
            not_probed=_sorted(Counter(mark.reason for mark in marks if mark.verdict == "not_probed")),
            rate=proportion(verdicts["seen"], judged, empty="no item could be probed"),
            basis=self.basis,
            threshold=self.threshold,
            controls=kinds,
            controls_lost=lost,
            cutoff=self._cutoff,
            sides=_sorted(Counter(map(self._side, self.probe.of("item")))),
            false_positives=error_rate(self.measuring, self.threshold),
            shuffled=self._share_marked(
                list(self.shuffles.values()), "no reply could be held against another item"
            ),
            power=self._share_marked(self._of("famous"), "no famous text could be judged"),
            famous_lost=self._famous_lost(),
            guided=self._guided(),
            p=claim(sum(mark.verdict == "seen" for mark in claimed), len(claimed), false, len(self.measuring))
            if defined
            else None,
        )

    def _kinds(self) -> tuple[dict[str, int], dict[str, int]]:
        """Controls judged by kind, and lost by reason."""
        kinds, lost = Counter[str](), Counter[str]()
        for subject in (*self.probe.of("control"), *filter(self._after, self.probe.of("item"))):
            kind = "new" if subject.role == "control" else "after the cutoff"
            judged = self.judged.get((subject.role, subject.id, self.first, HALF))
            if subject.id in self.held:
                kinds[kind] += 1
            else:
                lost[judged.why_not if judged else _why_not(subject, self.probe)] += 1
        return _sorted(kinds), _sorted(lost)

    def _famous_lost(self) -> dict[str, int]:
        """Famous texts that could not be judged, by reason."""
        judged = [found for (role, *_), found in self.judged.items() if role == "famous"]
        return _sorted(Counter(found.why_not for found in judged if found.measures is None))

    def _share_marked(self, found: Sequence[Measures], empty: str) -> Measured:
        if isinstance(self.threshold, Undefined):
            return Undefined(reason=self.threshold.reason, n=len(found))
        return proportion(sum(map(self._is_seen, found)), len(found), method="clopper-pearson", empty=empty)

    def _of(self, role: str) -> list[Measures]:
        """The measures of a role's subjects, at half."""
        return [
            judged.measures
            for (each, _, prompt, percent), judged in self.judged.items()
            if each == role and prompt != "neutral" and percent == HALF and judged.measures is not None
        ]

    def shares(self) -> Shares:
        """The shares that the marks rest on. A share without a run that a mark needs counts for what it is."""
        return Shares(
            column=self.card.id,
            items=tuple(found.share for found in self._of("item")),
            controls=tuple(found.share for found in self.measuring),
            famous=tuple(found.share for found in self._of("famous")),
            threshold=self.threshold.share if isinstance(self.threshold, Threshold) else None,
        )

    def _guided(self) -> Measured:
        """The mean gain in share over the neutral prompt, on items judged under both."""
        gains = []
        for subject in self.probe.of("item"):
            pair = [self.judged.get(("item", subject.id, prompt, HALF)) for prompt in ("exam", "neutral")]
            both = [each.measures for each in pair if each is not None and each.measures is not None]
            if len(both) == len(pair):
                gains.append([both[0].share - both[1].share])
        return (
            clustered_mean(gains)
            if gains
            else Undefined(reason="no item was asked for under both prompts", n=0)
        )


def _why_not(subject: Subject, probe: Probe) -> str:
    """Why a subject was not asked for, or has no reply."""
    return telling(cut(subject.text, HALF), probe.phrases).why_not or NO_PROMPT


def _judge(each: Asked, reply: Reply) -> _Judged:
    """A reply held against the rest that it was to give."""
    match reply:
        case Failed():
            return _Judged(measures=None, why_not=f"failed: {reply.cause.replace('_', ' ')}")
        case Refused():
            # A vendor that stops a recitation has noticed one: not proof, but to be counted apart.
            recited = (reply.raw_finish or "").upper() == "RECITATION"
            return _Judged(measures=None, why_not="stopped as a recitation" if recited else "refused")
        case Truncated(text=text) | Answered(text=text):
            found = measure(each.cut, each.telling, text)
        case _:
            assert_never(reply)
    if not candidate(found):
        said = phrase(readable(text[:MOST_CHARACTERS]), open_ended=True)
        if said is not None and said.outcome is Outcome.REFUSAL:
            return _Judged(measures=None, why_not="refused")
        if not text.strip():
            return _Judged(measures=None, why_not="failed: the cap was reached before any text")
    return _Judged(measures=found)


def _sorted(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items()))
