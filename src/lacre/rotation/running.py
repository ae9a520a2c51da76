"""Sealed runs that are under way, and what must wait for them (SPEC X4)."""

from __future__ import annotations

from lacre.errors import InputError
from lacre.registry.sealed_runs import runs_of_round
from lacre.rotation.public import Public


def under_way(public: Public) -> tuple[str, ...]:
    """Names of the sealed runs of this round that began and did not end, in the order in which they began.

    Those of rounds before are lost: their items opened, and every check names them.
    """
    runs = runs_of_round(public.ledger, public.benchmark, public.history.next_round)
    return tuple(name for name, run in runs.items() if not run.ends)


def refuse_under_way(public: Public, where: str) -> None:
    """Refuse what opens or retires private items while a sealed run asks them.

    A run whose items opened can never end, and one whose items changed is not of the set that its intent fixed.

    Raises:
        InputError: names the first such run, and how many there are.
    """
    if names := under_way(public):
        more = f", and {len(names) - 1} more are" if len(names) > 1 else ""
        raise InputError(
            where,
            f"must wait: sealed run '{names[0]}' is under way{more}",
            f"End it first: `lacre run resume {names[0]}`, or give it up with `lacre run abort {names[0]}`",
        )
