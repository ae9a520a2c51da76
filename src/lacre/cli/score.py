"""``lacre score``: every metric of every column, with its interval."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import click

from lacre.cli.answers import check_figure, listed, percent, plain, read, reading_options, write_figure
from lacre.cli.options import given, plot_option
from lacre.cli.output import LiveLine, example, json_option, print_json, print_table, say
from lacre.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lacre.registry.seen import HeldMarks
    from lacre.scoring.board import Board
    from lacre.scoring.calibration import Calibration
    from lacre.scoring.contamination import Before, SeenSplit
    from lacre.scoring.intervals import Method
    from lacre.scoring.metrics import Metrics

Figure = Literal["intervals", "reliability", "risk-coverage"]
LARGE = 2_000_000
"""Bytes of answers from which scoring them takes a while: about five seconds."""
_FIGURES = ("intervals", "reliability", "risk-coverage")


@click.command(
    epilog=example(
        "lacre score answers.csv",
        "lacre score letters.csv --map column=model,item=id,answer=pred,key=gold --by area",
        "lacre score answers.csv --plot reliability.svg --figure reliability",
        "lacre probe completion exemplo --layer open --column local --out probes/first",
        "lacre score answers.csv --by seen --seen probes/first/marks.jsonl",
    )
)
@reading_options
@click.option(
    "--by",
    multiple=True,
    metavar="FIELD",
    help="Split by a column of the file; again to cross two. See --seen and --benchmark too.",
)
@click.option(
    "--seen",
    "marks",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="MARKS.jsonl",
    help="With --by seen: what a probe made of the items, as `lacre probe completion` wrote it; again for more.",
)
@click.option(
    "--benchmark",
    metavar="NAME",
    help="With --by cutoff: the benchmark of this workspace that has the items' exams.",
)
@click.option(
    "--t", "thresholds", multiple=True, metavar="T",
    help="Threshold of a penalised score, such as 0.8; 0, 0.5, 0.75 and 0.9 when not given.",
)  # fmt: skip
@click.option(
    "--interval", "method", type=click.Choice(["wilson", "clopper-pearson", "beta"]), default="wilson",
    show_default=True, help="Interval of proportions of single runs.",
)  # fmt: skip
@click.option("--bins", type=click.IntRange(1), default=10, show_default=True, help="Bins of ECE.")
@plot_option
@click.option(
    "--figure", type=click.Choice(_FIGURES), default="intervals", show_default=True, help="Which figure."
)
@json_option
def score(
    *,
    files: tuple[Path, ...],
    mapping: tuple[str, ...],
    only: tuple[str, ...],
    unlettered: str,
    threshold: float | None,
    level: float,
    draws: int,
    seed: int,
    by: tuple[str, ...],
    marks: tuple[Path, ...],
    benchmark: str | None,
    thresholds: tuple[str, ...],
    method: str,
    bins: int,
    plot: Path | None,
    figure: str,
    as_json: bool,
) -> None:
    """Print the metrics of every column of FILES, each with its interval and its exact denominator.

    FILES are JSONL, JSON, CSV, TSV or Parquet, one answer a row: column (the file's name when there is none),
    item, and outcome (C, E, A, R, F), or score (0 to 1), or answer and key; and perhaps repetition, confidence,
    expects and looks_sensitive. Accuracy, error when attempted and abstention come together.

    --by seen with --seen splits by what a probe found, and adds the scores without the items seen; --by cutoff with
    --benchmark splits each column's items by its declared cutoff, and adds the difference in differences.
    """
    import numpy as np  # noqa: PLC0415 - keeps --help fast

    from lacre.cli.seen import check_wishes, dates_of, marks_of, strata_given  # noqa: PLC0415
    from lacre.scoring.board import board  # noqa: PLC0415
    from lacre.scoring.contamination import before_and_after, with_and_without  # noqa: PLC0415
    from lacre.scoring.metrics import THRESHOLDS  # noqa: PLC0415

    if plot is None and given("figure"):
        raise InputError("--figure", "says which figure, and none is asked for", "Add --plot FILE.svg")
    check_figure(plot)
    keep = check_wishes(by, marks, benchmark)
    meter = ScoreMeter(files, live=sys.stderr.isatty())
    meter.reading()
    answers = read(files, mapping, only, unlettered=unlettered, threshold=threshold, keep=keep)
    held = marks_of(marks, answers, benchmark) if marks else None
    verdicts = held.verdicts if held is not None else None
    dates = dates_of(benchmark, answers) if benchmark is not None else None
    answers = strata_given(answers, verdicts, dates)
    found = board(
        answers,
        rng=np.random.default_rng(seed),
        by=by,
        smallest=_smallest() if by else 0,
        draws=draws,
        level=level,
        method=cast("Method", method),
        thresholds=thresholds or THRESHOLDS,
        bins=bins,
        on_progress=meter.scored,
    )
    splits = sides = None
    if verdicts is not None:
        rng = np.random.default_rng(seed)
        splits = with_and_without(
            answers, verdicts, rng=rng, draws=draws, level=level, method=cast("Method", method)
        )
    if dates is not None:
        sides = before_and_after(answers, *dates, level=level)
    meter.close()
    if as_json:
        _print_json(found, splits, sides, held)
    else:
        _print(found, splits, sides)
    _remark(found, as_json)
    if plot is not None:
        _draw(found, plot, cast("Figure", figure), level)


def _smallest() -> int:
    """Items below which a stratum is small: the workspace's own rule, or the shared one."""
    from lacre.registry.rules import default_rules  # noqa: PLC0415 - keeps --help fast
    from lacre.registry.workspace import Workspace  # noqa: PLC0415

    workspace = Workspace.search(Path.cwd())
    return (workspace.rules() if workspace is not None else default_rules()).strata.smallest


class ScoreMeter:
    """Progress on stderr: on a terminal always, elsewhere for files that take a while, a line every ten seconds."""

    def __init__(
        self, files: Sequence[Path], *, live: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._size = sum(file.stat().st_size for file in files if file.is_file())
        self._names = ", ".join(str(file) for file in files[:2]) + (" ..." if len(files) > 2 else "")
        self._shown = live or self._size >= LARGE
        self._live = live
        self._clock = clock
        self._last = clock()
        self._line = LiveLine(live)

    def reading(self) -> None:
        """Say what is being read, where that takes a while."""
        if self._size >= LARGE:
            say(f"Reading {self._names}, {self._size / 1e6:,.0f} MB ...")

    def scored(self, done: int, parts: int) -> None:
        """Say how many columns and strata have been scored, now and then."""
        now = self._clock()
        if self._shown and (self._live or now - self._last >= 10.0):
            self._last = now
            self._line.show(f"{done:,} of {parts:,} columns and strata")

    def close(self) -> None:
        """Clear the live line."""
        self._line.close()


def _print_json(
    found: Board,
    splits: tuple[SeenSplit, ...] | None,
    sides: tuple[Before, ...] | None,
    held: HeldMarks | None,
) -> None:
    """The board, with what marks and dates say beside it where they were given."""
    import msgspec  # noqa: PLC0415 - keeps --help fast

    beside: dict[str, object] = {
        name: rows for name, rows in (("seen", splits), ("cutoff", sides)) if rows is not None
    }
    if held is not None:
        beside["marks"] = {
            "used": len(held.verdicts),
            "other_texts": held.other_texts,
            "unchecked": held.unchecked,
        }
    print_json({**msgspec.to_builtins(found), **beside} if beside else found)


def _print(found: Board, splits: tuple[SeenSplit, ...] | None, sides: tuple[Before, ...] | None) -> None:
    """The tables: headline, strata, penalised scores, special items, calibration; only those with something."""
    from lacre.cli.seen import print_before, print_seen  # noqa: PLC0415 - keeps --help fast

    _headline(found)
    if splits is not None:
        print_seen(splits)
    if found.strata:
        _strata(found)
    if sides is not None:
        print_before(sides)
    _penalised(found.columns)
    _special(found.columns)
    _calibration(found.columns)


def _heading(text: str) -> None:
    click.echo(f"\n{text}")


def _headline(found: Board) -> None:
    scored = any(metrics.counts.unclassed for metrics in found.columns)
    # N counts all items; where some expect no answer, the accuracy over those that do stands beside (L11).
    special = any(metrics.accuracy_expected.n != metrics.headline.accuracy.n for metrics in found.columns)
    names = ["column", "items", *(["mean score"] if scored else []), "accuracy"]
    names += [*(["where one expects an answer"] if special else []), "error when attempted", "abstention"]
    names += ["refusal", "failure"]
    rows = []
    for metrics in found.columns:
        items, accuracy, *rest = _together(metrics)
        row = [metrics.column, items, *([percent(metrics.mean_score)] if scored else []), accuracy]
        row += [percent(metrics.accuracy_expected)] if special else []
        rows.append([*row, *rest, percent(metrics.refusal), percent(metrics.failure)])
    print_table(names, rows, right=names[1:], whole=("column",))
    if any(metrics.counts.failure for metrics in found.columns):
        _heading("Accuracy where failures leave the denominator: C/(N - F)")
        print_table(
            ("column", "failures", "accuracy without failures"),
            [
                (m.column, f"{m.counts.failure:,}", percent(m.accuracy_without_failures))
                for m in found.columns
            ],
            right=("failures", "accuracy without failures"),
        )


def _together(metrics: Metrics) -> list[str]:
    """Items, accuracy, error when attempted, abstention: never shown apart (SPEC L11)."""
    head = metrics.headline
    return [
        f"{metrics.counts.items:,}",
        percent(head.accuracy),
        percent(head.error_when_attempted),
        percent(head.abstention),
    ]


def _strata(found: Board) -> None:
    _heading(f"By {', '.join(found.by)}")
    small = any(row.small for row in found.strata)
    scored = any(metrics.counts.unclassed for metrics in found.columns)
    names = ["column", *found.by, "items", "accuracy", "error when attempted", "abstention"]
    rows = []
    for row in found.strata:
        cells = [row.column, *row.values, *_together(row.metrics)]
        if scored:
            cells.append(percent(row.metrics.mean_score))
        if small:
            cells.append("small" if row.small else "")
        rows.append(cells)
    names += ["mean score"] if scored else []
    names += [f"under {found.smallest} items"] if small else []
    print_table(names, rows, right=("items", "accuracy", "error when attempted", "abstention", "mean score"))


def _penalised(columns: Sequence[Metrics]) -> None:
    if all(metrics.counts.unclassed for metrics in columns):
        return
    _heading("Penalised score (C - E·t/(1 - t))/N: answering pays only above confidence t")
    names = ["column", *(f"t = {row.t}" for row in columns[0].penalised)]
    print_table(
        names, [(m.column, *(plain(row.score) for row in m.penalised)) for m in columns], right=names[1:]
    )


def _special(columns: Sequence[Metrics]) -> None:
    """Items that expect something else than an answer, or look sensitive; no table where there are none."""
    from lacre.scoring.estimates import Estimate  # noqa: PLC0415 - keeps --help fast

    rows = [
        (
            metrics.column,
            percent(metrics.correct_abstention),
            percent(metrics.abstention_precision),
            percent(metrics.premise_corrected),
            percent(metrics.over_refusal),
        )
        for metrics in columns
    ]
    if not any(
        isinstance(found, Estimate)
        for m in columns
        for found in (m.correct_abstention, m.premise_corrected, m.over_refusal)
    ):
        return
    _heading("Items that expect an abstention or a correction, and those that look sensitive")
    names = (
        "column",
        "correct abstention",
        "abstention precision",
        "premise corrected",
        "over-refusal",
    )
    print_table(names, rows, right=names[1:])


def _calibration(columns: Sequence[Metrics]) -> None:
    from lacre.scoring.calibration import Calibration  # noqa: PLC0415 - keeps --help fast

    stating = [m for m in columns if isinstance(m.calibration, Calibration)]
    if not stating:
        return
    rule = cast("Calibration", stating[0].calibration).rule
    _heading(f"Calibration of attempted answers; ECE in {rule}")
    names = ("column", "stated", "ECE", "by chance", "Brier", "AURC", "E-AURC", "AUGRC")
    rows = []
    for metrics in columns:
        found = metrics.calibration
        if not isinstance(found, Calibration):
            rows.append((metrics.column, "0", f"undefined: {found.reason}", "", "", "", "", ""))
            continue
        rows.append(
            (
                metrics.column,
                f"{found.stated:,} of {found.attempted:,} ({found.share:.0%})",
                plain(found.ece),
                f"{found.ece_by_chance:.3f}",
                plain(found.brier),
                plain(found.aurc),
                plain(found.e_aurc),
                plain(found.augrc),
            )
        )
    print_table(names, rows, right=names[1:])


def _remark(found: Board, as_json: bool) -> None:
    """What a reader must know, on stderr."""
    from lacre.scoring.calibration import NoConfidence  # noqa: PLC0415 - keeps --help fast

    sys.stdout.flush()
    if found.missing:
        say(f"Of {found.items:,} items, some columns did not answer all; left out: {listed(found.missing)}.")
    if found.uneven:
        say(
            f"Items with different numbers of runs, each counted once by its mean: {', '.join(found.uneven)}."
        )
    without = [m.column for m in found.columns if isinstance(m.calibration, NoConfidence)]
    if without and not as_json:
        all_of_them = len(without) == len(found.columns)
        whose = "no column" if all_of_them else f"none of {', '.join(without)}"
        say(f"No ECE where no confidence is stated: {whose} states one.")


def _draw(found: Board, path: Path, figure: Figure, level: float) -> None:
    from lacre.report import plots  # noqa: PLC0415 - matplotlib takes its time
    from lacre.scoring.calibration import Calibration  # noqa: PLC0415

    stating = [(m.column, m.calibration) for m in found.columns if isinstance(m.calibration, Calibration)]
    if figure != "intervals" and not stating:
        raise InputError(
            "--figure", f"{figure} needs confidences, and no answer states one", "Draw intervals"
        )
    match figure:
        case "intervals":
            write_figure(path, lambda: plots.interval_plot(found, level=level))
        case "reliability":
            write_figure(path, lambda: plots.reliability_diagram(stating))
        case "risk-coverage":
            write_figure(path, lambda: plots.risk_coverage_plot(stating))
