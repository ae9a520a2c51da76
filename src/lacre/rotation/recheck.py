"""One closing done again: is the freeze what the ledger allowed, and did the draw open what it had to?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lacre.digest import sha256
from lacre.errors import InputError, IntegrityError
from lacre.registry.events import Freeze, Split, Why
from lacre.registry.matrix import cell_name
from lacre.rotation.beacon import LotteryDraw, Randomness, come_out, instant, source_due, source_name
from lacre.rotation.closing import carried_before, opening_reasons, repeat
from lacre.rotation.exposure import over_exposed
from lacre.rotation.history import Entry
from lacre.rotation.public import Public, ledger_path
from lacre.rotation.records import (
    BEACON_FILE,
    DRAW_FILE,
    FREEZE_FILE,
    OPENINGS_FILE,
    STAMP_FILE,
    Frozen,
    FrozenItem,
    Leaving,
    Opened,
    draw_record,
    frozen_from,
    lines_bytes,
    read_draw,
)
from lacre.rotation.rows import Rows, standing_at
from lacre.sealing.commitments import Opening, Row, opens, rows_root
from lacre.sealing.dsse import Statement, verify
from lacre.sealing.keyring import Keyring

Fault = tuple[Path, str]
"""A file, and what does not hold."""


class SignedFreeze:
    """A freeze whose signature holds: its bytes, its statement, what it says, and its line in the ledger."""

    def __init__(self, content: bytes, claim: Statement, frozen: Frozen, entry: Entry[Freeze]) -> None:
        self.content = content
        self.claim = claim
        self.frozen = frozen
        self.entry = entry

    @property
    def lottery(self) -> bool:
        """Whether its hour is the word of who froze it: nothing signs a lottery draw."""
        return isinstance(self.frozen.source, LotteryDraw)


def signed_freeze(public: Public, ring: Keyring, name: str, folder: Path) -> SignedFreeze:
    """The freeze of a closing: the one that was carried out, else the last.

    Raises:
        IntegrityError: there is none, it was changed, or a key made it that could not.
    """
    entries = [entry for entry in public.history.freezes if entry.event.round == name]
    carried = {split.event.freeze for split in public.history.splits if split.event.round == name}
    entry = next((e for e in entries if e.event.freeze in carried), entries[-1] if entries else None)
    where = folder / FREEZE_FILE
    if entry is None:
        raise IntegrityError(f"{where}: no line of the ledger freezes it.")
    content = public.published(where)
    if sha256(content) != entry.event.freeze:
        raise IntegrityError(
            f"{where}: was changed: it is not the file that line {entry.line} of the ledger names."
        )
    claim = verify(content, ring.at(entry.line), where).statement
    return SignedFreeze(content, claim, frozen_from(claim, where), entry)


def freeze_faults(public: Public, known: Rows, signed: SignedFreeze) -> Iterator[Fault]:
    """What does not hold about a freeze: its place in the ledger, its randomness, its items."""
    frozen, entry = signed.frozen, signed.entry
    where = public.folder(frozen.number) / FREEZE_FILE
    before = entry.line - 1
    if (frozen.lines, frozen.head) != (before, _head(public, before)):
        yield where, f"it was made on another ledger than the {before} lines before it"
    if signed.claim.subject[0].digest.sha256 != sha256(_prefix(public, before)):
        yield where, "it is signed over another ledger than the lines before it"
    if frozen.workspace != public.ledger.workspace:
        yield where, "it is of another workspace"
    said = (frozen.benchmark, frozen.round, frozen.at, source_name(frozen.source), len(frozen.items))
    event = entry.event
    if said != (event.benchmark, event.round, entry.at, event.beacon, event.items):
        yield where, f"it does not say what line {entry.line} of the ledger says of it"
    if not event.due == frozen.source.due == instant(source_due(frozen.source)):
        yield (
            where,
            f"its randomness is out at {instant(source_due(frozen.source))}, not at {event.due} as said",
        )
    yield from _item_faults(public, known, signed)
    yield from _leaving_faults(public, known, signed)


def _item_faults(public: Public, known: Rows, signed: SignedFreeze) -> Iterator[Fault]:
    """Items that were left out of a freeze, or slipped in, or that are not now what they were then."""
    line, path = signed.entry.line, public.folder(signed.frozen.number) / FREEZE_FILE
    history = public.history
    standing = standing_at(public, known, line)
    due = {
        id
        for id in standing
        if not _before(history.voids.get(id), line) and not _before(history.supersedes.get(id), line)
    }
    frozen = {item.id: item for item in signed.frozen.items}
    if len(frozen) < len(signed.frozen.items):
        yield path, "it names an item twice"
    if not known.unread:
        for id in sorted(due - set(frozen)):
            yield path, f"item '{id}' was private then, and was left out"
    for id in sorted(set(signed.frozen.waived)):
        if id in frozen and not history.waives(frozen[id].commitment, before=line):
            yield path, f"item '{id}' is said to be waived, and no signed line of the ledger waives it"
    for id in sorted(set(frozen) - due):
        row = known.rows.get(id)
        if row is None and known.unread:
            continue
        what = "has no row any more" if row is None else "was no private item then"
        yield path, f"item '{id}' {what}"
    for id in over_exposed(history, signed.frozen.exposure_cap, before=line):
        if id in frozen and frozen[id].must is None:
            cap = signed.frozen.exposure_cap
            yield path, f"item '{id}' was shown to columns more than {cap} times by then, and need not open"
    for id, item in sorted(frozen.items()):
        if (row := known.rows.get(id)) is not None:
            yield from _changed(known.places[id], item, row)
        if item.batch in history.batches and item.age != history.age(item.batch, before=line):
            yield (
                path,
                f"item '{id}': age {item.age}, where the ledger counts {history.age(item.batch, before=line)}",
            )


def _leaving_faults(public: Public, known: Rows, signed: SignedFreeze) -> Iterator[Fault]:
    """Void and replaced items that a freeze does not name as such."""
    line, path, history = signed.entry.line, public.folder(signed.frozen.number) / FREEZE_FILE, public.history
    expected: dict[str, str] = {}
    for id in standing_at(public, known, line):
        if _before(history.voids.get(id), line):
            expected[id] = "void"
        elif _before(history.supersedes.get(id), line):
            expected[id] = "supersede"
    said = {left.id: left.why for left in signed.frozen.leaving}
    for id in sorted(set(expected) | set(said)):
        if known.unread and id not in known.rows:
            continue
        if said.get(id) != expected.get(id):
            is_, as_ = expected.get(id, "neither"), said.get(id, "neither")
            yield path, f"item '{id}' was {is_} by then, and is frozen as {as_}"
    for left in signed.frozen.leaving:
        if (row := known.rows.get(left.id)) is not None:
            yield from _changed(known.places[left.id], left, row)
        if left.why == "supersede" and left.after != _successor(public, left.id, line):
            yield path, f"item '{left.id}' is frozen as corrected by '{left.after}', which is not so"


def _changed(place: Path, item: FrozenItem | Leaving, row: Row) -> Iterator[Fault]:
    """What is not now what it was when it was frozen."""
    for name, then, now in (
        ("cell", item.cell, cell_name(row.cell)),
        ("batch", item.batch, row.batch),
        ("group", item.group, row.group),
        ("commitment", item.commitment, row.commitment),
    ):
        if then != now:
            yield place, f"item '{row.id}' has {name} {now}, and was frozen with {then}"


def draw_faults(
    public: Public, known: Rows, signed: SignedFreeze, split: Entry[Split], seen: list[Randomness]
) -> Iterator[Fault]:
    """What does not hold about a draw that was carried out: randomness, seed, counts, openings.

    ``seen`` gets the randomness that came out.

    Raises:
        IntegrityError: a file is missing or cannot be read.
    """
    frozen, folder = signed.frozen, public.folder(signed.frozen.number)
    line = split.line
    content = public.published(folder / DRAW_FILE)
    if sha256(content) != split.event.draw:
        yield folder / DRAW_FILE, f"was changed: it is not the file that line {line} of the ledger names"
    record = read_draw(content, folder / DRAW_FILE)
    randomness_file = public.published(folder / BEACON_FILE)
    if sha256(randomness_file) != record.randomness_file:
        yield folder / BEACON_FILE, "was changed: it is not the file that the draw names"
    try:
        randomness = come_out(frozen.source, randomness_file, str(folder / BEACON_FILE))
    except InputError as error:
        raise IntegrityError(str(error)) from None
    seen.append(randomness)
    repeated = repeat(frozen, randomness)
    drawn, seed = repeated.drawn, repeated.seed
    for name, said, found in (
        ("randomness", split.event.randomness, randomness.value.hex()),
        ("seed", split.event.seed, seed.hex()),
        ("freeze", split.event.freeze, sha256(signed.content)),
    ):
        if said != found:
            yield (
                ledger_path(public.registry),
                f"line {line}: its {name} is {said}, where the files give {found}",
            )
    reasons = opening_reasons(frozen, drawn)
    stamp = folder / STAMP_FILE
    if record.stamp_file is not None and not (
        public.has(stamp) and sha256(public.content(stamp)) == record.stamp_file
    ):
        yield stamp, "is missing, or is not the stamp that the draw names"
    again = draw_record(
        frozen,
        drawn,
        freeze=signed.content,
        randomness=randomness.value,
        randomness_file=randomness_file,
        stamp_file=None,
        seed=seed,
        left=_left(reasons),
        before=carried_before(public, frozen.number),
    )
    for name in again.__struct_fields__:
        if name not in ("stamp_file", "randomness_file") and getattr(again, name) != getattr(record, name):
            said_, found_ = _short(getattr(record, name)), _short(getattr(again, name))
            yield folder / DRAW_FILE, f"its {name} is {said_}, where the draw gives {found_}"
    yield from _opening_faults(public, known, frozen, reasons, split)


def _opening_faults(
    public: Public, known: Rows, frozen: Frozen, reasons: Mapping[str, Why], split: Entry[Split]
) -> Iterator[Fault]:
    """Items that were opened and should not have been, or the other way round, or that are not those committed to."""
    path, ledger = public.folder(frozen.number) / OPENINGS_FILE, ledger_path(public.registry)
    content = public.published(path)
    if sha256(content) != split.event.openings:
        yield path, f"was changed: it is not the file that line {split.line} of the ledger names"
    openings = public.openings(frozen.number)
    if lines_bytes(openings) != content or [o.id for o in openings] != sorted({o.id for o in openings}):
        yield path, "is not sorted by id, or a line is not in canonical form"
    opened = {opening.id: opening for opening in openings}
    for id in sorted(set(reasons) - set(opened)):
        yield path, f"item '{id}' was drawn to open ({reasons[id]}), and was not opened"
    for id in sorted(set(opened) - set(reasons)):
        yield path, f"item '{id}' was opened, and the draw keeps it"
    for number, opening in enumerate(openings, 1):
        yield from _one_opening(path, number, opening, reasons.get(opening.id))
    logged = {
        id: entry.event for id, entry in public.history.opened.items() if entry.event.round == frozen.round
    }
    for id in sorted(set(logged) ^ set(opened)):
        where = "the ledger and not in the openings" if id in logged else "the openings and not in the ledger"
        yield ledger, f"item '{id}' is opened in {where}"
    for id in sorted(set(logged) & set(opened)):
        if (logged[id].commitment, logged[id].why) != (opened[id].commitment, opened[id].why):
            yield ledger, f"item '{id}' is opened with another commitment or reason than in the openings"
    kept = [row for row in standing_at(public, known, split.line).values() if row.id not in opened]
    if split.event.opened != len(openings):
        yield ledger, f"line {split.line} says {split.event.opened} items opened; there are {len(openings)}"
    if not known.unread and (split.event.kept, split.event.root) != (len(kept), rows_root(kept)):
        yield (
            ledger,
            f"line {split.line}: the rows that stayed sealed are not the {split.event.kept} it names",
        )


def _one_opening(path: Path, number: int, opening: Opened, why: Why | None) -> Iterator[Fault]:
    """What does not hold about one line of the openings."""
    plain = Opening(id=opening.id, nonce=opening.nonce, payload=opening.payload)
    if not opens(plain, opening.commitment):
        yield path, f"line {number}: item '{opening.id}' is not the one that was committed to"
    if why is not None and why != opening.why:
        yield path, f"line {number}: item '{opening.id}' opened for {opening.why}, where the draw says {why}"


def _before(entry: Entry[Any] | None, line: int) -> bool:
    return entry is not None and entry.line < line


def _successor(public: Public, item: str, line: int) -> str:
    """The item that stood for ``item`` when the ledger had fewer than ``line`` lines."""
    seen = {item}
    while _before(entry := public.history.supersedes.get(item), line):
        assert entry is not None
        item = entry.event.by
        if item in seen:
            break
        seen.add(item)
    return item


def _left(reasons: Mapping[str, Why]) -> dict[str, int]:
    found: dict[str, int] = {}
    for why in reasons.values():
        if why in ("void", "supersede"):
            found[why] = found.get(why, 0) + 1
    return found


def _prefix(public: Public, lines: int) -> bytes:
    """The ledger's first ``lines`` lines, as bytes."""
    content, end = public.ledger.content, 0
    for _ in range(lines):
        end = content.index(b"\n", end) + 1
    return content[:end]


def _head(public: Public, lines: int) -> str:
    return public.ledger.hash_of(lines) if lines else "0" * 64


def _short(value: object) -> str:
    """A value for a sentence: no longer than a line."""
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
