"""Figures as SVG: the same records give the same bytes, with no clock and no display.

Colours are told apart by people who see red and green alike, and shapes say the same as colours.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator, PercentFormatter

from lacre.scoring.estimates import LEVEL, Estimate, Interval, Measured, Undefined

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lacre.scoring.board import Board
    from lacre.scoring.calibration import Calibration
    from lacre.scoring.comparison import Comparison, Pair

INK, GREY, LIGHT = "#1b1b1b", "#6b6b6b", "#d9d9d9"
BLUE, ORANGE = "#0a5a9c", "#c2570c"
SHADES = (BLUE, ORANGE, "#3d7a1e", "#8a3b8f", "#a8870a", "#1a8a8a")
STYLES = ("-", "--", "-.", ":")

_SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "lacre",  # ids of clip paths would be random without it
    "svg.fonttype": "none",  # text stays text: letters that no font here has are drawn where it is read
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: widths are the same on every machine
    "font.size": 9.0,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": GREY,
    "ytick.color": INK,
    "text.color": INK,
}
_NOTHING_STATED = "no column states a confidence"
_ROW = 0.26  # inches for one row of a forest
_BRIEF = 16  # letters of a name that is worth no cutting
_MAX_ROWS = 400  # past this a figure is no figure


def reliability_diagram(columns: Sequence[tuple[str, Calibration]]) -> bytes:
    """An SVG with one panel a column: accuracy of each bin, with its interval, over its mean confidence.

    On the diagonal the stated confidence is right. The bars below count the bin's answers. ECE stands above the
    panel with its interval, the share of answers that state a confidence where it is below 1, and the rule of
    the bins below all. Source: Guo et al. 2017, arXiv:1706.04599; SPEC L11, L12.
    """
    wide = min(3, max(1, len(columns)))
    rows = max(1, -(-len(columns) // wide))
    with mpl.rc_context(_SETTINGS):
        figure = Figure(figsize=(3.4 * wide, 3.9 * rows + 0.3), layout="constrained")
        grids = figure.subplots(2 * rows, wide, squeeze=False, height_ratios=[3.2, 0.8] * rows)
        for place in range(rows * wide):
            top, below = (
                grids[2 * (place // wide)][place % wide],
                grids[2 * (place // wide) + 1][place % wide],
            )
            if place >= len(columns):
                top.set_axis_off()
                below.set_axis_off()
                continue
            _reliability_panel(top, below, *columns[place])
        rule = f"stated confidence  ({columns[0][1].rule})" if columns else _NOTHING_STATED
        figure.supxlabel(rule, fontsize=8, color=GREY)
        return _svg(figure, "Reliability diagram")


def _reliability_panel(top: Axes, below: Axes, column: str, calibration: Calibration) -> None:
    top.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=(0, (4, 3)))
    for row in calibration.bins:
        found = row.accuracy
        if isinstance(found, Undefined) or row.confidence is None:
            continue
        top.plot([row.confidence, row.confidence], [row.confidence, found.value], color=LIGHT, linewidth=4)
        if isinstance(found.interval, Interval):
            top.plot([row.confidence] * 2, [found.interval.lo, found.interval.hi], color=BLUE, linewidth=1)
        top.plot([row.confidence], [found.value], marker="o", markersize=4, color=BLUE, clip_on=False)
        below.bar(
            row.lo, row.n, width=row.hi - row.lo, align="edge", color=LIGHT, edgecolor=GREY, linewidth=0.6
        )
    top.set(xlim=(0, 1), ylim=(0, 1), xticks=[], ylabel="accuracy")
    said = [_short(column), f"ECE {_percent_with_interval(calibration.ece)}"]
    if calibration.share < 1:
        said.append(f"{calibration.share:.0%} of {calibration.attempted:,} answers state one")
    # Above the panel: inside it would hide what it speaks of.
    top.set_title("\n".join(said), fontsize=8, loc="left")
    below.set(xlim=(0, 1), ylabel="answers")
    below.yaxis.set_major_locator(MaxNLocator(2, integer=True))
    for axes in (top, below):
        axes.tick_params(labelsize=7.5)


def risk_coverage_plot(columns: Sequence[tuple[str, Calibration]]) -> bytes:
    """An SVG of the share wrong over the share answered, as the least sure answers are left out, by column.

    Source: El-Yaniv & Wiener 2010, JMLR 11:1605; SPEC L11, I7.
    """
    with mpl.rc_context(_SETTINGS):
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        axes = figure.subplots()
        top = 0.0
        for place, (column, calibration) in enumerate(columns):
            coverage = [point.coverage for point in calibration.curve]
            risk = [point.risk for point in calibration.curve]
            top = max(top, *risk)
            axes.plot(
                coverage,
                risk,
                color=SHADES[place % len(SHADES)],
                linestyle=STYLES[(place // len(SHADES)) % len(STYLES)],
                marker="o" if len(coverage) <= 25 else None,
                markersize=3,
                linewidth=1.3,
                label=f"{_short(column)}  (AURC {_number(calibration.aurc)})",
            )
        axes.set(xlim=(0, 1.01), ylim=(0, min(1.02, top * 1.15 + 0.01)))
        axes.set(
            xlabel="coverage: answers kept, the surest first", ylabel="risk: kept answers that are wrong"
        )
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(PercentFormatter(1.0))
        axes.grid(color=LIGHT, linewidth=0.5)
        if not columns:
            axes.set_title(_NOTHING_STATED, fontsize=8, loc="left", color=GREY)
        else:
            figure.legend(loc="outside lower center", fontsize=7.5, frameon=False, ncols=min(2, len(columns)))
        return _svg(figure, "Risk and coverage")


def forest_plot(comparison: Comparison) -> bytes:
    """An SVG of every pair's difference with its interval; ties and undecided ones are hollow and grey, and
    said so in words.

    Source: SPEC L14.
    """
    pairs = comparison.pairs[:_MAX_ROWS]
    with mpl.rc_context(_SETTINGS):
        short = _apart([rank.column for rank in comparison.ranks])
        names = [f"{_short(short[pair.first])}  −  {_short(short[pair.second])}" for pair in pairs]
        figure = Figure(figsize=(_width(names), 1.3 + _ROW * max(1, len(pairs))), layout="constrained")
        axes = figure.subplots()
        axes.axvline(0, color=INK, linewidth=0.8)
        for place, pair in enumerate(pairs):
            _mark(axes, place, pair.difference, grey=pair.tie is not False)
        axes.set_yticks(range(len(pairs)), names)
        axes.set(ylim=(len(pairs) - 0.4, -0.6), xlabel=f"difference in {comparison.metric.replace('_', ' ')}")
        _percent_axis(axes)
        _right_labels(axes, [_difference_words(pair) for pair in pairs])
        left = (
            f", first {_MAX_ROWS} of {len(comparison.pairs):,} pairs"
            if len(pairs) < len(comparison.pairs)
            else ""
        )
        axes.set_title(
            f"{comparison.items:,} shared items, {comparison.level:.0%} intervals; hollow: a tie or undecided{left}",
            fontsize=8, loc="left", color=GREY,
        )  # fmt: skip
        return _svg(figure, "Differences between columns")


def _difference_words(pair: Pair) -> str:
    found = pair.difference
    if isinstance(found, Undefined):
        return str(found)
    if isinstance(found.interval, Undefined):
        return f"{100 * found.value:+.1f}  {'tie' if pair.tie else 'undecided'}"
    text = f"{100 * found.value:+.1f} [{100 * found.interval.lo:+.1f}, {100 * found.interval.hi:+.1f}]"
    return f"{text}  tie" if pair.tie else text


class _Row(NamedTuple):
    """One row of the interval plot: a whole column, or a stratum of the one above."""

    name: str
    measured: Measured
    items: int
    small: bool = False
    whole: bool = False


def interval_plot(board: Board, *, level: float = LEVEL) -> bytes:
    """An SVG of each column's accuracy with its interval, and below it that of each of its strata.

    Small strata are hollow; each row says its items. Source: SPEC L13.
    """
    every = _interval_rows(board)
    rows = every[:_MAX_ROWS]
    with mpl.rc_context(_SETTINGS):
        names = [row.name for row in rows]
        figure = Figure(figsize=(_width(names), 1.2 + _ROW * len(rows)), layout="constrained")
        axes = figure.subplots()
        for place, row in enumerate(rows):
            strong = row.whole and bool(board.strata)
            _mark(axes, place, row.measured, grey=row.small, colour=INK if strong else BLUE)
            if strong and place:
                axes.axhline(place - 0.5, color=LIGHT, linewidth=0.6)
        axes.set_yticks(range(len(rows)), names)
        for label, row in zip(axes.get_yticklabels(), rows, strict=True):
            label.set_fontweight("bold" if row.whole and board.strata else "normal")
        axes.set(ylim=(len(rows) - 0.4, -0.6), xlim=(-0.01, 1.01), xlabel="accuracy")
        _percent_axis(axes)
        _right_labels(axes, [f"{_percent_with_interval(row.measured)}  n = {row.items:,}" for row in rows])
        said = [f"{level:.0%} intervals"]
        if any(row.small for row in rows):
            said.append(f"hollow: fewer than {board.smallest} items")
        if len(rows) < len(every):
            said.append(f"first {len(rows)} of {len(every):,} rows")
        axes.set_title("; ".join(said), fontsize=8, loc="left", color=GREY)
        return _svg(figure, "Accuracy by column and stratum")


def _interval_rows(board: Board) -> list[_Row]:
    """Each column, then its strata."""
    rows: list[_Row] = []
    for metrics in board.columns:
        rows.append(_Row(_short(metrics.column), metrics.headline.accuracy, metrics.counts.items, whole=True))
        rows.extend(
            _Row(_short(row.name), row.metrics.headline.accuracy, row.metrics.counts.items, row.small)
            for row in board.strata
            if row.column == metrics.column
        )
    return rows


def _width(names: Sequence[str]) -> float:
    """Inches that leave room for the names beside a plot that stays wide enough to read."""
    return 6.2 + 0.07 * max(map(len, names), default=0)


def _mark(axes: Axes, place: int, measured: Measured, *, grey: bool, colour: str = BLUE) -> None:
    """One row of a forest: the interval as a line, the value as a dot, hollow where ``grey``."""
    if isinstance(measured, Undefined):
        return
    ink = GREY if grey else colour
    if isinstance(measured.interval, Interval):
        axes.plot([measured.interval.lo, measured.interval.hi], [place, place], color=ink, linewidth=1.4)
    axes.plot(
        [measured.value],
        [place],
        marker="o",
        markersize=5,
        color=ink,
        markerfacecolor="white" if grey else ink,
        clip_on=False,  # a dot at the end of the scale is whole
        zorder=3,
    )


def _right_labels(axes: Axes, labels: Sequence[str]) -> None:
    """Words at the right end of each row."""
    twin = axes.secondary_yaxis("right")
    twin.yaxis.set_major_locator(FixedLocator([float(place) for place in range(len(labels))]))
    twin.set_yticks(range(len(labels)), list(labels))
    twin.tick_params(length=0, labelsize=7.5)
    twin.spines["right"].set_visible(False)


def _percent_axis(axes: Axes) -> None:
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(axis="x", color=LIGHT, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0, labelsize=8)


def _percent_with_interval(measured: Measured) -> str:
    if isinstance(measured, Undefined):
        return str(measured)
    text = f"{100 * measured.value:.1f}%"
    if isinstance(measured.interval, Interval):
        text += f" [{100 * measured.interval.lo:.1f}, {100 * measured.interval.hi:.1f}]"
    return text


def _number(measured: Measured) -> str:
    return f"{measured.value:.3f}" if isinstance(measured, Estimate) else str(measured)


def _apart(names: Sequence[str]) -> dict[str, str]:
    """Each name without the beginning and the end that all share, cut at a break between words; short ones whole.

    >>> _apart(["run/model-a_2024.x", "run/model-b_2024.x"])
    {'run/model-a_2024.x': 'a', 'run/model-b_2024.x': 'b'}
    >>> _apart(["gpt-4", "gpt-4-turbo"])
    {'gpt-4': 'gpt-4', 'gpt-4-turbo': 'gpt-4-turbo'}
    """
    head = _to_break(names)
    tail = _to_break([name[len(head) :][::-1] for name in names])
    cut = {name: name[len(head) : len(name) - len(tail)] for name in names}
    whole = (
        len(names) < 2
        or max(map(len, names)) <= _BRIEF
        or not all(cut.values())
        or len(set(cut.values())) < len(cut)
    )
    return {name: name for name in names} if whole else cut


def _to_break(names: Sequence[str]) -> str:
    """The beginning that all names share, as far as its last break between words."""
    shared = ""
    for signs in zip(*names, strict=False):
        if len(set(signs)) > 1:
            break
        shared += signs[0]
    last = max((place for place, sign in enumerate(shared) if not sign.isalnum()), default=-1)
    return shared[: last + 1]


def _short(name: str, most: int = 42) -> str:
    """A name that fits, with dollar signs taken as they are."""
    text = name if len(name) <= most else f"{name[: most // 2 - 1]}…{name[-most // 2 :]}"
    return text.replace("$", r"\$")


def _svg(figure: Figure, title: str) -> bytes:
    """The figure's bytes, without the date and the version of what drew it."""
    stream = io.BytesIO()
    FigureCanvasSVG(figure)
    metadata = {"Date": None, "Creator": None, "Title": title}
    with warnings.catch_warnings():
        # It only guesses their width: what reads the SVG draws them with a font that has them.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font", category=UserWarning)
        figure.savefig(stream, format="svg", metadata=metadata, facecolor="white")
    return stream.getvalue()
