"""An outsider's check of sealed runs, from public files alone (SPEC X4).

The ledger fixed each run's items before its answers, and its scores before the draw. When items open, their scores and
the replies behind them open too: here each is proved to be the one that was committed to, read again by the rule, and
held against the counts that were published. What it cannot show is that nobody ran anything outside the ledger.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from math import comb
from pathlib import Path

from lacre.digest import sha256
from lacre.errors import LacreError
from lacre.jsonl import read_bytes
from lacre.registry.events import RunResult, Split
from lacre.registry.items import Payload
from lacre.registry.ledger import Ledger
from lacre.registry.records import Record
from lacre.registry.sealed_runs import Ended, SealedRun, Standing, sealed_runs, strays
from lacre.scoring.outcomes import Outcome
from lacre.sealed.cells import ALL
from lacre.sealed.counts import Bounded, Count, Exact
from lacre.sealed.ground import due_of
from lacre.sealed.records import (
    PublicRun,
    RoundTables,
    code_digest,
    number_of,
    read_run,
    read_tables,
    run_place,
    tables_place,
)
from lacre.sealed.scores import OpenedScore, matches, proves
from lacre.sealed.scoring import AS_SAID, by_rule, item_outcomes
from lacre.sealing.commitments import Row, rows_root


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What everybody has.

    Attributes:
        root: the folder of the workspace. ``ledger``: its signatures checked by the caller.
        closed: closings carried out.
        rows: public rows of all private items, opened ones too. ``opened``: payloads that open their commitment.
        scores: those that were opened.
    """

    root: Path
    benchmark: str
    ledger: Ledger
    closed: int
    rows: Mapping[str, Row]
    opened: Mapping[str, Payload]
    scores: tuple[OpenedScore, ...]


class RunCheck(Record, omit_defaults=False):
    """One run, checked.

    Attributes:
        items: asked. ``opened``: those of them that opened since. ``scores``: opened ones that hold.
        correct: of all graded items, as published; none where that is no exact count.
        opened_correct, opened_graded: of the graded items that opened, by the opened scores.
        chance: how often a random choice of as many items would be as far from the published share, or farther: 0 to 1,
            with four decimals; none where nothing can be compared.
        findings: what does not hold.
    """

    run: str
    column: str
    round: str
    standing: Standing
    items: int
    opened: int
    scores: int
    correct: int | None
    opened_correct: int | None
    opened_graded: int | None
    chance: str | None
    findings: tuple[str, ...]


