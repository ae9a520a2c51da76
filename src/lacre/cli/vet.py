"""``lacre vet``: check items against public text."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from lacre.cli.holding import IDENTITY
from lacre.cli.output import LiveLine, example, json_option, print_json, print_table, say
from lacre.cli.vet_index import index_options, opened, refuse_besides
from lacre.cli.vet_readings import counted, reading_lines
from lacre.cli.vet_watch import answer_lines, watch_file
from lacre.cli.vet_work import Work, check_work, cores, crew, journal, settle, work_options
from lacre.errors import Exit, IncompleteError, InputError, sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lacre.registry.items import Candidate
    from lacre.registry.rules import VettingRules
    from lacre.registry.waivers import Waiver
    from lacre.registry.workspace import Workspace
    from lacre.vetting.progress import Progress
    from lacre.vetting.required import Required
    from lacre.vetting.verdicts import ItemVerdict
    from lacre.vetting.vet import Vetting

SHOWN = 40  # rows of items on a terminal; a pipe gets them all
COLOURS = {
    "drop": "bold red",
    "unknown": "bold magenta",
    "review": "yellow",
    "untestable": "cyan",
    "keep": "green",
}
"""Verdicts in the order of their weight, and how a terminal shows them."""
ORDER: tuple[str, ...] = tuple(COLOURS)


@click.command(epilog=example("lacre vet items.csv --corpus corpus --out vetting"))
@click.argument("items", required=False, type=click.Path(path_type=Path))
@click.option(
    "--vault", "folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="Vet the private items of this vault instead; the evidence stays in it.",
)  # fmt: skip
@IDENTITY
@click.option(
    "--corpus", "corpora", multiple=True, metavar="SRC",
    help="A file, a folder or a glob of public text. Give it again for more; every one counts as required.",
)  # fmt: skip
@click.option(
    "--required", is_flag=True,
    help="Read the corpora that the benchmark requires; what cannot be reached makes verdicts unknown.",
)  # fmt: skip
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the verdicts, the findings and the page here.",
)
@click.option(
    "--map", "mapping", multiple=True, metavar="FIELD=COLUMN,...",
    help="Names of the columns of a plain items file, such as stem=question; join with +.",
)  # fmt: skip
@click.option(
    "--key-index", type=click.IntRange(0, 1), help="Keys are numbers that count the options from 0 or 1."
)
@click.option(
    "--column",
    metavar="NAME",
    help="The text column of the corpora, nested as messages[].content; found when not given.",
)
@click.option("--benchmark", metavar="NAME", help="Use the rules of this benchmark of the workspace.")
@click.option(
    "--waivers", "waiver_file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Waivers that hold; registry/waivers.jsonl of the workspace when not given.",
)  # fmt: skip
@index_options
@work_options
@json_option
def vet(
    *,
    items: Path | None,
    folder: Path | None,
    identity: Path | None,
    corpora: tuple[str, ...],
    indexes: tuple[Path, ...],
    watch: Path | None,
    stdin: bool,
    required: bool,
    out: Path | None,
    mapping: tuple[str, ...],
    key_index: int | None,
    column: str | None,
    benchmark: str | None,
    waiver_file: Path | None,
    executor: str | None,
    workers: int | None,
    scheduler: str | None,
    resume: bool,
    as_json: bool,
) -> int:
    """Say which of ITEMS already stand in public text, where, and with which words.

    ITEMS is a file in the record format, or a plain one (JSONL, JSON, CSV, TSV, Parquet) with columns id,
    stem, and perhaps options, key, passage and passage_source. Each item gets one verdict: drop, unknown,
    review, untestable or keep. With --out, verdicts.jsonl, findings.jsonl, the page vetting.html and
    decisions.csv, the sheet for `lacre waive --sheet`, are written when all is done; they quote the items, so
    keep them as private as the items are. With --vault nothing that quotes an item leaves the vault: what is
    printed, and written to --out, is id, verdict, classes and number of findings.

    SRC may be an address too: https://, s3://, or hf://datasets/OWNER/NAME[@REVISION][/PATH]. While text is read,
    vetting.journal in --out keeps what is done; after an interruption of any kind, --resume goes on from there.

    --index looks the items up instead of reading everything: every run of 10 words is found, shorter runs and edited
    sentences in part. With --watch and --stdin an item is answered for while it is written.

    Exit code: 0 when every item is kept, 1 when some are not, 2 for bad input, 5 when something is unknown or the
    results could not be written; 4 when a corpus cannot be reached at the start.
    """
    from lacre.cli.vet_vault import vet_vault  # noqa: PLC0415 - keeps --help fast
    from lacre.registry.intake import candidates, parse_mapping  # noqa: PLC0415
    from lacre.registry.workspace import Workspace  # noqa: PLC0415
    from lacre.vetting.vet import vet as search  # noqa: PLC0415
    from lacre.vetting.watch import Desk  # noqa: PLC0415

    if out is not None:
        _check_room(out)
    work = Work(executor, workers, scheduler, resume)
    check_work(work, out, is_private=folder is not None)
    if watch is not None or stdin:
        refuse_besides(
            watch,
            stdin=stdin,
            indexes=indexes,
            given=(items, folder, out, *corpora, *([required] if required else ())),
        )
    needed = _required(benchmark, (*corpora, *map(str, indexes)), required)
    ground = _ground(benchmark, waiver_file)
    lookup = opened(indexes, workers=workers or cores())
    if lookup is not None and (watch is not None or stdin):
        desk = Desk(lookup=lookup, rules=ground.rules, phrases=ground.phrases, waivers=ground.waivers)
        fields = parse_mapping(mapping)
        if watch is None:
            return int(answer_lines(desk, sys.stdin.buffer, fields, key_index=key_index))
        watch_file(desk, watch, fields, key_index=key_index, as_json=as_json)

    def vetted(found: Sequence[Candidate]) -> Vetting:
        meter = _Meter(sys.stderr.isatty(), len(found))
        with journal(out, is_private=folder is not None) as sink, crew(work) as readers:
            try:
                return search(
                    found,
                    [*needed.sources, *corpora],
                    ground.rules,
                    executor=readers,
                    sink=sink,
                    column=column,
                    columns=needed.columns,
                    unreached=needed.unreached,
                    apart=[path for path in (items, folder, out) if path is not None],
                    phrases=ground.phrases,
                    waivers=ground.waivers,
                    lookup=lookup,
                    on_index=meter.index,
                    on_progress=meter,
                    on_trouble=meter.remark,
                )
            finally:
                meter.close()

    if folder is not None:
        if items is not None or mapping or key_index is not None:
            raise InputError("--vault", "takes no file of items", "Give one of the two")
        workspace = Workspace.search(Path.cwd())
        names = _inventory(workspace)
        return int(
            _exit(
                vet_vault(
                    folder,
                    identity,
                    workspace,
                    benchmark,
                    vetted=vetted,
                    names=names,
                    out=out,
                    as_json=as_json,
                )
            )
        )
    if items is None:
        raise InputError("lacre vet", "no items", "Name their file, or say --vault DIR")
    imported = candidates(items, parse_mapping(mapping), key_index=key_index)
    for remark in imported.remarks():
        say(f"{items}: {remark}.")
    vetting = vetted(imported.items)
    unwritten = _write(vetting, out, title=items.name) if out is not None else None
    settle(out, vetting, is_written=unwritten is None)
    _print(vetting, None if unwritten else out, as_json)
    if unwritten is not None:
        # After the table: hours of reading must not be lost for a full disk.
        raise unwritten
    return int(_exit(vetting))


def _inventory(workspace: Workspace | None) -> dict[str, str]:
    """Sources as they may be named -> ids of the inventory's corpora."""
    if workspace is None:
        return {}
    near = _near(workspace.root)
    from lacre.vetting.required import source_of  # noqa: PLC0415 - keeps --help fast

    named: dict[str, str] = {}
    for corpus in workspace.corpora().values():
        if corpus.location:
            named[source_of(corpus, near)] = corpus.id
            # Parts of one dataset share its location, which then names none of them.
            named.setdefault(corpus.location, corpus.id if corpus.subset is None else corpus.location)
    return named


