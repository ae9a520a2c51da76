"""The program in the explanation, which knows nothing of lacre, finds the same draws."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.rotation.making import Stage, items, stage

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "rotation.md"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path_factory.mktemp("program") / "repeat.py"
    path.write_text(code, encoding="utf-8")
    return path


def by_hand(program: Path, play: Stage, number: int) -> dict[str, object]:
    """What the program prints, run without this package."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-W", "ignore", program, play.public.folder(number)],
        capture_output=True,
        check=True,
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_the_program_finds_what_was_drawn_with_passages_forced_and_old_items(
    program: Path, tmp_path: Path
) -> None:
    play = stage(tmp_path)
    passages = {n: f"Trecho número {n // 3} sobre o vento sul e a restinga." for n in range(30)}
    play.add(items(90, passages=passages), "b1")
    for number in range(1, 5):
        private = [row.id for row in play.public.private]
        play.freeze(forced={private[0]: "leak", private[-1]: "defect"})
        play.add(items(20, prefix=f"n{number}-"), f"b{number + 1}")
        record = play.close()
        found = by_hand(program, play, number)
        assert found["seed"] == record.seed
        assert found["opens"] == sorted(o.id for o in play.public.openings(number))
    assert record.forced["age"] > 0
