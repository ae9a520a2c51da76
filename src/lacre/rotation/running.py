"""Sealed runs that are under way, and what must wait for them (SPEC X4)."""

from __future__ import annotations

from datetime import datetime

from lacre.errors import InputError
from lacre.registry.sealed_runs import abort_command, resume_command, runs_of_round
from lacre.rotation.beacon import moment
from lacre.rotation.public import Public


def under_way(public: Public) -> tuple[str, ...]:
    """Names of the sealed runs of this round that began and did not end, in the order in which they began.

    Those of rounds before are lost: their items opened, and every check names them.
    """
    runs = runs_of_round(public.ledger, public.benchmark, public.history.next_round)
    return tuple(name for name, run in runs.items() if not run.ends)


def refuse_under_way(public: Public, where: str, now: datetime) -> None:
    """Refuse what opens or retires private items while a sealed run asks them.

    A run whose items opened can never end, and one whose items changed is not of the set that its intent fixed.

    Raises:
        InputError: names the first such run, and how many there are.
    """
    if names := under_way(public):
        more = f", and {len(names) - 1} more are" if len(names) > 1 else ""
        pending = public.history.pending
        todo = f"Give it up first, for its round's randomness is due: `{abort_command(names[0])}`"
        if pending is None or now < moment(pending.event.due):
            todo = (
                f"End it first: `{resume_command(names[0])}`, or give it up with `{abort_command(names[0])}`"
            )
        raise InputError(where, f"must wait: sealed run '{names[0]}' is under way{more}", todo)