class ScoreCheck(Record, omit_defaults=False):
    """All sealed runs of a benchmark, checked; ``findings``: what fits no run."""

    benchmark: str
    runs: tuple[RunCheck, ...]
    findings: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing was found."""
        return not self.findings and not any(run.findings for run in self.runs)


def check_scores(known: Evidence) -> ScoreCheck:
    """Every sealed run held against what is public of it.

    >>> check_scores(Evidence(root=Path(), benchmark="exemplo", ledger=Ledger((), b""), closed=0, rows={}, opened={},
    ...     scores=())).holds
    True
    """
    runs = sealed_runs(known.ledger, known.benchmark)
    by_run: dict[str, list[OpenedScore]] = defaultdict(list)
    for each in known.scores:
        by_run[each.score.run].append(each)
    findings = [f"line {line} of the ledger {what}" for line, what in strays(known.ledger, known.benchmark)]
    findings += _doubled(runs)
    findings += _unlike(runs)
    findings += _unknown_records(known, runs)
    for name in sorted(by_run.keys() - runs.keys()):
        findings.append(
            f"{len(by_run[name])} scores were opened of run '{name}', which the ledger does not know"
        )
    return ScoreCheck(
        benchmark=known.benchmark,
        runs=tuple(_run(known, name, run, by_run[name]) for name, run in runs.items()),
        findings=tuple(findings),
    )


def chance(items: int, correct: int, drawn: int, found: int) -> Fraction:
    """How often ``drawn`` of ``items``, at random, hold a number of correct ones no more likely than ``found``.

    The two-sided exact test of the hypergeometric distribution.

    >>> chance(4, 2, 2, 1), chance(4, 2, 2, 2)
    (Fraction(1, 1), Fraction(1, 3))
    """
    ways = [comb(correct, n) * comb(items - correct, drawn - n) for n in range(drawn + 1)]
    return Fraction(sum(way for way in ways if way <= ways[found]), comb(items, drawn))


def _doubled(runs: Mapping[str, SealedRun]) -> list[str]:
    times = Counter((run.intent.column, run.intent.round) for run in runs.values())
    return [
        f"column '{column}' had {number} runs in {round}, of which one counts"
        for (column, round), number in sorted(times.items(), key=str)
        if number > 1
    ]


def _unlike(runs: Mapping[str, SealedRun]) -> list[str]:
    """Rounds whose scored columns did not all get the same messages (SPEC L21)."""
    messages: dict[str, set[str]] = defaultdict(set)
    for run in runs.values():
        if run.result is not None:
            messages[run.intent.round or ""].add(run.intent.templates)
    return [
        f"the scored runs of {round} asked with {len(each)} different sets of messages, and are not to be compared"
        for round, each in sorted(messages.items())
        if len(each) > 1
    ]


def _run(known: Evidence, name: str, run: SealedRun, scores: Sequence[OpenedScore]) -> RunCheck:
    opened = sorted(run.shown & known.opened.keys())
    findings = list(_ledger_findings(known, run))
    good: list[OpenedScore] = []
    record: PublicRun | None = None
    tables: RoundTables | None = None
    if run.result is not None:
        try:
            record, tables = _published(known, name, run, run.result)
        except LacreError as error:
            findings.append(str(error).rstrip("."))
    elif scores:
        findings.append(f"{len(scores)} scores were opened of it, though it has no result")
    if run.standing == "under way":
        findings += _tables_of(known, run)
    if record is not None and tables is not None and run.result is not None:
        findings += _record_findings(run, record, tables)
        good, faults = _scores(known, run, run.result, record, scores)
        findings += faults + _missing(known, record, opened, scores)
    compared = _compared(record, tables, good)
    findings += compared.findings
    return RunCheck(
        run=name,
        column=run.intent.column,
        round=run.intent.round or "",
        standing=run.standing,
        items=run.intent.items,
        opened=len(opened),
        scores=len(good),
        correct=compared.correct,
        opened_correct=compared.opened_correct,
        opened_graded=compared.opened_graded,
        chance=compared.chance,
        findings=tuple(findings),
    )


def _ledger_findings(known: Evidence, run: SealedRun) -> Iterator[str]:
    """What is wrong with a run by the ledger alone."""
    if len(run.ends) > 1:
        yield f"it ends {len(run.ends)} times, on lines {', '.join(str(end.line) for end in run.ends)}"
    closed = _closed_at(known, run)
    for end in run.ends:
        if closed is not None and end.line > closed:
            yield f"line {end.line} ends it after the draw of its round, which line {closed} carried out"
        elif isinstance(end.event, RunResult) and _late(known, run, end):
            yield f"line {end.line} tells its scores when the randomness of its round was due, and could be known"
        if end.event.intent != run.digest:
            yield f"line {end.line} ends another run than the one that began: it names another intent"
    if not run.ends and run.intent.round is not None and number_of(run.intent.round) <= known.closed:
        yield "it began and never ended, though its round is over: neither a result nor a reason is known"
    if unknown := sorted(run.shown - known.rows.keys()):
        yield f"it was shown items that were never committed to: {', '.join(unknown[:3])}"
    elif run.result is not None:
        rows = [known.rows[item] for item in run.shown]
        if (len(rows), rows_root(rows)) != (run.intent.items, run.intent.root):
            yield "the items that were shown are not those of its intent"


def _late(known: Evidence, run: SealedRun, end: Ended) -> bool:
    """Whether a run ended when the randomness that its round's freeze named was due, by the ledger's times."""
    due = due_of(known.ledger, known.benchmark, run.intent.round, before=end.line)
    return due is not None and due <= datetime.fromisoformat(end.at)


def _closed_at(known: Evidence, run: SealedRun) -> int | None:
    """The line of the draw that closed a run's round; none where it is open still, or the run names no round."""
    return next(
        (
            line.seq
            for line in known.ledger.lines
            if isinstance(line.event, Split)
            and (line.event.benchmark, line.event.round) == (known.benchmark, run.intent.round)
        ),
        None,
    )


