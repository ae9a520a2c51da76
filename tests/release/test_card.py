"""The card, the flat rows, croissant.json and the dictionary: loaded by the field's own libraries, offline."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.release.conftest import Story

from lacre.release.dictionary import dictionary
from lacre.release.flat import FlatItem

LOAD = """
import json, sys
from datasets import disable_progress_bars, load_dataset
disable_progress_bars()
found = {}
for name in ("exemplo-official", "exemplo-open"):
    rows = load_dataset(sys.argv[1], name, split="test")
    found[name] = {"rows": list(rows), "features": sorted(rows.features)}
found["default"] = len(load_dataset(sys.argv[1], split="test"))
print(json.dumps(found, default=str))
"""
DESCRIBE = """
import json, logging, sys

logging.getLogger("absl").setLevel(logging.WARNING)
import mlcroissant
dataset = mlcroissant.Dataset(sys.argv[1])
issues = dataset.metadata.ctx.issues
found = {"errors": sorted(issues.errors), "warnings": sorted(issues.warnings)}
found["version"] = str(dataset.metadata.ctx.conforms_to.value)
def plain(value):
    if isinstance(value, bytes):
        return value.decode()
    return [plain(part) for part in value] if hasattr(value, "__iter__") and not isinstance(value, str) else value
for name in ("exemplo-official", "exemplo-open"):
    found[name] = [{k.split("/")[-1]: plain(v) for k, v in row.items()} for row in dataset.records(name)]
print(json.dumps(found, default=str))
"""


def program(code: str, argument: Path, home: Path) -> dict[str, Any]:
    """What a program prints, run offline, with a home of its own."""
    env = {
        **os.environ,
        "HF_HOME": str(home),
        "HOME": str(home),
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "CROISSANT_CACHE": str(home),
        "PYTHONWARNINGS": "ignore",
    }
    done = subprocess.run(
        [sys.executable, "-c", code, str(argument)],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        cwd=home,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def loaded(story: Story, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return program(LOAD, story.folder(3), tmp_path_factory.mktemp("home"))


def test_datasets_loads_each_layer_from_the_folder(story: Story, loaded: dict[str, Any]) -> None:
    official, opened = loaded["exemplo-official"], loaded["exemplo-open"]
    assert official["features"] == opened["features"] == sorted(FlatItem.__struct_fields__)
    assert loaded["default"] in (len(official["rows"]), len(opened["rows"]))
    for layer, rows in (("official", official["rows"]), ("open", opened["rows"])):
        lines = (story.folder(3) / f"data/exemplo/{layer}.jsonl").read_text(encoding="utf-8").splitlines()
        assert rows == [json.loads(line) for line in lines]


def test_rows_say_what_the_layers_promise(loaded: dict[str, Any]) -> None:
    (official,) = loaded["exemplo-official"]["rows"]
    assert official["booklet"] == "https://example.org/caderno.pdf"
    assert (official["exam_from"], official["exam_until"]) == ("2025-03-09", "2025-03-09")
    assert (official["key_from"], official["key_until"]) == ("2025-04-01", "2025-04-30")
    opened = {row["id"]: row for row in loaded["exemplo-open"]["rows"]}
    assert opened["ab-2"]["parts"][0]["criteria"] == ["Fala do metal", "Fala do frio"]
    assert opened["ab-1"]["passage_source"] == "https://example.org/gato"
    assert {row["opened"] for row in opened.values()} == {None, "closing exemplo/1", "closing exemplo/2"}
    assert all(row["canary"].startswith("CANARY ") for row in opened.values())


@pytest.mark.untraced
def test_croissant_is_valid_and_its_records_are_the_rows(
    story: Story, loaded: dict[str, Any], tmp_path: Path
) -> None:
    found = program(DESCRIBE, story.folder(3) / "croissant.json", tmp_path)
    assert (found["errors"], found["warnings"]) == ([], [])
    assert found["version"].endswith("/1.1")
    for name in ("exemplo-official", "exemplo-open"):
        rows = {row["id"]: row for row in loaded[name]["rows"]}
        assert {row["id"] for row in found[name]} == set(rows)
        for row in found[name]:
            assert row["stem"] == rows[row["id"]]["stem"]
            assert list(row["options_letter"] or []) == [o["letter"] for o in rows[row["id"]]["options"]]


def test_the_dictionary_names_every_field_of_the_rows() -> None:
    text = dictionary()
    for field in FlatItem.__struct_fields__:
        assert f"| `{field}` |" in text
    for record in ("Payload", "Opened", "Row", "Exam", "Release", "Genesis", "Replied"):
        assert f"### {record}\n" in text
    assert "any JSON" not in text


def test_the_card_says_how_to_ask_for_access_and_what_is_sealed(story: Story) -> None:
    text = (story.folder(3) / "README.md").read_text(encoding="utf-8")
    assert (
        "## Access\n\nWrite to the address below, and say what you want to run.\n\nQuestions: equipe@example.org"
        in text
    )
    assert "| exemplo | area=direito/difficulty=dificil |" in text
    assert f"Previous release: exemplo-2, package {story.built[1].package}" in text
    assert "Equipe do Exemplo (2026). Exemplo." in text
    assert story.play.key.fingerprint in text
