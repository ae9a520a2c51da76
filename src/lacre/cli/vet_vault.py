"""``lacre vet --vault``: private items against public text; what quotes them stays in the vault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lacre.cli.holding import identity_of, ledger_of, now, opened
from lacre.cli.output import print_json, print_table, say
from lacre.cli.vet_ground import corpus_grounds
from lacre.errors import InputError
from lacre.registry.items import Candidate
from lacre.registry.records import Record

if TYPE_CHECKING:
    from lacre.registry.workspace import Workspace
    from lacre.sealing.change import Change
    from lacre.sealing.vault import Vault
    from lacre.vetting.vet import Vetting

OUT = "verdicts.jsonl"


class PublicVerdict(Record, omit_defaults=False):
    """What may leave the vault about a private item: id, verdict, class and count (SPEC X5)."""

    item: str
    verdict: str
    classes: dict[str, int]
    findings: int


def vet_vault(
    folder: Path,
    identity: Path | None,
    workspace: Workspace | None,
    benchmark: str | None,
    *,
    vetted: Callable[[Sequence[Candidate]], Vetting],
    names: Mapping[str, str],
    out: Path | None,
    as_json: bool,
) -> Vetting:
    """Vet the items of a vault, keep the evidence in it, and print what may leave.

    The vault is not held while the corpora are read, which may take hours: other commands can use it.

    Args:
        vetted: vets candidates.
        names: source -> id of the corpus in the inventory; a source without one is its own name.
        out: a folder for ``verdicts.jsonl``, which holds what is printed.

    Raises:
        InputError: there is no item, or the clock is before the ledger's last line or the newest vetting. That
            is looked at before anything is read, and again before anything is kept.
    """
    who = identity_of(identity)
    with opened(folder, who, workspace) as vault:
        _refuse_clock(now(), vault, workspace)
        candidates = [Candidate(id=s.item.id, payload=s.item.payload) for s in vault.items(benchmark)]
        commitments = {row.id: row.commitment for row in vault.rows(benchmark)}
    if not candidates:
        raise InputError(folder, "no items to vet", "Seal some with `lacre vault add`")
    # Before the reading: what changes meanwhile must not pass for what was read.
    grounds = {} if workspace is None else corpus_grounds(workspace)
    vetting = vetted(candidates)
    rows = _rows(vetting)
    with opened(folder, who, workspace) as vault, vault.change() as change:
        at = now()
        _refuse_clock(at, vault, workspace)
        _keep(
            change,
            vetting,
            rows=rows,
            commitments=commitments,
            names=names,
            grounds=grounds,
            title=folder.name,
            at=at,
        )
    _print(vetting, rows, out, as_json)
    return vetting


def _refuse_clock(at: str, vault: Vault, workspace: Workspace | None) -> None:
    """Refuse a clock that went backwards: a freeze would take an old vetting for the latest one.

    Raises:
        InputError: the time is before the ledger's last line, or before the newest vetting kept.
    """
    from lacre.registry.ledger import read  # noqa: PLC0415 - keeps --help fast
    from lacre.sealing.checks import read_checks  # noqa: PLC0415

    lines = read(ledger_of(workspace)).lines if workspace else ()
    last = lines[-1].at if lines else ""
    vetted = max((check.at for check in read_checks(vault)), default="")
    for place, then, what in (
        (ledger_of(workspace) if workspace else "", last, "the ledger's last line,"),
        (vault.folder, vetted, "the newest vetting in the vault,"),
    ):
        if at < then:
            raise InputError(
                place, f"the clock says {at}, before {what} {then}", "Set the clock right, and run again"
            )


def _rows(vetting: Vetting) -> list[PublicVerdict]:
    rows = []
    for item in vetting.items:
        classes = Counter(judged.finding.class_ for judged in item.judged)
        rows.append(
            PublicVerdict(
                item=item.verdict.item,
                verdict=item.verdict.verdict,
                classes=dict(sorted(classes.items())),
                findings=item.verdict.findings,
            )
        )
    return sorted(rows, key=lambda row: row.item)


def _keep(
    change: Change,
    vetting: Vetting,
    *,
    rows: Sequence[PublicVerdict],
    commitments: Mapping[str, str],
    names: Mapping[str, str],
    grounds: Mapping[str, str],
    title: str,
    at: str,
) -> None:
    """Keep verdicts, findings and page in the vault."""
    from lacre import jsonl  # noqa: PLC0415 - keeps --help fast
    from lacre.report.compose import page_of  # noqa: PLC0415
    from lacre.report.vetting import render  # noqa: PLC0415
    from lacre.sealing.checks import FINDINGS, PAGE, Check, keep_checks  # noqa: PLC0415

    keep_checks(
        change,
        [
            Check(
                item=row.item,
                commitment=commitments[row.item],
                corpus=names.get(reading.corpus, reading.corpus),
                verdict=verdict.verdict,
                classes=row.classes,
                findings=row.findings,
                at=at,
                ground=grounds.get(names.get(reading.corpus, reading.corpus), ""),
            )
            for row, verdict in zip(rows, vetting.verdicts, strict=True)
            for reading in vetting.corpora
        ],
    )
    found = b"".join(jsonl.encode(finding, composed=False) for finding in vetting.findings)
    change.keep(FINDINGS, found)
    change.keep(PAGE, render(page_of(vetting, title)).encode())


def _print(vetting: Vetting, rows: Sequence[PublicVerdict], out: Path | None, as_json: bool) -> None:
    from lacre import jsonl  # noqa: PLC0415 - keeps --help fast

    counts = Counter(row.verdict for row in rows)
    if out is not None:
        jsonl.write(out / OUT, rows)
    if as_json:
        read = [{"corpus": r.corpus, "documents": r.documents, "bytes": r.bytes} for r in vetting.corpora]
        print_json({"counts": dict(sorted(counts.items())), "corpora": read, "verdicts": rows})
        return
    print_table(
        ("item", "verdict", "classes", "findings"),
        [(r.item, r.verdict, ", ".join(f"{n} {c}" for c, n in r.classes.items()), r.findings) for r in rows],
        right=("findings",),
        whole=("item", "verdict"),
    )
    said = ", ".join(f"{number:,} {verdict}" for verdict, number in sorted(counts.items()))
    say(f"{len(rows):,} items: {said}. The evidence is in the vault: `lacre vault show ... --findings`.")
