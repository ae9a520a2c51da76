"""``lacre run`` on sealed runs that began: list them, give one up, open scores, and check them from outside."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lacre.cli.holding import IDENTITY, opened
from lacre.cli.output import example, json_option, print_json, print_table, say
from lacre.cli.round_ground import Ground as Place
from lacre.cli.round_ground import ground_of, now
from lacre.cli.round_tables import counted
from lacre.cli.sealed_ground import ALLOW_SWAP, Means, run_named, standing, under_way
from lacre.errors import Exit, InputError, IntegrityError

if TYPE_CHECKING:
    from lacre.registry.items import Payload
    from lacre.sealed.checking import Evidence, RunCheck, ScoreCheck
    from lacre.sealed.ending import GivenUp
    from lacre.sealed.protection import Shield
    from lacre.sealed.scores import OpenedScore

_BENCHMARK = click.option(
    "--benchmark", metavar="NAME", help="Which one, where the workspace has more than one."
)
_VAULT = click.option(
    "--vault", "folder", required=True, type=click.Path(path_type=Path), metavar="DIR",
    help="The vault with the replies.",
)  # fmt: skip


@click.command(epilog=example("lacre run sealed", "lacre run sealed --json"))
@_BENCHMARK
@json_option
def sealed(benchmark: str | None, as_json: bool) -> None:
    """List the sealed runs of the ledger: of which column, in which round, and how each stands."""
    from lacre.registry.sealed_runs import sealed_runs  # noqa: PLC0415 - keeps --help fast

    place = ground_of(benchmark)
    runs = sealed_runs(place.public().ledger, place.name)
    if as_json:
        print_json(
            [
                {"run": name, "column": run.intent.column, "round": run.intent.round, "began": run.at,
                 "items": run.intent.items, "shown": len(run.shown), "standing": run.standing}
                for name, run in runs.items()
            ]
        )  # fmt: skip
        return
    print_table(
        ("run", "column", "round", "began", "items", "shown", "standing"),
        [
            (
                name,
                run.intent.column,
                run.intent.round,
                run.at,
                run.intent.items,
                len(run.shown),
                run.standing,
            )
            for name, run in runs.items()
        ],
        right=("items", "shown"),
        whole=("run",),
    )


@click.command(
    epilog=example(
        "lacre run abort exemplo-local-20260116T120000Z --reason 'the vendor withdrew the model' \\\n"
        "    --vault ../vault --identity ../operator.txt --key ../team.key"
    )
)
@click.argument("name", metavar="RUN")
@click.option("--reason", required=True, metavar="TEXT", help="Why; it is published.")
@_VAULT
@IDENTITY
@click.option(
    "--key", "key_file", required=True, type=click.Path(path_type=Path), metavar="FILE",
    help="The key that signs.",
)  # fmt: skip
@ALLOW_SWAP
@json_option
def abort(
    *,
    name: str,
    reason: str,
    folder: Path,
    identity: Path | None,
    key_file: Path,
    allow_swap: bool,
    as_json: bool,
) -> None:
    """Give up the sealed run RUN, for a reason that is published. It counts as its column's run of the round.

    What was shown stays shown. The replies that came stay in the vault, and no score of them leaves.
    """
    from lacre.sealed.protection import shielded  # noqa: PLC0415 - keeps --help fast

    means = Means(folder, identity, key_file, allow_swap, None)
    ended = shielded(lambda shield: _give_up(shield, name, reason, means))
    if as_json:
        print_json({"run": name, "reason": reason, "replies": ended.came, "kept": ended.kept})
        return
    say(f"Run {name} is given up, with {_replies(ended.kept)} in the vault; the ledger says why.")


def _replies(number: int) -> str:
    return f"{number:,} {'reply' if number == 1 else 'replies'}"


def _give_up(shield: Shield, name: str, reason: str, means: Means) -> GivenUp:
    from lacre.sealed.ending import give_up, tidy  # noqa: PLC0415 - keeps --help fast
    from lacre.sealing.logs import SealedLog  # noqa: PLC0415

    place, _ = run_named(name)
    with standing(place, shield, means) as (vault, ground):
        going = under_way(vault, ground, name)
        log = SealedLog(vault, name, lossy=True)
        try:
            ended = give_up(going, reason, log, now=now())
        finally:
            log.close()
        if log.lost is not None:
            say(f"{log.path}: of at least {_replies(ended.came)} that came {ended.kept:,} can be read.")
        tidy(vault, ground.runs())
    return ended


@click.command(
    "open-scores", epilog=example("lacre run open-scores --vault ../vault --identity ../operator.txt")
)
@_VAULT
@IDENTITY
@ALLOW_SWAP
@_BENCHMARK
@json_option
def open_scores(
    folder: Path, identity: Path | None, allow_swap: bool, benchmark: str | None, as_json: bool
) -> None:
    """Open the scores of private items that opened, with nonce and replies, beside their openings.

    Call it after every `lacre round split` and `lacre round rotate`. Called again, it writes the same files.
    """
    from lacre.sealed.protection import refuse_swap, shielded  # noqa: PLC0415 - keeps --help fast

    # The replies of items that stay private pass through memory, too.
    refuse_swap(allowed=allow_swap)
    place = ground_of(benchmark)
    written = shielded(lambda shield: _open_scores(shield, place, folder, identity))
    if as_json:
        print_json({"benchmark": place.name, "files": written})
        return
    for name, number in written.items():
        click.echo(f"{name}: {counted(number, 'score')} opened")
    sys.stdout.flush()
    if not written:
        say("No item opened that a scored run was shown: nothing to open.")


def _open_scores(shield: Shield, place: Place, folder: Path, identity: Path | None) -> dict[str, int]:
    """Write the files of opened scores, one for each closing; their names with the number of scores in each."""
    from lacre.jsonl import write_bytes  # noqa: PLC0415 - keeps --help fast
    from lacre.registry.sealed_runs import sealed_runs  # noqa: PLC0415
    from lacre.sealed.opening import opened_scores, scores_bytes  # noqa: PLC0415
    from lacre.sealed.records import scores_place  # noqa: PLC0415
    from lacre.sealing.change import LEDGER  # noqa: PLC0415
    from lacre.sealing.seen import refuse_older  # noqa: PLC0415

    public = place.public()
    runs = sealed_runs(public.ledger, place.name)
    written: dict[str, int] = {}
    with opened(folder, identity, place.workspace) as vault:
        shield.key = bytes.fromhex(vault.index.secret)
        refuse_older(vault.index.ledger, public.ledger.content, place.root / LEDGER)
        for number in range(1, public.history.closed + 1):
            items = frozenset(each.id for each in public.openings(number))
            if inside := sorted(item for item in items if vault.holds(item)):
                raise IntegrityError(
                    f"item '{inside[0]}': is opened and still in the vault. Run `lacre round audit`."
                )
            if found := opened_scores(vault, runs, items):
                name = scores_place(place.name, number)
                write_bytes(place.root / name, scores_bytes(found))
                written[name] = len(found)
    return written


@click.command("check-scores", epilog=example("lacre run check-scores", "lacre run check-scores --json"))
@click.option("--key", metavar="FINGERPRINT", help="The ledger's first key, as you know it from elsewhere.")
@_BENCHMARK
@json_option
def check_scores(key: str | None, benchmark: str | None, as_json: bool) -> int:
    """Check sealed scores from the public files alone: those of opened items, and the counts that were published.

    It needs no vault, no key and no network. Each opened score is proved to be the one that the ledger committed to,
    its reply is read again by the rule, and the published counts are held against what opened. `chance` says how often
    a random choice of items would be as far from the published share, or farther. Exit code: 3 when something does
    not hold.
    """
    from lacre.sealed.checking import check_scores as checked  # noqa: PLC0415 - keeps --help fast

    if key is not None and not re.fullmatch(r"[0-9a-f]{64}", key):
        what = "is no whole fingerprint, and of a part of one another key could be made"
        raise InputError("--key", what, "Give all 64 digits, as `lacre key list` prints them")
    place = ground_of(benchmark)
    found = checked(_evidence(place, key))
    if as_json:
        print_json(found)
    else:
        _print_check(found)
        if key is None:
            say("Whose key signed is not shown: say --key FINGERPRINT, as you know it from elsewhere.")
    return int(Exit.CLEAN if found.holds else Exit.INTEGRITY)


def _evidence(place: Place, key: str | None) -> Evidence:
    """What everybody has of a benchmark; signatures and openings are checked here.

    Raises:
        IntegrityError: a signature does not hold, the first key is not the trusted one, or an opening is not that of
            the commitment of its row.
    """
    from lacre.rotation.public import ledger_path  # noqa: PLC0415 - keeps --help fast
    from lacre.sealed.checking import Evidence  # noqa: PLC0415
    from lacre.sealed.opening import read_scores  # noqa: PLC0415
    from lacre.sealed.records import scores_place  # noqa: PLC0415
    from lacre.sealing.commitments import Opening, opens  # noqa: PLC0415
    from lacre.sealing.keyring import keyring  # noqa: PLC0415

    public = place.public()
    path = ledger_path(public.registry)
    tenures = keyring(public.ledger, path).tenures
    first = min(tenures.values(), key=lambda held: held.added, default=None)
    if key is not None and (first is None or first.key.fingerprint != key):
        raise IntegrityError(f"{path}: its first key is not the one you trust. It is another's ledger.")
    rows = {row.id: row for row in public.rows}
    payloads: dict[str, Payload] = {}
    scores: list[OpenedScore] = []
    for number in range(1, public.history.closed + 1):
        for each in public.openings(number):
            opening = Opening(id=each.id, nonce=each.nonce, payload=each.payload)
            event = public.history.opened.get(each.id)
            if (
                event is None
                or event.event.commitment != each.commitment
                or not opens(opening, each.commitment)
            ):
                raise IntegrityError(f"item '{each.id}': its opening does not hold. Run `lacre round audit`.")
            rows[each.id] = each.row
            payloads[each.id] = each.payload
        scores += read_scores(place.root / scores_place(place.name, number))
    return Evidence(
        root=place.root,
        benchmark=place.name,
        ledger=public.ledger,
        closed=public.history.closed,
        rows=rows,
        opened=payloads,
        scores=tuple(scores),
    )


def _print_check(found: ScoreCheck) -> None:
    print_table(
        (
            "run",
            "round",
            "standing",
            "items",
            "opened",
            "scores",
            "correct",
            "of those opened",
            "chance",
            "holds",
        ),
        [_row(run) for run in found.runs],
        right=("items", "opened", "scores"),
        whole=("run",),
    )
    sys.stdout.flush()
    for run in found.runs:
        for what in run.findings:
            say(f"{run.run}: {what}.")
    for what in found.findings:
        say(f"{what}.")
    if found.holds:
        say(f"{found.benchmark}: all that opened of {counted(len(found.runs), 'sealed run')} holds.")


def _row(run: RunCheck) -> tuple[object, ...]:
    published = "not told" if run.correct is None else run.correct
    part = "-" if run.opened_graded is None else f"{run.opened_correct} of {run.opened_graded}"
    return (
        run.run, run.round, run.standing, run.items, run.opened, run.scores, published, part, run.chance or "-",
        "NO" if run.findings else "yes",
    )  # fmt: skip
