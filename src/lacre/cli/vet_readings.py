"""What a vetting says on stderr of the corpora it read, and of what it could not read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lacre.corpora.batches import Unread
    from lacre.vetting.readings import Reading

GAPS = 3  # reasons for which text was not read, named in the summary; the page and --json have all


def reading_lines(reading: Reading) -> Iterator[str]:
    """What was read of one corpus and, below it, what was not."""
    if not reading.is_reached:
        gap = reading.unread[0]
        yield f"{reading.corpus}: not reached: {gap.where}: {gap.reason}."
        return
    line = f"{reading.corpus}: {counted(reading.documents, 'document')}, {_size(reading.bytes)} of text "
    line += f"looked up in {reading.index}" if reading.index else "read"
    if reading.gone:
        line += f"; {counted(reading.gone, 'file')} that may hold items not at hand"
    if reading.incomplete:
        line += f"; {counted(len(reading.incomplete), 'file')} not read to the end"
    elif reading.unread_bytes:
        line += f"; {_size(reading.unread_bytes)} ({_share(reading.unread_share)}) not read or unreadable"
    if reading.nulls:
        line += f"; {counted(reading.nulls, 'document')} without text"
    if reading.revision:
        line += f"; revision {reading.revision}"
    yield f"{line}."
    named: dict[str, list[Unread]] = {}
    for gap in reading.unread:
        named.setdefault(gap.reason, []).append(gap)
    lost = sorted(named.values(), key=_weight)
    for gaps in lost[:GAPS]:
        yield _gap_line(gaps)
    # What only has to be said is said; of what was lost, the rest is counted.
    rest = [gaps for gaps in lost[GAPS:] if _weight(gaps) < NOTHING]
    for gaps in lost[GAPS:]:
        if _weight(gaps) >= NOTHING:
            yield _gap_line(gaps)
    if more := sum(map(len, rest)) + reading.unread_places - len(reading.unread):
        yield f"  and {counted(more, 'more place')}, on the page and in --json"


NOTHING = (True, 0)
"""The weight of what only has to be said."""


def _weight(gaps: Sequence[Unread]) -> tuple[bool, int]:
    """Broken ends first, then what lost most."""
    return not any(gap.incomplete for gap in gaps), -sum(gap.bytes for gap in gaps)


def _gap_line(gaps: Sequence[Unread]) -> str:
    """One line for places with one reason."""
    size = sum(gap.bytes for gap in gaps)
    line = f"  {'noticed' if _weight(gaps) >= NOTHING else 'not read'}: {gaps[0].where}: {gaps[0].reason}"
    # How much a broken end held is anybody's guess.
    said = [_size(size)] if size and not gaps[0].incomplete else []
    if len(gaps) > 1:
        said.append(f"with {len(gaps) - 1:,} more like it")
    return line + (f" ({', '.join(said)})" if said else "")


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "shard"), counted(1200, "shard")
    ('1 shard', '1,200 shards')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _size(size: int) -> str:
    """Bytes as the page says them, with plain blanks."""
    from lacre.report import words  # noqa: PLC0415

    return words.size(size)[1].replace("\xa0", " ")


def _share(share: float) -> str:
    """A share that was lost; never rounded down to nothing."""
    return f"{share:.2%}" if share >= 0.00005 else "under 0.01%"
