"""``lacre vet --watch`` and ``--stdin``: answers while items are written."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lacre.cli.output import say
from lacre.errors import Exit, InputError, LacreError, RecordError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lacre.registry.items import Candidate
    from lacre.vetting.verdicts import ItemVerdict
    from lacre.vetting.watch import Desk

SOON = 0.7  # seconds after which it is said what the index alone knows
NAMED = 5  # items named in that line


def watch_file(
    desk: Desk, path: Path, mapping: Mapping[str, str], *, key_index: int | None, as_json: bool
) -> None:
    """Answer for the items of a file now and after each save; returns only by an interrupt.

    A save that cannot be read, half a file say, gets one line, and what was known stays.
    """
    from lacre.registry.intake import candidates  # noqa: PLC0415 - keeps --help fast
    from lacre.vetting.watch import saves  # noqa: PLC0415

    desk.warm()
    first = True
    for is_there in saves(path, wait=time.sleep):
        if not is_there:
            say(f"{path}: the file is gone; waiting for it to come back.")
            continue
        try:
            found = candidates(path, mapping, key_index=key_index).items
        except LacreError as error:
            say(f"{_first_line(error)} Waiting for the next save.")
            continue
        with _announced(desk) as announcing:
            renewed = announcing.renewed(found)
        _show(renewed, as_json=as_json)
        if not as_json:
            say(_summary(desk, len(renewed)))
            if first:
                say("Watching; Ctrl-C ends.")
        first = False


def _first_line(error: LacreError) -> str:
    """What is wrong, in one line; the other faults are counted."""
    lines = str(error).split("\n")
    return lines[0] + (f" And {len(lines) - 1:,} more." if len(lines) > 1 else "")


@contextmanager
def _announced(desk: Desk) -> Iterator[Desk]:
    """The desk, which says what the index alone knows when reading again takes long."""
    begun = time.monotonic()
    timers: list[threading.Timer] = []

    def met(items: Sequence[str], shards: int) -> None:
        if not shards:
            return
        named = ", ".join(items[:NAMED]) + (f" and {len(items) - NAMED:,} more" if len(items) > NAMED else "")
        text = f"met in the index: {named}; reading {shards:,} {'file' if shards == 1 else 'files'} again ..."
        timers.append(threading.Timer(max(0.0, SOON - (time.monotonic() - begun)), say, [text]))
        timers[-1].start()

    lookup = desk.lookup
    desk.lookup = replace(lookup, on_met=met)
    try:
        yield desk
    finally:
        desk.lookup = lookup
        for timer in timers:
            timer.cancel()


def _show(verdicts: Sequence[ItemVerdict], *, as_json: bool) -> None:
    """One line for each item, on standard output, at once."""
    for one in verdicts:
        if as_json:
            _print_line(one)
            continue
        verdict = one.verdict
        why = verdict.reasons[0] if verdict.reasons else "nothing found"
        coverage = f"\t{verdict.coverage:.0%}" if one.judged else ""
        sys.stdout.write(f"{verdict.item}\t{verdict.verdict}\t{why}{coverage}\n")
    sys.stdout.flush()


def _print_line(one: ItemVerdict) -> None:
    import msgspec  # noqa: PLC0415 - only where something is printed

    from lacre.vetting.watch import answer  # noqa: PLC0415

    sys.stdout.write(msgspec.json.encode(answer(one)).decode() + "\n")


def _summary(desk: Desk, renewed: int) -> str:
    counts = Counter[str](one.verdict.verdict for _, one in desk.known.values())
    order = ("drop", "unknown", "review", "untestable", "keep")
    said = ", ".join(f"{counts[name]:,} {name}" for name in order if counts[name])
    return f"{renewed:,} of {len(desk.known):,} new or changed: {said}."


def answer_lines(
    desk: Desk, lines: Iterable[bytes], mapping: Mapping[str, str], *, key_index: int | None
) -> Exit:
    """Answer each line with one line of JSON: ``verdict`` and ``findings``, or ``error`` for what is no item.

    Returns the code of the worst: bad input, then incomplete, then a finding.
    """
    desk.warm()
    worst = Exit.CLEAN
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            verdict = desk.vetted([_item(line, number, mapping, key_index)])[0]
        except (InputError, RecordError) as error:
            _print_error(number, str(error))
            code = Exit.BAD_INPUT
        else:
            _print_line(verdict)
            decision = verdict.verdict.verdict
            code = {"keep": Exit.CLEAN, "unknown": Exit.INCOMPLETE}.get(decision, Exit.FINDING)
        sys.stdout.flush()
        worst = max(worst, code, key=_WEIGHT.index)
    return worst


_WEIGHT = (Exit.CLEAN, Exit.FINDING, Exit.INCOMPLETE, Exit.BAD_INPUT)


def _item(line: bytes, number: int, mapping: Mapping[str, str], key_index: int | None) -> Candidate:
    import msgspec  # noqa: PLC0415 - as above

    from lacre.registry.intake import candidate  # noqa: PLC0415

    where = f"standard input:{number}"
    try:
        values: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise InputError(where, "is not JSON", "Write one JSON object a line") from None
    if not isinstance(values, dict):
        raise InputError(where, "is not a JSON object", "Write one JSON object a line")
    if "payload" not in values and "stem" not in mapping and "stem" not in values:
        there = f"The line has: {', '.join(map(str, values)) or 'nothing'}"
        raise InputError(where, "has no 'stem'", f"{there}. Name it with --map stem=NAME")
    # A form has one item, and need not name it.
    if "payload" not in values and "id" not in mapping:
        values.setdefault("id", str(number))
    return candidate(values, number, mapping, key_index=key_index)


def _print_error(number: int, text: str) -> None:
    import msgspec  # noqa: PLC0415 - as above

    sys.stdout.write(msgspec.json.encode({"line": number, "error": text}).decode() + "\n")