def _check_room(out: Path) -> None:
    """Refuse, before anything is read, a place where the results could not be written."""
    from tempfile import TemporaryFile  # noqa: PLC0415

    from lacre.vetting.vet import FILES  # noqa: PLC0415

    todo = "Give --out a folder that can be written"
    for name in FILES:
        if (out / name).is_dir():
            raise InputError(out / name, "is a folder where a file must go", todo)
    place = next(folder for folder in (out.absolute(), *out.absolute().parents) if os.path.lexists(folder))
    if not place.is_dir():
        raise InputError(out, f"{'is' if place == out.absolute() else f'{place} is'} not a folder", todo)
    try:
        # Without a name, so that nothing is left there.
        with TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise InputError(out, f"cannot be written ({error.strerror})", todo) from None


class _Ground(NamedTuple):
    """The rules that hold, the approved boilerplate, the waivers."""

    rules: VettingRules
    phrases: Sequence[str]
    waivers: Sequence[Waiver]


def _ground(benchmark: str | None, waiver_file: Path | None) -> _Ground:
    from lacre.registry.boilerplate import read_phrases  # noqa: PLC0415
    from lacre.registry.rules import default_rules  # noqa: PLC0415
    from lacre.registry.waivers import FILE, read_waivers  # noqa: PLC0415
    from lacre.registry.workspace import Workspace  # noqa: PLC0415

    if waiver_file is not None and not waiver_file.exists():
        raise InputError(waiver_file, "no such file", "Check the path, or leave --waivers out")
    workspace = Workspace.search(Path.cwd())
    if workspace is None:
        if benchmark is not None:
            raise InputError(
                "--benchmark", "there is no workspace here", "Go to one, or make one with `lacre init`"
            )
        return _Ground(default_rules().vetting, (), read_waivers(waiver_file) if waiver_file else ())
    rules = workspace.benchmark(benchmark).rules if benchmark is not None else workspace.rules()
    return _Ground(
        rules.vetting,
        [phrase.text for phrase in read_phrases(workspace.boilerplate)],
        read_waivers(waiver_file or workspace.registry / FILE),
    )


