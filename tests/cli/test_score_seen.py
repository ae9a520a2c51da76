"""`lacre score --by seen` and `--by cutoff` (SPEC L5, L8)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lacre.cli import run
from lacre.cli.score import LARGE, ScoreMeter
from lacre.errors import Exit
from lacre.registry.seen import Mark, write_marks
from lacre.registry.waivers import payload_sha256
from lacre.registry.workspace import Workspace

Capture = pytest.CaptureFixture[str]
ROOT = Path(__file__).parents[2]
CARDS = """\
[[columns]]
id = "leitor"
model = "l"
vendor = "v"
family = "f"
dialect = "openai"
endpoint = "http://127.0.0.1:1/v1"
[columns.cutoff]
value = "2025-12"
precision = "month"
source = "https://example.org"
read = "2026-01-01"

[[columns]]
id = "antigo"
model = "a"
vendor = "v"
family = "f"
dialect = "openai"
endpoint = "http://127.0.0.1:1/v1"
[columns.cutoff]
value = "2020"
precision = "year"
source = "https://example.org"
read = "2026-01-01"
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = ["column,item,outcome"]
    rows += [f"leitor,q{n:02},{'C' if n < 30 or n % 3 == 0 else 'E'}" for n in range(60)]
    rows += [f"outro,q{n:02},{'C' if n % 2 else 'E'}" for n in range(60)]
    (tmp_path / "answers.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    marks = [Mark(column="leitor", item=f"q{n:02}", verdict="seen") for n in range(20)]
    marks += [Mark(column="leitor", item=f"q{n:02}", verdict="not_reproduced") for n in range(20, 50)]
    marks += [Mark(column="leitor", item="q50", verdict="not_probed", reason="refused")]
    write_marks(tmp_path / "marks.jsonl", marks)
    return tmp_path


def score(*arguments: str) -> int:
    return run(["score", "answers.csv", "--draws", "400", *arguments])


def test_accuracy_stands_with_and_without_the_items_seen(place: Path, capsys: Capture) -> None:
    assert score("--by", "seen", "--seen", "marks.jsonl") == Exit.CLEAN
    out, err = capsys.readouterr()
    table = [line.split("\t") for line in out.splitlines()]
    every = next(row for row in table if row[:3] == ["leitor", "60", "all items"])
    without = next(row for row in table if row[:3] == ["leitor", "40", "without those seen"])
    assert every[3].startswith("66.7% [")
    assert without[3].startswith("50.0% [")
    # Accuracy, error when attempted and abstention come together, with the difference behind.
    assert len(without) == 7
    assert without[6].startswith("+16.7 [+")
    counts = next(row for row in table if row[:4] == ["leitor", "20", "30", "10"])
    assert counts[4].startswith("+50.0 [")
    # Of the ten that were not probed, one could not be; for the others no probe asked.
    assert counts[5] == "9"
    assert ["outro", "0", "0", "60", "undefined: no item was seen", "60"] in table
    assert "51 of 51 marks could not be held against the text of their item" in err
    assert "undefined: no item was seen" in out
    assert "No mark for column outro" in err
    assert "leitor\tnot reproduced\t30\t" in out
    assert "unseen" not in out


def test_json_has_the_split_beside_the_board(place: Path, capsys: Capture) -> None:
    assert score("--by", "seen", "--seen", "marks.jsonl", "--json") == Exit.CLEAN
    found = json.loads(capsys.readouterr().out)
    leitor = found["seen"][0]
    assert (leitor["seen"], leitor["not_reproduced"], leitor["not_probed"]) == (20, 30, 10)
    assert leitor["without_mark"] == 9
    assert found["marks"] == {"used": 51, "other_texts": [], "unchecked": 51}
    assert leitor["difference"]["interval"]["method"].startswith("percentile bootstrap by item")
    assert [row["values"] for row in found["strata"] if row["column"] == "leitor"] == [
        ["not probed"], ["not reproduced"], ["seen"],
    ]  # fmt: skip
    assert score("--json") == Exit.CLEAN
    assert "seen" not in json.loads(capsys.readouterr().out)


def test_a_mark_of_another_text_than_the_item_has_now_is_left_out_and_counted(
    place: Path, capsys: Capture
) -> None:
    shutil.copytree(ROOT / "registry", place / "registry")
    items = [item for item in Workspace(ROOT).items("exemplo") if item.layer == "official"]
    rows = ["column,item,outcome", *(f"leitor,{item.id},{'CE'[n % 2]}" for n, item in enumerate(items))]
    Path("answers.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    marks = [
        Mark(column="leitor", item=item.id, verdict="seen", payload_sha256=payload_sha256(item.payload))
        for item in items[:4]
    ]
    write_marks(place / "marks.jsonl", marks)
    asking = ["--by", "seen", "--seen", "marks.jsonl", "--json"]
    assert score(*asking) == Exit.CLEAN
    assert json.loads(capsys.readouterr().out)["marks"] == {"used": 4, "other_texts": [], "unchecked": 0}
    # The item's stem is edited after the probe; the mark said something of the text before.
    [file] = [
        path
        for path in (place / "registry/exemplo/official").glob("*.jsonl")
        if items[0].id in path.read_text("utf-8")
    ]
    text = file.read_text(encoding="utf-8")
    stem = json.dumps(items[0].payload.stem, ensure_ascii=False)
    assert stem in text
    file.write_text(
        text.replace(stem, json.dumps("Outro enunciado, escrito depois.", ensure_ascii=False)), "utf-8"
    )
    assert score(*asking, "--benchmark", "exemplo", "--by", "cutoff") == Exit.CLEAN
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["marks"] == {"used": 3, "other_texts": [["leitor", items[0].id]], "unchecked": 0}
    assert (found["seen"][0]["seen"], found["seen"][0]["without_mark"]) == (3, len(items) - 3)
    assert f"1 of 4 marks are of another text than the item has now, and are left out: {items[0].id}" in err


def test_the_same_command_prints_the_same_bytes(place: Path, capsys: Capture) -> None:
    outputs = []
    for _ in range(2):
        assert score("--by", "seen", "--seen", "marks.jsonl", "--json") == Exit.CLEAN
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--seen", "marks.jsonl"], "Add --by seen"),
        (["--benchmark", "exemplo"], "Add --by cutoff"),
        (["--by", "seen"], "seen"),
        (["--by", "seen", "--seen", "nowhere.jsonl"], "no such file"),
        (["--by", "cutoff", "--benchmark", "exemplo"], "is in no workspace"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    arguments: list[str], said: str, place: Path, capsys: Capture
) -> None:
    assert score(*arguments) == Exit.BAD_INPUT
    assert said in capsys.readouterr().err


def test_a_field_of_the_file_called_seen_is_a_field_like_any_other(place: Path, capsys: Capture) -> None:
    Path("own.csv").write_text("item,outcome,seen\na,C,sim\nb,E,não\n", encoding="utf-8")
    assert run(["score", "own.csv", "--by", "seen", "--draws", "100"]) == Exit.CLEAN
    assert "own\tsim\t1\t" in capsys.readouterr().out


def test_before_and_after_the_cutoff_with_the_gain_beyond_age(place: Path, capsys: Capture) -> None:
    shutil.copytree(ROOT / "registry", place / "registry")
    (place / "registry/columns.toml").write_text(CARDS, encoding="utf-8")
    older, newer = ("of-2025-1", "of-2025-2", "of-2025-3"), ("of-2026-1", "of-2026-2", "of-2026-3")
    rows = ["column,item,outcome"]
    for column in ("leitor", "antigo", "sem"):
        for n, item in enumerate((*older, *newer, "ex-0b7e")):
            right = column == "leitor" and item in older
            rows.append(f"{column},{item},{'C' if right or n % 2 else 'E'}")
    Path("answers.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    known = {item.id for item in Workspace(ROOT).items("exemplo")}
    assert {*older, *newer} <= known
    assert score("--by", "cutoff", "--benchmark", "exemplo") == Exit.CLEAN
    out, err = capsys.readouterr()
    table = [line.split("\t") for line in out.splitlines()]
    leitor = next(row for row in table if row[:5] == ["leitor", "2025-12", "3", "3", "1"])
    assert leitor[7] == "antigo"
    assert leitor[5].startswith("+")
    antigo = next(row for row in table if row[:5] == ["antigo", "2020", "0", "6", "1"])
    assert "undefined: no item is of before the cutoff" in antigo
    assert any(row[:5] == ["sem", "not known", "0", "0", "7"] for row in table)
    assert "No declared cutoff for column sem" in err
    assert "1 of 7 items are of no exam with a date" in err
    assert score("--by", "cutoff", "--benchmark", "exemplo", "--json") == Exit.CLEAN
    found = json.loads(capsys.readouterr().out)
    assert [row["column"] for row in found["cutoff"]] == ["antigo", "leitor", "sem"]


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_large_files_show_progress_off_a_terminal_and_small_ones_do_not(
    tmp_path: Path, capsys: Capture
) -> None:
    small, large = tmp_path / "small.csv", tmp_path / "large.csv"
    small.write_text("item,outcome\n", encoding="utf-8")
    with large.open("wb") as file:
        file.truncate(LARGE)
    clock = Clock()
    for path in (small, large):
        meter = ScoreMeter([path], live=False, clock=clock)
        meter.reading()
        clock.now += 11
        meter.scored(3, 40)
        meter.scored(4, 40)
        meter.close()
        err = capsys.readouterr().err
        told = [f"Reading {path}, 2 MB ...", "3 of 40 columns and strata"]
        assert err.splitlines() == (told if path == large else [])


def test_a_terminal_sees_every_step(tmp_path: Path, capsys: Capture) -> None:
    meter = ScoreMeter([tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "c.csv"], live=True)
    meter.scored(1, 2)
    meter.close()
    assert "1 of 2 columns and strata" in capsys.readouterr().err
