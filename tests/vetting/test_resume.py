"""The journal of a scan: whatever ends it, and wherever, taking it up gives what an undisturbed scan gives."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from tests.vetting.making import FILLER, LAW, RULES, STEM, choice, folder, quoting, ruled

from lacre.errors import InputError, RecordError
from lacre.registry.items import Candidate
from lacre.registry.rules import VettingRules
from lacre.report.compose import page_of
from lacre.report.vetting import render
from lacre.vetting.journal import NAME, JournalFile, is_begun
from lacre.vetting.vet import FILES, Vetting, vet, write

ITEMS = [choice(), msgspec.structs.replace(quoting(), id="q2")]


def corpus(root: Path, shards: int = 4) -> str:
    """Files in which both items leak, each in its own way, and one of which is damaged."""
    for number in range(shards):
        pages = [{"id": f"p{k}", "text": FILLER * k + (STEM if k % 2 else LAW)} for k in range(number + 1)]
        text = "".join(json.dumps(page) + "\n" for page in pages) + ('{"text": \n' if number == 1 else "")
        folder(root / "corpus", **{f"f{number}_jsonl": text})
    return str(root / "corpus")


def vetted(
    source: str,
    sink: JournalFile | None,
    *,
    items: Sequence[Candidate] = ITEMS,
    rules: VettingRules = RULES,
    on_trouble: Callable[[str], None] = lambda _: None,
) -> Vetting:
    try:
        with ThreadPoolExecutor(2) as executor:
            return vet(items, [source], rules, executor=executor, sink=sink, on_trouble=on_trouble)
    finally:
        if sink is not None:
            sink.close()


def results(vetting: Vetting, out: Path) -> dict[str, bytes]:
    """The bytes of every file of a vetting."""
    write(vetting, render(page_of(vetting, "items")), out)
    return {name: (out / name).read_bytes() for name in FILES}


class Killing(JournalFile):
    """A journal that kills its process at one of its writes: before it, in its middle or after it."""

    def __init__(self, path: Path, at: int, moment: str) -> None:
        super().__init__(path)
        self.left = at
        self.moment = moment

    def append(self, lines: Sequence[bytes]) -> None:
        self.left -= 1
        if self.left == -1:
            if self.moment == "middle":
                content = b"".join(lines)
                self.path.parent.mkdir(exist_ok=True)
                with self.path.open("ab") as file:
                    file.write(content[: len(content) * 2 // 3])
            elif self.moment == "after":
                super().append(lines)
            os.kill(os.getpid(), signal.SIGKILL)
        super().append(lines)


def child(work: Callable[[], None]) -> int:
    """How a child process ended that did some work."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001 - the child may not run the tests' own code
            import traceback  # noqa: PLC0415

            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def every_kill(root: Path) -> None:
    """Kill a vetting at every write of its journal, in three ways; take it up; compare. Run with no other thread."""
    source = corpus(root)
    expected = results(vetted(source, None), root / "whole")  # and every child finds what this compiled
    for moment in ("before", "middle", "after"):
        for at in range(4):
            out = root / f"{moment}-{at}"

            def disturbed(out: Path = out, at: int = at, moment: str = moment) -> None:
                vetted(source, Killing(out / NAME, at, moment))

            def resumed(out: Path = out, at: int = at, moment: str = moment) -> None:
                whole = (out / NAME).read_bytes().count(b"\n") if (out / NAME).exists() else 0
                sink = JournalFile(out / NAME)
                assert sum(1 for _ in sink.lines()) == whole, "a line that the kill cut is gone, no other"
                assert whole >= (at + 1 if at else 0), (moment, at)
                results(vetted(source, sink), out)
                assert sum(1 for _ in sink.lines()) == 5, "a stamp and four shards: none was read twice"

            assert child(disturbed) == -signal.SIGKILL
            assert child(resumed) == 0
            assert {name: (out / name).read_bytes() for name in FILES} == expected, (moment, at)


