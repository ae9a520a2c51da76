"""Every default lives in one file; a benchmark says only what differs (SPEC L23)."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from lacre.errors import InputError, RecordError
from lacre.registry.rules import default_rules, default_rules_text, read_benchmark, read_rules

ROOT = Path(__file__).parents[2]


def test_the_repository_s_rules_are_those_of_the_package() -> None:
    packaged = files("lacre.registry").joinpath("defaults.toml").read_bytes()
    assert (ROOT / "registry/rules.toml").read_bytes() == packaged
    assert read_rules(ROOT / "registry/rules.toml") == default_rules()


def test_the_published_figures_are_as_published() -> None:
    rules = default_rules()
    assert (rules.vetting.n, rules.vetting.review_from) == (13, 8)
    assert rules.vetting.max_unread == 0.001
    assert rules.split.first_open == "2/5"
    assert (rules.rounds.months, rules.rounds.rotation_open, rules.rounds.age_cap) == (6, "1/2", 3)
    assert rules.layers.open_licence == "CC BY 4.0"
    gates = rules.gates
    assert (gates.binary_kappa, gates.critical_kappa, gates.continuous_icc, gates.judge_kappa) == (
        0.7,
        0.8,
        0.75,
        0.7,
    )
    assert (gates.prevalence, gates.judge_verdicts) == (0.9, 200)


def test_every_rule_names_its_promise() -> None:
    comment = ""
    for line in default_rules_text().splitlines():
        if line.startswith("#"):
            comment = line if not comment else comment + line
        elif "=" in line:
            assert "# L" in comment, line
        else:
            comment = ""


def test_a_benchmark_changes_what_it_says_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "benchmark.toml"
    path.write_text('name = "b"\ntitle = "B"\nnotes = "x"\n[vetting]\nn = 12\n')
    benchmark = read_benchmark(path, default_rules())
    assert (benchmark.name, benchmark.title, benchmark.notes) == ("b", "B", "x")
    assert benchmark.rules.vetting.n == 12
    assert benchmark.rules.vetting.review_from == 8
    assert benchmark.rules.split == default_rules().split


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("[vetting]\n\nn = 13\n", 5, "'vetting.n' says what the shared rules already say"),
        ("[vetting]\nm = 12\n", 4, "'vetting.m' is no setting. There are: n, review_from"),
        ("[vetings]\nn = 12\n", 3, "'vetings' is no setting. There are: layers, split, vetting"),
        ('colour = "blue"\n', 3, "'colour' is no setting"),
        ("[gates]\nbinary_kappa = 7\n", 4, "gates.binary_kappa is not between 0 and 1"),
        ("[gates]\njudge_verdicts = 0\n", 4, "gates.judge_verdicts is below 1"),
        ("[strata]\nsmallest = 0\n", 4, "strata.smallest is below 1"),
        ("[vetting]\nreview_from = 14\n", 4, "vetting.review_from is not between 1 and n"),
        ("[vetting]\nrare_review = 0.95\n", 4, "vetting.rare_review is not between 0 and rare_drop"),
        ("[vetting]\nmax_unread = 2.0\n", 4, "vetting.max_unread is not a share"),
        ("[vetting]\nshort_min_words = 0\n", 4, "vetting.short_min_words is below 1"),
        ("[vetting]\nshort_min_bits = -1.0\n", 4, "vetting.short_min_bits is negative"),
        ('[split]\nfirst_open = "3/2"\n', 4, "split.first_open is not a share"),
        ('[split]\nfirst_open = "half"\n', 4, "split.first_open is not a share"),
        ('[rounds]\nrotation_open = "2"\n', 4, "rounds.rotation_open is not a share"),
        ("[rounds]\nmonths = 0\n", 4, "rounds.months is not between 1 and 120"),
        ("[rounds]\nage_cap = 0\n", 4, "rounds.age_cap is below 1"),
        ("[rounds]\nexposure_cap = -1\n", 4, "rounds.exposure_cap is negative"),
        ("[rounds]\nprivate_size = -1\n", 4, "rounds.private_size is negative"),
        ("vetting.n = 13\n", 3, "'vetting.n' says what the shared rules already say"),
    ],
)
def test_what_a_benchmark_may_not_say_is_told_with_its_line(
    text: str, line: int, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "benchmark.toml"
    path.write_text('name = "b"\ntitle = "B"\n' + text)
    with pytest.raises(RecordError) as caught:
        read_benchmark(path, default_rules())
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert said in str(caught.value)


def test_all_that_is_wrong_with_a_benchmark_comes_at_once(tmp_path: Path) -> None:
    path = tmp_path / "benchmark.toml"
    path.write_text('name = "b"\ntitle = "B"\nx = 1\n[vetting]\nn = 13\nreview_from = 8\n')
    with pytest.raises(RecordError) as caught:
        read_benchmark(path, default_rules())
    assert [fault.line for fault in caught.value.faults] == [3, 5, 6]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('title = "B"\n', "missing required field `name`"),
        ('name = "b"\ntitle = "B"\n[vetting]\nn = "12"\n', "Expected `int`, got `str`"),
        ('name = "b"\ntitle = "B"\nvetting = 3\n', "Expected `object`, got `int`"),
        ("name =\n", "is not TOML"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "benchmark.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_benchmark(path, default_rules())


def test_rules_that_leave_something_out_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(default_rules_text().replace("n = 13\n", ""))
    with pytest.raises(InputError, match="missing required field `n`"):
        read_rules(path)
    path.write_text(default_rules_text().replace("n = 13\n", "n = 5\n"))
    with pytest.raises(RecordError, match="review_from"):
        read_rules(path)