def _tables_of(known: Evidence, run: SealedRun) -> list[str]:
    """A finding when the tables of a round with a run under way are not those that its intent fixed."""
    place = tables_place(known.benchmark, run.intent.round or "/0")
    try:
        there = sha256(read_bytes(known.root / place))
    except LacreError as error:
        return [str(error).rstrip(".")]
    return [] if there == run.intent.tables else [f"{place} is not the file that the ledger fixed"]


def _unknown_records(known: Evidence, runs: Mapping[str, SealedRun]) -> list[str]:
    """Files among the public records of runs that no line of the ledger speaks of."""
    due = {run_place(known.benchmark, name) for name, run in runs.items() if run.result is not None}
    folder = (known.root / run_place(known.benchmark, "x")).parent
    there = [path.relative_to(known.root).as_posix() for path in sorted(folder.glob("*"))]
    return [
        f"{place} is the record of no run that the ledger says was scored"
        for place in there
        if place not in due
    ]


def _published(
    known: Evidence, name: str, run: SealedRun, result: RunResult
) -> tuple[PublicRun, RoundTables]:
    """The public record of a run and the tables of its round, as the ledger fixed them.

    Raises:
        LacreError: one is missing, damaged, or another.
    """
    found = []
    for place, digest in (
        (run_place(known.benchmark, name), result.record),
        (tables_place(known.benchmark, run.intent.round or "/0"), run.intent.tables),
    ):
        if sha256(read_bytes(known.root / place)) != digest:
            raise LacreError(f"{place} is not the file that the ledger fixed")
        found.append(known.root / place)
    return read_run(found[0]), read_tables(found[1])


def _record_findings(run: SealedRun, record: PublicRun, tables: RoundTables) -> Iterator[str]:
    """Where a public record says otherwise than the ledger, or than the tables of its round."""
    intent, result = run.intent, run.result
    for name, here, there in (
        ("run", record.run, intent.run),
        ("column", record.column, intent.column),
        ("round", record.round, intent.round),
        ("card", record.card, intent.card),
        ("tables", record.tables, intent.tables),
        ("intent", record.intent, run.digest),
        ("items", record.items, intent.items),
        ("items_root", record.items_root, intent.root),
        ("leaves", record.leaves, result.leaves if result else None),
        ("scores", record.scores, result.scores if result else None),
    ):
        if here != there:
            yield f"its record says {name} {here}, the ledger {there}"
    cells = {cell.name: len(run.shown & set(cell.items)) for cell in tables.tables.cells}
    due = {name: size for name, size in cells.items() if size}
    if {count.cell: count.items for count in record.counts} != due:
        yield "its counts are not of the sets that were fixed for the round"
    for count in record.counts:
        if isinstance(count, Exact) and sum(count.classes.values()) != count.items:
            yield f"its counts of {count.cell} do not add up"


def _scores(
    known: Evidence, run: SealedRun, result: RunResult, record: PublicRun, scores: Sequence[OpenedScore]
) -> tuple[list[OpenedScore], list[str]]:
    """The opened scores that hold, and what is wrong with the others."""
    good: list[OpenedScore] = []
    faults: list[str] = []
    seen = set[tuple[str, int]]()
    for each in scores:
        score = each.score
        where = f"score of item '{score.item}', repetition {score.repetition}"
        payload = known.opened.get(score.item)
        if (score.item, score.repetition) in seen:
            faults.append(f"{where}: was opened twice")
        elif score.column != run.intent.column or score.item not in run.shown or payload is None:
            faults.append(f"{where}: is of no opened item that this column was shown")
        elif each.size != result.leaves or not proves(each, result.scores):
            faults.append(f"{where}: is not the one that was committed to: the leaf was altered")
        elif not matches(each):
            faults.append(f"{where}: the reply is not the one that it was given for: it was altered")
        elif what := _reread(payload, each, record):
            faults.append(f"{where}: {what}")
        else:
            good.append(each)
        seen.add((score.item, score.repetition))
    return good, faults


