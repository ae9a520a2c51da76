"""``lacre round void``, ``waive`` and ``supersede``: what is said of single private items between closings."""

from __future__ import annotations

from pathlib import Path

import click

from lacre.cli.holding import IDENTITY, opened, signing_key
from lacre.cli.output import example, json_option, print_json, say
from lacre.cli.round_ground import BENCHMARK, KEY, VAULT, ground_of, now, one_item
from lacre.cli.round_tables import counted


@click.command(epilog=example("lacre round void pr-03 --reason 'two right answers' --key ../team.key"))
@click.argument("items", nargs=-1, required=True, metavar="ID...")
@click.option("--reason", required=True, metavar="TEXT", help="Why; it is published.")
@KEY
@BENCHMARK
@json_option
def void(items: tuple[str, ...], reason: str, key_file: Path, benchmark: str | None, as_json: bool) -> None:
    """Take private items out of all draws to come. They open at the next closing, with the reason.

    A draw that is frozen already is not changed by it.
    """
    from lacre.rotation.steps import void_items  # noqa: PLC0415 - keeps --help fast

    ground = ground_of(benchmark)
    number = void_items(ground.root, ground.name, items, reason, now=now(), signer=signing_key(key_file))
    if as_json:
        print_json({"benchmark": ground.name, "void": list(dict.fromkeys(items)), "reason": reason})
        return
    say(f"{counted(number, 'item')} void: they open at the next closing, and counted in public.")


@click.command(
    epilog=example(
        "lacre round waive pr-07 --reason 'a set phrase' --who 'Review board' \\\n"
        "    --vault ../vault --identity ../operator.txt --key ../team.key"
    )
)
@click.argument("items", nargs=-1, required=True, metavar="ID...")
@click.option("--reason", required=True, metavar="TEXT", help="Why the match does no harm; it is published.")
@click.option("--who", required=True, metavar="NAME", help="Who answers for it; it is published.")
@click.option(
    "--corpus", "corpora", multiple=True, metavar="ID", help="Only for this corpus; again for more."
)
@VAULT
@IDENTITY
@KEY
@BENCHMARK
@json_option
def waive(
    *,
    items: tuple[str, ...],
    reason: str,
    who: str,
    corpora: tuple[str, ...],
    folder: Path,
    identity: Path | None,
    key_file: Path,
    benchmark: str | None,
    as_json: bool,
) -> None:
    """Answer for private items that vetting did not keep, so that they can be frozen. Signed, in the ledger.

    Private items only: what `lacre waive` writes would give a guessable hash of them away. The waiver is about
    the present text; a corrected item needs its own.
    """
    from lacre.rotation.steps import waive_items  # noqa: PLC0415 - keeps --help fast

    ground, key = ground_of(benchmark), signing_key(key_file)
    with opened(folder, identity, ground.workspace) as vault:
        number = waive_items(
            vault,
            ground.root,
            ground.name,
            items=items,
            corpora=corpora,
            who=who,
            reason=reason,
            now=now(),
            signer=key,
        )
    if as_json:
        print_json({"benchmark": ground.name, "waived": list(dict.fromkeys(items)), "who": who})
        return
    say(f"{counted(number, 'item')} waived by {who}; the ledger says so.")


@click.command(
    epilog=example(
        "lacre round supersede pr-02 ../corrected.jsonl --reason 'a comma' \\\n"
        "    --vault ../vault --identity ../operator.txt --key ../team.key"
    )
)
@click.argument("old", metavar="ID")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--reason", required=True, metavar="TEXT", help="Why; it is published.")
@click.option(
    "--map", "maps", multiple=True, metavar="FIELD=COLUMN,...", help="Columns of other names; join with +."
)
@click.option("--key-index", type=click.Choice(["0", "1"]), help="Keys count the options, from 0 or from 1.")
@VAULT
@IDENTITY
@KEY
@BENCHMARK
@json_option
def supersede(
    *,
    old: str,
    file: Path,
    reason: str,
    maps: tuple[str, ...],
    key_index: str | None,
    folder: Path,
    identity: Path | None,
    key_file: Path,
    benchmark: str | None,
    as_json: bool,
) -> None:
    """Replace a private item by the corrected one in FILE, which has an id of its own.

    FILE is what `lacre vault add` takes: a record, or a table of one row with columns id, stem, options and key.
    The correction keeps cell, batch and age. The old item's commitment opens together with it.
    """
    from lacre.rotation.steps import supersede_item  # noqa: PLC0415 - keeps --help fast

    ground = ground_of(benchmark)
    new, key = one_item(file, ground, old, maps, key_index), signing_key(key_file)
    with opened(folder, identity, ground.workspace) as vault:
        row = supersede_item(
            vault, ground.root, ground.name, old=old, new=new, reason=reason, now=now(), signer=key
        )
    if as_json:
        print_json({"item": old, "by": row})
        return
    say(f"'{row.id}' replaces '{old}'. Vet it before the next freeze, with `lacre vet --vault`.")
    say(f"The text still stands in {file}: remove it, for instance with `shred -u {file}`.")
