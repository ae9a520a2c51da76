"""``lacre waive``: answer for matches, so that they no longer drop their items."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lacre.cli.output import example, json_option, print_json, print_table, say
from lacre.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lacre.registry.waivers import Waiver
    from lacre.vetting.sheet import Decisions


@click.command(
    epilog=example(
        "lacre vet items.csv --corpus leaks --out vetting",
        'lacre waive q1 --all --reason "Nobody but us had this page" --who "Review board"',
        'lacre waive --sheet vetting/decisions.csv --who "Review board"',
    )
)
@click.argument("item", required=False)
@click.option(
    "--finding", "findings", multiple=True, metavar="ID",
    help="A finding of the item, as the page and the sheet name it; its first characters will do.",
)  # fmt: skip
@click.option("--all", "every", is_flag=True, help="All findings that weigh against the item.")
@click.option("--reason", metavar="TEXT", help="Why the match does no harm.")
@click.option("--who", metavar="NAME", help="Who answers for it.")
@click.option("--when", metavar="DATE", help="When it was decided, as 2026-03-31; today when not given.")
@click.option(
    "--vetting", type=click.Path(path_type=Path), default=Path("vetting"), show_default=True, metavar="DIR",
    help="The folder that `lacre vet --out` wrote.",
)  # fmt: skip
@click.option(
    "--sheet", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="A decisions.csv that came back: column decision says waive, waive all or revise.",
)  # fmt: skip
@click.option(
    "--waivers", "waiver_file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Where waivers are kept; registry/waivers.jsonl of the workspace when not given.",
)  # fmt: skip
@json_option
def waive(
    *,
    item: str | None,
    findings: tuple[str, ...],
    every: bool,
    reason: str | None,
    who: str | None,
    when: str | None,
    vetting: Path,
    sheet: Path | None,
    waiver_file: Path | None,
    as_json: bool,
) -> None:
    """Write down that a person answers for findings of ITEM, or for what a decision sheet says.

    A waiver holds for one finding while the item's text is the same: change a word, and the item drops again.
    It also ends when more documents of the corpus hold the match than the person was shown. Rows of a sheet
    that say revise become a list of items to write anew.
    """
    from lacre.registry.waivers import add_waivers  # noqa: PLC0415 - keeps --help fast
    from lacre.vetting.sheet import Decisions, read_decisions  # noqa: PLC0415

    place = waiver_file or _place()
    day = when or date.today().isoformat()
    _refuse_mixed(item, sheet, findings, every)
    if sheet is not None:
        decided = read_decisions(sheet, who=who, when=day)
    else:
        assert item is not None
        chosen = _of_item(item, vetting, findings=findings, every=every, reason=reason, who=who, when=day)
        decided = Decisions(chosen, (), 0)
    _print(place, decided, add_waivers(place, decided.waivers), as_json)


def _place() -> Path:
    from lacre.registry.waivers import FILE  # noqa: PLC0415
    from lacre.registry.workspace import Workspace  # noqa: PLC0415

    workspace = Workspace.search(Path.cwd())
    if workspace is None:
        raise InputError(
            Path.cwd(), "is in no workspace", "Go to one, or say with --waivers where waivers are kept"
        )
    return workspace.registry / FILE


def _refuse_mixed(item: str | None, sheet: Path | None, findings: Sequence[str], every: bool) -> None:
    if (item is None) == (sheet is None):
        raise click.UsageError("Give either ITEM or --sheet.")
    if sheet is not None and (findings or every):
        raise click.UsageError("--finding and --all go with ITEM; the sheet names its findings itself.")
    if findings and every:
        raise click.UsageError("Give either --finding or --all.")


def _of_item(
    item: str,
    vetting: Path,
    *,
    findings: Sequence[str],
    every: bool,
    reason: str | None,
    who: str | None,
    when: str,
) -> tuple[Waiver, ...]:
    from lacre.vetting.sheet import open_rows, waive  # noqa: PLC0415
    from lacre.vetting.vet import DECISIONS  # noqa: PLC0415

    rows = open_rows(vetting / DECISIONS).get(item, [])
    if not rows:
        raise InputError(
            vetting / DECISIONS,
            f"has no finding that weighs against '{item}'",
            "Check the id, and that --vetting names the right folder",
        )
    if not findings and not every:
        known = "; ".join(f"{row['finding']} ({row['words']} words, {row['shard']})" for row in rows)
        raise InputError(
            f"item '{item}'", f"has the findings {known}", "Name them with --finding, or say --all"
        )
    for name, value in (("--reason", reason), ("--who", who)):
        if not (value or "").strip():
            raise InputError(name, "is missing", "A waiver says why it does no harm, and who answers for it")
    return waive(rows, findings, reason=str(reason).strip(), who=str(who).strip(), when=when)


def _print(place: Path, decided: Decisions, new: Sequence[Waiver], as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "file": str(place),
                "waivers": new,
                "known": len(decided.waivers) - len(new),
                "revise": [revision._asdict() for revision in decided.revisions],
                "undecided": decided.undecided,
            }
        )
        return
    rows = [("waived", w.item, w.finding, w.reason) for w in new]
    rows += [("revise", r.item, "", r.reason) for r in decided.revisions]
    print_table(("decision", "item", "finding", "reason"), rows, whole=("item", "finding"))
    known = len(decided.waivers) - len(new)
    say(
        f"{place}: {len(new)} waivers added"
        + (f", {known} were there already" if known else "")
        + (f"; {len(decided.revisions)} items to revise" if decided.revisions else "")
        + (f"; {decided.undecided} rows undecided" if decided.undecided else "")
        + ". Vet again to see what they change."
    )
