"""A matrix is exact, or every fault of it is told."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacre.errors import InputError, RecordError
from lacre.registry.matrix import cell_name, parse_cell, read_matrix

GOOD = """\
[axes]
area = ["direito", "saude"]
level = ["1", "2"]

[[cells]]
area = "direito"
level = "1"
share = "0.1"

[[cells]]
level = "2"
area = "saude"
share = "0.2"

[[cells]]
area = "saude"
level = "1"
share = "7/10"
"""


def test_shares_are_exact(tmp_path: Path) -> None:
    (tmp_path / "matrix.toml").write_text(GOOD)
    matrix = read_matrix(tmp_path / "matrix.toml")
    assert [cell.share for cell in matrix.cells] == [Fraction(1, 10), Fraction(1, 5), Fraction(7, 10)]
    assert matrix.axes == {"area": ("direito", "saude"), "level": ("1", "2")}
    assert matrix.names() == {"area=direito/level=1", "area=saude/level=2", "area=saude/level=1"}


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('share = "0.1"', 'share = "0.2"', 5, "shares sum to 1.1, not 1"),
        ('share = "0.1"', 'share = "1/3"', 5, "shares sum to 37/30, not 1"),
        ('share = "0.1"', "share = 0.1", 5, "the share is not a decimal written as text"),
        ('share = "0.1"', 'share = "-0.1"', 5, "the share is not a decimal"),
        ('share = "0.1"', 'share = "1/0"', 5, "the share is not a decimal"),
        ('share = "0.1"\n', "", 5, "the share is not a decimal"),
        ('area = "direito"\n', "", 5, "the cell says nothing about axis 'area'"),
        ('area = "direito"', 'area = "artes"', 5, "'artes' is no value of axis 'area'"),
        ('area = "direito"', 'cor = "azul"\narea = "direito"', 5, "'cor' is no axis"),
        (
            'area = "direito"\nlevel = "1"',
            'area = "saude"\nlevel = "1"',
            15,
            "area=saude/level=1 is already on line 5",
        ),
        ('level = ["1", "2"]', "level = []", 3, "axis 'level' is not a list of names"),
        ('level = ["1", "2"]', 'level = ["1", "2", "2"]', 3, "axis 'level' has a value twice"),
        ('level = ["1", "2"]', 'level = ["1", "2", "a/b"]', 3, "'a/b' is not a name"),
        ('level = ["1", "2"]', 'level = ["1", "2"]\nshare = ["x"]', 4, "an axis may not be called share"),
        ("[axes]", "[notes]\n[axes]", 1, "'notes' is no part of a matrix"),
        ("[axes]\n", "[other]\n", 1, "no axes"),
    ],
)
def test_a_fault_has_its_line(old: str, new: str, line: int, said: str, tmp_path: Path) -> None:
    assert old in GOOD
    (tmp_path / "matrix.toml").write_text(GOOD.replace(old, new, 1))
    with pytest.raises(RecordError) as caught:
        read_matrix(tmp_path / "matrix.toml")
    assert (line, True) in [(fault.line, said in fault.what) for fault in caught.value.faults], str(
        caught.value
    )


@pytest.mark.parametrize("text", ['[axes]\narea = ["a"]\n', 'cells = [1]\n[axes]\narea = ["a"]\n'])
def test_a_matrix_without_cells_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "matrix.toml").write_text(text)
    with pytest.raises(RecordError, match="cell"):
        read_matrix(tmp_path / "matrix.toml")


def test_what_is_not_toml_is_refused(tmp_path: Path) -> None:
    (tmp_path / "matrix.toml").write_text("[axes\n")
    with pytest.raises(InputError, match="is not TOML"):
        read_matrix(tmp_path / "matrix.toml")
    (tmp_path / "matrix.toml").write_bytes(b"# a\xe7\n")
    with pytest.raises(InputError, match="is not UTF-8"):
        read_matrix(tmp_path / "matrix.toml")


NAMES = st.from_regex(r"[a-z0-9][a-z0-9_.-]{0,5}", fullmatch=True)


@given(st.dictionaries(NAMES, NAMES, min_size=1, max_size=4))
def test_a_cell_s_name_does_not_depend_on_the_order_and_reads_back(place: dict[str, str]) -> None:
    name = cell_name(place)
    assert cell_name(dict(reversed(place.items()))) == name
    assert parse_cell(name) == place


@pytest.mark.parametrize("name", ["", "area", "area=", "=x", "area=a/area=b", "area=a/"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="is not axis=value/axis=value"):
        parse_cell(name)
