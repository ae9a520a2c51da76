"""The order of a benchmark's closings in the ledger: frozen once, carried out once, one after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from lacre.digest import sha256
from lacre.jsonl import read_bytes
from lacre.registry.events import Freeze, Split
from lacre.rotation.beacon import moment
from lacre.rotation.history import Entry
from lacre.rotation.public import Public, ledger_path
from lacre.rotation.records import GIVEN_UP, round_name, round_number
from lacre.rotation.rows import Complaint


def order_complaints(public: Public) -> Iterator[Complaint]:
    """Closings out of order, frozen or carried out more than once, frozen late; openings outside a closing."""
    yield from _freeze_complaints(public)
    yield from _split_complaints(public)
    yield from _open_complaints(public)
    yield from _folder_complaints(public)
    yield from _given_up_complaints(public)
    yield from _spent_complaints(public)


def spent(public: Public, beacon: str, *, before: int | None = None, own: str | None = None) -> str | None:
    """Where the ledger used some randomness already, so that who names it again may know it; none when nowhere.

    Args:
        beacon: its name, as freezes have it. ``before``: look only at lines before this one.
        own: a closing whose own freezes are not looked at.
    """
    waiting: dict[str, str] = {}
    for line in public.ledger.lines[: None if before is None else before - 1]:
        event = line.event
        if isinstance(event, Freeze) and event.beacon == beacon and event.round != own:
            if event.benchmark == public.benchmark:
                return f"line {line.seq} of the ledger froze {event.round} for it"
            waiting[event.freeze] = event.round
        elif isinstance(event, Split) and event.freeze in waiting:
            return f"line {line.seq} of the ledger carried out {event.round} with it"
    return None


def _spent_complaints(public: Public) -> Iterator[Complaint]:
    """Closings frozen for randomness that another was frozen for before: it may have been known by then."""
    ledger = ledger_path(public.registry)
    for entry in public.history.freezes:
        event = entry.event
        if (used := spent(public, event.beacon, before=entry.line, own=event.round)) is not None:
            what = f"line {entry.line} freezes it for {event.beacon}, which could be known: {used}"
            yield event.round, ledger, what


def opening_complaints(public: Public) -> Iterator[Complaint]:
    """Lines that open an item outside the closing they name."""
    yield from _open_complaints(public)


def _freeze_complaints(public: Public) -> Iterator[Complaint]:
    ledger = ledger_path(public.registry)
    by_round: dict[str, list[Entry[Freeze]]] = defaultdict(list)
    for entry in public.history.freezes:
        by_round[entry.event.round].append(entry)
        closed = sum(split.line < entry.line for split in public.history.splits)
        if entry.event.round != round_name(public.benchmark, closed + 1):
            due = round_name(public.benchmark, closed + 1)
            yield (
                entry.event.round,
                ledger,
                f"line {entry.line} freezes {entry.event.round}, when {due} was to come",
            )
        if entry.at >= entry.event.due:
            what = (
                f"line {entry.line} froze it at {entry.at}, when its randomness was out since {entry.event.due}: "
                "whoever froze it could know the draw"
            )
            yield entry.event.round, ledger, what
    for name, entries in by_round.items():
        if len(entries) > 1:
            lines = ", ".join(str(entry.line) for entry in entries)
            what = (
                f"it was frozen {len(entries)} times, on lines {lines}: the draw could be picked among them"
            )
            yield name, ledger, what


def _split_complaints(public: Public) -> Iterator[Complaint]:
    ledger = ledger_path(public.registry)
    frozen = {entry.event.freeze: entry for entry in public.history.freezes}
    for number, split in enumerate(public.history.splits, 1):
        name = round_name(public.benchmark, number)
        if split.event.round != name:
            yield name, ledger, f"line {split.line} carries out {split.event.round}, when {name} was to come"
        freeze = frozen.get(split.event.freeze)
        if freeze is None or freeze.event.round != split.event.round or freeze.line > split.line:
            yield name, ledger, f"line {split.line} carries out a freeze that no line before it names"
        elif moment(split.at) < moment(freeze.event.due):
            what = f"line {split.line} carried it out at {split.at}, before its randomness, due {freeze.event.due}"
            yield name, ledger, what


def _open_complaints(public: Public) -> Iterator[Complaint]:
    """Lines that open an item outside the closing they name."""
    ledger = ledger_path(public.registry)
    before, splits = 0, {}
    for split in public.history.splits:
        splits[split.event.round] = (before, split.line)
        before = split.line
    for item, entry in public.history.opened.items():
        after, until = splits.get(entry.event.round, (0, 0))
        if not after < entry.line < until:
            what = f"line {entry.line} opens item '{item}' outside {entry.event.round}"
            yield entry.event.round, ledger, what


def _folder_complaints(public: Public) -> Iterator[Complaint]:
    """Folders of closings that the ledger does not know: what was made there was never logged."""
    rounds = public.folder(1).parent
    named = {entry.event.round for entry in public.history.freezes}
    known = {
        public.folder(n).name for n in range(1, len(named) + 1) if round_name(public.benchmark, n) in named
    }
    if rounds.is_dir():
        for path in sorted(rounds.iterdir()):
            if path.name not in known:
                yield None, path, "is of a closing that the ledger does not know"


def _given_up_complaints(public: Public) -> Iterator[Complaint]:
    """Freezes that were given up, whose files are gone or changed: they stay, so that all can see what was dropped."""
    seen: dict[str, int] = defaultdict(int)
    freezes = public.history.freezes
    for number, entry in enumerate(freezes):
        name = entry.event.round
        seen[name] += 1
        if not any(later.event.round == name for later in freezes[number + 1 :]):
            continue
        path = public.folder(round_number(name)) / GIVEN_UP.format(seen[name])
        if not path.is_file():
            yield name, path, f"is missing: the freeze of line {entry.line} of the ledger"
        elif sha256(read_bytes(path)) != entry.event.freeze:
            yield name, path, f"was changed: it is not the file that line {entry.line} of the ledger names"
