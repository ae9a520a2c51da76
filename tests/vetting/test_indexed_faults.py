"""Indexes when the disk is full, when a write is cut in two, and when the text lies on a server."""

from __future__ import annotations

import os
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import stamina
from tests.corpora.serving import Files, Server
from tests.vetting.making import FILLER, LAW, RULES, STEM, choice, folder

from lacre.corpora.indexing import MANIFEST, absence, checked, open_index
from lacre.registry.verdicts import Verdict
from lacre.vetting.indexed import Lookup
from lacre.vetting.indexed_building import build
from lacre.vetting.indexed_portions import Sizes
from lacre.vetting.scan import listings
from lacre.vetting.vet import vet

FULL, CUT = "full disk", "killed in mid-write"
SIZES = (0, 8, 100, 700, 1_500, 2_500, 4_000, 6_000, 9_000, 14_000, 30_000)
"""Bytes after which no file grows: in the first write of a file, between two, in the last, in none."""


def built(place: Path, *sources: str) -> None:
    named = [
        (source, None, listing) for source, listing in zip(sources, listings(sources, None), strict=True)
    ]
    with ThreadPoolExecutor(1) as executor:
        build(place, named, executor=executor, sizes=Sizes(segment=1, portion=1))


def verdict_of(place: Path) -> tuple[Verdict, str]:
    """The verdict of an item that leaks, and what the evidence shows."""
    with ThreadPoolExecutor(1) as executor:
        found = vet([choice()], [], RULES, executor=executor, lookup=Lookup.open([place]))
    (item,) = found.items
    return item.verdict, " ".join(finding.snippet for finding in found.findings)


def files_of(place: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(place)): path.read_bytes()
        for path in sorted(place.rglob("*"))
        if path.is_file() and path.name != "lock"
    }


def ended(most: int, how: str, work: Callable[[], object]) -> int:
    """How a child ends that does ``work`` and whose files may not grow beyond so many bytes: 0, 7 or -SIGXFSZ."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN if how == FULL else signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        try:
            work()
        except OSError:
            os._exit(7)
        except BaseException:  # noqa: BLE001 - the child may not run the tests' own code
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # fork beside threads: the child only writes files
@pytest.mark.parametrize("how", [FULL, CUT])
def test_a_write_that_ends_too_early_leaves_the_index_as_it_was(tmp_path: Path, how: str) -> None:
    one = folder(tmp_path / "one", a_txt=FILLER * 3)
    other = folder(tmp_path / "other", b_txt=f"{FILLER} {STEM}", c_txt=LAW)
    built(tmp_path / "start", one)
    shutil.copytree(tmp_path / "start", tmp_path / "undisturbed")
    built(tmp_path / "undisturbed", other)
    expected, old = files_of(tmp_path / "undisturbed"), files_of(tmp_path / "start")
    place = tmp_path / "index"
    ends = []
    for most in SIZES:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(tmp_path / "start", place)
        ends.append(ended(most, how, lambda: built(place, other)))
        now = files_of(place)
        if ends[-1]:
            assert {name: now[name] for name in old} == old, f"{most} bytes"
            assert list(checked(place)) == [], f"{most} bytes"
            built(place, other)
        assert files_of(place) == expected, f"{most} bytes"
    assert set(ends) == {0, 7 if how == FULL else -signal.SIGXFSZ}
    assert ends.count(0) < len(SIZES) - 3


@pytest.fixture
def server() -> Iterator[Server]:
    with stamina.set_testing(True, attempts=2, cap=True), Server(Files) as server:
        server.site.files = {"/a.txt": f"{FILLER * 3} {STEM} {FILLER}".encode()}
        yield server


def test_text_on_a_server_is_indexed_and_read_again_for_its_evidence(server: Server, tmp_path: Path) -> None:
    built(tmp_path / "index", f"{server.url}/a.txt")
    found, shown = verdict_of(tmp_path / "index")
    assert found.verdict == "drop"
    assert "o padeiro da vila" in shown
    before = files_of(tmp_path / "index")
    built(tmp_path / "index", f"{server.url}/a.txt")
    assert files_of(tmp_path / "index") == before, "nothing new"


@pytest.mark.parametrize("how", ["gone", "changed", "server down"])
def test_text_that_is_no_longer_on_its_server_is_not_at_hand_never_kept(
    server: Server, tmp_path: Path, how: str
) -> None:
    place = tmp_path / "index"
    built(place, f"{server.url}/a.txt")
    if how == "gone":
        server.site.files.clear()
    elif how == "server down":
        server.down()
    else:
        server.site.files["/a.txt"] = (FILLER * 6).encode()
    (source,) = open_index(place).sources()
    assert absence(source)
    found, shown = verdict_of(place)
    assert (found.verdict, shown) == ("unknown", "⟦indexed, source not at hand⟧")
    assert MANIFEST in files_of(place)
