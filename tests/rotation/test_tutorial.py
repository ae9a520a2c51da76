"""The tutorial's story, as it is written: every block of it runs, and ends as it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "rotation.md"


@pytest.mark.slow
def test_the_story_of_the_tutorial(tmp_path: Path) -> None:
    blocks = re.findall(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) > 10
    script = "set -euo pipefail\n" + "\n".join(blocks)
    # The command of this environment comes first.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "exemplo/1: 48 items opened, 72 stay private." in said
    assert said.count("exemplo/1: 48 items opened, 72 stay private.") == 2
    assert "exemplo/2: 36 items opened, 36 stay private." in said
    assert "exemplo/3: 36 items opened, 36 stay private." in said
    assert said.count("all of it holds") == 1
    assert "openings.jsonl" in said
    assert "exit code 3" in said
    kept = [p for p in (tmp_path / "story").rglob("*") if p.is_file() and "vault" not in p.parts]
    opened = "".join(p.read_text() for p in (tmp_path / "story/bench/registry/exemplo/open").glob("*.jsonl"))
    numbers = {n for n in range(192) if f'"item-{n:04d}"' not in opened}
    assert len(numbers) == 72
    for file in kept:
        content = file.read_text(encoding="utf-8", errors="replace")
        assert not [n for n in numbers if f"Na visita de número {n}," in content], file
