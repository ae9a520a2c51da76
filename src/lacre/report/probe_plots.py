"""The figure of a completion probe: how much of each text a column wrote, and where a mark begins (SPEC L8, X6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter
from numpy.typing import NDArray

from lacre.report.plots import _SETTINGS, BLUE, GREY, INK, LIGHT, ORANGE, _short, _svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lacre.probe.findings import Shares

Floats: TypeAlias = NDArray[np.float64]

_BINS = 20


def probe_plot(columns: Sequence[Shares]) -> bytes:
    """An SVG with one row a column: histograms of the share reproduced, of items, controls and famous texts.

    The dashed line is what a mark must exceed. Controls are those that did not set it: any of them beyond the line
    and with eight telling words in a row is a false positive. Counts are on a square-root scale, or the few marks
    would not be seen beside the many that are none.
    """
    rows = max(1, len(columns))
    with mpl.rc_context(_SETTINGS):
        figure = Figure(figsize=(8.4, 2.3 * rows + 0.5), layout="constrained")
        grid = figure.subplots(rows, 3, squeeze=False, sharex=True)
        for place, column in enumerate(columns):
            panels = (
                ("items", column.items, BLUE),
                ("controls", column.controls, ORANGE),
                ("famous texts", column.famous, GREY),
            )
            for axes, (name, shares, colour) in zip(grid[place], panels, strict=True):
                _panel(axes, shares, column.threshold, colour)
                axes.set_title(f"{name}  n = {len(shares):,}", fontsize=8, loc="left", color=GREY)
            grid[place][0].set_ylabel(_short(column.column, 24), fontsize=8.5)
        figure.supxlabel("share of telling words reproduced", fontsize=8, color=GREY)
        return _svg(figure, "Share reproduced")


def _panel(axes: Axes, shares: Sequence[float], threshold: float | None, colour: str) -> None:
    edges = [step / _BINS for step in range(_BINS + 1)]
    axes.hist(list(shares), bins=edges, color=colour, edgecolor="white", linewidth=0.4)
    if threshold is not None:
        axes.axvline(threshold, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
    axes.set_yscale("function", functions=(_root, _square))
    axes.set(xlim=(0, 1), ylim=(0, None))
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(axis="y", color=LIGHT, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=7.5)


def _root(counts: Floats) -> Floats:
    return np.sqrt(np.maximum(counts, 0.0))


def _square(roots: Floats) -> Floats:
    return np.square(roots)
