"""Figures: valid SVG, the same bytes each time, saying in words what they show."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from lacre.report import plots
from lacre.scoring.board import Board, board
from lacre.scoring.calibration import Calibration
from lacre.scoring.comparison import compare
from lacre.scoring.outcomes import Answer, Outcome


@cache
def answers() -> tuple[Answer, ...]:
    rng = np.random.default_rng(0)
    return tuple(
        Answer(
            column=name,
            item=f"i{n}",
            outcome=Outcome.CORRECT if rng.random() < sure**power else Outcome.WRONG,
            confidence=round(float(sure), 2) if n % 5 else None,
            fields={"area": "direito" if n % 9 else "saúde & <outros> $x$"},
        )
        for name, power in (("honest", 1.0), ("bold $a$ & <b>", 3.0))
        for n, sure in enumerate(rng.uniform(0.3, 1, 60))
    )


@cache
def scored() -> Board:
    return board(answers(), rng=np.random.default_rng(1), by=["area"], smallest=20, draws=200)


def calibrations() -> list[tuple[str, Calibration]]:
    return [(m.column, m.calibration) for m in scored().columns if isinstance(m.calibration, Calibration)]


FIGURES: dict[str, Callable[[], bytes]] = {
    "reliability": lambda: plots.reliability_diagram(calibrations()),
    "risk_coverage": lambda: plots.risk_coverage_plot(calibrations()),
    "forest": lambda: plots.forest_plot(compare(answers(), rng=np.random.default_rng(1), draws=200)),
    "intervals": lambda: plots.interval_plot(scored()),
    "reliability of nobody": lambda: plots.reliability_diagram([]),
    "risk_coverage of nobody": lambda: plots.risk_coverage_plot([]),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_whole_svg_without_a_date_and_the_same_each_time(name: str) -> None:
    first, second = FIGURES[name](), FIGURES[name]()
    assert first == second
    root = ET.fromstring(first)
    assert root.tag.endswith("svg")
    assert b"<dc:date>" not in first
    assert b"Matplotlib v" not in first


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("reliability", ["bold", "ECE", "answers state one", "10 bins"]),
        ("risk_coverage", ["AURC", "coverage: answers kept", "honest"]),
        ("reliability of nobody", ["no column states a confidence"]),
        ("risk_coverage of nobody", ["no column states a confidence"]),
        ("forest", ["60 shared items", "hollow: a tie", "difference in accuracy"]),
        ("intervals", ["hollow: fewer than 20 items", "n = 60", "direito"]),
    ],
)
def test_a_figure_says_in_words_what_it_shows(name: str, said: list[str]) -> None:
    text = " ".join(ET.fromstring(FIGURES[name]()).itertext())
    for words in said:
        assert words in text


def test_a_forest_drops_what_all_names_share_and_clips_no_dot() -> None:
    given = tuple(
        Answer(column=f"reports/run-{name}_3_shot", item=f"i{n}", outcome=Outcome.of(letter))
        for name, letters in (("alfa", "CCCCCCCC"), ("beta", "CCEECCEE"))
        for n, letter in enumerate(letters)
    )
    drawn = plots.forest_plot(compare(given, rng=np.random.default_rng(0), draws=100))
    text = " ".join(ET.fromstring(drawn).itertext())
    assert "alfa  −  beta" in text
    assert "3_shot" not in text
    figure = ET.fromstring(plots.interval_plot(board(given, rng=np.random.default_rng(0), draws=100)))
    dots = [use for use in figure.iter("{http://www.w3.org/2000/svg}use") if float(use.get("y", "0")) > 0]
    assert dots
    clipped = {
        child
        for group in figure.iter("{http://www.w3.org/2000/svg}g")
        if group.get("clip-path")
        for child in group
    }
    assert not clipped & set(dots)


def test_a_forest_says_undecided_where_a_pair_has_no_interval() -> None:
    given = tuple(
        Answer(column=name, item=f"i{n}", score=score)
        for name, score in (("a", 0.9), ("b", 0.4))
        for n in range(9)
    )
    found = compare(given, rng=np.random.default_rng(0), metric="mean_score", draws=100)
    assert "+50.0  undecided" in " ".join(ET.fromstring(plots.forest_plot(found)).itertext())


def test_letters_that_the_font_lacks_stay_text_and_warn_nobody() -> None:
    given = tuple(
        Answer(column=name, item=f"i{n}", outcome=Outcome.CORRECT if n % 3 else Outcome.WRONG)
        for name in ("模型 🦜", "outro")
        for n in range(9)
    )
    drawn = plots.interval_plot(board(given, rng=np.random.default_rng(0), draws=100))
    assert "模型 🦜" in " ".join(ET.fromstring(drawn).itertext())


def test_drawing_leaves_the_settings_of_others_alone() -> None:
    import matplotlib as mpl  # noqa: PLC0415

    before = dict(mpl.rcParams)
    FIGURES["forest"]()
    assert dict(mpl.rcParams) == before
