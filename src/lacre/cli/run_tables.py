"""What ``lacre run`` prints: tables of a run's state and cost, and its progress."""

from __future__ import annotations

import sys
import time
from typing import IO, TYPE_CHECKING

import click

from lacre.cli.output import LiveLine, escaped, print_json, print_table, quoted, say
from lacre.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lacre.engine.costs import Cost, Count, Money
    from lacre.engine.folders import Written
    from lacre.engine.journal import Entry
    from lacre.engine.plans import Question, RunRecord
    from lacre.engine.runs import Progress, RunState
    from lacre.registry.columns import Column


def print_state(state: RunState) -> None:
    """Print how far each column is, and whether the run is complete."""
    names = ("column", "replies", "of", "answered", "refused", "truncated", "failed", "context cut", "state")
    rows = []
    for column in state.columns:
        how = "complete" if column.done >= column.expected else "not complete"
        if column.halted is not None:
            how = f"stopped: {column.halted.detail}"
        rows.append(
            (
                column.column, f"{column.done:,}", f"{column.expected:,}", f"{column.answered:,}",
                f"{column.refused:,}", f"{column.truncated:,}", f"{column.failed:,}",
                f"{column.incomplete_context:,}", how,
            )
        )  # fmt: skip
    print_table(names, rows, right=names[1:8], whole=("column",))
    sys.stdout.flush()
    for column in state.columns:
        if column.unknown_ends:
            ends = ", ".join(f"{word} {count:,}" for word, count in column.unknown_ends.items())
            say(f"column '{column.column}': some answers ended for reasons that are not known: {ends}.")
        if column.over_cap:
            say(
                f"column '{column.column}': {column.over_cap:,} replies are longer than the output cap of "
                f"{column.cap:,} tokens, the longest {column.longest:,}: its server does not keep to the cap, and a "
                "budget cannot count on it."
            )
    say("The run is complete." if state.complete else "The run is NOT complete, and is not scored.")


def print_written(written: Written, on: IO[str]) -> None:
    """Print how many replies the rule decided, and where the answers are."""
    for kind in sorted({*written.decided, *written.undecided}):
        decided, left = written.decided.get(kind, 0), written.undecided.get(kind, 0)
        wait = "count as you said" if written.forced else "wait for the judges"
        click.echo(
            f"{kind} items: {decided:,} replies decided by rule"
            + (f", {left:,} {wait} ({left / (left + decided):.1%})" if left else "")
            + ".",
            file=on,
        )
    for path in written.removed:
        click.echo(f"{path}: taken away, for some of its answers wait for the judges again.", file=on)
    for kind, path in zip(sorted(written.rows), written.answers, strict=True):
        instead = ", in the place of those of an earlier call" if path in written.replaced else ""
        click.echo(f"{path}: {written.rows[kind]:,} answers written{instead}.", file=on)
    for path in written.answers:
        click.echo(f"Score them with: lacre score {quoted(path)}", file=on)


def print_record(record: RunRecord) -> None:
    """What a customer controls, and the literal messages."""
    click.echo(f"run {record.id}, began {record.created}, lacre {record.version}")
    kinds = f"choice {record.repetitions.choice}, open {record.repetitions.open} times"
    click.echo(f"{record.items:,} items of {record.source} (sha256 {record.items_sha256}); {kinds}")
    for card in record.columns:
        cap = card.cap if card.cap is not None else "none"
        click.echo(
            escaped(f"column {card.id}: {card.model}, effort {card.effort or 'not set'}, token cap {cap}")
        )
        for fact in card.vendor_adds:
            click.echo(escaped(f"  the vendor adds: {fact.value} ({fact.source}, {fact.read})"))
    for template in record.templates:
        click.echo(f"template {template.name} (sha256 {template.sha256})")


def say_budget(state: RunState) -> None:
    """Say how much of a budget is left to nobody: spent or set aside at its end, or exceeded."""
    from decimal import Decimal  # noqa: PLC0415

    if state.budget is None or state.spent is None:
        return
    budget, spent = Decimal(state.budget), Decimal(state.spent)
    if spent > budget:
        say(
            f"The budget of US$ {budget} is exceeded: US$ {spent:.4f} are spent, US$ {spent - budget:.4f} more, for "
            "replies told more tokens than their requests allow, or were billed in an earlier session."
        )
    elif state.budget_reached:
        say(
            f"Of the budget of US$ {budget}, US$ {spent:.4f} are spent, or may have been billed without a reply."
        )


def print_replies(journal: Iterable[Entry], item: str, *, as_json: bool) -> None:
    """Print the replies that hold for one item.

    Raises:
        InputError: it has none.
    """
    from lacre.engine.journal import settled  # noqa: PLC0415

    found = [entry for task, entry in sorted(settled(journal).items()) if task.item == item]
    if not found:
        raise InputError(f"item '{item}'", "has no reply in this run", "Check its id")
    if as_json:
        print_json(found)
        return
    for entry in found:
        part = f", part {entry.part}" if entry.part else ""
        reply = entry.reply
        click.echo(
            escaped(f"--- {entry.column}, run {entry.repetition}{part}: {type(reply).__name__.lower()}")
        )
        click.echo(escaped(reply.detail if hasattr(reply, "detail") else reply.text))