def _required(benchmark: str | None, corpora: Sequence[str], wished: bool) -> Required:
    """The corpora that the benchmark requires, none when they are not wished for.

    Raises:
        InputError: neither they nor any other corpus was asked for, or the benchmark requires none.
    """
    from lacre.registry.workspace import Workspace  # noqa: PLC0415
    from lacre.vetting.required import Required, required  # noqa: PLC0415

    if not wished:
        if not corpora:
            raise InputError("--corpus", "no text to search", "Give --corpus SRC, --index DIR, or --required")
        return Required((), {}, ())
    workspace = Workspace.find(Path.cwd())
    names = (benchmark,) if benchmark is not None else workspace.benchmarks()
    if len(names) != 1:
        raise InputError("--required", "which benchmark?", "Name it with --benchmark")
    inventory = workspace.corpora()
    ids = workspace.required_corpora(names[0])
    if not ids:
        raise InputError(
            "--required",
            f"benchmark '{names[0]}' requires no corpora",
            "Write required_corpora under [vetting] in its benchmark.toml; `lacre corpus list` has the ids",
        )
    return required([inventory[name] for name in ids], _near(workspace.root))


def _near(root: Path) -> Path:
    """The workspace as seen from here, so that its corpora have short names."""
    return Path(os.path.relpath(root))


def _write(vetting: Vetting, out: Path, title: str) -> IncompleteError | None:
    """Write the files; the error when that was not possible."""
    from lacre.report.compose import page_of  # noqa: PLC0415
    from lacre.report.vetting import render  # noqa: PLC0415
    from lacre.vetting.vet import write  # noqa: PLC0415

    try:
        write(vetting, render(page_of(vetting, title)), out)
    except OSError as error:
        return IncompleteError(
            sentence(
                out,
                f"the results could not be written ({error.strerror})",
                "Nothing there was changed; make room and run again, or name another folder",
            )
        )
    return None


def _exit(vetting: Vetting) -> Exit:
    decisions = {verdict.verdict for verdict in vetting.verdicts}
    if "unknown" in decisions:
        return Exit.INCOMPLETE
    return Exit.CLEAN if decisions <= {"keep"} else Exit.FINDING


