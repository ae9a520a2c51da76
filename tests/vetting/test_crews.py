"""Whoever reads, threads, processes or a cluster: the same bytes come out; a worker that dies costs its shard only."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from tests.vetting.making import FILLER, LAW, RULES, STEM, folder
from tests.vetting.test_resume import ITEMS, results

from lacre.errors import ColumnError, LacreError
from lacre.vetting.cluster import Cluster
from lacre.vetting.crews import Crew, Processes
from lacre.vetting.vet import Vetting, vet

pytestmark = pytest.mark.together
SHARDS = 8


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Files large enough that a worker can be met at work, in which both items leak."""
    root = tmp_path_factory.mktemp("crews")
    for number in range(SHARDS):
        pages = [{"id": f"p{k}", "text": FILLER * 40 + (STEM if k % 2 else LAW)} for k in range(200 + number)]
        folder(root / "corpus", **{f"f{number}_jsonl": "".join(json.dumps(page) + "\n" for page in pages)})
    return str(root / "corpus")


@pytest.fixture(scope="module")
def expected(corpus: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What one thread finds."""
    with ThreadPoolExecutor(1) as executor:
        return results(vet(ITEMS, [corpus], RULES, executor=executor), tmp_path_factory.mktemp("one"))


def by(crew: Crew, source: str, **more: Any) -> Vetting:
    return vet(ITEMS, [source], RULES, executor=crew, **more)


def test_processes_give_the_same_bytes(corpus: str, expected: dict[str, bytes], tmp_path: Path) -> None:
    shares = []
    with Processes(2) as crew:
        found = by(crew, corpus, on_progress=lambda progress: shares.append(progress.share))
    assert results(found, tmp_path) == expected
    assert shares[-1] == 1.0


def workers() -> list[int]:
    """The processes of this one that read shards."""
    mine = str(os.getpid())
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
            command = (status.parent / "cmdline").read_text()
        except OSError:
            continue
        if fields.get("PPid", "").strip() == mine and "spawn_main" in command:
            found.append(int(status.parent.name))
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_a_process_killed_at_work_costs_its_shard_only(
    corpus: str, expected: dict[str, bytes], tmp_path: Path
) -> None:
    killed: list[int] = []

    def kill(progress: Any) -> None:
        if progress.shards == 2 and not killed:
            killed.append(workers()[0])
            os.kill(killed[0], signal.SIGKILL)

    with Processes(2) as crew:
        found = by(crew, corpus, on_progress=kill)
    assert killed
    assert results(found, tmp_path) == expected
    assert found.failed == ()


class Deadly(Processes):
    """Processes that die of what they are given."""

    def begin(self, index: Any, align_from: float, tally: Any) -> None:  # noqa: ARG002
        self._payload = b"no index: whoever takes it dies"
        self._tally = tally
        self._idle.put(self._started())


@pytest.mark.slow
def test_a_shard_over_which_all_die_is_given_up_named_and_unknown(tmp_path: Path) -> None:
    source = folder(tmp_path / "c", a_txt=FILLER)
    with Deadly(1) as crew:
        found = by(crew, source)
    assert found.failed == ("a.txt",)
    assert found.verdicts[0].verdict == "unknown"
    assert "3 workers in a row died over it" in found.corpora[0].unread[0].reason


def test_bad_input_found_by_a_process_is_said_in_the_same_words(tmp_path: Path) -> None:
    source = folder(tmp_path / "c", a_jsonl='{"text": "um"}\n', b_jsonl='{"text": "dois"}\n')

    def spoil() -> None:
        (tmp_path / "c" / "b.jsonl").write_text('{"corpo": 1}\n')

    with (
        Processes(1) as crew,
        pytest.raises(LacreError, match=r"^b\.jsonl: no text column was found\. Name it"),
    ):
        by(crew, source, on_index=spoil)


ALONE = """
import sys, time
from tests.vetting.making import RULES, choice
from lacre.vetting.crews import Processes
from lacre.vetting.vet import vet
if __name__ == "__main__":
    with Processes(2) as crew:
        def told(progress):
            if progress.shards == 1:
                print("reading", flush=True)
                time.sleep(60)
        vet([choice()], [sys.argv[1]], RULES, executor=crew, on_progress=told)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_processes_end_when_whoever_started_them_is_killed(corpus: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ALONE, corpus], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"reading\n"
        children = [
            int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        ]
        process.kill()
    assert children
    deadline = time.monotonic() + 60
    while any(alive(pid) for pid in children):
        assert time.monotonic() < deadline, "a worker outlived its parent"
        time.sleep(0.05)


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.fixture(scope="module")
def scheduler(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A Dask cluster as one starts it by hand: a scheduler and three workers, each a process, over TCP."""
    root = tmp_path_factory.mktemp("dask")
    address_file = root / "scheduler.json"
    common = ["--scheduler-file", str(address_file), "--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
    with ExitStack() as stack:

        def started(*command: str) -> subprocess.Popen[bytes]:
            with (root / "log").open("ab") as log:
                process = subprocess.Popen(
                    [sys.executable, "-m", "distributed.cli." + command[0], *command[1:]],
                    stdout=log,
                    stderr=log,
                    cwd=root,
                )
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        started("dask_scheduler", "--host", "tcp://127.0.0.1", "--port", "0", *common)
        # Without nannies: a worker that is killed stays dead.
        alone = ["--nthreads", "1", "--no-nanny", "--memory-limit", "0", "--local-directory", str(root)]
        workers = [started("dask_worker", *common, "--host", "tcp://127.0.0.1", *alone) for _ in range(3)]
        deadline = time.monotonic() + 60
        while not address_file.exists():
            assert time.monotonic() < deadline, (root / "log").read_text()
            time.sleep(0.1)
        address = json.loads(address_file.read_text())["address"]
        yield address, workers


@pytest.mark.slow
def test_a_cluster_over_tcp_gives_the_same_bytes_though_a_worker_is_killed_in_mid_scan(
    corpus: str,
    expected: dict[str, bytes],
    scheduler: tuple[str, list[subprocess.Popen[bytes]]],
    tmp_path: Path,
) -> None:
    address, processes = scheduler
    killed: list[int] = []

    def kill(progress: Any) -> None:
        if progress.shards == 1 and not killed:
            killed.append(processes[0].pid)
            os.kill(processes[0].pid, signal.SIGKILL)

    with Cluster(address, 1) as crew:
        wait_for(crew, 3)
        found = by(crew, corpus, on_progress=kill)
        assert len(crew.workers()) == 2
    assert killed
    assert results(found, tmp_path) == expected
    assert found.failed == ()


def wait_for(crew: Cluster, workers: int) -> None:
    deadline = time.monotonic() + 60
    while len(crew.workers()) < workers:
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.slow
def test_bad_input_found_on_a_cluster_is_said_in_the_same_words(
    tmp_path: Path, scheduler: tuple[str, list[subprocess.Popen[bytes]]]
) -> None:
    source = folder(tmp_path / "c", a_jsonl='{"text": "um"}\n', b_jsonl='{"text": "dois"}\n')

    def spoil() -> None:
        (tmp_path / "c" / "b.jsonl").write_text('{"corpo": 1}\n')

    with Cluster(scheduler[0], 1) as crew:
        wait_for(crew, 1)
        with pytest.raises(LacreError, match=r"^b\.jsonl: no text column was found\. Name it"):
            by(crew, source, on_index=spoil)


def test_a_scheduler_that_does_not_answer_is_named() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(ColumnError, match=f"{address}: no scheduler answers there"):
        Cluster(address, 1, reach=1)


@pytest.mark.slow
def test_a_cluster_started_for_the_purpose_gives_the_same_bytes(
    corpus: str, expected: dict[str, bytes], tmp_path: Path
) -> None:
    with Cluster(None, 2) as crew:
        assert results(by(crew, corpus), tmp_path) == expected