def cost_row(cost: Cost) -> tuple[str, ...]:
    """One line of the table of costs."""
    # Those that told broken counts told too little as well, or have no price: never counted twice.
    untold = max(cost.unknown, cost.dropped) + cost.lost
    return (
        cost.stage, cost.column, f"{cost.replies:,}", _count(cost.input), _count(cost.cached),
        _count(cost.output), _count(cost.reasoning), money_text(cost.usd), money_text(cost.brl), f"{untold:,}",
    )  # fmt: skip


def _count(count: Count) -> str:
    return f"{count:,}" if isinstance(count, int) else "not told"


def money_text(money: Money) -> str:
    """A sum as a table shows it, to a hundredth of a cent; the exact one stands in ``--json``.

    >>> from lacre.engine.costs import Amount
    >>> money_text(Amount(value="0.000146", currency="USD"))
    '0.0001'
    """
    from decimal import Decimal  # noqa: PLC0415

    from lacre.engine.costs import Amount  # noqa: PLC0415

    return f"{Decimal(money.value):.4f}" if isinstance(money, Amount) else str(money)


ENOUGH = 10
"""Replies of a session from which its rate says how long the rest will take."""


class Meter:
    """Progress on stderr: one line that renews itself on a terminal, else a line every ten seconds."""

    def __init__(self, live: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self.live = live
        self._clock = clock
        self.last = clock()
        self.line = LiveLine(live)

    def __call__(self, progress: Progress) -> None:
        """Show where the run stands, now and then."""
        now = self._clock()
        if now - self.last < (0.1 if self.live else 10.0):
            return
        self.last = now
        self.line.show(_progress_line(progress))

    def close(self) -> None:
        """Clear the live line."""
        self.line.close()


def _progress_line(progress: Progress) -> str:
    """One line: replies, rate, kinds that a person should know of, cost so far, time left."""
    parts = [f"{progress.done:,} of {progress.expected:,} replies"]
    rate = progress.fresh / progress.seconds if progress.seconds > 0 else 0.0
    parts.append(f"{rate:,.1f}/s")
    parts.extend(
        f"{progress.kinds[kind]:,} {kind}"
        for kind in ("refused", "truncated", "failed")
        if progress.kinds.get(kind)
    )
    parts.append("cost not known" if progress.dollars is None else f"US$ {progress.dollars:.4f}")
    left = progress.expected - progress.done
    if progress.sweeping:
        parts.append("asking again what failed")
    elif rate and left and progress.fresh >= ENOUGH:
        seconds = left / rate
        parts.append(f"about {seconds:.0f} s left" if seconds < 100 else f"about {seconds / 60:.0f} min left")
    return ", ".join(parts)


_TODO = {
    "key": "Check the key that its card names.",
    "quota": "Pay, or wait for the quota to come back.",
    "parameter": "Correct its card: take the setting out, or give the value that the vendor allows.",
    "model": "Correct model or endpoint on its card.",
    "endpoint": "Check endpoint on its card, and the network.",
    "requests": "Check its card with `lacre column check`.",
    "wait": "Resume later, or lower requests_per_minute on its card.",
}


def todo_of(reason: str, parameter: str | None = None, card: Column | None = None) -> str:
    """What to do about a column that was stopped, by the reason, and by the setting at fault on its card."""
    if reason == "parameter" and card is not None:
        return _todo_of_setting(parameter, card)
    if reason == "key" and card is not None and card.key_env is None and card.key_file is None:
        return "Its card names no key: give key_env or key_file."
    return _TODO.get(reason, "Check its card.")


def _todo_of_setting(parameter: str | None, card: Column) -> str:
    from lacre.engine.dialects import CAP_NAMES  # noqa: PLC0415

    if parameter is None:
        return "Check endpoint and dialect on its card: every request has that part."
    if card.cap is not None and parameter == (card.cap_name or CAP_NAMES[card.dialect]):
        other = "max_tokens" if parameter != "max_tokens" else "max_completion_tokens"
        return (
            f"Correct its card: give cap_name the server's own name for the output cap, such as {other}, or cap a "
            "value that it allows."
        )
    if parameter == card.effort_name:
        return "Correct effort or effort_name on its card, or take both out."
    if parameter in card.settings:
        return (
            f"Correct its card: take {parameter} out of settings, or give the value that the vendor allows."
        )
    return "This server cannot be asked not to keep what it is sent: choose another column."


def print_requests(
    record: RunRecord, cards: Sequence[Column], questions: Sequence[Question], *, as_json: bool
) -> None:
    """Print what would be sent, and how much of it."""
    import msgspec  # noqa: PLC0415

    from lacre.engine.dialects import shown_headers  # noqa: PLC0415
    from lacre.engine.plans import expected, first_request  # noqa: PLC0415

    shown = []
    for card in cards:
        request = first_request(record, card, questions[0])
        shown.append(
            {
                "column": card.id,
                "method": "POST",
                "url": request.url,
                "headers": {**request.headers, **shown_headers(card)},
                "body": msgspec.json.decode(request.body),
            }
        )
    owed = expected(questions, record.repetitions)
    if as_json:
        print_json({"requests_per_column": owed, "item": questions[0].id, "requests": shown})
        return
    for one in shown:
        print_json(one)
    say(
        f"{owed:,} requests to each of {len(cards)} columns; above is that for item {questions[0].id}. "
        "Nothing was sent."
    )
