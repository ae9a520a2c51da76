"""Ratings are read from long, wide and one-per-rater files; what is wrong with them is said."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lacre.errors import InputError, LacreError
from lacre.registry.ratings import Layout, Ratings, label_text, number, read_ratings, seen_categories

LONG = """\
item,rater,label
q1,ana,yes
q1,rui,no
q2,ana,yes
q2,rui,yes
q3,ana,
"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def table(ratings: Ratings) -> dict[str, tuple[str | None, ...]]:
    return dict(zip(ratings.items, ratings.labels, strict=True))


def test_the_long_form_is_found_by_its_names(tmp_path: Path) -> None:
    found = read_ratings([written(tmp_path, "r.csv", LONG)], Layout())
    assert found.raters == ("ana", "rui")
    assert table(found) == {"q1": ("yes", "no"), "q2": ("yes", "yes"), "q3": (None, None)}
    assert (found.alone, found.empty, found.repeated) == (1, 1, 0)


def test_long_files_may_be_several_and_in_any_format(tmp_path: Path) -> None:
    first = written(tmp_path, "a.jsonl", '{"q": 1, "part": "b", "who": "ana", "grade": 3}\n')
    second = tmp_path / "b.parquet"
    pq.write_table(pa.table({"q": [1], "part": ["b"], "who": ["rui"], "grade": [2.0]}), second)
    found = read_ratings([first, second], Layout(item=("q", "part"), rater="who", label="grade"))
    assert table(found) == {"1 / b": ("3", "2")}


def test_the_wide_form_takes_columns_as_raters(tmp_path: Path) -> None:
    path = written(tmp_path, "w.tsv", "id\tana\trui\tnotes\nq1\t1\t0\tx\nq2\t\t1\ty\n")
    found = read_ratings([path], Layout(raters=("rui", "ana")))
    assert found.raters == ("rui", "ana")
    assert table(found) == {"q1": ("0", "1"), "q2": ("1", None)}
    everything = read_ratings([path], Layout())
    assert everything.raters == ("ana", "rui", "notes")


def test_without_a_column_of_items_each_row_is_one(tmp_path: Path) -> None:
    path = written(tmp_path, "w.csv", "ana,rui\n1,0\n1,0\n")
    found = read_ratings([path], Layout(raters=("ana", "rui")))
    assert found.items == ("w.csv:2", "w.csv:3")


def test_a_file_for_each_rater_is_called_by_its_name(tmp_path: Path) -> None:
    one = written(tmp_path, "ana.v2.csv", "id,label\nq1,yes\nq2,no\n")
    other = written(tmp_path, "rui.csv", "id,label\nq2,no\nq1,no\n")
    found = read_ratings([one, other], Layout())
    assert found.raters == ("ana", "rui")
    assert table(found) == {"q1": ("yes", "no"), "q2": ("no", "no")}


def repeated(folder: Path) -> list[Path]:
    ana = "".join(f"{item},{label}\n" for item, label in [("q1", "a"), ("q1", "b"), ("q2", "a"), ("q3", "c")])
    rui = "".join(f"{item},{label}\n" for item, label in [("q1", "b"), ("q2", "a"), ("q1", "a"), ("q3", "c")])
    return [written(folder, "ana.csv", "id,label\n" + ana), written(folder, "rui.csv", "id,label\n" + rui)]


def test_an_item_rated_twice_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_ratings(repeated(tmp_path), Layout())
    assert "ana.csv:3: 'ana' has rated this item on an earlier line; so it is with 2 ratings" in str(
        caught.value
    )
    assert "--repeats nth" in str(caught.value)


def test_the_nth_rating_of_one_goes_with_the_nth_of_the_other(tmp_path: Path) -> None:
    found = read_ratings(repeated(tmp_path), Layout(repeats="nth"))
    assert table(found) == {"q1": ("a", "b"), "q1 #2": ("b", "a"), "q2": ("a", "a"), "q3": ("c", "c")}
    assert found.repeated == 2


