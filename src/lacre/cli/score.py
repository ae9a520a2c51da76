"""``lacre score``: every metric of every column, with its interval."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import click
from click.core import ParameterSource

from lacre.cli.answers import check_figure, listed, percent, plain, read, reading_options, write_figure
from lacre.cli.output import example, json_option, print_json, print_table, say
from lacre.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lacre.scoring.board import Board
    from lacre.scoring.calibration import Calibration
    from lacre.scoring.intervals import Method
    from lacre.scoring.metrics import Metrics

Figure = Literal["intervals", "reliability", "risk-coverage"]
_FIGURES = ("intervals", "reliability", "risk-coverage")


@click.command(
    epilog=example(
        "lacre score answers.csv",
        "lacre score letters.csv --map column=model,item=id,answer=pred,key=gold --by area",
        "lacre score answers.csv --plot reliability.svg --figure reliability",
    )
)
@reading_options
@click.option(
    "--by", multiple=True, metavar="FIELD", help="Split by a column of the file; again to cross two."
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
@click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE.svg", help="Write a figure there as well."
)
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
    """
    import numpy as np  # noqa: PLC0415 - keeps --help fast

    from lacre.scoring.board import board  # noqa: PLC0415
    from lacre.scoring.metrics import THRESHOLDS  # noqa: PLC0415

    if plot is None and _given("figure"):
        raise InputError("--figure", "says which figure, and none is asked for", "Add --plot FILE.svg")
    check_figure(plot)
    answers = read(files, mapping, only, unlettered=unlettered, threshold=threshold, keep=by)
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
        on_progress=_progress if sys.stderr.isatty() else None,
    )
    if as_json:
        print_json(found)
    else:
        _print(found)
    _remark(found, as_json)
    if plot is not None:
        _draw(found, plot, cast("Figure", figure), level)


def _given(option: str) -> bool:
    """Whether an option was given, be it with its default."""
    return click.get_current_context().get_parameter_source(option) is not ParameterSource.DEFAULT


def _smallest() -> int:
    """Items below which a stratum is small: the workspace's own rule, or the shared one."""
    from lacre.registry.rules import default_rules  # noqa: PLC0415 - keeps --help fast
    from lacre.registry.workspace import Workspace  # noqa: PLC0415

    workspace = Workspace.search(Path.cwd())
    return (workspace.rules() if workspace is not None else default_rules()).strata.smallest


def _progress(done: int, parts: int) -> None:
    sys.stderr.write(f"\r\x1b[K{done:,} of {parts:,} columns and strata" if done + 1 < parts else "\r\x1b[K")
    sys.stderr.flush()


def _print(found: Board) -> None:
    """The tables: headline, strata, penalised scores, special items, calibration; only those with something."""
    _headline(found)
    if found.strata:
        _strata(found)
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
