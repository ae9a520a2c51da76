"""``lacre vet``: check items against public text."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lacre.cli.output import example, json_option, print_json, print_table, say
from lacre.errors import Exit

if TYPE_CHECKING:
    from lacre.registry.rules import VettingRules
    from lacre.vetting.scan import Progress
    from lacre.vetting.vet import Vetting

SHOWN = 40  # rows of items on a terminal; a pipe gets them all


@click.command(epilog=example("lacre vet items.csv --corpus corpus --out vetting"))
@click.argument("items", type=click.Path(path_type=Path))
@click.option(
    "--corpus", "corpora", multiple=True, required=True, metavar="SRC",
    help="A file, a folder or a glob of public text. Give it again for more; every one counts as required.",
)  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Write the verdicts, the findings and the page here.")  # fmt: skip
@click.option("--map", "mapping", multiple=True, metavar="FIELD=COLUMN", help="Names of the columns of a plain items file, such as stem=question.")  # fmt: skip
@click.option("--key-index", type=click.IntRange(0, 1), help="Keys are numbers that count the options from 0 or 1.")  # fmt: skip
@click.option("--column", help="The text column of the corpora, nested as messages[].content; found when not given.")  # fmt: skip
@click.option("--benchmark", help="Use the rules of this benchmark of the workspace.")
@click.option("--workers", type=click.IntRange(1), help="Threads that read at once; one for each core when not given.")  # fmt: skip
@json_option
def vet(
    items: Path,
    corpora: tuple[str, ...],
    out: Path | None,
    mapping: tuple[str, ...],
    key_index: int | None,
    column: str | None,
    benchmark: str | None,
    workers: int | None,
    as_json: bool,
) -> int:
    """Say which of ITEMS already stand in public text, where, and with which words.

    ITEMS is a file in the record format, or a plain one (JSONL, CSV, Parquet ...) with columns id, stem,
    options and key. Each item gets one verdict: drop, unknown, review, untestable or keep. With --out,
    verdicts.jsonl, findings.jsonl and the page vetting.html are written when all is done.

    Exit code: 0 when every item is kept, 1 when some are not, 2 for bad input, 5 when something is unknown.
    """
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    from lacre.registry.intake import candidates, parse_mapping  # noqa: PLC0415
    from lacre.vetting.vet import vet as vetted  # noqa: PLC0415

    rules = _rules(benchmark)
    imported = candidates(items, parse_mapping(mapping), key_index=key_index)
    for remark in imported.remarks():
        say(f"{items}: {remark}.")
    threads = workers or os.cpu_count() or 1
    progress = _Meter(sys.stderr.isatty())
    with ThreadPoolExecutor(threads) as executor:
        vetting = vetted(
            imported.items, corpora, rules, executor=executor, column=column, on_progress=progress
        )
    progress.close()
    if out is not None:
        _write(vetting, out, title=items.name)
    _print(vetting, out, as_json)
    return int(_exit(vetting))


def _rules(benchmark: str | None) -> VettingRules:
    from lacre.errors import InputError  # noqa: PLC0415
    from lacre.registry.rules import default_rules  # noqa: PLC0415
    from lacre.registry.workspace import Workspace  # noqa: PLC0415

    workspace = Workspace.search(Path.cwd())
    if benchmark is not None:
        if workspace is None:
            raise InputError("--benchmark", "there is no workspace here", "Go to one, or make one with lacre init")
        return workspace.benchmark(benchmark).rules.vetting
    return (workspace.rules() if workspace else default_rules()).vetting


def _write(vetting: Vetting, out: Path, title: str) -> None:
    from lacre.report.compose import page_of  # noqa: PLC0415
    from lacre.report.vetting import write as write_page  # noqa: PLC0415
    from lacre.vetting.vet import write  # noqa: PLC0415

    write(vetting, out)
    write_page(page_of(vetting, title), out / "vetting.html")


def _exit(vetting: Vetting) -> Exit:
    decisions = {verdict.verdict for verdict in vetting.verdicts}
    if "unknown" in decisions:
        return Exit.INCOMPLETE
    return Exit.CLEAN if decisions <= {"keep"} else Exit.FINDING


def _print(vetting: Vetting, out: Path | None, as_json: bool) -> None:
    verdicts = vetting.verdicts
    counts = Counter(verdict.verdict for verdict in verdicts)
    if as_json:
        readings = [
            {
                "corpus": reading.corpus,
                "shards": reading.shards,
                "documents": reading.documents,
                "bytes": reading.bytes,
                "unread_bytes": reading.unread_bytes,
                "unread_places": reading.unread_places,
                "incomplete": reading.incomplete,
                "unread": reading.unread,
            }
            for reading in vetting.corpora
        ]
        print_json({"counts": counts, "corpora": readings, "verdicts": verdicts})
        return
    order = ("drop", "unknown", "review", "untestable", "keep")
    top = {item.verdict.item: item.judged[0].finding for item in vetting.items if item.judged}
    rows = []
    for verdict in sorted(verdicts, key=lambda v: (order.index(v.verdict), -v.longest_run, v.item)):
        finding = top.get(verdict.item)
        where = f"{finding.shard}, {finding.document}" if finding else ""
        rows.append((verdict.item, verdict.verdict, verdict.longest_run, f"{verdict.coverage:.0%}", where))
    shown = rows[:SHOWN] if sys.stdout.isatty() else rows
    print_table(("item", "verdict", "longest run", "of the item", "first place"), shown, right=("longest run", "of the item"))  # fmt: skip
    if len(shown) < len(rows):
        say(f"... and {len(rows) - len(shown):,} more items" + (f", all in {out / 'verdicts.jsonl'}" if out else ""))
    _say_summary(vetting, counts)
    if out is not None:
        say(f"Wrote {out / 'verdicts.jsonl'}, {out / 'findings.jsonl'} and the page {out / 'vetting.html'}.")


def _say_summary(vetting: Vetting, counts: Counter[str]) -> None:
    for reading in vetting.corpora:
        line = f"{reading.corpus}: {reading.documents:,} documents, {reading.bytes / 1e6:,.1f} MB of text"
        if reading.unread_places:
            line += f"; {reading.unread_bytes:,} bytes in {reading.unread_places:,} places not read or unreadable ({reading.unread_share:.2%})"
        say(line + ".")
        for gap in [gap for gap in reading.unread if gap.bytes or gap.incomplete][:3]:
            say(f"  {gap.where}: {gap.reason} ({gap.bytes:,} bytes)")
    order = ("drop", "unknown", "review", "untestable", "keep")
    said = ", ".join(f"{counts[name]:,} {name}" for name in order if counts[name])
    say(f"{len(vetting.items):,} items: {said}.")


class _Meter:
    """Progress on stderr: one line that renews itself on a terminal, else a line every ten seconds."""

    def __init__(self, live: bool) -> None:
        self.live = live
        self.begun = time.monotonic()
        self.last = self.begun if not live else 0.0
        self.drawn = False

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self.last < (0.1 if self.live else 10.0):
            return
        self.last = now
        seconds = max(now - self.begun, 1e-3)
        left = ""
        if progress.size:
            left = f", {(progress.of_size - progress.size) * seconds / progress.size:,.0f} s left"
        line = (
            f"{progress.shards}/{progress.of_shards} shards, {progress.text / 1e6:,.0f} MB of text, "
            f"{progress.text / 1e6 / seconds:,.0f} MB/s, {progress.matches:,} matches{left}"
        )
        if self.live:
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()
            self.drawn = True
        else:
            say(line)

    def close(self) -> None:
        """Clear the live line, so that what follows starts on a clean one."""
        if self.drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