def test_rows_in_order_are_aligned_as_far_as_they_go(tmp_path: Path) -> None:
    found = read_ratings(repeated(tmp_path), Layout(repeats="order"))
    # q1 q1 q2 q3 against q1 q2 q1 q3: three can be paired in order, one of each stays alone.
    paired = [row for row in found.labels if None not in row]
    assert len(paired) == 3
    assert found.alone == 2
    assert sum(label is not None for row in found.labels for label in row) == 8
    with pytest.raises(InputError, match="aligns two raters, not 1"):
        read_ratings(repeated(tmp_path), Layout(repeats="order", raters=("ana",)))


def test_raters_can_be_chosen_and_ordered(tmp_path: Path) -> None:
    path = written(tmp_path, "r.csv", LONG)
    assert read_ratings([path], Layout(raters=("rui", "ana"))).raters == ("rui", "ana")
    with pytest.raises(InputError, match=r"no ratings by 'eva'. There are: ana, rui"):
        read_ratings([path], Layout(raters=("ana", "eva")))


def test_words_for_missing_are_no_labels(tmp_path: Path) -> None:
    path = written(tmp_path, "w.csv", "id,ana,rui\nq1,n/a,yes\nq2,no,yes\n")
    found = read_ratings([path], Layout(missing=("n/a",)))
    assert table(found) == {"q1": (None, "yes"), "q2": ("no", "yes")}
    assert found.empty == 1


def test_decomposed_accents_are_the_same_label_and_item(tmp_path: Path) -> None:
    text = "item,rater,label\nquestão,ana,não\nquesta\u0303o,rui,na\u0303o\n"
    found = read_ratings([written(tmp_path, "r.csv", text)], Layout())
    assert table(found) == {"questão": ("não", "não")}


def test_every_bad_row_of_every_file_is_named(tmp_path: Path) -> None:
    one = written(tmp_path, "a.csv", "item,rater,label\n,ana,yes\nq1,,yes\nq1,ana\n")
    other = written(tmp_path, "b.jsonl", '{"item": "q1", "rater": "ana", "label": ["x"]}\n{"item": \n')
    with pytest.raises(LacreError) as caught:
        read_ratings([one, other], Layout())
    lines = str(caught.value).splitlines()
    assert [line.partition(": ")[2].partition(".")[0] for line in lines if "a.csv" in line] == [
        "2 values for 3 columns",
        "no item",
        "no rater",
    ]
    assert any("b.jsonl:1" in line and "label is a list or an object" in line for line in lines)
    assert any("b.jsonl:2" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "layout", "said"),
    [
        ("a,b\n1,2\n", Layout(), "which columns hold the ratings is not clear"),
        ("id,a\n1,2\n", Layout(), "one column of ratings only"),
        ("id,label\n1,2\n", Layout(), "one file, and no column of raters"),
        ("q,who,label\n1,a,2\n", Layout(rater="who"), "no column 'item' or 'id'"),
        ("id,a,b\n1,2,3\n", Layout(raters=("a", "c")), "no column 'c'"),
        ("id,a,b\n1,2,3\n", Layout(item=("q",), raters=("a", "b")), "no column 'q'"),
        ("id,who,b\n1,2,3\n", Layout(rater="who"), "no column 'label'"),
    ],
)
def test_a_layout_that_is_not_there_lists_the_columns(
    tmp_path: Path, text: str, layout: Layout, said: str
) -> None:
    with pytest.raises(InputError, match=said) as caught:
        read_ratings([written(tmp_path, "x.csv", text)], layout)
    assert "columns are" in str(caught.value)


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    paths = [
        written(tmp_path, "ana.csv", "id,label\n1,x\n"),
        written(tmp_path / "b", "ana.csv", "id,label\n1,x\n"),
    ]
    with pytest.raises(InputError, match="two files are called 'ana'"):
        read_ratings(paths, Layout())


def test_labels_and_numbers_as_people_write_them() -> None:
    assert [label_text(value) for value in (1, 1.0, 0.5, True, " x ", "", None)] == [
        "1",
        "1",
        "0.5",
        "true",
        "x",
        None,
        None,
    ]
    assert [number(label) for label in ("3", "2,5", "-1", "1e3", "nan", "inf", "x", "1.000,5")] == [
        3.0,
        2.5,
        -1.0,
        1000.0,
        None,
        None,
        None,
        None,
    ]
    assert seen_categories([("b", "a"), ("10", "2"), (None, "2,5")]) == ("2", "2,5", "10", "a", "b")
