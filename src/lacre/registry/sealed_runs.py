"""Sealed runs as the ledger tells of them: who was asked what, in which round, and how it ended (SPEC X4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from lacre.registry.events import Exposure, RunAbort, RunIntent, RunResult
from lacre.registry.ledger import Ledger, Line

Standing = Literal["under way", "scored", "given up"]


@dataclass(frozen=True, slots=True)
class Ended:
    """The line that ended a run: its number, when (ISO, UTC), and what it says."""

    line: int
    at: str
    event: RunResult | RunAbort


@dataclass(slots=True)
class SealedRun:
    """One sealed run of one column.

    Attributes:
        line, at: number and time of the line of its intent. ``digest``: the hash of that line.
        exposures: the lines that say which items were shown.
        ends: the lines that say how it ended; more than one only in a ledger that does not hold.
    """

    intent: RunIntent
    line: int
    at: str
    digest: str
    exposures: list[Exposure] = field(default_factory=list)
    ends: list[Ended] = field(default_factory=list)

    @property
    def shown(self) -> frozenset[str]:
        """Ids of the items that may have been sent."""
        return frozenset(item for exposure in self.exposures for item in exposure.items)

    @property
    def result(self) -> RunResult | None:
        """What it gave; none while it is under way, and when it was given up."""
        event = self.ends[0].event if self.ends else None
        return event if isinstance(event, RunResult) else None

    @property
    def standing(self) -> Standing:
        """How it stands."""
        if not self.ends:
            return "under way"
        return "scored" if self.result is not None else "given up"


def sealed_runs(ledger: Ledger, benchmark: str) -> dict[str, SealedRun]:
    """The sealed runs of a benchmark by name, in the order in which they began.

    Of two intents of one name the first counts; lines that end or expose no run that began are left out here, and
    :func:`strays` has them.

    >>> sealed_runs(Ledger((), b""), "exemplo")
    {}
    """
    found: dict[str, SealedRun] = {}
    for line in ledger.lines:
        event = line.event
        if isinstance(event, RunIntent) and event.benchmark == benchmark:
            found.setdefault(event.run, SealedRun(event, line.seq, line.at, ledger.hash_of(line.seq)))
        elif (run := _of(line, benchmark, found)) is None:
            continue
        elif isinstance(event, Exposure):
            run.exposures.append(event)
        elif isinstance(event, RunResult | RunAbort):
            run.ends.append(Ended(line.seq, line.at, event))
    return found


_WITH = "--vault DIR --identity FILE --key FILE"


def resume_command(run: str) -> str:
    """The command that goes on with a sealed run, as a message gives it.

    >>> resume_command("r1")
    'lacre run resume r1 --vault DIR --identity FILE --key FILE'
    """
    return f"lacre run resume {run} {_WITH}"


def abort_command(run: str) -> str:
    """The command that gives a sealed run up, as a message gives it.

    >>> abort_command("r1")
    'lacre run abort r1 --reason TEXT --vault DIR --identity FILE --key FILE'
    """
    return f"lacre run abort {run} --reason TEXT {_WITH}"


def runs_of_round(ledger: Ledger, benchmark: str, round: str) -> dict[str, SealedRun]:
    """The sealed runs of one round, as :func:`sealed_runs` gives them.

    >>> runs_of_round(Ledger((), b""), "exemplo", "exemplo/1")
    {}
    """
    runs = sealed_runs(ledger, benchmark)
    return {name: run for name, run in runs.items() if run.intent.round == round}


def strays(ledger: Ledger, benchmark: str) -> tuple[tuple[int, str], ...]:
    """Lines about sealed runs that fit no run, with what is wrong: a second intent, an end of what never began.

    >>> strays(Ledger((), b""), "exemplo")
    ()
    """
    begun: set[str] = set()
    said: list[tuple[int, str]] = []
    for line in ledger.lines:
        event = line.event
        if not isinstance(event, RunIntent | RunResult | RunAbort) or event.benchmark != benchmark:
            continue
        if isinstance(event, RunIntent):
            if event.run in begun:
                said.append((line.seq, f"run '{event.run}' begins a second time"))
            begun.add(event.run)
        elif event.run not in begun:
            said.append((line.seq, f"ends run '{event.run}', which never began"))
    return tuple(said)


def _of(line: Line, benchmark: str, known: dict[str, SealedRun]) -> SealedRun | None:
    """The run that a line is about, if it is about one that began."""
    event = line.event
    if not isinstance(event, Exposure | RunResult | RunAbort) or event.benchmark != benchmark:
        return None
    return known.get(event.run)