def test_a_kill_at_any_write_and_a_resumption_equal_an_undisturbed_vetting(tmp_path: Path) -> None:
    # In a process of its own that has no threads, so that it may fork.
    program = "import sys; from pathlib import Path; from tests.vetting.test_resume import every_kill; "
    ended = subprocess.run(
        [sys.executable, "-c", program + "every_kill(Path(sys.argv[1]))", str(tmp_path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


@pytest.fixture
def begun(tmp_path: Path) -> tuple[str, Path]:
    """A corpus, and the journal of a vetting that has read all of it but two shards."""
    source = corpus(tmp_path)
    vetted(source, JournalFile(tmp_path / "out" / NAME))
    lines = (tmp_path / "out" / NAME).read_bytes().splitlines(keepends=True)
    (tmp_path / "out" / NAME).write_bytes(b"".join(lines[:3]))
    return source, tmp_path / "out" / NAME


def added(path: Path) -> int:
    return path.read_bytes().count(b"\n") - 3


def test_only_what_is_missing_is_read_again(begun: tuple[str, Path], tmp_path: Path) -> None:
    source, path = begun
    assert is_begun(path)
    resumed = vetted(source, JournalFile(path))
    assert added(path) == 2
    assert results(resumed, tmp_path / "a") == results(vetted(source, None), tmp_path / "b")
    assert vetted(source, JournalFile(path)).verdicts == resumed.verdicts
    assert added(path) == 2


@pytest.mark.parametrize("change", ["longer", "later"])
def test_a_file_that_changed_since_is_read_again(
    begun: tuple[str, Path], tmp_path: Path, change: str
) -> None:
    source, path = begun
    for file in Path(source).iterdir():
        if change == "longer":
            with file.open("a") as end:
                end.write(json.dumps({"text": STEM}) + "\n")
        else:
            text = file.read_text().replace("padeiro", "barbeiro")  # as many bytes
            file.write_text(text)
            os.utime(file, ns=(1, 1))
    assert results(vetted(source, JournalFile(path)), tmp_path / "a") == results(
        vetted(source, None), tmp_path / "b"
    )
    assert added(path) == 4


def test_other_items_are_refused_with_one_line(begun: tuple[str, Path]) -> None:
    source, path = begun
    with pytest.raises(InputError, match=r"the unfinished vetting was of other items\. Vet what"):
        vetted(source, JournalFile(path), items=ITEMS[:1])


def test_other_rules_are_refused_with_one_line(begun: tuple[str, Path]) -> None:
    source, path = begun
    with pytest.raises(InputError, match=r"the unfinished vetting was of other rules\."):
        vetted(source, JournalFile(path), rules=ruled(rare_review=0.8))


def test_another_version_is_refused_and_named(begun: tuple[str, Path]) -> None:
    source, path = begun
    path.write_bytes(path.read_bytes().replace(b'"version":"', b'"version":"9.', 1))
    with pytest.raises(InputError, match=r"other version: 9\."):
        vetted(source, JournalFile(path))


def test_a_file_that_is_no_journal_is_refused_unquoted(begun: tuple[str, Path]) -> None:
    source, path = begun
    path.write_text("o meu diário secreto\n")
    with pytest.raises(RecordError, match="is no line of a vetting's journal") as raised:
        vetted(source, JournalFile(path))
    assert "secreto" not in str(raised.value)


def test_a_journal_without_its_stamp_is_refused(begun: tuple[str, Path]) -> None:
    source, path = begun
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))
    with pytest.raises(InputError, match="of other kind"):
        vetted(source, JournalFile(path))


def test_the_journal_is_its_owner_s_and_one_process_s(begun: tuple[str, Path]) -> None:
    _, path = begun
    path.unlink()
    sink = JournalFile(path)
    sink.append([b"{}\n"])
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InputError, match="another process"):
        JournalFile(path)
    sink.close()


class Full(JournalFile):
    """A disk that is full for the first so many writes."""

    def __init__(self, path: Path, times: int) -> None:
        super().__init__(path)
        self.times = times

    def append(self, lines: Sequence[bytes]) -> None:
        self.times -= 1
        if self.times >= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().append(lines)


@pytest.mark.parametrize("times", [1, 3, 99])
def test_a_full_disk_is_said_once_and_the_scan_goes_on(tmp_path: Path, times: int) -> None:
    source = corpus(tmp_path)
    said: list[str] = []
    path = tmp_path / "out" / NAME
    found = vetted(source, Full(path, times), on_trouble=said.append)
    assert results(found, tmp_path / "a") == results(vetted(source, None), tmp_path / "b")
    (line,) = said
    assert "cannot be written (No space left on device)" in line
    # As soon as there is room, what had waited is written with the rest.
    assert (path.read_bytes().count(b"\n") if path.exists() else 0) == (0 if times == 99 else 5)


def test_a_shard_that_finds_room_is_kept_though_a_larger_one_did_not(tmp_path: Path) -> None:
    class Little(JournalFile):
        """A disk with room for short lines only."""

        def append(self, lines: Sequence[bytes]) -> None:
            if sum(map(len, lines)) > 20_000:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            super().append(lines)

    pages = "".join(
        json.dumps({"id": f"p{k}", "text": f"{STEM} {FILLER * 60} {STEM}"}) + "\n" for k in range(9)
    )
    source = folder(tmp_path / "corpus", large_jsonl=pages, small_txt=FILLER, smaller_txt=LAW)
    path = tmp_path / "out" / NAME
    found = vetted(source, Little(path))
    assert found.unkept == 1
    assert path.read_bytes().count(b"\n") == 3
    assert vetted(source, JournalFile(path)).unkept == 0
    assert path.read_bytes().count(b"\n") == 4


def test_a_line_that_is_damaged_costs_its_shard_alone(begun: tuple[str, Path], tmp_path: Path) -> None:
    source, path = begun
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = b"lixo secreto\n"
    path.write_bytes(b"".join(lines))
    said: list[str] = []
    found = vetted(source, JournalFile(path), on_trouble=said.append)
    assert said == [f"{path}: line 2 is damaged: what it held is read again"]
    assert results(found, tmp_path / "a") == results(vetted(source, None), tmp_path / "b")


def test_the_results_are_their_owner_s_as_the_journal_is(tmp_path: Path) -> None:
    results(vetted(corpus(tmp_path), None), tmp_path / "out")
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "out").iterdir()} == {0o600}


def test_a_damaged_shard_is_not_kept_but_read_again(tmp_path: Path) -> None:
    source = folder(tmp_path / "corpus", **{"a.txt_gz": b"\x1f\x8b\x08not gzip"}, b_txt=FILLER)
    path = tmp_path / "out" / NAME
    vetted(source, JournalFile(path))
    assert path.read_bytes().count(b"\n") == 2