def _reread(payload: Payload, each: OpenedScore, record: PublicRun) -> str:
    """What is wrong with the class of a score; empty when the rule finds it, too."""
    due = [part.id for part in payload.parts] or [""]
    if [reply.part for reply in each.replies] != sorted(due):
        return "it is not over every part of its item"
    found, score = by_rule(payload, each.replies), each.score
    other = (
        ""
        if record.code == code_digest()
        else f"; it was scored by version {record.version}, repeat it there"
    )
    if score.by == "rule" and found is not score.outcome:
        return f"says {score.outcome.value}, and the rule finds {found.value if found else 'no class'}{other}"
    if score.by == "said" and found is not None:
        return f"says that the rule cannot read the answer, and it finds {found.value}{other}"
    if score.by == "said" and (record.undecided is None or score.outcome is not AS_SAID[record.undecided]):
        return f"says {score.outcome.value}, which is not what such answers were said to count as"
    return ""


def _missing(
    known: Evidence, record: PublicRun, opened: Sequence[str], scores: Sequence[OpenedScore]
) -> list[str]:
    """A finding when items opened whose scores did not."""
    there = {(each.score.item, each.score.repetition) for each in scores}
    times = record.repetitions
    asked = {item: times.choice if known.opened[item].kind == "choice" else times.open for item in opened}
    absent = [
        (item, repetition)
        for item in opened
        for repetition in range(1, asked[item] + 1)
        if (item, repetition) not in there
    ]
    if not absent:
        return []
    first = ", ".join(f"'{item}' ({repetition})" for item, repetition in absent[:3])
    counted = "1 score" if len(absent) == 1 else f"{len(absent)} scores"
    return [
        f"{counted} of items that opened {'is' if len(absent) == 1 else 'are'} missing, such as that of {first}: "
        "whoever has the vault opens them with `lacre run open-scores`"
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Compared:
    """What was published, beside what the opened scores say."""

    correct: int | None = None
    opened_correct: int | None = None
    opened_graded: int | None = None
    chance: str | None = None
    findings: tuple[str, ...] = ()


def _compared(
    record: PublicRun | None, tables: RoundTables | None, scores: Sequence[OpenedScore]
) -> _Compared:
    if record is None or tables is None:
        return _Compared()
    outcomes = item_outcomes(each.score for each in scores)
    graded = {item: outcome for item, outcome in outcomes.items() if item in set(tables.graded)}
    members = {cell.name: set(cell.items) for cell in tables.tables.cells}
    findings: list[str] = []
    whole: Exact | None = None
    for count in record.counts:
        inside = [outcome for item, outcome in graded.items() if item in members.get(count.cell, frozenset())]
        findings += _contradictions(count, Counter(inside))
        if count.cell == ALL and isinstance(count, Exact):
            whole = count
    right = sum(outcome is Outcome.CORRECT for outcome in graded.values())
    told, correct = None, whole.classes["correct"] if whole else None
    if whole is not None and correct is not None and graded and not findings:
        told = f"{float(chance(whole.items, correct, len(graded), right)):.4f}"
    return _Compared(
        correct=correct,
        opened_correct=right if graded else None,
        opened_graded=len(graded) if graded else None,
        chance=told,
        findings=tuple(findings),
    )


def _contradictions(count: Count, opened: Counter[Outcome]) -> Iterator[str]:
    """Where the opened scores of a cell cannot be among those that were counted."""
    seen, right = sum(opened.values()), opened[Outcome.CORRECT]
    match count:
        case Exact():
            for outcome in Outcome:
                told = count.classes.get(outcome.value, 0)
                if not opened[outcome] <= told <= count.items - (seen - opened[outcome]):
                    yield (
                        f"{count.cell}: {told} of {count.items} were published as {outcome.value}, and "
                        f"{opened[outcome]} of the {seen} that opened are"
                    )
        case Bounded(side="at least") if seen - right > count.items - count.correct:
            yield f"{count.cell}: at least {count.correct} correct were published, and {seen - right} opened are not"
        case Bounded(side="at most") if right > count.correct:
            yield f"{count.cell}: at most {count.correct} correct were published, and {right} opened are"
        case _:
            return