def _print(vetting: Vetting, out: Path | None, as_json: bool) -> None:
    verdicts = vetting.verdicts
    counts = Counter[str](verdict.verdict for verdict in verdicts)
    if as_json:
        print_json(
            {
                "counts": {name: counts[name] for name in ORDER},
                "corpora": vetting.corpora,
                "verdicts": verdicts,
            }
        )
        return
    ranked = sorted(
        vetting.items,
        key=lambda item: (
            ORDER.index(item.verdict.verdict),
            -item.verdict.longest_run,
            -item.verdict.coverage,
            item.verdict.item,
        ),
    )
    shown = ranked[:SHOWN] if sys.stdout.isatty() else ranked
    several = len(vetting.corpora) > 1
    print_table(
        ("item", "verdict", "why", "coverage", "docs", "where"),
        [_row(item, several) for item in shown],
        right=("coverage", "docs"),
        whole=("item", "verdict"),
        styles=COLOURS,
    )
    sys.stdout.flush()
    if len(shown) < len(ranked):
        all_of_them = f"; all are in {out / 'verdicts.jsonl'}" if out else "; --out or a pipe gives them all"
        say(f"... and {len(ranked) - len(shown):,} more items{all_of_them}.")
    for reading in vetting.corpora:
        for line in reading_lines(reading):
            say(line)
    said = ", ".join(f"{counts[name]:,} {name}" for name in ORDER if counts[name])
    say(f"{counted(len(ranked), 'item')}: {said}.")
    if waived := sum(1 for item in ranked if item.waived and item.verdict.verdict == "keep"):
        say(f"{counted(waived, 'item')} kept by waiver.")
    if void := sum(1 for item in ranked if item.void and item.verdict.verdict != "keep"):
        say(f"{counted(void, 'item')} with a void waiver: the text changed after it was waived.")
    if out is not None:
        say(f"Look at {out / 'vetting.html'}; verdicts.jsonl and findings.jsonl beside it hold the same.")
        if any(counts[name] for name in ("drop", "review")):
            say(f"Decide in {out / 'decisions.csv'}, then `lacre waive --sheet {out / 'decisions.csv'}`.")


def _row(item: ItemVerdict, several: bool) -> tuple[str, ...]:
    """One line of the table; what decides, and where that stands. ``several``: name the corpus too."""
    from lacre.report.words import percent  # noqa: PLC0415
    from lacre.vetting.verdicts import where  # noqa: PLC0415

    verdict = item.verdict
    if not item.judged:
        why = "not all could be read" if verdict.verdict == "unknown" else "; ".join(verdict.reasons)
        return verdict.item, verdict.verdict, why, "", "", ""
    top = item.judged[0]
    place = f"{top.finding.corpus}: {where(top.finding)}" if several else where(top.finding)
    if Path(top.finding.corpus).name == top.finding.shard != top.finding.document:
        # The corpus is one file, which the summary names.
        place = place.removesuffix(where(top.finding)) + f"document {top.finding.document}"
    why = top.why.rstrip(",")
    if verdict.verdict == "unknown":
        why = f"not all could be read; {why}"
    return verdict.item, verdict.verdict, why, percent(verdict.coverage), f"{top.finding.documents:,}", place


class _Meter:
    """Progress on stderr: one line that renews itself on a terminal, else a line every ten seconds."""

    def __init__(self, live: bool, items: int) -> None:
        self.live = live
        self.items = items
        self.begun = self.last = 0.0
        self.line = LiveLine(live)

    def index(self) -> None:
        """Say at once that the items are being indexed, which may take seconds."""
        self.line.show(f"Indexing {counted(self.items, 'item')} ...")

    def __call__(self, progress: Progress) -> None:
        """Show how far the scan is, now and then."""
        now = time.monotonic()
        if not self.begun:
            self.begun = self.last = now
            if self.live:
                self.line.show(self._line(progress, 0.0))
        elif now - self.last >= (0.1 if self.live else 10.0):
            self.last = now
            self.line.show(self._line(progress, now - self.begun))

    def _line(self, progress: Progress, seconds: float) -> str:
        parts = [
            f"{progress.share:.0%}",
            f"{progress.shards:,} of {counted(progress.of_shards, 'shard')}",
            f"{progress.text / 1e6:,.0f} MB of text",
            *([f"{progress.text / 1e6 / seconds:,.0f} MB/s"] if seconds else []),
            counted(progress.matches, "match").replace("matchs", "matches"),
        ]
        if seconds >= 1 and 0 < progress.share < 1:
            parts.append(f"about {_time(seconds * (1 - progress.share) / progress.share)} left")
        return ", ".join(parts)

    def remark(self, text: str) -> None:
        """Say something in between."""
        self.line.close()
        say(text)

    def close(self) -> None:
        """Clear the live line."""
        self.line.close()


def _time(seconds: float) -> str:
    """A time to come, no finer than one can tell.

    >>> _time(42.3), _time(170), _time(7300)
    ('43 s', '3 min', '2.0 h')
    """
    if seconds < 100:
        return f"{int(seconds) + 1} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
