"""The story that the documentation tells: a run killed and resumed, a rotation, an outsider with the public files."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from tests.engine.server import Server
from tests.engine.server.__main__ import mixed
from tests.sealed.making import items, sealing

from lacre.registry.sealed_runs import sealed_runs
from lacre.sealed.records import PublicRun, public_bytes, scores_place
from lacre.sealing.contents import LOGS

PAGE = Path(__file__).parents[2] / "docs/explanation/sealed.md"
MEANS = ("--vault", "../vault", "--identity", "../operator.txt", "--key", "../team.key", "--allow-swap")
START = ("run", "start", "exemplo", "--column", "local", "--sealed", *MEANS)
ENOUGH = 300_000  # bytes of the log: some seventy replies


def called(*words: str, where: Path) -> str:
    """What a command says, its exit code last."""
    done = subprocess.run(
        [sys.executable, "-m", "lacre", *words], cwd=where, capture_output=True, text=True, check=False
    )
    return f"{done.stdout}{done.stderr}exit code {done.returncode}\n"


def killed(folder: Path) -> int:
    """Start the run, kill it when enough replies are there, and return how many requests that took."""
    child = subprocess.Popen(
        [sys.executable, "-m", "lacre", *START],
        cwd=folder / "workspace",
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    while sum(path.stat().st_size for path in (folder / "vault" / LOGS).glob("*")) < ENOUGH:
        assert child.poll() is None, "it ended before it could be killed"
        time.sleep(0.02)
    os.kill(child.pid, signal.SIGKILL)
    return child.wait()


def told(folder: Path, server: Server) -> Iterator[str]:
    """The story, scene by scene: what was typed and what was said."""
    sealed = sealing(folder, server.endpoint("openai"), 400)
    sealed.close()
    yield f"400 items, of which {len(sealed.play.public.private)} stay private\n"
    assert killed(folder) == -signal.SIGKILL
    before = server.requests
    (name,) = sealed_runs(sealed.play.public.ledger, "exemplo")
    yield called("run", "sealed", where=sealed.root)
    yield called("run", "resume", name, *MEANS, where=sealed.root)
    yield f"{before} requests before, {server.requests - before} after\n"
    yield (sealed.root / f"registry/exemplo/private/runs/{name}.json").read_text()
    sealed.play.now = datetime.now(UTC)
    sealed.play.freeze()
    sealed.play.add(items(400, 120), "b2")
    sealed.play.close()
    yield called("run", "open-scores", *MEANS[:4], where=sealed.root)
    outside = folder / "outside"
    shutil.copytree(sealed.root, outside)
    check = ("run", "check-scores", "--key", sealed.play.key.fingerprint)
    yield called(*check, where=outside)
    place = outside / scores_place("exemplo", 2)
    whole = place.read_bytes()
    lines = whole.splitlines(keepends=True)
    wrong = next(n for n, line in enumerate(lines) if b'"outcome":"wrong"' in line)
    for altered in (
        whole.replace(lines[wrong], lines[wrong].replace(b'"outcome":"wrong"', b'"outcome":"correct"')),
        whole.replace(lines[wrong], lines[wrong].replace(b"Alternativa", b"alternativa")),
        b"".join(lines[:5] + lines[6:]),
    ):
        place.write_bytes(altered)
        yield called(*check, where=outside)


@pytest.mark.slow
def test_a_run_killed_and_resumed_is_scored_and_checked_from_outside(tmp_path: Path) -> None:
    with Server(mixed, keep=False) as server:
        scenes = list(told(tmp_path, server))
    begun, listed, resumed, requests, record, opened, checked, *tampered = scenes
    assert "240 stay private" in begun
    assert "\tunder way" in listed
    assert "Scored: 240 scores under root" in resumed
    assert "exit code 0" in resumed
    before, after = (int(word) for word in requests.split() if word.isdigit())
    # Each failure is asked for four times (two tries, then two more at the end); what was kept is not asked again.
    assert before + after < 240 + 3 * 60 + 8
    assert msgspec.json.decode(record, type=PublicRun).leaves == 240
    assert "120 scores opened" in opened
    assert "all that opened of 1 sealed run holds" in checked
    assert "exit code 0" in checked
    for scene, what in zip(
        tampered,
        ("the leaf was altered", "it was altered", "1 score of items that opened is missing"),
        strict=True,
    ):
        assert what in scene
        assert "exit code 3" in scene


def test_the_record_in_the_documentation_is_one() -> None:
    text = PAGE.read_text(encoding="utf-8").split("```json\n")[1].split("```")[0]
    record = msgspec.json.decode(text, type=PublicRun)
    assert public_bytes(record).decode() == text


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    with Server(mixed, latency=0.005, keep=False) as server:
        for scene in told(folder, server):
            print(scene, "-" * 40, sep="", flush=True)
