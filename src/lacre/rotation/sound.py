"""The audit's own checks, made by whoever takes a step, before it is taken: nothing is built on what does not hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from lacre.errors import IntegrityError
from lacre.rotation.beacon import Randomness
from lacre.rotation.order import opening_complaints
from lacre.rotation.public import Public, after, ledger_path
from lacre.rotation.recheck import draw_faults, freeze_faults, signed_freeze
from lacre.rotation.rows import all_rows, open_layer_complaints, row_complaints
from lacre.sealing.keyring import keyring

_SHOWN = 20  # of things that do not hold; the audit names them all


def refuse_unsound(public: Public, *, drawing: bool = False) -> None:
    """Refuse to freeze, or to draw, on public files that an audit would object to.

    ``drawing``: also hold the freeze that waits against the rows: every item's cell, batch, group and commitment.

    Raises:
        IntegrityError: lists what does not hold.
    """
    known = all_rows(public)
    said = [(place, what) for _, place, what in (*row_complaints(public, known), *opening_complaints(public))]
    if drawing:
        name, number = public.history.next_round, public.history.closed + 1
        ring = keyring(public.ledger, ledger_path(public.registry))
        said += freeze_faults(public, known, signed_freeze(public, ring, name, public.folder(number)))
    _raise(said, "Nothing was done: restore it from a copy, and see `lacre round audit`")


def refuse_wrong(public: Public, coming: Mapping[Path, bytes]) -> None:
    """Refuse to carry out a draw whose files, once written, an audit would object to.

    Raises:
        IntegrityError: lists what does not hold.
    """
    then = after(public, coming)
    known = all_rows(then)
    said = [(place, what) for _, place, what in (*row_complaints(then, known), *opening_complaints(then))]
    split, number = then.history.splits[-1], then.history.closed
    ring = keyring(then.ledger, ledger_path(then.registry))
    signed = signed_freeze(then, ring, split.event.round, then.folder(number))
    seen: list[Randomness] = []
    said += draw_faults(then, known, signed, split, seen)
    said += [(place, what) for _, place, what in open_layer_complaints(then, known)]
    _raise(said, "Nothing was done, and nothing opened: see `lacre round audit`")


def _raise(said: Iterable[tuple[Path, str]], todo: str) -> None:
    lines = [f"{place}: {what}" for place, what in said]
    if lines:
        more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
        raise IntegrityError("\n".join([*lines[:_SHOWN], *more, f"{todo}."]))
