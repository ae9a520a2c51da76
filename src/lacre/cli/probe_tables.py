"""What ``lacre probe`` prints."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lacre.cli.answers import percent
from lacre.cli.output import print_json, print_table, say
from lacre.cli.run_tables import cost_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lacre.engine.costs import Cost
    from lacre.probe.canary import CanaryResult
    from lacre.probe.findings import ColumnFindings, Found
    from lacre.probe.folders import AnyFound
    from lacre.probe.freshness import ExamsFreshness, Freshness
    from lacre.probe.options import OptionsResult

FEW = 100
"""Controls below which the error rate says little: none marked of a hundred leaves up to 3.6 %."""


def print_found(found: AnyFound, marks: Path, *, listing: bool) -> None:
    """Print what a probe found; ``listing``: the items instead of the figures."""
    from lacre.probe.canary import CanaryResult  # noqa: PLC0415 - keeps --help fast
    from lacre.probe.findings import Found  # noqa: PLC0415

    if isinstance(found, Found):
        _print_completion(found, marks, listing=listing)
    elif isinstance(found, CanaryResult):
        _print_canary(found)
    else:
        _print_options(found, listing=listing)


def _print_completion(found: Found, marks: Path, *, listing: bool) -> None:
    """Print what a completion probe found: the items seen, or the figures."""
    if listing:
        seen = [mark for mark in found.marks if mark.verdict == "seen"]
        print_table(
            ("column", "item", "words in a row", "share", "alike", "of words", "at cuts", "unasked"),
            [
                (
                    mark.column, mark.item, str(mark.run), f"{mark.share:.0%}", f"{mark.similarity:.0%}",
                    str(mark.judged), f"{len(mark.cuts)} of {len(mark.cuts_judged)}",
                    "" if mark.neutral is None else "yes" if mark.neutral else "no",
                )
                for mark in seen
            ],
            right=("words in a row", "share", "alike", "of words"),
            whole=("column", "item"),
        )  # fmt: skip
        return
    columns = found.findings.columns
    names = ("column", "items", "seen", "at every cut", "not reproduced", "not probed", "share seen", "false positives",
             "power", "p", "p (BH)")  # fmt: skip
    print_table(names, [_row(row) for row in columns], right=names[1:], whole=("column",))
    click.echo("\nThe mark and its error rate")
    about = (
        "column",
        "controls",
        "a mark exceeds",
        "set by",
        "measured on",
        "another item's rest",
        "gain when asked for",
    )
    print_table(about, [_mark_row(row) for row in columns], whole=("column",), right=about[2:])
    lost = [
        (row.column, what, reason, f"{count:,}")
        for row in columns
        for what, counts in (
            ("items", row.not_probed), ("controls", row.controls_lost), ("famous texts", row.famous_lost)
        )
        for reason, count in counts.items()
    ]  # fmt: skip
    if lost:
        click.echo("\nCould not be probed")
        print_table(("column", "what", "reason", "how many"), lost, right=("how many",), whole=("column",))
    sys.stdout.flush()
    _remarks(columns, marks)


def _row(row: ColumnFindings) -> tuple[str, ...]:
    return (
        row.column, f"{row.items:,}", f"{row.seen:,}", f"{row.stable:,}", f"{row.not_reproduced:,}",
        f"{sum(row.not_probed.values()):,}", percent(row.rate), percent(row.false_positives), percent(row.power),
        chance(row.p), chance(row.p_adjusted),
    )  # fmt: skip


def _mark_row(row: ColumnFindings) -> tuple[str, ...]:
    from lacre.probe.marks import Threshold  # noqa: PLC0415 - keeps --help fast

    share = "set no threshold"
    count = 0
    if isinstance(row.threshold, Threshold):
        share, count = f"{row.threshold.share:.0%}", row.threshold.controls
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in row.controls.items())
    basis = kinds if row.basis == "controls" else "shuffled rests"
    return (
        row.column, basis or "none", share, f"{count:,}", f"{row.false_positives.n:,}", percent(row.shuffled),
        percent(row.guided),
    )  # fmt: skip


def chance(p: float | None) -> str:
    """A p value as a table shows it.

    >>> chance(0.0004), chance(0.25), chance(None)
    ('<0.001', '0.250', '')
    """
    if p is None:
        return ""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _remarks(columns: Sequence[ColumnFindings], marks: Path) -> None:
    say('"Not reproduced" is not "unseen": a column may have read what it does not write down.')
    shaken = [row.column for row in columns if row.basis != "controls"]
    if shaken:
        say(
            f"No control could be judged for {', '.join(shaken)}: shuffled rests say less than new items would."
        )
    few = [row.column for row in columns if row.basis == "controls" and row.false_positives.n < FEW]
    if few:
        say(f"Fewer than {FEW} controls measure the false positives of {', '.join(few)}: read the interval.")
    blind = [row.column for row in columns if getattr(row.power, "value", None) == 0 and not row.seen]
    if blind:
        say(f"No famous text came back from {', '.join(blind)}: there the probe finds nothing, seen or not.")
    odd = [row.column for row in columns if getattr(row.power, "value", None) == 0 and row.seen]
    if odd:
        say(
            f"No famous text came back from {', '.join(odd)}, and items did: of this column the famous texts do "
            "not tell the power."
        )
    for row in columns:
        vague = row.sides.get("unknown", 0)
        if row.cutoff is not None and vague:
            say(
                f"{vague:,} items have no date, or one too imprecise to tell its side of the cutoff of {row.column} "
                f"({row.cutoff}): they count as items, and as no controls."
            )
    say(f"Score with and without the items seen: lacre score ANSWERS --by seen --seen {marks}")


def _print_options(found: OptionsResult, *, listing: bool) -> None:
    """Print what a probe of masked options found."""
    if listing:
        print_table(("column", "item"), [(row.column, item) for row in found.columns for item in row.guessed])
        return
    names = (
        "column",
        "hit",
        "items",
        "controls",
        "excess",
        "alike, items",
        "alike, controls",
        "unanswered",
        "controls unanswered",
        "p",
        "p (BH)",
    )
    table = [
        (
            row.column, f"{row.exact:,}", percent(row.rate), percent(row.control_rate), percent(row.excess),
            percent(row.recall), percent(row.control_recall), f"{row.unanswered:,}",
            f"{row.controls_unanswered:,}", chance(row.p), chance(row.p_adjusted),
        )
        for row in found.columns
    ]  # fmt: skip
    print_table(names, table, right=names[1:], whole=("column",))
    sys.stdout.flush()
    for reason, count in found.left_out.items():
        say(f"{count:,} items were left out: {reason}.")
    say("A signal beside the completion probe; it marks no item.")


def _print_canary(found: CanaryResult) -> None:
    """Print what a canary probe found."""
    names = ("column", "digits in a row", "rank", "true line chosen", "unanswered", "p", "p (BH)", "evidence")
    table = [
        (
            row.column, f"{row.digits} of 32", "" if row.rank is None else f"{row.rank:,} of {row.of:,}",
            percent(row.hits), f"{row.unanswered:,}", chance(row.p), chance(row.p_adjusted),
            "yes" if row.is_evidence else "none",
        )
        for row in found.columns
    ]  # fmt: skip
    print_table(names, table, right=names[1:7], whole=("column",))
    sys.stdout.flush()
    say("Evidence, not proof: the canary may have been read apart from the items, and the items without it.")


def print_costs(costs: Sequence[Cost]) -> None:
    """Print what a probe cost."""
    click.echo("\nCost")
    names = ("stage", "column", "replies", "input", "cached", "output", "reasoning", "USD", "BRL", "untold")
    print_table(names, [cost_row(cost) for cost in costs], right=names[2:], whole=("column",))


def print_freshness(found: ExamsFreshness, *, as_json: bool) -> None:
    """Print how fresh the exams were."""
    if as_json:
        print_json(found)
        return
    names = ("exam", "edition", "items", "exam date", "key date", "column", "days since the key", "cutoff")
    table = [
        (
            row.name, row.edition, f"{row.items:,}", row.exam_date, row.key_date or "none", row.column, str(row.days),
            _against_cutoff(row),
        )
        for row in found.rows
    ]  # fmt: skip
    print_table(names, table, right=("items", "days since the key"), whole=("exam", "column"))
    sys.stdout.flush()
    if found.without_exam:
        say(f"{found.without_exam:,} official items name no exam of exams.jsonl.")
    if found.not_asked:
        say(f"No reply of {', '.join(found.not_asked)} is in these runs: nothing is said of it.")
    early = sorted({row.exam for row in found.rows if getattr(row.days, "least", 0) < 0})
    if early:
        say(f"The key may have come out after the run, for: {', '.join(early)}.")


def _against_cutoff(row: Freshness) -> str:
    """Where an exam is against a column's cutoff, in words; what is not known, with its reason."""
    if row.cutoff is None:
        return "none declared"
    return {"before": "exam before it", "after": "exam after it", "unknown": "the dates do not tell"}[
        row.side
    ]
